package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	claimAnnotation        = "gpu.scheduling/claim"
	allocatedAnnotation    = "gpu.scheduling/allocated"
	managedLabel           = "gpu.scheduling/managed"
	nodeAnnotation         = "gpu.scheduling/node"
	gpuAnnotation          = "gpu.scheduling/gpu"
	podUIDAnnotation       = "gpu.scheduling/pod-uid"
	podNameAnnotation      = "gpu.scheduling/pod-name"
	podNamespaceAnnotation = "gpu.scheduling/pod-namespace"
	devicesAnnotation      = "gpu.scheduling/devices"
	holdersAnnotation      = "gpu.scheduling/holders"
	byHandAnnotation       = "testbed/by-hand"
	sharedHolder           = "shared"
	milliOfDevice          = 1000
)

func judgeCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	scheduler := flags.String("scheduler", "gpu-scheduler", "schedulerName of the pods whose leases are asked for")
	within := flags.Duration("within", 0, "give what may settle (a lease of a pod that just ended) so long")
	claims := flags.Bool("claims", false, "judge the status of GpuClaims too")
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		deadline := time.Now().Add(*within)
		for {
			seen, verdict, err := look(ctx, client, *scheduler, *claims)
			switch late := time.Now().After(deadline); {
			case err != nil && late:
				return err
			case err != nil: // a server that is busy, or has just come back
				fmt.Fprintf(os.Stderr, "judge: %v (and tries again)\n", err)
			case late || verdict.settled():
				return verdict.report(seen)
			}
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func look(ctx context.Context, client *kubernetes.Clientset, scheduler string, claims bool) (snapshot, *verdict, error) {
	seen, err := takeSnapshot(ctx, client)
	if err != nil {
		return snapshot{}, nil, err
	}
	v := judge(seen, scheduler)
	if claims {
		read, err := listClaims(ctx, client)
		if err != nil {
			return snapshot{}, nil, err
		}
		v.checkClaims(read, seen.pods)
	}
	return seen, v, nil
}

// settled: waiting changes nothing.
func (v *verdict) settled() bool {
	return len(v.findings) == 0 || slices.ContainsFunc(v.findings, func(f finding) bool { return !f.maySettle })
}

// snapshot is what the API server held at one revision.
type snapshot struct {
	pods   []corev1.Pod
	leases []coordinationv1.Lease
	nodes  []corev1.Node
}

// takeSnapshot reads leases and nodes at exactly the revision of the pod list, so that a device which passes
// from one pod to the next between two reads is not taken for one given twice.
func takeSnapshot(ctx context.Context, client *kubernetes.Clientset) (snapshot, error) {
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return snapshot{}, err
	}
	then := metav1.ListOptions{ResourceVersion: pods.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	nodes, err := client.CoreV1().Nodes().List(ctx, then)
	if err != nil {
		return snapshot{}, err
	}
	then.LabelSelector = managedLabel + "=true"
	leases, err := client.CoordinationV1().Leases("").List(ctx, then)
	if err != nil {
		return snapshot{}, err
	}
	return snapshot{pods.Items, leases.Items, nodes.Items}, nil
}

type finding struct {
	text      string
	maySettle bool // wrong only if it stays
}

type device struct{ node, id string }

// holding is one pod's hold on a device, by a lease, by its own annotation or by both.
type holding struct {
	pod       string // namespace/name, for people
	partition string // "" holds the whole device
	shared    bool
	milli     int
}

type verdict struct {
	findings []finding
	held     map[device]map[types.UID]*holding
}

func (v *verdict) find(maySettle bool, format string, args ...any) {
	v.findings = append(v.findings, finding{fmt.Sprintf(format, args...), maySettle})
}

func (v *verdict) hold(d device, uid types.UID, h holding) {
	if v.held[d] == nil {
		v.held[d] = map[types.UID]*holding{}
	}
	v.held[d][uid] = &h
}

func judge(seen snapshot, scheduler string) *verdict {
	v := &verdict{held: map[device]map[types.UID]*holding{}}
	live := map[types.UID]*corev1.Pod{}
	for i, pod := range seen.pods {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			live[pod.UID] = &seen.pods[i]
		}
	}
	for i := range seen.leases {
		v.countLease(readLease(&seen.leases[i]), live)
	}
	anonymous := map[string]int{} // node -> GPUs of bound pods that have no exact devices
	for uid, pod := range live {
		if pod.Spec.NodeName != "" {
			anonymous[pod.Spec.NodeName] += v.countPod(uid, pod, scheduler)
		}
	}
	v.checkDevices()
	v.checkNodes(seen.nodes, anonymous)
	return v
}

// leaseHolder is one entry of a shared lease's holders; an exclusive lease is read as one such entry.
type leaseHolder struct {
	UID                      types.UID
	Namespace, Name, Devices string
	Milli                    int
}

// leaseFacts is what one of our leases says.
type leaseFacts struct {
	name    string // namespace/name
	device  device
	holders []leaseHolder
	shared  bool
	trouble string // why it can't be read; "" if it can
	byHand  bool   // the testbed is about to delete it, as a person might
}

