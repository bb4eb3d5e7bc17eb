#!/usr/bin/env python3
"""Tests of judge.py: a wave in which all is right, and then one thing of it is not."""

import json
import pathlib
import sys
import tempfile
import unittest

import judge

sys.dont_write_bytecode = True


def pod(name, of, node, uid, limits, annotations=None):
    containers = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": str(limits)} if limits else {}}}]
    early = [{"name": "first"}, {"name": "beside", "restartPolicy": "Always"}] if of == "ours" else []
    return {"kind": "Pod", "metadata": {"name": name, "uid": uid, "labels": {"of": of}, "annotations": annotations or {}},
            "spec": {"nodeName": node, "initContainers": early, "containers": containers}}


def lease(node, gpu, uid):
    return {"kind": "Lease", "metadata": {"name": f"gpu-{node}-{gpu}"}, "spec": {"holderIdentity": uid}}


def holder(name, container, uuid):
    return f'gpu_scheduler_holder{{gpu_uuid="{uuid}",pod="{name}",namespace="default",container="{container}"}} 1'


class Right(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.objects = [pod("ours-1", "ours", "node-a", "u1", 2, {"gpu.scheduling/allocated": "node-a:0,2"}),
                        pod("theirs-1", "theirs", "node-a", "u2", 1), pod("none-1", "theirs", "node-a", "u3", 0),
                        lease("node-a", 0, "u1"), lease("node-a", 2, "u1"),
                        {"kind": "Lease", "metadata": {"name": "scheduler.gpu.scheduling"}, "spec": {"holderIdentity": "x"}}]
        self.logs = ["[pod/ours-1/first] 0,2 - A,C void", "[pod/ours-1/beside] 0,2 - 0,1 A,C", "[pod/ours-1/main] 0,2 - A,C none",
                     "[pod/theirs-1/main] - - - B", "[pod/none-1/main] - - - void"]
        self.metrics = [holder("ours-1", container, uuid) for container in ("beside", "main") for uuid in "AC"]

    def mistakes(self, command):
        (self.folder / "objects.json").write_text(json.dumps({"items": self.objects}))
        (self.folder / "logs").write_text("\n".join(self.logs) + "\n")
        (self.folder / "devices-node-a").write_text("D 3\nC 2\nB 1\nA 0\n")
        listed = {"ours-1": "DC", "theirs-1": "B"}
        (self.folder / "listed-node-a").write_text("".join(
            json.dumps({"pod": name, "driver": "nvidia.com/gpu", "device": one}) + "\n" for name, all in listed.items() for one in all))
        (self.folder / "metrics-node-a").write_text("# HELP x\n" + "\n".join(self.metrics) + "\n")
        self.figures = {}
        return list(getattr(judge, command)(judge.Wave(self.folder), self.figures))

    def expect(self, command, *parts):
        found = self.mistakes(command)
        self.assertEqual(len(found), len(parts), found)
        for mistake, part in zip(found, parts):
            self.assertIn(part, mistake)

    def test_all_is_right(self):
        self.expect("seen")
        self.assertEqual(self.figures, {"containers": 5, "pods": 1, "picked_others": 1, "moved": 0})
        self.expect("holders")

    def test_a_device_of_somebody_else(self):
        self.logs[2] = "[pod/ours-1/main] 0,1 - A,C void"
        self.expect("seen", "ours-1/main: chosen was node-a:[0, 2], and it sees /dev/nvidia['0', '1']", "GPU 1 of node-a is had by ours-1, theirs-1")

    def test_none_at_all_and_a_word_too_few(self):
        self.logs[0] = "[pod/ours-1/first] - - A,C void"
        del self.logs[1]
        self.expect("seen", "it sees /dev/nvidia[]", "ours-1/beside: it said nothing")

    def test_variables_that_name_others(self):
        self.logs[1] = "[pod/ours-1/beside] 0,2 - 7 all"
        self.expect("seen", "CUDA_VISIBLE_DEVICES is 7", "NVIDIA_VISIBLE_DEVICES is all")

    def test_mounts_of_the_plugin_stay(self):
        self.logs[1] = "[pod/ours-1/beside] 0,2 D 0,1 void"
        self.expect("seen", "mounts ['D']")

    def test_leases_say_otherwise(self):
        self.objects[4] = lease("node-a", 3, "u1")
        self.expect("seen", "its leases are ('node-a', [0, 3])")

    def test_another_node(self):
        self.objects[0]["spec"]["nodeName"] = "node-b"
        self.folder.joinpath("devices-node-b").write_text("E 0\n")
        self.assertIn("it is on node-b", self.mistakes("seen")[0])

    def test_theirs_have_more_or_less(self):
        self.logs[3] = "[pod/theirs-1/main] 1 - - B,D"
        self.expect("seen", "theirs-1/main: it asked for 1 GPUs, and has [1, 3]")
        self.logs[3] = "[pod/theirs-1/main] - - - void"
        self.expect("seen", "has []")
        self.logs[4] = "[pod/none-1/main] - - - all"
        self.expect("seen", "has []", "still all")

    def test_theirs_were_moved(self):
        self.logs[3] = "[pod/theirs-1/main] 3 - D void"
        self.expect("seen")
        self.assertEqual(self.figures["moved"], 1)

    def test_holders(self):
        del self.metrics[0]
        self.metrics.append(holder("ours-1", "first", "A"))
        self.metrics.append(self.metrics[0])
        self.metrics.append(holder("theirs-1", "main", "B"))
        self.expect("holders", "is said 2 times", "('ours-1', 'beside', 'A') is not said", "('ours-1', 'first', 'A') is said, and is not so")

    def test_a_line_that_nobody_should_print(self):
        self.logs.append("[pod/ours-1/main] sh: seen: not found")
        with self.assertRaises(ValueError):
            self.mistakes("seen")


if __name__ == "__main__":
    unittest.main()
