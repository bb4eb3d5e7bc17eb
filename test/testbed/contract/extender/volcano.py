#!/usr/bin/env python3
"""Older Volcanos: the sessions of 1.7, 1.8.2, 1.10 and 1.14 with their plugin `extender`, the bodies that each sends, and how its
Go code reads the answers. (That of August 2026 was recorded: recorded.py.)

volcano.py TABLE API EXTENDER LEDGER      TABLE: a function of this file; else as protocol.py

What comes of a session is judged by what the API has: bound pods are on the node of their annotations, no device is given
twice. And by what must hold within one: a Volcano that has no allocateFunc binds to any node that was called fit, so at most
one may be, and the annotations name it before it is called so.
"""

import collections
import concurrent.futures
import http.client
import json
import queue
import random
import sys
import time

from api import CORE, MEMORY, Client, Wrong, amount, expect, limits_of, until
from protocol import World, uid

WORKERS = 16  # of workqueue.ParallelizeUntil in PredicateNodes
HELD = 5.0  # seconds for which another node is not offered to a pod
PENDING, ALLOCATED, RUNNING = 1, 2, 32


# ---- What each version is

class Version:
    def __init__(self, name):
        self.name, self.minor = name, int(name.split(".")[1])
        self.dialect = "1.7" if self.minor < 8 else "1.8" if self.minor < 10 else "1.10"
        self.allocates = self.minor >= 13  # allocateFunc, deallocateFunc, managedResources

    def read_predicate(self, status, text):
        """The Answer that it makes of a reply to a predicate."""
        try:
            if self.minor < 8:
                error = go_decode(status, text, {"errorMessage": str})["errorMessage"]
                return Answer("unfit", None, error) if error else FIT
            if self.minor < 10:
                found = [go_struct(s, {"Code": int, "Reason": str}) for s in go_decode(status, text, {"status": list})["status"] or []]
                bad = [s for s in found if s["Code"] in (1, 2, 3, 4, 5)]
                return Answer("unfit", max(s["Code"] for s in bad), bad[0]["Reason"]) if bad else FIT
            reply = go_decode(status, text, {"status": str, "code": int})
            return Answer("unfit", reply["code"] or 1, reply["status"]) if reply["status"] else FIT
        except Failure as failure:
            return Answer("error", 1, str(failure))

    def caches_refusals(self, role):
        """What a node was refused for is taken for granted for the other pods of the job with this role: in one session."""
        return self.minor < 10 or bool(role)

    def verb(self, verb):
        return "reclaimable" if self.minor <= 7 and verb in ("jobEnqueueable", "queueOverused") else verb  # its bug

    def __str__(self):
        return self.name


V1_7, V1_8, V1_10, V1_14 = VERSIONS = [Version(name) for name in ("1.7", "1.8.2", "1.10", "1.14")]


class Answer(collections.namedtuple("Answer", "word code reason")):
    """fit, unfit with a code where the version has codes, or error: of the extender, by which a node is unfit too, unless `ignorable`."""

    def fits(self, ignorable=False):
        return self.word == "fit" or (self.word == "error" and ignorable)

    def preempts(self):
        """Is the node one where victims might help?"""
        return self.word == "unfit" and self.code == 2

    def __str__(self):
        return self.word if self.code is None or self.word == "error" else f"{self.word} {self.code}"


FIT = Answer("fit", None, "")


class Failure(Exception):
    """What the plugin's send() returns as an error."""


def go_decode(status, text, fields):
    """What json.NewDecoder(body).Decode leaves in a struct of these fields."""
    if status != 200:
        raise Failure(f"failed with extender, code {status}")

    def no_constant(name):
        raise ValueError(name)
    try:
        value, _ = json.JSONDecoder(parse_constant=no_constant).raw_decode(text.lstrip())  # what follows is not read
    except ValueError as error:
        raise Failure(f"EOF: {error}" if not text.strip() else str(error)) from error
    return go_struct(value, fields)


