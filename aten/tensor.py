"""Tensor's Python side: construction, Parameter, text, copying and pickling, and `attach` for the ops' methods."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from aten import _native, default_device, devices
from aten import dtype as dtypes
from aten._native import DType, Size, Tensor, from_dlpack, from_numpy
from aten.errors import warn_caller
from aten.float8 import saturated
from aten.later import later
from aten.meta import Meta, dense_strides
from aten.op import ops
from aten.open_levels import transforming
from aten.printing import tensor_text
from aten.promotion import BOOL, FLOATING, INTEGER, category, check_fits
from aten.scalar.unpatched import functools, math

_OPERATORS = frozenset(_native.get_operators())


def attach(name: str, fn: Any) -> None:
    """Make `fn` a method of Tensor, or what an operator's C slot calls; reflected operators follow by themselves."""
    if name in _OPERATORS:
        _native.set_operator(name, fn)
    elif not (name.startswith("__r") and f"__{name[3:]}" in _OPERATORS):
        if isinstance(fn, types.FunctionType):
            fn.__name__, fn.__qualname__ = name, f"Tensor.{name}"
        setattr(Tensor, name, fn)


# ------------------------------------------------------------------------------------------ construction
_DEEPEST = 64  # dimensions of a tensor


def _first_leaf(data: Any) -> Any:
    depth = 0
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
        depth += 1
        if depth > _DEEPEST:
            raise ValueError("too many dimensions")
    return data


def _leaf_types(data: Any, dim: int = 0) -> dict[type, None]:
    """The types of what nested sequences hold, in order. Raises ValueError or TypeError where they are ragged."""
    if not isinstance(data, (list, tuple)):
        return {type(data): None}
    if dim > _DEEPEST:
        raise ValueError("too many dimensions")
    types = dict.fromkeys(map(type, data))
    nested = [t for t in types if issubclass(t, (list, tuple))]
    if not nested:
        return types
    if any(issubclass(t, np.ndarray) for t in types):  # arrays beside lists
        lists = [item.tolist() if isinstance(item, np.ndarray) else item for item in data]
        return {t: None for t in types if t not in nested} | _leaf_types(lists, dim)
    if len(nested) != len(types) or len(set(map(len, data))) > 1:
        raise _ragged(data, dim)
    return {t: None for item in data for t in _leaf_types(item, dim + 1)}


def _ragged(data: Any, dim: int) -> Exception:
    """Says where a nested sequence is ragged, as PyTorch does."""
    lengths = [len(item) if isinstance(item, (list, tuple)) else None for item in data]
    for item, length in zip(data, lengths):
        if length != lengths[0]:
            if length is None:
                return TypeError(f"expected a sequence of length {lengths[0]} at dim {dim + 1} (got {type(item).__name__})")
            if lengths[0] is None:
                if isinstance(data[0], (Tensor, np.ndarray)):
                    return ValueError("only one element tensors can be converted to Python scalars")
                wanted = "must be real number, not list" if isinstance(data[0], float) else "cannot be interpreted as an integer"
                return TypeError(wanted if isinstance(data[0], float) else f"'{type(item).__name__}' object {wanted}")
            return ValueError(f"expected sequence of length {lengths[0]} at dim {dim + 1} (got {length})")
    raise AssertionError("sequences of one length")


def _python_dtype(kind: str) -> DType:
    """The dtype that Python numbers of a NumPy kind get."""
    if kind == "b":
        return dtypes.bool
    if kind == "f":
        return _native.get_default_dtype()
    if kind == "c":
        return dtypes.complex128 if _native.get_default_dtype() is dtypes.float64 else dtypes.complex64
    return dtypes.int64


def _typed(data: Any) -> Iterator[DType]:
    """The dtypes of the tensors, arrays and NumPy scalars in nested sequences."""
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _typed(item)
    elif isinstance(data, Tensor):
        yield data.dtype
    elif isinstance(data, (np.ndarray, np.generic)):
        yield dtypes.dtype_from_numpy(data.dtype)


def _plain(data: Any) -> Any:
    """The same with Python numbers in place of tensors and arrays."""
    if isinstance(data, (list, tuple)):
        return list(map(_plain, data))
    if isinstance(data, Tensor):
        if data.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return data.detach().item()
    return data.tolist() if isinstance(data, (np.ndarray, np.generic)) else data


