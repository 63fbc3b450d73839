"""Where a value came from: an expression over the frame that guards read again and bytecode loads again.

A `Source` is immutable and hashable; equal sources are equal expressions. Each prints as what the user wrote, is read
by `get(scope)` (slowly, to explain a failed guard), compiles to one accessor instruction of the native guard program
(`accessor`) and to bytecode (`emit`).
"""

from __future__ import annotations

import collections
import types
from typing import Any

from . import _eval_frame
from .held import Loose


class Scope:
    """What a frame starts with: the values that root sources read.

    locals: name -> argument, as bound by the call. closure: name of a free variable -> its cell.
    """

    __slots__ = ("locals", "globals", "builtins", "closure")

    def __init__(self, locals: dict, globals: dict, builtins: dict, closure: dict):
        self.locals = locals
        self.globals = globals
        self.builtins = builtins
        self.closure = closure

    @staticmethod
    def of_function(function: types.FunctionType, locals: dict) -> Scope:
        """The scope of a call of `function` whose arguments were bound to `locals`."""
        builtins = function.__globals__.get("__builtins__", __builtins__)
        if isinstance(builtins, types.ModuleType):
            builtins = builtins.__dict__
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        return Scope(locals, function.__globals__, builtins, cells)


_PLAIN = (str, int, float, bool, bytes, complex, type(None), tuple)


def _same_key(a: Any, b: Any) -> bool:
    """Equal as constants; tensors and other objects as keys are told apart by identity."""
    return a is b or (issubclass(type(a), (*_PLAIN, _ById)) and a == b)  # (isinstance may ask the object)


_HASHED = frozenset(map(id, _PLAIN)) - {id(tuple)}  # (a class of the program's may have no hash)


def _hash_of_key(key: Any) -> int:
    """A hash under which equal keys (`_same_key`) of exact constants agree, without running a `__hash__` of the user's."""
    if id(type(key)) in _HASHED:
        return hash(key)
    if type(key) is tuple:
        return hash(tuple([_hash_of_key(k) for k in key]))
    return key.address if type(key) is _ById else id(key)


class Source(_eval_frame.Hashed):
    """One step of an expression: `key` applied to `base` (None for a root)."""

    __slots__ = ("base", "key", "is_loose")
    accessor = ""  # name of the native instruction

    def __init__(self, base: Source | None, key: Any):
        self.base = base
        self.key = key
        self.is_loose = False
        # True == 1 == 1.0 as dictionary keys, and so they are here; types are compared where keys are constants.
        self._hash = hash((type(self), base, _hash_of_key(key)))

    __hash__ = _eval_frame.Hashed.__hash__

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or self._hash != other._hash or type(self.key) is not type(other.key):
            return False
        same_base = self.base is other.base or self.base == other.base
        return same_base and (self.key is other.key or _same_key(self.key, other.key))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __str__(self) -> str:
        raise NotImplementedError

    def get(self, scope: Scope) -> Any:
        """The value now. Raises what the expression raises (KeyError for an unbound name)."""
        raise NotImplementedError

    def emit(self, e) -> None:
        """Push the value: `e` is an Emitter of bytecode/emit.py."""
        raise NotImplementedError

    def loosen(self) -> None:
        """Keep no object alive from now on."""
        source: Source | None = self
        while source is not None and not source.is_loose:
            if type(source.key) is _ById:
                source.key.held = Loose.of(source.key.held)
            elif isinstance(source, Item):
                source.key = Loose.of(source.key)
            source.is_loose = True
            source = source.base

    @property
    def root(self) -> Source:
        source = self
        while source.base is not None:
            source = source.base
        return source


# ------------------------------------------------------------------------------------------- roots
class Local(Source):
    """An argument of the frame, as it was when the frame started."""

    __slots__ = ()
    accessor = "LOCAL"

    def __init__(self, name: str):
        super().__init__(None, name)

    def __str__(self):
        return self.key

    def get(self, scope):
        return scope.locals[self.key]

    def emit(self, e):
        e.load_local(self.key)


class Closure(Source):
    """The contents of the cell of a free variable."""

    __slots__ = ()
    accessor = "CLOSURE"

    def __init__(self, name: str):
        super().__init__(None, name)

    def __str__(self):
        return self.key

    def get(self, scope):
        return scope.closure[self.key].cell_contents

    def emit(self, e):
        e.load_deref(self.key)


class OwnCell(Source):
    """The cell itself of a free variable."""

    __slots__ = ()
    accessor = "CELL"

    def __init__(self, name: str):
        super().__init__(None, name)

    def __str__(self):
        return f"the cell of {self.key}"

    def get(self, scope):
        return scope.closure[self.key]

    def emit(self, e):
        e.load_cell(self.key)


