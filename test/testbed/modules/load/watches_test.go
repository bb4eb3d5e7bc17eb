package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// history is an API server of pods only: what there is at each revision. Its watches end after so many events.
type history struct {
	mutex     sync.Mutex
	states    [][]string // names of the pods at revision i+1; they only come
	now       int        // the newest revision
	perWatch  int        // a watch ends after so many events; 0: never
	watches   int
	compacted bool // lists of older revisions are answered 410
	down      bool // everything is answered 500
	mute      bool // watches bring nothing
}

func podNamed(name string, revision int) corev1.Pod {
	return corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(revision)},
	}
}

func (h *history) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	h.mutex.Lock()
	defer h.mutex.Unlock()
	query := r.URL.Query()
	revision := h.now
	if query.Get("resourceVersion") != "" {
		fmt.Sscan(query.Get("resourceVersion"), &revision)
	}
	switch {
	case h.down:
		status(w, http.StatusInternalServerError, "InternalError", "etcd is away")
	case query.Get("watch") != "":
		h.watch(w, r, revision)
	case query.Get("resourceVersionMatch") == "Exact" && revision < h.now && h.compacted:
		status(w, http.StatusGone, "Expired", "compacted")
	case strings.HasSuffix(r.URL.Path, "/leases"):
		_ = json.NewEncoder(w).Encode(object{"kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1",
			"metadata": object{"resourceVersion": fmt.Sprint(revision)}, "items": []object{}})
	default:
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		list.ResourceVersion = fmt.Sprint(revision)
		for i, name := range h.states[0:revision] {
			for _, one := range name {
				list.Items = append(list.Items, podNamed(one, i+1))
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	}
}

func status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
		Code: int32(code), Reason: metav1.StatusReason(reason), Message: message})
}

// watch of pods: brings what came after the revision, one event of each; leases never change. Called with the mutex.
func (h *history) watch(w http.ResponseWriter, r *http.Request, from int) {
	w.(http.Flusher).Flush()
	h.watches++
	for sent := 0; r.Context().Err() == nil && (h.perWatch == 0 || sent < h.perWatch); {
		if strings.HasSuffix(r.URL.Path, "/pods") && from < h.now && !h.mute {
			from++
			for _, name := range h.states[from-1] {
				var event bytes.Buffer
				_ = json.NewEncoder(&event).Encode(object{"type": "ADDED", "object": podNamed(name, from)})
				_, _ = w.Write(event.Bytes())
				sent++
			}
			w.(http.Flusher).Flush()
			continue
		}
		h.mutex.Unlock()
		select {
		case <-r.Context().Done():
		case <-time.After(time.Millisecond):
		}
		h.mutex.Lock()
	}
}

func (h *history) set(change func()) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	change()
}

// serve gives a history of revisions 1 to n, of which each made one pod, and that is at revision `now`.
func serve(t *testing.T, n, now int) (*history, *kubernetes.Clientset) {
	h := &history{now: now}
	for i := range n {
		h.states = append(h.states, []string{fmt.Sprintf("pod-%d", i+1)})
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.CloseClientConnections)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return h, client
}

func newFollower(t *testing.T, client *kubernetes.Clientset, settle time.Duration) *follower {
	return &follower{client: client, until: filepath.Join(t.TempDir(), "over"), settle: settle}
}

func (f *follower) end(t *testing.T) {
	if err := os.WriteFile(f.until, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// started returns what f.follow returned once it did.
func started(t *testing.T, f *follower) <-chan error {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	result := make(chan error, 1)
	go func() { result <- f.follow(ctx) }()
	return result
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

func soon(t *testing.T, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
		return nil
	}
}

func TestFollowerGoesOnWhenItsWatchEnds(t *testing.T) {
	h, client := serve(t, 12, 2)
	h.perWatch = 3
	f := newFollower(t, client, time.Hour)
	result := started(t, f)
	eventually(t, "both watches", func() (both bool) { h.set(func() { both = h.watches >= 2 }); return })
	h.set(func() { h.now = 12 })
	eventually(t, "watches after the first ended", func() (more bool) { h.set(func() { more = h.watches > 2 }); return })
	f.end(t)
	if err := soon(t, result); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range f.changes {
		got += fmt.Sprint(c.revision, " ")
	}
	if got != "3 4 5 6 7 8 9 10 11 12 " {
		t.Fatalf("got changes %q", got)
	}
}

func TestFollowerFailsWhenWhatItMissedIsNoLongerInTheHistory(t *testing.T) {
	h, client := serve(t, 12, 2)
	h.perWatch, h.compacted = 3, true
	result := started(t, newFollower(t, client, time.Hour))
	eventually(t, "both watches", func() (both bool) { h.set(func() { both = h.watches >= 2 }); return })
	h.set(func() { h.now = 12 })
	if err := soon(t, result); err == nil || !strings.Contains(err.Error(), "no longer in the history: compacted") {
		t.Fatalf("got %v", err)
	}
}

func TestFollowerSaysWhyItDoesNotEnd(t *testing.T) {
	for _, c := range []struct {
		name, want string
		trouble    func(*history)
	}{
		{"a watch that brings nothing", "object uid-pod-3 is at version 3", func(h *history) { h.mute, h.now = true, 3 }},
		{"an API server that is away", "etcd is away", func(h *history) { h.down = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, client := serve(t, 3, 2)
			f := newFollower(t, client, 50*time.Millisecond)
			result := started(t, f)
			eventually(t, "both watches", func() (both bool) { h.set(func() { both = h.watches >= 2 }); return })
			h.set(func() { c.trouble(h) })
			f.end(t)
			if err := soon(t, result); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want %q, got %v", c.want, err)
			}
		})
	}
}

func TestWaitBoundFollowsAWatchThatEnds(t *testing.T) {
	h, client := serve(t, 12, 2)
	h.perWatch = 3
	seen := make(chan string, 64)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	met := func(error) {}
	err := watchAll(ctx, client.CoreV1().RESTClient(), "pods", "", metav1.ListOptions{}, &corev1.Pod{}, met, func(thing any) {
		seen <- thing.(*corev1.Pod).Name
	})
	if err != nil {
		t.Fatal(err)
	}
	h.set(func() { h.now = 12 })
	names := map[string]bool{}
	for late := time.After(time.Minute); len(names) < 12; {
		select {
		case name := <-seen:
			names[name] = true
		case <-late:
			t.Fatalf("seen are only %v", names)
		}
	}
}

func TestWaitBoundSaysWhatItsWatchesMet(t *testing.T) {
	h, client := serve(t, 1, 1)
	h.down = true
	w := stopwatch{count: 1, sights: make(chan sight, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // until it met something
		for w.trouble.with(nil) == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if err := w.watch(ctx, client); err == nil || !strings.Contains(err.Error(), "etcd is away") {
		t.Fatalf("got %v", err)
	}
}

func TestChurnGivesUpWhenNothingMoves(t *testing.T) {
	h, client := serve(t, 1, 1)
	h.down = true
	c := &churn{client: client, born: map[string]time.Time{}, patience: 50 * time.Millisecond, moved: time.Now()}
	if err := c.endAll(context.Background(), make(chan int)); err == nil || !strings.Contains(err.Error(), "etcd is away") {
		t.Fatalf("got %v", err)
	}
}
