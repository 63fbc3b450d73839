"""Tensors, ops, dtypes and the functions of aten, in the type table; which sizes become symbols."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

import aten
from aten import _native, overrides
from aten.asked_attributes import is_asked
from aten.autocast import is_autocast_cache_enabled
from aten.compiling import is_compiling
from aten.default_device import BITS
from aten.devices import CPU
from aten.fx.interpreter import DEFAULT_DTYPE
from aten.layout import Layout, MemoryFormat
from aten.meta import Meta, contiguous_strides
from aten.op import Method, Op, ops, registry
from aten.ops.on_demand import Promise
from aten.symbolic import nodes
from aten.tensor import COPY_OF_A_TENSOR
from dynamo import breaks, config, guards, on_demand, trace_rules
from dynamo._eval_frame import CompiledFunction
from dynamo.breaks import Unsupported
from dynamo.marks import ADDRESS, DYNAMIC, MAYBE, STATIC
from dynamo.source import Attr, Converted, Item, Local, Made, Object, Size, Stride
from dynamo.variables import logged
from dynamo.variables.attributes import descriptor
from dynamo.variables.base import Variable
from dynamo.variables.builtin import FUNCTIONS, constant_function
from dynamo.variables.builtin import builtin as builtin_rule
from dynamo.variables.constant import NONE, TRUE, ConstantVariable, boolean
from dynamo.variables.exception import run_python
from dynamo.variables.function import CallableVariable
from dynamo.variables.lazy import Lazy
from dynamo.variables.overriding import plain
from dynamo.variables.sequence import ListVariable, SizeVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable
from dynamo.variables.tensor import TensorVariable
from dynamo.variables.track import CONSTANTS, kind, unknown, wrap


# ------------------------------------------------------------------------------------------------ tensors
@kind(aten.Tensor, aten.Parameter)
def tensor(frame, value, source) -> Variable:
    """A tensor from outside: a placeholder of the graph, guarded by its layout."""
    output = frame.output
    dims = dynamic_dims(output, source, value)
    meta = input_meta(output, source, value, dims)
    if not isinstance(source, Object):
        derived = [d for d, stride in enumerate(meta.strides) if type(stride) is not int]
        inference = aten.Tensor.is_inference(value) if output.entry_ambient & guards.AMBIENT_FLAGS["grad"] else None
        output.guard(guards.TensorIs(source, guards.Layout.of(value, dims, derived, inference)))
        if getattr(value, ADDRESS, False):
            output.guard_same(source, value)
    node = output.add_input(source, value, meta)
    frame.output.has_inference |= aten.Tensor.is_inference(value)
    return TensorVariable(node, meta, value=value, cls=type(value), source=source)


@kind(aten.Tensor, subclasses=True)
def _subclass(frame, value, source):
    if type(value).shape is not aten.Tensor.shape and not is_asked("shape", type(value).shape):
        # of a class that answers itself, or does not: an UninitializedParameter
        return unknown(frame, value, source, f"of {type(value).__qualname__}, which says itself what its sizes are")
    if issubclass(type(value), aten.Parameter):
        return tensor(frame, value, source)
    cls = type(value)
    if overrides.kind_of(cls) & overrides.DISPATCH:
        wrapper = on_demand.import_part("wrapper")
        if wrapper.is_traceable(cls) and wrapper.is_made(value):
            return wrapper.outside(frame, value, source)
        return unknown(frame, value, source, f"of {cls.__qualname__}, a subclass of Tensor with a __torch_dispatch__, or half made")
    frame.output.guard_type(source, cls)
    inside = Converted(source, plain)
    made = tensor(frame, plain(value), inside)
    return TensorVariable(made.node, made.meta, value=value, cls=cls, source=source)


@kind(_native.Node, subclasses=True)
def _node(frame, value, source):
    return unknown(frame, value, source, "a Node of autograd")


def dynamic_dims(output, source, value) -> dict[int, tuple]:
    """dim → (least, greatest size) of the sizes that become symbols."""
    if isinstance(source.root, Object) or output.options.dynamic is False or not value.ndim:
        return {}
    if output.options.export:
        return exported_dims(output, source, value)
    marked = {**getattr(value, MAYBE, {}), **getattr(value, DYNAMIC, {})}
    static = getattr(value, STATIC, ())
    if static is True:
        return {}
    sizes = tuple(value.shape)
    seen = output.state.setdefault("tensors", {})
    first, changed = seen.setdefault(str(source), (sizes, set()))
    if first != sizes and len(first) == len(sizes) and config.automatic_dynamic_shapes and not is_setting(source, value):
        changed.update(d for d, (a, b) in enumerate(zip(first, sizes)) if a != b)
    if not (marked or changed or output.options.dynamic is True):
        return {}
    dims = set(marked) | {d for d in changed if d < len(sizes)}  # (of another number of sizes, they said nothing)
    if output.options.dynamic is True and not is_parameter(value):
        dims = set(range(len(sizes)))
    if not value.numel():  # strides do not count a size of 0, which no product says, and may be any
        dense = value.stride() == contiguous_strides(sizes)
        dims = {d for d in dims if d in marked or (sizes[d] and dense)}
    return {d: marked.get(d, (0, None)) for d in sorted(dims) if d not in static}


def is_parameter(value) -> bool:
    """isinstance(value, Parameter), which asks a plain tensor for a mark that only those of other classes have."""
    return type(value) is not aten.Tensor and isinstance(value, aten.Parameter)


def is_setting(source, value) -> bool:
    """Whether a tensor is a Parameter, or a buffer of a Module: of sizes that the program's structure decides."""
    if is_parameter(value):
        return config.force_parameter_static_shapes
    holder = getattr(source, "base", None)
    of_module = isinstance(source, Item) and getattr(holder, "key", None) == "_buffers"
    return of_module and config.force_nn_module_property_static_shapes


