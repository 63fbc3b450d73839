"""Objects of subclasses of builtins: what C takes from them past all that the class overrides, and what it asks the class."""

import collections
import copy
import enum
import functools
import itertools
import math
import operator
import typing

import weft
from tests.review.harness import prog, x0


def tried(*functions):
    """What each gives or raises."""
    out = []
    for f in functions:
        try:
            out.append(f())
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out


class Int(int):
    def __add__(self, other):
        return "iadd", int(self), other

    def __repr__(self):
        return f"Int{int(self)}"

    def __lt__(self, other):
        return int(self) > int(other)

    def __bool__(self):
        return False

    def __index__(self):
        return 1

    def __neg__(self):
        return "neg"

    def bit_length(self):
        return "length"


class PlainInt(int):
    pass


@prog
def ints(C):
    def f(x, i, j):
        return x + 1, tried(
            lambda: max(i, 1), lambda: sorted([j, i, 3, 1]), lambda: sum([j, 1]), lambda: sum([i, 1]), lambda: 1 + i, lambda: i + 1,
            lambda: {j: 1}, lambda: {2: 1, j: 3}, lambda: 2 in [i], lambda: [0, 1, 2, 3][i], lambda: [0, 1, 2, 3][j], lambda: range(i),
            lambda: bool(i), lambda: 1 if i else 0, lambda: -i, lambda: abs(i), lambda: i.bit_length(), lambda: int(i), lambda: str(i),
            lambda: f"{i}", lambda: f"{i:3d}", lambda: "%d" % i, lambda: "%s" % i, lambda: "{}".format(i), lambda: type(j + 0),
            lambda: type(max(j, 1)), lambda: type(copy.copy(j)), lambda: type(copy.deepcopy(j)), lambda: type(copy.deepcopy([j])[0]),
            lambda: x[j], lambda: x * i, lambda: x + j, lambda: i * x, lambda: x.new_zeros(j), lambda: round(j),
            lambda: divmod(i, 2), lambda: i**2, lambda: math.sqrt(i), lambda: hash(j), lambda: set([j, 2]), lambda: "ab" * i,
            lambda: j.real, lambda: type(+j), lambda: functools.reduce(operator.mul, [j, 2]), lambda: list(itertools.accumulate([j, 2])),
            lambda: all([i]), lambda: slice(i, j), lambda: chr(j), lambda: bin(i), lambda: {1: "a", 2: "b"}[j], lambda: i | 1,
            lambda: next(itertools.islice(range(9), j, None)),
        )  # fmt: skip

    f = C(f)
    return [f(x0(), Int(2), PlainInt(2)), f(x0(), Int(3), PlainInt(3)), f(x0(), PlainInt(2), Int(2)), f(x0(), 2, PlainInt(2))]


class Text(str):
    def __str__(self):
        return "text"

    def __len__(self):
        return 99

    def upper(self):
        return "UP"

    def __contains__(self, item):
        return True

    def __getitem__(self, i):
        return "item"

    def __iter__(self):
        return iter([1, 2])

    def __format__(self, spec):
        return "fmt" + spec


class PlainText(str):
    pass


@prog
def texts(C):
    def f(x, i, j):
        return x + 1, tried(
            lambda: str(i), lambda: f"{i}", lambda: f"{i:>3}", lambda: "%s" % i, lambda: len(i), lambda: i.upper(), lambda: i.lower(),
            lambda: "q" in i, lambda: i[0], lambda: list(i), lambda: "".join([i, j]), lambda: i + "b", lambda: "b" + i, lambda: i == "ab",
            lambda: {"ab": 3}[j], lambda: max(i, "a"), lambda: type(j + ""), lambda: type(max(j, "")), lambda: "{}".format(i),
            lambda: "{!r}".format(i), lambda: "abab".replace(i, "x"), lambda: "abab".split(j), lambda: i.join(["1", "2"]),
            lambda: getattr(x, j, None), lambda: dict(**{j: 1}), lambda: j in ("ab",), lambda: int(PlainText("12")),
            lambda: float(PlainText("1.5")), lambda: i.encode(), lambda: type(copy.deepcopy(j)), lambda: "abc".startswith(j),
            lambda: type(j * 1), lambda: type(j[:]), lambda: next(reversed(j)), lambda: list(zip(i, j)),
        )  # fmt: skip

    f = C(f)
    return [f(x0(), Text("ab"), PlainText("ab")), f(x0(), PlainText("ab"), Text("ab")), f(x0(), "ab", PlainText("b"))]


