"""How tensors inside of transforms print, and what transforms say of wrong functions and arguments."""

import pytest

import weft
from weft.func import grad, jacfwd, jacrev, jvp, vjp, vmap


def test_repr():
    seen = []

    def f(x):
        seen.append(repr(x))
        return x.sum()

    vmap(f)(weft.zeros(2, 1))
    assert seen.pop() == "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0.],\n            [0.]])\n)"
    vmap(grad(f), in_dims=1)(weft.ones(1, 2))
    inner = "BatchedTensor(lvl=1, bdim=1, value=\n        tensor([[1., 1.]])\n    )"
    assert seen.pop() == f"GradTrackingTensor(lvl=2, value=\n    {inner}\n)"
    jvp(f, (weft.ones(1),), (weft.ones(1),))
    assert seen.pop() == "GradTrackingTensor(lvl=1, value=\n    tensor([1.])\n)"
    kept = []
    vmap(lambda x: kept.append(x) or x)(weft.ones(1))
    assert repr(kept[0]).startswith("BatchedTensor(dead,")


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_say_what_is_wrong(jacobian):
    x = weft.ones(3)
    for argnums, text in ((-2, "only 1 positional inputs"), ((0, 0), "must be unique"), ((), "non-empty"), (0.0, "must be int")):
        with pytest.raises(RuntimeError, match=text):
            jacobian(weft.sin, argnums=argnums)(x)
    for output in (None, ()):
        with pytest.raises(RuntimeError, match=r"(vjp|jvp).+: Expected f to be a function that has non-empty output"):
            jacobian(lambda _, output=output: output)(x)
    with pytest.raises(RuntimeError, match=r"(vjp|jvp).+: expected f\(\*primals\) to return only tensors"):
        jacobian(lambda _: 1.5)(x)


def test_chunks_of_jacrev():
    x = weft.randn(4)
    weft.testing.assert_close(jacrev(weft.sin, chunk_size=3, _preallocate_and_copy=True)(x), weft.diag(x.cos()))
    with pytest.raises(ValueError, match="greater than 0"):
        jacrev(weft.sin, chunk_size=0)


def test_what_made_a_tensor_within_a_transform_has_a_name():
    seen = []

    class Twice(weft.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def f(x):
        y = x.sin()
        z = Twice.apply(y)
        seen.extend((t.grad_fn and t.grad_fn.name(), t.is_leaf) for t in (x, y, z))
        assert type(y.grad_fn).__name__ == "SinBackward0"
        return z.sum()

    grad(f)(weft.ones(2))
    assert seen == [(None, True), ("SinBackward0", False), ("TwiceGeneratedBackward", False)]


def test_what_has_no_effect_is_refused():
    with pytest.raises(RuntimeError, match="retain_grad"):
        grad(lambda x: (x.retain_grad(), x.sum())[1])(weft.ones(2))
    with pytest.raises(RuntimeError, match="same python structure"):
        jvp(weft.sin, (weft.ones(1),), weft.ones(1))
    with pytest.raises(RuntimeError, match="same python structure"):
        jvp(weft.sin, (weft.ones(1),), (weft.ones(1), weft.ones(1)))
    assert vjp(weft.sin, weft.ones(1))[0].shape == (1,)
