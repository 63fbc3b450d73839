"""The order in which NumPy lays the dims of a result out in memory.

It decides what `reshape` and `ravel` give: a view, or a copy. Ops have orders of their own, row by row for the most part; NumPy
keeps the order of its operands (`order="K"`) in most functions. NumPy itself is asked, on arrays of three items a dim that lie
as the operands do. Only where an operand does not lie row by row.
"""

from __future__ import annotations

import _operator as operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from aten.op import registry
from dynamo.breaks import NotConstant
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable, plain
from dynamo.variables.sequence import ListVariable, SliceVariable, TupleVariable
from dynamo.variables.tensor import TensorVariable
from dynamo.views import COPIES

# Functions of other sizes, whose results lie row by row where they are no views.
_BY_SIZES = COPIES | {"resize", "squeeze", "expand_dims", "broadcast_to", "ascontiguousarray"}


def lay_out(frame, function: Callable, name: str, args: list, kwargs: dict, made: Variable) -> Variable:
    """The result of a NumPy function, in NumPy's order of dims."""
    if name.rpartition(".")[2] in _BY_SIZES or not _is_fresh(made, args):
        return made
    if any(map(_is_turned, _arrays([*args, *kwargs.values()]))):
        try:
            _ask(frame, made, function, [_small(a) for a in args], {k: _small(v) for k, v in kwargs.items()})
        except NotConstant:
            return made
    return made


def lay_out_taken(frame, array: Any, parts: list, taken: Any) -> None:
    """`taken` from `array` by an index with arrays, whose dims NumPy puts first in memory."""
    if not _is_fresh(taken, [array]) or not any(_is_list(p) for p in parts):
        return
    small = lambda p: slice(None) if isinstance(p, SliceVariable) else np.zeros(_sizes(p), int) if _is_list(p) else 0
    if any(p.python_type() is bool or getattr(getattr(p, "dtype", None), "kind", "") == "b" for p in parts):
        return
    index = tuple([p.value if isinstance(p, ConstantVariable) and p.value in (None, ...) else small(p) for p in parts])
    _ask(frame, taken, operator.getitem, [_small(array), index], {})


def lay_out_as(frame, tensor: TensorVariable, like: TensorVariable) -> TensorVariable:
    """A fresh tensor with its dims in the order in which NumPy lays out what it makes of `like`."""
    told = np.positive(_lying(like.meta, np.dtype(float)))
    return _laid(frame, tensor, _order(told.shape, told.strides))


# ------------------------------------------------------------------------------------------------- parts
def _is_list(part: Any) -> bool:
    return isinstance(part, ListVariable) or (hasattr(part, "tensor") and part.ndim > 0)


def _sizes(part: Any) -> tuple[int, ...]:
    return (3,) * part.ndim if hasattr(part, "tensor") else np.shape(plain(part))


def _arrays(values: list) -> list:
    """The arrays among arguments, those in lists too."""
    found: list[Any] = []
    for v in values:
        if isinstance(v, (ListVariable, TupleVariable)):
            found += _arrays(v.items)
        elif hasattr(v, "tensor") and hasattr(v, "scalar"):
            found.append(v)
    return found


def _is_fresh(made: Any, args: list) -> bool:
    """Whether it is an array with an order of dims, and memory of its own."""
    if not hasattr(made, "tensor") or made.again is not None or made.ndim < 2:
        return False
    return all(made.tensor.root is not a.tensor.root for a in _arrays(args))


def _known(n: Any) -> int:
    return n if type(n) is int else n.hint or 3


def _order(sizes: Any, strides: Any) -> list[int]:
    """The dims that have several items, from the outermost to the innermost."""
    dims = [d for d, n in enumerate(sizes) if _known(n) != 1]
    return sorted(dims, key=lambda d: -abs(_known(strides[d])))


def _is_turned(array: Any) -> bool:
    meta = array.tensor.meta
    order = _order(meta.sizes, meta.strides)
    return order != sorted(order) or any(_known(meta.strides[d]) == 0 for d in order)


def _small(value: Any) -> Any:
    """An argument, arrays with three items a dim in the same order. Raises NotConstant."""
    if isinstance(value, (ListVariable, TupleVariable)):
        small = _small_beside if _arrays(value.items) else _small
        return (tuple if isinstance(value, TupleVariable) else list)(map(small, value.items))
    if not hasattr(value, "tensor"):
        return value.as_python()
    return _lying(value.tensor.meta, value.dtype)


def _small_beside(value: Any) -> Any:
    """What stands in a sequence with arrays, and so is one: lists of numbers have three items a dim as well."""
    if isinstance(value, (ListVariable, TupleVariable)) and not _arrays([value]):
        return np.ones([1 if n == 1 else 3 for n in np.shape(_items(value))])
    return _small(value)


def _items(value: Any) -> Any:
    return list(map(_items, value.items)) if isinstance(value, (ListVariable, TupleVariable)) else value.as_python()


def _lying(meta: Any, dtype: np.dtype) -> Any:
    order = sorted(range(len(meta.sizes)), key=lambda d: -_known(meta.strides[d]))
    sizes = [1 if _known(n) == 1 else 3 for n in meta.sizes]
    array = np.ones([sizes[d] if _known(meta.strides[d]) else 1 for d in order], dtype)
    return np.broadcast_to(array.transpose(np.argsort(order)), sizes) if order else dtype.type(1)


def _ask(frame, made: Any, function: Callable, args: list, kwargs: dict) -> None:
    """Lays the array out as that of function(*args, **kwargs), if NumPy knows the function of such arguments."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = function(*args, **kwargs)
    except (TypeError, ValueError, IndexError, OverflowError, np.exceptions.AxisError):
        return  # of so few items there is none: the order stays that of the op
    if isinstance(told, np.ndarray) and told.ndim == made.ndim:
        made.tensor = _laid(frame, made.tensor, _order(told.shape, told.strides))


def _laid(frame, tensor: TensorVariable, order: list[int]) -> TensorVariable:
    meta = tensor.meta
    several = {d for d, n in enumerate(meta.sizes) if _known(n) != 1}
    order = [d for d in order if d in several]
    if len(order) < len(several) or order == _order(meta.sizes, meta.strides):
        return tensor
    whole = [d for d in range(len(meta.sizes)) if d not in several] + order
    permuted = _permute(frame, tensor, whole)
    copied = frame.output.record(frame, registry["contiguous"], [permuted], {})
    return _permute(frame, copied, [whole.index(d) for d in range(len(whole))])


def _permute(frame, tensor: TensorVariable, dims: list[int]) -> TensorVariable:
    return frame.output.record(frame, registry["permute"], [tensor, TupleVariable([ConstantVariable(d) for d in dims])], {})
