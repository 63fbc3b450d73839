"""Dictionaries that change in every call, but not where guards read them, keep the memo; where they were read, all is seen."""

import gc
import types

import pytest

import weft
from dynamo.guards import DictKeysAre, Equals, IdIs, Layout, LengthIs, TensorIs, TypeIs
from dynamo.source import Attr, Builtin, Global, Item
from tests.dynamo.guards.program import Program, X


class Plain:
    pass


def in_module(**values):
    """A function, and the globals that are its module's."""
    space = {"__builtins__": __builtins__, **values}
    exec("def f(x, y, *rest, key=None, **more): return abs(scale)", space)
    return space["f"], space


def walks(p):
    return p.native.stats["walks"]


def settled(p, *args):
    """It passes, from the memo."""
    assert p(*args) and p(*args)
    return walks(p)


NAMES = ["scale", "box", "where", "nothing"]


def globals_program():
    box = Plain()
    box.n = 3
    f, space = in_module(scale=2.5, box=box, where=(1, 2), nothing=None)
    guards = [Equals(Global("scale"), 2.5), TypeIs(Global("box"), Plain), Equals(Attr(Global("box"), "n"), 3)]
    guards += [Equals(Item(Global("where"), 1), 2), Equals(Global("nothing"), None)]
    return Program(*guards, function=f), space


def grown(space):
    space.update({f"more{i}": i for i in range(200)})


def with_other_keys(space):
    space[1] = space[(2, 3)] = None


def gone_and_back(space):
    kept = dict(space)
    for name in NAMES:
        del space[name]
    grown(space)
    space.update(kept)


@pytest.mark.parametrize("change", [grown, gone_and_back, lambda space: space.update(f=None), lambda space: space.update(y=1)])
def test_a_global_that_nobody_reads_keeps_the_memo(change):
    p, space = globals_program()
    before = settled(p)
    change(space)
    assert settled(p) == before
    for i in range(200):  # as a loop at the top of a module
        space["i"] = i
        assert p()
    assert walks(p) == before


@pytest.mark.parametrize("first", [grown, gone_and_back, with_other_keys, lambda space: space.update(y=1)])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [lambda space, name: space.pop(name), lambda space, name: space.update({name: 7})])
def test_a_global_that_was_read_is_seen(change, name, first):
    p, space = globals_program()
    settled(p)
    first(space)
    assert p()
    kept = space[name]
    change(space, name)
    assert not p()
    space[name] = kept
    assert p() and p()


def test_what_hangs_on_a_global_is_seen():
    p, space = globals_program()
    settled(p)
    space["i"] = 0
    space["box"].n = 4
    assert not p()
    space["box"].n = 3
    space["i"] = 1
    assert p()
    space["box"].__class__ = type("Other", (), {})
    space["i"] = 2
    assert not p()


def test_a_name_that_hides_a_builtin():
    f, space = in_module(scale=1)
    p = Program(IdIs(Builtin("abs"), abs), function=f)
    settled(p)
    for i in range(3):
        space["i"] = i
        assert p()
    space["abs"] = len
    assert not p()
    del space["abs"]
    space["i"] = 9
    assert p()


def value(n):
    made = Plain()
    made.n = n
    return made


MADE = [
    (value, lambda source, n: Equals(Attr(source, "n"), n)),
    (lambda n: [n], lambda source, n: Equals(Item(source, 0), n)),
    (lambda n: {"n": n}, lambda source, n: Equals(Item(source, "n"), n)),
    (lambda n: (n,), lambda source, n: Equals(Item(source, 0), n)),
    (lambda n: n + 0.25, lambda source, n: Equals(source, n + 0.25)),
    (lambda n: {f"k{n}": None}, lambda source, n: DictKeysAre(source, (f"k{n}",))),
    (lambda n: [None] * n, lambda source, n: LengthIs(source, n)),
    (lambda n: weft.zeros(n), lambda source, n: TensorIs(source, Layout.of(weft.zeros(n)))),
    (lambda n: types.SimpleNamespace(n=n), lambda source, n: Equals(Attr(source, "n"), n)),
]


@pytest.mark.parametrize("make, guard", MADE, ids=range(len(MADE)))
def test_another_value_at_the_same_address(make, guard):
    f, space = in_module(box=make(5))
    p = Program(guard(Global("box"), 5), function=f)
    settled(p)
    for n in [6, 5, 7, 8, 5]:
        del space["box"]
        gc.collect()
        space["box"] = make(n)
        space["i"] = n
        assert p() == (n == 5)


def test_attributes_that_count_calls():
    o = Plain()
    o.n, o.calls = 3, 0
    p = Program(Equals(Attr(X, "n"), 3))
    before = settled(p, o)
    for i in range(100):
        o.calls = i
        assert p(o)
    assert walks(p) == before
    o.n = 4
    assert not p(o)
    del o.n
    assert not p(o)
    o.n = 3
    o.__dict__ = {"n": 4}
    assert not p(o)


def test_a_loop_at_the_top_of_a_module():
    space = {"weft": weft}
    exec(
        "factor = 2.0\n"
        "def f(x): return weft.relu(x) * factor\n"
        "compiled, seen = weft.compile(f), []\n"
        "for i in range(20):\n"
        "    if i == 10: factor = 3.0\n"
        "    y = compiled(weft.ones(2) * i)\n"
        "    seen.append(y.tolist() == f(weft.ones(2) * i).tolist())\n",
        space,
    )
    assert space["seen"] == [True] * 20
