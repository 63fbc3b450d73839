"""What stands before Triton kernels: scalar functions that Triton's language lacks, and the combining functions."""

PRELUDE = """\
import triton
import triton.language as tl


def cdiv(a, b):
    return max(1, -(-a // b))


@triton.jit
def add_(a, b):
    return a + b


@triton.jit
def mul_(a, b):
    return a * b


@triton.jit
def or_(a, b):
    return a | b


@triton.jit
def and_(a, b):
    return a & b


@triton.jit
def max_(a, b):
    return tl.where((b > a) | (b != b), b, a)


@triton.jit
def min_(a, b):
    return tl.where((b < a) | (b != b), b, a)


@triton.jit
def argmax_(v, i, x, at):
    better = (x > v) | ((x != x) & (v == v)) | (((x == v) | ((x != x) & (v != v))) & (at < i))
    return tl.where(better, x, v), tl.where(better, at, i)


@triton.jit
def argmin_(v, i, x, at):
    better = (x < v) | ((x != x) & (v == v)) | (((x == v) | ((x != x) & (v != v))) & (at < i))
    return tl.where(better, x, v), tl.where(better, at, i)


@triton.jit
def maximum_(a, b):
    return tl.where((a != a) | (a > b), a, tl.where((b != b) | (b > a), b, a))


@triton.jit
def minimum_(a, b):
    return tl.where((a != a) | (a < b), a, tl.where((b != b) | (b < a), b, a))


@triton.jit
def trunc_(a):
    return tl.where(a < 0, tl.ceil(a), tl.floor(a))


@triton.jit
def round_(a):
    low = tl.floor(a)
    up = (a - low > 0.5) | ((a - low == 0.5) & (low * 0.5 != tl.floor(low * 0.5)))
    return tl.where(up, low + 1, low)


@triton.jit
def expm1_(a):
    u = tl.exp(a)
    near = (u - 1) * (a / tl.log(u))
    far = tl.where((u - 1 == -1) | (u == float("inf")), u - 1, near)
    return tl.where(u == 1, a, far)


@triton.jit
def tanh_(a):
    t = expm1_(-2 * tl.abs(a))
    y = -t / (2 + t)
    return tl.where(a == 0, a, tl.where(a < 0, -y, y))


@triton.jit
def log1p_(a):
    u = 1 + a
    exact = tl.log(u) * (a / (u - 1))
    return tl.where((u == 1) | (a == float("inf")), a, exact)


@triton.jit
def log10_(a):
    return tl.log(a) * 0.4342944819032518


@triton.jit
def tan_(a):
    return tl.sin(a) / tl.cos(a)


@triton.jit
def sinh_(a):
    e = expm1_(tl.abs(a))
    half = tl.exp(tl.abs(a) * 0.5)
    y = tl.where(tl.abs(a) > 40, half * 0.5 * half, (e + e / (e + 1)) * 0.5)
    return tl.where(a == 0, a, tl.where(a < 0, -y, y))


@triton.jit
def cosh_(a):
    half = tl.exp(tl.abs(a) * 0.5)
    return half * 0.5 * half + tl.exp(-tl.abs(a)) * 0.5


@triton.jit
def floordiv(a, b):
    if a.dtype.is_floating():
        r = a % b
        q = (a - r) / b
        q = tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)
        low = tl.floor(q)
        whole = tl.where(q - low > 0.5, low + 1, low)
        return tl.where(b == 0, a / b, tl.where(q == 0, a / b * 0, whole))
    else:
        q = a // tl.where(b == 0, 1, b)
        return q - tl.where((a % tl.where(b == 0, 1, b) != 0) & ((a < 0) != (b < 0)), 1, 0).to(q.dtype)


@triton.jit
def truncdiv(a, b):
    return a // tl.where(b == 0, 1, b)


@triton.jit
def fmod(a, b):
    if a.dtype.is_floating():
        return a % b
    else:
        return a % tl.where(b == 0, 1, b)


@triton.jit
def remainder(a, b):
    r = fmod(a, b)
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


@triton.jit
def philox_(seed, first, element, WIDE: tl.constexpr):
    per = 2 if WIDE else 4
    k0, k1 = seed.to(tl.uint64), seed.to(tl.uint64) >> 32
    low = tl.full([1, 1], 0xFFFFFFFF, tl.uint64)
    m0, m1 = tl.full([1, 1], 0xD2511F53, tl.uint64), tl.full([1, 1], 0xCD9E8D57, tl.uint64)
    s0, s1 = tl.full([1, 1], 0x9E3779B9, tl.uint64), tl.full([1, 1], 0xBB67AE85, tl.uint64)
    counter = (first + element // per).to(tl.uint64)
    c0, c1, c2, c3 = counter & low, counter >> 32, counter & 0, counter & 0
    for _ in tl.static_range(10):
        p0, p1 = c0 * m0, c2 * m1
        c0, c1 = ((p1 >> 32) ^ c1 ^ k0) & low, p1 & low
        c2, c3 = ((p0 >> 32) ^ c3 ^ k1) & low, p0 & low
        k0, k1 = k0 + s0, k1 + s1
    odd, upper = element % 2 != 0, element % 4 >= 2
    if WIDE:
        return tl.where(odd, (c2 << 32) | c3, (c0 << 32) | c1)
    else:
        return tl.where(upper, tl.where(odd, c3, c2), tl.where(odd, c1, c0))


@triton.jit
def uniform_(seed, first, element, T: tl.constexpr):
    if T == tl.float64:
        return (philox_(seed, first, element, True) >> 11).to(tl.int64).to(T) * 1.1102230246251565e-16
    else:
        return (philox_(seed, first, element, False) >> 8).to(tl.int32).to(T) * 5.9604644775390625e-08


@triton.jit
def normal_(seed, first, element, T: tl.constexpr):
    odd = element % 2 != 0
    u, v = uniform_(seed, first, element - element % 2, T), uniform_(seed, first, element - element % 2 + 1, T)
    radius, angle = tl.sqrt(-2 * tl.log(1 - u)), v * 6.283185307179586
    return tl.where(odd, radius * tl.sin(angle), radius * tl.cos(angle)) + 0.0


@triton.jit
def random_below_(seed, first, count, element, T: tl.constexpr):
    return ((philox_(seed, first, element, False) * count.to(tl.uint64)) >> 32).to(T)
"""
