#!/usr/bin/env python3
"""gkm_deploy_test.py: tools/gkm-deploy, which the make targets of GKM's guide run, with kubectl, kind and podman played by a
program that writes down how it is called; and what the manifests of deploy/gkm and examples/gkm say. Needs nothing else, but
for one test a kubectl ($KUBECTL, or in PATH), whose templates choose what is taken away.
(The real case gkm-chart applies the same manifests to a real API server.)
"""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATIENCE = 60  # seconds: a limit for a broken script, never a measure
BASICS = ("bash cat cut dirname grep mkdir mv paste rm sed sha256sum sleep sort tr").split()
GUIDE = ("run-on-kind deploy deploy-on-kind undeploy undeploy-on-kind redeploy redeploy-on-kind deploy-examples undeploy-examples "
         "deploy-cert-manager undeploy-cert-manager destroy-kind build-images push-images build-installer").split()
# What each takes: with the first missing it says so.
NEEDS = {"build-images": "podman", "push-images": "podman", "destroy-kind": "kind", "run-on-kind": "kind", "deploy-on-kind": "kind",
         "redeploy-on-kind": "kind", "undeploy-on-kind": "kind"}

# Answers by the first rule whose pattern is found in the call; one that was used up is passed over. (In bash, which starts fast.)
PLAYER = r"""#!{bash}
here={folder}
call="${{0##*/}} $*"
printf '%s\n' "$call" >>"$here/calls"
if [[ " $* " == *" - "* ]]; then while IFS= read -r line; do printf '%s\n' "$line" >>"$here/input"; done; fi
for ((i = 0; i < {rules}; ++i)); do
  if [[ $call =~ $(<"$here/rule-$i.pattern") ]]; then
    left=$(<"$here/rule-$i.times")
    if ((left == 0)); then continue; fi
    echo $((left - 1)) >"$here/rule-$i.times"
    if [[ -s $here/rule-$i.output ]]; then printf '%s\n' "$(<"$here/rule-$i.output")"; fi
    exit "$(<"$here/rule-$i.status")"
  fi
done
"""


class Place:
    """A copy of what the script reads, and a folder that is all of its PATH."""

    def __init__(self, programs, rules=()):
        """A rule: [PATTERN, OUTPUT, STATUS, TIMES]; without them no output, 0, always. kubectl has a context."""
        rules = [*rules, ["config current-context", "here\n"]]
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="gkm-deploy-test-"))
        for each in ("tools/gkm-deploy", "deploy/gkm", "examples/gkm"):
            to = self.root / each
            to.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / each).is_dir() else shutil.copy)(ROOT / each, to)
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for name in BASICS:
            (self.bin / name).symlink_to(shutil.which(name))
        for i, rule in enumerate(rules):
            for part, value in zip(("pattern", "output", "status", "times"), [*rule, *["", 0, -1][len(rule) - 1:]]):
                (self.root / f"rule-{i}.{part}").write_text(str(value))
        for name in programs:
            path = self.bin / name
            path.write_text(PLAYER.format(bash=shutil.which("bash"), folder=self.root, rules=len(rules)))
            path.chmod(0o755)

    def run(self, command, **variables):
        """The images are the guide's, as if the user had said so; QUAY_USER="" does not."""
        if "IMG" not in variables:
            variables.setdefault("QUAY_USER", "gkm")
        done = subprocess.run([self.root / "tools/gkm-deploy", command], capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env={"PATH": str(self.bin), "FORCE_SECONDS": "1", **variables})
        return done.returncode, done.stdout, done.stderr

    def asks(self, lists, pattern):
        """Calls of kubectl in which the pattern is found go to a real one, which asks `lists`."""
        player = self.bin / "kubectl"
        head, rest = player.read_text().split("\n", 1)
        player.write_text(f"""{head}
if [[ "$*" =~ {pattern.replace(" ", chr(92) + " ")} ]]; then HOME={self.root} KUBECONFIG= exec {KUBECTL} --server={lists.url} "$@"; fi
{rest}""")

    def calls(self):
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def made(self, path):
        return (self.root / path).read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)


