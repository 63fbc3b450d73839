"""PyTorch's own files: a zip of a pickle and of storages, or (before 1.6) a row of pickles and then storages.

Nothing of the file is executed (inert_pickle.py). Tensors on one storage share it, with the strides that they had.
"""

from __future__ import annotations

import pickletools
import struct
import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

import aten
from aten import Tensor
from aten.sparse.conversion import sparse_compressed_tensor, sparse_coo_tensor
from weft.serialization import endianness, objects
from weft.serialization.bad_file import BadFile
from weft.serialization.config import skips
from weft.serialization.inert_pickle import Global, Refused, Walker
from weft.serialization.safe_globals import TABLE, Storage, make, not_allowed, users
from weft.serialization.safetensors import tensor_on

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
LEGACY_START = b"\x80\x02\x8a\x0a" + MAGIC_NUMBER.to_bytes(10, "little")
ZIP_START = b"PK\x03\x04"


class Stored:
    """A storage that the pickle refers to: a tensor of all its elements."""

    def __init__(self, flat: Tensor, dtype: Any) -> None:
        self.flat, self.dtype = flat, dtype


Place = Callable[[Tensor, str], Tensor]
"""(flat tensor of a storage, where it was saved) → the same where it is to be."""


def _tensor(stored: Any, offset: Any, sizes: Any, strides: Any, dtype: Any) -> Tensor:
    if not isinstance(stored, Stored):
        raise TypeError(f"a tensor of a {type(stored).__name__}")
    sizes, strides = tuple(map(int, sizes)), tuple(map(int, strides))
    if stored.flat.device.type == "meta":
        return aten.empty_strided(sizes, strides, dtype=dtype, device="meta")
    memory = stored.flat.untyped_storage()
    try:  # which checks that it lies inside
        return aten.empty(0, dtype=dtype, device=stored.flat.device).set_(memory, int(offset), sizes, strides)
    except (RuntimeError, ValueError) as error:
        raise BadFile(f"load: a tensor of sizes {sizes}, strides {strides} at {offset} leaves its storage: {error}") from None


def _v1(stored: Any, offset: Any, sizes: Any, strides: Any) -> Tensor:
    return _tensor(stored, offset, sizes, strides, stored.dtype)


def _v2(stored: Any, offset: Any, sizes: Any, strides: Any, requires_grad: Any, hooks: Any = None, metadata: Any = None) -> Tensor:
    return _flagged(_tensor(stored, offset, sizes, strides, stored.dtype), requires_grad)


def _v3(
    stored: Any, offset: Any, sizes: Any, strides: Any, requires_grad: Any, hooks: Any, dtype: Any, metadata: Any = None
) -> Tensor:
    return _flagged(_tensor(stored, offset, sizes, strides, dtype), requires_grad)


def _flagged(t: Tensor, requires_grad: Any) -> Tensor:
    return t.requires_grad_(True) if requires_grad else t


def _meta(dtype: Any, sizes: Any, strides: Any, requires_grad: Any) -> Tensor:
    return _flagged(aten.empty_strided(tuple(sizes), tuple(strides), dtype=dtype, device="meta"), requires_grad)


def _sparse(layout: Any, data: Any) -> Tensor:
    """Through the functions that check that the parts fit each other."""
    if layout is aten.sparse_coo:
        indices, values, size, *coalesced = data
        return sparse_coo_tensor(indices, values, size, is_coalesced=bool(coalesced and coalesced[0]))
    if layout not in (aten.sparse_csr, aten.sparse_csc, aten.sparse_bsr, aten.sparse_bsc):
        raise ValueError(f"a tensor of layout {layout} cannot be read")
    return sparse_compressed_tensor(*data, layout=layout)


_REBUILD = {
    f"torch._utils.{name}": Global(f"torch._utils.{name}", fn)
    for name, fn in {
        "_rebuild_tensor": _v1, "_rebuild_tensor_v2": _v2, "_rebuild_tensor_v3": _v3, "_rebuild_meta_tensor_no_storage": _meta,
        "_rebuild_sparse_tensor": _sparse,
    }.items()
}  # fmt: skip
_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg", "UserDict": "collections"}