def go_struct(value, fields):
    """Keys in any case, unknown ones passed over, null as if it were not there; another type is an error."""
    out = {name: {str: "", int: 0, bool: False}.get(kind) for name, kind in fields.items()}
    if value is not None and not isinstance(value, dict):
        raise Failure(f"cannot unmarshal {value!r} into Go struct")
    for key, inner in (value or {}).items():
        name = next((f for f in fields if f.lower() == key.lower()), None)
        if name is None or inner is None:
            continue
        is_kind = isinstance(inner, (int, float)) if fields[name] is float else isinstance(inner, fields[name])
        if not is_kind or (fields[name] is int and isinstance(inner, bool)):
            raise Failure(f"cannot unmarshal {inner!r} into Go struct field {name}")
        out[name] = inner
    return out


# ---- What it sends: Go's names of fields, most of which nobody here reads

def resource(cores=0, memory=0, pods=0, tasks=0):
    scalars = {k: v for k, v in (("pods", pods), (CORE, 1000 * cores), (MEMORY, 1000 * memory)) if v}
    return {"MilliCPU": 0, "Memory": 0, "ScalarResources": scalars or None, "MaxTaskNum": tasks}


def total(pod):
    return tuple(map(sum, zip(*limits_of(pod))))


def task_info(version, pod, job, node="", status=PENDING):
    if node:
        pod = {**pod, "spec": {**pod["spec"], "nodeName": node}}
    info = {"UID": uid(pod), "Job": f"{pod['metadata']['namespace']}/{job}", "Name": pod["metadata"]["name"],
            "Namespace": pod["metadata"]["namespace"], "Resreq": resource(*total(pod), pods=1),
            "InitResreq": resource(*total(pod), pods=1), "NodeName": node, "Status": status, "LastTransaction": None, "Priority": 1,
            "VolumeReady": False, "Preemptable": False, "BestEffort": not any(total(pod)), "RevocableZone": "",
            "NumaInfo": {"Policy": "", "ResMap": {}}, "Pod": pod, "CustomBindErrHandlerSucceeded": False}
    if version.minor >= 10:
        info |= {"EvictionOccurred": False, "HasRestartableInitContainer": False, "SchGated": False}
    return info | ({"JobAllocatedHyperNode": ""} if version.minor >= 12 else {"PodVolumes": None})


def node_info(version, node, tasks, idle):
    capacity = tuple(amount(node["status"]["capacity"].get(k, "0")) for k in (CORE, MEMORY))
    used = resource(capacity[0] - idle[0], capacity[1] - idle[1], tasks=len(tasks))
    whole = resource(*capacity, tasks=110)
    info = {"Name": node["metadata"]["name"], "Node": node, "State": {"Phase": 1, "Reason": ""}, "Releasing": resource(),
            "Pipelined": resource(), "Idle": resource(*idle, tasks=110 - len(tasks)), "Used": used, "Allocatable": whole, "Capacity": whole,
            "ResourceUsage": {"MetricsTime": "0001-01-01T00:00:00Z", "CPUUsageAvg": {}, "MEMUsageAvg": {}},
            "Tasks": {t["UID"]: t for t in tasks}, "NumaInfo": None, "NumaChgFlag": 0, "NumaSchedulerInfo": None, "RevocableZone": "",
            "Others": {"GpuShare": None, "hamivgpu": None}, "OversubscriptionNode": False, "OfflineJobEvicting": False,
            "OversubscriptionResource": resource(), "ImageStates": {}}
    return info | ({"Generation": 0, "BindGeneration": 0} if version.minor >= 14 else {})


def job_info(version, job, tasks):
    spelling = "MaxUnavailable" if version.minor >= 10 else "MaxUnavilable"
    return {"UID": f"default/{job.name}", "Name": job.name, "Namespace": "default", "Queue": "default", "Priority": 1,
            "MinAvailable": job.min_available, "WaitingTime": None, "JobFitErrors": "", "NodesFitErrors": {t["UID"]: {} for t in tasks},
            "TaskStatusIndex": {str(PENDING): {t["UID"]: t for t in tasks}}, "Tasks": {t["UID"]: t for t in tasks},
            "TaskMinAvailable": {job.role: job.min_available}, "Allocated": resource(), "TotalRequest": resource(),
            "CreationTimestamp": "2025-06-01T10:00:00Z", "ScheduleStartTimestamp": "0001-01-01T00:00:00Z", "Preemptable": False,
            "RevocableZone": "", "Budget": {"MinAvailable": "", spelling: ""},
            "PodGroup": {"metadata": {"name": job.name, "namespace": "default"}, "Version": "v1beta1",
                         "spec": {"minMember": job.min_available, "queue": "default"}, "status": {"phase": "Inqueue"}}}


