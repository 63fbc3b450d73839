"""What stands before Triton kernels: scalar functions that Triton's language lacks, and the combining functions."""

PRELUDE = """\
import triton
import triton.language as tl
from triton.language.extra import libdevice


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
def logaddexp_(a, b):
    apart = tl.where(a == b, 0, tl.abs(a - b)).to(a.dtype)  # (of two infinities alike it is nothing)
    return max_(a, b) + libdevice.log1p(tl.exp(-apart))


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
def div_(a, b):
    if a.dtype == tl.float32:  # whose `/` is an approximation
        return tl.div_rn(a, b)
    else:
        return a / b


@triton.jit
def sqrt_(a):
    if a.dtype == tl.float32:
        return tl.sqrt_rn(a)
    else:
        return tl.sqrt(a)


@triton.jit
def floor_(a):
    if a.dtype.is_floating():
        return tl.floor(a)
    else:
        return a


@triton.jit
def ceil_(a):
    if a.dtype.is_floating():
        return tl.ceil(a)
    else:
        return a


@triton.jit
def trunc_(a):
    if a.dtype.is_floating():
        return libdevice.trunc(a)
    else:
        return a


@triton.jit
def round_(a):
    if a.dtype.is_floating():
        return libdevice.rint(a)
    else:
        return a


@triton.jit
def signbit_(a):
    if a.dtype == tl.float32:
        return a.to(tl.int32, bitcast=True) < 0
    elif a.dtype == tl.float64:
        return a.to(tl.int64, bitcast=True) < 0
    else:
        return a < 0


@triton.jit
def floor_divide_(a, b):
    if a.dtype.is_floating():
        r = libdevice.fmod(a, b)
        q = div_(a - r, b)
        q = tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)
        low = tl.floor(q)
        whole = tl.where(q - low > 0.5, low + 1, low)
        return tl.where(b == 0, div_(a, b), tl.where(q == 0, div_(a, b) * 0, whole))
    else:
        q = a // tl.where(b == 0, 1, b)
        return q - tl.where((a % tl.where(b == 0, 1, b) != 0) & ((a < 0) != (b < 0)), 1, 0).to(q.dtype)


@triton.jit
def trunc_divide_(a, b):
    if a.dtype.is_floating():
        return libdevice.trunc(div_(a, b))
    else:
        return a // tl.where(b == 0, 1, b)


@triton.jit
def fmod_(a, b):
    if a.dtype.is_floating():
        return libdevice.fmod(a, b)
    else:
        return a % tl.where(b == 0, 1, b)


@triton.jit
def remainder_(a, b):
    r = fmod_(a, b)
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


@triton.jit
def pow_(a, b):
    if a.dtype.is_floating():
        return libdevice.pow(a, b)
    else:  # a negative power is 0, but of 1 and -1
        n = tl.where(b < 0, 0, b)
        x, r = a + n * 0, n * 0 + 1
        for _ in range(a.dtype.primitive_bitwidth):
            r = tl.where(n % 2 != 0, r * x, r)
            x = x * x
            n = n // 2
        inverse = tl.where(a == 1, 1, tl.where(a + 1 == 0, tl.where(b % 2 != 0, -1, 1), 0)).to(a.dtype)
        return tl.where(b < 0, inverse, r)


@triton.jit
def bitwise_left_shift_(a, b):
    width = a.dtype.primitive_bitwidth
    outside = (b < 0) | (b >= width)
    return tl.where(outside, 0, a << tl.where(outside, 0, b)).to(a.dtype)


@triton.jit
def bitwise_right_shift_(a, b):
    width = a.dtype.primitive_bitwidth
    outside = (b < 0) | (b >= width)
    return tl.where(outside, tl.where(a < 0, -1, 0), a >> tl.where(outside, 0, b)).to(a.dtype)


@triton.jit
def digamma_(a):
    x = a.to(tl.float64)
    f = x - libdevice.trunc(x)
    mirrored = tl.where(f == 0, float("nan"), -3.14159265358979323846 / libdevice.tan(3.14159265358979323846 * f))
    r = tl.where(x < 0, mirrored, x * 0)
    x = tl.where(x < 0, 1 - x, x)
    for _ in tl.static_range(10):
        r = tl.where(x < 10, r - 1 / x, r)
        x = tl.where(x < 10, x + 1, x)
    z = 1 / (x * x)
    s = 1 / 132.0 - z * (691 / 32760.0 - z / 12.0)
    s = z * (1 / 12.0 - z * (1 / 120.0 - z * (1 / 252.0 - z * (1 / 240.0 - z * s))))
    r = tl.where(x == float("inf"), x, r + tl.log(x) - 0.5 / x - s)
    return tl.where(a == 0, libdevice.copysign(a * 0 + float("inf"), -a), r.to(a.dtype))


@triton.jit
def trigamma_(a):
    x = a.to(tl.float64)
    ratio = 3.14159265358979323846 / libdevice.sin(3.14159265358979323846 * (x - libdevice.rint(x)))
    pole = (x <= 0) & (x == libdevice.rint(x))
    negative = x < 0
    x = tl.where(negative, 1 - x, x)
    r = x * 0
    for _ in tl.static_range(10):
        r = tl.where(x < 10, r + 1 / (x * x), r)
        x = tl.where(x < 10, x + 1, x)
    z = 1 / (x * x)
    s = -1 / 30.0 + z * (5 / 66.0 + z * (-691 / 2730.0 + z * (7 / 6.0)))
    s = 1 / 6.0 + z * (-1 / 30.0 + z * (1 / 42.0 + z * s))
    r = r + 1 / x + z * 0.5 + z / x * s
    r = tl.where(negative, ratio * ratio - r, r)
    return tl.where(pole, x * 0 + float("inf"), r).to(a.dtype)


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
