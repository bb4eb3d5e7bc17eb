package main

import (
	"context"
	"encoding/json"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// holding is a device of a container, as the kubelet tells monitors.
type holding struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Claim     string `json:"claim,omitempty"` // none for one of a device plugin
	Driver    string `json:"driver"`          // the resource of a device plugin
	Pool      string `json:"pool,omitempty"`
	Device    string `json:"device"`
}

// printPodResources prints a JSON line for each device of each container of the node.
func printPodResources(ctx context.Context, socket string) error {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	all, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, pod := range all.GetPodResources() {
		for _, container := range pod.GetContainers() {
			one := holding{Namespace: pod.GetNamespace(), Pod: pod.GetName(), Container: container.GetName()}
			for _, claim := range container.GetDynamicResources() {
				for _, device := range claim.GetClaimResources() {
					one.Claim, one.Driver = claim.GetClaimName(), device.GetDriverName()
					one.Pool, one.Device = device.GetPoolName(), device.GetDeviceName()
					if err := out.Encode(one); err != nil {
						return err
					}
				}
			}
			for _, plugin := range container.GetDevices() {
				for _, id := range plugin.GetDeviceIds() {
					one.Claim, one.Driver, one.Pool, one.Device = "", plugin.GetResourceName(), "", id
					if err := out.Encode(one); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