class Lists:
    """As much of an API server as kubectl needs to list these two kinds."""

    def __init__(self, claims, volumes):
        kinds = (("persistentvolumeclaims", "PersistentVolumeClaim", True, claims), ("persistentvolumes", "PersistentVolume", False, volumes))
        answers = {"/api": {"kind": "APIVersions", "versions": ["v1"]}, "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
                   "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
                       {"name": name, "kind": kind, "namespaced": namespaced, "verbs": ["list"]} for name, kind, namespaced, _ in kinds]},
                   **{f"/api/v1/{name}": {"kind": f"{kind}List", "apiVersion": "v1", "items": items} for name, kind, _, items in kinds}}

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                answer = answers.get(self.path.split("?")[0])
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def an_object(kind, name, spec=None, **metadata):
    return {"apiVersion": "v1", "kind": kind, "spec": spec or {},
            "metadata": {"name": name, "namespace": "team-a" if kind == "PersistentVolumeClaim" else "", "labels": {"gkm.io/managed": "true"}, **metadata}}


KUBECTL = os.environ.get("KUBECTL") or shutil.which("kubectl")
HANDLE = "gkm.io/volume-handle"
KIND_IS_THERE = ["^kind get clusters", "other\nkind-gpu-sim\n"]
KNOWN = ["get crd (gkmcaches|clustergkmcaches)", "crd\n"]
CACHES = ["get gkmcaches.gkm.io", "GKMCache team-a/one\n"]


class MissingPrograms(unittest.TestCase):
    def test_one_sentence_and_nothing_else(self):
        for command in GUIDE:
            with self.subTest(command), Place([]) as place:
                code, out, err = place.run(command)
                missing = NEEDS.get(command, "kubectl")
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                self.assertIn(missing, err)
                self.assertIn(f"make {command} needs", err)
                self.assertFalse((place.root / "build").exists() or (place.root / "dist").exists())

    def test_kind_without_a_tool_for_images_makes_no_cluster(self):
        with Place(["kind", "kubectl"]) as place:
            code, _, err = place.run("run-on-kind")
            self.assertEqual(code, 2)
            self.assertIn("neither podman nor docker is in PATH", err)
            self.assertEqual(place.calls(), [])

    def test_a_command_that_is_none_gets_the_list(self):
        with Place([]) as place:
            code, _, err = place.run("deploi")
            self.assertEqual(code, 2)
            self.assertIn("deploy, redeploy, undeploy", err)


class Variables(unittest.TestCase):
    def test_a_wrong_one_is_named_with_its_value(self):
        for name, value in (("QUAY_USER", "A b"), ("IMAGE_TAG", "a/b"), ("IMG", 'x"y'), ("NO_GPU", "yes"), ("FORCE", "2"), ("KIND_CLUSTER_NAME", "a b")):
            with self.subTest(name), Place(["kubectl", "kind", "podman"]) as place:
                code, _, err = place.run("deploy", **{name: value})
                self.assertEqual((code, err.count("\n"), place.calls()), (2, 1, []))
                self.assertIn(f"{name} is '{value}'", err)

    def test_images_that_nobody_published_are_not_deployed(self):
        for command in ("deploy", "redeploy"):
            with self.subTest(command), Place(["kubectl"]) as place:
                code, out, err = place.run(command, QUAY_USER="")
                self.assertEqual((code, out, err.count("\n")), (2, "", 1))
                self.assertIn(f"make build-images push-images {command} QUAY_USER=NAME", err)
                self.assertEqual(place.calls(), ["kubectl config current-context"])
        for command in ("run-on-kind", "deploy-on-kind", "redeploy-on-kind"):
            with self.subTest(command), Place(["kind", "kubectl", "podman"], [KIND_IS_THERE, ["image inspect", "", 1]]) as place:
                code, out, err = place.run(command, QUAY_USER="")
                self.assertEqual((code, out, err.count("\n")), (2, "", 1))
                self.assertIn("make build-images first", err)
                self.assertFalse(any("create cluster" in call or "apply" in call for call in place.calls()))
        with Place(["kind", "kubectl", "podman"], [KIND_IS_THERE]) as place:  # the guide's names, built here
            self.assertEqual(place.run("run-on-kind", QUAY_USER="")[0], 0)

    def test_without_a_context_one_sentence_says_so(self):
        for command in ("deploy", "redeploy", "undeploy", "deploy-examples", "undeploy-examples", "deploy-cert-manager", "undeploy-cert-manager"):
            with self.subTest(command), Place(["kubectl"], [["config current-context", "", 1]]) as place:
                code, out, err = place.run(command)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1))
                self.assertIn("kubectl has no context", err)
                self.assertEqual(place.calls(), ["kubectl config current-context"])

    def test_kyverno_is_not_needed_whatever_the_target_is_called(self):
        for command in ("deploy-kyverno", "undeploy-kyverno", "deploy-kyverno-policies"):
            with self.subTest(command), Place([]) as place:
                code, out, err = place.run(command)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1))
                self.assertIn("verifies signatures by itself", err)

    def images(self, **variables):
        with Place(["kubectl"]) as place:
            self.assertEqual(place.run("deploy", **variables)[0], 0)
            made = place.made("build/gkm/kustomization.yaml")
            return re.findall(r"^- \{name: quay.io/gkm/([\w-]+), newName: (\S+), (?:newTag|digest): (\S+)\}$", made, re.M), made

    def test_images_are_the_guides(self):
        self.assertEqual(self.images()[0], [(name, f"quay.io/gkm/{name}", "latest") for name in ("operator", "agent", "gkm-csi-plugin")])

    def test_images_are_those_of_the_user_and_tag(self):
        got, made = self.images(QUAY_USER="me", IMAGE_TAG="v1")
        self.assertEqual(got, [(name, f"quay.io/me/{name}", "v1") for name in ("operator", "agent", "gkm-csi-plugin")])
        self.assertIn('path: /data/gkm.csi.image, value: "quay.io/me/gkm-csi-plugin:v1"', made)
        self.assertIn('path: /data/gkm.agent.image, value: "quay.io/me/agent:v1"', made)

    def test_one_image_serves_all_three(self):
        digest = "sha256:" + "a" * 64
        for image, name, tag in (("a/b:c", "a/b", "c"), ("a/b", "a/b", "latest"), ("host:5000/a", "host:5000/a", "latest"),
                                 ("host:5000/a:b", "host:5000/a", "b"), (f"a/b@{digest}", "a/b", digest)):
            self.assertEqual({each[1:] for each in self.images(IMG=image)[0]}, {(name, tag)}, image)


