"""A layer as a declaration over weft.nn.functional: its signature says the rest."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from weft.nn import functional
from weft.nn.module import Module


def layer(
    function: str,
    signature: str = "",
    *,
    inputs: str = "input",
    by_name: bool = False,
    passed: str | None = None,
    buffers: str = "",
    shown: str | None = None,
) -> Callable[[type], type]:
    """Writes `__init__`, `forward` and `extra_repr` of a Module class.

    function: the function of weft.nn.functional that `forward` calls with its `inputs` and with the attributes.
    signature: the arguments of `__init__` after self, as Python writes them; each becomes the attribute of its name, those in
    `buffers` registered ones.
    passed: the attributes that `forward` passes, in that order (or `by_name`); all arguments by default.
    shown: the attributes that are printed; all by default, `inplace` only where it is true.
    A method `__post_init__` of the class is called at the end of `__init__`: it checks and converts.
    """

    def write(cls: Any) -> Any:
        names = _names(signature)
        sent = names if passed is None else passed.split()
        lines = ["def __init__(self" + (f", {signature}" if signature else "") + ") -> None:", "    Module.__init__(self)"]
        lines += [
            f"    self.register_buffer({n!r}, {n})" if n in buffers.split() else f"    self.{n} = {n}" for n in names
        ]
        if hasattr(cls, "__post_init__"):
            lines.append("    self.__post_init__()")
        arguments = "".join(f", {n}=self.{n}" if by_name else f", self.{n}" for n in sent)
        lines += [f"def forward(self, {inputs}):", f"    return F.{function}({inputs}{arguments})"]
        own = _compiled(cls, "\n".join(lines) + "\n")
        cls.__init__ = own["__init__"]
        if "forward" not in cls.__dict__:
            cls.forward = own["forward"]
        cls.__constants__ = names
        cls._shown = tuple(names if shown is None else shown.split())
        if cls.extra_repr is Module.extra_repr:
            cls.extra_repr = _extra_repr
        return cls

    return write


def _names(signature: str) -> list[str]:
    made: dict[str, Any] = {}
    exec(f"def signature({signature}): pass", made)
    code = made["signature"].__code__
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _compiled(cls: type, text: str) -> dict[str, Any]:
    """The functions of a text, whose lines tracebacks and `inspect` find."""
    made: dict[str, Any] = {"Module": Module, "F": functional, "__name__": cls.__module__}
    filename = f"<weft.nn.{cls.__name__}>"
    exec(compile(text, filename, "exec"), made)
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    for name in ("__init__", "forward"):
        made[name].__qualname__ = f"{cls.__qualname__}.{name}"
    return made


def _extra_repr(self: Any) -> str:
    return ", ".join(f"{n}={getattr(self, n)!r}" for n in self._shown if n != "inplace" or self.inplace)
