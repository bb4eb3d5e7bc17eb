package main

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

// As answer(), but an API server would take every object, and what it fills in by itself changes nothing. Else an error.
func (o *oracle) answerValid(q *question) answer {
	out := o.answer(q)
	for _, one := range q.objects() {
		if err := valid(one); err != nil {
			return answer{Error: "invalid: " + err.Error()}
		}
	}
	// Of drivers that are not installed any is named: texts may differ.
	if filled := o.answer(q); !slices.Equal(out.Feasible, filled.Feasible) || !maps.EqualFunc(out.Nodes, filled.Nodes, bySame) {
		return answer{Error: fmt.Sprintf("invalid: with the API server's defaults the answer is another: %v", filled)}
	}
	return out
}

func bySame(a, b refusal) bool { return a.Plugin == b.Plugin }

func (q *question) objects() []runtime.Object {
	out := addAll([]runtime.Object{q.Pod}, q.Pods)
	out = addAll(out, q.Nodes)
	out = addAll(out, q.Namespaces)
	out = addAll(out, q.Volumes)
	out = addAll(out, q.Claims)
	out = addAll(out, q.Classes)
	out = addAll(out, q.CSINodes)
	out = addAll(out, q.CSIDrivers)
	out = addAll(out, q.Capacities)
	return addAll(out, q.Attachments)
}

func addAll[T runtime.Object](to []runtime.Object, all []T) []runtime.Object {
	for _, one := range all {
		to = append(to, one)
	}
	return to
}

// Fills in what the API server does.
func valid(object runtime.Object) error {
	legacyscheme.Scheme.Default(object)
	internal, err := legacyscheme.Scheme.ConvertToVersion(object, runtime.InternalGroupVersioner)
	if err != nil {
		return err
	}
	var errors field.ErrorList
	switch one := internal.(type) {
	case *core.Pod:
		errors = validation.ValidatePodCreate(one, podutil.GetValidationOptionsFromPodSpecAndMeta(&one.Spec, nil, &one.ObjectMeta, nil))
	case *core.Node:
		errors = validation.ValidateNode(one)
	case *core.Namespace:
		errors = validation.ValidateNamespace(one)
	case *core.PersistentVolume:
		errors = validation.ValidatePersistentVolume(one, validation.ValidationOptionsForPersistentVolume(one, nil))
	case *core.PersistentVolumeClaim:
		errors = validation.ValidatePersistentVolumeClaim(one, validation.ValidationOptionsForPersistentVolumeClaim(one, nil))
	case *storage.StorageClass:
		errors = storagevalidation.ValidateStorageClass(one)
	case *storage.CSINode:
		errors = validateCSINode(one)
	case *storage.CSIDriver:
		errors = storagevalidation.ValidateCSIDriver(one)
	case *storage.CSIStorageCapacity:
		errors = storagevalidation.ValidateCSIStorageCapacity(one, storagevalidation.CSIStorageCapacityValidateOptions{})
	case *storage.VolumeAttachment:
		errors = storagevalidation.ValidateVolumeAttachment(one)
	}
	return errors.ToAggregate()
}
