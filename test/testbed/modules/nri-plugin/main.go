// nri-plugin is an NRI plugin of somebody else, for tests of ours beside it. After NVIDIA's own one it gives a container the
// CDI devices that an annotation of its pod names, whoever wrote it:
//
//	nvidia.cdi.k8s.io/container.NAME: nvidia.com/gpu=0     of the container NAME
//	nvidia.cdi.k8s.io/pod: nvidia.com/gpu=0                of all of them
//
// It writes down every container that is made. And it can hold one up: a moment that a test needs to end other programs in the
// middle of a container's creation. Plugins are asked in the order of their numbers, so with --index 00 it is asked first.
//
//	nri-plugin --log FILE [flags]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
)

const (
	glance = 10 * time.Millisecond
	// The runtime waits 2 s for an answer, and then goes on without.
	patience = 1500 * time.Millisecond
)

// line is one of the log.
type line struct {
	Call      string   `json:"call"` // connected, create, let-go
	Namespace string   `json:"namespace,omitempty"`
	Pod       string   `json:"pod,omitempty"`
	Container string   `json:"container,omitempty"`
	Devices   []string `json:"devices,omitempty"`
}

type plugin struct {
	log, hold string
}

var (
	_ stub.SynchronizeInterface     = (*plugin)(nil)
	_ stub.CreateContainerInterface = (*plugin)(nil)
)

// Synchronize is how the runtime says that from now on it asks.
func (p *plugin) Synchronize(context.Context, []*api.PodSandbox, []*api.Container) ([]*api.ContainerUpdate, error) {
	p.write(line{Call: "connected"})
	return nil, nil
}

func (p *plugin) CreateContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	said := line{Call: "create", Namespace: pod.GetNamespace(), Pod: pod.GetName(), Container: container.GetName(), Devices: devicesFor(pod.GetAnnotations(), container.GetName())}
	p.write(said)
	if p.waits(ctx, pod.GetName()) {
		said.Call = "let-go"
		p.write(said)
	}
	if len(said.Devices) == 0 {
		return nil, nil, nil
	}
	adjust := &api.ContainerAdjustment{}
	for _, name := range said.Devices {
		adjust.AddCDIDevice(&api.CDIDevice{Name: name})
	}
	return adjust, nil, nil
}

// devicesFor is what the annotations of a pod name for a container.
func devicesFor(annotations map[string]string, container string) []string {
	var names []string
	for _, key := range []string{"nvidia.cdi.k8s.io/pod", "nvidia.cdi.k8s.io/container." + container} {
		for _, name := range strings.Split(annotations[key], ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// waits while the file --hold names the pod, or until patience is over; whether it did at all.
func (p *plugin) waits(ctx context.Context, pod string) bool {
	held := false
	for until := time.Now().Add(patience); p.holds(pod) && time.Now().Before(until); held = true {
		select {
		case <-ctx.Done():
			return true
		case <-time.After(glance):
		}
	}
	return held
}

func (p *plugin) holds(pod string) bool {
	if p.hold == "" {
		return false
	}
	text, err := os.ReadFile(p.hold)
	return err == nil && strings.TrimSpace(string(text)) == pod
}

// write appends a whole line at once; the runtime asks one question at a time.
func (p *plugin) write(one line) {
	text, err := json.Marshal(one)
	if err != nil {
		panic(err) // of strings
	}
	file, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.Write(append(text, '\n'))
		_ = file.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nri-plugin:", err)
	}
}

func main() {
	p := &plugin{}
	index := flag.String("index", "00", "two digits: plugins are asked in this order")
	socket := flag.String("socket", api.DefaultSocketPath, "of the container runtime")
	flag.StringVar(&p.log, "log", "", "gets a JSON line for each container that is made")
	flag.StringVar(&p.hold, "hold", "", "a file: while it holds the name of a pod, containers of it wait, for 1.5 s at most")
	flag.Parse()
	if p.log == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		if err := p.serve(ctx, *index, *socket); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "nri-plugin: it connects again:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// serve returns when the connection ends. Each has a stub of its own: one that was closed is not used again.
func (p *plugin) serve(ctx context.Context, index, socket string) error {
	closed := make(chan struct{})
	var once sync.Once
	connection, err := stub.New(p, stub.WithPluginName("another"), stub.WithPluginIdx(index), stub.WithSocketPath(socket),
		stub.WithOnClose(func() { once.Do(func() { close(closed) }) }))
	if err != nil {
		return err
	}
	if err := connection.Start(ctx); err != nil {
		return err
	}
	select {
	case <-closed:
		return fmt.Errorf("the runtime closed the connection")
	case <-ctx.Done():
		return nil
	}
}
