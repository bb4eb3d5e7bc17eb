#!/usr/bin/env python3
"""What containers have of GPUs, compared with what was chosen for their pods.

judge.py seen DIR      every container of our pods sees exactly the GPUs of its pod's annotation, which are those of its leases;
                       pods of others have one GPU each where they ask for one, and none where they ask for none; nobody has
                       a GPU that somebody else has too
judge.py holders DIR   the agents' metric gpu_scheduler_holder names each running container of our pods with each of its GPUs,
                       and no container of theirs twice

DIR holds, as files:
  objects.json     pods and leases, as `kubectl get -o json` prints them; ours have the label of=ours
  logs             `kubectl logs --prefix` of what `seen` (enforcement.sh) printed in each container
  devices-NODE     a UUID and a minor number a line; the minor is the GPU's id
  listed-NODE      what the kubelet gave by its own books (PodResources), a JSON object a line
  metrics-NODE     what the node's agent serves at /metrics
Prints each mistake on a line of its own, nothing when there is none; `seen` writes figures into DIR/figures.
"""

import collections
import json
import pathlib
import re
import sys

PREFIX = re.compile(r"^\[pod/([^/]+)/([^\]]+)\] (\S+) (\S+) (\S+) (\S+)$")
LEASE = re.compile(r"^gpu-(?P<node>.+)-(?P<id>\d+)$")
HOLDER = re.compile(r"^gpu_scheduler_holder\{(?P<labels>.*)\} 1$")
LABEL = re.compile(r'(\w+)="([^"]*)"')
RESOURCE = "nvidia.com/gpu"


class Seen:
    """What a container said of itself."""

    def __init__(self, nodes, mounts, cuda, nvidia):
        self.nodes, self.mounts = words(nodes), words(mounts)
        self.cuda, self.nvidia = cuda, nvidia


def words(text):
    return [] if text == "-" else text.split(",")


def of_all_nodes(folder, what):
    return {path.name[len(what) + 1:]: path.read_text() for path in sorted(folder.glob(what + "-*"))}


class Wave:
    """The pods of a moment, and all that is said of them."""

    def __init__(self, folder):
        items = json.loads((folder / "objects.json").read_text())["items"]
        self.pods = {item["metadata"]["name"]: item for item in items if item["kind"] == "Pod"}
        self.leases = [item for item in items if item["kind"] == "Lease"]
        self.uuids = {node: [line.split() for line in text.splitlines()]
                      for node, text in of_all_nodes(folder, "devices").items()}
        self.uuids = {node: {int(minor): uuid for uuid, minor in pairs} for node, pairs in self.uuids.items()}
        self.seen = collections.defaultdict(dict)
        for line in (folder / "logs").read_text().splitlines():
            found = PREFIX.match(line)
            if not found:
                raise ValueError(f"a line of the logs that no container should have printed: {line}")
            self.seen[found[1]][found[2]] = Seen(*found.groups()[2:])
        self.listed = collections.defaultdict(set)
        for text in of_all_nodes(folder, "listed").values():
            for one in map(json.loads, text.splitlines()):
                if one["driver"] == RESOURCE:
                    self.listed[one["pod"]].add(one["device"])
        self.holders = [dict(LABEL.findall(found["labels"])) for text in of_all_nodes(folder, "metrics").values()
                        for found in map(HOLDER.match, text.splitlines()) if found]

    def ours(self):
        return {name: pod for name, pod in self.pods.items() if pod["metadata"].get("labels", {}).get("of") == "ours"}

    def theirs(self):
        return {name: pod for name, pod in self.pods.items() if pod["metadata"].get("labels", {}).get("of") == "theirs"}

    def chosen(self, pod):
        """Node and ids of its annotation."""
        node, ids = pod["metadata"].get("annotations", {}).get("gpu.scheduling/allocated", ":").split(":")
        return node, sorted(int(one) for one in ids.split(",") if one)

    def leased(self, pod):
        """The same, of the leases that name its uid."""
        found = [LEASE.match(lease["metadata"]["name"]) for lease in self.leases
                 if lease["spec"].get("holderIdentity") == pod["metadata"]["uid"]]
        nodes = {one["node"] for one in found if one}
        return ",".join(sorted(nodes)), sorted(int(one["id"]) for one in found if one)

    def uuids_of(self, node, ids):
        return [self.uuids[node][one] for one in ids]

    def ids_of(self, node, uuids):
        return {minor for minor, uuid in self.uuids[node].items() if uuid in uuids}


