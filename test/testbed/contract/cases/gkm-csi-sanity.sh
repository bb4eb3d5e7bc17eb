# shellcheck shell=bash
# Real server only: no API server, but root, and csi-sanity, which Go compiles.
# Needs: csi-sanity
# gkm-csi before the tests that the CSI project has for drivers: what they ask of Identity and Node where there is no
# Controller (our volumes are in pods' own specs, and nobody creates them).

SOCKET=$CASE_DIR/csi.sock
PODS=$CASE_DIR/pods

step "gkm-csi serves"
[[ $EUID == 0 ]] || fail "mounting needs root"
mkdir -p "$PODS" "$CASE_DIR/store/caches"
run_helper csi "$GS_BIN/gkm-csi" --endpoint="unix://$SOCKET" --node-name=node-a --store="$CASE_DIR/store" --usage="$CASE_DIR/usage" \
  --scratch="$CASE_DIR/scratch" --target-root="$PODS" --metrics-address=127.0.0.1:9809
eventually "the socket" yes test_socket
test_socket() { [[ -S $SOCKET ]] && echo yes; }

step "csi-sanity passes"
# "should remove target path" makes a volume by the Controller first.
"$(tool csi-sanity)" --csi.endpoint="unix://$SOCKET" --csi.mountdir="$PODS/sanity" --csi.stagingdir="$CASE_DIR/staging" \
  --ginkgo.skip='Controller|Snapshot|Group|should remove target path' --ginkgo.no-color >"$CASE_DIR/sanity.log" 2>&1 ||
  fail "$(grep -m 5 -E '\[FAIL\]|FAILED' "$CASE_DIR/sanity.log")"
note "$(grep -E '^Ran [0-9]+ of' "$CASE_DIR/sanity.log")"
expect_like "tests that were played" '[1-9][0-9]* Passed \| 0 Failed' "$(grep -E '[0-9]+ Passed' "$CASE_DIR/sanity.log")"

step "nothing is left behind"
expect_output "mounts" 0 count_mounts
count_mounts() { awk -v below="$CASE_DIR/" 'index($5, below) == 1 { n++ } END { print n + 0 }' /proc/self/mountinfo; }
expect_output "uses" "" ls "$CASE_DIR/usage/volumes"
