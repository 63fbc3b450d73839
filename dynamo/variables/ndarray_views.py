"""NumPy's views that no tensor is: backwards through memory, or read-only.

The graph computes with a copy, or with a view that could be written. Where such an array leaves the frame, NumPy makes it anew of
what it is a view of; where it, that, or a view of it is written or leaves, it is left to NumPy from where it was made.
"""

from __future__ import annotations

import _operator as operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, ConstantVariable, plain
from dynamo.variables.ndarray import ArrayVariable, as_index, goes_back, whole, wrap_array
from dynamo.variables.ndarray_layout import lay_out_as
from dynamo.variables.ndarray_made import as_array, record
from dynamo.variables.ndarray_table import FUNCTIONS, axes, declare_method
from dynamo.variables.sequence import ListVariable, SequenceVariable, SliceVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable, symbolic
from dynamo.variables.tensor import TensorVariable


def view(frame, function: Callable, base: ArrayVariable, rest: tuple[Variable, ...], made: TensorVariable) -> ArrayVariable:
    """What function(base, *rest) gives; in the graph it is `made`, which is a copy of elements or a view."""
    born = frame.output.root.group_step
    made.node.meta["numpy's own"] = born
    if made.root is not base.tensor.root:
        frame.output.copied_views.setdefault(base.tensor.root, born)
    return ArrayVariable(made, again=(function, base, rest))


def flipped(frame, x: ArrayVariable, dims: ListVariable) -> TensorVariable:
    return lay_out_as(frame, record(frame, "flip", x.tensor, dims), x.tensor)


def _flip(frame, x, /, axis=NONE):
    x = as_array(frame, x)
    return view(frame, np.flip, x, (axis,), flipped(frame, x, axes(frame, x, axis)))


def _flipped(function: Callable, dim: int) -> Callable:
    def rule(frame, x, /):
        x = as_array(frame, x)
        return view(frame, function, x, (), flipped(frame, x, ListVariable([ConstantVariable(dim)])))

    return rule


def _rot90(frame, x, /, k=ConstantVariable(1)):
    x = as_array(frame, x)
    turned = record(frame, "rot90", x.tensor, ConstantVariable(whole(k)))
    swapped = whole(k) % 2 and x.ndim > 1
    like = record(frame, "transpose", x.tensor, ConstantVariable(0), ConstantVariable(1)) if swapped else x.tensor
    return view(frame, np.rot90, x, (k,), lay_out_as(frame, turned, like))


def _diagonal(frame, x, /, offset=ConstantVariable(0), axis1=ConstantVariable(0), axis2=ConstantVariable(1)):
    x, rest = as_array(frame, x), (offset, axis1, axis2)
    made = record(frame, "diagonal", x.tensor, *[ConstantVariable(whole(v)) for v in rest])
    return view(frame, np.diagonal, x, rest, made)


def _diag(frame, x, /, k=ConstantVariable(0)):
    x = as_array(frame, x)
    if x.ndim == 2:
        return _diagonal(frame, x, k)
    return wrap_array(record(frame, "diag", x.tensor, ConstantVariable(whole(k))))


def _broadcast_to(frame, x, /, shape):
    x = as_array(frame, x)
    sizes = shape.unpack(frame) if isinstance(shape, SequenceVariable) else [shape]
    if any(isinstance(n, ConstantVariable) and plain(n) < 0 for n in sizes):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.broadcast_to a negative size")
    return view(frame, np.broadcast_to, x, (shape,), record(frame, "broadcast_to", x.tensor, ListVariable(list(sizes))))


def _taken_back(frame, x: ArrayVariable, key: Variable, parts: list[Variable]) -> ArrayVariable:
    """x[key] where slices go back: those of what is flipped along their dims."""
    dim, dims, forward = 0, [], []
    for part in parts:
        if not isinstance(part, (SliceVariable, ConstantVariable, SymbolicVariable)) or plain_ellipsis(part):
            raise Unsupported(breaks.ARRAY_FUNCTION, "array[…] with a negative step beside an array or an ellipsis")
        if goes_back(part):
            dims.append(ConstantVariable(dim))
            part = _forward(frame, part, x.tensor.meta.sizes[dim])
        forward.append(as_index(frame, part))
        dim += not part.is_same(NONE)
    turned = flipped(frame, x, ListVariable(dims))
    made = turned.getitem(frame, TupleVariable(forward))
    assert isinstance(made, TensorVariable)
    return view(frame, operator.getitem, x, (key,), made)


def plain_ellipsis(part: Variable) -> bool:
    return isinstance(part, ConstantVariable) and part.value is ...


def _forward(frame, part: SliceVariable, size: Any) -> SliceVariable:
    """The slice with a positive step that takes the same of the flipped dim."""

    def turned(bound: Variable) -> Variable:
        if bound.is_same(NONE):
            return NONE
        at = operator.index(plain(bound))
        return symbolic(frame, -at - 1 if at < 0 else size - 1 - at if bool(size - 1 > at) else 0)

    start, stop, step = part.parts
    return SliceVariable([turned(start), turned(stop), ConstantVariable(-operator.index(plain(step)))])


ArrayVariable.taken_back = staticmethod(_taken_back)  # type: ignore[attr-defined]
RULES: dict[Callable, Callable] = {
    np.flip: _flip,
    np.flipud: _flipped(np.flipud, 0),
    np.fliplr: _flipped(np.fliplr, 1),
    np.rot90: _rot90,
    np.diagonal: _diagonal,
    np.diag: _diag,
    np.broadcast_to: _broadcast_to,
}
declare_method("diagonal", _diagonal)
FUNCTIONS.update(RULES)
