"""SymInt and ShapeEnv: numbers that guard when they are asked for a value."""

import math

import pytest

from aten.symbolic.shape_env import DataDependentError, ShapeEnv
from aten.symbolic.symint import SymBool, SymFloat, SymInt, sym_max, sym_min


def guards(env):
    return [str(g) for g in env.guards]


def test_arithmetic_records_nothing():
    env = ShapeEnv()
    s = env.symbol("s0", 6)
    t = (s * 4 + 8) // 4 - 2
    assert type(t) is SymInt and str(t) == "s0" and t.hint == 6
    assert type(s - s) is int
    assert type(s / 4) is SymFloat and (s / 4).hint == 1.5
    assert type(s > 3) is SymBool
    assert (s == s) is True
    assert str(sym_max(s, 3)) == "max(s0, 3)" and sym_min(2, 3) == 2
    assert str(math.prod([s, 2, s])) == "2*s0*s0"
    assert env.guards == []


def test_a_decision_records_a_guard_once():
    env = ShapeEnv(user_line=lambda: "model.py:3")
    s = env.symbol("s0", 6)
    assert s > 3
    assert s >= 4 and s >= 2 and not s < 4
    assert not s == 1
    assert guards(env) == ["s0 >= 4"]
    assert env.guards[0].user_line == "model.py:3"
    assert env.ranges["s0"] == (4, math.inf)


def test_int_specialises():
    env = ShapeEnv()
    s = env.symbol("s0", 6)
    assert int(s) == 6 and list(range(s)) == list(range(6))
    assert guards(env) == ["s0 == 6"]
    assert (s * 2 == 12) and env.statically_known((s + 1 == 7).expr) is True
    assert env.simplify((s * 3).expr).value == 18


def test_not_one_and_not_zero_narrow_the_range():
    env = ShapeEnv()
    s = env.symbol("s0", 6)
    assert s != 0 and s != 1
    assert env.ranges["s0"][0] == 2
    assert guards(env) == ["s0 != 0", "s0 != 1"]


def test_equal_sizes_are_one():
    env = ShapeEnv()
    a, b, c = env.symbol("s0", 4), env.symbol("s1", 4), env.symbol("s2", 8)
    assert a == b and c == 2 * b
    assert str(env.simplify((b + c).expr)) == "3*s0"
    assert guards(env) == ["s0 == s1", "2*s0 == s2"]


def test_divisibility():
    env = ShapeEnv()
    B, T, C = env.symbol("s0", 3), env.symbol("s1", 10), env.symbol("s2", 5)
    assert B * T * C == B * (T // 2) * (2 * C)
    assert guards(env) == ["s1 % 2 == 0"]
    assert env.statically_known((T // 2 * 2 == T).expr) is True
    assert env.simplify((B * (T // 2) * 2).expr) is (B * T).expr


def test_unbacked():
    env = ShapeEnv()
    u = env.unbacked(0, 10)
    assert u.hint is None
    assert u <= 10 and u >= 0
    with pytest.raises(DataDependentError, match="whether u0 >= 4 holds"):
        bool(u > 3)
    with pytest.raises(DataDependentError):
        int(u)


def test_order_facts_prove_weaker_ones():
    env = ShapeEnv()
    a, b = env.symbol("s0", 3), env.symbol("s1", 8)
    assert a + 2 < b
    assert a < b and a <= b + 5 and not b < a
    assert guards(env) == ["s0 + 3 <= s1"]


def test_sympy_at_the_edge():
    import sympy

    env = ShapeEnv()
    s = env.symbol("s0", 6)
    assert sympy.simplify((2 * s + 2).node.expr / 2) == s.node.expr + 1
    assert sympy.sympify(s).is_integer
