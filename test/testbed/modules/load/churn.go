package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	churnLabel = "testbed/churn"
	staysLabel = "testbed/stays"
)

// churnKinds are the pods of a churn, and how many of 20 are so. The claims it makes itself, each named as here.
var churnKinds = []struct {
	weight, gpus int // gpus: of the pod's limits
	claim        string
	devices      object // of the claim
}{
	{8, 0, "churn-one", object{"count": 1}},
	{3, 0, "churn-two", object{"count": 2}},
	{1, 0, "churn-four", object{"count": 4}},
	{4, 0, "churn-shared", object{"count": 1, "exclusivity": "Shared"}},
	{2, 1, "", nil},
	{2, 0, "", nil},
}

// fate is how a pod's life goes; the same for the same number in every run.
type fate struct {
	kind   int
	brief  bool          // deleted so long after its creation, placed or not
	ends   bool          // ends before it is deleted, as a container does; else it is deleted while it runs
	after  time.Duration // from its creation or from its Binding
	remove time.Duration // after its end
}

func fateOf(i int) fate {
	random := rand.New(rand.NewPCG(1, uint64(i)))
	between := func(low, high int) time.Duration { return time.Duration(low+random.IntN(high-low)) * time.Millisecond }
	var f fate
	dice := random.IntN(20)
	for dice >= churnKinds[f.kind].weight {
		dice -= churnKinds[f.kind].weight
		f.kind++
	}
	switch how := random.IntN(10); {
	case how < 2:
		f.brief, f.after = true, between(0, 1500)
	case how < 7:
		f.ends, f.after, f.remove = true, between(2000, 9000), between(500, 2000)
	default:
		f.after = between(2000, 9000)
	}
	return f
}

// churn: nothing is given up because a request fails. What a request was to bring about, the next list shows as still to
// be done.
type churn struct {
	client  *kubernetes.Clientset
	spec    podSpec // what all of them have
	mutex   sync.Mutex
	born    map[string]time.Time // creation, by name
	bound   map[types.UID]time.Time
	ended   map[types.UID]time.Time
	counts  map[string]int
	failed  int // requests without success
	numbers map[string]int

	made  map[string]time.Time // by name: when the API server said that it is there
	waits []wait

	patience time.Duration // how long it goes on while nothing comes of it
	moved    time.Time     // when a pod was last created, seen bound, ended or deleted
	last     error         // of the last request without success
}

func churnCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	count := flags.Int("count", 2000, "how many pods, at least")
	until := flags.String("until", "", "go on until this file is there, too")
	rate := flags.Float64("per-second", 30, "how many are created in a second")
	alive := flags.Int("alive", 500, "create none while so many exist")
	var spec podSpec
	flags.IntVar(&spec.env, "env", 0, "environment variables of each, some 90 bytes of JSON each")
	flags.StringVar(&spec.namespace, "namespace", "default", "their namespace, which must exist")
	flags.StringVar(&spec.scheduler, "scheduler", "gpu-scheduler", "their schedulerName")
	stay := flags.Int("stay", 100, "so many of them, the last ones, stay (label "+staysLabel+")")
	disturbed := flags.String("disturbed", "", "lines of this file, `FROM TO WHAT` in ms since 1970, say when WHAT was away: binding is told without such times, too")
	patience := flags.Duration("patience", 2*time.Minute, "give up when for so long no pod is created, bound, ended or deleted")
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		c := &churn{client: client, spec: spec, patience: *patience, moved: time.Now(), born: map[string]time.Time{}, bound: map[types.UID]time.Time{},
			made: map[string]time.Time{}, ended: map[types.UID]time.Time{}, counts: map[string]int{}, numbers: map[string]int{}}
		started := time.Now()
		for _, one := range churnKinds {
			if err := c.makeClaim(ctx, one.claim, one.devices); err != nil {
				return err
			}
		}
		made := make(chan int, 1)
		go func() {
			made <- c.makeAll(ctx, *count-*stay, *stay, *alive, time.Duration(float64(time.Second) / *rate), *until)
		}()
		if err := c.endAll(ctx, made); err != nil {
			return err
		}
		fmt.Printf("created=%d ended=%d deleted_while_running=%d deleted_unbound=%d stay=%d requests_failed=%d ",
			c.counts["created"], c.counts["ended"], c.counts["running"], c.counts["unbound"], *stay, c.failed)
		printRate("pods", c.counts["created"], time.Since(started))
		return printWaits(c.waits, *disturbed)
	}
}

