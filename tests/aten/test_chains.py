"""Composites that run as one pass give the numbers of the ops that they are made of, and their derivatives."""

import math

import numpy as np
import pytest

from aten import _native, autograd, chains
from aten import dtype as dtypes
from aten.op import registry
from aten.scalar.composites import whole_loop
from aten.tensor import from_numpy

OPERANDS = {
    "threshold": (0.1, 0.3),
    "huber_values": ("t", 0.7),
    **dict.fromkeys("mse_values l1_values bce_values bce_logits_values".split(), ("t",)),
    "smooth_l1_values": ("t", 0.7),
    "lerp": ("t", 0.3),
    "addcmul": ("t", "t"),
    "addcdiv": ("t", "t"),
    "clamp_between": ("t", "t"),
    "clamp_min": (0.1,),
    "clamp_max": (0.1,),
    **dict.fromkeys("xlogy logaddexp logaddexp2 heaviside float_power isclose ldexp rsub special_xlog1py".split(), ("t",)),
}
NAMES = sorted({made.name for made in registry.values() if made.native == "chain" and made.kind == "composite"})
DTYPES = ("float32", "float64", "bfloat16", "float16")


def operand(rng, dtype):
    values = rng.standard_normal((3, 700))
    values.reshape(-1)[:9] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3, 6]
    values[1], values[2] = abs(values[1]), rng.random(700)
    return from_numpy(values).to(getattr(dtypes, dtype))


def call(name, dtype):
    rng = np.random.default_rng(0)
    x = operand(rng, dtype)
    return registry[name], (x, *[operand(rng, dtype) if a == "t" else a for a in OPERANDS.get(name, ())])


def in_smaller_ops(op, args):
    return op.function(*op.schema.bind(args, {}, op.name))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_of_the_ops(name, dtype):
    op, args = call(name, dtype)
    expected = in_smaller_ops(op, args)
    op(*args)
    found = op(*args)
    assert found.dtype is expected.dtype and found.stride() == expected.stride()
    assert np.array_equal(found.double().numpy(), expected.double().numpy(), equal_nan=True)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name", [n for n in NAMES if n != "heaviside"])  # it has none
def test_the_gradients_are_those_of_the_ops(name, dtype):
    op, args = call(name, dtype)
    args = tuple(a.requires_grad_() if hasattr(a, "dtype") else a for a in args)
    xs = [a for a in args if hasattr(a, "dtype")]
    expected, found = in_smaller_ops(op, args), op(*args)
    assert expected.requires_grad == found.requires_grad
    if found.requires_grad:
        g = from_numpy(np.random.default_rng(1).standard_normal(tuple(found.shape))).to(found.dtype)
        for a, b in zip(autograd.grad(expected, xs, g, allow_unused=True), autograd.grad(found, xs, g, allow_unused=True)):
            assert (a is None) == (b is None)
            assert a is None or np.allclose(a.numpy(), b.numpy(), rtol=1e-6, equal_nan=True)


def test_angles_of_infinities_and_both_zeros():
    x = from_numpy(np.array([np.inf, -np.inf, -0.0, 0.0, np.nan, -2.0], "f4")).requires_grad_()
    for _ in range(3):
        out = registry["angle"](x)
        np.testing.assert_array_equal(out.detach().numpy(), np.array([0, np.pi, 0, 0, np.nan, np.pi], "f4"))
        assert not np.signbit(out.detach().numpy()[:4]).any()
        assert autograd.grad(out, x, from_numpy(np.ones(6, "f4")))[0].tolist()[:4] == [0, 0, 0, 0]


def test_angles_of_reals_are_one_loop_and_their_gradient_is_one_node():
    x = from_numpy(np.linspace(-4, 4, 50))
    tree = ("where", ("isnan", ("input", 0)), math.nan, ("where", ("lt", ("input", 0), 0), math.pi, 0.0))
    assert whole_loop(tree) == ("angle", [("input", 0)])
    out = registry["angle"](x.requires_grad_())
    assert [node.name().split("::")[-1] for node, _ in out.grad_fn.next_functions if node is not None] == ["AccumulateGrad"]


def test_a_learned_call_stays_native_and_is_one_node():
    x = from_numpy(np.linspace(-4, 4, 50)).requires_grad_()
    registry["hardswish"](x)
    _native.python_entries(True)
    y = registry["hardswish"](x)
    assert _native.python_entries(True) == {} and y.grad_fn.name() == "HardswishBackward0"
    assert autograd.gradgradcheck(registry["mish"], (x.detach()[:7].clone().requires_grad_(),))


@pytest.mark.parametrize("name", ("logaddexp", "xlogy", "mish"))
def test_arguments_that_depend_on_each_other_are_apart(name):
    """Twice differentiated, where one argument is a function of the other, or the same."""
    x = from_numpy(np.linspace(0.4, 2, 5)).requires_grad_()
    several = len(registry[name].schema.params) > 1 and name != "mish"
    for f in (lambda t: registry[name](t, t * t), lambda t: registry[name](t, t)) if several else (registry[name],):
        f(x)
        assert autograd.gradcheck(f, (x,)) and autograd.gradgradcheck(f, (x,))


