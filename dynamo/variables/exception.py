"""Exceptions as values of the traced program: objects with a part written in C."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from dynamo import _eval_frame, breaks, outcome, trace_rules
from dynamo.breaks import NotConstant, Raised, Unsupported
from dynamo.real_objects import HEAP_TYPE, flags_of
from dynamo.reraise import Step, passer
from dynamo.variables import attributes
from dynamo.variables.attributes import MEMBERS, storage_of
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.object import ObjectVariable
from dynamo.variables.raising import as_raised, raise_exception, raises, run_python
from dynamo.variables.traceback import TracebackVariable

HELD: dict[str, tuple[type, ...]] = {  # what members of every exception may hold
    "__cause__": (BaseException, types.NoneType),
    "__context__": (BaseException, types.NoneType),
    "__traceback__": (types.TracebackType, types.NoneType),
    "__suppress_context__": (bool,),
}
RUNNING = ("__traceback__", "__context__", "__suppress_context__")


class ExceptionVariable(ObjectVariable):
    """An exception object: an object whose native part is what BaseException and its kin in C keep.

    `new_args` is what its `__new__` was called with. `shadow` is a real exception of the builtin class with the same
    arguments (values that are not known stand in it as `Opaque`), which answers for attributes and text as C does.
    """

    __slots__ = ("new_args", "shadow", "context", "trace", "held", "raised", "told")

    def __init__(self, cls: type, args: list[Variable], source=None, value: Any = None):
        super().__init__(cls, value, source)
        self.new_args = args
        self.shadow: BaseException | None = None
        self.context: Variable | None = None  # what was being handled when it was raised, if that is known
        self.trace: list[Step] = []  # what it came through: the calls that are inlined, and the frame itself
        self.held: list[dict] = []  # the variables of calls it came through, which live as long as its traceback
        self.raised = False  # while tracing
        self.told: dict[str, Variable] = {}  # members of C that were set: of those it starts with, the shadow tells
        if source is None:
            self.shadow = make_shadow(cls, args)
            if type(self.shadow) is not cls and cls is c_base(cls):  # OSError(2, "…") is a FileNotFoundError
                self.cls = type(self.shadow)

    def describe(self):
        return f"an exception {self.cls.__name__}({', '.join(_text(a) for a in self.new_args)})"

    @property
    def args(self) -> list[Variable]:
        """What `args` holds, of one made while tracing."""
        return self.new_args if self.shadow is None else [_open(a) for a in self.shadow.args]

    # ------------------------------------------------------------------------------------- members written in C
    def member(self, frame, descriptor, name):
        if name == "__context__" and self.context is not None:
            return self.context
        if name in RUNNING and name not in self.told:
            return self.running_member(frame, name)
        if descriptor.__objclass__ is object or name == "__dict__" or self.is_slot(descriptor):
            return super().member(frame, descriptor, name)
        if name in self.told:
            return self.told[name]
        if self.shadow is None:
            return super().member(frame, descriptor, name)
        value = run_python(frame, descriptor.__get__, self.shadow)
        return frame.values.tuple_([_open(v) for v in value]) if type(value) is tuple else _open(value)

    def take_members(self, e: BaseException) -> None:
        """What C filled into a real exception beyond its arguments (the `name` of an ImportError)."""
        if isinstance(e, AttributeError) and not isinstance(e.obj, PLAIN_MEMBERS):
            return  # of another object: whoever looked for the attribute tells of both
        mine = shadow_members(self.shadow)
        for name, value in shadow_members(e).items():
            if name != "args" and type(value) in PLAIN_MEMBERS and mine.get(name) != value:
                setattr(self.shadow, name, value)

    def is_slot(self, descriptor: Any) -> bool:
        """Whether a class of the user declares the member."""
        return not issubclass(c_base(self.cls), descriptor.__objclass__)

    def running_member(self, frame, name: str) -> Variable:
        """What only a running exception has: contextlib may ask, and puts right where it came out wrong."""
        if not trace_rules.is_library_name(str(frame.globals.get("__name__"))):
            raise Unsupported(breaks.RUNNING_EXCEPTION, name)
        return frame.values.NONE

    def set_member(self, frame, descriptor, name, value):
        if descriptor.__objclass__ is object or name == "__dict__" or self.is_slot(descriptor):
            super().set_member(frame, descriptor, name, value)
            return
        if not issubclass(value.python_type(), HELD.get(name, object)):
            raise frame.ops.refused(frame, lambda refused: descriptor.__set__(BaseException(), refused), value)
        if isinstance(value, TracebackVariable) and name == "__traceback__":
            self.put_traceback(frame, value)
            return
        if name == "args":
            value = frame.values.tuple_(value.unpack(frame))
        self.told[name] = value
        if name == "__cause__":
            self.told["__suppress_context__"] = frame.values.TRUE
        if self.shadow is not None and name not in ("__cause__", *RUNNING):
            new = tuple([_close(v) for v in value.items]) if name == "args" else _close(value)
            setattr(self.shadow, name, new)
        if self.shadow is None:
            storage_of(frame, self).write_member(frame, descriptor, value)

    def put_traceback(self, frame, value: Variable) -> None:
        """It gets its own, which it has or gets where it is raised; or none, of one made while tracing."""
        if value.is_same(frame.values.NONE) and self.source is None:
            self.trace.clear()
        elif not (isinstance(value, TracebackVariable) and value.exception is self):
            raise self.unsupported("another traceback")

    def set_cause(self, frame, cause: Variable) -> None:
        """raise … from cause"""
        self.set_member(frame, BaseException.__dict__["__cause__"], "__cause__", cause)

    def note_raised(self, frame) -> None:
        """It is raised anew: one from outside shows it afterwards, in its traceback and context."""
        self.raised = True
        frame.output.side_effects.changed(self)

    def set_context(self, frame, handled: ExceptionVariable) -> None:
        """What is being handled is the context. Where that has this one among its own, it is cut off: no chain is a circle."""
        self.context = handled
        at, met = handled, []
        while isinstance(at.context, ExceptionVariable) and not any(e is at for e in met):
            if at.context is self:
                at.context = frame.values.NONE
                frame.output.side_effects.changed(at)
                return
            met.append(at)
            at = at.context

    def replay(self, emit) -> None:
        temp = emit.value(self)
        if self.context is not None:
            emit.after(self.set_plainly(temp, "__context__", emit.value(self.context)))
        self.leave_traceback(emit, temp)

    def about(self, frame, **members: Variable) -> None:
        """Fill in what the interpreter tells of an error (the name that was not found, and where), unless it is set."""
        shadow = self.shadow
        if shadow is None or any(getattr(shadow, m, self) is not None or m in self.told for m in members):
            return
        for member, value in members.items():
            self.told[member] = value

    # ------------------------------------------------------------------------------------ methods written in C
    def c_call(self, frame, descriptor, args, kwargs):
        name = descriptor.__name__
        if descriptor.__objclass__ is object:
            return super().c_call(frame, descriptor, args, kwargs)
        if name == "__init__":
            return self.initialize(frame, args, kwargs)
        if name == "with_traceback":
            if not issubclass(args[0].python_type(), HELD["__traceback__"]):
                raise frame.ops.refused(frame, BaseException().with_traceback, *args)
            self.put_traceback(frame, args[0])
            return self
        if name == "add_note":
            return self.add_note(frame, *args)
        if name in ("__str__", "__repr__"):
            return frame.values.const(self.c_text(frame, descriptor))
        if name == "__setattr__":
            attributes.store_plainly(frame, self, attributes.name_given(frame, args[0], object.__setattr__), args[1])
            return frame.values.NONE
        if name == "__delattr__":
            attributes.remove_plainly(frame, self, attributes.name_given(frame, args[0], object.__delattr__))
            return frame.values.NONE
        if name == "__getattribute__":
            return attributes.load_plainly(frame, self, attributes.name_given(frame, args[0], object.__getattribute__))
        raise self.unsupported(f"method {name}")

    def add_note(self, frame, note: Variable) -> Variable:
        if not issubclass(note.python_type(), str):
            raise raise_exception(frame, TypeError, f"note must be a str, not '{note.type_name()}'")
        try:
            notes = self.getattr(frame, "__notes__").realize(frame)
        except Raised as raised:
            if not issubclass(raised.value.python_type(), AttributeError):
                raise
            notes = frame.values.list_([])
            self.setattr(frame, "__notes__", notes)
        if not issubclass(notes.python_type(), list):
            raise raise_exception(frame, TypeError, "Cannot add note: __notes__ is not a list")
        notes = getattr(notes, "native", None) or notes  # (past what a subclass overrides)
        return notes.method(frame, "append", [note], {})

    def initialize(self, frame, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """BaseException.__init__ and those of its kin in C."""
        if self.shadow is None:
            raise self.unsupported("__init__()")
        base = c_base(type(self.shadow))
        if kwargs and base.__init__ is BaseException.__init__:
            raise raise_exception(frame, TypeError, f"{self.cls.__name__}() takes no keyword arguments")
        values = [_close(a) for a in args]
        named = {k: _close(v) for k, v in kwargs.items()}
        as_c_does(frame, [*values, *named.values()], lambda: base.__init__(self.shadow, *values, **named))
        self.told.pop("args", None)
        return frame.values.NONE

    def c_text(self, frame, descriptor) -> str:
        """str(e) or repr(e) where C says it."""
        shadow = self.shadow
        if shadow is None:
            raise self.unsupported("the text")
        if descriptor is BaseException.__dict__["__repr__"]:
            shown = ", ".join(frame.ops.text(frame, a, repr).as_python() for a in self.args)
            return f"{self.cls.__name__}({shown})"
        current = Opaque.frame
        Opaque.frame = frame
        try:
            return run_python(frame, descriptor, shadow)
        finally:
            Opaque.frame = current

    # ------------------------------------------------------------------------------------------------ rebuild
    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        return emit.shared(self, lambda: self.making(emit), lambda temp: self.fill(emit, temp))

    def making(self, emit):
        if self.plainly_made():
            return outcome.Call(outcome.Const(self.cls), tuple(emit.value(a) for a in self.new_args))
        base = c_base(self.cls)
        args = tuple(emit.value(a) for a in self.new_args)
        return outcome.Call(outcome.Const(base.__new__), (outcome.Const(self.cls), *args))

    def plainly_made(self) -> bool:
        """Whether calling the class does no more than C does."""
        return self.cls is c_base(self.cls)

    def fill(self, emit, temp) -> None:
        """What the object has beyond what making it gives: members of C, then attributes."""
        made = shadow_members(make_shadow(self.cls, self.new_args))
        for name, value in shadow_members(self.shadow).items():
            if name not in self.told and not (name in made and made[name] == value):
                opened = [emit.value(_open(v)) for v in value] if name == "args" else None
                recipe = emit.value(_open(value)) if opened is None else outcome.Build("tuple", tuple(opened))
                emit.after(self.set_plainly(temp, name, recipe))
        if self.context is not None:
            emit.after(self.set_plainly(temp, "__context__", emit.value(self.context)))
        for name, told in self.told.items():
            emit.after(self.set_plainly(temp, name, emit.value(told)))
        storage = emit.output.side_effects.storages.get(self)
        if storage is not None:
            storage.fill(emit, temp)
        self.leave_traceback(emit, temp)

    def set_plainly(self, target: Any, name: str, value: Any) -> outcome.Do:
        """Sets a member of C: past what classes of the user do where an attribute is set, or have under its name."""
        member = getattr(c_base(self.cls), name)
        return outcome.Do(outcome.Call(outcome.Const(member.__set__), (target, value)))

    def leave_traceback(self, emit, temp) -> None:
        """One that was raised and caught while tracing has a traceback; what is being handled is raised for real."""
        root = emit.output.root
        handled = [root.handling, *(v.value for v in root.stack if isinstance(v, HandledBefore))] if root.broken else []
        if not self.raised or "__traceback__" in self.told or any(v is self for v in handled):
            return
        if self.trace:
            passing = _eval_frame.Uncaptured(passer(self.trace))
            emit.after(outcome.Do(outcome.Call(outcome.Const(passing), (temp,))))


# --------------------------------------------------------------------------------------------- the part written in C
class Opaque:
    """A value that is not known while tracing, or no plain one, as it stands in a shadow."""

    __slots__ = ("variable",)
    frame: Any = None  # where the text of the values is asked for

    def __init__(self, variable: Variable):
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.variable is other.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __str__(self) -> str:
        return Opaque.frame.ops.text(Opaque.frame, self.variable, str).as_python()

    def __repr__(self) -> str:
        return Opaque.frame.ops.text(Opaque.frame, self.variable, repr).as_python()


PLAIN_MEMBERS = (str, bytes, int, float, bool, type(None))


def _close(value: Variable) -> Any:
    """What stands for a value in a shadow."""
    if isinstance(value, ConstantVariable) and type(value.value) in PLAIN_MEMBERS:
        return value.value
    return Opaque(value)


def _open(value: Any) -> Variable:
    return value.variable if isinstance(value, Opaque) else ConstantVariable(value)


def c_base(cls: type) -> type:
    """The exception class written in C that `cls` is, or comes from."""
    return next(c for c in cls.__mro__ if not flags_of(c) & HEAP_TYPE)


def as_c_does(frame, values: list, make: Callable) -> Any:
    """make(), which gives `values` to C; what C raises is the program's error, if it has seen all of them."""
    try:
        return make()
    except Exception as e:
        if any(isinstance(v, Opaque) for v in values):
            raise Unsupported(breaks.UNKNOWN_CALL, f"what C refuses: {e}") from e
        raise as_raised(frame, e) from e


