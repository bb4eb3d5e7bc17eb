package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// The ways in which NVIDIA's device plugin hands a container its GPUs (its flags --device-list-strategy and
// --pass-device-specs). device-specs brings the variable too, as that plugin does.
var strategies = map[string]func(c config, gpus []gpu, answer *deviceplugin.ContainerAllocateResponse){
	"envvar":          byVariable,
	"volume-mounts":   byMounts,
	"cdi-annotations": byAnnotation,
	"cdi-cri":         byCDI,
	"device-specs": func(c config, gpus []gpu, answer *deviceplugin.ContainerAllocateResponse) {
		byVariable(c, gpus, answer)
		byNodes(c, gpus, answer)
	},
}

// The variable, and the folder in which mounts of /dev/null are named after GPUs, which
// nvidia-container-runtime looks for.
const (
	variable   = "NVIDIA_VISIBLE_DEVICES"
	deviceList = "/var/run/nvidia-container-devices"
)

func byVariable(_ config, gpus []gpu, answer *deviceplugin.ContainerAllocateResponse) {
	answer.Envs = map[string]string{variable: strings.Join(uuidsOf(gpus), ",")}
}

func byMounts(_ config, gpus []gpu, answer *deviceplugin.ContainerAllocateResponse) {
	answer.Envs = map[string]string{variable: deviceList}
	for _, one := range gpus {
		answer.Mounts = append(answer.Mounts, &deviceplugin.Mount{
			HostPath: "/dev/null", ContainerPath: deviceList + "/" + one.uuid, ReadOnly: true,
		})
	}
}

func byAnnotation(c config, gpus []gpu, answer *deviceplugin.ContainerAllocateResponse) {
	// Of one container each request has another key.
	key := "cdi.k8s.io/nvidia-device-plugin_" + gpus[0].uuid
	answer.Annotations = map[string]string{key: strings.Join(c.cdiNames(gpus), ",")}
}

func byCDI(c config, gpus []gpu, answer *deviceplugin.ContainerAllocateResponse) {
	for _, name := range c.cdiNames(gpus) {
		answer.CdiDevices = append(answer.CdiDevices, &deviceplugin.CDIDevice{Name: name})
	}
}

func byNodes(c config, gpus []gpu, answer *deviceplugin.ContainerAllocateResponse) {
	for _, one := range gpus {
		name := "nvidia" + strconv.Itoa(one.minor)
		answer.Devices = append(answer.Devices, &deviceplugin.DeviceSpec{
			HostPath: filepath.Join(c.nodes, name), ContainerPath: "/dev/" + name, Permissions: "rw",
		})
	}
}

func (c config) cdiNames(gpus []gpu) []string {
	var names []string
	for _, one := range gpus {
		names = append(names, fmt.Sprintf("%s=%s", c.cdiKind, one.uuid))
	}
	return names
}
