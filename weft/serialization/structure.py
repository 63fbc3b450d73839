"""Containers of tensors, and objects with their state, as JSON: what `save` writes beside the tensors of a safetensors file.

A plain value is itself, anything else a list [tag, …]. Tensors that share memory share it again after loading.
"""

from __future__ import annotations

import base64
import collections
from collections.abc import Callable
from typing import Any

import numpy as np

import aten
from aten import Tensor
from aten.sparse.conversion import sparse_compressed_tensor, sparse_coo_tensor
from aten.sparse.tensor import SparseTensor
from weft.serialization import objects
from weft.serialization.safe_globals import make

KEY = "weft.structure"


class Packer:
    """`form = Packer(); text = form.pack(obj)`; then `form.tensors` are the tensors by name."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.seen: dict[int, str] = {}  # id of a tensor: its name
        self.kept: list[Any] = []  # so that ids stay theirs
        self.places: dict[tuple[str, int], list[tuple[str, Tensor]]] = {}  # device and address of a storage: tensors on it
        self.open: set[int] = set()
        self.objects: dict[int, int] = {}  # id of an object of a class: its number

    def pack(self, value: Any, path: str = "") -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value if value == value and value not in (float("inf"), -float("inf")) else ["float", repr(value)]
        if isinstance(value, Tensor):
            return self._tensor(value, path)
        simple = _simple(value)
        if simple is not None:
            return simple
        if type(value) not in _CONTAINERS and not (isinstance(value, tuple) and _made_by_namedtuple(type(value))):
            return self._object(value, path)
        if id(value) in self.open:
            raise ValueError(f"save: obj{_at(path)} contains itself")
        self.open.add(id(value))
        try:
            return self._container(value, path)
        finally:
            self.open.discard(id(value))

    def _container(self, value: Any, path: str) -> Any:
        if type(value) in (dict, collections.OrderedDict):
            pairs = [[self.pack(k, f"{path}.key"), self.pack(v, _join(path, k))] for k, v in value.items()]
            form = ["dict" if type(value) is dict else "ordered", pairs]
            attributes = getattr(value, "_metadata", None)  # of a module's state dict: versions of its parts
            return form if attributes is None else [*form, self.pack(dict(attributes), _join(path, "_metadata"))]
        if type(value) in (list, tuple, set, frozenset):
            return [type(value).__name__, [self.pack(v, _join(path, i)) for i, v in enumerate(value)]]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            items = [self.pack(v, _join(path, name)) for name, v in zip(value._fields, value)]
            return ["namedtuple", type(value).__name__, list(value._fields), items]
        raise AssertionError(value)

    def _object(self, value: Any, path: str) -> Any:
        """An object of a class; it may contain itself, by its number."""
        if id(value) in self.objects:
            return ["seen", self.objects[id(value)]]
        try:
            if objects.is_named(value):
                return ["named", *objects.name_of(value)]
            made = objects.parts(value)
            maker = objects.name_of(made.maker)
        except TypeError as error:
            raise TypeError(
                f"save: obj{_at(path)} is a {type(value).__name__}, and {error}; tensors, numbers, strings, bytes, None, dtypes, "
                "devices, dicts, lists, tuples, sets, and objects that are their class and state can be saved"
            ) from None
        number = self.objects[id(value)] = len(self.objects)
        self.kept.append(value)
        args = [self.pack(a, _join(path, i)) for i, a in enumerate(made.args)]
        items = [self.pack(v, _join(path, i)) for i, v in enumerate(made.items)]
        pairs = [[self.pack(k, f"{path}.key"), self.pack(v, _join(path, k))] for k, v in made.pairs]
        state = self.pack(made.state, path)
        return ["object", number, *maker, args, items, pairs, state]

    def _tensor(self, t: Tensor, path: str) -> Any:
        if isinstance(t, SparseTensor):
            parts = [self._tensor(part.detach(), _join(path, i)) for i, part in enumerate(t._pieces())]
            return ["sparse", t.layout.name, list(t.shape), bool(t.requires_grad), parts]  # type: ignore[attr-defined]
        if type(t) not in (Tensor, aten.Parameter):
            return self._subclass(t, path)
        if id(t) in self.seen:
            return ["same", self.seen[id(t)]]
        name = self._name(path)
        self.seen[id(t)] = name
        self.kept.append(t)
        if t.numel():
            self.places.setdefault((str(t.device), t.untyped_storage().data_ptr()), []).append((name, t))
        self.tensors[name] = t
        form = ["tensor", name, type(t) is not Tensor and isinstance(t, aten.Parameter), bool(t.requires_grad)]
        attributes = getattr(t, "__dict__", None)
        return [*form, self.pack(dict(attributes), f"{path}.attributes")] if attributes else form

    def _subclass(self, t: Tensor, path: str) -> Any:
        """A tensor of a class of its own: the plain tensor, the class and the attributes."""
        if type(t).__reduce_ex__ is not Tensor.__reduce_ex__:
            return self._object(t, path)
        if id(t) in self.objects:
            return ["seen", self.objects[id(t)]]
        cls = objects.name_of(type(t))
        number = self.objects[id(t)] = len(self.objects)
        plain = t.as_subclass(Tensor).detach()
        self.kept += [t, plain]
        form = self._tensor(plain, path)
        return ["subclass", number, *cls, form, bool(t.requires_grad), self.pack(dict(getattr(t, "__dict__", {})), path)]

    def _name(self, path: str) -> str:
        name, count = path or "tensor", 1
        while name in self.tensors or name == "__metadata__":
            name, count = f"{path or 'tensor'}#{count}", count + 1
        return name

    def finish(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """(what the file holds, how the tensors of the structure are made of that where it is not the same)."""
        stored, made = dict(self.tensors), {}
        for group in self.places.values():
            if len(group) == 1:
                continue
            memory = group[0][1].untyped_storage()
            base = self._name("memory")
            flat = aten.empty(0, dtype=aten.uint8, device=group[0][1].device).set_(memory, 0, (memory.nbytes(),), (1,))
            stored[base] = self.tensors[base] = flat
            for name, t in group:
                del stored[name]
                made[name] = ["view", base, t.dtype.name, list(t.shape), list(t.stride()), t.storage_offset()]
        for name, t in list(stored.items()):
            if not t.is_contiguous() and not t.dtype.is_complex and _fills_its_memory(t):
                made[name] = ["laid", list(t.stride())]
            if t.dtype.is_complex:
                stored[name] = aten.view_as_real(t.detach().resolve_conj())
                made[name] = ["complex", t.dtype.name]
        return stored, made


class Unpacker:
    """find(module, name): the class or function of that name, if the reader allows it."""

    def __init__(self, tensors: dict[str, Tensor], made: dict[str, Any], find: Callable[[str, str], Any]) -> None:
        self.tensors, self.made, self.find = tensors, made, find
        self.ready: dict[str, Tensor] = {}
        self.objects: dict[int, Any] = {}

    def unpack(self, form: Any) -> Any:
        if not isinstance(form, list):
            return form
        tag, *rest = form
        if tag in ("tensor", "same"):
            return self._tensor(*rest) if tag == "tensor" else self.ready[rest[0]]
        if tag in ("dict", "ordered"):
            result: Any = {} if tag == "dict" else collections.OrderedDict()
            for k, v in rest[0]:
                result[self.unpack(k)] = self.unpack(v)
            if len(rest) > 1:
                result._metadata = collections.OrderedDict(self.unpack(rest[1]))
            return result
        if tag in _SEQUENCES:
            return _SEQUENCES[tag](self.unpack(v) for v in rest[0])
        if tag == "namedtuple":
            name, fields, items = rest
            return collections.namedtuple(name, fields)(*map(self.unpack, items))  # type: ignore[misc]
        if tag == "named":
            return self.find(*rest)
        if tag == "seen":
            return self.objects[rest[0]]
        if tag == "object":
            return self._object(*rest)
        if tag == "subclass":
            return self._subclass(*rest)
        if tag == "sparse":
            return self._sparse(*rest)
        return _SIMPLE[tag](*rest)

    def _object(self, number: int, module: str, name: str, args: list, items: list, pairs: list, state: Any) -> Any:
        maker = self.find(module, name)
        made = self.objects[number] = make(maker, tuple(map(self.unpack, args)))
        for item in items:
            made.append(self.unpack(item))
        for key, value in pairs:
            made[self.unpack(key)] = self.unpack(value)
        if state is not None:
            objects.set_state(made, self.unpack(state))
        return made

    def _subclass(self, number: int, module: str, name: str, form: Any, requires_grad: bool, attributes: Any) -> Any:
        cls = self.find(module, name)
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise TypeError(f"a tensor of {module}.{name}")
        made = self.objects[number] = aten._native.make_subclass(cls, self.unpack(form), requires_grad)
        for key, value in self.unpack(attributes).items():
            setattr(made, key, value)
        return made

    def _sparse(self, layout: str, size: list[int], requires_grad: bool, forms: list[Any]) -> Tensor:
        """Through the functions that check that the parts fit each other."""
        parts = [self.unpack(form) for form in forms]
        if layout == "sparse_coo":
            return sparse_coo_tensor(*parts, size, requires_grad=requires_grad)
        kind = {k: getattr(aten, k) for k in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")}[layout]
        return sparse_compressed_tensor(*parts, size, layout=kind, requires_grad=requires_grad)

    def _tensor(self, name: str, parameter: bool, requires_grad: bool, attributes: Any = None) -> Tensor:
        how = self.made.get(name)
        if how is None:
            t = self.tensors[name]
        elif how[0] == "laid":
            found = self.tensors[name]
            t = aten.empty_strided(found.shape, how[1], dtype=found.dtype, device=found.device).copy_(found)
        elif how[0] == "complex":
            t = aten.view_as_complex(self.tensors[name])
        else:
            _, base, dtype, sizes, strides, offset = how
            memory = self.tensors[base].untyped_storage()
            empty = aten.empty(0, dtype=getattr(aten, dtype), device=self.tensors[base].device)
            t = empty.set_(memory, offset, tuple(sizes), tuple(strides))
        t = aten.Parameter(t, requires_grad) if parameter else t.requires_grad_(requires_grad)
        self.ready[name] = t
        for key, value in self.unpack(attributes).items() if attributes else ():
            setattr(t, key, value)
        return t


def _fills_its_memory(t: Tensor) -> bool:
    """Whether the elements lie one behind the other, in whatever order of the dims."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(t.stride(), t.shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _simple(value: Any) -> Any:
    """The form of a value that contains no other; None for others."""
    kind = type(value)
    if kind is complex:
        return ["complex", repr(value.real), repr(value.imag)]
    if kind in (bytes, bytearray):
        return [kind.__name__, base64.b64encode(value).decode()]
    if kind is aten.Size:
        return ["size", list(value)]
    if isinstance(value, aten.DType):
        return ["dtype", value.name]
    if isinstance(value, aten.Device):
        return ["device", str(value)]
    if isinstance(value, (np.bool_, np.number)):
        return ["numpy", value.dtype.name, base64.b64encode(value.tobytes()).decode()]
    if kind is np.ndarray and not value.dtype.hasobject and not value.dtype.names:
        order = "F" if value.flags.fnc else "C"
        return ["array", value.dtype.str, list(value.shape), order, base64.b64encode(value.tobytes(order)).decode()]
    if isinstance(value, aten.Layout):
        return ["layout", value.name]  # type: ignore[attr-defined]
    if value is Ellipsis:
        return ["ellipsis"]
    if kind is range:
        return ["range", value.start, value.stop, value.step]
    return None


