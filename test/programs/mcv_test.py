#!/usr/bin/env python3
"""mcv_test.py: mcv as somebody sees it who types, and skopeo beside it: what one writes the other reads.
GS_BIN: where the programs are (default: build/release/bin). Needs skopeo; no network.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from sample_caches import IMAGE, LABELS, write_sample

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("GS_BIN", ROOT / "build/release/bin"))
NVML = BIN.parent / "tests/nvml-fake/libnvidia-ml.so.1"
ROCM = BIN.parent / "tests/rocm-fake/librocm_smi64.so.1"
NO_DRIVERS = ["--nvml-library=/not/there", "--rocm-library=/not/there"]  # whatever this machine has
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
PATIENCE = 60  # seconds: a limit for broken programs, never a measure


def without_paths(folder):
    """Files by name, but for the one that is made for its place."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and "__grp__" not in path.name}


class Mcv(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.sample = self.folder / "vector-add-cache-rocm"
        write_sample(self.sample)

    def call(self, *arguments, program=(BIN / "mcv",), **options):
        done = subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=self.folder,
                              **options)
        return done.returncode, done.stdout, done.stderr

    def said(self, *arguments):
        code, out, err = self.call(*arguments)
        self.assertEqual(code, 0, (arguments, err))
        return out

    def skopeo(self, *arguments):
        done = subprocess.run(["skopeo", "--insecure-policy", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False,
                              cwd=self.folder)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr))
        return done.stdout

    def create(self, place):
        return json.loads(self.said("-c", "-i", IMAGE, "-d", str(self.sample), "--to", place, "--output=json"))

    def extracted(self, place):
        target = self.folder / "extracted"
        shutil.rmtree(target, ignore_errors=True)
        self.said("-e", "--no-gpu", "-i", IMAGE, "--from", place, "-d", str(target))
        return target

    def test_skopeo_reads_what_is_written(self):
        for place in ("oci:layout", f"docker-archive:{self.folder}/image.tar"):
            made = self.create(place)
            seen = json.loads(self.skopeo("inspect", place))
            self.assertEqual(seen["Labels"], LABELS, place)
            self.assertEqual(seen["Os"], "linux")
            self.assertEqual(len(seen["Layers"]), 1)
            config = json.loads(self.skopeo("inspect", "--config", place))
            self.assertEqual(config["rootfs"]["diff_ids"], json.loads(self.skopeo("inspect", "--config", "oci:layout"))["rootfs"]["diff_ids"])
            if place.startswith("oci:"):
                self.assertEqual(seen["Digest"], made["digest"])
        self.assertEqual(json.loads(self.skopeo("inspect", "oci:layout:rocm"))["Labels"], LABELS)

    def test_what_skopeo_writes_is_read(self):
        self.create("oci:layout")
        copies = [("oci:copy:rocm", []), ("oci:zstd", ["--dest-compress-format=zstd"]), ("oci:plain", ["--dest-decompress"]),
                  (f"docker-archive:copy.tar:{IMAGE}", []), ("docker-archive:untagged.tar", [])]
        for place, options in copies:
            self.skopeo("copy", *options, "oci:layout", place)
            at = place.removesuffix(f":{IMAGE}").removesuffix(":rocm")
            self.assertEqual(without_paths(self.extracted(at)), without_paths(self.sample), place)

    def test_what_docker_pushes_is_read(self):
        """A manifest of docker's schema 2 with layers that are gzip, as it lies in a registry."""
        self.create("oci:layout")
        self.skopeo("copy", "--format=v2s2", "oci:layout", "dir:pushed")
        pushed, layout = self.folder / "pushed", self.folder / "as-oci"
        (layout / "blobs/sha256").mkdir(parents=True)
        text = (pushed / "manifest.json").read_bytes()
        self.assertIn(b"vnd.docker.image.rootfs.diff.tar.gzip", text)
        for file in pushed.iterdir():
            if file.name not in ("manifest.json", "version"):
                shutil.copy(file, layout / "blobs/sha256" / file.name)
        self.put_manifest(layout, text)
        self.assertEqual(without_paths(self.extracted("oci:as-oci")), without_paths(self.sample))

    def test_what_docker_compresses_with_zstd_is_read(self):
        """buildx with compression=zstd and oci-mediatypes=false: docker's types, with the suffix .zstd."""
        self.create("oci:layout")
        self.skopeo("copy", "--dest-compress-format=zstd", "oci:layout", "oci:zstd")
        layout = self.folder / "zstd"
        index = json.loads((layout / "index.json").read_text())
        manifest = json.loads((layout / "blobs/sha256" / index["manifests"][0]["digest"].removeprefix("sha256:")).read_text())
        manifest["mediaType"] = DOCKER_MANIFEST
        manifest["config"]["mediaType"] = "application/vnd.docker.container.image.v1+json"
        for layer in manifest["layers"]:
            self.assertTrue(layer["mediaType"].endswith("tar+zstd"), layer)
            layer["mediaType"] = "application/vnd.docker.image.rootfs.diff.tar.zstd"
        self.put_manifest(layout, json.dumps(manifest).encode())
        self.assertEqual(without_paths(self.extracted("oci:zstd")), without_paths(self.sample))

    @staticmethod
    def put_manifest(layout, text):
        """As the only one of a layout, of docker's type."""
        digest = hashlib.sha256(text).hexdigest()
        (layout / "blobs/sha256" / digest).write_bytes(text)
        (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [
            {"mediaType": DOCKER_MANIFEST, "digest": f"sha256:{digest}", "size": len(text)}]}))

    def test_the_same_cache_is_the_same_image(self):
        first = self.create("oci:layout")
        other = self.folder / "other"
        shutil.copytree(self.sample, other)
        for path in other.rglob("*"):
            os.utime(path, (1, 1))
        again = json.loads(self.said("-c", "-i", IMAGE, "-d", str(other), "--to", "oci:again", "--output=json"))
        self.assertEqual(again["digest"], first["digest"])

    def test_without_a_place_it_lies_in_a_file_for_podman_load(self):
        out = self.said("-c", "-i", IMAGE, "-d", str(self.sample))
        self.assertIn("docker-archive:vector-add-cache-rocm.tar\n", out)
        self.assertEqual(json.loads(self.skopeo("inspect", "docker-archive:vector-add-cache-rocm.tar"))["RepoTags"], [])

    def test_it_ends_as_the_ancestor_does(self):
        table = [
            (["--gpu-info", "--stub"], 0, "GPU Fleet:\n  - GPU Type: STUBBED Aldebaran/MI200 [Instinct MI210]\n"
                                          "    Driver Version: 6.12.10-100.fc40.x86_64\n    IDs: [0 1]\n", ""),
            (["--gpu-info", *NO_DRIVERS], 0, "No GPUs found.\n", ""),
            ([], 3, "", "no action specified. Use --help to see available options\n"),
            (["-c", "-e"], 3, "", "only one action flag can be specified at a time\n"),
            (["-c", "-d", "."], 3, "", "--image is required when using --create, --extract, or --check-compat\n"),
            (["-c", "-i", IMAGE], 3, "", "--dir is required when using --create\n"),
            (["--stub"], 3, "", "--stub can only be used with --gpu-info\n"),
            (["-c", "-i", IMAGE, "-d", "/not/there"], 2, "", "cannot read '/not/there': No such file or directory\n"),
            (["-e", "-i", IMAGE, "--from=oci:/not/there"], 1, "", "cannot read /not/there/index.json: No such file or directory\n"),
            (["--builder=kaniko"], 3, "", "--builder is 'kaniko'; write auto, buildah or docker\n'mcv --help' says what there is.\n"),
            (["--nonsense"], 3, "", "'mcv' has no flag --nonsense\n'mcv --help' says what there is.\n"),
        ]
        for arguments, code, out, err in table:
            self.assertEqual(self.call(*arguments), (code, out, err), arguments)
        self.create("oci:layout")
        compat = self.call("--check-compat", "-i", IMAGE, "--from=oci:layout", *NO_DRIVERS)
        self.assertEqual((compat[0], compat[2]), (1, "no compatible GPU found from summary preflight check\n"))

    def test_the_gpus_of_the_driver_decide(self):
        script = self.folder / "script"
        script.write_text("driver 550.54.15\ngpu uuid=GPU-0 name=A100 mib=1 pci=00000000:01:00.0 cc=8.0\n")
        self.create("oci:layout")
        drivers = [f"--nvml-library={NVML}", NO_DRIVERS[1]]
        environment = {**os.environ, "GS_FAKE_NVML": str(script)}
        self.assertEqual(self.call("--gpu-info", *drivers, env=environment)[1],
                         "GPU Fleet:\n  - GPU Type: A100\n    Driver Version: 550.54.15\n    IDs: [0]\n")
        code, _, err = self.call("-e", "-i", IMAGE, "--from=oci:layout", "-d", "there", *drivers, env=environment)
        self.assertEqual((code, err), (1, "preflight check failed: no compatible GPU found from summary preflight check\n"))
        self.assertFalse((self.folder / "there").exists())

    def test_gpus_of_both_vendors_are_there_at_once(self):
        nvml, rocm = self.folder / "nvml", self.folder / "rocm"
        nvml.write_text("driver 550.54.15\ngpu uuid=GPU-0 name=A100 mib=1 pci=00000000:D1:00.0 cc=8.0\n")
        rocm.write_text("driver 6.10.5\ngpu pci=0000:c1:00.0 name=MI210\n")
        environment = {**os.environ, "GS_FAKE_NVML": str(nvml), "GS_FAKE_ROCM": str(rocm)}
        drivers = [f"--nvml-library={NVML}", f"--rocm-library={ROCM}"]
        place = [ROOT / "test/rocm/like-an-mi210", BIN / "mcv"]
        a100 = "  - GPU Type: A100\n    Driver Version: 550.54.15\n    IDs: [0]\n"
        mi210 = "  - GPU Type: MI210\n    Driver Version: 6.10.5\n    IDs: [1]\n"
        self.assertEqual(self.call("--gpu-info", *drivers, program=place, env=environment), (0, f"GPU Fleet:\n{a100}{mi210}", ""))
        self.create("oci:layout")
        compat = self.call("--check-compat", "-i", IMAGE, "--from=oci:layout", *drivers, program=place, env=environment)
        self.assertEqual(compat, (0, "Compatible GPUs: [1]\nIncompatible GPUs: [0]\n", ""))
        # One whose driver fails takes none of the other's away.
        rocm.write_text("driver 6.10.5\nfail rsmi_num_monitor_devices 4\n")
        why = "AMD's driver cannot tell how many GPUs there are: Permission denied (4)"
        code, out, err = self.call("--gpu-info", *drivers, program=place, env=environment)
        self.assertEqual((code, out), (0, f"GPU Fleet:\n{a100}"))
        self.assertIn(why, err)
        self.assertEqual(self.call("--gpu-info", NO_DRIVERS[0], drivers[1], program=place, env=environment),
                         (3, "", f"the GPUs cannot be looked at: {why}\n"))


if __name__ == "__main__":
    unittest.main()
