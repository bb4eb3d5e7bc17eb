package main

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	claimsPath           = "/apis/gpu.scheduling/v1/gpuclaims"
	maxStatusAllocations = 256 // of allocationsTotal
)

// gpuClaim is what the judge reads of a GpuClaim.
type gpuClaim struct {
	Metadata metav1.ObjectMeta
	Spec     struct{ Devices struct{ Count int } }
	Status   struct {
		Phase            string
		AllocationsTotal int
		Allocations      []struct {
			Pod    string
			UID    types.UID
			Node   string
			GpuIDs []int
		}
	}
}

func listClaims(ctx context.Context, client *kubernetes.Clientset) ([]gpuClaim, error) {
	raw, err := client.CoreV1().RESTClient().Get().AbsPath(claimsPath).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var list struct{ Items []gpuClaim }
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// checkClaims: a claim's status says what its bound, live pods say, and each of them has as many GPUs as the claim asks
// for. All of it may settle: status is written after the Binding, at most once a second.
func (v *verdict) checkClaims(claims []gpuClaim, pods []corev1.Pod) {
	for i := range claims {
		v.checkClaim(&claims[i], podsOfClaim(&claims[i], pods))
	}
}

func podsOfClaim(claim *gpuClaim, pods []corev1.Pod) map[types.UID]*corev1.Pod {
	result := map[types.UID]*corev1.Pod{}
	for i := range pods {
		pod := readPod(&pods[i])
		if pod.live && len(pod.devices) > 0 && pods[i].Namespace == claim.Metadata.Namespace && pod.claim == claim.Metadata.Name {
			result[pods[i].UID] = &pods[i]
		}
	}
	return result
}

func (v *verdict) checkClaim(claim *gpuClaim, pods map[types.UID]*corev1.Pod) {
	name, status := claim.Metadata.Namespace+"/"+claim.Metadata.Name, claim.Status
	if status.AllocationsTotal != len(pods) || len(status.Allocations) != min(len(pods), maxStatusAllocations) {
		v.find(true, "claim %s: says %d allocations and lists %d, but %d pods have GPUs by it",
			name, status.AllocationsTotal, len(status.Allocations), len(pods))
	}
	if (status.Phase == "Bound") != (len(pods) > 0) {
		v.find(true, "claim %s: is %q with %d pods that have GPUs by it", name, status.Phase, len(pods))
	}
	for _, pod := range pods {
		if got := len(readPod(pod).devices); got != max(claim.Spec.Devices.Count, 1) {
			v.find(false, "claim %s: asks for %d GPUs, pod %s has %d", name, claim.Spec.Devices.Count, pod.Name, got)
		}
	}
	for _, one := range status.Allocations {
		pod := pods[one.UID]
		if pod == nil {
			v.find(true, "claim %s: its status names pod %s (%s), which has no GPUs by it", name, one.Pod, one.UID)
			continue
		}
		if got := readPod(pod).devices; pod.Spec.NodeName != one.Node || !slices.Equal(idsOf(got), one.GpuIDs) {
			v.find(true, "claim %s: its status gives pod %s %s:%v, the pod says %v", name, one.Pod, one.Node, one.GpuIDs, got)
		}
	}
}

// idsOf: -1 stands for what is no number.
func idsOf(devices []allocated) []int {
	var ids []int
	for _, one := range devices {
		id, err := strconv.Atoi(one.id)
		if err != nil {
			id = -1
		}
		ids = append(ids, id)
	}
	return ids
}
