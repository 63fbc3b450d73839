"""Programs of uncommon parts of Python: what a value answers, and what changes between two calls."""

import collections
import copy
import dataclasses
import enum
import functools
import itertools
import operator
import string
import types
import typing

import numpy as np

from tests.review.harness import prog, told_whole, x0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3

    @property
    def doubled(self):
        return self * 2

    @classmethod
    def _missing_(cls, value):
        return cls.HIGH if value == "top" else None


class Color(enum.Flag):
    R = enum.auto()
    G = enum.auto()
    B = enum.auto()
    RG = R | G


class Name(str, enum.Enum):
    A = "a"
    B = "b"

    def __str__(self):
        return f"<{self.value}>"


@prog
def enums_answer(C):
    def f(x, level, color, name):
        return (
            x * level + level.doubled,
            [told_whole(Level, v) for v in (1, "top", 9)],
            color | Color.B,
            Color.R in color,
            list(color),
            ~color,
            bool(color & Color.G),
            f"{name}|{name!r}|{name:>5}|{level}|{level:03d}|{color}",
            name == "a",
            {Name.A: 1}.get("a"),
            Level["LOW"].name,
            told_whole(lambda: Level["no"]),
            told_whole(setattr, level, "value", 3),
            level < Level.HIGH,
            max(Level),
            len(Color),
            Color(3),
            isinstance(level, int),
            [m.name for m in Name],
            Name.__members__["B"],
        )

    c = C(f)
    return [c(x0(), Level(n), Color(k), Name(s)) for n, k, s in ((1, 1, "a"), (3, 5, "b"), (1, 3, "a"))]


class Validated:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name, 0)

    def __set__(self, obj, value):
        if value < 0:
            raise ValueError(f"{self.name[1:]} must not be negative: {value}")
        setattr(obj, self.name, value)

    def __delete__(self, obj):
        delattr(obj, self.name)


class Box:
    size = Validated()
    other = Validated()

    def __init__(self, size=1):
        self.size = size

    @functools.cached_property
    def area(self):
        return self.size**2

    @property
    def half(self):
        return self.size / 2

    @half.setter
    def half(self, value):
        self.size = value * 2

    @half.deleter
    def half(self):
        self.size = 0


@prog
def descriptors_of_all_kinds(C):
    def f(x, box):
        r = [box.size, box.area, box.half, told_whole(setattr, box, "size", -1)]
        box.half = 4
        r += [box.size, box.area, box.__dict__.get("area"), type(Box.size).__name__]
        del box.half
        r += [box.size, told_whole(delattr, box, "other"), sorted(vars(box))]
        box.__dict__.pop("area")
        box.other = 5
        return x * box.area + box.other, r

    c = C(f)
    boxes = [Box(n) for n in (1, 2, 2)]
    out = [c(x0(), b) for b in boxes]
    return out, [vars(b) for b in boxes], c(x0(), boxes[0])


@prog
def descriptors_replaced(C):
    def f(x, box):
        return x * box.size + box.half

    c = C(f)
    b = Box(3)
    out = [c(x0(), b)]
    before = Box.half
    try:
        Box.half = property(lambda self: 100)
        out.append(c(x0(), b))
        Box.half = 7
        out.append(c(x0(), b))
        b.half = 9
        out.append(c(x0(), b))
        Box.half = before
        out.append(c(x0(), b))
        del Box.half
        out.append(c(x0(), b))
    finally:
        Box.half = before
    return out


@prog
def formats_of_all_kinds(C):
    def f(x, n, v, s):
        return (
            x,
            f"{n:>8,}|{n:#x}|{n:+d}|{n:e}|{v:.3f}|{v!r:>10}|{s:*^9}|{s!a}|{n=}|{v=:.1f}|{'%'}",
            "%5d|%-5s|%05.1f|%r|%%|%x" % (n, s, v, s, n),
            "{0}{1!r}{k:>{w}}{0:{w}}".format(n, s, k=v, w=6),
            "{a[1]}{b.real}".format(a=[1, s], b=v),
            told_whole("{}{}".format, n),
            told_whole(lambda: "%d" % s),
            told_whole(lambda: f"{s:d}"),
            format(n, "b"),
            s.center(9, "-"),
            s.translate({ord("a"): "4"}),
            string.Template("$a and ${b}").substitute(a=n, b=s),
            s.partition("b"),
            s.encode().hex(),
            str(n).zfill(6),
            repr([n, {s: v}, (s,), {n}]),
            "\t".join(map(str, (n, v, s))).expandtabs(4),
            s.maketrans("ab", "xy"),
            f"{x.shape}{x.dtype}{len(x)}",
        )

    c = C(f)
    return [c(x0(), *a) for a in ((3, 1.5, "abc"), (-1234567, float("inf"), "été"), (3, -0.0, ""))]


