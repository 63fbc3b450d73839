"""What objects say of themselves: operators, equality, hooks; dataclasses, enums, namedtuples."""

import collections
import dataclasses
import enum
import functools
import typing

from tests.review.harness import prog, x0


@prog
def frozen_dataclass_key(C):
    @dataclasses.dataclass(frozen=True)
    class K:
        a: int

    def f(x):
        d = {K(1): 2.0}
        return x * d.get(K(1), 5.0), len({K(1), K(1)})

    return C(f)(x0())


@prog
def dataclass_ne(C):
    @dataclasses.dataclass
    class P:
        a: int

    def f(x):
        return x * 2 if P(1) != P(1) else x * 3

    return C(f)(x0())


@prog
def reflected_subclass_first(C):
    class A:
        def __add__(self, o):
            return 1

        def __radd__(self, o):
            return 2

    class B(A):
        def __radd__(self, o):
            return 3

    def f(x):
        return x * (A() + B())

    return C(f)(x0())


@prog
def enum_props(C):
    class Col(enum.Enum):
        R = 1
        G = 2

        @property
        def dbl(self):
            return self.value * 2

        def m(self, k):
            return self.value + k

    class Fl(enum.Flag):
        A = 1
        B = 2

    f = C(
        lambda c, x: (
            x * c.value + c.dbl + c.m(3),
            c.name,
            Col(2),
            Col["R"],
            [m.name for m in Col],
            Fl.A | Fl.B,
            Fl.A in (Fl.A | Fl.B),
        )
    )
    return f(Col.R, x0()), f(Col.G, x0())


@prog
def intenum(C):
    class I(enum.IntEnum):
        A = 1
        B = 2

    f = C(lambda c, x: (x * c, c + 1, c == 1, x[c]))
    return f(I.A, x0()), f(I.B, x0())


@prog
def namedtuples(C):
    P = collections.namedtuple("P", "a b", defaults=[7])

    class Q(typing.NamedTuple):
        x: int
        y: float = 2.0

        def s(self):
            return self.x + self.y

    f = C(
        lambda p, q, x: (
            x * p.a + q.s(),
            p._replace(a=5),
            q._asdict(),
            P(1),
            P(b=1, a=2),
            p + (1,),
            p[0],
            p == P(3, 4),
            isinstance(p, tuple),
            [*p],
            Q(1).s(),
        )
    )
    return f(P(3, 4), Q(1), x0())


@prog
def dataclass_ops(C):
    @dataclasses.dataclass(order=True)
    class D:
        a: int
        b: list = dataclasses.field(default_factory=list)
        c: int = dataclasses.field(default=3, compare=False)

        def __post_init__(self):
            self.d = self.a + 1

    def f(d, x):
        e = D(2)
        e.b.append(4)
        g = dataclasses.replace(d, a=9)
        return (
            x * d.d + e.a,
            e == D(2, [4], 99),
            D(1) < D(2),
            dataclasses.asdict(g),
            dataclasses.astuple(e),
            [q.name for q in dataclasses.fields(d)],
            repr(e),
            e,
        )

    f = C(f)
    r = f(D(1), x0())
    return r[:-1], vars(r[-1])


@prog
def getattribute_side_effects(C):
    class O:
        n = 0

        def __getattribute__(self, k):
            if k == "v":
                O.n += 1
            return object.__getattribute__(self, k)

    o = O()
    o.v = 2
    f = C(lambda o, x: x * o.v)
    out = [f(o, x0()) for _ in range(3)]
    return out, O.n


@prog
def getattr_hook_counts(C):
    log = []

    class O:
        def __getattr__(self, k):
            log.append(k)
            if k == "opt":
                raise AttributeError(k)
            return 2

    o = O()
    f = C(lambda o, x: x * o.v + (1 if hasattr(o, "opt") else 0) + getattr(o, "opt", 3))
    out = [f(o, x0()) for _ in range(3)]
    return out, log


@prog
def property_side_effects(C):
    log = []

    class O:
        @property
        def p(self):
            log.append(1)
            return len(log)

    o = O()
    f = C(lambda o, x: x * o.p)
    return [f(o, x0()) for _ in range(3)], log


@prog
def eq_hash_user(C):
    class K:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __hash__(self):
            return hash(self.v)

    d = {K(1): 2.0, K(2): 3.0}
    f = C(lambda k, x: x * d[k] + (k in d))
    return f(K(1), x0()), f(K(2), x0())


