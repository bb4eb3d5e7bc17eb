# shellcheck shell=bash
# Real server only: no API server, but root, and csi-sanity, which Go compiles.
# Needs: csi-sanity
# gkm-csi before the tests that the CSI project has for drivers: what they ask of Identity and Node where there is no
# Controller (our volumes are in pods' own specs, and nobody creates them).

SOCKET=$CASE_DIR/csi.sock
PODS=$CASE_DIR/pods
socket_is_there() { [[ -S $SOCKET ]] && echo yes; }
count_mounts() { awk -v below="$CASE_DIR/" 'index($5, below) == 1 { n++ } END { print n + 0 }' /proc/self/mountinfo; }

step "gkm-csi serves"
[[ $EUID == 0 ]] || fail "mounting needs root"
mkdir -p "$PODS" "$CASE_DIR/store/caches"
run_helper csi "$GS_BIN/gkm-csi" --endpoint="unix://$SOCKET" --node-name=node-a --store="$CASE_DIR/store" --usage="$CASE_DIR/usage" \
  --scratch="$CASE_DIR/scratch" --target-root="$PODS" --metrics-address=127.0.0.1:9809
eventually "the socket" yes socket_is_there

step "csi-sanity passes"
# The last two make a volume by the Controller first; what they ask is asked in csi/node_service_test.cc.
"$(tool csi-sanity)" --csi.endpoint="unix://$SOCKET" --csi.mountdir="$PODS/sanity" --csi.stagingdir="$CASE_DIR/staging" \
  --ginkgo.skip='Controller|Snapshot|Group|should remove target path|does not exist on the specified path' --ginkgo.no-color >"$CASE_DIR/sanity.log" 2>&1 ||
  fail "$(grep -m 5 -E '\[FAIL\]|FAILED' "$CASE_DIR/sanity.log")"
note "$(grep -E '^Ran [0-9]+ of' "$CASE_DIR/sanity.log")"
expect_like "tests that were played" '[1-9][0-9]* Passed \| 0 Failed' "$(grep -E '[0-9]+ Passed' "$CASE_DIR/sanity.log")"

step "nothing is left behind"
expect_output "mounts" 0 count_mounts
expect_output "uses" complete ls "$CASE_DIR/usage/volumes" # that there is none
