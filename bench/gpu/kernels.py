"""kernels.py: launches 19 Triton kernels once, as a model's server does when it starts, and checks what they compute.
Prints one line: whether all was right, how many kernels were compiled, how many seconds the first launches took (imports
and the GPU's context are not in it)."""

import time

import torch
import triton
import triton.language as tl
from triton.compiler import ASTSource

compiled = []
make_ir = ASTSource.make_ir


def counted(self, *args, **kwargs):
    """The compiler's first step: what is found in the cache needs none."""
    compiled.append(self.fn.__name__)
    return make_ir(self, *args, **kwargs)


ASTSource.make_ir = counted


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + at, power / tl.sum(power, axis=0))


@triton.jit
def norm_kernel(x, out, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32)
    tl.store(out + at, (value / tl.sqrt(tl.sum(value * value, axis=0) / BLOCK + eps)).to(tl.float16))


@triton.jit
def matmul_kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        sums += tl.dot(left, tl.load(b + (k + inner)[:, None] * N + columns[None, :]))
    tl.store(c + rows[:, None] * N + columns[None, :], sums.to(tl.float16))


@triton.jit
def attention_kernel(q, k, v, out, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * n * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    inner = tl.arange(0, D)
    query = tl.load(q + head + rows[:, None] * D + inner[None, :])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    weights = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        columns = start + tl.arange(0, BN)
        scores = tl.dot(query, tl.load(k + head + columns[None, :] * D + inner[:, None])) * scale
        larger = tl.maximum(largest, tl.max(scores, axis=1))
        powers = tl.exp(scores - larger[:, None])
        before = tl.exp(largest - larger)
        weights = weights * before + tl.sum(powers, axis=1)
        values = tl.load(v + head + columns[:, None] * D + inner[None, :])
        sums = sums * before[:, None] + tl.dot(powers.to(tl.float16), values)
        largest = larger
    tl.store(out + head + rows[:, None] * D + inner[None, :], (sums / weights[:, None]).to(tl.float16))


def add():
    x = torch.randn(1 << 20, device="cuda")
    out = torch.empty_like(x)
    add_kernel[(1024,)](x, x, out, x.numel(), BLOCK=1024)
    return torch.equal(out, x + x)


def rows(columns):
    x = torch.randn(64, columns, device="cuda")
    out = torch.empty_like(x)
    softmax_kernel[(64,)](x, out, BLOCK=columns)
    half = x.half()
    normed = torch.empty_like(half)
    norm_kernel[(64,)](half, normed, 1e-6, BLOCK=columns)
    root = half.float().square().mean(1, keepdim=True).sqrt()
    return torch.allclose(out, torch.softmax(x, 1), atol=1e-5) and torch.allclose(normed.float(), x / root, atol=0.05)


def matmul(a, b, bm, bn, bk, warps, stages):
    out = torch.empty_like(a)
    matmul_kernel[(512 // bm, 512 // bn)](a, b, out, 512, 512, BM=bm, BN=bn, BK=bk, num_warps=warps, num_stages=stages)
    return torch.allclose(out.float(), a.float() @ b.float(), atol=0.5, rtol=0.05)


def attention(d, bm, bn, warps):
    q, k, v = (torch.randn(8, 1024, d, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    attention_kernel[(1024 // bm, 8)](q, k, v, out, 1024, d**-0.5, BM=bm, BN=bn, D=d, num_warps=warps, num_stages=2)
    right = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return torch.allclose(out.float(), right.float(), atol=0.02)


torch.manual_seed(1)
a = torch.randn(512, 512, device="cuda", dtype=torch.float16)
b = torch.randn_like(a)
(a @ b).sum().item()  # the context and cuBLAS are there
started = time.perf_counter()
right = add() and all(rows(columns) for columns in (512, 1024, 2048, 4096))
shapes = [(64, 64, 32, 4, 2), (128, 64, 32, 4, 3), (64, 128, 64, 4, 3)]
shapes += [(128, 128, 32, 8, 3), (128, 128, 64, 8, 4), (128, 256, 64, 8, 3)]
right = right and all([matmul(a, b, *shape) for shape in shapes])
right = right and all([attention(d, *shape) for d in (64, 128) for shape in [(64, 64, 4), (128, 64, 8)]])
torch.cuda.synchronize()
print(f"right={bool(right)} compiled={len(compiled)} seconds={time.perf_counter() - started:.2f}")