def exported_dims(output, source, value) -> dict[int, tuple]:
    """The same for export: what the user said of arguments, or all of their sizes but 0 and 1."""
    if not isinstance(source.root, Local):
        return {}
    said = output.state["marks"].get(id(value), {})
    dims = {d for d, size in enumerate(value.shape) if size > 1} if output.options.dynamic else set()
    return {d: said.get(d, (0, None)) for d in sorted(dims | set(said))}


def input_meta(output, source, value, dims: dict[int, tuple]) -> Meta:
    """The Meta of an input, with symbols for the dims in `dims`."""
    sizes: list[Any] = list(value.shape)
    for d, (lo, hi) in dims.items():
        if d not in getattr(value, DYNAMIC, ()):
            sizes[d] = output.size_symbol(Size(source, d), sizes[d])
            continue
        sizes[d] = output.new_symbol(Size(source, d), sizes[d], lo, hi)
        guard_range(output, source, d, sizes[d], lo, hi)
    strides = tuple(value.stride()) if not dims else symbolic_strides(output, source, value, sizes)
    for d in changed_strides(output, source, value):
        if type(strides[d]) is int:
            strides = (*strides[:d], output.new_symbol(Stride(source, d), strides[d]), *strides[d + 1 :])
    offset = 0 if is_parameter(value) else value.storage_offset()
    return Meta(value.dtype, value.device, tuple(sizes), strides, offset if not dims else 0, value.requires_grad)


def changed_strides(output, source, value) -> list[int]:
    """The dims whose strides were seen to change, of a tensor with gaps: views of tensors of other sizes. 0 and 1 are kept."""
    if isinstance(source.root, Object) or output.options.dynamic is False or not config.automatic_dynamic_shapes:
        return []
    if output.options.export or is_setting(source, value) or getattr(value, STATIC, ()) is True:
        return []
    real = value.stride()
    first, changed = output.state.setdefault("strides", {}).setdefault(str(source), (real, set()))
    if len(first) != len(real) or first == real and not changed:
        return []
    changed.update(d for d, (a, b) in enumerate(zip(first, real)) if a != b)
    return [] if value.is_contiguous() else [d for d in sorted(changed) if real[d] > 1]


def guard_range(output, source, dim: int, symbol, lo: int, hi: int | None) -> None:
    """A range given by mark_dynamic is checked at each call."""
    s = symbol.expr
    conditions = ([nodes.ge(s, lo)] if lo > 0 else []) + ([nodes.le(s, hi)] if hi is not None else [])
    for condition in conditions:
        output.guard(guards.ShapeIs(None, guards.Shape(condition, {str(s): Size(source, dim)})))


