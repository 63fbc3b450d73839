"""Devices as a table: what runs where, copies between them, and meta, where only sizes are."""

import pytest

import aten
import weft
from aten import _native, pytree
from aten._native import Tensor
from tests.samples.inputs import names, samples

CASES = [(name, i) for name in names() for i in range(len(samples(name)))]
X = weft.arange(6.0).reshape(2, 3)


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


def test_windows_lie_where_they_are_asked_for():
    for make in (weft.hann_window, weft.hamming_window, weft.kaiser_window, weft.signal.windows.cosine):
        assert [make(n, device="meta").device.type for n in (0, 1, 8)] == ["meta"] * 3


def test_what_derivatives_make_lies_where_the_gradient_does():
    x = weft.empty(4, 4, device="meta", requires_grad=True)
    weft.linalg.lu_factor(x)[0].sum().backward()
    assert x.grad.device.type == "meta"
