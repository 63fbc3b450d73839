"""Values of tensors in Python: known ones, and numbers that are known once the graph has run (`u0`, bound by a node `item`)."""

from __future__ import annotations

from typing import Any

import aten
from aten.fx.targets import check, item
from aten.meta import Meta
from aten.scalar.unpatched import math
from aten.symbolic.checked import holds
from dynamo import breaks, config, trace_rules
from dynamo.breaks import Unsupported
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable, boolean
from dynamo.variables.symint import SymbolicVariable

INT64 = (-(2**63), 2**63 - 1)
CLASSES = {"__int__": int, "__float__": float, "__index__": int}
SMALL = (aten.bool, aten.uint8)  # whose elements are read as wider integers
MANY = 256  # items of tolist(), each of which is a node


def to_python(frame, tensor: Any, name: str) -> Variable:
    """tensor.item(), tensor.tolist(), int(tensor) …"""
    if tensor.known is not None and name in ("item", "tolist", *CLASSES):
        return frame.values.run(frame, getattr(tensor.known, name))
    sizes, dtype = tensor.meta.sizes, tensor.meta.dtype
    numeric = not dtype.is_complex
    integral = numeric and not dtype.is_floating_point
    captures = frame.output.options.fullgraph or config.capture_scalar_outputs
    if not captures or not numeric or any(type(s) is not int and s.hint is None for s in sizes):
        raise Unsupported(breaks.TENSOR_TO_PYTHON, f"{name}()")
    count = math.prod([s if type(s) is int else s.hint for s in sizes])
    if count <= MANY:  # (how many numbers there are is guarded: each is a node)
        sizes = tuple(map(int, sizes))
        meta = tensor.meta
        tensor.meta = Meta(meta.dtype, meta.device, sizes, meta.strides, meta.offset, meta.requires_grad)
    if name == "tolist" and integral and count <= MANY:
        return listed(frame, tensor)
    if name not in ("item", *CLASSES) or count != 1:
        raise Unsupported(breaks.TENSOR_TO_PYTHON, f"{name}()")
    number = read(frame, tensor)
    wanted = CLASSES.get(name)
    if wanted is not None and number.python_type() is not wanted:
        return frame.world.known(wanted).call(frame, [number], {})
    return number


def read(frame, tensor: Any) -> SymbolicVariable:
    """The number in a tensor of one element."""
    if tensor.meta.dtype in SMALL:
        number = read(frame, tensor.method(frame, "to", [ConstantVariable(aten.int64)], {}))
        return number if tensor.meta.dtype is not aten.bool else SymbolicVariable(number.value != 0)
    output = frame.output
    kind = "float" if tensor.meta.dtype.is_floating_point else "int"
    value = output.shape_env.unbacked(*INT64, kind)
    output.recorded = True
    output.graph.line = output.user_line()
    output.graph.call_function(item, (tensor.node,), {}, val=value)
    return SymbolicVariable(value)


@trace_rules.handle(holds)
def promised(frame, args, kwargs) -> Variable:
    """Whether the condition of a check holds; one on numbers that the graph has yet to compute is learned, and checked there."""
    value = args[0]
    env = frame.output.shape_env
    if not isinstance(value, SymbolicVariable) or value.python_type() is not bool or env.hint(value.value.expr) is not None:
        return boolean(value.truth(frame))
    known = env.statically_known(value.value.expr)
    if known is None:
        frame.output.graph.line = frame.output.user_line()
        frame.output.graph.call_function(check, (value.value,), {}, val=None)
        env.assume(value.value.expr, record=False)
    return boolean(known is not False)


def listed(frame, tensor: Any) -> Variable:
    """tensor.tolist()"""
    if not tensor.meta.sizes:
        return read(frame, tensor)
    items = [tensor.getitem(frame, ConstantVariable(i)) for i in range(tensor.meta.sizes[0])]
    return frame.values.list_([listed(frame, v) for v in items])
