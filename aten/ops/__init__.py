"""The ops, one family a file. Importing this package declares them, or promises them (`on_demand.py`): most programs need few
families beside those imported here. `attach_methods` makes methods of them."""

from collections.abc import Callable
from typing import Any

from aten import _native, dispatch
from aten.op import Method, Op, registry
from aten.ops import (  # noqa: F401
    comparison,
    complex,
    conditional,
    conversion,
    copies,
    creation,
    embedding,
    getitem,
    index_tensors,
    indexing,
    inplace_views,
    layout,
    matmul,
    on_demand,
    pointwise,
    put,
    rearrange,
    reduction,
    refusals,
    structure,
    view,
)
from aten.ops.methods import attach_properties
from aten.tensor import Tensor, attach

_methods = set(on_demand.promise())
_kernels = {id(registry[_name]): _kernel for _name, _kernel in _native.native_kernels().items() if _name in registry}


def _give_kernel(op: Op) -> None:
    if id(op) in _kernels:
        op.native_fn = _kernels[id(op)]


on_demand.finish += [refusals.declare(), _give_kernel]
_OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "neg": "neg",
    "abs": "abs",
    "invert": "invert",
    "pos": "positive",
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "getitem": "getitem",
    "setitem": "setitem",
}
_INPLACE = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")


def _writer(part: Op) -> Callable[[Tensor, Any], None]:
    """What assigning to a property that is a view does: it writes there."""
    return lambda tensor, value: part(tensor).copy_(value) if hasattr(value, "dtype") else part(tensor).fill_(value)


def is_method(op: Op) -> bool:
    """Whether tensors have an op as a method: its first parameter is the tensor `input`, or it writes there."""
    return "(Tensor input" in op.declaration and op.tags.isdisjoint(("function_only", "hidden")) or op.kind == "inplace"


def attach_methods() -> None:
    """Make every op whose first parameter is the tensor `input` a method, and set the operators."""
    attach_properties()
    taken = set(vars(Tensor))
    for name, op in registry.items():
        if name in taken:
            continue
        if isinstance(op, on_demand.Promise):
            if name in _methods:
                attach(name, Method(op))
        elif is_method(op):
            attach(name, property(op, _writer(op)) if "property" in op.tags else Method(op))
    attach("where", Method(registry["where_method"]))
    for operator, name in _OPERATORS.items():
        attach(f"__{operator}__", registry[name])
    for operator in _INPLACE:
        attach(f"__i{operator}__", registry[_OPERATORS[operator] + "_"])


__all__ = ["attach_methods", "dispatch", "is_method"]
