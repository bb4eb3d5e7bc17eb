# shellcheck shell=bash disable=SC2016 # what the inner shells expand
# Real server only: root, and Triton from PyPI. The API server is the sandbox's: nothing here is about that.
# Needs: triton
# 36 kernels that a real Triton compiles, through mcv into an image and out of it for other folders, and through a registry,
# gkm-agent and gkm-csi into two pods that have one cache at two paths: Triton finds every file of each there, and compiles
# nothing. No GPU is needed for that: it compiles for one that is not here.

HOME_CACHE=$CASE_DIR/home/cache REGISTRY=127.0.0.1:5001
IMAGE=$REGISTRY/gkm/vector-add:cuda
PLACES=(/cache /home/vllm/.cache/vllm) # of the guide, and of vLLM's pods
ALL='found 36 of 36 kernels, 216 of 216 files' NONE='found 0 of 36 kernels, 0 of 216 files'
triton() { # FOLDER [--look]
  PYTHONPATH=$(triton_folder) PYTHONDONTWRITEBYTECODE=1 TRITON_CACHE_DIR=$1 python3.11 "$CONTRACT/triton_kernel.py" "${@:2}" 2>>"$CASE_DIR/triton.log" ||
    fail "Triton: $(tail -n 1 "$CASE_DIR/triton.log")"
}
mcv() { "$GS_BIN/mcv" --no-gpu "$@" >>"$CASE_DIR/mcv.log" 2>&1 || fail "mcv: $(tail -n 2 "$CASE_DIR/mcv.log")"; }
# in_container FOLDER PATH COMMAND...: where FOLDER is mounted at PATH, and of the machine's other folders only programs are there.
in_container() {
  local root=$CASE_DIR/container
  mkdir -p "$root"
  ROOT=$root FOLDER=$1 AT=$2 PROGRAMS="$(triton_folder) $CONTRACT" unshare --mount bash -euc '
    mount -t tmpfs root "$ROOT"
    for each in /usr /bin /sbin /lib* /etc /dev /proc $PROGRAMS; do
      if [[ -L $each ]]; then cp -P "$each" "$ROOT"; else mkdir -p "$ROOT$each" && mount --rbind "$each" "$ROOT$each"; fi
    done
    mkdir -p "$ROOT/tmp" "$ROOT$AT"
    mount --bind "$FOLDER" "$ROOT$AT"
    exec chroot "$ROOT" "$@"' container "${@:3}"
}
triton_at() { # FOLDER PATH
  in_container "$1" "$2" env PYTHONPATH="$(triton_folder)" PYTHONDONTWRITEBYTECODE=1 TRITON_CACHE_DIR="$2" \
    python3.11 "$CONTRACT/triton_kernel.py" --look 2>>"$CASE_DIR/triton.log" || fail "Triton: $(tail -n 1 "$CASE_DIR/triton.log")"
}

if [[ ! -d $(triton_folder) ]]; then
  step "NOT SHOWN: PyPI could not be reached, so no Triton is here: $(tail -n 1 "$(triton_folder).log")"
  return
fi
[[ $EUID == 0 ]] || fail "mounting needs root"

step "Triton compiles, once"
mkdir -p "$HOME_CACHE"
expect "the first time" "found 0 of 36 kernels, 216 of 216 files $HOME_CACHE" "$(triton "$HOME_CACHE")"
expect "then" "$ALL $HOME_CACHE" "$(triton "$HOME_CACHE" --look)"

step "mcv makes an image of it, and nothing is odd about it"
mcv -c -i "$IMAGE" -d "$HOME_CACHE" --to "oci:$CASE_DIR/image"
expect "warnings" '' "$(grep level=warn "$CASE_DIR/mcv.log")"
mv "$HOME_CACHE" "$CASE_DIR/away"

step "a copy of the files is of no use: they name each other by the folder in which they were made"
cp -r "$CASE_DIR/away" "$CASE_DIR/copied"
expect "in the copy" "$NONE" "$(triton "$CASE_DIR/copied" --look)"

step "extracted by mcv, where it is extracted to"
mcv -e -i "$IMAGE" --from "oci:$CASE_DIR/image" -d "$CASE_DIR/extracted"
expect "there" "$ALL $CASE_DIR/extracted" "$(triton "$CASE_DIR/extracted" --look)"

step "and for where it will be mounted, read-only"
mcv -e -i "$IMAGE" --from "oci:$CASE_DIR/image" -d "$CASE_DIR/store" --mount-path /mnt
expect "in the mount" "$ALL /mnt" "$(triton_at "$CASE_DIR/store" /mnt)"

# --- through a registry and a node's agent and driver ---

