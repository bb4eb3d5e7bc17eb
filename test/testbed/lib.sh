# Shared by the scripts of this folder; sourced, never run. Callers have set -euo pipefail.
# shellcheck shell=bash disable=SC2034 # names for the callers

KUBERNETES_VERSION=v1.33.13
KUBERNETES_MODULE=kubernetes # its folder in modules/
HELM_KUBERNETES=$KUBERNETES_VERSION # for which helm renders where it asks no cluster
# GS_KUBERNETES=newest: all of the newest release that can be compiled, kubelet and kubectl too.
if [[ ${GS_KUBERNETES:-} == newest ]]; then
  KUBERNETES_VERSION=v1.37.2
  KUBERNETES_MODULE=kubernetes-newest
fi
ETCD_VERSION=v3.6.16
KWOK_VERSION=v0.7.0
KARPENTER_VERSION=v1.14.1
CONTAINERD_VERSION=v2.2.9
HELM_VERSION=v3.22.0
CSI_TEST_VERSION=v5.6.0
CERT_MANAGER_VERSION=v1.21.2
PROMETHEUS_OPERATOR_VERSION=v0.85.0
ARGOCD_VERSION=v3.2.1
TRITON_VERSION=3.2.0
COSIGN_VERSION=v2.6.5

TESTBED=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(cd "$TESTBED/../.." && pwd)
# Outside the tree, so that every checkout shares the compiled programs.
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/gpu-scheduler-testbed

say() { echo "testbed: $*" >&2; }
die() { say "$*"; exit 1; }

# usage SCRIPT: the comment block at a script's top, without the #!.
usage() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$1"; }

# tool NAME: the path of a compiled program; build makes what is missing.
tool() {
  case $1 in
    etcd) echo "$CACHE/etcd-$ETCD_VERSION/etcd" ;;
    kwok) echo "$CACHE/kwok-$KWOK_VERSION/kwok" ;;
    karpenter) echo "$CACHE/karpenter-$KARPENTER_VERSION/karpenter" ;;
    load | dra-driver | device-plugin | nri-plugin) echo "$CACHE/$1-$(sources_version "$1")/$1" ;;
    argocd) echo "$CACHE/argocd-$ARGOCD_VERSION-$(sources_version argocd)/argocd" ;;
    dra-oracle) echo "$CACHE/dra-oracle-$(sources_version dra-oracle)/dra-oracle" ;;
    filter-oracle) echo "$CACHE/filter-oracle-$KUBERNETES_VERSION-$(sources_version filter-oracle)/filter-oracle" ;;
    sigstore) echo "$CACHE/sigstore-$(sources_version sigstore)/sigstore" ;;
    cosign) echo "$CACHE/cosign-$COSIGN_VERSION/cosign" ;;
    containerd | containerd-shim-runc-v2 | ctr) echo "$CACHE/containerd-$CONTAINERD_VERSION/$1" ;;
    helm) echo "$CACHE/helm-$HELM_VERSION/helm" ;;
    csi-sanity) echo "$CACHE/csi-test-$CSI_TEST_VERSION/csi-sanity" ;;
    *) echo "$CACHE/kubernetes-$KUBERNETES_VERSION/$1" ;;
  esac
}

# Files of other projects' custom resources, which objects of the charts are checked against; `build crds` fetches them.
# Triton as Python finds it; not there where PyPI could not be reached.
triton_folder() { echo "$CACHE/triton-$TRITON_VERSION"; }
foreign_crds() { echo "$CACHE/crds-cert-manager-$CERT_MANAGER_VERSION-prometheus-operator-$PROMETHEUS_OPERATOR_VERSION-argocd-$ARGOCD_VERSION"; }

karpenter_crds() { echo "$CACHE/karpenter-$KARPENTER_VERSION/crds"; }

# What is ours has no version: its sources' hash is one.
sources_version() { cat "$TESTBED/modules/$1"/{*.mod,*.sum,*.go} | sha256sum | cut -c1-12; }

