"""Tensors while tracing: a graph node whose Meta answers for sizes, dtype and device. Operations record nodes."""

from __future__ import annotations

import _operator as operator
import types
import weakref
from typing import Any

import numpy as np

import aten
from aten import _native, ops, overrides
from aten.asked_attributes import is_asked
from aten.fx.targets import require_grad, set_data
from aten.meta import Meta
from aten.op import Method, registry
from aten.symbolic.symint import SYMBOLIC
from dynamo import breaks, guards, history, outcome, saved, trace_rules, views
from dynamo.breaks import Unsupported
from dynamo.operators import ROWS, UNARY
from dynamo.promises import captures_sizes
from dynamo.source import Converted, Object
from dynamo.variables import attributes
from dynamo.variables.base import NULL, Variable, attribute, method
from dynamo.variables.constant import FALSE, NONE, TRUE, ConstantVariable, boolean, literal
from dynamo.variables.exception import raise_exception, run_python
from dynamo.variables.sequence import ListVariable, NamedTupleVariable, TupleVariable
from dynamo.variables.storage import Storage
from dynamo.variables.symint import SymbolicVariable, symbolic
from dynamo.variables.tensor_facts import TensorFacts

TO_PYTHON = frozenset({"item", "tolist", "__int__", "__float__", "__index__", "__complex__", "__array__"})
FEW_SLICES = 8  # up to so many are an index each, as in PyTorch; of more, or with a gradient, they are one unbind, as in eager
MEMORY = frozenset({"data_ptr", "storage", "_version", "__dlpack__", "_base"})


