"""Programs without tensors, for test_python (apart from it: pytest rewrites asserts in test files)."""

# ruff: noqa: E501, B018, UP031, B009
from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
import typing

GLOBAL = 7
NAMES = ["a", "b"]


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    def shade(self):
        return self.name.lower()


@dataclasses.dataclass
class Config:
    width: int
    name: str = "x"
    items: list = dataclasses.field(default_factory=list)

    @property
    def double(self):
        return self.width * 2


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: int = 2


class Pair(typing.NamedTuple):
    left: int
    right: int = 3

    def total(self):
        return self.left + self.right


Point = collections.namedtuple("Point", "x y")


class Base:
    kind = "base"

    def __init__(self, n):
        self.n = n

    def scaled(self, k=1, *, plus=0):
        return self.n * k + plus

    @classmethod
    def make(cls, n):
        return cls(n + 1)

    @staticmethod
    def twice(n):
        return 2 * n

    def __len__(self):
        return self.n

    def __add__(self, other):
        return type(self)(self.n + other.n)

    def __getitem__(self, i):
        if i >= self.n:
            raise IndexError(i)
        return i * i

    def __call__(self, x):
        return x + self.n

    def __eq__(self, other):
        return self.n == other.n

    __hash__ = object.__hash__


class Derived(Base):
    def __init__(self, n):
        super().__init__(n * 10)
        self.extra = [n]

    def scaled(self, k=1, **kw):
        return super().scaled(k, **kw) + 1


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, tb):
        self.log.append("exit" if kind is None else kind.__name__)
        return kind is ValueError


@contextlib.contextmanager
def managed(log):
    log.append("in")
    try:
        yield len(log)
    finally:
        log.append("out")


