// load fills the testbed's control plane with nodes and pods, measures it and judges the outcome.
// It exists because kubectl is too slow for thousands of objects. Figures are printed as key=value.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A subcommand declares its flags, and returns what to do once they are parsed.
type subcommand struct {
	name, summary string
	declare       func(*flag.FlagSet) func(context.Context, *kubernetes.Clientset) error
}

var subcommands = []subcommand{
	{"nodes", "create nodes without kubelets, and their GpuNodeStatus", nodesCommand},
	{"pods", "create pods of one kind", podsCommand},
	{"bare", "the fastest possible scheduler: bind pods without thinking, print pods per second", bareCommand},
	{"grants", "ask an extender for shares of GPUs for pods, or annotate them without thinking, print pods per second", grantsCommand},
	{"wait-bound", "wait until so many pods are bound, print pods per second", waitBoundCommand},
	{"churn", "pods of all kinds that come, run, end and go, however often the API server is away", churnCommand},
	{"lose-leases", "delete some GPU leases, as a person might", loseLeasesCommand},
	{"follow", "exit 1 if at any revision a GPU was given twice, or a pod bound without its leases", followCommand},
	{"judge", "exit 1 if the API shows a device given twice, or a lease without a pod", judgeCommand},
}

func main() {
	if len(os.Args) > 1 {
		for _, c := range subcommands {
			if c.name == os.Args[1] {
				if err := run(c, os.Args[2:]); err != nil {
					fmt.Fprintf(os.Stderr, "load %s: %v\n", c.name, err)
					os.Exit(1)
				}
				return
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: load SUBCOMMAND [flags]; -h after a subcommand lists its flags")
	for _, c := range subcommands {
		fmt.Fprintf(os.Stderr, "  %-11s %s\n", c.name, c.summary)
	}
	os.Exit(2)
}

func run(c subcommand, args []string) error {
	flags := flag.NewFlagSet("load "+c.name, flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "default: $KUBECONFIG")
	work := c.declare(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	client, err := connect(*kubeconfig)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return work(ctx, client)
}

// idleConnections must not be below the workers of any subcommand, else connections are made anew all the time.
const idleConnections = 256

// connect makes a client without rate limits, on HTTP/1.1: as many connections as there are workers, as
// the scheduler under test has, not one shared HTTP/2 connection.
func connect(kubeconfig string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	// Reading in protobuf leaves the two cores to those who are measured; writes stay JSON.
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{TLSClientConfig: tls, MaxIdleConnsPerHost: idleConnections})
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfigAndClient(config, &http.Client{Transport: transport})
}

// parallel calls do(0) .. do(count-1) from so many workers; after an error no new calls are begun.
func parallel(count, workers int, do func(i int) error) error {
	var (
		next    atomic.Int64
		failure atomic.Pointer[error]
		group   sync.WaitGroup
	)
	for range min(workers, count) {
		group.Add(1)
		go func() {
			defer group.Done()
			for failure.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				if err := do(i); err != nil {
					failure.CompareAndSwap(nil, &err)
				}
			}
		}()
	}
	group.Wait()
	if err := failure.Load(); err != nil {
		return *err
	}
	return nil
}
