#!/usr/bin/env python3
"""Sends the bodies that real schedulers sent (test/extender/recorded) and reads the answers as those programs do.

recorded.py FOLDER API EXTENDER LEDGER     FOLDER: of one sender. API is the URL of `kubectl proxy`, EXTENDER that of gpu-admission

The nodes and pods that the bodies speak of are made from them first. A server gives them uids and resourceVersions of its
own; these take the place of the recorded ones, all else is sent byte for byte. Between the bodies happens what happened
when they were recorded: pods are bound where they were bound then, and victims go.
"""

import json
import pathlib
import re
import sys

from api import Wrong, expect, limits_of, note_of
from protocol import World

WHOLE, SHARE = {0: "0,1"}, {0: "0"}


class Recording:
    def __init__(self, world, folder):
        self.w, self.folder, self.ids = world, folder, {}
        self.sent = 0

    def files(self, part):
        return sorted(f for f in self.folder.iterdir() if part in f.name)

    def make_nodes(self, nodes):
        for node in nodes:
            capacity, name = node["status"]["capacity"], node["metadata"]["name"]
            self.w.add_node(name, int(capacity["tencent.com/vcuda-core"]), int(capacity["tencent.com/vcuda-memory"]),
                            node["metadata"]["labels"])
            self.ids[node["metadata"]["uid"]] = self.w.node(name)

    def make_pod(self, pod):
        if pod["metadata"]["uid"] not in self.ids:
            self.ids[pod["metadata"]["uid"]] = self.w.add(pod["metadata"]["name"], limits_of(pod), pod["metadata"]["namespace"],
                                                          annotations=pod["metadata"].get("annotations"),
                                                          schedulerName=pod["spec"]["schedulerName"])

    def send(self, prefix, file):
        """(the body, the answer)"""
        body = file.read_text(encoding="utf-8")
        for old, made in self.ids.items():
            uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
            body = re.sub(f'"uid":"{old}","resourceVersion":"[0-9]+"', f'"uid":"{uid}","resourceVersion":"{version}"', body)
            body = body.replace(old, uid)
        verb = {"filter": "predicates", "prioritize": "priorities"} if not prefix else {}
        name = re.sub(r"^[0-9]+-(cache-(true|false)_)?", "", file.stem)
        self.sent += 1
        status, text = self.w.extender.request("POST", f"/scheduler/{prefix}{verb.get(name, name)}", body)
        expect(f"status of {file.name}", 200, status)
        return json.loads(body or "null"), json.loads(text)

    def current(self, pod):
        return self.w.api.pod(pod["metadata"]["name"], pod["metadata"]["namespace"])

    def bind(self, pod, node):
        self.w.api.bind(pod["metadata"]["name"], node, pod["metadata"]["namespace"])
        self.w.runs(pod["metadata"]["name"], pod["metadata"]["namespace"], self.current(pod)["metadata"]["uid"])


# ---- kube-scheduler: pkg/scheduler/extender.go

def read_filter(file, body, reply):
    """The nodes that are left, as HTTPExtender.Filter finds them."""
    expect(f"{file.name}: Error", "", reply["Error"])
    asked = body["NodeNames"] if body["NodeNames"] is not None else [n["metadata"]["name"] for n in body["Nodes"]["items"]]
    if body["NodeNames"] is not None and reply["NodeNames"] is not None:
        left = reply["NodeNames"]
    elif reply["Nodes"] is not None:
        left = [n["metadata"]["name"] for n in reply["Nodes"]["items"]]
    else:
        left = []
    failed = {**(reply["FailedNodes"] or {}), **(reply["FailedAndUnresolvableNodes"] or {})}
    expect(f"{file.name}: every node is left or has failed", sorted(asked), sorted(left + list(failed)))
    return left


def read_priorities(file, body, reply):
    asked = body["NodeNames"] or [n["metadata"]["name"] for n in body["Nodes"]["items"]]
    expect(f"{file.name}: hosts", asked, [host["Host"] for host in reply])
    if not all(isinstance(host["Score"], int) for host in reply):
        raise Wrong(f"{file.name}: {reply}")


def read_preempt(file, body, reply):
    """The victims by node, as HTTPExtender.ProcessPreemption converts them: each is known, each node has one."""
    asked = body["NodeNameToMetaVictims"] or {
        node: {"Pods": [{"UID": p["metadata"]["uid"]} for p in v["Pods"]]} for node, v in body["NodeNameToVictims"].items()}
    expect(f"{file.name}: keys", ["NodeNameToMetaVictims"], list(reply))
    kept = reply["NodeNameToMetaVictims"]
    for node, victims in kept.items():
        expect(f"{file.name}: victims on {node}", asked[node]["Pods"], victims["Pods"])
    return kept


