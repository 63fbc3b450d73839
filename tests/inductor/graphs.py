"""Core graphs written by hand, compiled and run beside the eager ops."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import aten.op
from aten import _native
from aten import dtype as dtypes
from aten.device import device
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.interpreter import Interpreter
from aten.meta import Meta
from aten.op import registry
from aten.symbolic.shape_env import ShapeEnv
from inductor import _runner
from inductor.codegen import cpp, toolchain
from inductor.ir.buffer import Kernel, Schedule
from inductor.lowering.graph import lower
from inductor.schedule.kernels import schedule
from inductor.schedule.memory import plan

assert aten.op
CPU = device("cpu")


class Builder:
    """Appends core ops to a graph: `b("add", x, y)` gives the node; arguments are core arguments."""

    def __init__(self):
        self.graph = Graph()
        self.env = ShapeEnv()
        self.graph.shape_env = self.env

    def input(self, name, sizes, dtype="float32", strides=None):
        meta = Meta.contiguous(tuple(sizes), getattr(dtypes, dtype), CPU)
        if strides is not None:
            meta = Meta(meta.dtype, CPU, tuple(sizes), tuple(strides))
        later = next((n for n in self.graph.nodes if n.op != "placeholder"), None)
        if later is None:
            return self.graph.create_node("placeholder", name, name=name, val=meta)
        with self.graph.inserting_before(later):
            return self.graph.create_node("placeholder", name, name=name, val=meta)

    def like(self, name, array):
        strides = tuple(s // array.itemsize for s in array.strides)
        return self.input(name, array.shape, "bool" if array.dtype == bool else array.dtype.name, strides)

    def __call__(self, name, *args, **kwargs):
        op = registry[name]
        metas = [
            a.meta["val"]
            if hasattr(a, "meta")
            else [x.meta["val"] if hasattr(x, "meta") else x for x in a]
            if isinstance(a, (list, tuple))
            else a
            for a in args
        ]
        val = op.rule(*metas, *kwargs.values())
        node = self.graph.create_node("call_function", op, args, kwargs, val=val)
        return node

    def item(self, node, k):
        import operator

        return self.graph.create_node("call_function", operator.getitem, (node, k), val=node.meta["val"][k])

    def module(self, *outputs):
        self.graph.create_node("output", "output", (tuple(outputs),))
        return GraphModule(None, self.graph, self.env)


def compiled(gm, mutations=()) -> tuple:
    """(callable, Schedule) of a core graph."""
    lowered = lower(gm, mutations)
    made: Schedule = schedule(lowered)
    kernels = [s for s in made.steps if isinstance(s, Kernel)]
    program = plan(made, mutations=list(mutations))
    library = None
    if kernels:
        source = cpp.render(kernels, made.buffers, lowered.hints, lowered.ranges)
        library = compile_cached(source)
    return _runner.Program(program.to_data(), library), made


def compile_cached(source: str) -> str:
    folder = Path(tempfile.gettempdir()) / "weft-test-kernels"
    folder.mkdir(exist_ok=True)
    name = _runner.sha256((source + repr(toolchain.compiler().key)).encode())[:24]
    path = folder / f"{name}.so"
    if not path.exists():
        private = tempfile.mkdtemp(dir=folder)
        Path(toolchain.compile_shared(source, private)).rename(path)
    return str(path)


def tensor(a):
    return _native.from_numpy(a) if isinstance(a, np.ndarray) else a


def check(gm, arrays, kernels=None, rtol=2e-6, atol=1e-6):
    """Compile, run, compare with the eager ops; `kernels`: how many kernels it must take."""
    run, made = compiled(gm)
    want = Interpreter(gm).run(*map(tensor, arrays))
    got = run(*map(tensor, arrays))
    assert len(got) == len(want)
    for g, w in zip(got, want):
        g, w = g.numpy(), w.numpy()
        assert g.shape == w.shape and g.dtype == w.dtype
        if g.dtype.kind not in "fV" and g.dtype.name != "bfloat16":
            np.testing.assert_array_equal(g, w)
        else:
            np.testing.assert_allclose(g.astype("f8"), w.astype("f8"), rtol=rtol, atol=atol, equal_nan=True)
    if kernels is not None:
        assert len(made.steps) == kernels, made.steps
    return made
