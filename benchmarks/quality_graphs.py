"""Graphs of the kernels that programs are made of, at the sizes at which they matter, for `benchmarks.triton_quality`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import aten.op
from aten import dtype as dtypes
from aten.device import device
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.meta import Meta
from aten.op import registry
from aten.symbolic.shape_env import ShapeEnv
from benchmarks import quality_gpt
from inductor.ir.buffer import Schedule
from inductor.lowering import lower
from inductor.schedule import schedule

assert aten.op
DTYPES = ("float32", "bfloat16")
DEVICE = device("cuda", 0)  # which need not be there


class Core:
    """A core graph being written: `g("add", a, b)` is a node, `g.input(sizes, dtype)` an argument."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.env = ShapeEnv()
        self.graph.shape_env = self.env
        self.count = 0

    def input(self, sizes: tuple[Any, ...], dtype: str = "float32", strides: tuple[Any, ...] | None = None) -> Any:
        meta = Meta.contiguous(tuple(sizes), getattr(dtypes, dtype), DEVICE)
        if strides is not None:
            meta = Meta(meta.dtype, meta.device, tuple(sizes), strides)
        self.count += 1
        name = f"x{self.count}"
        first = next((n for n in self.graph.nodes if n.op != "placeholder"), None)
        if first is None:
            return self.graph.create_node("placeholder", name, name=name, val=meta)
        with self.graph.inserting_before(first):
            return self.graph.create_node("placeholder", name, name=name, val=meta)

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Any:
        def meta(a: Any) -> Any:
            return [meta(x) for x in a] if isinstance(a, list) else a.meta["val"] if hasattr(a, "meta") else a

        val = registry[name].rule(*map(meta, args), *kwargs.values())
        return self.graph.create_node("call_function", registry[name], args, kwargs, val=val)

    def schedule(self, *outputs: Any) -> tuple[Schedule, dict, dict]:
        """(schedule, ranges, hints) of the graph that returns these."""
        self.graph.create_node("output", "output", (outputs,))
        lowered = lower(GraphModule(None, self.graph, self.env))
        return schedule(lowered), lowered.ranges, dict(lowered.hints)


Made = tuple[str, Schedule, dict, dict]


def _softmax(g: Core, x: Any, dim: int) -> Any:
    e = g("exp", g("sub", x, g("amax", x, [dim], True)))
    return g("div", e, g("sum", e, [dim], True))


def _mean(g: Core, x: Any, n: int) -> Any:
    return g("mul", g("sum", x, [-1], True), 1.0 / n)


def _layer_norm(g: Core, x: Any, w: Any, b: Any, n: int) -> tuple[Any, Any]:
    centred = g("sub", x, _mean(g, x, n))
    inverse = g("rsqrt", g("add", _mean(g, g("mul", centred, centred), n), 1e-5))
    hat = g("mul", centred, inverse)
    return g("add", g("mul", hat, w), b), hat


def _of_one(name: str, sizes: tuple, dtype: str, make: Callable[[Core, Any], Any], **kw: Any) -> tuple[str, Callable[[], Made]]:
    def built() -> Made:
        g = Core()
        out = make(g, g.input(sizes, dtype, **kw))
        return f"{name} {list(sizes)} {dtype}", *g.schedule(*(out if isinstance(out, tuple) else (out,)))

    return f"{name} {list(sizes)} {dtype}", built


def _of_two(name: str, a: tuple, b: tuple, dtype: str, make: Callable[[Core, Any, Any], Any]) -> tuple[str, Callable[[], Made]]:
    title = f"{name} {list(a)} {list(b)} {dtype}"

    def built() -> Made:
        g = Core()
        out = make(g, g.input(a, dtype), g.input(b, dtype))
        return title, *g.schedule(*(out if isinstance(out, tuple) else (out,)))

    return title, built


