# shellcheck shell=bash
# What a case needs whose nodes have GPUs, a device plugin of the vendor's kind, and our agents that enforce: sourced by the
# case `enforcement`, and by nobody else. (`# Needs: nodes device-plugin nri-plugin dra-driver`, `provider_up --kubelets 2`.)
#
# A GPU is a twin of /dev/null, /run/nvidia/driver/dev/nvidia3 of its node, which containers get as /dev/nvidia3. What is put
# in its place when it is to go cannot be opened, so `seen` tells what a container can reach, and not what `ls` shows.

DRIVER=/run/nvidia/driver
NODES=(node-a node-b)
AGENT_PORT=8080

# --- images ------------------------------------------------------------------

# gpu_images TAR: busybox with a program `seen`, as seen:testbed; and under the names of CUDA images with their variables, by
# which such an image asks for all GPUs, and with a forged one.
gpu_images() {
  local folder=$CASE_DIR/gpu-images digest
  mkdir -p "$folder/root/bin" "$folder"/{seen,cuda}
  tar -C "$folder" -xf "$(grep '/busybox.tar$' "$CASE_DIR/cluster/images")"
  # Of each container one line: device nodes that open, mounts of the device plugin, and both variables; - for none.
  cat >"$folder/root/bin/seen" <<'SH'
#!/bin/sh
nodes= mounts=
for file in /dev/nvidia[0-9]*; do
  if (: <"$file") 2>/dev/null; then nodes="$nodes,${file#/dev/nvidia}"; fi
done
for file in /var/run/nvidia-container-devices/*; do
  if [ -e "$file" ]; then mounts="$mounts,${file##*/}"; fi
done
nodes=${nodes#,} mounts=${mounts#,}
echo "${nodes:--} ${mounts:--} ${CUDA_VISIBLE_DEVICES:--} ${NVIDIA_VISIBLE_DEVICES:--}"
SH
  chmod 755 "$folder/root/bin/seen"
  ln -s seen "$folder/root/bin/nvidia-smi"
  tar -C "$folder/root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$folder/program.tar" .
  digest=$(sha256sum "$folder/program.tar" | cut -d ' ' -f 1)
  # pack_image FOLDER ENV TAGS: the latter two as JSON
  pack_image() {
    jq --arg digest "sha256:$digest" --argjson env "$2" '.config.Env += $env | .rootfs.diff_ids += [$digest]' "$folder/config.json" >"$folder/$1/config.json"
    jq -n --argjson tags "$3" '[{Config: "config.json", RepoTags: $tags, Layers: ["layer.tar", "program.tar"]}]' >"$folder/$1/manifest.json"
    tar -cf "$folder/$1.tar" -C "$folder/$1" manifest.json config.json -C "$folder" layer.tar program.tar
  }
  pack_image seen '[]' '["seen:testbed"]'
  pack_image cuda '["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility", "NVIDIA_REQUIRE_CUDA=cuda>=12.4", "CUDA_VERSION=12.4.1", "CUDA_VISIBLE_DEVICES=7"]' \
    '["cuda:testbed", "nvidia/cuda:12.4.1-runtime-ubuntu22.04"]'
  provider_images "$folder"/{seen,cuda}.tar
  rm -r "$folder"
}

# --- nodes -------------------------------------------------------------------

node_address() { if [[ $1 == node-a ]]; then echo 10.250.0.11; else echo 10.250.0.12; fi; }

# make_gpus NODE: the driver's device nodes and one of its libraries.
make_gpus() {
  # shellcheck disable=SC2016 # expanded there
  provider_on_node "$1" bash -euc 'mkdir -p "$1"/{dev,lib}
    for name in nvidia{0..7} nvidiactl nvidia-uvm; do mknod -m 666 "$1/dev/$name" c 1 3; done
    echo "a driver library" >"$1/lib/libcuda.so.1"' _ $DRIVER
}

