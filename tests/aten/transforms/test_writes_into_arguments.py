"""Functions that are differentiated write into what they are given beside: into arguments, and statistics into anything."""

import pytest

import weft
from weft import nn
from weft.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap
from weft.nn import functional as F

X = weft.arange(8.0).view(4, 2)


def doubled(w, b):
    b.copy_(w * 2)
    return (w * b).sum()


@pytest.mark.parametrize("transform", [grad, jacrev, jacfwd])
def test_what_is_written_into_an_argument_is_differentiated_and_seen_outside(transform):
    b = weft.ones(2)
    assert transform(doubled)(weft.ones(2), b).tolist() == [4.0, 4.0]
    assert b.tolist() == [2.0, 2.0] and not b.requires_grad
    b = weft.ones(2)
    assert transform(lambda w, *, b: doubled(w, b))(weft.ones(2), b=b).tolist() == [4.0, 4.0]
    assert b.tolist() == [2.0, 2.0]


def test_second_derivatives_and_writes_without_gradients():
    b = weft.ones(2)
    assert hessian(doubled)(weft.ones(2), b).tolist() == [[4.0, 0.0], [0.0, 4.0]] and b.tolist() == [2.0, 2.0]

    def f(w, b):
        with weft.no_grad():
            b.copy_(w * 3)
        return (w * b).sum()

    for b in (weft.ones(2), weft.ones(2, requires_grad=True)):
        assert grad(f)(weft.ones(2), b).tolist() == [3.0, 3.0] and b.tolist() == [3.0, 3.0] and b.is_leaf


def test_a_view_of_an_argument_is_written():
    b = weft.ones(2)

    def f(w, b):
        b[0].copy_(w[0] * 2)
        return (w * b).sum()

    assert grad(f)(weft.ones(2), b).tolist() == [4.0, 1.0] and b.tolist() == [2.0, 1.0]


def test_writes_in_nested_transforms():
    b = weft.ones(2)
    assert grad(lambda w, b: grad(doubled)(w, b).sum())(weft.ones(2), b).tolist() == [4.0, 4.0]
    assert b.tolist() == [2.0, 2.0]
    b = weft.ones(3, 2)
    assert vmap(grad(doubled))(weft.ones(3, 2), b).tolist() == [[4.0, 4.0]] * 3 and b.tolist() == [[2.0, 2.0]] * 3
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        grad(lambda w: grad(doubled)(w, b[0]).sum())(weft.ones(2))


def test_an_argument_that_is_returned_is_the_tensor_itself():
    b, unwritten = weft.ones(2), weft.ones(2)
    _, (found, same) = grad(lambda w, b, c: (doubled(w, b), (b, c)), has_aux=True)(weft.ones(2), b, unwritten)
    assert found is b and same is unwritten


def test_arguments_keep_their_own_history():
    b = weft.ones(2, requires_grad=True)
    grad(lambda w, b: (w * w * b).sum())(weft.ones(2), b).sum().backward()
    assert b.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        grad(doubled)(weft.ones(2), b)
    mask = weft.tensor([True, False])
    assert grad(lambda w, m: w[m].sum() * m.sum().item())(weft.ones(2), mask).tolist() == [1.0, 0.0]
    sparse = weft.eye(2).to_sparse()
    assert grad(lambda w, s: weft.sparse.mm(s, w).sum())(weft.ones(2, 2), sparse).tolist() == [[1.0, 1.0]] * 2


@pytest.mark.parametrize("compiled", [False, True])
def test_batch_norm_in_training_with_its_buffers_as_arguments(compiled):
    m = nn.BatchNorm1d(2)
    p, b = dict(m.named_parameters()), dict(m.named_buffers())
    f = lambda p, b, x: grad(lambda p, b, x: functional_call(m, (p, b), (x,)).pow(2).sum())(p, b, x)
    found = (weft.compile(f) if compiled else f)(p, b, X)
    assert weft.allclose(found["weight"], weft.tensor([8.0, 8.0]), atol=1e-4) and found["bias"].abs().max() < 1e-4
    assert weft.allclose(b["running_mean"], weft.tensor([0.3, 0.4])) and b["num_batches_tracked"] == 1


@pytest.mark.parametrize("transform", [grad, lambda f: lambda w: jvp(f, (w,), (w,))])
def test_running_statistics_from_outside_are_written_without_history(transform):
    mean, variance = weft.zeros(2), weft.ones(2)
    transform(lambda w: F.batch_norm(X * w, mean, variance, training=True).pow(3).sum())(weft.ones(2))
    assert weft.allclose(mean, weft.tensor([0.3, 0.4])) and weft.allclose(variance, weft.tensor([1.5667, 1.5667]), atol=1e-4)
    layer = nn.InstanceNorm1d(2, track_running_stats=True)
    transform(lambda w: layer(weft.arange(16.0).view(2, 2, 4) * w).pow(3).sum())(weft.ones(()))
    assert weft.allclose(layer.running_mean, weft.tensor([0.55, 0.95]))
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        transform(lambda w: mean.copy_(w.detach()).sum() + w.sum())(weft.ones(2))


def test_spectral_norm_is_differentiated():
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2))
    params, x, u = dict(layer.named_parameters()), weft.ones(2), layer.parametrizations.weight[0]._u
    with weft.no_grad():
        params["parametrizations.weight.original"].fill_(0.5)
    found = grad(lambda p: functional_call(layer, p, (x,)).sum())(params)
    assert found["parametrizations.weight.original"].abs().max() < 1e-5  # its scale is divided out
    assert weft.allclose(u.abs(), weft.full((2,), 0.5).sqrt(), atol=1e-5)
    assert weft.compile(layer, fullgraph=True)(x).allclose(layer(x), atol=1e-5)
