#!/usr/bin/env python3
"""pending_texts.py API FILTERS SEED DIFFER: 200 drawn pods in 10 drawn clusters, each given to a real kube-scheduler and to our scheduler.

API is where `kubectl proxy` listens, FILTERS the program bin/filters, which draws, and says what our filters make of a case. In a
cluster are the nodes, and pods that are bound from the start. A pod comes alone, once for each scheduler, and goes again when it
was placed or refused: so both decide about the same cluster. The same pods have to wait, told the same reasons. Exit status 1:
they do not; the cases are in the file DIFFER then, for `filters answer`.
"""

import copy
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "extender"))
from api import Api, until  # noqa: E402

CLUSTERS, PODS_OF_EACH = 10, 20
# What needs no controller beside the schedulers.
FIELDS = "affinity,ports,resources,near,spread,disks"
KUBE, OURS = "default-scheduler", "gpu-scheduler"
# Nodes and pods come by different watches, one of which may be a moment behind. Who differs is asked again.
TRIES = 3


def drawn(filters, seed, count, fields, *options):
    words = [filters, "draw", "--seed", seed, "--cases", str(count), "--fields", fields, *options]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def drawn_clusters(filters, seed):
    """Half of them without taints, which would hide most of what comes after them."""
    half = CLUSTERS // 2
    out = []
    for fields in (FIELDS, f"taints,{FIELDS}"):
        cases = drawn(filters, seed, 8 * half, fields, "--together")
        out += [case for case in cases if len(case["nodes"]) >= 3][:half]
    return out


def without_merged(value):
    """What the API server makes of matchLabelKeys it does not take from a user."""
    if isinstance(value, list):
        for one in value:
            without_merged(one)
    if not isinstance(value, dict):
        return
    keys = value.get("matchLabelKeys", []) + value.get("mismatchLabelKeys", [])
    selector = value.get("labelSelector") or {}
    if keys and "matchExpressions" in selector:
        selector["matchExpressions"] = [one for one in selector["matchExpressions"] if one["key"] not in keys]
    for one in value.values():
        without_merged(one)


def as_written(thing, **meta):
    """As a user writes it: without what the API server fills in."""
    kept = {key: thing["metadata"][key] for key in ("name", "namespace", "labels") if key in thing["metadata"]}
    spec = copy.deepcopy(thing.get("spec", {}))
    without_merged(spec)
    return {"apiVersion": thing["apiVersion"], "kind": thing["kind"], "metadata": kept | meta, "spec": spec}


def path_of(pod):
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def prepare(api, clusters):
    """What all of the clusters have in common."""
    api.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", {
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"}, "handler": "heavy",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}}})
    for namespace in clusters[0]["namespaces"]:
        name = namespace["metadata"]["name"]
        api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        until(f"account of namespace {name}", lambda account=account: api.request("GET", account)[0] == 200)


def build(api, cluster):
    for namespace in cluster["namespaces"]:
        labels = {"team": namespace["metadata"]["labels"].get("team")}  # null: it goes
        api.call("PATCH", f"/api/v1/namespaces/{namespace['metadata']['name']}", {"metadata": {"labels": labels}},
                 "application/merge-patch+json")
    for node in cluster["nodes"]:
        api.create_node(as_written(node) | {"status": node["status"]})
    for pod in cluster["pods"]:
        api.create_pod(as_written(pod))
        if pod["status"]["phase"] in ("Succeeded", "Failed"):  # a new pod's is Pending, whatever is sent
            api.call("PATCH", path_of(pod) + "/status", {"status": {"phase": pod["status"]["phase"]}}, "application/merge-patch+json")
        if "deletionTimestamp" in pod["metadata"]:  # there is no kubelet that would end it
            api.call("DELETE", path_of(pod), {"gracePeriodSeconds": 3600})


def clear(api, cluster):
    for pod in cluster["pods"]:
        api.delete_pod(pod["metadata"]["name"], pod["metadata"]["namespace"])
    for node in cluster["nodes"]:
        api.call("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")


def said_of(pod):
    """None: nobody has decided yet."""
    if pod["spec"].get("nodeName"):
        return {"node": pod["spec"]["nodeName"]}
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return {"message": condition.get("message", "")}
    return None


def outcome(api, pod, scheduler, name):
    sent = as_written(pod, name=name)
    sent["spec"]["schedulerName"] = scheduler
    api.create_pod(sent)
    said = until(f"{scheduler} has placed or refused pod {name}: {json.dumps(sent)}", lambda: said_of(api.get(path_of(sent))))
    api.delete_pod(name, sent["metadata"]["namespace"])
    return said


class Comparing:
    def __init__(self, api, filters):
        self.api = api
        self.filters = subprocess.Popen([filters, "outcomes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds = {KUBE: 0.0, OURS: 0.0}
        self.waiting = self.placed = self.again = 0

    def outcome(self, pod, scheduler, name):
        began = time.monotonic()
        said = outcome(self.api, pod, scheduler, name)
        self.seconds[scheduler] += time.monotonic() - began
        return said

    def difference(self, cluster, pod, name):
        """"": none."""
        theirs = self.outcome(pod, KUBE, f"{name}-kube")
        ours = self.outcome(pod, OURS, f"{name}-ours")
        question = cluster | {"pod": pod}
        self.filters.stdin.write(json.dumps({"question": question, "ours": ours, "theirs": theirs}) + "\n")
        self.filters.stdin.flush()
        found = json.loads(self.filters.stdout.readline())["difference"]
        if not found:
            self.waiting += "message" in ours
            self.placed += "node" in ours
        return found

    def compare(self, cluster, pod, name):
        for attempt in range(TRIES):
            found = self.difference(cluster, pod, f"{name}-{attempt}")
            if not found:
                return ""
            self.again += 1
        return found


def main(url, filters, seed, differ_file):
    api = Api(url)
    clusters = drawn_clusters(filters, seed)
    # A GPU that was given is not free again at once, so that pods would not be for themselves.
    pods = [case["pod"] for case in drawn(filters, seed, 2 * CLUSTERS * PODS_OF_EACH, f"taints,{FIELDS}")
            if "nvidia.com/gpu" not in json.dumps(case["pod"])]
    prepare(api, clusters)
    comparing = Comparing(api, filters)
    differ = []
    for number, cluster in enumerate(clusters):
        build(api, cluster)
        for place in range(PODS_OF_EACH):
            index = number * PODS_OF_EACH + place
            found = comparing.compare(cluster, pods[index], f"asked-{index}")
            if found:
                differ.append(json.dumps(cluster | {"pod": pods[index]}))
                print(f"cluster {number}, pod {index}: {found}", flush=True)
        clear(api, cluster)
    pathlib.Path(differ_file).write_text("".join(f"{case}\n" for case in differ))
    all_pods = CLUSTERS * PODS_OF_EACH
    print(f"{all_pods} pods in {CLUSTERS} clusters, seed {seed}: {comparing.waiting} wait and {comparing.placed} are placed by both, "
          f"{len(differ)} differ, {comparing.again} asked again; seconds: kube-scheduler {comparing.seconds[KUBE]:.1f}, ours {comparing.seconds[OURS]:.1f}")
    if min(comparing.waiting, comparing.placed) * 5 < all_pods - len(differ):
        print("fewer than one in 5 wait, or are placed: what is drawn has to be changed")
        return 1
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