func (c *churn) makeClaim(ctx context.Context, name string, devices object) error {
	if name == "" {
		return nil
	}
	return apply(ctx, c.client, "/apis/gpu.scheduling/v1/namespaces/"+c.spec.namespace+"/gpuclaims/"+name, object{
		"apiVersion": "gpu.scheduling/v1", "kind": "GpuClaim", "metadata": object{"name": name, "namespace": c.spec.namespace},
		"spec": object{"devices": devices},
	})
}

// makeAll creates churn-0 .. one after the other, and at last those that stay; it returns how many.
func (c *churn) makeAll(ctx context.Context, count, stay, alive int, gap time.Duration, until string) int {
	next := time.NewTicker(gap)
	defer next.Stop()
	i := 0
	enough := func() bool {
		_, err := os.Stat(until)
		return i >= count && (until == "" || err == nil)
	}
	for ; ctx.Err() == nil && !enough(); i++ {
		<-next.C
		for ctx.Err() == nil && c.existing() >= alive {
			<-next.C
		}
		c.make(ctx, i, false, next.C)
	}
	for last := i + stay; ctx.Err() == nil && i < last; i++ {
		<-next.C
		c.make(ctx, i, true, next.C)
	}
	return i
}

// make tries until the pod is there. One that was created by a request whose answer was lost is there too.
func (c *churn) make(ctx context.Context, i int, stays bool, next <-chan time.Time) {
	kind := churnKinds[fateOf(i).kind]
	spec := c.spec
	spec.name, spec.claim, spec.gpus = fmt.Sprintf("churn-%d", i), kind.claim, kind.gpus
	pod := podObject(spec)
	pod.Labels = map[string]string{churnLabel: "yes"}
	if stays {
		pod.Labels[staysLabel] = "yes"
	}
	c.mutex.Lock()
	c.numbers[pod.Name], c.born[pod.Name] = i, time.Now()
	c.mutex.Unlock()
	for ctx.Err() == nil {
		request, cancel := limited(ctx)
		_, err := c.client.CoreV1().Pods(c.spec.namespace).Create(request, pod, metav1.CreateOptions{})
		cancel()
		if err == nil || apierrors.IsAlreadyExists(err) {
			c.mutex.Lock()
			c.made[pod.Name] = time.Now()
			c.mutex.Unlock()
			c.count("created")
			return
		}
		c.noteFailure(err)
		<-next
	}
}

func (c *churn) count(what string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.counts[what]++
	c.moved = time.Now()
}

// stuck is an error when nothing comes of it any more. Who waits for it is to learn why it does not end.
func (c *churn) stuck(now time.Time) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if still := now.Sub(c.moved); still > c.patience {
		return fmt.Errorf("for %v no pod was created, bound, ended or deleted; %d were created and %d are there, %d of them seen bound; last failed request: %v",
			still.Round(time.Second), c.counts["created"], len(c.born), len(c.bound), c.last)
	}
	return nil
}

func (c *churn) existing() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.born)
}

func (c *churn) noteFailure(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.failed++
	c.last = err
	if c.failed%100 == 1 {
		fmt.Fprintf(os.Stderr, "churn: %v (and goes on)\n", err)
	}
}

