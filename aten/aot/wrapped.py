"""Graphs of wrappers (tensors of classes with `__torch_dispatch__`, made of other tensors) as graphs of what they are made of.

Autograd is above `__torch_dispatch__`: the joint graph is that of the wrappers as if they were tensors. Its forward and its
backward are then each run once on wrappers around Tracers, where the class's own code says what becomes of the parts; the
graphs of the parts are what is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native, overrides, pytree
from aten._native import Tensor
from aten.aot.joint import trace_joint
from aten.aot.pipeline import input_metas, split
from aten.aot.runtime import AotFunction
from aten.errors import GraphFailed
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node, map_arg
from aten.meta import Meta
from aten.records import record
from aten.symbolic.symint import SYMBOLIC
from aten.transforms.trace import TraceLevel
from aten.transforms.tracer import Tracer, opened


class NotFlat(Exception):
    """A graph whose wrappers cannot be taken apart: it is run as it is."""


def is_wrapper(value: Any) -> bool:
    """Whether a value is a tensor of a class with a `__torch_dispatch__`."""
    return isinstance(value, Tensor) and bool(overrides.kind_of(type(value)) & overrides.DISPATCH)


@record(frozen=True)
class Layout:
    """How a wrapper is made: class, names and layouts of its parts (a Meta of a plain one), and what else its class says."""

    cls: type
    names: tuple[str, ...]
    parts: tuple[Layout | Meta, ...]
    context: Any
    sizes: tuple
    strides: tuple

    @classmethod
    def of(cls, wrapper: Any) -> Layout:
        """That of a wrapper around tensors or Tracers. Raises NotFlat where a tensor is in what the class says besides."""
        names, context = wrapper.__tensor_flatten__()
        if any(isinstance(x, Tensor) or type(x) in SYMBOLIC for x in pytree.leaves(context)):
            raise NotFlat(f"what {type(wrapper).__name__}.__tensor_flatten__ says of it besides has tensors")
        parts = tuple([layout_of(getattr(wrapper, name)) for name in names])
        return cls(type(wrapper), tuple(names), parts, context, tuple(wrapper.shape), tuple(wrapper.stride()))  # type: ignore[arg-type]

    def make(self, parts: list[Any]) -> Any:
        """The wrapper around parts, which are taken from the front of the list."""
        inner = {n: p.make(parts) if type(p) is Layout else parts.pop(0) for n, p in zip(self.names, self.parts)}
        return self.cls.__tensor_unflatten__(inner, self.context, self.sizes, self.strides)  # type: ignore[attr-defined]

    def fits(self, value: Any) -> bool:
        """Whether a wrapper is made so, the strides of its parts aside. (A graph traced for one context is wrong for another.)"""
        if type(value) is not self.cls or tuple(value.shape) != self.sizes:  # type: ignore[attr-defined]
            return False
        names, context = value.__tensor_flatten__()  # type: ignore[attr-defined]
        if tuple(names) != self.names or context != self.context:
            return False
        parts = [getattr(value, name) for name in names]
        return all(p.fits(x) if type(p) is Layout else _alike(p, x) for p, x in zip(self.parts, parts))


def _alike(meta: Any, x: Any) -> bool:
    return type(x) is Tensor and x.dtype is meta.dtype and x.device == meta.device and tuple(x.shape) == meta.sizes


def _metas(layout: Any) -> list[Any]:
    """What is known of the plain tensors that a value with this layout is made of."""
    return [m for part in layout.parts for m in _metas(part)] if type(layout) is Layout else [layout]


def _laid_out(x: Any, meta: Any) -> Any:
    """A part of a gradient as the graph was compiled for."""
    if type(meta) is not Meta or tuple(x.stride()) == meta.strides:
        return x
    out = _native.empty(meta.sizes, meta.dtype, meta.device, meta.strides)
    return out.copy_(x)


def layout_of(value: Any) -> Any:
    """The Layout of a wrapper, the Meta of a plain tensor, anything else as it is."""
    if is_wrapper(value):
        return Layout.of(value)
    if isinstance(value, Tracer):
        return value.meta
    return Meta.of(value) if isinstance(value, Tensor) else value


def parts_of(value: Any) -> list[Any]:
    """The plain tensors that a wrapper is made of; a list of the value for what is none."""
    if not is_wrapper(value):
        return [value]
    return [part for name in value.__tensor_flatten__()[0] for part in parts_of(getattr(value, name))]


def compile(
    gm: GraphModule, example_inputs: Sequence[Any], forward_backend: Callable, backward_backend: Callable
) -> Callable[..., tuple]:
    """A callable(*inputs) that does what a captured graph of wrappers does.

    forward_backend, backward_backend: backend(gm, example inputs) -> callable(*plain tensors) -> tuple. Raises
    NotFlat for graphs that draw random numbers, that write to their inputs or to what gradients need, that lack gradients, or
    whose classes do more than ops.
    """
    metas = input_metas(gm, example_inputs)
    training = _native.is_grad_enabled()
    needs_grad = [training and isinstance(x, Tensor) and x.requires_grad for x in example_inputs]
    joint = trace_joint(gm, needs_grad, {}, metas, plain=False)
    if joint.mutated or not isinstance(joint.rng_counters, int):
        raise NotFlat("its inputs are written, or random numbers are drawn")
    if joint.refused:
        raise NotFlat("some of its gradients are refused")
    graphs = split(joint)
    before = _native.set_grad_enabled(False)
    try:
        layouts = [layout_of(x) if is_wrapper(x) else meta for x, meta in zip(example_inputs, metas)]
        forward = Flat(graphs.forward, layouts, len(layouts), forward_backend)
        backward = None
        if graphs.backward is not None:
            saved = forward.results[graphs.saved :]
            tangents = [forward.results[i] for i in graphs.differentiable]
            backward = Flat(graphs.backward, [*saved, *tangents], len(saved), backward_backend)
    finally:
        _native.set_grad_enabled(before)
    return AotFunction(graphs, forward, backward)


class Flat:
    """A core graph of wrappers as a callable of wrappers, compiled as a graph of their parts.

    results: the layouts of what it gives. n_known: how many of the first inputs are certain to be made as the layouts say.
    """

    def __init__(self, gm: GraphModule, layouts: Sequence[Any], n_known: int, backend: Callable):
        self.layouts = layouts
        self.n_known = n_known
        graph, self.results = _take_apart(gm, layouts)
        self.compiled = backend(graph, [_example(n.meta["val"]) for n in graph.graph.placeholders])

    def __call__(self, *inputs: Any) -> tuple:
        given: list[Any] = []
        for i, (x, layout) in enumerate(zip(inputs, self.layouts, strict=True)):
            if i >= self.n_known and (type(layout) is Layout and not layout.fits(x) or type(layout) is Meta and is_wrapper(x)):
                raise GraphFailed()  # a gradient that is made otherwise than what it belongs to
            given += parts_of(x) if i < self.n_known else map(_laid_out, parts_of(x), _metas(layout))
        parts = list(self.compiled(*given))
        return tuple([r.make(parts) if type(r) is Layout else parts.pop(0) for r in self.results])


def _take_apart(gm: GraphModule, layouts: Sequence[Any]) -> tuple[GraphModule, list[Any]]:
    """The graph of the parts, and the layouts of the results."""
    graph = Graph()
    graph.shape_env = gm.shape_env
    level = TraceLevel(graph, {}, functionalize=True)
    env: dict[Node, Any] = {}
    results: list[Any] = []
    with opened(level):
        for node, layout in zip(gm.graph.placeholders, layouts, strict=True):
            env[node] = _placeholder(level, node.name, layout, node.meta["val"])
        for node in gm.graph.nodes:
            if node.op == "call_function":
                graph.line = node.meta.get("line")
                args = [map_arg(a, env.__getitem__) for a in node.args]
                env[node] = node.target(*args, **{k: map_arg(a, env.__getitem__) for k, a in node.kwargs.items()})
                _check(node, env[node])
            elif node.op == "get_attr":
                env[node] = getattr(gm, node.target)
            elif node.op == "output":
                results = [map_arg(a, env.__getitem__) for a in node.args[0]]
        graph.line = None
        found = [layout_of(r) for r in results]
        graph.output(tuple([level.payload_of(part) for r in results for part in parts_of(r)]))
    graph.eliminate_dead_code(checks=True)
    return GraphModule(level.constants, graph), found


def _placeholder(level: TraceLevel, name: str, layout: Any, val: Any) -> Any:
    if type(layout) is Layout:
        parts: list[Any] = [level.placeholder(f"{name}_{i}", _bare(m)) for i, m in enumerate(_metas(layout))]
        return layout.make(parts)
    if type(layout) is Meta:
        return level.placeholder(name, _bare(layout))
    level.graph.placeholder(name, val=val)
    return val


def _example(val: Any) -> Any:
    """A tensor as the Meta says, whose values say nothing; numbers as they are in the call at hand."""
    if type(val) is not Meta:
        return _hint(val)
    return _native.empty(tuple(map(_hint, val.sizes)), val.dtype, val.device, tuple(map(_hint, val.strides)))


def _hint(x: Any) -> Any:
    return x.hint if type(x) in SYMBOLIC else x


def _bare(meta: Meta) -> Meta:
    return Meta(meta.dtype, meta.device, meta.sizes, meta.strides, meta.offset)


def _check(node: Node, made: Any) -> None:
    """What the class makes of an op has the sizes of what the op gives: derivatives have been taken with these."""
    known = node.meta.get("val")
    if type(known) is Meta and isinstance(made, Tensor) and (tuple(made.shape), made.dtype) != (known.sizes, known.dtype):
        raise NotFlat(f"{node.target}: its class gives {list(made.shape)} of {made.dtype}, and the op {known}")
