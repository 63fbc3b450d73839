"""Classes that are fields: `dataclasses` for what a start defines, a thirtieth of its time to make a class.

    @record(frozen=True)
    class Load:
        buffer: str
        index: Expr
        aligned: bool = False

`__init__`, `__repr__` and `__eq__` follow from the fields, those of bases first; `__hash__` where it is frozen, which type checkers
hold it to be. Nothing is written as text and compiled for a class: its `__init__` is that of all with as many fields, renamed.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, TypeVar, dataclass_transform

from aten.scalar.unpatched import functools

T = TypeVar("T")
_NONE: Any = object()


class _Field:
    def __init__(self, default: Any, default_factory: Callable[[], Any] | None, compare: bool, repr: bool):
        self.default, self.default_factory, self.compare, self.repr = default, default_factory, compare, repr


def field(
    *, default: Any = _NONE, default_factory: Callable[[], Any] | None = None, compare: bool = True, repr: bool = True
) -> Any:
    """A field with a default made anew for each value, or one that equality and hash, or text, leave out."""
    return _Field(default, default_factory, compare, repr)


@dataclass_transform(field_specifiers=(field,))
def record(cls: Any = None, *, frozen: bool = False, eq: bool = True) -> Any:
    """Class decorator. frozen: values have a hash and are not to be changed. eq: False leaves equality by identity."""
    return functools.partial(_make, frozen, eq) if cls is None else _make(frozen, eq, cls)


def fields(value: Any) -> tuple[str, ...]:
    """The names of the fields of a value, or of a class."""
    return value.__match_args__


def replaced(value: T, /, **changes: Any) -> T:
    """The value with some fields changed."""
    return type(value)(**{name: getattr(value, name) for name in fields(value)} | changes)


def _make(frozen: bool, eq: bool, cls: Any) -> Any:
    known = dict(getattr(cls, "__record_fields__", {}))
    for name in cls.__annotations__:  # (its own: Python 3.14 has them elsewhere than in the dictionary of the class)
        given = cls.__dict__.get(name, _NONE)
        known[name] = given if isinstance(given, _Field) else _Field(given, None, True, True)
        if given is not _NONE:
            if known[name].default is _NONE:
                delattr(cls, name)
            else:
                setattr(cls, name, known[name].default)
    names = tuple(known)
    cls.__record_fields__, cls.__match_args__ = known, names
    compared = _getter([n for n in names if known[n].compare])
    made = {"__init__": _init(cls, known), "__repr__": _repr([n for n in names if known[n].repr])}
    if eq:
        made["__eq__"] = lambda self, other: compared(self) == compared(other) if type(other) is type(self) else NotImplemented
        made["__hash__"] = (lambda self: hash(compared(self))) if frozen else None  # type: ignore[assignment]
    for name, method in made.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    return cls


def _getter(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda value: ()


def _repr(names: list[str]) -> Callable[[Any], str]:
    return lambda self: f"{type(self).__qualname__}({', '.join([f'{n}={getattr(self, n)!r}' for n in names])})"


@functools.cache
def _init_of(n: int) -> CodeType:
    """The code of an `__init__` that stores n arguments."""
    names = [f"a{i}" for i in range(n)]
    scope: dict[str, Any] = {}
    exec(f"def __init__({', '.join(['self', *names])}):\n" + "".join([f"  self.{a} = {a}\n" for a in names] or ["  pass"]), scope)
    return scope["__init__"].__code__


def _init(cls: Any, known: dict[str, _Field]) -> Callable[..., None]:
    names = tuple(known)
    code = _init_of(len(names)).replace(
        co_varnames=("self", *names), co_names=names, co_filename=f"<fields of {cls.__qualname__}>",
        co_qualname=f"{cls.__qualname__}.__init__",
    )  # fmt: skip
    defaults = [f if f.default_factory else f.default for f in known.values() if f.default_factory or f.default is not _NONE]
    plain = FunctionType(code, {}, "__init__", tuple(defaults))
    factories = [(name, f) for name, f in known.items() if f.default_factory]
    after = getattr(cls, "__post_init__", None)
    if not factories and after is None:
        return plain

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        for name, f in factories:
            if getattr(self, name) is f:
                setattr(self, name, f.default_factory())  # type: ignore[misc]
        if after is not None:
            self.__post_init__()

    return __init__


__all__ = ["field", "fields", "record", "replaced"]
