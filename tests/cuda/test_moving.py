"""Tensors, layers, optimizers and batches moved to a device and back: values, gradients, copies, files, errors."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import weft
from weft.utils.data import DataLoader, TensorDataset


@pytest.mark.usefixtures("second")
def test_gradients_come_back_to_where_the_leaves_are(cuda):
    x, y = weft.arange(4.0).requires_grad_(), weft.ones(4, requires_grad=True)
    moved = x.to(cuda, non_blocking=True).to("cuda:1")
    assert moved.grad_fn is not None and moved.device.index == 1
    (moved.cpu() * y * 3).sum().backward()
    assert x.grad.tolist() == [3] * 4 and x.grad.device.type == "cpu" and y.grad.tolist() == [0, 3, 6, 9]
    leaf = weft.ones(3, device=cuda, requires_grad=True)
    (leaf.cpu() * 2).sum().backward()
    assert leaf.grad.device == weft.device("cuda:0") and leaf.grad.tolist() == [2, 2, 2]


@pytest.mark.usefixtures("second")
def test_layers_are_moved_with_their_buffers_and_gradients(cuda):
    layer = weft.nn.Sequential(weft.nn.Linear(3, 4), weft.nn.BatchNorm1d(4))
    layer(weft.ones(2, 3)).sum().backward()
    before = {k: v.tolist() for k, v in layer.state_dict().items()}
    weight = layer[0].weight
    assert layer.cuda() is layer and layer[0].weight is weight and weight.is_cuda and weight.grad.is_cuda
    assert all(t.device == weft.device("cuda:0") for t in layer.state_dict().values())
    assert {k: v.tolist() for k, v in layer.state_dict().items()} == before
    layer.to("cuda:1")
    assert weight.device.index == 1 and layer[1].running_mean.device.index == 1
    assert all(t.device.type == "cpu" for t in layer.cpu().state_dict().values())


def test_states_of_optimizers_follow_the_parameters(cuda):
    layer = weft.nn.Linear(2, 2)
    optimizer = weft.optim.Adam(layer.parameters())
    layer(weft.ones(1, 2)).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    layer.cuda()
    again = weft.optim.Adam(layer.parameters())
    again.load_state_dict(state)
    found = again.state[layer.weight]
    assert found["exp_avg"].is_cuda and found["exp_avg"].tolist() == state["state"][0]["exp_avg"].tolist()


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "float8_e4m3fn"]
)
def test_every_dtype_and_layout_is_carried(cuda, dtype):
    x = weft.arange(6).to(getattr(weft, dtype)).reshape(2, 3)
    for view in (x, x.t(), x[:, 1:], x[:0], x[1, 1], x[:, ::2], x.expand(2, 2, 3)):
        there = view.to(cuda)
        assert there.dtype is x.dtype and there.shape == view.shape and there.cpu().float().equal(view.float())


@pytest.mark.usefixtures("second")
def test_copies_pickles_and_files_keep_the_device(cuda):
    x = weft.arange(4.0).to("cuda:1")
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert y.device == weft.device("cuda:1") and y.tolist() == x.tolist()
    parameter = pickle.loads(pickle.dumps(weft.nn.Parameter(x)))
    assert type(parameter) is weft.nn.Parameter and parameter.device.index == 1 and parameter.requires_grad
    file = io.BytesIO()
    weft.save({"x": x}, file)
    for where, device in ((None, "cuda:1"), ("cpu", "cpu"), ("cuda:0", "cuda:0")):
        file.seek(0)
        found = weft.load(file, map_location=where)["x"]
        assert found.device == weft.device(device) and found.tolist() == [0, 1, 2, 3]


def test_storages(cuda):
    x = weft.arange(4.0).to(cuda)
    storage = x.untyped_storage()
    assert storage.device == weft.device("cuda:0") and storage.is_cuda and storage.nbytes() == 16 and storage.get_device() == 0
    assert storage.data_ptr() == x.data_ptr() and storage.cpu().nbytes() == 16 and storage.cpu().device.type == "cpu"
    assert weft.UntypedStorage(8, device="cuda").device == weft.device("cuda:0")
    assert x.get_device() == 0 and x[1:].untyped_storage() == storage and x.cpu().untyped_storage().cuda().is_cuda


@pytest.mark.usefixtures("second")
def test_printing(cuda):
    x = weft.arange(3.0).to(cuda)
    assert repr(x) == "tensor([0., 1., 2.], device='cuda:0')" and f"{x[1]:.1f}" == "1.0"
    assert repr(x.requires_grad_()) == "tensor([0., 1., 2.], device='cuda:0', requires_grad=True)"
    assert repr(weft.empty(0, device="cuda:1")) == "tensor([], device='cuda:1')"


@pytest.mark.parametrize(
    ("call", "argument", "method"),
    [
        (lambda a, b: a + b, "other", "add"),
        (lambda a, b: weft.mm(a, b), "mat2", "mm"),
        (lambda a, b: weft.cat([a, b]), "tensors", "cat"),
        (lambda a, b: weft.where(weft.ones(2, 2, dtype=weft.bool, device="cuda"), a, b), "other", "where"),
    ],
)
@pytest.mark.usefixtures("second")
def test_errors_of_two_devices_name_the_argument(cuda, call, argument, method):
    a, b = weft.ones(2, 2, device=cuda), weft.ones(2, 2)
    expected = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    with pytest.raises(RuntimeError) as caught:
        call(a, b)
    assert str(caught.value) == f"{expected} (when checking argument for argument {argument} in method {method})"
    with pytest.raises(RuntimeError, match="cuda:0 and cuda:1|cuda:1 and cuda:0"):
        weft.mm(a, b.to("cuda:1"))


@pytest.mark.usefixtures("second")
def test_devices_in_force(cuda):
    with weft.device("cuda:1"):
        assert weft.empty(2).device.index == 1 and weft.tensor([1.0]).device.index == 1
    with pytest.raises(RuntimeError, match="there is no device cuda:5: indices are below 2"):
        weft.empty(2, device="cuda:5")


def test_batches_come_pinned(cuda):
    loader = DataLoader(TensorDataset(weft.arange(4.0), weft.arange(4)), batch_size=2, pin_memory=True)
    batches = [(x, y) for x, y in loader]
    assert all(x.is_pinned() and y.is_pinned() for x, y in batches)
    assert [x.to(cuda, non_blocking=True).tolist() for x, _ in batches] == [[0, 1], [2, 3]]


def test_seeds_are_the_cpus(cuda):
    weft.cuda.manual_seed_all(3)
    assert weft.cuda.initial_seed() == 3
    state = weft.cuda.get_rng_state()
    x = weft.rand(4, device=cuda)
    weft.cuda.set_rng_state(state)
    assert weft.rand(4).tolist() == x.tolist() and len(weft.cuda.get_rng_state_all()) == 2
