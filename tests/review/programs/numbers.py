"""Sizes, ints and floats that change; values of tensors that decide."""

import math

import weft
from tests.review.harness import prog, told, x0


@prog
def item_control(C):
    def f(x):
        s = x.sum().item()
        if s > 5:
            x = x * 2
        n = int(x[0]) + 2
        return x[:n], weft.zeros(n), [i for i in range(n)], float(x.mean())

    f = C(f)
    return f(x0()), f(x0() - 2)


@prog
def nonzero_mask(C):
    def f(x):
        y = x[x > 1]
        n = weft.nonzero(x > 0)
        if y.numel() == 0:
            return x
        u = weft.unique(x)
        return y * 2, n, u, y.shape[0]

    f = C(f)
    return f(x0()), f(x0() * 0), f(weft.arange(7.0))


@prog
def tensor_truth(C):
    def f(x):
        while x.sum() < 100:
            x = x * 2
        assert x.max() > 0, "neg"
        return x if x[0] > 0 or x[1] > 5 else -x

    f = C(f)
    return f(x0()), f(x0() + 1)


@prog
def dynamic_sizes(C):
    def f(x, n):
        b, s = x.shape
        y = x.view(b * s).reshape(s, b) if s % 2 == 0 else x.t()
        return y.sum(0) / n + b // 2, f"{b}x{s}", weft.arange(s) * b, x[:, : s // 2], x.new_zeros(b, s).shape

    f = C(f)
    return [
        f(weft.arange(float(b * s)).reshape(b, s), n)
        for b, s, n in ((2, 3, 1), (3, 4, 2), (1, 4, 3), (5, 1, 4), (0, 3, 5), (2, 6, 2.5))
    ]


@prog
def symbolic_float_zero_div(C):
    f = C(lambda x, a: x * (1.0 / a))
    out = []
    for a in (1.0, 2.0, 4.0, 0.0, -0.0, float("inf"), float("nan")):
        try:
            out.append(f(x0(), a))
        except ZeroDivisionError as e:
            out.append(str(e))
    return out


@prog
def symbolic_int_overflow(C):
    f = C(lambda x, n: (x + 1, n * n * n, n**2 // 3, -n % 7, n / 3))
    return [f(x0(), n) for n in (3, 5, 2**31, 2**40, 2**62, -3, -(2**40), 10**30, True)]


@prog
def int_float_semantics(C):
    f = C(lambda x, a: (x * a, int(a), round(a, 1), a // 1, a % 1, math.floor(a), a == int(a), abs(a), max(a, 2.0), str(a)))
    return [f(x0(), a) for a in (1.5, 2.25, -3.5, 2.0, -0.0, 1e20)]


@prog
def int_list_to_tensor(C):
    def f(l, k):
        return weft.tensor(l) * k, weft.tensor([k, k + 1.0]), weft.full((2,), k), weft.ones(k), weft.arange(k)

    f = C(f)
    return f([1, 2], 2), f([3, 4], 2), f([3, 4], 5), f([1.5], 7)


@prog
def shape_arith(C):
    def f(x):
        n = x.shape[0]
        return (
            x.reshape(n // 2, 2) if n % 2 == 0 else x[: n - 1],
            x.sum() / n,
            n**2,
            -n,
            n >> 1,
            n << 1,
            n & 3,
            ~n,
            math.sqrt(n),
            n / 3,
            int(n / 3),
            float(n),
            str(n),
            [0] * n,
            range(n)[-1],
            divmod(n, 3),
            round(n / 7, 2),
            hash(n),
            n.bit_length(),
            {n: 1},
            max(n, 3),
            abs(-n),
            bool(n),
            n == 4,
            isinstance(n, int),
            type(n).__name__,
        )

    f = C(f)
    return [f(weft.arange(float(k))) for k in (4, 5, 6, 8, 12, 1)]


@prog
def dynamic_true(C):
    def f(x, k):
        n = x.shape[0]
        return x[: n // 2] * k, x.view(-1, 2).sum(1), weft.zeros(n, n).shape

    f = C(f, dynamic=True) if C(len) is not len else f
    return [f(weft.arange(float(k)), k * 0.5) for k in (4, 6, 2, 0, 10)]


@prog
def int_loop_unroll_mutate(C):
    def f(x, l):
        for v in l:
            if v < 6:
                l.append(v * 2)
            x = x + v
        while l:
            x = x * 1 + l.pop()
        return x, l

    return C(f)(x0(), [1, 3])


@prog
def numbers_that_change_to_what_cannot_be_converted(C):
    def f(x, a, g):
        try:
            r = g(a)
        except (OverflowError, ValueError, ZeroDivisionError) as e:
            r = type(e).__name__, str(e)
        return x + 1, r

    told = []
    for g in (math.floor, math.ceil, int, round, math.sqrt, lambda a: divmod(2.5, a), lambda a: divmod(a, 2)):
        h = C(lambda x, a, g=g: f(x, a, g))
        told.append([h(x0(), a) for a in (1.5, 2.5, float("inf"), 3.5, float("nan"), -1.5, 0.0, 1e300)])
    return told


@prog
def identity_of_numbers_that_change(C):
    f = C(lambda x, n, m: (x + n, n is m))
    return [f(x0(), n, m) for n, m in ((5, 3), (6, 4), (7, 7), (0, 0), (8, 9))]


@prog
def ints_beyond_64_bits(C):
    def f(x, n):
        try:
            return x * (n - 2**64), x * 2
        except OverflowError as e:
            return x + 1, str(e)

    f = C(f)
    g = C(lambda x, n: (x + 1, n * 2**40))
    return [f(x0(), n) for n in (5, 6, 7)], [g(x0(), n) for n in (2, 3, 2**40, 2**30)]


@prog
def ranges_longer_than_memory(C):
    def f(x, n):
        out = []
        for i in range(n):
            try:
                out.append("abc"[i])
                weft._dynamo.graph_break()
            except IndexError as e:
                out.append(str(e))
                break
        for i in reversed(range(n)):
            x = x + i % 3
            if i % 7 == 3:
                break
        it = iter(range(n))
        next(it)
        pairs = list(zip(range(n), "ab")), [a for a, _ in zip("ab", range(n, -1, -1))], next(enumerate(it))
        return x, out, pairs, next(it), told(lambda: list(range(n)) and 0 if n > 9 else 0), 3 in range(n)

    c = C(f)
    return [c(x0(), n) for n in (2, 2**70, 3, 2**71)], C(f)(x0(), 2**70)


@prog
def lists_and_numbers_that_fit_no_place(C):
    def f(x, n):
        a, b = [1, 2], (1, 2)
        tried = (
            lambda: a * n,
            lambda: n * b,
            lambda: a[n],
            lambda: b[-n],
            lambda: a.insert(n, 3),
            lambda: a.pop(n),
            lambda: "ab" * n,
            lambda: a[:n],
            lambda: a[-n:],
            lambda: x[:n],
        )
        return x, [told(t) for t in tried], a

    c = C(f)
    return [c(x0(), n) for n in (2**70, -(2**70), 2**63, 2**64 + 1)]


@prog
def numpy_truth_values_beside_tensors(C):
    b = np.bool_(True)
    x = weft.arange(3)
    ops = [lambda v: b + v, lambda v: v * b, lambda v: v - b, lambda v: b & v, lambda v: v**b, lambda v: v // b, lambda v: v == b, lambda v: v > b]
    return [[told(C(f), v) for v in (x, x + 0.5, x > 0)] for f in ops]