def made_by_c(frame, cls: type, args: list[Variable]) -> ExceptionVariable:
    """cls(*args), as C makes it."""
    return as_c_does(frame, [_close(a) for a in args], lambda: ExceptionVariable(cls, list(args)))


def check_keywords(frame, cls: type, args: list[Variable], kwargs: dict[str, Variable]) -> None:
    """What C says of keywords before it looks at the arguments, which OSError does in `__new__` and others in `__init__`."""
    values, named = [_close(a) for a in args], {k: _close(v) for k, v in kwargs.items()}
    if cls is c_base(cls):
        as_c_does(frame, [*values, *named.values()], lambda: cls(*values, **named))
    elif issubclass(cls, OSError) and attributes.find_function(frame, cls, "__init__") is None:
        raise raise_exception(frame, TypeError, f"{cls.__name__}() takes no keyword arguments")


def make_shadow(cls: type, args: list[Variable]) -> BaseException:
    base = c_base(cls)
    values = [_close(a) for a in args]
    made = base
    if issubclass(cls, OSError) and cls.__init__ is not OSError.__init__ and cls.__new__ is OSError.__new__:
        made = type(cls.__name__, (base,), {"__init__": lambda self: None})  # then C leaves the arguments to `__init__`, too
    shadow = made.__new__(made, *values)
    if isinstance(shadow, BaseException) and cls is base:
        base.__init__(shadow, *values)
    return shadow


