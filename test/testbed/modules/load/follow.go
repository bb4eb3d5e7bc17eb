package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// followCommand watches pods and leases, and in the end judges every change of them in the order in which it was made:
// resource versions are one count over all kinds. What it misses while the API server is away, it reads afterwards from
// etcd's history, by lists at exact revisions. So it may only be used where that history is not compacted meanwhile.
func followCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	scheduler := flags.String("scheduler", "gpu-scheduler", "schedulerName of the pods that are judged")
	until := flags.String("until", "", "go on until this file is there")
	settle := flags.Duration("settle", 3*time.Minute, "once it is there, how long to go on for what is still missing")
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		if *until == "" {
			return errors.New("give --until")
		}
		f := follower{client: client, until: *until, settle: *settle}
		if err := f.follow(ctx); err != nil {
			return err
		}
		r := newReferee(*scheduler, f.first)
		for _, c := range f.changes {
			r.apply(c)
		}
		fmt.Printf("changes=%d gaps=%d read_back=%d bound=%d findings=%d\n", len(f.changes), f.gapCount, f.readBack, r.bindings, len(r.findings))
		for _, finding := range r.findings {
			fmt.Println(finding)
		}
		if len(r.findings) > 0 {
			return fmt.Errorf("%d findings", len(r.findings))
		}
		return nil
	}
}

// world is all pods and leases at one revision.
type world struct {
	revision int64
	pods     map[types.UID]podFacts
	leases   map[types.UID]leaseFacts
	versions map[types.UID]string // of both
}

// change is one write: what a pod or a lease is from this revision on, nil if it is gone.
type change struct {
	revision int64
	kind     kind
	uid      types.UID
	pod      *podFacts
	lease    *leaseFacts
}

type kind int

const (
	podKind kind = iota
	leaseKind
	kinds
)

type follower struct {
	client    *kubernetes.Clientset
	until     string
	settle    time.Duration // how long to go on when it is over
	overSince time.Time
	first     world
	complete  int64    // to which revision the watches brought all but the gaps
	changes   []change // all after first, but for the gaps; those of a gap come last
	gaps      []gap    // not read back yet
	gapCount  int
	readBack  int // changes that no watch brought
}

// gap: what changed after `from`, up to and with `to`.
type gap struct{ from, to int64 }

const pause = 100 * time.Millisecond

// limited is for each read: an API server without its etcd may leave it unanswered for a minute.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 5*time.Second)
}

func (f *follower) over() bool {
	_, err := os.Stat(f.until)
	return err == nil
}

var errStuck = errors.New("all is over, and still")

// late is an error once all has been over for too long: who waits for a follower is to learn why it does not end.
func (f *follower) late(why string, now time.Time) error {
	switch {
	case !f.over():
		return nil
	case f.overSince.IsZero():
		f.overSince = now
	case now.Sub(f.overSince) > f.settle:
		return fmt.Errorf("%w %s", errStuck, why)
	}
	return nil
}

// final: nothing that is tried again could mend it.
func final(err error) bool {
	return errors.Is(err, errStuck) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

func (f *follower) follow(ctx context.Context) error {
	said := ""
	for {
		ended, err := f.session(ctx)
		if !ended && !final(err) {
			if late := f.late(fmt.Sprintf("watches end, with %d gaps to read back (%v)", len(f.gaps), err), time.Now()); late != nil {
				err = late
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (f.complete == 0 || final(err)):
			return err
		case ended:
			slices.SortStableFunc(f.changes, func(a, b change) int { return cmp.Compare(a.revision, b.revision) })
			return nil
		case err != nil && err.Error() != said:
			said = err.Error()
			fmt.Fprintf(os.Stderr, "follow: %v\n", err)
		}
		time.Sleep(pause)
	}
}

// session: watches both kinds from now on until a watch breaks, or all is over.
func (f *follower) session(ctx context.Context) (ended bool, err error) {
	now, err := f.listAt(ctx, 0)
	if err != nil {
		return false, err
	}
	f.begin(now)
	s := stream{versions: maps.Clone(now.versions), last: [kinds]int64{now.revision, now.revision}}
	ctx, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	for k := range kinds {
		watchers.Add(1)
		go func() {
			defer watchers.Done()
			defer stop() // what one misses, the other can't be judged without
			if err := f.watch(ctx, k, now.revision, &s); err != nil && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "follow: %v\n", err)
			}
		}()
	}
	until, ended, err := f.watchEnd(ctx, &s)
	stop()
	watchers.Wait()
	if err != nil {
		return false, err
	}
	if !ended {
		until = min(s.last[podKind], s.last[leaseKind])
		fmt.Fprintf(os.Stderr, "follow: seen up to revisions %d (pods) and %d (leases)\n", s.last[podKind], s.last[leaseKind])
	}
	f.take(s.changes, until)
	return ended, nil
}

