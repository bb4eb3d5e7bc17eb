#!/usr/bin/env python3
"""What schedulers ask an extender over HTTP, and what its ancestors answered: tables of requests and replies.

protocol.py TABLE API EXTENDER LEDGER      TABLE: a function of this file. API is the URL of `kubectl proxy`, EXTENDER that of
gpu-admission, LEDGER that of its /debug/ledger. Each table makes its objects and deletes them.
"""

import collections
import concurrent.futures
import http.client
import json
import sys

from api import ASSIGNED, CORE, MEMORY, NODE, TIME, Api, Client, Wrong, expect, node_object, note_of, pod_object, until

MATCHED = "pod {} has already been matched to another node"
MISFIT = "pod {} does not match with this node: "  # and why, with numbers
LACKS_BOTH = MISFIT + ("needs 1 whole GPU and 80 cores with 768 MiB on one GPU; free: 1 of 2 whole and 100 cores with 1024 MiB "
                       "on the freest")
CUT = "unexpected EOF: the body is cut off after {} bytes"
EXPECTED = "; expected is ExtenderArgs: an object with Pod, and Nodes or NodeNames\n"
NO_GPU = "no GPU device"
QUOTA = "ExceedsGPUQuota"
NOT_SYNCED = "GPU quota has not been synced, please retry later"
QUOTA_MAPS = "/api/v1/namespaces/kube-system/configmaps"
ANCESTORS = ((200, 8), (200, 8), (200, 8))  # cores and memory of testnode0, 1, 2