class Frozen(frozenset):
    def __contains__(self, item):
        return True

    def __or__(self, other):
        return "or"

    def __iter__(self):
        return iter([7])


class PlainFrozen(frozenset):
    pass


@prog
def frozen_sets(C):
    def f(x, i, j):
        return x + 1, tried(
            lambda: 9 in i, lambda: i | {1}, lambda: j | {1}, lambda: {1} | j, lambda: list(i), lambda: len(i), lambda: i == j,
            lambda: {j: 1}, lambda: type(j.union()), lambda: type(j.copy()), lambda: j.copy() is j, lambda: j <= {1, 2, 3},
            lambda: i.issubset([1, 2]), lambda: type(copy.deepcopy(j)), lambda: type(copy.copy(j)), lambda: frozenset(j) is j, lambda: set(i),
            lambda: frozenset(i), lambda: bool(j), lambda: j - {1}, lambda: repr(j), lambda: 1 in j,
        )  # fmt: skip

    f = C(f)
    one, two = Frozen([1, 2]), PlainFrozen([1, 2])
    return [f(x0(), one, two), f(x0(), one, two), f(x0(), two, one)]


class Tuple(tuple):
    def __iter__(self):
        return iter("xyz")

    def __len__(self):
        return 12


class PlainTuple(tuple):
    pass


@prog
def tuples(C):
    def given(*values):
        return values

    def f(x, i, j):
        return x + 1, [v for v in i], tried(
            lambda: len(i), lambda: list(i), lambda: [*i], lambda: given(*i), lambda: i[0], lambda: i + (1,), lambda: type(j + (1,)),
            lambda: type(j[:]), lambda: j == (1, 2), lambda: (1, 2) == j, lambda: {j: 1}[(1, 2)], lambda: tuple(j) is j, lambda: tuple(i),
            lambda: sorted(i), lambda: sum(j), lambda: 1 in i, lambda: "x" in i, lambda: bool(i), lambda: repr(i), lambda: "%s %s" % j,
            lambda: x.new_zeros(j), lambda: type(copy.deepcopy(j)), lambda: j < (1, 3), lambda: j.index(2), lambda: i.count(1),
            lambda: list(reversed(i)), lambda: list(enumerate(i)), lambda: set(i), lambda: i[-1:], lambda: weft.cat(PlainTuple((x, x))),
        )  # fmt: skip

    f = C(f)
    return [f(x0(), Tuple((1, 2)), PlainTuple((1, 2))), f(x0(), PlainTuple((1, 2)), Tuple((1, 2)))]


@prog
def texts_of_containers(C):
    class D(collections.defaultdict):
        pass

    class O(collections.OrderedDict):
        pass

    class L(list):
        pass

    class S(set):
        pass

    class Q(collections.deque):
        def __len__(self):
            return 5

    class M:
        def __str__(self):
            return "mixed"

    class I(M, int):
        pass

    make = lambda: (
        D(), D(int, {"a": 1}), O(), O(a=1), L(), L([1]), S(), S([1]), PlainFrozen(), PlainFrozen([1]), Q([1], 3), I(3),
    )  # fmt: skip

    def f(x, *values):
        shown = [(f"{v}", str(v), repr(v), str([v]), bool(v)) for v in values]
        return x + 1, shown, [f"{v}{v!r}" for v in make()]

    f = C(f)
    return f(x0(), *make()), f(x0(), *make())


class Overrides(typing.NamedTuple):
    a: int = 1
    b: int = 2

    def __add__(self, other):
        return "add", other

    def __len__(self):
        return 7

    def __getitem__(self, i):
        return "got", i

    def __bool__(self):
        return False

    def __contains__(self, item):
        return True

    def __eq__(self, other):
        return "eq"

    def __iter__(self):
        return iter([5, 6])

    def __str__(self):
        return "text"

    def __repr__(self):
        return "shown"

    def __hash__(self):
        return 3

    def __lt__(self, other):
        return "lt"

    def __radd__(self, other):
        return "radd"

    def __matmul__(self, other):
        return "matmul"

    def __call__(self, value):
        return "called", value

    def count(self, value):
        return "count"


