"""Random fills and dropout by rules: the numbers of the general path, from as many counters, without entering Python."""

import numpy as np
import pytest

import aten
from aten import _native, autograd, random
from aten import dtype as dtypes
from aten.op import registry
from tests.aten.native.oracle import general

FLOATS = ("float32", "float64", "bfloat16", "float16")
FILLS = {
    "uniform_": [(), (-1.5, 2.0), (3.0, 3.0)],
    "normal_": [(), (2.0, 0.02), (1.0, 0.0)],
    "exponential_": [(), (0.3,)],
    "cauchy_": [(), (1.0, 2.0)],
    "log_normal_": [(), (0.1, 0.2)],
    "geometric_": [(0.25,)],
    "bernoulli_": [(), (0.3,)],
    "random_": [(), (5,), (2, 9)],
}


def after(seed, f, *args):
    """What f gives after a seed, and the next counter."""
    random.manual_seed(seed)
    return f(*args), random.default_generator.offset


def same(a, b):
    assert (a.dtype, tuple(a.shape), a.stride()) == (b.dtype, tuple(b.shape), b.stride())
    np.testing.assert_array_equal(np.asarray(a.detach().double()), np.asarray(b.detach().double()))


@pytest.mark.parametrize("layout", ["plain", "strided", "empty"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FILLS)
def test_fills_draw_what_the_general_path_draws(name, dtype, layout):
    for numbers in FILLS[name]:
        for size in (7, 300, 70000) if layout == "plain" else (60,):
            made = [aten.zeros([size], dtype=getattr(dtypes, dtype)) for _ in range(2)]
            if layout != "plain":
                made = [t.reshape([6, 10]).t() if layout == "strided" else t[:0] for t in made]
            op, versions = registry[name], [t._version for t in made]
            expected, there = after(5, general, op, (made[0], *numbers))
            found, here = after(5, op, made[1], *numbers)
            assert found is made[1] and here == there and made[1]._version == versions[1] + (made[0]._version - versions[0])
            same(found, expected)


@pytest.mark.parametrize("name", FILLS)
def test_fills_do_not_enter_python_once_they_are_known(name):
    x, before = aten.zeros([64]), _native.replay_after(1)
    try:
        for _ in range(5):
            registry[name](x, *FILLS[name][-1])
        _native.python_entries(True)
        registry[name](x, *FILLS[name][-1])
        assert _native.python_entries(True) == {}
    finally:
        _native.replay_after(before)


def test_what_a_fill_refuses_is_said_before_anything_is_drawn():
    leaf = aten.zeros([4]).requires_grad_()
    for name, numbers, words in (
        ("uniform_", (2.0, 1.0), "uniform_ expects to return a"),
        ("uniform_", (float("nan"), 1.0), "from is out of bounds for float"),
        ("normal_", (0.0, -1.0), "normal expects std >= 0.0"),
        ("bernoulli_", (1.5,), "bernoulli_ expects p to be in"),
    ):
        before = random.default_generator.offset
        with pytest.raises(RuntimeError, match=words):
            registry[name](aten.zeros([4]), *numbers)
        assert random.default_generator.offset == before
    with pytest.raises(RuntimeError, match="leaf Variable"):
        registry["uniform_"](leaf)
    with autograd.no_grad():
        assert registry["uniform_"](leaf) is leaf and leaf.requires_grad


def test_fills_from_a_generator_of_their_own_leave_the_default_one():
    own, before = random.Generator(), random.default_generator.offset
    x = registry["normal_"](aten.zeros([8]), generator=own)
    assert random.default_generator.offset == before and own.offset == 2 and bool((x != 0).all())


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout_keeps_what_the_general_path_keeps(dtype, history):
    for size in (1, 9, 700, 70000):
        values = np.random.default_rng(0).standard_normal(size)
        values[:5] = [np.nan, np.inf, -np.inf, -0.0, 0.0][:size]
        x = aten.from_numpy(values).to(getattr(dtypes, dtype)).requires_grad_(history)
        op = registry["dropout"]
        for p in (0.5, 0.1):
            expected, there = after(3, general, op, (x, p))
            found, here = after(3, op, x, p)
            assert here == there and found.requires_grad is history
            same(found, expected)
            if history:
                assert found.grad_fn.name() == expected.grad_fn.name()
                g = aten.ones_like(found)
                same(*(autograd.grad(made, x, g)[0] for made in (found, expected)))


def test_dropout_with_history_does_not_enter_python():
    x = aten.ones([64]).requires_grad_()
    registry["dropout"](x)
    _native.python_entries(True)
    registry["dropout"](x)
    assert _native.python_entries(True) == {}


@pytest.mark.parametrize("arguments", [(0.0,), (1.0,), (0.5, False), (0.5, True, True)])
def test_dropout_of_all_or_none_and_in_place(arguments):
    x, y = aten.ones([50]), aten.ones([50])
    op = registry["dropout"]
    same(after(1, op, x, *arguments)[0], after(1, general, op, (y, *arguments))[0])
    same(x, y)