QUEUE = {"UID": "default", "Name": "default", "Weight": 1, "Weights": "", "Hierarchy": "",
         "Queue": {"metadata": {"name": "default"}, "spec": {"weight": 1}, "status": {"state": "Open"}}}


# ---- Its sessions

class Job:
    """Pods of one task (`role`; "" for pods that no Volcano Job made), of which min_available are bound together or none."""

    def __init__(self, name, pods, min_available=1, role="worker"):
        self.name, self.pods, self.min_available, self.role = name, pods, min_available, role


class Volcano:
    def __init__(self, world, version, path=None, guide=False):
        """path: None for that of its version. guide: with the guide's arguments, which name the verb of the predicate only."""
        self.w, self.v, self.guide = world, version, guide
        self.allocates = version.allocates and not guide
        self.path = f"volcano-1.{version.minor}/" if path is None else path
        self.rng = random.Random(version.name)
        self.clients = queue.Queue()
        for _ in range(WORKERS):
            client = Client("http://" + world.extender.address)
            client.connection.timeout = 5  # extender.httpTimeout
            self.clients.put(client)

    def __str__(self):
        return f"Volcano {self.v} at /{self.path}"

    def send(self, verb, body):
        """(status, text); what the connection's errors are to a caller is a status too: 0."""
        client = self.clients.get()
        try:
            return client.request("POST", f"/scheduler/{self.path}{self.v.verb(verb)}", body)
        except (http.client.HTTPException, OSError) as error:
            return 0, repr(error)
        finally:
            self.clients.put(client)

    def ask(self, verb, body, fields):
        if self.guide:
            return None
        try:
            return go_decode(*self.send(verb, body), fields)
        except Failure as failure:
            raise Wrong(f"{self}: {verb}: {failure}") from failure

    def session(self, *jobs, nodes=None, workers=WORKERS):
        """{pod: node} of those that were bound. nodes: those that other plugins leave, in the order in which they are asked about."""
        self.look(nodes)
        tasks = {j: [self.task(p, j) for p in self.pending(j)] for j in jobs}
        infos = {n: self.info(n) for n in self.order}
        self.ask("onSessionOpen", {"Jobs": {j.name: job_info(self.v, j, t) for j, t in tasks.items()}, "Nodes": infos,
                                   "Queues": {"default": QUEUE}, "NamespaceInfo": {}, "RevocableNodes": {}, "NodeList": None}, {})
        bound = {}
        for job in jobs:
            enqueue = self.ask("jobEnqueueable", {"job": job_info(self.v, job, tasks[job])}, {"status": int}) or {"status": 0}
            overused = self.ask("queueOverused", {"queue": QUEUE}, {"overused": bool}) or {"overused": False}
            expect(f"{self}: votes on job {job.name}", (0, False), (enqueue["status"], overused["overused"]))
            bound |= self.allocate(job, workers)
        self.ask("onSessionClose", {}, {})
        for job in jobs:
            for pod in self.pending(job):
                self.tell_unschedulable(pod, bound)
        return bound

    def look(self, nodes):
        """The snapshot: the same pods and nodes until the session ends."""
        listed = {n["metadata"]["name"]: n for n in self.w.api.get("/api/v1/nodes")["items"]}
        self.order = [n for n in nodes or sorted(listed) if n in listed]
        self.nodes = listed
        self.pods = {p["metadata"]["name"]: p for p in self.w.api.get("/api/v1/pods")["items"]}
        self.idle = {n: [amount(o["status"]["capacity"].get(k, "0")) for k in (CORE, MEMORY)] for n, o in listed.items()}
        self.there = collections.defaultdict(list)
        for pod in self.pods.values():
            node = pod["spec"].get("nodeName")
            if node:
                self.there[node].append(task_info(self.v, pod, "other", node, RUNNING))
                self.take(pod, node)

    def take(self, pod, node, sign=-1):
        for i, used in enumerate(total(pod)):
            self.idle[node][i] += sign * used

    def pending(self, job):
        return [self.pods[p] for p in job.pods if p in self.pods and not self.pods[p]["spec"].get("nodeName")]

    def task(self, pod, job, node="", status=PENDING):
        return task_info(self.v, pod, job.name, node, status)

    def info(self, node):
        return node_info(self.v, self.nodes[node], self.there[node], self.idle[node])

    def interested(self, pod):
        return not self.allocates or any(total(pod))  # managedResources

    def allocate(self, job, workers):
        refused, given, before = {}, [], len(job.pods) - len(self.pending(job))
        for pod in self.pending(job):
            fitting = self.fitting(pod, job, refused, workers)
            if not fitting:
                break
            node = self.best(pod, job, fitting)
            if self.allocates and self.interested(pod):
                said = self.ask("allocateFunc", {"task": self.task(pod, job, node, ALLOCATED)}, {"errorMessage": str})
                if said["errorMessage"]:
                    continue
            self.take(pod, node)
            given.append((pod, node))
        ready = self.ask("jobReady", {"job": job_info(self.v, job, [self.task(p, job, n) for p, n in given])}, {"status": bool})
        expect(f"{self}: ready as far as the extender knows", True, ready is None or ready["status"])
        if before + len(given) >= job.min_available:
            for pod, node in given:
                self.w.api.bind(pod["metadata"]["name"], node)
            return {p["metadata"]["name"]: n for p, n in given}
        for pod, node in given:
            self.take(pod, node, +1)
            if self.allocates and self.interested(pod):
                said = self.ask("deallocateFunc", {"task": self.task(pod, job, node)}, {"errorMessage": str})
                expect(f"{self}: deallocateFunc", {"errorMessage": ""}, said)
        return {}

    def predicate(self, pod, job, node):
        return self.v.read_predicate(*self.send("vpredicates", {"task": self.task(pod, job), "node": self.info(node)}))

    def fitting(self, pod, job, refused, workers):
        """PredicateNodes: enough resources, then what the extender says of all at once."""
        want, cached = total(pod), self.v.caches_refusals(job.role)
        asked = [n for n in self.order if all(i >= w for i, w in zip(self.idle[n], want)) and not (cached and n in refused)]
        if not self.interested(pod):
            return asked
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            answers = dict(zip(asked, pool.map(lambda n: self.predicate(pod, job, n), asked)))
        fitting = [n for n, a in answers.items() if a.fits()]
        refused |= {n: a for n, a in answers.items() if not a.fits()}
        self.check(pod, answers, fitting)
        return fitting

    def check(self, pod, answers, fitting):
        """Before anything is bound."""
        name = pod["metadata"]["name"]
        broken = {n: a.reason for n, a in answers.items() if a.word == "error" and self.path}
        if broken:
            raise Wrong(f"{self}: pod {name}: answers that it cannot read: {broken}")
        if not any(total(pod)) or (self.v.allocates and self.path):
            return
        note = self.w.note(pod)
        if len(fitting) > 1:
            raise Wrong(f"{self}: pod {name} was called fit for {len(fitting)} nodes in one session: {', '.join(fitting)}; "
                        f"it may be bound to any of them, its annotations name {note and note[0]}")
        if fitting:
            expect(f"{self}: the annotations of pod {name} when it was called fit for {fitting[0]}", fitting[0], note and note[0])

    def best(self, pod, job, fitting):
        if len(fitting) == 1 or self.guide or not self.interested(pod):
            return self.rng.choice(fitting)
        reply = self.ask("prioritize", {"task": self.task(pod, job), "nodes": [self.info(n) for n in fitting]},
                         {"nodeScore": dict, "errorMessage": str})
        if reply["errorMessage"] or reply["nodeScore"] is None:
            raise Wrong(f"{self}: prioritize: {reply}")
        scores = {n: float(reply["nodeScore"].get(n, 0)) for n in fitting}
        return self.rng.choice([n for n in fitting if scores[n] == max(scores.values())])

    def tell_unschedulable(self, pod, bound):
        """Its condition, by the copy of the pod that the session had: refused if the pod has changed since."""
        meta, status = pod["metadata"], pod.get("status") or {}
        if meta["name"] in bound or any(c.get("reason") == "Unschedulable" for c in status.get("conditions") or []):
            return
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "not all of the gang fit"}
        self.w.api.call("PUT", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status",
                        {**pod, "status": {**status, "conditions": [condition]}}, may_be=(409,))


