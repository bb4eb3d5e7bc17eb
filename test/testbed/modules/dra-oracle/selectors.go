package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
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

// A line that is no question ends it: the other side is wrong then, and no answer would say so.
func selectors(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	to := bufio.NewWriter(out)
	encoder := json.NewEncoder(to)
	for n := 1; lines.Scan(); n++ {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := encoder.Encode(answerTo(q)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return to.Flush()
}
