"""What an op may be called with: a declaration as text, parsed on first use, that binds calls as PyTorch's parser does.

    sum(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor

Types: Tensor, LongTensor and BoolTensor (never differentiated), Scalar, int, int[], int[N] (one int stands for N),
int[*] (may be
spread over the positional arguments), float, bool, str, ScalarType, Device, MemoryFormat, Generator, NumberOrTensor (never
differentiated), Any; `?` may be None, `[]` is a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import aten.dtype as dtypes
from aten import keywords
from aten.dtype import DType, device
from aten.later import later
from aten.layout import MemoryFormat
from aten.meta import Meta
from aten.promotion import check_width
from aten.shapes import is_int, is_symbolic

_PYTHON_DTYPES = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}
_MISSING = object()
_rewritten = later("aten.older_forms", "rewritten")  # (few programs have calls of old)
_PARAM = re.compile(r"(?P<type>\w+)(?P<list>\[(?:\d+|\*)?\])?(?P<optional>\?)?\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?$")

tensor_types: tuple[Any, ...] = (Meta,)  # aten.op adds the Tensor type


def _number(x: Any) -> Any:
    """x as a Python or symbolic number; NotImplemented if it is none. OverflowError for integers of more than 64 bits."""
    if isinstance(x, (int, float, complex)):
        plain = x.item() if isinstance(x, np.generic) else _plain(x)
        check_width(plain)
        return plain
    if isinstance(x, np.generic) and x.dtype.kind in "biufc":
        return float(x) if isinstance(x, np.bool_) else x.item()  # no bool of Python's: PyTorch asks it for a float
    return x if is_symbolic(x) else NotImplemented


def _plain(x: Any) -> Any:
    """The number itself in an object of a subclass, whatever `__float__`, `__int__` … it has: C reads it so."""
    if type(x) in _PYTHON_DTYPES:
        return x
    return next(cls for cls in (int, float, complex) if isinstance(x, cls)).__pos__(x)


def _tensor(x: Any) -> Any:
    return x if isinstance(x, tensor_types) else NotImplemented


def _holds_number(x: Any) -> bool:
    """Whether x is a tensor of one number that nothing is lost of when it is read."""
    return not isinstance(x, Meta) and isinstance(x, tensor_types) and x.ndim == 0 and not x.requires_grad


def _scalar(x: Any) -> Any:
    n = _number(x)
    if n is NotImplemented and _holds_number(x):
        return x.item()
    return n


class _TooWideError(ValueError):
    """Of an integer of more than 64 bits, or of one at a place (from 1) of a list."""

    def __init__(self, place: int = 0):
        super().__init__("Overflow when unpacking long long")
        self.place = place


def _int(x: Any) -> Any:
    if type(x) is int:
        if not -(2**63) <= x < 2**63:
            raise _TooWideError
        return x
    if is_int(x):
        return x
    if isinstance(x, np.integer) or (isinstance(x, np.ndarray) and x.ndim == 0 and x.dtype.kind in "iu"):
        return int(x)
    if _holds_number(x) and not x.dtype.is_floating_point and x.dtype is not dtypes.bool:
        return int(x.item())
    return NotImplemented


def _item(x: Any) -> Any:
    """An integer of a list, which a tensor of truth may be, too."""
    return int(x.item()) if _holds_number(x) and x.dtype is dtypes.bool else _int(x)


def _bits(x: Any) -> Any:
    """An integer of 64 bits, with a sign or without: of a generator's state, or the end of a range."""
    return x if type(x) is int and 2**63 <= x < 2**64 else _int(x)


def _int_or_dtype(x: Any) -> Any:
    return _dtype(x) if isinstance(x, (DType, type)) else _int(x)


def _float(x: Any) -> Any:
    if type(x) is int and not -(2**63) <= x < 2**64:
        return float(x)  # too wide for an integer, but none is asked for
    n = _scalar(x)
    return NotImplemented if n is NotImplemented or isinstance(n, complex) else n


def _bool(x: Any) -> Any:
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    return x if is_symbolic(x) else NotImplemented


def _dtype(x: Any) -> Any:
    if isinstance(x, DType):
        return x
    name = _PYTHON_DTYPES.get(x) if isinstance(x, type) else None
    return NotImplemented if name is None else getattr(dtypes, name)


_HOST = device("cpu")


def the_one_host(x: Any) -> Any:
    """A device as tensors say it: "cpu:0" is "cpu"."""
    return _HOST if x.type == "cpu" and x.index == 0 else x


def _device(x: Any) -> Any:
    if isinstance(x, str):
        return the_one_host(device(x))
    if type(x) is int:
        return device("cuda", x)
    return the_one_host(x) if hasattr(x, "type") and hasattr(x, "index") else NotImplemented


def _any(x: Any) -> Any:
    """Whatever it is; a number of NumPy's as Python's."""
    return x.item() if isinstance(x, np.generic) and x.dtype.kind in "biufc" else x


