"""`Dim`: a name for a size that may differ between calls of an exported program, with its range."""

from __future__ import annotations

import re
from typing import Any

NO_END = 2**62


class Dim:
    """A size named `name`, at least `min` and at most `max`. `2 * dim + 1` is a size that depends on it.

    Dim.AUTO and Dim.DYNAMIC leave the name and the range to the program (DYNAMIC refuses a constant); Dim.STATIC is a
    constant. Raises ValueError for a range without sizes.
    """

    AUTO: Any
    DYNAMIC: Any
    STATIC: Any

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        low, high = 0 if min is None else min, NO_END if max is None else max
        if low < 0 or high < low:
            raise ValueError(f"Cannot create Dim with inconsistent min={low}, max={high}")
        if not name.isidentifier():
            raise ValueError(f"Dim names must be valid identifiers, got {name}")
        self.__name__ = name
        self.min, self.max = low, high
        self.root, self.factor, self.offset = self, 1, 0

    def _derived(self, factor: int, offset: int) -> Dim:
        made = Dim.__new__(Dim)
        made.root, made.factor, made.offset = self.root, factor, offset
        times = self.root.__name__ if factor == 1 else f"{factor}*{self.root.__name__}"
        made.__name__ = f"{times} {'+' if offset > 0 else '-'} {abs(offset)}" if offset else times
        made.min = self.root.min * factor + offset
        made.max = NO_END if self.root.max == NO_END else self.root.max * factor + offset
        return made

    def __add__(self, other: int) -> Dim:
        return self._derived(self.factor, self.offset + _number(other, "+"))

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        return self._derived(self.factor, self.offset - _number(other, "-"))

    def __mul__(self, other: int) -> Dim:
        if _number(other, "*") <= 0:
            raise NotImplementedError(f"Attempted to multiply {self.__name__} by {other}: a size is multiplied by positive numbers")
        return self._derived(self.factor * other, self.offset * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return self.__name__


def _number(value: Any, operation: str) -> int:
    if type(value) is not int:
        raise NotImplementedError(f"a Dim {operation} {value!r}: only whole numbers can stand there")
    return value


class Hint:
    """Dim.AUTO, Dim.DYNAMIC or Dim.STATIC."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = Hint("AUTO"), Hint("DYNAMIC"), Hint("STATIC")


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A Dim for each name, all with the same range."""
    return tuple([Dim(name, min=min, max=max) for name in names])


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:
    """dynamic_shapes with the fixes that the text of an export's UserError suggests: `batch = 4`, `batch = Dim('batch', max=8)`."""
    fixes: dict[str, Any] = {}
    for line in msg.partition("Suggested fixes:")[2].splitlines():
        name, found, value = line.strip().partition(" = ")
        if found:
            fixes[name] = _fix(value, fixes)

    def refined(said: Any) -> Any:
        if isinstance(said, Dim):
            new = fixes.get(repr(said), fixes.get(said.root.__name__, said))
            return new if repr(said) in fixes or not isinstance(new, Dim) else new._derived(said.factor, said.offset)
        if isinstance(said, dict):
            return {key: refined(value) for key, value in said.items()}
        return type(said)([refined(value) for value in said]) if isinstance(said, (tuple, list)) else said

    return refined(dynamic_shapes)


def _fix(text: str, fixes: dict[str, Any]) -> Any:
    """A size, the Dim of another name, or a Dim with another range."""
    if text.lstrip("-").isdigit():
        return int(text)
    ends = {key: int(value) for key, value in re.findall(r"(min|max)=(\d+)", text)}
    name = re.match(r"Dim\('(\w+)'", text)
    return Dim(name[1], **ends) if name is not None else fixes.get(text, Dim(text) if text.isidentifier() else None)


class ShapesCollection:
    """dynamic_shapes by tensor: shapes[tensor] = {dim: Dim}, or shapes[tensor][dim] = Dim."""

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[Any, dict]] = {}

    def __setitem__(self, tensor: Any, shape: Any) -> None:
        self._shapes[id(tensor)] = tensor, dict(enumerate(shape)) if isinstance(shape, (tuple, list)) else dict(shape)

    def __getitem__(self, tensor: Any) -> dict:
        return self._shapes.setdefault(id(tensor), (tensor, {}))[1]

    def __len__(self) -> int:
        return len(self._shapes)

    def of(self, tensor: Any) -> dict | None:
        """What was said of a tensor."""
        found = self._shapes.get(id(tensor))
        return None if found is None else found[1]