# list_gpus NODE: devices-NODE gets a UUID and an id (and minor number) a line, the highest first: the device plugin picks from
# that end, and gpu-scheduler from the other.
list_gpus() { kubectl get gns "$1" -o json | jq -r '.status.devices | sort_by(-.id)[] | "\(.uuid) \(.id)"' >"$CASE_DIR/devices-$1"; }
uuid_of() { awk -v id="$2" '$2 == id { print $1 }' "$CASE_DIR/devices-$1"; } # NODE ID

# pick_first NODE ID: from now on the device plugin hands this one out first.
pick_first() {
  { grep " $2\$" "$CASE_DIR/devices-$1"; grep -v " $2\$" "$CASE_DIR/devices-$1"; } >"$CASE_DIR/devices-$1.new"
  mv "$CASE_DIR/devices-$1.new" "$CASE_DIR/devices-$1"
}

# nvidia_ctk NODE: /etc/cdi/nvidia.yaml, in the shape in which nvidia-ctk writes it. Its hook leaves a word behind.
nvidia_ctk() {
  local uuid id name
  {
    printf '%s\n' --- 'cdiVersion: 0.5.0' 'kind: nvidia.com/gpu' 'devices:'
    while read -r uuid id; do
      for name in "\"$id\"" "$uuid"; do
        printf '%s\n' "- name: $name" '  containerEdits:' '    deviceNodes:' "    - path: /dev/nvidia$id" "      hostPath: $DRIVER/dev/nvidia$id"
      done
    done < <(sort -k 2n "$CASE_DIR/devices-$1")
    cat <<YAML
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
  - path: /dev/nvidia-uvm
    hostPath: $DRIVER/dev/nvidia-uvm
  - path: /dev/nvidiactl
    hostPath: $DRIVER/dev/nvidiactl
  hooks:
  - hookName: createContainer
    path: /bin/busybox
    args: [busybox, sh, -c, "cat >$DRIVER/hooked"]
  mounts:
  - hostPath: $DRIVER/lib/libcuda.so.1
    containerPath: /usr/lib/libcuda.so.1
    options: [ro, nosuid, nodev, rbind, rprivate]
YAML
  } | provider_on_node "$1" bash -euc 'cat >/etc/cdi/.nvidia.tmp; mv /etc/cdi/.nvidia.tmp /etc/cdi/nvidia.yaml'
}

# --- programs ----------------------------------------------------------------

# agent_cluster: the rights of the agents, and the driver that the gate's volumes name (as charts/gpu-scheduler has it).
agent_cluster() {
  kubectl apply -f "$REPO/deploy/agent/rbac.yaml" >/dev/null
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: gate.gpu.scheduling}
spec: {attachRequired: false, podInfoOnMount: true, fsGroupPolicy: None, volumeLifecycleModes: [Ephemeral]}
YAML
  # The namespace of an agent is trusted, and this one's is the pods'.
  provider_kubeconfig default gpu-scheduler-agent | sed 's/, namespace: default}$/, namespace: kube-system}/' >"$CASE_DIR/agent.kubeconfig"
  expect "kube-system in the agents' kubeconfig" 1 "$(grep -c 'namespace: kube-system' "$CASE_DIR/agent.kubeconfig")"
  eventually "the account of pods" default field serviceaccount/default .metadata.name -n kube-system
}
# The agents are no pods here, so that one can be killed and stay away. That there is one, schedulers see by a pod with its label.
agent_pod() {
  pod "agent-$1" '' spec "nodeSelector: {kubernetes.io/hostname: $1}" | sed 's/schedulerName: gpu-scheduler, //' |
    kubectl label -f - --local --dry-run=client -o yaml app=gpu-scheduler-agent | create -n kube-system
}

