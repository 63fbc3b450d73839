"""Writes PyTorch's zip files, of what `torch.load(weights_only=True)` reads there; objects of classes (objects.py) are for weft."""

from __future__ import annotations

import codecs
import collections
import copyreg
import io
import pickle
import types
import zipfile
from typing import Any

import numpy as np

import aten
from aten import Tensor
from aten.sparse.tensor import SparseTensor
from weft.serialization import objects
from weft.serialization.config import skips
from weft.serialization.places import location_tag
from weft.serialization.safe_globals import STORAGES

_STORAGE_OF = {dtype: name for name, dtype in STORAGES.items() if name != "UntypedStorage"}
_ELLIPSIS = type(Ellipsis)
_PLAIN = (type(None), _ELLIPSIS, bool, int, float, str, bytes, bytearray, complex, dict, list, tuple, set, collections.OrderedDict)
_NUMBERS = frozenset(t for t in np.sctypeDict.values() if issubclass(t, (np.number, np.bool_)))
_BUILTINS = (dict, list, set, complex, bytearray, collections.OrderedDict)
_ALIGN = 64


class _Name:
    """A function or class by its name: written as that, never imported."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *args: Any) -> None:
        raise TypeError("a name")


class _Storage:
    """What a tensor's first argument is written as: a reference to a record."""

    def __init__(self, key: str, dtype: str, location: str, count: int) -> None:
        self.id = ("storage", _Name("torch", dtype), key, location, count)


_PythonPickler: Any = pickle._Pickler  # type: ignore[attr-defined]  # the one in Python: it can be told to write names


