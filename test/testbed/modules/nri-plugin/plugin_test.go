package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/nri/pkg/api"
)

func create(t *testing.T, p *plugin, pod, annotation string) string {
	t.Helper()
	sandbox := &api.PodSandbox{Namespace: "n", Name: pod, Annotations: map[string]string{
		"nvidia.cdi.k8s.io/container.main": annotation, "nvidia.cdi.k8s.io/container.other": "nvidia.com/gpu=7",
	}}
	adjust, _, err := p.CreateContainer(context.Background(), sandbox, &api.Container{Name: "main"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, device := range adjust.GetCDIDevices() {
		names = append(names, device.GetName())
	}
	return strings.Join(names, " ")
}

func TestAnnotatedDevicesAreGiven(t *testing.T) {
	p := &plugin{log: filepath.Join(t.TempDir(), "log")}
	if got := create(t, p, "a", " nvidia.com/gpu=0, nvidia.com/gpu=1"); got != "nvidia.com/gpu=0 nvidia.com/gpu=1" {
		t.Error("given:", got)
	}
	if got := create(t, p, "b", ""); got != "" {
		t.Error("given without an annotation:", got)
	}
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	wanted := `{"call":"create","namespace":"n","pod":"a","container":"main","devices":["nvidia.com/gpu=0","nvidia.com/gpu=1"]}` + "\n" +
		`{"call":"create","namespace":"n","pod":"b","container":"main"}` + "\n"
	if string(log) != wanted {
		t.Error("the log:", string(log))
	}
}

func TestOneThatIsHeldGoesOnByItself(t *testing.T) {
	folder := t.TempDir()
	p := &plugin{log: filepath.Join(folder, "log"), hold: filepath.Join(folder, "hold")}
	if err := os.WriteFile(p.hold, []byte("slow\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	create(t, p, "quick", "")
	create(t, p, "slow", "")
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	wanted := `{"call":"create","namespace":"n","pod":"quick","container":"main"}` + "\n" +
		`{"call":"create","namespace":"n","pod":"slow","container":"main"}` + "\n" +
		`{"call":"let-go","namespace":"n","pod":"slow","container":"main"}` + "\n"
	if string(log) != wanted {
		t.Error("the log:", string(log))
	}
}
