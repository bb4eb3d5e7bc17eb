package main

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func podChange(pod corev1.Pod) change {
	facts := readPod(&pod)
	return change{kind: podKind, uid: pod.UID, pod: &facts}
}

func leaseChange(l coordinationv1.Lease) change {
	facts := readLease(&l)
	return change{kind: leaseKind, uid: types.UID(l.Name), lease: &facts}
}

func gone(c change) change {
	return change{kind: c.kind, uid: c.uid}
}

func byHand(l coordinationv1.Lease) coordinationv1.Lease {
	l.Annotations[byHandAnnotation] = "yes"
	return l
}

func TestReferee(t *testing.T) {
	a, b := podChange(boundPod("a", "n", "n:0")), podChange(boundPod("b", "n", "n:0"))
	waitingA, waitingB := podChange(boundPod("a", "", "")), podChange(boundPod("b", "", ""))
	endedA := podChange(ended(boundPod("a", "n", "n:0")))
	ofA, ofB := leaseChange(lease("n", "0", "a", "n:0")), leaseChange(lease("n", "0", "b", "n:0"))
	holder := func(pod string, milli string) string {
		return `{"uid":"uid-` + pod + `","namespace":"ns","name":"` + pod + `","devices":"n:0","milli":` + milli + `}`
	}
	sharedA := leaseChange(sharedLease("n", "0", "["+holder("a", "0")+"]"))
	sharedAB := leaseChange(sharedLease("n", "0", "["+holder("a", "0")+","+holder("b", "0")+"]"))
	handA := leaseChange(byHand(sharedLease("n", "0", "["+holder("a", "0")+"]")))
	sharedB := leaseChange(sharedLease("n", "0", "["+holder("b", "0")+"]"))
	for _, c := range []struct {
		name    string
		changes []change
		want    string // part of a finding; "" for none
	}{
		{"lease, then Binding; end, then the next", []change{waitingA, ofA, a, endedA, gone(ofA), gone(a), ofB, b}, ""},
		{"a lease that passes on after the end", []change{ofA, a, endedA, ofB, b}, ""},
		{"a pod that is said to run again after its end", []change{ofA, a, endedA, a, gone(ofA), ofB, b}, ""},
		{"a Binding without a lease", []change{waitingA, a}, "pod ns/a: bound to n:0, which no lease of it holds"},
		{"a Binding after its lease went", []change{ofA, gone(ofA), a}, "no lease of it holds"},
		{"a Binding by another's lease", []change{ofB, waitingB, a}, "no lease of it holds"},
		{"a Binding to another GPU than its lease says", []change{leaseChange(lease("n", "0", "a", "n:0,1")), a}, `its lease ns/x says "n:0,1"`},
		{"a lease taken from a pod that runs", []change{ofA, a, gone(ofA)}, "taken from pod ns/a, which runs"},
		{"a lease lost by hand", []change{ofA, a, leaseChange(byHand(lease("n", "0", "a", "n:0"))), gone(ofA), ofA}, ""},
		{"a lease lost by hand and given to another", []change{ofA, a, leaseChange(byHand(lease("n", "0", "a", "n:0"))), gone(ofA), ofB}, "given to ns/b, while pod ns/a runs"},
		{"a lease that passes to another too early", []change{ofA, a, ofB}, "taken from pod ns/a, which runs"},
		{"a GPU given twice", []change{ofB, a, b}, "pod ns/b: bound to n:0, which pod ns/a has"},
		{"a pod that is bound again elsewhere", []change{ofA, a, podChange(boundPod("a", "n", "n:1"))}, `was bound to n with "n:0", and now to n with "n:1"`},
		{"two in a shared lease", []change{sharedA, a, sharedAB, b, endedA, sharedB}, ""},
		{"one joins a shared lease that was lost by hand, before the other one is in it again", []change{sharedA, a, handA, gone(sharedA), sharedB, b, sharedAB}, ""},
		{"one joins an exclusive lease that was lost by hand", []change{ofA, a, leaseChange(byHand(lease("n", "0", "a", "n:0"))), gone(ofA), sharedB, b}, "pod ns/b: bound to n:0, which pod ns/a has"},
		{"a sharer who is not in the lease", []change{sharedA, a, b}, "pod ns/b: bound to n:0, which no lease of it holds"},
		{"a shared lease beyond its size", []change{leaseChange(sharedLease("n", "0", "["+holder("a", "600")+","+holder("b", "401")+"]"))}, "1001 milli given to 2 pods"},
		{"a claim pod without GPUs", []change{podChange(boundPod("a", "n", ""))}, "is bound without"},
		{"a plain pod without exact GPUs", []change{podChange(plainPod("a", "n", 1))}, "is bound without"},
		{"a plain pod with too few", []change{ofA, podChange(func() corev1.Pod { p := plainPod("a", "n", 2); p.Annotations[allocatedAnnotation] = "n:0"; return p }())}, "asks for 2 GPUs"},
		{"a pod without GPUs", []change{podChange(plainPod("a", "n", 0))}, ""},
		{"another scheduler's pod", []change{podChange(func() corev1.Pod { p := boundPod("a", "n", "n:0"); p.Spec.SchedulerName = "x"; return p }())}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReferee("gpu-scheduler", world{pods: map[types.UID]podFacts{}, leases: map[types.UID]leaseFacts{}})
			for i := range c.changes {
				c.changes[i].revision = int64(i)
				if c.changes[i].lease != nil {
					c.changes[i].lease.name = "ns/x"
				}
				r.apply(c.changes[i])
			}
			switch {
			case c.want == "" && len(r.findings) > 0:
				t.Fatalf("want none, got %v", r.findings)
			case !strings.Contains(strings.Join(r.findings, "\n"), c.want):
				t.Fatalf("want %q, got %v", c.want, r.findings)
			}
		})
	}
}

