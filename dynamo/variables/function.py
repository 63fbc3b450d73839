"""Functions: the user's (inlined), those made while tracing, bound methods, partials, and what is called otherwise."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from dynamo import graph_break, outcome, trace_rules
from dynamo.graph_break import Unsupported
from dynamo.source import Attr, Item
from dynamo.variables.base import TrueVariable, Variable
from dynamo.variables.constant import NONE, ConstantVariable, literal
from dynamo.variables.exception import raise_exception


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

    def python_type(self):
        return types.CellType

    def load(self, frame) -> Variable | None:
        if self.content is not None:
            self.content = self.content.realize(frame)
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
            return outcome.Const(self.cell)

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
            emit.after(outcome.DelAttr(outcome.Const(self.cell), "cell_contents"))
        else:
            emit.after(outcome.SetAttr(outcome.Const(self.cell), "cell_contents", value))


class FunctionVariable(TrueVariable):
    """A Python function that exists; calls are inlined, unless trace_rules says otherwise."""

    __slots__ = ("function",)

    def __init__(self, function: types.FunctionType, source=None):
        super().__init__(source)
        self.function = function

    def __repr__(self):
        return f"FunctionVariable({self.function.__qualname__})"

    def python_type(self):
        return types.FunctionType

    def as_python(self):
        return self.function

    def describe(self):
        return f"the function {self.function.__qualname__}"

    def call(self, frame, args, kwargs):
        trace_rules.load_numpy(self.function)
        handler = trace_rules.handler(self.function)
        if handler is not None:
            return handler(frame, args, kwargs)
        trace_rules.check_inline(self.function)
        return self.inline(frame, args, kwargs)

    def inline(self, frame, args, kwargs) -> Variable:
        """The call, traced into the same graph."""
        f = self.function
        defaults = self.defaults(frame, f.__defaults__, "__defaults__")
        kwdefaults = self.kwdefaults(frame, f.__kwdefaults__)
        local = bind(frame, f.__code__, f.__qualname__, defaults, kwdefaults, args, kwargs)
        return frame.inline(f.__code__, f, f.__globals__, self.cells(frame), local)

    def defaults(self, frame, values, name) -> list[Variable]:
        if not values:
            return []
        from dynamo.variables import track

        if self.source is None or trace_rules.is_library(self.function):
            return [track.wrap_untracked(frame, v) for v in values]
        source = Attr(self.source, name)
        return [track.Lazy(v, Item(source, i), frame.output) for i, v in enumerate(values)]

    def kwdefaults(self, frame, values) -> dict[str, Variable]:
        if not values:
            return {}
        from dynamo.variables import track

        if self.source is None or trace_rules.is_library(self.function):
            return {k: track.wrap_untracked(frame, v) for k, v in values.items()}
        source = Attr(self.source, "__kwdefaults__")
        return {k: track.Lazy(v, Item(source, k), frame.output) for k, v in values.items()}

    def cells(self, frame) -> list[CellVariable]:
        return [frame.output.cell(c, self.source, i) for i, c in enumerate(self.function.__closure__ or ())]

    def getattr(self, frame, name):
        from dynamo.variables import track

        stored = frame.output.side_effects.attribute(self, name)
        if stored is not None:
            return stored
        if name == "__get__":
            return BoundMethod(self, name)
        try:
            value = getattr(self.function, name)
        except AttributeError as e:
            if self.source is not None:
                frame.output.guard_lacks_attribute(self.source, name)
            raise raise_exception(frame, AttributeError, str(e)) from None
        if name in ("__name__", "__qualname__", "__module__", "__doc__") or self.source is None:
            return track.wrap_untracked(frame, value)
        return track.wrap(frame, value, Attr(self.source, name))

    def setattr(self, frame, name, value):
        frame.output.side_effects.store_attribute(self, name, value)

    def method(self, frame, name, args, kwargs):
        if name == "__get__":
            return MethodVariable(self, args[0])
        if name == "__call__":
            return self.call(frame, args, kwargs)
        return super().method(frame, name, args, kwargs)

    def is_same(self, other):
        return isinstance(other, FunctionVariable) and self.function is other.function

    def hash_key(self):
        return self.function

    def recipe(self, emit):
        return emit.load(self.source) if self.source is not None else outcome.Const(self.function)


class ClosureVariable(TrueVariable):
    """A function made while tracing (def, lambda, comprehension)."""

    __slots__ = (
        "code",
        "globals",
        "default_values",
        "kwdefault_values",
        "cell_list",
        "attributes",
        "annotations",
        "module",
    )

    def __init__(self, code: types.CodeType, globals: dict, defaults=(), kwdefaults=None, cells=(), annotations=None):
        super().__init__()
        self.code = code
        self.globals = globals
        self.default_values: list[Variable] = list(defaults)
        self.kwdefault_values: dict[str, Variable] = dict(kwdefaults or {})
        self.cell_list: list[CellVariable] = list(cells)
        self.annotations = annotations
        self.attributes: dict[str, Variable] = {}

    def python_type(self):
        return types.FunctionType

    def describe(self):
        return f"the function {self.code.co_qualname}"

    def call(self, frame, args, kwargs):
        local = bind(frame, self.code, self.code.co_qualname, self.default_values, self.kwdefault_values, args, kwargs)
        return frame.inline(self.code, None, self.globals, self.cell_list, local, maker=self)

    def getattr(self, frame, name):
        from dynamo.variables.mapping import DictVariable
        from dynamo.variables.sequence import TupleVariable

        if name in self.attributes:
            return self.attributes[name]
        plain = {
            "__name__": self.code.co_name,
            "__qualname__": self.code.co_qualname,
            "__module__": self.globals.get("__name__"),
            "__doc__": self.code.co_consts[0]
            if self.code.co_consts and isinstance(self.code.co_consts[0], str)
            else None,
        }
        if name in plain:
            return ConstantVariable(plain[name])
        if name == "__code__":
            return literal(frame, self.code)
        if name == "__defaults__":
            return TupleVariable(list(self.default_values)) if self.default_values else NONE
        if name == "__kwdefaults__":
            pairs = [(ConstantVariable(k), v) for k, v in self.kwdefault_values.items()]
            return DictVariable.of(pairs) if pairs else NONE
        if name == "__dict__":
            return DictVariable.of([(ConstantVariable(k), v) for k, v in self.attributes.items()])
        if name == "__annotations__":
            return self.annotations or DictVariable()
        if name in ("__type_params__",):
            return TupleVariable([])
        if name == "__closure__":
            return TupleVariable(list(self.cell_list)) if self.cell_list else NONE
        if name in ("__get__", "__call__"):
            return BoundMethod(self, name)
        raise raise_exception(frame, AttributeError, f"'function' object has no attribute '{name}'")

    def setattr(self, frame, name, value):
        if name == "__defaults__":
            self.default_values = value.unpack(frame)
        elif name == "__dict__":
            self.attributes = {k.as_python(): v for k, v in value.pairs(frame)}
        else:
            self.attributes[name] = value

    def method(self, frame, name, args, kwargs):
        if name == "__get__":
            return MethodVariable(self, args[0])
        if name == "__call__":
            return self.call(frame, args, kwargs)
        return super().method(frame, name, args, kwargs)

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

        def fill(temp):
            if self.kwdefault_values:
                pairs = tuple(x for k, v in self.kwdefault_values.items() for x in (outcome.Const(k), emit.value(v)))
                emit.after(outcome.SetAttr(temp, "__kwdefaults__", outcome.Build("dict", pairs)))
            for name, value in self.attributes.items():
                emit.after(outcome.SetAttr(temp, name, emit.value(value)))

        return emit.shared(self, make, fill)


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
        return self.function.call(frame, [self.object, *args], kwargs)

    def getattr(self, frame, name):
        if name == "__self__":
            return self.object
        if name == "__func__":
            return self.function
        if name == "__call__":
            return self
        return self.function.getattr(frame, name)

    def is_same(self, other):
        return self is other

    def hash_key(self):
        return ("method", self.function.hash_key(), self.object.hash_key())

    def binary(self, frame, op, other):
        import operator

        if isinstance(other, MethodVariable) and op in (operator.eq, operator.ne):
            same = self.function.is_same(other.function) and self.object.is_same(other.object)
            return ConstantVariable(same == (op is operator.eq))
        return None

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        parts = (emit.value(self.function), emit.value(self.object))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(types.MethodType), parts))


class BoundMethod(TrueVariable):
    """A method of a kind of value whose `method()` knows it: [].append, x.size …"""

    __slots__ = ("object", "name")

    def __init__(self, object: Variable, name: str, source=None):
        super().__init__(source)
        self.object = object
        self.name = name

    def python_type(self):
        return type(getattr(self.object.python_type(), self.name, len))

    def describe(self):
        return f"the method {self.name} of {self.object.describe()}"

    def call(self, frame, args, kwargs):
        return self.object.method(frame, self.name, args, kwargs)

    def getattr(self, frame, name):
        if name == "__self__":
            return self.object
        if name == "__name__":
            return ConstantVariable(self.name)
        return super().getattr(frame, name)

    def hash_key(self):
        return ("method", self.name, self.object.hash_key())

    def recipe(self, emit):
        return outcome.GetAttr(emit.value(self.object), self.name)


class PartialVariable(TrueVariable):
    """functools.partial."""

    __slots__ = ("function", "args", "kwargs")

    def __init__(self, function: Variable, args: list[Variable], kwargs: dict[str, Variable], source=None):
        super().__init__(source)
        self.function = function
        self.args = args
        self.kwargs = kwargs

    def python_type(self):
        return functools.partial

    def call(self, frame, args, kwargs):
        return self.function.call(frame, [*self.args, *args], {**self.kwargs, **kwargs})

    def getattr(self, frame, name):
        from dynamo.variables.mapping import DictVariable
        from dynamo.variables.sequence import TupleVariable

        if name == "func":
            return self.function
        if name == "args":
            return TupleVariable(list(self.args))
        if name == "keywords":
            return DictVariable.of([(ConstantVariable(k), v) for k, v in self.kwargs.items()])
        return super().getattr(frame, name)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            args = (emit.value(self.function), *[emit.value(a) for a in self.args])
            kwargs = tuple((k, emit.value(v)) for k, v in self.kwargs.items())
            return outcome.Call(outcome.Const(functools.partial), args, kwargs)

        return emit.shared(self, make)


class CallableVariable(TrueVariable):
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
        return f"the function {getattr(self.value, '__qualname__', None) or repr(self.value)}"

    def call(self, frame, args, kwargs):
        if self.handler is None:
            raise Unsupported(graph_break.UNKNOWN_CALL, trace_rules.name_of(self.value))
        return self.handler(frame, args, kwargs)

    def getattr(self, frame, name):
        from dynamo.variables import track

        try:
            value = getattr(self.value, name)
        except AttributeError as e:
            raise raise_exception(frame, AttributeError, str(e)) from None
        return track.wrap_untracked(frame, value)

    def hash_key(self):
        return self.value

    def recipe(self, emit):
        return emit.load(self.source) if self.source is not None else outcome.Const(self.value)


VARARGS, VARKEYWORDS = 0x04, 0x08


def bind(frame, code, name: str, defaults, kwdefaults, args, kwargs) -> dict[str, Variable]:
    """The locals that a call starts with, as CPython binds them. Raises TypeError in the traced program."""
    from dynamo.variables.mapping import DictVariable
    from dynamo.variables.sequence import TupleVariable

    n = code.co_argcount
    names = code.co_varnames
    total = n + code.co_kwonlyargcount
    local: dict[str, Variable] = dict(zip(names[:n], args))
    if len(args) > n and not code.co_flags & VARARGS:
        raise raise_exception(frame, TypeError, _too_many(name, n, len(defaults), len(args)))
    extra: dict[str, Variable] = {}
    for key, value in kwargs.items():
        if key in names[code.co_posonlyargcount : total]:
            if key in local:
                raise raise_exception(frame, TypeError, f"{name}() got multiple values for argument '{key}'")
            local[key] = value
        elif code.co_flags & VARKEYWORDS:
            extra[key] = value
        else:
            raise raise_exception(frame, TypeError, f"{name}() got an unexpected keyword argument '{key}'")
    first_default = n - len(defaults)
    missing = []
    for i, key in enumerate(names[:n]):
        if key not in local:
            if i >= first_default:
                local[key] = defaults[i - first_default]
            else:
                missing.append(key)
    if missing:
        raise raise_exception(frame, TypeError, _missing(name, "positional", missing))
    for key in names[n:total]:
        if key not in local:
            if key in kwdefaults:
                local[key] = kwdefaults[key]
            else:
                missing.append(key)
    if missing:
        raise raise_exception(frame, TypeError, _missing(name, "keyword-only", missing))
    if code.co_flags & VARARGS:
        local[names[total]] = TupleVariable(list(args[n:]))
        total += 1
    if code.co_flags & VARKEYWORDS:
        local[names[total]] = DictVariable.of([(ConstantVariable(k), v) for k, v in extra.items()])
    return local


def _too_many(name: str, n: int, n_defaults: int, given: int) -> str:
    takes = f"from {n - n_defaults} to {n}" if n_defaults else str(n)
    plural = "" if takes == "1" else "s"
    return f"{name}() takes {takes} positional argument{plural} but {given} {'was' if given == 1 else 'were'} given"


def _missing(name: str, kind: str, missing: list[str]) -> str:
    quoted = [repr(m) for m in missing]
    text = (
        quoted[0]
        if len(quoted) == 1
        else ", ".join(quoted[:-1]) + ("," if len(quoted) > 2 else "") + f" and {quoted[-1]}"
    )
    return f"{name}() missing {len(missing)} required {kind} argument{'s' if len(missing) > 1 else ''}: {text}"
