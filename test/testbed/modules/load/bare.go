package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	bareGPUs   = 8
	leasesPath = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
)

// bareCommand is the yardstick for throughput: what this API server takes on this machine from a client
// that only writes. A scheduler's figure is given as a share of it; wait-bound measures both.
func bareCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	podCount := flags.Int("pods", 2000, "how many pods to bind")
	nodeCount := flags.Int("nodes", 500, fmt.Sprintf("over how many nodes, of %d GPUs each", bareGPUs))
	workers := flags.Int("connections", 32, "parallel connections")
	events := flags.Bool("events", true, "write the Scheduled event of each pod too")
	leases := flags.Bool("leases", false, "pods with a claim: write the lease of each pod's GPU too")
	dra := flags.Bool("dra", false, "pods with a limit: write the lease, the ResourceClaim and its allocation, and map the limit too")
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		if *podCount > *nodeCount*bareGPUs {
			return fmt.Errorf("%d pods don't fit %d nodes of %d GPUs", *podCount, *nodeCount, bareGPUs)
		}
		run := fmt.Sprintf("bare-%x", time.Now().Unix()) // two runs on one cluster don't clash
		err := parallel(*nodeCount, *workers, func(i int) error {
			return makeNode(ctx, client, nodeSpec{name: fmt.Sprintf("%s-%d", run, i), gpus: bareGPUs})
		})
		if err != nil {
			return err
		}
		spec := podSpec{namespace: "default", scheduler: "bare"}
		if *leases {
			spec.claim = "one" // nobody reads it; the pods of a scheduler have it
		}
		if *dra {
			spec.gpus = 1
		}
		pods, err := makePods(ctx, client, spec, run+"-", *podCount, 0, *workers)
		if err != nil {
			return err
		}
		started := time.Now()
		err = parallel(len(pods), *workers, func(i int) error {
			b := bareBinding{pod: pods[i], node: fmt.Sprintf("%s-%d", run, i%*nodeCount), gpu: -1}
			if *leases || *dra {
				b.gpu = i / *nodeCount
			}
			if *leases {
				if err := post(ctx, client, leasesPath, b.lease()); err != nil {
					return err
				}
			}
			if *dra {
				if err := b.allocate(ctx, client); err != nil {
					return err
				}
			}
			if err := post(ctx, client, "/api/v1/namespaces/default/pods/"+b.pod.Name+"/binding", b.binding()); err != nil {
				return err
			}
			if !*events {
				return nil
			}
			return post(ctx, client, "/apis/events.k8s.io/v1/namespaces/default/events", b.event())
		})
		if err == nil {
			printRate("bound", len(pods), time.Since(started))
		}
		return err
	}
}

// bareBinding holds the writes of one pod, the same in kind as those of our scheduler (src/kapi/write.cc, event.cc).
type bareBinding struct {
	pod  *corev1.Pod
	node string
	gpu  int // -1: an ordinary pod, whose Binding has no annotations
}

func (b bareBinding) allocated() string { return fmt.Sprintf("%s:%d", b.node, b.gpu) }

func (b bareBinding) binding() object {
	metadata := object{
		"name": b.pod.Name, "namespace": b.pod.Namespace, "uid": b.pod.UID, "resourceVersion": b.pod.ResourceVersion,
	}
	if b.gpu >= 0 {
		metadata["annotations"] = object{
			allocatedAnnotation: b.allocated(), "gpu.scheduling/visible-devices": fmt.Sprint(b.gpu),
			"gpu.scheduling/reservation": b.pod.UID,
		}
	}
	return object{
		"apiVersion": "v1", "kind": "Binding", "metadata": metadata,
		"target": object{"apiVersion": "v1", "kind": "Node", "name": b.node},
	}
}

func (b bareBinding) event() object {
	note := fmt.Sprintf("Successfully assigned %s/%s to %s", b.pod.Namespace, b.pod.Name, b.node)
	if b.gpu >= 0 {
		note += fmt.Sprintf(" with GPUs %d", b.gpu)
	}
	name := fmt.Sprintf("%s.%016x", b.pod.Name, rand.Uint64())
	return object{
		"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": object{"name": name, "namespace": b.pod.Namespace},
		"eventTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), "reportingController": "bare",
		"reportingInstance": "bare-0", "action": "Binding", "reason": "Scheduled", "type": "Normal", "note": note,
		"regarding": object{
			"apiVersion": "v1", "kind": "Pod", "name": b.pod.Name, "namespace": b.pod.Namespace, "uid": b.pod.UID,
			"resourceVersion": b.pod.ResourceVersion,
		},
	}
}

func (b bareBinding) lease() object {
	return object{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": object{
			"name": fmt.Sprintf("gpu-%s-%d", b.node, b.gpu), "namespace": b.pod.Namespace,
			"labels": object{managedLabel: "true", "gpu.scheduling/pod": b.pod.Name},
			"annotations": object{
				nodeAnnotation: b.node, gpuAnnotation: fmt.Sprint(b.gpu), "gpu.scheduling/uuid": deviceUUID(b.node, b.gpu),
				podNamespaceAnnotation: b.pod.Namespace, podNameAnnotation: b.pod.Name, podUIDAnnotation: b.pod.UID,
				"gpu.scheduling/reservation": b.pod.UID, devicesAnnotation: b.allocated(), "gpu.scheduling/format": "1",
			},
		},
		"spec": object{"holderIdentity": b.pod.UID},
	}
}
