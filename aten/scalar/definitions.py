"""Functions defined by the vocabulary: each a plain function of values, run with whatever the values are.

`v` is the vocabulary by name (`v.exp(x)`, `v.where(c, x, y)`); values know the operators + - * / < <= > >= == != & | ~ and
mix with numbers, which take their dtype. The same definition writes an eager loop (`aten/scalar/eager.py`) and is what the op
of that name computes, in this order of operations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .unpatched import math


class Definition(NamedTuple):
    """A function of values; `eager` as in the vocabulary's rows."""

    name: str
    function: Callable[..., Any]
    eager: str

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the values that it takes."""
        return tuple(inspect.signature(self.function).parameters)[1:]


definitions: dict[str, Definition] = {}


def define(eager: str = "fh") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function of values under its own name."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        definitions[name] = Definition(name, function, eager)
        return function

    return declare


@define("fhi")
def relu(v, x):
    """0 where x < 0; NaN and -0 stay."""
    return v.where(x < 0, 0, x)


@define()
def silu(v, x):
    """x * sigmoid(x)"""
    return x * v.sigmoid(x)


@define()
def gelu(v, x):
    """x * P(X <= x) of a standard normal X (Hendrycks & Gimpel 2016)."""
    return 0.5 * x * (1 + v.erf(x * math.sqrt(0.5)))


@define()
def gelu_tanh(v, x):
    """gelu by its approximation with tanh."""
    return 0.5 * x * (1 + v.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


@define()
def _prelu_kernel(v, x, weight):
    """x, times weight where it is not above 0."""
    return v.where(x > 0, x, weight * x)


@define("fhi")
def clamp(v, x, low, high):
    """x within [low, high]; a NaN stays, and one among the bounds wins."""
    raised = v.where(x < low, low, x)
    bounded = v.where(raised > high, high, raised)
    return v.where((low != low) | (high != high), low + high, bounded)


__all__ = ["Definition", "definitions"]
