# The requests of the conformance table; see record.py. One (name, steps) per case; $ns is the case's own namespace.
NS = "/api/v1/namespaces/$ns"
PODS, CMS = NS + "/pods", NS + "/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/$ns/leases"
W = "/apis/ex.io/v1/namespaces/$ns/widgets"
P = "/apis/ex.io/v1/namespaces/$ns/plains"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EVENTS, EVENTS2 = NS + "/events", "/apis/events.k8s.io/v1/namespaces/$ns/events"


def do(what, body=None, type="", **more):
    step = {"do": what}
    if body is not None: step["body"] = body
    if type: step["type"] = type
    step.update(more)
    return step


def get(p, **m): return do("GET " + p, **m)
def post(p, b, **m): return do("POST " + p, b, **m)
def put(p, b, **m): return do("PUT " + p, b, **m)
def merge(p, b, **m): return do("PATCH " + p, b, "merge", **m)
def strategic(p, b, **m): return do("PATCH " + p, b, "strategic", **m)
def jsonpatch(p, b, **m): return do("PATCH " + p, b, "json", **m)
def apply(p, b, manager="m", force=False, **m):
    return do(f"PATCH {p}?fieldManager={manager}&force={'true' if force else 'false'}", b, "apply", **m)
def delete(p, b=None, **m): return do("DELETE " + p, b, **m)
def watch(p, q=""): return do(f"GET {p}?watch=true&timeoutSeconds=1{q}")


def crd(plural, kind, scope="Namespaced", schema=None, status=True, columns=None, group="ex.io", **version):
    v = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or {
        "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    if status: v["subresources"] = {"status": {}}
    if columns: v["additionalPrinterColumns"] = columns
    v.update(version)
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "names": {"plural": plural, "kind": kind}, "scope": scope, "versions": [v]}}


WIDGET = {"type": "object", "required": ["spec"], "properties": {
    "spec": {"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "on": {"type": "boolean"},
        "note": {"type": "string", "nullable": True, "maxLength": 5, "minLength": 2},
        "code": {"type": "string", "pattern": "^[a-z]{2,3}-[0-9]+$"},
        "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1.5},
        "even": {"type": "integer", "multipleOf": 2},
        "port": {"x-kubernetes-int-or-string": True},
        "tags": {"type": "array", "minItems": 1, "maxItems": 3, "x-kubernetes-list-type": "set",
                 "items": {"type": "string"}},
        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                  "items": {"type": "object", "required": ["name"], "properties": {
                      "name": {"type": "string"}, "n": {"type": "integer", "default": 7},
                      "sub": {"type": "array", "items": {"type": "integer"}}}}},
        "plainlist": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        "opts": {"type": "object", "default": {}, "properties": {"mode": {"type": "string", "default": "auto"},
                                                                   "deep": {"type": "integer"}}},
        "extra": {"type": "object", "properties": {"level": {"type": "integer", "default": 3}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True,
                "properties": {"known": {"type": "integer"}}},
        "when": {"type": "string", "format": "date-time"},
        "big": {"type": "integer", "format": "int32"},
    }},
    "status": {"type": "object", "properties": {
        "phase": {"type": "string"}, "n": {"type": "integer", "minimum": 0},
        "list": {"type": "array", "items": {"type": "string"}},
        "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                       "items": {"type": "object", "required": ["type"], "properties": {
                           "type": {"type": "string"}, "status": {"type": "string"}}}}}}}}
COLUMNS = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
           {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
           {"name": "Tag", "type": "string", "jsonPath": ".spec.tags[*]"},
           {"name": "Tags", "type": "string", "jsonPath": ".spec.tags", "priority": 1},
           {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
           {"name": "Label", "type": "string", "jsonPath": ".metadata.labels.x\\.y/z"},
           {"name": "Parts", "type": "string", "jsonPath": ".spec.parts[1].name"},
           {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
           {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]


def widget(name, spec, **more):
    return {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec, **more}


def pod(name, meta=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **(meta or {})},
            "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def cm(name, data=None, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": data or {"a": "1"}}


def bind(name, node, **meta):
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **meta},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}}


