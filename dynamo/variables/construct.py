"""Calls of classes: what makes an object while tracing. `type.__call__`: `__new__`, then `__init__`."""

from __future__ import annotations

import collections
import enum
import types
import weakref
from collections.abc import Callable

import aten
from aten import overrides
from dynamo import _eval_frame, breaks, on_demand, trace_rules
from dynamo.breaks import NotConstant, Unsupported
from dynamo.real_objects import is_plain_key
from dynamo.variables.attributes import bind, find, find_function
from dynamo.variables.base import Variable
from dynamo.variables.exception import check_keywords, made_by_c
from dynamo.variables.mapping import check_factory
from dynamo.variables.native_part import NEW, OUTSIDE, new_part
from dynamo.variables.object import ObjectVariable
from dynamo.variables.raising import raise_exception, run_python

CLASSES: dict[type, Callable] = {}  # builtin class → its rule(frame, args, kwargs): variables/builtin.py fills it


def construct(frame, cls: Variable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """cls(*args, **kwargs)."""
    python_class: type = cls.as_python()
    on_demand.load_native()
    on_demand.load(python_class)
    handler = (CLASSES.get(python_class) if is_plain_key(python_class) else None) or trace_rules.handler(python_class)
    if handler is not None:
        return handler(frame, args, kwargs)
    if issubclass(type(python_class), enum.EnumMeta):
        plain = frame.world.is_enum(python_class) and len(args) == 1 and not kwargs
        if not plain or frame.world.enum_looks_for(python_class):
            raise Unsupported(breaks.UNKNOWN_CALL, f"{python_class.__qualname__}(…)")
        return frame.world.known(run_python(frame, python_class, args[0].as_python()))
    if issubclass(python_class, aten.Tensor) and overrides.kind_of(python_class) & overrides.DISPATCH:
        return on_demand.import_part("wrapper").constructed(frame, python_class, args, kwargs)
    meta = type(python_class)
    meta_call = None if meta is type else find_function(frame, meta, "__call__")
    if meta_call is not None:
        return bind(frame, meta_call, cls, frame.world.known(meta)).call(frame, args, kwargs)
    return construct_plain(frame, cls, args, kwargs)


def construct_plain(frame, cls: Variable, args, kwargs) -> Variable:
    """type.__call__: `__new__`, then `__init__`."""
    python_class: type = cls.as_python()
    new = find(frame, python_class, "__new__")
    assert new is not None
    obj = bind(frame, new, None, cls).call(frame, [cls, *args], kwargs)
    if not frame.world.inherits(obj.python_type(), python_class):  # (no metaclass is asked)
        return obj
    init = find(frame, obj.python_type(), "__init__")
    assert init is not None
    if init.raw is object.__dict__["__init__"] and not isinstance(obj, ObjectVariable):
        return obj
    result = bind(frame, init, obj, frame.world.known(obj.python_type())).call(frame, args, kwargs)
    if not result.is_same(frame.values.NONE):
        text = f"__init__() should return None, not '{result.type_name()}'"
        raise raise_exception(frame, TypeError, text)
    return obj


@trace_rules.handle(object.__new__)
def new_object(frame, args, kwargs) -> Variable:
    """object.__new__(cls, …)"""
    cls = class_argument(frame, "object", args)
    if frame.world.c_bases(cls):
        name, base = _eval_frame.type_name(cls), _eval_frame.type_name(frame.world.c_bases(cls)[0])
        text = f"object.__new__({name}) is not safe, use {base}.__new__()"
        raise raise_exception(frame, TypeError, text)
    if len(args) > 1 or kwargs:
        new = find(frame, cls, "__new__")
        if (new is not None and new.raw is not object.__dict__["__new__"]) or not frame.world.makes_as_object(cls):
            text = "object.__new__() takes exactly one argument (the type to instantiate)"
            raise raise_exception(frame, TypeError, text)
        if find_function(frame, cls, "__init__") is None:
            raise raise_exception(frame, TypeError, f"{_eval_frame.type_name(cls)}() takes no arguments")
    check_instantiable(frame, cls)
    return ObjectVariable(cls)


def class_argument(frame, base: str, args: list[Variable]) -> type:
    """The class that `base.__new__` is asked to make an object of."""
    if not args:
        raise raise_exception(frame, TypeError, f"{base}.__new__(): not enough arguments")
    if not issubclass(args[0].python_type(), type):
        name = args[0].type_name()
        raise raise_exception(frame, TypeError, f"{base}.__new__(X): X is not a type object ({name})")
    return args[0].as_python()


def check_instantiable(frame, cls: type) -> None:
    """Raise the TypeError for abstract classes, and Unsupported for those left to Python."""
    trace_rules.check_construct(cls)
    abstract = frame.world.abstract_methods(cls)
    if abstract:
        names = ", ".join(repr(n) if frame.world.QUOTED else n for n in sorted(abstract))
        plural = "s" if len(abstract) > 1 else ""
        without = "without an implementation for " if frame.world.QUOTED else "with "
        text = f"Can't instantiate abstract class {_eval_frame.type_name(cls)} {without}abstract method{plural} {names}"
        raise raise_exception(frame, TypeError, text)
    if find(frame, cls, "__del__") is not None:
        raise Unsupported(breaks.LIFETIME, f"{cls.__qualname__}(…), which has a __del__")


def new_native(base: type) -> Callable:
    """The rule of `base.__new__`, for subclasses of a builtin class."""

    def rule(frame, args, kwargs):
        cls = class_argument(frame, base.__name__, args)
        if not issubclass(cls, base):
            name, wanted = _eval_frame.type_name(cls), _eval_frame.type_name(base)
            text = f"{wanted}.__new__({name}): {name} is not a subtype of {wanted}"
            raise raise_exception(frame, TypeError, text)
        if cls in CLASSES:
            return CLASSES[cls](frame, args[1:], kwargs)
        check_instantiable(frame, cls)
        part = new_part(frame, cls, args[1:], kwargs)
        obj = ObjectVariable(cls, native=part)
        part.owner = obj
        return obj

    return rule


def declare_part(base: type, new: Callable, outside: Callable) -> None:
    """A builtin class whose subclasses are traced: the rules of the part in new objects and in those from outside."""
    NEW[base], OUTSIDE[base] = new, outside
    trace_rules.handle(base.__new__)(new_native(base))


for _base in OUTSIDE:
    if isinstance(_base.__dict__.get("__new__"), types.BuiltinFunctionType):
        trace_rules.handle(_base.__new__)(new_native(_base))


def new_exception(frame, args, kwargs) -> Variable:
    """BaseException.__new__ and those of its kin written in C."""
    cls = class_argument(frame, "BaseException", args)
    if issubclass(cls, BaseExceptionGroup):
        raise Unsupported(breaks.UNKNOWN_CALL, f"{cls.__qualname__}(…)")
    if not frame.world.is_immutable(cls):
        check_instantiable(frame, cls)
    if kwargs:
        check_keywords(frame, cls, args[1:], kwargs)
    return made_by_c(frame, cls, args[1:])


def _exceptions(cls: type):
    yield cls
    for c in cls.__subclasses__():
        yield from _exceptions(c)


for _base in set(_exceptions(BaseException)):
    if isinstance(_base.__dict__.get("__new__"), types.BuiltinFunctionType):
        trace_rules.handle(_base.__new__)(new_exception)


def weak_reference(frame, args, kwargs) -> Variable:
    """weakref.ref(object, …): of libraries, which look after what lives on, only the call is left to Python."""
    if len(args) <= 2 and not kwargs and lives_on(frame, args[0]):
        return frame.values.weak_reference(weakref.ref, *args)
    raise Unsupported(breaks.UNKNOWN_CALL if asked_by_library(frame) else breaks.LIFETIME, "weakref.ref(…)")


def lives_on(frame, referent: Variable) -> bool:
    """Whether something else than this frame holds what a weak reference is made to."""
    referent = referent.realize(frame)
    if referent.source is None or referent.is_constant():
        return False
    return id(getattr(referent, "value", None)) not in frame.output.root.handed


def asked_by_library(frame) -> bool:
    """Whether a weak reference is a library's. Those that containers of module weakref keep are of whoever made the container."""
    while frame.parent is not None and frame.globals.get("__name__") in ("weakref", "_weakrefset"):
        frame = frame.parent
    return trace_rules.is_library_name(str(frame.globals.get("__name__")))


CLASSES[weakref.ref] = weak_reference


@trace_rules.handle(weakref.proxy)
def proxy(frame, args, kwargs) -> Variable:
    """weakref.proxy(object, …)"""
    made = bool(args) and not args[0].realize(frame).is_constant() and not lives_on(frame, args[0])
    lasts = asked_by_library(frame) or not made
    raise Unsupported(breaks.UNKNOWN_CALL if lasts else breaks.LIFETIME, "weakref.proxy(…)")


@trace_rules.handle(weakref.KeyedRef)
def keyed_reference(frame, args, kwargs) -> Variable:
    """weakref.KeyedRef(object, callback, key), which a WeakValueDictionary holds."""
    if len(args) == 3 and lives_on(frame, args[0]):
        return frame.values.weak_reference(weakref.KeyedRef, *args)
    raise Unsupported(breaks.UNKNOWN_CALL if asked_by_library(frame) else breaks.LIFETIME, "weakref.KeyedRef(…)")


def default_dict(frame, args, kwargs) -> Variable:
    """collections.defaultdict(factory, …)."""
    if len(args) > 2:
        raise Unsupported(breaks.UNKNOWN_CALL, "collections.defaultdict with these arguments")
    factory = args[0] if args else frame.values.NONE
    check_factory(frame, factory)
    new = frame.values.DictVariable(cls=collections.defaultdict, default_factory=factory)
    if len(args) > 1:
        new.merge(frame, args[1])
    for k, v in kwargs.items():
        new.setitem(frame, frame.values.const(k), v)
    return new


def new_tuple(frame, args, kwargs) -> Variable:
    """tuple.__new__(cls, items): also what named tuples are made by."""
    cls = args[0].as_python()
    if frame.world.is_named_tuple(cls):
        return frame.values.NamedTupleVariable(args[1].unpack(frame) if len(args) > 1 else [], cls)
    if cls is tuple:
        return frame.values.tuple_(args[1].unpack(frame) if len(args) > 1 else [])
    return new_native(tuple)(frame, args, kwargs)


@trace_rules.handle(collections.namedtuple)
def named_tuple_class(frame, args, kwargs) -> Variable:
    """collections.namedtuple(…): the class is made once for a code object."""
    try:
        values = [frame.ops.real(frame, a) for a in args]
        named = {k: frame.ops.real(frame, v) for k, v in kwargs.items()}
    except NotConstant as e:
        raise Unsupported(breaks.UNKNOWN_CALL, f"collections.namedtuple with {e.args[0].describe()}") from None
    named.setdefault("module", frame.globals.get("__name__", "__main__"))
    made = run_python(frame, collections.namedtuple, *values, **named)
    classes = frame.output.state.setdefault("named tuples", {})
    key = (made.__qualname__, made._fields, repr(made._field_defaults), made.__module__)
    return frame.world.known(classes.setdefault(key, made))