def dtype_of_numbers(kinds: Iterable[type], typed: Iterable[DType]) -> DType:
    """The dtype of a tensor of numbers of these Python types and of elements of these dtypes."""
    found = []
    for type_ in kinds:
        kind = next((kind for kind, base in _KINDS.items() if issubclass(type_, base)), None)
        if kind is None:
            raise _no_dtype(type_)
        found.append(_python_dtype(kind))
    return functools.reduce(_native.promote_types, [*found, *typed])


_KINDS = {"b": bool, "i": int, "f": float, "c": complex}


def _no_dtype(kind: type) -> Exception:
    return RuntimeError(f"Could not infer dtype of {kind.__name__}")


def _no_number(array: np.ndarray) -> type | None:
    """The type of the first object in an array of them that is no number of Python."""
    return next((type(x) for x in array.flat if not issubclass(type(x), (int, float, complex))), None)


def _overflow() -> Exception:
    return ValueError("Overflow when unpacking long long")


def _wide(array: np.ndarray, types: Iterable[type]) -> np.ndarray:
    """Python numbers among which integers are of more than 64 bits: floating or complex if one of them is."""
    for kind, dtype in ((complex, np.complex128), (float, np.float64)):
        if any(issubclass(t, kind) for t in types):
            return array.astype(dtype)
    raise _overflow()


def _in_dtype(array: np.ndarray, dtype: DType | None) -> np.ndarray:
    if dtype is None:
        return array
    with np.errstate(all="ignore"):  # what does not fit is infinite or wraps, without a word, as where tensors are cast
        to = dtype.to_numpy()
        return saturated(array, to).astype(to, copy=False)


_NUMBERS = (int, float, complex, np.generic, np.ndarray, Tensor)  # asked for their values, they run no code of the program


def _tuples(data: Any) -> Any:
    """Nested sequences that nobody else has."""
    return tuple(map(_tuples, data)) if isinstance(data, (list, tuple)) else data


def _of_nothing(data: Any, dtype: DType | None) -> np.ndarray | None:
    """The array of nested sequences whose first ones lead to an empty one: of the sizes on the way there, whatever is beside it."""
    sizes, first = [], data
    while isinstance(first, (Sequence, np.ndarray)) and 0 not in sizes:
        sizes.append(len(first))
        first = first[0] if sizes[-1] else None
    if 0 not in sizes:
        return None
    if dtype is None:
        leaves = list(_leaves(data))
        if any(isinstance(leaf, str) for leaf in leaves):
            raise TypeError("new(): invalid data type 'str'")
        numbers = [type(leaf) for leaf in leaves if not isinstance(leaf, (Sequence, np.ndarray, np.generic, Tensor))]
        empty = [_native.get_default_dtype()] * any(isinstance(leaf, Sequence) for leaf in leaves)
        dtype = dtype_of_numbers(numbers, [*empty, *_typed(data)])
    return np.empty(sizes, dtype.to_numpy())


def _leaves(data: Any) -> Iterator[Any]:
    """What nested sequences hold, and those that hold nothing."""
    if not isinstance(data, Sequence) or isinstance(data, str) or not data:
        yield data
        return
    for item in data:
        yield from _leaves(item)


def _uneven(data: Any, floating: bool) -> Exception:
    """Says where nested sequences are not of the depths and lengths that the first ones have, as PyTorch does."""
    sizes, first = [], data
    while isinstance(first, (list, tuple)):
        sizes.append(len(first))
        first = first[0] if first else None

    def look(part: Any, dim: int) -> Exception | None:
        if dim == len(sizes):
            if not isinstance(part, (list, tuple)):
                return None
            name = type(part).__name__
            wanted = f"must be real number, not {name}" if floating else f"'{name}' object cannot be interpreted as an integer"
            return TypeError(wanted)
        if not isinstance(part, (list, tuple)):
            return TypeError("not a sequence")
        if len(part) != sizes[dim]:
            return ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(part)})")
        return next(filter(None, (look(item, dim + 1) for item in part)), None)

    return look(data, 0) or TypeError("not a sequence")  # (an array beside a number)


