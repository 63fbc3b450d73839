"""save and load: structure, dtypes, sharing with other programs, bad files."""

import collections
import io
import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save_file

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
    weft.save(weft.arange(4), tmp_path / "t")
    assert weft.load(tmp_path / "t").tolist() == [0, 1, 2, 3]
    save_file({"w": np.ones((2, 2), np.float32)}, tmp_path / "other")
    assert list(weft.load(tmp_path / "other")) == ["w"]


def test_what_cannot_be_saved_and_what_is_no_file_of_ours(tmp_path):
    with pytest.raises(TypeError, match="obj.a.0 is a object"):
        weft.save({"a": [object()]}, tmp_path / "b")
    (tmp_path / "bad").write_bytes(b"not a file")
    with pytest.raises(ValueError, match="not a safetensors file"):
        weft.load(tmp_path / "bad")


def test_keys_of_every_kind(tmp_path):
    value = {1: weft.ones(1), "1": weft.zeros(1), "a.b": weft.ones(2), "a": {"b": weft.zeros(3)}, (1, "x"): 2.5, None: 1, False: 0,
             "": weft.ones(4), 1.5: float("inf"), "nan": float("-inf")}  # fmt: skip
    weft.save(value, tmp_path / "a")
    back = weft.load(tmp_path / "a")
    assert list(back) == list(value) and back["a"]["b"].numel() == 3 and back["a.b"].numel() == 2 and back[""].numel() == 4
    assert back[1.5] == float("inf") and back["1"].item() == 0 and back[(1, "x")] == 2.5


def test_ties_and_views(tmp_path):
    w = nn.Parameter(weft.arange(4.0))
    big = weft.zeros(1000)
    weft.save({"a": w, "b": w, "view": w.detach()[1:3], "one": big[:2]}, tmp_path / "a")
    back = weft.load(tmp_path / "a")
    assert back["a"] is back["b"] and back["view"].tolist() == [1, 2] and (tmp_path / "a").stat().st_size < 2000
    with weft.no_grad():
        back["a"][1] = 9
    assert back["view"][0] == 9


Point = collections.namedtuple("Point", "x y")


def test_values_of_every_kind(tmp_path):
    value = [Point(1, weft.ones(1)), {1, 2}, frozenset("a"), b"\0", bytearray(b"x"), 2 - 1j, weft.Size([1]), weft.int8,
             weft.device("meta"), range(3), np.int16(4), 2**80,
             weft.tensor([1j], dtype=weft.complex128), weft.tensor(True)]  # fmt: skip
    weft.save(value, tmp_path / "a")
    back = weft.load(tmp_path / "a")
    assert back[0].x == 1 and back[0]._fields == ("x", "y") and back[1:12] == value[1:12] and type(back[10]) is np.int16
    assert back[12].dtype is weft.complex128 and back[12].tolist() == [1j] and back[13].item() is True
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        weft.save(loop, tmp_path / "b")


def test_shards_beside_an_index(tmp_path):
    weft.save({"a": weft.ones(2)}, tmp_path / "m-1.safetensors")
    save_file({"b": np.zeros(3, np.float32)}, tmp_path / "m-2.safetensors")
    save_file({"a": np.ones(2, np.float32)}, tmp_path / "m-1.safetensors")
    index = tmp_path / "m.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}))
    assert {k: v.tolist() for k, v in weft.load(index).items()} == {"a": [1, 1], "b": [0, 0, 0]}
    for wrong in ('{"weight_map": {"a": "../m-1.safetensors"}}', '{"weight_map": {"a": "/etc/passwd"}}', "{}", '{"weight_map": 3}'):
        index.write_text(wrong)
        with pytest.raises(ValueError, match="load: "):
            weft.load(index)


def test_npz(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3), f=np.asfortranarray(np.ones((2, 3), ">f4")))
    back = weft.load(tmp_path / "a.npz")
    assert back["x"].tolist() == [0, 1, 2] and back["f"].dtype is weft.float32 and back["f"].sum() == 6
    np.savez_compressed(tmp_path / "b.npz", x=np.zeros(10_000))
    assert weft.load(tmp_path / "b.npz")["x"].shape == (10_000,)
    np.savez(tmp_path / "o.npz", x=np.array([{}], object))
    with pytest.raises(ValueError, match="objects"):
        weft.load(tmp_path / "o.npz")
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(40_000_000))
    with pytest.raises(ValueError, match="claim to hold"):
        weft.load(tmp_path / "bomb.npz")
    data = (tmp_path / "b.npz").read_bytes()
    for cut in (10, 50, len(data) // 2, len(data) - 3):
        with pytest.raises(RuntimeError):
            weft.load(io.BytesIO(data[:cut]))


def gguf(tensors, values=()):
    """The bytes of a GGUF file. tensors: (name, shape, type, data)."""
    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for name, value in values:
        head += text(name) + struct.pack("<I", 8) + text(value)
    body = b""
    for name, shape, kind, data in tensors:
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        head += struct.pack("<IQ", kind, len(body))
        body += data + b"\0" * (-len(data) % 32)
    return head + b"\0" * (-len(head) % 32) + body


def test_gguf():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    q8 = np.float16(0.5).tobytes() + np.arange(-16, 16, dtype=np.int8).tobytes()
    q4 = np.float16(2).tobytes() + bytes(i | (15 - i) << 4 for i in range(16))
    data = gguf([("x", (2, 3), 0, x.tobytes()), ("q8", (1, 32), 8, q8), ("q4", (32,), 2, q4)], [("general.name", "tiny")])
    back = weft.load(io.BytesIO(data))
    assert back["x"].tolist() == x.tolist()
    assert back["q8"].tolist() == [[0.5 * i for i in range(-16, 16)]]
    assert back["q4"].tolist() == [2.0 * (i - 8) for i in range(16)] + [2.0 * (7 - i) for i in range(16)]
    with pytest.raises(ValueError, match="type 12"):
        weft.load(io.BytesIO(gguf([("k", (256,), 12, b"\0" * 144)])))
    for i in range(4, len(data) - 1):
        with pytest.raises(ValueError):
            weft.load(io.BytesIO(data[:i])) if i < len(data) - 20 else weft.load(io.BytesIO(b"GGUF" + data[5:i]))


@pytest.mark.parametrize("change", [
    {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
    {"a": {"dtype": "F32", "shape": [2**62], "data_offsets": [0, 8]}}, {"a": {"dtype": "F9", "shape": [2], "data_offsets": [0, 8]}},
    {"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}, {"a": 3}, [], {"a": {"dtype": "F32", "shape": [2]}},
    {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
])  # fmt: skip
def test_headers_that_lie(change):
    text = json.dumps(change).encode()
    with pytest.raises(ValueError, match="load: "):
        weft.load(io.BytesIO(len(text).to_bytes(8, "little") + text + b"\0" * 8))
    with pytest.raises(ValueError):
        weft.load(io.BytesIO((2**60).to_bytes(8, "little") + text))
