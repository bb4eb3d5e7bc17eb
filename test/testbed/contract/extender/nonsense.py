#!/usr/bin/env python3
"""What no scheduler should send: crowds of connections, slow senders, bodies that are wrong in every way.

nonsense.py TABLE EXTENDER PID      TABLE: a function of this file; PID: the extender's process, whose threads and memory are read
"""

import collections
import concurrent.futures
import http.client
import json
import pathlib
import re
import resource
import selectors
import socket
import sys
import threading
import time
import urllib.parse

from api import CORE, MEMORY, Client, Wrong, expect, node_object, pod_object, until

CROWD = 10_000  # idle connections that it keeps
KEPT = 10_200  # connections at most
MOST_THREADS = 64  # workers, and those that it has anyway
MOST_MIB = 1280  # while bodies of a hundred MB come, one after the other; and after them
KEPT_MIB = 384  # soon after one of them
MOST_MIB_AT_ONCE = 2304  # while many come: 1 GiB of unfinished requests, and ten bytes for each of the 128 MiB that are read at a time


class Extender:
    def __init__(self, url, pid):
        self.url, self.pid = url, pid
        place = urllib.parse.urlsplit(url)
        self.address = (place.hostname, place.port)

    def status(self, field):
        return int(re.search(rf"^{field}:\s+(\d+)", pathlib.Path(f"/proc/{self.pid}/status").read_text(), re.M)[1])

    def connect(self):
        return socket.create_connection(self.address, timeout=30)

    def post(self, client, path, body, what):
        """(status, text) of an answer that its caller can read: JSON, or a refusal in words."""
        try:
            status, text = client.request("POST", "/scheduler/" + path, body)
        except (http.client.HTTPException, OSError) as error:
            raise Wrong(f"{path}, {what}: {error!r}; the extender {self.state()}") from error
        if status == 200:
            json.loads(text)
        elif status not in (400, 413, 503):
            raise Wrong(f"{path}, {what}: {status} {text[:200]}")
        return status, text

    def state(self):
        for _ in range(100):  # what crashes is there for a moment yet
            if not pathlib.Path(f"/proc/{self.pid}").exists():
                return "has ended"
            time.sleep(0.01)
        return "runs"

    def answers(self):
        """A question of a client of its own, within the time that a scheduler waits."""
        began = time.monotonic()
        status, text = Client(self.url).request("POST", "/scheduler/filter", filter_body("somebody-else"))
        expect("status beside others", 200, status)
        expect("Error beside others", "", json.loads(text)["Error"])
        if time.monotonic() - began > 5:
            raise Wrong(f"it took {time.monotonic() - began:.1f} s")

    def is_sound(self):
        self.answers()
        if self.status("Threads") > MOST_THREADS:
            raise Wrong(f"{self.status('Threads')} threads")
        if self.status("VmHWM") > MOST_MIB * 1024:
            raise Wrong(f"{self.status('VmHWM') // 1024} MiB at most, more than {MOST_MIB}")


def pod(uid="nonsense"):
    """One that is not there and fits nowhere. (With a wrong value in the right place it does; then it is found to be gone.)"""
    made = pod_object(uid, [(1600, 1)])
    made["metadata"] |= {"uid": uid, "resourceVersion": "1", "annotations": {"a": "b"}}
    return made


def filter_body(uid="nonsense"):
    return {"Pod": pod(uid), "Nodes": None, "NodeNames": ["nowhere"]}


# ---- Crowds

