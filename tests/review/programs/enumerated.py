"""Templates, numbers of other kinds, enumerations and flags, the functions of `operator`."""

import decimal
import enum
import fractions
import operator
import string

from tests.review.harness import prog, told, x0


@prog
def string_templates_and_formatter(C):
    class F(string.Formatter):
        def get_value(self, key, args, kwargs):
            return f"<{key}>"

    def f(x, n):
        return (
            x, string.Template("$a ${b} $$").safe_substitute(a=n), F().format("{a} {b}", n), "{:>{w}}".format(n, w=6), "{!r:^10}".format("q"),
            told("{} {0}".format, 1), told("{a}".format), told("{".format),
        )  # fmt: skip

    c = C(f)
    return c(x0(), 1), c(x0(), 2)


@prog
def numbers_of_other_kinds(C):
    def f(x, d, q, z):
        return (
            x + float(d), d * 3, told(lambda: d + 1.5), q + 1, q * 0.5, q**2, z * 2, z.conjugate(), abs(z), told(lambda: z < 1), d == q,
            hash(q) == hash(0.5), round(q), told(lambda: x * q), told(lambda: x * d), max(q, d),
        )  # fmt: skip

    c = C(f)
    D, Q = decimal.Decimal, fractions.Fraction
    return told(c, x0(), D("0.5"), Q(1, 2), 1 + 2j), told(c, x0(), D("1.5"), Q(1, 3), -1j)


@prog
def flags_of_enum(C):
    class P(enum.Flag):
        R = enum.auto()
        W = enum.auto()
        RW = R | W

    class N(enum.IntFlag):
        A = 1
        B = 2

    def f(x, p, n):
        return (
            x + n, p | P.R, p & P.W, ~p, P.R in p, bool(p & P.R), list(p), len(p), p.name, repr(p), str(p), f"{p}", n | 8, n ^ 1, ~n, N.A in n,
            repr(n), f"{n}", type(n | 4).__name__, P(3) is P.RW, told(P, 9), hash(p) == hash(P.RW), [m for m in N], P["R"], told(lambda: P["Z"]),
        )  # fmt: skip

    c = C(f)
    return [c(x0(), p, n) for p, n in ((P.R, N.A), (P.RW, N.A | N.B), (P(0), N(0)))]


@prog
def enum_with_everything(C):
    class E(enum.Enum):
        A = (1, "x")
        B = (2, "y")
        ALIAS = (1, "x")
        _ignore_ = ["skip"]

        def __init__(self, n, s):
            self.n = n
            self.s = s

        @property
        def twice(self):
            return self.n * 2

        @classmethod
        def _missing_(cls, v):
            return cls.B if v == 9 else None

        def __lt__(self, o):
            return self.n < o.n

    def f(x, e):
        return (
            x * e.twice, e.s, E.ALIAS is E.A, E(9), told(E, 10), sorted([E.B, E.A]), E.__members__.keys(), e.value, e == E.A, {e: 1}[e], len(E),
            e in E, told(lambda: setattr(e, "name", 3)), e is E(e.value),
        )  # fmt: skip

    c = C(f)
    return c(x0(), E.A), c(x0(), E.B)


@prog
def strenum_and_auto(C):
    class S(enum.StrEnum):
        RED = enum.auto()
        BLUE = "bl"

    def f(x, s):
        match s:
            case S.RED:
                k = 1
            case "bl":
                k = 2
            case _:
                k = 3
        return x * k, s.upper(), s + "!", f"{s:>6}", "%s" % s, s == "red", {"red": 5}.get(s), s in ("red",), repr(s), s.join("ab")

    c = C(f)
    return [c(x0(), v) for v in (S.RED, S.BLUE, "red", "bl", "zz")]


@prog
def operator_module(C):
    def f(x, n):
        return (
            x, operator.index(n), operator.truth([]), operator.concat([1], [n]), operator.countOf([n, 1, n], n), operator.indexOf([0, n], n),
            told(operator.indexOf, [0], n), operator.length_hint([1, 2]), operator.itemgetter(1, 0)([n, 2]), operator.attrgetter("real", "imag")(n),
            operator.methodcaller("bit_length")(n), operator.iadd([1], [n]), told(operator.setitem, (1,), 0, 2), operator.is_(n, n),
            operator.not_(n), operator.matmul(x, x), operator.inv(n), operator.call(divmod, n, 2),
        )  # fmt: skip

    c = C(f)
    return c(x0(), 3), c(x0(), 5), c(x0(), 8)


@prog
def tensors_in_texts(C):
    def f(x):
        y = x + 1
        return (
            f"{y}", f"{y.sum()}", f"{y.sum().item():.2f}", str(y.shape), repr(y.dtype), f"{y.sum():.3f}", "%s" % y.shape[0], f"{y.shape}",
            f"{y.device}", told(lambda: f"{y:.2f}"),
        )  # fmt: skip

    c = C(f)
    return c(x0()), c(x0() * 2)


@prog
def enums_as_operands(C):
    class I(enum.IntEnum):
        A = 3
        B = 4

    class K(int, enum.Enum):
        A = 2

    def f(x, e):
        return x + e, x * e, x[: e.value], x.reshape(I.B // 1), x.sum(0 * e), x.expand(e, 4).shape, [0] * e, (x + e) ** I.A

    c = C(f)
    return [c(x0(), e) for e in (I.A, I.B, K.A, I.A)]
