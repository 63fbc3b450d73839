"""What dataclasses, enum, namedtuple, functools and copy make."""

import collections
import copy
import dataclasses
import enum
import functools
import operator
import typing

import numpy as np

from tests.review.harness import prog, times, x0


@prog
def copy_module(C):
    class A:
        def __init__(self):
            self.l = [1]

    class OD(collections.OrderedDict):
        pass

    class L(list):
        pass

    def f(x, o):
        a, b = copy.copy(o), copy.deepcopy(o)
        return (
            x,
            type(a).__name__,
            type(b).__name__,
            a is o,
            b is o,
            getattr(a, "l", None) is getattr(o, "l", 0),
            getattr(b, "l", None) is getattr(o, "l", 0),
        )

    return times(
        C,
        f,
        (x0(), A()),
        (x0(), OD(a=1)),
        (x0(), L([1])),
        (x0(), [1, [2]]),
        (x0(), {"a": [1]}),
        (x0(), (1, [2])),
        (x0(), (1, 2)),
        (x0(), x0()),
    )


@prog
def copy_hooks(C):
    class A:
        k = 1

        def __copy__(self):
            r = A()
            r.k = 2
            return r

        def __deepcopy__(self, memo):
            r = A()
            r.k = 3
            memo["x"] = 1
            return r

    class B:
        def __init__(self, v):
            self.v = v

        def __reduce__(self):
            return (B, (self.v + 1,))

    class G:
        def __getstate__(self):
            return {"z": 9}

        def __setstate__(self, s):
            self.got = s

    def f(x, o):
        a, b = copy.copy(o), copy.deepcopy(o)
        return x, vars(a), vars(b)

    return times(C, f, (x0(), A()), (x0(), B(1)), (x0(), G()))


@prog
def dataclass_(C):
    @dataclasses.dataclass(order=True)
    class P:
        a: int
        b: list = dataclasses.field(default_factory=list)
        c: int = dataclasses.field(default=3, compare=False, repr=False)
        d: dataclasses.InitVar[int] = 4

        def __post_init__(self, d):
            self.e = d

    def f(x, n):
        p = P(n, d=7)
        q = dataclasses.replace(p, a=n + 1, d=1)
        return (
            x * p.a,
            p,
            p < q,
            p == P(n),
            dataclasses.asdict(p),
            dataclasses.astuple(q),
            p.e,
            [k.name for k in dataclasses.fields(P)],
            dataclasses.is_dataclass(p),
        )

    c = C(f)
    r = [c(x0(), 1), c(x0(), 2)]
    P.c = 99
    r.append(c(x0(), 1))
    return r


@prog
def dataclass_frozen_slots(C):
    @dataclasses.dataclass(frozen=True, slots=True)
    class P:
        a: int
        b: float = 2.0

    def f(x, p):
        try:
            p.a = 3
        except Exception as e:
            return x * p.b, type(e).__name__, str(e), hash(p) == hash(P(p.a, p.b)), {p: 1}[P(p.a)]

    return times(C, f, (x0(), P(1)), (x0(), P(2)))


@prog
def dataclass_kwonly_match(C):
    @dataclasses.dataclass(kw_only=True)
    class P:
        a: int
        b: int = 2

    def f(x, p):
        match p:
            case P(a=1):
                return x + 1
            case P(a=a, b=3):
                return x + a
            case [a, *r]:
                return x * a, r
            case {"k": v, **rest}:
                return x * v, rest
            case "s" | 5:
                return x - 1
            case float():
                return x * p
            case None:
                return "none"
            case _:
                return "other"

    return times(
        C,
        f,
        (x0(), P(a=1)),
        (x0(), P(a=2, b=3)),
        (x0(), P(a=5)),
        (x0(), [1, 2, 3]),
        (x0(), (4,)),
        (x0(), {"k": 2, "z": 1}),
        (x0(), "s"),
        (x0(), 5),
        (x0(), 5.0),
        (x0(), 2.5),
        (x0(), None),
        (x0(), "ab"),
        (x0(), np.float64(2)),
    )


@prog
def enum_(C):
    class E(enum.Enum):
        A = 1
        B = "b"

        @property
        def p(self):
            return self.value * 2

    class I(enum.IntFlag):
        R = 1
        W = 2

    class S(enum.StrEnum):
        Q = enum.auto()

    def f(x, e):
        return (
            x,
            e.name,
            e.value,
            e.p,
            e is E.A,
            E(1) is E.A,
            E["B"],
            [m.name for m in E],
            e in E,
            I.R | I.W,
            bool(I.R & I.W),
            I(3),
            S.Q,
            S.Q == "q",
            len(E),
            repr(e),
            str(e),
            f"{S.Q} {I.R}",
            hash(e) == hash(E.A),
            isinstance(I.R, int),
            x * I.W,
        )

    return times(C, f, (x0(), E.A), (x0(), E.B), (x0(), E.A))