func readLease(lease *coordinationv1.Lease) leaseFacts {
	notes := lease.Annotations
	l := leaseFacts{
		name: lease.Namespace + "/" + lease.Name, device: device{notes[nodeAnnotation], notes[gpuAnnotation]},
		byHand: notes[byHandAnnotation] != "",
	}
	if l.device.node == "" || l.device.id == "" || lease.Spec.HolderIdentity == nil {
		l.trouble = "no node, gpu or holder"
		return l
	}
	l.shared = *lease.Spec.HolderIdentity == sharedHolder
	if !l.shared {
		l.holders = []leaseHolder{{
			UID: types.UID(*lease.Spec.HolderIdentity), Namespace: notes[podNamespaceAnnotation], Name: notes[podNameAnnotation],
			Devices: notes[devicesAnnotation], Milli: milliOfDevice,
		}}
	} else if err := json.Unmarshal([]byte(notes[holdersAnnotation]), &l.holders); err != nil || len(l.holders) == 0 {
		l.trouble = fmt.Sprintf("shared, but its holders can't be read: %v", err)
	}
	return l
}

func (v *verdict) countLease(lease leaseFacts, live map[types.UID]*corev1.Pod) {
	d := lease.device
	if lease.trouble != "" {
		v.find(!lease.shared, "lease %s: %s", lease.name, lease.trouble)
		return
	}
	for _, holder := range lease.holders {
		name := holder.Namespace + "/" + holder.Name
		pod := live[holder.UID]
		switch {
		case pod == nil:
			v.find(true, "lease %s: its pod %s (%s) is gone or ended", lease.name, name, holder.UID)
			continue // a device may be held for a pod that ended; who else holds it is checked by the others
		case pod.Spec.NodeName != "" && pod.Spec.NodeName != d.node:
			v.find(true, "lease %s: its pod %s is bound to %s", lease.name, name, pod.Spec.NodeName)
		}
		partition := ""
		for _, one := range parseDevices(holder.Devices, d.node) {
			if one.device == d {
				partition = one.partition
			}
		}
		v.hold(d, holder.UID, holding{name, partition, lease.shared, holder.Milli})
	}
}

// countPod adds what a bound pod's annotation says; it returns how many GPUs it has without saying which.
func (v *verdict) countPod(uid types.UID, pod *corev1.Pod, scheduler string) int {
	name := pod.Namespace + "/" + pod.Name
	ours := pod.Spec.SchedulerName == scheduler
	allocated, found := pod.Annotations[allocatedAnnotation]
	if !found {
		if _, claims := pod.Annotations[claimAnnotation]; claims && ours {
			v.find(true, "pod %s: names a claim and is bound without %s", name, allocatedAnnotation)
		}
		return gpuLimits(pod)
	}
	for _, one := range parseDevices(allocated, pod.Spec.NodeName) {
		if one.node != pod.Spec.NodeName {
			v.find(false, "pod %s: allocated on %s, bound to %s", name, one.node, pod.Spec.NodeName)
		}
		if v.held[one.device][uid] != nil {
			continue
		}
		if ours {
			v.find(true, "pod %s: bound with %s:%s, which no lease of it holds", name, one.node, one.id)
		}
		v.hold(one.device, uid, holding{name, one.partition, false, milliOfDevice})
	}
	return 0
}

func gpuLimits(pod *corev1.Pod) int {
	total := 0
	for _, container := range pod.Spec.Containers {
		limit := container.Resources.Limits["nvidia.com/gpu"]
		total += int(limit.Value())
	}
	return total
}

type allocated struct {
	device
	partition string
}

// parseDevices reads "node:0,1/1g.10gb-0" and, for the node given, the bare "0,1".
func parseDevices(text, node string) []allocated {
	if before, after, found := strings.Cut(text, ":"); found {
		node, text = before, after
	}
	var result []allocated
	for _, word := range strings.Split(text, ",") {
		if id, partition, _ := strings.Cut(strings.TrimSpace(word), "/"); id != "" {
			result = append(result, allocated{device{node, id}, partition})
		}
	}
	return result
}

func (v *verdict) checkDevices() {
	for d, holders := range v.held {
		var earlier []*holding
		shared := 0
		for _, h := range holders {
			for _, other := range earlier {
				overlap := h.partition == "" || other.partition == "" || h.partition == other.partition
				if overlap && !(h.shared && other.shared) {
					v.find(false, "GPU %s:%s: given to %s and to %s", d.node, d.id, h.pod, other.pod)
				}
			}
			earlier = append(earlier, h)
			if h.shared {
				shared += h.milli
			}
		}
		if shared > milliOfDevice {
			v.find(false, "GPU %s:%s: %d milli given to %d pods", d.node, d.id, shared, len(holders))
		}
	}
}

// checkNodes: held by id + anonymous may not pass what the node has. Nodes that say nothing are not judged.
func (v *verdict) checkNodes(nodes []corev1.Node, anonymous map[string]int) {
	held := map[string]int{}
	for d := range v.held {
		held[d.node]++
	}
	for _, node := range nodes {
		capacity, known := node.Status.Allocatable["nvidia.com/gpu"]
		if used := held[node.Name] + anonymous[node.Name]; known && int64(used) > capacity.Value() {
			v.find(false, "node %s: %d GPUs held and %d taken without ids, of %d", node.Name, held[node.Name], anonymous[node.Name], capacity.Value())
		}
	}
}

func (v *verdict) report(seen snapshot) error {
	lines := make([]string, 0, len(v.findings))
	for _, f := range v.findings {
		lines = append(lines, f.text)
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	bound := 0
	for _, pod := range seen.pods {
		if pod.Spec.NodeName != "" {
			bound++
		}
	}
	fmt.Printf("pods=%d bound=%d leases=%d gpus_held=%d findings=%d\n",
		len(seen.pods), bound, len(seen.leases), len(v.held), len(lines))
	if len(lines) > 0 {
		return fmt.Errorf("%d findings", len(lines))
	}
	return nil
}
