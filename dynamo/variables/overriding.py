"""`__torch_function__` while tracing: classes, of tensors or not, that take calls of ops themselves, and subclasses of Tensor.

A tensor of a subclass that has nothing but `__torch_function__` is a plain tensor to the graph: from outside an alias of it is
passed, and what leaves the frame as a subclass is made one behind the graph.
"""

from __future__ import annotations

import inspect
from typing import Any

import aten
from aten import asked_attributes, legacy, overrides
from aten.asked_attributes import AskedAttribute
from aten.on_device import makes_elsewhere
from aten.op import Op, registry
from aten.overrides import DisableTorchFunctionSubclass
from dynamo import breaks, trace_rules
from dynamo.breaks import Unsupported
from dynamo.variables import attributes, function_modes
from dynamo.variables.base import Variable
from dynamo.variables.constant import TRUE, boolean
from dynamo.variables.construct import class_argument
from dynamo.variables.object import ObjectVariable
from dynamo.variables.tensor import TensorVariable


# ------------------------------------------------------------------------------------------------------------- asking
def asked(frame: Any, op: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable | None:
    """What the first class among the arguments' that answers makes of the call; None if none overrides."""
    output = frame.output
    modes = function_modes.opened(frame)
    if not modes and output.overriding_off:
        return None
    found = [] if output.overriding_off else _overriding(frame, [*args, *kwargs.values()])
    if not found and all(map(function_modes.says_device, modes)):
        return None
    if overrides.state.off:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.__name__} where __torch_function__ was switched off before the frame")
    call = _call_of(frame, op, found, args, kwargs)
    for i in reversed(range(len(modes))):
        if function_modes.says_device(modes[i]):
            given = {k: v for k, v in kwargs.items() if k != "device" or not v.is_same(frame.values.NONE)}
            if isinstance(op, Op) and makes_elsewhere(op, len(args), given):
                call = _call_of(frame, op, found, args, given | {"device": modes[i].getattr(frame, "device")})
            continue
        above, modes[i:] = modes[i:], []
        try:
            result = above[0].getattr(frame, "__torch_function__").call(frame, call, {}).realize(frame)
        finally:
            modes[i:] = above
        if not (result.is_constant() and result.as_python() is NotImplemented):
            return result
    return _first_answer(frame, found, call, op.__name__) if found else None


def _first_answer(frame: Any, found: list[Variable], call: list[Variable], name: str) -> Variable:
    for value in found:
        owner = frame.world.known(value.python_type())
        result = owner.getattr(frame, "__torch_function__").call(frame, call, {}).realize(frame)
        if not (result.is_constant() and result.as_python() is NotImplemented):
            return result
    classes = [v.python_type() for v in found]
    text = f"no implementation found for 'torch.{name}' on types that implement __torch_function__: {classes}"
    raise frame.values.error(frame, TypeError, text)


def _call_of(frame: Any, op: Any, found: list[Variable], args: list[Variable], kwargs: dict[str, Variable]) -> list[Variable]:
    """What `__torch_function__` is given."""
    values = frame.values
    return [
        frame.world.known(overrides.as_called.get(op, op)),
        values.tuple_([frame.world.known(v.python_type()) for v in found]),
        values.tuple_(args),
        values.dict_([(values.const(k), v) for k, v in kwargs.items()]),
    ]


def _overriding(frame: Any, values: list[Variable]) -> list[Variable]:
    """The arguments whose classes override, one a class, subclasses before their bases, else from the left."""
    found: list[Variable] = []
    for outer in values:
        inside = outer.unpack(frame) if outer.python_type() in (list, tuple) else [outer]
        for v in map(lambda v: v.realize(frame), inside):
            if not isinstance(v, (TensorVariable, ObjectVariable)) or not frame.world.takes_calls(v.python_type()):
                continue
            cls = v.python_type()
            if all(f.python_type() is not cls for f in found):
                at = next((i for i, f in enumerate(found) if issubclass(cls, f.python_type())), len(found))
                found.insert(at, v)
    return found


