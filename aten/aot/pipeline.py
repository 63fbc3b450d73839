"""aot.compile: a captured graph in, a callable on real tensors out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native, settings
from aten._native import Tensor
from aten.aot.data import AotGraphs
from aten.aot.decompositions import Decompositions
from aten.aot.form import Form
from aten.aot.joint import Joint, trace_joint
from aten.aot.partition import backward_from, partition
from aten.aot.runtime import AotFunction, laid_out
from aten.collection import paused_collection
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node
from aten.meta import Meta
from aten.op import Op


def input_metas(gm: GraphModule, example_inputs: Sequence[Any]) -> list[Any]:
    """What is known of each input: the placeholder's Meta or SymInt, else the example's."""
    found = []
    for ph, example in zip(gm.graph.placeholders, example_inputs):
        val = ph.meta.get("val")
        found.append(val if val is not None else Meta.of(example) if isinstance(example, Tensor) else example)
    return found


def graphs(gm: GraphModule, example_inputs: Sequence[Any], decompositions: dict[Op, Callable] | None = None) -> AotGraphs:
    """The AotGraphs of a captured graph; with a backward if gradients are on and an input requires them.

    decompositions: {op: function of its core arguments}; `core_decompositions()` by default.
    """
    metas = input_metas(gm, example_inputs)
    needs_grad = [False] * len(metas)
    if _native.is_grad_enabled():
        needs_grad = [
            isinstance(x, Tensor) and x.requires_grad or type(m) is Meta and m.requires_grad for x, m in zip(example_inputs, metas)
        ]
    with paused_collection():
        joint = trace_joint(gm, needs_grad, Decompositions() if decompositions is None else decompositions, metas)
        return split(joint)


def backward_in_form(
    gm: GraphModule, saved: Sequence[str], forms: Sequence[Form | None], decompositions: dict[Op, Callable]
) -> tuple[GraphModule, list[tuple[str, Any]]]:
    """The backward of a captured graph for gradients in these forms, of what its forward saves for another backward; and
    where its inputs come from (see `partition.backward_from`)."""
    metas = [n.meta["val"] for n in gm.graph.placeholders]
    needs_grad = [type(m) is Meta and m.requires_grad for m in metas]
    before = _native.set_grad_enabled(True)
    try:
        with paused_collection():
            joint = trace_joint(gm, needs_grad, decompositions, metas, forms)
            graph, sources = backward_from(joint, saved)
            return GraphModule(joint.constants, graph), sources
    finally:
        _native.set_grad_enabled(before)


def split(joint: Joint) -> AotGraphs:
    """Forward and backward of a joint graph."""
    fresh, new_values, grads = joint.parts()
    n_fresh, n_outputs = len(fresh), len(fresh) + len(new_values)
    mutations = tuple([(i, n_fresh + k) for k, i in enumerate(joint.mutated)])
    whole = None
    if not joint.differentiable:
        graph = joint.graph
        graph.output_node.args = ((fresh, new_values, ()),)  # nothing that requires grad depends on an input
        graph.eliminate_dead_code(checks=True)
        for n in joint.tangents:
            graph.erase_node(n)
        graph.output_node.args = ((*fresh, *new_values),)
        forward, backward = GraphModule(joint.constants, graph), None
        grad_inputs: tuple[int, ...] = ()
        differentiable: tuple[int, ...] = ()
    else:
        forward_graph, backward_graph, _ = partition(joint)
        forward = GraphModule(joint.constants, forward_graph)
        backward = GraphModule(joint.constants, backward_graph)
        grad_inputs, differentiable = joint.grad_inputs, joint.differentiable
        joint.graph.output_node.args = (grads,)
        joint.graph.eliminate_dead_code()
        whole = GraphModule(joint.constants, joint.graph)
    return AotGraphs(
        forward,
        backward,
        joint.outputs,
        mutations,
        n_fresh,
        n_outputs,
        grad_inputs,
        differentiable,
        joint.rng_counters,
        whole,
        joint.writes,
        joint.own_derivatives,
        joint.refused,
    )


def example_metas(graph: Graph) -> list[Any]:
    """The Metas (or SymInts) of a graph's placeholders."""
    return [n.meta["val"] for n in graph.placeholders]


def compile(
    gm: GraphModule,
    example_inputs: Sequence[Any],
    forward_compiler: Callable,
    backward_compiler: Callable | None = None,
    decompositions: dict[Op, Callable] | None = None,
) -> Callable[..., tuple]:
    """A callable(*inputs) -> tuple that does what `gm` does, mutations, aliases and gradients included.

    forward_compiler(graph module, metas of its inputs) -> callable(*flat inputs) -> tuple; likewise for backward (the
    same by default), which is compiled on the first backward.
    """
    made = graphs(gm, example_inputs, decompositions)
    if made.refused:
        return gm.forward
    forward = checked(made.forward, forward_compiler(made.forward, example_metas(made.forward.graph)))
    backward = None
    if made.backward is not None:
        compiler = backward_compiler or forward_compiler
        backward = checked(made.backward, compiler(made.backward, example_metas(made.backward.graph)))
    return AotFunction(made, forward, backward)


def checked(gm: GraphModule, compiled: Callable) -> Callable:
    """A compiled graph whose results are laid out as the graph says, where ops run one by one may give other strides.

    Under settings.check_metas they are compared with what is known of them: raises AssertionError where a compiler's results
    have other dtypes or sizes.
    """
    known = [n.meta.get("val") if isinstance(n, Node) else None for n in gm.graph.output_node.args[0]]

    def run(*inputs: Any) -> Any:
        outputs = compiled(*inputs)
        if settings.check_metas:
            _check(known, outputs)
        return tuple([laid_out(o, m) if type(m) is Meta and type(o) is Tensor else o for o, m in zip(outputs, known)])

    return run


def _check(known: Sequence[Any], outputs: Sequence[Any]) -> None:
    for i, (meta, out) in enumerate(zip(known, outputs, strict=True)):
        if type(meta) is Meta and isinstance(out, Tensor):
            sizes = [size if type(size) is int else given for size, given in zip(meta.sizes, out.shape)]
            if out.dtype is not meta.dtype or tuple(sizes) != tuple(out.shape) or len(meta.sizes) != out.ndim:
                raise AssertionError(f"output {i} of a compiled graph is {Meta.of(out)}, and the graph says {meta}")