class Deploy(unittest.TestCase):
    def test_applies_what_kustomize_makes_and_waits_for_each_part(self):
        with Place(["kubectl"], [["kustomize build/gkm", "objects\n"]]) as place:
            code, out, err = place.run("deploy")
            self.assertEqual((code, err), (0, ""))
            calls = [call for call in place.calls() if "config current" not in call]
            self.assertEqual([*sorted(calls[:2]), *calls[2:]], [  # two ends of a pipe
                "kubectl apply --server-side --force-conflicts -f -", "kubectl kustomize build/gkm",
                *[f"kubectl rollout status -n gkm-system {part} --timeout=180s"
                  for part in ("deployment/gkm-operator", "daemonset/gkm-agent", "daemonset/gkm-csi-node")]], out)
            self.assertEqual(place.made("input"), "objects\n")
            self.assertIn("resources: [../../deploy/gkm/overlays/default]", place.made("build/gkm/kustomization.yaml"))
            self.assertIn('path: /data/gkm.nogpu, value: "false"', place.made("build/gkm/kustomization.yaml"))

    def test_other_settings_start_pods_anew(self):
        def settings(**variables):
            with Place(["kubectl"]) as place:
                place.run("deploy", **variables)
                return re.search(r'checksum~1config, value: "(\w+)"', place.made("build/gkm/kustomization.yaml")).group(1)
        self.assertEqual(settings(), settings(NO_GPU="false"))
        self.assertNotEqual(settings(), settings(NO_GPU="true"))

    def test_redeploy_starts_all_pods_anew_before_it_waits(self):
        with Place(["kubectl"]) as place:
            self.assertEqual(place.run("redeploy")[0], 0)
            calls = [call.split(" -n ")[0] for call in place.calls()]
            self.assertLess(calls.index("kubectl rollout restart"), calls.index("kubectl rollout status"))

    def test_what_the_cluster_refuses_ends_it(self):
        with Place(["kubectl"], [["apply", "", 1]]) as place:
            self.assertEqual(place.run("deploy")[0], 1)
            self.assertFalse(any("rollout" in call for call in place.calls()))

    def test_the_installer_is_whole_or_not_there(self):
        with Place(["kubectl"], [["kustomize", "half", 1, 1], ["kustomize", "whole"]]) as place:
            self.assertEqual(place.run("build-installer")[0], 1)
            self.assertFalse((place.root / "dist/install.yaml").exists())
            self.assertEqual(place.run("build-installer", IMG="quay.io/gkm/operator:latest")[0], 0)
            self.assertEqual(place.made("dist/install.yaml"), "whole\n")

    def test_kustomize_serves_where_there_is_no_kubectl(self):
        with Place(["kustomize"], [["build", "whole"]]) as place:
            self.assertEqual(place.run("build-installer")[0], 0)
            self.assertEqual(place.calls(), ["kustomize build build/gkm"])