AGENT=http://127.0.0.1:8081 PODS=$CASE_DIR/pods SOCKET=$CASE_DIR/csi.sock GKM=$CASE_DIR/gkm
kube() { "$(tool kubectl)" --kubeconfig="$CASE_DIR/admin.kubeconfig" "$@"; }
say() { kube get gkmcachenode node-a --ignore-not-found -o json | jq -r '.status.caches.vectors[]?.conditions[0].reason // ""'; }
# mounted POD [KEY=VALUE...]: where gkm-csi mounts that pod's cache, asked as the kubelet asks.
mounted() {
  "$CONTRACT/csi_publish.py" "$SOCKET" "$PODS" "$(kube get pod "$1" -o jsonpath='{.metadata.uid}')" kernels csi.gkm.io/GKMCache=vectors \
    csi.gkm.io/namespace=default csi.storage.k8s.io/pod.namespace=default csi.storage.k8s.io/pod.name="$1" "${@:2}" 2>&1 || fail "gkm-csi: pod $1"
}
pod_at() { # NAME PATH
  kube create -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  nodeName: node-a
  containers: [{name: main, image: vllm, volumeMounts: [{name: kernels, mountPath: $2}]}]
  volumes: [{name: kernels, csi: {driver: csi.gkm.io, volumeAttributes: {csi.gkm.io/GKMCache: vectors, csi.gkm.io/namespace: default}}}]
YAML
}
copied_bytes() { df --output=used --block-size=1 "$1" | tail -n 1 | tr -d ' '; } # of the mount's own layer: all that is not the tree's
kernels_of() { (cd "$1" && find . -type f ! -name '__grp__*' -exec sha256sum {} + | sort); }
bytes_of_kernels() { find "$1" -type f ! -name '__grp__*' -printf '%s\n' | awk '{ n += $1 } END { print n }'; }
groups_of() { find "$1" -name '__grp__*' | wc -l; }

step "an agent has it from a registry, and a driver mounts it for two pods, each at a path of its own"
cat >"$CASE_DIR/registry.yml" <<YAML
version: 0.1
storage: {filesystem: {rootdirectory: $CASE_DIR/registry}}
http: {addr: "$REGISTRY"}
YAML
mkdir -p "$GKM/caches" "$PODS"
run_helper registry env REGISTRY_LOG_LEVEL=warn docker-registry serve "$CASE_DIR/registry.yml"
run_helper sandbox "$GS_BIN/gpu-sandbox" serve --api-only --address=127.0.0.1:6443 --kubeconfig-out="$CASE_DIR/admin.kubeconfig"
eventually "the sandbox" ok curl --silent http://127.0.0.1:6443/readyz
eventually "the registry" '{}' curl --silent "http://$REGISTRY/v2/"
mcv --plain-http -c -i "$IMAGE" -d "$CASE_DIR/away" --push
digest=$(curl --silent --fail --head --header 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$REGISTRY/v2/gkm/vector-add/manifests/cuda" |
  tr -d '\r' | sed -n 's/^Docker-Content-Digest: //Ip')
kube create -f "$REPO/charts/gkm/crds/crds.yaml" >/dev/null
until_served "$REPO/charts/gkm/crds/crds.yaml" kube
kube create -f - >/dev/null <<<'{apiVersion: v1, kind: Node, metadata: {name: node-a}}'
# With what gkm-operator writes into it.
kube create -f - >/dev/null <<YAML
apiVersion: gkm.io/v1alpha1
kind: GKMCache
metadata: {name: vectors, annotations: {gkm.io/resolvedDigest: "$digest"}, finalizers: [gkm.io.gkmcachenode/finalizer]}
spec: {image: "$IMAGE"}
YAML
run_helper csi "$GS_BIN/gkm-csi" --endpoint="unix://$SOCKET" --node-name=node-a --store="$GKM" --usage="$CASE_DIR/usage" \
  --scratch="$CASE_DIR/scratch" --target-root="$PODS" --metrics-address=
run_helper agent env NO_GPU=true "$GS_BIN/gkm-agent" --kubeconfig="$CASE_DIR/admin.kubeconfig" --node-name=node-a --store="$GKM" --usage="$CASE_DIR/usage" \
  --health-probe-bind-address="${AGENT#http://}"
PATIENCE=30 eventually "the cache on the node" Extracted say
AT=()
for i in 0 1; do
  pod_at "pod-$i" "${PLACES[i]}"
  AT+=("$(mounted "pod-$i")")
done

step "a real Triton finds 36 of 36 kernels at both paths at once"
for i in 0 1; do
  found=$(triton_at "${AT[i]}" "${PLACES[i]}")
  note "pod-$i: $found"
  expect "at ${PLACES[i]}" "$ALL ${PLACES[i]}" "$found"
done

step "no byte of a kernel was copied: a mount has no more of its own than the pages of its group files"
expect "kernels at the two paths" "$(kernels_of "${AT[0]}")" "$(kernels_of "${AT[1]}")"
own=("$(copied_bytes "${AT[0]}")" "$(copied_bytes "${AT[1]}")") pages=$((36 * $(getconf PAGESIZE)))
note "$(kernels_of "${AT[1]}" | wc -l) files that are no group files, $(bytes_of_kernels "${AT[1]}") bytes; the mounts' own bytes: ${own[*]}"
expect "of the mount at ${PLACES[0]}, where the tree is right as it is" 0 "${own[0]}"
expect "of the mount at ${PLACES[1]}: the pages of its 36 group files" "$pages $(groups_of "${AT[1]}")" "${own[1]} 36"
expect_like "bytes that the store has twice" '^0$' "$(curl --silent "$AGENT/metrics" | sed -n 's/^gkm_agent_store_copied_bytes_total //p')"

step "with the one path of the node's agent for all pods, the second finds nothing"
pod_at old "${PLACES[1]}"
found=$(triton_at "$(mounted old csi.gkm.io/mountPath="${PLACES[0]}")" "${PLACES[1]}")
note "pod old, at ${PLACES[1]} with paths of ${PLACES[0]}: $found"
expect "at ${PLACES[1]}" "$NONE" "$found"