def find(module: str, name: str) -> Any:
    """What stands for the global `module.name` of a file. Raises Refused, with the remedy, for those that are not allowed."""
    full = f"{_MODULES.get(module, module)}.{name}"
    found = users(full)
    if found is None:
        found = _REBUILD.get(full, TABLE.get(full))
    if found is None:
        found = next((c for c in objects.CALLED if f"{c.__module__}.{c.__qualname__}" == full), None)
    if found is None:
        raise Refused(not_allowed(full))
    return found


def find_any(module: str, name: str) -> Any:
    """The same, and all classes and functions that can be imported: for files that the user trusts."""
    try:
        return find(module, name)
    except Refused:
        return objects.imported(_MODULES.get(module, module), name)


def refused_names(archive: Archive) -> list[str]:
    """The classes and functions of a zip file that are not allowed, by their full names."""
    texts: list[str] = []
    names = set()
    for opcode, argument, _ in pickletools.genops(archive.read("data.pkl").tobytes()):
        if opcode.name == "GLOBAL":
            names.add(tuple(argument.split(" ", 1)))
        elif opcode.name == "STACK_GLOBAL":
            names.add(tuple(texts[-2:]))
        elif isinstance(argument, str):
            texts.append(argument)
    refused = []
    for module, name in sorted(names):
        try:
            find(module, name)
        except Refused:
            refused.append(f"{module}.{name}")
    return refused


def _walker(trusted: bool, persistent: Callable[[Any], Any]) -> Walker:
    return Walker(find_any if trusted else find, persistent, make, objects.set_state)


