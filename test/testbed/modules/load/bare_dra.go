package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The writes of one pod with a limit on a node whose GPUs a DRA driver prepares (src/kapi/write_dra.cc): the
// lease, the ResourceClaim, its allocation, the mapping of the limit, the Binding.

const (
	bareDriver  = "gpu.nvidia.com"
	bareRequest = "limit-0"
)

func (b bareBinding) claimName() string { return "gpu-" + string(b.pod.UID) }

func (b bareBinding) claim() object {
	return object{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": object{
			"name": b.claimName(), "namespace": b.pod.Namespace,
			"annotations": object{
				"resource.kubernetes.io/extended-resource-claim": "true", "gpu.scheduling/reservation": b.pod.UID,
			},
			"finalizers": []string{"resource.kubernetes.io/delete-protection"},
			"ownerReferences": []object{{
				"apiVersion": "v1", "kind": "Pod", "name": b.pod.Name, "uid": b.pod.UID, "controller": true,
			}},
		},
		"spec": object{"devices": object{"requests": []object{{
			"name":    bareRequest,
			"exactly": object{"deviceClassName": bareDriver, "allocationMode": "ExactCount", "count": 1},
		}}}},
	}
}

func (b bareBinding) allocation(version string) object {
	return object{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": object{"name": b.claimName(), "namespace": b.pod.Namespace, "resourceVersion": version},
		"status": object{
			"allocation": object{
				"devices": object{"results": []object{{
					"request": bareRequest, "driver": bareDriver, "pool": b.node, "device": fmt.Sprintf("gpu-%d", b.gpu),
				}}},
				"nodeSelector": object{"nodeSelectorTerms": []object{{"matchFields": []object{{
					"key": "metadata.name", "operator": "In", "values": []string{b.node},
				}}}}},
			},
			"reservedFor": []object{{"resource": "pods", "name": b.pod.Name, "uid": b.pod.UID}},
		},
	}
}

func (b bareBinding) mapping() object {
	return object{
		"metadata": object{
			"uid": b.pod.UID, "resourceVersion": b.pod.ResourceVersion,
			"annotations": object{"gpu.scheduling/fence": b.pod.UID},
		},
		"status": object{"extendedResourceClaimStatus": object{
			"resourceClaimName": b.claimName(),
			"requestMappings":   []object{{"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": bareRequest}},
		}},
	}
}

// allocate makes the pod's claim, allocates it and maps the limit; the pod has the version that its Binding names then.
func (b bareBinding) allocate(ctx context.Context, client *kubernetes.Clientset) error {
	if err := post(ctx, client, leasesPath, b.lease()); err != nil {
		return err
	}
	api := client.CoreV1().RESTClient()
	claims := "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
	made, err := versionAfter(ctx, api.Post(), claims, "application/json", b.claim())
	if err != nil {
		return err
	}
	if err := send(ctx, api.Put(), claims+"/"+b.claimName()+"/status", "application/json", b.allocation(made)); err != nil {
		return err
	}
	status := "/api/v1/namespaces/default/pods/" + b.pod.Name + "/status"
	b.pod.ResourceVersion, err = versionAfter(ctx, api.Patch("application/merge-patch+json"), status, "application/merge-patch+json", b.mapping())
	return err
}

// versionAfter writes one object and returns the resourceVersion of the answer.
func versionAfter(ctx context.Context, request *rest.Request, path, contentType string, body any) (string, error) {
	answer, err := answered(ctx, request, path, contentType, body)
	if err != nil {
		return "", err
	}
	var read struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(answer, &read); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return read.Metadata.ResourceVersion, nil
}
