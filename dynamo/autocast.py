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


def cast(output: Any, frame: Any, op: Op, args: list[Variable], kwargs: dict[str, Variable]) -> tuple[list, dict]:
    """The arguments of a call of `op` where autocast is on, as aten.autocast casts them."""
    frame.world.ambient()
    if "out" in kwargs:
        return args, kwargs
    seen = [(t.as_meta().dtype, t.as_meta().device.type) for a in [*args, *kwargs.values()] for t in tensors_in(frame, a)]
    policy = autocast.policy(op.name, output.ambient, [kind for _, kind in seen])
    if policy is None:
        return args, kwargs
    wanted = autocast.target(policy, output.ambient, seen)

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

    return [fit(a) for a in args], {k: fit(v) for k, v in kwargs.items()}


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
