"""What the extender's cases ask over HTTP: the API server (through `kubectl proxy`) and the extender itself."""

import http.client
import json
import time
import urllib.parse

CORE = "tencent.com/vcuda-core"
MEMORY = "tencent.com/vcuda-memory"
NODE = "tencent.com/predicate-node"
TIME = "tencent.com/predicate-time"
ASSIGNED = "tencent.com/gpu-assigned"
IDS = "tencent.com/predicate-gpu-idx-"  # and the container's index
STRATEGIC = "application/strategic-merge-patch+json"
PATIENCE = 60  # seconds that `until` waits; a limit for broken programs, never a measure


class Wrong(Exception):
    """What does not hold."""


def expect(what, wanted, got):
    if wanted != got:
        raise Wrong(f"{what}: expected {wanted!r}, got {got!r}")


def until(what, check):
    """Polls; check() returns something true when it is so."""
    deadline = time.monotonic() + PATIENCE
    while True:
        got = check()
        if got:
            return got
        if time.monotonic() > deadline:
            raise Wrong(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)


class Client:
    """One connection, opened again when the other side has closed it."""

    def __init__(self, url):
        self.address = urllib.parse.urlsplit(url).netloc
        self.connection = http.client.HTTPConnection(self.address, timeout=30)

    def request(self, method, path, body=None, content_type="application/json"):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        headers = {"Content-Type": content_type} if body is not None else {}
        for last in (False, True):
            try:
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                return answer.status, answer.read().decode()
            except (http.client.HTTPException, ConnectionError):
                self.connection.close()
                if last or method != "GET":
                    raise
        raise AssertionError("not reached")


class Api(Client):
    """The API server. Anything but 2xx is an error, unless its code is in `may_be`."""

    def call(self, method, path, body=None, content_type="application/json", may_be=()):
        status, text = self.request(method, path, body, content_type)
        if status // 100 != 2 and status not in may_be:
            raise Wrong(f"{method} {path}: {status} {text[:300]}")
        return json.loads(text)

    def get(self, path):
        return self.call("GET", path)

    def pod(self, name, namespace="default"):
        return self.get(f"/api/v1/namespaces/{namespace}/pods/{name}")

    def create_pod(self, pod):
        return self.call("POST", f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods", pod)

    def delete_pod(self, name, namespace="default"):
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        self.call("DELETE", path, {"gracePeriodSeconds": 0}, may_be=(404,))
        until(f"pod {name} is gone", lambda: self.request("GET", path)[0] == 404)

    def create_node(self, node):
        """With its status, whether or not the server takes it at creation."""
        self.call("POST", "/api/v1/nodes", node)
        return self.call("PATCH", f"/api/v1/nodes/{node['metadata']['name']}/status", {"status": node["status"]}, STRATEGIC)

    def bind(self, name, node, namespace="default"):
        self.call("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"kind": "Node", "name": node}})

    def run(self, name, namespace="default"):
        """As a kubelet that has taken it."""
        self.call("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}/status",
                  {"status": {"phase": "Running", "startTime": "2025-06-01T10:00:00Z"}}, STRATEGIC)


def node_object(name, cores, memory, labels=None):
    capacity = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    if cores or memory:
        capacity |= {CORE: str(cores), MEMORY: str(memory)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}},
            "status": {"capacity": capacity, "allocatable": capacity,
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "by hand"}]}}


def pod_object(name, limits, namespace="default", scheduler="gpu-scheduler", **spec):
    """limits: (cores, memory) of each container; (0, 0) asks for nothing."""
    containers = []
    for i, (cores, memory) in enumerate(limits):
        asked = {k: str(v) for k, v in ((CORE, cores), (MEMORY, memory)) if v}
        containers.append({"name": f"c{i}", "image": "pause", "resources": {"limits": asked, "requests": asked}})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"schedulerName": scheduler, "containers": containers, **spec}}


def note_of(pod):
    """(node, {container: "ids"}, time) of the annotations; None without a node."""
    annotations = pod["metadata"].get("annotations") or {}
    if not annotations.get(NODE):
        return None
    ids = {int(k[len(IDS):]): v for k, v in annotations.items() if k.startswith(IDS)}
    return annotations[NODE], ids, int(annotations[TIME])


def amount(text):
    """A whole quantity; the API server writes 1000 as 1k."""
    return int(text[:-1]) * 1000 if text.endswith("k") else int(text)


def limits_of(pod):
    """[(cores, memory)] of each container."""
    out = []
    for container in pod["spec"]["containers"]:
        limits = (container.get("resources") or {}).get("limits") or {}
        out.append((amount(limits.get(CORE, "0")), amount(limits.get(MEMORY, "0"))))
    return out
