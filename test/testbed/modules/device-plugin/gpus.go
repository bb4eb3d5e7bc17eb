package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

type gpu struct {
	uuid  string
	minor int // of /dev/nvidia<minor>
}

// readGPUs reads a file with a UUID and a minor number on each line.
func readGPUs(file string) ([]gpu, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var gpus []gpu
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.Fields(line)
		if len(words) != 2 {
			return nil, fmt.Errorf("%s: line %d is %q; write a UUID and a minor number", file, i+1, line)
		}
		minor, err := strconv.Atoi(words[1])
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, i+1, err)
		}
		gpus = append(gpus, gpu{words[0], minor})
	}
	return gpus, nil
}

func uuidsOf(gpus []gpu) []string {
	var uuids []string
	for _, one := range gpus {
		uuids = append(uuids, one.uuid)
	}
	return uuids
}

// named finds those GPUs, in the order of the file.
func named(gpus []gpu, uuids []string) ([]gpu, error) {
	var found []gpu
	for _, one := range gpus {
		if slices.Contains(uuids, one.uuid) {
			found = append(found, one)
		}
	}
	if len(found) != len(uuids) {
		return nil, fmt.Errorf("asked for %v, which this node does not have all of", uuids)
	}
	return found, nil
}

// preferred is what a container of `size` devices is to have: `must`, and then the first ones of the file that are
// available.
func preferred(gpus []gpu, available, must []string, size int) []string {
	chosen := slices.Clone(must)
	for _, one := range gpus {
		if len(chosen) < size && slices.Contains(available, one.uuid) && !slices.Contains(chosen, one.uuid) {
			chosen = append(chosen, one.uuid)
		}
	}
	return chosen
}

type object = map[string]any

// writeCDI tells the container runtime what the CDI devices of cdi-annotations and cdi-cri are, as the plugin of
// NVIDIA does: a file of its own, beside that of nvidia-ctk.
func writeCDI(c config, gpus []gpu) error {
	var devices []object
	for _, one := range gpus {
		name := "nvidia" + strconv.Itoa(one.minor)
		node := object{"path": "/dev/" + name, "hostPath": filepath.Join(c.nodes, name)}
		devices = append(devices, object{"name": one.uuid, "containerEdits": object{"deviceNodes": []object{node}}})
	}
	text, err := json.MarshalIndent(object{
		"cdiVersion": "0.5.0", "kind": c.cdiKind, "devices": devices,
		"containerEdits": object{"env": []string{variable + "=void"}},
	}, "", "  ")
	if err != nil {
		return err
	}
	// The runtime reads what ends in .json, also what is only half there.
	file := filepath.Join(c.cdi, strings.ReplaceAll(c.cdiKind, "/", "-"))
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file+".json")
}