class Undeploy(unittest.TestCase):
    def deletes(self, place):
        return [call for call in place.calls() if re.search(r"kubectl( --context \S+)? (delete|patch|apply)", call)]

    def test_refuses_while_caches_or_pods_that_use_them_are_there_and_says_which(self):
        rules = [KNOWN, CACHES, ["get clustergkmcaches.gkm.io", "ClusterGKMCache wide\n"], ["get pods", "Pod team-a/uses\nPod team-a/uses\n"]]
        with Place(["kubectl"], rules) as place:
            code, _, err = place.run("undeploy")
            self.assertEqual((code, self.deletes(place)), (1, []))
            self.assertEqual(err.splitlines()[1:], ["  GKMCache team-a/one", "  ClusterGKMCache wide", "  Pod team-a/uses"])
            self.assertIn("FORCE=1", err)

    def test_pods_that_use_a_claim_are_users_too(self):
        rules = [["get persistentvolumeclaims", "team-a/one\n"], ["get pods.*persistentVolumeClaim", "Pod team-a/uses team-a/one\nPod team-a/other team-a/two\n"]]
        with Place(["kubectl"], rules) as place:
            code, _, err = place.run("undeploy")
            self.assertEqual((code, err.splitlines()[1:]), (1, ["  Pod team-a/uses"]))

    def test_a_server_that_does_not_answer_is_not_one_without_caches(self):
        for silent in ("get crd", "get gkmcaches", "get clustergkmcaches", "get pods", "get persistentvolumeclaims"):
            with self.subTest(silent), Place(["kubectl"], [[silent, "", 1], KNOWN]) as place:
                self.assertEqual((place.run("undeploy")[0], self.deletes(place)), (1, []))

    def test_takes_all_away_programs_first(self):
        rules = [["get crd (cluster)?gkmcachenodes", "crd\n"], ["get gkmcachenodes", "team-a node-a\n"], ["get clustergkmcachenodes", "default node-a\n"],
                 ["get persistentvolumeclaims", "team-a/one\n"], ["get persistentvolumes", "gkmcache-team-a-one-0\n"]]
        with Place(["kubectl"], rules) as place:
            code, _, err = place.run("undeploy")
            self.assertEqual((code, err), (0, ""))
            patch = '--type=merge -p {"metadata": {"finalizers": null}}'
            self.assertEqual(self.deletes(place), [
                "kubectl delete -n gkm-system deployment/gkm-operator daemonset/gkm-agent daemonset/gkm-csi-node --ignore-not-found",
                f"kubectl patch gkmcachenodes.gkm.io node-a -n team-a {patch}", f"kubectl patch clustergkmcachenodes.gkm.io node-a -n default {patch}",
                "kubectl delete --ignore-not-found -f -", "kubectl delete csidriver csi.gkm.io --ignore-not-found",
                "kubectl delete persistentvolumeclaim one -n team-a --ignore-not-found --wait=false",
                "kubectl delete persistentvolume gkmcache-team-a-one-0 --ignore-not-found --wait=false"])

    def test_nothing_is_deleted_by_a_label_that_anybody_may_have(self):
        with Place(["kubectl"]) as place:
            self.assertEqual(place.run("undeploy")[0], 0)
            for call in self.deletes(place):
                self.assertNotIn(" -l ", call)
                self.assertNotIn("persistentvolume", call)

    @unittest.skipUnless(KUBECTL, "no kubectl that could fill templates in")
    def test_each_thing_that_tells_the_operators_claims_and_volumes_from_those_of_others_is_needed(self):
        owner = {"apiVersion": "gkm.io/v1alpha1", "kind": "GKMCache", "name": "one", "uid": "u"}
        claims = [an_object("PersistentVolumeClaim", name, annotations=annotations, ownerReferences=owners) for name, annotations, owners in (
            ("ours", {HANDLE: "h"}, [owner]),
            ("without-annotations", None, [owner]),
            ("without-the-annotation", {"a": "b"}, [owner]),
            ("without-an-owner", {HANDLE: "h"}, []),
            ("of-another-owner", {HANDLE: "h"}, [{**owner, "apiVersion": "gkm.io.example/v1"}]))]
        volumes = [an_object("PersistentVolume", name, annotations=annotations, spec=spec) for name, annotations, spec in (
            ("ours", {HANDLE: "h"}, {"csi": {"driver": "csi.gkm.io", "volumeHandle": "h"}}),
            ("of-no-driver", {HANDLE: "h"}, {"hostPath": {"path": "/tmp"}}),
            ("of-another-driver", {HANDLE: "h"}, {"csi": {"driver": "csi.example.com", "volumeHandle": "h"}}),
            ("without-annotations", None, {"csi": {"driver": "csi.gkm.io", "volumeHandle": "h"}}),
            ("without-the-annotation", {"a": "b"}, {"csi": {"driver": "csi.gkm.io", "volumeHandle": "h"}}),
            ("of-another-handle", {HANDLE: "h"}, {"csi": {"driver": "csi.gkm.io", "volumeHandle": "i"}}))]
        with Lists(claims, volumes) as lists, Place(["kubectl"]) as place:
            place.asks(lists, "get persistentvolume(claim)?s")
            code, _, err = place.run("undeploy")
            self.assertEqual((code, err), (0, ""))
            self.assertEqual([call for call in self.deletes(place) if "persistentvolume" in call], [
                "kubectl delete persistentvolumeclaim ours -n team-a --ignore-not-found --wait=false",
                "kubectl delete persistentvolume ours --ignore-not-found --wait=false"])

    def test_force_deletes_caches_while_gkm_is_there_to_do_it(self):
        with Place(["kubectl"], [KNOWN, [*CACHES, 0, 2]]) as place:
            code, _, _ = place.run("undeploy", FORCE="1", FORCE_SECONDS=str(PATIENCE))
            deletes = self.deletes(place)
            self.assertEqual((code, deletes[0]), (0, "kubectl delete gkmcaches.gkm.io --all -A --wait=false"))
            self.assertIn("delete -n gkm-system deployment/gkm-operator", deletes[2])
            self.assertFalse(any("patch" in call for call in deletes))

    def test_a_server_that_falls_silent_meanwhile_has_not_let_caches_go(self):
        rules = [KNOWN, [CACHES[0], CACHES[1], 0, 1], ["get gkmcaches", "", 1]]
        with Place(["kubectl"], rules) as place:
            code, _, err = place.run("undeploy", FORCE="1")
            self.assertNotEqual(code, 0)
            self.assertIn("does not say which caches are left", err)
            self.assertFalse(any("deployment/gkm-operator" in call or "patch" in call for call in self.deletes(place)))

    def test_force_gives_up_on_caches_that_do_not_go(self):
        with Place(["kubectl"], [KNOWN, ["get gkmcaches.*or .metadata", "team-a one\n"], CACHES, ["get pods", "Pod team-a/uses\n"]]) as place:
            code, out, _ = place.run("undeploy", FORCE="1")
            deletes = self.deletes(place)
            self.assertEqual(code, 0)
            patch = next(i for i, call in enumerate(deletes) if "patch gkmcaches.gkm.io one -n team-a" in call)
            webhooks = next(i for i, call in enumerate(deletes) if "mutatingwebhookconfiguration/gkm-" in call)
            programs = next(i for i, call in enumerate(deletes) if "deployment/gkm-operator" in call)
            self.assertTrue(webhooks < patch < programs)
            self.assertIn("GKMCache team-a/one", out)
            self.assertIn("Pod team-a/uses", out)


