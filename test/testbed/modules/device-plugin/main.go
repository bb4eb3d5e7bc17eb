// device-plugin is a kubelet device plugin for tests, after NVIDIA's: it offers GPUs that are twins of /dev/null, and hands
// them to containers by one of that plugin's strategies. It has an opinion which ones a container gets: the first ones of a
// file that are free by the kubelet's books. So a test decides that they are others than those that the scheduler chose.
//
//	device-plugin --devices FILE --strategy FILE [flags]
//
// A kubelet that starts again deletes its socket; it then registers anew, as any device plugin has to.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// How often it looks whether the kubelet is another one, or is there at last.
const glance = 200 * time.Millisecond

type config struct {
	devices, strategyFile    string
	resource, folder         string
	nodes, cdi, cdiKind, log string
}

func (c config) socket() string  { return filepath.Join(c.folder, "gpu-test.sock") }
func (c config) kubelet() string { return filepath.Join(c.folder, "kubelet.sock") }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, parse()); err != nil {
		fmt.Fprintln(os.Stderr, "device-plugin:", err)
		os.Exit(1)
	}
}

func parse() config {
	var c config
	flag.StringVar(&c.devices, "devices", "", "a file with a UUID and the minor number of its device node on each line; "+
		"what is free is handed out in this order. Read again at each question")
	flag.StringVar(&c.strategyFile, "strategy", "", "a file that says the strategy: envvar, volume-mounts, cdi-annotations, "+
		"cdi-cri or device-specs. Read again at each question")
	flag.StringVar(&c.resource, "resource", "nvidia.com/gpu", "what they are called")
	flag.StringVar(&c.folder, "plugins-dir", deviceplugin.DevicePluginPath, "where the kubelet's socket is, and ours is to be")
	flag.StringVar(&c.nodes, "nodes-dir", "/run/nvidia/driver/dev", "where the device nodes of this node are: nvidia0, nvidia1 ...")
	flag.StringVar(&c.cdiKind, "cdi-kind", "k8s.device-plugin.nvidia.com/gpu", "the kind of the CDI devices that it names")
	flag.StringVar(&c.cdi, "cdi-dir", "", "gets a file with those devices (default: somebody else wrote one)")
	flag.StringVar(&c.log, "log", "", "gets a JSON line for each registration and each allocation")
	flag.Parse()
	if c.devices == "" || c.strategyFile == "" || c.log == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	return c
}

// run serves one kubelet after the other.
func run(ctx context.Context, c config) error {
	gpus, err := readGPUs(c.devices)
	if err != nil {
		return err
	}
	if _, err := c.strategy(); err != nil {
		return err
	}
	if c.cdi != "" {
		if err := writeCDI(c, gpus); err != nil {
			return err
		}
	}
	p := &plugin{config: c, calls: &journal{file: c.log}}
	for ctx.Err() == nil {
		if err := serve(ctx, p); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "device-plugin: it tries again:", err)
			rest(ctx)
		}
	}
	return nil
}

// serve returns when the kubelet is another one, or with why it could not be told of us.
func serve(ctx context.Context, p *plugin) error {
	if err := os.Remove(p.socket()); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", p.socket())
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	deviceplugin.RegisterDevicePluginServer(server, p)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer server.Stop()
	if err := register(ctx, p.config); err != nil {
		return err
	}
	p.calls.write(call{Call: "registered"})
	for isThere(p.socket()) {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		case <-time.After(glance):
		}
	}
	return nil
}

// register tells the kubelet, which asks back before it answers.
func register(ctx context.Context, c config) error {
	connection, err := grpc.NewClient("unix://"+c.kubelet(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	limited, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err = deviceplugin.NewRegistrationClient(connection).Register(limited, &deviceplugin.RegisterRequest{
		Version: deviceplugin.Version, Endpoint: filepath.Base(c.socket()), ResourceName: c.resource, Options: options,
	})
	return err
}

func isThere(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(glance):
	}
}
