"""What the language does: calls, matching, comprehensions, dataclasses, arguments whose types change."""

import dataclasses
import enum
import functools
import itertools
import operator

import weft
from tests.review.harness import prog, times


def x0():
    return weft.arange(3.0)


@weft.compiler.disable
def opaque(v=None):
    return v


@prog
def types_change(C):
    def f(x, v):
        return x * 2 if isinstance(v, str) else x + v if v is not None else x

    return times(
        C, f, (x0(), 1), (x0(), "a"), (x0(), None), (x0(), 2.5), (x0(), True), (x0(), x0()), (x0(), weft.arange(3)), (x0(), 1)
    )


@prog
def dtype_change(C):
    def f(x):
        return x / 2, x * x, x.sum(), x // 2

    return times(
        C,
        f,
        (weft.arange(3),),
        (weft.arange(3.0),),
        (weft.arange(3).half(),),
        (weft.arange(3) > 1,),
        (weft.arange(3, dtype=weft.uint8),),
    )


@prog
def requires_grad_change(C):
    def f(x):
        return x * 2 if x.requires_grad else x * 3

    return times(C, f, (x0(),), (x0().requires_grad_(),), (x0(),))


@prog
def len_change(C):
    def f(xs):
        return sum(xs), len(xs)

    return times(C, f, ([x0()],), ([x0(), x0()],), ((x0(),),), ([],), ([x0()] * 3,))


@prog
def bool_none_int(C):
    def f(x, flag):
        return x + 1 if flag else x - 1

    return times(C, f, *[(x0(), v) for v in (True, False, 1, 0, None, [], [0], "", "a", 0.0, 1.5)])


@prog
def dataclass(C):
    @dataclasses.dataclass
    class D:
        a: int = 1
        b: list = dataclasses.field(default_factory=list)

        def __post_init__(s):
            s.c = s.a * 2

    def f(x):
        d = D(3)
        d.b.append(x)
        e = dataclasses.replace(d, a=5)
        return d == e, e.c, e.b is d.b, dataclasses.asdict(D(2)), x * e.c

    return times(C, f, (x0(),))


@prog
def frozen(C):
    @dataclasses.dataclass(frozen=True, order=True)
    class D:
        a: int
        b: int = 2

    def f(x):
        d = D(1)
        try:
            d.a = 2
        except dataclasses.FrozenInstanceError as e:
            s = str(e)
        return s, D(1) < D(2), hash(D(1)) == hash(D(1)), {D(1): 3}[D(1)], repr(d), x

    return times(C, f, (x0(),))


@prog
def partialmethod(C):
    class A:
        def m(s, a, b=1):
            return a * b

        dbl = functools.partialmethod(m, b=2)

    a = A()

    def f(x):
        return a.dbl(x), functools.partial(a.m, b=3)(x), functools.reduce(operator.add, [x, x, x])

    return times(C, f, (x0(),))


@prog
def kwonly(C):
    def g(a, /, b, *r, c=1, **k):
        return a + b * 2 + sum(r) * 3 + c * 4 + sum(k.values()) * 5

    def f(x):
        return g(x, 1, 2, 3, c=4, z=5), g(x, b=2), g(*[x, 1], **{"c": 3, "y": 1})

    return times(C, f, (x0(),))


@prog
def bad_call(C):
    def g(a, b):
        return a

    def f(x):
        out = []
        for k in (dict(), dict(b=1, c=2), dict(a=1, b=1)):
            try:
                out.append(g(x, **k))
            except TypeError as e:
                out.append(str(e))
        return out

    return times(C, f, (x0(),))


@prog
def match(C):
    def f(x, v):
        match v:
            case {"k": int(n), **rest}:
                return x + n, rest
            case [a, *b]:
                return x * a, b
            case str() as s:
                return s, x
            case None:
                return x
            case _:
                return "other"

    return times(C, f, *[(x0(), v) for v in ({"k": 1, "z": 2}, [2, 3], "s", None, 5.5, {"k": "n"}, ())])


@prog
def walrus_comp(C):
    def f(x):
        return [y := 1, y**2], [z := i for i in range(3)], z, {k: v for k, v in zip("ab", [x, x + 1])}, {i % 2 for i in range(4)}

    return times(C, f, (x0(),))


@prog
def star_unpack(C):
    def f(x):
        a, *b, c = x
        (d, e), g = (x[:2], x[2])
        return a, b, c, d, e, g

    return times(C, f, (x0(),))


@prog
def sort_key(C):
    def f(x):
        l = [(2, "b"), (1, "z"), (2, "a")]
        l.sort(key=lambda t: t[0], reverse=True)
        return l, sorted("bca"), max(l, key=lambda t: t[1]), x

    return times(C, f, (x0(),))


@prog
def itertools(C):
    def f(x):
        return (
            list(itertools.accumulate([1, 2, 3], initial=5)),
            list(itertools.groupby("aab"))[0][0],
            list(itertools.pairwise([1, 2, 3])),
            list(itertools.islice(itertools.count(3), 2)),
            [sum(t) for t in itertools.product([x], [x, 1])],
            list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
            list(itertools.starmap(pow, [(2, 3)])),
            list(itertools.chain.from_iterable([[1], [2]])),
        )

    return times(C, f, (x0(),))


@prog
def str_ops(C):
    def f(x, s):
        return f"{s!r:>10}|{x.shape}|{x.ndim:03d}", s.format_map({"a": 1}), "%s %d" % (s, 3), s.join("ab"), s.encode(), x

    return times(C, f, (x0(), "{a}"), (x0(), "q"))


@prog
def super_chain(C):
    class A:
        def m(s, x):
            return x + 1

    class B(A):
        def m(s, x):
            return super().m(x) * 2

    class C2(A):
        def m(s, x):
            return super().m(x) * 3

    class D(B, C2):
        def m(s, x):
            return super().m(x) - 1

    d = D()

    def f(x):
        return d.m(x), super(B, d).m(x), D.__mro__[1].__name__

    return times(C, f, (x0(),))


@prog
def call_new(C):
    class S:
        inst = None

        def __new__(cls, *a):
            if cls.inst is None:
                cls.inst = super().__new__(cls)
                cls.inst.n = 0
            return cls.inst

        def __init__(s, k=1):
            s.n += k

    def f(x):
        return x * S().n, S(2).n, S() is S()

    r = times(C, f, (x0(),), (x0(),))
    return r, S.inst.n


@prog
def eq_hash(C):
    class K:
        def __init__(s, v):
            s.v = v

        def __eq__(s, o):
            return isinstance(o, K) and s.v == o.v

        def __hash__(s):
            return hash(s.v)

    d = {K(1): "a"}

    def f(x):
        d[K(2)] = x
        return d[K(1)], K(2) in d, K(3) in d, len({K(1), K(1)}), x

    r = times(C, f, (x0(),), (x0(),))
    return r, len(d)


@prog
def recursion(C):
    def fact(x, n):
        return x if n == 0 else fact(x, n - 1) * n

    return times(C, lambda x, n: fact(x, n), (x0(), 3), (x0(), 5))


@prog
def enum(C):
    class E(enum.Enum):
        A = 1
        B = 2

    class F(enum.IntFlag):
        X = 1
        Y = 2

    def f(x, e):
        return (x + 1 if e is E.A else x * e.value), E(2).name, E["A"], F.X | F.Y, [i.name for i in E], (F.X | F.Y) & F.Y == F.Y

    return times(C, f, (x0(), E.A), (x0(), E.B))
