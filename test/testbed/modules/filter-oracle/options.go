//go:build !newest

package main

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/kubernetes/pkg/apis/storage/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// What only the other releases' framework has to be given.
func moreOptions(informers.SharedInformerFactory) []runtime.Option { return nil }

func validateCSINode(node *storage.CSINode) field.ErrorList {
	return validation.ValidateCSINode(node, validation.CSINodeValidationOptions{})
}
