"""Functions that an op calls, traced for its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import leaves
from aten.fx.subgraph import SubGraph
from aten.fx.symbols import binders
from aten.meta import Meta, dense_strides, known_equal
from aten.op import registry
from aten.symbolic.nodes import walk
from aten.symbolic.symint import SYMBOLIC, wrap
from aten.transforms.trace import TraceLevel
from aten.transforms.tracer import Tracer, opened


class _SubLevel(TraceLevel):
    """Traces a function that an op of the level `outer` calls. Tensors from outside become operands of the op.

    sliced: the places of operands of which it gets slices along dim 0.
    """

    def __init__(self, outer: TraceLevel, operands: list[Tensor], sliced: Sequence[int]):
        graph = Graph()
        graph.shape_env = outer.graph.shape_env
        super().__init__(graph, outer.decompositions)
        self.outer, self.operands, self.sliced = outer, operands, sliced
        self.places: list[int] = []

    def take(self, index: int) -> Tracer:
        """A new placeholder for an operand, which is dense: of others no layout is kept when they are computed elsewhere."""
        self.places.append(index)
        meta, skipped = Meta.of(self.operands[index]), int(index in self.sliced)
        if not all(map(known_equal, meta.strides, dense_strides(meta))):
            with opened(self.outer):
                self.operands[index] = registry["contiguous"](self.operands[index])
            meta = Meta.of(self.operands[index])
        return self.placeholder(f"arg{index}", Meta(meta.dtype, meta.device, meta.sizes[skipped:], meta.strides[skipped:]))

    def lift(self, tensor: Tensor) -> Tracer:
        found = self._lifted.get(id(tensor))
        if found is None:
            index = next((i for i, x in enumerate(self.operands) if x is tensor and i not in self.sliced), None)
            if index is None:
                index = len(self.operands)
                self.operands.append(tensor)
            found = self._lifted[id(tensor)] = self.take(index)
        return found

    def bind_symbols(self) -> None:
        """Sizes that no operand has: an operand of that size is added."""
        bound, used = binders(self.graph), {}
        for node in self.graph.nodes:
            for leaf in leaves((node.args, node.kwargs)):
                if type(leaf) in SYMBOLIC:
                    used.update((e.value, e) for e in walk(leaf.expr) if e.op == "sym")
        for name, e in used.items():
            if name not in bound:
                with opened(self.outer):
                    self.operands.append(registry["zeros"]([1]).expand([wrap(e, self.graph.shape_env)]))
                self.take(len(self.operands) - 1)


def traced(
    level: TraceLevel, functions: list[Callable], operands: list[Tensor], sliced: Sequence[int] = ()
) -> tuple[list[SubGraph], list[Tensor]]:
    """The functions of the operands as SubGraphs, and the operands with what they take besides.

    sliced: the places of operands of which the functions take slices along dim 0.
    """
    count, everything, found = len(operands), list(operands), []
    for f in functions:
        inner = _SubLevel(level, everything, sliced)
        inputs = [inner.take(i) for i in range(count)]
        before = _native.set_grad_enabled(False)
        try:
            with opened(inner):
                results = f(*inputs)
                outputs = tuple([inner.payload_of(r) for r in ([results] if isinstance(results, Tensor) else results)])
        finally:
            _native.set_grad_enabled(before)
        inner.bind_symbols()
        inner.graph.output(outputs)
        inner.graph.eliminate_dead_code()
        found.append(SubGraph(GraphModule(inner.constants, inner.graph), inner.places))
    return found, everything


def carried(level: TraceLevel, values: Sequence[Tensor]) -> list[Tensor]:
    """What a function carries from step to step, row-major from the first step on: its graph is made for one layout."""
    with opened(level):
        return row_major(values)


def row_major(values: Sequence[Tensor]) -> list[Tensor]:
    return [registry["contiguous"](x) for x in values]


def tensors(operands: Sequence[Any]) -> list[Tensor]:
    """The tensors among operands, some of which are numbers."""
    return [x for x in operands if isinstance(x, Tensor)]


def over_tensors(f: Callable, operands: Sequence[Any]) -> Callable:
    """A function of these operands as one of the tensors among them."""

    def run(*values: Any) -> Any:
        given = iter(values)
        return f(*[next(given) if isinstance(x, Tensor) else x for x in operands])

    return run