def _array(data: bytes, dtype: str, shape: list[int], order: Any) -> np.ndarray:
    return np.frombuffer(data, dtype).reshape(shape, order=order).copy(order)


def _made_by_namedtuple(cls: type) -> bool:
    return hasattr(cls, "_fields") and cls.__bases__ == (tuple,)


_CONTAINERS = (dict, collections.OrderedDict, list, tuple, set, frozenset)
_SEQUENCES: dict[str, Callable] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_SIMPLE: dict[str, Callable] = {
    "float": float,
    "complex": lambda real, imag: complex(float(real), float(imag)),
    "bytes": base64.b64decode,
    "bytearray": lambda text: bytearray(base64.b64decode(text)),
    "size": lambda sizes: aten.Size(sizes),
    "dtype": lambda name: getattr(aten, name) if isinstance(getattr(aten, name), aten.DType) else None,
    "device": lambda name: aten.Device(name),
    "numpy": lambda dtype, text: np.frombuffer(base64.b64decode(text), dtype)[0],
    "array": lambda dtype, shape, order, text: _array(base64.b64decode(text), dtype, shape, order),
    "layout": lambda name: getattr(aten, name) if isinstance(getattr(aten, name), aten.Layout) else None,
    "ellipsis": lambda: Ellipsis,
    "range": range,
}


def _join(path: str, key: Any) -> str:
    text = str(key) if isinstance(key, (str, int)) else "?"
    return f"{path}.{text}" if path else text


def _at(path: str) -> str:
    return f".{path}" if path else ""