// Worlds of pods only, as history has them: at revision i, pods[i].
func TestBetweenFindsEveryWriteInOrder(t *testing.T) {
	history := []string{"", "a1", "a1 b2", "a1 b2", "a4 b2", "b2", "b2", "b2 c7"}
	at := func(revision int64) (world, error) {
		w := world{revision: revision, pods: map[types.UID]podFacts{}, versions: map[types.UID]string{}}
		for _, word := range strings.Fields(history[revision]) {
			w.pods[types.UID(word[:1])], w.versions[types.UID(word[:1])] = podFacts{}, word[1:]
		}
		return w, nil
	}
	from, _ := at(0)
	to, _ := at(7)
	var changes []change
	complete := int64(0)
	err := between(from, to, at, func(found []change, revision int64) {
		changes, complete = append(changes, found...), revision
	})
	got := ""
	for _, c := range changes {
		got += string(rune('0'+c.revision)) + string(c.uid)
		if c.pod == nil {
			got += "-"
		}
	}
	if err != nil || got != "1a2b4a5a-7c" || complete != 7 {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestTakeStopsWhereAWatchMayHaveMissedSomething(t *testing.T) {
	f := follower{complete: 3}
	f.take([]change{{revision: 5, kind: podKind}, {revision: 9, kind: podKind}, {revision: 4, kind: leaseKind}, {revision: 7, kind: leaseKind}}, 7)
	if len(f.changes) != 3 || f.complete != 7 {
		t.Fatalf("got %v, complete to %d", f.changes, f.complete)
	}
	f.begin(world{revision: 12})
	if len(f.gaps) != 1 || f.gaps[0] != (gap{7, 12}) || f.complete != 12 {
		t.Fatalf("got gaps %v, complete to %d", f.gaps, f.complete)
	}
}

func TestChangeOf(t *testing.T) {
	pod := boundPod("a", "n", "n:0")
	pod.ResourceVersion = "12"
	c, version, err := changeOf(watch.Event{Type: watch.Deleted, Object: &pod})
	if err != nil || version != "12" || c.revision != 12 || c.uid != "uid-a" || c.pod != nil {
		t.Fatalf("got %+v %q %v", c, version, err)
	}
	c, _, err = changeOf(watch.Event{Type: watch.Bookmark, Object: &coordinationv1.Lease{ObjectMeta: pod.ObjectMeta}})
	if err != nil || c.kind != leaseKind || c.lease != nil {
		t.Fatalf("got %+v %v", c, err)
	}
}

func TestCheckClaims(t *testing.T) {
	pods := []corev1.Pod{boundPod("a", "n", "n:0,1"), ended(boundPod("b", "n", "n:2,3")), boundPod("c", "", "n:4,5")}
	claim := func(edit func(*gpuClaim)) []gpuClaim {
		var c gpuClaim
		c.Metadata.Namespace, c.Metadata.Name, c.Spec.Devices.Count = "ns", "claim", 2
		c.Status.Phase, c.Status.AllocationsTotal = "Bound", 1
		c.Status.Allocations = append(c.Status.Allocations, struct {
			Pod    string
			UID    types.UID
			Node   string
			GpuIDs []int
		}{"a", "uid-a", "n", []int{0, 1}})
		edit(&c)
		return []gpuClaim{c}
	}
	for _, c := range []struct {
		want string
		edit func(*gpuClaim)
	}{
		{"", func(*gpuClaim) {}},
		{"says 2 allocations", func(c *gpuClaim) { c.Status.AllocationsTotal = 2 }},
		{`is "Pending" with 1 pods`, func(c *gpuClaim) { c.Status.Phase = "Pending" }},
		{"asks for 3 GPUs, pod a has 2", func(c *gpuClaim) { c.Spec.Devices.Count = 3 }},
		{"names pod a (uid-b)", func(c *gpuClaim) { c.Status.Allocations[0].UID = "uid-b" }},
		{"gives pod a m:[0 1]", func(c *gpuClaim) { c.Status.Allocations[0].Node = "m" }},
		{"gives pod a n:[0 2]", func(c *gpuClaim) { c.Status.Allocations[0].GpuIDs[1] = 2 }},
	} {
		v := &verdict{}
		v.checkClaims(claim(c.edit), pods)
		if (c.want == "") != (len(v.findings) == 0) || c.want != "" && !strings.Contains(v.findings[0].text, c.want) {
			t.Errorf("want %q, got %v", c.want, v.findings)
		}
	}
}