def containers_of(pod, with_ended=True):
    """Names of those that run, sidecars among them, and of init containers, which ran."""
    early = pod["spec"].get("initContainers", [])
    if not with_ended:
        early = [one for one in early if one.get("restartPolicy") == "Always"]
    return [one["name"] for one in early + pod["spec"]["containers"]]


def limits_of(pod):
    return sum(int(one.get("resources", {}).get("limits", {}).get(RESOURCE, 0)) for one in pod["spec"]["containers"])


def mistakes_of_ours(wave, name, pod):
    node, ids = wave.chosen(pod)
    if node != pod["spec"].get("nodeName") or not ids:
        yield f"{name}: it is on {pod['spec'].get('nodeName')}, and chosen was {node}:{ids}"
        return
    if wave.leased(pod) != (node, ids):
        yield f"{name}: chosen was {node}:{ids}, and its leases are {wave.leased(pod)}"
    uuids = ",".join(wave.uuids_of(node, ids))
    numbers = ",".join(str(i) for i in range(len(ids)))
    for container in containers_of(pod):
        seen = wave.seen[name].get(container)
        if seen is None:
            yield f"{name}/{container}: it said nothing"
            continue
        where = f"{name}/{container}: chosen was {node}:{ids}, and"
        if seen.nodes != [str(one) for one in ids]:
            yield f"{where} it sees /dev/nvidia{seen.nodes}"
        if seen.mounts:
            yield f"{where} it has the device plugin's mounts {seen.mounts}"
        if seen.cuda not in (uuids, numbers):
            yield f"{where} CUDA_VISIBLE_DEVICES is {seen.cuda}"
        if seen.nvidia not in (uuids, "void", "none"):
            yield f"{where} NVIDIA_VISIBLE_DEVICES is {seen.nvidia}"


def has(wave, node, seen):
    """The ids that a container of others has, or is told: who runs it by NVIDIA's runtime would have them all."""
    named = set(seen.mounts) | set(seen.nvidia.split(","))
    return {int(one) for one in seen.nodes} | wave.ids_of(node, named)


def mistakes_of_theirs(wave, name, pod):
    node, asked = pod["spec"].get("nodeName"), limits_of(pod)
    for container in containers_of(pod):
        seen = wave.seen[name].get(container)
        if seen is None:
            yield f"{name}/{container}: it said nothing"
            continue
        ids = has(wave, node, seen)
        if len(ids) != asked:
            yield f"{name}/{container}: it asked for {asked} GPUs, and has {sorted(ids)}"
        if seen.nvidia == "all":
            yield f"{name}/{container}: NVIDIA_VISIBLE_DEVICES is still all"


def mistakes_of_all(wave):
    """Pods that have the same GPU."""
    users = collections.defaultdict(set)
    for name, pod in wave.pods.items():
        for seen in wave.seen[name].values():
            for one in has(wave, pod["spec"].get("nodeName"), seen):
                users[pod["spec"].get("nodeName"), one].add(name)
    for (node, one), names in sorted(users.items()):
        if len(names) > 1:
            yield f"GPU {one} of {node} is had by {', '.join(sorted(names))}"


def seen(wave, figures):
    for name, pod in wave.ours().items():
        yield from mistakes_of_ours(wave, name, pod)
    for name, pod in wave.theirs().items():
        yield from mistakes_of_theirs(wave, name, pod)
    yield from mistakes_of_all(wave)
    figures["containers"] = sum(len(one) for one in wave.seen.values())
    figures["pods"] = len(wave.ours())
    figures["picked_others"] = sum(1 for name, pod in wave.ours().items()
                                   if wave.listed[name] != set(wave.uuids_of(*wave.chosen(pod))))
    figures["moved"] = sum(1 for name, pod in wave.theirs().items() for one in wave.seen[name].values()
                           if has(wave, pod["spec"]["nodeName"], one) != wave.ids_of(pod["spec"]["nodeName"], wave.listed[name]))


def holders(wave, _figures):
    said = collections.Counter((one.get("pod"), one.get("container"), one.get("gpu_uuid")) for one in wave.holders)
    for what, times in said.items():
        if times > 1:
            yield f"{what} is said {times} times"
    wanted = {(name, container, uuid) for name, pod in wave.ours().items()
              for uuid in wave.uuids_of(*wave.chosen(pod)) for container in containers_of(pod, with_ended=False)}
    ours = {what for what in said if what[0] in wave.ours()}
    for what in sorted(wanted - ours):
        yield f"{what} is not said"
    for what in sorted(ours - wanted):
        yield f"{what} is said, and is not so"


def main():
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    figures = {}
    for mistake in {"seen": seen, "holders": holders}[command](Wave(folder), figures):
        print(mistake)
    if figures:
        (folder / "figures").write_text(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
