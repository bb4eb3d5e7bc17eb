"""Caches and images as the ancestors made them, rebuilt from their descriptions: the same names, sizes and shapes, code
replaced by zeros. For the tests of mcv; deterministic.
"""

import gzip
import hashlib
import json

IMAGE = "quay.io/gkm/vector-add-cache:rocm"
HASH = "6088b9b2e5149e06670bcec5bb3df8c56758f20ec349dd5f77f1507fe7cdf5fa"
KEY = "MCELTMXFCSPAMZYLZ3C3WPPYYVTVR4QOYNE52X3X6FIH7Z6N6X5A"
KERNEL = {"hash": HASH, "target": {"backend": "hip", "arch": "gfx90a", "warp_size": 64}, "num_warps": 4, "num_stages": 2, "debug": False}
ANCESTOR_LABELS = {"cache.triton.image/cache-size-bytes": "80415", "cache.triton.image/entry-count": "1",
                   "cache.triton.image/summary": '{"targets":[{"backend":"hip","arch":"gfx90a","warp_size":64}]}'}
LABELS = {**ANCESTOR_LABELS, "org.opencontainers.image.title": "vector-add-cache"}
# The ancestor's sample vector-add-cache-rocm, its code replaced by zeros.
SIZES = {"CETLGDE7YAKGU4FRJ26IM6S47TFSIUU7KWBWDR3H2K3QRNRABUCA/__triton_launcher.so": 17808,
         "CHN6BLIJ7AJJRKY2IETERW2O7JXTFBUD3PH2WE3USNVKZEKXG64Q/hip_utils.so": 17544,
         f"{KEY}/__grp__add_kernel.json": 722, f"{KEY}/add_kernel.amdgcn": 9433, f"{KEY}/add_kernel.hsaco": 5816,
         f"{KEY}/add_kernel.json": 932, f"{KEY}/add_kernel.llir": 4523, f"{KEY}/add_kernel.ttgir": 3251, f"{KEY}/add_kernel.ttir": 2842,
         "c4d45c651d6ac181a78d8d2f3ead424b8b8f07dd23dc3de0a99f425d8a633fc6/hip_utils.so": 17544}


def rocm_files():
    """vector-add-cache-rocm: four folders, one of them a kernel's; 80415 bytes in ten files."""
    group = {"child_paths": {f"add_kernel.{end}": f"/workspace/.triton/cache/{KEY}/add_kernel.{end}"
                             for end in ("ttir", "ttgir", "llir", "amdgcn", "hsaco", "json")}}
    out = {}
    for path, size in SIZES.items():
        text = json.dumps(KERNEL) if path.endswith("/add_kernel.json") else json.dumps(group) if "__grp__" in path else ""
        out[path] = text.encode().ljust(size) if text else bytes(size)
    return out


def write_sample(folder):
    for path, data in rocm_files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


# What the golden image has below io.triton.manifest: 317 bytes.
ROCM_MANIFEST = json.dumps({"triton": [{
    "hash": HASH, "dummy_key": "049765a0815d7c5d44f663709bb813c4db6350c0eca7b79e9372d513daa57c58", "num_stages": 2, "num_warps": 4,
    "backend": "hip", "arch": "gfx90a", "warp_size": 64}]}, indent=2).encode()

VLLM_HOME = "/home/vllm/.cache/vllm"


def vllm_triton_files():
    """vllm-cache: 82 files, six folders of Triton kernels among them."""
    rank = "torch_compile_cache/d4ec7c2a7d/rank_0_0"
    artifacts = [f"{rank}/inductor_cache/aotautograd/a{number:02}/entry" for number in range(25)]
    graphs = [f"{rank}/inductor_cache/fxgraph/f{number % 10}/f{number:02}/g{number:02}" for number in range(20)]
    scripts = [f"{rank}/inductor_cache/c{number % 10}/c{number:02}.py" for number in range(8)]
    paths = ",\n".join(f"  (None, {number}, 'inductor'): ('g{number:02}', '{VLLM_HOME}/{script}')" for number, script in enumerate(scripts))
    out = {f"{rank}/computation_graph.py": b"# graph\n", f"{rank}/transformed_code.py": b"# code\n",
           f"{rank}/vllm_compile_cache.py": f"{{{paths}}}\n".encode()}
    out |= {path: b"entry" for path in artifacts + graphs} | {path: b"# kernel\n" for path in scripts}
    out |= {f"{rank}/inductor_cache/c{number}/c0{number}.best_config": b"{}" for number in range(2)}
    for number in range(6):
        key = f"{rank}/triton_cache/{'ABCDEF'[number] * 52}"
        kernel = {**KERNEL, "hash": f"{number:064x}", "target": {"backend": "cuda", "arch": 89, "warp_size": 32}, "name": "triton_"}
        group = {"child_paths": {"triton_.json": f"{VLLM_HOME}/{key}/triton_.json"}}
        out |= {f"{key}/triton_.json": json.dumps(kernel).encode(), f"{key}/__grp__triton_.json": json.dumps(group).encode(),
                f"{key}/triton_.cubin": bytes(64), f"{key}/triton_.ptx": b"//"}
    assert len(out) == 82, len(out)
    return out


