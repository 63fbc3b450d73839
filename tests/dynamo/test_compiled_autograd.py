"""Compiled autograd: backward walks that a compiler gets as graphs."""

import functools

import pytest

import dynamo
import weft
from dynamo import compiled_autograd
from dynamo.testing import CompileCounterWithBackend
from weft.nn import functional as F


def leaves(seed):
    generator = weft.Generator().manual_seed(seed)
    return [weft.randn(n, 4, generator=generator).requires_grad_() for n in (3, 4)]


def program(x, w):
    y = (x @ w).sin()
    a, b = F.layer_norm(y, (4,)).chunk(2, 1)
    return (a * b.exp()).sum() + w[0].prod()


def hooked(x, w):
    y = (x @ w).sin()
    y.register_hook(lambda grad: grad * 2)
    y.register_hook(lambda grad: None)
    return (y * y).sum()


class Cube(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3 * ctx.saved_tensors[0] ** 2


PROGRAMS = {
    "ops": program,
    "hooks between them": hooked,
    "a Function": lambda x, w: Cube.apply(x @ w).sum(),
    "a compiled function": lambda x, w: weft.compile(program)(x, w),
    "a compiled function with hooks": lambda x, w: weft.compile(hooked, fullgraph=True)(x, w),
    "a leaf twice": lambda x, w: (x * x + x).sum() + w.sum(),
    "an unused result": lambda x, w: weft.unbind(x @ w)[0].sum(),
}


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_walks_of_one_form_share_a_graph(name, backend):
    dynamo.reset()
    function = PROGRAMS[name]
    counter = CompileCounterWithBackend(backend)
    compiler = functools.partial(weft.compile, backend=counter, fullgraph=True)
    with compiled_autograd._enable(compiler):
        for seed in range(3):
            (x, w), (a, b) = leaves(seed), leaves(seed)
            loss = function(x, w)
            loss.backward()
            with compiled_autograd._disable():
                function(a, b).backward()
            for ours, theirs in ((x, a), (w, b)):
                assert weft.allclose(ours.grad, theirs.grad, atol=1e-5) and ours.grad.stride() == theirs.grad.stride()
            with pytest.raises(RuntimeError, match="a second time"):
                loss.backward()
    assert counter.frame_count == 1


def test_gradients_add_up_and_histories_can_be_kept():
    x, w = leaves(0)
    with compiled_autograd._enable(lambda module: module):
        loss = program(x, w)
        loss.backward(retain_graph=True)
        once = x.grad.clone()
        loss.backward()
    assert weft.equal(x.grad, once * 2)


def test_hooks_of_leaves_run_once():
    seen = []
    x, w = leaves(0)
    x.register_hook(lambda grad: grad * 10)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
    (x.sum() + w.sum()).backward()
    expected = seen.pop()
    x.grad = None
    with compiled_autograd._enable(lambda module: module):
        (x.sum() + w.sum()).backward()
    assert weft.equal(seen[0], expected) and len(seen) == 1


def test_walks_to_given_inputs_are_as_ever():
    x, w = leaves(0)
    with compiled_autograd._enable(lambda module: pytest.fail("this walk is no graph")):
        (g,) = weft.autograd.grad(program(x, w), x, create_graph=True)
        assert g.requires_grad


def test_a_node_can_be_called():
    x, w = leaves(0)
    node = (x @ w).grad_fn
    grad = weft.ones(3, 4)
    assert weft.equal(node(grad)[0], grad @ w.t()) and weft.equal(node.apply(grad)[1], x.t() @ grad)
    assert weft.equal(x.sin().grad_fn(grad), x.cos())
    with pytest.raises(TypeError, match="takes 1 gradients, got 2"):
        node(grad, grad)