def test_what_backward_does_not_read_may_be_written():
    x, a, b = (from_numpy(np.ones(4)).requires_grad_() for _ in range(3))
    start = x * 1
    y = registry["addcmul"](start, a, b)
    with autograd.no_grad():
        start.add_(1)
    y.sum().backward()
    assert a.grad.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        (lambda x, a, b: registry["lerp"](x, a, 0.3), [False, False]),
        (lambda x, a, b: registry["lerp"](x, a, b), [True, True, True]),
        (lambda x, a, b: registry["lerp"](x, a, b.detach()), [False, False, True]),
        (lambda x, a, b: registry["addcmul"](x, a, b), [False, True, True]),
        (lambda x, a, b: registry["addcmul"](x, a.detach(), b), [False, True, False]),
        (lambda x, a, b: registry["rsub"](x, a), [False, False]),
        (lambda x, a, b: registry["angle"](x), [False]),
    ],
)
def test_one_node_keeps_what_its_gradient_reads(call, kept):
    leaves = [from_numpy(np.random.default_rng(k).random(5) + 0.1).requires_grad_() for k in range(3)]
    xs = [x * 1 for x in leaves]
    y = call(*xs)
    assert [t is not None for t in y.grad_fn.saved] == kept
    wanted = autograd.grad(y, leaves, allow_unused=True, grad_outputs=from_numpy(np.arange(5.0)), retain_graph=True)
    with autograd.no_grad():
        for x, keeps in zip(xs, kept):
            if not keeps:
                x.zero_()
    found = autograd.grad(y, leaves, allow_unused=True, grad_outputs=from_numpy(np.arange(5.0)))
    assert [None if g is None else g.tolist() for g in found] == [None if g is None else g.tolist() for g in wanted]
    if len(kept) > 1 and None not in found[: len(kept)]:
        assert autograd.gradcheck(call, leaves) and autograd.gradgradcheck(lambda *t: call(*t) ** 2, leaves)


@pytest.mark.parametrize("layout", ("strided", "broadcast", "empty"))
def test_other_layouts_take_the_ops(layout):
    x = from_numpy(np.arange(-6.0, 6.0).reshape(3, 4))
    x = {"strided": x.t(), "broadcast": x[:1].expand(3, 4), "empty": x[:0]}[layout]
    found = registry["hardswish"](x)
    assert found.tolist() == in_smaller_ops(registry["hardswish"], (x,)).tolist()


def steps_of_backward(name, monkeypatch):
    """The elementwise loops of the gradients of a composite of two tensors."""
    seen = []
    finish = chains._Builder.finish
    monkeypatch.setattr(chains._Builder, "finish", lambda self, *given: seen.append(list(self.steps)) or finish(self, *given))
    op, args = call(name, "float32")
    xs = [a.requires_grad_() for a in args if hasattr(a, "dtype")]
    numbers = [a for a in op.schema.bind(args, {}, op.name) if not hasattr(a, "dtype")]
    chains.Backward(op, (*xs, *numbers)).chain((True,) * len(xs))
    return [chains._NAMES[code] for _, code, *_ in seen[-1]]


@pytest.mark.parametrize(
    ("name", "loop"),
    [
        ("huber_values", "huber_backward"),
        ("smooth_l1_values", "smooth_l1_backward"),
        ("mse_values", "square_of_difference_backward"),
        ("l1_values", "size_of_difference_backward"),
    ],
)
def test_gradients_of_a_difference_are_one_loop_and_its_negation(name, loop, monkeypatch):
    assert steps_of_backward(name, monkeypatch) == [loop, "neg"]


def test_mish_and_its_gradient_are_a_loop_each(monkeypatch):
    x = "input", 0
    e = "exp", ("clamp", x, -math.inf, 20.0)
    n = "mul", e, ("add", e, 2)
    assert whole_loop(("mul", x, ("div", n, ("add", n, 2)))) == ("mish", [x])
    assert steps_of_backward("mish", monkeypatch) == ["mish_backward"]


@pytest.mark.parametrize(("dtype", "digits"), [("float32", 4e-7), ("float64", 4e-15)])
def test_mish_has_all_digits(dtype, digits):
    x = np.linspace(-80, 80, 20001).astype(dtype).astype("f8")
    softplus = np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))
    tanh = np.tanh(softplus)
    leaf = from_numpy(x).to(getattr(dtypes, dtype)).requires_grad_()
    value = registry["mish"](leaf)
    np.testing.assert_allclose(value.detach().numpy(), x * tanh, rtol=digits)
    (slope,) = autograd.grad(value, leaf, value.detach() * 0 + 1)
    np.testing.assert_allclose(slope.numpy(), tanh + x * (1 - tanh * tanh) / (1 + np.exp(-x)), rtol=0, atol=digits)


def test_of_loops_that_compute_the_same_the_one_of_fewest_operands_runs():
    x = "input", 0
    between = ("bitwise_and", ("ge", x, -0.5), ("le", x, 0.5))
    assert whole_loop(("where", between, 0.0, x)) == ("hardshrink", [x, -0.5, 0.5])
    assert whole_loop(("where", between, 0.0, ("input", 1)))[0] == "softshrink_backward"


def test_gradients_of_hardtanh_and_relu6_are_one_loop():
    for low, high in ((-1.0, 1.0), (0.0, 6.0)):
        outside = ("bitwise_or", ("le", ("input", 1), low), ("ge", ("input", 1), high))
        assert whole_loop(("where", outside, 0.0, ("input", 0)))[0] == "hardtanh_backward"
