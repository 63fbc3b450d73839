"""Tensors on a device: made, copied, moved, printed; what is not done across devices."""

from __future__ import annotations

import copy

import pytest

import aten
import weft
import weft.library
from aten._native import Tensor

X = weft.arange(6.0).reshape(2, 3)


@pytest.mark.usefixtures("second")
def test_copies_between_devices(cuda):
    y = X.to("cuda")
    assert y.device == weft.device("cuda:0") and y.tolist() == X.tolist() and y[1, 2].item() == 5
    assert y.to("cuda:1").cpu().equal(X) and y.cuda(1).device.index == 1 and y.cuda() is y
    assert y.t().cpu().equal(X.t()) and X.t().cuda().cpu().equal(X.t()) and X[:, ::2].cuda().cpu().equal(X[:, ::2])
    assert y.copy_(X + 1).cpu().equal(X + 1) and weft.zeros(2, 3).copy_(y).equal(X + 1)
    assert weft.zeros(2, 3, dtype=weft.int64, device="cuda").copy_(X[:1]).tolist() == [[0, 1, 2]] * 2
    assert copy.deepcopy(y).tolist() == y.tolist()
    assert "device='cuda:0'" in repr(y)


@pytest.mark.usefixtures("second")
def test_factories_fill_memory_of_a_device(cuda):
    assert weft.ones(3, device="cuda").tolist() == [1, 1, 1] and weft.tensor([1, 2], device="cuda:1").tolist() == [1, 2]
    weft.manual_seed(0)
    x = weft.rand(5, device="cuda")
    weft.manual_seed(0)
    assert weft.rand(5).tolist() == x.tolist()


def test_gradients_pass_through_copies(cuda):
    x = weft.ones(3, requires_grad=True)
    (x.cuda().cpu() * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (RuntimeError, lambda y: y + X),
        (RuntimeError, lambda y: weft.cat([X, y])),
        (TypeError, lambda y: y.numpy()),
        (TypeError, memoryview),
    ],
)
def test_what_is_not_done_across_devices(cuda, error, call):
    with pytest.raises(error):
        call(X.cuda())


@pytest.mark.usefixtures("second")
def test_the_kernel_of_an_op_is_chosen_by_the_device(cuda):
    op = aten.registry["sinh"]
    seen = []
    op.kernel_for("cuda")(lambda out, x: seen.append((out.device, x.device)))
    try:
        assert op(X.cuda(1)).device.index == 1
    finally:
        del op.kernels["cuda"]
    assert seen == [(weft.device("cuda:1"), weft.device("cuda:1"))]


def test_custom_ops_have_a_function_by_device(cuda):
    @weft.library.custom_op("devicetest::double", mutates_args=())
    def double(x: Tensor) -> Tensor:
        return x * 2

    @double.register_kernel("cuda")
    def _(x):
        return (x.cpu() * 2).cuda()

    assert double(X).equal(X * 2) and double(X.cuda()).cpu().equal(X * 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int8", "int16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("number", [0, 1, -1, 3])
def test_factories_of_one_value(cuda, dtype, number):
    from aten import _cuda

    kind = getattr(weft, dtype)
    before = _cuda.counts()["copies_from_host"]
    x = weft.full((3, 5), number, dtype=kind, device=cuda)
    assert _cuda.counts()["copies_from_host"] == before
    assert x.cpu().equal(weft.full((3, 5), number, dtype=kind)) and x.device == cuda
    assert weft.full((0, 2), number, dtype=kind, device=cuda).numel() == 0
