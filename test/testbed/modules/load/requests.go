package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

type object = map[string]any

// send writes one object as JSON and reads nothing back but the status.
func send(ctx context.Context, request *rest.Request, path, contentType string, body any) error {
	_, err := answered(ctx, request, path, contentType, body)
	return err
}

// answered is send that returns the answer's body.
func answered(ctx context.Context, request *rest.Request, path, contentType string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	answer, err := request.AbsPath(path).
		SetHeader("Content-Type", contentType).SetHeader("Accept", "application/json").
		Body(encoded).Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return answer, nil
}

func post(ctx context.Context, client *kubernetes.Clientset, path string, body any) error {
	return send(ctx, client.CoreV1().RESTClient().Post(), path, "application/json", body)
}

// apply is a server-side apply: it makes the object or changes it, so that every call can be made again.
func apply(ctx context.Context, client *kubernetes.Clientset, path string, body any) error {
	request := client.CoreV1().RESTClient().Patch("application/apply-patch+yaml").
		Param("fieldManager", "testbed").Param("force", "true")
	return send(ctx, request, path, "application/apply-patch+yaml", body)
}
