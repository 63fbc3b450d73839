"""Runs what tracing answers, in plain Python: the meaning of recipes and statements, without any bytecode."""

from __future__ import annotations

import builtins
import inspect

from dynamo import backends, outcome
from dynamo.interpreter.trace import Options, trace_frame
from dynamo.source import Scope


def trace(fn, *args, fullgraph=False, dynamic=None, state=None, **kwargs):
    """The outcome of capturing fn(*args, **kwargs)."""
    options = Options(fullgraph=fullgraph, dynamic=dynamic, keep_empty=True)
    return trace_frame(
        fn.__code__, fn, bound(fn, args, kwargs), fn.__globals__, vars(builtins), fn.__closure__ or (), options,
        {} if state is None else state,
    )  # fmt: skip


def bound(fn, args, kwargs) -> dict:
    """Name → value of the argument prefix, as a call binds them."""
    call = inspect.signature(fn, follow_wrapped=False).bind(*args, **kwargs)
    call.apply_defaults()
    return dict(call.arguments)


def run(fn, *args, **kwargs):
    """Capture fn(*args, **kwargs) and run what came out."""
    traced = trace(fn, *args, **kwargs)
    assert isinstance(traced, outcome.Traced), traced
    return Runner(fn, args, kwargs).run(traced)


class Runner:
    def __init__(self, fn, args, kwargs):
        self.fn = fn
        self.scope = Scope.of_function(fn, bound(fn, args, kwargs))
        self.temps = {}
        self.outputs = ()
        self.cells = dict(self.scope.closure)

    def run(self, traced: outcome.Traced):
        for guard in traced.guards:
            assert guard.holds(self.scope), guard.why_failed(self.scope)
        if traced.graph is not None:
            self.outputs = backends.eager(traced.graph, [])(*[s.get(self.scope) for s in traced.inputs])
        for s in traced.statements:
            self.statement(s)
        assert isinstance(traced.ending, outcome.Return), traced.ending
        return self.value(traced.ending.value)

    def value(self, r):
        o = outcome
        if isinstance(r, o.Load):
            return r.source.get(self.scope)
        if isinstance(r, o.Output):
            return self.outputs[r.index]
        if isinstance(r, o.Temp):
            return self.temps[r.index]
        if isinstance(r, o.Const):
            return r.value
        if isinstance(r, o.Cell):
            import types

            return self.cells.setdefault(r.name, types.CellType())
        if isinstance(r, o.Build):
            items = [self.value(i) for i in r.items]
            if r.kind == "dict":
                return dict(zip(items[::2], items[1::2]))
            if r.kind == "slice":
                return slice(*items)
            return {"tuple": tuple, "list": list, "set": set, "str": "".join}[r.kind](items)
        if isinstance(r, o.Call):
            args = [self.value(a) for a in r.args]
            return self.value(r.function)(*args, **{k: self.value(v) for k, v in r.kwargs})
        if isinstance(r, o.GetAttr):
            return getattr(self.value(r.object), r.name)
        if isinstance(r, o.GetItem):
            return self.value(r.object)[self.value(r.key)]
        raise AssertionError(r)

    def statement(self, s):
        o = outcome
        if isinstance(s, o.Assign):
            self.temps[s.temp] = self.value(s.value)
        elif isinstance(s, o.Do):
            self.value(s.value)
        elif isinstance(s, o.SetAttr):
            setattr(self.value(s.object), s.name, self.value(s.value))
        elif isinstance(s, o.DelAttr):
            delattr(self.value(s.object), s.name)
        elif isinstance(s, o.SetItem):
            self.value(s.object)[self.value(s.key)] = self.value(s.value)
        elif isinstance(s, o.SetGlobal):
            self.fn.__globals__[s.name] = self.value(s.value)
        elif isinstance(s, o.DelGlobal):
            del self.fn.__globals__[s.name]
        elif isinstance(s, o.SetCell):
            import types

            self.cells.setdefault(s.name, types.CellType()).cell_contents = self.value(s.value)
        else:
            raise AssertionError(s)
