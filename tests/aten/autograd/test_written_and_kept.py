"""What becomes of kept gradients, leaves and views of modes after a write or a detach, as in PyTorch."""

import pytest

import weft


@pytest.mark.parametrize("written", ["view", "base"])
def test_a_view_keeps_the_gradient_of_what_it_now_is(written):
    x = weft.ones(4, requires_grad=True)
    b = x * 1
    v = b[:2]
    v.retain_grad()
    (v if written == "view" else b).mul_(2)
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3, 3] and x.grad.tolist() == [6, 6, 0, 0]


def test_a_base_keeps_the_gradient_of_what_it_now_is():
    x = weft.ones(4, requires_grad=True)
    b = x * 1
    b.retain_grad()
    b[:2].mul_(2)
    (b * 3).sum().backward()
    assert b.grad.tolist() == [3, 3, 3, 3] and x.grad.tolist() == [6, 6, 3, 3]


@pytest.mark.parametrize("forget", [lambda x: x.detach_(), lambda x: x.requires_grad_(False)])
def test_a_leaf_that_requires_no_gradient_any_more_gets_none(forget):
    x = weft.ones(2, requires_grad=True)
    y = (x * 2).sum()
    forget(x)
    y.backward()
    assert x.grad is None and not x.requires_grad
    x.requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_leaf_that_became_a_result():
    x = weft.ones(2, requires_grad=True)
    y = (x * 2).sum()
    x.requires_grad_(False)
    x.mul_(weft.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.backward()


@pytest.mark.parametrize("mode", [weft.no_grad, weft.inference_mode])
@pytest.mark.parametrize("write", [lambda v, g: v.mul_(g), lambda v, g: v.copy_(g), lambda v, g: v.__setitem__(0, g[0]),
                                   lambda v, g: v[:].mul_(g), lambda v, g: v.add_(g)])  # fmt: skip
def test_a_view_of_a_mode_takes_no_history(mode, write):
    b, g = weft.ones(2), weft.ones(1, requires_grad=True)
    with mode():
        v = b[:1]
    with pytest.raises(RuntimeError, match=f"A view was created in {mode.__name__.replace('_mode', '')}.*is being mod"):
        write(v, g)
    assert b.tolist() == [1, 1] and not b.requires_grad
    v.mul_(2)
    assert b.tolist() == [2, 1]
    with weft.no_grad():
        v.mul_(g)
