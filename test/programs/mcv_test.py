#!/usr/bin/env python3
"""mcv_test.py: mcv as somebody sees it who types, and skopeo beside it: what one writes the other reads.
GS_BIN: where the programs are (default: build/release/bin). Needs skopeo; no network.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("GS_BIN", ROOT / "build/release/bin"))
PATIENCE = 60  # seconds: a limit for broken programs, never a measure
IMAGE = "quay.io/gkm/vector-add-cache:rocm"
HASH = "6088b9b2e5149e06670bcec5bb3df8c56758f20ec349dd5f77f1507fe7cdf5fa"
KEY = "MCELTMXFCSPAMZYLZ3C3WPPYYVTVR4QOYNE52X3X6FIH7Z6N6X5A"
KERNEL = {"hash": HASH, "target": {"backend": "hip", "arch": "gfx90a", "warp_size": 64}, "num_warps": 4, "num_stages": 2, "debug": False}
LABELS = {"cache.triton.image/cache-size-bytes": "80415", "cache.triton.image/entry-count": "1",
          "cache.triton.image/summary": '{"targets":[{"backend":"hip","arch":"gfx90a","warp_size":64}]}',
          "org.opencontainers.image.title": "vector-add-cache"}
# The ancestor's sample vector-add-cache-rocm, its code replaced by zeros.
SIZES = {"CETLGDE7YAKGU4FRJ26IM6S47TFSIUU7KWBWDR3H2K3QRNRABUCA/__triton_launcher.so": 17808,
         "CHN6BLIJ7AJJRKY2IETERW2O7JXTFBUD3PH2WE3USNVKZEKXG64Q/hip_utils.so": 17544,
         f"{KEY}/__grp__add_kernel.json": 722, f"{KEY}/add_kernel.amdgcn": 9433, f"{KEY}/add_kernel.hsaco": 5816,
         f"{KEY}/add_kernel.json": 932, f"{KEY}/add_kernel.llir": 4523, f"{KEY}/add_kernel.ttgir": 3251, f"{KEY}/add_kernel.ttir": 2842,
         "c4d45c651d6ac181a78d8d2f3ead424b8b8f07dd23dc3de0a99f425d8a633fc6/hip_utils.so": 17544}


def write_sample(folder):
    group = {"child_paths": {f"add_kernel.{end}": f"/workspace/.triton/cache/{KEY}/add_kernel.{end}"
                             for end in ("ttir", "ttgir", "llir", "amdgcn", "hsaco", "json")}}
    for path, size in SIZES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(KERNEL) if path.endswith("/add_kernel.json") else json.dumps(group) if "__grp__" in path else None
        file.write_bytes(text.encode().ljust(size) if text else bytes(size))


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

    def call(self, *arguments, **options):
        done = subprocess.run([BIN / "mcv", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=self.folder,
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
        digest = hashlib.sha256(text).hexdigest()
        (layout / "blobs/sha256" / digest).write_bytes(text)
        (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [
            {"mediaType": "application/vnd.docker.distribution.manifest.v2+json", "digest": f"sha256:{digest}", "size": len(text)}]}))
        self.assertEqual(without_paths(self.extracted("oci:as-oci")), without_paths(self.sample))

    def test_the_golden_images_shape_is_read(self):
        """As `buildah push` in the ancestor's container wrote it: one plain layer, names without "./"."""
        layer, archive = self.folder / "layer.tar", self.folder / "golden.tar"
        with tarfile.open(layer, "w", format=tarfile.USTAR_FORMAT) as tar:
            def add(name, data=b""):
                info = tarfile.TarInfo(name)
                info.type, info.mode = (tarfile.REGTYPE, 0o644) if data else (tarfile.DIRTYPE, 0o755)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            add("io.triton.cache")
            for folder in sorted(path.name for path in self.sample.iterdir()):
                add(f"io.triton.cache/{folder}")
                for file in sorted((self.sample / folder).iterdir()):
                    add(f"io.triton.cache/{folder}/{file.name}", data=file.read_bytes())
            add("io.triton.manifest")
            add("io.triton.manifest/manifest.json", data=b'{"triton":[]}')
        name = hashlib.sha256(layer.read_bytes()).hexdigest()
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"WorkingDir": "/", "Labels": LABELS},
                             "rootfs": {"type": "layers", "diff_ids": [f"sha256:{name}"]}}).encode()
        (self.folder / "config").write_bytes(config)
        (self.folder / "list").write_text(json.dumps([{"Config": f"{hashlib.sha256(config).hexdigest()}.json", "RepoTags": [IMAGE],
                                                       "Layers": [f"{name}.tar"]}]))
        with tarfile.open(archive, "w") as tar:
            tar.add(layer, f"{name}.tar")
            tar.add(self.folder / "config", f"{hashlib.sha256(config).hexdigest()}.json")
            tar.add(self.folder / "list", "manifest.json")
        self.assertEqual(without_paths(self.extracted(f"docker-archive:{archive}")), without_paths(self.sample))
        (self.folder / "golden.tar.gz").write_bytes(gzip.compress(archive.read_bytes()))
        self.assertEqual(without_paths(self.extracted("docker-archive:golden.tar.gz")), without_paths(self.sample))

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
            (["--gpu-info", "--nvml-library=/not/there"], 0, "No GPUs found.\n", ""),
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
        compat = self.call("--check-compat", "-i", IMAGE, "--from=oci:layout", "--nvml-library=/not/there")
        self.assertEqual((compat[0], compat[2]), (1, "no compatible GPU found from summary preflight check\n"))

    def test_the_gpus_of_the_driver_decide(self):
        script = self.folder / "script"
        script.write_text("driver 550.54.15\ngpu uuid=GPU-0 name=A100 mib=1 pci=00000000:01:00.0 cc=8.0\n")
        self.create("oci:layout")
        nvml = f"--nvml-library={BIN.parent / 'tests/nvml-fake/libnvidia-ml.so.1'}"
        environment = {**os.environ, "GS_FAKE_NVML": str(script)}
        self.assertEqual(self.call("--gpu-info", nvml, env=environment)[1],
                         "GPU Fleet:\n  - GPU Type: A100\n    Driver Version: 550.54.15\n    IDs: [0]\n")
        code, _, err = self.call("-e", "-i", IMAGE, "--from=oci:layout", "-d", "there", nvml, env=environment)
        self.assertEqual((code, err), (1, "preflight check failed: no compatible GPU found from summary preflight check\n"))
        self.assertFalse((self.folder / "there").exists())


if __name__ == "__main__":
    unittest.main()
