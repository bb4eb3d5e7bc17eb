package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// The claims of one pod, and what there is for them on the node "a".
type allocationCase struct {
	Slices  []*resourceapi.ResourceSlice `json:"slices"`
	Classes classes                      `json:"classes"`
	Claims  []*resourceapi.ResourceClaim `json:"claims"`
	Taken   []given                      `json:"taken"` // by others' claims
}

type given struct {
	Request string `json:"request,omitempty"`
	Driver  string `json:"driver"`
	Pool    string `json:"pool"`
	Device  string `json:"device"`
}

type allocationAnswer struct {
	Verdict string    `json:"verdict"` // fits, no, error; late: it gave up, as kube-scheduler does
	Why     string    `json:"why"`
	Results [][]given `json:"results"` // by claim
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, one := range c {
		if one.Name == name {
			return one, nil
		}
	}
	return nil, fmt.Errorf("class %s not found", name)
}

// Those that kube-scheduler has on by default (AllocatorFeatures of its plugin dynamicresources).
var features = structured.Features{
	AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true,
	DeviceBindingAndStatus: true, ConsumableCapacity: true, FractionalCapacityRange: true,
}

var selectorCache = cel.NewCache(1000, cel.Features{EnableConsumableCapacity: true})

func allocate(c allocationCase) allocationAnswer {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	taken := sets.New[structured.DeviceID]()
	for _, one := range c.Taken {
		taken.Insert(structured.MakeDeviceID(one.Driver, one.Pool, one.Device))
	}
	allocator, err := structured.NewAllocator(ctx, features, structured.AllocatedState{
		AllocatedDevices:         taken,
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}, c.Classes, c.Slices, selectorCache)
	if err != nil {
		return allocationAnswer{Verdict: "error", Why: err.Error()}
	}
	results, err := allocator.Allocate(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, c.Claims)
	switch {
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return allocationAnswer{Verdict: "no", Why: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return allocationAnswer{Verdict: "late", Why: err.Error()}
	case err != nil:
		return allocationAnswer{Verdict: "error", Why: err.Error()}
	case results == nil:
		return allocationAnswer{Verdict: "no"}
	}
	answer := allocationAnswer{Verdict: "fits", Results: [][]given{}}
	for _, result := range results {
		all := []given{}
		for _, one := range result.Devices.Results {
			all = append(all, given{one.Request, one.Driver, one.Pool, one.Device})
		}
		answer.Results = append(answer.Results, all)
	}
	return answer
}

func allocations(in io.Reader, out io.Writer) error {
	return answerLines(in, out, func(line []byte) (any, error) {
		var c allocationCase
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, err
		}
		return allocate(c), nil
	})
}
