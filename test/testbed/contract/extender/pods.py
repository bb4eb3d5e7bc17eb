#!/usr/bin/env python3
"""Makes nodes and pods for the extender's cases: the same ones each time.

pods.py nodes API COUNT                          nodes gpu-00 ... of 10 devices of 64 units of memory; the last two fifths are
                                                 P100, the others M40; even ones are in pool public, odd ones in private
pods.py many API NAMESPACE PREFIX COUNT          shares of one or two containers, and now and then whole GPUs
pods.py one-by-one API LEDGER NAMESPACE PREFIX COUNT
                                                 each when the one before runs and the extender, whose /debug/ledger is LEDGER,
                                                 says that nothing is in flight
API is the URL of `kubectl proxy`.
"""

import random
import sys

from api import Api, Client, Wrong, node_object, pod_object, until


def limits(rng):
    kind = rng.random()
    if kind < 0.08:
        return [(rng.choice((100, 100, 200)), 8)]
    share = lambda: (rng.choice((5, 10, 15, 20, 25, 30, 40, 50)), rng.choice((2, 4, 8, 8, 16, 24)))
    if kind < 0.2:
        return [share(), share()]
    return [share(), (0, 0)] if kind < 0.3 else [share()]


def nodes(api, count):
    for i in range(count):
        labels = {"type": "kwok", "kubernetes.io/hostname": f"gpu-{i:02}",
                  "gaia.tencent.com/gpu-model": "P100" if i >= count * 3 // 5 else "M40",
                  "gaia.tencent.com/gpu-pool": "private" if i % 2 else "public"}
        api.create_node(node_object(f"gpu-{i:02}", 1000, 640, labels))


def many(api, namespace, prefix, count):
    rng = random.Random(prefix)
    for i in range(count):
        api.create_pod(pod_object(f"{prefix}{i}", limits(rng), namespace))


def one_by_one(api, ledger, namespace, prefix, count):
    rng, extender = random.Random(prefix), Client(ledger)
    for i in range(count):
        name = f"{prefix}{i}"
        api.create_pod(pod_object(name, limits(rng), namespace))
        until(f"pod {name} runs", lambda: api.pod(name, namespace)["status"]["phase"] == "Running")
        until(f"nothing is in flight after {name}", lambda: "in flight" not in extender.request("GET", "/debug/ledger")[1])


def main():
    what, url, *rest = sys.argv[1:]
    rest = [int(r) if r.isdigit() else r for r in rest]
    {"nodes": nodes, "many": many, "one-by-one": one_by_one}[what](Api(url), *rest)


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"pods: {wrong}")