@prog
def enum_errors(C):
    class E(enum.Enum):
        A = 1

    def f(x, w):
        try:
            if w == 0:
                E(5)
            if w == 1:
                E["Z"]
            if w == 2:
                E.A = 3
            if w == 3:
                E.A.value = 3
            if w == 4:
                E.Q
            if w == 5:
                E.A < E.A
            if w == 6:
                E.A.newattr = 5
                return x, E.A.newattr
        except Exception as e:
            return x, type(e).__name__, str(e)

    return times(C, f, *((x0(), i) for i in range(7)))


@prog
def namedtuple_(C):
    P = collections.namedtuple("P", "a b", defaults=[5])

    class Q(P):
        def m(self):
            return self.a + 1

        @property
        def z(self):
            return self.b * 2

    class T(typing.NamedTuple):
        u: int
        v: float = 1.5

    def f(x, n):
        p = P(n)
        q = Q(n, b=x)
        return (
            p,
            q.m(),
            q.z,
            p._replace(a=9),
            p._asdict(),
            P._make([1, 2]),
            P._fields,
            p == (n, 5),
            T(n),
            q[1:],
            q[0],
            len(p),
            p + (1,),
            repr(T(1)),
            hash(p) == hash((n, 5)),
            [*p],
            p.index(5),
            P._field_defaults,
        )

    return times(C, f, (x0(), 1), (x0(), 2), (x0(), 2.5))


@prog
def partial_(C):
    def g(a, b=2, *, k=3):
        return a * b + k

    p = functools.partial(g, b=4)

    def f(x):
        return p(x), p(x, k=1), p.func is g, p.args, p.keywords

    c = C(f)
    r = [c(x0())]
    p.keywords["b"] = 7
    r.append(c(x0()))
    p.__setstate__((g, (), {"k": 100}, None))
    r.append(c(x0()))
    return r


@prog
def partialmethod_(C):
    class A:
        def g(self, a, b=2):
            return a * b

        h = functools.partialmethod(g, b=5)

    o = A()
    c = C(lambda x: o.h(x))
    r = [c(x0())]
    A.h = functools.partialmethod(A.g, b=6)
    r.append(c(x0()))
    return r


@prog
def singledispatch_(C):
    @functools.singledispatch
    def g(v, x):
        return x

    @g.register
    def _(v: int, x):
        return x + v

    c = C(lambda x, v: g(v, x))
    r = [c(x0(), 1), c(x0(), 2.0), c(x0(), True)]
    g.register(float, lambda v, x: x * v)
    r.append(c(x0(), 2.0))
    g.register(bool, lambda v, x: x - 1)
    r += [c(x0(), True), c(x0(), 1)]
    return r


@prog
def singledispatchmethod_(C):
    class A:
        @functools.singledispatchmethod
        def g(self, v):
            return "any"

        @g.register
        def _(self, v: int):
            return "int"

    o = A()
    c = C(lambda x, v: (x, o.g(v)))
    return c(x0(), 1), c(x0(), "a"), c(x0(), 1)


@prog
def lru_cache_(C):
    calls = []

    @functools.lru_cache(maxsize=2)
    def g(n):
        calls.append(n)
        return n * 2

    c = C(lambda x, n: x * g(n))
    r = [c(x0(), i) for i in (1, 1, 2, 3, 1)]
    g.cache_clear()
    r.append(c(x0(), 1))
    return r, calls, g.cache_info()


@prog
def total_ordering_(C):
    @functools.total_ordering
    class A:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __lt__(self, o):
            return self.v < o.v

    c = C(lambda x, a, b: (x, A(a) >= A(b), A(a) > A(b), A(a) <= A(b), sorted([A(a), A(b)])[0].v, max(A(a), A(b)).v))
    return c(x0(), 1, 2), c(x0(), 2, 1), c(x0(), 2, 2)


@prog
def cmp_to_key_reduce(C):
    def f(x, l):
        return (
            x,
            sorted(l, key=functools.cmp_to_key(lambda a, b: b - a)),
            functools.reduce(lambda a, b: a * b, l),
            functools.reduce(operator.add, l, 10),
            sorted(l, reverse=True),
            min(l, key=lambda v: -v),
            max([], default=3),
        )

    return times(C, f, (x0(), [1, 3, 2]), (x0(), [5]))


@prog
def wraps_(C):
    def deco(g):
        @functools.wraps(g)
        def h(*a, **k):
            "hdoc"
            return g(*a, **k) * 2

        return h

    def f(x):
        @deco
        def inner(v):
            "doc"
            return v + 1

        return inner(x), inner.__name__, inner.__doc__, inner.__wrapped__.__name__

    return times(C, f, (x0(),), (x0(),))
