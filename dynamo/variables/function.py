"""Functions: the user's (inlined), those made while tracing, bound methods, partials, and what is called otherwise."""

from __future__ import annotations

import _operator as operator
import types
from collections.abc import Callable
from typing import Any

from aten.scalar.unpatched import functools
from dynamo import breaks, config, constant_results, on_demand, outcome, trace_rules
from dynamo.breaks import Unsupported
from dynamo.bytecode.instruction import HAS_DOCSTRING, VERSION
from dynamo.source import Object
from dynamo.variables import attributes, logged
from dynamo.variables.attributes import storage_of
from dynamo.variables.base import C_METHODS, TrueVariable, Variable, accepts
from dynamo.variables.binding import bind
from dynamo.variables.constant import NONE, ConstantVariable, literal
from dynamo.variables.object import BoundMethod
from dynamo.variables.raising import raise_exception, run_python
from dynamo.variables.storage import Storage

A_METHOD = types.MethodType(len, ())  # of which Python says what attributes of methods take


class CellVariable(Variable):
    """A closure cell. `content` is None while it is empty. `cell` is the real one of a function from outside;
    `name` the variable of the root frame whose cell it is."""

    __slots__ = ("content", "cell", "name", "dirty")

    def __init__(self, content: Variable | None = None, cell=None, name: str | None = None, source=None):
        super().__init__(source)
        self.content = content
        self.cell = cell
        self.name = name
        self.dirty = False

    @property
    def comes_from_outside(self):
        return self.cell is not None

    def python_type(self):
        return types.CellType

    def load(self, frame) -> Variable | None:
        if self.content is not None:
            self.content = self.content.realize(frame)
        elif self.cell is not None and not self.dirty:
            # Nothing guards that it is still empty in the next call.
            raise self.unsupported("the contents: it is empty, and what is read there")
        return self.content

    def store(self, frame, value: Variable | None) -> None:
        self.content = value
        self.dirty = True
        frame.output.side_effects.changed(self)

    def getattr(self, frame, name):
        if name == "cell_contents":
            value = self.load(frame)
            if value is None:
                raise raise_exception(frame, ValueError, "Cell is empty")
            return value
        return super().getattr(frame, name)

    def recipe(self, emit):
        if self.name is not None:
            if self.cell is None:
                emit.own_cell(self)
            return outcome.Cell(self.name)
        if self.cell is not None:
            return emit.load(self.source)

        def fill(temp):
            if self.content is not None:
                emit.after(outcome.SetAttr(temp, "cell_contents", emit.value(self.content)))

        return emit.shared(self, lambda: outcome.Call(outcome.Const(types.CellType)), fill)

    def replay(self, emit) -> None:
        """Statements that give the cell outside its new contents."""
        if not self.dirty:
            return
        value = emit.value(self.content) if self.content is not None else None
        if self.name is not None:
            emit.after(outcome.SetCell(self.name, value))
        elif value is None:
            emit.after(outcome.DelAttr(emit.value(self), "cell_contents"))
        else:
            emit.after(outcome.SetAttr(emit.value(self), "cell_contents", value))