def symbolic_strides(output, source, value, sizes) -> tuple:
    """Strides in terms of the symbolic sizes: row-major, or a permutation of row-major; others are symbols."""
    if value.is_contiguous():
        return contiguous_strides(sizes)
    real = value.stride()
    strides: list[Any] = list(real)
    expected: Any = 1
    expected_hint = 1
    for d in sorted(range(len(real)), key=lambda d: (real[d], value.shape[d] != 1, -d)):  # as in dense_strides
        if real[d] == expected_hint:
            if type(expected) is not int:
                condition = nodes.eq(nodes.sym(f"t{len(output.symbols)}"), expected.expr)
                symbols = {n: output.symbols[n] for n in expected.expr.free_symbols}
                symbols[f"t{len(output.symbols)}"] = Stride(source, d)
                output.guard(guards.ShapeIs(None, guards.Shape(condition, symbols)))
            strides[d] = expected
            expected, expected_hint = expected * sizes[d], expected_hint * value.shape[d]
        else:
            break
    return tuple(strides)


# -------------------------------------------------------------------------------------------- ops, dtypes
def op_variable(op: Op, source) -> CallableVariable:
    rule = trace_rules.handler(op)
    if rule is not None:
        return CallableVariable(op, rule, source)
    return CallableVariable(op, lambda frame, args, kwargs: frame.output.record(frame, op, list(args), kwargs), source)


@descriptor(Method)
def _method_of_op(frame, found, obj, owner):
    """Tensor.abs_ and the like: the op."""
    op = frame.world.known(found.raw.__get__(None, owner.as_python()))
    return op if obj is None else frame.values.method(op, obj)


@trace_rules.handle(Op.__get__)
def _bound(frame, args, kwargs):
    """An op that was put on a class: a method of tensors alone."""
    op, obj = args[0], args[1].realize(frame)
    return frame.values.method(op, obj) if issubclass(obj.python_type(), aten.Tensor) else op


@kind(Op, Promise)
def _op(frame, value, source):
    frame.world.same(source, value)
    return op_variable(value, source)


@kind(Method)
def _method(frame, value, source):
    frame.world.same(source, value)
    return op_variable(value.op, source)


class OpsVariable(Variable):
    """`aten.op.ops`: each attribute is the op of that name."""

    __slots__ = ()

    def getattr(self, frame, name):
        return op_variable(registry[name], Object(registry[name]))

    def recipe(self, emit):
        return emit.load(self.source)


@kind(type(ops))
def _ops(frame, value, source):
    return OpsVariable(source)


@kind(aten.DType)
def _dtype(frame, value, source):
    if not isinstance(source, Object):
        frame.output.guard_same(source, value)
    return ConstantVariable(value, source)


@kind(Layout, MemoryFormat)
def _layout(frame, value, source):
    if not isinstance(source, Object):
        frame.output.guard_same(source, value)
    return ConstantVariable(value, source)


@kind(aten.device)
def _device(frame, value, source):
    if not isinstance(source, Object):
        frame.output.guard_constant(source, value)
    return ConstantVariable(value, source)


@kind(aten.Size)
def _size(frame, value, source):
    frame.output.guard_type(source, aten.Size)
    frame.output.guard(guards.LengthIs(source, len(value)))
    return SizeVariable([Lazy(v, Item(source, i), frame.output) for i, v in enumerate(value)], source)


def _constant_of(cls: type):
    """finfo and iinfo of a dtype, a device by its name: constants."""

    def rule(frame, args, kwargs):
        named = {name: value.as_python() for name, value in kwargs.items()}
        return ConstantVariable(run_python(frame, cls, *[a.as_python() for a in args], **named))

    return rule


for _cls in (aten.finfo, aten.iinfo, aten.device):
    trace_rules.handle(_cls)(_constant_of(_cls))


@builtin_rule(aten.Size)
def new_size(frame, sizes=None):
    return SizeVariable([] if sizes is None else sizes.unpack(frame))


