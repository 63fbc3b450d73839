"""The device of new tensors where none is named."""

import pytest

import weft
from weft.overrides import TorchFunctionMode


def test_a_device_is_a_context():
    with weft.device("meta"):
        assert weft.zeros(2).is_meta and weft.tensor([1]).is_meta and weft.get_default_device().type == "meta"
        with weft.device("cpu"):
            assert weft.ones(1).is_cpu
        assert weft.zeros(1, device="cpu").is_cpu and weft.nn.Linear(2, 2).weight.is_meta
    assert weft.zeros(2).is_cpu and weft.get_default_device() == weft.device("cpu")


def test_a_default_is_set():
    weft.set_default_device("meta")
    try:
        assert weft.rand(2).is_meta
        with weft.device("cpu"):
            assert weft.rand(2).is_cpu
    finally:
        weft.set_default_device(None)
    assert weft.rand(2).is_cpu


def test_a_default_is_below_open_contexts():
    with weft.device("meta"):
        weft.set_default_device("cpu")
        assert weft.zeros(2).is_meta
        weft.set_default_device(None)
        weft.set_default_device("cpu")
    try:
        assert weft.get_default_device() == weft.device("cpu") and weft.zeros(2).is_cpu
    finally:
        weft.set_default_device(None)


def test_what_is_given_data_goes_to_the_default_too():
    x = weft.ones(2)
    with weft.device("meta"):
        assert weft.as_tensor(x).is_meta and weft.tensor(x.numpy()).is_meta and weft.zeros(1, 1, 1, 1, 1, 1).is_meta
        assert weft.hann_window(3).is_meta and weft.randperm(3).is_meta
        assert weft.Tensor([1.0]).is_cpu and weft.Tensor(2).is_cpu and weft.zeros_like(x).is_cpu
        assert weft.from_numpy(x.numpy()).is_cpu


def test_ops_of_tensors_work_where_these_are():
    x = weft.ones(2)
    with weft.device("meta"):
        weft.randperm(3)
        assert weft.vander(x).is_cpu and weft.cartesian_prod(x, x).is_cpu and x[[0, 1]].is_cpu


def test_the_handler_of_a_mode_may_open_a_device():
    class Elsewhere(TorchFunctionMode):
        def __torch_function__(self, f, types, args=(), kwargs=None):
            with weft.device("meta"):
                return f(*args, **(kwargs or {}))

    with Elsewhere():
        assert weft.zeros(3).is_meta
    assert weft.zeros(3).is_cpu


def test_a_device_that_was_not_entered_cannot_be_left():
    with pytest.raises(RuntimeError, match="trying to pop from empty mode stack"):
        weft.device("cpu").__exit__(None, None, None)
    assert weft.ones(2).tolist() == [1, 1]