# start_device_plugin NODE [FLAG...]: returns when the kubelet knows it. By which strategy it gives is what strategy says.
start_device_plugin() {
  run_helper "device-plugin-$1" "$TESTBED/on-node" "$CASE_DIR/cluster" "$1" "$(tool device-plugin)" --devices="$CASE_DIR/devices-$1" \
    --strategy="$CASE_DIR/strategy" --nodes-dir=$DRIVER/dev --log="$CASE_DIR/plugin-$1.log" "${@:2}"
  eventually_at_least "registrations of the device plugin on $1" 1 times_said "plugin-$1.log" registered
}
strategy() {
  echo "$1" >"$CASE_DIR/strategy.new"
  mv "$CASE_DIR/strategy.new" "$CASE_DIR/strategy"
}
# times_said LOG CALL [POD]: of the log of a device plugin or an NRI plugin.
times_said() {
  if [[ ! -f $CASE_DIR/$1 ]]; then echo 0; return; fi
  jq -rR --arg call "$2" --arg pod "${3:-}" 'fromjson? | select(.call == $call and ($pod == "" or .pod == $pod)) | .call' "$CASE_DIR/$1" | wc -l
}

# start_agent NODE [FLAG...]: returns at once.
start_agent() {
  run_helper "agent-$1" "$TESTBED/on-node" "$CASE_DIR/cluster" "$1" "$GS_BIN/gpu-scheduler-agent" --kubeconfig="$CASE_DIR/agent.kubeconfig" \
    --node-name="$1" --simulate="$CASE_DIR/nodes.yaml" --container-runtime-endpoint=/run/containerd/containerd.sock --poll-interval=1s \
    --metrics-address="0.0.0.0:$AGENT_PORT" --enforce=devices --lease-namespace=default --trusted-namespaces=kube-system "${@:2}"
}
agent_page() { curl --silent --max-time 5 "http://$(node_address "$1"):$AGENT_PORT$2"; }
agent_ready() { curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}' "http://$(node_address "$1"):$AGENT_PORT/readyz"; }
# It has looked and written its status, and the container runtime asks it.
eventually_enforces() {
  eventually "/readyz of the agent on $1" 200 agent_ready "$1"
  eventually "gpu_agent_nri_connected of $1" 1 metric "$1" gpu_agent_nri_connected
}
kill_agent() {
  kill -s KILL "$(<"$CASE_DIR/agent-$1.pid")"
  finish_job "agent-$1" 137
}
# metric NODE NAME [TEXT]: the sum over all lines of that name that have TEXT in their labels.
metric() {
  agent_page "$1" /metrics | awk -v name="$2" -v text="${3:-}" '
    $1 == name || index($1, name "{") == 1 { if (index($0, text)) sum += $NF } END { print sum + 0 }'
}

# start_nri_plugin NODE: another's, which is asked before ours; it holds up containers of the pod that hold names.
start_nri_plugin() {
  run_helper "nri-plugin-$1" "$TESTBED/on-node" "$CASE_DIR/cluster" "$1" "$(tool nri-plugin)" --index=00 --hold="$CASE_DIR/hold" --log="$CASE_DIR/nri-$1.log"
  eventually_at_least "connections of the other NRI plugin on $1" 1 times_said "nri-$1.log" connected
}
hold() {
  echo "$1" >"$CASE_DIR/hold.new"
  mv "$CASE_DIR/hold.new" "$CASE_DIR/hold"
}
let_go() { rm "$CASE_DIR/hold"; }

# --- pods --------------------------------------------------------------------

