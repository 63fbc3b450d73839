"""What a function can see of the world: every object that can be reached from it, and the places that hold them.

A node is (path, object); paths are texts that name the same thing in two runs of one program.
"""

from __future__ import annotations

import collections
import functools
import sys
import types

import weft

LIBRARIES = set(sys.stdlib_module_names) | {"weft", "aten", "dynamo", "inductor", "numpy", "sympy", "pytest", "_pytest"}
LIMIT = 400  # nodes of one program


def is_library(module: str | None) -> bool:
    return (module or "").split(".")[0] in LIBRARIES


def of_program(obj) -> bool:
    """Whether a class or function belongs to the program, not to a library under it."""
    if isinstance(obj, types.FunctionType):
        return not is_library(obj.__globals__.get("__name__"))
    return not is_library(getattr(obj, "__module__", None))


def is_private(obj, name: str) -> bool:
    """Whether a library keeps an attribute for itself: it is nobody's to change. (What a Module is made of is known by name.)"""
    known = ("_parameters", "_buffers", "_modules")
    ours = is_library(type(obj).__module__) and not isinstance(obj, types.FunctionType)
    return ours and name.startswith("_") and name not in known


def codes(code: types.CodeType):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def names_in(code: types.CodeType) -> set[str]:
    """The names that a code object can look up: attributes, globals, and texts that getattr may be given."""
    found = set()
    for c in codes(code):
        found |= set(c.co_names) | {k for k in c.co_consts if isinstance(k, str) and k.isidentifier() and len(k) < 30}
    return found


class Walk:
    """The nodes that functions and arguments lead to, in an order that does not change."""

    def __init__(self, roots: list[tuple[str, object]], names: set[str]):
        self.nodes: dict[str, object] = {}
        self.names = set(names)  # that something may look up
        met: set[int] = set()
        queue = collections.deque(roots)
        while queue and len(self.nodes) < LIMIT:
            path, obj = queue.popleft()
            obj = getattr(type(obj), "plain_of", lambda o: o)(obj)
            if id(obj) in met or isinstance(obj, (int, float, str, bytes, type(None))) and type(obj).__module__ == "builtins":
                continue
            met.add(id(obj))
            self.nodes[path] = obj
            if isinstance(obj, types.FunctionType) and of_program(obj):
                self.names |= names_in(obj.__code__)
            queue.extend((f"{path}{step}", child) for step, child in self.edges(obj))

    def edges(self, obj):
        if isinstance(obj, types.FunctionType):
            yield from self.of_function(obj)
        elif isinstance(obj, types.MethodType):
            yield ".__self__", obj.__self__
            yield ".__func__", obj.__func__
        elif isinstance(obj, type):
            yield from self.of_class(obj)
        elif isinstance(obj, types.ModuleType):
            return
        elif isinstance(obj, functools.partial):
            yield ".func", obj.func
            yield from ((f".args[{i}]", a) for i, a in enumerate(obj.args))
            yield from ((f".keywords[{k}]", a) for k, a in obj.keywords.items())
        elif isinstance(obj, (property, functools.cached_property)):
            yield ".fget", getattr(obj, "fget", None) or getattr(obj, "func", None)
            yield ".fset", getattr(obj, "fset", None)
        elif isinstance(obj, (classmethod, staticmethod)):
            yield ".__func__", obj.__func__
        else:
            yield from self.of_value(obj)

    def of_function(self, f):
        if not of_program(f):
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            try:
                yield f"<{name}>", cell.cell_contents
            except ValueError:
                continue
        for code in codes(f.__code__):
            for name in code.co_names:
                if name in f.__globals__ and not name.startswith("__"):
                    yield f":{name}", f.__globals__[name]
        yield from ((f"(={i})", v) for i, v in enumerate(f.__defaults__ or ()))
        yield from ((f"(={k})", v) for k, v in (f.__kwdefaults__ or {}).items())
        yield from ((f".{k}", v) for k, v in vars(f).items())

    def of_class(self, cls):
        if not of_program(cls):
            return
        for k, v in sorted(cls.__dict__.items(), key=lambda kv: kv[0]):  # (a change that was undone has moved it)
            if isinstance(v, (types.FunctionType, property, classmethod, staticmethod, functools.cached_property)):
                yield f".{k}", v
            elif not k.startswith("__") and type(v).__name__ not in ("member_descriptor", "getset_descriptor"):
                yield f".{k}", v
        yield from ((f"^{b.__name__}", b) for b in cls.__bases__ if b is not object)
        if type(cls) is not type:
            yield "^metaclass", type(cls)

    def of_value(self, obj):
        if isinstance(obj, weft.Tensor):
            return
        if isinstance(obj, dict):
            yield from ((f"[{k!r}]" if isinstance(k, (str, int)) else f"[#{i}]", v) for i, (k, v) in enumerate(dict.items(obj)))
        elif isinstance(obj, (list, tuple, collections.deque)):
            yield from ((f"[{i}]", v) for i, v in enumerate(obj))
        attributes = getattr(obj, "__dict__", None)
        if isinstance(attributes, dict):
            yield from ((f".{k}", v) for k, v in list(attributes.items()) if not is_private(obj, str(k)))
        if type(obj).__module__ != "builtins":
            yield "~", type(obj)
