"""Storages as PyTorch has them: the bytes that tensors share (UntypedStorage), and the old view of them as elements of one dtype
(TypedStorage, FloatStorage …)."""

from __future__ import annotations

import copy
import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten._native import DType, Tensor, UntypedStorage
from aten.errors import warn_caller
from aten.tensor import attach, tensor

# ------------------------------------------------------------------------------------------------ untyped


def elements(storage: UntypedStorage, dtype: DType = dtypes.uint8) -> Tensor:
    """A one-dimensional tensor on the storage's memory."""
    return _native.tensor_on(storage, dtype, [storage.nbytes() // dtype.itemsize], [1], 0)


def _index(self: UntypedStorage, key: Any) -> int:
    if not isinstance(key, int):
        raise TypeError(f"can't index a {type(self)} with {type(key)}")
    size = self.nbytes()
    if not -size <= key < size:
        raise IndexError(f"index {key} out of range for storage of size {size}")
    return key


def _get(self: UntypedStorage, key: Any) -> Any:
    if self.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device")
    if isinstance(key, slice):
        start, stop, step = key.indices(self.nbytes())
        if step != 1:
            raise RuntimeError("Trying to slice with a step of " + str(step) + ", but only a step of 1 is supported")
        return elements(self)[start : max(start, stop)].clone().untyped_storage()
    return int(elements(self)[_index(self, key)])


def _set(self: UntypedStorage, key: Any, value: Any) -> None:
    if self.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device")
    elements(self)[key if isinstance(key, slice) else _index(self, key)] = value


def _clone(self: UntypedStorage) -> UntypedStorage:
    return elements(self).clone().untyped_storage() if self.nbytes() else UntypedStorage(0, device=self.device)


def _copy_from(self: UntypedStorage, source: Any, non_blocking: bool = False) -> UntypedStorage:
    """The bytes of another storage of the same length."""
    elements(self).copy_(elements(source if isinstance(source, UntypedStorage) else source._untyped()))
    return self


def _fill(self: UntypedStorage, value: int) -> UntypedStorage:
    """Every byte becomes `value`."""
    elements(self).fill_(value)
    return self


def _untyped_deepcopy(self: UntypedStorage, memo: dict[int, Any]) -> UntypedStorage:
    if id(self) not in memo:
        memo[id(self)] = _clone(self)
    return memo[id(self)]


def _untyped_tolist(self: UntypedStorage) -> list[int]:
    return elements(self).tolist()


def _untyped_repr(self: UntypedStorage) -> str:
    numbers = "\n".join(f" {b}" for b in ([] if self.device.type == "meta" else _untyped_tolist(self)))
    return f"{numbers}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _byteswap(self: UntypedStorage, dtype: DType) -> None:
    """The other order of bytes for every element of `dtype`, in place."""
    part = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    grouped = elements(self).view(-1, part)
    grouped.copy_(grouped.flip(1).clone())


def rebuild(data: bytes) -> UntypedStorage:
    """A storage of these bytes: how one is unpickled."""
    return tensor(list(data), dtype=dtypes.uint8).untyped_storage() if data else UntypedStorage(0)


def _untyped_reduce(self: UntypedStorage, protocol: int) -> Any:
    return rebuild, (bytes(_untyped_tolist(self)),)


def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
    """The bytes of a file, mapped: with `shared` writes reach the file, which is made, or made longer, where it must."""
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(file.tell(), nbytes))
    with open(filename, "r+b" if shared else "rb") as file:
        mapped = mmap.mmap(file.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    return _native.from_numpy(np.frombuffer(mapped, np.uint8)).untyped_storage()


def _unchanged(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self


def _wrap(dtype: DType) -> Any:
    def typed(self: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=elements(self).to(dtype).untyped_storage(), dtype=dtype, _internal=True)

    return typed


for _name, _fn in {
    "__getitem__": _get,
    "__setitem__": _set,
    "__iter__": lambda self: iter(_untyped_tolist(self)),
    "__copy__": _clone,
    "__deepcopy__": _untyped_deepcopy,
    "__reduce_ex__": _untyped_reduce,
    "__repr__": _untyped_repr,
    "__str__": _untyped_repr,
    "clone": _clone,
    "copy_": _copy_from,
    "fill_": _fill,
    "tolist": _untyped_tolist,
    "byteswap": _byteswap,
    "element_size": lambda self: 1,
    "cpu": lambda self: self if self.device.type == "cpu" else elements(self).cpu().untyped_storage(),
    "cuda": lambda self, device=None, non_blocking=False: elements(self).cuda(device).untyped_storage(),
    "untyped": _unchanged,
    "share_memory_": _unchanged,
    "is_shared": lambda self: False,
    "type": lambda self, dtype=None, non_blocking=False: "torch.storage.UntypedStorage" if dtype is None else dtype(self),
    "is_cuda": property(lambda self: self.device.type == "cuda"),
    "is_cpu": property(lambda self: self.device.type == "cpu"),
    "is_hpu": property(lambda self: False),
    "is_sparse": False,
    "is_sparse_csr": False,
    "from_file": staticmethod(from_file),
    "_cdata": property(hash),
    "_untyped": _unchanged,
    "new": lambda self: UntypedStorage(0, device=self.device),
    "__sizeof__": lambda self: object.__sizeof__(self) + self.nbytes(),
}.items():
    setattr(UntypedStorage, _name, _fn)
_CONVERSIONS = {
    "bool": "bool", "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16",
    "bfloat16": "bfloat16", "float": "float32", "double": "float64", "complex_float": "complex64", "complex_double": "complex128",
    **{dtype.name: dtype.name for dtype in dtypes.FLOAT8},
}  # fmt: skip
for _name, _dtype in _CONVERSIONS.items():
    setattr(UntypedStorage, _name, _wrap(getattr(dtypes, _dtype)))

# -------------------------------------------------------------------------------------------------- typed
_CLASSES = {
    "bool": "BoolStorage", "uint8": "ByteStorage", "int8": "CharStorage", "int16": "ShortStorage", "int32": "IntStorage",
    "int64": "LongStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage", "float32": "FloatStorage",
    "float64": "DoubleStorage", "complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage",
}  # fmt: skip


def _warn_typed_storage_removal() -> None:
    warn_caller(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. To access "
        "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()",
        once=True,
    )


class TypedStorage:
    """The elements of a storage, of one dtype: TypedStorage(dtype=…), of a size, of data, or on a storage (`wrap_storage`)."""

    is_sparse = False
    _fixed: DType | None = None  # of FloatStorage and its like

    def __init__(self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False):
        if not _internal:
            _warn_typed_storage_removal()
        name = type(self).__name__
        if self._fixed is not None:
            if dtype is not None:
                raise RuntimeError(f"{name}(): keyword argument 'dtype' cannot be specified")
            if device is not None:
                raise RuntimeError(f"{name}(): keyword argument 'device' cannot be specified")
            dtype = self._fixed
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        if not isinstance(self.dtype, DType):
            raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(dtype)}")
        if wrap_storage is not None:
            if args:
                raise RuntimeError("No positional arguments should be given when using 'wrap_storage'")
            if self._fixed is None and dtype is None:
                raise RuntimeError("Argument 'dtype' must be specified")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
            self._untyped_storage = wrap_storage
            return
        self._untyped_storage = self._make(args, device)

    def _make(self, args: tuple[Any, ...], device: Any) -> UntypedStorage:
        if len(args) > 1:
            raise RuntimeError(f"Too many positional arguments given, expected at most 1, got {len(args)}")
        given = args[0] if args else 0
        if isinstance(given, int):
            return UntypedStorage(given * self.dtype.itemsize, device=device)
        if isinstance(given, TypedStorage):
            return given._untyped_storage
        if isinstance(given, UntypedStorage):
            return given
        if isinstance(given, Sequence):
            return tensor(list(given), dtype=self.dtype, device=device).untyped_storage()
        raise TypeError(f"Argument type not recognized: {type(given)}")

    # ---- as the elements
    def _tensor(self) -> Tensor:
        return elements(self._untyped_storage, self.dtype)

    def _check(self, key: Any) -> Any:
        size = self._size()
        if isinstance(key, slice):
            return key
        if not isinstance(key, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(key)}")
        if not -size <= key < size:
            raise IndexError(f"index {key} out of range for storage of size {size}")
        return key

    def __getitem__(self, key: Any) -> Any:
        _warn_typed_storage_removal()
        return self._getitem(key)

    def _getitem(self, key: Any) -> Any:
        if self.device.type == "meta":  # which has no elements
            raise NotImplementedError(f"Not available for '{self.device.type}' device")
        if isinstance(key, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._tensor()[self._check(key)].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        _warn_typed_storage_removal()
        self._setitem(key, value)

    def _setitem(self, key: Any, value: Any) -> None:
        if self.device.type == "meta":
            raise NotImplementedError(f"Not available for '{self.device.type}' device")
        self._tensor()[self._check(key)] = value

    def __len__(self) -> int:
        _warn_typed_storage_removal()
        return self._size()

    def __iter__(self) -> Iterator[Any]:
        _warn_typed_storage_removal()
        return iter(self._tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._untyped_storage == other._untyped_storage

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        _warn_typed_storage_removal()
        info = f"[{type(self).__module__}.{type(self).__name__}(dtype={self.dtype}, device={self.device}) of size {self._size()}]"
        if self.device.type == "meta":
            return "...\n" + info
        return "\n".join(f" {x}" for x in self._tolist()) + "\n" + info

    __str__ = __repr__

    def _size(self) -> int:
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def _tolist(self) -> list[Any]:
        return self._tensor().tolist()

    def _untyped(self) -> UntypedStorage:
        return self._untyped_storage

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        _warn_typed_storage_removal()
        return self._untyped_storage

    @property
    def device(self) -> Any:
        """Where the bytes are."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether they are on a GPU."""
        return self.device.type == "cuda"

    @property
    def filename(self) -> None:
        """The file that is mapped, if known."""
        return None

    @property
    def _cdata(self) -> int:
        return hash(self._untyped_storage)

    def _pickle_storage_type(self) -> str:
        try:
            return _CLASSES[self.dtype.name]
        except KeyError:
            raise KeyError(f"dtype {self.dtype} is not recognized") from None

    def pickle_storage_type(self) -> str:
        """The name of the class of storages of this dtype."""
        _warn_typed_storage_removal()
        return self._pickle_storage_type()

    def _deepcopy(self, memo: dict[int, Any]) -> TypedStorage:
        return self.__deepcopy__(memo)

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return self._like(copy.deepcopy(self._untyped_storage, memo))

    def __reduce__(self) -> Any:
        return _rebuild_typed, (type(self), rebuild(bytes(self._untyped_storage.tolist())), self.dtype)

    def _like(self, untyped: UntypedStorage) -> TypedStorage:
        return _rebuild_typed(type(self), untyped, self.dtype)

    def _to(self, dtype: DType) -> TypedStorage:
        return TypedStorage(wrap_storage=self._tensor().to(dtype).clone().untyped_storage(), dtype=dtype, _internal=True)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """`size` elements of a file, mapped."""
        _warn_typed_storage_removal()
        if cls._fixed is None:
            raise RuntimeError("from_file can only be called on derived classes")
        return _rebuild_typed(cls, from_file(filename, shared, size * cls._fixed.itemsize), cls._fixed)


def _rebuild_typed(cls: type[TypedStorage], untyped: UntypedStorage, dtype: DType) -> TypedStorage:
    if cls._fixed is not None:
        return cls(wrap_storage=untyped, _internal=True)
    return cls(wrap_storage=untyped, dtype=dtype, _internal=True)


def _copy_elements(self: TypedStorage, source: Any, non_blocking: bool | None = None) -> TypedStorage:
    self._tensor().copy_(source._tensor() if isinstance(source, TypedStorage) else elements(source, self.dtype))
    return self


def _fill_elements(self: TypedStorage, value: Any) -> TypedStorage:
    self._tensor().fill_(value)
    return self


def _resize_elements(self: TypedStorage, size: int) -> TypedStorage:
    self._untyped_storage.resize_(size * self.dtype.itemsize)
    return self


def _typed_type(self: TypedStorage, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is None:
        return f"torch.{self._pickle_storage_type()}"
    return self._to(dtype) if isinstance(dtype, DType) else dtype(wrap_storage=self._untyped_storage, _internal=True)


_TYPED: dict[str, Any] = {
    "size": TypedStorage._size,
    "nbytes": lambda self: self._untyped_storage.nbytes(),
    "data_ptr": lambda self: self._untyped_storage.data_ptr(),
    "element_size": lambda self: self.dtype.itemsize,
    "tolist": TypedStorage._tolist,
    "clone": lambda self: self._like(self._untyped_storage.clone()),
    "copy_": _copy_elements,
    "fill_": _fill_elements,
    "resize_": _resize_elements,
    "type": _typed_type,
    "cpu": lambda self: self if self.device.type == "cpu" else self._like(self._untyped_storage.cpu()),
    "cuda": lambda self, device=None, non_blocking=False: self._like(self._untyped_storage.cuda(device)),
    "pin_memory": lambda self, device=None: self._like(self._untyped_storage.pin_memory()),
    "share_memory_": _unchanged,
    "is_pinned": lambda self, device=None: self._untyped_storage.is_pinned(),
    "is_shared": lambda self: False,
    "get_device": lambda self: self._untyped_storage.get_device(),
    "resizable": lambda self: self._untyped_storage.resizable(),
    "__sizeof__": lambda self: object.__sizeof__(self) + self.nbytes(),
    **{name: (lambda dtype: lambda self: self._to(dtype))(getattr(dtypes, d)) for name, d in _CONVERSIONS.items()},
}


def _declare(name: str, fn: Any) -> None:
    def method(self: TypedStorage, *args: Any, **kwargs: Any) -> Any:
        _warn_typed_storage_removal()
        return fn(self, *args, **kwargs)

    method.__name__ = name
    setattr(TypedStorage, name, method)
    if not hasattr(TypedStorage, "_" + name):
        setattr(TypedStorage, "_" + name, lambda self, *args, **kwargs: fn(self, *args, **kwargs))


for _name, _fn in _TYPED.items():
    _declare(_name, _fn)
TypedStorage.__module__ = "torch.storage"

typed_classes: dict[str, type[TypedStorage]] = {
    name: type(name, (TypedStorage,), dict.fromkeys(("_fixed", "dtype", "_dtype"), getattr(dtypes, dtype)) | {"__module__": "weft"})
    for dtype, name in _CLASSES.items()
}

# --------------------------------------------------------------------------------------------- of tensors


def _typed_storage(self: Tensor) -> TypedStorage:
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)


def _storage(self: Tensor) -> TypedStorage:
    """The memory as elements of the tensor's dtype."""
    _warn_typed_storage_removal()
    return _typed_storage(self)


def _contiguous(sizes: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(list(sizes)):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def _set_(
    self: Tensor, source: Any = None, storage_offset: Any = None, size: Any = None, stride: Any = None, **names: Any
) -> Tensor:
    """The tensor shows other memory: of a storage (from an offset, in sizes and strides) or of a tensor. Raises RuntimeError for
    another dtype, or one that requires grad."""
    source = names.get("source_Storage", names.get("source_Tensor", source))
    if not (source is None or isinstance(source, (Tensor, TypedStorage, UntypedStorage))):
        raise TypeError(f"set_(): argument 'source' must be a Tensor or a Storage, not {type(source).__name__}")
    if source is None:
        source = UntypedStorage(0, device=self.device)
    if isinstance(source, Tensor):
        if source.dtype is not self.dtype:
            raise RuntimeError(f"Could not set tensor of type {source.dtype.name} to a tensor of type {self.dtype.name}")
        sizes, strides, offset = tuple(source.shape), source.stride(), source.storage_offset()
        if storage_offset is not None or size is not None:
            sizes, strides, offset = tuple(size), stride, storage_offset
        memory = source.untyped_storage()
    else:
        if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {self.dtype} or an UntypedStorage, but got type {source.dtype} "
                f"for argument 1 'storage'"
            )
        memory = source._untyped()
        sizes = tuple(size) if size is not None else (memory.nbytes() // self.dtype.itemsize,)
        strides, offset = stride, storage_offset or 0
    if memory.device.type != self.device.type:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device "{memory.device}"'
        )
    if self.requires_grad and self.is_leaf and _native.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if self.requires_grad and not self.is_leaf:
        raise RuntimeError("set_() of a tensor that has a history; detach() it first")
    where = _native.tensor_on(memory, self.dtype, sizes, _contiguous(sizes) if strides is None else tuple(strides), offset)
    version = self._version
    self.data = where
    if self._version <= version:
        self._bump_version()
    return self


def _share_memory_(self: Tensor) -> Tensor:
    """Moves the elements to memory that processes forked later share with this one; the tensor itself."""
    if not is_shared(self):
        size = max(self.untyped_storage().nbytes(), 1)
        mapped = np.frombuffer(mmap.mmap(-1, size), np.uint8)
        memory = _native.from_numpy(mapped).untyped_storage()
        elements(memory)[: self.untyped_storage().nbytes()].copy_(elements(self.untyped_storage()))
        self.data = _native.tensor_on(memory, self.dtype, tuple(self.shape), self.stride(), self.storage_offset())
        _shared.add(memory.data_ptr())
    return self


_shared: set[int] = set()  # addresses of memory that share_memory_ made; it is never given back to the system under another use


def is_shared(self: Tensor) -> bool:
    """Whether the memory is shared with other processes."""
    return self.untyped_storage().data_ptr() in _shared


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor on the memory of an object with the buffer protocol. Raises ValueError where the buffer is too
    short, or its length no multiple of the item size."""
    view = memoryview(buffer)
    length = view.nbytes
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1")
    if count < 0 and (length - offset) % dtype.itemsize:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of "
            f"element size "
            f"({dtype.itemsize})"
        )
    if count > 0 and offset + count * dtype.itemsize > length:
        raise ValueError(
            f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must "
            f"not be greater "
            f"than actual buffer length ({length} bytes)"
        )
    if view.readonly:
        warn_caller(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors: writing in "
            "place raises "
            "here. You may want to copy the buffer to protect its data or make it writable.",
            once=True,
        )
    found = _native.from_numpy(np.frombuffer(buffer, dtype.to_numpy(), count, offset))
    return found.requires_grad_() if requires_grad else found


def tensor_from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A one-dimensional tensor of `size` elements on a mapped file."""
    dtype = dtype or dtypes.get_default_dtype()
    return elements(from_file(filename, bool(shared), (size or 0) * dtype.itemsize), dtype).requires_grad_(requires_grad)


for _name, _fn in {
    "storage": _storage,
    "_typed_storage": _typed_storage,
    "storage_type": lambda self: typed_classes[_CLASSES[self.dtype.name]],
    "set_": _set_,
    "share_memory_": _share_memory_,
    "is_shared": is_shared,
}.items():
    attach(_name, _fn)


def _dtype_to_storage_type_map() -> dict[DType, str]:
    return {getattr(dtypes, dtype): name for dtype, name in _CLASSES.items()}


def _storage_type_to_dtype_map() -> dict[str, DType]:
    return {name: getattr(dtypes, dtype) for dtype, name in _CLASSES.items()}


__all__ = ["TypedStorage", "UntypedStorage", "elements", "from_file", "frombuffer", "tensor_from_file", "typed_classes"]