def _place(x: Any) -> Any:
    """Where it is, or how far, in one form or another."""
    if _is_too_wide(x):
        raise _TooWideError
    return _any(x)


def _number_or_tensor(x: Any) -> Any:
    return x if isinstance(x, tensor_types) else _number(x)


def _memory_format(x: Any) -> Any:
    return x if isinstance(x, MemoryFormat) else NotImplemented


def _str(x: Any) -> Any:
    return x if isinstance(x, str) else NotImplemented


_ACCEPT: dict[str, Callable[[Any], Any]] = {
    "Tensor": _tensor,
    "LongTensor": _tensor,
    "BoolTensor": _tensor,
    "Scalar": _scalar,
    "int": _int,
    "IntOrDType": _int_or_dtype,
    "float": _float,
    "bool": _bool,
    "ScalarType": _dtype,
    "Device": _device,
    "str": _str,
    "Generator": lambda x: x,
    "NumberOrTensor": _number_or_tensor,
    "MemoryFormat": _memory_format,
    "Any": _any,
}
_PLACES = frozenset({"dim", "start", "split_size_or_sections"})
_SHOWN = {
    "Scalar": "Number",
    "IntOrDType": "int",
    "LongTensor": "Tensor",
    "BoolTensor": "Tensor",
    "ScalarType": "torch.dtype",
    "Device": "torch.device",
    "NumberOrTensor": "Number or Tensor",
    "MemoryFormat": "torch.memory_format",
}