def kube_scheduler(r):
    """Three pods fill three nodes; a fourth that wants one device takes the place of one of them."""
    for part in ("cache-false", "cache-true"):
        files = r.files(part)
        bodies = {f: json.loads(f.read_text(encoding="utf-8")) for f in files}
        r.make_nodes(json.loads(r.files("cache-false_filter")[0].read_text(encoding="utf-8"))["Nodes"]["items"])
        for body in bodies.values():
            r.make_pod(body["Pod"])
        recorded = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in (b["Pod"] for b in bodies.values())}
        victims = next(b for f, b in bodies.items() if f.stem.endswith("preempt"))
        lists = victims["NodeNameToVictims"] or victims["NodeNameToMetaVictims"]
        bound = {recorded[p["UID"] if "UID" in p else p["metadata"]["uid"]]: node for node, v in lists.items() for p in v["Pods"]}
        for file, following in zip(files, files[1:] + [None]):
            body, reply = r.send("", file)
            pod = body["Pod"]
            if file.stem.endswith("filter"):
                left = read_filter(file, body, reply)
                high = pod["metadata"]["name"] not in bound
                expect(f"{file.name}: nodes that are left", 1, len(left))
                expect(f"{file.name}: annotations", (left[0], SHARE if high else WHOLE), note_of(r.current(pod))[:2])
                expect(f"{file.name}: the pod's own annotation", "less < than & more", r.current(pod)["metadata"]["annotations"]["note"])
            elif file.stem.endswith("prioritize"):
                read_priorities(file, body, reply)
            else:
                expect(f"{file.name}: nodes", sorted(bound.values()), sorted(read_preempt(file, body, reply)))
                after = bodies[following]["Nodes"], bodies[following]["NodeNames"]
                node = after[1][0] if after[1] else after[0]["items"][0]["metadata"]["name"]
                r.w.drop(r.current({"metadata": {"name": next(p for p, n in bound.items() if n == node), "namespace": "default"}}))
            last_of_pod = following is None or bodies[following]["Pod"]["metadata"]["uid"] not in (
                b["Pod"]["metadata"]["uid"] for f, b in bodies.items() if f <= file)
            if last_of_pod and pod["metadata"]["name"] in bound:
                r.bind(pod, bound[pod["metadata"]["name"]])
        r.w.close()
        r.ids.clear()


# ---- Volcano: pkg/scheduler/plugins/extender, of 1.10 and newer

def volcano(r):
    """Two pods of a share each; predicates, scores, allocation."""
    files = {f: json.loads(f.read_text(encoding="utf-8")) for f in r.files("")}
    r.make_nodes([b["node"]["Node"] for b in sorted((b for b in files.values() if "node" in b), key=lambda b: b["node"]["Name"])])
    for body in files.values():
        if "task" in body:
            r.make_pod({**body["task"]["Pod"], "spec": {**body["task"]["Pod"]["spec"], "nodeName": ""}})
    nodes = {}
    for file in files:
        body, reply = r.send("volcano-1.15/", file)
        verb = file.stem.split("-", 1)[1]
        if verb == "predicate":
            expect(f"{file.name}: status, \"\" for fit", "", reply["status"])
            if not isinstance(reply["code"], int):
                raise Wrong(f"{file.name}: {reply}")
            expect(f"{file.name}: a predicate gives nothing", None, note_of(r.current(body["task"]["Pod"])))
        elif verb == "prioritize":
            expect(f"{file.name}: errorMessage", "", reply["errorMessage"])
            expect(f"{file.name}: scores", sorted(n["Name"] for n in body["nodes"]), sorted(reply["nodeScore"]))
            if not all(isinstance(s, (int, float)) for s in reply["nodeScore"].values()):
                raise Wrong(f"{file.name}: {reply}")
            if nodes:
                best = max(reply["nodeScore"].values())
                expect(f"{file.name}: the fullest is best", set(nodes.values()), {n for n, s in reply["nodeScore"].items() if s == best})
        elif verb == "allocateFunc":
            expect(f"{file.name}: errorMessage", "", reply["errorMessage"])
            pod, node = body["task"]["Pod"], body["task"]["NodeName"]
            expect(f"{file.name}: annotations", (node, SHARE), note_of(r.current(pod))[:2])
            r.bind(pod, node)
            nodes[pod["metadata"]["name"]] = node
        elif verb == "jobEnqueueable":
            expect(f"{file.name}: a vote that abstains", 0, reply["status"])
        elif verb == "jobReady":
            expect(f"{file.name}: ready as far as we know", True, reply["status"])
        elif verb == "queueOverused":
            expect(f"{file.name}: overused", False, reply["overused"])
        else:
            expect(f"{file.name}: what nobody reads", {}, reply)
    r.w.close()


def main():
    folder, *urls = sys.argv[1:]
    recording = Recording(World(*urls), pathlib.Path(folder))
    (volcano if recording.folder.name.startswith("volcano") else kube_scheduler)(recording)
    expect("bodies that were sent", len(recording.files(".json")), recording.sent)
    print(f"{recording.sent} bodies of {recording.folder.name}")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"recorded: {wrong}")
