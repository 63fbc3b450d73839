"""Saving and loading without pickle: nested dicts and lists of tensors and plain values, as one safetensors file."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

import aten
from aten import Tensor

_KEY = "weft.structure"
# safetensors' names of dtypes
_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
}


def _tensor(name: str, entry: dict[str, Any]) -> Tensor:
    """One tensor of a file as (dtype, sizes, bytes)."""
    if entry["dtype"] not in _DTYPES:
        raise ValueError(f"load: tensor '{name}' has dtype {entry['dtype']}, which weft does not have")
    dtype = getattr(aten, _DTYPES[entry["dtype"]])
    array = np.frombuffer(bytearray(entry["data"]), dtype.to_numpy())
    return aten.from_numpy(array.reshape(tuple(entry["shape"])))


def _pack(value: Any, tensors: dict[str, np.ndarray], path: str) -> Any:
    """The JSON form of `value`: tensors by name into `tensors`, containers tagged, plain values as they are."""
    if isinstance(value, Tensor):
        tensors[path] = value
        return {
            "tensor": path,
            "parameter": isinstance(value, aten.Parameter),
            "requires_grad": bool(value.requires_grad),
        }
    if isinstance(value, dict):
        return {
            "dict": [
                [_pack(k, tensors, f"{path}.key"), _pack(v, tensors, f"{path}.{k}" if path else str(k))]
                for k, v in value.items()
            ]
        }
    if isinstance(value, (list, tuple)):
        return {
            type(value).__name__: [_pack(v, tensors, f"{path}.{i}" if path else str(i)) for i, v in enumerate(value)]
        }
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(
        f"save: obj{'.' + path if path else ''} is a {type(value).__name__}; only tensors, numbers, strings, None, "
        "and dicts, lists and tuples of these can be saved"
    )


def _unpack(form: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(form, dict):
        return form
    if "tensor" in form:
        tensor = tensors[form["tensor"]]
        if form["parameter"]:
            return aten.Parameter(tensor, form["requires_grad"])
        return tensor.requires_grad_() if form["requires_grad"] else tensor
    if "dict" in form:
        return {_unpack(k, tensors): _unpack(v, tensors) for k, v in form["dict"]}
    kind, items = next(iter(form.items()))
    return {"list": list, "tuple": tuple}[kind](_unpack(v, tensors) for v in items)


def save(obj: Any, f: str | os.PathLike | Any) -> None:
    """Writes `obj` (tensors, numbers, strings, None, nested in dicts, lists and tuples) to the path or binary file `f`.

    The file is in safetensors format: other programs read its tensors. Raises TypeError naming what cannot be saved.
    """
    from safetensors.numpy import save as to_bytes

    tensors: dict[str, Any] = {}
    structure = _pack(obj, tensors, "")
    arrays = {
        name or "_": np.ascontiguousarray(t.detach().cpu().numpy()).reshape(tuple(t.shape))
        for name, t in tensors.items()
    }
    data = to_bytes(arrays, metadata={_KEY: json.dumps(structure)})
    if hasattr(f, "write"):
        f.write(data)
        return
    temporary = f"{os.fspath(f)}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, f)


def load(f: str | os.PathLike | Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """What `save` wrote; of another program's safetensors file, the dict of its tensors. Raises ValueError on other files."""
    from safetensors import SafetensorError, deserialize

    if hasattr(f, "read"):
        data = f.read()
    else:
        with open(f, "rb") as file:
            data = file.read()
    try:
        entries = deserialize(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"load: {getattr(f, 'name', f)!r} is not a safetensors file: {error}") from None
    tensors = {name: _tensor(name, entry) for name, entry in entries}
    if map_location is not None:
        tensors = {name: tensor.to(device=map_location) for name, tensor in tensors.items()}
    structure = header.get("__metadata__", {}).get(_KEY)
    if structure is None:
        return tensors
    if "_" in tensors:
        tensors[""] = tensors["_"]
    return _unpack(json.loads(structure), tensors)