CASES = [
    ("setup", [
        post(CRDS, crd("widgets", "Widget", schema=WIDGET, columns=COLUMNS)),
        post(CRDS, crd("plains", "Plain", status=False)),
        post(CRDS, crd("globes", "Globe", scope="Cluster", schema={"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}), sleep=4),
    ]),
    ("errors", [
        get(PODS + "/zz"), get("/api/v1/namespaces/nope-such"), get("/apis/ex.io/v1/nothings"), get("/apis/no.such/v1/things"),
        get(NS + "/nothings"), get("/api/v1/namespaces/nope-such/pods/x"), get(W + "/zz"), get("/apis/ex.io/v2/widgets"),
        post("/api/v1/namespaces/nope-such/pods", pod("a")), post("/apis/ex.io/v1/namespaces/nope-such/widgets", widget("a", {"size": 1})),
        put(PODS + "/zz", pod("zz")), put(CMS + "/zz", cm("zz")), put(W + "/zz", widget("zz", {"size": 1})),
        put(W + "/zz", {**widget("zz", {"size": 1}), "metadata": {"name": "zz", "resourceVersion": "1"}}),
        merge(PODS + "/zz", {}), merge(W + "/zz", {"spec": {"size": 2}}), delete(PODS + "/zz"), delete(W + "/zz"),
        do("POST " + PODS + "/zz", {}), do("PUT " + PODS, {}), do("PATCH " + PODS, {}, "merge"), do("DELETE /api/v1/namespaces"),
        get(PODS + "/zz/nosub"), get(PODS + "/zz/status"), get(W + "/zz/status"), get(P + "/zz/status"), get(W + "/zz/nosub"), get("/nothing"),
        get("/api/v1"+"/widgets"), post(PODS, "not json"), post(PODS, ""), post(PODS, "[1]"), post(PODS, {"kind": "ConfigMap", "apiVersion": "v1"}),
        post(W, "not json"), post(W, {}), post(W, {"kind": "Plain", "apiVersion": "ex.io/v1", "metadata": {"name": "a"}}),
        post(W, {"kind": "Widget", "apiVersion": "ex.io/v2", "metadata": {"name": "a"}, "spec": {"size": 1}}),
        post(PODS, {"kind": "Pod", "apiVersion": "v2", "metadata": {"name": "a"}}),
        strategic(W + "/zz", {}), jsonpatch(PODS + "/zz", []), get(PODS + "?labelSelector=a+b"), get(PODS + "?labelSelector=a+in+b"),
        get(PODS + "?fieldSelector=spec.foo%3D1"), get(PODS + "?fieldSelector=zz"), get(W + "?fieldSelector=spec.size%3D1"),
        get(W + "?fieldSelector=metadata.name%3Dx"), get(PODS + "?limit=x"), get(PODS + "?continue=zz"),
        get(PODS + "?resourceVersion=x"), get(PODS + "?resourceVersionMatch=Exact"), get(PODS + "?resourceVersion=0&resourceVersionMatch=Exact"),
        get(PODS + "?resourceVersion=1&resourceVersionMatch=Foo"), get(PODS + "?resourceVersion=1&resourceVersionMatch=Exact"),
        get(PODS + "?watch=true&resourceVersion=1&timeoutSeconds=1"), get(PODS + "?watch=true&resourceVersion=x"),
        get(PODS + "?watch=true&timeoutSeconds=1&sendInitialEvents=true"), get(PODS + "?resourceVersion=999999999"),
    ]),
    ("names", [
        post(CMS, cm("Upper")), post(CMS, cm("a_b")), post(CMS, cm("a" * 254)), post(CMS, cm("")), post(CMS, {"data": {}}),
        post(CMS, cm("ok", namespace="other")), post(CMS, cm("lab", labels={"a b": "c", "x": "-bad-"})),
        post(CMS, cm("ann", annotations={"bad key": "v"})), post(CMS, cm("fin", finalizers=["nope"])),
        post(CMS, cm("", generateName="Bad_")), post(W, widget("Upper", {"size": 1})), post(W, widget("", {"size": 1})),
        post(CMS, cm("rv", resourceVersion="5")), post(CMS, cm("own", ownerReferences=[{"kind": "Pod", "name": "p"}])),
        post("/api/v1/namespaces", {"metadata": {"name": "a.b"}}), post(PODS, pod("a" * 254)), post(LEASES, {"metadata": {"name": "UP"}, "spec": {}}),
        post(CMS, cm("genname", generateName="gen-", uid="3b241101-e2bb-4255-8caf-4136c566a962")),
        merge(CMS + "/genname", {"metadata": {"name": "other"}}), merge(CMS + "/genname", {"metadata": {"namespace": "other"}}),
        merge(CMS + "/genname", {"metadata": {"uid": "3b241101-e2bb-4255-8caf-4136c566a962"}}),
        merge(CMS + "/genname", {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}),
        merge(CMS + "/genname", {"metadata": {"generateName": "x-"}}), merge(CMS + "/genname", {"metadata": {"labels": {"a": "-"}}}),
        merge(CMS + "/genname", {"metadata": {"labels": {"a": None, "b": "1"}}}), merge(CMS + "/genname", {"kind": "Pod"}),
        put(CMS + "/genname", cm("other")), put(CMS + "/genname", cm("genname", uid="3b241101-e2bb-4255-8caf-4136c566a962")),
        put(CMS + "/genname", cm("genname", namespace="other")), put(CMS + "/genname", cm("genname", {"k e y": "v"})),
    ]),
    ("configmap", [
        post(CMS, cm("a"), save={"uid": "metadata.uid", "rv": "metadata.resourceVersion"}), post(CMS, cm("a")), get(CMS + "/a"),
        put(CMS + "/a", cm("a")), put(CMS + "/a", cm("a", {"a": "2"})), get(CMS + "/a"),
        put(CMS + "/a", cm("a", {"a": "3"}, resourceVersion="$rv")), put(CMS + "/a", cm("a", resourceVersion="1")),
        merge(CMS + "/a", {"data": {"b": "x"}}), merge(CMS + "/a", {"data": {"b": "x"}}), merge(CMS + "/a", {"data": {"a": None, "zz": None}}),
        merge(CMS + "/a", {"metadata": {"resourceVersion": "$rv"}, "data": {"q": "1"}}), merge(CMS + "/a", {}), merge(CMS + "/a", "[1]"), merge(CMS + "/a", "nope"),
        merge(CMS + "/a", {"data": None}), merge(CMS + "/a", {"data": {"a": 5}}),
        jsonpatch(CMS + "/a", [{"op": "add", "path": "/data", "value": {"x": "1"}}]),
        jsonpatch(CMS + "/a", [{"op": "test", "path": "/data/x", "value": "2"}]), jsonpatch(CMS + "/a", [{"op": "remove", "path": "/data/nope"}]),
        jsonpatch(CMS + "/a", [{"op": "replace", "path": "/data/nope", "value": "1"}]), jsonpatch(CMS + "/a", {"op": "add"}), jsonpatch(CMS + "/a", [{"op": "bogus", "path": "/data"}]),
        jsonpatch(CMS + "/a", [{"op": "copy", "from": "/data/x", "path": "/data/y"}, {"op": "move", "from": "/data/x", "path": "/data/z"}]),
        jsonpatch(CMS + "/a", [{"op": "add", "path": "/metadata/labels", "value": {"a~b": "1"}}]),
        jsonpatch(CMS + "/a", [{"op": "add", "path": "/data/s~1t", "value": "1"}, {"op": "test", "path": "/data/s~1t", "value": "1"}]),
        jsonpatch(CMS + "/a", [{"op": "remove", "path": "/metadata/name"}]),
        delete(CMS + "/a", {"preconditions": {"uid": "abc"}}), delete(CMS + "/a", {"preconditions": {"resourceVersion": "1"}}),
        delete(CMS + "/a", {"preconditions": {"uid": "$uid"}, "propagationPolicy": "Background"}), get(CMS + "/a"),
        post(CMS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}}, code_only=True),
    ]),
    ("pod-create", [
        post(PODS, pod("p1"), save={"uid": "metadata.uid"}), get(PODS + "/p1"),
        post(PODS, {"metadata": {"name": "p2", "generation": 7, "creationTimestamp": "2020-01-01T00:00:00Z", "uid": "abc"},
                    "spec": {"containers": [{"name": "c", "image": "a:latest", "resources": {"limits": {"cpu": "0.5", "memory": "1Gi", "nvidia.com/gpu": 1}}},
                                            {"name": "d", "image": "b:1", "resources": {"requests": {"cpu": "100m"}}}],
                             "initContainers": [{"name": "i", "image": "r/x@sha256:" + "0" * 64}], "nodeName": "n9"},
                    "status": {"phase": "Running", "podIP": "1.2.3.4", "conditions": [{"type": "Ready", "status": "True"}]}}),
        post(PODS, pod("p3", restartPolicy="Never", schedulerName="s", terminationGracePeriodSeconds=5, schedulingGates=[{"name": "g"}],
                       tolerations=[{"key": "a", "operator": "Exists"}], nodeSelector={"a": "b"}, priority=0)),
        post(PODS, pod("bad1", containers=[])), post(PODS, {"metadata": {"name": "bad2"}}), post(PODS, pod("bad3", containers=[{"name": "c"}])),
        post(PODS, pod("bad4", containers=[{"image": "i"}])), post(PODS, pod("bad5", containers=[{"name": "c", "image": "i"}, {"name": "c", "image": "j"}])),
        post(PODS, pod("bad6", containers=[{"name": "C_", "image": "i"}])), post(PODS, pod("bad7", restartPolicy="Nope")),
        post(PODS, pod("bad8", containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": "abc"}}}])),
        post(PODS, pod("bad9", containers=[{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "2"}}}])),
        post(PODS, pod("bad10", containers=[{"name": "c", "image": "i", "env": [{"name": ""}]}])),
        post(PODS, pod("bad11", containers=[{"name": "c", "image": "i", "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}}]}])),
        post(PODS, pod("bad12", containers="x")), post(PODS, pod("bad13", nodeSelector={"a b": "c"})),
        post(PODS, pod("bad14", tolerations=[{"key": "a", "operator": "Exists", "value": "x"}])), post(PODS, {"metadata": {}, "spec": {"containers": []}}),
        post(PODS, pod("bad15", containers=[{"name": "c", "image": "i", "imagePullPolicy": "Sometimes"}])),
        post(PODS, pod("bad16", containers=[{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1500m"}}}])),
        post(PODS, pod("bad17", containers=[{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}])),
        post(PODS, pod("env", containers=[{"name": "c", "image": "i", "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['a/b']"}}}, {"name": "B", "value": "x"}, {"name": "C"}],
                                             "ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"path": "/", "port": 80}}}])),
        post(PODS, pod("gpu2", containers=[{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "2", "cpu": "1500m", "memory": "0.5Gi"}, "requests": {"cpu": "1"}}}])),
        post(PODS, pod("qos", containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}])),
        post(PODS, pod("prio", priorityClassName="nope")), post(PODS, pod("prio2", priorityClassName="system-node-critical")), post(PODS, pod("prio3", priority=5)),
        post(PODS, pod("wrongtype", nodeName=5)),
    ]),
    ("pod-update", [
        post(PODS, pod("p"), save={"uid": "metadata.uid", "rv": "metadata.resourceVersion"}), get(PODS + "/p", save={"rv": "metadata.resourceVersion"}),
        strategic(PODS + "/p", {"metadata": {"annotations": {"a": "1", "b": "2"}}}), strategic(PODS + "/p", {"metadata": {"annotations": {"a": None}}}),
        merge(PODS + "/p", {"status": {"phase": "Running"}}), merge(PODS + "/p", {"spec": {"nodeName": "x"}}),
        merge(PODS + "/p", {"spec": {"restartPolicy": "Never"}}), strategic(PODS + "/p", {"spec": {"containers": [{"name": "c", "image": "j"}]}}),
        strategic(PODS + "/p", {"spec": {"containers": [{"name": "d", "image": "j"}]}}), strategic(PODS + "/p", {"spec": {"activeDeadlineSeconds": 100}}),
        strategic(PODS + "/p", {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}), merge(PODS + "/p", {"spec": {"tolerations": None}}),
        strategic(PODS + "/p/status", {"metadata": {"uid": "wrong"}, "status": {"phase": "Running"}}), merge(PODS + "/p/status", {"metadata": {"uid": "wrong", "annotations": {"f": "1"}}}),
        strategic(PODS + "/p/status", {"metadata": {"uid": "$uid"}, "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}]}}),
        strategic(PODS + "/p/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "message": "still"}]}}),
        strategic(PODS + "/p/status", {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}),
        merge(PODS + "/p/status", {"metadata": {"annotations": {"gpu.scheduling/fence": "x"}, "labels": {"l": "1"}}, "spec": {"nodeName": "zz"}}),
        merge(PODS + "/p/status", {"metadata": {"annotations": {"gpu.scheduling/fence": "x"}}}), merge(PODS + "/p/status", {"metadata": {"uid": "$uid", "annotations": {"gpu.scheduling/fence": "y"}}}),
        merge(PODS + "/p/status", {"metadata": {"resourceVersion": "$rv", "annotations": {"gpu.scheduling/fence": "z"}}}),
        merge(PODS + "/p", {"metadata": {"finalizers": ["ex.io/f"]}}), merge(PODS + "/p", {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}),
        put(PODS + "/p", pod("p")), get(PODS + "/p", save={"rv": "metadata.resourceVersion"}), put(PODS + "/p/status", {**pod("p"), "status": {"phase": "Failed"}}),
        merge(PODS + "/p/status", {"status": {"phase": "Nope"}}), merge(PODS + "/p/status", {"status": {"conditions": "x"}}), merge(PODS + "/p", {"metadata": {"finalizers": None}}),
        merge(PODS + "/p/status", {"status": {"containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}}}]}}),
        post(PODS, pod("gated", schedulingGates=[{"name": "a"}, {"name": "b"}])), merge(PODS + "/gated", {"spec": {"schedulingGates": [{"name": "a"}]}}),
        merge(PODS + "/gated", {"spec": {"nodeSelector": {"a": "b"}}}), merge(PODS + "/gated", {"spec": {"schedulingGates": []}}), merge(PODS + "/gated", {"spec": {"schedulingGates": [{"name": "a"}]}}),
        post(PODS + "/gated/binding", bind("gated", "n1")),
    ]),
    ("binding", [
        post(PODS, pod("b1", annotations={"a": "1", "k": "old"}) | {"metadata": {"name": "b1", "annotations": {"a": "1", "k": "old"}}}, save={"uid": "metadata.uid", "rv": "metadata.resourceVersion"}),
        post(PODS + "/b1/binding", bind("b1", "n1", uid="abc")), post(PODS + "/b1/binding", bind("b1", "n1", resourceVersion="1")), post(PODS + "/b1/binding", bind("zz", "n1")),
        post(PODS + "/b1/binding", bind("b1", "")), post(PODS + "/b1/binding", {"metadata": {"name": "b1"}, "target": {"kind": "Pod", "name": "x"}}),
        post(PODS + "/zz/binding", bind("zz", "n1")), get(PODS + "/b1/binding"), post(PODS + "/b1/binding", bind("b1", "n1", namespace="other")),
        post(PODS + "/b1/binding", {**bind("b1", "n1", uid="$uid", resourceVersion="$rv", annotations={"gpu": "x", "k": "new"}, labels={"l": "1"})}),
        get(PODS + "/b1"), post(PODS + "/b1/binding", bind("b1", "n1")), post(PODS + "/b1/binding", bind("b1", "n2", uid="$uid")), post(PODS + "/b1/binding", bind("b1", "n2", resourceVersion="1")),
        post(PODS, pod("b2"), save={"rv": "metadata.resourceVersion"}), merge(PODS + "/b2", {"metadata": {"labels": {"x": "1"}}}),
        post(PODS + "/b2/binding", bind("b2", "n1", resourceVersion="$rv")), post(NS + "/bindings", bind("b2", "n3")), get(PODS + "/b2"),
        post(PODS, {**pod("b3"), "metadata": {"name": "b3", "finalizers": ["ex.io/f"]}}), delete(PODS + "/b3"), post(PODS + "/b3/binding", bind("b3", "n1")),
        merge(PODS + "/b3", {"metadata": {"finalizers": []}}), get(PODS + "/b3"), post(PODS + "/b2/binding", {}), post(PODS + "/b2/binding", {"metadata": {"name": "b2"}}),
        strategic(PODS + "/b2/status", {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}), get(PODS + "/b2/status"),
    ]),
    ("delete", [
        post(PODS, pod("d1")), delete(PODS + "/d1", {"propagationPolicy": "Background"}), get(PODS + "/d1"),
        post(PODS, pod("d2", nodeName="n1")), delete(PODS + "/d2"), delete(PODS + "/d2"), delete(PODS + "/d2", {"gracePeriodSeconds": 60}), delete(PODS + "/d2", {"gracePeriodSeconds": 5}), get(PODS + "/d2"),
        merge(PODS + "/d2", {"metadata": {"deletionGracePeriodSeconds": 1}}), merge(PODS + "/d2", {"metadata": {"labels": {"still": "1"}}}),
        delete(PODS + "/d2", {"gracePeriodSeconds": 0}), get(PODS + "/d2"), post(PODS, pod("d3", nodeName="n1", terminationGracePeriodSeconds=7)), delete(PODS + "/d3"), do("DELETE " + PODS + "/d3?gracePeriodSeconds=0"),
        post(PODS, pod("d4", nodeName="n1")), merge(PODS + "/d4/status", {"status": {"phase": "Succeeded"}}), delete(PODS + "/d4"), get(PODS + "/d4"),
        post(PODS, {**pod("d5", nodeName="n1"), "metadata": {"name": "d5", "finalizers": ["ex.io/a", "ex.io/b"]}}), delete(PODS + "/d5", {"gracePeriodSeconds": 0}), delete(PODS + "/d5", {"gracePeriodSeconds": 0}),
        merge(PODS + "/d5", {"metadata": {"finalizers": ["ex.io/b", "ex.io/new"]}}), merge(PODS + "/d5", {"metadata": {"finalizers": ["ex.io/b"]}}), strategic(PODS + "/d5", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["ex.io/b"]}}), get(PODS + "/d5"),
        post(W, {**widget("w", {"size": 1}), "metadata": {"name": "w", "finalizers": ["ex.io/f"]}}), delete(W + "/w"), delete(W + "/w"), post(W, widget("w", {"size": 1})), merge(W + "/w", {"metadata": {"finalizers": None}}), get(W + "/w"),
        post(W, widget("w2", {"size": 1}), save={"uid": "metadata.uid", "rv": "metadata.resourceVersion"}), delete(W + "/w2", {"preconditions": {"uid": "abc"}}), delete(W + "/w2", {"preconditions": {"uid": "$uid", "resourceVersion": "1"}}), delete(W + "/w2", {"preconditions": {"uid": "$uid", "resourceVersion": "$rv"}}), delete(W + "/w2"),
        post(LEASES, {"metadata": {"name": "l"}, "spec": {}}), delete(LEASES + "/l", {"propagationPolicy": "Foreground"}), get(LEASES + "/l"), delete(LEASES + "/l", {"propagationPolicy": "Nope"}), delete(LEASES + "/l", {"gracePeriodSeconds": -1}), delete(LEASES + "/l", {"propagationPolicy": "Background", "orphanDependents": True}),
        delete(LEASES + "/l", {"propagationPolicy": "Orphan"}), post(CMS, cm("x1", labels={"a": "b"})), post(CMS, cm("x2", labels={"a": "b"})), post(CMS, cm("x3")), do("DELETE " + CMS + "?labelSelector=a%3Db"), get(CMS),
        do("DELETE " + PODS + "/d6?dryRun=All"), post(PODS, pod("d6")), do("DELETE " + PODS + "/d6?dryRun=All"), get(PODS + "/d6"), do("DELETE " + PODS + "/d6", "garbage"), delete(PODS + "/d6", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 3}),
    ]),
    ("leases", [
        post(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a", "labels": {"gpu.scheduling/managed": "true"}}, "spec": {"holderIdentity": "x"}}, save={"rv": "metadata.resourceVersion", "uid": "metadata.uid"}),
        put(LEASES + "/a", {"metadata": {"name": "a"}, "spec": {"holderIdentity": "y"}}), put(LEASES + "/a", {"metadata": {"name": "a", "resourceVersion": "$rv"}, "spec": {"holderIdentity": "z"}}),
        put(LEASES + "/a", {"metadata": {"name": "a", "uid": "wrong"}, "spec": {"holderIdentity": "z"}}), put(LEASES + "/new", {"metadata": {"name": "new"}, "spec": {"holderIdentity": "n", "leaseDurationSeconds": 15, "renewTime": "2024-01-01T00:00:00.000000Z", "leaseTransitions": 0}}),
        put(LEASES + "/new2", {"metadata": {"name": "new2", "uid": "wrong"}, "spec": {}}), put(LEASES + "/new3", {"metadata": {"name": "new3", "resourceVersion": "5"}, "spec": {}}), post(LEASES, {"metadata": {"name": "bad"}, "spec": {"leaseDurationSeconds": 0}}), post(LEASES, {"metadata": {"name": "bad"}, "spec": {"leaseTransitions": -1}}),
        post(LEASES, {"metadata": {"name": "bad"}, "spec": {"renewTime": "junk"}}), post(LEASES, {"metadata": {"name": "bad"}, "spec": {"holderIdentity": 5}}), post(LEASES, {"metadata": {"name": "bad"}, "spec": {"leaseDurationSeconds": "5"}}), post(LEASES, {"metadata": {"name": "nospec"}}), post(LEASES, {"metadata": {"name": "emptyholder"}, "spec": {"holderIdentity": ""}}), delete(LEASES + "/emptyholder"), delete(LEASES + "/nospec"),
        get(LEASES + "?labelSelector=gpu.scheduling/managed%3Dtrue"), get(LEASES, table=True), get("/apis/coordination.k8s.io/v1/leases?labelSelector=gpu.scheduling/managed%3Dtrue&fieldSelector=metadata.namespace%3D$ns"),
        get(LEASES + "/a", save={"rv": "metadata.resourceVersion"}), delete(LEASES + "/a", {"preconditions": {"uid": "$uid", "resourceVersion": "1"}}), delete(LEASES + "/a", {"preconditions": {"uid": "$uid", "resourceVersion": "$rv"}}), delete(LEASES + "/a", {"preconditions": {"uid": "$uid", "resourceVersion": "$rv"}}),
    ]),
    ("cr-schema", [post(W, widget(f"w{i}", s)) for i, s in enumerate([
        {"size": 3}, {}, {"size": 0}, {"size": 11}, {"size": "3"}, {"size": 1.5}, {"size": 1, "color": "green"}, {"size": 1, "on": "yes"}, {"size": 0, "color": "green"},
        {"size": 1, "note": None}, {"size": 1, "note": "toolong"}, {"size": 1, "note": "s"}, {"size": 1, "code": "x"}, {"size": 1, "code": "abc-12"}, {"size": 1, "ratio": 0}, {"size": 1, "ratio": 2}, {"size": 1, "ratio": 1},
        {"size": 1, "even": 3}, {"size": 1, "port": 80}, {"size": 1, "port": "http"}, {"size": 1, "port": True}, {"size": 1, "tags": []}, {"size": 1, "tags": ["a", "b", "c", "d"]}, {"size": 1, "tags": ["a", "a"]},
        {"size": 1, "tags": ["a", 5]}, {"size": 1, "parts": [{"name": "a"}, {"name": "a", "n": 1}]}, {"size": 1, "parts": [{"n": 1}]}, {"size": 1, "parts": [{"name": "p", "zz": 1}]}, {"size": 1, "plainlist": [{"a": 1, "b": 2}, {"a": "x"}]},
        {"size": 1, "opts": None}, {"size": 1, "opts": {"mode": None}}, {"size": 1, "opts": {"deep": 1}}, {"size": 1, "extra": {}}, {"size": 1, "extra": {"level": None}}, {"size": 1, "labels": {"a": "b"}}, {"size": 1, "labels": {"a": 1}}, {"size": 1, "labels": {"a": "1", "b": "1", "c": "1"}},
        {"size": 1, "any": {"known": "x", "other": [1, {"a": 2}]}}, {"size": 1, "any": {"known": 1, "other": [1, {"a": 2}]}}, {"size": 1, "bogus": 1, "opts": {"bogus": {"a": 1}}}, {"size": 1, "when": "junk"}, {"size": 1, "when": "2024-01-01T00:00:00Z"}, {"size": 1, "big": 3000000000}, {"size": None}, {"size": 1, "on": None}, {"size": 1, "tags": None},
        [], "x", None])] + [
        post(W, {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "nospec"}}), post(W + "?fieldValidation=Strict", widget("strict", {"size": 1, "bogus": 1})), post(W + "?fieldValidation=Strict", {**widget("strict", {"size": 1}), "bogus": 1}),
        post(W + "?fieldValidation=Warn", {**widget("warn", {"size": 1, "bogus": 1, "opts": {"bogus": {"a": 1}}, "parts": [{"name": "p", "zz": 1}]}), "bogus": 1}), post(W + "?fieldValidation=Ignore", widget("ignore", {"size": 1, "bogus": 1})), post(W + "?fieldValidation=Nope", widget("nope", {"size": 1})),
        post(W, {**widget("meta", {"size": 1}), "metadata": {"name": "meta", "bogus": 1, "labels": {"a": "b"}, "generation": 9}}), post(W, {**widget("meta2", {"size": 1}), "metadata": {"name": "meta2", "labels": {"a": 1}}}),
        post(W, {**widget("st", {"size": 1}), "status": {"phase": "x"}}), post(P, {"apiVersion": "ex.io/v1", "kind": "Plain", "metadata": {"name": "st"}, "status": {"phase": "x"}, "spec": {"any": [1]}}),
        post(W + "?dryRun=All", widget("dry", {"size": 1})), get(W + "/dry"),
    ]),
    ("cr-update", [
        post(W, widget("w", {"size": 1}), save={"uid": "metadata.uid", "rv": "metadata.resourceVersion"}), put(W + "/w", widget("w", {"size": 2})), put(W + "/w", {**widget("w", {"size": 2}), "metadata": {"name": "w", "resourceVersion": "$rv", "generation": 9}, "status": {"phase": "x"}}, save={"rv": "metadata.resourceVersion"}),
        put(W + "/w", {**widget("w", {"size": 2}), "metadata": {"name": "w", "resourceVersion": "$rv"}}), put(W + "/w", {**widget("w", {"size": 3}), "metadata": {"name": "w", "resourceVersion": "1"}}), put(W + "/w", {**widget("w", {"size": 3}), "metadata": {"name": "w", "resourceVersion": "$rv", "uid": "wrong"}}), put(W + "/w", {**widget("w", {"size": 30}), "metadata": {"name": "w", "resourceVersion": "$rv"}}),
        merge(W + "/w", {"metadata": {"labels": {"a": "b"}}}), merge(W + "/w", {"spec": {"size": 4}}), merge(W + "/w", {"spec": {"size": 4}}), merge(W + "/w", {"spec": {"color": None}}), merge(W + "/w", {"spec": {"size": None}}), merge(W + "/w", {"status": {"phase": "main"}}), merge(W + "/w", {"spec": {"bogus": 1}}), do("PATCH " + W + "/w?fieldValidation=Strict", {"spec": {"bogus": 1}}, "merge"),
        merge(W + "/w/status", {"status": {"phase": "ok", "bogus": 1}, "spec": {"size": 9}, "metadata": {"labels": {"c": "d"}, "annotations": {"e": "f"}}}), merge(W + "/w/status", {"status": {"phase": "ok"}}), merge(W + "/w/status", {"status": {"n": -1}}), put(W + "/w/status", {**widget("w", {"size": 9}), "status": {"phase": "put"}}), get(W + "/w/status", save={"rv": "metadata.resourceVersion"}),
        put(W + "/w/status", {**widget("w", {"size": 9}), "metadata": {"name": "w", "resourceVersion": "$rv"}, "status": {"phase": "put"}}), merge(W + "/w/status", {"status": None}), strategic(W + "/w", {"spec": {"size": 4}}), jsonpatch(W + "/w", [{"op": "replace", "path": "/spec/size", "value": 5}]), jsonpatch(W + "/w/status", [{"op": "add", "path": "/status", "value": {"phase": "jp"}}]),
        post(P, {"apiVersion": "ex.io/v1", "kind": "Plain", "metadata": {"name": "p"}, "spec": {"a": 1}}), merge(P + "/p", {"status": {"x": 1}}), merge(P + "/p/status", {"status": {"x": 1}}), merge(P + "/p", {"metadata": {"annotations": {"a": "b"}}}), merge(P + "/p", {"top": 1}), merge(W + "/w", {"metadata": {"resourceVersion": "1"}}), merge(W + "/w", {"metadata": {"uid": "wrong"}}), merge(W + "/w", {"metadata": {"name": "x"}}), merge(W + "/w", {"apiVersion": "ex.io/v2"}), merge(W + "/w", {"kind": "Other"}), jsonpatch(W + "/w", [{"op": "remove", "path": "/kind"}]),
    ]),
    ("apply", [
        apply(W + "/w", widget("w", {"size": 1, "tags": ["a"], "parts": [{"name": "x", "n": 1}], "opts": {"deep": 1}})), apply(W + "/w", widget("w", {"size": 1, "tags": ["b"], "parts": [{"name": "y"}]})), apply(W + "/w", widget("w", {"size": 1, "parts": [{"name": "y", "n": 4}]}), "two", ), apply(W + "/w", widget("w", {"size": 2, "parts": [{"name": "z"}]}), "two"), apply(W + "/w", widget("w", {"size": 2, "color": "blue"}), "two", True), apply(W + "/w", widget("w", {"size": 1, "tags": ["b", "c"]})),
        apply(W + "/w", widget("w", {"tags": ["b", "c"]})), apply(W + "/w", widget("w", {"color": "blue"}), "two", True), get(W + "/w"), merge(W + "/w", {"spec": {"size": 7}}), apply(W + "/w", widget("w", {"size": 1})), apply(W + "/w", widget("w", {"size": 7})), apply(W + "/w", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w", "labels": {"a": "b"}}, "spec": {"size": 7}}), apply(W + "/w", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}),
        apply(W + "/w/status", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"phase": "A", "n": 2, "list": ["a", "b"], "conditions": [{"type": "Ready", "status": "True"}]}}, "gpu-scheduler", True), apply(W + "/w/status", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"phase": "A", "list": ["b"], "conditions": [{"type": "Other", "status": "True"}]}}, "gpu-scheduler", True), apply(W + "/w/status", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "other", True),
        apply(W + "/w/status", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"phase": "A", "list": ["b"], "conditions": [{"type": "Other", "status": "True"}]}}, "gpu-scheduler", True), apply(W + "/w/status", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}}, "gpu-scheduler", True), apply(W + "/w/status", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "nope"}, "status": {"phase": "A"}}, "gpu-scheduler", True),
        apply(W + "/w", {**widget("w", {"size": 7}), "status": {"phase": "main"}}, "m", True), do("PATCH " + W + "/w", widget("w", {"size": 7}), "apply"), apply(W + "/w", widget("x", {"size": 7})), apply(W + "/w", {"spec": {"size": 1}}), apply(W + "/w", {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w", "managedFields": [{"manager": "x"}]}}), apply(W + "/w", widget("w", {"size": 77}), "m", True), apply(W + "/w", {**widget("w", {"size": 7}), "metadata": {"name": "w", "resourceVersion": "1"}}, "m", True), apply(W + "/w", {**widget("w", {"size": 7}), "metadata": {"name": "w", "uid": "wrong"}}, "m", True),
        apply(W + "/dup", widget("dup", {"size": 1, "tags": ["a", "a"]})), apply(W + "/dup", widget("dup", {"size": 1, "parts": [{"name": "a"}, {"name": "a"}]})), apply(W + "/dup", widget("dup", {"size": 1, "parts": [{"n": 1}]})), apply(W + "/dup", widget("dup", {"size": 1, "bogus": 1})), do("PATCH " + W + "/dup?fieldManager=m&fieldValidation=Strict", widget("dup", {"size": 1, "bogus": 1}), "apply"),
        apply(CMS + "/c", cm("c", {"a": "1", "b": "2"})), apply(CMS + "/c", cm("c", {"b": "2"})), apply(CMS + "/c", cm("c", {"b": "3"}), "other"), apply(CMS + "/c", cm("c", {"b": "3"}, labels={"x": "y"}), "other", True), apply(CMS + "/c", cm("c", {"b": "2"})), put(CMS + "/c", cm("c", {"z": "1"})), apply(CMS + "/c", cm("c", {"z": "2"})), apply(CMS + "/c", cm("c", {"z": "2"}, labels={"x": "n"})),
        post(CMS, cm("d", {"a": "1"})), apply(CMS + "/d", cm("d", {"a": "2"})), apply(CMS + "/d", cm("d", {"a": "2"}), "m", True), apply(CMS + "/d", cm("d", {"b": "2"})), get(CMS + "/d"),
        apply(PODS + "/p", pod("p")), apply(PODS + "/p", pod("p", containers=[{"name": "c", "image": "j", "env": [{"name": "A", "value": "1"}]}])), apply(PODS + "/p/status", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"conditions": [{"type": "X", "status": "True"}], "podIP": "1.1.1.1"}}, "k", True), apply(PODS + "/p/status", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"conditions": [{"type": "Y", "status": "True"}]}}, "k", True),
        apply(PODS + "/p", {**pod("p", containers=[{"name": "c", "image": "j"}]), "metadata": {"name": "p", "annotations": {"a": "b"}}}), apply(LEASES + "/l", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}),
    ]),
    ("lists", [post(CMS, cm(f"l{i}", labels={"n": str(i), "even": str(i % 2 == 0).lower()})) for i in range(5)] + [
        get(CMS), get(CMS + "?limit=2", save={"c": "metadata.continue"}), get(CMS + "?limit=2&continue=$c", save={"c": "metadata.continue"}), get(CMS + "?limit=2&continue=$c"), get(CMS + "?limit=2&resourceVersion=0"), get(CMS + "?labelSelector=even%3Dtrue&limit=1"),
        get(CMS + "?labelSelector=n+in+(1,2),even!%3Dtrue"), get(CMS + "?labelSelector=n+notin+(1,2)"), get(CMS + "?labelSelector=!n"), get(CMS + "?labelSelector=n%3E3"), get(CMS + "?labelSelector=n%3D%3D1"), get(CMS + "?labelSelector=nope"), get(CMS + "?fieldSelector=metadata.name%3Dl1"), get(CMS + "?fieldSelector=metadata.name!%3Dl1,metadata.namespace%3D$ns"), get(CMS + "?labelSelector=n%3D"), get(CMS + "?labelSelector=,"),
        get(CMS + "?labelSelector=n%3D1,"), get(CMS + "?labelSelector=a+in+()"), get(CMS + "?labelSelector=a%3Db%3Dc"), get(CMS + "?labelSelector=-a%3Db"), get(CMS + "?labelSelector=a+notin"), get(CMS + "?fieldSelector=metadata.name%3E1"), get(W), get(PODS), get(CMS + "?limit=2&resourceVersion=1&resourceVersionMatch=NotOlderThan"), get(CMS + "?continue=$c&resourceVersion=5"), get(CMS, table=True), get(CMS + "/l0", table=True),
        post(PODS, pod("a", nodeName="n1")), post(PODS, pod("b", schedulerName="s2")), get(PODS + "?fieldSelector=spec.nodeName%3D"), get(PODS + "?fieldSelector=spec.nodeName%3Dn1,status.phase!%3DSucceeded"), get(PODS + "?fieldSelector=spec.schedulerName%3Ds2"), get(PODS + "?fieldSelector=status.phase%3DRunning"), get("/api/v1/pods?fieldSelector=metadata.namespace%3D$ns,metadata.name%3Da"),
    ]),
    ("watch", [
        post(CMS, cm("a", labels={"x": "1"}), save={"rv": "metadata.resourceVersion"}), watch(CMS, "&resourceVersion=$rv"), watch(CMS), watch(CMS, "&resourceVersion=0"),
        merge(CMS + "/a", {"data": {"q": "1"}}), merge(CMS + "/a", {"data": {"q": "1"}}), merge(CMS + "/a", {"metadata": {"labels": {"x": "2"}}}), merge(CMS + "/a", {"metadata": {"labels": {"x": "1"}}}), delete(CMS + "/a"), watch(CMS, "&resourceVersion=$rv"), watch(CMS, "&resourceVersion=$rv&labelSelector=x%3D1"), watch(CMS, "&resourceVersion=$rv&labelSelector=x%3D2"), watch(CMS, "&resourceVersion=$rv&fieldSelector=metadata.name%3Dzz"),
        post(PODS, pod("p"), save={"rv": "metadata.resourceVersion"}), post(PODS + "/p/binding", bind("p", "n1")), delete(PODS + "/p"), delete(PODS + "/p", {"gracePeriodSeconds": 0}), watch(PODS, "&resourceVersion=$rv"), watch(PODS, "&resourceVersion=$rv&fieldSelector=spec.nodeName%3D"), watch(PODS, "&resourceVersion=$rv&fieldSelector=spec.nodeName%3Dn1"),
        post(W, widget("w", {"size": 1}), save={"rv": "metadata.resourceVersion"}), merge(W + "/w", {"spec": {"size": 2}}), delete(W + "/w"), watch(W, "&resourceVersion=$rv"), do("GET " + W + "?watch=true&timeoutSeconds=1&resourceVersion=$rv", table=True),
    ]),
    ("events", [
        post(EVENTS, {"metadata": {"name": "e1"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "$ns", "uid": "3b241101-e2bb-4255-8caf-4136c566a962", "fieldPath": "spec.containers{c}"}, "reason": "R", "message": "m", "type": "Normal", "count": 3, "source": {"component": "comp", "host": "h"}, "firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2024-01-01T00:01:00Z"}),
        get(EVENTS2 + "/e1"), post(EVENTS2, {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e2"}, "regarding": {"kind": "Pod", "name": "p", "namespace": "$ns"}, "reason": "Scheduled", "note": "n", "type": "Normal", "action": "Binding", "eventTime": "2024-01-01T00:00:00.000001Z", "reportingController": "gpu-scheduler", "reportingInstance": "gpu-scheduler-x"}), get(EVENTS + "/e2"),
        merge(EVENTS2 + "/e2", {"series": {"count": 2, "lastObservedTime": "2024-01-01T00:02:00.000000Z"}}), get(EVENTS + "/e2"), post(EVENTS2, {"metadata": {"name": "e3"}, "regarding": {"kind": "Pod", "name": "p", "namespace": "$ns"}, "type": "Normal"}), post(EVENTS, {"metadata": {"name": "e4"}, "involvedObject": {"namespace": "other"}}), post(EVENTS, {"metadata": {"name": "e5"}, "involvedObject": {"kind": "Node", "name": "n"}}), post(EVENTS2, {"metadata": {"name": "e6"}, "regarding": {"kind": "Pod", "name": "p", "namespace": "$ns"}, "reason": "S", "note": "x" * 1025, "type": "Odd", "action": "B", "eventTime": "2024-01-01T00:00:00.000001Z", "reportingController": "g", "reportingInstance": "g"}),
        get(EVENTS + "?fieldSelector=involvedObject.name%3Dp,reason%3DScheduled"), get(EVENTS2 + "?fieldSelector=regarding.name%3Dp,reason%3DR"), get(EVENTS + "?fieldSelector=regarding.name%3Dp"), get(EVENTS2 + "?fieldSelector=reportingController%3Dgpu-scheduler"), get(EVENTS, table=True), put(EVENTS + "/e9", {"metadata": {"name": "e9"}, "involvedObject": {"namespace": "$ns"}}), merge(EVENTS2 + "/e2", {"reason": "Other"}), merge(EVENTS + "/e1", {"count": 4}), do("PATCH " + EVENTS2 + "/e2", {"series": {"count": 5, "lastObservedTime": "2024-01-01T00:03:00.000000Z"}}, "strategic"),
    ]),
    ("nodes", [
        post("/api/v1/nodes", {"metadata": {"name": "node-x", "labels": {"case": "nodes", "node-role.kubernetes.io/worker": ""}}, "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}}), merge("/api/v1/nodes/node-x", {"spec": {"taints": None}}), merge("/api/v1/nodes/node-x/status", {"status": {"allocatable": {"cpu": "3"}}}), strategic("/api/v1/nodes/node-x", {"spec": {"unschedulable": True}}), strategic("/api/v1/nodes/node-x", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}), strategic("/api/v1/nodes/node-x", {"spec": {"taints": [{"key": "b", "value": "v", "effect": "NoExecute"}]}}),
        strategic("/api/v1/nodes/node-x", {"spec": {"taints": [{"$patch": "replace"}, {"key": "c", "effect": "NoSchedule"}]}}), strategic("/api/v1/nodes/node-x/status", {"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}], "$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}]}}), strategic("/api/v1/nodes/node-x", {"spec": {"taints": [{"key": "c", "$patch": "delete"}]}}), strategic("/api/v1/nodes/node-x", {"spec": {"unschedulable": None}}), strategic("/api/v1/nodes/node-x/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "DiskPressure", "status": "False"}], "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]}}),
        merge("/api/v1/nodes/node-x", {"spec": {"taints": [{"key": "", "effect": "Bad"}]}}), merge("/api/v1/nodes/node-x", {"status": {"capacity": {"cpu": "99"}}}), strategic("/api/v1/nodes/node-x", {"metadata": {"labels": {"new": "1", "case": "nodes"}, "annotations": {"$patch": "replace", "q": "1"}}}), strategic("/api/v1/nodes/node-x", {"metadata": {"$retainKeys": ["name", "labels"], "labels": {"new": None}}}), get("/api/v1/nodes?labelSelector=case%3Dnodes", table=True), get("/api/v1/nodes?fieldSelector=metadata.name%3Dnode-x,spec.unschedulable%3Dtrue"), merge("/api/v1/nodes/node-x/status", {"status": {"capacity": {"cpu": "x"}}}), merge("/api/v1/nodes/node-x", {"spec": {"podCIDR": "1.2.3.0/24"}}), merge("/api/v1/nodes/node-x", {"spec": {"providerID": "a"}}), merge("/api/v1/nodes/node-x", {"spec": {"providerID": "b"}}), delete("/api/v1/nodes/node-x"), get("/api/v1/nodes/node-x"),
    ]),
    ("namespaces", [
        post("/api/v1/namespaces", {"metadata": {"name": "zz-one", "labels": {"a": "b"}}}), get("/api/v1/namespaces/zz-one"), merge("/api/v1/namespaces/zz-one", {"metadata": {"labels": {"kubernetes.io/metadata.name": None}}}), merge("/api/v1/namespaces/zz-one", {"metadata": {"labels": {"c": "d"}}}), get("/api/v1/namespaces?labelSelector=c%3Dd", table=True), merge("/api/v1/namespaces/zz-one", {"spec": {"finalizers": []}}), post("/api/v1/namespaces", {"metadata": {"name": "zz-one"}}), delete("/api/v1/namespaces/zz-one"), delete("/api/v1/namespaces/zz-one"), post("/api/v1/namespaces/zz-one/configmaps", cm("a")), delete("/api/v1/namespaces/default"),
    ]),
    ("tables", [
        get(W, table=True), post(W, {**widget("w", {"size": 2, "tags": ["x", "z"], "parts": [{"name": "a"}, {"name": "b"}], "on": True}), "metadata": {"name": "w", "labels": {"x.y/z": "lab"}}}), merge(W + "/w/status", {"status": {"conditions": [{"type": "Other", "status": "no"}, {"type": "Ready", "status": "True"}]}}), post(W, widget("v", {"size": 1})), get(W, table=True), get(W + "/w", table=True), get(W + "?includeObject=Object", table=True), get(W + "?includeObject=None", table=True), post(P, {"apiVersion": "ex.io/v1", "kind": "Plain", "metadata": {"name": "p"}}), get(P, table=True), get(PODS, table=True),
        post(PODS, pod("p1")), post(PODS, pod("p2", nodeName="n1", containers=[{"name": "a", "image": "i"}, {"name": "b", "image": "i"}])), merge(PODS + "/p2/status", {"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "containerStatuses": [{"name": "a", "image": "i", "imageID": "", "ready": True, "started": True, "restartCount": 3, "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2024-01-01T00:00:00Z"}}}, {"name": "b", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}),
        post(PODS, pod("p3", nodeName="n1")), merge(PODS + "/p3/status", {"status": {"phase": "Succeeded", "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]}}), post(PODS, pod("p4", nodeName="n1")), merge(PODS + "/p4/status", {"status": {"phase": "Failed", "reason": "Evicted"}}), post(PODS, pod("p5", schedulingGates=[{"name": "g"}], readinessGates=[{"conditionType": "x"}])), post(PODS, pod("p6", nodeName="n1")), merge(PODS + "/p6/status", {"status": {"phase": "Running", "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": True, "started": True, "restartCount": 0, "state": {"running": {}}}]}}), delete(PODS + "/p6"),
        post(PODS, pod("p7", nodeName="n1")), merge(PODS + "/p7/status", {"status": {"phase": "Failed", "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": {"terminated": {"exitCode": 3}}}]}}), post(PODS, pod("p8", nodeName="n1", initContainers=[{"name": "i1", "image": "i"}, {"name": "i2", "image": "i"}])), merge(PODS + "/p8/status", {"status": {"initContainerStatuses": [{"name": "i1", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": {"terminated": {"exitCode": 0}}}, {"name": "i2", "image": "i", "imageID": "", "ready": False, "restartCount": 1, "state": {"running": {}}}]}}), get(PODS, table=True),
        get(PODS + "?limit=1", table=True), get("/api/v1/namespaces/$ns", table=True), get(PODS + "/nope", table=True),
    ]),
    ("crd", [
        post(CRDS, crd("things", "Thing", columns=COLUMNS)), post(CRDS, crd("things", "Thing")), get(CRDS + "/things.ex.io", save={"rv": "metadata.resourceVersion"}), merge(CRDS + "/things.ex.io", {"metadata": {"annotations": {"gpu.scheduling/lease-namespace": "x"}, "resourceVersion": "$rv"}}), merge(CRDS + "/things.ex.io", {"metadata": {"annotations": {"gpu.scheduling/lease-namespace": "y"}, "resourceVersion": "1"}}),
        post(CRDS, {**crd("bads", "Bad"), "metadata": {"name": "wrong.ex.io"}}), post(CRDS, crd("bads", "Bad", scope="Nope")), post(CRDS, crd("bads", "Bad", schema={"type": "object", "properties": {"a": {"type": "array"}}})), post(CRDS, crd("bads", "Bad", schema={"properties": {"a": {}}})), post(CRDS, crd("bads", "Bad", storage=False)), post(CRDS, crd("bads", "Bad", schema={"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}})), delete(CRDS + "/things.ex.io"), get(CRDS + "/nope.ex.io"), get(CRDS + "/widgets.ex.io", table=True),
    ]),
    ("globes", [
        post("/apis/ex.io/v1/globes", {"apiVersion": "ex.io/v1", "kind": "Globe", "metadata": {"name": "g-case"}, "spec": {"n": 1}}), get("/apis/ex.io/v1/globes/g-case"), get("/apis/ex.io/v1/namespaces/$ns/globes"), get("/apis/ex.io/v1/namespaces/$ns/globes/g-case"), post("/apis/ex.io/v1/globes", {"apiVersion": "ex.io/v1", "kind": "Globe", "metadata": {"name": "g2", "namespace": "x"}, "spec": {"n": 1}}), get("/apis/ex.io/v1/globes"), delete("/apis/ex.io/v1/globes/g-case"), get("/apis/ex.io/v1/widgets?fieldSelector=metadata.namespace%3D$ns"), post("/apis/ex.io/v1/widgets", widget("a", {"size": 1})),
    ]),
]
