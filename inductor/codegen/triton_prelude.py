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
def tanh_(a):
    e = tl.exp(-2 * tl.abs(a))
    t = (1 - e) / (1 + e)
    small = a - a * a * a * 0.3333333333333333
    return tl.where(tl.abs(a) < 0.004, small, tl.where(a < 0, -t, t))


@triton.jit
def expm1_(a):
    e = tl.exp(a)
    small = a + a * a * 0.5 + a * a * a * 0.16666666666666666
    return tl.where(tl.abs(a) < 0.01, small, e - 1)


@triton.jit
def log1p_(a):
    u = 1 + a
    exact = tl.log(u) * (a / (u - 1))
    return tl.where(u == 1, a, exact)


@triton.jit
def log10_(a):
    return tl.log(a) * 0.4342944819032518


@triton.jit
def tan_(a):
    return tl.sin(a) / tl.cos(a)


@triton.jit
def sinh_(a):
    return (tl.exp(a) - tl.exp(-a)) * 0.5


@triton.jit
def cosh_(a):
    return (tl.exp(a) + tl.exp(-a)) * 0.5


@triton.jit
def floordiv(a, b):
    q = a // tl.where(b == 0, 1, b)
    return q - tl.where((a % tl.where(b == 0, 1, b) != 0) & ((a < 0) != (b < 0)), 1, 0).to(q.dtype)


@triton.jit
def truncdiv(a, b):
    return a // tl.where(b == 0, 1, b)


@triton.jit
def fmod(a, b):
    return a % tl.where(b == 0, 1, b)


@triton.jit
def remainder(a, b):
    r = a % tl.where(b == 0, 1, b)
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)

"""
