"""Keys of dicts, items of sets, and the order in which they come."""

# ruff: noqa: F601

import collections
import dataclasses
import types

import pytest

import weft
from dynamo.source import Item, Local
from tests.dynamo.kinds.alike import alike
from tests.dynamo.same import same


@dataclasses.dataclass(frozen=True)
class Key:
    v: int


class ByParity:
    def __init__(self, v):
        self.v = v

    def __hash__(self):
        return self.v % 2

    def __eq__(self, other):
        return isinstance(other, ByParity) and self.v % 4 == other.v % 4


class NoHash:
    def __eq__(self, other):
        return True


def test_objects_are_keys_by_their_hash_and_equality():
    def f(x, n):
        d = {Key(1): 2.0, Key(n): 3.0, (Key(1), 2): "t"}
        s = {Key(1), Key(n), Key(1)}
        return (
            x * d[Key(1)],
            len(d),
            len(s),
            d.get(Key(7)),
            Key(n) in s,
            d[(Key(1), 2)],
            ByParity(5) in {ByParity(1)},
            {ByParity(1): 1}.get(ByParity(3)),
            d.get(1),
        )

    alike(f, (weft.ones(2), 1), (weft.ones(2), 2), fullgraph=True)


def test_what_has_no_hash():
    def f(value, x):
        messages = []
        for use in (lambda v: {v: 1}, lambda v: {v}, lambda v: {}.get(v), lambda v: (1, v) in {2: 3}, hash, lambda v: hash((v,))):
            try:
                use(value)
            except TypeError as e:
                messages.append(str(e))
        return messages, x + 1

    for value in ([1], {"a": 1}, {1}, {}.keys(), collections.deque([1])):
        alike(f, (value, weft.ones(1)) if not isinstance(value, type({}.keys())) else ([], weft.ones(1)))


def test_the_first_of_equal_keys_stays():
    # ruff: noqa: F601
    alike(lambda: ({1: "a", True: "b", 1.0: "c"}, dict([(1, 2), (True, 3)]), {0: 1} | {False: 2}), fullgraph=True)


def test_sets_of_constants_come_in_the_order_of_their_hashes():
    def f(names, x):
        a = {"q", "a", *names}
        b = a | {"zz", "d"}
        b -= {"q"}
        c = {8, 0, 16, 3} ^ {3, 24}
        c.add(32)
        return (
            x + 1,
            list(a),
            list(b),
            list(c),
            sorted(a),
            [n for n in set(range(20)) & {11, 3, 19}],
            {1.5, "a", None, 2}.pop(),
            tuple(frozenset("hello")),
        )

    alike(f, (["x", "y"], weft.ones(1)), (["b"], weft.ones(1)))


def test_a_set_from_outside_comes_in_its_own_order():
    one, other = set(), set()
    for n in (8, 0, 16):
        one.add(n)
    for n in (16, 0, 8):
        other.add(n)
    compiled = weft.compile(lambda x, s: (x + 1, list(s)), backend="eager")
    for s in (one, other, frozenset(one), frozenset(other)):
        assert compiled(weft.ones(1), s)[1] == list(s)


def test_the_order_of_objects_in_a_set_is_left_to_python():
    objects = [Key(n) for n in range(3)] + [object(), object()]

    def f(x):
        y = x + 1
        return y, [type(o).__name__ for o in set(objects)], len(set(objects))

    compiled = weft.compile(f, backend="eager")
    for _ in range(2):
        assert compiled(weft.ones(1))[1:] == f(weft.ones(1))[1:]


GLOBAL_SET = {1, 2}


def test_a_global_set_that_grows():
    def f(x):
        return x * len(GLOBAL_SET), 3 in GLOBAL_SET, sum(GLOBAL_SET)

    def between(n):
        GLOBAL_SET.add(n)

    alike(f, *[(weft.ones(2),)] * 4, between=between)


def test_a_dict_that_changes_under_an_iterator():
    def f(x, kind):
        d = {"a": 1, "b": 2}
        it = iter({"keys": d, "values": d.values(), "items": d.items(), "reversed": reversed(d)}[kind])
        first = next(it)
        try:
            d["c"] = 3
            next(it)
        except RuntimeError as e:
            return x + 1, first, str(e), next(it, "end") if False else type(it).__name__
        return x

    for kind in ("keys", "values", "items", "reversed"):
        alike(f, (weft.ones(1), kind), fullgraph=True)


def test_values_that_change_under_an_iterator():
    def f(x):
        d = {"a": 1, "b": 2}
        out = []
        for k, v in d.items():
            d["b"] = 7
            out.append((k, v))
        s = {1}
        try:
            for v in s:
                s.add(v + 1)
        except RuntimeError as e:
            out.append(str(e))
        q = collections.deque([1, 2])
        try:
            for v in q:
                q.append(v)
        except RuntimeError as e:
            out.append(str(e))
        return x + 1, out

    alike(f, (weft.ones(1),), fullgraph=True)


def test_mapping_proxies_and_ordered_dicts():
    proxy = types.MappingProxyType({"a": 1})

    def f(x):
        try:
            proxy["b"] = 2
        except TypeError as e:
            error = str(e)
        a, b = collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1)
        return x + proxy["a"], error, isinstance(proxy, dict), proxy | {"c": 3}, a == b, a == dict(b), type({} | a), type(a | {})

    alike(f, (weft.ones(1),), fullgraph=True)


