package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

const bareGPUs = 8

// bareCommand is the yardstick for throughput: what this API server takes on this machine from a client
// that only writes. A scheduler's figure is given as a share of it.
func bareCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	podCount := flags.Int("pods", 2000, "how many pods to bind")
	nodeCount := flags.Int("nodes", 500, fmt.Sprintf("over how many nodes, of %d GPUs each", bareGPUs))
	workers := flags.Int("connections", 32, "parallel connections")
	events := flags.Bool("events", true, "write the Scheduled event of each pod too")
	leases := flags.Bool("leases", false, "write the lease of each pod's GPU too")
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
		pods, err := makePods(ctx, client, podSpec{namespace: "default", scheduler: "bare"}, run+"-", *podCount, 0, *workers)
		if err != nil {
			return err
		}
		started := time.Now()
		err = parallel(len(pods), *workers, func(i int) error {
			b := bareBinding{pod: pods[i], node: fmt.Sprintf("%s-%d", run, i%*nodeCount), gpu: i / *nodeCount}
			if *leases {
				if err := post(ctx, client, "/apis/coordination.k8s.io/v1/namespaces/default/leases", b.lease()); err != nil {
					return err
				}
			}
			if err := post(ctx, client, "/api/v1/namespaces/default/pods/"+b.pod.Name+"/binding", b.binding()); err != nil {
				return err
			}
			if !*events {
				return nil
			}
			return post(ctx, client, "/api/v1/namespaces/default/events", b.event())
		})
		if err == nil {
			printRate("bound", len(pods), time.Since(started))
		}
		return err
	}
}

// bareBinding holds the writes of one pod, as large as the real ones (design: allocation record, leases).
type bareBinding struct {
	pod  *corev1.Pod
	node string
	gpu  int
}

func (b bareBinding) allocated() string { return fmt.Sprintf("%s:%d", b.node, b.gpu) }

func (b bareBinding) binding() object {
	return object{
		"apiVersion": "v1", "kind": "Binding",
		"metadata": object{
			"name": b.pod.Name, "namespace": b.pod.Namespace, "uid": b.pod.UID, "resourceVersion": b.pod.ResourceVersion,
			"annotations": object{allocatedAnnotation: b.allocated(), "gpu.scheduling/visible-devices": fmt.Sprint(b.gpu)},
		},
		"target": object{"apiVersion": "v1", "kind": "Node", "name": b.node},
	}
}

func (b bareBinding) event() object {
	now := time.Now().UTC().Format(time.RFC3339)
	return object{
		"apiVersion": "v1", "kind": "Event",
		"metadata": object{"name": b.pod.Name + ".scheduled", "namespace": b.pod.Namespace},
		"involvedObject": object{
			"apiVersion": "v1", "kind": "Pod", "name": b.pod.Name, "namespace": b.pod.Namespace, "uid": b.pod.UID,
		},
		"type": "Normal", "reason": "Scheduled",
		"message": fmt.Sprintf("Successfully assigned %s/%s to %s", b.pod.Namespace, b.pod.Name, b.node),
		"source":  object{"component": "bare"}, "firstTimestamp": now, "lastTimestamp": now, "count": 1,
	}
}

func (b bareBinding) lease() object {
	return object{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": object{
			"name":   fmt.Sprintf("gpu-%s-%d", b.node, b.gpu),
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