# until_served FILE KUBECTL...: objects of the CRDs in FILE can be made. By this and not by `kubectl wait`, which fails on a
# CRD that has no conditions yet ("accessor error": what is null is no list). Of one object kubectl makes no list.
until_served() {
  local file=$1 tries all established='.status.conditions[?(@.type=="Established")].status'
  shift
  all=$("$@" get -f "$file" -o name | sed 's/.*/True/' | xargs)
  for ((tries = 0; tries < 300; tries++)); do
    # jsonpath, too, fails on null.
    if [[ $("$@" get -f "$file" -o "jsonpath={$established}{.items[*]$established}" 2>/dev/null) == "$all" ]]; then return; fi
    sleep 0.1
  done
  die "the CRDs of $file are not served after 30 s"
}

# A testbed is a folder DIR (absolute), and each component of it is three files there:
#   NAME.args  its command line, one argument a line, the program first
#   NAME.pid   the process, as seen in the namespace where it was started
#   NAME.log   stdout and stderr of all its runs
# In the order in which they are started; stopped in reverse.
COMPONENTS=(etcd apiserver controller-manager {containerd,kubelet}-node-{a..h} kube-scheduler kwok gpu-scheduler)

# define DIR NAME PROGRAM ARG...
define() {
  local dir=$1 name=$2
  shift 2
  printf '%s\n' "$@" >"$dir/$name.args"
}

