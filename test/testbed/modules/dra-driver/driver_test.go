package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

type bench struct {
	*testing.T
	config
	driver *driver
}

func newBench(t *testing.T) *bench {
	folder := t.TempDir()
	b := &bench{T: t, config: config{driver: "gpu.example.com", node: "node-a", devices: 4, plugins: folder, cdi: folder, faults: folder}}
	b.log = filepath.Join(folder, "calls.log")
	if err := os.Mkdir(b.folder(), 0o755); err != nil {
		t.Fatal(err)
	}
	b.start()
	return b
}

func (b *bench) start() {
	b.Helper()
	var err error
	if b.driver, err = newDriver(b.config, &journal{file: b.log}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) tell(file, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.faults, file), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

// prepare gives the CDI devices in one line, or the error.
func (b *bench) prepare(ctx context.Context, name, pool string, devices ...string) string {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("u-" + name)}}
	claim.Status.Allocation = &resourceapi.AllocationResult{}
	results := &claim.Status.Allocation.Devices.Results
	for _, device := range devices {
		*results = append(*results, resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: "gpu.example.com", Pool: pool, Device: device})
	}
	*results = append(*results, resourceapi.DeviceRequestAllocationResult{Request: "other", Driver: "net.example.com", Pool: "x", Device: "y"})
	all, err := b.driver.PrepareResourceClaims(ctx, []*resourceapi.ResourceClaim{claim})
	if err != nil {
		b.Fatal(err)
	}
	result := all[claim.UID]
	if result.Err != nil {
		return result.Err.Error()
	}
	var ids []string
	for _, device := range result.Devices {
		ids = append(ids, device.CDIDeviceIDs...)
	}
	return strings.Join(ids, " ")
}

func (b *bench) unprepare(name string) {
	b.Helper()
	claim := kubeletplugin.NamespacedObject{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}, UID: types.UID("u-" + name)}
	all, err := b.driver.UnprepareResourceClaims(context.Background(), []kubeletplugin.NamespacedObject{claim})
	if one, known := all[claim.UID]; err != nil || one != nil || !known {
		b.Fatal(all, err)
	}
}

func (b *bench) expect(wanted, got string) {
	b.Helper()
	if got != wanted {
		b.Errorf("wanted %q, got %q", wanted, got)
	}
}

func TestOneDeviceIsForOneClaim(t *testing.T) {
	b, ctx := newBench(t), context.Background()
	b.expect("gpu.example.com/gpu=gpu-3 gpu.example.com/gpu=gpu-1", b.prepare(ctx, "a", "node-a", "gpu-3", "gpu-1"))
	b.expect("gpu.example.com/gpu=gpu-3 gpu.example.com/gpu=gpu-1", b.prepare(ctx, "a", "node-a", "gpu-3", "gpu-1"))
	refusal := "gpu-1 is prepared for claim default/a (uid u-a), which was not unprepared: not for claim default/b (uid u-b)"
	b.expect(refusal, b.prepare(ctx, "b", "node-a", "gpu-0", "gpu-1"))
	b.start() // again: it has not forgotten
	b.expect(refusal, b.prepare(ctx, "b", "node-a", "gpu-0", "gpu-1"))
	b.expect("claim default/a (uid u-a) is prepared with [gpu-3 gpu-1], and was not unprepared; now it asks for [gpu-2]",
		b.prepare(ctx, "a", "node-a", "gpu-2"))
	b.unprepare("a")
	b.unprepare("a") // none too many
	b.expect("gpu.example.com/gpu=gpu-0 gpu.example.com/gpu=gpu-1", b.prepare(ctx, "b", "node-a", "gpu-0", "gpu-1"))
	b.expect("node-a has no device gpu-4, which is allocated to claim default/c (uid u-c)", b.prepare(ctx, "c", "node-a", "gpu-4"))
	b.expect("node-a has no device node-b/gpu-2, which is allocated to claim default/c (uid u-c)", b.prepare(ctx, "c", "node-b", "gpu-2"))

	text, err := os.ReadFile(b.log)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for line := range strings.Lines(string(text)) {
		var c call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		result, _, _ := strings.Cut(c.Result, " ")
		said = append(said, c.Call+" "+c.Name+" "+strings.Join(c.Devices, ",")+" "+result)
	}
	b.expect("prepare a gpu-3,gpu-1 ok; prepare a gpu-3,gpu-1 again; prepare b gpu-0,gpu-1 gpu-1; prepare b gpu-0,gpu-1 gpu-1; "+
		"prepare a gpu-2 claim; unprepare a gpu-3,gpu-1 ok; unprepare a  unknown; prepare b gpu-0,gpu-1 ok; prepare c gpu-4 node-a; "+
		"prepare c node-b/gpu-2 node-a", strings.Join(said, "; "))
}

func TestFaults(t *testing.T) {
	b, ctx := newBench(t), context.Background()
	b.tell("deny-gpu-1", "")
	b.expect("told to deny gpu-1", b.prepare(ctx, "a", "node-a", "gpu-0", "gpu-1"))
	b.tell("vanish-gpu-2", "")
	b.expect("node-a has no device gpu-2, which is allocated to claim default/a (uid u-a)", b.prepare(ctx, "a", "node-a", "gpu-2"))
	b.tell("slow", "0.01")
	b.expect("gpu.example.com/gpu=gpu-0", b.prepare(ctx, "a", "node-a", "gpu-0"))
	b.tell("fail", "no power\n")
	b.expect("told to fail: no power", b.prepare(ctx, "b", "node-a", "gpu-3"))
	b.tell("hang", "")
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	b.expect("the kubelet waits no longer: context deadline exceeded", b.prepare(short, "b", "node-a", "gpu-3"))
	text, err := os.ReadFile(b.log)
	if err != nil || strings.Count(string(text), `"call":"hang"`) != 1 {
		t.Errorf("it hung once, and says: %s %v", text, err)
	}
}

func TestWhatIsPublished(t *testing.T) {
	b := newBench(t)
	shape := func() string {
		slices, seen := b.layout()
		var names []string
		for _, devices := range slices {
			var of []string
			for _, device := range devices {
				name := device.Name
				for _, taint := range device.Taints {
					name += ":" + string(taint.Effect)
				}
				of = append(of, name)
			}
			names = append(names, strings.Join(of, ","))
		}
		return strings.Join(names[:seen], " ") + map[bool]string{true: "", false: " ..."}[seen == len(slices)]
	}
	b.expect("gpu-0,gpu-1,gpu-2,gpu-3", shape())
	b.tell("vanish-gpu-0", "")
	b.tell("taint-gpu-2", "NoExecute\n")
	b.expect("gpu-1,gpu-2:NoExecute,gpu-3", shape())
	b.tell("generation", "1")
	b.expect("gpu-1 ...", shape())
	b.tell("generation", "2")
	b.expect("gpu-1 gpu-2:NoExecute,gpu-3", shape())
}
