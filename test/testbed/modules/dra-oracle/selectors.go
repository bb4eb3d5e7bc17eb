package main

import (
	"context"
	"encoding/json"
	"io"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

type question struct {
	Expression string `json:"expression"`
	Device     struct {
		Driver     string                                                    `json:"driver"`
		Attributes map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
		Capacity   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
	} `json:"device"`
}

type answer struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// Compiled as the allocator compiles what is stored in the API server: every feature, and no estimate of the cost.
func answerTo(q question) answer {
	compiled := cel.GetCompiler(cel.Features{}).CompileCELExpression(q.Expression, cel.Options{DisableCostEstimation: true})
	if compiled.Error != nil {
		return answer{Error: compiled.Error.Error()}
	}
	ok, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver: q.Device.Driver, Attributes: q.Device.Attributes, Capacity: q.Device.Capacity})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{OK: ok}
}

func selectors(in io.Reader, out io.Writer) error {
	return answerLines(in, out, func(line []byte) (any, error) {
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, err
		}
		return answerTo(q), nil
	})
}
