"""Texts, numbers and their formats: `__format__`, `__index__`, keys that are equal, integers without end, signs of zeros."""

import math

import numpy as np

from tests.review.harness import prog, told, x0


class Shown:
    log: list = []

    def __init__(self, v):
        self.v = v

    def __format__(self, spec):
        Shown.log.append(("format", spec))
        return f"<{self.v}:{spec}>"

    def __repr__(self):
        Shown.log.append("repr")
        return "R"

    def __str__(self):
        Shown.log.append("str")
        return "S"


@prog
def format_protocol(C):
    Shown.log.clear()

    def f(x, o):
        w = 5
        return (
            x + 1,
            f"{o}|{o!r}|{o!s:>4}|{o:{w}.2}|{o!a:^9}",
            "{0:x} {0.v} {1[0]}".format(o, [4]),
            "%s %r" % (o, o),
            format(o, "q"),
            format(o),
        )

    c = C(f)
    return c(x0(), Shown(1)), c(x0(), Shown(2)), list(Shown.log)


@prog
def format_returns_no_text(C):
    class A:
        def __format__(self, spec):
            return 3

    class B:
        __str__ = lambda self: None

    class D:
        __repr__ = lambda self: b"x"

    return [told(C(lambda x, o: (x, f"{o}")), x0(), o) for o in (A(), B(), D())]


@prog
def format_specs_of_numbers(C):
    specs = [
        "",
        "5",
        "<5",
        "^7",
        "+",
        " ",
        "05",
        "x",
        "#x",
        "b",
        "o",
        "c",
        "e",
        ".2f",
        "g",
        "n",
        "%",
        ",",
        "_",
        "_x",
        "s",
        "*^9",
        "z.1f",
        "q",
    ]

    def f(x, v):
        out = []
        for s in specs:
            try:
                out.append(format(v, s))
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return x + 1, out

    c = C(f)
    return [c(x0(), v) for v in (65, -7, True, 3.75, -0.0, float("inf"), 2 + 3j, "ab", 10**25)]


@prog
def percent_forms(C):
    def f(x, v):
        out = []
        for s in ("%d", "%5d", "%-5d|", "%05d", "%x", "%#o", "%c", "%e", "%.3g", "%r", "%a", "%i", "%%", "%(k)s", "%*d", "%s %s"):
            for args in (v, (v,), {"k": v}, (7, v)):
                try:
                    out.append(s % args)
                except Exception as e:
                    out.append((type(e).__name__, str(e)))
        return x, out

    c = C(f)
    return [c(x0(), v) for v in (3, -2.5, "t", None, True)]


@prog
def keys_that_are_equal(C):
    def f(x, a, b):
        d = {a: "first"}
        d[b] = "second"
        s = {a, b}
        return (
            x + len(d),
            list(d.items()),
            [repr(k) for k in d],
            [repr(k) for k in s],
            a in d,
            b in [a],
            (b,).count(a),
            [a, b].index(b),
        )

    c = C(f)
    nan = float("nan")
    pairs = [
        (1, True),
        (True, 1),
        (0, -0.0),
        (-0.0, 0.0),
        (1, 1.0),
        (nan, nan),
        (nan, float("nan")),
        (2, np.int64(2)),
        (2.5, np.float32(2.5)),
        ("a", "a"),
        (1 + 0j, 1),
    ]
    return [c(x0(), a, b) for a, b in pairs]


@prog
def zeros_and_their_signs_guard(C):
    c = C(
        lambda x, v: (x * v, math.copysign(1, v), 1 if v else 2, str(v), repr(-v), v + 0, v * 1, abs(v), round(v, 1), divmod(v, 3))
    )
    return [c(x0(), v) for v in (0.0, -0.0, 0, 0.0, -0.0, False)]


@prog
def integers_without_end(C):
    def f(x, n):
        y = n * n * n + 1
        return (
            x + 1,
            y,
            y % 97,
            y // -5,
            -y >> 3,
            y & 0xFF,
            ~y,
            y.bit_length(),
            y.bit_count(),
            pow(n, 5, 13),
            math.isqrt(abs(n)),
            hash(y),
            float(n) / 3,
            n**2 > 10**30,
            int.to_bytes(abs(n), 40, "big")[-3:],
        )

    c = C(f)
    return [c(x0(), n) for n in (3, 10**18, -(10**18), 2**64, -(2**63), 2**63 - 1, 0)]


@prog
def int_methods_refuse(C):
    def f(x, n):
        out = []
        for g in (
            lambda: n << -1,
            lambda: n >> 10**3,
            lambda: 1 << n,
            lambda: n // 0,
            lambda: n % 0.0,
            lambda: 0**-n,
            lambda: divmod(n, 0),
            lambda: pow(n, -1, 4),
            lambda: pow(2, n, 0),
            lambda: int("0x1f", 16),
            lambda: int("1_000"),
            lambda: int("12", 1),
            lambda: int(float("nan")),
            lambda: int(float("inf")),
            lambda: int([]),
            lambda: (-8) ** (1 / 3),
            lambda: n.to_bytes(0, "big"),
            lambda: chr(n - 10),
            lambda: "ab" * -n,
            lambda: [0] * n,
            lambda: round(n, -1),
            lambda: round(2.5),
            lambda: round(-0.5),
            lambda: math.factorial(n),
            lambda: math.comb(n, 2),
            lambda: math.gcd(n, 0),
            lambda: math.fsum([0.1] * 10),
            lambda: math.prod([n, 2.0]),
            lambda: math.sqrt(-n),
            lambda: math.log(0),
            lambda: math.fmod(n, 0),
        ):
            try:
                out.append(g())
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return x, out

    c = C(f)
    return [c(x0(), n) for n in (3, 5, 6, 7)]