class PythonFunction(TrueVariable):
    """What functions share, those from outside and those made while tracing: attributes in a Storage, binding."""

    __slots__ = ()

    def python_type(self):
        return types.FunctionType

    def getattr(self, frame, name):
        return attributes.load_plainly(frame, self, name)

    def setattr(self, frame, name, value):
        attributes.store_plainly(frame, self, name, value)

    def delattr(self, frame, name):
        attributes.remove_plainly(frame, self, name)

    def method(self, frame, name, args, kwargs):
        return self.getattr(frame, name).call(frame, args, kwargs)

    def c_method(self, frame, descriptor, name):
        return frame.values.NativeMethod(self, descriptor)

    def c_call(self, frame, descriptor, args, kwargs):
        name = descriptor.__name__
        if name == "__get__":
            return self if attributes.unbound(frame, *args, *[None] * (2 - len(args))) else MethodVariable(self, args[0])
        if name == "__call__":
            return self.call(frame, args, kwargs)
        if descriptor.__objclass__ is object or name in ("__getattribute__", "__setattr__", "__delattr__"):
            rule = frame.values.OBJECT_METHODS.get(name)
            if rule is not None:
                return rule(self, frame, *args, **kwargs)
        raise self.unsupported(f"method {name}")

    def special(self, frame, name: str) -> Variable | None:
        found = attributes.find(frame, types.FunctionType, name)
        return None if found is None else attributes.bind(frame, found, self, frame.world.known(types.FunctionType))

    def member(self, frame, descriptor, name):
        if name == "__class__":
            return frame.world.known(types.FunctionType)
        if name == "__dict__":
            return storage_of(frame, self).as_dict(frame)
        stored = storage_of(frame, self).members.get(descriptor)
        return self.original(frame, descriptor, name) if stored is None else stored

    def original(self, frame, descriptor: Any, name: str) -> Variable:
        """What the function holds behind a descriptor of C as long as nothing was stored there."""
        raise self.unsupported(f"attribute {name}")

    def set_member(self, frame, descriptor, name, value):
        if name == "__dict__" and isinstance(value, frame.values.DictVariable):
            storage_of(frame, self).replace_dict(frame, value)
        elif name in ("__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__", "__module__"):
            storage_of(frame, self).write_member(frame, descriptor, value)
        elif name in ("__annotations__", "__annotate__", "__type_params__"):
            storage_of(frame, self).write_member(frame, descriptor, value)
        else:
            raise self.unsupported(f"setting {name}")

    def told(self, frame, name: str) -> Variable | None:
        """What was stored behind a descriptor of C, None if nothing was."""
        storage = frame.output.side_effects.storages.get(self)
        return None if storage is None else storage.members.get(types.FunctionType.__dict__[name])

    def bind_arguments(self, frame, code, args, kwargs) -> dict[str, Variable]:
        """The locals that a call starts with."""
        stored = self.told(frame, "__defaults__")
        if stored is None:
            defaults = self.defaults(frame)
        else:
            defaults = [] if stored.is_same(NONE) else stored.unpack(frame)
        stored = self.told(frame, "__kwdefaults__")
        if stored is None:
            kwdefaults = self.kwdefaults(frame)
        elif stored.is_same(NONE):
            kwdefaults = {}
        else:
            kwdefaults = {k.as_python(): stored.getitem(frame, k) for k in stored.unpack(frame)}
        return bind(frame, code, lambda: self.getattr(frame, "__qualname__").as_python(), defaults, kwdefaults, args, kwargs)

    def defaults(self, frame) -> list[Variable]:
        raise NotImplementedError

    def kwdefaults(self, frame) -> dict[str, Variable]:
        raise NotImplementedError


class FunctionVariable(PythonFunction):
    """A Python function that exists; calls are inlined, unless trace_rules says otherwise."""

    __slots__ = ("function", "seen")

    def __init__(self, function: types.FunctionType, source=None, seen=lambda: None):
        super().__init__(Object(function) if source is None else source)
        self.function = function
        self.seen = seen  # called where it matters which function it is, not only what code it runs

    def __repr__(self):
        return f"FunctionVariable({self.function.__qualname__})"

    def as_python(self):
        self.seen()
        return self.function

    def describe(self):
        return f"the function {self.function.__qualname__}"

    def make_storage(self):
        return Storage(self, self.function)

    def call(self, frame, args, kwargs):
        told = logged.logged(frame, self.function, args, kwargs)
        if told is not None:
            return told
        on_demand.load(self.function)
        handler = trace_rules.handler(self.function) or constant_results.rule_of(self.function)
        if handler is not None:
            frame.world.same(self.source, self.function)
            if not accepts(self.function, len(args), kwargs):
                return self.inline(frame, args, kwargs)  # which says what is wrong with them
            return handler(frame, args, kwargs)
        made = frame.values.transformed(frame, self)
        if made is not None:
            return made.call(frame, args, kwargs)
        trace_rules.check_inline(self.function)
        place = trace_rules.place_read(self.function)
        if place is not None and not (config.capture_scalar_outputs or frame.output.options.fullgraph):
            if getattr(args[place], "known", None) is None:
                raise trace_rules.left_whole(self.function)
        return self.inline(frame, args, kwargs)

    def inline(self, frame, args, kwargs) -> Variable:
        """The call, traced into the same graph."""
        f = self.function
        code = frame.world.code(f, self.source)
        local = self.bind_arguments(frame, code, args, kwargs)
        return frame.inline(code, f, f.__globals__, self.cells(frame), local)

    def defaults(self, frame):
        return frame.world.defaults(self.function, self.source)

    def kwdefaults(self, frame):
        return frame.world.kwdefaults(self.function, self.source)

    def cells(self, frame) -> list[CellVariable]:
        return [frame.output.cell(c, self.source, i) for i, c in enumerate(self.function.__closure__ or ())]

    def original(self, frame, descriptor, name):
        found = frame.world.slot(self.function, self.source, descriptor, name)
        if found is None:
            raise attributes.no_attribute(frame, self, name)
        return found

    def is_same(self, other):
        self.seen()
        if isinstance(other, FunctionVariable):
            other.seen()
            return self.function is other.function
        return False

    def hash_key(self):
        self.seen()
        return self.function

    def recipe(self, emit):
        return emit.load(self.source)


