"""save and load. No file is ever executed: what is written and read is data, objects of classes included (objects.py).

Written: safetensors with the structure of containers beside (structure.py), or PyTorch's zip format. Read: both, PyTorch's older
files, other programs' safetensors (also sharded), npz and GGUF.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from typing import Any

from aten import Tensor, device
from weft.serialization import gguf, npz, objects, places, pytorch, safetensors
from weft.serialization.bad_file import BadFile
from weft.serialization.config import (
    get_crc32_options,
    get_default_mmap_options,
    set_crc32_options,
    set_default_mmap_options,
    skip_data,
)
from weft.serialization.endianness import LoadEndianness, get_default_load_endianness, set_default_load_endianness
from weft.serialization.inert_pickle import Refused
from weft.serialization.places import default_restore_location, location_tag, register_package
from weft.serialization.safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from weft.serialization.safe_globals import find as find_allowed
from weft.serialization.source import bytes_of
from weft.serialization.structure import KEY, Packer, Unpacker
from weft.serialization.write_pytorch import write_zip

__all__ = [
    "BadFile",
    "LoadEndianness",
    "Refused",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]

DEFAULT_PROTOCOL = 2  # of pickles
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None
_PYTORCH_ENDINGS = (".pt", ".pth", ".bin")


def save(
    obj: Any,
    f: str | os.PathLike | Any,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    *,
    format: str | None = None,
) -> None:
    """Writes `obj` (tensors, numbers, strings, bytes, dtypes …, nested in containers) to the path or binary file `f`.

    format: "pytorch" is what PyTorch reads, also with weights_only; it is taken for paths that end in .pt, .pth and .bin.
    "safetensors" (else) is what other programs read the tensors of. Tensors that share memory go on sharing it. Modules and other
    objects are written as the name of their class and their state, to be loaded where the class can be imported. Pickle is not
    used, so `pickle_module` and `pickle_protocol` change nothing. Raises TypeError naming what cannot be saved.
    """
    if pickle_protocol > pickle.HIGHEST_PROTOCOL:
        raise ValueError(f"pickle protocol must be <= {pickle.HIGHEST_PROTOCOL}")
    if format is None:
        named = isinstance(f, (str, os.PathLike)) and str(os.fspath(f)).endswith(_PYTORCH_ENDINGS)
        format = "pytorch" if named else "safetensors"
    if format not in ("pytorch", "safetensors"):
        raise ValueError(f"save: format must be 'pytorch' or 'safetensors', got {format!r}")
    if not hasattr(f, "write") and not isinstance(f, (str, os.PathLike)):
        raise AttributeError(f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, got {type(f)}")
    if hasattr(f, "write"):
        _write(obj, f, format, "archive")
        return
    path = os.fspath(f)
    if not os.path.isdir(folder := os.path.dirname(path) or "."):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            _write(obj, file, format, os.path.splitext(os.path.basename(path))[0] or "archive")
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _write(obj: Any, file: Any, format: str, root: str) -> None:
    if format == "pytorch":
        write_zip(obj, file, root)
        return
    packer = Packer()
    form = packer.pack(obj)
    stored, made = packer.finish()
    structure = {"form": form, "made": made}
    if where := {name: str(t.device) for name, t in stored.items() if t.device.type == "cuda"}:
        structure["where"] = where
    for piece in safetensors.write(stored, {KEY: json.dumps(structure)}):
        file.write(piece)


def load(
    f: str | os.PathLike | Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """What `save` or PyTorch's torch.save wrote; of other programs' safetensors, npz and GGUF files, the dict of tensors.

    f: a path (also `model.safetensors.index.json` beside its shards), or a binary file. map_location: a device, {from: to}, or
    fn(storage, location) → storage, as in PyTorch. mmap: the file is mapped, and read where it is touched.
    weights_only: True, the default, refuses by name (pickle.UnpicklingError) the classes of a file beyond those of tensors, but for
    those that `add_safe_globals` allows. False is for files that you trust: it imports whatever classes and functions the file
    names, makes objects without `__init__` and gives them their state (`__setstate__` runs); it never calls a function.
    Raises BadFile, a RuntimeError and a ValueError, for files that are damaged or of no known format, EOFError for empty ones.
    """
    unknown = set(pickle_load_args) - {"encoding", "errors", "fix_imports", "buffers"}
    if unknown:
        raise TypeError(f"load() got an unexpected keyword argument '{min(unknown)}'")
    data = bytes_of(f, bool(mmap))
    if not data.size:
        raise EOFError("load: the file is empty (Ran out of input)")
    start = data[:16].tobytes()
    trusted = weights_only is not None and not weights_only
    place = places.placing(map_location)

    def placed(tensors: dict[str, Tensor], where: dict[str, str] = {}) -> dict[str, Tensor]:  # noqa: B006
        return {name: place(t, str(where.get(name, "cpu"))) for name, t in tensors.items()}

    if start.startswith(pytorch.ZIP_START):
        archive_names = data[-(1 << 16) :].tobytes()
        if b"data.pkl" not in archive_names and b".npy" in archive_names:
            return placed(npz.read(data))
        return pytorch.read_zip(pytorch.Archive(data), place, trusted)
    if start.startswith(pytorch.LEGACY_START):
        return pytorch.read_legacy(data, place, trusted)
    if start.startswith(gguf.START):
        return placed(gguf.read(data)[0])
    if start[:1] == b"{" and isinstance(f, (str, os.PathLike)):
        shards = safetensors.shards_of(f, data.tobytes())
        return placed({k: v for shard in shards for k, v in safetensors.read(bytes_of(shard, bool(mmap)))[0].items()})
    if not safetensors.looks_like(data):
        raise BadFile(
            f"load: {getattr(f, 'name', f)!r} is not a safetensors file, nor one of PyTorch's, npz or GGUF; a plain pickle is not "
            "loaded, as it runs code"
        )
    tensors, metadata = safetensors.read(data)
    if KEY not in metadata:
        return placed(tensors)
    try:
        structure = json.loads(metadata[KEY])
        find = objects.imported if trusted else find_allowed
        return Unpacker(placed(tensors, structure.get("where", {})), structure["made"], find).unpack(structure["form"])
    except Refused:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise BadFile(f"load: the structure of the file is damaged: {type(error).__name__}: {error}") from None


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike | Any) -> list[str]:
    """The classes and functions of a `.pt` file that `load` would refuse, by their full names, for `add_safe_globals`.

    Raises ValueError for files of other formats (BadFile is one).
    """
    data = bytes_of(f, False)
    if not data[:4].tobytes() == pytorch.ZIP_START:
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    return pytorch.refused_names(pytorch.Archive(data))
