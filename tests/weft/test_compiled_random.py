"""Programs that draw: compiled and eager give the same bits and leave the generator alike, derivatives included."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from aten import random
from dynamo import convert_frame
from weft import nn

F = nn.functional


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()
    convert_frame.counters.clear()
    threads = weft.get_num_threads()
    yield
    weft.set_num_threads(threads)
    weft.compiler.reset()


def run(fn, inputs, seed):
    """Results, gradients of leaves that require them, and where the generator stands."""
    weft.manual_seed(seed)
    inputs = [x.detach().requires_grad_(x.requires_grad) if hasattr(x, "detach") else x for x in inputs]
    out = fn(*inputs)
    out = out if isinstance(out, tuple) else (out,)
    leaves = [x for x in inputs if hasattr(x, "detach") and x.requires_grad]
    gradients = []
    if leaves:
        gradients = list(weft.autograd.grad([o.sum() if o.ndim else o for o in out if o.requires_grad], leaves))
    return [t.detach().numpy() for t in (*out, *gradients)], random.get_rng_state()


def same(fn, *inputs, seeds=(0, 2**64 - 3), **options):
    compiled = weft.compile(fn, fullgraph=True, **options)
    for seed in seeds:
        (want, state), (got, after) = run(fn, inputs, seed), run(compiled, inputs, seed)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)
        assert weft.equal(state, after)
    return compiled


@pytest.mark.parametrize("threads", [1, 2])
def test_training_with_dropout(threads):
    weft.set_num_threads(threads)
    x, r = (weft.randn(300, 513, requires_grad=True) for _ in range(2))
    same(lambda x, r: F.dropout(x * 2, 0.1) + r, x, r)


@pytest.mark.parametrize("p", [0.0, 0.37, 1.0])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16])
def test_probabilities_and_dtypes(p, dtype):
    x = weft.randn(7, 33).to(dtype).requires_grad_()
    same(lambda x: F.dropout(x, p), x)
    same(lambda x: F.dropout(x.t(), p), x)


def test_the_mask_is_not_saved():
    """Backward draws the numbers again: forward gives away nothing of the size of the mask."""
    from inductor import loading

    kept = []
    load = loading.load

    def spy(gm, manifest, *args):
        kept.append(manifest)
        return load(gm, manifest, *args)

    loading.load = spy
    try:
        x = weft.randn(64, 32, requires_grad=True)
        same(lambda x: F.dropout(x, 0.5) * 3, x, seeds=(1,))
    finally:
        loading.load = load
    saved = [r for m in kept if m["training"] for r in m["backward"]["program"]["inputs"]]
    assert [r[0] if isinstance(r, (list, tuple)) else r["kind"] for r in saved].count("tensor") == 1  # the tangent


def test_symbolic_sizes():
    compiled = weft.compile(lambda x: F.dropout(x, 0.2) + weft.rand(x.shape[1]), fullgraph=True, dynamic=True)
    eager = lambda x: F.dropout(x, 0.2) + weft.rand(x.shape[1])
    for rows, columns in ((3, 5), (4, 8), (17, 33), (64, 130)):
        x = weft.randn(rows, columns, requires_grad=True)
        (want, state), (got, after) = run(eager, [x], rows), run(compiled, [x], rows)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)
        assert weft.equal(state, after)


DRAWS = {
    "rand_like": lambda x: weft.rand_like(x) * x,
    "randn_like": lambda x: x + weft.randn_like(x),
    "normal": lambda x: x + weft.normal(1.5, 2.0, (5, 7)),
    "bernoulli": lambda x: weft.bernoulli(x.abs().clamp(0, 1)),
    "randint": lambda x: x + weft.randint(-5, 9, (5, 7)),
    "dropout2d": lambda x: F.dropout2d(x.reshape(1, 5, 7, 1), 0.5),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5, True),
    "uniform_": lambda x: x + weft.empty(5, 7).uniform_(-1, 1),
    "exponential_": lambda x: x.clone().exponential_(2.0),
    "two draws": lambda x: (weft.rand(5) + weft.rand(5), weft.randn(3)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_ops(name):
    same(DRAWS[name], weft.randn(5, 7))


def test_a_block_of_a_transformer():
    weft.manual_seed(0)
    first, second = nn.Linear(32, 48), nn.Linear(48, 32)

    def block(x):
        return x + F.dropout(second(F.dropout(F.relu(first(x)), 0.1)), 0.2)

    same(block, weft.randn(6, 11, 32))


@pytest.mark.parametrize("backend", ["inductor", "eager"])
@pytest.mark.parametrize("draw", [lambda x: weft.bernoulli(x * 1), lambda x: x.bernoulli(), lambda x: weft.empty(2).bernoulli_(x)])
def test_what_is_no_probability_is_refused(draw, backend):
    compiled = weft.compile(draw, backend=backend)
    for values in ([0.0, 1.0], [0.0, 2.0], [-1.0, 0.0], [float("nan"), 0.5], [1.0, 1.0]):
        told = []
        for f in (draw, compiled):
            weft.manual_seed(0)
            try:
                told.append((f(weft.tensor(values)).tolist(), weft.rand(1).item()))
            except RuntimeError as e:
                told.append((str(e), weft.rand(1).item()))
        assert told[0] == told[1]
    made = weft.vmap(lambda t: weft.bernoulli(t), randomness="different")(weft.ones(3, 2))
    assert made.tolist() == [[1.0, 1.0]] * 3


@pytest.mark.parametrize("backend", ("aot_eager", "inductor"))
def test_probabilities_that_nobody_draws_by_are_checked(backend):
    def draws(x):
        weft.bernoulli(x)
        return x + 1

    compiled = weft.compile(draws, backend=backend, fullgraph=True)
    assert compiled(weft.full((3,), 0.5)).tolist() == [1.5, 1.5, 1.5]
    with pytest.raises(RuntimeError, match="bernoulli expects probabilities between 0 and 1"):
        compiled(weft.full((3,), 2.0))
