package main

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func boundPod(name, node, allocated string) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name),
			Annotations: map[string]string{claimAnnotation: "claim"}},
		Spec: corev1.PodSpec{NodeName: node, SchedulerName: "gpu-scheduler"},
	}
	if allocated != "" {
		pod.Annotations[allocatedAnnotation] = allocated
	}
	return pod
}

func ended(pod corev1.Pod) corev1.Pod {
	pod.Status.Phase = corev1.PodSucceeded
	return pod
}

func plainPod(name, node string, gpus int64) corev1.Pod {
	pod := boundPod(name, node, "")
	delete(pod.Annotations, claimAnnotation)
	limits := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI)}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: limits}}}
	return pod
}

func lease(node, id, pod, devices string) coordinationv1.Lease {
	holder := "uid-" + pod
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gs", Name: "gpu-" + node + "-" + id, Annotations: map[string]string{
			nodeAnnotation: node, gpuAnnotation: id, podNamespaceAnnotation: "ns", podNameAnnotation: pod, devicesAnnotation: devices,
		}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder},
	}
}

func sharedLease(node, id, holders string) coordinationv1.Lease {
	l := lease(node, id, "", "")
	shared := sharedHolder
	l.Spec.HolderIdentity = &shared
	l.Annotations[holdersAnnotation] = holders
	return l
}

func nodeWith(name, gpus string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}}}
}

func TestJudge(t *testing.T) {
	type pods = []corev1.Pod
	type leases = []coordinationv1.Lease
	half := `{"uid":"uid-a","namespace":"ns","name":"a","milli":600,"devices":"n:0"}`
	otherHalf := `{"uid":"uid-b","namespace":"ns","name":"b","milli":400,"devices":"n:0"}`
	tooMuch := `{"uid":"uid-b","namespace":"ns","name":"b","milli":401,"devices":"n:0"}`
	for _, c := range []struct {
		name string
		seen snapshot
		want string // part of the one finding; "" for none
	}{
		{"a pod with its leases", snapshot{pods: pods{boundPod("a", "n", "n:0,1")}, leases: leases{lease("n", "0", "a", "n:0,1"), lease("n", "1", "a", "n:0,1")}}, ""},
		{"a reserved, not yet bound pod", snapshot{pods: pods{boundPod("a", "", "")}, leases: leases{lease("n", "0", "a", "n:0")}}, ""},
		{"a pod that ended, its device given on", snapshot{pods: pods{ended(boundPod("a", "n", "n:0")), boundPod("b", "n", "n:0")}, leases: leases{lease("n", "0", "b", "n:0")}}, ""},
		{"two pods say the same device", snapshot{pods: pods{boundPod("a", "n", "n:0"), boundPod("b", "n", "n:0")}, leases: leases{lease("n", "0", "a", "n:0"), lease("n", "0", "b", "n:0")}}, "GPU n:0: given to"},
		{"a lease for another pod than the one bound", snapshot{pods: pods{func() corev1.Pod { p := boundPod("a", "n", "n:0"); p.Spec.SchedulerName = "other"; return p }(), boundPod("b", "", "")}, leases: leases{lease("n", "0", "b", "n:0")}}, "GPU n:0: given to"},
		{"two partitions of one device", snapshot{pods: pods{boundPod("a", "n", "n:0/p1"), boundPod("b", "n", "n:0/p2")}, leases: leases{lease("n", "0", "a", "n:0/p1"), lease("n", "0", "b", "n:0/p2")}}, ""},
		{"a partition and the whole device", snapshot{pods: pods{boundPod("a", "n", "n:0/p1"), boundPod("b", "n", "n:0")}, leases: leases{lease("n", "0", "a", "n:0/p1"), lease("n", "0", "b", "n:0")}}, "GPU n:0: given to"},
		{"a device shared within its size", snapshot{pods: pods{boundPod("a", "n", "n:0"), boundPod("b", "n", "n:0")}, leases: leases{sharedLease("n", "0", "["+half+","+otherHalf+"]")}}, ""},
		{"a device shared beyond its size", snapshot{pods: pods{boundPod("a", "n", "n:0"), boundPod("b", "n", "n:0")}, leases: leases{sharedLease("n", "0", "["+half+","+tooMuch+"]")}}, "1001 milli given to 2 pods"},
		{"a shared lease without holders", snapshot{leases: leases{sharedLease("n", "0", "[]")}}, "holders can't be read"},
		{"a claim pod without a lease", snapshot{pods: pods{boundPod("a", "n", "n:0")}}, "which no lease of it holds"},
		{"a claim pod without devices", snapshot{pods: pods{boundPod("a", "n", "")}}, "bound without"},
		{"allocated on another node", snapshot{pods: pods{boundPod("a", "n", "m:0")}, leases: leases{lease("m", "0", "a", "m:0")}}, "bound to n"},
		{"a lease of a pod that ended", snapshot{pods: pods{ended(boundPod("a", "n", "n:0"))}, leases: leases{lease("n", "0", "a", "n:0")}}, "is gone or ended"},
		{"a lease of a pod that is gone", snapshot{leases: leases{lease("n", "0", "a", "n:0")}}, "is gone or ended"},
		{"plain pods fill the node", snapshot{pods: pods{boundPod("a", "n", "n:0"), plainPod("b", "n", 1)}, leases: leases{lease("n", "0", "a", "n:0")}, nodes: []corev1.Node{nodeWith("n", "2")}}, ""},
		{"plain pods beyond the node", snapshot{pods: pods{boundPod("a", "n", "n:0"), plainPod("b", "n", 2)}, leases: leases{lease("n", "0", "a", "n:0")}, nodes: []corev1.Node{nodeWith("n", "2")}}, "node n: 1 GPUs held and 2 taken without ids, of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			findings := judge(c.seen, "gpu-scheduler").findings
			if c.want == "" {
				if len(findings) != 0 {
					t.Fatalf("want none, got %v", findings)
				}
				return
			}
			// Two ways of seeing one fault are fine, a fault that is not named is not.
			if len(findings) == 0 || !strings.Contains(findings[0].text, c.want) {
				t.Fatalf("want %q, got %v", c.want, findings)
			}
		})
	}
}
