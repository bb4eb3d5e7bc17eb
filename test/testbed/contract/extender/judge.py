#!/usr/bin/env python3
"""Watches what an extender does, and judges it by a model of its own that reads nothing but the API.

judge.py watch API FILE        writes every version of every pod into FILE, as watches bring them, until it is told to end
judge.py check API FILE        judges the pods of FILE against the nodes and quotas that API has now
API is the URL of `kubectl proxy`.

The model. A decision is a pod's node and device ids, when its annotations show them first; its time is the predicate-time
that they have then. (The same node and ids with a later time are no decision: a new process wrote them again.) Decisions
are taken one after the other, in the order of their times. A pod holds what was decided for it from then on. No pod may end.
What is checked, of each decision, with what the earlier ones hold:
 - quota: the namespace may have that many more cores of that model, in that pool
 - devices: container by container the tightest device with room, or the tightest untouched ones; exactly these ids
 - node: of those that fit and where the choice is certain the tightest (free cores, free memory, name). Certain means, by the
   rule of sched/ledger/shares.h, written again here: whatever pods of the node the kubelet has taken so far. Which ones the extender
   knew to be taken is not seen from outside: those that the watch had brought by some moment, which lies between
   KNOWN seconds before the decision and the write of the annotations. One such moment must explain the choice
 - gpu-manager, which picks the devices of shares itself, by the same rule, when the kubelet takes a pod: in the order
   in which pods were really taken, and in 100 others in which they might have been (a pod that was taken before
   another one was decided comes first), each share gets the device that its annotation says
And of the end: no device holds more than it has, a bound pod is bound to the node of its annotations, all times differ, and
no pod that waits would fit anywhere.
"""

import bisect
import collections
import itertools
import json
import random
import signal
import sys
import time

from api import CORE, MEMORY, Api, Wrong, amount, limits_of, note_of
from watcher import Watcher

KNOWN = 2.0
ORDERS = 100
QUOTA_MAP = "/api/v1/namespaces/kube-system/configmaps/gpuquota"
MODEL, POOL = "gaia.tencent.com/gpu-model", "gaia.tencent.com/gpu-pool"


class NotYet(Exception):
    """What its scheduler may still do."""


# ---- The watch

def seen(pod, kind):
    status = pod.get("status") or {}
    note = note_of(pod)
    return {"at": time.time(), "type": kind, "uid": pod["metadata"]["uid"],
            "name": pod["metadata"]["namespace"] + "/" + pod["metadata"]["name"],
            "limits": limits_of(pod), "selector": pod["spec"].get("nodeSelector") or {},
            "bound": pod["spec"].get("nodeName", ""), "taken": bool(status.get("startTime")),
            "ended": kind == "DELETED" or status.get("phase") in ("Succeeded", "Failed"), "note": note}


def watch(url, path):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(path, "w", encoding="utf-8") as out:
        Watcher(url, lambda pod, kind: print(json.dumps(seen(pod, kind)), file=out, flush=True)).follow()


# ---- The model

class Node:
    """Devices as [free cores, free memory], by id."""

    def __init__(self, node):
        capacity = node["status"]["capacity"]
        self.name = node["metadata"]["name"]
        self.labels = node["metadata"].get("labels") or {}
        count = amount(capacity.get(CORE, "0")) // 100
        self.memory = amount(capacity.get(MEMORY, "0")) // count if count else 0
        self.free = [[100, self.memory] for _ in range(count)]

    def order(self):
        return sum(d[0] for d in self.free), sum(d[1] for d in self.free), self.name


def wants(cores, memory):
    return cores >= 100 or (cores > 0 and memory > 0)