class TensorVariable(TensorFacts):
    """A tensor: `node` makes it, `meta` describes it, `root` is the Variable whose memory it views (or itself).

    One from outside has the real tensor in `value`. In-place operations keep the Variable.
    """

    __slots__ = ("node", "meta", "root", "value", "cls", "known", "taken")
    is_array_like = True
    is_wrapper = False  # of a class with a __torch_dispatch__ (wrapper.py)

    def __init__(self, node, meta, root: TensorVariable | None = None, value=None, cls: type | None = None, source=None):
        super().__init__(source)
        self.node = node
        self.meta = meta
        self.root: TensorVariable = self if root is None else root
        self.value = value
        self.cls = cls or aten.Tensor
        self.known: Any = None  # a real tensor equal to this one, while its values are constants
        self.taken: tuple[TensorVariable, Variable] | None = None  # of what and by which key, where eager views at a number

    def __repr__(self):
        return f"TensorVariable({self.node}, {self.meta})"

    def python_type(self):
        return self.cls

    @property
    def is_of_subclass(self) -> bool:
        return self.cls is not aten.Tensor and self.cls is not aten.Parameter

    def describe(self):
        return f"a tensor of sizes [{', '.join(map(str, self.meta.sizes))}]"

    def as_arg(self):
        return self.node

    def as_meta(self):
        return self.meta

    def requires_grad(self, output) -> bool:
        """What the program is told: views made without history are constants in the graph, and leaves to it."""
        return self.meta.requires_grad or self in output.unrecorded

    def is_constant(self):
        return False

    def is_same(self, other):
        return self is other

    def example(self):
        return aten.zeros(0) if self.value is None else self.value

    # -------------------------------------------------------------------------------------- attributes
    def replaced(self, frame, name: str) -> Variable | None:
        """What a program has put in the place of a method of Tensor, bound; None as long as it is ours. Guarded either way."""
        if self.is_of_subclass or frame.world.is_ours(self.cls, name):
            return None
        found = attributes.find(frame, self.cls, name)
        if found is None:
            raise attributes.no_attribute(frame, self, name)
        return attributes.bind(frame, found, self, frame.world.known(self.cls))

    def operator(self, frame, name: str, *args: Variable) -> Variable | None:
        """What stands in the place of an operator of Tensor, called; None as long as it is ours."""
        if self.is_of_subclass:
            mine = frame.world.on_class(self.cls, name)
            if mine is not frame.world.on_class(aten.Tensor, name) and not is_asked(name, mine):
                raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, f"operator {name} of {self.cls.__qualname__}, which has its own")
        method = self.replaced(frame, name)
        return None if method is None else method.call(frame, list(args), {})

    def getattr(self, frame, name):
        replaced = self.replaced(frame, name)
        if replaced is not None:
            return replaced
        if name == "grad":
            stored = self.storage(frame).changes.get(name)
            if stored is not None:
                return NONE if stored is NULL else stored.realize(frame)
        if self.is_of_subclass:
            base, mine = [frame.world.on_class(cls, name) for cls in (aten.Tensor, self.cls)]
            if is_asked(name, mine):
                if not frame.output.overriding_off:
                    return attributes.bind(frame, attributes.find(frame, self.cls, name), self, frame.world.known(self.cls))
            elif base is not frame.world.MISSING and mine is not base and not overrides.detaches(mine):
                raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, f"attribute {name} of {self.cls.__qualname__}, which has its own")
        if name in MEMORY:
            raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, f"{name} of {self.describe()}")
        known = name in self.rules or name in TO_PYTHON or is_method(name)
        if known and frame.world.on_class(self.cls, name) is not frame.world.MISSING:
            return frame.values.bound(self, name)
        return super().getattr(frame, name)

    def c_call(self, frame, descriptor, args, kwargs):
        """As of others; what asks a `__torch_function__` first is the method itself, once that was asked."""
        name = descriptor.__name__
        mine = frame.world.on_class(self.cls, name)
        if is_asked(name, mine) or overrides.detaches(mine):
            return self.method(frame, name, args, kwargs)
        return super().c_call(frame, descriptor, args, kwargs)

    def class_attribute(self, frame, name: str) -> Variable:
        """A property or method that Tensor has in Python, or an attribute the user put on the tensor."""
        found = attributes.find(frame, self.cls, name)
        if found is not None and isinstance(found.raw, Method):  # a method whose op has another name
            return frame.values.method(frame.world.known(found.raw), self)
        if found is not None and isinstance(found.raw, (property, types.FunctionType, staticmethod, classmethod)):
            return attributes.bind(frame, found, self, frame.world.known(self.cls))
        if name == "__dict__":
            return self.storage(frame).as_dict(frame)
        own = self.storage(frame).read(frame, name)
        if own is not None:
            return own
        if found is None:
            raise attributes.no_attribute(frame, self, name)
        if self.is_of_subclass and not hasattr(aten.Tensor, name):
            return attributes.bind(frame, found, self, frame.world.known(self.cls))
        raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, f"{name} of {self.describe()}")

    def setattr(self, frame, name, value):
        if name == "grad" and not self.may_be_gradient(value):
            raise Unsupported(breaks.MUTATED_ALIAS, f"setting grad of {self.describe()} to {value.describe()}")
        if name == "grad" or not hasattr(aten.Tensor, name):
            self.storage(frame).write(frame, name, value)
            return
        if name == "data":
            self.set_data(frame, value)
            return
        if name == "requires_grad" and value.as_python() == self.meta.requires_grad:
            return
        raise Unsupported(breaks.MUTATED_ALIAS, f"setting {name} of {self.describe()}")

    def may_be_gradient(self, value: Variable) -> bool:
        """Whether `grad` takes the value: None, or another tensor with the same sizes, dtype and device."""
        if not isinstance(value, TensorVariable):
            return value.is_same(NONE)
        mine, its = self.meta, value.meta
        alike = mine.dtype is its.dtype and mine.device == its.device and tuple(mine.shape) == tuple(its.shape)
        return alike and value is not self

    def delattr(self, frame, name):
        if name != "grad" and hasattr(aten.Tensor, name):
            raise Unsupported(breaks.MUTATED_ALIAS, f"deleting {name} of {self.describe()}")
        if name == "grad":
            self.storage(frame).write(frame, name, NONE)
        elif not self.storage(frame).delete(frame, name):
            raise (attributes.no_attribute if attributes.FULL_NAMES else attributes.unchangeable)(frame, self, name)

    def make_storage(self) -> Storage:
        return Storage(self, self.value, apart=("grad",))

    def storage(self, frame) -> Storage:
        """What the program keeps on the tensor: its own attributes and `grad`."""
        return attributes.storage_of(frame, self)

    def gradient(self, frame) -> Variable:
        """x.grad of an input; other tensors have none while tracing."""
        if self.source is None:
            if not self.meta.requires_grad:
                return NONE
            raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, f"grad of {self.describe()}")
        is_leaf = self.cls is aten.Parameter or self.is_leaf_outside(frame)  # (optimizers read those of many Parameters)
        if not is_leaf and not frame.world.fact(self.value, self.source, "retains_grad"):
            raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, "grad of a tensor that is no leaf, of which a warning tells each time")
        return frame.world.attribute(self.value, self.source, "grad")

    def is_leaf_outside(self, frame) -> bool:
        """Whether the tensor from outside is a leaf; guarded."""
        if not self.meta.requires_grad:  # one that needs no gradient is a leaf
            return True
        return frame.world.fact(self.value, self.source, "is_leaf")

    @attribute("is_leaf")
    def leaf(self, frame):
        if self.value is not None and self.root is self and not self.written(frame):
            return boolean(self.is_leaf_outside(frame))
        return boolean(not self.meta.requires_grad or self in frame.output.unrecorded or self.is_own_leaf(frame))

    def is_own_leaf(self, frame) -> bool:
        """Whether the graph made it a leaf."""
        return any(self is leaf for leaf in frame.output.own_leaves)

    def written(self, frame) -> bool:
        return self.root in frame.output.mutated and self.meta.requires_grad

    @attribute("grad_fn")
    def grad_fn(self, frame):
        if not self.meta.requires_grad or self.is_own_leaf(frame):
            return NONE
        if self.value is not None and not self.written(frame) and self.is_leaf_outside(frame):
            return NONE
        raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, "grad_fn")

    @attribute("grad")
    def get_grad(self, frame):
        return self.gradient(frame)

    @attribute("data")
    def get_data(self, frame):
        if frame.output.graph.transformed:
            return self.op(frame, "data_of", self)
        made: Any = self.op(frame, "detach" if self.root.meta.requires_grad else "data_of", self)  # (which counts its own writes)
        made.node.meta["data"] = frame.output.root.group_step
        made.node.meta["data of"], made.node.meta["held by"] = self, weakref.ref(made)
        return made

    def set_data(self, frame, value: Variable) -> None:
        """x.data = value: the tensor has other memory from now on, and stays what it is to autograd."""
        if not isinstance(value, TensorVariable) or self.cls is not value.cls and not self.meta.requires_grad:
            raise Unsupported(breaks.MUTATED_ALIAS, f"setting data of {self.describe()}")
        saved.check_memory(frame.output, "setting data", self.node)
        meta = value.meta
        made = Meta(meta.dtype, meta.device, meta.sizes, meta.strides, meta.offset, self.meta.requires_grad)
        output = frame.output
        output.recorded, output.graph.line = True, output.user_line()
        self.node = output.graph.call_function(set_data, (self.node, value.node), {}, val=made)
        self.meta, self.known = made, None
        output.mutated.update(t.root for t in (self, value) if t.root.source is not None)

    @method("untyped_storage")
    def untyped_storage(self, frame):
        return frame.values.storage_of_tensor(self)

    @method("is_inference")
    def is_inference(self, frame):
        """What the graph makes is one of the mode it is made in, as are its views; one from outside is asked, and guarded."""
        root = self.root
        if root.source is not None and root.value is not None and not self.is_of_subclass and not root.is_of_subclass:
            found = aten.Tensor.is_inference(root.value)
            if not isinstance(root.source, Object):
                frame.output.guard(guards.Equals(Converted(root.source, aten.Tensor.is_inference), found))
            return boolean(found)
        if "step" not in root.node.meta or self.is_of_subclass:
            raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, f"is_inference of {self.describe()}")
        frame.world.flag("inference")
        return boolean(self.of_inference())

    def of_inference(self) -> bool:
        """Whether it was made, or what it is a view of, under inference_mode."""
        root = self.root
        return "inference" in root.node.meta or root.value is not None and aten.Tensor.is_inference(root.value)

    @method("new_tensor")
    def new_tensor(self, frame, data, *, dtype=NONE, device=NONE, requires_grad=FALSE, **rest):
        """aten.tensor(data), with the dtype and device of this one."""
        if self.is_of_subclass:
            given = {"dtype": dtype, "device": device, "requires_grad": requires_grad, **rest}
            return frame.output.record(frame, registry["new_tensor"], [self, data], given)
        dtype = ConstantVariable(self.meta.dtype) if dtype.is_same(NONE) else dtype
        device = ConstantVariable(self.meta.device) if device.is_same(NONE) else device
        given = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return trace_rules.handler(aten.tensor)(frame, [data], given)  # type: ignore[misc]

    @method("requires_grad_")
    def require_grad(self, frame, requires_grad=TRUE):
        if requires_grad.python_type() is not bool:
            raise Unsupported(breaks.UNKNOWN_CALL, "requires_grad_() of what is no bool")
        if requires_grad.as_python() == self.meta.requires_grad:
            return self
        output, meta = frame.output, self.meta
        if self.is_own_leaf(frame) and output.graph is output.frame_graph:  # it ceases to be one
            output.own_leaves = [leaf for leaf in output.own_leaves if leaf is not self]
            detached: Any = self.op(frame, "detach", self)
            self.node, self.meta = detached.node, detached.meta
            return self
        if self.source is not None or meta.requires_grad or not meta.dtype.is_floating_point or self.of_inference():
            raise Unsupported(breaks.MUTATED_ALIAS, "requires_grad_() changes what the graph records")
        if output.graph is not output.frame_graph or self.is_of_subclass:
            raise Unsupported(breaks.MUTATED_ALIAS, "requires_grad_() within a function that another one calls")
        self.meta = Meta(meta.dtype, meta.device, meta.sizes, meta.strides, meta.offset, True)
        output.graph.line = output.user_line()
        self.node = output.graph.call_function(require_grad, (self.node,), {}, val=self.meta)
        self.node.meta["born"] = output.root.group_step
        self.storage(frame).write(frame, "grad", NONE)
        output.own_leaves.append(self)
        return self

    @method("__init__")
    def initialize(self, frame, *args, **kwargs):
        """Tensor.__init__, which does nothing."""

    @method("backward")
    def backward(self, frame, gradient=NONE, retain_graph=NONE, create_graph=FALSE, inputs=NONE):
        given = {"retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs}
        return frame.values.accumulate(frame, [self], gradient, given)

    @method("numpy")
    def numpy(self, frame, *, force=FALSE):
        if self.meta.requires_grad and not force.truth(frame):
            raise Unsupported(breaks.TENSOR_TO_PYTHON, "numpy() of a tensor that requires grad")
        return frame.values.array(self.op(frame, "detach", self))

    # ------------------------------------------------------------------------------------------- calls
    def op(self, frame, name: str, *args: Variable) -> Variable:
        return frame.output.record(frame, registry[name], list(args), {})

    def getitem(self, frame, key):
        replaced = self.operator(frame, "__getitem__", key)
        if replaced is not None:
            return replaced
        check_key(frame, key)
        self.check_bounds(frame, key)
        return self.op(frame, "getitem", self, key)

    def check_bounds(self, frame, key: Variable) -> None:
        """Indices known while tracing must lie in the tensor: the graph need not compute what nobody reads."""
        known = key.python_type() is range and key.is_constant()
        if not (known or key.python_type() is list) or not self.meta.sizes or type(self.meta.sizes[0]) is not int:
            return
        n = self.meta.sizes[0]
        for v in key.unpack(frame):
            i = v.as_python() if v.is_constant() else None
            if type(i) is int and not -n <= i < n:
                text = f"index {i} is out of bounds for dimension 0 with size {n}"
                raise raise_exception(frame, IndexError, text)

    def setitem(self, frame, key, value):
        if self.operator(frame, "__setitem__", key, value) is not None:
            return
        kind = value.python_type()
        if not issubclass(kind, (_native.Tensor, int, float, complex, np.generic)):
            raise Unsupported(breaks.UNKNOWN_CALL, f"an assignment of a {kind.__name__} to items of a tensor, which eager refuses")
        if is_mask(key):
            self.fill_masked(frame, key, value)
        else:
            self.op(frame, "setitem", self, key, value)

    def fill_masked(self, frame, mask: TensorVariable, value: Variable) -> None:
        """self[mask] = value: one value is written where the mask holds, several would need to be counted."""
        if isinstance(value, TensorVariable) and value.meta.sizes:
            if not captures_sizes(frame.output):
                raise Unsupported(breaks.DATA_DEPENDENT_SIZE, "x[mask] = several values")
            self.op(frame, "setitem", self, mask, value)
            return
        sizes, chosen = self.meta.sizes, mask.meta.sizes
        if len(chosen) > len(sizes) or any(a != b for a, b in zip(chosen, sizes)):
            self.op(frame, "setitem", self, mask, value)  # which is refused; a mask of masked_fill is expanded
            return
        for _ in range(len(self.meta.sizes) - len(mask.meta.sizes)):
            mask = mask.op(frame, "unsqueeze", mask, ConstantVariable(-1))
        self.op(frame, "masked_fill_", self, mask, value)

    def asked(self, frame, name, *args):
        """What the class answers that is asked about this slot of Tensor, or what a program has put in its place; None if
        neither is."""
        if not self.is_of_subclass:
            result = self.operator(frame, name, *args)
            return None if result is None else result.realize(frame)
        if not self.is_of_subclass or frame.output.overriding_off or not is_asked(name, frame.world.on_class(self.cls, name)):
            return None
        return self.getattr(frame, name).call(frame, list(args), {}).realize(frame)

    def length(self, frame):
        answer = self.asked(frame, "__len__")
        if answer is not None:
            return answer
        if not self.meta.sizes:
            raise raise_exception(frame, TypeError, "len() of a 0-d tensor")
        return symbolic(frame, self.meta.sizes[0])

    def iterate(self, frame):
        replaced = self.operator(frame, "__iter__")
        if replaced is not None:
            return replaced.iterate(frame)
        return frame.values.ItemsIterator(self.unpack(frame), self)

    def unpack(self, frame):
        if not self.meta.sizes:
            raise raise_exception(frame, TypeError, "iteration over a 0-d tensor")
        count = self.meta.sizes[0]
        if type(count) is int and count <= FEW_SLICES and not self.meta.requires_grad:
            items: list[Any] = [self.op(frame, "getitem", self, ConstantVariable(i)) for i in range(count)]
            for item in items:  # Python iterates over what one unbind gives
                item.node.meta["one of several"] = "unbind"
            return items
        return self.op(frame, "unbind", self, ConstantVariable(0)).unpack(frame)

    def contains(self, frame, item):
        answer = self.asked(frame, "__contains__", item)
        if answer is not None:
            return answer
        equal = self.binary(frame, operator.eq, item)
        if not isinstance(equal, TensorVariable):
            raise Unsupported(breaks.BRANCH_ON_TENSOR, f"`in` a tensor, of {item.describe()}")
        return equal.method(frame, "any", [], {}).method(frame, "item", [], {})

    # --------------------------------------------------------------------------------------- operators
    def truth(self, frame):
        answer = self.asked(frame, "__bool__")
        if answer is not None:
            return answer.truth(frame)
        if self.known is not None:
            return run_python(frame, bool, self.known)
        raise Unsupported(breaks.BRANCH_ON_TENSOR)

    def binary(self, frame, op, other):
        row = ROWS[op]
        result = self.operator(frame, row.dunder if op is row.function else row.inplace_dunder, other)
        if result is not None:
            return None if result.is_same(frame.values.const(NotImplemented)) else result
        name = row.op if op is row.function else row.op + "_"
        operand = as_operand(frame, op, other) or self.numpy_number(op, other)
        return None if operand is None or name not in registry else self.op(frame, name, self, operand)

    def numpy_number(self, op, other: Variable) -> Variable | None:
        """A NumPy scalar that the graph knows, where it counts as a number does: the dtype of the result is ours."""
        scalar = getattr(other, "scalar", False)
        floating = self.meta.dtype.is_floating_point and self.meta.sizes and op not in (operator.matmul, operator.imatmul)
        tensor: Any = getattr(other, "tensor", None)
        return tensor if scalar and floating and tensor.meta.dtype.is_floating_point else None

    def reflected(self, frame, op, other):
        result = self.operator(frame, ROWS[op].reflected, other)
        if result is not None:
            return None if result.is_same(frame.values.const(NotImplemented)) else result
        operand = as_operand(frame, op, other) or self.numpy_number(op, other)
        return None if operand is None else self.op(frame, ROWS[op].op, operand, self)

    def unary(self, frame, op):
        result = self.operator(frame, UNARY[op].dunder)
        if result is not None:
            return result
        return self.op(frame, "invert" if op is operator.invert else UNARY[op].op, self)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        if emit.output.root.broken and self.root.meta.requires_grad and "data" in self.node.meta:
            # What follows may write there, which must not count as a change of the tensor: Python reads `data` itself.
            raise Unsupported(breaks.NOT_REBUILT, "the data of a tensor that requires grad", self.node.meta["data"])
        if self in emit.output.unrecorded and emit.output.entry_ambient & 1 and not emit.output.options.fullgraph:
            raise Unsupported(breaks.NOT_REBUILT, "a view without history", emit.output.unrecorded[self])
        storage = emit.output.side_effects.storages.get(self)
        changed = storage is not None and storage.changed
        fill = (lambda temp: storage.fill(emit, temp)) if changed else None
        if history.begins_or_ends(emit.output, self):
            return emit.shared(self, lambda: history.recipe(emit, self), fill)
        if not changed and not self.is_of_subclass and views.seen_through(self.node) is None and not self.in_other_mode(emit):
            return emit.graph_output(self.node)
        return emit.shared(self, lambda: self.made(emit), fill)

    def in_other_mode(self, emit) -> bool:
        """Whether it was made under inference_mode and the graph runs without, or the reverse."""
        return "step" in self.root.node.meta and self.of_inference() != bool(emit.output.entry_ambient & guards.INFERENCE)

    def made(self, emit) -> Any:
        """The recipe of what the graph gives, as an instance of its class."""
        at_number = views.seen_through(self.node) is not None
        given = views.again(emit, self) if at_number else emit.graph_output(self.node)
        if self.in_other_mode(emit):
            given = outcome.Call(outcome.Const(_native.as_inference), (given, outcome.Const(self.of_inference())))
        if not self.is_of_subclass:
            return given
        return outcome.Call(outcome.Const(overrides.as_subclass), (given, outcome.Const(self.cls)))

    def add_scaled(self, frame, name: str, args: list[Variable], scale: Variable) -> Variable:
        """self.add_(other, alpha=scale), self.addcmul_(a, b, value=scale) …, where the factor is a tensor."""
        inner = SCALED[name]
        added: Any = args[0] if inner is None else self.op(frame, inner, *args)
        return self.op(frame, "add_", self, self.op(frame, "mul", added, scale))

    # (Last in the class: its name hides the decorator.)
    def method(self, frame, name, args, kwargs):
        replaced = self.replaced(frame, name)
        if replaced is not None:
            return replaced.call(frame, args, kwargs)
        if name in self.rules:
            return super().method(frame, name, args, kwargs)
        if name in TO_PYTHON:
            if args or kwargs:
                raise Unsupported(breaks.TENSOR_TO_PYTHON, f"{name}()")
            return frame.values.to_python(frame, self, name)
        if name in SCALED:
            for scale in (v for k, v in kwargs.items() if k in ("alpha", "value") and isinstance(v, TensorVariable)):
                return self.add_scaled(frame, name, args, scale)
        op = registry.get(name)
        if op is not None and is_method(name):
            return frame.output.record(frame, op, [self, *args], kwargs)
        return self.getattr(frame, name).call(frame, args, kwargs)


SCALED = {"add_": None, "addcmul_": "mul", "addcdiv_": "div"}  # whose factor may be a tensor: what is added → the op of it


def as_operand(frame, op, value: Variable) -> Variable | None:
    """The value as the other side of an operator with a tensor; None if tensors do not know it."""
    if isinstance(value, (TensorVariable, SymbolicVariable)):
        return value
    native = getattr(value, "native", None)  # of an object that is a number besides
    if isinstance(native, ConstantVariable):
        value = ConstantVariable(native.value)
    if isinstance(value, ConstantVariable) and hasattr(value.value, "__array_priority__"):  # a NumPy scalar is a number
        if value.value.dtype.kind == "b":  # which is a float to eager, and has a rule of its own in differences
            if ROWS[op].function is operator.sub:
                raise value.unsupported("a subtraction")
            return ConstantVariable(float(value.value))
        if value.value.dtype.kind not in "biufc":
            raise value.unsupported("an operator with a tensor")
        return ConstantVariable(value.value.item())
    if isinstance(value, ConstantVariable):
        return value if isinstance(value.value, (int, float, complex)) else None
    return value if frame.world.takes_calls(value.python_type()) else None


def is_method(name: str) -> bool:
    """Whether the op of that name is a method of tensors that is called."""
    op = registry.get(name)
    return op is not None and ops.is_method(op) and "property" not in op.tags


def is_mask(key: Variable) -> bool:
    return isinstance(key, TensorVariable) and key.meta.dtype in (aten.bool, aten.uint8) and bool(key.meta.sizes)


def check_key(frame, key: Variable) -> None:
    """An index by a mask has a result whose size depends on data."""
    if has_mask(key) and not captures_sizes(frame.output):
        raise Unsupported(breaks.DATA_DEPENDENT_SIZE, "x[mask]")


def has_mask(key: Variable) -> bool:
    return any(map(is_mask, key.items if isinstance(key, TupleVariable) else [key]))


def any_wrapper(values: Any) -> bool:
    """Whether a wrapper is among the arguments, lists and tuples included."""
    for v in values:
        if v.is_wrapper if isinstance(v, TensorVariable) else isinstance(getattr(v, "items", None), list) and any_wrapper(v.items):
            return True
    return False


def wrap_result(frame, node, val: Any, root: TensorVariable | None = None) -> Variable:
    """The Variable of what a node returns: a Meta, a number, or a sequence of them."""
    if type(val) is Meta:
        return TensorVariable(node, val, root)
    if isinstance(val, (tuple, list)):
        items = []
        for i, v in enumerate(val):
            some = type(v) is Meta or (isinstance(v, (tuple, list)) and any(type(m) is Meta for m in v))
            part = frame.output.graph.call_function(operator.getitem, (node, i), val=v) if some else None
            items.append(wrap_result(frame, part, v, root))
        if hasattr(val, "_fields"):
            return NamedTupleVariable(items, type(val))
        return ListVariable(items) if type(val) is list else TupleVariable(items)
    if type(val) is dict:
        parts = {k: frame.output.graph.call_function(operator.getitem, (node, k), val=v) for k, v in val.items()}
        return frame.values.dict_([(literal(frame, k), wrap_result(frame, parts[k], v, root)) for k, v in val.items()])
    return symbolic(frame, val) if isinstance(val, SYMBOLIC) else literal(frame, val)  # (a number, a text, a dtype)
