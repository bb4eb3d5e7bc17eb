#!/usr/bin/env python3
"""golden_test.py: images that the ancestors made, rebuilt (sample_caches.py), are read by mcv.
GS_BIN: where the programs are (default: build/release/bin). Needs skopeo; no network.

What is known of vector-add-cache-rocm.tar is met to the byte but for digests: the code in it, and when it was made, are not
known.
"""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import sample_caches as samples

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("GS_BIN", ROOT / "build/release/bin"))
PATIENCE = 60  # seconds: a limit for broken programs, never a measure
KEYS = ["CETLGDE7YAKGU4FRJ26IM6S47TFSIUU7KWBWDR3H2K3QRNRABUCA", "CHN6BLIJ7AJJRKY2IETERW2O7JXTFBUD3PH2WE3USNVKZEKXG64Q", samples.KEY,
        "c4d45c651d6ac181a78d8d2f3ead424b8b8f07dd23dc3de0a99f425d8a633fc6"]
TRITON, VLLM = "io.triton.cache", "io.vllm.cache"
OCI_TAR, OCI_GZIP = "application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_GZIP = "application/vnd.docker.image.rootfs.diff.tar.gzip"
VLLM_LABELS = {"cache.vllm.image/entry-count": "1", "cache.vllm.image/cache-size-bytes": "1", "cache.vllm.image/format": "binary",
               "cache.vllm.image/summary": '{"targets":[{"backend":"cuda","arch":"sm_12.9","warp_size":32}]}'}
HEAD_LABELS = {**VLLM_LABELS, "cache.vllm.image/format": "binary,triton", "io.kserve.km/framework": "vllm",
               "io.kserve.km/cache-type": "torch-compile", "io.kserve.km/cache-hash": "edf531ca35",
               "io.kserve.km/cache-mount-subpath": "torch_compile_cache", "org.opencontainers.image.title": "llama"}
PATH_BEARING = ("__grp__", "vllm_compile_cache.py")


def golden_layer(**how):
    return samples.layer_of(samples.rocm_files(), TRITON, manifest=samples.ROCM_MANIFEST, **how)


