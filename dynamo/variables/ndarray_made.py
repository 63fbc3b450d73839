"""Arrays that NumPy's functions are given, or make, while they are traced: of lists, of constants, of one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aten import _native
from aten.dtype import dtype_from_numpy
from aten.op import registry
from dynamo import breaks
from dynamo.breaks import NotConstant, Unsupported
from dynamo.source import Made
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable, literal
from dynamo.variables.exception import run_python
from dynamo.variables.ndarray import SUPPORTED, ArrayVariable, cast, known_values, wrap_array
from dynamo.variables.sequence import ListVariable, TupleVariable
from dynamo.variables.tensor import TensorVariable


def record(frame, name: str, *args: Variable, **kwargs: Variable) -> TensorVariable:
    return frame.output.record(frame, registry[name], list(args), kwargs)


def as_array(frame, value: Variable) -> ArrayVariable:
    """np.asarray(value)."""
    if isinstance(value, ArrayVariable):
        return value
    if isinstance(value, TensorVariable):
        return value.method(frame, "numpy", [], {})
    if isinstance(value, (ListVariable, TupleVariable)) and any(isinstance(v, ArrayVariable) for v in value.items):
        return stacked(frame, value, ConstantVariable(0))
    return constant_array(frame, run_python(frame, np.asarray, frame.ops.real(frame, value)))


def constant_array(frame, array: np.ndarray) -> ArrayVariable:
    """An array known while tracing: filled where it is one value, else an input of the graph, copied at each call."""
    if array.dtype.char not in SUPPORTED or not array.dtype.isnative:
        raise Unsupported(breaks.ARRAY_FUNCTION, f"an array of {array.dtype}")
    tensor = _native.from_numpy(array.copy())
    if array.size and is_one_value(array):
        made = filled(frame, literal(frame, array.shape), array.flat[0].item(), array.dtype)
    else:
        constant = frame.world.wrap(tensor, Made(tensor, "a constant array"))
        made = wrap_array(record(frame, "clone", constant), array.ndim == 0)
    made.tensor.known = tensor
    return made


def is_one_value(array: np.ndarray) -> bool:
    """Whether all items are one number: zeros of one sign, and no NaN."""
    items = np.ascontiguousarray(array).reshape(-1)
    bits = items.view(np.uint8).reshape(items.size, -1)
    return bool((items == items[0]).all() and (bits == bits[0]).all())


def of_constants(frame, function: Callable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable | None:
    """The call made while tracing, where sequences of numbers, or arrays known by now, are all that it is given."""
    given = [*args, *kwargs.values()]
    if "out" in kwargs or not any(isinstance(v, (ListVariable, TupleVariable, ArrayVariable)) for v in given[:1]):
        return None
    real: list[Any] = []
    for value in given:
        if isinstance(value, ArrayVariable):
            if (found := known_values(value)) is None:
                return None
            real.append(found)
        else:
            try:
                real.append(frame.ops.real(frame, value))
            except (NotConstant, Unsupported):
                return None
    found = run_python(frame, function, *real[: len(args)], **dict(zip(kwargs, real[len(args) :])))
    if isinstance(found, np.ndarray) and found.dtype.char in SUPPORTED:
        return constant_array(frame, found)
    return literal(frame, found) if isinstance(found, np.generic) else None


def filled(frame, sizes: Variable, value: Any, dtype: np.dtype, scalar: bool = False) -> ArrayVariable:
    kwargs = {"dtype": literal(frame, dtype_from_numpy(np.dtype(dtype)))}
    args = [ListVariable(sizes.unpack(frame)), value if isinstance(value, Variable) else ConstantVariable(value)]
    return wrap_array(frame.output.record(frame, registry["full"], args, kwargs), scalar)


def stacked(frame, arrays: Variable, axis: Variable):
    """np.stack"""
    return wrap_array(record(frame, "stack", same_dtype(frame, arrays), axis))


def same_dtype(frame, arrays: Variable) -> ListVariable:
    """The tensors of several arrays, in NumPy's common dtype."""
    values = [as_array(frame, a) for a in arrays.unpack(frame)]
    if not values:
        raise Unsupported(breaks.UNKNOWN_CALL, "no arrays")
    dtype = np.result_type(*[v.dtype for v in values])
    return ListVariable([cast(frame, v, dtype).tensor for v in values])
