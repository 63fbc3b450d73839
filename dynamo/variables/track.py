"""The type table: which Variable a Python object becomes, and what is guarded for it."""

from __future__ import annotations

import collections
import enum
import sys
import threading
import types
import typing
from collections.abc import Callable
from typing import Any

from aten.later import later
from aten.scalar.unpatched import functools
from dynamo import guards, on_demand, trace_rules
from dynamo.breaks import Unsupported
from dynamo.real_objects import behind_proxy, class_module, class_name, is_plain_key, method_of_c
from dynamo.source import Attr, Converted, DictKey, Item, Object, Source
from dynamo.variables import module, native_part
from dynamo.variables.base import Variable
from dynamo.variables.classes import ClassVariable, ModuleVariable
from dynamo.variables.constant import PLAIN_IDS, ConstantVariable, are_plain
from dynamo.variables.deque import DequeVariable
from dynamo.variables.exception import ExceptionVariable
from dynamo.variables.function import CallableVariable, FunctionVariable, MethodVariable, PartialVariable
from dynamo.variables.hashed import value_at
from dynamo.variables.lazy import Lazy
from dynamo.variables.mapping import DictVariable
from dynamo.variables.object import NativeMethod, ObjectVariable
from dynamo.variables.outside_list import OutsideList
from dynamo.variables.sequence import ListVariable, NamedTupleVariable, SliceVariable, TupleVariable
from dynamo.variables.sets import SetVariable
from dynamo.variables.symint import SymbolicVariable
from dynamo.variables.unknown import UnknownVariable

proxy_of = later("dynamo.variables.proxy", "ProxyVariable")

TABLE: dict[type, Callable] = {}  # exact type → rule(frame, value, source)
BASES: list[tuple[type, Callable]] = []  # in order, for subclasses


def kind(*types_: type, subclasses: bool = False):
    """Declare how values of these types are wrapped: rule(frame, value, source) -> Variable."""

    def declare(rule):
        for t in types_:
            if subclasses:
                BASES.append((t, rule))
            else:
                TABLE[t] = rule
        return rule

    return declare


def wrap(frame, value: Any, source: Source | None) -> Variable:
    """The Variable of a value from outside, with its guards. One object has one Variable."""
    output = frame.output
    if source is None:
        return literal(frame, value)
    known = output.by_source.get(source)
    if known is not None:
        return known
    if id(type(value)) not in PLAIN_IDS:  # (isinstance would ask a `__getattribute__` of the user)
        known = output.by_id.get(id(value))
        if known is not None:
            if isinstance(source, Object):
                frame.world.same(known.source, value)
            elif isinstance(known.source, Object):
                frame.world.same(source, value)
            elif known.source is not None and known.source != source:
                output.guard(guards.SameObject(source, known.source))
            output.by_source[source] = known
            return known
    variable = _rule(type(value))(frame, value, source)
    output.by_source[source] = variable
    if id(type(value)) not in PLAIN_IDS:  # (isinstance would ask a `__getattribute__` of the user)
        output.by_id[id(value)] = variable
        output.alive.append(value)
    return variable


def _rule(cls: type) -> Callable:
    rule = TABLE.get(cls) if is_plain_key(cls) else None
    if rule is None and on_demand.load(cls) and is_plain_key(cls):
        rule = TABLE.get(cls)
    if rule is None:
        rule = next((r for base, r in BASES if issubclass(cls, base)), _object)  # (not kept: it would keep the class)
    return rule


def literal(frame, value: Any) -> Variable:
    """The Variable of a Python value computed while tracing: new containers, the rest held by identity."""
    cls = type(value)
    if id(cls) in PLAIN_IDS or (is_plain_key(cls) and cls in CONSTANTS):
        return ConstantVariable(value)
    if cls is tuple:
        return TupleVariable([literal(frame, v) for v in value])
    if cls is list:
        return ListVariable([literal(frame, v) for v in value])
    if cls is dict:
        return DictVariable.of([(literal(frame, k), literal(frame, v)) for k, v in value.items()])
    if cls is set:
        return SetVariable([literal(frame, v) for v in value])
    if cls is slice:
        return SliceVariable([literal(frame, v) for v in (value.start, value.stop, value.step)])
    if cls is frozenset:
        return ConstantVariable(value)
    module_name = class_module(cls)
    if module_name == "aten.symbolic.symint":
        return SymbolicVariable(value)
    if class_name(cls) == "ndarray" and module_name == "numpy":  # the program may write into it: a new one at each call
        return frame.values.new_array(frame, value)
    return wrap_untracked(frame, value)


