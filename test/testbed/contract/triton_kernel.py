"""triton_kernel.py [--look]: compiles 36 variants of one kernel with the Triton that is installed, for a GPU that need not
be here, or finds them in TRITON_CACHE_DIR. --look compiles nothing. Prints how many it found, how many of the files that
their group files name are there, and the folders that Triton has those from."""

import itertools
import json
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.cache import get_cache_manager


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


class Missed(Exception):
    pass


class Source(ASTSource):
    """Knows whether the compiler began: that is its first step, and what is found in the cache needs none."""

    began = False

    def make_ir(self, *args):
        self.began = True
        if "--look" in sys.argv:
            raise Missed
        return super().make_ir(*args)


VARIANTS = list(itertools.product(("fp32", "fp16"), (64, 128, 256, 512, 1024, 2048), (1, 2, 4)))
FILES = ("cubin", "json", "llir", "ptx", "ttgir", "ttir")

found = there = 0
folders = set()
for kind, block, warps in VARIANTS:
    pointer = f"*{kind}"
    source = Source(add_kernel, signature={"x": pointer, "y": pointer, "out": pointer, "n": "i32"}, constants={"BLOCK": block})
    try:
        kernel = triton.compile(source, target=GPUTarget("cuda", 75, 32), options={"num_warps": warps})
    except Missed:
        continue
    found += not source.began
    files = get_cache_manager(kernel.hash).get_group("add_kernel.json")  # those of its group file that are there
    there += len(files)
    folders |= {str(pathlib.Path(file).parent.parent) for file in files.values()}
print(f"found {found} of {len(VARIANTS)} kernels, {there} of {len(VARIANTS) * len(FILES)} files", *sorted(folders))