func (f *follower) begin(now world) {
	switch {
	case f.complete == 0:
		f.first = now
		fmt.Fprintln(os.Stderr, "follow: watching")
	case now.revision > f.complete:
		f.gaps = append(f.gaps, gap{f.complete, now.revision})
		f.gapCount++
	}
	f.complete = now.revision
}

// take adds what the watches brought; nothing is missing up to the revision `until`. What is later is in the next gap.
func (f *follower) take(changes []change, until int64) {
	for _, c := range changes {
		if c.revision <= until {
			f.changes = append(f.changes, c)
		}
	}
	f.complete = until
}

// watchEnd returns when a watch broke, or when it is over and nothing is missing: up to which revision.
func (f *follower) watchEnd(ctx context.Context, s *stream) (int64, bool, error) {
	for ctx.Err() == nil {
		err := f.readGaps(ctx)
		if final(err) {
			return 0, false, fmt.Errorf("what the watches missed is no longer in the history: %w", err)
		}
		if f.over() {
			text := fmt.Sprintf("%d gaps to read back: %v", len(f.gaps), err)
			if len(f.gaps) == 0 {
				last, err := f.listAt(ctx, 0)
				if err == nil && s.equals(last) {
					return last.revision, true, nil
				}
				text = fmt.Sprintf("the watches are not where a list is (%v): %s", err, s.compare(last))
			}
			if err := f.late(text, time.Now()); err != nil {
				return 0, false, err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return 0, false, nil
}

// stream is what the watches of one session bring.
type stream struct {
	mutex    sync.Mutex
	changes  []change
	versions map[types.UID]string
	last     [kinds]int64 // revision of each watch's last event
}

func (s *stream) add(c change, version string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.last[c.kind] = c.revision
	if c.uid == "" {
		return // a bookmark
	}
	s.changes = append(s.changes, c)
	if c.pod == nil && c.lease == nil {
		delete(s.versions, c.uid)
	} else {
		s.versions[c.uid] = version
	}
}

func (s *stream) equals(w world) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return sameVersions(s.versions, w.versions)
}

// compare tells one difference, for people.
func (s *stream) compare(w world) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for uid, version := range w.versions {
		if s.versions[uid] != version {
			return fmt.Sprintf("object %s is at version %s, the watches brought %q", uid, version, s.versions[uid])
		}
	}
	return fmt.Sprintf("%d objects, the watches brought %d", len(w.versions), len(s.versions))
}

func sameVersions(a, b map[types.UID]string) bool {
	if len(a) != len(b) {
		return false
	}
	for uid, version := range a {
		if b[uid] != version {
			return false
		}
	}
	return true
}

func (f *follower) watch(ctx context.Context, k kind, from int64, s *stream) error {
	options := metav1.ListOptions{ResourceVersion: fmt.Sprint(from), AllowWatchBookmarks: true}
	var watcher watch.Interface
	var err error
	if k == podKind {
		watcher, err = f.client.CoreV1().Pods("").Watch(ctx, options)
	} else {
		options.LabelSelector = managedLabel + "=true"
		watcher, err = f.client.CoordinationV1().Leases("").Watch(ctx, options)
	}
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		c, version, err := changeOf(event)
		if err != nil {
			return err
		}
		s.add(c, version)
	}
	return errors.New("a watch ended")
}

// changeOf: a deleted object comes with the revision at which it was deleted.
func changeOf(event watch.Event) (change, string, error) {
	if event.Type == watch.Error {
		return change{}, "", fmt.Errorf("a watch ended: %v", event.Object)
	}
	version := versionOf(event.Object)
	revision, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return change{}, "", err
	}
	c := change{revision: revision}
	switch object := event.Object.(type) {
	case *corev1.Pod:
		c.kind, c.uid = podKind, object.UID
		if event.Type == watch.Added || event.Type == watch.Modified {
			facts := readPod(object)
			c.pod = &facts
		}
	case *coordinationv1.Lease:
		c.kind, c.uid = leaseKind, object.UID
		facts := readLease(object)
		if event.Type == watch.Added || event.Type == watch.Modified {
			c.lease = &facts
		}
	}
	return c, version, nil
}