class ClosureVariable(PythonFunction):
    """A function made while tracing (def, lambda, comprehension)."""

    __slots__ = ("code", "globals", "default_values", "kwdefault_values", "cell_list", "annotations", "annotate")

    def __init__(self, code: types.CodeType, globals: dict, defaults=(), kwdefaults=None, cells=(), annotations=None):
        super().__init__()
        self.code = code
        self.globals = globals
        self.default_values: list[Variable] = list(defaults)
        self.kwdefault_values: dict[str, Variable] = dict(kwdefaults or {})
        self.cell_list: list[CellVariable] = list(cells)
        self.annotations: Variable | None = annotations
        self.annotate: Variable | None = None  # the function that computes them (3.14)

    def describe(self):
        return f"the function {self.code.co_qualname}"

    def make_storage(self):
        return Storage(self)

    def call(self, frame, args, kwargs):
        local = self.bind_arguments(frame, self.code, args, kwargs)
        return frame.inline(self.code, None, self.globals, self.cell_list, local, maker=self)

    def defaults(self, frame):
        return self.default_values

    def kwdefaults(self, frame):
        return self.kwdefault_values

    def original(self, frame, descriptor, name):
        values = frame.values
        doc = self.code.co_consts[0] if self.code.co_consts and isinstance(self.code.co_consts[0], str) else None
        plain = {
            "__name__": self.code.co_name,
            "__qualname__": self.code.co_qualname,
            "__module__": self.globals.get("__name__"),
            "__doc__": doc if has_docstring(self.code) else None,
            "__code__": self.code,
        }
        if name in plain:
            return literal(frame, plain[name])
        if name == "__defaults__":
            return values.tuple_(self.default_values) if self.default_values else NONE
        if name == "__kwdefaults__":
            pairs = [(ConstantVariable(k), v) for k, v in self.kwdefault_values.items()]
            made = values.dict_(pairs) if pairs else NONE
        elif name == "__annotations__":
            annotate = self.annotate
            if "__annotate__" in types.FunctionType.__dict__:  # (3.14) which may have been set, as functools.wraps does
                annotate = self.told(frame, "__annotate__") or annotate
            if self.annotations is None and annotate is not None and not annotate.is_same(NONE):
                self.annotations = annotate.call(frame, [ConstantVariable(1)], {})  # VALUE
            made = self.annotations or values.dict_()
        elif name == "__annotate__":
            return self.annotate or NONE
        elif name == "__type_params__":
            return values.tuple_([])
        elif name == "__closure__":
            return values.tuple_(self.cell_list) if self.cell_list else NONE
        else:
            raise self.unsupported(f"attribute {name}")
        if made is not NONE:  # a dict, which may be changed
            storage_of(frame, self).members[descriptor] = made
        return made

    def recipe(self, emit):
        def make():
            cells = outcome.Build("tuple", tuple(emit.value(c) for c in self.cell_list))
            defaults = outcome.Build("tuple", tuple(emit.value(v) for v in self.default_values))
            return outcome.Call(
                outcome.Const(types.FunctionType),
                (outcome.Const(self.code), outcome.Const(self.globals)),
                (
                    ("name", outcome.Const(self.code.co_name)),
                    ("argdefs", defaults if self.default_values else outcome.Const(None)),
                    ("closure", cells if self.cell_list else outcome.Const(None)),
                ),
            )

        return emit.shared(self, make, lambda temp: self.fill(emit, temp))

    def fill(self, emit, temp) -> None:
        if self.kwdefault_values:
            pairs = tuple(x for k, v in self.kwdefault_values.items() for x in (outcome.Const(k), emit.value(v)))
            emit.after(outcome.SetAttr(temp, "__kwdefaults__", outcome.Build("dict", pairs)))
        if self.annotations is not None:
            emit.after(outcome.SetAttr(temp, "__annotations__", emit.value(self.annotations)))
        elif self.annotate is not None:
            emit.after(outcome.SetAttr(temp, "__annotate__", emit.value(self.annotate)))
        storage = emit.output.side_effects.storages.get(self)
        if storage is not None:
            storage.fill(emit, temp)