@prog
def named_tuple_overrides(C):
    def f(x, p):
        a, *b = p
        return x * p.a, a, b, tried(
            lambda: p + (3,), lambda: len(p), lambda: p[0], lambda: bool(p), lambda: 9 in p, lambda: p == p, lambda: p * 2, lambda: list(p),
            lambda: str(p), lambda: repr(p), lambda: f"{p}", lambda: hash(p), lambda: p < p, lambda: (1,) + p, lambda: p(3), lambda: p @ 1,
            lambda: p.count(1), lambda: [*p], lambda: p._asdict(), lambda: tuple(p), lambda: p.index(2), lambda: p._replace(a=5),
            lambda: 1 if p else 2, lambda: p != p, lambda: p > p, lambda: {p: 1}, lambda: Overrides._make([1, 2]), lambda: p.c,
        )  # fmt: skip

    f = C(f)
    return [f(x0(), Overrides()), f(x0(), Overrides(2, 3)), f(x0(), Overrides(2, 3))]


CHANGES = {
    "__len__": lambda p: 2 if p.a else 3,
    "__getitem__": lambda p, i: ("got", i),
    "__bool__": lambda p: False,
    "__iter__": lambda p: iter("ab"),
    "__eq__": lambda p, o: "eq",
    "__add__": lambda p, o: "add",
    "__str__": lambda p: "text",
    "__repr__": lambda p: "shown",
    "__hash__": lambda p: 4,
    "_asdict": lambda p: "asdict",
    "_replace": lambda p, **k: "replaced",
    "_fields": ("b", "a"),
    "a": property(lambda p: 5),
    "__getattribute__": lambda p, n: 2 if n == "a" else tuple.__getattribute__(p, n),
    "__getattr__": lambda p, n: 2,
}


@prog
def named_tuple_changed(C):
    P = collections.namedtuple("P", "a b")

    def f(x, p):
        shown = str(p), hash(p), p._asdict(), p._replace(a=3), P._fields
        return x * p.a, len(p), p[0], bool(p), list(p), p == (1, 2), p + (1,), shown

    f = C(f)
    out = [f(x0(), P(1, 2))]
    for name, value in CHANGES.items():
        before = P.__dict__.get(name)
        setattr(P, name, value)
        out.append((name, tried(lambda: f(x0(), P(1, 2)))))
        if before is None:
            delattr(P, name)
        else:
            setattr(P, name, before)
        out.append(f(x0(), P(1, 2)))
    return out


@prog
def copies(C):
    class L(list):
        def copy(self):
            return "copy"

    class Q:
        def __init__(self):
            self.a, self.b = [1], 2

    class W(Q):
        def __copy__(self):
            return "copied", self.a

    class R(Q):
        def __reduce_ex__(self, protocol):
            return str, ("reduced",)

    class G(Q):
        def __getstate__(self):
            return {"a": "state"}

    class Z(Q):
        __slots__ = ("z",)

    class N(collections.namedtuple("N", "a b")):
        pass

    plain = collections.namedtuple("plain", "a b")

    def f(x, v):
        one, deep = copy.copy(v), copy.deepcopy(v)
        return x + 1, [(c, c is v, type(c).__name__, getattr(c, "__dict__", None)) for c in (one, deep)]

    f = C(f)
    odd, slotted = Q(), Z()
    odd.__copy__ = lambda: "of the instance"
    slotted.z = 9
    values = [
        L([1, [2]]), Q(), W(), R(), G(), slotted, N(1, [2]), plain(1, [2]), PlainFrozen([1]), (1,), b"a", 3.5, None, range(3),
        collections.defaultdict(list, a=[1]), ValueError(1, [2]), PlainInt(3), Q, len,
    ]  # fmt: skip
    return [tried(lambda: f(x0(), v)) for v in values]


@prog
def slots_behind_hooks(C):
    class A:
        __slots__ = ("d", "e")

    class B(A):
        @property
        def d(self):
            return 100

        def __getattr__(self, name):
            return 7

    def f(x, o):
        out = tried(lambda: A.d.__get__(o), lambda: o.e, lambda: o.d)
        return x + 1, out

    f = C(f)
    out = []
    for cls in (A, B, A, B):
        o = cls()
        out.append(f(x0(), o))
        for v in (4, 5):
            A.d.__set__(o, v)
            out.append(f(x0(), o))
        o.e = 3
        out.append(f(x0(), o))
    return out


@prog
def reversed_by_items(C):
    log = []

    class S:
        def __init__(self, n):
            self.n = n

        def __len__(self):
            log.append("len")
            return self.n

        def __getitem__(self, i):
            log.append(i)
            if i > 3:
                raise IndexError(i)
            return i * 10

    def f(x, s):
        r = reversed(s)
        log.append("made")
        return x + next(r), list(zip(r, "ab")), type(r), log[:]

    f = C(f)
    return [tried(lambda: f(x0(), S(n))) for n in (4, 4, 3, 7, 0)], log


