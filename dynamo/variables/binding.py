"""How the arguments of a call meet the parameters of a function, as CPython has it, and what is said where they do not."""

from __future__ import annotations

import sys
from collections.abc import Callable

from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.raising import raise_exception

VARARGS, VARKEYWORDS = 0x04, 0x08  # flags of code objects


def bind(frame, code, name: Callable[[], str], defaults, kwdefaults, args, kwargs) -> dict[str, Variable]:
    """The locals that a call starts with, as CPython binds them. Raises TypeError in the traced program."""
    n = code.co_argcount
    names = code.co_varnames
    total = n + code.co_kwonlyargcount
    local: dict[str, Variable] = dict(zip(names[:n], args))
    extra: dict[str, Variable] = {}
    for key, value in kwargs.items():
        if key in names[code.co_posonlyargcount : total]:
            if key in local:
                raise raise_exception(frame, TypeError, f"{name()}() got multiple values for argument '{key}'")
            local[key] = value
        elif code.co_flags & VARKEYWORDS:
            extra[key] = value
        else:
            raise raise_exception(frame, TypeError, _unexpected(name(), code, key, kwargs))
    if len(args) > n and not code.co_flags & VARARGS:
        keywords = sum(key in local for key in names[n:total])
        raise raise_exception(frame, TypeError, _too_many(name(), n, len(defaults), len(args), keywords))
    first_default = n - len(defaults)
    missing = []
    for i, key in enumerate(names[:n]):
        if key not in local:
            if i >= first_default:
                local[key] = defaults[i - first_default]
            else:
                missing.append(key)
    if missing:
        raise raise_exception(frame, TypeError, _missing(name(), "positional", missing))
    for key in names[n:total]:
        if key not in local:
            if key in kwdefaults:
                local[key] = kwdefaults[key]
            else:
                missing.append(key)
    if missing:
        raise raise_exception(frame, TypeError, _missing(name(), "keyword-only", missing))
    if code.co_flags & VARARGS:
        local[names[total]] = frame.values.tuple_(args[n:])
        total += 1
    if code.co_flags & VARKEYWORDS:
        local[names[total]] = frame.values.dict_([(ConstantVariable(k), v) for k, v in extra.items()])
    return local


def _unexpected(name: str, code, key: str, kwargs: dict[str, Variable]) -> str:
    """What is said of a keyword that no parameter has, or that only a positional one has."""
    only = [p for p in code.co_varnames[: code.co_posonlyargcount] if p in kwargs]
    if only:
        return f"{name}() got some positional-only arguments passed as keyword arguments: '{', '.join(only)}'"
    text = f"{name}() got an unexpected keyword argument '{key}'"
    if sys.version_info >= (3, 13):
        from _suggestions import _generate_suggestions  # CPython's own

        possible = list(code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount])
        likely = _generate_suggestions(possible, key)
        text += f". Did you mean '{likely}'?" if likely else ""
    return text


def _too_many(name: str, n: int, n_defaults: int, given: int, keywords: int) -> str:
    takes = f"from {n - n_defaults} to {n}" if n_defaults else str(n)
    plural = lambda count: "" if count in (1, "1") else "s"
    kinds = f" positional argument{plural(given)} (and {keywords} keyword-only argument{plural(keywords)})" if keywords else ""
    verb = "was" if given == 1 and not keywords else "were"
    return f"{name}() takes {takes} positional argument{plural(takes)} but {given}{kinds} {verb} given"


def _missing(name: str, kind: str, missing: list[str]) -> str:
    quoted = [repr(m) for m in missing]
    text = (
        quoted[0]
        if len(quoted) == 1
        else ", ".join(quoted[:-1]) + ("," if len(quoted) > 2 else "") + f" and {quoted[-1]}"
    )
    return f"{name}() missing {len(missing)} required {kind} argument{'s' if len(missing) > 1 else ''}: {text}"
