"""Objects of subclasses of builtin types: attributes beside the dict, list, number … that they are."""

import collections
import dataclasses
import enum
import types
from typing import Any

import pytest

import weft
from tests.dynamo.objects.twice import check, listed, whole
from weft import nn

PROGRAMS: list = []
program = listed(PROGRAMS)


def x():
    return weft.arange(4.0)


class AttrDict(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


@program
def an_attribute_dict_from_outside(C):
    config = AttrDict(scale=2.0, inner=AttrDict(n=3))

    def f(v):
        config.count = config.get("count", 0) + 1
        config.inner.n += 1
        return v * config.scale + config.inner["n"] + config.count

    c = C(f)
    first = c(x()), dict(config)
    config.scale = 5.0
    return first, c(x()), dict(config), hasattr(config, "other")


@program
def an_attribute_dict_made_inside(C):
    def f(v):
        d = AttrDict(a=v)
        d.b = 2
        d["c"] = 3
        d.update(e=4)
        return d, d.a * d.b, list(d), len(d), "b" in d, d.pop("c"), sorted(d)

    d, *rest = C(f)(x())
    return type(d) is AttrDict, dict(d), rest


class Tracked(list):
    def __init__(self, items=(), name="n"):
        super().__init__(items)
        self.name = name
        self.log = []

    def append(self, item):
        self.log.append("append")
        super().append(item)

    def __getitem__(self, i):
        return super().__getitem__(i)

    def total(self):
        return sum(self)


@program
def a_list_with_methods(C):
    outer = Tracked([1, 2], "outer")

    def f(v):
        outer.append(3)
        new = Tracked([v], "new")
        new.append(v * 2)
        new.extend([v])
        outer[0] = 10
        return new, v * outer.total() + len(new), new.total(), outer + [1], [k for k in outer], outer == [10, 2, 3]

    new, *rest = C(f)(x())
    return type(new) is Tracked, list(new), new.name, new.log, rest, list(outer), outer.log


class Empty(collections.deque):
    pass


class Stack(collections.deque):
    def top(self):
        return self[-1]


@program
def deques(C):
    s = Stack([1, 2], maxlen=3)
    e = Empty()

    def f(v):
        s.append(5)
        s.append(6)
        t = Stack([v, v + 1])
        t.appendleft(v)
        return v * s.top() * (2 if e else 3), t, t.top(), len(s), e == Empty()

    y, t, *rest = C(f)(x())
    return y, type(t) is Stack, list(t), rest, list(s), s.maxlen


class Point(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    @property
    def a(self):
        return self[0]

    def moved(self, by):
        return Point(self[0] + by, self[1] + by)


@program
def tuples(C):
    p = Point(1, 2)

    def f(p, v):
        q = p.moved(3)
        a, b = q
        return v * p.a + b, q, q.a, len(p), q[::-1], p < q, p == (1, 2)

    y, q, *rest = C(f)(p, x())
    return y, type(q) is Point, tuple(q), rest


class Bag(set):
    def twice(self):
        return len(self) * 2


@program
def sets(C):
    b = Bag([1, 2])

    def f(v):
        b.add(3)
        c = Bag([7])
        c.tag = "t"
        c.add(8)
        return v * b.twice(), c, 3 in b, len(c)

    y, c, *rest = C(f)(x())
    return y, type(c) is Bag, sorted(c), c.tag, rest, sorted(b)


class Name(str):
    def shout(self):
        return self.upper() + "!"


class Meters(float):
    def __add__(self, other):
        return Meters(float(self) + float(other))


class Count(int):
    extra = 1

    def next(self):
        return Count(self + 1)


@program
def strings_and_numbers(C):
    n, m, k = Name("weft"), Meters(1.5), Count(4)
    n.tag = "T"

    def f(v, n, m, k):
        total = m + Meters(2.0)
        return (
            v * k.next() + total,
            n.shout(),
            f"{n}:{k}",
            n + "s",
            n == "weft",
            {"weft": 1}[n],
            k + 1,
            k * 2.5,
            -k,
            n.tag,
            Name("made"),
            total,
            k.next(),
            len(n),
            n[0],
            [1, 2, 3, 4, 5, 6][k],
        )

    c = C(f)
    out = c(x(), n, m, k)
    return [(type(v).__name__, v) for v in out], c(x(), n, m, Count(5))[0], c(x(), Name("other"), m, k)[1]


@program
def default_and_ordered_dicts(C):
    class Groups(collections.defaultdict):
        def sizes(self):
            return {k: len(v) for k, v in self.items()}

    class Recent(collections.OrderedDict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            self.move_to_end(key)
            while len(self) > 2:
                self.popitem(last=False)

    groups, recent = Groups(list), Recent(a=1)

    def f(v):
        groups["p"].append(1)
        groups["q"].append(v)
        recent["b"] = 2
        recent["a"] = 3
        recent["c"] = 4
        fresh = Recent([("z", 1), ("y", 2), ("z", 3)])
        return v + len(groups), groups.sizes(), fresh

    y, sizes, fresh = C(f)(x())
    return y, sizes, list(fresh.items()), list(recent.items()), dict(groups)


@program
def what_a_dict_misses(C):
    class Doubles(dict):
        def __missing__(self, key):
            self[key] = key * 2
            return self[key]

    d = Doubles()
    c = C(lambda v: v * d[2] + d[5])
    return c(x()), c(x()), dict(d)


@program
def simple_namespaces(C):
    ns = types.SimpleNamespace(a=1, inner=types.SimpleNamespace(b=2))

    def f(v):
        ns.a += 1
        new = types.SimpleNamespace(v=v, w=2)
        new.w = 3
        return v * ns.a + ns.inner.b, new, vars(ns) is ns.__dict__, hasattr(ns, "zz"), ns == ns.inner, repr(ns.inner)

    c = C(f)
    y, new, *rest = c(x())
    return y, new.v, new.w, rest, c(x())[0], ns.a


@program
def counters(C):
    def f(v):
        class_of = collections.Counter
        c = class_of()
        c["a"] += 2
        c.update({"a": 1, "b": 1})
        return v * c["a"], c.most_common(1), c["missing"], dict(c)

    return C(f)(x())


@program
def containers_given_to_functions_of_c(C):
    d = AttrDict(a=1, b=2)
    t = Tracked([3, 1, 2])

    def g(**given):
        return given

    def f(v):
        return (
            g(**d), {**d}, dict(d), list(t), tuple(t), sorted(t), max(t), sum(t), [*t], list(d.items()), isinstance(d, dict),
            isinstance(t, list), type(d).__name__, bool(AttrDict()), dict.get(d, "a"), list.__len__(t), v,
        )  # fmt: skip

    return C(f)(x())


@program
def an_attribute_of_an_enum_member_hides_a_method(C):
    class Color(enum.IntEnum):
        RED = 1

        def shown(self):
            return "method"

    c = C(lambda v: (v + Color.RED, Color.RED.shown()))
    found = [c(x())]
    Color.RED.shown = lambda: "own"
    found.append(c(x()))
    del Color.RED.shown
    return [*found, c(x())]


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda p: p.__name__)
def test_compiled_is_plain(case):
    check(case)


@pytest.mark.parametrize("case", [p for p in PROGRAMS if p is not counters], ids=lambda p: p.__name__)
def test_without_a_break(case):
    check(case, whole)


# ------------------------------------------------------------------------- outputs of models: dataclass and OrderedDict
class Output(collections.OrderedDict):
    """What models give: its fields are attributes, items by name and, where they are not None, by position."""

    def __post_init__(self):
        names = [f.name for f in dataclasses.fields(self)]
        if not names:
            raise ValueError(f"{type(self).__name__} has no fields")
        for name in names:
            value = getattr(self, name)
            if value is not None:
                self[name] = value

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def __delitem__(self, *args):
        raise TypeError(f"items of a {type(self).__name__} stay")

    def to_tuple(self):
        return tuple(self[k] for k in self.keys())


@dataclasses.dataclass
class LayerOutput(Output):
    hidden: Any = None
    cache: Any = None
    states: Any = None


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, as_dict=True):
        h = self.linear(x)
        out = LayerOutput(hidden=h, states=(x, h))
        return out if as_dict else out.to_tuple()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def forward(self, x):
        out = self.layer(x)
        y = out[0] * 2 + out.hidden + out["states"][0] + out[1:][0][1]
        out.hidden = y
        out["cache"] = len(out)
        try:
            del out["hidden"]
        except TypeError as e:
            reason = str(e)
        hidden, states = self.layer(x, as_dict=False)
        return LayerOutput(hidden=y + hidden, states=list(states), cache=reason), out


def test_outputs_of_models_are_captured_in_one_graph():
    model, x = Model(), weft.ones(2, 4)
    compiled = weft.compile(model, backend="eager", fullgraph=True)
    for _ in range(2):
        for plain, found in zip(model(x), compiled(x)):
            assert type(found) is LayerOutput and list(found.items())[1:] != []
            assert list(plain) == list(found) and list(plain.__dict__) == list(found.__dict__)
            assert weft.equal(plain.hidden, found.hidden) and found["hidden"] is found.hidden and found[0] is found.hidden
            assert plain.cache == found.cache and weft.equal(plain.states[1], found.states[1])


class StoresNothing(collections.defaultdict):
    def __setitem__(self, key, value):
        pass


class StoresTwice(collections.defaultdict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)


class MissesItself(collections.defaultdict):
    def __missing__(self, key):
        return key, super().__missing__(key)


@pytest.mark.parametrize("cls", [collections.defaultdict, StoresNothing, StoresTwice, MissesItself])
@pytest.mark.parametrize("factory", [int, lambda: 3, None])
def test_what_a_factory_makes_is_stored_as_the_object_stores(cls, factory):
    def f(x, d):
        try:
            first = d["zz"]
        except KeyError as e:
            first = repr(e)
        try:
            second = d.__missing__("y")
        except KeyError as e:
            second = repr(e)
        return x + 1, first, second, list(d.items()), "zz" in d

    weft.compiler.reset()
    dicts = cls(factory, {"a": 1}), cls(factory, {"a": 1})
    assert str(weft.compile(f)(weft.ones(1), dicts[1])) == str(f(weft.ones(1), dicts[0])) and dicts[0] == dicts[1]


class Node(dict):
    pass


class Trie(dict):
    def __missing__(self, key):
        value = self[key] = Trie()
        return value


class Row(list):
    pass


class Line(collections.deque):
    pass


def into_a_dict(t):
    n = t["a"] = type(t)()
    n.end = 1
    return t["a"].end, getattr(t["a"], "end", "lost"), t.setdefault("b", n).end, t.get("c", n).end, t.pop("a").end


def into_a_list(t):
    n = type(t)()
    t.append(n)
    t.insert(0, n)
    n.end = 1
    return t[0].end, t[-1] is t[0], t.pop().end, t.index(n), t.count(n)


@pytest.mark.parametrize("cls", [Node, Trie, Row, Line])
def test_what_is_stored_in_one_of_its_own_class_keeps_its_attributes(cls):
    f = into_a_dict if issubclass(cls, dict) else into_a_list
    compiled = weft.compile(f)
    for _ in range(2):
        t, expected = cls(), cls()
        assert compiled(t) == f(expected) and t == expected