@prog
def deletions_and_deques(C):
    class O:
        pass

    class Q(collections.deque):
        def __init__(self, *values):
            super().__init__(values, 3)

    def cut(o, key):
        del o[key]

    def f(x, o, q):
        return x + 1, tried(
            lambda: cut(o, "a"), lambda: cut(o, 0), lambda: cut(x, 0), lambda: cut((1,), 0), lambda: q + q, lambda: q * 2, lambda: q.copy(),
            lambda: copy.copy(q),
        )  # fmt: skip

    f = C(f)
    return f(x0(), O(), Q(1)), f(x0(), O(), Q())


@prog
def super_without_its_cell(C):
    class A:
        def m(self):
            return super().__repr__()[:3]

        def gone(self):
            del self
            return super().__repr__()

        def other(self):
            return super(3, self).__repr__()

    def f(x, o):
        return x + 1, tried(lambda: o.m(), lambda: o.gone(), lambda: o.other())

    f = C(f)
    first = [f(x0(), A()), f(x0(), A())]
    cell = A.m.__closure__[0]
    del cell.cell_contents
    return first, f(x0(), A())


STATE = {"k": 1}
LOG = []


class Noisy(enum.Enum):
    A = 1
    B = 2

    def __add__(self, other):
        LOG.append("add")
        return self.value + STATE["k"], other

    def __lt__(self, other):
        return self.value < other.value + STATE["k"]

    def __eq__(self, other):
        LOG.append("eq")
        return self is other

    def __hash__(self):
        return 5

    def __bool__(self):
        return STATE["k"] == 1

    def __str__(self):
        return f"text{STATE['k']}"

    def __len__(self):
        return STATE["k"]

    def __call__(self, *values):
        return values, STATE["k"]

    @classmethod
    def _missing_(cls, value):
        return cls.A if STATE["k"] == 1 else cls.B


class Mode(enum.IntEnum):
    A = 1
    B = 2

    def __add__(self, other):
        return "add", STATE["k"]


@prog
def enums_with_methods(C):
    def f(x, e, m):
        LOG.clear()
        told = tried(
            lambda: e + 1, lambda: e < Noisy.B, lambda: e == Noisy.A, lambda: e != Noisy.A, lambda: bool(e), lambda: str(e), lambda: f"{e}",
            lambda: "%s" % e, lambda: len(e), lambda: e(4), lambda: sorted([Noisy.B, Noisy.A]), lambda: {e: 1}[Noisy.A], lambda: repr(e),
            lambda: e in [Noisy.B, Noisy.A], lambda: Noisy["A"], lambda: Noisy(1), lambda: Noisy(9), lambda: list(Noisy), lambda: e.name,
            lambda: m + 1, lambda: 1 + m, lambda: x * m, lambda: x[m], lambda: m.bit_length(), lambda: Mode(2), lambda: m < 2,
        )  # fmt: skip
        return x + 1, told, LOG[:]

    f = C(f)
    out = []
    for k in (1, 1, 2, 3, 1):
        STATE["k"] = k
        out += [f(x0(), Noisy.A, Mode.A), f(x0(), Noisy.B, Mode.B)]
    return out


@prog
def changes_during_iteration_and_sort(C):
    def f(x, d, values):
        def add():
            for k in d:
                d[k + "1"] = 1

        def cut():
            for k in d:
                del d[k]

        def grow(v):
            values.append(v)
            return v

        seen = tried(add, cut, lambda: list(d), lambda: values.sort(key=grow), lambda: values[:], lambda: values.sort(key=lambda v: len(values)))
        return x + 1, seen

    f = C(f)
    make = lambda: (dict(a=1), collections.OrderedDict(a=1), collections.OrderedDict(a=1, b=2), collections.defaultdict(int, a=1))
    return [f(x0(), d, [3, 1, 2]) for d in (*make(), *make())]


@prog
def the_limit_of_a_deque_is_set_by_its_constructor(C):
    class Few(collections.deque):
        def __init__(self, *values):
            weft._dynamo.graph_break()
            super().__init__(values, 3)

    def again(x, q):
        collections.deque.__init__(q, [1, 2, 3], 2)
        return x + 1, q

    plain, few = collections.deque([5]), Few(2)
    r = C(lambda x, q: (x + 1, q.copy(), q + q, q * 2))(x0(), Few(1))
    return r, C(again)(x0(), plain), plain.maxlen, C(again)(x0(), few), few.maxlen
