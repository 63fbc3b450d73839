"""NumPy's arrays and numbers from outside: which Variable each becomes, and what is guarded for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import _native
from dynamo import guards
from dynamo.source import Converted, Object
from dynamo.variables.aten_kinds import tensor as wrap_tensor
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.ndarray import SUPPORTED, ArrayVariable
from dynamo.variables.track import kind, unknown

NUMPYS = frozenset(map(id, np.sctypeDict.values()))  # (by address: a metaclass may define `__eq__`)


def tensor_of(array: np.ndarray) -> Any:
    """A tensor over the memory of `array`. Raises for what tensors cannot hold."""
    if type(array) is not np.ndarray or array.dtype.char not in SUPPORTED or not array.dtype.isnative:
        raise TypeError("not an array that tensors can hold")
    return _native.from_numpy(array)


@kind(np.ndarray)
def _array(frame, value, source):
    """An array from outside: a tensor over its memory is the input of the graph."""
    try:
        tensor = tensor_of(value)
    except (TypeError, RuntimeError, ValueError) as e:
        return unknown(frame, value, source, str(e))
    frame.output.guard(guards.TypeIs(source, np.ndarray))
    inner = wrap_tensor(frame, tensor, Converted(source, _native.from_numpy))
    frame.output.alive.append(tensor)
    return ArrayVariable(inner, source=source)


@kind(np.ndarray, subclasses=True)
def _subclass(frame, value, source):
    return unknown(frame, value, source, f"of {type(value).__qualname__}, a subclass of ndarray")


def tensor_of_scalar(value: np.generic) -> Any:
    return _native.from_numpy(np.array(value))


@kind(np.float64, np.float32)
def _floating(frame, value, source):
    """A scalar that was seen to change becomes an input of the graph, as a Python float becomes a symbol."""
    if isinstance(source.root, Object) or not frame.output.is_dynamic_number(source, value.item()):
        return constant(frame, value, source)
    tensor = tensor_of_scalar(value)
    frame.output.guard_type(source, type(value))
    inner = wrap_tensor(frame, tensor, Converted(source, tensor_of_scalar))
    frame.output.alive.append(tensor)
    return ArrayVariable(inner, scalar=True, source=source)


def constant(frame, value, source):
    if not isinstance(source, Object):
        frame.output.guard_constant(source, value)
    return ConstantVariable(value, source)


@kind(np.void, subclasses=True)
def _record(frame, value, source):
    """A record of an array is a view of its memory, and can be written itself."""
    return unknown(frame, value, source, "a record, which can change")


@kind(np.generic, subclasses=True)
def _number_of_class(frame, value, source):
    """A number of NumPy's own classes cannot change; one of a subclass has attributes, and methods that the program defines."""
    if id(type(value)) in NUMPYS:
        return constant(frame, value, source)
    return unknown(frame, value, source, f"of {type(value).__qualname__}, a subclass of NumPy's numbers")


kind(np.dtype, subclasses=True)(constant)