def wrapped(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        return fn(*args, **kwargs) + 1

    return inner


@wrapped
def decorated(x, y=2):
    return x * y


def default_args(a, b=2, *args, c, d=4, **kw):
    return a, b, args, c, d, sorted(kw.items())


def countdown(n):
    while n > 0:
        got = yield n
        n -= 1 if got is None else got
    return "done"


def delegating(n):
    result = yield from countdown(n)
    yield result


def p_arithmetic(a, b):
    return a + b * 2 - a // b, a % b, a / b, a**b, -a, ~a, a << 2, a & b, a | b, a ^ b, not a, +a, divmod(a, b)


def p_compare(a, b):
    return a < b <= 10, a == b, a != b, a is b, a is not None, a in (1, 2), a not in [3]


def p_loops(n, items):
    total = 0
    for i in range(n):
        if i == 3:
            continue
        if i > 7:
            break
        total += i
    else:
        total = -1
    while total > 10:
        total -= 4
    for i, (k, v) in enumerate(zip(items, reversed(items)), 1):
        total += i * len(k + v)
    return total


def p_comprehensions(n, items):
    k = 3
    return (
        [i * k for i in range(n) if i % 2], {i: i * i for i in range(n)}, {c for c in "abca"}, sum(i for i in range(n)),
        [[j for j in range(i)] for i in range(3)], tuple(x.upper() for x in items),
    )  # fmt: skip


def p_calls(a, b):
    add = lambda x, y=1: x + y
    part = functools.partial(add, 5)
    args, kw = (1, 2), {"c": 3}
    return (
        default_args(a, c=b), default_args(a, 1, 2, 3, c=4, e=5), default_args(*args, **kw), part(), part(y=a), add(b),
        decorated(a), decorated(a, y=b), decorated.__name__,
    )  # fmt: skip


def p_strings(a, s):
    return f"{a:>5}|{s!r}|{a + 1}", s.upper().split(","), "%d-%s" % (a, s), "-".join([s, "x"]), s[1:3], f"{a} {s}", len(s)


def p_containers(a):
    xs = [1, 2, 3]
    xs.append(a)
    xs.extend([5, 6])
    xs[0] = 9
    xs[1:3] = [7]
    del xs[-1]
    ys = sorted(xs, key=lambda v: -v)
    d = {"a": 1, **{"b": 2}}
    d["c"] = a
    d.setdefault("e", []).append(4)
    d.update(z=1)
    first, *rest = xs
    s = {1, 2} | {a}
    return xs, ys, d, first, rest, d.get("q", 0), list(d.items()), len(s), xs.index(9), xs.pop(), max(xs), min(1, a), (1, 2) + (a,), [0] * 3


def p_closures(n):
    count = 0

    def step(k):
        nonlocal count
        count += k
        return count

    def maker(i):
        return lambda: i * n

    return step(1), step(n), [maker(i)() for i in range(3)], count


def p_exceptions(n):
    out = []
    try:
        [][n]
    except IndexError as e:
        out.append(str(e))
    finally:
        out.append("f")
    try:
        raise ValueError("bad", n)
    except (TypeError, ValueError) as e:
        out.append(e.args)
    try:
        try:
            {}["k"]
        except KeyError as e:
            raise RuntimeError("outer") from e
    except RuntimeError as e:
        out.append(str(e))
    else:
        out.append("never")
    try:
        assert n < 0, f"n is {n}"
    except AssertionError as e:
        out.append(str(e))
    return out


def p_withs(n):
    log = []
    with Manager(log) as m, managed(log) as k:
        log.append(k)
        assert m.log is log
    with Manager(log):
        raise ValueError
    try:
        with managed(log):
            raise KeyError(n)
    except KeyError:
        log.append("caught")
    with contextlib.suppress(ZeroDivisionError):
        1 / 0
    return log


def p_objects(n):
    b, d = Base(n), Derived(n)
    return (
        b.scaled(2), d.scaled(3, plus=1), d.extra, Base.make(n).n, Base.twice(n), d.kind, len(b), (b + Base(1)).n, list(b),
        b(5), isinstance(d, Base), isinstance(b, (int, Derived)), hasattr(b, "zz"), getattr(b, "zz", 5), b == Base(n),
        issubclass(Derived, Base), type(d).__name__, 4 in b,
    )  # fmt: skip


def p_dataclasses(n):
    c = Config(n)
    c.items.append(n)
    f = Frozen(n)
    p = Pair(n)
    q = Point(1, y=n)
    left, right = p
    return c.double, c.name, c.items, f.a + f.b, p.total(), p._replace(right=9).right, q.x + q.y, left, right, Color.RED.shade(), Color(2).name, Color["RED"].value


def p_generators(n):
    g = countdown(n)
    first = next(g)
    second = g.send(2)
    rest = list(delegating(3))
    return first, second, rest, list(itertools.chain([1], (2, 3))), list(itertools.islice(itertools.count(n), 3)), any(x > 2 for x in range(n)), all([])


def p_iteration(n):
    return (
        list(map(lambda x, y: x + y, range(n), range(10))), list(filter(None, [0, 1, 2])), functools.reduce(operator.mul, range(1, n + 1)),
        list(itertools.product([1, 2], "ab")), list(itertools.accumulate(range(n))), dict(zip("abc", range(3))), math.sqrt(16) + math.pi,
        round(2.567, 1), abs(-n), list(itertools.pairwise(range(4))), operator.itemgetter(1)([5, 6]), math.prod([n, 2]),
        sum([[1], [2]], []), list(reversed([1, 2])), next(iter([]), "none"),
    )  # fmt: skip


def p_match(v):
    match v:
        case 0:
            return "zero"
        case [a, b]:
            return ("pair", a, b)
        case {"k": x}:
            return ("key", x)
        case Pair(left=l):
            return l
        case str() as s if len(s) > 2:
            return s
        case _:
            return None


def p_globals(n):
    global GLOBAL
    before = GLOBAL
    GLOBAL = n
    after = GLOBAL
    GLOBAL = before
    return before, after, len(NAMES)


def p_deep(n):
    def down(k):
        return 0 if k == 0 else 1 + down(k - 1)

    return down(n)


def p_walrus(n):
    return [y for i in range(n) if (y := i * i) > 3], y


def p_defaultdict(n):
    d = collections.defaultdict(list)
    d["a"].append(n)
    o = collections.OrderedDict(b=1)
    o["a"] = 2
    o.move_to_end("b")
    return dict(d), list(o), copy.copy([n])


PROGRAMS = [
    (p_arithmetic, (7, 3)), (p_compare, (2, 5)), (p_loops, (12, ["ab", "c"])), (p_comprehensions, (6, ["x", "y"])),
    (p_calls, (3, 4)), (p_strings, (42, "ab,cd")), (p_containers, (8,)), (p_closures, (4,)), (p_exceptions, (5,)),
    (p_withs, (3,)), (p_objects, (4,)), (p_dataclasses, (6,)), (p_generators, (5,)), (p_iteration, (4,)), (p_match, ((1, 2),)),
    (p_match, (0,)), (p_match, ({"k": 3},)), (p_match, (Pair(4),)), (p_match, ("abc",)), (p_match, (3.5,)), (p_globals, (9,)),
    (p_walrus, (5,)), (p_deep, (300,)), (p_defaultdict, (1,)),
]  # fmt: skip
