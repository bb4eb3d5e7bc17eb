// load fills the real control plane with nodes and pods, measures it and judges the outcome: see main.go.
module gpu-scheduler/test/testbed/modules/load

go 1.24.0

require (
	k8s.io/api v0.33.13
	k8s.io/apimachinery v0.33.13
	k8s.io/client-go v0.33.13
)
