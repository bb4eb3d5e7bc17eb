package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Two devices, of which somebody has the first; one question each of what fits, what does not and what is an error.
func TestAllocateAnswersEachLine(t *testing.T) {
	line := `{"slices":[{"metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},` +
		`"nodeName":"a","devices":[{"name":"x"},{"name":"y"}]}}],"classes":[{"metadata":{"name":"any"}}],` +
		`"claims":[{"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"%s",` +
		`"allocationMode":"ExactCount","count":%d}}]}}}],"taken":[{"driver":"d","pool":"p","device":"x"}]}` + "\n"
	questions := fmt.Sprintf(line, "any", 1) + fmt.Sprintf(line, "any", 2) + fmt.Sprintf(line, "none", 1)
	var out bytes.Buffer
	if err := allocations(strings.NewReader(questions), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{`{"verdict":"fits","why":"","results":[[{"request":"r","driver":"d","pool":"p","device":"y"}]]}`,
		`{"verdict":"no","why":"","results":null}`, `{"verdict":"error","why":"claim c, request r: could not retrieve device class none`} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("answer %d of %q is not %s", i, lines, want)
		}
	}
}

func TestAllocateEndsAtWhatIsNoQuestion(t *testing.T) {
	if err := allocations(strings.NewReader("nothing\n"), &bytes.Buffer{}); err == nil {
		t.Error("no error")
	}
}