func versionOf(object runtime.Object) string {
	if meta, ok := object.(metav1.Object); ok {
		return meta.GetResourceVersion()
	}
	return ""
}

// listAt reads both kinds at one revision; 0 is now.
func (f *follower) listAt(ctx context.Context, revision int64) (world, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	options := metav1.ListOptions{}
	if revision > 0 {
		options = metav1.ListOptions{ResourceVersion: fmt.Sprint(revision), ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	}
	pods, err := f.client.CoreV1().Pods("").List(ctx, options)
	if err != nil {
		return world{}, err
	}
	leases, err := f.client.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{
		ResourceVersion: pods.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact, LabelSelector: managedLabel + "=true",
	})
	if err != nil {
		return world{}, err
	}
	w := world{pods: map[types.UID]podFacts{}, leases: map[types.UID]leaseFacts{}, versions: map[types.UID]string{}}
	if w.revision, err = strconv.ParseInt(pods.ResourceVersion, 10, 64); err != nil {
		return world{}, err
	}
	for i := range pods.Items {
		one := &pods.Items[i]
		w.pods[one.UID], w.versions[one.UID] = readPod(one), one.ResourceVersion
	}
	for i := range leases.Items {
		one := &leases.Items[i]
		w.leases[one.UID], w.versions[one.UID] = readLease(one), one.ResourceVersion
	}
	return w, nil
}

// readGaps reads back as far as it gets; what a failed request leaves is read another time. It returns that failure.
func (f *follower) readGaps(ctx context.Context) error {
	for len(f.gaps) > 0 {
		g, known, began := f.gaps[0], len(f.changes), time.Now()
		err := f.readGap(ctx, &f.gaps[0])
		f.readBack += len(f.changes) - known
		fmt.Fprintf(os.Stderr, "follow: %d changes after revision %d up to %d read back in %v\n",
			len(f.changes)-known, g.from, f.gaps[0].from, time.Since(began).Round(time.Millisecond))
		if err != nil {
			fmt.Fprintf(os.Stderr, "follow: %v\n", err)
			return err
		}
		f.gaps = f.gaps[1:]
	}
	return nil
}

func (f *follower) readGap(ctx context.Context, g *gap) error {
	from, err := f.listAt(ctx, g.from)
	if err != nil {
		return err
	}
	to, err := f.listAt(ctx, g.to)
	if err != nil {
		return err
	}
	at := func(revision int64) (world, error) { return f.listAt(ctx, revision) }
	return between(from, to, at, func(changes []change, revision int64) {
		f.changes, g.from = append(f.changes, changes...), revision
	})
}

// between halves until two worlds are equal or one revision apart, and then differ by one write. (What came and went
// between two equal ones is not seen.) `found` is called in the order of revisions.
func between(from, to world, at func(int64) (world, error), found func([]change, int64)) error {
	if sameVersions(from.versions, to.versions) {
		found(nil, to.revision)
		return nil
	}
	if to.revision-from.revision <= 1 {
		found(difference(from, to), to.revision)
		return nil
	}
	middle, err := at((from.revision + to.revision) / 2)
	if err != nil {
		return err
	}
	if err := between(from, middle, at, found); err != nil {
		return err
	}
	return between(middle, to, at, found)
}

func difference(from, to world) []change {
	var result []change
	for uid := range from.versions {
		if _, still := to.versions[uid]; still {
			continue
		}
		k := leaseKind
		if _, is := from.pods[uid]; is {
			k = podKind
		}
		result = append(result, change{revision: to.revision, kind: k, uid: uid})
	}
	for uid, version := range to.versions {
		if from.versions[uid] == version {
			continue
		}
		c := change{revision: to.revision, kind: leaseKind, uid: uid}
		if pod, is := to.pods[uid]; is {
			c.kind, c.pod = podKind, &pod
		} else {
			lease := to.leases[uid]
			c.lease = &lease
		}
		result = append(result, c)
	}
	return result
}