CONSTANTS.update({aten.DType, aten.device, Layout, MemoryFormat})


# ----------------------------------------------------------------------------------------------- functions
MAY_BE_DEFAULT = (aten.float16, aten.bfloat16, aten.float32, aten.float64)


def _set_ambient_bits(frame, args, kwargs):
    mask, value = [a.as_python() for a in args]
    frame.world.ambient(mask)
    return ConstantVariable(frame.output.set_ambient_bits(mask, value))


def _set_grad_enabled(frame, args, kwargs):
    bits = [ConstantVariable(1), ConstantVariable(int(args[0].truth(frame)))]
    return boolean(bool(_set_ambient_bits(frame, bits, {}).value))


def _set_default_dtype(frame, args, kwargs):
    dtype = args[0].as_python()
    if dtype not in MAY_BE_DEFAULT:
        run_python(frame, _native.set_default_dtype, dtype)  # it says why
    frame.world.flag("default_dtype")
    frame.output.set_ambient_bits(DEFAULT_DTYPE, dtype.code << 8)
    return NONE


def _ambient(frame, args, kwargs):
    frame.world.ambient()
    return ConstantVariable(frame.output.ambient)


def _is_grad_enabled(frame, args, kwargs):
    frame.world.flag("grad")
    return boolean(frame.output.grad_enabled)


def _is_inference_mode_enabled(frame, args, kwargs):
    frame.world.flag("inference")
    return boolean(bool(frame.output.ambient & 2))


def _guarded(flag: str, function):
    """A function that reads one flag, which nothing traced can set."""

    def rule(frame, args, kwargs):
        frame.world.flag(flag)
        return constant_function(function)(frame, args, kwargs)

    return rule


FUNCTIONS[_native.set_ambient_bits] = _set_ambient_bits
FUNCTIONS[_native.set_grad_enabled] = _set_grad_enabled
FUNCTIONS[_native.ambient] = _ambient
FUNCTIONS[_native.is_grad_enabled] = _is_grad_enabled
FUNCTIONS[_native.is_inference_mode_enabled] = _is_inference_mode_enabled
FUNCTIONS[_native.get_default_dtype] = _guarded("default_dtype", _native.get_default_dtype)
FUNCTIONS[_native.set_default_dtype] = _set_default_dtype
FUNCTIONS[_native.promote_types] = constant_function(_native.promote_types)
FUNCTIONS[_native.get_num_threads] = _guarded("num_threads", _native.get_num_threads)
FUNCTIONS[_native.device_count] = constant_function(_native.device_count)  # a process keeps the devices that it has


def _from_numpy(frame, args, kwargs):
    tensor = getattr(args[0], "tensor", None)
    if tensor is None or args[0].scalar:
        raise Unsupported(breaks.UNKNOWN_CALL, f"from_numpy of {args[0].describe()}")
    return tensor.op(frame, "detach", tensor)


FUNCTIONS[_native.from_numpy] = _from_numpy


def _empty(frame, args, kwargs):
    sizes, *rest = args
    named = {"device": NONE} | dict(zip(("dtype", "device"), rest)) | kwargs
    named["device"] = ConstantVariable(CPU) if named["device"].is_same(NONE) else named["device"]
    return frame.output.record(frame, registry["empty"], [ListVariable(sizes.unpack(frame))], named)


FUNCTIONS[_native.empty] = _empty


def _random_state(name: str):
    def rule(frame, args, kwargs):
        raise Unsupported(breaks.RANDOM_STATE, name)

    return rule


trace_rules.handle(aten.manual_seed)(_random_state("manual_seed"))
FUNCTIONS[_native.manual_seed] = _random_state("manual_seed")
FUNCTIONS[_native.philox_reserve] = _random_state("philox_reserve")


@trace_rules.handle(is_autocast_cache_enabled)
def _caches_casts(frame, args, kwargs):
    return TRUE  # whatever eager does: a graph may hold a cast once or twice


@trace_rules.handle(is_compiling)
def _is_compiling(frame, args, kwargs):
    frame.output.answered = True
    return TRUE


