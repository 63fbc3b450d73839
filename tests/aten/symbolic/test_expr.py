"""Expressions: canonical form, text, values, bounds, simplification."""

import copy
import pickle
import subprocess
import sys
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aten.symbolic import expr as sx
from aten.symbolic.expr import bounds, const, evaluate, parse, prod_, simplify, substitute, sym, to_cpp

i, j, k = sym("i"), sym("j"), sym("k")
s0, s1 = sym("s0"), sym("s1")


def test_equal_expressions_are_one_object():
    assert i + j is j + i
    assert 2 * (i + j) - j is j + 2 * i
    assert (i + 1) * (i - 1) is i * i - 1
    assert i - i is sx.ZERO
    assert copy.deepcopy(i + j) is i + j and pickle.loads(pickle.dumps(i // 3)) is i // 3


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("(4*i + 8)//4", "i + 2"),
        ("(4*i + j)//4", "i + j//4"),
        ("(4*i + j) % 4", "j % 4"),
        ("(2*i)//4", "i//2"),
        ("(2*i + 1) % 4", "2*(i % 2) + 1"),
        ("i//2//3", "i//6"),
        ("(i - 5)//2//3", "(i + 1)//6 - 1"),
        ("i//s0//2", "i//s0//2"),
        ("(i % 12) % 4", "i % 4"),
        ("4*(i//4) + i % 4", "i"),
        ("(s0*s1)//s1", "s0"),
        ("(s0*i + j)//s0", "i + j//s0"),
        ("(s0*i + j) % s0", "j % s0"),
        ("2*s0 == 8", "s0 == 4"),
        ("2*s0 == 7", "False"),
        ("s0 < 4", "s0 <= 3"),
        ("not s0 < 4", "s0 >= 4"),
        ("2*s0 <= 7", "s0 <= 3"),
        ("s0 + 3 == s1 + 1", "s0 + 2 == s1"),
        ("s0 != s1", "s0 != s1"),
        ("min(i, i + 1, j)", "min(i, j)"),
        ("max(3, i, 7)", "max(i, 7)"),
        ("-i//4", "-i//4"),
        ("i//-4", "-i//4"),
        ("i - (j - k)", "i - j + k"),
        ("i if i < j else j", "i if i + 1 <= j else j"),
        ("i**2", "i*i"),
        ("i*(j//4)", "i*(j//4)"),
        ("(j//4)*3 % 7", "3*(j//4) % 7"),
        ("i < 3 and not j == 2 or k < 1", "i <= 2 and j != 2 or k <= 0"),
        ("float(i) * 0.5", "float(i)*0.5"),
    ],
)
def test_canonical_text_reads_back(text, canonical):
    e = parse(text)
    assert str(e) == canonical
    assert parse(canonical) is e


def test_a_product_of_sums_is_one_whichever_factor_came_first():
    height, width = parse("s0 - s1 + 1"), parse("s0 - s2 + 1")
    for factors in (["i", height, width], ["i", "j", 2 * height, width], ["s0", "i", height, width]):
        factors = [parse(f) if isinstance(f, str) else f for f in factors]
        products = {prod_(order) for order in permutations(factors)}
        assert len(products) == 1
        (product,) = products
        assert parse(str(product)) is product