def _as_array(data: Any, dtype: DType | None) -> np.ndarray:
    """Data as a NumPy array of the dtype that a tensor of it has."""
    if isinstance(data, (np.ndarray, np.generic)):
        if dtype is not None and isinstance(data, np.integer):  # a number, which must fit, where an array's elements wrap
            return _numbers(data.item(), dtype)
        return _in_dtype(np.asarray(data), dtype)
    if isinstance(data, (str, bytes)) or isinstance(_first_leaf(data), bytes):
        raise TypeError(f"new(): invalid data type '{'str' if isinstance(data, str) else 'bytes'}'")
    if isinstance(_first_leaf(data), str):
        raise ValueError("too many dimensions 'str'")
    nothing = _of_nothing(data, dtype)
    if nothing is not None:
        return nothing
    types = _leaf_types(data)
    if str in types:
        raise TypeError("new(): invalid data type 'str'")
    typed = [t for t in types if issubclass(t, (np.ndarray, np.generic, Tensor))]
    if not all(issubclass(t, _NUMBERS) for t in types):  # (what code of the program runs then may change the lists)
        data = _tuples(data)
    if typed and not all(issubclass(t, np.ndarray) for t in types):
        return _numbers(_plain(data), dtype or dtype_of_numbers([t for t in types if t not in typed], set(_typed(data))))
    if dtype is not None and not typed:
        return _numbers(data, dtype)
    try:
        array = np.array(data)
    except OverflowError as error:
        raise _overflow() from error
    except ValueError as error:
        kinds = {type(leaf) for leaf in _leaves(data)}
        raise _uneven(data, not kinds <= {int, bool}) from error
    if array.dtype.kind == "O":
        kind = _no_number(array)
        if kind is not None:
            raise _no_dtype(kind)
        array = _wide(array, types)
    if array.size == 0 and dtype is None:
        dtype = _native.get_default_dtype()
    if dtype is None and not typed:
        if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
            raise _overflow()
        dtype = _python_dtype(array.dtype.kind)
    return _in_dtype(array, dtype)


def _numbers(data: Any, dtype: DType) -> np.ndarray:
    """Python numbers, nested, as elements of `dtype`: each must fit where it is an integer."""
    kind, wanted = category(dtype), dtype.to_numpy()
    try:
        array = np.array(data)
    except OverflowError:
        array = np.array(data, object)
    except ValueError as error:
        raise _uneven(data, kind == FLOATING) from error
    if array.dtype.kind == "O" and (no_number := _no_number(array)) is not None:
        name = no_number.__name__
        whole = kind in (BOOL, INTEGER)
        raise TypeError(f"'{name}' object cannot be interpreted as an integer" if whole else f"must be real number, not {name}")
    integers = (int(x) for x in array.flat if isinstance(x, (int, np.integer))) if array.dtype.kind in "Ou" else ()
    if kind == INTEGER and any(not -(2**63) <= x < 2**63 for x in integers):
        if dtype is not dtypes.uint64 or any(not 0 <= x < 2**64 for x in array.flat):
            raise _overflow()
    if array.dtype.kind == "c" and kind == INTEGER:
        raise TypeError("'complex' object cannot be interpreted as an integer")
    if array.dtype.kind == "c" and kind == FLOATING:
        raise TypeError("must be real number, not complex")
    if kind == INTEGER and array.size:
        if array.dtype.kind == "f" and np.isnan(array).any():
            check_fits(math.nan, math.nan, dtype)
        numbers = array.flat if array.dtype.kind == "O" else (array.min().item(), array.max().item())
        check_fits(min(numbers), max(numbers), dtype)
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f" and kind == INTEGER:
            array = array.astype(np.uint64 if dtype is dtypes.uint64 else np.int64)
        elif array.dtype.kind == "O" and kind == FLOATING:
            array = array.astype(float)
        return saturated(array, wanted).astype(wanted)


