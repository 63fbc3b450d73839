"""Composites that are one eager loop: what their chain (aten/chains.py) computes, op by op, in registers.

Each names its operands: tensors first, then numbers. A chain whose steps are those of a definition here, in that order, runs as its
loop, and has the same bits; `<name>_backward` takes the gradient first.
"""

from __future__ import annotations

import functools
from typing import Any

from .definitions import define, definitions
from .unpatched import math

INF = math.inf


@define()
def hardswish(v, x):
    return x * v.clamp(x + 3, 0, 6) / 6


@define()
def hardswish_backward(v, g, x):
    return v.where(x <= -3, 0, v.where(x < 3, g * (x / 3 + 0.5), g))


@define()
def hardsigmoid(v, x):
    return v.clamp(x + 3, 0, 6) / 6


@define()
def hardsigmoid_backward(v, g, x):
    return v.where(v.bitwise_and(x > -3, x < 3), g / 6, 0)


@define()
def leaky_relu(v, x, slope):
    return v.where(x > 0, x, x * slope)


@define()
def leaky_relu_backward(v, g, x, slope):
    return v.where(x > 0, g, g * slope)


@define()
def softshrink(v, x, size, minus):
    return v.where(x > size, x - size, v.where(x < minus, x + size, x * 0))


@define()
def softshrink_backward(v, g, x, low, high):
    return v.where(v.bitwise_and(x >= low, x <= high), 0, g)


@define()
def hardshrink(v, x, low, high):
    return v.where(v.bitwise_and(x >= low, x <= high), 0, x)


@define()
def hardshrink_backward(v, g, x, low, high):
    return v.where(v.bitwise_and(x >= low, x <= high), 0, g)


@define()
def hardtanh_backward(v, g, x, low, high):
    return v.where(v.bitwise_or(x <= low, x >= high), 0, g)


@define()
def nan_to_num(v, x, nan, most, least):
    return v.where(x == -INF, least, v.where(x == INF, most, v.where(v.isnan(x), nan, x)))


@define()
def nan_to_num_backward(v, g, x):
    return v.where(v.isnan(x), 0, v.where(x == INF, 0, v.where(x == -INF, 0, g)))


@define()
def angle(v, x):
    return v.where(v.isnan(x), math.nan, v.where(x < 0, math.pi, 0))


@define()
def lerp(v, x, y, weight):
    return x + weight * (y - x)


@define()
def lerp_either(v, x, y, weight):
    return v.where(v.abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight))


@define()
def addcmul(v, x, a, b, value):
    return x + a * b * value


@define()
def addcdiv(v, x, a, b, value):
    return x + a / b * value


@define()
def tanhshrink_backward(v, g, x):
    t = v.tanh(x)
    return g + -g * (1 - t * t)


@define()
def logit(v, x):
    return v.log(x / (1 - x))


@define()
def logit_backward(v, g, x):
    return v.where(v.bitwise_or(x < 0, x > 1), math.nan, g / (x * (1 - x)))


@define()
def logsigmoid(v, x):
    return v.clamp(x, -INF, 0) - v.log1p(v.exp(-v.abs(x)))


@define()
def logsigmoid_backward(v, g, x):
    return g * v.sigmoid(-x)


@define()
def mish(v, x):
    e = v.exp(v.clamp(x, -INF, 20))
    n = e * (e + 2)
    return x * (n / (n + 2))


@define()
def mish_backward(v, g, x):
    c = v.clamp(x, -INF, 20)
    e = v.exp(c)
    n = e * (e + 2)
    return g * (n / (n + 2) + c * (4 * e * (e + 1)) / ((n + 2) * (n + 2)))


@define("f")
def sigmoid_backward(v, g, out):
    return g * ((1 - out) * out)


@define("f")
def tanh_backward(v, g, out):
    return g * (1 - out * out)


@define()
def square_of_difference(v, x, y):
    return (x - y) * (x - y)


