package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// wait is how long a pod was there until it was seen bound. It was looked at every 200 ms.
type wait struct{ from, to time.Time }

// disturbance is a time in which something was away.
type disturbance struct {
	from, to time.Time
	what     string
}

func (w wait) touches(d disturbance) bool { return !w.to.Before(d.from) && !d.to.Before(w.from) }

func readDisturbances(file string) ([]disturbance, error) {
	in, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var found []disturbance
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var from, to int64
		var what string
		if _, err := fmt.Sscan(lines.Text(), &from, &to, &what); err != nil {
			return nil, fmt.Errorf("%s: %q is not FROM TO WHAT: %w", file, lines.Text(), err)
		}
		found = append(found, disturbance{time.UnixMilli(from), time.UnixMilli(to), what})
	}
	return found, lines.Err()
}

// undisturbed leaves out the waits in which one of these was away.
func undisturbed(waits []wait, disturbances []disturbance) []wait {
	return slices.DeleteFunc(slices.Clone(waits), func(w wait) bool {
		return slices.ContainsFunc(disturbances, w.touches)
	})
}

// percentile of a sorted list, by the nearest rank; 0 of an empty one.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

func describe(waits []wait) string {
	var took []time.Duration
	for _, w := range waits {
		took = append(took, w.to.Sub(w.from))
	}
	slices.Sort(took)
	return fmt.Sprintf("pods=%d p50_ms=%d p90_ms=%d p99_ms=%d max_ms=%d", len(took), percentile(took, 50).Milliseconds(),
		percentile(took, 90).Milliseconds(), percentile(took, 99).Milliseconds(), percentile(took, 100).Milliseconds())
}

// printWaits: of all pods, then without each kind of disturbance after the other, in the order of their names.
func printWaits(waits []wait, file string) error {
	fmt.Printf("until bound: %s\n", describe(waits))
	if file == "" {
		return nil
	}
	all, err := readDisturbances(file)
	if err != nil {
		return err
	}
	var kinds []string
	for _, d := range all {
		if !slices.Contains(kinds, d.what) {
			kinds = append(kinds, d.what)
		}
	}
	slices.Sort(kinds)
	for i := range kinds {
		without := slices.DeleteFunc(slices.Clone(all), func(d disturbance) bool { return !slices.Contains(kinds[:i+1], d.what) })
		fmt.Printf("until bound, without %v: %s\n", kinds[:i+1], describe(undisturbed(waits, without)))
	}
	return nil
}