def _copy_of(array: np.ndarray) -> Tensor:
    """A tensor of its own memory with the array's elements, in the order that the array has them in."""
    dtype, strides = dtypes.dtype_from_numpy(array.dtype), None
    if not array.flags.c_contiguous and min(array.strides) >= 0:
        strides = dense_strides(Meta(dtype, None, array.shape, [s // array.itemsize for s in array.strides]))
    result = _native.empty(array.shape, dtype, None, strides)
    result.numpy()[...] = array
    return result


def _duplicate(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    """A leaf of the same sizes, strides, dtype and elements on the same device; copies of what shares memory do, too."""
    if tensor.is_meta:
        return _native.empty(tuple(tensor.shape), tensor.dtype, tensor.device, tensor.stride())
    storage = tensor.untyped_storage()
    key = ("storage", storage.data_ptr())
    if not storage.nbytes() or key not in memo:
        memo[key] = storage.clone(), storage  # (the memory of the second is taken as long as the memo lives)
    return _native.tensor_on(memo[key][0], tensor.dtype, list(tensor.shape), list(tensor.stride()), tensor.storage_offset())


def _dtype_argument(dtype: Any) -> DType | None:
    return dtype if dtype is None or isinstance(dtype, DType) else dtypes.dtype_from_numpy(dtype)


_fresh: Callable[[Tensor], Tensor] = lambda made: made  # aten.overrides, which is above this file


def set_fresh(seen: Callable[[Tensor], Tensor]) -> None:
    """What makes of a tensor of data what an open dispatch mode wants it to be."""
    global _fresh
    _fresh = seen


COPY_OF_A_TENSOR = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)


def tensor(data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new tensor holding a copy of `data`: numbers, nested sequences, arrays, a tensor, or the bytes of a storage.

    Python floats get the default dtype, ints int64, bools bool; arrays and tensors keep theirs unless `dtype` is given.
    Raises ValueError for ragged sequences, TypeError for what is not numbers, RuntimeError for ints over 64 bits.
    """
    dtype = _dtype_argument(dtype)
    device = default_device.current() if device is None else device
    leaf_below = False  # a transform has its own; what it takes up may be a leaf outside
    if isinstance(data, Tensor):
        warn_caller(COPY_OF_A_TENSOR)
        result = data.detach().clone() if dtype is None else data.detach().clone().to(dtype)
    elif dtype is not None and isinstance(data, _native.UntypedStorage):  # its bytes, as elements
        result = _native.tensor_on(data, dtype, [data.nbytes() // dtype.itemsize], [1], 0).clone()
    else:
        result = _native.tensor_of_numbers(data, dtype)
        if result is None:
            result = _copy_of(_as_array(data, dtypes.complex64 if dtype is dtypes.complex32 else dtype))
            result = result.to(dtype) if dtype is dtypes.complex32 else result
        leaf_below = requires_grad and transforming()
        result = _fresh(result.requires_grad_() if leaf_below else result)
    if device is not None and dtypes.device(device) != result.device:
        result = _on_device(result, dtypes.device(device), isinstance(data, (bool, int, float, complex)))
    return result.requires_grad_() if requires_grad and not leaf_below else result


def _on_device(result: Tensor, device: Any, number: bool) -> Tensor:
    """A new tensor on another device; a number is made there, where it takes no copy from the host's memory."""
    if number and device.type in devices.makers:
        return ops.full([], result.item(), dtype=result.dtype, device=device)
    return result.to(device)


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing its memory where dtype and device allow."""
    dtype = _dtype_argument(dtype)
    device = default_device.current() if device is None else device
    if isinstance(data, Tensor):
        result = data if dtype is None or dtype is data.dtype else data.to(dtype)
    elif isinstance(data, np.ndarray):
        result = from_numpy(_in_dtype(data, dtype))
    elif hasattr(data, "__cuda_array_interface__"):
        result = _from_array_interface(data)
        result = result if dtype is None or dtype is result.dtype else result.to(dtype)
    elif hasattr(data, "__dlpack__") and not isinstance(data, np.generic):
        result = from_dlpack(data)
        result = result if dtype is None or dtype is result.dtype else result.to(dtype)
    else:
        result = tensor(data, dtype=dtype)
    return result if device is None or dtypes.device(device) == result.device else result.to(device)


_from_array_interface: Any = None  # aten.device_memory, which is above this file


def set_array_interface(read: Any) -> None:
    """`read` makes a tensor of an object that has `__cuda_array_interface__`."""
    global _from_array_interface
    _from_array_interface = read


# -------------------------------------------------------------------------------------------- Parameter
class _ParameterType(type(Tensor)):  # type: ignore[misc]
    """Tensors of classes that take calls of ops themselves stay of those classes, marked, and count as Parameters."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterType):
    """A tensor that a Module registers as its parameter: a leaf that requires grad."""

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = _native.empty((0,))
        while _native.is_tracer(data) and (value := data.level.value(data)) is not None:
            data = value  # a parameter made inside of a transform does not depend on its inputs
        if _native.is_tracer(data) or not _overrides(type(data)):
            return _native.make_subclass(cls, data.detach(), requires_grad)
        made: Any = data.detach().requires_grad_(requires_grad)
        if type(made) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance "
                f"of the same type, but return type {type(made).__name__} was found instead."
            )
        made._is_param = True
        return made

    def __repr__(self) -> str:
        return "Parameter containing:\n" + tensor_text(self, "tensor(")


_native.set_parameter_type(Parameter)
_overrides: Callable[[type], int] = lambda cls: 0  # aten.overrides, which is above this file


def set_overrides(asked: Callable[[type], int]) -> None:
    """`asked(cls)` says whether tensors of a class take calls of ops themselves."""
    global _overrides
    _overrides = asked


# ------------------------------------------------------------------------------- text, copying, pickling
def _iterate(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self: Tensor, element: Any) -> bool:
    return bool((self == element).any())


def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """What NumPy makes of a tensor beside an array, or in a ufunc, is a tensor."""
    try:
        return from_numpy(np.asarray(array))
    except TypeError:  # of a dtype that tensors do not have
        return array


def _format(self: Tensor, spec: str) -> str:
    return format(self.item(), spec) if self.ndim == 0 and not self.is_meta else object.__format__(self, spec)


def _like(source: Tensor, data: Tensor) -> Tensor:
    """`data` as a leaf of the class of `source`, with its attributes."""
    result = data if type(source) is Tensor else _native.make_subclass(type(source), data, False)
    if source.requires_grad:
        result.requires_grad_()
    return result


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "If you were attempting to deepcopy a module, this may be because of a parametrization."
        )
    result = memo[id(self)] = _like(self, _duplicate(self, memo))
    if isinstance(self, Parameter):  # of which values alone are copied
        return result
    if self.grad is not None:
        result.grad = copy.deepcopy(self.grad, memo)
    if self.__dict__:
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


def _copy(self: Tensor) -> Tensor:
    result = _like(self, self.detach())
    result.__dict__.update(self.__dict__)
    return result


def _rebuild(
    cls: type,
    data: bytes | None,
    dtype: DType,
    sizes: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
    device: str = "cpu",
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    if data is None:
        result = _native.empty(sizes, dtype, dtypes.device("meta"), *([] if strides is None else [strides]))
    else:
        flat = np.frombuffer(data, dtype.to_numpy())
        result = _copy_of(flat.reshape(sizes) if strides is None else flat)
        if device != "cpu":
            result = _native.move(result, device)
        if strides is not None:
            result = _native.alias(result, sizes, strides, 0)
    if cls is not Tensor:
        result = _native.make_subclass(cls, result, False)
    if requires_grad:
        result.requires_grad_()
    result.__dict__.update(attributes)
    return result


def _reduce_ex(self: Tensor, protocol: int) -> Any:
    """What is pickled: the memory that the tensor shows, as a leaf."""
    sizes, strides = tuple(self.shape), None
    shown = self
    if not self.is_contiguous():
        strides = self.stride()
        span = 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
        shown = self if self.is_meta else _native.alias(self, (span,), (1,), self.storage_offset())
    return _rebuild, (
        type(self),
        None if self.is_meta else np.ascontiguousarray(shown.numpy(force=True)).tobytes(),
        self.dtype,
        sizes,
        self.requires_grad,
        dict(self.__dict__),
        str(self.device) if self.is_cuda else "cpu",
        strides,
    )


def _reversed(self: Tensor) -> Tensor:
    """The tensor with its dims in reverse order; a matrix's transpose."""
    return self.permute(tuple(range(self.ndim - 1, -1, -1)))


def _matrix_transposed(self: Tensor) -> Tensor:
    """The last two dims exchanged. RuntimeError below two dims."""
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return self.transpose(-2, -1)


for _name, _fn in {
    "T": property(_reversed),
    "mT": property(_matrix_transposed),
    "__repr__": tensor_text,
    "__iter__": _iterate,
    "__contains__": _contains,
    "__format__": _format,
    "__deepcopy__": _deepcopy,
    "__copy__": _copy,
    "__reduce_ex__": _reduce_ex,
    "__array_priority__": 1000,
    "__array_wrap__": _array_wrap,
    "__array_function__": later("aten.array_functions", "array_function"),
}.items():
    attach(_name, _fn)

__all__ = ["Parameter", "Size", "Tensor", "as_tensor", "attach", "from_dlpack", "from_numpy", "set_array_interface", "tensor"]