# gpu_pod NAME OF NODE GPUS [CLAIM [ANNOTATIONS]]: a pod of one container, OF ours or theirs (kube-scheduler's). Each says what it sees and
# stays. ANNOTATIONS are JSON.
gpu_pod() {
  jq -n --arg name "$1" --arg of "$2" --arg node "$3" --argjson gpus "$4" --arg claim "${5:-}" --argjson annotations "${6:-{\}}" '{
    apiVersion: "v1", kind: "Pod",
    metadata: {name: $name, labels: {of: $of}, annotations: ($annotations + if $claim == "" then {} else {"gpu.scheduling/claim": $claim} end)},
    spec: {schedulerName: (if $of == "ours" then "gpu-scheduler" else "default-scheduler" end), terminationGracePeriodSeconds: 1,
      nodeSelector: {"kubernetes.io/hostname": $node},
      containers: [{name: "main", image: "seen:testbed", command: ["sh", "-c", "seen; exec sleep 1000000"],
        resources: {limits: (if $gpus > 0 then {"nvidia.com/gpu": $gpus} else {} end)}}]}}'
}

# several NAME NODE WAVE [CLAIM]: a pod of ours with two GPUs in two of four containers, an init container and a sidecar; images and
# containers say other GPUs.
several() {
  gpu_pod "$1" ours "$2" 1 "${4:-}" | jq --arg wave "$3" '
    .metadata.labels.wave = $wave | .spec.containers[0] as $main
    | ($main | del(.resources)) as $plain
    | [{name: "CUDA_VISIBLE_DEVICES", value: "7"}, {name: "NVIDIA_VISIBLE_DEVICES", value: "all"}] as $forged
    | .spec.initContainers = [$plain + {name: "first", image: "cuda:testbed", command: ["seen"]}, $plain + {name: "beside", restartPolicy: "Always"}]
    | .spec.containers = [$main + {name: "a"}, $main + {name: "b", image: "cuda:testbed", env: $forged}, $plain + {name: "c", image: "cuda:testbed"},
        $plain + {name: "d", env: $forged}]'
}

sees() { kubectl exec "$1" -c "${2:-main}" -- seen | cut -d ' ' -f 1; } # POD [CONTAINER]: ids
ids_of() { allocated "$1" | sed 's/.*://'; }
# expect_own POD: it sees what was chosen for it.
expect_own() { expect "GPUs in the container of $1" "$(ids_of "$1")" "$(sees "$1")"; }
# The warnings that it has others than its own.
mismatches_of() { events_of "$1" GpuMismatch; }
# own_or_found POD: it sees what was chosen for it, or the agent has said that it does not.
own_or_found() {
  if [[ $(sees "$1") == "$(ids_of "$1")" ]]; then return; fi
  eventually_like "a warning that $1 sees $(sees "$1") and was given $(ids_of "$1")" '^Warning ' mismatches_of "$1"
  note "$1 was made while nobody answered, and was found"
}
running() { kubectl get pods -l "$1" -o json | jq '[.items[] | select(.status.phase == "Running" and all(.status.containerStatuses[]; .ready))] | length'; }
# named TEXT: how often the agents say of a container with TEXT in its labels that it has a GPU.
named() {
  local node sum=0
  for node in "${NODES[@]}"; do sum=$((sum + $(metric "$node" gpu_scheduler_holder "$1"))); done
  echo $sum
}

# --- waves -------------------------------------------------------------------

# collect FOLDER WAVE LINES: what judge.py reads.
collect() {
  local node
  mkdir -p "$1"
  said() { kubectl logs -l "wave=$2" --all-containers --prefix >"$1/logs" 2>>"$CASE_DIR/kubectl.log" && wc -l <"$1/logs"; }
  eventually "lines that the containers of wave $2 said" "$3" said "$1" "$2"
  kubectl get pods,leases -o json >"$1/objects.json"
  for node in "${NODES[@]}"; do
    cp "$CASE_DIR/devices-$node" "$1/devices-$node"
    provider_on_node "$node" "$(tool dra-driver)" pod-resources >"$1/listed-$node"
  done
}
judge() { "$CONTRACT/enforcement/judge.py" "$1" "$2"; }
# holders FOLDER: what is wrong in what the agents say now.
holders() {
  local node
  for node in "${NODES[@]}"; do agent_page "$node" /metrics >"$1/metrics-$node"; done
  judge holders "$1"
}
