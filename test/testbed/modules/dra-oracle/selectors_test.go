package main

import (
	"bytes"
	"strings"
	"testing"
)

// One question each of true, false, what cannot be compiled and what fails.
func TestSelectorsAnswersEachLine(t *testing.T) {
	device := `{"driver":"d","attributes":{"d/a":{"int":5}},"capacity":{"m":{"value":"10Gi"}}}`
	questions := ""
	for _, expression := range []string{"device.attributes.d.a == 5", "device.capacity.d.m == quantity('1')", "1 == 'a'", "device.attributes.d.b"} {
		questions += `{"expression":"` + expression + `","device":` + device + "}\n"
	}
	var out bytes.Buffer
	if err := selectors(strings.NewReader(questions), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{`{"ok":true,"error":""}`, `{"ok":false,"error":""}`, `"error":"compilation failed`, `"error":"no such key: b"`} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("answer %d of %q lacks %s", i, lines, want)
		}
	}
}

func TestSelectorsEndsAtWhatIsNoQuestion(t *testing.T) {
	if err := selectors(strings.NewReader("nothing\n"), &bytes.Buffer{}); err == nil {
		t.Error("no error")
	}
}
