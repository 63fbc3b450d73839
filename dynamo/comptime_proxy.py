"""Proxies for values of the program that is being compiled: what is done with them is done by the program."""

from __future__ import annotations

from typing import Any

from aten.fx.node import Node, map_arg
from aten.fx.tracing import Attribute, Proxy, Tracer
from aten.symbolic.symint import SYMBOLIC
from dynamo.variables.base import Variable
from dynamo.variables.sequence import ListVariable, TupleVariable


class Recorded(Proxy):
    """An fx.Proxy of a Variable."""

    def __init__(self, variable: Variable, tracer: Recorder):
        super().__init__(variable.as_arg(), tracer)
        self.variable = variable


class Recorder(Tracer):
    """Records operations on Proxies into the graph of a frame, with what is known of their results."""

    def __init__(self, frame: Any):
        super().__init__()
        self.frame = frame
        self.graph = frame.output.graph

    def proxy_of(self, variable: Variable) -> Any:
        """A Proxy of what is in the graph; a constant, or a list or tuple of both."""
        variable = variable.realize(self.frame)
        if isinstance(variable, (ListVariable, TupleVariable)):
            return variable.python_type()([self.proxy_of(item) for item in variable.items])
        arg = variable.as_arg()
        return Recorded(variable, self) if isinstance(arg, Node) or type(arg) in SYMBOLIC else map_arg(arg, self.proxy)

    def record(self, kind: str, target: Any, args: tuple, kwargs: dict) -> Any:
        given = [self._variable(a) for a in args]
        named = {name: self._variable(a) for name, a in kwargs.items()}
        if kind == "call_method":
            method, given = given[0].getattr(self.frame, target), given[1:]
        else:
            method = self.frame.world.known(target)
        return self.proxy_of(method.call(self.frame, given, named))

    def _variable(self, value: Any) -> Variable:
        if isinstance(value, Recorded):
            return value.variable
        if isinstance(value, Attribute):
            return self._variable(value.root).getattr(self.frame, value.attr)
        if type(value) in (list, tuple):
            items = [self._variable(v) for v in value]
            return ListVariable(items) if type(value) is list else TupleVariable(items)
        return self.frame.world.known(value)
