"""checkpoint(use_reentrant=False): the graph of the call is kept, what it saves is computed again."""

import weakref

import pytest

import weft
from weft.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop


@pytest.mark.parametrize("stop, calls", [(True, 1), (False, 2)])
def test_the_second_call_ends_once_all_is_there(stop, calls):
    seen = []

    def last(x):
        seen.append(1)
        return x.clone()

    x = weft.ones(2, requires_grad=True)
    with set_checkpoint_early_stop(stop):
        out = checkpoint(lambda x: last(x.sin().cos()), x, use_reentrant=False)
    out.sum().backward()
    assert len(seen) == calls
    one = x.detach()
    weft.testing.assert_close(x.grad, -one.sin().sin() * one.cos())


def test_what_is_saved_on_the_way_is_not_kept():
    kept = []

    def block(x):
        h = x * 2
        kept.append(weakref.ref(h))
        return h.sin()

    x = weft.ones(3, requires_grad=True)
    out = checkpoint(block, x, use_reentrant=False)
    assert kept[0]() is None
    out.sum().backward()
    weft.testing.assert_close(x.grad, 2 * (2 * x.detach()).cos())


def test_another_second_call_is_an_error():
    x = weft.ones(1, requires_grad=True)
    first = [lambda x: x.sin().exp().sin()]
    out = checkpoint(lambda x: (first.pop() if first else lambda x: x.sin().exp())(x), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        out.backward()
    first = [weft.sin]
    out = checkpoint(lambda x: first.pop()(x) if first else weft.cat([x, x]).sin(), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="different metadata"):
        out.backward(weft.ones(1))


def test_a_function_may_ask_twice_for_what_it_saved():
    class Square(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * (ctx.saved_tensors[0] + ctx.saved_tensors[0])

    x = weft.full([2], 3.0, requires_grad=True)
    out = checkpoint(lambda x: Square.apply(x * 2), x, use_reentrant=False)
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    assert x.grad.tolist() == [48.0, 48.0]


def test_gradients_by_autograd_grad_of_keyword_arguments_and_nested_calls():
    inner = lambda x, *, scale: checkpoint(lambda v: (v * scale).exp(), x, use_reentrant=False).sin()
    outer = lambda x, *, scale: checkpoint(inner, x.cos(), scale=scale, use_reentrant=False)
    x, scale = weft.full([2], 0.5, requires_grad=True), weft.full([2], 0.25, requires_grad=True)
    ours = weft.autograd.grad(checkpoint(outer, x, scale=scale, use_reentrant=False).sum(), (x, scale))
    theirs = weft.autograd.grad((x.cos() * scale).exp().sin().sum(), (x, scale))
    for a, b in zip(ours, theirs):
        weft.testing.assert_close(a, b)


def test_autocast_of_the_call_holds_in_the_second():
    seen = []

    def block(x, w):
        y = x @ w
        seen.append(y.dtype)
        return y.sin()

    x, w = weft.ones(2, 2, requires_grad=True), weft.ones(2, 2, requires_grad=True)
    with weft.amp.autocast("cpu"):
        out = checkpoint(block, x, w, use_reentrant=False)
    out.float().sum().backward()
    assert seen == [weft.bfloat16, weft.bfloat16]


def test_not_to_say_how_warns():
    x = weft.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(weft.sin, x)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint_sequential(weft.nn.Sequential(weft.nn.Sigmoid()), 1, x)


@pytest.mark.parametrize("stop", [True, False])
def test_a_backward_within_the_call(stop):
    inner = lambda x: checkpoint(lambda v: v.sin().exp(), x, use_reentrant=False)
    slope = lambda x: weft.autograd.grad(inner(x), x, create_graph=True)[0]
    x = weft.tensor(1.0, requires_grad=True)
    with set_checkpoint_early_stop(stop):
        out = checkpoint(slope, x, use_reentrant=False)
    out.backward()
    weft.testing.assert_close(x.grad, weft.tensor(-1.2748205661773682))