class Golden(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def mcv(self, *arguments):
        done = subprocess.run([BIN / "mcv", *arguments, "-i", samples.IMAGE, "--output=json"], capture_output=True, text=True, timeout=PATIENCE,
                              check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr))
        return json.loads(done.stdout)

    def expect(self, place, files, kind="triton"):
        """That mcv finds this cache there, and extracts every file; those with paths for their new place."""
        self.assertEqual(self.mcv("--inspect", "--from", place)["type"], kind, place)
        target = self.folder / "extracted"
        shutil.rmtree(target, ignore_errors=True)
        done = self.mcv("-e", "--no-gpu", "--from", place, "-d", str(target), "--mount-path=/cache")
        self.assertEqual((done["type"], done["files"]), (kind, len(files)), place)
        there = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()}
        self.assertEqual(sorted(there), sorted(files), place)
        for path, data in there.items():
            if not any(part in path for part in PATH_BEARING):
                self.assertEqual(data, files[path], (place, path))
            else:
                self.assertNotIn(b"/workspace/", data, path)
                self.assertNotIn(samples.VLLM_HOME.encode(), data, path)
                self.assertIn(b"/cache/", data, path)
        return target

    def test_what_is_known_of_the_golden_archive_holds(self):
        self.assertEqual(sum(len(data) for data in samples.rocm_files().values()), 80415)
        self.assertEqual(len(samples.ROCM_MANIFEST), 317)
        layer = golden_layer()
        self.assertEqual(len(layer), 93184)
        self.assertEqual(len(samples.config_of(samples.ANCESTOR_LABELS, [layer])), 502)
        self.assertEqual(len(samples.docker_archive(samples.IMAGE, samples.ANCESTOR_LABELS, layer)), 100352)
        names = [layer[at:at + 100].rstrip(b"\0") for at in (0, 512)]
        self.assertEqual(names, [b"io.triton.cache", f"io.triton.cache/{KEYS[0]}".encode()])

    def test_the_golden_archive_is_read_as_the_guide_shows(self):
        archive = self.folder / "golden.tar"
        archive.write_bytes(samples.docker_archive(samples.IMAGE, samples.ANCESTOR_LABELS, golden_layer()))
        place = f"docker-archive:{archive}"
        target = self.expect(place, samples.rocm_files())
        self.assertEqual(sorted(path.name for path in target.iterdir()), sorted(KEYS))  # what `ls /cache` shows
        self.assertEqual(json.loads((target / samples.KEY / "__grp__add_kernel.json").read_bytes())["child_paths"]["add_kernel.hsaco"],
                         f"/cache/{samples.KEY}/add_kernel.hsaco")
        self.assertEqual(self.mcv("--inspect", "--from", place)["labels"], samples.ANCESTOR_LABELS)
        (self.folder / "golden.tar.gz").write_bytes(gzip.compress(archive.read_bytes()))
        self.expect("docker-archive:golden.tar.gz", samples.rocm_files())

    def test_skopeo_takes_the_golden_archive_for_one_too(self):
        (self.folder / "golden.tar").write_bytes(samples.docker_archive(samples.IMAGE, samples.ANCESTOR_LABELS, golden_layer()))
        done = subprocess.run(["skopeo", "--insecure-policy", "copy", "docker-archive:golden.tar", "oci:zstd", "--dest-compress-format=zstd"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect("oci:zstd", samples.rocm_files())

    def test_every_builder_s_layers_are_read(self):
        files = samples.rocm_files()
        plain, slashes, bare = golden_layer(), golden_layer(slash="/"), golden_layer(folders=False)
        cache_only = samples.layer_of(files, TRITON, slash="/")
        manifest_only = samples.layer_of({}, TRITON, slash="/", manifest=samples.ROCM_MANIFEST)
        table = {  # as buildah, as docker's builder with its two COPYs, as HEAD's own, as the "oci" variant
            "buildah": (samples.OCI, [plain], OCI_GZIP, True),
            "buildah-plain": (samples.OCI, [plain], OCI_TAR, False),
            "docker": (samples.DOCKER, [cache_only, manifest_only], DOCKER_GZIP, True),
            "head": (samples.DOCKER, [slashes], DOCKER_GZIP, True),
            "head-oci": (samples.OCI, [slashes], OCI_GZIP, True),
            "no-folders": (samples.OCI, [bare], OCI_GZIP, True),
            "mixed": (samples.OCI, [cache_only, manifest_only], DOCKER_GZIP, True),
            "oci": (samples.OCI, [plain], "application/cache.triton.content.layer.v1+triton", True),
        }
        for name, (types, layers, media_type, packed) in table.items():
            with self.subTest(name):
                samples.write_layout(self.folder / name, types, samples.ANCESTOR_LABELS, layers, media_type, packed)
                self.expect(f"oci:{name}", files)

    def test_vllm_caches_of_each_format_are_read(self):
        table = {"triton": (samples.vllm_triton_files(), {**VLLM_LABELS, "cache.vllm.image/format": "unpacked"}),
                 "llama": (samples.vllm_binary_files(), VLLM_LABELS), "llama-head": (samples.vllm_binary_files(), HEAD_LABELS),
                 "qwen": (samples.vllm_binary_files("4bce7ae4f8", 29), VLLM_LABELS)}
        for name, (files, labels) in table.items():
            with self.subTest(name):
                manifest = json.dumps({"vllm": [{"vllmHash": "edf531ca35", "cacheFormat": "binary"}]}).encode()
                layer = samples.layer_of(files, VLLM, manifest=manifest)
                samples.write_layout(self.folder / name, samples.OCI, labels, [layer], OCI_GZIP)
                self.expect(f"oci:{name}", files, "vllm")
                samples.write_layout(self.folder / f"{name}-oci", samples.OCI, {}, [layer], "application/cache.vllm.content.layer.v1+vllm")
                self.expect(f"oci:{name}-oci", files, "vllm")
        self.assertEqual([len(table[name][0]) for name in ("triton", "llama", "qwen")], [82, 21, 33])


if __name__ == "__main__":
    unittest.main()