def _everything() -> Iterator[tuple[str, Callable[[], Made]]]:
    for d in DTYPES:
        big = (4096, 1024)
        for name in ("relu", "neg", "abs", "exp", "tanh", "sigmoid", "silu", "sqrt"):
            yield _of_one(name, big, d, lambda g, x, name=name: g(name, x))
        yield _of_one("gelu", big, d, lambda g, x: g("gelu", x, approximate="none"))
        yield _of_one("gelu", (4096, 1023), d, lambda g, x: g("gelu", x, approximate="none"))
        for name in ("add", "mul", "div", "maximum"):
            yield _of_two(name, big, big, d, lambda g, x, y, name=name: g(name, x, y))
        yield _of_two("add a row", big, (1024,), d, lambda g, x, y: g("add", x, y))
        yield _of_two("add a column", big, (4096, 1), d, lambda g, x, y: g("add", x, y))
        yield _of_one("transpose", big, d, lambda g, x: g("clone", g("permute", x, [1, 0])))
        yield _of_two("add transposed", big, (1024, 4096), d, lambda g, x, y: g("add", x, g("permute", y, [1, 0])))
        for columns in (64, 1024, 4096, 50304):
            yield _of_one("softmax rows", (4096, columns), d, lambda g, x: _softmax(g, x, 1))
        yield _of_one("softmax columns", (64, 4096), d, lambda g, x: _softmax(g, x, 0))
        for name in ("sum", "amax"):
            yield _of_one(f"{name} rows", big, d, lambda g, x, name=name: g(name, x, [1], False))
            yield _of_one(f"{name} columns", big, d, lambda g, x, name=name: g(name, x, [0], False))
            yield _of_one(f"{name} of all", big, d, lambda g, x, name=name: g(name, x, [0, 1], False))
        yield _of_one("argmax rows", big, d, lambda g, x: g("argmax", x, 1, False))
        for name in ("cumsum", "logcumsumexp"):
            yield _of_one(f"{name} rows", big, d, lambda g, x, name=name: g(name, x, 1))
        yield _of_one("cummax rows", big, d, lambda g, x: _both(g, g("cummax", x, 1)))
        yield _of_one("sort rows", big, d, lambda g, x: _both(g, g("sort", x, 1, descending=False, stable=False)))
        yield _of_one("topk rows", (64, 50304), d, lambda g, x: _both(g, g("topk", x, 50, 1, largest=True, sorted=True)))
        for columns in (768, 1024, 8192):

            def layer_norm(g: Core, x: Any, n: int = columns, d: str = d) -> Any:
                return _layer_norm(g, x, g.input((n,), d), g.input((n,), d), n)[0]

            yield _of_one("layer norm", (4096, columns), d, layer_norm)
        for m, n, k in ((4096, 4096, 1024), (512, 512, 512), (4096, 1000, 768), (100, 50, 30)):
            yield _of_two("mm", (m, k), (k, n), d, lambda g, x, y: g("mm", x, y))
        if d == "float32":
            yield _of_two("mm tf32", (4096, 1024), (1024, 4096), d, lambda g, x, y: g("mm", x, y))
        yield _of_two("mm relu", (4096, 1024), (1024, 4096), d, lambda g, x, y: g("relu", g("mm", x, y)))
        yield _of_two("mm of a transposed", (4096, 1024), (4096, 1024), d, lambda g, x, y: g("mm", x, g("permute", y, [1, 0])))
        yield _of_two("bmm", (96, 1024, 64), (96, 64, 1024), d, lambda g, x, y: g("bmm", x, y))

        for depth in (64, 128):
            yield _of_one("attention", (8, 12, 1024, depth), d, lambda g, x: _attention(g, x))
            yield _of_one("attention backward", (8, 12, 1024, depth), d, lambda g, x: _attention_backward(g, x))
        yield _of_one("attention with a mask, dropped", (8, 12, 1024, 64), d, lambda g, x: _masked_attention(g, x))

        def embedding(g: Core, x: Any) -> Any:
            return g("embedding", x, g.input((4096,), "int64"))

        yield _of_one("embedding", (50304, 768), d, embedding)
        yield _of_two("cat", big, big, d, lambda g, x, y: g("cat", [x, y], 1))
    yield _of_two("cross entropy", (4096, 50304), (1,), "float32", lambda g, x, y: (_cross_entropy(g, x),))


def _both(g: Core, pair: Any) -> tuple[Any, Any]:
    return tuple(g.graph.create_node("call_function", operator.getitem, (pair, k), val=v) for k, v in enumerate(pair.meta["val"]))


def _cross_entropy(g: Core, x: Any) -> Any:
    top = g("amax", x, [1], True)
    total = g("log", g("sum", g("exp", g("sub", x, top)), [1], True))
    picked = g("gather", g("sub", g("sub", x, top), total), 1, g.input((4096, 1), "int64"))
    return g("sum", picked, [0, 1], False)


def _operands(g: Core, x: Any, count: int) -> list[Any]:
    meta = x.meta["val"]
    return [x, *(g.input(meta.sizes, meta.dtype.name) for _ in range(count - 1))]


def _attention(g: Core, x: Any) -> Any:
    return g("scaled_dot_product_attention", *_operands(g, x, 3), None, 0.0, True, 0.125)


def _attention_backward(g: Core, x: Any) -> tuple[Any, ...]:
    *operands, output = _operands(g, x, 5)
    return _both(g, g("scaled_dot_product_attention_backward", *operands, None, output, True, 0.125))


def _masked_attention(g: Core, x: Any) -> Any:
    batch, _, length, _ = x.meta["val"].sizes
    mask = g.input((batch, 1, length, length), x.meta["val"].dtype.name)
    return g("dropout_attention", *_operands(g, x, 3), mask, False, 0.125, 0.1, 42, 7)


def graphs(parts: list[str]) -> Iterator[Made]:
    """(name, schedule, ranges, hints) of the graphs whose name has one of `parts`, of all without parts."""
    for name, build in _everything():
        if not parts or any(p in name for p in parts):
            yield build()
    for dtype in DTYPES:
        if not parts or any(p in f"gpt {dtype}" for p in parts):
            yield from quality_gpt.schedules(dtype)