@trace_rules.handle(overrides.any_overrides)
def _any_overrides(frame, args, kwargs):
    return boolean(not frame.output.overriding_off and bool(_overriding(frame, args[0].unpack(frame))))


@trace_rules.handle(overrides.hand_over)
def _hand_over(frame, args, kwargs):
    """A function of a library asks by its own name."""
    values, function, positional, named = args
    found = _overriding(frame, values.unpack(frame))
    types = frame.values.tuple_([frame.world.known(v.python_type()) for v in found])
    name = function.getattr(frame, "__name__").as_python()
    return _first_answer(frame, found, [function, types, positional, named], name)


@attributes.descriptor(AskedAttribute)
def _attribute(frame, found, obj, owner):
    if obj is None:
        return found.value(frame)
    answer = asked(frame, found.raw.of.__get__, [obj], {})
    if answer is None:  # nobody is asked here
        answer = attributes.bind(frame, attributes.find(frame, aten.Tensor, found.name), obj, frame.world.known(aten.Tensor))
    return answer


def _read(name: str):
    """Calls of `Tensor.shape.__get__` and the like: nobody is asked any more."""

    def rule(frame, args, kwargs):
        frame.output.overriding_off += 1
        try:
            return args[0].realize(frame).getattr(frame, name)
        finally:
            frame.output.overriding_off -= 1

    return rule


for _name, _asked in asked_attributes.attributes.items():
    attributes.readers[_asked.of] = _read(_name)


def _asked_method(of: Any):
    def rule(frame, args, kwargs):
        result = asked(frame, of, args, kwargs)
        return frame.world.known(of).call(frame, args, kwargs) if result is None else result

    return rule


for _method in asked_attributes.methods.values():
    trace_rules.handle(_method)(_asked_method(inspect.unwrap(_method)))


# ------------------------------------------------------------------------------------------------------------ the rules
def _switch(by: int):
    def rule(frame, args, kwargs):
        frame.output.overriding_off += by
        return args[0] if by > 0 else frame.values.NONE

    return rule


trace_rules.handle(DisableTorchFunctionSubclass.__enter__)(_switch(1))
trace_rules.handle(DisableTorchFunctionSubclass.__exit__)(_switch(-1))


def _plainly(frame: Any, function: Variable, args: Variable, kwargs: Variable) -> Variable:
    """function(*args, **kwargs) with nobody asked."""
    named = {k.as_python(): v for k, v in kwargs.pairs(frame)} if hasattr(kwargs, "pairs") else {}
    frame.output.overriding_off += 1
    try:
        return function.call(frame, args.unpack(frame), named).realize(frame)
    finally:
        frame.output.overriding_off -= 1


def _parameters(frame: Any, args: list[Variable], kwargs: dict[str, Variable]) -> list[Variable]:
    """(func, types, args, kwargs) of a `__torch_function__`."""
    given = {**dict(zip(("func", "types", "args", "kwargs"), args)), **kwargs}
    none = frame.values.NONE
    return [given["func"], given["types"], given.get("args", frame.values.tuple_([])), given.get("kwargs", none)]


@trace_rules.handle(overrides.disabled_torch_function)
def _disabled(frame, args, kwargs):
    function, _, positional, named = _parameters(frame, args, kwargs)
    return _plainly(frame, function, positional, named)


@trace_rules.handle(aten.Tensor.__torch_function__)
def _default(frame, args, kwargs):
    """What subclasses do that say nothing else: the results are of the subclass."""
    cls = args[0].as_python()
    function, types, positional, named = _parameters(frame, args[1:], kwargs)
    if not all(issubclass(cls, t.as_python()) for t in types.unpack(frame)):
        return frame.values.const(NotImplemented)
    result = _plainly(frame, function, positional, named)
    in_place = function.is_constant() and getattr(function.as_python(), "kind", "") == "inplace"
    return result if in_place else _converted(frame, result, cls)


