"""Programs without tensors: the traced result is Python's own."""

from __future__ import annotations

import copy

import pytest

from tests.dynamo.harness import run, trace
from tests.dynamo.programs import PROGRAMS, Base, Config, Derived, Point


@pytest.mark.parametrize("fn, args", PROGRAMS, ids=[f"{f.__name__}{i}" for i, (f, _) in enumerate(PROGRAMS)])
def test_the_traced_result_is_pythons(fn, args):
    expected = fn(*copy.deepcopy(args))
    assert run(fn, *args) == expected


def test_mutations_of_arguments_are_replayed():
    def f(xs, d, o):
        xs.append(len(xs))
        xs[0] = "new"
        d["k"] = xs
        d.pop("old")
        o.n += 1
        o.fresh = [o.n]
        return o.fresh

    xs, d, o = [1, 2], {"old": 1}, Base(4)
    result = run(f, xs, d, o)
    assert xs == ["new", 2, 2] and d == {"k": xs} and d["k"] is xs
    assert o.n == 5 and o.fresh == [5] and result is o.fresh


def test_reads_see_the_value_before_a_later_store():
    def f(o):
        before = o.extra
        o.extra = [0]
        return before

    o = Derived(1)
    old = o.extra
    assert run(f, o) is old and o.extra == [0]


def test_an_escaping_closure_shares_its_cell():
    def f(n):
        count = n

        def step():
            nonlocal count
            count += 1
            return count

        def peek():
            return count

        step()
        return step, peek

    step, peek = run(f, 3)
    assert peek() == 4 and step() == 5 and peek() == 5


def test_new_objects_that_escape_are_built():
    def f(n):
        c = Config(n)
        c.items.append(Point(1, n))
        return {"c": c, "same": c.items}

    out = run(f, 3)
    assert out["c"] == Config(3, items=[Point(1, 3)]) and out["same"] is out["c"].items


def test_an_exception_that_leaves_the_frame_is_left_to_eager():
    def f(n):
        raise ValueError(n)

    assert "ValueError(3)" in trace(f, 3).reason


def test_constants_are_guarded():
    def f(flag, items):
        return items[0] if flag else None

    texts = [str(g) for g in trace(f, True, [1, 2]).guards]
    assert "EQUALS(flag, True)" in texts and "LENGTH(items, 2)" in texts and "EQUALS(items[0], 1)" in texts
    assert not any("items[1]" in t for t in texts)