class World:
    """Nodes and pods that are there while a table is played, and the extender that knows them."""

    def __init__(self, api, extender, ledger):
        self.api, self.extender, self.ledger = Api(api), Client(extender), Client(ledger)
        self.nodes, self.pods = [], []

    def close(self):
        for namespace, name in self.pods:
            self.api.delete_pod(name, namespace)
        for name in self.nodes:
            self.api.call("DELETE", f"/api/v1/nodes/{name}", may_be=(404,))
        self.knows("nothing is left", lambda text: "holder" not in text and " pod " not in text and "exists=true" not in text)
        self.nodes, self.pods = [], []

    def knows(self, what, check):
        until(f"the extender knows that {what}", lambda: check(self.ledger.request("GET", "/debug/ledger")[1]))

    def add_node(self, name, cores, memory, labels=None):
        self.api.create_node(node_object(name, cores, memory, labels))
        self.nodes.append(name)
        devices = cores // 100
        said = f"shares={devices}x{memory // devices * 256 if devices else 0}MiB "
        self.knows(f"node {name}", lambda text: said in text.partition(f"node {name} exists=true")[2].partition("\n  label")[0])

    def add(self, name, limits, namespace="default", node=None, ids=None, annotations=None, **spec):
        """A pod; with `node` one that runs there already."""
        pod = pod_object(name, limits, namespace)
        pod["spec"] |= spec
        if node:
            pod["spec"]["nodeName"] = node
        given = {f"tencent.com/predicate-gpu-idx-{i}": v for i, v in (ids or {}).items()}
        pod["metadata"]["annotations"] = (annotations or {}) | given
        made = self.api.create_pod(pod)
        self.pods.append((namespace, name))
        if node:
            self.runs(name, namespace, made["metadata"]["uid"])
        return made

    def runs(self, name, namespace, uid):
        self.api.run(name, namespace)
        self.knows(f"pod {name} runs", lambda text: f"pod {uid} bound" in text and f"in flight {uid}" not in text)

    def drop(self, pod):
        name, namespace, uid = (pod["metadata"][k] for k in ("name", "namespace", "uid"))
        self.api.delete_pod(name, namespace)
        self.pods.remove((namespace, name))
        self.knows(f"pod {name} is gone", lambda text: uid not in text)

    def node(self, name):
        return self.api.get(f"/api/v1/nodes/{name}")

    def post(self, path, body):
        status, text = self.extender.request("POST", "/scheduler/" + path, body)
        expect(f"status of {path}", 200, status)
        return json.loads(text)

    def filter(self, pod, nodes, by_name=False):
        """The reply, checked to be in the form of the request."""
        pod = self.api.pod(pod["metadata"]["name"], pod["metadata"]["namespace"])
        if by_name:
            reply = self.post("predicates", {"Pod": pod, "Nodes": None, "NodeNames": nodes})
            expect("Nodes of a request by names", None, reply["Nodes"])
        else:
            reply = self.post("predicates", {"Pod": pod, "Nodes": {"metadata": {}, "items": [self.node(n) for n in nodes]},
                                             "NodeNames": None})
            expect("NodeNames of a request with objects", None, reply["NodeNames"])
            for item in (reply["Nodes"] or {}).get("items") or []:
                expect("a node of the reply", self.node(item["metadata"]["name"])["metadata"]["uid"], item["metadata"]["uid"])
        expect("keys", ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"], list(reply))
        return reply

    def place(self, pod, nodes, by_name=False):
        """(the nodes of the reply, FailedNodes)"""
        reply = self.filter(pod, nodes, by_name)
        expect("Error", "", reply["Error"])
        chosen = reply["NodeNames"] if by_name else [n["metadata"]["name"] for n in reply["Nodes"]["items"]]
        return chosen, reply["FailedNodes"]

    def note(self, pod):
        return note_of(self.api.pod(pod["metadata"]["name"], pod["metadata"]["namespace"]))


def uid(pod):
    return pod["metadata"]["uid"]


# ---- kube-scheduler

def placements(w):
    """The ancestor's own table, asked with whole nodes, then by their names; each pod runs before the next one comes."""
    rows = (  # pod, containers, node, ids of both containers, why not the others: - passed over, + not looked at any more
        ("pod-0", ((10, 1), (10, 1)), "testnode0", {0: "0", 1: "0"}, {"testnode1": MATCHED, "testnode2": MATCHED}),
        ("pod-1", ((100, 3), (80, 3)), "testnode1", {0: "0", 1: "1"}, {"testnode0": LACKS_BOTH, "testnode2": MATCHED}),
        ("pod-2", ((200, 10), (0, 0)), "testnode2", {0: "0,1"},
         {n: MISFIT + f"needs 2 whole GPUs; free: {whole} of 2 whole" for n, whole in (("testnode0", 1), ("testnode1", 0))}),
        ("pod-3", ((10, 2), (0, 0)), "testnode0", {0: "0"},
         {n: MISFIT + f"needs 10 cores with 512 MiB on one GPU; free: {free} on the freest"
          for n, free in (("testnode1", "20 cores with 256 MiB"), ("testnode2", "0 cores with 0 MiB"))}))
    for by_name in (False, True):
        names = [f"testnode{i}" for i in range(3)]
        for name, (cores, memory) in zip(names, ANCESTORS):
            w.add_node(name, cores, memory)
        last = 0
        for name, limits, node, ids, others in rows:
            pod = w.add(name, limits)
            failed = {n: why.format(uid(pod)) for n, why in others.items()}
            expect(f"answer for {name}", ([node], failed), w.place(pod, names, by_name))
            note = w.note(pod)
            expect(f"annotations of {name}", (node, ids), note[:2])
            expect(f"{ASSIGNED} of {name}", "false", w.api.pod(name)["metadata"]["annotations"][ASSIGNED])
            if note[2] <= last:
                raise Wrong(f"{TIME} of {name} is not later than that of the pod before")
            last = note[2]
            # Again, with the annotations of the first answer, and in another order: the same.
            expect(f"second answer for {name}", [node], w.place(pod, list(reversed(names)), by_name)[0])
            expect(f"annotations of {name} after it", note, w.note(pod))
            w.api.bind(name, node)
            w.runs(name, "default", uid(pod))
        w.close()


def wanting(w):
    """Who wants a GPU, who is counted how, and who is refused since gpu-manager would."""
    w.add_node("n", 200, 8)

    def asked(limits, change=None):
        pod = pod_object("p", limits)
        if change:
            change(pod["spec"])
        made = w.api.create_pod(pod)
        w.pods.append(("default", "p"))
        return made, w.filter(made, ["n"])

    def placed(what, limits, ids):
        made, reply = asked(limits)
        if ids is None:
            expect(f"{what}: FailedNodes of a pod that wants no GPU", None, reply["FailedNodes"])
            expect(f"{what}: its annotations", None, w.note(made))
        else:
            expect(f"{what}: annotations", ("n", ids), w.note(made)[:2])
        expect(f"{what}: nodes", ["n"], [n["metadata"]["name"] for n in reply["Nodes"]["items"]])
        w.drop(made)

    def refused(what, limits, says, change=None):
        made, reply = asked(limits, change)
        expect(f"{what}: nodes", [], reply["Nodes"]["items"])
        expect(f"{what}: nobody is preempted for it", reply["FailedNodes"], reply["FailedAndUnresolvableNodes"])
        if says not in reply["FailedNodes"]["n"]:
            raise Wrong(f"{what}: {reply['FailedNodes']}, expected is {says}")
        expect(f"{what}: its annotations", None, w.note(made))
        w.drop(made)

    placed("nothing", ((0, 0),), None)
    placed("100 cores without memory", ((100, 0),), {0: "0"})
    placed("a container that asks for nothing", ((0, 0), (10, 1)), {1: "0"})
    limit = 'spec.containers[{}].resources.limits["{}"]={} without '
    refused("99 cores without memory", ((99, 0),), limit.format(0, CORE, 99))
    refused("memory only", ((0, 8),), limit.format(0, MEMORY, 8))
    refused("two containers of 60 cores", ((60, 0), (60, 0)), limit.format(0, CORE, 60))
    refused("a second container of 20 cores", ((60, 2), (20, 0)), limit.format(1, CORE, 20))

    def init_only(spec):
        spec["initContainers"] = [{**spec["containers"][0], "name": "init"}]
        spec["containers"][0] = {"name": "c0", "image": "pause"}

    def sidecar(spec):
        spec["initContainers"] = [{**spec["containers"][0], "name": "side", "restartPolicy": "Always"}]
    for what, change in (("limits of an init container", init_only), ("limits of a sidecar", sidecar)):
        refused(what, ((60, 4),), f'spec.initContainers[0].resources.limits["{CORE}"]=60: gpu-manager', change)

    for what, held, ids, asked, wanted in (
            ("both devices are held", ((200, 0),), {0: "0,1"}, (10, 1), None),
            ("a share fills the first", ((30, 3),), {0: "1"}, (70, 2), {0: "0"}),
            ("and the tightest is taken", ((30, 3),), {0: "1"}, (60, 1), {0: "1"}),
            ("a device that is not there", ((30, 3),), {0: "7"}, (100, 0), {0: "0"}),
            ("what is no number", ((30, 3),), {0: "x"}, (100, 0), {0: "0"})):
        before = w.add("before", held, node="n", ids=ids)
        pod = w.add("p", (asked,))
        expect(f"{what}: node", ["n"] if wanted else [], w.place(pod, ["n"])[0])
        expect(f"{what}: annotations", ("n", wanted) if wanted else None, wanted and w.note(pod)[:2])
        w.drop(pod)
        w.drop(before)

    w.add_node("other", 100, 4)
    elsewhere = w.add("elsewhere", ((100, 0),), node="other", ids={0: "0"}, annotations={NODE: "n", TIME: "1"})
    pod = w.add("p", ((200, 0),))
    expect("a pod that is bound elsewhere holds nothing here", ["n"], w.place(pod, ["n"])[0])
    w.drop(pod)
    w.drop(elsewhere)
    w.add_node("cpu", 0, 0)
    pod = w.add("p", ((300, 0),))
    lacks = (MISFIT + "needs 3 whole GPUs; free: 2 of 2 whole").format(uid(pod))
    expect("more than there is", ([], {"n": lacks, "cpu": NO_GPU}), w.place(pod, ["n", "cpu"]))
    w.drop(pod)
    pod = w.add("p", ((150, 0),))
    chosen, failed = w.place(pod, ["n"])
    expect("one and a half GPUs", [], chosen)
    if f'spec.containers[0].resources.limits["{CORE}"]=150' not in failed["n"]:
        raise Wrong(f"one and a half GPUs: {failed}")


def example(w):
    """The worked example of a filter: the tightest of three, in Go's order of keys, also with keys in lower case."""
    w.add_node("n-big", 400, 240)
    w.add_node("n-small", 100, 60)
    w.add_node("n-cpu", 0, 0)
    pod = w.add("train-a", ((60, 20),))
    failed = {"n-big": MATCHED.format(uid(pod)), "n-cpu": NO_GPU}
    body = {"pod": pod, "nodes": {"metadata": {}, "items": [w.node(n) for n in ("n-big", "n-cpu", "n-small")]}, "nodenames": None}
    reply = w.post("predicates", body)
    expect("reply", {"Nodes": {"metadata": {}, "items": [body["nodes"]["items"][2]]}, "NodeNames": None, "FailedNodes": failed,
                     "FailedAndUnresolvableNodes": None, "Error": ""}, reply)
    expect("annotations", ("n-small", {0: "0"}), w.note(pod)[:2])


def texts(w):
    """Paths, methods, and bodies that cannot be read."""
    def got(method, path, body=None):
        return w.extender.request(method, path, body)

    status, version = got("GET", "/version")
    if status != 200 or not version.startswith("gpu-admission-"):
        raise Wrong(f"/version: {status} {version!r}")
    expect("/hello", (200, "Hello, World!"), got("GET", "/hello"))
    expect("an unknown path", 404, got("GET", "/nothing")[0])
    expect("GET of predicates", 405, got("GET", "/scheduler/predicates")[0])
    expect("POST of /version", 405, got("POST", "/version", "")[0])
    nothing = {"Nodes": None, "NodeNames": None, "FailedNodes": None, "FailedAndUnresolvableNodes": None}
    expect("an empty body", {**nothing, "Error": "EOF"}, w.post("predicates", ""))
    for body in ("{", "[]", '{"Pod": 3}', '{"Pod": {"metadata": {"name": "p"}, "spec": {"containers": []}', "{}"):
        reply = w.post("predicates", body)
        if not reply["Error"] or reply["Nodes"] is not None:
            raise Wrong(f"the body {body} got {reply}")
    expect("Error for a body that is cut off", CUT.format(1), w.post("predicates", "{")["Error"])
    expect("Error for a body that is no JSON", "the body is no JSON: at byte 0 stands 'hello' where a value was expected",
           w.post("predicates", "hello")["Error"])
    expect("priorities of a body that is cut off", (400, CUT.format(1) + EXPECTED), got("POST", "/scheduler/priorities", "{"))
    expect("priorities of another type", (400, "the body is not an object" + EXPECTED), got("POST", "/scheduler/priorities", "[]"))
    unreadable = '{"Pod":{"spec":{"containers":[{"resources":{"limits":{"%s":"abc"}}}]}},"NodeNames":[]}' % CORE
    expect("Error for a limit that is no quantity",
           f'Pod.spec.containers[0].resources.limits["{CORE}"]: "abc" is not a quantity; write a whole number such as "50" '
           "(100 is one GPU)", w.post("predicates", unreadable)["Error"])
    expect("priorities of no nodes", (200, "null"),
           got("POST", "/scheduler/priorities", '{"Pod": {}, "Nodes": null, "NodeNames": null}'))
    # A pod that wants no GPU gets its nodes back, byte for byte; and nothing is asked of the node.
    items = '{"metadata":{},"items":[{"metadata":{"name":"a","annotations":{"x":"\\u003c&>"}}},{"metadata":{"name":"b"}}]}'
    pod = '{"metadata":{"name":"p","namespace":"default","uid":"u"},"spec":{"containers":[{"name":"c"}]}}'
    expect("nodes of a pod without GPUs", (200, f'{{"Nodes":{items},"NodeNames":null,"FailedNodes":null,'
                                           '"FailedAndUnresolvableNodes":null,"Error":""}'),
           got("POST", "/scheduler/predicates", f'{{"Pod":{pod},"Nodes":{items},"NodeNames":null}}'))
    w.add_node("gpu0", 100, 4)
    w.add_node("cpu0", 0, 0)
    expect("priorities", (200, '[{"Host":"gpu0","Score":0},{"Host":"cpu0","Score":1}]'),
           got("POST", "/scheduler/priorities", {"Pod": json.loads(pod), "Nodes": None, "NodeNames": ["gpu0", "cpu0"]}))


def verbs(w):
    """preempt in both forms, bind, and what comes of them."""
    for name in ("n1", "n2"):
        w.add_node(name, 100, 4)
    low = [w.add(f"low{i}", ((100, 0),), node=f"n{i}", ids={0: "0"}) for i in (1, 2)]
    high, huge = w.add("high", ((50, 2),)), w.add("huge", ((200, 0),))
    meta = {"n1": {"Pods": [{"UID": uid(low[0])}], "NumPDBViolations": 0},
            "n2": {"Pods": [{"UID": "somebody-else"}], "NumPDBViolations": 1}}
    keep = {"NodeNameToMetaVictims": {"n1": meta["n1"]}}
    expect("preempt by uids", keep, w.post("preempt", {"Pod": high, "NodeNameToVictims": None, "NodeNameToMetaVictims": meta}))
    whole = {"n1": {"Pods": [low[0]], "NumPDBViolations": 0}, "n2": {"Pods": [high], "NumPDBViolations": 1}}
    expect("preempt by pods", keep, w.post("preempt", {"Pod": high, "NodeNameToVictims": whole, "NodeNameToMetaVictims": None}))
    expect("preempt for what never fits", {"NodeNameToMetaVictims": {}},
           w.post("preempt", {"Pod": huge, "NodeNameToVictims": whole, "NodeNameToMetaVictims": None}))
    w.drop(low[0])

    def bind(pod, node):
        return w.post("bind", {"PodName": pod["metadata"]["name"], "PodNamespace": "default", "PodUID": uid(pod), "Node": node})
    reply = bind(huge, "n1")
    if not reply["Error"] or w.api.pod("huge")["spec"].get("nodeName"):
        raise Wrong(f"bind of a pod that does not fit: {reply}")
    expect("bind", {"Error": ""}, bind(high, "n1"))
    pod = w.api.pod("high")
    expect("node and annotations of the pod that was bound", ("n1", ("n1", {0: "0"})), (pod["spec"]["nodeName"], note_of(pod)[:2]))
    expect("bind again", {"Error": ""}, bind(high, "n1"))
    if not bind(high, "n2")["Error"]:
        raise Wrong("bind of a pod that is bound elsewhere succeeded")


def unknown_node(w):
    """A node that the extender has not heard of, since it is new, say: no devices are given there, whatever the verb."""
    pod, plain = w.add("p", ((50, 2),)), w.add("plain", ((0, 0),))
    expect("filter", ([], ["new"]), (lambda chosen, failed: (chosen, list(failed)))(*w.place(pod, ["new"], by_name=True)))
    expect("preempt", {"NodeNameToMetaVictims": {}}, w.post("preempt", {
        "Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": {"new": {"Pods": [{"UID": "u"}], "NumPDBViolations": 0}}}))
    chosen = task(pod)
    chosen["task"]["NodeName"] = "new"
    for verb, body in [("allocateFunc", chosen)] + [
            ("bind", {"PodName": p["metadata"]["name"], "PodNamespace": "default", "PodUID": uid(p), "Node": "new"}) for p in (pod, plain)]:
        try:
            reply = w.post(verb, body)
        except (http.client.HTTPException, OSError) as error:
            raise Wrong(f"{verb} to a node that is not known: {error!r}") from error
        if not (reply.get("errorMessage") or reply.get("Error") or body.get("PodName") == "plain"):
            raise Wrong(f"{verb} to a node that is not known: {reply}")
    expect("annotations", None, w.note(pod))


# ---- Volcano

DIALECTS = {  # path: fit, misfit of (code, text)
    "": (lambda: {}, lambda code, text: {"errorMessage": text, "status": [{"Code": code, "Reason": text}]}),
    "volcano-1.7/": (lambda: {"errorMessage": ""}, lambda code, text: {"errorMessage": text}),
    "volcano-1.9/": (lambda: {"status": [{"Code": 0, "Reason": "success"}]},
                     lambda code, text: {"status": [{"Code": code, "Reason": text}]}),
    "volcano-1.12/": (lambda: {"status": "", "code": 0}, lambda code, text: {"status": text, "code": code}),
    "volcano-1.14/": (lambda: {"status": "", "code": 0}, lambda code, text: {"status": text, "code": code})}


def task(pod, node=None, **more):
    """As Volcano sends it: Go's field names, amounts in thousandths, keys that nobody here knows."""
    body = {"task": {"UID": uid(pod), "Job": "ml/pg-1", "Name": pod["metadata"]["name"], "Namespace": pod["metadata"]["namespace"],
                     "Resreq": {"MilliCPU": 0, "Memory": 0, "ScalarResources": {CORE: 60000, MEMORY: 20000}, "MaxTaskNum": 0},
                     "NodeName": "", "Status": 1, "LastTransaction": None, "Priority": 0, "NobodyKnows": {"a": [1, {}]}, "Pod": pod}}
    if node is not None:
        body["node"] = {"Name": node["metadata"]["name"], "Node": node, "State": {"Phase": 1, "Reason": ""}, "Tasks": {}, **more}
    return body


def dialects(w):
    """vpredicates in the words of each Volcano: fit, misfit, predicated before, and what cannot be read."""
    w.add_node("n-big", 400, 240)
    w.add_node("n-small", 100, 60)
    w.add_node("n-cpu", 0, 0)
    for path, (fit, misfit) in DIALECTS.items():
        verb, allocates = path + "vpredicates", path == "volcano-1.14/"
        pod = w.add("train-a", ((60, 20),))
        huge = w.add("huge", ((800, 0),))
        plain = w.add("plain", ((0, 0),))
        ask = lambda pod, node: w.post(verb, task(w.api.pod(pod["metadata"]["name"]), w.node(node)))
        expect(f"{verb}: no GPU there", misfit(3, NO_GPU), ask(pod, "n-cpu"))
        expect(f"{verb}: too large", misfit(2, (MISFIT + "needs 8 whole GPUs; free: 4 of 4 whole").format(uid(huge))), ask(huge, "n-big"))
        expect(f"{verb}: no GPU wanted", fit(), ask(plain, "n-cpu"))
        expect(f"{verb}: fits", fit(), ask(pod, "n-small"))
        expect(f"{verb}: annotations", None if allocates else ("n-small", {0: "0"}), w.note(pod) and w.note(pod)[:2])
        expect(f"{verb}: again", fit(), ask(pod, "n-small"))
        expect(f"{verb}: of another node", fit() if allocates else misfit(2, MATCHED.format(uid(pod))), ask(pod, "n-big"))
        for body in ("", "{", '{"task": null, "node": null}', '{"task": {"Pod": {}}}'):
            reply = w.post(verb, body)
            text = reply.get("errorMessage") or reply.get("status")
            if not text or text == fit().get("status"):
                raise Wrong(f"{verb}: the body {body} got {reply}")
        if allocates:
            chosen = task(w.api.pod("train-a"))
            chosen["task"]["NodeName"] = "n-big"
            expect(f"{path}allocateFunc", {"errorMessage": ""}, w.post(path + "allocateFunc", chosen))
            expect("annotations", ("n-big", {0: "0"}), w.note(pod)[:2])
            expect(f"{path}deallocateFunc", {"errorMessage": ""}, w.post(path + "deallocateFunc", chosen))
            until("the annotations are gone", lambda: w.note(pod) is None)
        reply = w.post(path + "prioritize", {**task(pod), "nodes": [{"Name": n, "Node": w.node(n)} for n in ("n-big", "n-cpu")]})
        expect(f"{path}prioritize", ["n-big", "n-cpu"], sorted(reply["nodeScore"]))
        for each in (pod, huge, plain):
            w.drop(each)


def parallel(w):
    """Volcano asks for up to 16 nodes at a time, with one copy of the pod: one set of annotations comes of it."""
    names = [f"node{i:02}" for i in range(16)]
    for name in names:
        w.add_node(name, 1200, 48)  # never full
    clients = [Client("http://" + w.extender.address) for _ in names]
    nodes, there = [w.node(n) for n in names], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        for i in range(12):
            pod = w.add(f"p{i}", ((60, 2), (30, 1)))
            ask = lambda client, node: json.loads(client.request("POST", "/scheduler/volcano-1.9/vpredicates", task(pod, node))[1])
            replies = list(pool.map(ask, clients, nodes))
            fit = [n for n, r in zip(names, replies) if r == {"status": [{"Code": 0, "Reason": "success"}]}]
            expect(f"nodes that fit pod {i}", 1, len(fit))
            expect(f"the others' answers of pod {i}", [{"status": [{"Code": 2, "Reason": MATCHED.format(uid(pod))}]}] * 15,
                   [r for n, r in zip(names, replies) if n not in fit])
            annotations = w.api.pod(f"p{i}")["metadata"]["annotations"]
            device = str(there[fit[0]])  # one pod fills one
            there[fit[0]] += 1
            expect(f"annotations of pod {i}", {NODE: fit[0], ASSIGNED: "false", TIME: annotations[TIME],
                                               "tencent.com/predicate-gpu-idx-0": device, "tencent.com/predicate-gpu-idx-1": device},
                   {k: v for k, v in annotations.items() if k.startswith("tencent.com/")})
            w.api.bind(f"p{i}", fit[0])
            w.runs(f"p{i}", "default", uid(pod))


def huge(w):
    """A NodeInfo that carries every task of the node with its pod: 12 MB."""
    w.add_node("n", 200, 8)
    pod = w.add("p", ((60, 2),))
    other = {**task(pod)["task"], "Pod": {**pod, "metadata": {**pod["metadata"], "annotations": {"filler": "\\x" * 3000}}}}
    tasks = {f"u-{i}": {**other, "UID": f"u-{i}"} for i in range(1300)}
    body = json.dumps(task(pod, w.node("n"), Tasks=tasks, Others={"GpuShare": None}))
    if len(body) < 12_000_000:
        raise Wrong(f"the body is only {len(body)} bytes")
    expect("reply", {"status": "", "code": 0}, w.post("volcano-1.12/vpredicates", body))
    expect("annotations", ("n", {0: "0"}), w.note(pod)[:2])


# ---- Quota

class Quotas:
    """The ConfigMap. A namespace of its own tells when a change has arrived."""

    def __init__(self, world):
        self.w, self.number = world, 0

    def put(self, data):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gpuquota", "namespace": "kube-system"}, "data": data}
        if self.w.api.request("GET", QUOTA_MAPS + "/gpuquota")[0] == 404:
            return self.w.api.call("POST", QUOTA_MAPS, body)
        return self.w.api.call("PUT", QUOTA_MAPS + "/gpuquota", body)

    def metric(self, line):
        until(f"the metric {line}", lambda: f"{line}\n" in self.w.extender.request("GET", "/metrics")[1])

    def set(self, table):
        self.number += 1
        self.put({"gpu_quota": json.dumps({**table, "change": {"quota": {"number": self.number}}})})
        self.metric(f'gpu_admission_quota_limit_gpus{{model="number",namespace="change"}} {self.number}')
        self.metric("gpu_admission_quota_config_unusable 0")

    def spoil(self, data):
        self.put(data)
        self.metric("gpu_admission_quota_config_unusable 1")


def never_synced(w):
    """While the first ConfigMap cannot be read, nobody gets a GPU; once it can, or is gone, they do."""
    w.add_node("m40", 800, 32)
    pod = w.add("p", ((50, 2),))
    quotas = Quotas(w)
    for data in ({"gpu_quota": "{"}, {"other": "key"}, {"gpu_quota": '{"default": 3}'}):
        quotas.spoil(data)
        expect(f"Error under {data}", NOT_SYNCED, w.filter(pod, ["m40"])["Error"])
    w.api.call("DELETE", QUOTA_MAPS + "/gpuquota")
    quotas.metric("gpu_admission_quota_config_unusable 0")
    expect("without a ConfigMap", ["m40"], w.place(pod, ["m40"])[0])


def quota(w):
    """Equality, one more, models and pools that are not named, namespaces that are not listed, bad texts."""
    labels = lambda model, pool=None: {"gaia.tencent.com/gpu-model": model, **({"gaia.tencent.com/gpu-pool": pool} if pool else {})}
    w.add_node("m40-a", 800, 32, labels("M40", "public"))
    w.add_node("m40-b", 800, 32, labels("M40"))
    w.add_node("p40", 800, 32, labels("P40", "public"))
    nodes, quotas = ["m40-a", "m40-b", "p40"], Quotas(w)
    quotas.set({"default": {"quota": {"M40": 2}, "pool": []}})
    w.add("used-1", ((100, 4),), node="m40-a", ids={0: "0"})
    w.add("used-2", ((50, 2),), node="m40-b", ids={0: "0"})

    def ask(what, cores, refused, namespace="default"):
        pod = w.add("probe", ((cores, 1),), namespace)
        chosen, failed = w.place(pod, nodes)
        expect(f"{what}: refused", sorted(refused), sorted(n for n, why in failed.items() if why.startswith(QUOTA)))
        expect(f"{what}: placed", len(refused) < 3, len(chosen) == 1)
        w.drop(pod)

    ask("150 used and 50 more", 50, ["p40"])
    ask("150 used and 60 more", 60, nodes)
    ask("a namespace without a quota", 60, [], "kube-public")
    quotas.set({"default": {"quota": {"M40": 2}, "pool": ["public"]}})
    ask("a pool that m40-b is not in", 50, ["m40-b", "p40"])
    quotas.set({"default": {"quota": {"M40": 2, "P40": 1}, "pool": ["private"]}})
    ask("a pool that nobody is in", 50, nodes)
    quotas.set({"default": {"quota": {"P40": 1}}})
    ask("another model, any pool", 60, ["m40-a", "m40-b"])
    quotas.set({"default": {"quota": {}}})
    ask("no model at all", 10, nodes)
    quotas.spoil({"gpu_quota": "{"})
    ask("a text that cannot be read keeps the one before", 10, nodes)
    quotas.spoil({"other": "key"})
    ask("a key that is not there does too", 10, nodes)
    w.api.call("DELETE", QUOTA_MAPS + "/gpuquota")
    quotas.metric("gpu_admission_quota_config_unusable 0")
    ask("without a ConfigMap nobody has a limit", 60, [])


def reserved_quota(w):
    """Who was given a node and is not bound yet counts."""
    quotas = nodes_under_quota(w)
    quotas.set({"default": {"quota": {"M40": 1}}})
    first, second = w.add("first", ((60, 2),)), w.add("second", ((60, 2),))
    expect("60 of 100", 1, len(w.place(first, M40S)[0]))
    expect("60 more while those are not bound", ([], dict.fromkeys(M40S, f"{QUOTA}: M40 used 0.6, limit 1, asks 0.6")), w.place(second, M40S))
    w.drop(first)
    expect("once they are gone", 1, len(w.place(second, M40S)[0]))
    w.api.call("DELETE", QUOTA_MAPS + "/gpuquota")


M40S = ["m40-a", "m40-b"]


def nodes_under_quota(w):
    for name, pool in zip(M40S, ("public", "private")):
        w.add_node(name, 800, 32, {"gaia.tencent.com/gpu-model": "M40", "gaia.tencent.com/gpu-pool": pool})
    return Quotas(w)


# ---- --compat=strict

PREDICATED = "pod {} had been predicated!"
NOTHING = {"Nodes": None, "NodeNames": None, "FailedNodes": None, "FailedAndUnresolvableNodes": None}


def strict(w):
    """As the ancestor, a pod with annotations is an error."""
    w.add_node("n", 200, 8)
    pod = w.add("p", ((50, 2),))
    expect("node", ["n"], w.place(pod, ["n"])[0])
    error = PREDICATED.format("p")
    expect("again", {**NOTHING, "Error": error}, w.filter(pod, ["n"]))
    for path, (_, misfit) in list(DIALECTS.items())[:4]:
        expect(f"{path}vpredicates", misfit(1, error), w.post(path + "vpredicates", task(w.api.pod("p"), w.node("n"))))
    for key, counts in ((ASSIGNED, True), (TIME, True), ("tencent.com/predicate-gpu-idx-7", True), ("tencent.com/gpu-assigned-too", True),
                        (NODE, False), ("gpu-assigned", False)):
        other = w.add("other", ((50, 2),), annotations={key: "1"})
        expect(f"Error for a pod with {key}", PREDICATED.format("other") if counts else "", w.filter(other, ["n"])["Error"])
        w.drop(other)
    plain = w.add("plain", ((0, 0),), annotations={ASSIGNED: "false"})
    reply = w.filter(plain, ["n"])
    expect("who wants no GPU is not looked at", (["n"], ""), ([n["metadata"]["name"] for n in reply["Nodes"]["items"]], reply["Error"]))


def strict_quota(w):
    """Only bound pods that have not ended count, those of the namespace and the model in any pool, and the one that asks."""
    quotas = nodes_under_quota(w)
    quotas.set({"default": {"quota": {"M40": 1}}})

    def ask(what, pod, fits):
        chosen, failed = w.place(pod, M40S)
        expect(what, (1, 0) if fits else (0, 2), (len(chosen), sum(why.startswith(QUOTA) for why in failed.values())))
        return chosen[0] if chosen else None

    def bind(pod, node):
        w.api.bind(pod["metadata"]["name"], node)
        w.runs(pod["metadata"]["name"], "default", uid(pod))

    def probe(what, cores, fits, namespace="default"):
        pod = w.add("probe", ((cores, 1),), namespace)
        ask(what, pod, fits)
        w.drop(pod)

    first, second = w.add("first", ((60, 2),)), w.add("second", ((60, 2),))
    node = ask("60 of 100", first, True)
    other = ask("60 more, while the first ones are not bound", second, True)
    bind(first, node)
    probe("60 bound, 40 that are not, and 60 more", 60, False)
    probe("60 bound and 40 more", 40, True)
    probe("60 bound and 41 more", 41, False)
    probe("another namespace", 60, True, "kube-public")
    bind(second, other)
    probe("120 bound and one more", 1, False)
    w.api.call("PATCH", "/api/v1/namespaces/default/pods/first/status", {"status": {"phase": "Succeeded"}}, "application/merge-patch+json")
    w.knows("the first has ended", lambda text: uid(first) not in text)
    probe("60 bound and 41 more, once the others ended", 41, False)
    probe("60 bound and 40 more, once the others ended", 40, True)
    quotas.set({"default": {"quota": {"M40": 2}, "pool": ["private"]}})
    probe("bound ones count whatever pool they are in: 60 and 150 more", 150, False)
    w.api.call("DELETE", QUOTA_MAPS + "/gpuquota")
    quotas.metric("gpu_admission_quota_config_unusable 0")


def strict_order(w):
    """The ancestor's order: does it want GPUs, were quotas ever read, quota, had it been predicated, devices."""
    w.add_node("m40", 800, 32, {"gaia.tencent.com/gpu-model": "M40"})
    pod = w.add("p", ((50, 2),), annotations={ASSIGNED: "false", TIME: "1"})
    plain = w.add("plain", ((0, 0),), annotations={ASSIGNED: "false"})
    quotas = Quotas(w)
    quotas.metric("gpu_admission_quota_config_unusable 1")
    expect("Error for who wants no GPU, quotas never read", "", w.filter(plain, ["m40"])["Error"])
    expect("reply for who had been predicated, quotas never read", {**NOTHING, "Error": NOT_SYNCED}, w.filter(pod, ["m40"]))
    quotas.set({"default": {"quota": {"M40": 0}}})
    expect("reply for who had been predicated and is over the quota", {**NOTHING, "Error": PREDICATED.format("p")}, w.filter(pod, ["m40"]))
    w.api.call("DELETE", QUOTA_MAPS + "/gpuquota")
    quotas.metric("gpu_admission_quota_config_unusable 0")


TABLES = (placements, wanting, example, texts, verbs, unknown_node, dialects, parallel, huge, never_synced, quota, reserved_quota, strict,
          strict_quota, strict_order)


def main():
    name, *urls = sys.argv[1:]
    world = World(*urls)
    {t.__name__: t for t in TABLES}[name](world)
    world.close()


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"protocol: {wrong}")