class Param:
    """One parameter: what it accepts and its default."""

    __slots__ = (
        "name",
        "type",
        "optional",
        "is_list",
        "spread",
        "variadic",
        "default",
        "kw_only",
        "numbers",
        "accept_one",
    )

    def __init__(self, text: str, kw_only: bool, numbers: bool):
        found = _PARAM.match(text)
        if found is None:
            raise ValueError(f"bad parameter in an op's declaration: {text!r}")
        self.name, self.type = found["name"], found["type"]
        self.optional, brackets = bool(found["optional"]), found["list"]
        self.is_list = brackets is not None
        self.variadic = brackets == "[*]"
        self.spread = int(brackets[1:-1]) if brackets and brackets[1:-1].isdigit() else 0
        self.default = _MISSING if found["default"] is None else _literal(found["default"])
        self.kw_only = kw_only
        self.numbers = numbers and self.type == "Tensor"
        self.accept_one = _place if self.type == "Any" and self.name in _PLACES else _ACCEPT[self.type]
        if self.is_list and self.type == "int":
            self.accept_one = _item

    @property
    def required(self) -> bool:
        return self.default is _MISSING

    @property
    def is_tensor(self) -> bool:
        """Whether the argument is a tensor or a list of tensors."""
        return self.type in ("Tensor", "LongTensor", "BoolTensor")

    @property
    def differentiable(self) -> bool:
        """Whether a vjp gives a gradient for it."""
        return self.type == "Tensor"

    def accept(self, value: Any) -> Any:
        """`value` in the form that rules and kernels see, or NotImplemented."""
        if value is None:
            return None if self.optional or self.type in ("Any", "Generator") else NotImplemented
        if self.is_list:
            return self._accept_list(value)
        found = self.accept_one(value)
        if found is NotImplemented and self.numbers:
            return _number(value)
        return found

    def _accept_list(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            # (What it holds, as PyTorch reads it: an `__iter__` of its class is not asked.)
            held = list(tuple.__iter__(value) if isinstance(value, tuple) else list.__iter__(value))
            may_lack = self.type == "LongTensor"  # (an index of each dim, or none)
            try:
                items = [None if item is None and may_lack else self.accept_one(item) for item in held]
            except _TooWideError:
                raise _TooWideError(next(i for i, item in enumerate(held, 1) if _is_too_wide(item))) from None
            return NotImplemented if any(item is NotImplemented for item in items) else items
        if self.variadic and _is_too_wide(value):
            raise _TooWideError(1)
        if self.spread or self.variadic:
            one = self.accept_one(value)
            return NotImplemented if one is NotImplemented else [one] * max(self.spread, 1)
        if isinstance(value, np.ndarray) and self.type != "Tensor":
            return [int(v) for v in value]
        if isinstance(value, Sequence) and not isinstance(value, str):
            return self._accept_list(list(value))
        return NotImplemented

    def describe(self) -> str:
        shown = _SHOWN.get(self.type, self.type)
        return f"tuple of {shown}s" if self.is_list else shown


def _is_too_wide(value: Any) -> bool:
    return type(value) is int and not -(2**63) <= value < 2**63


def _default(param: Param) -> tuple[Any, ...]:
    return () if param.required else (param.default,)


def _literal(text: str) -> Any:
    return (
        float(text) if text in ("inf", "-inf") else eval(text, {"__builtins__": {}}, {"None": None, "True": True, "False": False})
    )


def called(value: Any) -> str:
    """What messages call the class of a value: what stands for another one while tracing goes by the name of that."""
    return getattr(type(value), "stands_for", type(value).__name__)


class Schema:
    """A parsed declaration: parameters in order (keyword-only last) and names of the results."""

    __slots__ = (
        "name",
        "params",
        "positional",
        "index",
        "returns",
        "returns_list",
        "n_params",
        "variadic",
        "_result_type",
    )

    def __init__(self, declaration: str, numbers: bool = False, tensor_first: bool = False):
        head, _, results = declaration.partition("->")
        self.name, _, inside = head.strip().partition("(")
        params, kw_only = [], False
        for text in _split(inside.strip()[:-1]):
            if text == "*":
                kw_only = True
            else:
                params.append(Param(text, kw_only, numbers and bool(params or not tensor_first)))
        if any(p.name == "seed" for p in params):
            for param in params:
                param.accept_one = _bits if param.type == "int" else param.accept_one
        self.params = tuple(params)
        self.positional = sum(not p.kw_only for p in params)
        self.index = {p.name: i for i, p in enumerate(params)}
        self.n_params = len(params)
        self.variadic = next((i for i, p in enumerate(params) if p.variadic), -1)
        results = results.strip()
        self.returns_list = results.endswith("[]")
        self.returns = [r.split() for r in _split(results[1:-1])] if results.startswith("(") else [[results]]
        self._result_type: Any = None

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any] | None = None, name: str | None = None) -> tuple[Any, ...]:
        """One value a parameter, in order, defaults filled in and checked.

        Raises TypeError naming the argument, as PyTorch's parser does. `name` is what messages call the op.
        """
        name = name or self.name
        args = keywords.from_zero(name, args, kwargs)
        if self.variadic >= 0 and len(args) > self.variadic:
            args = self._gather(args)
        if len(args) > self.positional:
            older = _rewritten(name, args, kwargs)
            if older is None:
                raise TypeError(
                    f"{name}() takes {self.positional} positional argument{'s' if self.positional != 1 else ''} but "
                    f"{len(args)} were given"
                )
            args, kwargs = older
        values = list(args) + [_MISSING] * (self.n_params - len(args))
        if kwargs:
            self._keywords(values, kwargs, name)
        for i, param in enumerate(self.params):
            value = values[i]
            if value is _MISSING:
                values[i] = param.default
                if value is param.default:
                    missing = [p.name for p, v in zip(self.params, values) if v is _MISSING and p.required]
                    raise TypeError(
                        f"{name}() missing {len(missing)} required positional arguments: " + ", ".join(f'"{m}"' for m in missing)
                    )
                continue
            try:
                found = param.accept(value)
            except _TooWideError as error:
                if not error.place:
                    raise ValueError(str(error)) from None
                place = f"failed to unpack the object at pos {error.place} with error"
                raise TypeError(f"{name}(): argument '{param.name}' {place} \"{error}\"") from None
            if found is NotImplemented:
                position = f" (position {i + 1})" if i < len(args) else ""
                raise TypeError(
                    f"{name}(): argument '{param.name}'{position} must be {param.describe()}, not {called(value)}"
                )
            values[i] = found
        return tuple(values)

    def native_form(self) -> tuple[Any, ...]:
        """(parameters, names and whose they are, how many may be positional, which takes what is spread or -1), for the binder."""
        params = [(p.type, p.is_list, p.spread or int(p.variadic), p.optional, p.numbers, _default(p)) for p in self.params]
        known = {**keywords.others(self.name, self.index), **{name: name for name in self.index}}
        names = tuple([(name, self.index[of]) for name, of in known.items()])
        return tuple(params), names, self.positional, self.variadic

    def _gather(self, args: Sequence[Any]) -> Sequence[Any]:
        at = self.variadic
        one = self.params[at].accept_one
        if len(args) > self.positional or (
            len(args) > at + 1 and one(args[at]) is not NotImplemented and one(args[at + 1]) is not NotImplemented
        ):
            return (*args[:at], list(args[at:]))
        return args

    def _keywords(self, values: list[Any], kwargs: dict[str, Any], name: str) -> None:
        for key, value in kwargs.items():
            i = self.index.get(key)
            if i is None:
                i = self.index.get(keywords.parameter(self.name, key))
            if i is None:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            if values[i] is not _MISSING:
                raise TypeError(f"{name}() got multiple values for argument '{key}'")
            values[i] = value

    @property
    def result_type(self) -> Callable[[Sequence[Any]], Any]:
        """Makes the public result of several outputs: a named tuple if the outputs have names, else a tuple."""
        if self._result_type is None:
            names = [r[1] for r in self.returns if len(r) > 1]
            self._result_type = named_result(self.name.removesuffix("_dim"), tuple(names)) if names else tuple
        return self._result_type


def named_result(name: str, fields: str | tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    """Makes named tuples of several results."""
    from aten import return_types

    return return_types.declare(name, fields)._make


def _split(text: str) -> list[str]:
    """Split at commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return parts + [last] if last else parts
