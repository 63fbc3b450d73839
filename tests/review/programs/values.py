"""Numbers, texts and slices: keys, signs of zero, nan, sizes beyond 64 bits, formats."""

import math
import operator

import numpy as np

import weft
from tests.review.harness import prog, times, told_whole, x0


@prog
def number_keys_store(C):
    def f(x, k):
        d = {1: "i"}
        d[k] = 2
        return x + 1, d, [type(q).__name__ for q in d]

    return times(
        C, f, (x0(), 1), (x0(), 1.0), (x0(), True), (x0(), np.int64(1)), (x0(), np.float32(1)), (x0(), 1 + 0j), (x0(), "1")
    )


@prog
def neg_zero_arg(C):
    def f(x, k):
        return x * k, 1 / k if k else math.copysign(1, k), str(k)

    return times(C, f, (x0(), 0.0), (x0(), -0.0), (x0(), 0.0), (x0(), 1.0), (x0(), -0.0), (x0(), 2.0), (x0(), 0.0), (x0(), -0.0))


@prog
def nan_arg(C):
    nan = float("nan")

    def f(x, k):
        return x + 1, k == k, k != k, k in [k], min(k, 1.0), max(k, 1.0), max(1.0, k), sorted([3.0, k, 1.0])[0]

    return times(C, f, (x0(), nan), (x0(), 1.0), (x0(), float("nan")), (x0(), 2.0), (x0(), nan))


@prog
def int_float_bool(C):
    def f(x, k):
        return x * k, type(k).__name__, k is True, repr(k)

    return times(
        C,
        f,
        (x0(), 1),
        (x0(), 1.0),
        (x0(), True),
        (x0(), 2),
        (x0(), 3),
        (x0(), False),
        (x0(), 0),
        (x0(), 3.0),
        (x0(), 4),
        (x0(), True),
    )


@prog
def big_ints(C):
    def f(x, k):
        return x + 1, k * k, k // 3, k % 7, -k, k << 3, k >> 2, k**2, str(k), hash(k), float(k) if k < 2**900 else 0

    return times(C, f, (x0(), 2**62), (x0(), 2**63 - 1), (x0(), 2**63), (x0(), -(2**63)), (x0(), 2**200), (x0(), 5))


@prog
def int_overflow_tensor(C):
    def f(x, k):
        try:
            return x + k
        except Exception as e:
            return type(e).__name__, str(e)

    t = weft.arange(3)
    return times(C, f, (t, 2**62), (t, 2**63 - 1), (t, 2**63), (t, 2**64), (t, -(2**63)), (t, 5))


@prog
def int_ops(C):
    def f(x, a, b):
        out = []
        for op in (
            operator.floordiv,
            operator.mod,
            operator.truediv,
            operator.pow,
            operator.lshift,
            operator.rshift,
            divmod,
            operator.and_,
            operator.xor,
        ):
            try:
                out.append(op(a, b))
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return x, out

    return times(
        C,
        f,
        (x0(), 7, 2),
        (x0(), 7, -2),
        (x0(), -7, 2),
        (x0(), 7, 0),
        (x0(), 0, -1),
        (x0(), 7, 3),
        (x0(), 8, 65),
        (x0(), True, True),
        (x0(), 7.5, 2),
        (x0(), -7.5, 2.0),
        (x0(), 0.0, -1),
    )


@prog
def float_ops(C):
    def f(x, a):
        out = []
        for op in (
            round,
            int,
            math.floor,
            math.ceil,
            math.trunc,
            float.is_integer,
            float.as_integer_ratio,
            float.hex,
            math.isnan,
            math.frexp,
            math.modf,
            repr,
            bool,
            abs,
        ):
            try:
                out.append(op(a))
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return x, out

    return times(
        C, f, (x0(), 2.5), (x0(), -0.5), (x0(), 1e300), (x0(), float("inf")), (x0(), float("nan")), (x0(), -0.0), (x0(), 3.5)
    )


@prog
def round_digits(C):
    def f(x, a, n):
        return x, round(a, n), type(round(a, n)).__name__

    return times(C, f, (x0(), 2.675, 2), (x0(), 1234, -2), (x0(), 2.5, None), (x0(), 1250, -2), (x0(), True, 1))


@prog
def formatting(C):
    def f(x, v, s):
        try:
            return x, format(v, s), f"{v:{s}}", ("{:" + s + "}").format(v)
        except Exception as e:
            return type(e).__name__, str(e)

    return times(
        C,
        f,
        (x0(), 3, "05d"),
        (x0(), 3.14159, ".2f"),
        (x0(), "ab", ">5"),
        (x0(), 3, ","),
        (x0(), 3.5, "e"),
        (x0(), 255, "#x"),
        (x0(), "ab", "d"),
        (x0(), 3, "s"),
        (x0(), None, ""),
        (x0(), None, "5"),
        (x0(), [1], ""),
        (x0(), True, "d"),
        (x0(), 1e10, "g"),
        (x0(), -5, "+"),
        (x0(), 0.5, "%"),
    )


@prog
def percent_formatting(C):
    def f(x, s, v):
        try:
            return x, s % v
        except Exception as e:
            return type(e).__name__, str(e)

    return times(
        C,
        f,
        (x0(), "%d %s", (1, "a")),
        (x0(), "%5.2f", 3.14159),
        (x0(), "%(a)s", {"a": 1}),
        (x0(), "%d", "a"),
        (x0(), "%s %s", (1,)),
        (x0(), "%s", (1, 2)),
        (x0(), "%%", ()),
        (x0(), "%r", "q"),
        (x0(), "%x", 255),
        (x0(), "%c", 65),
        (x0(), "%s", [1]),
        (x0(), "%d", 2.7),
    )


