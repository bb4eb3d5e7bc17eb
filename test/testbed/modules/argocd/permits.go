package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// permits prints a line for each object that must not be deployed to the server, as a sync of Argo CD would find: its kind,
// then its namespace, against the project's lists. An Application is looked at as what it deploys: repository and destination.
func permits(args []string, objects io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("takes PROJECT.json and SERVER")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var project v1alpha1.AppProject
	if err := json.Unmarshal(text, &project); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := project.ValidateProject(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	cluster := &v1alpha1.Cluster{Server: args[1]}
	stream := json.NewDecoder(objects)
	for {
		var object unstructured.Unstructured
		if err := stream.Decode(&object.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		why, err := refusal(project, cluster, object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if why != "" {
			fmt.Fprintf(out, "%s %s/%s: %s\n", object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName(), why)
		}
	}
}

// "" where it is permitted.
func refusal(project v1alpha1.AppProject, cluster *v1alpha1.Cluster, object unstructured.Unstructured) (string, error) {
	kind := object.GroupVersionKind().GroupKind()
	if kind.Kind == "Application" && kind.Group == "argoproj.io" {
		return refusalOfApplication(project, cluster, object)
	}
	if !project.IsGroupKindPermitted(kind, object.GetNamespace() != "") {
		return "kind not permitted", nil
	}
	if permitted, err := project.IsResourcePermitted(kind, object.GetNamespace(), cluster, ofNoProject); err != nil || !permitted {
		return "namespace not permitted", err
	}
	return "", nil
}

func refusalOfApplication(project v1alpha1.AppProject, cluster *v1alpha1.Cluster, object unstructured.Unstructured) (string, error) {
	var application v1alpha1.Application
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &application); err != nil {
		return "", err
	}
	if !project.IsSourcePermitted(application.Spec.GetSource()) {
		return "repository not permitted", nil
	}
	if permitted, err := project.IsDestinationPermitted(cluster, application.Spec.Destination.Namespace, ofNoProject); err != nil || !permitted {
		return "destination not permitted", err
	}
	return "", nil
}

// Clusters that belong to the project alone: only asked for where it says that it may use no others.
func ofNoProject(string) ([]*v1alpha1.Cluster, error) { return nil, nil }
