package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/deviceattribute"
)

func deviceName(i int) string { return fmt.Sprintf("gpu-%d", i) }

// published is what the API says of the node's devices: the lower half of them is at the first NUMA node.
func (c config) published() []resourceapi.Device {
	text := func(s string) resourceapi.DeviceAttribute { return resourceapi.DeviceAttribute{StringValue: &s} }
	var devices []resourceapi.Device
	for i := range c.devices {
		name, numa := deviceName(i), int64(2*i/c.devices)
		if c.vanished(name) {
			continue
		}
		device := resourceapi.Device{
			Name: name,
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
				"type":        text("gpu"),
				"uuid":        text(fmt.Sprintf("GPU-%s-%d", c.node, i)),
				"productName": text("Example GPU 80GB"),
				deviceattribute.StandardDeviceAttributePCIBusID: text(fmt.Sprintf("0000:%02x:00.0", 0x10+i)),
				deviceattribute.StandardDeviceAttributeNUMANode: {IntValue: &numa},
			},
			Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}},
		}
		if effect, ok := c.says("taint-" + name); ok {
			device.Taints = []resourceapi.DeviceTaint{{Key: c.driver + "/unhealthy", Effect: resourceapi.DeviceTaintEffect(effect)}}
		}
		devices = append(devices, device)
	}
	return devices
}

func cdiKind(c config) string { return c.driver + "/gpu" }

type object = map[string]any

// writeCDI tells the container runtime what a device is: gpu-3 is /dev/gpu3, made like /dev/null.
func writeCDI(c config) error {
	var devices []object
	for i := range c.devices {
		node := object{"path": fmt.Sprintf("/dev/gpu%d", i), "type": "c", "major": 1, "minor": 3}
		devices = append(devices, object{"name": deviceName(i), "containerEdits": object{"deviceNodes": []object{node}}})
	}
	text, err := json.MarshalIndent(object{"cdiVersion": "0.6.0", "kind": cdiKind(c), "devices": devices}, "", "  ")
	if err != nil {
		return err
	}
	// The runtime reads what ends in .json, also what is only half there.
	file := filepath.Join(c.cdi, c.driver)
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file+".json")
}
