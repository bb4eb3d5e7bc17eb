package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const cluster = `
apiVersion: v1
kind: Node
metadata: {name: tainted, labels: {zone: z1}}
spec: {taints: [{key: k, value: v, effect: NoSchedule}]}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: List
items:
  - {kind: Node, apiVersion: v1, metadata: {name: big, labels: {zone: z1}}, status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}}
  - {kind: Node, apiVersion: v1, metadata: {name: small, labels: {zone: z2}}, status: {allocatable: {cpu: "1", memory: 4Gi, pods: "10"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: here, namespace: ns, labels: {app: a}}
spec: {nodeName: big, containers: [{name: c, image: i}]}
`

// The pod "asked" with what is said of it.
func asked(spec string) string {
	return cluster + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: asked, namespace: ns, labels: {app: a}}\nspec:\n  " + spec + "\n"
}

func answerTo(t *testing.T, o *oracle, documents string) answer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(file, []byte(documents), 0o600); err != nil {
		t.Fatal(err)
	}
	question, err := readFiles([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	return o.answerValid(question)
}

// One oracle for all, so that nothing of a case is left in the next.
func TestAnswers(t *testing.T) {
	o, err := newOracle()
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	const container = "containers: [{name: c, image: i"
	claim := container + "}]\n  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"
	apart := container + "}]\n  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
		"[{topologyKey: zone, labelSelector: {matchLabels: {app: a}}}]}}"
	class := "\n---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: late}\nprovisioner: p\nvolumeBindingMode: WaitForFirstConsumer\n" +
		"allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [z2]}]}]\n" +
		"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: ns}\n" +
		"spec: {storageClassName: late, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	for name, c := range map[string]struct {
		documents, feasible, prefilter string
		plugins                        map[string]string
	}{
		"taint and amounts": {asked(container + ", resources: {requests: {cpu: 1500m}}}]"), "big", "",
			map[string]string{"tainted": "TaintToleration", "small": "NodeResourcesFit"}},
		"pods that are there": {asked(apart), "small", "",
			map[string]string{"tainted": "TaintToleration", "big": "InterPodAffinity"}},
		"a claim that is missing": {asked(claim), "", "VolumeRestrictions",
			map[string]string{"tainted": "VolumeRestrictions", "small": "VolumeRestrictions", "big": "VolumeRestrictions"}},
		"a claim that waits": {asked(claim) + class, "small", "",
			map[string]string{"tainted": "TaintToleration", "big": "VolumeBinding"}},
		"pods that have ended": {strings.Replace(asked(apart), "image: i}]}\n", "image: i}]}\nstatus: {phase: Failed}\n", 1), "big,small", "",
			map[string]string{"tainted": "TaintToleration"}},
		"nothing asked for": {asked(container + "}]\n  tolerations: [{operator: Exists}]"), "big,small,tainted", "", nil},
	} {
		got := answerTo(t, o, c.documents)
		plugins := map[string]string{}
		for node, by := range got.Nodes {
			plugins[node] = by.Plugin
		}
		prefilter := ""
		if got.Prefilter != nil {
			prefilter = got.Prefilter.Plugin
		}
		if got.Error != "" || strings.Join(got.Feasible, ",") != c.feasible || prefilter != c.prefilter || len(plugins) != len(c.plugins) {
			t.Errorf("%s: %+v", name, got)
		}
		for node, plugin := range c.plugins {
			if plugins[node] != plugin {
				t.Errorf("%s: %s is refused by %s, not %s", name, node, plugins[node], plugin)
			}
		}
	}
}

func TestReasonsAreTheirs(t *testing.T) {
	o, err := newOracle()
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	got := answerTo(t, o, asked("containers: [{name: c, image: i, resources: {requests: {cpu: 3, memory: 8Gi}}}]"))
	if want := []string{"Insufficient cpu", "Insufficient memory"}; !slices.Equal(got.Nodes["big"].Reasons, want) {
		t.Errorf("%+v", got.Nodes["big"])
	}
}

// What an API server would refuse is no case.
func TestValidRefuses(t *testing.T) {
	o, err := newOracle()
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	for _, spec := range []string{
		"containers: [{name: c, image: i}]\n  tolerations: [{key: k, operator: Exists, value: v}]",
		"containers: [{name: c, image: i}]\n  topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]",
		"hostNetwork: true\n  containers: [{name: c, image: i, ports: [{containerPort: 80}]}]", // defaulting it changes the answer where a port is taken
	} {
		if got := answerTo(t, o, strings.Replace(asked(spec), "nodeName: big, containers: [{name: c, image: i}]",
			"nodeName: big, containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}]", 1)); !strings.HasPrefix(got.Error, "invalid: ") {
			t.Errorf("%s: %+v", spec, got)
		}
	}
}

func TestLinesAreAnsweredInTheirOrder(t *testing.T) {
	o, err := newOracle()
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	line := func(node string) string {
		return `{"nodes":[{"metadata":{"name":"` + node + `"},"status":{"allocatable":{"pods":"1"}}}],"pod":{"metadata":{"name":"p"},"spec":{}}}` + "\n"
	}
	var out bytes.Buffer
	if err := answerLines(strings.NewReader(line("a")+line("b")+line("c")), &out, o.answer); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatal(lines)
	}
	for i, want := range []string{"a", "b", "c"} {
		var got answer
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil || !slices.Equal(got.Feasible, []string{want}) {
			t.Errorf("%s: %v", lines[i], err)
		}
	}
}

func TestEndsAtWhatIsNoCase(t *testing.T) {
	for _, text := range []string{"nothing\n", `{"pod":{},"surplus":[]}` + "\n", "{}\n", `{"pod":{},"pods":[{"spec":{"nodeName":"x"}}]}` + "\n"} {
		if err := answerLines(strings.NewReader(text), &bytes.Buffer{}, func(*question) answer { return answer{} }); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
