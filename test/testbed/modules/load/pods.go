package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// podSpec is one kind of pod; at most one of claim, gpus, vcuda and template is set, none means a pod without GPUs.
type podSpec struct {
	namespace, name, scheduler, claim string
	template                          string // ResourceClaimTemplate
	gpus                              int
	vcuda                             int    // hundredths of one GPU
	node                              string // bound from the start
	env                               int    // variables of its container, some 90 bytes of JSON each
}

func podsCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	count := flags.Int("count", 1, "how many pods")
	prefix := flags.String("prefix", "pod-", "pods are called <prefix>0, <prefix>1 ...")
	workers := flags.Int("connections", 32, "parallel connections")
	plain := flags.Bool("plain", false, "pods without GPUs")
	var spec podSpec
	flags.StringVar(&spec.namespace, "namespace", "default", "their namespace, which must exist")
	flags.StringVar(&spec.scheduler, "scheduler", "gpu-scheduler", "their schedulerName")
	flags.StringVar(&spec.claim, "claim", "", "pods that name this GpuClaim")
	flags.IntVar(&spec.gpus, "gpus", 0, "pods with so many nvidia.com/gpu")
	flags.IntVar(&spec.vcuda, "vcuda", 0, "pods with a share of so many hundredths of a GPU of gpu-manager's")
	flags.StringVar(&spec.template, "template", "", "pods with a ResourceClaim made from this ResourceClaimTemplate")
	flags.IntVar(&spec.env, "env", 0, "environment variables of their container, for the size of real pods")
	boundTo := flags.Int("bound-to", 0, "create them bound, in turn to node-0 .. of so many nodes")
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		kinds := 0
		for _, given := range []bool{*plain, spec.claim != "", spec.gpus > 0, spec.vcuda > 0, spec.template != ""} {
			if given {
				kinds++
			}
		}
		if kinds != 1 {
			return errors.New("give one of --claim, --gpus, --vcuda, --template, --plain")
		}
		started := time.Now()
		_, err := makePods(ctx, client, spec, *prefix, *count, *boundTo, *workers)
		if err == nil {
			printRate("created", *count, time.Since(started))
		}
		return err
	}
}

// makePods creates <prefix>0 .. and returns them as the API server made them.
func makePods(ctx context.Context, client *kubernetes.Clientset, spec podSpec, prefix string, count, boundTo, workers int) ([]*corev1.Pod, error) {
	pods := make([]*corev1.Pod, count)
	err := parallel(count, workers, func(i int) (err error) {
		one := spec
		one.name = fmt.Sprintf("%s%d", prefix, i)
		if boundTo > 0 {
			one.node = fmt.Sprintf("node-%d", i%boundTo)
		}
		pods[i], err = client.CoreV1().Pods(one.namespace).Create(ctx, podObject(one), metav1.CreateOptions{})
		return err
	})
	return pods, err
}

func podObject(spec podSpec) *corev1.Pod {
	requests := corev1.ResourceList{"cpu": resource.MustParse("10m"), "memory": resource.MustParse("16Mi")}
	limits := corev1.ResourceList{}
	if spec.gpus > 0 {
		limits["nvidia.com/gpu"] = *resource.NewQuantity(int64(spec.gpus), resource.DecimalSI)
	}
	if spec.vcuda > 0 {
		limits[vcudaCore] = *resource.NewQuantity(int64(spec.vcuda), resource.DecimalSI)
		limits[vcudaMemory] = resource.MustParse("1")
		maps.Copy(requests, limits)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: spec.name, Namespace: spec.namespace},
		Spec: corev1.PodSpec{
			SchedulerName: spec.scheduler,
			NodeName:      spec.node,
			Containers: []corev1.Container{{
				Name: "main", Image: "pause",
				Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits},
			}},
		},
	}
	for i := range spec.env {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env,
			corev1.EnvVar{Name: fmt.Sprintf("TRAINER_OPTION_%02d", i), Value: "a value of some length"})
	}
	if spec.claim != "" {
		pod.Annotations = map[string]string{claimAnnotation: spec.claim}
	}
	if spec.template != "" {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &spec.template}}
		pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	}
	return pod
}

func printRate(what string, count int, took time.Duration) {
	fmt.Printf("%s=%d seconds=%.3f pods_per_second=%.1f\n", what, count, took.Seconds(), float64(count)/took.Seconds())
}
