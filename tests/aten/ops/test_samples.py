"""What follows from an op's declaration, on all samples."""

import numpy as np
import pytest

import aten
from aten import autograd, pytree
from aten.meta import Meta
from aten.tensor import Tensor, from_numpy
from tests.samples.inputs import names, samples

CASES = [(name, i) for name in names() for i in range(len(samples(name)))]
_calls = {name: samples(name) for name in names()}
_NOT_SMOOTH = {
    "cast",
    "fmod",
    "remainder",
    "floor_divide",
    "pow",
}  # checked by hand where the derivative is not everywhere


def case(name, i):
    args, kwargs = _calls[name][i]
    return aten.registry[name], args, kwargs


def tensors(result):
    return [x for x in pytree.leaves(result) if isinstance(x, Tensor)]


def equal(a, b, tolerance=0.0):
    assert tuple(a.shape) == tuple(b.shape) and a.dtype is b.dtype
    np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), rtol=tolerance, atol=tolerance)


def selected(applies, cases=CASES):
    """Parametrizes a test with the samples that it applies to."""
    return pytest.mark.parametrize("name,i", [c for c in cases if applies(*c)])


def of_known_sizes(name, i):
    """Whether the sizes of the result do not depend on data."""
    op, args, _ = case(name, i)
    masked = name == "index" and any(t.dtype is aten.bool for t in args[1] if t is not None)
    return "dynamic" not in op.tags and not masked


def decomposed(name, i):
    """Whether the op has a decomposition, and the sample is one of its core."""
    op, args, kwargs = case(name, i)
    outside = op.special_when is not None and op.special_when(*op.schema.bind(args, kwargs))
    return op.decompose_fn is not None and not outside


@selected(of_known_sizes)
def test_the_shape_rule_says_what_the_kernel_gives(name, i):
    op, args, kwargs = case(name, i)
    metas, spec = pytree.flatten((args, kwargs))
    metas = [Meta.of(x) if isinstance(x, Tensor) else x for x in metas]
    meta_args, meta_kwargs = pytree.unflatten(metas, spec)
    said = [m for m in pytree.leaves(op.meta(*meta_args, **meta_kwargs)) if isinstance(m, Meta)]
    given = tensors(op(*args, **kwargs))
    assert len(said) == len(given)
    for meta, x in zip(said, given):
        assert (tuple(meta.sizes), meta.dtype, tuple(meta.strides)) == (tuple(x.shape), x.dtype, tuple(x.stride()))


@selected(decomposed)
def test_the_decomposition_is_the_kernel(name, i):
    op, args, kwargs = case(name, i)
    core = aten.dispatch.normalize(op, op.schema.bind(args, kwargs)) if "special" not in name else None
    for a, b in zip(tensors(op.decompose_fn(*core)), tensors(op(*args, **kwargs))):
        equal(a, b, 1e-12)


def differentiable(name, i):
    op, args, kwargs = case(name, i)
    leaves, spec = pytree.flatten((args, kwargs))
    wanted = [k for k, x in enumerate(leaves) if isinstance(x, Tensor) and x.dtype is aten.float64]

    def call(*xs):
        filled = list(leaves)
        for k, x in zip(wanted, xs):
            filled[k] = x
        call_args, call_kwargs = pytree.unflatten(filled, spec)
        return tuple(x for x in tensors(op(*call_args, **call_kwargs)) if x.dtype is aten.float64)

    return call, [leaves[k].detach().clone().requires_grad_() for k in wanted]


def smooth(name, i):
    """Whether the sample has a derivative, and one everywhere near it."""
    if name in _NOT_SMOOTH:
        return False
    call, inputs = differentiable(name, i)
    return bool(inputs) and any(x.requires_grad for x in call(*inputs))


SMOOTH = [c for c in CASES if smooth(*c)]


@pytest.mark.parametrize("name,i", SMOOTH)
def test_the_gradient_is_that_of_finite_differences(name, i):
    call, inputs = differentiable(name, i)
    assert autograd.gradcheck(call, tuple(inputs), eps=1e-5, atol=1e-5)


@pytest.mark.parametrize("name,i", SMOOTH)
def test_forward_mode_agrees_with_reverse_mode(name, i):
    """<w, J t> by jvp = <Jᵀ w, t> by vjp."""
    from aten.transforms import jvp

    call, inputs = differentiable(name, i)
    generator = np.random.default_rng(1)
    draw = lambda x: from_numpy(generator.standard_normal(tuple(x.shape)))
    tangents = tuple(map(draw, inputs))
    outs = call(*inputs)
    weights = tuple(map(draw, outs))
    back = autograd.grad(outs, inputs, weights, allow_unused=True)
    _, forward = jvp(call, tuple(x.detach() for x in inputs), tangents)
    total = lambda xs, ys: sum(float((x * y).sum().item()) for x, y in zip(xs, ys) if x is not None)
    assert total(forward, weights) == pytest.approx(total(back, tangents), rel=1e-8, abs=1e-8)


def batched(name, i):
    """Whether vmap along a floating input is a loop over like results."""
    kind = aten.registry[name].kind
    return kind in ("core", "view", "composite") and of_known_sizes(name, i) and bool(differentiable(name, i)[1])


@selected(batched)
def test_vmap_is_a_loop(name, i):
    from aten.transforms import vmap

    call, inputs = differentiable(name, i)
    generator = np.random.default_rng(1)
    inputs = [x.detach() for x in inputs]
    first = from_numpy(
        np.stack(
            [inputs[0].numpy(), generator.permutation(inputs[0].numpy().reshape(-1)).reshape(tuple(inputs[0].shape))],
            -1,
        )
    )
    got = vmap(call, in_dims=(-1, *([None] * (len(inputs) - 1))))(first, *inputs[1:])
    for k in range(2):
        for a, b in zip(got, call(aten.select(first, -1, k).clone(), *inputs[1:])):
            equal(a[k], b, 1e-9)


def has_in_place(name, i):
    """Whether there is an in-place form, and the sample's first argument can be written."""
    op, args, _ = case(name, i)
    return op.inplace is not None and isinstance(args[0], Tensor)


@selected(has_in_place)
def test_in_place_is_out_of_place(name, i):
    op, args, kwargs = case(name, i)
    expected = op(*args, **kwargs)
    target = args[0].clone()
    if expected.shape != target.shape or expected.dtype is not target.dtype:
        return
    assert op.inplace(target, *args[1:], **kwargs) is target
    equal(target, expected)
    half = aten.zeros(*target.shape, 2, dtype=target.dtype)[..., 0]
    half.copy_(args[0])
    equal(op.inplace(half, *args[1:], **kwargs), expected)
