package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
)

// nodeSpec is what one made-up node looks like. GPUs are cut into islands of islandSize by their id.
type nodeSpec struct {
	name        string
	gpus        int
	islandSize  int // 0: all GPUs are one island
	labels      object
	gpuStatus   bool   // false: a node that no agent has looked at
	enforcement string // what its GpuNodeStatus says of that
	existing    bool   // a kubelet made it: it keeps its own resources and conditions
	vcuda       bool   // gpu-manager gives its GPUs in shares; no GpuNodeStatus then
	kubelet     string // the version that its status says
}

func nodesCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	count := flags.Int("count", 1, "how many nodes")
	prefix := flags.String("prefix", "node-", "nodes are called <prefix>0, <prefix>1 ...")
	name := flags.String("name", "", "make one node of this name instead")
	spec := nodeSpec{labels: object{}}
	flags.IntVar(&spec.gpus, "gpus", 8, "GPUs of each node")
	flags.IntVar(&spec.islandSize, "island-size", 0, "GPUs of one NVLink island (default: all of the node)")
	flags.BoolVar(&spec.gpuStatus, "gpu-status", true, "make the GpuNodeStatus too (needs its CRD)")
	flags.StringVar(&spec.enforcement, "enforcement", "devices", "what the GpuNodeStatus says: devices, env or off")
	flags.BoolVar(&spec.existing, "existing", false, "the node has a kubelet: only its labels, its GPUs and its GpuNodeStatus are made up")
	flags.BoolVar(&spec.vcuda, "vcuda", false, "nodes of gpu-manager: shares of GPUs in place of whole ones, no GpuNodeStatus")
	flags.StringVar(&spec.kubelet, "kubelet-version", "", "the version that its kubelet says it has: v1.37.2")
	flags.Func("label", "key=value, may be given several times", func(text string) error {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return fmt.Errorf("want key=value")
		}
		spec.labels[key] = value
		return nil
	})
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		if *name != "" {
			spec.name = *name
			return makeNode(ctx, client, spec)
		}
		return parallel(*count, 16, func(i int) error {
			one := spec
			one.name = fmt.Sprintf("%s%d", *prefix, i)
			return makeNode(ctx, client, one)
		})
	}
}

func makeNode(ctx context.Context, client *kubernetes.Clientset, spec nodeSpec) error {
	path := "/api/v1/nodes/" + spec.name
	if err := apply(ctx, client, path, nodeObject(spec)); err != nil {
		return err
	}
	if err := apply(ctx, client, path+"/status", nodeStatus(spec)); err != nil {
		return err
	}
	if !spec.gpuStatus || spec.vcuda {
		return nil
	}
	path = "/apis/gpu.scheduling/v1/gpunodestatuses/" + spec.name
	status := object{
		"apiVersion": "gpu.scheduling/v1", "kind": "GpuNodeStatus", "metadata": object{"name": spec.name},
		"spec": object{"nodeName": spec.name},
	}
	if err := apply(ctx, client, path, status); err != nil {
		return err
	}
	delete(status, "spec")
	// No observedTime: that is how a status made by hand is known.
	status["status"] = object{"total": spec.gpus, "enforcement": spec.enforcement, "devices": devices(spec)}
	return apply(ctx, client, path+"/status", status)
}

func nodeObject(spec nodeSpec) object {
	labels := object{}
	if !spec.existing {
		labels = object{
			"kubernetes.io/hostname": spec.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			"type": "kwok", // where kwok runs, it plays this node's kubelet
		}
	}
	for key, value := range spec.labels {
		labels[key] = value
	}
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": spec.name, "labels": labels}}
}

func nodeStatus(spec nodeSpec) object {
	resources := object{}
	if !spec.existing {
		resources = object{"cpu": "64", "memory": "512Gi", "ephemeral-storage": "1Ti", "pods": "110"}
	}
	switch {
	case spec.vcuda:
		resources[vcudaCore], resources[vcudaMemory] = fmt.Sprint(100*spec.gpus), fmt.Sprint(vcudaMemoryEach*spec.gpus)
	case spec.gpus > 0:
		resources["nvidia.com/gpu"] = fmt.Sprint(spec.gpus)
	}
	status := object{"capacity": resources, "allocatable": resources}
	if spec.kubelet != "" {
		status["nodeInfo"] = object{"kubeletVersion": spec.kubelet}
	}
	if !spec.existing {
		now := time.Now().UTC().Format(time.RFC3339)
		status["conditions"] = []object{{
			"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "made by the testbed",
			"lastHeartbeatTime": now, "lastTransitionTime": now,
		}}
	}
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": spec.name}, "status": status}
}

func devices(spec nodeSpec) []object {
	islandSize := spec.islandSize
	if islandSize == 0 {
		islandSize = max(spec.gpus, 1)
	}
	result := []object{}
	for id := range spec.gpus {
		result = append(result, object{
			"id": id, "uuid": deviceUUID(spec.name, id), "model": "NVIDIA A100-SXM4-80GB", "memoryMiB": 81920,
			"pciBusId": fmt.Sprintf("0000:%02x:00.0", 0x10+id), "numaNode": id * 2 / max(spec.gpus, 1),
			"health": "Healthy", "island": fmt.Sprintf("nvlink-%d", id/islandSize), "bandwidthGBps": 600,
		})
	}
	return result
}

// deviceUUID is the same for the same GPU in every run, in the form that NVIDIA's driver prints.
func deviceUUID(node string, id int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", node, id))
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
