# shellcheck shell=bash disable=SC2016 # what the inner shell expands
# Real server only: no API server, but root, and Triton from PyPI.
# Needs: triton
# A kernel that a real Triton compiles, through mcv into an image and out of it for another folder: Triton finds every file of
# it there, and compiles nothing. No GPU is needed for that: it compiles for one that is not here.

HOME_CACHE=$CASE_DIR/home/cache IMAGE=quay.io/gkm/vector-add:cuda
kernel() { # the cache's folder
  PYTHONPATH=$(triton_folder) PYTHONDONTWRITEBYTECODE=1 TRITON_CACHE_DIR=$1 python3.11 "$CONTRACT/triton_kernel.py" 2>>"$CASE_DIR/triton.log" ||
    fail "Triton: $(tail -n 1 "$CASE_DIR/triton.log")"
}
mcv() { "$GS_BIN/mcv" --no-gpu "$@" >>"$CASE_DIR/mcv.log" 2>&1 || fail "mcv: $(tail -n 2 "$CASE_DIR/mcv.log")"; }

if [[ ! -d $(triton_folder) ]]; then
  step "NOT SHOWN: PyPI could not be reached, so no Triton is here: $(tail -n 1 "$(triton_folder).log")"
  return
fi
[[ $EUID == 0 ]] || fail "mounting needs root"

step "Triton compiles, once"
mkdir -p "$HOME_CACHE"
expect "the first time" "compiled 6 $HOME_CACHE" "$(kernel "$HOME_CACHE")"
expect "then" "found 6 $HOME_CACHE" "$(kernel "$HOME_CACHE")"

step "mcv makes an image of it, and nothing is odd about it"
mcv -c -i "$IMAGE" -d "$HOME_CACHE" --to "oci:$CASE_DIR/image"
expect "warnings" '' "$(grep level=warn "$CASE_DIR/mcv.log")"
mv "$HOME_CACHE" "$CASE_DIR/away"

step "a copy of the files is of no use: they name each other by the folder in which they were made"
cp -r "$CASE_DIR/away" "$CASE_DIR/copied"
expect "in the copy" "compiled 6 $CASE_DIR/copied" "$(kernel "$CASE_DIR/copied")"

step "extracted by mcv, where it is extracted to"
mcv -e -i "$IMAGE" --from "oci:$CASE_DIR/image" -d "$CASE_DIR/extracted"
expect "there" "found 6 $CASE_DIR/extracted" "$(kernel "$CASE_DIR/extracted")"

step "and for where it will be mounted, read-only"
mcv -e -i "$IMAGE" --from "oci:$CASE_DIR/image" -d "$CASE_DIR/store" --mount-path /mnt
export -f kernel triton_folder fail
expect "in the mount" "found 6 /mnt" "$(CACHE=$CACHE TRITON_VERSION=$TRITON_VERSION CASE_DIR=$CASE_DIR CONTRACT=$CONTRACT unshare --mount bash -euc \
  'mount --bind "$CASE_DIR/store" /mnt; mount -o remount,bind,ro /mnt; kernel /mnt')"
