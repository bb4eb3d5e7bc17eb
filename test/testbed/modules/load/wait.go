package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// eventPatience is for events that are still on their way when all pods are bound.
const eventPatience = 30 * time.Second

// waitBoundCommand is the stopwatch of all throughput figures, the yardstick's too: it sees by watches what is written,
// whoever writes it, so that the same span is measured of each.
func waitBoundCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	var w stopwatch
	flags.IntVar(&w.count, "count", 1, "how many bound pods to wait for")
	flags.StringVar(&w.namespace, "namespace", "", "only pods of this namespace")
	flags.BoolVar(&w.events, "events", false, fmt.Sprintf("then wait, %v at most, for a Scheduled event of each; "+
		"print the rate from the first write to the last event too", eventPatience))
	flags.BoolVar(&w.leases, "leases", false, "a GPU lease may be the first write")
	timeout := flags.Duration("timeout", 5*time.Minute, "give up after")
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		ctx, cancel := context.WithTimeout(ctx, *timeout)
		defer cancel()
		w.sights = make(chan sight, 1024)
		if err := w.watch(ctx, client); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "wait-bound: watching")
		return w.wait(ctx, eventPatience)
	}
}

type sightKind int

const (
	podBound sightKind = iota
	leaseMade
	eventMade
	sightKinds
)

// sight is one write, at the moment when its watch event arrived here. What was there before counts as seen at the
// start.
type sight struct {
	kind sightKind
	uid  types.UID // of an event: of the pod that it is about
	at   time.Time
}

// tally is what was seen of one kind, each uid once.
type tally struct {
	seen        map[types.UID]bool
	first, last time.Time
}

func (t *tally) add(s sight) {
	switch {
	case t.seen[s.uid]:
		return
	case t.seen == nil:
		t.seen, t.first = map[types.UID]bool{}, s.at
	}
	t.seen[s.uid] = true
	t.last = s.at
}

type stopwatch struct {
	count          int
	namespace      string
	events, leases bool
	sights         chan sight
	tallies        [sightKinds]tally
	trouble        trouble
}

// trouble is what the watches met last. They try again by themselves, so it matters only if it goes on.
type trouble struct {
	mutex sync.Mutex
	last  error
}

func (t *trouble) meet(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.last = err
}

// with adds it to an error that came of it.
func (t *trouble) with(err error) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.last == nil {
		return err
	}
	return fmt.Errorf("%w; the last that a watch met: %v", err, t.last)
}

// watch returns when all watches have their first list.
func (w *stopwatch) watch(ctx context.Context, client *kubernetes.Clientset) error {
	see := func(kind sightKind, uid types.UID) {
		select {
		case w.sights <- sight{kind, uid, time.Now()}:
		case <-ctx.Done():
		}
	}
	core := client.CoreV1().RESTClient()
	met := w.trouble.meet
	err := watchAll(ctx, core, "pods", w.namespace, metav1.ListOptions{}, &corev1.Pod{}, met, func(thing any) {
		if pod := thing.(*corev1.Pod); pod.Spec.NodeName != "" {
			see(podBound, pod.UID)
		}
	})
	if err == nil && w.leases {
		ours, note := metav1.ListOptions{LabelSelector: managedLabel + "=true"}, func(thing any) {
			see(leaseMade, thing.(*coordinationv1.Lease).UID)
		}
		err = watchAll(ctx, client.CoordinationV1().RESTClient(), "leases", "", ours, &coordinationv1.Lease{}, met, note)
	}
	if err == nil && w.events {
		scheduled := metav1.ListOptions{FieldSelector: "reason=Scheduled"}
		err = watchAll(ctx, core, "events", w.namespace, scheduled, &corev1.Event{}, met, func(thing any) {
			see(eventMade, thing.(*corev1.Event).InvolvedObject.UID)
		})
	}
	if err != nil {
		return w.trouble.with(err)
	}
	return nil
}

// watchAll calls `see` for what is there and for each change of it until ctx is over; it returns when all that is there
// was listed. A watch that ends is followed by another one, or by a list; `met` is told why.
func watchAll(ctx context.Context, client cache.Getter, resource, namespace string, which metav1.ListOptions,
	example runtime.Object, met func(error), see func(any)) error {
	source := cache.NewFilteredListWatchFromClient(client, resource, namespace, func(options *metav1.ListOptions) {
		options.LabelSelector, options.FieldSelector = which.LabelSelector, which.FieldSelector
	})
	informer := cache.NewSharedInformer(source, example, 0)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, now any) { see(now) },
	}); err != nil {
		return err
	}
	if err := informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { met(err) }); err != nil {
		return err
	}
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("%s can't be listed: %w", resource, ctx.Err())
	}
	return nil
}

// wait prints "bound=": from the first Binding to the last one; with events "events=" too, which may be too few.
func (w *stopwatch) wait(ctx context.Context, patience time.Duration) error {
	if err := w.until(ctx, podBound, nil); err != nil {
		return err
	}
	bound := &w.tallies[podBound]
	at := func(moment time.Time) string { return moment.UTC().Format(time.RFC3339Nano) }
	fmt.Printf("first=%s last=%s ", at(bound.first), at(bound.last))
	printRate("bound", w.count, bound.last.Sub(bound.first))
	if !w.events {
		return nil
	}
	if err := w.until(ctx, eventMade, time.After(patience)); err != nil && !errors.Is(err, errLate) {
		return err
	}
	printRate("events", len(w.tallies[eventMade].seen), w.span())
	return nil
}

var errLate = errors.New("not in time")

// until so many of a kind were seen.
func (w *stopwatch) until(ctx context.Context, kind sightKind, late <-chan time.Time) error {
	for len(w.tallies[kind].seen) < w.count {
		select {
		case s := <-w.sights:
			w.tallies[s.kind].add(s)
		case <-late:
			return errLate
		case <-ctx.Done():
			return w.trouble.with(fmt.Errorf("%d of %d pods are bound, %d have their event: %w",
				len(w.tallies[podBound].seen), w.count, len(w.tallies[eventMade].seen), ctx.Err()))
		}
	}
	return nil
}

// span is from the first write to the last one. Watches of several kinds arrive in no order among each other.
func (w *stopwatch) span() time.Duration {
	var first, last time.Time
	for kind := range w.tallies {
		t := &w.tallies[kind]
		if len(t.seen) == 0 {
			continue
		}
		if first.IsZero() || t.first.Before(first) {
			first = t.first
		}
		if t.last.After(last) {
			last = t.last
		}
	}
	return last.Sub(first)
}