def unknown(frame, value: Any, source: Source, why: str) -> UnknownVariable:
    """A value that is not traced; another kind of value in its place is compiled anew."""
    frame.output.guard_type(source, type(value))
    return UnknownVariable(value, why, source)


def wrap_untracked(frame, value: Any) -> Variable:
    """A value that a constant object leads to (a module's function, a default): itself, with no guard above it."""
    if id(type(value)) in PLAIN_IDS:
        return ConstantVariable(value)
    return wrap(frame, value, Object(value))


def wrap_builtin(frame, value: Any, source) -> Variable:
    """A builtin name; the globals must go on lacking it."""
    if source is not None:
        frame.output.guard(guards.LacksGlobal(None, source.key))
    return wrap(frame, value, Object(value))


# ---------------------------------------------------------------------------------------------- constants
CONSTANTS: set[type] = {range, types.CodeType, type(types.GenericAlias(list, int)), types.UnionType}


def _constant(frame, value, source):
    frame.output.guard_constant(source, value)
    return ConstantVariable(value, source)


@kind(range)
def _range(frame, value, source):
    """(Ranges of the same numbers are equal, and are shown as they were made.)"""
    frame.output.guard_type(source, range)
    for name in ("start", "stop", "step"):
        frame.output.guard(guards.Equals(Attr(source, name), getattr(value, name)))
    return ConstantVariable(value, source)


for _type in (bool, str, bytes, complex, type(None), types.CodeType):
    kind(_type)(_constant)
for _type in (type(Ellipsis), type(NotImplemented), types.GenericAlias, types.UnionType):
    kind(_type)(lambda frame, value, source: _identity(frame, ConstantVariable(value, source)))


@kind(int)
def _int(frame, value, source):
    symbol = frame.output.symbolic_number(source, value)
    if symbol is not None:
        return symbol
    return _constant(frame, value, source)


@kind(float)
def _float(frame, value, source):
    symbol = frame.output.symbolic_number(source, value)
    if symbol is not None:
        return symbol
    return _constant(frame, value, source)


@kind(enum.Enum, subclasses=True)
def _enum(frame, value, source):
    if frame.world.enum_is_object(type(value)):
        if not isinstance(source, Object):
            frame.output.guard_same(source, value)
        return _object(frame, value, source)
    frame.output.guard_type(source, type(value))  # (`__class__` may be set)
    return _identity(frame, ConstantVariable(value, source))


def _identity(frame, variable):
    if not isinstance(variable.source, Object):
        frame.output.guard_same(variable.source, variable.value)
    return variable


# ---------------------------------------------------------------------------------------------- containers
def _items(frame, value, source) -> list[Variable]:
    frame.output.guard_type(source, type(value))
    frame.output.guard(guards.LengthIs(source, len(value)))
    return [Lazy(v, Item(source, i), frame.output) for i, v in enumerate(value)]


def _type_variable(frame, value, source):
    return _identity(frame, ConstantVariable(value, source))


if sys.version_info >= (3, 12):  # they are classes of C
    kind(typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple)(_type_variable)


@kind(list)
def _list(frame, value, source):
    frame.output.guard_type(source, list)
    return OutsideList(value, source, frame.output)


@kind(tuple)
def _tuple(frame, value, source):
    return TupleVariable(_items(frame, value, source), source)


@kind(tuple, subclasses=True)
def _named_tuple(frame, value, source):
    if not frame.world.is_named_tuple(type(value)):
        return _object(frame, value, source)
    return NamedTupleVariable(_items(frame, value, source), type(value), source)


@kind(slice)
def _slice(frame, value, source):
    frame.output.guard_type(source, slice)
    return SliceVariable([wrap(frame, getattr(value, n), Attr(source, n)) for n in ("start", "stop", "step")], source)


