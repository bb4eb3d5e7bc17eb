package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// One question: a cluster, by the plurals of its kinds, and the pod that is asked about. The pods of the cluster have nodes.
type question struct {
	Nodes       []*v1.Node                      `json:"nodes"`
	Pods        []*v1.Pod                       `json:"pods"`
	Namespaces  []*v1.Namespace                 `json:"namespaces"`
	Volumes     []*v1.PersistentVolume          `json:"persistentvolumes"`
	Claims      []*v1.PersistentVolumeClaim     `json:"persistentvolumeclaims"`
	Classes     []*storagev1.StorageClass       `json:"storageclasses"`
	CSINodes    []*storagev1.CSINode            `json:"csinodes"`
	CSIDrivers  []*storagev1.CSIDriver          `json:"csidrivers"`
	Capacities  []*storagev1.CSIStorageCapacity `json:"csistoragecapacities"`
	Attachments []*storagev1.VolumeAttachment   `json:"volumeattachments"`
	Pod         *v1.Pod                         `json:"pod"`
	// By what it was drawn.
	Seed    uint64 `json:"seed"`
	Number  uint64 `json:"number"`
	Release string `json:"release"`
	Fields  string `json:"fields"`
}

// A member that is not known is an error: it would be answered as if it were not there.
func readLine(line []byte) (*question, error) {
	out := &question{}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(out); err != nil {
		return nil, err
	}
	return out, out.check()
}

func (q *question) check() error {
	if q.Pod == nil {
		return errors.New("no pod is asked about")
	}
	known := map[string]bool{}
	for _, node := range q.Nodes {
		known[node.Name] = true
	}
	for _, pod := range q.Pods {
		if !known[pod.Spec.NodeName] {
			return fmt.Errorf("pod %s/%s is on node %q, which there is not", pod.Namespace, pod.Name, pod.Spec.NodeName)
		}
	}
	return nil
}

// As kubectl would read them: documents and lists of any of the kinds, from any of the files.
func readFiles(files []string) (*question, error) {
	out := &question{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		documents := yaml.NewYAMLToJSONDecoder(bytes.NewReader(text))
		for {
			var one json.RawMessage
			err := documents.Decode(&one)
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = out.add(one)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return out, out.check()
}

func (q *question) add(text json.RawMessage) error {
	var of struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return err
	}
	switch of.Kind {
	case "":
		return nil // an empty document
	case "List":
		for _, one := range of.Items {
			if err := q.add(one); err != nil {
				return err
			}
		}
		return nil
	case "Node":
		return addTo(&q.Nodes, text)
	case "Namespace":
		return addTo(&q.Namespaces, text)
	case "PersistentVolume":
		return addTo(&q.Volumes, text)
	case "PersistentVolumeClaim":
		return addTo(&q.Claims, text)
	case "StorageClass":
		return addTo(&q.Classes, text)
	case "CSINode":
		return addTo(&q.CSINodes, text)
	case "CSIDriver":
		return addTo(&q.CSIDrivers, text)
	case "CSIStorageCapacity":
		return addTo(&q.Capacities, text)
	case "VolumeAttachment":
		return addTo(&q.Attachments, text)
	case "Pod":
		pod := &v1.Pod{}
		if err := json.Unmarshal(text, pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			q.Pod = pod
		} else {
			q.Pods = append(q.Pods, pod)
		}
		return nil
	}
	return fmt.Errorf("kind %q decides nothing here", of.Kind)
}

func addTo[T any](list *[]*T, text json.RawMessage) error {
	one := new(T)
	if err := json.Unmarshal(text, one); err != nil {
		return err
	}
	*list = append(*list, one)
	return nil
}
