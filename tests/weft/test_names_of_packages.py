"""Names, some of them private, that packages of others import or say in their annotations."""

from __future__ import annotations

import pickle

import pytest

import weft
from weft import serialization


def test_torch_torch_is_torch():
    with weft.as_torch():
        import torch

        assert torch.torch is torch and torch.torch.Tensor is weft.Tensor


def test_serialization_says_its_protocol_and_what_places_are():
    assert serialization.DEFAULT_PROTOCOL == 2 and serialization.MAP_LOCATION is not None
    assert pickle.HIGHEST_PROTOCOL >= serialization.DEFAULT_PROTOCOL


def test_the_class_of_tensor_classes():
    class Meta(weft._C._TensorMeta):
        def __instancecheck__(cls, instance):
            return isinstance(instance, weft.Tensor) and getattr(instance, "special", False)

    class Special(weft.Tensor, metaclass=Meta):
        pass

    x = weft.ones(2)
    assert not isinstance(x, Special)
    x.special = True
    assert isinstance(x, Special)


def test_tensors_that_data_takes():
    same = weft._has_compatible_shallow_copy_type
    x = weft.ones(2, 2)
    assert same(x, weft.zeros(5, dtype=weft.int8)) and not same(x, weft.ones(2, device="meta")) and not same(x, x.to_sparse())


def test_clipped_sigmoid_stays_off_0_and_1():
    clipped = weft.distributions.transforms._clipped_sigmoid
    x = weft.tensor([-1000.0, 0.0, 1000.0])
    y = clipped(x)
    assert 0 < y[0].item() < 1e-30 and y[1].item() == 0.5 and y[2].item() < 1


def test_pin_memory_is_an_op():
    x = weft.ones(2)
    assert weft.ops.aten._pin_memory.default(x).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        weft.ops.aten._pin_memory(weft.ones(2, device="meta"))