def _where(frame) -> dict[str, Variable]:
    """The default device, where there is one, as an argument."""
    frame.world.ambient(BITS)
    device = frame.output.default_device
    return {} if device is None else {"device": ConstantVariable(device)}


@trace_rules.handle(aten.tensor)
def new_tensor(frame, args, kwargs):
    """aten.tensor(data): a copy. Numbers are a constant of the graph, copied at each call."""
    data_given = args[0] if args else kwargs["data"]
    data = getattr(data_given, "tensor", data_given)  # of an array
    kwargs = {**_where(frame), **kwargs}
    if kwargs.get("requires_grad", NONE).truth(frame):
        raise Unsupported(breaks.MUTATED_ALIAS, "a new leaf that requires grad")
    if not isinstance(data, TensorVariable):
        return constant_tensor(frame, data, kwargs)
    if data is data_given:
        logged.tell_behind(frame, COPY_OF_A_TENSOR)
    copy = data.op(frame, "clone", data.op(frame, "detach", data))
    wanted = {k: v for k, v in kwargs.items() if k in ("dtype", "device")}
    return copy.method(frame, "to", [], wanted) if wanted else copy


@trace_rules.handle(aten.Tensor.set_)
def shows(frame, args, kwargs):
    """tensor.set_(source): it shows the memory of another tensor from now on."""
    source = args[1].realize(frame) if len(args) == 2 and not kwargs else None
    known = isinstance(args[0], TensorVariable) and isinstance(source, TensorVariable)
    if not known or args[0].meta.dtype is not source.meta.dtype or args[0].meta.requires_grad or source.meta.requires_grad:
        raise Unsupported(breaks.MUTATED_ALIAS, "set_() of a storage, or of a tensor with gradients")
    args[0].set_data(frame, source)
    return args[0]


@trace_rules.handle(aten.as_tensor)
def as_tensor(frame, args, kwargs):
    """aten.as_tensor(data): tensors and arrays share memory where dtype and device allow."""
    data = args[0] if args else kwargs["data"]
    wanted = _where(frame) | dict(zip(("dtype", "device"), args[1:])) | {k: v for k, v in kwargs.items() if k != "data"}
    if hasattr(data, "tensor"):
        data = data.tensor.op(frame, "detach", data.tensor)
    if not isinstance(data, TensorVariable):
        return constant_tensor(frame, data, wanted)
    return data.method(frame, "to", [], wanted) if wanted else data


@trace_rules.handle(aten.asarray)
def asarray(frame, args, kwargs):
    """aten.asarray(obj): as_tensor, with a copy where `copy` asks for one."""
    kwargs = dict(kwargs)
    data = (args[0] if args else kwargs.pop("obj")).realize(frame)
    copy, grad = (kwargs.pop(name, NONE).as_python() for name in ("copy", "requires_grad"))
    if grad is not None or copy is False:
        raise Unsupported(breaks.MUTATED_ALIAS, "asarray() that says copy=False or requires_grad")
    result = as_tensor(frame, [data], kwargs)
    shares = isinstance(data, TensorVariable) or hasattr(data, "tensor")
    return result.op(frame, "clone", result) if copy and shares else result


def constant_tensor(frame, data: Variable, kwargs: dict[str, Variable]) -> Variable:
    """The tensor of numbers known while tracing: filled if it is one number, else an input of the graph, copied."""
    named = {k: v.as_python() for k, v in kwargs.items() if k in ("dtype", "device")}
    if any(_element(v) is not None or isinstance(v, SymbolicVariable) for v in _numbers_of(frame, data)):
        return _of_elements(frame, data, kwargs)
    device = CPU if named.get("device") is None else run_python(frame, aten.device, named["device"])
    value = run_python(frame, aten.tensor, frame.ops.real(frame, data), **(named | {"device": CPU}))
    if not value.ndim:
        sizes = ListVariable([])
        options = {"dtype": ConstantVariable(value.dtype), "device": ConstantVariable(device)}
        made = frame.output.record(frame, registry["full"], [sizes, ConstantVariable(value.item())], options)
    else:
        constant = wrap(frame, value, Made(value, "a constant tensor"))
        made = frame.output.record(frame, registry["clone"], [constant], {})
        if device != CPU:
            made = made.method(frame, "to", [ConstantVariable(device)], {})
    made.known = None if device.type == "meta" else value
    return made