def crowd(e):
    """Ten thousand idle connections; then more than it keeps: the longest idle makes room."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < KEPT + 500:
        raise Wrong(f"the limit of descriptors is {most}; this needs {KEPT + 500}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    idle = [e.connect() for _ in range(CROWD)]
    e.is_sound()
    expect("connections that it closed", 0, len(closed_of(idle)))
    idle += [e.connect() for _ in range(KEPT - CROWD + 100)]
    e.is_sound()
    until("the longest idle are closed", lambda: len(closed_of(idle)) >= 100)
    gone = closed_of(idle)
    expect("who was closed", list(range(len(gone))), gone)
    for one in idle:
        one.close()


def closed_of(connections):
    """Which of them the other side has closed."""
    with selectors.PollSelector() as selector:
        for i, one in enumerate(connections):
            selector.register(one, selectors.EVENT_READ, i)
        return sorted(key.data for key, _ in selector.select(0))


def slow(e):
    """Some who have begun a request and do not go on, and some who do not read their answer."""
    body = json.dumps(filter_body()).encode()
    head = b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    senders = [e.connect() for _ in range(500)]
    for i, one in enumerate(senders):
        one.sendall((head + body)[:1 + i % (len(head) + len(body) - 1)])
    e.is_sound()
    # Half of them go on, and are answered.
    for i, one in enumerate(senders[::2]):
        try:
            one.sendall((head + body)[1 + 2 * i % (len(head) + len(body) - 1):])
            said = one.recv(65536).partition(b"\r\n")[0].decode()
        except OSError as error:
            said = repr(error)
        expect(f"answer to slow sender {2 * i} of {len(senders)}", "HTTP/1.1 200 OK", said)
    for one in senders:
        one.close()


# ---- Bodies

WRONG = ("null", "true", "-1", "0", "9223372036854775808", "-9223372036854775809", "1e400", "0.1", "NaN", '"x"', '""', "[]",
         "{}", "[[]]", '"\\u0000"')


def bodies():
    """path, a body that is right."""
    node = node_object("nowhere", 100, 4)
    victims = {"nowhere": {"Pods": [{"UID": "u"}], "NumPDBViolations": 0}}
    whole = {"nowhere": {"Pods": [pod()], "NumPDBViolations": 0}}
    info = {"Name": "nowhere", "Node": node}
    yield "filter", filter_body()
    yield "predicates", {"Pod": pod(), "Nodes": {"metadata": {}, "items": [node]}, "NodeNames": None}
    yield "priorities", {"Pod": pod(), "Nodes": {"items": [node]}, "NodeNames": None}
    yield "preempt", {"Pod": pod(), "NodeNameToMetaVictims": victims}
    yield "preempt", {"Pod": pod(), "NodeNameToVictims": whole}
    yield "bind", {"PodName": "nonsense", "PodNamespace": "default", "PodUID": "nonsense", "Node": "nowhere"}
    yield "vpredicates", {"task": {"Pod": pod(), "NodeName": ""}, "node": info}
    yield "prioritize", {"task": {"Pod": pod()}, "nodes": [info]}
    yield "allocateFunc", {"task": {"Pod": pod(), "NodeName": "nowhere"}}
    yield "deallocateFunc", {"task": {"Pod": pod(), "NodeName": "nowhere"}}


def places(value, here=()):
    """The path of every value in it."""
    yield here
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*here, key))


def with_text(value, place, text):
    """Its JSON with `text` in the place of the value there."""
    if not place:
        return text
    if isinstance(value, dict):
        parts = (json.dumps(k) + ":" + (with_text(v, place[1:], text) if k == place[0] else json.dumps(v))
                 for k, v in value.items())
        return "{" + ",".join(parts) + "}"
    parts = (with_text(v, place[1:], text) if i == place[0] else json.dumps(v) for i, v in enumerate(value))
    return "[" + ",".join(parts) + "]"


def types(e):
    """The wrong type, or a number that does not fit, at every place of every body."""
    client = Client(e.url)
    asked = 0
    for path, body in bodies():
        for place in places(body):
            for text in WRONG:
                e.post(client, path, with_text(body, place, text), f"{text} at {'.'.join(map(str, place)) or 'the top'}")
                asked += 1
    e.is_sound()
    print(f"{asked} bodies")


def cut(e):
    """Every body cut at every byte is an error in the words of the verb."""
    client = Client(e.url)
    for path, body in bodies():
        whole = json.dumps(body)
        for end in range(len(whole)):
            status, text = e.post(client, path, whole[:end], f"cut at byte {end}")
            if status == 200 and not re.search(r"EOF|no JSON|missing|needed|not an?\b|is no", text):
                raise Wrong(f"{path}, cut at byte {end}: {text[:200]}")
    e.is_sound()


def large(e):
    """A hundred MB of brackets, of one text, of unknown keys, of nodes, of what is in a node; and one byte more than it takes."""
    client = Client(e.url)
    size = 100 << 20
    head = json.dumps(filter_body())[:-1]
    node = json.dumps(node_object("nowhere", 100, 4)) + ","

    def nodes_of(taint, count=26):
        taints = ",".join([taint] * (104_000_000 // count // (len(taint) + 1)))
        nodes = ",".join('{"metadata":{"name":"new-%d"},"spec":{"taints":[%s]}}' % (i, taints) for i in range(count))
        return '{"Pod":%s,"Nodes":{"items":[%s]}}' % (json.dumps(pod()), nodes)

    def pod_of(toleration):
        tolerations = ",".join([toleration] * (4_000_000 // (len(toleration) + 1)))
        return '{"Pod":%s,"NodeNames":["n"]}' % json.dumps(pod()).replace('"spec": {', '"spec": {"tolerations": [%s], ' % tolerations, 1)

    for what, body in (
            ("open brackets", "[" * size),
            ("objects in objects", '{"a":' * (size // 5)),
            ("brackets, balanced, behind a key", head + ',"x":' + "[" * (size // 2) + "]" * (size // 2) + "}"),
            ("brackets, balanced, in the pod", '{"Pod":{"x":' + "[" * (size // 2) + "]" * (size // 2) + "}}"),
            ("one text", head + ',"x":"' + "a" * size + '"}'),
            ("quotes", '{"Pod":"' + '\\"' * (size // 2) + '"}'),
            ("unknown keys", head + "".join(f',"k{i}":1' for i in range(size // 12)) + "}"),
            ("nodes", '{"Pod":%s,"Nodes":{"items":[%s]}}' % (json.dumps(pod()), (node * (size // len(node)))[:-1])),
            ("names", head[:-1] + ',"x"' * (size // 4) + "]}"),
            ("nodes of many small taints", nodes_of("{}")),
            ("thousands of nodes of some", nodes_of("{}", 6000)),
            ("nodes of as many as may be", nodes_of('{"key": "a"}')),
            ("a pod of many small tolerations", pod_of("{}")),
            ("a pod of as many as may be", pod_of('{"key": "a"}'))):
        status, text = e.post(client, "filter", body, what)
        e.answers()
        print(f"{what}: {status} {text[:60]!r}, {e.status('VmHWM') // 1024} MiB at most", flush=True)
        # One after the other: what the C library keeps of the last one for some milliseconds is not of the next one.
        until("its memory is given back", lambda: e.status("VmRSS") // 1024 < KEPT_MIB)
    status, _ = client.request("POST", "/scheduler/filter", " " * ((128 << 20) + 1))
    expect("status of more than it takes", 413, status)
    e.is_sound()


def many_large(e, clients=32):
    """As many at once as there are workers, each with a hundred MB of brackets that end when all are there: answered, or refused."""
    size, block = 100 << 20, b"[" * (1 << 20)
    head = b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % size
    there, last_byte = threading.Semaphore(0), threading.Event()

    def send_all_but_one_byte(connection):
        try:
            connection.settimeout(120)
            connection.sendall(head)
            for _ in range(size // len(block) - 1):
                connection.sendall(block)
            connection.sendall(block[1:])
        finally:
            there.release()

    def send(connection):
        try:
            send_all_but_one_byte(connection)
            last_byte.wait()
            connection.sendall(b"[")
            text = connection.recv(1 << 16).decode()
            return text.split()[1] if text else "cut off"
        except ConnectionError:  # refused, or too slow: then it is read for a moment yet, and closed
            return "cut off"
        finally:
            connection.close()

    connections = [e.connect() for _ in range(clients)]
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        answers = [pool.submit(send, one) for one in connections]
        try:
            if not all(there.acquire(timeout=120) for _ in range(clients)):
                raise Wrong(f"the bodies of {clients} clients were not sent in 120 s")
            print(f"{clients} bodies of 100 MB are all but there: {e.status('VmHWM') // 1024} MiB at most", flush=True)
            e.answers()
        finally:
            last_byte.set()
        counts = collections.Counter(a.result() for a in answers)
        print(f"they were answered {dict(counts)}, {e.status('VmHWM') // 1024} MiB at most", flush=True)
    if not set(counts) - {"cut off"}:
        raise Wrong("all of them were cut off, so none was read")
    e.answers()
    if e.status("VmHWM") // 1024 > MOST_MIB_AT_ONCE:
        raise Wrong(f"{e.status('VmHWM') // 1024} MiB at most, more than {MOST_MIB_AT_ONCE}")
    if e.status("VmRSS") // 1024 > MOST_MIB:
        raise Wrong(f"{e.status('VmRSS') // 1024} MiB are kept after them, more than {MOST_MIB}")


if __name__ == "__main__":
    try:
        globals()[sys.argv[1]](Extender(sys.argv[2], int(sys.argv[3])))
    except Wrong as error:
        sys.exit(f"{sys.argv[1]}: {error}")
