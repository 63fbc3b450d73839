"""Python's random numbers: draws are nodes of the graph, in order, so each call of the compiled function draws anew."""

from __future__ import annotations

import random
import types
from typing import Any

from aten.fx.targets import draw
from dynamo import breaks, trace_rules
from dynamo.breaks import NotConstant, Unsupported
from dynamo.source import Object
from dynamo.variables.base import TrueVariable, Variable
from dynamo.variables.builtin import CLASSES
from dynamo.variables.constant import NONE
from dynamo.variables.symint import SymbolicVariable
from dynamo.variables.track import kind

FLOATS = frozenset(
    "random uniform triangular gauss normalvariate lognormvariate expovariate vonmisesvariate gammavariate betavariate "
    "paretovariate weibullvariate".split()
)
INTS = frozenset({"randint", "randrange", "getrandbits"})
STATES = frozenset({"seed", "setstate"})
OF_THE_MODULE = random._inst  # the generator of the module's functions
INT64 = (-(2**63), 2**63 - 1)


class Opaque(TrueVariable):
    """A value that only the running graph has: a state of a generator."""

    __slots__ = ("node", "cls")

    def __init__(self, node: Any, cls: type, source=None):
        super().__init__(source)
        self.node = node
        self.cls = cls

    def python_type(self):
        return self.cls

    def as_arg(self):
        return self.node

    def is_constant(self):
        return False

    def is_same(self, other):
        return self is other

    def recipe(self, emit):
        return emit.load(self.source) if self.source is not None else emit.graph_output(self.node)


class RandomVariable(Opaque):
    """A random.Random. `node` is the object itself for one that is known by identity, as that of the module is."""

    __slots__ = ()

    def getattr(self, frame, name):
        if name in FLOATS or name in INTS or name in STATES or name == "getstate":
            return frame.values.bound(self, name)
        return super().getattr(frame, name)

    def method(self, frame, name, args, kwargs):
        if name in FLOATS:
            return number(frame, self, name, args, kwargs, "float", INT64)
        if name in INTS:
            return number(frame, self, name, args, kwargs, "int", bounds(name, args, kwargs))
        if name in STATES:
            drawn(frame, self, name, args, kwargs, None)
            return NONE
        if name == "getstate":
            return Opaque(drawn(frame, self, name, args, kwargs, None), tuple)
        return super().method(frame, name, args, kwargs)


def drawn(frame, generator: RandomVariable, name: str, args: list[Variable], kwargs: dict[str, Variable], val: Any) -> Any:
    """The node of a draw. Without fullgraph what reads or writes a state breaks the graph, and so does a generator that is an
    input or was made here; draws from one that is known are made in front of what is compiled."""
    draws = (name in FLOATS or name in INTS) and isinstance(generator.node, random.Random)
    if not draws and not frame.output.options.fullgraph:
        raise Unsupported(breaks.RANDOM_STATE, f"random.{name}")
    try:
        given = [a.as_arg() for a in args]
        named = {k: v.as_arg() for k, v in kwargs.items()}
    except NotConstant as e:
        raise Unsupported(breaks.RANDOM_STATE, f"random.{name} of {e.args[0].describe()}") from None
    output = frame.output
    output.recorded = True
    output.graph.line = output.user_line()
    return output.graph.call_function(draw, (generator.node, name, *given), named, val=val)


def number(frame, generator, name, args, kwargs, kind: str, limits: tuple[int, int]) -> Variable:
    value = frame.output.shape_env.unbacked(*limits, kind)
    drawn(frame, generator, name, args, kwargs, value)
    return SymbolicVariable(value)


def bounds(name: str, args: list[Variable], kwargs: dict[str, Variable]) -> tuple[int, int]:
    """The least and greatest number that may be drawn."""
    given = [*args, *kwargs.values()]
    if not all(a.is_constant() and type(a.as_python()) is int for a in given):
        return INT64
    numbers = [a.as_python() for a in given]
    if name == "getrandbits":
        return (0, 2 ** numbers[0] - 1) if len(numbers) == 1 and numbers[0] < 63 else INT64
    if name == "randrange" and len(numbers) == 1:
        return 0, numbers[0] - 1
    return (min(numbers[:2]), max(numbers[:2])) if len(numbers) > 1 and not kwargs else (min(0, *numbers), max(numbers))


def new_random(frame, args, kwargs) -> Variable:
    """random.Random(seed)"""
    if not frame.output.options.fullgraph:
        raise Unsupported(breaks.RANDOM_STATE, "random.Random")
    given = [a.as_arg() for a in args]
    frame.output.recorded = True
    node = frame.output.graph.call_function(random.Random, tuple(given), {k: v.as_arg() for k, v in kwargs.items()}, val=None)
    return RandomVariable(node, random.Random)


CLASSES[random.Random] = new_random
for _name in sorted(FLOATS | INTS | STATES | {"getstate"}):  # (those written in Python; methods of C ask the object themselves)
    _function = getattr(random.Random, _name)
    if isinstance(_function, types.FunctionType):
        trace_rules.handle(_function)(lambda frame, args, kwargs, n=_name: args[0].method(frame, n, args[1:], kwargs))


@kind(random.Random)
def _random(frame, value, source):
    if isinstance(source, Object):
        return RandomVariable(value, random.Random, source)
    if value is OF_THE_MODULE:
        frame.output.guard_same(source, value)
        return RandomVariable(value, random.Random, source)
    frame.output.guard_type(source, random.Random)
    return RandomVariable(frame.output.add_input(source, value, None), random.Random, source)
