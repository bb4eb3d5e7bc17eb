package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	vcudaCore       = "tencent.com/vcuda-core"
	vcudaMemory     = "tencent.com/vcuda-memory"
	vcudaMemoryEach = 320 // units of memory of one GPU
)

// grantsCommand asks an extender for every pod of a namespace, as a scheduler that sends names only does; without an extender it
// makes the extender's write itself: the yardstick. Both are measured by this loop, from the first question to the last answer.
func grantsCommand(flags *flag.FlagSet) func(context.Context, *kubernetes.Clientset) error {
	namespace := flags.String("namespace", "default", "the namespace of the pods")
	extender := flags.String("extender", "", "URL of the extender; \"\": PATCH the pods directly")
	workers := flags.Int("connections", 32, "parallel connections")
	return func(ctx context.Context, client *kubernetes.Clientset) error {
		pods, nodes, err := podsAndNodes(ctx, client, *namespace)
		if err != nil {
			return err
		}
		grant := func(i int) error {
			return patch(ctx, client, "/api/v1/namespaces/"+*namespace+"/pods/"+pods[i].Name+"/status", note(pods[i], nodes[i%len(nodes)]))
		}
		if *extender != "" {
			caller := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idleConnections}}
			grant = func(i int) error { return filter(ctx, caller, *extender, pods[i], nodes) }
		}
		started := time.Now()
		if err := parallel(len(pods), *workers, grant); err != nil {
			return err
		}
		printRate("granted", len(pods), time.Since(started))
		return nil
	}
}

func podsAndNodes(ctx context.Context, client *kubernetes.Clientset, namespace string) ([]*corev1.Pod, []string, error) {
	podList, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	nodeList, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	if len(podList.Items) == 0 || len(nodeList.Items) == 0 {
		return nil, nil, fmt.Errorf("%d pods in namespace %s, %d nodes", len(podList.Items), namespace, len(nodeList.Items))
	}
	var pods []*corev1.Pod
	for i := range podList.Items {
		pods = append(pods, &podList.Items[i])
	}
	var nodes []string
	for _, node := range nodeList.Items {
		nodes = append(nodes, node.Name)
	}
	return pods, nodes, nil
}

// note is what the extender writes (src/kapi/write.cc, annotatePod).
func note(pod *corev1.Pod, node string) object {
	return object{"metadata": object{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion,
		"annotations": object{
			"tencent.com/gpu-assigned": "false", "tencent.com/predicate-gpu-idx-0": "0", "tencent.com/predicate-node": node,
			"tencent.com/predicate-time": fmt.Sprint(time.Now().UnixNano()),
		},
	}}
}

func patch(ctx context.Context, client *kubernetes.Clientset, path string, body any) error {
	const contentType = "application/merge-patch+json"
	return send(ctx, client.CoreV1().RESTClient().Patch(contentType), path, contentType, body)
}

// filter is one call of kube-scheduler's; an error where it does not grant.
func filter(ctx context.Context, caller *http.Client, extender string, pod *corev1.Pod, nodes []string) error {
	body, err := json.Marshal(object{"Pod": pod, "Nodes": nil, "NodeNames": nodes})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(extender, "/")+"/scheduler/filter", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := caller.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var said struct {
		NodeNames []string
		Error     string
	}
	if answer.StatusCode != http.StatusOK || json.Unmarshal(text, &said) != nil || len(said.NodeNames) != 1 {
		return fmt.Errorf("pod %s: %d %.300s", pod.Name, answer.StatusCode, text)
	}
	return nil
}