class Kind(unittest.TestCase):
    def test_a_cluster_that_is_not_there_is_said(self):
        for command in ("deploy-on-kind", "redeploy-on-kind", "undeploy-on-kind"):
            with self.subTest(command), Place(["kind", "kubectl", "podman"], [["get clusters", "kind-gpu-sim-2\n"]]) as place:
                code, _, err = place.run(command)
                self.assertEqual((code, err.count("\n")), (1, 1))
                self.assertIn("there is no kind cluster kind-gpu-sim:", err)
                self.assertEqual(place.calls(), ["kind get clusters"])

    def test_run_on_kind_makes_two_workers_with_simulated_gpus(self):
        with Place(["kind", "kubectl", "podman"]) as place:
            self.assertEqual(place.run("run-on-kind", KIND_CLUSTER_NAME="mine")[0], 0)
            calls = place.calls()
            self.assertIn("kind create cluster --name mine --wait 120s --config -", calls)
            for worker in ("mine-worker", "mine-worker2"):
                self.assertIn(f"kubectl --context kind-mine label node {worker} --overwrite hardware-type=gpu", calls)
                self.assertIn(f"kubectl --context kind-mine taint node {worker} --overwrite gpu=true:NoSchedule", calls)
            self.assertIn("kubectl --context kind-mine label node mine-worker --overwrite gkm-test-node=true", calls)
            self.assertIn("overlays/kind-gpu", place.made("build/gkm/kustomization.yaml"))
            self.assertIn('path: /data/gkm.nogpu, value: "true"', place.made("build/gkm/kustomization.yaml"))

    def test_run_on_kind_again_makes_no_second_one(self):
        with Place(["kind", "kubectl", "podman"], [KIND_IS_THERE]) as place:
            self.assertEqual(place.run("run-on-kind")[0], 0)
            self.assertFalse(any("create cluster" in call for call in place.calls()))

    def test_no_other_cluster_is_touched(self):
        for command in ("deploy-on-kind", "redeploy-on-kind", "undeploy-on-kind"):
            with self.subTest(command), Place(["kind", "kubectl", "podman"], [KIND_IS_THERE]) as place:
                self.assertEqual(place.run(command)[0], 0)
                for call in place.calls():
                    if call.startswith("kubectl"):
                        self.assertRegex(call, "^kubectl (--context kind-kind-gpu-sim |kustomize )")

    def test_images_that_are_here_go_to_the_nodes(self):
        with Place(["kind", "kubectl", "docker"], [KIND_IS_THERE, ["image inspect quay.io/gkm/agent", "", 1]]) as place:
            _, out, _ = place.run("deploy-on-kind")
            saved = [call.split()[-1] for call in place.calls() if " save " in call]
            self.assertEqual(saved, ["quay.io/gkm/gkm-csi-plugin:latest", "quay.io/gkm/operator:latest"])
            self.assertEqual(sum("kind load image-archive build/gkm/image.tar --name kind-gpu-sim" in call for call in place.calls()), 2)
            self.assertIn("quay.io/gkm/agent:latest is not here", out)


