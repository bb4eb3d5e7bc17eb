# shellcheck shell=bash
# Commands of a guide, played as they stand there, and what they print compared with what the guide shows; sourced by cases.
#
# A guide is a text file. A line "$ COMMAND" is run, by bash, in the folder where the reader would be; what it prints follows,
# errors too, as patterns: word by word, spacing does not count, ages are written AGE, * stands for anything, and a line "..." for
# any lines. "(status N)" is the last line of a command that ends with another status than 0. "# " is a comment; "~ COMMAND"
# is a command of the guide that is not run here; a comment says why.

GUIDES=$CONTRACT/guides

# follow GUIDE [FOLDER]: those of GUIDE.txt, in FOLDER.
follow() {
  local file=$GUIDES/$1.txt line command='' wanted='' count=0
  pushd "${2:-$REPO}" >/dev/null
  while IFS= read -r line || [[ -n $line ]]; do
    case $line in
      '$ '*)
        play "$command" "$wanted"
        command=${line#'$ '} wanted=''
        count=$((count + 1))
        ;;
      '# '* | '~ '* | '') ;;
      *) wanted+=$line$'\n' ;;
    esac
  done <"$file"
  play "$command" "$wanted"
  popd >/dev/null
  note "$count commands of $(sed -n '1s/^# //p' "$file")"
}

# play COMMAND WANTED: variables that one sets, and a folder that it goes to, are there for the next.
play() {
  [[ -n $1 ]] || return 0
  local status=0 got
  eval "$1" >"$CASE_DIR/said" 2>&1 </dev/null || status=$?
  if ((status != 0)); then echo "(status $status)" >>"$CASE_DIR/said"; fi
  got=$(words <"$CASE_DIR/said")
  printf '$ %s\n%s\n' "$1" "$got" >>"$CASE_DIR/guide.log"
  is_shown "$(words <<<"$2")" "$got" || fail "\`$1\`: the guide shows '$MISSED' there, and it prints '$(tail -n 20 <<<"$got")' (all of it is in guide.log)"
}

# is_shown PATTERNS TEXT: else MISSED is the first pattern that is not there, or "" where there is more than the guide shows.
is_shown() {
  local -a patterns=() lines=()
  mapfile -t patterns < <([[ -z $1 ]] || printf '%s\n' "$1")
  mapfile -t lines < <([[ -z $2 ]] || printf '%s\n' "$2")
  local p=0 l=0
  MISSED=''
  while ((p < ${#patterns[@]})); do
    if [[ ${patterns[p]} == ... ]]; then
      p=$((p + 1))
      # The next pattern says where the others begin; at the end all is well.
      if ((p == ${#patterns[@]})); then return 0; fi
      # shellcheck disable=SC2053 # a pattern
      until ((l >= ${#lines[@]})) || [[ ${lines[l]} == ${patterns[p]} ]]; do l=$((l + 1)); done
    fi
    # shellcheck disable=SC2053
    if ((l == ${#lines[@]})) || [[ ${lines[l]} != ${patterns[p]} ]]; then
      MISSED=${patterns[p]}
      return 1
    fi
    p=$((p + 1)) l=$((l + 1))
  done
  ((l == ${#lines[@]}))
}
