"""batch_norm in training with history, natively: what its definition in other ops gives, statistics and gradients included."""

import pytest

import weft as torch
from aten.op import registry
from tests.aten.test_replay import entries


def outcome(function, shape, dtype, affine, tracked, seed=0):
    torch.manual_seed(seed)
    x = torch.randn(shape, dtype=dtype).requires_grad_()
    weight, bias = (torch.randn(shape[1], dtype=dtype).requires_grad_() for _ in range(2)) if affine else (None, None)
    mean, var = (torch.randn(shape[1], dtype=dtype), torch.rand(shape[1], dtype=dtype)) if tracked else (None, None)
    out = function(x, mean, var, weight, bias, True, 0.3, 1e-5)
    asked = [x, weight, bias] if affine else [x]
    grads = torch.autograd.grad((out * torch.arange(out.numel()).view(out.shape).cos()).sum(), asked)
    return [out.detach(), *grads, *([mean, var] if tracked else [])], (mean._version, var._version) if tracked else None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(4, 3, 5, 5), (8, 6), (2, 3, 7), (2, 1, 3, 2, 2)])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("tracked", [True, False])
def test_it_gives_what_the_definition_gives(dtype, shape, affine, tracked):
    op = registry["batch_norm"]
    expected, versions = outcome(op.function, shape, dtype, affine, tracked)
    found, written = outcome(op, shape, dtype, affine, tracked)
    assert written == versions
    for a, b in zip(found, expected, strict=True):
        assert a.dtype is b.dtype and a.stride() == b.stride() and torch.equal(a, b)


def test_it_needs_no_python():
    bn = torch.nn.functional.batch_norm
    x, mean, var = torch.randn(4, 3, 2, requires_grad=True), torch.zeros(3), torch.ones(3)
    for _ in range(8):
        bn(x, mean, var, training=True)
    assert not entries(lambda: bn(x, mean, var, training=True))


def test_what_it_refuses():
    bn = torch.nn.functional.batch_norm
    x = torch.randn(4, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="running_mean should contain 3 elements"):
        bn(x, torch.zeros(2), torch.ones(3), training=True)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        bn(x[:1], torch.zeros(3), torch.ones(3), training=True)
    with pytest.raises(ValueError, match="both be None"):
        bn(x, torch.zeros(3), None, training=True)
    for weight, bias in ((torch.ones(3), torch.ones(3).double()), (torch.ones(3).double(), torch.ones(3)), (torch.ones(2), None)):
        with pytest.raises(RuntimeError):
            bn(x, torch.zeros(3), torch.ones(3), weight, bias, training=True)
    frozen = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        bn(x, frozen, torch.ones(3), training=True)
