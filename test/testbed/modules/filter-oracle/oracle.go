package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Why a node is refused, as the plugin says it.
type refusal struct {
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"` // sorted: some come from a map
}

func refusalOf(by string, reasons []string) refusal {
	reasons = slices.Clone(reasons)
	slices.Sort(reasons)
	return refusal{by, reasons}
}

type answer struct {
	Feasible  []string           `json:"feasible"`            // sorted
	Nodes     map[string]refusal `json:"nodes"`               // all others
	Prefilter *refusal           `json:"prefilter,omitempty"` // no node was looked at, and each is refused for that
	Error     string             `json:"error,omitempty"`     // kube-scheduler would try again later, and say this
}

// kube-scheduler's framework with its default profile, but for claims of devices: the pods have none.
type oracle struct {
	ctx      context.Context
	close    context.CancelFunc
	world    *world
	snapshot *cache.Snapshot // that the plugins look at; its content is changed from case to case
	filters  framework.Framework
}

func newOracle() (*oracle, error) {
	klog.SetLogger(logr.Discard())
	metrics.InitMetrics()
	configured, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := configured.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled,
		func(one config.Plugin) bool { return one.Name == names.DynamicResources })

	client := fake.NewSimpleClientset()
	o := &oracle{world: newWorld(client), snapshot: cache.NewEmptySnapshot()}
	o.ctx, o.close = context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	options := append(moreOptions(o.world.factory), runtime.WithClientSet(client), runtime.WithInformerFactory(o.world.factory),
		runtime.WithSnapshotSharedLister(o.snapshot), runtime.WithParallelism(1))
	o.filters, err = runtime.NewFramework(o.ctx, plugins.NewInTreeRegistry(), &profile, options...)
	return o, err
}

// kube-scheduler watches no others.
func living(pods []*v1.Pod) []*v1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(one *v1.Pod) bool {
		return one.Status.Phase == v1.PodSucceeded || one.Status.Phase == v1.PodFailed
	})
}

// As Scheduler.findNodesThatFitPod goes about it, but over all nodes.
func (o *oracle) answer(q *question) answer {
	out := answer{Feasible: []string{}, Nodes: map[string]refusal{}}
	if err := o.world.set(q); err != nil {
		out.Error = err.Error()
		return out
	}
	*o.snapshot = *cache.NewSnapshot(living(q.Pods), q.Nodes)
	state := framework.NewCycleState()
	only, status, by := o.filters.RunPreFilterPlugins(o.ctx, state, q.Pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			out.Error = status.AsError().Error()
			return out
		}
		all := refusalOf(status.Plugin(), status.Reasons())
		out.Prefilter = &all
		for _, node := range q.Nodes {
			out.Nodes[node.Name] = all
		}
		return out
	}
	for _, node := range q.Nodes {
		if !only.AllNodes() && !only.NodeNames.Has(node.Name) {
			named := sets.List(by)
			out.Nodes[node.Name] = refusal{named[0], []string{fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", named)}}
			continue
		}
		info, err := o.snapshot.NodeInfos().Get(node.Name)
		if err != nil {
			out.Error = err.Error()
			return out
		}
		switch status := o.filters.RunFilterPlugins(o.ctx, state, q.Pod, info); {
		case status.IsSuccess():
			out.Feasible = append(out.Feasible, node.Name)
		case status.IsRejected():
			out.Nodes[node.Name] = refusalOf(status.Plugin(), status.Reasons())
		default:
			out.Error = status.AsError().Error()
		}
	}
	slices.Sort(out.Feasible)
	return out
}
