"""Tensor(…), FloatTensor(…) and tensor.new(…): sizes or a sequence, nothing else."""

import types

import numpy as np
import pytest

import weft


class Two:
    def __index__(self):
        return 2


class Pair:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return [3.0, 4.0][i]


MAKERS = {"Tensor": lambda *a: weft.Tensor(*a), "Long": lambda *a: weft.LongTensor(*a), "new": lambda *a: weft.ones(2).new(*a)}
REFUSED = {
    "data must be a sequence (got float)": 1.5,
    "data must be a sequence (got bool)": True,
    "data must be a sequence (got complex)": 1j,
    "data must be a sequence (got NoneType)": None,
    "data must be a sequence (got numpy.float32)": np.float32(1.5),
    "data must be a sequence (got dict)": {"a": 1},
    "data must be a sequence (got mappingproxy)": types.MappingProxyType({}),
    "data must be a sequence (got set)": {1},
    "data must be a sequence (got type)": int,
    "data must be a sequence (got torch.dtype)": weft.float32,
    "invalid data type 'str'": "ab",
    "invalid data type 'bytes'": b"ab",
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("how", ["plain", "compiled"])
def test_what_is_no_sequence_is_refused(make, how):
    make = make if how == "plain" else weft.compile(make, backend="eager")
    for words, value in REFUSED.items():
        with pytest.raises(TypeError, match="^new\\(\\): ") as raised:
            make(value)
        assert str(raised.value) == f"new(): {words}"
    with pytest.raises(TypeError, match="invalid combination"):
        make(2, 1.5)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_sizes_and_sequences(make):
    assert make().shape == (0,) and make(2, True).shape == (2, 1) and make(Two()).shape == (2,) and make(np.int64(3)).shape == (3,)
    assert make(Two(), 3).shape == (2, 3) and make(weft.tensor(2), 3).shape == (2, 3) and make(weft.Size([2, 0])).shape == (2, 0)
    assert make(Pair()).tolist() == [3, 4] and make((1, 2)).tolist() == [1, 2] and make(np.arange(2)).tolist() == [0, 1]