@prog
def fstring_conv(C):
    class A:
        def __repr__(self):
            return "R"

        def __str__(self):
            return "S"

        def __format__(self, s):
            return f"F<{s}>"

    o = A()

    def f(x, w):
        return x, f"{o} {o!r} {o!s} {o!a} {o:{w}} {o!r:>{w}} {w=} {x.shape[0]}"

    c = C(f)
    r = [c(x0(), 5)]
    A.__format__ = lambda self, s: "new"
    r.append(c(x0(), 5))
    A.__repr__ = lambda self: 3
    r.append(told_whole(c, x0(), 5))
    return r


@prog
def str_methods(C):
    def f(x, s):
        return (
            x,
            s.upper(),
            s.split(),
            s.split(","),
            s.partition("b"),
            s.replace("a", "zz"),
            s.strip(),
            s.find("b"),
            s.encode(),
            s.center(9, "*"),
            s.zfill(8),
            s.isdigit(),
            s.title(),
            s.swapcase(),
            s.count("a"),
            s * 2,
            s[::-1],
            s[1:],
            "b" in s,
            s < "b",
            list(s),
            s.join("xy"),
            s.startswith(("a", "z")),
            s.expandtabs(),
            s.casefold(),
            s.splitlines(),
            s.rsplit("a", 1),
            s.removeprefix("a"),
            s.translate({97: "Q"}),
            s.format(1),
            hash(s) == hash(str(s)),
        )

    return times(C, f, (x0(), "abab"), (x0(), ""), (x0(), " a,b\tc\n"), (x0(), "ÄÖ ß"), (x0(), "{}"))


@prog
def str_index_errors(C):
    def f(x, s, k):
        try:
            return x, s[k]
        except Exception as e:
            return type(e).__name__, str(e)

    return times(
        C,
        f,
        (x0(), "ab", 0),
        (x0(), "ab", 2),
        (x0(), "ab", "a"),
        (x0(), "ab", -3),
        (x0(), [1], 1.0),
        (x0(), (1,), None),
        (x0(), {1: 2}, [1]),
        (x0(), [1, 2], slice(0, 1, 0)),
        (x0(), range(3), 5),
        (x0(), b"ab", 1),
        (x0(), [1, 2], True),
        (x0(), [1, 2], np.int64(1)),
    )


@prog
def range_(C):
    def f(x, r):
        return (
            x * len(r),
            r[0],
            r[-1],
            4 in r,
            r.index(2),
            list(reversed(r)),
            r[1:],
            r == range(0, 6, 2),
            r.step,
            hash(r) == hash(range(0, 6, 2)),
            4.0 in r,
            r.count(2),
        )

    return times(C, f, (x0(), range(0, 6, 2)), (x0(), range(0, 5, 2)), (x0(), range(5, -1, -1)), (x0(), range(0, 6, 2)))


@prog
def slices(C):
    s = slice(1, None, 2)

    def f(x, s):
        return x[s], s.start, s.stop, s.step, s.indices(5), s == slice(1, None, 2), [1, 2, 3][s], "abc"[s]

    return times(C, f, (x0(), s), (x0(), slice(2)), (x0(), slice(None, None, None)), (x0(), slice(True, 3)))


@prog
def bytes_(C):
    def f(x, b):
        a = bytearray(b)
        a.append(5)
        a[0] = 1
        return (
            x * b[0],
            bytes(a),
            b.hex(),
            b + b"q",
            b[1:],
            list(b),
            len(b),
            b.decode(),
            memoryview(b)[0],
            b == b"ab",
            int.from_bytes(b, "little"),
            (5).to_bytes(2, "big"),
        )

    return times(C, f, (x0(), b"ab"), (x0(), b"ac"), (x0(), b"z"))


@prog
def complex_(C):
    def f(x, z):
        return x, z.real, z.imag, z.conjugate(), abs(z), z * 2, z == 1, -z, z**2, repr(z), bool(z), hash(z)

    return times(C, f, (x0(), 1 + 2j), (x0(), 1 + 0j), (x0(), complex(-0.0, 0)), (x0(), 1j))


@prog
def comparisons_chain(C):
    def f(x, a, b):
        out = []
        for op in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.is_):
            try:
                out.append(op(a, b))
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return x, out, 0 < a < 10 if not isinstance(a, (str, list, tuple, type(None), dict, set)) else None

    return times(
        C,
        f,
        (x0(), 1, 2),
        (x0(), 1, 1.0),
        (x0(), "a", "b"),
        (x0(), 1, "a"),
        (x0(), None, 1),
        (x0(), [1], [1, 2]),
        (x0(), (1, "a"), (1, 2)),
        (x0(), True, 1),
        (x0(), {1}, {1, 2}),
        (x0(), {}, {}),
        (x0(), float("nan"), 1),
        (x0(), 2**70, 1e30),
    )


@prog
def sum_any_all(C):
    def f(x, l):
        out = []
        for g in (
            sum,
            any,
            all,
            max,
            min,
            list,
            tuple,
            set,
            sorted,
            len,
            lambda v: sum(v, 0.5),
            lambda v: sum(v, []),
            lambda v: list(map(str, v)),
            lambda v: dict(enumerate(v)),
            lambda v: list(zip(v, v)),
            reversed,
        ):
            try:
                r = g(l)
                out.append(sorted(map(repr, r)) if isinstance(r, set) else list(r) if hasattr(r, "__next__") else r)
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return x, out

    return times(
        C,
        f,
        (x0(), [1, 2]),
        (x0(), []),
        (x0(), [1, "a"]),
        (x0(), (0.1, 0.2, 0.3)),
        (x0(), [[1], [2]]),
        (x0(), {"a": 1}),
        (x0(), "ba"),
        (x0(), 5),
        (x0(), [True, None]),
        (x0(), [2**70, 1.5]),
    )
