// Custom resources of other projects, which objects of the chart are checked against: see ../../build. Only their files are read.
module gpu-scheduler/test/testbed/modules/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