@prog
def numpy_scalars_compute(C):
    def f(x, a, b):
        return (
            x * a,
            a + b,
            type(a + b).__name__,
            type(a * 2).__name__,
            type(2.5 * a).__name__,
            a / 2,
            a.dtype,
            a.item(),
            float(a),
            int(a),
            bool(a),
            a == b,
            [1, 2, 3, 4][int(a)],
            f"{a:.2f}|{a}",
            a.astype(np.float16),
            abs(-a),
            round(float(a), 1),
            isinstance(a, np.floating),
            hash(a) == hash(a.item()),
            max(a, b),
            np.sqrt(a),
            (-a) % 3,
            {a: 1}[a],
        )

    c = C(f)
    return [c(x0(), a, b) for a, b in ((np.float32(1.5), np.float64(2)), (np.int64(2), np.int8(3)), (np.float32(2.5), np.float64(1)))]


@dataclasses.dataclass(order=True)
class Item:
    key: int
    data: list = dataclasses.field(default_factory=list, compare=False, repr=False)
    tag: typing.ClassVar[str] = "t"
    scale: dataclasses.InitVar[int] = 2

    def __post_init__(self, scale):
        self.data.append(self.key * scale)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sub:
    a: int
    b: tuple = ()


@prog
def dataclasses_of_all_kinds(C):
    def f(x, item, n):
        new = Item(n, scale=3)
        r = [
            new, new.data, item < new, item == Item(item.key), sorted([new, item])[0].key, Item.tag,
            [f.name for f in dataclasses.fields(item)], dataclasses.astuple(item), told_whole(hash, item),
            told_whole(Sub, 1), Sub(a=n), told_whole(setattr, Sub(a=n), "a", 2), dataclasses.replace(Sub(a=n), b=(n,)), hash(Sub(a=1)) == hash(Sub(a=1)),
            dataclasses.is_dataclass(item), dataclasses.asdict(Sub(a=n, b=(item,))), Item.__match_args__,
        ]  # fmt: skip
        match item:
            case Item(key=1):
                r.append("one")
            case Item(key, [first, *_]) if first > 3:
                r.append((key, first))
            case Item():
                r.append("other")
        item.data.append(n)
        return x * sum(item.data), r

    c = C(f)
    items = [Item(1), Item(2), Item(0), Item(1)]
    return [c(x0(), i, n) for i, n in zip(items, (1, 5, 5, 2))], items, [i.data for i in items]


@prog
def patterns_match(C):
    class P:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    def f(x, v):
        match v:
            case None | True:
                return x, "none"
            case int(n) if n > 5:
                return x * n, "big"
            case 1 | 2 as n:
                return x + n, "small"
            case "a" | "b":
                return x, v
            case [a, [b, *rest], *_]:
                return x, (a, b, rest)
            case (a,):
                return x, ("one", a)
            case {"k": {"z": z}, **others}:
                return x, (z, others)
            case {"k": k}:
                return x, k
            case P(1, b=bb):
                return x, ("P1", bb)
            case P(a, P(c, d)):
                return x, (a, c, d)
            case float():
                return x * v, "float"
            case types.SimpleNamespace(q=q):
                return x, q
        return x, "no"

    c = C(f)
    values = [
        None, True, False, 7, 1, 3, "a", "c", [1, [2, 3], 4], [1, []], (5,), [], {"k": {"z": 1}, "m": 2}, {"k": 3}, {}, P(1, 2), P(2, P(3, 4)),
        P(2, 3), 2.5, types.SimpleNamespace(q=4), types.SimpleNamespace(), collections.deque([1]), range(1),
    ]  # fmt: skip
    return [c(x0(), v) for v in values]


