"""The ops, one family a file. Importing this package declares them all; `attach_methods` makes methods of them."""

from collections.abc import Callable
from typing import Any

from aten import _native, dispatch
from aten.op import Method, Op, registry
from aten.ops import (  # noqa: F401
    activation,
    attention,
    bessel,
    class_loss,
    comparison,
    complex,
    conditional,
    conv,
    conversion,
    convolution,
    copies,
    creation,
    determinant,
    differences,
    distance,
    draws,
    embedding,
    fake_quantize,
    fft,
    fractional_pool,
    getitem,
    gradients,
    grouped_mm,
    hashing,
    histogram,
    index_tensors,
    indexing,
    indexing_batch,
    inplace_views,
    layout,
    ldl,
    library_batch,
    linalg,
    linalg_info,
    linalg_public,
    linear_loss,
    loss,
    matmul,
    multihead_attention,
    native_activations,
    native_backward,
    native_names,
    norm,
    normal,
    older_names,
    orthogonal,
    padding,
    pointwise,
    pool,
    put,
    random,
    rearrange,
    recurrent,
    reduction,
    refusals,
    resize,
    sampling,
    scan,
    softmax,
    sorting,
    special,
    structure,
    take,
    variance,
    view,
    window,
)
from aten.ops.methods import attach_properties
from aten.tensor import Tensor, attach

refusals.declare()
for _name, _kernel in _native.native_kernels().items():
    registry[_name].native_fn = _kernel
library_batch.declare()
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


def attach_methods() -> None:
    """Make every op whose first parameter is the tensor `input` a method, and set the operators."""
    attach_properties()
    taken = set(vars(Tensor))
    for name, op in registry.items():
        if "(Tensor input" in op.declaration and op.tags.isdisjoint(("function_only", "hidden")) or op.kind == "inplace":
            if name not in taken:
                attach(name, property(op, _writer(op)) if "property" in op.tags else Method(op))
    attach("where", Method(registry["where_method"]))
    for operator, name in _OPERATORS.items():
        attach(f"__{operator}__", registry[name])
    for operator in _INPLACE:
        attach(f"__i{operator}__", registry[_OPERATORS[operator] + "_"])


__all__ = ["attach_methods", "dispatch"]