# ------------------------------------------------------------------------------------------------------ zip
class Archive:
    """The records of a zip file that stand in it as they are: not compressed, each for itself."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data
        try:
            with zipfile.ZipFile(BytesIO(memoryview(data))) as archive:
                infos = archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError, OSError) as error:
            raise BadFile(f"load: PytorchStreamReader failed reading zip archive: {error}") from None
        self.records: dict[str, tuple[int, int]] = {}
        end = 0
        for info in sorted(infos, key=lambda i: i.header_offset):
            if info.filename.endswith("/"):
                continue
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
                raise BadFile(f"load: record {info.filename!r} is compressed or encrypted, which PyTorch's files are not")
            start = self._start(info)
            if info.header_offset < end or start + info.file_size > data.size:
                raise BadFile(f"load: record {info.filename!r} overlaps another or is outside of the file")
            if info.filename in self.records:
                raise BadFile(f"load: there are two records {info.filename!r}")
            end = start + info.file_size
            self.records[info.filename] = (start, info.file_size)
        pickles = [name for name in self.records if name.rpartition("/")[2] == "data.pkl" and name.count("/") <= 1]
        self.root = pickles[0][: -len("data.pkl")] if len(pickles) == 1 else None

    def _start(self, info: zipfile.ZipInfo) -> int:
        head = self.data[info.header_offset : info.header_offset + 30].tobytes()
        if len(head) < 30 or head[:4] != ZIP_START:
            raise BadFile(f"load: record {info.filename!r} is not where the archive says")
        names, extra = struct.unpack("<HH", head[26:30])
        return info.header_offset + 30 + names + extra

    def read(self, name: str) -> np.ndarray:
        found = self.records.get(f"{self.root}{name}")
        if found is None:
            raise BadFile(f"load: the archive has no record {name!r}")
        return self.data[found[0] : found[0] + found[1]]

    def __contains__(self, name: str) -> bool:
        return f"{self.root}{name}" in self.records


def read_zip(archive: Archive, place: Place, trusted: bool = False) -> Any:
    """The object of a zip file of PyTorch. trusted: objects of all classes that can be imported, not only of those allowed."""
    if archive.root is None:
        raise BadFile("load: the archive has no data.pkl: it is no file of PyTorch's")
    if f"{archive.root}constants.pkl" in archive.records:
        raise Refused("load: the file is a TorchScript archive: weft runs no code of a file; save a state dict instead")
    order = archive.read("byteorder").tobytes() if "byteorder" in archive else endianness.assumed()
    if order not in (b"little", b"big"):
        raise BadFile(f"load: unknown byte order {order!r}")
    loaded: dict[str, Stored] = {}

    def persistent(id: Any) -> Stored:
        kind, key, location, count = _storage_id(id)
        if key not in loaded:
            data = archive.read(f"data/{key}")
            size = count * kind.dtype.itemsize
            if data.size < size:
                raise BadFile(f"load: storage {key!r} has {data.size} bytes instead of {size}")
            if skips():
                data = np.zeros(size, np.uint8)
            flat = tensor_on(_ordered(data[:size], kind.dtype, order == b"big"), kind.dtype, (count,))
            loaded[key] = Stored(place(flat, location), kind.dtype)
        return Stored(loaded[key].flat, kind.dtype)

    return _walker(trusted, persistent).load(BytesIO(archive.read("data.pkl").tobytes()))


def _storage_id(id: Any) -> tuple[Storage, str, str, int]:
    if not (isinstance(id, tuple) and len(id) >= 5 and id[0] == "storage" and isinstance(id[1], Storage)):
        raise BadFile(f"load: the file refers to {id!r:.100}, which is no storage")
    count = int(id[4])
    if count < 0:
        raise BadFile(f"load: a storage of {count} elements")
    return id[1], str(id[2]), str(id[3]), count


def _ordered(data: np.ndarray, dtype: Any, swapped: bool) -> np.ndarray:
    if not swapped or dtype.itemsize == 1:
        return data
    size = dtype.itemsize // (2 if dtype.is_complex else 1)
    return np.ascontiguousarray(data.reshape(-1, size)[:, ::-1]).reshape(-1)


# --------------------------------------------------------------------------------------------------- legacy
def read_legacy(data: np.ndarray, place: Place, trusted: bool = False) -> Any:
    """The object of a file that PyTorch wrote before it wrote zips; trusted as for read_zip."""
    file = BytesIO(memoryview(data))
    plain = Walker(lambda module, name: find(module, name), lambda id: None)
    magic = plain.load(file)
    if magic != MAGIC_NUMBER or Walker(find, lambda id: None).load(file) != PROTOCOL_VERSION:
        raise BadFile("load: the file is of no version of PyTorch's that weft knows")
    system = Walker(find, lambda id: None).load(file)
    if not (isinstance(system, dict) and system.get("little_endian", True)):
        raise BadFile("load: the file was written with the other byte order")
    loaded: dict[str, Stored] = {}
    locations: dict[str, str] = {}
    claimed = 0

    def persistent(id: Any) -> Any:
        nonlocal claimed
        if isinstance(id, tuple) and id and id[0] == "module":
            return id[1]  # with the source of its class, for warnings
        kind, key, location, count = _storage_id(id)
        if key not in loaded:
            claimed += count * kind.dtype.itemsize
            if claimed > data.size:
                raise BadFile(f"load: its storages are larger than the file: {claimed} bytes")
            loaded[key] = Stored(aten.empty(count, dtype=kind.dtype), kind.dtype)
            locations[key] = location
        view = id[5] if len(id) > 5 else None
        if view is None:
            return loaded[key]
        _, offset, size = view
        return Stored(loaded[key].flat.narrow(0, int(offset), int(size)), kind.dtype)

    result = _walker(trusted, persistent).load(file)
    keys = Walker(find, lambda id: None).load(file)
    if not isinstance(keys, list) or any(str(key) not in loaded for key in keys):
        raise BadFile("load: the file's list of storages does not fit its pickle")
    for key in map(str, keys):
        flat = loaded[key].flat
        head = file.read(8)
        size = flat.numel() * flat.dtype.itemsize
        body = file.read(size)
        if len(head) < 8 or struct.unpack("<q", head)[0] != flat.numel() or len(body) < size:
            raise BadFile(f"load: storage {key!r} is cut off or of another size")
        flat.copy_(tensor_on(np.frombuffer(body, np.uint8), flat.dtype, (flat.numel(),)))
    if any(place(s.flat, locations[k]).device.type != "cpu" for k, s in loaded.items()):
        raise BadFile("load: tensors of files from before PyTorch 1.6 can be loaded to the CPU alone")
    return result


__all__ = ["LEGACY_START", "ZIP_START", "Archive", "find", "read_legacy", "read_zip", "refused_names"]
