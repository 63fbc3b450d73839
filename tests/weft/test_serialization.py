"""save and load: structure, dtypes, sharing with other programs, bad files."""

import numpy as np
import pytest

import weft
from weft import nn


def test_round_trip_of_nested_structures(tmp_path):
    value = {
        "step": 3,
        "name": "x",
        "list": [weft.arange(3), (1.5, None)],
        "half": weft.ones(2, dtype=weft.bfloat16),
        "scalar": weft.tensor(2.0),
        "empty": weft.zeros(0, 3),
        "p": nn.Parameter(weft.ones(2)),
    }
    weft.save(value, tmp_path / "a.safetensors")
    back = weft.load(tmp_path / "a.safetensors")
    assert back["step"] == 3 and back["list"][1] == (1.5, None) and back["half"].dtype == weft.bfloat16
    assert back["list"][0].tolist() == [0, 1, 2] and back["scalar"].shape == () and tuple(back["empty"].shape) == (0, 3)
    assert isinstance(back["p"], nn.Parameter) and back["p"].requires_grad


def test_a_lone_tensor_and_foreign_files(tmp_path):
    from safetensors.numpy import save_file

    weft.save(weft.arange(4), tmp_path / "t")
    assert weft.load(tmp_path / "t").tolist() == [0, 1, 2, 3]
    save_file({"w": np.ones((2, 2), np.float32)}, tmp_path / "other")
    assert list(weft.load(tmp_path / "other")) == ["w"]


def test_what_cannot_be_saved_and_what_is_no_file_of_ours(tmp_path):
    with pytest.raises(TypeError, match="obj.a.0 is a set"):
        weft.save({"a": [set()]}, tmp_path / "b")
    (tmp_path / "bad").write_bytes(b"not a file")
    with pytest.raises(ValueError, match="not a safetensors file"):
        weft.load(tmp_path / "bad")
