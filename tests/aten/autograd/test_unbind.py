"""unbind is one node: its gradient is one stack, not as many whole tensors as there are pieces."""

import pytest

import weft


def test_one_node_of_all_pieces():
    x = weft.randn(3, 4, 2, requires_grad=True)
    pieces = weft.unbind(x, 1)
    assert {type(p.grad_fn).__name__ for p in pieces} == {"UnbindBackward0"} and len({p.grad_fn for p in pieces}) == 1
    g = weft.zeros(3, 4, 2)
    g[:, 2] = 5.0
    assert weft.equal(weft.autograd.grad(pieces[2], x, weft.full((3, 2), 5.0), retain_graph=True)[0], g)
    assert weft.equal(weft.autograd.grad([p * (i + 1) for i, p in enumerate(pieces)], x, [weft.ones(3, 2)] * 4)[0],
                      weft.arange(1.0, 5.0).view(1, 4, 1).expand(3, 4, 2))
    a, b, c = weft.randn(3, requires_grad=True)  # iteration is unbind
    assert a.ndim == 0 and type(c.grad_fn).__name__ == "UnbindBackward0"


def test_twice_forward_mode_and_transforms():
    f = lambda x: sum(p.pow(i + 2).sum() for i, p in enumerate(weft.unbind(x, -1)))
    x = weft.randn(2, 3, dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(f, x) and weft.autograd.gradgradcheck(f, x)
    assert weft.allclose(weft.func.grad(f)(x.detach()), weft.autograd.grad(f(x), x)[0])
    assert weft.allclose(weft.func.vmap(weft.func.grad(f))(x.detach()[None])[0], weft.autograd.grad(f(x), x)[0])
    assert weft.autograd.gradcheck(lambda x: weft.unbind_copy(x, 1), x)


def test_pieces_are_views_that_refuse_writes_with_history():
    x = weft.randn(2, 3, requires_grad=True)
    y = x * 1
    with pytest.raises(RuntimeError, match="view"):
        weft.unbind(y)[0].add_(1)
    z = weft.randn(2, 3)
    weft.unbind(z)[1].zero_()
    assert z[1].tolist() == [0.0] * 3
    assert weft.unbind(weft.zeros(0, 3, requires_grad=True)) == ()


def test_iteration_has_the_same_signs_of_zero_compiled():
    def f(x):
        a, b, _ = x
        return weft.autograd.grad((a * -0.0).sum() + b.sum(), x)[0]

    x = weft.ones(3, 2, requires_grad=True)
    got = weft.compile(f, options={"exact": True})(x)
    assert weft.equal(got.signbit(), f(x).signbit()) and f(x).signbit()[0].all()