def test_simplify_uses_ranges():
    r = {"i": (0, 7), "j": (0, 3), "k": (0, None), "s0": (0, None), "s1": (1, None), "n": (0, s1 - 1)}
    assert simplify((4 * i + j) // 4, r) is i
    assert simplify((4 * i + j) % 4, r) is j
    assert simplify((12 * k + 4 * (i % 3) + j) // 12, r) is k
    assert simplify((8 * k + 2 * i + j) // 16, {"i": (0, 3), "j": (0, 1), "k": (0, None)}) is k // 2
    assert simplify(sx.min_(i, 7), r) is i
    assert simplify(sx.lt(i, 8), r) is sx.TRUE
    assert simplify(sx.where_(sx.ge(j, 0), i, k), r) is i
    assert simplify((8 * k + 4 * i + j) // 4 // 2, {"i": (0, 1), "j": (0, 3), "k": (0, 3)}) is k
    assert simplify((16 * k + 2 * i + j) // 4 % 4, {"i": (0, 7), "j": (0, 1), "k": (0, 3)}) is i // 2
    n = sym("n")
    assert simplify((s1 * i + n) // s1, r) is i
    assert simplify((s1 * i + n) % s1, r) is n
    assert simplify(sx.max_(s0, 0), r) is s0


def test_bounds():
    r = {"i": (0, 7), "j": (-2, 3)}
    assert bounds(2 * i - j, r) == (-3, 16)
    assert bounds(j // 2, r) == (-1, 1)
    assert bounds(i * j, r) == (-14, 21)
    assert bounds(j % 5, r) == (0, 4)
    assert bounds(i % 16, r) == (0, 7)
    assert bounds(k, r)[1] == float("inf")


def test_substitute_simplifies_again():
    assert substitute((i + j) // 4, {"i": 4 * k, "j": 3}) is k
    assert substitute(i, {"j": 1}) is i
    assert substitute(i // s0, {"s0": i}) is const(1)


def test_cpp_rounds_as_python():
    assert to_cpp((i + 1) // 4, {"i": (0, 9)}) == "(i + 1) / 4"
    assert to_cpp((i - j) // 4, {"i": (0, 9)}) == "weft_floordiv(i - j, 4)"
    assert to_cpp((i - 1) // 4, {"i": (0, 9)}) == "(i + 3) / 4 - 1"
    assert to_cpp(i % 4 + 2 * (j // 3), {"i": (0, 9), "j": (0, 9)}, {"i": "x"}) == "x % 4 + 2*(j / 3)"
    assert to_cpp(i - (j + 1) % 4) == "i - weft_mod(j + 1, 4)"
    assert to_cpp(const(-(2**40)) + i) == "i - 1099511627776L"
    a = sym("a", "float")
    assert to_cpp(a // 2 + a % i) == "weft_ffloordiv(a, 2) + weft_fmod(a, i)"


def test_sympy_is_not_imported_until_asked():
    code = "import aten.symbolic.expr, aten.symbolic.shape_env, sys; assert 'sympy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert str(sx.to_sympy((i + 1) // 4 + i % 3)) == "Mod(i, 3) + floor(i/4 + 1/4)"


def test_a_symbolic_truth_value_is_refused():
    with pytest.raises(TypeError, match="truth of s0 <= 3"):
        bool(sx.lt(s0, 4))
    with pytest.raises(ZeroDivisionError):
        i // 0
    with pytest.raises(ValueError, match="not an expression"):
        parse("f(i)")


# --------------------------------------------------------------------------------------- properties

NAMES = ["a", "b", "c"]
_range = st.tuples(st.integers(-8, 8), st.integers(0, 9), st.integers(0, 99))  # lo, width, where in it


def _raw(children):
    """Trees as data, so that the value computed beside does not pass through the constructors under test."""
    binary = st.tuples(st.sampled_from(["add", "sub", "mul", "floordiv", "mod", "min", "max"]), children, children)
    compare = st.tuples(st.sampled_from(["eq", "le", "lt"]), children, children)
    choose = st.tuples(st.just("where"), compare, children, children)
    return st.one_of(binary, choose)


_trees = st.recursive(st.one_of(st.sampled_from(NAMES), st.integers(-9, 9)), _raw, max_leaves=12)
_PY = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y, "min": min, "max": max, "eq": lambda x, y: x == y, "le": lambda x, y: x <= y,
    "lt": lambda x, y: x < y,
}  # fmt: skip


def _build(t):
    if isinstance(t, str):
        return sym(t)
    if isinstance(t, int):
        return const(t)
    from aten.symbolic.nodes import BUILD

    return BUILD[t[0]](*map(_build, t[1:]))


def _value(t, env):
    if isinstance(t, str):
        return env[t]
    if isinstance(t, int):
        return t
    args = [_value(x, env) for x in t[1:]]  # all branches, so that a division by zero anywhere is seen
    return (args[1] if args[0] else args[2]) if t[0] == "where" else _PY[t[0]](*args)


@settings(max_examples=400, deadline=None)
@given(_trees, st.fixed_dictionaries({n: _range for n in NAMES}))
def test_values_survive_construction_simplification_and_text(tree, spec):
    ranges = {n: (lo, lo + width) for n, (lo, width, _) in spec.items()}
    env = {n: lo + at % (width + 1) for n, (lo, width, at) in spec.items()}
    try:
        expected = _value(tree, env)
        e = _build(tree)
    except ZeroDivisionError:
        return
    assert evaluate(e, env) == expected
    lo, hi = bounds(e, ranges)
    assert lo <= expected <= hi
    small = simplify(e, ranges)
    assert evaluate(small, env) == expected
    assert parse(str(e)) is e
    assert parse(str(small)) is small


def test_copies_of_an_expression_are_the_expression():
    a, b, z = sym("a"), sym("b"), sym("z0")
    truths = [sx.and_(sx.lt(a, b), sx.eq(a, const(3))), sx.not_(sx.eq(a, b)), const(True)]
    numbers = [a + b * 2 - 3, (a + b) * (a - b) // 4, sx.where_(sx.lt(a, b), a, b % 3), z * 2.5 + a, sx.max_(a, b, 3), const(1.5)]
    for e in [*truths, *numbers, (a * a + 1) * (b + 2) * (a + 7) * (b * b + 9)]:
        assert pickle.loads(pickle.dumps(e)) is e and copy.deepcopy(e) is e and parse(str(e), {"z0": "float"}) is e