def shadow_members(shadow: BaseException | None) -> dict[str, Any]:
    """The members that C filled in, which rebuilding by `__new__` alone would lose."""
    found: dict[str, Any] = {}
    for c in type(shadow).__mro__[:-1]:
        for name, descriptor in c.__dict__.items():
            if isinstance(descriptor, MEMBERS) and not name.startswith("__") and name != "characters_written":
                value = descriptor.__get__(shadow)
                if value is not None:
                    found.setdefault(name, value)
    return found


class CallersException(Variable):
    """What is being handled as the traced frame is called: nothing or an exception of a caller."""

    __slots__ = ()

    def describe(self):
        return "what the caller handles"


CALLERS_EXCEPTION = CallersException()


def being_handled(frame) -> Variable:
    """What `sys.exception()` gives. For libraries, which mend contexts with it, an exception of a caller is none."""
    if frame.handling is not CALLERS_EXCEPTION:
        return frame.handling
    if trace_rules.is_library_name(str(frame.globals.get("__name__"))):
        return frame.values.NONE
    raise Unsupported(breaks.RUNNING_EXCEPTION, "sys.exc_info()")


class HandledBefore(Variable):
    """What PUSH_EXC_INFO pushes: the exception that was being handled until then."""

    __slots__ = ("value",)

    def __init__(self, value: Variable):
        super().__init__()
        self.value = value

    def describe(self):
        return "what was handled before an exception"