@kind(types.MappingProxyType)
def _proxy(frame, value, source):
    frame.output.guard_type(source, types.MappingProxyType)
    behind = behind_proxy(value)
    if TABLE.get(type(behind)) is not _dict:
        return unknown(frame, value, source, "a proxy of a mapping of the program's own")
    frame.world.paths.met_proxy()
    return proxy_of(wrap(frame, behind, Converted(source, behind_proxy)), source)


@kind(dict, collections.OrderedDict, collections.defaultdict)
def _dict(frame, value, source):
    output = frame.output
    if type(value) is collections.OrderedDict and value.__dict__:
        return _object(frame, value, source)
    if type(value) is collections.OrderedDict:
        frame.world.check_order_is_known(value)
    output.guard_type(source, type(value))
    plain = are_plain(value)
    entries = {}
    if plain:
        output.guard(guards.DictKeysAre(source, tuple(value)))
        for k, v in value.items():
            entries[k] = [ConstantVariable(k), Lazy(v, Item(source, k), frame.output)]
    else:
        output.guard(guards.LengthIs(source, len(value)))
        stored = frame.world.stored_keys(value, source, [wrap(frame, k, DictKey(source, i)) for i, k in enumerate(value)])
        for i, ((k, v), (found, key)) in enumerate(zip(value.items(), stored)):
            entries[found] = [key, Lazy(v, value_at(value, source, i, found, Item(source, k)), frame.output)]
    default: Any = ConstantVariable(None)
    if type(value) is collections.defaultdict:  # that it has none is guarded, too
        default = wrap(frame, value.default_factory, Attr(source, "default_factory"))
    made = DictVariable(entries, type(value), default, source, value if type(value) is collections.OrderedDict else None)
    if output.side_effects.dirty and type(value) is dict:
        frame.world.paths.join(frame, value, made)
    return made


@kind(set)
def _set(frame, value, source):
    frame.output.guard_type(source, set)
    if not are_plain(value):
        return _set_of_objects(frame, value, source)
    frame.output.guard(guards.SetIs(source, tuple(value)))
    return SetVariable([ConstantVariable(v) for v in value], source=source, order=value)


def _set_of_objects(frame, value, source) -> SetVariable:
    """A set with objects in it: each is read where it comes in the order of iteration."""
    frame.output.guard(guards.LengthIs(source, len(value)))
    in_order = Converted(source, tuple)
    made = SetVariable(source=source, order=())
    items = [wrap(frame, v, Item(in_order, i)) for i, v in enumerate(value)]
    made.entries = dict(frame.world.stored_keys(value, source, items))
    made.order = tuple(made.entries)
    return made


@kind(frozenset)
def _frozenset(frame, value, source):
    if not isinstance(source, Object):
        frame.output.guard_type(source, frozenset)
        if not are_plain(value):
            made = _set_of_objects(frame, value, source)
            made.frozen = True
            return made
        frame.output.guard(guards.SetIs(source, tuple(value)))
    return ConstantVariable(value, source)


@kind(collections.deque)
def _deque(frame, value, source):
    frame.output.guard_type(source, collections.deque)
    frame.output.guard(guards.LengthIs(source, len(value)))
    frame.output.guard_constant(Attr(source, "maxlen"), value.maxlen)
    items: list[Variable] = [Lazy(v, Item(source, i), frame.output) for i, v in enumerate(value)]
    return DequeVariable(items, value.maxlen, source)


# ----------------------------------------------------------------------------------------------- callables
@kind(types.FunctionType)
def _function(frame, value, source):
    output = frame.output
    if isinstance(source, Object):
        return FunctionVariable(value, source)
    # The functions that one `def` or lambda makes share what was compiled: which of them it is matters where it was asked,
    # and for those that a rule knows.
    output.guard(guards.FunctionCodeIs(source, value.__code__))
    if trace_rules.handler(value) is not None or trace_rules.is_library(value):
        output.guard_same(source, value)
        return FunctionVariable(value, source)
    return FunctionVariable(value, source, lambda: output.guard_same(source, value))


