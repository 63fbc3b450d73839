"""Autocast in a graph: the casts of an op's arguments are nodes before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native, autocast
from aten.op import Op, registry
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.sequence import ListVariable, TupleVariable
from dynamo.variables.tensor import TensorVariable


def cast(
    output: Any, frame: Any, op: Op, args: list[Variable], kwargs: dict[str, Variable]
) -> tuple[list, dict, Callable[[Variable], Variable]]:
    """The arguments of a call of `op` where autocast is on, as aten.autocast casts them, and what becomes of the result."""
    frame.world.ambient()
    if "out" in kwargs:
        return args, kwargs, lambda made: made
    seen = [(t.as_meta().dtype, t.as_meta().device.type) for a in [*args, *kwargs.values()] for t in tensors_in(frame, a)]
    at = lambda i, name: _argument(frame, args[i] if i < len(args) else kwargs.get(name))
    policy = autocast.policy(op.name, output.ambient, [kind for _, kind in seen], at)
    if policy is None:
        return args, kwargs, lambda made: made
    fit = _fitting(output, frame, autocast.target(policy, output.ambient, seen))
    after = _fitting(output, frame, autocast.target("lower", output.ambient, seen)) if policy == "product" else lambda made: made
    return [fit(a) for a in args], {k: fit(v) for k, v in kwargs.items()}, after


def _argument(frame: Any, v: Variable | None) -> Any:
    """An argument as policies ask for it: a Meta, a sequence, a number or text."""
    if v is None or isinstance(v, TensorVariable):
        return None if v is None else v.as_meta()
    if isinstance(v, (ListVariable, TupleVariable)):
        return [_argument(frame, x) for x in v.unpack(frame)]
    return v.as_python() if isinstance(v, ConstantVariable) else v


def _fitting(output: Any, frame: Any, wanted: Callable[[Any, str], Any]) -> Callable[[Variable], Variable]:
    """What casts a tensor, or those of a list, to the dtypes that are wanted."""

    def fit(value: Variable) -> Variable:
        if isinstance(value, TensorVariable):
            meta = value.as_meta()
            dtype = wanted(meta.dtype, meta.device.type)
            if dtype is None or dtype is meta.dtype:
                return value
            return output.record(frame, registry["to"], [value, ConstantVariable(dtype)], {})
        if tensors_in(frame, value):
            return ListVariable([fit(v) for v in value.unpack(frame)])
        return value

    return fit


def compiled_without(compile: Callable[[], Any]) -> Any:
    """What `compile()` gives. A graph has its casts: it is compiled with autocast off, and runs so."""
    before = _native.set_ambient_bits(autocast.ON, 0)
    try:
        compiled = compile()
    finally:
        _native.set_ambient_bits(autocast.ON, before)
    if not before:
        return compiled

    def run(*inputs: Any) -> Any:
        before = _native.set_ambient_bits(autocast.ON, 0)
        try:
            return compiled(*inputs)
        finally:
            _native.set_ambient_bits(autocast.ON, before)

    return run


def tensors_in(frame: Any, value: Variable) -> list[TensorVariable]:
    if isinstance(value, TensorVariable):
        return [value]
    if isinstance(value, (ListVariable, TupleVariable)):
        return [v for v in value.unpack(frame) if isinstance(v, TensorVariable)]
    return []