class _Writer(_PythonPickler):
    write: Any
    memoize: Any
    save: Any
    dispatch = _PythonPickler.dispatch.copy()

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=2)
        self.storages: dict[Any, tuple[str, Tensor]] = {}
        self.kept: list[Any] = []
        self.names: dict[tuple[str, str], _Name] = {}

    def name(self, module: str, name: str) -> _Name:
        return self.names.setdefault((module, name), _Name(module, name))

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, _Storage):
            return None
        kind = obj.id[1]
        return (*obj.id[:1], self.name(kind.module, kind.name), *obj.id[2:])  # type: ignore[attr-defined]

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor) and type(obj).__reduce_ex__ is Tensor.__reduce_ex__:
            return self._with_attributes(obj, *self._tensor(obj))
        if type(obj) is np.ndarray and not obj.dtype.hasobject and not obj.dtype.names:
            order = "F" if obj.flags.fnc else "C"
            state = 1, obj.shape, obj.dtype, order == "F", obj.tobytes(order)
            start = self.name("numpy", "ndarray"), (0,), b"b"
            return self.name("numpy._core.multiarray", "_reconstruct"), start, state
        if isinstance(obj, SparseTensor):
            parts = [part.detach() for part in obj._pieces()]
            self.kept += parts
            flags = [obj.is_coalesced()] if obj.is_sparse else []
            return self.name("torch._utils", "_rebuild_sparse_tensor"), (obj.layout, (*parts, obj.shape, *flags))  # type: ignore[attr-defined]
        if isinstance(obj, aten.Layout):
            return self.name("torch.serialization", "_get_layout"), (f"torch.{obj.name}",)
        if isinstance(obj, aten.Size):
            return self.name("torch", "Size"), (tuple(obj),)
        if isinstance(obj, aten.Device):
            return self.name("torch", "device"), ((obj.type,) if obj.index is None else (obj.type, obj.index))
        if isinstance(obj, (_Name, aten.DType)) or type(obj) in _PLAIN or type(obj) in _NUMBERS or obj is codecs.encode:
            return NotImplemented  # (with codecs.encode pickle writes bytes)
        if objects.is_named(obj):
            return NotImplemented  # save_global
        try:
            made = objects.parts(obj)
        except TypeError as error:
            raise TypeError(f"save: a {type(obj).__name__} cannot be saved: {error}") from None
        items, pairs = iter(made.items) if made.items else None, iter(made.pairs) if made.pairs else None
        if made.maker is type(obj):
            return copyreg.__newobj__, (made.maker, *made.args), made.state, items, pairs  # type: ignore[attr-defined]
        return made.maker, made.args, made.state, items, pairs

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A class or function as its name, also one inside of a class."""
        if obj is codecs.encode or obj in _BUILTINS:
            super().save_global(obj, name)
            return
        try:
            if obj.__module__ == "builtins" and isinstance(obj, type):
                raise TypeError(f"the class {obj.__name__} cannot be written to PyTorch's format")
            self.save_name(_Name(*objects.name_of(obj)), obj)
        except TypeError as error:
            raise TypeError(f"save: {error}") from None

    def _with_attributes(self, t: Tensor, maker: _Name, args: tuple) -> Any:
        attributes = dict(getattr(t, "__dict__", None) or {})
        if not attributes or type(t) not in (Tensor, aten.Parameter):
            return maker, args
        self.kept += [attributes, args]
        if type(t) is aten.Parameter:
            return self.name("torch._utils", "_rebuild_parameter_with_state"), (*args, attributes)
        kind = self.name("torch", "Tensor")
        return self.name("torch._tensor", "_rebuild_from_type_v2"), (maker, kind, args, attributes)

    def _tensor(self, t: Tensor) -> Any:
        if type(t) is not Tensor and isinstance(t, aten.Parameter):
            data = t.detach()
            self.kept.append(data)
            return self.name("torch._utils", "_rebuild_parameter"), (data, bool(t.requires_grad), collections.OrderedDict())
        source = t.detach().resolve_conj()
        source = source if source.device.type == "cuda" else source.cpu()
        self.kept.append(source)
        memory, device = source.untyped_storage(), source.device
        key = (str(device), memory.data_ptr() if memory.nbytes() else -1 - len(self.storages))
        if key not in self.storages:
            flat = aten.empty(0, dtype=aten.uint8, device=device).set_(memory, 0, (memory.nbytes(),), (1,))
            self.storages[key] = str(len(self.storages)), flat
        record, dtype = self.storages[key][0], t.dtype.name
        hooks: collections.OrderedDict = collections.OrderedDict()
        shape = source.storage_offset(), tuple(source.shape), tuple(source.stride()), bool(t.requires_grad), hooks
        if dtype in _STORAGE_OF:
            stored = _Storage(record, _STORAGE_OF[dtype], location_tag(memory), memory.nbytes() // t.dtype.itemsize)
            self.kept.append(stored)
            return self.name("torch._utils", "_rebuild_tensor_v2"), (stored, *shape)
        stored = _Storage(record, "UntypedStorage", location_tag(memory), memory.nbytes())
        stored.id = (*stored.id[:1], _Name("torch.storage", "UntypedStorage"), *stored.id[2:])  # type: ignore[assignment]
        self.kept.append(stored)
        return self.name("torch._utils", "_rebuild_tensor_v3"), (stored, *shape, t.dtype)

    def save_name(self, obj: Any, of: Any = None) -> None:
        module, name = ("torch", obj.name) if isinstance(obj, aten.DType) else (obj.module, obj.name)
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj if of is None else of)

    def save_number(self, obj: Any) -> None:
        """A scalar of NumPy as Python's number: by default torch.load refuses the function that makes the former."""
        self.save(obj.item())

    def save_bytes(self, obj: bytes) -> None:
        if obj:
            _PythonPickler.save_bytes(self, obj)
        else:  # pickle would call the class, which readers do not
            self.save_reduce(codecs.encode, ("", "latin1"), obj=obj)  # type: ignore[attr-defined]

    dispatch[bytes] = save_bytes

    def save_ellipsis(self, obj: Any) -> None:
        self.write(pickle.GLOBAL + b"__builtin__\nEllipsis\n")

    dispatch[_ELLIPSIS] = save_ellipsis
    dispatch.update(dict.fromkeys(_NUMBERS, save_number))
    dispatch[_Name] = save_name
    dispatch[types.FunctionType] = save_global
    dispatch[aten.DType] = save_name


def write_zip(obj: Any, file: Any, root: str) -> None:
    """Writes `obj` to the open binary file. Raises TypeError naming what cannot be saved."""
    text = io.BytesIO()
    writer = _Writer(text)
    writer.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:

        def record(name: str, data: Any) -> None:
            info = zipfile.ZipInfo(f"{root}/{name}")
            start = archive.fp.tell() + 30 + len(info.filename.encode())  # type: ignore[union-attr]
            padding = -(start + 4) % _ALIGN  # storages lie on multiples of 64, for those who map the file
            info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
            archive.writestr(info, data)

        record("data.pkl", text.getvalue())
        record("byteorder", b"little")
        for key, flat in writer.storages.values():
            data = np.zeros(flat.numel(), np.uint8) if skips() else np.ascontiguousarray(flat.cpu().numpy())
            record(f"data/{key}", memoryview(data))
        record("version", b"3\n")
