"""Cut a joint graph into forward and backward: what is saved between them costs least memory traffic.

A value that backward needs is either saved by forward or computed again in backward from values that are saved. Cheap
ops may be repeated; products, reductions and the like never are. Which values to save is a minimum cut: an edge through
each value weighs its bytes, twice if it would otherwise never leave a fused kernel, and more the further it is from
backward (the weights of PyTorch's default partitioner).

What is computed again is computed right before it is used, from what is saved or given. A value that a product stands behind
and that is added to what the product leads to (a stream of residuals, the state of a recurrent cell) is therefore not computed
again: for the last one backward would have to make all before it first, and to keep them as long as if they had been saved.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from typing import Any

from aten.aot.joint import Joint
from aten.aot.maxflow import INFINITE, FlowNetwork
from aten.fx.emit import emit
from aten.fx.graph import Graph
from aten.fx.node import Node, leaves, map_arg, may_raise
from aten.fx.symbols import binders, symbols_in
from aten.fx.targets import is_op
from aten.meta import Meta, dense_strides
from aten.scalar.table import table
from aten.scalar.unpatched import math
from aten.symbolic.nodes import sym
from aten.symbolic.symint import SYMBOLIC, wrap

_FREE = frozenset({
    "cast", "where", "clamp", "full", "arange", "eye", "clone", "row_major", "copy", "constant_pad_nd", "slice_scatter",
    "select_scatter", "diagonal_scatter", "tril", "triu", "flip", "roll", "cat", "rand_philox", "randn_philox",
    "randint_philox", "dropout_philox", "gelu", "zeros", "ones", "empty",
})  # fmt: skip
_FUSED = frozenset({
    "sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "var", "var_mean", "softmax",
    "log_softmax", "layer_norm", "rms_norm", "embedding", "gather", "index_select",
})  # fmt: skip


_COSTLY = 10  # additions
# On a CPU, writing and reading a value that stays in the cache costs less than a transcendental function.
_CACHED_BYTES = 8 << 20


def _fuses(node: Node) -> bool:
    target = node.target
    if target is operator.getitem:
        return True
    return is_op(target) and (target.kind == "view" or "pointwise" in target.tags or target.name in _FREE)


def _costly(name: str) -> bool:
    """Whether an op applies a transcendental function or the like to each element."""
    row = table.get(name)
    return name in ("silu", "gelu") if row is None else row.cost >= _COSTLY


def _recomputable(node: Node) -> bool:
    """Whether repeating the op costs little beside reading its arguments."""
    if not _fuses(node):
        return False
    val = node.meta.get("val")
    if not _costly(getattr(node.target, "name", "")) or type(val) is not Meta:
        return True
    return val.device.type != "cpu" or nbytes(val) > _CACHED_BYTES


def _fusible(node: Node) -> bool:
    """Whether the op can be part of a fused kernel."""
    return node.op == "call_function" and (_fuses(node) or (is_op(node.target) and node.target.name in _FUSED))


def _hint(size: Any) -> int:
    if type(size) is int:
        return size
    hint = size.hint
    return 4096 if hint is None else int(hint)


def nbytes(meta: Meta) -> int:
    """The size in bytes, by the hints of this call."""
    return math.prod(map(_hint, meta.sizes)) * meta.dtype.itemsize


def _is_view(node: Node) -> bool:
    return node.op == "call_function" and is_op(node.target) and node.target.kind == "view"


def saved_values(joint: Joint) -> list[Node]:
    """The nodes that forward saves for backward, in graph order."""
    nodes = [n for n in joint.graph.nodes if n.op != "output"]
    backward = _descendants(nodes, joint.tangents)
    fresh, new_values, grads = joint.parts()
    # A gradient that does not depend on any tangent is computed in backward all the same.
    ends = {g for g in grads if g is not None and g not in backward}
    needed: set[Node] = set(ends)  # values of forward that backward depends on
    for n in reversed(nodes):
        if n not in backward and (n in needed or any(u in backward for u in n.users)):
            needed.add(n)
            needed.update(n.all_input_nodes)
    distance = _distances(nodes, backward)
    order = [n for n in nodes if n in needed and n not in backward]
    index = {n: i for i, n in enumerate(order)}
    streams = _streams(nodes, index)
    network = FlowNetwork(2 * len(order) + 2)
    source, sink = 2 * len(order), 2 * len(order) + 1
    for n, i in index.items():
        if n.op == "placeholder" or n in streams or (n.op == "call_function" and not _recomputable(n)):
            network.add(source, 2 * i, INFINITE)
        network.add(2 * i, 2 * i + 1, _weight(n, distance.get(n, 1)))
        used = n in ends
        for user in n.users:
            if user in backward:
                used = True
            elif user in index:
                network.add(2 * i + 1, 2 * index[user], INFINITE)
        if used:
            network.add(2 * i + 1, sink, INFINITE)
    network.max_flow(source, sink)
    side = network.source_side(source)
    return [n for n, i in index.items() if side[2 * i] and not side[2 * i + 1]]


def _descendants(nodes: list[Node], roots: list[Node]) -> set[Node]:
    found = set(roots)
    for n in nodes:
        if n not in found and not found.isdisjoint(n.all_input_nodes):
            found.add(n)
    return found


def _streams(nodes: list[Node], needed: Collection[Node]) -> set[Node]:
    """The values that a later one is computed again from which also waits for a product of theirs, or of what comes after them.
    Those before all products are none: what they are made of is given, and they are made again wherever they are used."""
    products: dict[Node, int] = {}  # how many a value comes after: ops that share no kernel
    for n in nodes:
        before = max((products[a] for a in n.all_input_nodes), default=0)
        products[n] = before + (n.op == "call_function" and not _fusible(n) and is_op(n.target))
    return {
        n
        for n in needed
        if products[n] and any(u in needed and products[u] > products[n] and _recomputable(u) for u in n.users)
    }


def _distances(nodes: list[Node], backward: set[Node]) -> dict[Node, int]:
    """How many ops a value is away from the nearest use in backward."""
    distance: dict[Node, int] = {}
    for n in reversed(nodes):
        if n not in backward:
            steps = [1 if u in backward else distance[u] + 1 for u in n.users if u in backward or u in distance]
            if steps:
                distance[n] = min(steps)
    return distance


def _weight(node: Node, distance: int) -> int:
    val = node.meta.get("val")
    if type(val) is not Meta:
        return INFINITE if isinstance(val, tuple) else 0  # a SymInt costs nothing
    if _is_view(node):
        return INFINITE  # what it views is never larger
    size = nbytes(val)
    if _fusible(node) and all(map(_fusible, node.users)):
        size *= 2  # would never leave its kernel, and is written for backward alone
    return max(int(size * 1.1 ** min(distance, 100)), 1)


def partition(joint: Joint) -> tuple[Graph, Graph, list[Node]]:
    """(forward, backward, the nodes of the joint graph that are saved, symbols not included).

    forward returns (fresh..., new values..., saved tensors..., saved symbols...); backward takes those saved ones and
    the tangents.
    """
    saved = saved_values(joint)
    fresh, new_values, grads = joint.parts()
    backward_nodes = _needed(list(g for g in grads if g is not None), set(saved) | set(joint.tangents))
    symbols = _unbound(joint, backward_nodes, saved)
    forward = Graph()
    forward.shape_env = joint.graph.shape_env
    env: dict[Node, Node] = {}
    checked = [n for n in joint.graph.nodes if may_raise(n)]
    keep = _needed([*fresh, *new_values, *saved, *checked], set())
    tangents = set(joint.tangents)
    for n in joint.graph.nodes:
        if n.op == "placeholder" and n not in tangents or n in keep:
            env[n] = forward.node_copy(n, env.__getitem__)
    mutated = {joint.graph.placeholders[i] for i in joint.mutated}
    # An input that is written in place is saved as a clone of what it was.
    kept = [emit(forward, "clone", env[n]) if n in mutated else env[n] for n in saved]
    for n, node in zip(saved, kept):
        if n in mutated:
            node.meta["val"] = kept_meta(joint, n)
    forward.output((*[env[n] for n in (*fresh, *new_values)], *kept, *symbols))
    return forward, _backward_graph(joint, saved, symbols, backward_nodes, grads), saved


def backward_from(joint: Joint, saved: Sequence[str]) -> tuple[Graph, list[tuple[str, Any]]]:
    """A backward alone, of what forward has saved for another one: the values of these names in the joint graph.

    Its inputs are first those that are told of, ("saved", index in `saved`), ("input", index of a primal) or ("symbol", its
    name), then the tangents.
    """
    graph, grads = joint.graph, joint.parts()[2]
    index = {name: k for k, name in enumerate(saved)}
    # (What backward derives has other names in another backward.)
    kept = {n for n in graph.nodes if n.name in index and type(n.meta.get("val")) is Meta and not n.meta.get("derived")}
    nodes = _needed([g for g in grads if g is not None], kept | set(joint.tangents))
    primals = {n: i for i, n in enumerate(graph.placeholders[: joint.n_primals])}
    given = [n for n in graph.nodes if n in nodes and (n in kept or n in primals)]
    symbols = _unbound(joint, nodes, given)
    sources: list[tuple[str, Any]] = [("saved", index[n.name]) if n in kept else ("input", primals[n]) for n in given]
    sources += [("symbol", str(s)) for s in symbols]
    return _backward_graph(joint, given, symbols, nodes, grads), sources


def _needed(ends: list[Node], stop: set[Node]) -> set[Node]:
    """Everything `ends` depend on, not looking behind `stop`."""
    found: set[Node] = set()
    stack = list(ends)
    while stack:
        n = stack.pop()
        if n not in found:
            found.add(n)
            if n not in stop:
                stack.extend(n.all_input_nodes)
    return found


def _unbound(joint: Joint, nodes: set[Node], saved: list[Node]) -> list[Any]:
    """The symbols that backward uses and none of its tensors tells: saved as numbers."""
    probe = Graph()
    for n in (*saved, *joint.tangents):
        probe.placeholder(n.name, val=n.meta["val"])
    bound = binders(probe).keys()
    free: set[str] = set()
    for n in nodes:
        for leaf in leaves((n.args, n.kwargs)):
            free |= symbols_in(leaf)
        val = n.meta.get("val")
        for m in val if type(val) is tuple else (val,):
            if type(m) is Meta:
                for n_elements in (*m.sizes, *m.strides):  # equal sizes may be told by other symbols in strides
                    free |= symbols_in(n_elements)
            elif type(m) in SYMBOLIC:
                free |= symbols_in(m)
    return [wrap(sym(name), joint.graph.shape_env) for name in sorted(free - bound)]


def kept_meta(joint: Joint, node: Node) -> Any:
    """The Meta of what forward keeps of a node: of an input that is written in place a copy, without gaps between elements."""
    meta = node.meta["val"]
    written = node in [joint.graph.placeholders[i] for i in joint.mutated]
    return meta.like(strides=dense_strides(meta)) if written else meta


def _backward_graph(joint: Joint, saved: list[Node], symbols: list[Any], nodes: set[Node], grads: tuple) -> Graph:
    """Recomputed values stand right before their first use."""
    graph = Graph()
    graph.shape_env = joint.graph.shape_env
    graph.reserve(map(str, symbols))
    env: dict[Node, Node] = {}
    for n in saved:
        env[n] = graph.placeholder(n.name, val=kept_meta(joint, n))
    for s in symbols:
        node = graph.create_node("placeholder", str(s), val=s)
        node.name = str(s)
        node.target = node.name
    for n in joint.tangents:
        env[n] = graph.placeholder(n.name, val=n.meta["val"])
    order = [n for n in joint.graph.nodes if n in nodes]
    depends = _descendants(order, joint.tangents)

    def emit(root: Node) -> None:
        stack = [root]
        while stack:
            n = stack[-1]
            if n in env:
                stack.pop()
                continue
            missing = [m for m in n.all_input_nodes if m not in env]
            if missing:
                stack.extend(missing)
                continue
            env[stack.pop()] = graph.node_copy(n, env.__getitem__)

    for n in order:
        if n in depends:
            emit(n)
    for g in grads:
        if g is not None:
            emit(g)
    graph.output(map_arg(grads, env.__getitem__))
    return graph
