package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
)

// publish keeps the node's slices as they are wanted until ctx is over. Not by the helper of kubeletplugin,
// which would make every pool whole at once.
func publish(ctx context.Context, c config, client kubernetes.Interface) {
	var last, said string
	var looked time.Time
	for ctx.Err() == nil {
		slices, seen := c.layout()
		wanted, _ := json.Marshal([]any{slices, seen}) // of strings and numbers: it can't fail
		// Others may delete a slice: the kubelet does, of a driver that was away.
		if string(wanted) != last || time.Since(looked) > 2*time.Second {
			if err := once(ctx, c, client, slices, seen); err == nil {
				last, looked, said = string(wanted), time.Now(), ""
			} else if text := err.Error(); text != said && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "dra-driver: slices:", text)
				said = text
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(glance):
		}
	}
}

// layout is which slices the pool has, and how many of them are to be seen.
func (c config) layout() (slices [][]resourceapi.Device, seen int) {
	devices := c.published()
	text, split := c.says("generation")
	if !split {
		return [][]resourceapi.Device{devices}, 1
	}
	half := len(devices) / 2
	slices, seen = [][]resourceapi.Device{devices[:half], devices[half:]}, 1
	if text == "2" {
		seen = 2
	}
	return slices, seen
}

func once(ctx context.Context, c config, client kubernetes.Interface, slices [][]resourceapi.Device, seen int) error {
	node, err := client.CoreV1().Nodes().Get(ctx, c.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	api := client.ResourceV1().ResourceSlices()
	list, err := api.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + c.node + ",spec.driver=" + c.driver})
	if err != nil {
		return err
	}
	var newest int64
	for _, slice := range list.Items {
		newest = max(newest, slice.Spec.Pool.Generation)
	}
	var current, old []resourceapi.ResourceSlice
	for _, slice := range list.Items {
		if slice.Spec.Pool.Generation == newest && slice.Spec.Pool.ResourceSliceCount == int64(len(slices)) {
			current = append(current, slice)
		} else {
			old = append(old, slice)
		}
	}
	if len(current) == 0 {
		newest++
	}
	sort.Slice(current, func(i, j int) bool { return current[i].Name < current[j].Name })
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	for i, devices := range slices[:seen] {
		spec := resourceapi.ResourceSliceSpec{
			Driver: c.driver, NodeName: &c.node, Devices: devices,
			Pool: resourceapi.ResourcePool{Name: c.node, Generation: newest, ResourceSliceCount: int64(len(slices))},
		}
		if i < len(current) {
			err = change(ctx, api, current[i], spec)
		} else {
			_, err = api.Create(ctx, &resourceapi.ResourceSlice{Spec: spec, ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%s-%d-%d", c.node, c.driver, newest, i), OwnerReferences: []metav1.OwnerReference{owner},
			}}, metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
	}
	if seen < len(current) {
		err = remove(ctx, api, current[seen:])
	}
	if seen == len(slices) {
		err = errors.Join(err, remove(ctx, api, old))
	}
	return err
}

func change(ctx context.Context, api resourceclient.ResourceSliceInterface, slice resourceapi.ResourceSlice, spec resourceapi.ResourceSliceSpec) error {
	if equality.Semantic.DeepEqual(slice.Spec, withTimes(spec, slice.Spec)) {
		return nil
	}
	slice.Spec = withTimes(spec, slice.Spec)
	_, err := api.Update(ctx, &slice, metav1.UpdateOptions{})
	return err
}

// withTimes is the spec with the times that the API server gave to taints that were there before.
func withTimes(spec, before resourceapi.ResourceSliceSpec) resourceapi.ResourceSliceSpec {
	times := map[string]*metav1.Time{}
	for _, device := range before.Devices {
		for _, taint := range device.Taints {
			times[device.Name+" "+string(taint.Effect)] = taint.TimeAdded
		}
	}
	for _, device := range spec.Devices {
		for i := range device.Taints {
			device.Taints[i].TimeAdded = times[device.Name+" "+string(device.Taints[i].Effect)]
		}
	}
	return spec
}

func remove(ctx context.Context, api resourceclient.ResourceSliceInterface, slices []resourceapi.ResourceSlice) error {
	var errs []error
	for _, slice := range slices {
		if err := api.Delete(ctx, slice.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
