# shellcheck shell=bash
# The suite itself: each kind of check fails when it should, and says what it saw.

mkdir -p "$CASE_DIR/cases"

# fails WHAT REGEX COMMANDS: a case of these commands fails, and its report matches.
fails() {
  local status=0
  printf '%s\n' 'PATIENCE=1; step inner' "$3" 'step never' >"$CASE_DIR/cases/harness-inner.sh"
  CONTRACT_CASES=$CASE_DIR/cases "$CONTRACT/run-case" harness-inner >"$CASE_DIR/inner.out" 2>&1 3>&- || status=$?
  ((status != 0)) || fail "$1: expected a failure, but the case passed: $(<"$CASE_DIR/inner.out")"
  expect_like "$1" "FAILED  inner: $2" "$(<"$CASE_DIR/inner.out")"
}

step "a case whose checks hold passes"
printf '%s\n' 'step inner; expect a 1 1; expect_like b "^x+$" xx; expect_words c "a  b 3s" " a b   12m"' \
  'eventually d done echo done; expect_refused e "No such" ls /nonexistent' >"$CASE_DIR/cases/harness-inner.sh"
out=$(CONTRACT_CASES=$CASE_DIR/cases "$CONTRACT/run-case" harness-inner 2>&1 3>&-)
expect_like "its report" $'^ok      inner .*passed  harness-inner in [0-9]+ ms$' "$out"

step "each check fails when it should"
fails "expect" "a: expected '1', got '2'" 'expect a 1 2'
fails "expect_like" "a: expected /\^x\\$/, got 'xx'" 'expect_like a "^x$" xx'
fails "expect_output" "a: expected '', got ' \(failed\)'" 'expect_output a "" false'
fails "expect_output_like" "a: expected /\^x\?\\$/, got ' \(failed\)'" 'expect_output_like a "^x?$" false'
fails "the audit of a cluster that has none" "a: expected '', got ' \(failed\)'" 'expect_output a "" provider_audit'
fails "expect_words" "a: expected 'b c', got 'b d'" 'expect_words a "b  c" "b   d"'
fails "expect_words and rows" "a: expected 'b" 'expect_words a "b" "b
c"'
fails "eventually" "a: expected 'y', after 1 s still 'n'" 'eventually a y echo n'
fails "eventually with a failing command" "a: expected 'y', after 1 s still .*No such file.*\(failed\)" 'eventually a y ls /nonexistent'
fails "eventually_like" "a: expected '\^y', after 1 s still 'ny'" 'eventually_like a ^y echo ny'
fails "expect_refused, but accepted" "a: expected a refusal" 'expect_refused a x echo x'
fails "expect_refused for another reason" "a: expected /quux/, got .*No such" 'expect_refused a quux ls /nonexistent'
fails "a command" 'status 1 of harness-inner.sh:[0-9]+: false' 'false'
fails "a command inside \$()" 'status 1 of ' 'x=$(false)'
fails "the writer of a pipe" 'pod p: unknown option bad' 'pod p "" bad 1 | cat >/dev/null'
fails "a check inside \$()" "a: expected '1', got '2'" 'x=$(expect a 1 2)'
fails "an unset name" 'status 1 of ' 'echo "$nobody_sets_this"'

step "a guide is followed command by command, and what differs is said"
# guide LINE...: commands of a case that follows a guide of these lines.
guide() {
  printf '%s\n' '# a guide' "$@" >"$CASE_DIR/cases/self.txt"
  echo 'source "$CONTRACT/guides.sh"; GUIDES=$CONTRACT_CASES; follow self'
}
follows() {
  printf '%s\n' 'step inner' "$(guide "$@")" >"$CASE_DIR/cases/harness-inner.sh"
  CONTRACT_CASES=$CASE_DIR/cases "$CONTRACT/run-case" harness-inner 2>&1 3>&- || true # its report says so
}
expect_like "a guide that holds" '2 commands of a guide.*passed  harness-inner' "$(follows '$ x="a  b"' '$ echo "$x"; seq 9; false' 'a b' ... '9' '(status 1)' '~ rm -rf /')"
expect_like "anything" 'passed  harness-inner' "$(follows '$ seq 3' ...)"
fails "another word" "\`echo a\`: the guide shows 'b' there, and it prints 'a'" "$(guide '$ echo a' b)"
fails "a line more" "\`seq 2\`: the guide shows '' there, and it prints '1" "$(guide '$ seq 2' 1)"
fails "a line less" "\`echo 1\`: the guide shows '2' there" "$(guide '$ echo 1' 1 2)"
fails "what never comes" "\`seq 9\`: the guide shows 'x' there" "$(guide '$ seq 9' ... x ...)"
fails "a status" "\`false\`: the guide shows '' there, and it prints '\(status 1\)'" "$(guide '$ false')"

step "a helper in the background that ends by itself is seen, and so is why"
fails "a helper" "h ended by itself with status 0: a reason" 'PATIENCE=60; run_helper h echo "a reason"; eventually a y echo n'
fails "a helper, at the next step" "h ended by itself with status 0: a reason" 'run_helper h echo "a reason"; until [[ -s $CASE_DIR/h.status ]]; do sleep 0.01; done; step after'
fails "a job" "j ended by itself with status 3: a reason" 'run_job j bash -c "echo a reason; exit 3"; finish_job j'
fails "a check in a job" "j ended by itself with status 1: .*FAILED  inner: a: expected .1., got .2." 'in_it() { expect a 1 2; }; run_job j in_it; finish_job j'
fails "a job that should have failed" "exit status of j: expected '1', got '0'" 'run_job j true; finish_job j 1'
fails "end_helper" "exit status of h: expected '0', got '143'" 'run_helper h sleep 60; end_helper h'

step "a scheduler's exit status is seen, and so is one that ends by itself"
fails "expect_end" "exit status of scheduler s: expected '0', got '2'" \
  'PATIENCE=60; start_scheduler s default /nonexistent; expect_end s 0'
fails "a crash" "scheduler s ended by itself with status 2" 'PATIENCE=60; start_scheduler s default /nonexistent; expect_leading s'
rm -rf "${CASE_DIR%/*}/harness-inner"