@prog
def iteration_tools(C):
    def f(x, a, n):
        it = iter(a)
        return (
            x * len(a),
            list(itertools.groupby([1, 1, 2], key=lambda v: v % 2))[0][0],
            [(k, list(g)) for k, g in itertools.groupby(a, key=lambda v: v > 2)],
            list(itertools.islice(itertools.count(n, 3), 4)),
            list(itertools.accumulate(a, operator.mul, initial=2)),
            list(itertools.takewhile(lambda v: v < 3, it)),
            list(it),
            list(itertools.zip_longest(a, "xy", fillvalue=n)),
            list(itertools.product(a[:2], repeat=2)),
            list(itertools.combinations(a, 2))[-1:],
            list(itertools.permutations(a[:2])),
            list(itertools.chain.from_iterable([a, (n,)])),
            list(itertools.starmap(pow, [(2, n), (n, 2)])),
            list(itertools.pairwise(a)),
            list(itertools.compress(a, [1, 0, 1])),
            [list(t) for t in itertools.tee(iter(a), 2)],
            list(itertools.filterfalse(None, [0, n, ""])),
            functools.reduce(lambda p, q: p * 10 + q, a),
            told_whole(functools.reduce, operator.add, []),
            list(map(lambda p, q: p + q, a, a[1:])),
            list(filter(None, [0, 1, a])),
            sorted(a, key=lambda v: -v),
            min(a, key=lambda v: abs(v - 2)),
            told_whole(min, []),
            min([], default=n),
            sum([[1], [n]], []),
            list(zip(*[a, a])),
            all(v for v in a),
            any(v > 3 for v in a),
            list(enumerate(a, n)),
            list(reversed(a)),
            dict(zip(a, a[1:])),
            told_whole(lambda: list(zip(a, [1], strict=True))),
        )

    c = C(f)
    return [c(x0(), a, n) for a, n in (([1, 2, 3], 2), ([4, 1, 3, 2], 3), ([1, 2, 3], 2), ((1, 5), 1))]


class Meta(type):
    made = 0

    def __call__(cls, *args):
        Meta.made += 1
        return super().__call__(*args)

    def __contains__(cls, item):
        return item == cls.__name__

    def __len__(cls):
        return 5

    def __getattr__(cls, name):
        if name.startswith("auto_"):
            return name[5:]
        raise AttributeError(name)


class WithMeta(metaclass=Meta):
    def __init__(self, n):
        self.n = n

    def __class_getitem__(cls, item):
        return (cls.__name__, item)

    def __call__(self, y):
        return y * self.n

    def __bool__(self):
        return self.n > 1

    def __len__(self):
        return 0

    def __getitem__(self, i):
        if i > self.n:
            raise IndexError(i)
        return i * 2

    def __missing__(self, key):
        return key


@prog
def metaclasses_and_protocols(C):
    def f(x, n):
        o = WithMeta(n)
        return (
            o(x), Meta.made, "WithMeta" in WithMeta, len(WithMeta), WithMeta.auto_q, told_whole(getattr, WithMeta, "z"), WithMeta[n], bool(o), len(o),
            list(o), 4 in o, told_whole(lambda: o[9]), [*reversed([*o])], type(WithMeta).__name__, isinstance(WithMeta, Meta), callable(o),
            not o, o and 1, told_whole(reversed, o), told_whole(lambda: o + 1), told_whole(lambda: o < o), o == o, o != 3, hash(o) == hash(o), told_whole(lambda: -o),
        )  # fmt: skip

    Meta.made = 0
    c = C(f)
    return [c(x0(), n) for n in (1, 2, 1)], Meta.made


class Number:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return Number(self.v + getattr(other, "v", other))

    __radd__ = __add__

    def __iadd__(self, other):
        self.v += getattr(other, "v", other)
        return self

    def __matmul__(self, other):
        return ("matmul", self.v, other)

    def __rmatmul__(self, other):
        return ("rmatmul", self.v)

    def __eq__(self, other):
        return NotImplemented if not isinstance(other, Number) else self.v == other.v

    def __lt__(self, other):
        return self.v < other.v

    __hash__ = None

    def __index__(self):
        return self.v

    def __round__(self, n=None):
        return ("round", n)

    def __format__(self, spec):
        return f"<{spec}:{self.v}>"

    def __divmod__(self, other):
        return ("divmod", other)

    def __pow__(self, other, mod=None):
        return ("pow", other, mod)

    def __neg__(self):
        return Number(-self.v)

    def __contains__(self, item):
        return item == self.v

    def __iter__(self):
        return iter([self.v] * 2)

    def __enter__(self):
        return self

    def __exit__(self, *e):
        self.v += 1
        return True


