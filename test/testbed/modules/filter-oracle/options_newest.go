//go:build newest

package main

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/kubernetes/pkg/apis/storage/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// What only the newest release's framework has to be given.
func moreOptions(factory informers.SharedInformerFactory) []runtime.Option {
	return []runtime.Option{runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister()))}
}

func validateCSINode(node *storage.CSINode) field.ErrorList { return validation.ValidateCSINode(node) }