@kind(types.MethodType)
def _method(frame, value, source):
    if isinstance(source, Object):
        return MethodVariable(wrap_untracked(frame, value.__func__), wrap_untracked(frame, value.__self__), source)
    frame.output.guard_type(source, types.MethodType)
    function = wrap(frame, value.__func__, Attr(source, "__func__"))
    return MethodVariable(function, wrap(frame, value.__self__, Attr(source, "__self__")), source)


@kind(functools.partial)
def _partial(frame, value, source):
    frame.output.guard_type(source, functools.partial)
    args = wrap(frame, value.args, Attr(source, "args")).unpack(frame)
    keywords = wrap(frame, value.keywords, Attr(source, "keywords"))
    function = wrap(frame, value.func, Attr(source, "func"))
    return PartialVariable(function, args, keywords, source, value)


@kind(type, subclasses=True)
def _class(frame, value, source):
    return _identity(frame, ClassVariable(value, source))


@kind(types.ModuleType, subclasses=True)
def _module(frame, value, source):
    frame.world.class_of_module(value)
    return _identity(frame, ModuleVariable(value, source))


@kind(types.CellType)
def _cell(frame, value, source):
    return frame.output.cell_at(value, source)


@kind(
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)  # fmt: skip
def _builtin(frame, value, source):
    on_demand.load_native()
    native = on_demand.import_part("native")
    owner = getattr(value, "__self__", None)
    if type(value) is types.BuiltinMethodType and issubclass(type(owner), (list, dict, set, str, tuple)):
        # A method of a container: another object each time it is asked for, so its container is looked at.
        frame.output.guard_type(source, type(value))
        frame.output.guard(guards.Equals(Attr(source, "__name__"), value.__name__))
        of = wrap(frame, owner, Attr(source, "__self__"))
        own = method_of_c(value) if isinstance(of, ObjectVariable) else None
        if own is None:
            return of.getattr(frame, value.__name__)
        frame.output.guard_same(Converted(source, method_of_c), own)  # (a class may come from two that have the name)
        return NativeMethod(of, own)
    if isinstance(value, types.MethodWrapperType) and not isinstance(source, Object):
        # Another object each time it is asked for: what it is bound to and its name say which.
        frame.output.guard_type(source, type(value))
        frame.output.guard(guards.Equals(Attr(source, "__name__"), value.__name__))
        frame.output.guard_same(Attr(source, "__self__"), owner)
        frame.output.guard_same(Attr(source, "__objclass__"), value.__objclass__)
        return CallableVariable(value, native.handler(value), source)
    return _identity(frame, CallableVariable(value, native.handler(value), source))


# ------------------------------------------------------------------------------------------------- objects
def _object(frame, value, source):
    cls = type(value)
    output = frame.output
    if issubclass(cls, type):
        return unknown(frame, value, source, "a class")
    if issubclass(cls, BaseException):
        output.guard_type(source, cls)
        args = output.world.slot(value, source, BaseException.__dict__["args"], "args").unpack(frame)
        return ExceptionVariable(cls, args, source, value)
    handler = trace_rules.handler(value)
    in_c = output.world.c_bases(cls)
    native = in_c and in_c[0] in native_part.OUTSIDE and all(issubclass(in_c[0], c) for c in in_c)
    if in_c == (threading.local,):
        in_c = ()
    of_c = callable(value) and output.world.is_immutable(cls)  # a function: nobody gives its class anything, or it another one
    if handler is None and in_c and not native and not of_c:
        return unknown(frame, value, source, f"of {class_name(cls)}, a class written in C")
    if handler is not None or (in_c and not native):
        if not output.world.is_immutable(cls):
            output.guard_type(source, cls)
        return _identity(frame, CallableVariable(value, handler, source))
    output.guard_type(source, cls)
    if native:
        try:
            return native_object(frame, in_c[0], value, source)
        except Unsupported as e:
            return unknown(frame, value, source, e.detail)
    return (module.ModuleObject if module.is_module(value) else ObjectVariable)(cls, value, source)


def native_object(frame, base: type, value: Any, source: Source) -> Variable:
    """An object of a subclass of a builtin class."""
    part = native_part.outside_part(frame, base, value, source)
    part.owner = ObjectVariable(type(value), value, source, part)
    return part.owner


kind(object)(_object)