def make_exception(frame, value: Variable, what: str = "exceptions must derive", found: str = "") -> ExceptionVariable:
    """What `raise value` raises: an instance, made if a class was given. `what` must be and what was `found` go into the error."""
    if issubclass(value.python_type(), type) and issubclass(value.as_python(), BaseException):
        value = value.call(frame, [], {})
    if isinstance(value, ExceptionVariable):
        return value
    raise raise_exception(frame, TypeError, f"{what} from BaseException{', not ' if found else ''}{found}")


def thrown(frame, given: Variable, value: Variable) -> ExceptionVariable:
    """What generator.throw() raises inside: an exception, or a class with what it is made of."""
    of_class = issubclass(given.python_type(), type) and issubclass(given.as_python(), BaseException)
    if value.is_same(frame.values.NONE) or (of_class and issubclass(value.python_type(), given.as_python())):
        given = given if value.is_same(frame.values.NONE) else value
        return make_exception(frame, given, "exceptions must be classes or instances deriving", given.type_name())
    if not of_class:
        if not issubclass(given.python_type(), BaseException):
            return make_exception(frame, given, "exceptions must be classes or instances deriving", given.type_name())
        raise raise_exception(frame, TypeError, "instance exception may not have a separate value")
    return make_exception(frame, given.call(frame, value.unpack(frame) if value.python_type() is tuple else [value], {}))


def _text(value: Variable) -> str:
    try:
        return repr(value.as_python())
    except (NotConstant, Unsupported):
        return value.describe()


__all__ = [
    "CALLERS_EXCEPTION", "ExceptionVariable", "HandledBefore", "as_raised", "being_handled", "made_by_c",
    "make_exception", "raise_exception", "raises", "run_python", "thrown",
]  # fmt: skip
