"""What capture traces and what breaks a graph: `python -m dynamo.inventory` writes docs/traced/<version>.md for this Python.

Nothing here is kept by hand: opcodes are those of the interpreter, the objects are all that the modules hold, and what is said of
each is what the tables of rules say that capture looks into.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import dataclasses
import dis
import enum
import functools
import itertools
import math
import operator
import sys
import types
from pathlib import Path
from typing import Any

from aten.op import Op, registry
from dynamo import breaks, on_demand, trace_rules
from dynamo.breaks import Break, Unsupported
from dynamo.bytecode.instruction import VERSION
from dynamo.interpreter import trace  # which loads all tables
from dynamo.interpreter.rules import PSEUDO, RULES, unknown
from dynamo.variables import native, track
from dynamo.variables.base import Variable
from dynamo.variables.construct import CLASSES
from dynamo.variables.native_part import NEW

MODULES = (builtins, itertools, functools, operator, collections, contextlib, math, copy, dataclasses, enum)
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "traced"
# Opcodes that a traced function never runs: what the interpreter puts in place of others, and the code of coroutines and modules.
INTERPRETERS = frozenset({"CACHE", "RESERVED", "INTERPRETER_EXIT", "ENTER_EXECUTOR", "EXTENDED_ARG"})
COROUTINES = frozenset({"GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "END_ASYNC_FOR", "ASYNC_GEN_WRAP"})


# ------------------------------------------------------------------------------------------------------------ opcodes
def opcodes() -> list[tuple[str, str]]:
    """(opcode, what becomes of it)"""
    rows = []
    for name, number in sorted(dis.opmap.items()):
        if number >= PSEUDO or name in INTERPRETERS or name.startswith("INSTRUMENTED_"):
            continue
        if RULES[number] is not unknown:
            rows.append((name, f"traced: {RULES[number].__module__.rpartition('.')[2]}.py"))
        elif name == "RETURN_GENERATOR":
            rows.append((name, "traced: frame.py"))
        elif name in COROUTINES:
            rows.append((name, "broken: coroutines run in Python"))
        else:
            rows.append((name, f"broken: {breaks.UNKNOWN_OPCODE.what}"))
    return rows


# ------------------------------------------------------------------------------------------- functions and classes
def fate(value: Any) -> str:
    """What becomes of a use of this object of a library: how it is traced, or why it breaks the graph."""
    if isinstance(value, type):
        return _of_class(value)
    if isinstance(value, types.FunctionType):
        return _of_function(value)
    if callable(value):
        return "traced: a rule" if native.handler(value) is not None else f"broken: {breaks.UNKNOWN_CALL.why}"
    return "traced: a constant" if track._rule(type(value)) is not track._object else "traced: an object"


def _of_function(function: types.FunctionType) -> str:
    if trace_rules.handler(function) is not None:
        return "traced: a rule"
    try:
        trace_rules.check_inline(function)
    except Unsupported as e:
        return f"broken: {e.reason.why}"
    return "traced: inlined"


def _of_class(cls: type) -> str:
    if cls in CLASSES or trace_rules.handler(cls) is not None:
        return "traced: a rule"
    if issubclass(cls, BaseException):
        return "traced: raised and caught"
    try:
        trace_rules.check_construct(cls)
    except Unsupported as e:
        return f"broken: {e.reason.why}"
    if cls in NEW:
        return "traced: a rule"
    new = cls.__new__
    made_in_python = isinstance(new, types.FunctionType) or new is object.__new__
    if made_in_python or native.handler(new) is not None:
        return "traced: inlined"
    return f"broken: {breaks.UNKNOWN_CALL.why}"


def library(module: types.ModuleType) -> list[tuple[str, str]]:
    """(name, what becomes of it) for all that a module offers."""
    names = [n for n in dir(module) if not n.startswith("_") and not isinstance(getattr(module, n), types.ModuleType)]
    own = [n for n in names if _belongs(getattr(module, n), module)]
    return [(n, fate(getattr(module, n))) for n in own]


def _belongs(value: Any, module: types.ModuleType) -> bool:
    """Whether the module made it, and did not import it for its own use."""
    of = getattr(value, "__module__", None)
    if module is builtins:
        return type(value).__module__ != "_sitebuiltins"  # (exit, copyright and the like, which `site` puts there)
    public = getattr(module, "__all__", ())
    return of is None or of.lstrip("_") == module.__name__ or getattr(value, "__name__", "") in public


# ------------------------------------------------------------------------------------------------------ kinds, ops
def kinds() -> list[tuple[str, str]]:
    """(kind of value, its methods and attributes)"""
    rows = []
    inherited = set(Variable.rules)
    for cls in sorted(_subclasses(Variable), key=lambda c: c.__name__):
        own = sorted({*cls.rules, *cls.fields} - inherited)
        if own:
            rows.append((f"{cls.__name__} ({cls.__module__.rpartition('.')[2]}.py)", ", ".join(own)))
    return rows


def _subclasses(cls: type[Variable]) -> set[type[Variable]]:
    return {c for sub in cls.__subclasses__() for c in (sub, *_subclasses(sub))}


def operations() -> list[tuple[str, str]]:
    """(op, why it breaks a graph)"""
    rows = []
    for name, op in sorted(registry.items()):
        if not isinstance(op, Op) or "hidden" in op.tags:
            continue
        if "dynamic" in op.tags:
            rows.append((name, f"broken: {breaks.DATA_DEPENDENT_SIZE.why}"))
        elif "relayout" in op.tags:
            rows.append((name, f"traced, of tensors that the graph makes; of others broken: {breaks.MUTATED_ALIAS.what}"))
    return [*rows, ("all others", "traced: a node")]


def causes() -> list[tuple[str, str]]:
    """(break, why)"""
    return [(b.what, b.why) for _, b in sorted(vars(breaks).items()) if isinstance(b, Break)]


# ------------------------------------------------------------------------------------------------------------ the page
def table(title: str, heads: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    cell = lambda text: text.replace("|", "\\|")
    lines = [f"| {cell(a)} | {cell(b)} |" for a, b in rows]
    return "\n".join([f"## {title}", "", f"| {heads[0]} | {heads[1]} |", "|---|---|", *lines, ""])


def page() -> str:
    """The page for the Python that runs."""
    version = ".".join(map(str, VERSION))
    parts = [
        f"# What capture traces on Python {version}\n\n"
        "Written by `python -m dynamo.inventory` from the tables of rules. *Broken* means a graph break, or an error under\n"
        "`fullgraph=True`; the code then runs in Python.\n",
        table("Opcodes", ("opcode", "what becomes of it"), opcodes()),
        *(table(f"Module `{m.__name__}`", ("object", "what becomes of it"), library(m)) for m in MODULES),
        table("Operations of weft", ("operation", "what becomes of it"), operations()),
        table("Kinds of value", ("kind", "methods and attributes with a rule of their own"), kinds()),
        table("Why graphs break", ("break", "why"), causes()),
    ]
    return "\n".join(parts)


def path() -> Path:
    """Where the page lies."""
    return FOLDER / f"{'.'.join(map(str, VERSION))}.md"


def main() -> int:
    """Write the page; with --check, say whether it is what would be written."""
    on_demand.load_all()
    if "--check" in sys.argv[1:]:
        return int(not path().exists() or path().read_text() != page())
    FOLDER.mkdir(exist_ok=True)
    path().write_text(page())
    print(path().relative_to(FOLDER.parents[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

__all__ = ["fate", "page", "path", "trace"]
