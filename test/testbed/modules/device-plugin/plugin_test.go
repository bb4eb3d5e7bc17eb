package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func newPlugin(t *testing.T) *plugin {
	folder := t.TempDir()
	p := &plugin{config: config{
		devices: filepath.Join(folder, "devices"), strategyFile: filepath.Join(folder, "strategy"), nodes: "/run/gpus",
		cdiKind: "nvidia.com/gpu", cdi: folder, log: filepath.Join(folder, "log"),
	}}
	p.calls = &journal{file: p.log}
	tell(t, p.devices, "GPU-c 2\nGPU-a 0\nGPU-b 1\n")
	return p
}

func tell(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, what, wanted, got string) {
	t.Helper()
	if wanted != got {
		t.Errorf("%s: expected %q, got %q", what, wanted, got)
	}
}

func (p *plugin) allocated(uuids ...string) (string, error) {
	all, err := p.Allocate(context.Background(), &deviceplugin.AllocateRequest{
		ContainerRequests: []*deviceplugin.ContainerAllocateRequest{{DevicesIds: uuids}},
	})
	if err != nil {
		return "", err
	}
	answer := all.GetContainerResponses()[0]
	var words []string
	for key, value := range answer.GetEnvs() {
		words = append(words, key+"="+value)
	}
	for _, mount := range answer.GetMounts() {
		words = append(words, mount.GetContainerPath())
	}
	for _, node := range answer.GetDevices() {
		words = append(words, node.GetHostPath()+":"+node.GetContainerPath())
	}
	for key, value := range answer.GetAnnotations() {
		words = append(words, key+"="+value)
	}
	for _, device := range answer.GetCdiDevices() {
		words = append(words, device.GetName())
	}
	return strings.Join(words, " "), nil
}

func TestEachStrategy(t *testing.T) {
	p := newPlugin(t)
	for strategy, wanted := range map[string]string{
		"envvar":          "NVIDIA_VISIBLE_DEVICES=GPU-c,GPU-a",
		"volume-mounts":   "NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices /var/run/nvidia-container-devices/GPU-c /var/run/nvidia-container-devices/GPU-a",
		"cdi-annotations": "cdi.k8s.io/nvidia-device-plugin_GPU-c=nvidia.com/gpu=GPU-c,nvidia.com/gpu=GPU-a",
		"cdi-cri":         "nvidia.com/gpu=GPU-c nvidia.com/gpu=GPU-a",
		"device-specs":    "NVIDIA_VISIBLE_DEVICES=GPU-c,GPU-a /run/gpus/nvidia2:/dev/nvidia2 /run/gpus/nvidia0:/dev/nvidia0",
	} {
		tell(t, p.strategyFile, strategy+"\n")
		got, err := p.allocated("GPU-a", "GPU-c")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, strategy, wanted, got)
	}
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	p := newPlugin(t)
	tell(t, p.strategyFile, "by-magic")
	if _, err := p.allocated("GPU-a"); err == nil || !strings.Contains(err.Error(), "by-magic") {
		t.Error("a strategy that is none:", err)
	}
	tell(t, p.strategyFile, "envvar")
	if _, err := p.allocated("GPU-z"); err == nil || !strings.Contains(err.Error(), "GPU-z") {
		t.Error("a device that is none:", err)
	}
	tell(t, p.devices, "GPU-a zero\n")
	if _, err := p.allocated("GPU-a"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Error("a file that cannot be read:", err)
	}
}

// The file's order decides, also after it was changed.
func TestThePreferredOnesAreTheFirstOfTheFile(t *testing.T) {
	p := newPlugin(t)
	ask := func(size int32, must ...string) string {
		answer, err := p.GetPreferredAllocation(context.Background(), &deviceplugin.PreferredAllocationRequest{
			ContainerRequests: []*deviceplugin.ContainerPreferredAllocationRequest{{
				AvailableDeviceIDs: []string{"GPU-a", "GPU-b", "GPU-c"}, MustIncludeDeviceIDs: must, AllocationSize: size,
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(answer.GetContainerResponses()[0].GetDeviceIDs(), " ")
	}
	expect(t, "one", "GPU-c", ask(1))
	expect(t, "two, with one that it has", "GPU-b GPU-c", ask(2, "GPU-b"))
	tell(t, p.devices, "GPU-b 1\nGPU-a 0\nGPU-c 2\n")
	expect(t, "one of another order", "GPU-b", ask(1))
}

func TestTheCDIFileAndTheLog(t *testing.T) {
	p := newPlugin(t)
	gpus, err := readGPUs(p.devices)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeCDI(p.config, gpus); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.cdi, "nvidia.com-gpu.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Kind    string
		Devices []struct {
			Name           string
			ContainerEdits struct {
				DeviceNodes []struct{ Path, HostPath string }
			}
		}
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	expect(t, "its first device", "nvidia.com/gpu GPU-c [{/dev/nvidia2 /run/gpus/nvidia2}]",
		fmt.Sprint(spec.Kind, " ", spec.Devices[0].Name, " ", spec.Devices[0].ContainerEdits.DeviceNodes))
	tell(t, p.strategyFile, "cdi-cri")
	if _, err := p.allocated("GPU-b"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "the log", `{"call":"allocate","strategy":"cdi-cri","devices":["GPU-b"]}`+"\n", string(log))
}
