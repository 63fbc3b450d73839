"""`x[...]` and `x[...] = v`: the basic part of a key as views, the advanced part as index tensors."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.errors import warn_caller
from aten.op import composite, ops
from aten.ops.index_tensors import index
from aten.promotion import TYPE_NAMES
from aten.shapes import is_int, is_symbolic

_PLAIN = {int, bool}


def _as_index(item: Any) -> Any:
    """A list, array or bool as an index tensor; the number of what is one (a tensor, an int of a subclass); else itself."""
    if isinstance(item, int) and type(item) not in (int, bool):
        return int.__pos__(item)
    if _is_number(item):
        return item.item()
    if isinstance(item, (list, tuple)) and _holds_symbols(item):
        return _stack_of(item)
    if isinstance(item, (list, tuple, np.ndarray, range)):
        from aten.tensor import tensor

        made = tensor(list(item) if isinstance(item, range) else item)
        return ops.cast(made, dtypes.int64) if made.numel() == 0 else made
    return item


def _holds_symbols(item: Any) -> bool:
    """Whether among the numbers of a list there are some that are not known while a graph is made."""
    if isinstance(item, (list, tuple)):
        return not set(map(type, item)) <= _PLAIN and any(map(_holds_symbols, item))
    return is_symbolic(item)


def _stack_of(item: Any) -> Any:
    """A list of numbers as an index tensor that the graph makes."""
    if isinstance(item, (list, tuple)):
        return ops.stack([_stack_of(i) for i in item])
    return item if isinstance(item, _native.Tensor) else ops.full([], item, dtype=dtypes.int64)


def _is_number(item: Any) -> bool:
    """Whether a tensor stands for an int, which takes a view: one of no dims, with a value, of an integer dtype but uint8."""
    return (
        isinstance(item, _native.Tensor)
        and item.ndim == 0
        and not (item.dtype.is_floating_point or item.dtype.is_complex or item.dtype in (dtypes.bool, dtypes.uint8))
        and not _native.is_tracer(item)
        and item.device.type != "meta"
    )


def _makes_a_tuple(item: Any) -> bool:
    """Whether a list with such an item is read as a tuple of indices, as NumPy once did and PyTorch does."""
    return item is None or item is Ellipsis or isinstance(item, (slice, list, tuple, np.ndarray, _native.Tensor))


def _split(input: Any, key: Any) -> tuple[Any, list[Any] | None]:
    """The view that the basic part of a key takes, and the tensors by dimension of the advanced part (or None)."""
    items = list(key) if isinstance(key, tuple) else [key]
    if isinstance(key, list) and len(key) < 32 and any(_makes_a_tuple(i) for i in key):
        items = list(key)
    items = [_as_index(i) for i in items]
    if any(i is Ellipsis for i in items):
        at = next(k for k, i in enumerate(items) if i is Ellipsis)
        used = sum(_dims_used(i) for i in items)
        if used > input.ndim:
            raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
        free, rest = input.ndim - used, items[at + 1 :]
        again = next((k for k, i in enumerate(rest) if i is Ellipsis), len(rest))
        if free and any(map(_dims_used, rest[again:])):  # each ellipsis passes the dims over that nothing names
            raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
        items[at:] = [slice(None)] * free + [i for i in rest if i is not Ellipsis]
    view, dim, added, tensors = input, 0, 0, {}
    for item in items:
        if item is None:
            view, dim, added = ops.unsqueeze(view, dim), dim + 1, added + 1
        elif isinstance(item, (bool, np.bool_)):
            view = ops.unsqueeze(view, dim)
            tensors[dim] = ops.full([1], bool(item), dtype=dtypes.bool, device=input.device)
            dim += 1
        elif hasattr(item, "dtype") and hasattr(item, "shape") and item.ndim == 0 and item.dtype in (dtypes.bool, dtypes.uint8):
            if item.dtype is dtypes.uint8:
                item = ops.cast(item, dtypes.bool)
            view = ops.unsqueeze(view, dim)
            tensors[dim] = ops.unsqueeze(item, 0)
            dim += 1
        elif input.ndim == 0 and dim >= view.ndim:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        elif dim >= view.ndim:
            raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
        elif isinstance(item, slice):
            view, dim = _sliced(view, dim, item), dim + 1
        elif hasattr(item, "dtype") and hasattr(item, "ndim") and not isinstance(item, np.generic):
            if item.dtype is dtypes.uint8:
                _warn_of_bytes()
            tensors[dim] = item
            dim += item.ndim if item.dtype in (dtypes.bool, dtypes.uint8) else 1
        elif is_int(item) or isinstance(item, np.integer) or hasattr(item, "__index__"):
            n = item if is_int(item) else item.__index__()
            size = view.shape[dim]
            if type(n) is int and type(size) is int and not -size <= n < size:
                if not -(2**63) <= n < 2**63:
                    raise ValueError("Overflow when unpacking long long")
                at = input.ndim - view.ndim + dim + added
                raise IndexError(f"index {n} is out of bounds for dimension {at} with size {size}")
            view = ops.select(view, dim, n)
        else:
            raise (TypeError if isinstance(item, str) else IndexError)(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                f"{type(item).__name__})"
            )
    if not tensors:
        return view, None
    by_dim: list[Any] = []
    for d in sorted(tensors):
        by_dim += [None] * (d - sum(1 if i is None or i.dtype not in (dtypes.bool, dtypes.uint8) else i.ndim for i in by_dim))
        by_dim.append(_beside(tensors[d], input))
    return view, by_dim


def _warn_of_bytes() -> None:
    warn_caller("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")


def _beside(index: Any, input: Any) -> Any:
    """An index where the input is: lists are made on the CPU, and tensors of the CPU may index those of any device."""
    here, there = input.device, index.device
    if there.type == here.type == "cpu" or "meta" in (here.type, there.type) or there == here:
        return index
    if there.type != "cpu":
        raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({here})")
    return index.to(here)


def _dims_used(item: Any) -> int:
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if hasattr(item, "dtype") and hasattr(item, "ndim") and item.dtype in (dtypes.bool, dtypes.uint8):
        return item.ndim
    return 1


def _bound(v: Any) -> Any:
    """A bound of a slice, or its step: integers beyond 64 bits are the last of those, as where sequences are cut."""
    if v is None or is_int(v) and type(v) is not int:
        return v
    if not hasattr(v, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return max(-(2**63), min(v.__index__(), 2**63 - 1))


def _sliced(x: Any, dim: int, item: slice) -> Any:
    start, end, step = _bound(item.start), _bound(item.stop), _bound(item.step)
    if start is None and end is None and step is None:
        return x
    if step is not None and step <= 0:
        raise ValueError("slice step cannot be zero" if step == 0 else "step must be greater than zero")
    return ops.slice(x, dim, start, end, 1 if step is None else step)


@composite("getitem(Tensor input, Any key) -> Tensor", tags=["hidden"], native="index")
def getitem(input, key):
    """input[key]: ints (also tensors of one), slices, None, ... give a view; tensors of dims, lists and masks a copy."""
    view, tensors = _split(input, key)
    if tensors is None:
        return ops.alias(view) if view is input else view
    return index(view, tensors)


@composite("setitem(Tensor input, Any key, Any value) -> Any", tags=["hidden", "effect"], native="index")
def setitem(input, key, value):
    """input[key] = value, through the view that the basic part of the key takes. Returns nothing."""
    view, tensors = _split(input, None if key is True else key)
    if not hasattr(value, "dtype") or isinstance(value, (np.ndarray, np.generic)):
        value = _value(value, input)
    if tensors is None:
        extra = value.ndim - view.ndim
        if extra > 0 and all(type(s) is int and s == 1 for s in value.shape[:extra]):
            value = value.reshape(list(value.shape[extra:]))
        if view is input:
            view = ops.alias(input)
        view.copy_(value)
    else:
        view.index_put_(tensors, _of_dtype(value, view, tensors))


def _of_dtype(value: Any, like: Any, tensors: list[Any]) -> Any:
    """A value for elements that tensors choose. Raises RuntimeError for another dtype, but of a number for one mask."""
    if value.dtype is like.dtype:
        return value
    alone = [t for t in tensors if t is not None]
    mask = len(alone) == 1 and alone[0].dtype in (dtypes.bool, dtypes.uint8)
    if not (mask and (value.numel() == 1 or alone[0].numel() == 1)):
        if not _native.is_tracer(like):
            ops.index_put(like, tensors, ops.cast(value, like.dtype))  # sizes that do not fit are told first
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {TYPE_NAMES[like.dtype.name]} for the destination "
            f"and {TYPE_NAMES[value.dtype.name]} for the source."
        )
    return ops.cast(value, like.dtype)


def _value(value: Any, like: Any) -> Any:
    if isinstance(value, (int, float, complex)) or is_symbolic(value):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("Overflow when unpacking long long")
        return ops.full([], value, dtype=like.dtype, device=like.device)
    if isinstance(value, np.integer):
        return _value(int(value), like)
    kind = type(value)
    name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
    raise TypeError(f"can't assign a {name} to a {_native.shown_as()}.{TYPE_NAMES[like.dtype.name]}Tensor")
