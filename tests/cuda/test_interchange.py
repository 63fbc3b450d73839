"""Memory of a device shown to other libraries and taken from them: DLPack and the array interface, with their streams."""

from __future__ import annotations

import pytest

import weft
from tests.cuda.kernels import AddOne


class Theirs:
    """Another library's array, by what it says of itself."""

    def __init__(self, tensor, **facts):
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__ | facts


@pytest.mark.usefixtures("second")
def test_dlpack_there_and_back_shares_memory(cuda):
    x = weft.arange(6.0).reshape(2, 3).to(cuda)
    assert x.__dlpack_device__() == (2, 0)
    y = weft.from_dlpack(x)
    assert y.data_ptr() == x.data_ptr() and y.device == x.device and y.tolist() == x.tolist()
    view = weft.from_dlpack(x.t()[1:])
    assert view.stride() == (1, 3) and view.tolist() == [[1, 4], [2, 5]]
    z = weft.from_dlpack(weft.ones(2, device="cuda:1"))
    assert z.device == weft.device("cuda:1")
    del x
    assert y.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.usefixtures("lazy")
def test_the_consumers_stream_waits_for_the_producer(sim, cuda):
    kernel, side, x = AddOne(), weft.cuda.Stream(), weft.zeros(64, device=cuda)
    kernel(x, x)
    capsule = x.__dlpack__(stream=side.cuda_stream)
    side.synchronize()
    assert len(sim.log) == 1
    kernel(x, x)
    other = weft.cuda.Stream()
    x.__dlpack__(stream=-1)
    other.synchronize()
    assert len(sim.log) == 1  # asked for no waiting
    del capsule
    for stream in (None, 1, 2):
        assert x.__dlpack__(stream=stream) is not None


@pytest.mark.usefixtures("lazy")
def test_memory_is_not_reused_before_the_consumer_is_done(cuda):
    kernel, side, x = AddOne(), weft.cuda.Stream(), weft.zeros(64, device=cuda)
    side.wait_stream(weft.cuda.current_stream())
    with weft.cuda.stream(side):
        y = weft.from_dlpack(x)
        kernel(y, y)
    address = x.data_ptr()
    del x, y
    assert weft.empty(64, device=cuda).data_ptr() != address


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (TypeError, {"stream": "one"}),
        (ValueError, {"stream": 0}),
        (BufferError, {"dl_device": (2, 1)}),
        (BufferError, {"dl_device": (1, 0)}),
        (BufferError, {"copy": True}),
    ],
)
def test_what_dlpack_refuses(cuda, error, asked):
    with pytest.raises(error):
        weft.ones(2, device=cuda).__dlpack__(**asked)
    with pytest.raises(BufferError):
        weft.ones(2, device="meta").__dlpack__()
    with pytest.raises(BufferError, match="require gradient"):
        weft.ones(2, device=cuda).requires_grad_().__dlpack__()


def test_the_array_interface(cuda):
    x = weft.arange(6.0).reshape(2, 3).to(cuda)
    facts = x.__cuda_array_interface__
    stream = weft.cuda.current_stream().cuda_stream
    assert facts.pop("data") == (x.data_ptr(), False) and facts.pop("stream") == stream
    assert facts == {"typestr": "<f4", "shape": (2, 3), "strides": None, "version": 3}
    assert x.t().__cuda_array_interface__["strides"] == (4, 12)
    assert not hasattr(weft.ones(2), "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="requires grad"):
        _ = weft.ones(2, device=cuda).requires_grad_().__cuda_array_interface__


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.usefixtures("second")
def test_arrays_of_others_become_tensors_on_their_memory(cuda, dtype):
    x = weft.arange(6).to(getattr(weft, dtype)).reshape(2, 3).to(cuda)
    y = weft.as_tensor(Theirs(x.t()))
    assert y.data_ptr() == x.data_ptr() and y.dtype is x.dtype and y.stride() == (1, 3) and y.tolist() == x.t().tolist()
    moved = weft.as_tensor(Theirs(weft.ones(2, device="cuda:1")))
    assert moved.device.index == 1


def test_work_of_their_stream_comes_first(cuda):
    kernel, side, x = AddOne(), weft.cuda.Stream(), weft.zeros(64, device=cuda)
    side.wait_stream(weft.cuda.current_stream())
    kernel(x, x, stream=side)
    y = weft.as_tensor(Theirs(x, stream=side.cuda_stream))
    assert y.tolist() == [1] * 64


def test_an_array_of_other_elements_is_refused(cuda):
    x = weft.ones(4, device=cuda)
    with pytest.raises(ValueError, match="no dtype has elements"):
        weft.as_tensor(Theirs(x, typestr=">f4"))
    with pytest.raises(ValueError, match="are not whole elements"):
        weft.as_tensor(Theirs(x, strides=(2,)))