@define()
def square_of_difference_backward(v, g, x, y):
    return g * (x - y) + g * (x - y)


@define()
def size_of_difference(v, x, y):
    return v.abs(x - y)


@define()
def size_of_difference_backward(v, g, x, y):
    return g * v.sign(x - y)


@define()
def huber(v, x, y, delta, half):
    d = x - y
    return v.where(v.abs(d) < delta, 0.5 * (d * d), delta * (v.abs(d) - half))


@define()
def huber_backward(v, g, x, y, delta):
    d = x - y
    return g * v.where(v.abs(d) >= delta, delta * v.sign(d), d)


@define()
def smooth_l1(v, x, y, beta, half):
    d = x - y
    return v.where(v.abs(d) < beta, 0.5 * (d * d) / beta, v.abs(d) - half)


@define()
def smooth_l1_backward(v, g, x, y, beta):
    return g * v.clamp((x - y) / beta, -1, 1)


@define()
def clamp_between(v, x, low, high):
    return v.minimum(v.maximum(x, low), high)


@define()
def zero_nans(v, x):
    return v.where(v.isnan(x), 0, x)


# ------------------------------------------------------------------------------------------------ which loop a chain is
class _Recorded:
    """The vocabulary as `v` of definitions: what a definition computes, as trees."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: _Tree((name, *(a.tree if isinstance(a, _Tree) else a for a in args)))


class _Tree:
    def __init__(self, tree: Any):
        self.tree = tree

    def __neg__(self) -> _Tree:
        return _Tree(("neg", self.tree))


def _operator(name: str, swapped: bool = False) -> Any:
    def method(self: _Tree, other: Any) -> _Tree:
        operands = self.tree, other.tree if isinstance(other, _Tree) else other
        return _Tree((name, *(reversed(operands) if swapped else operands)))

    return method


for _method, _name in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}.items():
    setattr(_Tree, f"__{_method}__", _operator(_name))
    setattr(_Tree, f"__r{_method}__", _operator(_name, True))
for _name in "lt le gt ge eq ne".split():
    setattr(_Tree, f"__{_name}__", _operator(_name))


@functools.cache
def _trees() -> list[tuple[str, int, Any]]:
    """(name, number of operands, tree) of each composite that has a loop; those of few operands first: hardshrink of x is also
    its derivative where x is the gradient, which reads x twice."""
    found = []
    for name, definition in definitions.items():
        if definition.function.__module__ == __name__:
            operands = [_Tree(("operand", k)) for k in range(len(definition.params))]
            found.append((name, len(operands), definition.function(_Recorded(), *operands).tree))
    return sorted(found, key=lambda row: row[1])


def whole_loop(tree: Any) -> tuple[str, list[Any]] | None:
    """(name, operands) of the loop that computes a tree of (op, *operands), ("input", i) and numbers; None if there is none."""
    for name, n, wanted in _trees():
        found: dict[int, Any] = {}
        if _matches(wanted, tree, found) and len(found) == n:
            return name, [found[k] for k in range(n)]
    return None


def _matches(wanted: Any, given: Any, operands: dict[int, Any]) -> bool:
    """Whether the trees are the same, for some choice of operands: inputs or numbers."""
    if type(wanted) is not tuple:
        return _same_number(wanted, given)
    if wanted[0] == "operand":
        if type(given) is tuple and given[0] != "input":
            return False
        before = operands.setdefault(wanted[1], given)
        return before == given if type(before) is tuple else _same_number(before, given)
    same = type(given) is tuple and given[0] == wanted[0] and len(given) == len(wanted)
    return same and all(_matches(a, b, operands) for a, b in zip(wanted[1:], given[1:]))


def _same_number(a: Any, b: Any) -> bool:
    return type(b) is not tuple and math.copysign(1, a) == math.copysign(1, b) and (a == b or (a != a and b != b))


__all__ = ["whole_loop"]