# A pid file may outlive its process, and pids are used again: only a process whose command line names
# this testbed's folder counts. (All of ours do, and a zombie has no command line.)
alive() {
  local dir=$1 name=$2 pid words tries
  [[ -f $dir/$name.pid ]] || return 1
  pid=$(<"$dir/$name.pid")
  # For a moment, while it becomes another program, a process has no command line either.
  for ((tries = 0; tries < 20; tries++)); do
    words=$({ tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null) || return 1
    if [[ -n $words ]]; then
      grep -qF -- "$dir/" <<<"$words"
      return $? # in an EXIT trap, a bare return gives the status of before the trap
    fi
    grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null && return 1
    sleep 0.01
  done
  return 1
}

start() {
  local dir=$1 name=$2 command
  if alive "$dir" "$name"; then return; fi
  [[ -f $dir/$name.args ]] || die "$dir has no $name"
  mapfile -t command <"$dir/$name.args"
  # A session of its own: it outlives this script, and Ctrl-C in the shell does not reach it.
  setsid "${command[@]}" >>"$dir/$name.log" 2>&1 </dev/null &
  echo $! >"$dir/$name.pid"
  # Until it has become the program, `alive` does not know it.
  local tries
  for ((tries = 0; tries < 1000; tries++)); do
    if alive "$dir" "$name"; then return; fi
    if ! kill -s 0 $! 2>/dev/null; then break; fi
    sleep 0.01
  done
  die "$name ended at once: $(tail -n 3 "$dir/$name.log")"
}

# stop DIR NAME [SIGNAL]: returns when the process is gone; after 5 s it is killed. (An API server that is told
# to end closes its port at once, and then waits up to a minute for its watchers to leave.)
stop() {
  local dir=$1 name=$2 signal=${3:-TERM} tries pid=0
  if alive "$dir" "$name"; then pid=$(<"$dir/$name.pid"); fi
  for ((tries = 0; tries < 1200; tries++)); do
    if ! alive "$dir" "$name" && ! has_threads "$pid"; then
      rm -f "$dir/$name.pid"
      return
    fi
    if ((tries == 100)); then signal=KILL; fi
    if ((tries % 100 == 0)); then signal_component "$dir" "$name" "$signal"; fi
    sleep 0.05
  done
  die "$name can't be stopped"
}

# A killed process becomes a zombie at once, but its ports are taken until the last of its other threads is gone.
has_threads() {
  local threads=("/proc/$1/task/"*)
  ((${#threads[@]} > 1))
}

# It may end between the look and the signal; then there is nothing left to do.
signal_component() {
  local dir=$1 name=$2 signal=$3
  if alive "$dir" "$name" && ! kill -s "$signal" "$(<"$dir/$name.pid")"; then say "$name had just ended"; fi
}

# get DIR PATH: the API server's answer to an anonymous GET; fails unless it is 2xx.
get() {
  curl --silent --fail --max-time 2 --cacert "$1/pki/ca.crt" "$(<"$1/server")$2"
}

wait_ready() {
  local dir=$1 tries
  for ((tries = 0; tries < 1200; tries++)); do
    if get "$dir" /readyz >/dev/null; then return; fi
    alive "$dir" apiserver || die "kube-apiserver ended: $(tail -n 3 "$dir/apiserver.log")"
    sleep 0.05
  done
  die "kube-apiserver is not ready after 60 s: see $dir/apiserver.log"
}

# certificate DIR FILE SUBJECT EXTENSIONS...: DIR/pki/FILE.crt and .key, signed by the testbed's CA.
# Elliptic curve keys: making an RSA key takes longer than all the rest.
certificate() {
  local dir=$1 file=$1/pki/$2 subject=$3
  shift 3
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject" -keyout "$file.key" 2>/dev/null |
    openssl x509 -req -CA "$dir/pki/ca.crt" -CAkey "$dir/pki/ca.key" -CAcreateserial -days 3650 \
      -extfile <(printf '%s\n' "$@") -out "$file.crt" 2>/dev/null
}

# user_kubeconfig DIR NAMESPACE USER [GROUP...]: stdout gets a kubeconfig that stands alone.
user_kubeconfig() {
  local dir=$1 namespace=$2 user=$3 subject group
  shift 3
  subject="/CN=$user"
  for group in "$@"; do subject+="/O=$group"; done
  # Names like system:kube-scheduler are fine for a file; a slash is not.
  local file=user-${user//\//_}
  certificate "$dir" "$file" "$subject" "extendedKeyUsage=clientAuth"
  kubeconfig "$dir" "$namespace" \
    "client-certificate-data: $(base64 -w0 "$dir/pki/$file.crt")" "client-key-data: $(base64 -w0 "$dir/pki/$file.key")"
}

# kubeconfig DIR NAMESPACE USER-LINE...
kubeconfig() {
  local dir=$1 namespace=$2
  shift 2
  cat <<YAML
apiVersion: v1
kind: Config
clusters:
- name: testbed
  cluster:
    server: $(<"$dir/server")
    certificate-authority-data: $(base64 -w0 "$dir/pki/ca.crt")
contexts:
- name: testbed
  context: {cluster: testbed, user: testbed, namespace: $namespace}
current-context: testbed
users:
- name: testbed
  user:
$(printf '    %s\n' "$@")
YAML
}

kubectl_admin() {
  local dir=$1
  shift
  "$(tool kubectl)" --kubeconfig "$dir/admin.kubeconfig" "$@"
}

# free_ports N: N TCP ports of 127.0.0.1 that nobody listens on, below those that the kernel hands out.
free_ports() {
  local count=$1 port
  local -A found=()
  while ((${#found[@]} < count)); do
    port=$((20000 + RANDOM % 12000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then found[$port]=1; fi
  done
  echo "${!found[@]}"
}

# --- cgroups: the only thing of a testbed that does not end with its namespace ---------------------------

# Where each tree of them is mounted; one of version 2, or several of version 1.
cgroup_trees() { awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/self/mounts; }

# remove_cgroups NAME: in each tree.
remove_cgroups() {
  local tree
  while read -r tree; do
    [[ ! -d $tree/$1 ]] || find "$tree/$1" -depth -type d -exec rmdir {} + 2>/dev/null || true # those that have processes stay
  done < <(cgroup_trees)
}