class Images(unittest.TestCase):
    def test_one_build_with_every_name_that_is_wanted(self):
        with Place(["podman", "docker"]) as place:
            self.assertEqual(place.run("build-images", QUAY_USER="me")[0], 0)
            self.assertEqual(place.calls(), ["podman build --target gkm -t quay.io/me/agent:latest -t quay.io/me/gkm-csi-plugin:latest -t quay.io/me/operator:latest ."])

    def test_docker_serves_where_there_is_no_podman_and_each_is_pushed_once(self):
        with Place(["docker"]) as place:
            self.assertEqual(place.run("push-images", IMG="a/b:c")[0], 0)
            self.assertEqual(place.calls(), ["docker push a/b:c"])


class Others(unittest.TestCase):
    def test_urls_and_files(self):
        for command, wanted in (("undeploy-examples", "kubectl delete --ignore-not-found -f examples/gkm"),
                                ("undeploy-cert-manager", "download/v9.9.9/cert-manager.yaml"), ("deploy-cert-manager", "download/v9.9.9/cert-manager.yaml")):
            with self.subTest(command), Place(["kubectl"]) as place:
                self.assertEqual(place.run(command, CERT_MANAGER_VERSION="v9.9.9")[0], 0)
                self.assertIn(wanted, place.calls()[1])

    def test_examples_bring_a_policy_where_there_is_none(self):
        for there, wanted in (("", ["kubectl apply -f examples/gkm/trust", "kubectl apply -f examples/gkm"]),
                              ("configmap/gkm-trust-policy\n", ["kubectl apply -f examples/gkm"])):
            with self.subTest(there), Place(["kubectl"], [["get configmap gkm-trust-policy", there]]) as place:
                self.assertEqual(place.run("deploy-examples")[0], 0)
                self.assertEqual(place.calls()[2:], wanted)

    def test_make_has_every_target_of_the_guide(self):
        makefile = (ROOT / "Makefile").read_text()
        listed = re.search(r"^GKM := ((?:.*\\\n)*.*)$", makefile, re.M).group(1).replace("\\\n", " ").split()
        self.assertEqual(sorted(listed), sorted(GUIDE))
        for target in GUIDE:
            self.assertRegex(makefile, rf"(?m)^{target}: ## ")