def vllm_binary_files(model="edf531ca35", subgraphs=17):
    """llama-binary-cache (21 files), or qwen's with 29 subgraphs (33 files)."""
    backbone = f"torch_compile_cache/{model}/rank_0_0/backbone"
    names = [f"artifact_compile_range_1_2048_subgraph_{number}" for number in range(subgraphs)]
    paths = ",\n".join(f"  ((1, 2048), {number}, 'inductor_standalone'): ('{name}', '{VLLM_HOME}/{backbone}/{name}')" for number, name in enumerate(names))
    environment = {f"VLLM_OTHER_{number}": [number, None, True, "text"][number % 4] for number in range(176)}
    environment |= {"VLLM_TARGET_DEVICE": "cuda", "VLLM_COMPILE_CACHE_SAVE_FORMAT": "binary", "VLLM_MAIN_CUDA_VERSION": "12.9",
                    "VLLM_ROCM_CUSTOM_PAGED_ATTN": True}
    factors = {"code_hash": "c" * 64, "compiler_hash": "4fc2f2ae9e", "config_hash": "2a3882727d", "env": environment}
    return {**{f"{backbone}/{name}": b"\x80\x04artifact" for name in names}, f"{backbone}/cache_key_factors.json": json.dumps(factors).encode(),
            f"{backbone}/computation_graph.py": b"# graph\n", f"{backbone}/vllm_compile_cache.py": f"{{{paths}}}\n".encode(),
            "modelinfos/vllm-model_executor-models-llama-LlamaForCausalLM.json": b"{}"}


# ---- tar files

def tar_header(name, size=0, mode=0o644, kind=b"0", link=""):
    """As Go's archive/tar writes one without a time (Python's tarfile fills files up to records of 10240 bytes). The name may have
    to be split."""
    prefix = b""
    data = name.encode()
    if len(data) > 100:
        at = data.index(b"/", len(data) - 101)
        prefix, data = data[:at], data[at + 1:]
    out = bytearray(b"".join([data.ljust(100, b"\0"), b"%07o\0" % mode, b"0000000\0" * 2, b"%011o\0" % size, b"%011o\0" % 0, b" " * 8, kind,
                              link.encode().ljust(100, b"\0"), b"ustar\x0000", bytes(64), b"0000000\0" * 2, prefix]).ljust(512, b"\0"))
    out[148:156] = b"%06o\0 " % sum(out)
    return bytes(out)


def tar_file(name, data):
    return tar_header(name, len(data)) + data + bytes(-len(data) % 512)


def layer_of(files, root, slash="", manifest=None, folders=True):
    """A layer with `files` below `root`, each folder before what is in it; `slash`: what names of folders end with. With
    `manifest`: what lies below the folder of manifests, after the cache."""
    out, known = [], set()

    def folder(name):
        if folders and name not in known:
            known.add(name)
            out.append(tar_header(name + slash, mode=0o755, kind=b"5"))

    def file(name, data):
        parts = name.split("/")
        for depth in range(1, len(parts)):
            folder("/".join(parts[:depth]))
        out.append(tar_file(name, data))
    for path in sorted(files):
        file(f"{root}/{path}", files[path])
    if manifest is not None:
        file(f"{root.replace('.cache', '.manifest')}/manifest.json", manifest)
    return b"".join(out) + bytes(1024)


# ---- images

CREATED = "2025-06-10T13:14:15.123456789Z"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def config_of(labels, layers):
    return compact({"created": CREATED, "architecture": "amd64", "os": "linux", "config": {"WorkingDir": "/", "Labels": labels},
                    "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(layer)}" for layer in layers]},
                    "history": [{"created": CREATED, "created_by": "/bin/sh"}]})


def docker_archive(name, labels, layer):
    """As `buildah push docker-archive:FILE` writes one, with what docker before 1.10 read of it."""
    config, blob = config_of(labels, [layer]), digest(layer)
    listed = compact([{"Config": f"{digest(config)}.json", "RepoTags": [name], "Layers": [f"{blob}.tar"]}])
    old = compact({"id": blob, "created": CREATED, "os": "linux"})
    repository, tag = name.rsplit(":", 1)
    return b"".join([tar_file(f"{blob}.tar", layer), tar_file(f"{digest(config)}.json", config), tar_file(f"{blob}/VERSION", b"1.0"),
                     tar_header(f"{blob}/layer.tar", kind=b"2", link=f"../{blob}.tar"), tar_file(f"{blob}/json", old),
                     tar_file("repositories", compact({repository: {tag: blob}})), tar_file("manifest.json", listed)]) + bytes(1024)


OCI = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.config.v1+json")
DOCKER = ("application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.container.image.v1+json")


def write_layout(folder, types, labels, layers, media_type, packed=True):
    """An OCI layout with one image; `packed`: layers are gzip."""
    (folder / "blobs/sha256").mkdir(parents=True)

    def put(kind, data):
        (folder / "blobs/sha256" / digest(data)).write_bytes(data)
        return {"mediaType": kind, "digest": f"sha256:{digest(data)}", "size": len(data)}
    manifest = compact({"schemaVersion": 2, "mediaType": types[0], "config": put(types[1], config_of(labels, layers)),
                        "layers": [put(media_type, gzip.compress(layer, mtime=0) if packed else layer) for layer in layers]})
    (folder / "index.json").write_bytes(compact({"schemaVersion": 2, "manifests": [put(types[0], manifest)]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
