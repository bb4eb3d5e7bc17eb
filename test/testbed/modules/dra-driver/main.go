// dra-driver is a DRA driver for tests: the real kubelet asks it for the devices of claims. Its GPUs are
// twins of /dev/null, /dev/gpu0 and so on, which containers get by CDI. It refuses a device that another
// claim has, writes down every call, and does wrong what files in a folder tell it to: see control.go.
//
//	dra-driver --node-name NODE --kubeconfig FILE [flags]   serves the kubelet until it is told to end
//	dra-driver pod-resources [--socket FILE]                prints what the kubelet says that pods have
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"google.golang.org/grpc"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

type config struct {
	driver, node, kubeconfig            string
	devices                             int
	plugins, registry, cdi, faults, log string
}

// folder is the driver's own, among those of the kubelet's plugins.
func (c config) folder() string { return filepath.Join(c.plugins, c.driver) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == "pod-resources" {
		flags := flag.NewFlagSet("dra-driver pod-resources", flag.ExitOnError)
		socket := flags.String("socket", "/var/lib/kubelet/pod-resources/kubelet.sock", "where the kubelet answers")
		_ = flags.Parse(os.Args[2:]) // it exits
		err = printPodResources(ctx, *socket)
	} else {
		err = serve(ctx, parse())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dra-driver:", err)
		os.Exit(1)
	}
}

func parse() config {
	var c config
	flag.StringVar(&c.driver, "driver-name", "gpu.example.com", "name of the driver; vendor of its CDI devices, too")
	flag.StringVar(&c.node, "node-name", "", "the node, and the pool")
	flag.StringVar(&c.kubeconfig, "kubeconfig", "", "get nodes and claims, and all of the node's slices")
	flag.IntVar(&c.devices, "devices", 8, "how many GPUs the node has, 1 to 64")
	flag.StringVar(&c.plugins, "plugins-dir", "/var/lib/kubelet/plugins", "where the kubelet's plugins have their folders")
	flag.StringVar(&c.registry, "registry-dir", "/var/lib/kubelet/plugins_registry", "where the kubelet looks for plugins")
	flag.StringVar(&c.cdi, "cdi-dir", "/var/run/cdi", "where the container runtime looks for CDI specs")
	flag.StringVar(&c.faults, "control", "", "the folder of files that say what goes wrong (default: nothing does)")
	flag.StringVar(&c.log, "log", "", "gets a JSON line for each call (default: calls.log in the driver's folder)")
	flag.Parse()
	if c.log == "" {
		c.log = filepath.Join(c.folder(), "calls.log")
	}
	if c.node == "" || c.devices < 1 || c.devices > 64 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	return c
}

func serve(ctx context.Context, c config) error {
	for _, folder := range []string{c.folder(), c.registry, c.cdi} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	rest, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	rest.QPS = -1
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	if err := writeCDI(c); err != nil {
		return err
	}
	calls := &journal{file: c.log}
	d, err := newDriver(c, calls)
	if err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(ctx, d,
		kubeletplugin.KubeClient(client), kubeletplugin.DriverName(c.driver), kubeletplugin.NodeName(c.node),
		kubeletplugin.PluginDataDirectoryPath(c.folder()), kubeletplugin.RegistrarDirectoryPath(c.registry),
		// One claim that hangs must not hold up others.
		kubeletplugin.Serialize(false), kubeletplugin.HealthService(false), kubeletplugin.GRPCInterceptor(noteRegistration(calls)))
	if err != nil {
		return err
	}
	defer helper.Stop()
	publish(ctx, c, client)
	return nil
}

// noteRegistration writes down when the kubelet knows the driver: before that it can't prepare anything.
func noteRegistration(calls *journal) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		answer, err := handle(ctx, request)
		if filepath.Base(info.FullMethod) == "NotifyRegistrationStatus" {
			calls.write(call{Call: "registered", Result: fmt.Sprint(request)})
		}
		return answer, err
	}
}
