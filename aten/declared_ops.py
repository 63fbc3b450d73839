"""Custom ops whose declaration is text: `Library("mylib", "DEF").define("smooth(Tensor x, int width) -> Tensor")`, and what
implements them, one function for each kind of place, under PyTorch's names of those."""

from __future__ import annotations

import contextlib
import enum
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from aten import library, pytree
from aten._native import Tensor
from aten.library import CustomOp


class Tag(enum.Enum):
    """What the author of an op says of it."""

    core = enum.auto()
    data_dependent_output = enum.auto()
    dynamic_output_shape = enum.auto()
    flexible_layout = enum.auto()
    generated = enum.auto()
    inplace = enum.auto()
    inplace_view = enum.auto()
    maybe_aliasing_or_mutating = enum.auto()
    needs_fixed_stride_order = enum.auto()
    nondeterministic_bitwise = enum.auto()
    nondeterministic_seeded = enum.auto()
    out = enum.auto()
    pointwise = enum.auto()
    pt2_compliant_tag = enum.auto()
    view_copy = enum.auto()


KINDS = ("DEF", "FRAGMENT", "IMPL")
RESERVED = ("aten", "prim", "prims")
DEVICES = {"CPU": "cpu", "CUDA": "cuda", "XPU": "xpu", "MPS": "mps"}
EVERYWHERE = ("", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
TRACED = "CompositeImplicitAutograd"  # made of other ops, which everybody may look into
GRADIENTS = ("Autograd", "AutogradCPU", "AutogradCUDA")
_TYPES = {"SymInt": "int", "SymBool": "bool", "SymFloat": "float", "Layout": "Any"}
_SCHEMA = re.compile(r"\s*(?P<name>[\w:]+)(?P<overload>\.\w+)?\s*\((?P<params>.*)\)\s*->\s*(?P<returns>.+?)\s*", re.DOTALL)
_WRITTEN = re.compile(r"(?P<type>\w+)\(\w+!\)(?P<rest>(?:\[\d*\])?\??\s+(?P<name>\w+))")


def _read(schema: str) -> tuple[str, str, list[str]]:
    """(name with the overload, declaration behind it, names of the arguments that are written). ValueError for other text."""
    found = _SCHEMA.fullmatch(schema)
    if found is None:
        raise ValueError(f"expected 'name(Type argument, …) -> Type', got {schema!r}")
    written = [m["name"] for m in _WRITTEN.finditer(found["params"])]
    params, returns = _WRITTEN.sub(r"\g<type>\g<rest>", found["params"]), found["returns"]
    params = re.sub(r"(?<=\w)\(\w+\)", "", params)  # views are no results of custom ops: Tensor(a) is a Tensor
    params = re.sub(r"\b(" + "|".join(_TYPES) + r")\b", lambda m: _TYPES[m[0]], params)
    returns = re.sub(r"(?<=Tensor)\(\w+!?\)", "", returns)
    return found["name"] + (found["overload"] or ""), f"({params}) -> {returns}", written


class DeclaredOp(CustomOp):
    """An op of a Library: what implements it comes later, and may be missing for some place."""

    def __init__(self, name: str, declaration: str, written: list[str], tags: Sequence[Any]):
        super().__init__(name.replace(".", "__overload_"), self._missing, written, declaration)
        self.name = name
        self.tags = list(tags)
        self.definition: Callable[..., Any] | None = None  # in other ops
        self.with_gradients: Callable[..., Any] | None = None
        self.has_kernel = False
        self._below = threading.local()

    def _missing(self, *args: Any, **kwargs: Any) -> Any:
        place = next((a.device.type.upper() for a in pytree.leaves(args) if isinstance(a, Tensor)), "CPU")
        raise NotImplementedError(f"Could not run '{self.name}' with arguments from the '{place}' backend: nothing implements it")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.definition is not None and not self.has_kernel:
            return self.definition(*args, **kwargs)
        if self.with_gradients is not None and not getattr(self._below, "entered", False):
            self._below.entered = True
            try:
                return self.with_gradients(*args, **kwargs)
            finally:
                self._below.entered = False
        return super().__call__(*args, **kwargs)

    def implement(self, key: str, fn: Callable[..., Any]) -> None:
        """Take `fn` for the places that PyTorch calls `key`. ValueError for a key that names none."""
        if key in DEVICES or key.lower() in DEVICES.values():
            self.register_kernel(DEVICES.get(key, key.lower()), fn)
            self.has_kernel = True
        elif key in EVERYWHERE:
            self.register_kernel(None, fn)
            self.has_kernel = True
            if self._fake is None:
                self.register_fake(fn)
        elif key == "Meta":
            self.register_fake(fn)
        elif key == TRACED:
            self.definition = fn
        elif key in GRADIENTS:
            self.with_gradients = fn
        else:
            known = ", ".join((*DEVICES, *EVERYWHERE[1:], TRACED, "Meta", *GRADIENTS))
            raise ValueError(f"could not parse dispatch key: {key}; known: {known}")


class Library:
    """The ops of a namespace: `define` declares, `impl` implements. kind: "DEF" or "FRAGMENT" to declare, "IMPL" for ops
    that are there.

    Raises ValueError for a kind or namespace that cannot be.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in KINDS:
            raise ValueError(f"Unsupported library type: {kind}")
        if ns in RESERVED:
            raise ValueError(f"{ns} is a reserved namespace: weft's own ops cannot be added to, or replaced")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._declared: list[str] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare "name(Type argument, …) -> Type"; `Tensor(a!)` is an argument that is written. Returns the name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(f"a library of kind IMPL declares nothing: {schema}")
        name, declaration, written = _read(schema)
        name = name.removeprefix(self.ns + "::")
        qualified = f"{self.ns}::{name}"
        if library.lookup(qualified) is not None:
            raise RuntimeError(f"Tried to register an operator ({schema}) with the same name as {qualified}, which is there")
        library.add(DeclaredOp(qualified, declaration, written, tags if isinstance(tags, (list, tuple)) else (tags,)))
        self._declared.append(qualified)
        return name

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """fn implements the op where `dispatch_key` says: "CPU", "Meta", "CompositeImplicitAutograd" …"""
        if getattr(fn, "__name__", "") == "fallthrough_kernel":
            return
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("impl: functions that are told the set of dispatch keys (with_keyset=True)")
        name = op_name if isinstance(op_name, str) else op_name.name()
        found = library.lookup(name if "::" in name else f"{self.ns}::{name}")
        if not isinstance(found, DeclaredOp):
            raise RuntimeError(f"impl: there is no operator {self.ns}::{name} that a library declares")
        found.implement(dispatch_key or self.dispatch_key, fn)

    def _destroy(self) -> None:
        """What it declared is gone."""
        for name in self._declared:
            library.remove(name)
        self._declared.clear()


_kept: list[Library] = []  # of functions that name no library


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A Library whose ops are there within the `with` block only."""
    made = Library(*args, **kwargs)
    try:
        yield made
    finally:
        made._destroy()


def _library(qualname: str, lib: Library | None, kind: str) -> Library:
    """The library that is given, or one for good."""
    namespace, sep, _ = qualname.partition("::")
    if not sep:
        raise ValueError(f"expected 'namespace::name', got {qualname!r}")
    if lib is None:
        _kept.append(lib := Library(namespace, kind))
    elif lib.ns != namespace:
        raise ValueError(f"{qualname} is not of the namespace of {lib}")
    return lib


def define(qualname: str, schema: Any, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Declare the op "namespace::name" with the schema "(Type argument, …) -> Type"."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be of type str, got {type(qualname)}")
    owner = _library(qualname, lib, "FRAGMENT")
    owner.define(qualname.partition("::")[2] + schema, tags=tags)


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """impl("namespace::name", types, func), or a decorator: types are devices ("cpu", "default" for all) or dispatch keys.

    impl(library, "name", key) decorates as well.
    """
    if isinstance(qualname, Library):
        known, name = qualname, types

        def implement_known(fn: Callable[..., Any]) -> Callable[..., Any]:
            known.impl(name, fn, func or "")
            return fn

        return implement_known
    keys = [types] if isinstance(types, str) else list(types)
    owner = _library(qualname, lib, "FRAGMENT")

    def implement(fn: Callable[..., Any]) -> Callable[..., Any]:
        for key in keys:
            owner.impl(qualname, fn, EVERYWHERE[1] if key == "default" else key)
        return fn

    return implement if func is None else implement(func)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """func implements the op for devices of a type, or of several; None for all."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        found = library.found(op)
        if not isinstance(found, DeclaredOp):
            return found.register_kernel(device_types, fn)
        for key in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
            found.implement(EVERYWHERE[1] if key is None else key, fn)
        return fn

    return register if func is None else register(func)


class Overloads:
    """The op of a name whose declarations have overloads: a call is that of the first that takes the arguments."""

    def __init__(self, name: str):
        self.name = name

    def found(self, args: Sequence[Any], kwargs: dict[str, Any]) -> CustomOp:
        """The overload that these arguments mean. Raises TypeError where none takes them."""
        error: Exception | None = None
        for name in library.names():
            op = library.lookup(name) if name.startswith(self.name + ".") else None
            if op is not None:
                try:
                    op.op.schema.bind(args, kwargs, self.name)
                    return op
                except TypeError as e:
                    error = e
        raise TypeError(f"no overload of {self.name} takes these arguments: {error}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.found(args, kwargs)(*args, **kwargs)


def lookup(name: str) -> Any:
    """The op "namespace::name" or its overloads, or None."""
    found = library.lookup(name)
    if found is None and any(known.startswith(name + ".") for known in library.names()):
        return Overloads(name)
    return found


__all__ = ["DeclaredOp", "Library", "Tag", "define", "impl", "lookup", "register_kernel"]