def _converted(frame: Any, value: Variable, cls: type) -> Variable:
    value = value.realize(frame)
    if isinstance(value, TensorVariable):
        if not issubclass(value.cls, cls) and overrides.kind_of(cls) & overrides.DISPATCH:
            raise Unsupported(breaks.UNKNOWN_VALUE, f"a plain tensor as one of {cls.__qualname__}, which has a __torch_dispatch__")
        return value if issubclass(value.cls, cls) else as_subclass(value, cls)
    if value.python_type() is list:
        return frame.values.list_([_converted(frame, v, cls) for v in value.unpack(frame)])
    if value.python_type() is tuple:
        return frame.values.tuple_([_converted(frame, v, cls) for v in value.unpack(frame)])
    return value


def as_subclass(value: TensorVariable, cls: type) -> TensorVariable:
    """The same tensor as an instance of a subclass of Tensor."""
    made = TensorVariable(value.node, value.meta, value.root, cls=cls)
    made.known = value.known
    return made


@trace_rules.handle(overrides.as_subclass)
def _as_subclass(frame, args, kwargs):
    value, cls = args[0], (args[1] if len(args) > 1 else kwargs["cls"]).as_python()
    if not issubclass(cls, aten.Tensor):
        raise frame.values.error(frame, TypeError, f"as_subclass(): argument 'cls' must be a subclass of Tensor, not {cls!r}")
    if overrides.kind_of(cls) & overrides.DISPATCH or not isinstance(value, TensorVariable):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"of {cls.__qualname__}, which has a __torch_dispatch__")
    return as_subclass(value, cls)


@trace_rules.handle(aten.Tensor.__new__)
def _new(frame, args, kwargs):
    """Tensor.__new__(cls, tensor): on the same memory, without its history."""
    cls = class_argument(frame, "Tensor", args)
    value = args[1].realize(frame) if len(args) == 2 and not kwargs else None
    if cls is aten.Tensor and not isinstance(value, TensorVariable):  # sizes, or numbers
        if kwargs:
            raise Unsupported(breaks.UNKNOWN_CALL, "Tensor(…) with keyword arguments")
        dtype = frame.world.known(aten.get_default_dtype).call(frame, [], {})
        given = [frame.values.tuple_(list(args[1:])), dtype, frame.values.NONE, frame.values.const("torch.Tensor")]
        return frame.world.known(legacy.construct).call(frame, given, {})
    if not isinstance(value, TensorVariable) or overrides.kind_of(cls) & overrides.DISPATCH or issubclass(cls, aten.Parameter):
        raise Unsupported(breaks.UNKNOWN_CALL, f"{cls.__qualname__}(…)")
    frame.output.overriding_off += 1
    try:
        return as_subclass(value.op(frame, "detach", value), cls)
    finally:
        frame.output.overriding_off -= 1


@trace_rules.handle(aten.Parameter)
def _parameter(frame, args, kwargs):
    """Parameter(data, requires_grad): a leaf on the memory of `data`, which the graph has made."""
    given = dict(zip(("data", "requires_grad"), args)) | kwargs
    data = given.pop("data", frame.values.NONE).realize(frame)
    needs = given.pop("requires_grad", TRUE).truth(frame)
    if data.is_same(frame.values.NONE):
        data = frame.world.known(registry["empty"]).call(frame, [frame.values.const((0,))], {})
    if given or not isinstance(data, TensorVariable) or data.is_of_subclass:
        raise Unsupported(breaks.UNKNOWN_CALL, "Parameter(…) of what is no plain tensor")
    made = as_subclass(data.op(frame, "detach", data), aten.Parameter)
    return made.require_grad(frame) if needs else made


# --------------------------------------------------------------------------------------------------------- from outside
def plain(tensor: Any) -> Any:
    """The tensor on the same memory and with the same history, as a plain Tensor."""
    with DisableTorchFunctionSubclass():
        return overrides.as_subclass(tensor, aten.Tensor)


__all__ = ["as_subclass", "asked", "plain"]