def has_docstring(code: types.CodeType) -> bool:
    """Whether the first constant of a function is its docstring (that of a lambda never is)."""
    return bool(code.co_flags & HAS_DOCSTRING) if VERSION >= (3, 14) else code.co_name != "<lambda>"


class MethodVariable(TrueVariable):
    """function bound to self."""

    __slots__ = ("function", "object")

    def __init__(self, function: Variable, object: Variable, source=None):
        super().__init__(source)
        self.function = function
        self.object = object

    def python_type(self):
        return types.MethodType

    def describe(self):
        return f"a method, {self.function.describe()}"

    def call(self, frame, args, kwargs):
        if config.ignore_logger_methods and isinstance(self.function, FunctionVariable):
            if logged.ignored_method(self.function.function, getattr(self.object, "value", None)):
                return NONE
        return self.function.call(frame, [self.object, *args], kwargs)

    def getattr(self, frame, name):
        if name == "__self__":
            return self.object
        if name == "__func__":
            return self.function
        if name == "__class__":
            return frame.world.known(types.MethodType)
        if isinstance(frame.world.on_class(types.MethodType, name), C_METHODS):  # (its class is asked before the function)
            return BoundMethod(self, name)
        return self.function.getattr(frame, name)

    def setattr(self, frame, name, value):
        if hasattr(types.MethodType, name):
            run_python(frame, setattr, A_METHOD, name, None)
        raise attributes.nowhere(frame, self, name)

    def delattr(self, frame, name):
        if hasattr(types.MethodType, name):
            run_python(frame, delattr, A_METHOD, name)
        raise attributes.nowhere(frame, self, name)

    def is_same(self, other):
        return self is other

    def hash_key(self):
        return ("method", self.function.hash_key(), self.object.hash_key())

    def binary(self, frame, op, other):
        if isinstance(other, MethodVariable) and op in (operator.eq, operator.ne):
            same = self.function.is_same(other.function) and self.object.is_same(other.object)
            return ConstantVariable(same == (op is operator.eq))
        return None

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        parts = (emit.value(self.function), emit.value(self.object))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(types.MethodType), parts))