@prog
def operators_of_all_kinds(C):
    def f(x, n):
        o, p = Number(n), Number(2)
        q = o
        q += 5
        with o as r:
            raise KeyError
        return (
            x * o.v, (o + p).v, (1 + o).v, sum([o, p], Number(0)).v, o @ 3, 3 @ o, o == p, o != p, o == 3, o < p, o > p, sorted([o, p])[0].v,
            told_whole(hash, o), [0] * 10 == [0] * int(o.v), list(range(20))[p], list(range(p)), round(o), round(o, 2), f"{o:>3}{o}", divmod(o, 3), pow(o, 2, 3),
            o**2, (-o).v, n in o, [*o], o is q, r is o, told_whole(lambda: o - 1), told_whole(lambda: o <= p), hex(p), bin(p), told_whole(lambda: [1, 2, 3][o]), x[p], x[:p], told_whole(lambda: x[o]),
            operator.index(p), max([o, p]).v, "ab" * p, bytes(p), told_whole(chr, p), told_whole(lambda: ~o), told_whole(int, p), told_whole(float, p),
        )  # fmt: skip

    c = C(f)
    return [c(x0(), n) for n in (1, 4, 1)]


@prog
def mutation_between_calls(C):
    cfg = {"a": {"b": [1, 2]}, "f": lambda x: x + 1}
    ns = types.SimpleNamespace(k=1, sub=types.SimpleNamespace(t=(1, 2)))

    def f(x):
        return cfg["f"](x) * sum(cfg["a"]["b"]) + ns.k + sum(ns.sub.t), len(cfg), sorted(vars(ns)), list(cfg["a"])

    c = C(f)
    out = [c(x0())]
    changes = [
        lambda: cfg["a"]["b"].append(3), lambda: cfg["a"].__setitem__("c", 1), lambda: cfg["a"].pop("c"), lambda: cfg.__setitem__("f", lambda x: x * 7),
        lambda: setattr(ns, "k", 2.5), lambda: setattr(ns.sub, "t", (4,)), lambda: setattr(ns, "new", 1), lambda: setattr(ns, "sub", types.SimpleNamespace(t=[9])),
        lambda: ns.sub.t.append(1), lambda: cfg["a"]["b"].clear(), lambda: cfg["a"].update(b=(True, 2)), lambda: delattr(ns, "new"),
    ]  # fmt: skip
    for change in changes:
        change()
        out.append(c(x0()))
    return out


@prog
def copies_and_identity(C):
    def f(x, a):
        b, d = copy.copy(a), copy.deepcopy(a)
        b["l"].append(1)
        d["l"].append(2)
        return x * len(a["l"]), b is a, b["l"] is a["l"], d["l"] is a["l"], d["s"] is d["t"], a, d, id(a) == id(a), a["l"] is not d["l"], b == a, x is x, [x][0] is x

    c = C(f)
    s = [0]
    a = {"l": [5], "s": s, "t": s}
    return c(x0(), a), c(x0(), a), a


@prog
def partials_and_singledispatch(C):
    @functools.singledispatch
    def kind(v):
        return "other"

    @kind.register
    def _(v: int):
        return "int"

    @kind.register(list)
    @kind.register(tuple)
    def _(v):
        return "seq"

    class D:
        @functools.singledispatchmethod
        def m(self, v):
            return "m other"

        @m.register
        def _(self, v: str):
            return "m str"

        part = functools.partialmethod(lambda self, a, b, c=0: (a, b, c), 1, c=5)

    @functools.total_ordering
    class T:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __lt__(self, o):
            return self.v < o.v

    def f(x, v):
        p = functools.partial(pow, 2)
        q = functools.partial(p, 3)
        return (
            x, kind(v), kind(True), kind(()), D().m(v), D().part(2), p(4), q(), q.args, q.func is pow, T(1) >= T(2), T(1) <= T(1), T(3) > T(2),
            functools.partial(lambda *a, **k: (a, k), 1, z=2)(3, z=4, y=5), kind.dispatch(int)(1), functools.wraps(kind)(lambda: 0).__name__,
            operator.attrgetter("v", "v")(T(4)), operator.itemgetter(1, 0)("ab"), operator.methodcaller("upper")("a"),
        )  # fmt: skip

    c = C(f)
    return [c(x0(), v) for v in (1, "a", [], 2.5)]


@prog
def tensors_in_odd_places(C):
    def f(x, d):
        first, *rest, last = x
        a, b = x[:2]
        d[x.shape] = first
        d.setdefault("k", []).append(last)
        y = {k: v + 1 for k, v in {"a": a, "b": b}.items()}
        z = max([a.sum(), b.sum()], key=lambda t: 0)
        return x.new_tensor([1, 2]), [*rest], y, z, sum(x), [t * 2 for t in x], x in [x], [x].index(x), {id(x): 1}[id(x)], (x, 1) == (x, 1), first is x[0]

    c = C(f)
    d = {}
    x = x0()
    return c(x, d), c(x, d), d