def pick(free, limits):
    """{container: [ids]} by wire rule A4, or None. `free` is changed as far as it went."""
    picked = {}
    for i, (cores, memory) in enumerate(limits):
        if not wants(cores, memory):
            continue
        order = sorted(range(len(free)), key=lambda d: (free[d][0], free[d][1], d))
        if cores >= 100:
            ids = [d for d in order if free[d][0] == 100][:cores // 100]
            if len(ids) < cores // 100:
                return None
            for d in ids:
                free[d][:] = [0, 0]
        else:
            ids = [d for d in order if free[d][0] >= cores and free[d][1] >= memory][:1]
            if not ids:
                return None
            free[ids[0]][0] -= cores
            free[ids[0]][1] -= memory
        picked[i] = ids
    return picked


def copy(free):
    return [list(d) for d in free]


class Pod:
    def __init__(self, line):
        self.uid, self.name, self.limits = line["uid"], line["name"], [tuple(l) for l in line["limits"]]
        self.namespace = self.name.split("/")[0]
        self.selector = line["selector"]
        self.cores = sum(c for c, _ in self.limits)
        self.decided_at = None    # line
        self.node, self.ids, self.time = None, {}, 0
        self.bound, self.taken_at = "", None
        self.rewritten = 0

    def wants(self):
        return wants(self.cores, sum(m for _, m in self.limits))

    def see(self, number, line):
        if line["ended"]:
            raise Wrong(f"pod {self.name} ended; this model is for pods that run on")
        note = line["note"]
        if note is None:
            if self.node is not None:
                raise Wrong(f"pod {self.name} lost its annotations")
            return
        node, ids, at = note[0], {int(i): [int(x) for x in text.split(",")] for i, text in note[1].items()}, note[2]
        if self.node is None:
            self.decided_at, self.node, self.ids, self.time = number, node, ids, at
        elif (node, ids) != (self.node, self.ids):
            raise Wrong(f"pod {self.name} was moved from {self.node} {self.ids} to {node} {ids}, and nothing called for it")
        elif at != self.time:
            self.rewritten += 1
        self.last_time = at
        if line["bound"]:
            if line["bound"] != node:
                raise Wrong(f"pod {self.name} is bound to {line['bound']}, its annotations say {node}")
            self.bound = line["bound"]
        if line["taken"] and self.taken_at is None:
            self.taken_at = number


class Quotas:
    def __init__(self, table):
        self.table = table

    def allows(self, pod, node, use):
        quota = self.table.get(pod.namespace)
        if quota is None:
            return True
        model, pools = node.labels.get(MODEL), quota.get("pool") or []
        if model not in quota["quota"] or use[pod.namespace, model] + pod.cores > 100 * quota["quota"][model]:
            return False
        return not pools or node.labels.get(POOL) in pools


def fits(pod, node, quotas, use):
    if any(node.labels.get(k) != v for k, v in pod.selector.items()):
        return None
    return pick(copy(node.free), pod.limits) if node.free and quotas.allows(pod, node, use) else None


def shape(limits):
    """What the kubelet says of a pod: the cores of each of its containers, in their order."""
    return [cores // 100 * 100 if cores >= 100 else cores for cores, memory in limits if wants(cores, memory)]


def mixed_up(a, b):
    """gpu-manager may give one's container to the other, and leave a pod of several half done."""
    return (len(a) > 1 or len(b) > 1) and a != b and bool(set(a) & set(b))


def certain(node, limits, picked, flights):
    """Whether gpu-manager comes to `picked`, and to what those on their way were promised, in whatever order it gets them."""
    settled = copy(node.free)
    ways = [[] for _ in settled]  # by device: the shares on their way, one for each pod
    shares, whole = [], 0

    def put(pod_limits, ids, give_back):
        amounts = collections.defaultdict(lambda: [0, 0])
        for i, devices in ids.items():
            cores, memory = pod_limits[i]
            for d in devices:
                if cores >= 100:
                    if give_back:
                        settled[d][:] = [100, node.memory]
                    continue
                shares.append((cores, memory, d))
                amounts[d][0] += cores
                amounts[d][1] += memory
        for d, (cores, memory) in amounts.items():
            ways[d].append((cores, memory))
            if give_back:
                settled[d][0] += cores
                settled[d][1] += memory

    def may_be_preferred(device, d, cores, memory, chosen, chosen_id):
        if len(ways[d]) > 8:
            return True
        for landed in itertools.product((False, True), repeat=len(ways[d])):
            left = [device[k] - sum(w[k] for w, there in zip(ways[d], landed) if there) for k in (0, 1)]
            if left[0] >= cores and left[1] >= memory and (max(left[0], 0), max(left[1], 0), d) < (*chosen, chosen_id):
                return True
        return False

    for pod in flights:
        put(pod.limits, pod.ids, True)
        whole += sum(c // 100 for c, _ in pod.limits)
    if not shares and whole == 0:
        return True
    if any(mixed_up(shape(limits), shape(pod.limits)) for pod in flights):
        return False
    own_whole = sum(c // 100 for c, _ in limits)
    if whole + own_whole > sum(d[0] == 100 for d in settled):
        return False
    devices = copy(settled)
    for i, ids in picked.items():
        cores, memory = limits[i]
        if cores >= 100:
            continue
        chosen = devices[ids[0]]
        if whole and chosen[0] == 100:
            return False
        if any(may_be_preferred(devices[d], d, cores, memory, chosen, ids[0]) for d in range(len(devices)) if d != ids[0]):
            return False
        chosen[0] -= cores
        chosen[1] -= memory
    if own_whole and any(settled[d][0] == 100 for _, _, d in shares):
        return False
    others = list(shares)
    put(limits, picked, False)
    own = {ids[0] for i, ids in picked.items() if limits[i][0] < 100}
    return not any(may_be_preferred(settled[d], d, cores, memory, settled[at], at)
                   for d in own for cores, memory, at in others if at != d)


def explained(lines_at, earlier, pod, fitting):
    """Some moment at which the pod's node was the first of those that fit where the choice is certain. `fitting`: tightest
    first, up to the pod's own."""
    names = {node.name for node, _ in fitting}
    oldest = bisect.bisect_left(lines_at, pod.time / 1e9 - KNOWN)
    here = [p for p in earlier if p.node in names]
    news = {p.taken_at for p in here if p.taken_at is not None and oldest <= p.taken_at < pod.decided_at}
    moments = sorted({pod.decided_at, oldest} | news, reverse=True)
    for moment in moments:
        for node, picked in fitting:
            flights = [p for p in here if p.node == node.name and (p.taken_at is None or p.taken_at >= moment)]
            if certain(node, pod.limits, picked, flights):
                if node.name == pod.node:
                    return True
                break
    return False


def replay(nodes, pods, orders, rng):
    """gpu-manager of each node, in the order in which pods were taken and in others."""
    for node in nodes:
        here = [p for p in pods if p.node == node.name]
        for attempt in range(orders + 1):
            free, waiting = [[100, node.memory] for _ in node.free], sorted(here, key=lambda p: (p.taken_at is None, p.taken_at))
            while waiting:
                first = waiting[0]
                if attempt > 0:  # whoever was decided before any of those that wait was taken
                    bar = min((p.taken_at for p in waiting if p.taken_at is not None), default=float("inf"))
                    first = rng.choice([p for p in waiting if p.decided_at < bar])
                waiting.remove(first)
                for i, (cores, memory) in enumerate(first.limits):
                    if not wants(cores, memory):
                        continue
                    if cores >= 100:
                        if any(free[d][0] != 100 for d in first.ids[i]):
                            raise Wrong(f"pod {first.name} finds its devices {first.ids[i]} of {node.name} in use")
                        for d in first.ids[i]:
                            free[d][:] = [0, 0]
                        continue
                    got = pick(free, [(cores, memory)])
                    if got is None or got[0] != first.ids[i]:
                        raise Wrong(f"gpu-manager of {node.name} gives container {i} of pod {first.name} {got and got[0]}, its "
                                    f"annotation says {first.ids[i]}; taken as {'really' if attempt == 0 else 'possibly'} happened")


def judge_end(nodes, pods, quotas, use):
    by_name = {n.name: n for n in nodes}
    held = collections.defaultdict(lambda: [0, 0])
    for pod in (p for p in pods if p.node):
        for i, ids in pod.ids.items():
            cores, memory = pod.limits[i]
            for d in ids:
                held[pod.node, d][0] += min(cores, 100)
                held[pod.node, d][1] += by_name[pod.node].memory if cores >= 100 else memory
    for (node, d), (cores, memory) in held.items():
        if cores > 100 or memory > by_name[node].memory:
            raise Wrong(f"device {d} of {node} holds {cores} cores and {memory} memory")
    times = collections.Counter(p.last_time for p in pods if p.node)
    if any(n > 1 for n in times.values()):
        raise Wrong(f"the same predicate-time twice: {times.most_common(1)}")
    for pod in pods:
        if pod.node and not pod.bound:
            raise NotYet(f"pod {pod.name} was given {pod.node} and is not bound")
        where = [n.name for n in nodes if not pod.node and fits(pod, n, quotas, use) is not None]
        if where:
            raise NotYet(f"pod {pod.name} {pod.limits} waits and would fit {where[0]}")


def check(api, path):
    nodes = sorted((Node(n) for n in api.get("/api/v1/nodes")["items"]), key=lambda n: n.name)
    table = api.call("GET", QUOTA_MAP, may_be=(404,)).get("data")
    quotas = Quotas(json.loads(table["gpu_quota"]) if table else {})
    pods, lines_at = {}, []
    with open(path, encoding="utf-8") as lines:
        for number, text in enumerate(lines):
            line = json.loads(text)
            lines_at.append(line["at"])
            pods.setdefault(line["uid"], Pod(line)).see(number, line)
    pods = [p for p in pods.values() if p.wants()]
    decided = sorted((p for p in pods if p.node), key=lambda p: p.time)
    by_name, use, passed_over = {n.name: n for n in nodes}, collections.Counter(), 0
    for number, pod in enumerate(decided):
        node = by_name[pod.node]
        wanted = fits(pod, node, quotas, use)
        if wanted != pod.ids:
            raise Wrong(f"pod {pod.name} {pod.limits} got {pod.node} {pod.ids}; the model says {wanted}; free were {node.free}")
        fitting = sorted(((n, fits(pod, n, quotas, use)) for n in nodes if n.order() <= node.order()), key=lambda f: f[0].order())
        fitting = [(n, picked) for n, picked in fitting if picked is not None]
        if not explained(lines_at, decided[:number], pod, fitting):
            tighter = [(n.name, n.free) for n, _ in fitting[:-1]]
            raise Wrong(f"pod {pod.name} {pod.limits} got {node.name} {node.free}, at no moment the first that fits and is "
                        f"certain; tighter are {tighter}")
        passed_over += len(fitting) > 1
        pick(node.free, pod.limits)
        use[pod.namespace, node.labels.get(MODEL)] += pod.cores
    replay(nodes, decided, ORDERS, random.Random(1))
    judge_end(nodes, pods, quotas, use)
    print(f"{len(decided)} pods placed as the model does, {len(pods) - len(decided)} wait; {passed_over} went past a tighter "
          f"node where pods were not taken yet; annotations of {sum(p.rewritten > 0 for p in decided)} were written again")


def main():
    what, url, *rest = sys.argv[1:]
    if what == "watch":
        watch(url, rest[0])
    else:
        check(Api(url), rest[0])


if __name__ == "__main__":
    try:
        main()
    except NotYet as wait:
        sys.exit(f"not yet: {wait}")
    except Wrong as wrong:
        sys.exit(f"judge: {wrong}")
