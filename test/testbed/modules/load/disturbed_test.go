package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func moment(ms int64) time.Time { return time.UnixMilli(ms) }

func TestWaitsThatTouchADisturbanceAreLeftOut(t *testing.T) {
	waits := []wait{{moment(0), moment(10)}, {moment(10), moment(20)}, {moment(15), moment(40)}, {moment(31), moment(35)}, {moment(0), moment(90)}}
	left := undisturbed(waits, []disturbance{{moment(20), moment(30), "server"}})
	want := []wait{{moment(0), moment(10)}, {moment(31), moment(35)}}
	if len(left) != len(want) || left[0] != want[0] || left[1] != want[1] {
		t.Errorf("left %v", left)
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	var sorted []time.Duration
	if got := percentile(sorted, 99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for i := 1; i <= 200; i++ {
		sorted = append(sorted, time.Duration(i))
	}
	for percent, want := range map[int]time.Duration{50: 100, 99: 198, 100: 200} {
		if got := percentile(sorted, percent); got != want {
			t.Errorf("%d of 100: %v, want %v", percent, got, want)
		}
	}
}

func TestDisturbancesAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "disturbed")
	if none, err := readDisturbances(file); err != nil || none != nil {
		t.Errorf("of no file: %v, %v", none, err)
	}
	if err := os.WriteFile(file, []byte("10 20 server\n30 40 takeover\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readDisturbances(file)
	if err != nil || len(got) != 2 || got[1] != (disturbance{moment(30), moment(40), "takeover"}) {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("ten 20 server\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readDisturbances(file); err == nil {
		t.Error("a line that is none was read")
	}
}