def _numbers_of(frame, data: Variable) -> list[Variable]:
    """What nested lists and tuples hold, in order."""
    data = data.realize(frame)
    if type(data) is TupleVariable or isinstance(data, ListVariable):
        return [x for v in data.unpack(frame) for x in _numbers_of(frame, v)]
    return [data]


def _element(v: Variable) -> TensorVariable | None:
    """The tensor of one element that a value is, if it is one or a number of NumPy's."""
    tensor = getattr(v, "tensor", v)
    known = isinstance(tensor, TensorVariable) and all(s == 1 for s in tensor.meta.sizes if type(s) is int)
    return tensor if known and all(type(s) is int for s in tensor.meta.sizes) else None


def _alike(frame, data: Variable) -> Any:
    """Data of the same kinds and lengths, of which eager makes a tensor of the same dtype, or raises the same."""
    data = data.realize(frame)
    if type(data) is TupleVariable or isinstance(data, ListVariable):
        return [_alike(frame, v) for v in data.unpack(frame)]
    if isinstance(data, SymbolicVariable):
        return data.number_type()(1)
    element = _element(data)
    if element is None:
        return frame.ops.real(frame, data)
    ones = aten.ones(element.meta.sizes, dtype=element.meta.dtype, device=CPU)
    return ones if element is data else ones.numpy()[()] if issubclass(data.python_type(), np.generic) else ones.numpy()


def _of_elements(frame, data: Variable, kwargs: dict[str, Variable]) -> Variable:
    """aten.tensor of numbers, or sequences of them, of which some are tensors or symbols: each is made one, then stacked."""

    def stacked(v: Variable) -> Variable:
        v = v.realize(frame)
        if type(v) is TupleVariable or isinstance(v, ListVariable):
            parts = [stacked(x) for x in v.unpack(frame)]
            return frame.output.record(frame, registry["stack"], [ListVariable(parts)], {})
        element = _element(v)
        if isinstance(v, SymbolicVariable):
            wide = v.number_type() is float and dtype.as_python().is_floating_point  # beyond the dtype's range it is infinite
            made = ConstantVariable(aten.float64) if wide else dtype
            options = {"dtype": made, "device": device.get("device", NONE)}
            full = frame.output.record(frame, registry["full"], [ListVariable([]), SymbolicVariable(v.value)], options)
            return full.method(frame, "to", [], {"dtype": dtype}) if wide else full
        if element is None:
            return constant_tensor(frame, v, {"dtype": dtype} | device)
        element = element.op(frame, "reshape", element.op(frame, "detach", element), ListVariable([]))
        return element.method(frame, "to", [], {"dtype": dtype} | device)

    dtype = kwargs.get("dtype", NONE)
    if dtype.is_same(NONE):
        frame.world.flag("default_dtype")
    dtype = ConstantVariable(run_python(frame, aten.tensor, _alike(frame, data), dtype=dtype.as_python(), device=CPU).dtype)
    device = {"device": kwargs["device"]} if "device" in kwargs else {}
    return stacked(data)


def _is_tensor(frame, args, kwargs):
    return boolean(issubclass(args[0].python_type(), aten.Tensor))


for _name in ("is_tensor",):
    if isinstance(getattr(aten, _name, None), types.FunctionType):
        trace_rules.handle(getattr(aten, _name))(_is_tensor)


@kind(CompiledFunction)
def _compiled_function(frame, value, source):
    """A compiled function inside a compiled one is traced as what it wraps; a disabled one stays in Python."""
    if value.config is None:
        return CallableVariable(value, left_to_python(value), source)
    return wrap(frame, value.__wrapped__, Attr(source, "__wrapped__"))


def left_to_python(disabled):
    def rule(frame, args, kwargs):
        reason = disabled.__dict__.get(trace_rules.DISABLED)
        text = f"{trace_rules.name_of(disabled.__wrapped__)} is disabled by weft.compiler.disable"
        text += f": {reason}" if isinstance(reason, str) else ""
        raise Unsupported(breaks.SKIPPED_CALL, text)

    return rule
