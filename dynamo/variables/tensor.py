"""Tensors while tracing: a graph node whose Meta answers for sizes, dtype and device. Operations record nodes."""

from __future__ import annotations

import operator
import types
from typing import Any

import aten
from aten.op import Method, registry
from dynamo import graph_break
from dynamo.graph_break import Unsupported
from dynamo.source import Attr, Object
from dynamo.variables.base import NULL, Variable
from dynamo.variables.constant import NONE, ConstantVariable, boolean, literal
from dynamo.variables.exception import raise_exception
from dynamo.variables.sequence import SizeVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable, symbolic

BINARY = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div", operator.mod: "remainder",
    operator.floordiv: "floor_divide", operator.pow: "pow", operator.matmul: "matmul", operator.and_: "bitwise_and",
    operator.or_: "bitwise_or", operator.xor: "bitwise_xor", operator.lshift: "bitwise_left_shift",
    operator.rshift: "bitwise_right_shift",
    operator.eq: "eq", operator.ne: "ne", operator.lt: "lt", operator.le: "le", operator.gt: "gt", operator.ge: "ge",
}  # fmt: skip
IN_PLACE = {
    operator.iadd: "add_", operator.isub: "sub_", operator.imul: "mul_", operator.itruediv: "div_",
    operator.imod: "remainder_", operator.ifloordiv: "floor_divide_", operator.ipow: "pow_",
    operator.iand: "bitwise_and_", operator.ior: "bitwise_or_", operator.ixor: "bitwise_xor_",
    operator.ilshift: "bitwise_left_shift_", operator.irshift: "bitwise_right_shift_",
}  # fmt: skip
UNARY = {operator.neg: "neg", operator.pos: "positive", operator.invert: "bitwise_not", operator.abs: "abs"}
TO_PYTHON = frozenset({"item", "tolist", "__int__", "__float__", "__index__", "__complex__", "__array__"})
MEMORY = frozenset({"data_ptr", "untyped_storage", "storage", "storage_offset", "_version", "__dlpack__", "_base"})


