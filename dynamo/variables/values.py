"""Values made while tracing, of every kind: `frame.values`, so that no kind of value has to import another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dynamo import on_demand
from dynamo.breaks import Raised
from dynamo.variables import (
    iterator,
    sets,
    tensor_values,
    track,
)
from dynamo.variables.base import Variable
from dynamo.variables.classes import ClassVariable, ModuleVariable
from dynamo.variables.constant import FALSE, NONE, TRUE, ConstantVariable, boolean, plain
from dynamo.variables.exception import ExceptionVariable, make_exception
from dynamo.variables.function import (
    BoundMethod,
    CallableVariable,
    ClosureVariable,
    FunctionVariable,
    MethodVariable,
    PartialVariable,
)
from dynamo.variables.iterator import (
    DequeIterator,
    GeneratorVariable,
    HashedIterator,
    ItemsIterator,
    RangeIterator,
    SequenceIterator,
)
from dynamo.variables.mapping import DictVariable, DictView
from dynamo.variables.object import OBJECT_METHODS, NativeMethod, ObjectVariable
from dynamo.variables.raising import raise_exception, run_python
from dynamo.variables.sequence import ListVariable, NamedTupleVariable, SizeVariable, SliceVariable, TupleVariable
from dynamo.variables.sequence_protocol import SequenceProtocol
from dynamo.variables.sets import SetVariable, as_set, set_of
from dynamo.variables.symint import SymbolicVariable, symbolic
from dynamo.variables.tensor import TensorVariable

literal = track.literal  # (frame, value) → the Variable of a Python value computed while tracing
error = raise_exception  # (frame, class, text) → the Raised of an error of the traced program
sequence_iterator = SequenceProtocol  # iteration by __getitem__ alone


def run(frame, function: Callable[[], Any]) -> Variable:
    """What function() gives, on real values; what it raises is raised by the traced program."""
    return literal(frame, run_python(frame, function))


def raised(cls: type, args: Iterable[Variable]) -> Raised:
    """The Raised of cls(*args)."""
    return Raised(ExceptionVariable(cls, list(args)))


def const(value: Any) -> ConstantVariable:
    return ConstantVariable(value)


def plain_answer(answer: Any) -> Variable:
    """What a rule of a method answers, where it may be Python's None, True or False."""
    return NONE if answer is None else boolean(answer) if isinstance(answer, bool) else answer


def tuple_(items: Iterable[Variable]) -> TupleVariable:
    return TupleVariable(list(items))


def list_(items: Iterable[Variable]) -> ListVariable:
    return ListVariable(list(items))


def dict_(pairs: Iterable[tuple[Variable, Variable]] = ()) -> DictVariable:
    return DictVariable.of(pairs)


def set_(items: Iterable[Variable] = (), frozen: bool = False) -> SetVariable:
    return SetVariable(items, frozen)


def items_iterator(items: Iterable[Variable]) -> ItemsIterator:
    """iter(tuple(items))"""
    return ItemsIterator(list(items))


def array(tensor: Variable) -> Variable:
    """The array over the memory of a tensor; NumPy's rules are loaded when the first array is met."""
    return on_demand.import_part("ndarray_table").wrap_array(tensor)


def new_array(frame, value: Any) -> Variable:
    """An array that is known while tracing, copied at each call."""
    on_demand.import_part("ndarray_table")
    return on_demand.import_part("ndarray_made").constant_array(frame, value)


def bound(obj: Variable, name: str) -> BoundMethod:
    """obj.name, a method that the kind of `obj` has a rule for."""
    return BoundMethod(obj, name)


def method(function: Variable, obj: Variable) -> MethodVariable:
    """types.MethodType(function, obj)"""
    return MethodVariable(function, obj)


def transformed(frame, function: FunctionVariable) -> Variable | None:
    """vmap(f), grad(f) … for the function that such a transform gave; None for other functions."""
    if getattr(function.function, "__transform__", None) is None:
        return None
    return on_demand.import_part("transforms").made_outside(frame, function)


def weak_reference(cls: type, referent: Variable, *given: Variable) -> Variable:
    """weakref.ref(referent, *given), or an object of a class made from it."""
    return on_demand.import_part("weak").WeakReference(cls, referent, given=given)


def accumulate(frame: Any, outputs: list[TensorVariable], seeds: Variable, given: dict[str, Any]) -> Variable:
    """tensor.backward(…)"""
    return on_demand.import_part("gradients").accumulate(frame, outputs, seeds, given)


def to_python(frame, tensor: TensorVariable, name: str) -> Variable:
    """tensor.item(), tensor.tolist() …"""
    return tensor_values.to_python(frame, tensor, name)


def storage_of_tensor(tensor: TensorVariable) -> Variable:
    """tensor.untyped_storage()"""
    return on_demand.import_part("untyped_storage").of_tensor(tensor)


def exception(cls: type, args: Iterable[Variable] = ()) -> ExceptionVariable:
    return ExceptionVariable(cls, list(args))


__all__ = [
    "BoundMethod", "CallableVariable", "ClassVariable", "ClosureVariable", "ConstantVariable", "DequeIterator",
    "DictVariable", "DictView", "ExceptionVariable", "FALSE", "GeneratorVariable", "HashedIterator", "ItemsIterator",
    "ListVariable", "MethodVariable", "ModuleVariable", "NONE", "NamedTupleVariable", "NativeMethod",
    "OBJECT_METHODS", "ObjectVariable", "PartialVariable", "RangeIterator", "SequenceIterator", "SetVariable", "SizeVariable",
    "SliceVariable", "SymbolicVariable", "TRUE", "TensorVariable", "TupleVariable", "accumulate", "array", "as_set", "boolean",
    "bound", "const", "dict_", "exception", "items_iterator", "iterator", "list_", "literal", "make_exception",
    "method", "plain", "plain_answer", "set_", "set_of", "sets", "storage_of_tensor", "symbolic",
    "to_python", "tuple_", "weak_reference",
]  # fmt: skip