@prog
def obj_eq_in_list(C):
    @dataclasses.dataclass
    class P:
        a: int

    def f(x, l):
        return (
            x * l.index(P(2)) + l.count(P(1)),
            P(3) in l,
            P(1) == P(1),
            P(1) is P(1),
            [P(1)] == [P(1)],
            (P(1), 2) == (P(1), 2),
            {"a": P(1)} == {"a": P(1)},
        )

    return C(f)(x0(), [P(1), P(2)])


@prog
def ne_various(C):
    class P:
        def __init__(self, a):
            self.a = a

        def __eq__(self, o):
            return self.a == o.a

    def f(x):
        return [P(1) != P(1), [P(1)] != [P(1)], (P(1),) != (P(2),), not P(1) == P(1), x]

    return C(f)(x0())


@prog
def total_ordering(C):
    @functools.total_ordering
    class V:
        def __init__(self, a):
            self.a = a

        def __eq__(self, o):
            return self.a == o.a

        def __lt__(self, o):
            return self.a < o.a

    def f(x):
        return x * max(V(3), V(7)).a, V(1) >= V(1), sorted([V(3), V(1)])[0].a, V(1) != V(2)

    return C(f)(x0())


class V:
    def __init__(self, a):
        self.a = a

    def __add__(self, o):
        return V(self.a + (o.a if isinstance(o, V) else o))

    __radd__ = __add__

    def __mul__(self, o):
        return NotImplemented

    def __rmul__(self, o):
        return ("rmul", o)

    def __iadd__(self, o):
        self.a += 100
        return self

    def __neg__(self):
        return -self.a

    def __getitem__(self, k):
        return k

    def __contains__(self, k):
        return k == 3

    def __len__(self):
        return 5

    def __iter__(self):
        return iter([1, 2])

    def __call__(self, *a, **k):
        return a, k

    def __index__(self):
        return 2

    def __int__(self):
        return 7

    def __float__(self):
        return 7.5

    def __abs__(self):
        return "abs"

    def __round__(self, n=None):
        return "round"

    def __divmod__(self, o):
        return "dm"

    def __matmul__(self, o):
        return "mm"

    def __bool__(self):
        return False

    def __str__(self):
        return "S"

    def __repr__(self):
        return "R"

    def __format__(self, s):
        return "F" + s

    def __enter__(self):
        return "e"

    def __exit__(self, *a):
        return False

    def __invert__(self):
        return "inv"

    def __pow__(self, o, m=None):
        return "pow"

    def __lt__(self, o):
        return "lt"

    def __reversed__(self):
        return iter("rev")


@prog
def operator_dunders(C):
    def f(x):
        v = V(1)
        w = v + 1
        w = 1 + w
        w += 3
        with v as e:
            pass
        out = [
            w.a,
            sum([V(1), V(2)]).a,
            2 * v,
            -v,
            v[1:2],
            3 in v,
            len(v),
            list(v),
            v(1, k=2),
            [0, 1, 2][v],
            int(v),
            float(v),
            abs(v),
            round(v),
            divmod(v, 1),
            v @ v,
            bool(v),
            str(v),
            repr(v),
            f"{v:>3}|{v!r}|{v}",
            e,
            ~v,
            v**2,
            v < v,
            list(reversed(v)),
            "%s" % v,
            x[v],
            x * float(v),
        ]
        return out

    return C(f)(x0())


@prog
def tensor_with_user_obj_ops(C):
    class V:
        def __radd__(self, o):
            return ("radd", o.shape)

        def __rmul__(self, o):
            return ("rmul", o.shape)

        def __eq__(self, o):
            return "eq"

    def f(x):
        try:
            a = x + V()
        except TypeError:
            a = "TE"
        return a, x == V() if False else 1

    return C(f)(x0())


class Repeats:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n


@prog
def what_repeats_a_sequence(C):
    class Multiplies(Repeats):
        def __rmul__(self, other):
            return "product", other

    class Refuses(Repeats):
        def __rmul__(self, other):
            return NotImplemented

    class Whole(int):
        def __rmul__(self, other):
            return "whole", other

    class Row(list):
        pass

    class Grid(list):
        def __mul__(self, n):
            return "grid"

    def f(x, s, n):
        t = s
        t *= n
        return x + 1, s * n, t

    class Later(Repeats):
        pass

    out = []
    for s in ("ab", b"ab", [1, 2], (1, 2), Row([1]), Grid([1])):
        c = C(f)
        out += [c(x0(), s, n) for n in (Repeats(2), Multiplies(2), Refuses(2), Whole(2), 2)]
        c = C(f)
        out.append(c(x0(), s, Later(2)))
        Later.__rmul__ = lambda self, other: "later"
        out.append(c(x0(), s, Later(2)))
        del Later.__rmul__
    return out