class Global(Source):
    """A name in the globals of the frame (builtins are `Builtin`)."""

    __slots__ = ()
    accessor = "GLOBAL"

    def __init__(self, name: str):
        super().__init__(None, name)

    def __str__(self):
        return self.key

    def get(self, scope):
        return scope.globals[self.key]

    def emit(self, e):
        e.load_global(self.key)


class Builtin(Source):
    """A name that the globals lack and the frame's builtins have."""

    __slots__ = ()
    accessor = "BUILTIN"

    def __init__(self, name: str):
        super().__init__(None, name)

    def __str__(self):
        return self.key

    def get(self, scope):
        if self.key in scope.globals:
            raise KeyError(f"{self.key} is a global now")
        return scope.builtins[self.key]

    def emit(self, e):
        e.load_global(self.key)


class Object(Source):
    """A value known at capture: a class, a module found by an import, a function of another module.

    Guards below it read it again from this object, so nothing is guarded about how it was reached.
    """

    __slots__ = ("text",)
    accessor = "OBJECT"

    def __init__(self, value: Any, text: str | None = None):
        super().__init__(None, _ById(value))
        self.text = text

    @property
    def value(self) -> Any:
        return self.key.value

    def __str__(self):
        # (Made when asked for: most are never printed, and the repr of an object may take long.)
        value = self.value
        return self.text or getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or repr(value)

    def get(self, scope):
        return self.key.value

    def emit(self, e):
        _load_weakly(e, self.key.value)


class Made(Object):
    """A value that capture itself made, such as an array of constants: nobody else has it, so the entry keeps it."""

    __slots__ = ()

    def emit(self, e):
        e.load_const(self.key.value)


def _now(key: Any) -> Any:
    return key() if type(key) is Loose else key


def _load_weakly(e, value: Any) -> None:
    """Push an object that the entry's guards refer to: the code does not keep it alive."""
    loose = Loose.of(value)
    if type(loose) is Loose and loose.is_weak:
        e.call_function(_alive, lambda: e.load_const(loose.reference), 1)
    else:
        e.load_const(value)


def _alive(reference: Any) -> Any:
    value = reference()
    if value is None:  # it was there when the guards passed
        raise ReferenceError("something that compiled code refers to was freed while the code ran")
    return value


class _ById:
    """Equal only to the same object."""

    __slots__ = ("held", "address")

    def __init__(self, value):
        self.held = value
        self.address = id(value)

    @property
    def value(self):
        return _now(self.held)

    def __hash__(self):
        return self.address

    def __eq__(self, other):
        if self is other:
            return True
        if type(other) is not _ById or self.address != other.address:
            return False
        value = _now(self.held)
        return value is _now(other.held) and not (value is None and type(self.held) is Loose)  # (two that are gone may differ)


# ------------------------------------------------------------------------------------------- steps
class Attr(Source):
    """getattr(base, name), also of modules, classes, functions (`__defaults__`, `__code__`), methods and cells."""

    __slots__ = ()
    accessor = "ATTR"

    def __init__(self, base: Source, name: str):
        super().__init__(base, name)

    def __str__(self):
        return f"{self.base}.{self.key}"

    def get(self, scope):
        return getattr(self.base.get(scope), self.key)

    def emit(self, e):
        self.base.emit(e)
        e.load_attr(self.key)


class ClassAttr(Source):
    """What the class `base` holds under `name` in its MRO, not bound: the function behind a method, a property."""

    __slots__ = ()
    accessor = "CLASS_ATTR"

    def __init__(self, base: Source, name: str):
        super().__init__(base, name)

    def __str__(self):
        return f"{self.base}.{self.key}"

    def get(self, scope):
        cls = self.base.get(scope)
        for c in cls.__mro__:
            if self.key in c.__dict__:
                return c.__dict__[self.key]
        raise AttributeError(f"class {cls.__name__} has no attribute {self.key}")

    def emit(self, e):
        e.call_function(_class_attr, lambda: (self.base.emit(e), e.load_const(self.key)), 2)


def _class_attr(cls: type, name: str) -> Any:
    for c in cls.__mro__:
        if name in c.__dict__:
            return c.__dict__[name]
    raise AttributeError(f"class {cls.__name__} has no attribute {name}")


class Item(Source):
    """base[key] with a constant key: an index of a list or tuple, a key of a dict."""

    __slots__ = ()
    accessor = "ITEM"

    def __init__(self, base: Source, key: Any):
        super().__init__(base, key)

    def __str__(self):
        if isinstance(self.base, InstanceDict):
            return f"{self.base.base}.{self.key}"
        key = _now(self.key)
        text = repr(key) if isinstance(key, _PLAIN) else f"<{type(key).__name__} at {id(key):#x}>"
        return f"{self.base}[{text}]"

    def get(self, scope):
        return self.base.get(scope)[_now(self.key)]

    def emit(self, e):
        self.base.emit(e)
        _load_weakly(e, self.key)
        e.subscript()