# ---- The judge

def judge(w, bound):
    """Bound pods are where their annotations say, each container has its devices, and none has more than there is."""
    nodes = {n["metadata"]["name"]: n for n in w.api.get("/api/v1/nodes")["items"]}
    cores, memory, whole = collections.Counter(), collections.Counter(), collections.Counter()
    for pod in w.api.get("/api/v1/pods")["items"]:
        name, on, note = pod["metadata"]["name"], pod["spec"].get("nodeName"), w.note(pod)
        if on and any(total(pod)):
            expect(f"node in the annotations of pod {name}, bound to {on}", on, note and note[0])
        if note is None:
            continue
        for i, (c, m) in enumerate(limits_of(pod)):
            ids = note[1].get(i, "").split(",") if c else []
            expect(f"how many devices container {i} of pod {name} has", max(1, c // 100) if c else 0, len([d for d in ids if d]))
            for d in ids:
                cores[note[0], d] += min(c, 100)
                memory[note[0], d] += m if c < 100 else 0
                whole[note[0], d] += c >= 100
    for (node, d), used in cores.items():
        capacity = [amount(nodes[node]["status"]["capacity"].get(k, "0")) for k in (CORE, MEMORY)]
        per_device = capacity[1] // max(1, capacity[0] // 100)
        if not 0 <= int(d) < capacity[0] // 100 or used > 100 or memory[node, d] > per_device or (whole[node, d] and memory[node, d]):
            raise Wrong(f"device {d} of {node}: {used} of 100 cores, {memory[node, d]} of {per_device} units are given")
    there = {p["metadata"]["name"] for p in w.api.get("/api/v1/pods")["items"] if p["spec"].get("nodeName")}
    expect("pods that are bound", sorted(bound), sorted(there))


def run_all(w, bound):
    """The kubelets take what was bound."""
    for name in bound:
        w.api.run(name)
    uids = [uid(p) for p in map(w.api.pod, bound) if any(total(p))]
    w.knows(f"{', '.join(bound)} run", lambda text: all(f"pod {u} bound" in text and f"in flight {u}" not in text for u in uids))


# ---- Tables

REPLIES = (  # a reply to a predicate, and what 1.7, 1.8.2, 1.10 and 1.14 take it for
    ((200, "{}"), "fit", "fit", "fit", "fit"),
    ((200, '{"errorMessage":""}'), "fit", "fit", "fit", "fit"),
    ((200, '{"errorMessage":"x"}'), "unfit", "fit", "fit", "fit"),
    ((200, '{"status":null}'), "fit", "fit", "fit", "fit"),
    ((200, '{"status":[]}'), "fit", "fit", "error", "error"),
    ((200, '{"status":[{"Code":0,"Reason":"success"}]}'), "fit", "fit", "error", "error"),
    ((200, '{"status":[{"Code":2,"Reason":"x"}]}'), "fit", "unfit 2", "error", "error"),
    ((200, '{"status":[{"Code":3,"Reason":"x"}]}'), "fit", "unfit 3", "error", "error"),
    ((200, '{"status":"","code":0}'), "fit", "error", "fit", "fit"),
    ((200, '{"status":"","code":3}'), "fit", "error", "fit", "fit"),
    ((200, '{"status":"x","code":2}'), "fit", "error", "unfit 2", "unfit 2"),
    ((200, '{"status":"x","code":0}'), "fit", "error", "unfit 1", "unfit 1"),
    ((200, '{"errorMessage":"x","status":[{"Code":2,"Reason":"x"}]}'), "unfit", "unfit 2", "error", "error"),
    ((200, ""), "error", "error", "error", "error"),
    ((200, "null and more"), "fit", "fit", "fit", "fit"),
    ((200, "{"), "error", "error", "error", "error"),
    ((500, "{}"), "error", "error", "error", "error"))

UNFIT_2 = {"1.7": ("unfit", "fit", "fit", "fit"), "1.8": ("fit", "unfit 2", "error", "error"),
           "1.10": ("fit", "error", "unfit 2", "unfit 2"), "": ("unfit", "unfit 2", "error", "error")}
ANSWERS = {  # what each version takes an answer for, by the dialect in which it was asked for
    "fits": {"1.7": ("fit",) * 4, "1.8": ("fit", "fit", "error", "error"), "1.10": ("fit", "error", "fit", "fit"), "": ("fit",) * 4},
    "no room": UNFIT_2,
    "no GPU there": {d: tuple(a.replace("2", "3") for a in row) for d, row in UNFIT_2.items()},
    "no JSON": {d: tuple(a.replace("2", "1") for a in row) for d, row in UNFIT_2.items()}}
DIALECTS = {"1.7": ("1.6", "1.7"), "1.8": ("1.8", "1.9"), "1.10": ("1.10", "1.12", "1.13", "1.14"), "": ("",)}


def matrix(w):
    """Each answer of the extender in each dialect, as each version understands it."""
    for reply, *wanted in REPLIES:
        expect(f"what 1.7, 1.8.2, 1.10 and 1.14 take {reply} for", wanted, [str(v.read_predicate(*reply)) for v in VERSIONS])
    w.add_node("n", 200, 8)
    w.add_node("cpu", 0, 0)
    fits, large = w.add("fits", ((100, 0),)), w.add("large", ((300, 0),))
    for dialect, names in DIALECTS.items():
        for name in names:
            for sender in VERSIONS:  # the bodies of all are understood in every dialect
                volcano = Volcano(w, sender, f"volcano-{name}/" if name else "")
                volcano.look(None)
                job = Job("job", ["fits", "large"])
                bodies = {"fits": {"task": volcano.task(fits, job), "node": volcano.info("n")},
                          "no room": {"task": volcano.task(large, job), "node": volcano.info("n")},
                          "no GPU there": {"task": volcano.task(large, job), "node": volcano.info("cpu")}, "no JSON": "{"}
                for what, body in bodies.items():
                    reply = volcano.send("vpredicates", body)
                    got = [v.read_predicate(*reply) for v in VERSIONS]
                    about = f"{what}, at /{volcano.path}, body of {sender}: {reply[1]}"
                    expect(f"{about}: 1.7, 1.8.2, 1.10 and 1.14 take it for", ANSWERS[what][dialect], tuple(map(str, got)))
                    check_safe(about, what, dialect, got)
        w.drop(fits)
        fits = w.add("fits", ((100, 0),))


def check_safe(about, what, dialect, got):
    """Who asks in its own dialect is told why. The superset is a yes only where it fits, but for those who ignore errors."""
    for version, answer in zip(VERSIONS, got):
        if dialect == version.dialect:
            expect(f"{about}: {version} reads its own dialect", True, answer.word != "error")
            expect(f"{about}: {version} may look for victims", what == "no room" and version.minor >= 8, answer.preempts())
        if not dialect:
            expect(f"{about}: {version} calls it fit", what == "fits", answer.fits())
            expect(f"{about}: {version} calls it fit with ignorable", what == "fits" or version.minor >= 10, answer.fits(ignorable=True))


def sessions(w):
    """Shares, whole GPUs, gangs, what does not fit and who wants no GPU, with each version: in its own dialect and in the superset."""
    for version in VERSIONS:
        for path, guide in ((None, False), (None, True), ("", True)):
            if guide and version.allocates and path is None:
                continue  # would be given nothing: the manifest names allocateFunc
            for name, cores, memory in (("a", 200, 8), ("b", 400, 16), ("c", 400, 16), ("cpu", 0, 0)):
                w.add_node(name, cores, memory)
            pods = {"share-1": ((60, 2),), "share-2": ((60, 2), (30, 1)), "whole": ((100, 0),), "double": ((200, 0),), "large": ((500, 0),),
                    "plain": ((0, 0),), "gang-1": ((50, 2),), "gang-2": ((50, 2),), "half-1": ((100, 0),), "half-2": ((600, 0),)}
            for name, limits in pods.items():
                w.add(name, limits, schedulerName="volcano")
            jobs = [Job(n, [n], role="") for n in ("large", "share-1", "double", "plain", "share-2", "whole")]
            jobs += [Job("half", ["half-1", "half-2"], 2), Job("gang", ["gang-1", "gang-2"], 2)]
            volcano, bound = Volcano(w, version, path, guide), {}
            fitting = set(pods) - {"large", "half-1", "half-2"}
            for _ in range(8):
                now = volcano.session(*jobs)
                run_all(w, now)
                bound |= now
                judge(w, bound)
                if not now and set(bound) == fitting:
                    break
            expect(f"{volcano}: pods that are bound in the end", sorted(fitting), sorted(bound))
            expect(f"{volcano}: annotations of who does not fit", None, w.note(w.api.pod("large")))
            w.close()


def waits_for_gang(w, version, name, path=None):
    """A pod that is given a node and not bound, since another one of its gang fits nowhere: (volcano, job, pod)"""
    pod = w.add(name, ((100, 0),), schedulerName="volcano")
    w.add(name + "-large", ((1600, 0),), schedulerName="volcano")
    return Volcano(w, version, path, guide=True), Job(name, [name, name + "-large"], 2), pod


GIVING = (V1_7, None), (V1_8, None), (V1_10, None), (V1_10, "")  # versions and paths where the predicate gives


def many_nodes(w):
    names = [f"node{i:02}" for i in range(WORKERS)]
    for name in names:
        w.add_node(name, 1200, 48)
    return names


def regranted(w):
    """Sessions while a gang waits, more than 5 s apart: one node is called fit in each."""
    names = many_nodes(w)
    waiting = [(*waits_for_gang(w, v, f"{kind}-{v}{'' if path is None else '-superset'}", path), kind)
               for kind in ("one-by-one", "at-once") for v, path in GIVING]
    for volcano, job, _, _ in waiting:
        expect(f"{volcano}: bound of a gang that is not complete", {}, volcano.session(job, nodes=names))
    given = {job: w.note(pod)[0] for _, job, pod, _ in waiting}
    time.sleep(HELD + 0.3)
    wrong = []
    for volcano, job, pod, kind in waiting:
        first = [given[job]] + [n for n in names if n != given[job]]
        try:
            volcano.session(job, nodes=first, workers=1 if kind == "one-by-one" else WORKERS)
            if kind == "one-by-one":
                expect(f"{volcano}: the node of pod {job.name}, asked about first", given[job], w.note(pod)[0])
        except Wrong as error:
            wrong.append(str(error))
    if wrong:
        raise Wrong("\n  ".join(["sessions more than 5 s after the first:"] + wrong))
    given = {job: w.note(pod)[0] for _, job, pod, _ in waiting}
    # Its node is not among those that may be had any more: it gets another one, in some session to come.
    for volcano, job, pod, _ in waiting:
        others = [n for n in names if n != given[job]]
        until(f"{volcano}: pod {job.name} is given another node than {given[job]}",
              lambda: volcano.session(job, nodes=others) == {} and w.note(pod)[0] != given[job])
        expect(f"{volcano}: answer for the node that it had", False, volcano.predicate(pod, job, given[job]).fits())
    complete(w, waiting, names)


def complete(w, waiting, names):
    """The gangs need no more than what fits: they are bound, each where its annotations say."""
    bound = {}
    for volcano, job, _, _ in waiting:
        w.drop(w.api.pod(job.pods.pop()))
        job.min_available = 1
        now = volcano.session(job, nodes=names)
        expect(f"{volcano}: bound of {job.name}", job.pods, list(now))
        bound |= now
        run_all(w, now)
    judge(w, bound)


def before_restart(w):
    """What after_restart finds: it stays."""
    names = many_nodes(w)
    for kind in ("one-by-one", "at-once"):
        for v, path in GIVING:
            volcano, job, pod = waits_for_gang(w, v, f"{kind}-{v}{'' if path is None else '-superset'}", path)
            volcano.session(job, nodes=names)
            expect(f"{volcano}: does pod {job.name} have a node", True, w.note(pod) is not None)
    return True


def after_restart(w):
    """Another process of the extender: it knows from the annotations what was given, and calls no second node fit."""
    names = [f"node{i:02}" for i in range(WORKERS)]
    w.nodes, wrong, waiting = names, [], []
    w.pods = [("default", p["metadata"]["name"]) for p in w.api.get("/api/v1/namespaces/default/pods")["items"]]
    for kind in ("one-by-one", "at-once"):
        for v, path in GIVING:
            name = f"{kind}-{v}{'' if path is None else '-superset'}"
            pod = w.api.pod(name)
            volcano, job, given = Volcano(w, v, path, guide=True), Job(name, [name, name + "-large"], 2), w.note(pod)[0]
            waiting.append((volcano, job, pod, kind))
            try:
                volcano.session(job, nodes=[given] + [n for n in names if n != given], workers=1 if kind == "one-by-one" else WORKERS)
                if kind == "one-by-one":
                    expect(f"{volcano}: the node of pod {name}, asked about first", given, w.note(pod)[0])
            except Wrong as error:
                wrong.append(str(error))
    if wrong:
        raise Wrong("\n  ".join(["sessions after a restart of the extender:"] + wrong))
    complete(w, waiting, names)


def gang(w):
    """A gang that needs two nodes. Where predicates give devices it gets none: these Volcanos take what a node was refused for to
    hold for the other pods of the task in the same session (docs/use/extender.md)."""
    one_pod_speaks_for_all = {("1.7", ""), ("1.7", "worker"), ("1.8.2", ""), ("1.8.2", "worker"), ("1.10", "worker")}
    for version in VERSIONS:
        for role in ("", "worker"):
            for name in ("a", "b", "c"):
                w.add_node(name, 100, 4)
            for name in ("gang-1", "gang-2"):
                w.add(name, ((100, 0),), schedulerName="volcano")
            volcano, job, bound = Volcano(w, version), Job("gang", ["gang-1", "gang-2"], 2, role), {}
            for _ in range(3):
                bound |= volcano.session(job)
            wanted = [] if (str(version), role) in one_pod_speaks_for_all else ["gang-1", "gang-2"]
            expect(f"{volcano}: pods of a gang (role {role!r}) that are bound", wanted, sorted(bound))
            run_all(w, bound)
            judge(w, bound)
            w.close()


def gang_of_shares(w):
    """Gangs that fill their nodes with shares, and with whole GPUs: bound in one session, though nobody knows in which order they
    will be taken. Of a group that Volcano makes of an owner's pods, after a session in vain."""
    for name, nodes, members, limits in (("wide", 4, 32, (90, 2)), ("narrow", 1, 8, (90, 2)), ("whole", 4, 8, (400, 0)),
                                         ("podgroup-4f1c", 1, 8, (90, 2))):
        for i in range(nodes):
            w.add_node(f"{name}-{i}", 800, 64)
        pods = [f"{name}-{i}" for i in range(members)]
        for pod in pods:
            w.add(pod, (limits,), annotations={"scheduling.k8s.io/group-name": name}, schedulerName="volcano")
        volcano, job = Volcano(w, V1_14), Job(name, pods, members)
        bound = volcano.session(job)
        if name.startswith("podgroup-"):
            expect(f"{volcano}: bound of {name} in its first session", {}, bound)
            bound = volcano.session(job)
        expect(f"{volcano}: bound of gang {name}", sorted(pods), sorted(bound))
        run_all(w, bound)
        judge(w, bound)
        w.close()


TABLES = (matrix, sessions, regranted, before_restart, after_restart, gang, gang_of_shares)


def main():
    name, *urls = sys.argv[1:]
    world = World(*urls)
    stays = {t.__name__: t for t in TABLES}[name](world)
    if not stays:
        world.close()


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"volcano: {wrong}")