class TensorVariable(Variable):
    """A tensor: `node` makes it, `meta` describes it, `root` is the Variable whose memory it views (or itself).

    One from outside has the real tensor in `value`. In-place operations keep the Variable.
    """

    __slots__ = ("node", "meta", "root", "value", "cls")

    def __init__(
        self, node, meta, root: TensorVariable | None = None, value=None, cls: type | None = None, source=None
    ):
        super().__init__(source)
        self.node = node
        self.meta = meta
        self.root: TensorVariable = self if root is None else root
        self.value = value
        self.cls = cls or aten.Tensor

    def __repr__(self):
        return f"TensorVariable({self.node}, {self.meta})"

    def python_type(self):
        return self.cls

    def describe(self):
        return f"a tensor of sizes [{', '.join(map(str, self.meta.sizes))}]"

    def as_arg(self):
        return self.node

    def as_meta(self):
        return self.meta

    def is_constant(self):
        return False

    def is_same(self, other):
        return self is other

    # -------------------------------------------------------------------------------------- attributes
    def getattr(self, frame, name):
        stored = frame.output.side_effects.attribute(self, name)
        if stored is not None and stored is not NULL:
            return stored
        rule = ATTRIBUTES.get(name)
        if rule is not None:
            return rule(self, frame)
        if name in MEMORY:
            raise Unsupported(graph_break.DYNAMIC_ATTRIBUTE, f"{name} of {self.describe()}")
        from dynamo.variables.function import BoundMethod

        if name in METHODS or name in TO_PYTHON or is_method(name):
            return BoundMethod(self, name)
        return self.class_attribute(frame, name)

    def class_attribute(self, frame, name: str) -> Variable:
        """A property or method that Tensor has in Python, or an attribute the user put on the tensor."""
        from dynamo.variables import track
        from dynamo.variables.object import MISSING, bind_raw, lookup

        raw = lookup(self.cls, name)
        if isinstance(raw, Method):  # a method whose op has another name
            from dynamo.variables.function import MethodVariable

            return MethodVariable(track.wrap(frame, raw, Object(raw)), self)
        if isinstance(raw, (property, types.FunctionType, staticmethod, classmethod)):
            return bind_raw(frame, raw, self, self.cls, name)
        if self.value is not None and name in self.value.__dict__:
            return track.wrap(frame, self.value.__dict__[name], Attr(self.source, name))
        if raw is MISSING:
            if self.source is not None:
                frame.output.guard_lacks_attribute(self.source, name)
            raise raise_exception(frame, AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        raise Unsupported(graph_break.DYNAMIC_ATTRIBUTE, f"{name} of {self.describe()}")

    def setattr(self, frame, name, value):
        if name == "grad" or not hasattr(aten.Tensor, name):
            frame.output.side_effects.store_attribute(self, name, value)
            return
        if name == "requires_grad" and value.as_python() == self.meta.requires_grad:
            return
        raise Unsupported(graph_break.MUTATED_ALIAS, f"setting {name} of {self.describe()}")

    def sizes(self, frame) -> SizeVariable:
        return SizeVariable([symbolic(frame, s) for s in self.meta.sizes])

    def gradient(self, frame) -> Variable:
        """x.grad of an input; other tensors have none while tracing."""
        from dynamo.variables import track

        if self.source is None:
            if not self.meta.requires_grad:
                return NONE
            raise Unsupported(graph_break.DYNAMIC_ATTRIBUTE, f"grad of {self.describe()}")
        return track.wrap(frame, self.value.grad, Attr(self.source, "grad"))

    # ------------------------------------------------------------------------------------------- calls
    def method(self, frame, name, args, kwargs):
        rule = METHODS.get(name)
        if rule is not None:
            return rule(self, frame, *args, **kwargs)
        if name in TO_PYTHON:
            raise Unsupported(graph_break.TENSOR_TO_PYTHON, f"{name}()")
        op = registry.get(name)
        if op is not None and is_method(name):
            return frame.output.record(frame, op, [self, *args], kwargs)
        return self.getattr(frame, name).call(frame, args, kwargs)

    def op(self, frame, name: str, *args: Variable) -> Variable:
        return frame.output.record(frame, registry[name], list(args), {})

    def getitem(self, frame, key):
        check_key(key)
        return self.op(frame, "getitem", self, key)

    def setitem(self, frame, key, value):
        if is_mask(key):
            self.fill_masked(frame, key, value)
        else:
            self.op(frame, "setitem", self, key, value)

    def fill_masked(self, frame, mask: TensorVariable, value: Variable) -> None:
        """self[mask] = value: one value is written where the mask holds, several would need to be counted."""
        if isinstance(value, TensorVariable) and value.meta.sizes:
            raise Unsupported(graph_break.DATA_DEPENDENT_SIZE, "x[mask] = several values")
        for _ in range(len(self.meta.sizes) - len(mask.meta.sizes)):
            mask = mask.op(frame, "unsqueeze", mask, ConstantVariable(-1))
        self.op(frame, "masked_fill_", self, mask, value)

    def length(self, frame):
        if not self.meta.sizes:
            raise raise_exception(frame, TypeError, "len() of a 0-d tensor")
        return symbolic(frame, self.meta.sizes[0])

    def iterate(self, frame):
        from dynamo.variables.iterator import ItemsIterator

        return ItemsIterator(self.unpack(frame))

    def unpack(self, frame):
        if not self.meta.sizes:
            raise raise_exception(frame, TypeError, "iteration over a 0-d tensor")
        return self.op(frame, "unbind", self, ConstantVariable(0)).unpack(frame)

    def contains(self, frame, item):
        raise Unsupported(graph_break.BRANCH_ON_TENSOR, "`in` a tensor")

    # --------------------------------------------------------------------------------------- operators
    def truth(self, frame):
        raise Unsupported(graph_break.BRANCH_ON_TENSOR)

    def binary(self, frame, op, other):
        name = IN_PLACE.get(op) or BINARY.get(op)
        if name is None or not is_operand(other):
            return None
        if op in IN_PLACE and name not in registry:
            return None
        return self.op(frame, name, self, other)

    def reflected(self, frame, op, other):
        name = BINARY.get(op)
        if name is None or not is_operand(other):
            return None
        return self.op(frame, name, other, self)

    def unary(self, frame, op):
        return self.op(frame, UNARY[op], self)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        return emit.graph_output(self.node)


def is_operand(value: Variable) -> bool:
    """Whether `value` may be the other side of an operator with a tensor."""
    if isinstance(value, (TensorVariable, SymbolicVariable)):
        return True
    return isinstance(value, ConstantVariable) and isinstance(value.value, (int, float, complex))


def is_method(name: str) -> bool:
    """Whether the op of that name is a method of tensors."""
    op = registry.get(name)
    if op is None:
        return False
    return op.kind == "inplace" or (
        "(Tensor input" in op.declaration and op.tags.isdisjoint(("function_only", "hidden"))
    )


def is_mask(key: Variable) -> bool:
    return isinstance(key, TensorVariable) and key.meta.dtype in (aten.bool, aten.uint8) and bool(key.meta.sizes)


def check_key(key: Variable) -> None:
    """An index by a mask has a result whose size depends on data."""
    parts = key.items if isinstance(key, TupleVariable) else [key]
    for part in parts:
        if is_mask(part):
            raise Unsupported(graph_break.DATA_DEPENDENT_SIZE, "x[mask]")


# ------------------------------------------------------------------------------------ attributes, methods
def _leaf(self, frame):
    if self.value is not None and self.root is self:
        return boolean(self.value.is_leaf)
    return boolean(not self.meta.requires_grad)


def _grad_fn(self, frame):
    if not self.meta.requires_grad or (self.value is not None and self.value.is_leaf):
        return NONE
    raise Unsupported(graph_break.DYNAMIC_ATTRIBUTE, "grad_fn")


ATTRIBUTES = {
    "shape": lambda self, frame: self.sizes(frame),
    "dtype": lambda self, frame: literal(frame, self.meta.dtype),
    "device": lambda self, frame: literal(frame, self.meta.device),
    "ndim": lambda self, frame: ConstantVariable(len(self.meta.sizes)),
    "requires_grad": lambda self, frame: boolean(self.meta.requires_grad),
    "is_leaf": _leaf,
    "grad_fn": _grad_fn,
    "grad": lambda self, frame: self.gradient(frame),
    "data": lambda self, frame: self.op(frame, "detach", self),
    "is_cpu": lambda self, frame: boolean(self.meta.device.type == "cpu"),
    "is_cuda": lambda self, frame: boolean(self.meta.device.type == "cuda"),
    "is_meta": lambda self, frame: boolean(self.meta.device.type == "meta"),
    "itemsize": lambda self, frame: ConstantVariable(self.meta.dtype.itemsize),
    "nbytes": lambda self, frame: symbolic(frame, self.meta.numel() * self.meta.dtype.itemsize),
    "__class__": lambda self, frame: literal(frame, self.cls),
    "__array_priority__": lambda self, frame: ConstantVariable(1000),
}


def _size(self, frame, dim=NONE):
    sizes = self.sizes(frame)
    return sizes if dim is NONE or dim.is_same(NONE) else sizes.getitem(frame, dim)


def _stride(self, frame, dim=NONE):
    strides = TupleVariable([symbolic(frame, s) for s in self.meta.strides])
    return strides if dim.is_same(NONE) else strides.getitem(frame, dim)


def _requires_grad(self, frame, requires_grad=ConstantVariable(True)):
    if requires_grad.as_python() == self.meta.requires_grad:
        return self
    raise Unsupported(graph_break.MUTATED_ALIAS, "requires_grad_() changes what the graph records")


def _is_contiguous(self, frame, memory_format=NONE):
    return boolean(self.meta.is_contiguous())


def _numpy(self, frame, *, force=ConstantVariable(False)):
    from dynamo.variables.ndarray import wrap_array

    if self.meta.requires_grad and not force.truth(frame):
        raise Unsupported(graph_break.TENSOR_TO_PYTHON, "numpy() of a tensor that requires grad")
    return wrap_array(self.op(frame, "detach", self))


def _backward(self, frame, *args, **kwargs):
    raise Unsupported(graph_break.BACKWARD_INSIDE)


def _numel(self, frame):
    return symbolic(frame, self.meta.numel())


METHODS = {
    "size": _size,
    "stride": _stride,
    "dim": ATTRIBUTES["ndim"],
    "ndimension": ATTRIBUTES["ndim"],
    "numel": _numel,
    "nelement": _numel,
    "element_size": ATTRIBUTES["itemsize"],
    "is_contiguous": _is_contiguous,
    "is_floating_point": lambda self, frame: boolean(self.meta.dtype.is_floating_point),
    "is_complex": lambda self, frame: boolean(self.meta.dtype.is_complex),
    "is_signed": lambda self, frame: boolean(self.meta.dtype.is_signed),
    "get_device": lambda self, frame: ConstantVariable(
        -1 if self.meta.device.type == "cpu" else self.meta.device.index
    ),
    "requires_grad_": _requires_grad,
    "backward": _backward,
    "numpy": _numpy,
    "__len__": lambda self, frame: self.length(frame),
    "__getitem__": lambda self, frame, key: self.getitem(frame, key),
    "__setitem__": lambda self, frame, key, value: self.setitem(frame, key, value) or NONE,
    "__iter__": lambda self, frame: self.iterate(frame),
    "__bool__": lambda self, frame: boolean(self.truth(frame)),
    "__abs__": lambda self, frame: self.op(frame, "abs", self),
}
for _op, _name in BINARY.items():
    METHODS[f"__{_op.__name__.strip('_')}__"] = lambda self, frame, other, op=_op: (
        self.binary(frame, op, other) or ConstantVariable(NotImplemented)
    )
    METHODS[f"__r{_op.__name__.strip('_')}__"] = lambda self, frame, other, op=_op: (
        self.reflected(frame, op, other) or ConstantVariable(NotImplemented)
    )


def wrap_result(frame, node, val: Any, root: TensorVariable | None = None) -> Variable:
    """The Variable of what a node returns: a Meta, a number, or a sequence of them."""
    from aten.meta import Meta
    from dynamo.variables.sequence import ListVariable, NamedTupleVariable

    if type(val) is Meta:
        return TensorVariable(node, val, root)
    if isinstance(val, (tuple, list)):
        items = []
        for i, v in enumerate(val):
            part = frame.output.graph.call_function(operator.getitem, (node, i), val=v) if type(v) is Meta else None
            items.append(wrap_result(frame, part, v, root))
        if hasattr(val, "_fields"):
            return NamedTupleVariable(items, type(val))
        return ListVariable(items) if type(val) is list else TupleVariable(items)
    return symbolic(frame, val) if val is not None and not isinstance(val, str) else literal(frame, val)