class NativeItem(Item):
    """What the builtin class `cls` holds under the key in an object of a subclass, past all that the subclass overrides."""

    __slots__ = ("cls",)

    def __init__(self, base: Source, key: Any, cls: Any):
        super().__init__(base, key)
        self.cls = cls

    def get(self, scope):
        return self.cls.__getitem__(self.base.get(scope), self.key)

    def emit(self, e):
        e.call_function(self.cls.__getitem__, lambda: (self.base.emit(e), e.load_const(self.key)), 2)


def keys_of(value: dict) -> list:
    """The keys in the order of the dict, past whatever a subclass overrides. (An OrderedDict has an order of its own.)"""
    return list((collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict).keys(value))


def values_of(value: dict) -> list:
    """The values in the order of the dict, whose keys are not asked for their hashes."""
    return list(dict.values(value))


class DictKey(Source):
    """The i-th key of a dict, in its order."""

    __slots__ = ()
    accessor = "DICT_KEY"

    def __init__(self, base: Source, index: int):
        super().__init__(base, index)

    def __str__(self):
        return f"list({self.base})[{self.key}]"

    def get(self, scope):
        return keys_of(self.base.get(scope))[self.key]

    def emit(self, e):
        e.call_function(keys_of, lambda: self.base.emit(e), 1)
        e.load_const(self.key)
        e.subscript()


class InstanceDict(Source):
    """base.__dict__, read without any `__getattribute__`."""

    __slots__ = ()
    accessor = "INSTANCE_DICT"

    def __init__(self, base: Source):
        super().__init__(base, None)

    def __str__(self):
        return f"{self.base}.__dict__"

    def get(self, scope):
        return object.__getattribute__(self.base.get(scope), "__dict__")

    def emit(self, e):
        e.call_function(_instance_dict, lambda: self.base.emit(e), 1)


def _instance_dict(value: Any) -> dict:
    return object.__getattribute__(value, "__dict__")


class Converted(Source):
    """function(base): a new object for each reading, such as a tensor over the memory of an array."""

    __slots__ = ()
    accessor = "CONVERT"

    def __init__(self, base: Source, function: Any):
        super().__init__(base, function)

    def __str__(self):
        return str(self.base)

    def get(self, scope):
        return self.key(self.base.get(scope))

    def emit(self, e):
        e.call_function(self.key, lambda: self.base.emit(e), 1)


# --------------------------------------------------------------------------- integers of a tensor
class Size(Source):
    """base.shape[dim] of a tensor."""

    __slots__ = ()
    accessor = "SIZE"

    def __init__(self, base: Source, dim: int):
        super().__init__(base, dim)

    def __str__(self):
        return f"{self.base}.shape[{self.key}]"

    def get(self, scope):
        return self.base.get(scope).shape[self.key]

    def emit(self, e):
        self.base.emit(e)
        e.load_attr("shape")
        e.load_const(self.key)
        e.subscript()


class Stride(Source):
    """base.stride()[dim] of a tensor."""

    __slots__ = ()
    accessor = "STRIDE"

    def __init__(self, base: Source, dim: int):
        super().__init__(base, dim)

    def __str__(self):
        return f"{self.base}.stride({self.key})"

    def get(self, scope):
        return self.base.get(scope).stride()[self.key]

    def emit(self, e):
        e.call_function(_stride, lambda: (self.base.emit(e), e.load_const(self.key)), 2)


def _stride(tensor, dim: int) -> int:
    return tensor.stride()[dim]


class Offset(Source):
    """base.storage_offset() of a tensor."""

    __slots__ = ()
    accessor = "OFFSET"

    def __init__(self, base: Source):
        super().__init__(base, None)

    def __str__(self):
        return f"{self.base}.storage_offset()"

    def get(self, scope):
        return self.base.get(scope).storage_offset()

    def emit(self, e):
        e.call_function(_storage_offset, lambda: self.base.emit(e), 1)


def _storage_offset(tensor) -> int:
    return tensor.storage_offset()


# ---------------------------------------------------------------------------------------- shorthand
def is_fixed(source: Source) -> bool:
    """Whether it is the cell of a function that is known: a closure keeps its cells."""
    item = source.base
    function = item.base if isinstance(source, Item) and item is not None and item.key == "__closure__" else None
    return isinstance(source, Object) or isinstance(function, Object)


def default(function: Source, index: int) -> Source:
    """function.__defaults__[index]"""
    return Item(Attr(function, "__defaults__"), index)


def cell_of(function: Source, index: int) -> Source:
    """function.__closure__[index], the cell"""
    return Item(Attr(function, "__closure__"), index)


def contents(cell: Source) -> Source:
    """cell.cell_contents"""
    return Attr(cell, "cell_contents")
