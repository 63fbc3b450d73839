"""GGUF, the format of llama.cpp: metadata, then tensors, of which plain ones, Q8_0 and Q4_0 are read (as float32)."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

import aten
from aten import Tensor
from weft.serialization.bad_file import BadFile
from weft.serialization.safetensors import tensor_on

START = b"GGUF"
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_PLAIN = {0: "float32", 1: "float16", 24: "int8", 25: "int16", 26: "int32", 27: "int64", 28: "float64", 30: "bfloat16"}
_BLOCK = 32
_BLOCKS = {2: 18, 8: 34}  # bytes of a block of 32: a float16 scale, then 16 bytes of nibbles, or 32 of int8


class _Reader:
    def __init__(self, data: np.ndarray) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        if n < 0 or self.at + n > self.data.size:
            raise BadFile("load: the GGUF file is cut off")
        self.at += n
        return self.data[self.at - n : self.at].tobytes()

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self) -> str:
        return self.take(self.number("<Q")).decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY and depth < 4:
            of, count = self.number("<I"), self.number("<Q")
            if count > self.data.size - self.at:
                raise BadFile("load: an array of the GGUF file is longer than the file")
            return [self.value(of, depth + 1) for _ in range(count)]
        raise BadFile(f"load: the GGUF file has a value of unknown type {kind}")


def read(data: np.ndarray) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """({name: tensor}, metadata)."""
    reader = _Reader(data)
    if reader.take(4) != START or reader.number("<I") not in (2, 3):
        raise BadFile("load: not a GGUF file of version 2 or 3")
    n_tensors, n_values = reader.number("<Q"), reader.number("<Q")
    if max(n_tensors, n_values) > data.size:
        raise BadFile("load: the GGUF file claims more entries than it has bytes")
    metadata = {}
    for _ in range(n_values):
        name = reader.text()
        metadata[name] = reader.value(reader.number("<I"))
    entries = []
    for _ in range(n_tensors):
        name, rank = reader.text(), reader.number("<I")
        if rank > 8:
            raise BadFile(f"load: tensor '{name}' has {rank} dims")
        shape = [reader.number("<Q") for _ in range(rank)][::-1]
        entries.append((name, shape, reader.number("<I"), reader.number("<Q")))
    align = metadata.get("general.alignment", 32)
    if not isinstance(align, int) or align < 1:
        raise BadFile(f"load: the GGUF file has alignment {align!r}")
    body = data[-(-reader.at // align) * align :]
    return {name: _tensor(body, name, shape, kind, offset) for name, shape, kind, offset in entries}, metadata


def _tensor(body: np.ndarray, name: str, shape: list[int], kind: int, offset: int) -> Tensor:
    count = 1
    for n in shape:
        count *= n
    if kind in _PLAIN:
        dtype = getattr(aten, _PLAIN[kind])
        size = count * dtype.itemsize
    elif kind in _BLOCKS:
        if not shape or shape[-1] % _BLOCK:
            raise BadFile(f"load: tensor '{name}' of {shape} has rows that are no multiple of {_BLOCK}")
        size = count // _BLOCK * _BLOCKS[kind]
    else:
        raise BadFile(f"load: tensor '{name}' is quantised in a way (type {kind}) that weft does not read")
    if offset + size > body.size:
        raise BadFile(f"load: tensor '{name}' is outside of the file")
    data = body[offset : offset + size]
    if kind in _PLAIN:
        return tensor_on(data, dtype, shape)
    blocks = data.reshape(-1, _BLOCKS[kind])
    scale = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
    if kind == 8:
        values = np.ascontiguousarray(blocks[:, 2:]).view(np.int8).astype(np.float32)
    else:
        nibbles = blocks[:, 2:]
        values = np.concatenate([nibbles & 15, nibbles >> 4], 1).astype(np.float32) - 8
    return aten.from_numpy((values * scale).reshape(shape))
