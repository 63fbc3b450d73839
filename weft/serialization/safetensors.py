"""The safetensors format: a header in JSON, then the bytes of all tensors. Also sharded: an index names several files."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

import aten
from aten import Tensor
from weft.serialization.bad_file import BadFile

# safetensors' names of dtypes
DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64",
}  # fmt: skip
NAMES = {name: key for key, name in DTYPES.items()}
_MOST_HEADER = 100_000_000


def looks_like(data: np.ndarray) -> bool:
    return data.size >= 9 and 2 <= _length(data) <= data.size - 8 and data[8] == ord("{")


def _length(data: np.ndarray) -> int:
    return int.from_bytes(data[:8].tobytes(), "little")


def read(data: np.ndarray) -> tuple[dict[str, Tensor], dict[str, str]]:
    """({name: tensor on the bytes of `data`}, metadata). Raises BadFile unless every tensor has its own, fitting bytes."""
    if data.size < 8 or not 2 <= _length(data) <= min(data.size - 8, _MOST_HEADER):
        raise BadFile("load: not a safetensors file: its header does not fit into it")
    end = 8 + _length(data)
    try:
        header = json.loads(data[8:end].tobytes())
        metadata = header.pop("__metadata__", {})
        entries = {name: (e["dtype"], [int(n) for n in e["shape"]], *map(int, e["data_offsets"])) for name, e in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadFile(f"load: not a safetensors file: its header is {type(error).__name__}: {error}") from None
    body, at, tensors = data[end:], 0, {}
    for name, (kind, shape, start, stop) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if kind not in DTYPES or not hasattr(aten, DTYPES[kind]):
            raise BadFile(f"load: tensor '{name}' has dtype {kind}, which weft does not have")
        dtype = getattr(aten, DTYPES[kind])
        count = 1
        for n in shape:
            count *= n
        if start != at or stop < start or stop > body.size or min(shape, default=0) < 0:
            raise BadFile(f"load: tensor '{name}' lies at [{start}, {stop}), which overlaps another, leaves a gap or is outside")
        if count * dtype.itemsize != stop - start:
            raise BadFile(f"load: tensor '{name}' of {shape} {kind} has {stop - start} bytes")
        at, tensors[name] = stop, tensor_on(body[start:stop], dtype, shape)
    if at != body.size:
        raise BadFile(f"load: {body.size - at} bytes of the file belong to no tensor")
    return {name: tensors[name] for name in entries}, metadata


def tensor_on(data: np.ndarray, dtype: Any, shape: Any) -> Tensor:
    """A tensor on bytes; on a copy where they cannot be written or do not lie on a multiple of the item's size."""
    kind = np.dtype(dtype.to_numpy())
    if not data.flags.writeable or data.ctypes.data % max(kind.itemsize, 1):
        data = data.copy()
    return aten.from_numpy(data.view(kind).reshape(tuple(shape)))


def write(tensors: dict[str, Tensor], metadata: dict[str, str]) -> list[Any]:
    """The pieces of a file with `tensors`, the widest first (so that each lies on a multiple of its item's size)."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    at, pieces = 0, []
    for name, t in sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize):
        array = np.ascontiguousarray(t.detach().cpu().numpy())
        header[name] = {"dtype": NAMES[t.dtype.name], "shape": list(t.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
        pieces.append(memoryview(array.reshape(-1).view(np.uint8)))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *pieces]


def shards_of(index: str | os.PathLike, text: bytes) -> list[str]:
    """The files that an index (`model.safetensors.index.json`) names; all must lie beside it."""
    try:
        weights = json.loads(text)["weight_map"]
        names = sorted(set(weights.values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadFile(f"load: {index} is no index of safetensors files: it has no weight_map") from None
    for name in names:
        if not isinstance(name, str) or os.path.basename(name) != name or name in ("", ".", ".."):
            raise BadFile(f"load: {index} names the file {name!r}, which is not beside it")
    return [os.path.join(os.path.dirname(index), name) for name in names]