@prog
def floats_and_their_texts(C):
    def f(x, v):
        return (
            x * 2,
            repr(v),
            str(v),
            v.hex(),
            v.is_integer(),
            told(v.as_integer_ratio),
            told(int, v),
            v == v,
            v < 1,
            told(round, v),
            round(v, 2),
            float(str(v)),
            hash(v) if v == v else 0,
        )

    c = C(f)
    return [c(x0(), v) for v in (0.1, 1e22, 1e16, -1e-5, 123456789.123, 5e-324, float("inf"), 2.0, 1.5)]


@prog
def bools_are_ints(C):
    def f(x, b):
        return (
            x + b,
            b + b,
            b * 3,
            -b,
            ~b,
            b & 1,
            b | True,
            b ^ b,
            b << 2,
            [10, 20][b],
            "ab"[b],
            type(b & True).__name__,
            type(+b).__name__,
            isinstance(b, int),
            b is True,
            b == 1,
            str(b),
            f"{b:d}",
            f"{b}",
            range(b),
            sum([b, b]),
            max(b, 0),
            min(b, 1),
        )

    c = C(f)
    with __import__("warnings").catch_warnings():
        __import__("warnings").simplefilter("ignore")
        return [c(x0(), v) for v in (True, False, 1, 0)]


@prog
def index_and_float_protocols(C):
    class I:
        def __init__(self, n):
            self.n = n

        def __index__(self):
            return self.n

    class F:
        def __float__(self):
            return 2.5

    def f(x, i, o):
        out = [
            [1, 2, 3][i],
            range(i),
            "abc"[i:],
            told(lambda: x[i]),
            told(lambda: [0] * i),
            hex(i),
            told(float, i),
            told(int, i),
            told(math.sqrt, o),
            told(float, o),
            told(int, o),
            told(round, o),
            told(lambda: x * o),
            told(chr, i),
            told(bin, o),
        ]
        return x, out

    c = C(f)
    return c(x0(), I(1), F()), c(x0(), I(2), F())


@prog
def index_returns_bool_or_text(C):
    class I:
        def __init__(self, n):
            self.n = n

        def __index__(self):
            return self.n

    c = C(lambda x, i: (x, [1, 2, 3][i]))
    with __import__("warnings").catch_warnings():
        __import__("warnings").simplefilter("ignore")
        return [told(c, x0(), I(v)) for v in (1, True, "a", 10**30, -1, 2.0)]


@prog
def str_methods_many(C):
    def f(x, s):
        return (
            x + len(s),
            s.partition("b"),
            s.rpartition("b"),
            s.split("b", 1),
            s.rsplit(None, 1),
            s.splitlines(True),
            s.expandtabs(4),
            s.casefold(),
            s.swapcase(),
            s.title(),
            s.center(9, "*"),
            s.ljust(4) + "|",
            s.zfill(8),
            s.translate({98: "XX", 97: None}),
            s.encode("utf-8", "replace"),
            s.find("b", 1),
            told(s.index, "zz"),
            s.count(""),
            s.replace("", "-", 2),
            s.startswith(("x", "a"), 0),
            s.removeprefix("a"),
            s.removesuffix("c"),
            s.isidentifier(),
            s.isdecimal(),
            s.isprintable(),
            s.join(["1", "2"]),
            told(s.join, [1]),
            s * 2,
            s < "b",
            s[::-1],
            "b" in s,
            told(lambda: 1 in s),
            str.maketrans("ab", "cd"),
            s.format_map({"a": 1}),
            s.strip("ac"),
            ascii(s),
            sorted(s),
            min(s, default="!"),
            hash(s) == hash(str(s)),
        )

    c = C(f)
    return [told(c, x0(), s) for s in ("abc", "", "a\tb\nc", "ß B", "-12")]


@prog
def bytes_methods_many(C):
    def f(x, b):
        return (
            x,
            b[0],
            b[1:],
            b.hex("-", 2),
            b.decode("latin1"),
            b.split(b"b"),
            b + b"1",
            b * 2,
            b.find(98),
            98 in b,
            told(lambda: "b" in b),
            list(b),
            bytes(reversed(b)),
            bytearray(b).pop(),
            b.upper(),
            b"%d-%b" % (3, b),
            memoryview(b)[1:].tobytes(),
            int.from_bytes(b, "little", signed=True),
            told(lambda: b + "s"),
            b < b"b",
        )

    c = C(f)
    return [c(x0(), b) for b in (b"abc", b"bb\xff", b"abc")]
