package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const maxSharers = 64

// podFacts is what the referee reads of a pod.
type podFacts struct {
	name, node, scheduler, claim string
	gpus                         int // of its limits
	allocated                    string
	devices                      []allocated // only of a bound pod
	live                         bool        // neither ended nor gone; one that is being deleted still runs
}

func readPod(pod *corev1.Pod) podFacts {
	facts := podFacts{
		name: pod.Namespace + "/" + pod.Name, node: pod.Spec.NodeName, scheduler: pod.Spec.SchedulerName,
		claim: pod.Annotations[claimAnnotation], gpus: gpuLimits(pod),
		live: pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed,
	}
	if facts.node != "" {
		facts.allocated = pod.Annotations[allocatedAnnotation]
		facts.devices = parseDevices(facts.allocated, facts.node)
	}
	return facts
}

func (p podFacts) has(d device) bool {
	for _, one := range p.devices {
		if one.device == d {
			return true
		}
	}
	return false
}

// referee judges one change after the other. Its rules hold at every revision, whoever dies when:
//   - A pod that is bound has a lease for each GPU at that moment, and nobody else who runs has one of them, unless both
//     stand in one shared lease (the others' entries may be on their way again, where it was deleted by hand).
//   - What a pod was given does not change, and no lease is taken from a pod that runs (but by hand, as a person might).
//   - A lease is not given to a second pod while the first one runs.
//   - Who has ended does not run again, whatever is said of it later.
//
// MIG partitions it does not know. Every node has a GpuNodeStatus, so a pod with GPU limits gets exact GPUs.
type referee struct {
	scheduler string
	pods      map[types.UID]podFacts
	leases    map[types.UID]leaseFacts
	lost      map[device]map[types.UID]bool // who stood in a shared lease that was deleted by hand
	bindings  int
	findings  []string
}

func newReferee(scheduler string, first world) *referee {
	return &referee{scheduler: scheduler, pods: first.pods, leases: first.leases, lost: map[device]map[types.UID]bool{}}
}

func (r *referee) find(c change, format string, args ...any) {
	r.findings = append(r.findings, fmt.Sprintf("revision %d: ", c.revision)+fmt.Sprintf(format, args...))
}

func (r *referee) apply(c change) {
	switch {
	case c.kind == leaseKind:
		r.leaseChanged(c)
	case c.pod == nil:
		delete(r.pods, c.uid)
	default:
		r.podChanged(c)
	}
}

func (r *referee) podChanged(c change) {
	before, now := r.pods[c.uid], *c.pod
	// kwok tries again what failed in an outage, and may so say that a pod runs which `churn` has ended since.
	now.live = now.live && (before.live || before.name == "")
	r.pods[c.uid] = now
	if before.node != "" && (before.node != now.node || before.allocated != now.allocated) {
		r.find(c, "pod %s: was bound to %s with %q, and now to %s with %q", now.name, before.node, before.allocated, now.node, now.allocated)
	}
	if before.node != "" || now.node == "" || now.scheduler != r.scheduler {
		return
	}
	r.bindings++
	if len(now.devices) == 0 && (now.claim != "" || now.gpus > 0) {
		r.find(c, "pod %s: asks for GPUs and is bound without %s", now.name, allocatedAnnotation)
	}
	if now.gpus > 0 && now.gpus != len(now.devices) {
		r.find(c, "pod %s: asks for %d GPUs and is bound with %q", now.name, now.gpus, now.allocated)
	}
	for _, one := range now.devices {
		r.given(c, one.device)
	}
}

// given: this pod was bound to this GPU just now.
func (r *referee) given(c change, d device) {
	if d.node != c.pod.node {
		r.find(c, "pod %s: allocated on %s, bound to %s", c.pod.name, d.node, c.pod.node)
	}
	sharers := map[types.UID]bool{}
	leased := false
	for _, lease := range r.leases {
		if lease.device != d {
			continue
		}
		for _, holder := range lease.holders {
			sharers[holder.UID] = lease.shared
			if holder.UID == c.uid {
				leased = true
				if holder.Devices != c.pod.allocated {
					r.find(c, "pod %s: bound with %q, but its lease %s says %q", c.pod.name, c.pod.allocated, lease.name, holder.Devices)
				}
			}
		}
	}
	if !leased {
		r.find(c, "pod %s: bound to %s:%s, which no lease of it holds", c.pod.name, d.node, d.id)
	}
	for uid, other := range r.pods {
		shares := sharers[uid] || r.lost[d][uid]
		if uid != c.uid && other.live && other.has(d) && !(sharers[c.uid] && shares) {
			r.find(c, "pod %s: bound to %s:%s, which pod %s has", c.pod.name, d.node, d.id, other.name)
		}
	}
}

func (r *referee) leaseChanged(c change) {
	before, known := r.leases[c.uid]
	var now leaseFacts // nobody's, when it is gone
	if c.lease != nil {
		now = *c.lease
		r.leases[c.uid] = now
	} else {
		delete(r.leases, c.uid)
	}
	if known && !before.byHand {
		r.taken(c, before, now)
	}
	if c.lease == nil && before.byHand && before.shared {
		for _, holder := range before.holders {
			if r.lost[before.device] == nil {
				r.lost[before.device] = map[types.UID]bool{}
			}
			r.lost[before.device][holder.UID] = true
		}
	}
	if c.lease == nil {
		return
	}
	if now.trouble != "" {
		r.find(c, "lease %s: %s", now.name, now.trouble)
	}
	milli := 0
	for _, holder := range now.holders {
		milli += holder.Milli
		r.leased(c, holder)
	}
	if now.shared && (milli > milliOfDevice || len(now.holders) > maxSharers) {
		r.find(c, "lease %s: %d milli given to %d pods", now.name, milli, len(now.holders))
	}
}

// taken: who was in the lease and is not any more must not run.
func (r *referee) taken(c change, before, now leaseFacts) {
	for _, holder := range before.holders {
		stays := false
		for _, other := range now.holders {
			stays = stays || other.UID == holder.UID
		}
		if pod := r.pods[holder.UID]; !stays && pod.live && pod.has(before.device) {
			r.find(c, "lease %s: taken from pod %s, which runs", before.name, pod.name)
		}
	}
}

// leased: this holder stands in a lease now; others who run and have that GPU must stand in a shared one.
func (r *referee) leased(c change, holder leaseHolder) {
	d := c.lease.device
	for uid, pod := range r.pods {
		if uid == holder.UID || !pod.live || !pod.has(d) || c.lease.shared {
			continue
		}
		r.find(c, "lease %s: given to %s/%s, while pod %s runs with that GPU", c.lease.name, holder.Namespace, holder.Name, pod.name)
	}
}