def documents(path):
    """(kind, namespace, name, text) of each object of a file of ours: block style, two spaces."""
    for text in re.split(r"(?m)^---\n", path.read_text()):
        kind = re.search(r"(?m)^kind: (\w+)$", text)
        if kind:
            head = re.search(r"(?m)^metadata:\n((?: .*\n)+)", text).group(1)
            values = dict(re.findall(r"(?m)^  (name|namespace): (\S+)$", head))
            yield kind.group(1), values.get("namespace", ""), values["name"], text


class Manifests(unittest.TestCase):
    def test_each_pod_of_the_examples_mounts_a_cache_that_they_make(self):
        caches, pods, namespaces = set(), [], set()
        for path in sorted((ROOT / "examples/gkm").glob("*.yaml")):
            for kind, namespace, name, text in documents(path):
                if kind == "Namespace":
                    namespaces.add(name)
                elif kind == "Pod":
                    attributes = dict(re.findall(r"csi\.gkm\.io/(\w+): (\S+)", text))
                    pods.append((namespace, name, attributes["GKMCache"], attributes.get("namespace", "")))
                elif kind.endswith("GKMCache"):
                    caches.add((namespace, name))
                    self.assertEqual(kind == "ClusterGKMCache", namespace == "")
        self.assertEqual(sorted(pod[:2] for pod in pods), sorted((f"gkm-test-{which}", f"gkm-test-pod-{number}")
                                                                for which in ("cl-scoped", "ns-scoped-1", "ns-scoped-2") for number in (1, 2, 3)))
        for namespace, name, cache, cache_namespace in pods:
            self.assertIn((cache_namespace, cache), caches, (namespace, name))
            self.assertIn(cache_namespace, ("", namespace))
            self.assertIn(namespace, namespaces)

    def test_only_the_csi_driver_is_privileged_and_only_pods_folders_are_shared_both_ways(self):
        base = ROOT / "deploy/gkm/base"
        said = {path.name: path.read_text() for path in base.glob("*.yaml")}
        self.assertEqual([name for name, text in said.items() if "privileged: true" in text], ["csi.yaml"])
        self.assertEqual(re.findall(r"\{name: ([\w-]+),.*Bidirectional", said["csi.yaml"]), ["pods"])
        self.assertNotIn("Bidirectional", said["agent.yaml"])
        self.assertIn("automountServiceAccountToken: false", said["csi.yaml"])
        self.assertNotIn("ClusterRole", said["csi.yaml"])
        for name in ("agent.yaml", "operator.yaml"):
            self.assertIn("capabilities: {drop: [ALL]}", said[name])
            self.assertNotRegex(said[name], r"(?m)^ +add:|capabilities: \{.*add")
            self.assertIn("allowPrivilegeEscalation: false", said[name])
        for name in ("agent.yaml", "operator.yaml", "csi.yaml"):
            self.assertIn("readOnlyRootFilesystem: true", said[name])

    def test_objects_have_the_names_that_gkm_gave_them(self):
        found = {(kind, name) for path in (ROOT / "deploy/gkm/base").glob("*.yaml") if path.name != "kustomization.yaml"
                 for kind, _, name, _ in documents(path)}
        for wanted in (("Namespace", "gkm-system"), ("Deployment", "gkm-operator"), ("DaemonSet", "gkm-agent"), ("DaemonSet", "gkm-csi-node"),
                       ("ConfigMap", "gkm-config"), ("Service", "gkm-webhook-service"),
                       ("MutatingWebhookConfiguration", "gkm-mutating-webhook-configuration"),
                       ("ValidatingWebhookConfiguration", "gkm-validating-webhook-configuration")):
            self.assertIn(wanted, found)


if __name__ == "__main__":
    unittest.main()
