"""Devices as a table: what runs where, copies between them, and meta, where only sizes are."""

import copy

import pytest

import aten
import weft
import weft.library
from aten import _native, pytree
from aten._native import Tensor
from tests.samples.inputs import names, samples

CASES = [(name, i) for name in names() for i in range(len(samples(name)))]
X = weft.arange(6.0).reshape(2, 3)


@pytest.fixture
def cuda():
    """Two devices whose memory may be reached by copies only: reading it as the host's kills the process."""
    _native.simulate_cuda(2)
    yield
    _native.simulate_cuda(0)


def layouts(result):
    return [(tuple(x.shape), x.dtype, tuple(x.stride())) for x in pytree.leaves(result) if isinstance(x, Tensor)]


# ------------------------------------------------------------------------------------------------------------ meta
@pytest.mark.parametrize("name,i", CASES)
def test_every_op_on_meta_has_the_layout_of_its_real_result(name, i):
    op = aten.registry[name]
    args, kwargs = samples(name)[i]
    leaves, spec = pytree.flatten((args, kwargs))
    on_meta = [_native.move(x.detach(), "meta") if isinstance(x, Tensor) else x for x in leaves]
    if not any(isinstance(x, Tensor) for x in leaves):
        kwargs = kwargs | ({"device": "meta"} if "device" in op.schema.index else {})
        real, found = op(*args), op(*args, **kwargs)
    else:
        args, kwargs = pytree.unflatten(on_meta, spec)
        real = op(*samples(name)[i][0], **samples(name)[i][1])
        try:
            found = op(*args, **kwargs)
        except NotImplementedError as error:
            assert "depend on values" in str(error)
            return
    assert layouts(found) == layouts(real)
    assert all(x.is_meta for x in pytree.leaves(found) if isinstance(x, Tensor)) or "device" not in op.schema.index


def test_layers_are_made_moved_and_given_memory():
    layer = weft.nn.Linear(3, 4).to("meta")
    assert layer.weight.is_meta and layer(X.to("meta")).shape == (2, 4)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        layer.to("cpu")
    layer.to_empty(device="cpu")
    assert layer.weight.device.type == "cpu" and layer(X).shape == (2, 4)


def test_factories_of_composites_are_where_the_tensors_are():
    x = _native.move(X, "meta")
    assert weft.nn.functional.max_pool1d(x, 2).is_meta and weft.quantile(x, 0.5, 0).is_meta


# ---------------------------------------------------------------------------------------------------------- indices
@pytest.mark.parametrize("index", [300, -2, 16, 2**70])
def test_device_indices_are_checked(index):
    with pytest.raises(RuntimeError, match="Device index"):
        weft.device("meta", index)


@pytest.mark.parametrize("device", ["cpu:1", "cuda", "cuda:3"])
def test_there_is_no_memory_on_devices_that_do_not_exist(device):
    with pytest.raises(RuntimeError, match="there is no"):
        weft.empty(3, device=device)


def test_a_number_is_a_gpu():
    assert weft.device(3) == weft.device("cuda:3")


# ------------------------------------------------------------------------------------------------------ another device
def test_copies_between_devices(cuda):
    y = X.to("cuda")
    assert y.device == weft.device("cuda:0") and y.tolist() == X.tolist() and y[1, 2].item() == 5
    assert y.to("cuda:1").cpu().equal(X) and y.cuda(1).device.index == 1 and y.cuda() is y
    assert y.t().cpu().equal(X.t()) and X.t().cuda().cpu().equal(X.t()) and X[:, ::2].cuda().cpu().equal(X[:, ::2])
    assert y.copy_(X + 1).cpu().equal(X + 1) and weft.zeros(2, 3).copy_(y).equal(X + 1)
    assert weft.zeros(2, 3, dtype=weft.int64, device="cuda").copy_(X[:1]).tolist() == [[0, 1, 2]] * 2
    assert y.clone().cpu().equal(y.cpu()) and copy.deepcopy(y).tolist() == y.tolist()
    assert "device='cuda:0'" in repr(y)


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


@pytest.mark.parametrize("name", ["add", "mul", "sum", "amax", "mm", "sort", "cat", "nonzero", "index", "where", "exp_", "relu"])
def test_an_op_without_a_kernel_says_so_and_reads_nothing(cuda, name):
    y = X.cuda()
    args = {"add": (y, 1), "mul": (y, y), "mm": (y, y.t()), "cat": ([y, y],), "index": (y, [weft.tensor([0]).cuda()])}
    args["where"] = (weft.ones(2, 3, dtype=weft.bool).cuda(), y, y)
    with pytest.raises(NotImplementedError, match=rf"{name.rstrip('_')}: there is no kernel of it for tensors on cuda:0"):
        aten.registry[name](*args.get(name, (y,)))


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (RuntimeError, lambda y: y + X),
        (RuntimeError, lambda y: weft.cat([X, y])),
        (TypeError, lambda y: y.numpy()),
        (BufferError, lambda y: y.__dlpack__()),
        (TypeError, memoryview),
        (NotImplementedError, lambda y: y.view(weft.int32)),
        (NotImplementedError, lambda y: weft.compile(lambda x: x + 1)(y)),
    ],
)
def test_what_is_not_done_across_devices(cuda, error, call):
    with pytest.raises(error):
        call(X.cuda())


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