// endAll ends pods and deletes them until all were made and only those that stay are left.
func (c *churn) endAll(ctx context.Context, made <-chan int) error {
	allMade := false
	for {
		select {
		case <-made:
			allMade = true
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		request, cancel := limited(ctx)
		pods, err := c.client.CoreV1().Pods(c.spec.namespace).List(request, metav1.ListOptions{LabelSelector: churnLabel})
		cancel()
		if err != nil {
			c.noteFailure(err)
		} else if left := c.endSome(ctx, pods.Items); left == 0 && allMade {
			return nil
		}
		if err := c.stuck(time.Now()); err != nil {
			return err
		}
	}
}

// endSome does what is due; it returns how many are left that do not stay.
func (c *churn) endSome(ctx context.Context, pods []corev1.Pod) int {
	now := time.Now()
	var due []func() error
	left := 0
	there := map[string]bool{}
	for i := range pods {
		pod := &pods[i]
		there[pod.Name] = true
		if pod.Labels[staysLabel] == "" {
			left++
			if act := c.next(ctx, pod, now); act != nil {
				due = append(due, act)
			}
		}
	}
	c.forget(there, now)
	_ = parallel(len(due), 8, func(i int) error {
		if err := due[i](); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			c.noteFailure(err)
		}
		return nil
	})
	return left
}

// forget those that are gone. (Those that were made just now may be missing from the list.)
func (c *churn) forget(there map[string]bool, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for name, since := range c.born {
		if !there[name] && now.Sub(since) > 10*time.Second {
			delete(c.born, name)
		}
	}
}

// next is what to do with a pod now; nil: nothing.
func (c *churn) next(ctx context.Context, pod *corev1.Pod, now time.Time) func() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	f, at := fateOf(c.numbers[pod.Name]), now
	_, everBound := c.bound[pod.UID]
	if pod.Spec.NodeName != "" && !everBound {
		c.bound[pod.UID], c.moved = now, now
		if made, known := c.made[pod.Name]; known {
			c.waits = append(c.waits, wait{made, now})
			delete(c.made, pod.Name)
		}
	}
	switch {
	case f.brief:
		at = pod.CreationTimestamp.Add(f.after)
	case pod.Status.Phase == corev1.PodSucceeded:
		if _, known := c.ended[pod.UID]; !known {
			c.ended[pod.UID], c.moved = now, now
			c.counts["ended"]++
		}
		at = c.ended[pod.UID].Add(f.remove)
	case pod.Spec.NodeName == "":
		return nil
	default:
		at = c.bound[pod.UID].Add(f.after)
	}
	switch {
	case now.Before(at):
		return nil
	case f.ends && pod.Status.Phase != corev1.PodSucceeded:
		return func() error { return c.end(ctx, pod) }
	default:
		return func() error { return c.remove(ctx, pod) }
	}
}

func (c *churn) end(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	patch := fmt.Sprintf(`{"metadata": {"uid": %q}, "status": {"phase": "Succeeded"}}`, pod.UID)
	_, err := c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// remove deletes at once, as a kubelet does after the grace period.
func (c *churn) remove(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	options := *metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	switch {
	case err != nil:
	case pod.Status.Phase == corev1.PodSucceeded:
		c.count("deleted after their end")
	case pod.Spec.NodeName == "":
		c.count("unbound")
	default:
		c.count("running")
	}
	return err
}

// loseLeasesCommand marks each lease before it deletes it, so that `follow` knows whose hand it was.
func loseLeasesCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	count := flags.Int("count", 20, "how many at most")
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		leases, err := client.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{LabelSelector: managedLabel + "=true"})
		if err != nil {
			return err
		}
		lost := 0
		for i := range leases.Items {
			if lost >= *count {
				break
			}
			gone, err := loseLease(ctx, client, &leases.Items[i])
			if err != nil {
				return err
			}
			if gone {
				lost++
			}
		}
		fmt.Printf("leases=%d\n", lost)
		return nil
	}
}

// loseLease: false if the lease changed or went meanwhile.
func loseLease(ctx context.Context, client *kubernetes.Clientset, lease *coordinationv1.Lease) (bool, error) {
	leases := client.CoordinationV1().Leases(lease.Namespace)
	patch := fmt.Sprintf(`{"metadata": {"resourceVersion": %q, "annotations": {%q: "yes"}}}`, lease.ResourceVersion, byHandAnnotation)
	marked, err := leases.Patch(ctx, lease.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err == nil {
		uid, version := marked.UID, marked.ResourceVersion
		err = leases.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}
