"""triton_kernel.py: compiles one kernel with the Triton that is installed, for a GPU that need not be here, or finds it in
TRITON_CACHE_DIR. Prints "compiled" or "found", and the folder that Triton has each of the kernel's files from."""

import pathlib

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


class Source(ASTSource):
    """Knows whether the compiler began: that is its first step, and what is found in the cache needs none."""

    began = False

    def make_ir(self, *args):
        self.began = True
        return super().make_ir(*args)


signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
source = Source(add_kernel, signature=signature, constants={"BLOCK": 1024})
kernel = triton.compile(source, target=GPUTarget("cuda", 75, 32))
files = get_cache_manager(kernel.hash).get_group("add_kernel.json")
folders = sorted({str(pathlib.Path(file).parent.parent) for file in files.values()})
print("compiled" if source.began else "found", len(files), *folders)
