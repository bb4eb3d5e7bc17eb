package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func at(kind sightKind, pod string, second float64) sight {
	return sight{kind, types.UID(pod), time.Unix(0, 0).Add(time.Duration(second * float64(time.Second)))}
}

func TestTheSpanIsFromTheFirstWriteToTheLastEvent(t *testing.T) {
	for _, c := range []struct {
		name   string
		sights []sight
		bound  int
		events int
		span   time.Duration
	}{
		{"plain pods", []sight{
			at(podBound, "a", 1), at(eventMade, "a", 2), at(podBound, "b", 3), at(eventMade, "b", 6),
		}, 2, 2, 5 * time.Second},
		{"a lease is the first write", []sight{
			at(leaseMade, "l", 1), at(podBound, "a", 3), at(podBound, "b", 4), at(eventMade, "a", 5), at(eventMade, "b", 6),
		}, 2, 2, 5 * time.Second},
		{"watches in any order", []sight{
			at(eventMade, "b", 4), at(eventMade, "a", 5), at(podBound, "b", 8), at(leaseMade, "l", 7), at(podBound, "a", 9),
		}, 2, 2, 5 * time.Second},
		{"later changes are no writes of placements", []sight{
			at(podBound, "a", 1), at(podBound, "b", 2), at(podBound, "a", 50), at(eventMade, "a", 3), at(eventMade, "b", 4),
		}, 2, 2, 3 * time.Second},
		{"two events of one pod are one", []sight{
			at(podBound, "a", 1), at(podBound, "b", 2), at(eventMade, "a", 3), at(eventMade, "a", 4),
		}, 2, 1, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := stopwatch{count: 2, events: true, sights: make(chan sight, 16)}
			for _, s := range c.sights {
				w.sights <- s
			}
			if err := w.wait(context.Background(), 50*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(len(w.tallies[podBound].seen), len(w.tallies[eventMade].seen), w.span())
			if want := fmt.Sprint(c.bound, c.events, c.span); got != want {
				t.Fatalf("want %s, got %s", want, got)
			}
		})
	}
}

func TestPodsThatAreNotBoundAreAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := stopwatch{count: 2, sights: make(chan sight, 1)}
	if err := w.wait(ctx, time.Second); err == nil {
		t.Fatal("want an error")
	}
}