class PartialVariable(TrueVariable):
    """functools.partial."""

    __slots__ = ("function", "args", "given", "value")

    def __init__(self, function: Variable, args: list[Variable], given: Any, source=None, value=None):
        """`given`: the keyword arguments, or of one from outside the Variable of their dict, which may be changed."""
        super().__init__(source)
        self.value = value
        self.function = function
        self.args = args
        self.given = given

    def kwargs(self, frame) -> dict[str, Variable]:
        return self.given if isinstance(self.given, dict) else {k.as_python(): v for k, v in self.given.pairs(frame)}

    def python_type(self):
        return functools.partial

    def call(self, frame, args, kwargs):
        return self.function.call(frame, self.filled(frame, args), {**self.kwargs(frame), **kwargs})

    def filled(self, frame, args: list[Variable]) -> list[Variable]:
        """The arguments of a call: those given stand for the placeholders first."""
        places = sum(map(is_placeholder, self.args))
        if len(args) < places:
            text = f"missing positional arguments in 'partial' call; expected at least {places}, got {len(args)}"
            raise raise_exception(frame, TypeError, text)
        given = iter(args)
        return [*(next(given) if is_placeholder(a) else a for a in self.args), *given]

    def getattr(self, frame, name):
        if name in ("func", "args", "keywords") and isinstance(self.function, PartialVariable):
            raise self.unsupported(f"attribute {name}, which may be that of a partial in it,")
        if name in ("args", "keywords") and self.source is not None:
            return frame.world.attribute(self.value, self.source, name)  # the objects that it holds, not their like
        if name == "func":
            return self.function
        if name == "args":
            return frame.values.tuple_(self.args)
        if name == "keywords":
            return frame.values.dict_([(ConstantVariable(k), v) for k, v in self.given.items()])
        if name == "__dict__":
            return storage_of(frame, self).as_dict(frame)
        if attributes.find(frame, functools.partial, name) is None:
            own = storage_of(frame, self).read(frame, name)
            if own is None:
                raise attributes.no_attribute(frame, self, name)
            return own
        return super().getattr(frame, name)

    def setattr(self, frame, name, value):
        if attributes.find(frame, functools.partial, name) is not None:
            raise self.unsupported(f"setting {name}")
        storage_of(frame, self).write(frame, name, value)

    def delattr(self, frame, name):
        if not storage_of(frame, self).delete(frame, name):
            raise attributes.no_attribute(frame, self, name)

    def make_storage(self):
        return Storage(self, self.value)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            args = (emit.value(self.function), *[emit.value(a) for a in self.args])
            kwargs = tuple((k, emit.value(v)) for k, v in self.given.items())
            return outcome.Call(outcome.Const(functools.partial), args, kwargs)

        storage = emit.output.side_effects.storages.get(self)
        return emit.shared(self, make, None if storage is None else lambda temp: storage.fill(emit, temp))


def is_placeholder(value: Variable) -> bool:
    """Whether it is functools.Placeholder (3.14), the place of an argument to come."""
    return VERSION >= (3, 14) and value.python_type() is type(functools.Placeholder)  # type: ignore[attr-defined]


class CallableVariable(Variable):
    """A callable with a handler of its own (builtins, C functions), or none: then a call breaks the graph."""

    __slots__ = ("value", "handler")

    def __init__(self, value: Any, handler: Callable | None, source=None):
        super().__init__(source)
        self.value = value
        self.handler = handler

    def __repr__(self):
        return f"CallableVariable({self.describe()})"

    def python_type(self):
        return type(self.value)

    def as_python(self):
        return self.value

    def describe(self):
        return f"the function {trace_rules.name_of(self.value)}"

    def call(self, frame, args, kwargs):
        told = logged.logged(frame, self.value, args, kwargs)
        if told is not None:
            return told
        if self.handler is None and type(self.value) is functools._lru_cache_wrapper and frame.output.options.fullgraph:
            return self.getattr(frame, "__wrapped__").call(frame, args, kwargs)  # a graph cannot ask the cache
        if self.handler is None:
            raise Unsupported(breaks.UNKNOWN_CALL, trace_rules.name_of(self.value))
        return self.handler(frame, args, kwargs)

    def binary(self, frame, op, other):
        bound = types.MethodWrapperType  # those of one descriptor are equal, each time it is asked for another object
        if op in (operator.eq, operator.ne) and isinstance(self.value, bound) and isinstance(other, CallableVariable):
            return frame.values.const(op(self.value, other.value))
        return super().binary(frame, op, other)

    def getattr(self, frame, name):
        source = self.source or frame.world.identity(self.value)
        if isinstance(frame.world.on_class(type(self.value), name), C_METHODS):  # (bound anew: none can be known again)
            if frame.world.own_attribute(self.value, source, name) is None:
                return BoundMethod(self, name)
        found = frame.world.attribute(self.value, source, name)
        if found is None:
            raise attributes.no_attribute(frame, self, name)
        return found

    def hash_key(self):
        return self.value

    def recipe(self, emit):
        return emit.load(self.source) if self.source is not None else outcome.Const(self.value)
