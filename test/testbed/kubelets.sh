# Nodes with a real kubelet and containerd (`up --kubelets N`); sourced, never run. Callers have sourced lib.sh.
# shellcheck shell=bash
#
# A node is a mount, a network and a UTS namespace in that of `enter`. It has its own /run, /etc, /opt and /var, its own
# 127.0.0.1 and host name. So containerd and kubelet have the paths and ports that they have on any node, and a hostPath or
# the host's network of a pod are those of its node. What it writes is seen under DIR/NODE, lies in memory, and is gone with
# the namespace. Processes are seen by all: there is one process namespace.
#
#   10.250.0.1         the control plane; 10.96.0.1, the Service kubernetes, is there too, on lo
#   10.250.0.11, .12   node-a, node-b
#   10.244.1.0/24, .2  their pods; all of them reach each other, and the API server reaches them

NODE_LETTERS=abcdefgh # as COMPONENTS has them
NODE_ETHERNET=10.250.0
NODE_OWN=(etc opt var) # folders of / of which each node has a copy, made when something there is written

node_names() {
  local i
  for ((i = 0; i < $1; i++)); do echo "node-${NODE_LETTERS:i:1}"; done
}
nodes_of() {
  local file
  for file in "$1"/node-?.pid; do if [[ -f $file ]]; then basename "$file" .pid; fi; done
}
node_number() { local before=${NODE_LETTERS%%"${1#node-}"*}; echo $((${#before} + 1)); }
node_ip() { echo "$NODE_ETHERNET.$((10 + $(node_number "$1")))"; }
pods_of() { echo "10.244.$(node_number "$1").0/24"; }

# into_node DIR NODE: the words before a command that make it run there; they become the command itself. (Namespaces are
# those of a process: Linux 6.18 refuses by chance to give one of mounts a name, where its number is below that of its parent's.)
into_node() { printf '%s\n' nsenter --target="$(<"$1/$2.pid")" --mount --net --uts --; }
on_node() {
  local words
  mapfile -t words < <(into_node "$1" "$2")
  "${words[@]}" "${@:3}"
}

# --- what the machine has to give ------------------------------------------------------------------------

need_machine() {
  local dir=$1 program
  # Root of a user's own namespace is none.
  [[ $EUID == 0 && $(awk '{ print $3 }' /proc/self/uid_map) == 4294967295 ]] || die "kubelets need root of the machine"
  [[ -n ${TESTBED_CGROUP:-} ]] || die "kubelets need a network of their own: $TESTBED/enter $TESTBED/up ..."
  [[ -r /dev/kmsg ]] || die "kubelets need to read /dev/kmsg; give the container that this runs in that device"
  case $dir/ in /etc/* | /opt/* | /var/* | /run/*) die "$dir is in a folder of which each node has its own; use one below /tmp or a home" ;; esac
  for program in runc busybox ip nsenter; do
    command -v $program >/dev/null || die "kubelets need $program: tools/install-packages"
  done
  [[ -x /usr/lib/cni/bridge ]] || die "kubelets need /usr/lib/cni/bridge: tools/install-packages"
}

# make_cgroups NODE: below them are those of its pods. A folder in each tree that is mounted, of version 1 or 2.
make_cgroups() {
  local tree folder
  while read -r tree; do
    folder=$tree/$TESTBED_CGROUP/$1
    mkdir -p "$folder" 2>/dev/null || die "$tree can't be written, so no container can be run: this needs root on a machine or" \
      "in a container with cgroups of its own (docker run --privileged)"
    # In version 1 a new cpuset is empty, and nobody can be in it.
    if [[ -f $tree/cpuset.cpus ]]; then copy_cpuset "$tree" "$tree/$TESTBED_CGROUP" && copy_cpuset "$tree" "$folder"; fi
    if [[ -f $tree/cgroup.controllers ]]; then pass_controllers "$tree" "$tree/$TESTBED_CGROUP"; fi
  done < <(cgroup_trees)
}
copy_cpuset() {
  local file
  for file in cpuset.cpus cpuset.mems; do cat "$1/$file" >"$2/$file"; done
}
# In version 2 a folder has the controllers that the one above it passes on.
pass_controllers() {
  local folder controllers
  for folder in "$@"; do
    controllers=$(sed 's/[^ ]\+/+&/g' "$folder/cgroup.controllers")
    echo "$controllers" 2>/dev/null >"$folder/cgroup.subtree_control" || die "the cgroup controllers $controllers can't be used below" \
      "$folder: processes are in it. Run this on a machine, or move them into a cgroup of their own first"
  done
}

# --- network and namespaces ------------------------------------------------------------------------------

make_ethernet() {
  ip link add nodes type bridge
  ip address add "$NODE_ETHERNET.1/24" dev nodes
  ip link set nodes up
  ip address add 10.96.0.1/32 dev lo
  echo 1 >/proc/sys/net/ipv4/ip_forward
}

make_node() {
  local dir=$1 node=$2 own=$1/$2 pid
  make_cgroups "$node"
  mkdir -p "$own"
  mount -t tmpfs -o mode=755 "$node" "$own"
  setsid unshare --mount --net --uts --propagation private bash -euc "$(declare -f furnish_node); furnish_node \"\$@\"" \
    _ "$own" "$node" "${NODE_OWN[@]}" >"$dir/$node.log" 2>&1 </dev/null &
  pid=$!
  echo $pid >"$dir/$node.pid"
  until [[ -f $own/furnished ]]; do
    kill -s 0 $pid 2>/dev/null || die "$node can't be made: $(tail -n 3 "$dir/$node.log")"
    sleep 0.01
  done
  ip link add "$node" type veth peer name eth0 netns $pid
  ip link set "$node" master nodes up
  ip route add "$(pods_of "$node")" via "$(node_ip "$node")" dev nodes
  # shellcheck disable=SC2016 # expanded there
  on_node "$dir" "$node" bash -euc 'ip link set lo up; ip address add "$1/24" dev eth0; ip link set eth0 up; ip route add default via "$2"' \
    _ "$(node_ip "$node")" "$NODE_ETHERNET.1"
  write_containerd_config "$dir" "$node"
  write_kubelet_config "$dir" "$node"
}

# Runs in the new namespaces, and then holds them. Handed over as text, so it knows nothing of what stands around it.
furnish_node() {
  local own=$1 node=$2 folder flag
  shift 2
  hostname "$node"
  mount --make-rshared / # what a pod mounts for others (Bidirectional) is seen by them
  for folder in "$@"; do
    mkdir -p "$own/$folder" "$own/work/$folder"
    mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$own/$folder,workdir=$own/work/$folder" "/$folder"
  done
  mkdir -p "$own"/{run,tunables,images}
  mount --rbind "$own/run" /run
  mkdir -p /run/{lock,cdi,nri} /etc/{cdi,cni/net.d} /var/lib/{kubelet,containerd} /var/log/pods
  # Of two overlays one can't be the upper folder of the other.
  mount --bind "$own/images" /var/lib/containerd
  # A kubelet that finds the kernel's flags other than it wants sets them, for the whole machine: it finds what it wants.
  for flag in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 \
    kernel/keys/root_maxbytes=25000000; do
    echo "${flag#*=}" >"$own/tunables/$(basename "${flag%=*}")"
    mount --bind "$own/tunables/$(basename "${flag%=*}")" "/proc/sys/${flag%=*}"
  done
  touch "$own/furnished"
  exec -a "$own/" sleep infinity # by its name `alive` knows whose it is
}

# --- containerd and kubelet ------------------------------------------------------------------------------

write_containerd_config() {
  local dir=$1 node=$2
  cat >"$dir/containerd-$node.toml" <<TOML
version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = 'docker.io/library/pause:testbed'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true # without CAP_SYS_RESOURCE no sandbox starts otherwise
  enable_cdi = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['/usr/lib/cni']
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    runtime_path = '$(tool containerd-shim-runc-v2)'
TOML
  cat >"$dir/$node/etc/cni/net.d/pods.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isDefaultGateway": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "$(pods_of "$node")"}]]}}]}
JSON
}

# What a node reports often enough for a controller-manager that waits 20 s; nothing that the machine's disk decides.
write_kubelet_config() {
  local dir=$1 node=$2
  certificate "$dir" "kubelet-$node" "/CN=system:node:$node/O=system:nodes" "subjectAltName=DNS:$node,IP:$(node_ip "$node")" \
    extendedKeyUsage=serverAuth
  user_kubeconfig "$dir" default "system:node:$node" system:nodes >"$dir/kubelet-$node.kubeconfig"
  cat >"$dir/kubelet-$node.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$TESTBED_CGROUP/$node
failCgroupV1: false
enforceNodeAllocatable: []
failSwapOn: false
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
evictionHard: {nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 4s
nodeLeaseDurationSeconds: 20
oomScoreAdj: 0
resolvConf: ""
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $dir/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $dir/pki/kubelet-$node.crt
tlsPrivateKeyFile: $dir/pki/kubelet-$node.key
YAML
}

define_containerd() {
  local dir=$1 node=$2 words
  mapfile -t words < <(into_node "$dir" "$node")
  define "$dir" "containerd-$node" "${words[@]}" "$(tool containerd)" --config="$dir/containerd-$node.toml" "${@:3}"
}

define_kubelet() {
  local dir=$1 node=$2 words
  mapfile -t words < <(into_node "$dir" "$node")
  define "$dir" "kubelet-$node" "${words[@]}" "$(tool kubelet)" --config="$dir/kubelet-$node.yaml" \
    --kubeconfig="$dir/kubelet-$node.kubeconfig" --hostname-override="$node" --node-ip="$(node_ip "$node")" "${@:3}"
}

# import_image DIR NODE TAR...
import_image() {
  local dir=$1 node=$2 tar
  for tar in "${@:3}"; do
    on_node "$dir" "$node" "$(tool ctr)" --namespace=k8s.io images import "$tar" >>"$dir/$node.log" 2>&1 ||
      die "$tar can't be imported on $node: $(tail -n 1 "$dir/$node.log")"
  done
}

wait_containerd() {
  local dir=$1 node=$2 tries
  for ((tries = 0; tries < 600; tries++)); do
    if on_node "$dir" "$node" "$(tool ctr)" version >/dev/null 2>&1; then return; fi
    alive "$dir" "containerd-$node" || die "containerd of $node ended: $(tail -n 3 "$dir/containerd-$node.log")"
    sleep 0.05
  done
  die "containerd of $node does not answer after 30 s: see $dir/containerd-$node.log"
}

wait_node() {
  local dir=$1 node=$2 tries
  for ((tries = 0; tries < 600; tries++)); do
    if kubectl_admin "$dir" get node "$node" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null | grep -q True; then return; fi
    alive "$dir" "kubelet-$node" || die "kubelet of $node ended: $(tail -n 3 "$dir/kubelet-$node.log")"
    sleep 0.1
  done
  die "$node is not Ready after 60 s: see $dir/kubelet-$node.log"
}

# --- the end ---------------------------------------------------------------------------------------------

# end_node DIR NODE: its containers and whatever else runs there is killed, and it is taken away.
end_node() {
  local dir=$1 node=$2 tries pids=none
  # Only while somebody of this testbed holds its namespaces is it known whose they are; else all has ended with it.
  if alive "$dir" "$node"; then
    for ((tries = 0; tries < 200; tries++)); do
      pids=$(processes_of "$dir" "$node")
      if [[ -z $pids ]]; then break; fi
      xargs kill -s KILL <<<"$pids" 2>/dev/null || true # one of them may have ended since
      sleep 0.05
    done
    [[ -z $pids ]] || die "processes of $node can't be killed: ${pids//$'\n'/ }"
    ip link delete "$node" 2>/dev/null || true # it goes with its namespace, a moment later
  fi
  if mountpoint --quiet "$dir/$node"; then umount --lazy "$dir/$node"; fi
  rm -f "$dir/$node.pid"
}

# The shims are in the namespaces of the node, the containers in its cgroups. The holder of the namespaces comes last, alone.
processes_of() {
  local dir=$1 node=$2 holder tree mounts file pids
  holder=$(<"$dir/$node.pid")
  mounts=$(readlink "/proc/$holder/ns/mnt") || return 0
  pids=$({
    for file in /proc/[0-9]*/ns/mnt; do
      if [[ $(readlink "$file" 2>/dev/null) == "$mounts" ]]; then cut -d / -f 3 <<<"$file"; fi
    done
    while read -r tree; do find "$tree/$TESTBED_CGROUP/$node" -name cgroup.procs -exec cat {} + 2>/dev/null; done < <(cgroup_trees)
  } | sort -un | grep -vx "$holder") || pids=$holder
  echo "$pids"
}

end_ethernet() {
  if ip link show nodes >/dev/null 2>&1; then ip link delete nodes; fi
  ip address delete 10.96.0.1/32 dev lo 2>/dev/null || true # it may never have been there
}