def test_iterators_have_their_own_types():
    def f(x, n):
        made = [
            iter("ab"),
            iter([1]),
            iter((1,)),
            iter({1: 2}),
            iter({1: 2}.values()),
            iter({1}),
            iter(range(3)),
            reversed([1]),
            reversed((1,)),
            reversed({1: 2}),
            iter(b"a"),
            iter(collections.deque([1])),
        ]
        for it in made[: n or None]:
            next(it)
        return x + 1, [type(it).__name__ for it in made], made

    weft.compiler.reset()
    compiled = weft.compile(f, backend="eager", fullgraph=True)
    for n in (0, 3):
        want, got = f(weft.ones(1), n), compiled(weft.ones(1), n)
        assert want[1] == got[1]
        for a, b in zip(want[2], got[2]):
            assert type(a) is type(b) and list(a) == list(b)


def test_the_text_of_containers():
    proxy = types.MappingProxyType({"a": 1})

    def f(x, names):
        d = collections.defaultdict(list)
        d["k"].append(1)
        q = collections.deque([1, 2, 3], maxlen=2)
        texts = [str(v) for v in (proxy, d, q, set(names), frozenset(names), {1: [2, (3,)]}, collections.OrderedDict(a=1))]
        return x + 1, texts, f"{set(names)!r:>30}", "%s|%r" % (d, q)  # noqa: UP031

    alike(f, (weft.ones(1), ["b", "a", "c"]), (weft.ones(1), ["z"]), fullgraph=True)


def test_views_are_compared_by_what_they_hold():
    def f(x, d):
        d["new"] = []
        items = d.items()
        return x + 1, items >= {("a", 1)}, items > {("b", 1)}, d.keys() <= {"a", "new", "z"}, d.keys() != {"a"}, items == items

    alike(f, (weft.ones(1), {"a": 1}), fullgraph=True)


def test_sources_run_no_hash_of_a_key():
    class Key:
        def __hash__(self):
            raise AssertionError("a source has run it")

    key, d = Key(), Local("d")
    for k in (key, (1, key)):
        assert hash(Item(d, k)) == hash(Item(d, k)) and Item(d, k) == Item(d, k)
    assert Item(d, key) != Item(d, Key())
    assert hash(Item(d, (1, "a"))) == hash(Item(d, (1, "a"))) and Item(d, (1, "a")) == Item(d, (1, "a"))


class Telling:
    """A key that tells when it is asked."""

    def __init__(self, n, told):
        self.n, self.told = n, told

    def __hash__(self):
        self.told.append(("hash", self.n))
        return self.n

    def __eq__(self, other):
        self.told.append(("eq", self.n, other.n))
        return self.n == other.n


class Mapping(dict):
    pass


def test_values_under_keys_of_the_program_are_read_without_asking_them():
    def f(x, told, d):
        d.pop(Telling(1, told))
        told.append("end")
        d[Telling(2, told)] = 3
        d[Telling(7, told)] = d[Telling(0, told)]
        return x + len(d), [k.n for k in d], list(d.values())

    for kind in (dict, Mapping):
        compiled = weft.compile(f, backend="eager")
        seen = []
        for call in (f, compiled, compiled):
            told = []
            d = kind({Telling(i, told): i * 10 for i in range(5)})
            told.clear()
            seen.append((call(weft.ones(2), told, d)[1:], told, list(d.values())))
        assert seen[0] == seen[1] == seen[2]


def test_a_key_whose_hash_has_changed_is_looked_up_by_python():
    class K:
        pass

    k = K()
    d = {k: 3, 5: 4}

    def f(x):
        try:
            return x * d[k], k in d, len(d)
        except KeyError:
            return x, "KeyError"

    def between(n):
        if n == 1:  # (found by identity, where that hash leads to the place of the other)
            K.__hash__ = lambda self: object.__hash__(self) ^ 1 << 60
        elif "__hash__" in vars(K):
            del K.__hash__

    weft.compiler.reset()
    compiled = weft.compile(f, backend="eager")
    for n in range(3):
        between(n)
        same(compiled(weft.ones(2)), f(weft.ones(2)))


def test_a_nan_that_is_made_is_another_one_in_each_call():
    def f(x, d, kept):
        value = float("nan")
        d[value] = d[value] = 1
        kept.append(value)
        return len(d), x + 1

    for g in (f, weft.compile(f, backend="eager"), weft.compile(f, backend="eager", fullgraph=True)):
        d, kept = {}, []
        assert [g(weft.ones(1), d, kept)[0] for _ in range(5)] == [1, 2, 3, 4, 5]
        assert len({id(v) for v in kept}) == 5


SEARCHES = {
    "isdisjoint": lambda s, o: s.isdisjoint(o),
    "intersection": lambda s, o: s.intersection(o),
    "intersection_update": lambda s, o: (s.intersection_update(o), s),
    "of a frozenset": lambda s, o: frozenset(s).intersection(o),
    "difference": lambda s, o: s.difference(o),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_sets_ask_no_further_than_they_have_to(name):
    """Behind what decides, an element that has no hash is not met, and an iterator is left where it is."""

    def f(x, s, o):
        found = SEARCHES[name](s, o)
        return x + 1, found, list(o)

    for other in ([1, []], [1, 2, []], [[], 1], (True, 2, {}), [3, []], [1.0, 2, 2, 1], {1: 2, 5: 3}, [], range(5)):
        alike(f, *((weft.ones(1), s, o) for s in ({1, 2}, {1}, set()) for o in (other,)))

    def left(x, s):
        o = iter([1, 2, 3, 4])
        return x + 1, SEARCHES[name](s, o), list(o)

    alike(left, (weft.ones(1), {1, 2}))
