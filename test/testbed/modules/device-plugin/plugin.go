package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// plugin is what the kubelet asks. What may change while it runs is read again at each question.
type plugin struct {
	deviceplugin.UnimplementedDevicePluginServer
	config
	calls *journal
}

// options: it has an opinion which devices a container gets, so that the kubelet does not draw them by lot.
var options = &deviceplugin.DevicePluginOptions{GetPreferredAllocationAvailable: true}

func (p *plugin) GetDevicePluginOptions(context.Context, *deviceplugin.Empty) (*deviceplugin.DevicePluginOptions, error) {
	return options, nil
}

// ListAndWatch says once what there is: no GPU of this node fails.
func (p *plugin) ListAndWatch(_ *deviceplugin.Empty, stream grpc.ServerStreamingServer[deviceplugin.ListAndWatchResponse]) error {
	gpus, err := readGPUs(p.devices)
	if err != nil {
		return err
	}
	answer := &deviceplugin.ListAndWatchResponse{}
	for _, one := range gpus {
		answer.Devices = append(answer.Devices, &deviceplugin.Device{ID: one.uuid, Health: deviceplugin.Healthy})
	}
	if err := stream.Send(answer); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *plugin) GetPreferredAllocation(_ context.Context, request *deviceplugin.PreferredAllocationRequest) (*deviceplugin.PreferredAllocationResponse, error) {
	gpus, err := readGPUs(p.devices)
	if err != nil {
		return nil, err
	}
	answer := &deviceplugin.PreferredAllocationResponse{}
	for _, one := range request.GetContainerRequests() {
		chosen := preferred(gpus, one.GetAvailableDeviceIDs(), one.GetMustIncludeDeviceIDs(), int(one.GetAllocationSize()))
		answer.ContainerResponses = append(answer.ContainerResponses, &deviceplugin.ContainerPreferredAllocationResponse{DeviceIDs: chosen})
	}
	return answer, nil
}

// Allocate is told which devices, and not for whom.
func (p *plugin) Allocate(_ context.Context, request *deviceplugin.AllocateRequest) (*deviceplugin.AllocateResponse, error) {
	strategy, err := p.strategy()
	if err != nil {
		return nil, err
	}
	gpus, err := readGPUs(p.devices)
	if err != nil {
		return nil, err
	}
	all := &deviceplugin.AllocateResponse{}
	for _, one := range request.GetContainerRequests() {
		line := call{Call: "allocate", Strategy: strategy, Devices: one.GetDevicesIds()}
		found, err := named(gpus, one.GetDevicesIds())
		if err != nil {
			line.Error = err.Error()
			p.calls.write(line)
			return nil, err
		}
		answer := &deviceplugin.ContainerAllocateResponse{}
		strategies[strategy](p.config, found, answer)
		p.calls.write(line)
		all.ContainerResponses = append(all.ContainerResponses, answer)
	}
	return all, nil
}

func (p *plugin) PreStartContainer(context.Context, *deviceplugin.PreStartContainerRequest) (*deviceplugin.PreStartContainerResponse, error) {
	return &deviceplugin.PreStartContainerResponse{}, nil
}

// strategy is the name in the file --strategy.
func (c config) strategy() (string, error) {
	text, err := os.ReadFile(c.strategyFile)
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(text))
	if _, known := strategies[name]; !known {
		return "", fmt.Errorf("%s says %q, which is no strategy", c.strategyFile, name)
	}
	return name, nil
}
