"""Backends that run graphs op by op: for tests, and to find which step of compiling goes wrong.

`eager` runs the captured graph; `aot_eager` runs the forward and backward graphs that `aten.aot` makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native
from aten.fx.graph_module import RUNS_AS_IT_IS
from aten.fx.interpreter import Interpreter
from aten.fx.node import Node
from aten.op import Op
from dynamo import _eval_frame
from dynamo.backends.common import as_it_is, asserting
from dynamo.backends.registry import register_backend
from dynamo.exc import TorchDynamoException


def eager(gm: Any, example_inputs: list) -> Callable:
    """The captured graph itself; called often, the Python that it is written as."""
    return _eval_frame.GraphCall(gm, gm.forward, gm._function, RUNS_AS_IT_IS)


def eager_noexcept(gm: Any, example_inputs: list) -> Callable:
    """The captured graph; what it raises is an error of the capture, for eager would have raised it before."""
    run = eager(gm, example_inputs)

    def inner(*inputs: Any) -> Any:
        try:
            return run(*inputs)
        except Exception as e:
            raise TorchDynamoException("Unexpected exception when running generated GraphModule") from e

    return inner


def aot_eager(gm: Any, example_inputs: list) -> Callable:
    """The core graphs of forward and backward, run op by op."""
    from aten import aot

    found = as_it_is(gm, example_inputs, aot_eager)
    return found if found is not None else asserting(gm, aot.compile(gm, example_inputs, _run, _run))


def aot_eager_decomp_partition(gm: Any, example_inputs: list) -> Callable:
    """The graphs as the default backend gets them: decomposed into core ops, cut where least is saved; run op by op."""
    return aot_eager(gm, example_inputs)


def _run(graph: Any, example_metas: Any) -> Callable:
    if not any(map(_draws, graph.graph.nodes)):
        return graph.forward
    return lambda *inputs: _Drawing(graph).run(*inputs)


def _draws(node: Node) -> bool:
    """Whether a node takes random numbers by seed and offset."""
    return isinstance(node.target, Op) and "random" in node.target.tags and "offset" in [p.name for p in node.target.schema.params]


class _Drawing(Interpreter):
    """Runs a graph whose random numbers were reserved before it began: where an op raises, the generator goes back to what the
    first one that was not reached would have taken, as if each had drawn for itself."""

    at: Any = None  # the node that runs

    def run_node(self, n: Node) -> Any:
        self.at = n
        return super().run_node(n)

    def run(self, *inputs: Any, initial_env: Any = None) -> Any:
        try:
            return super().run(*inputs, initial_env=initial_env)
        except Exception:
            nodes = list(self.graph.nodes)
            for n in filter(_draws, nodes[nodes.index(self.at) :]):
                names = [p.name for p in n.target.schema.params]
                state = [int(self.value(n.args[names.index(name)])) for name in ("seed", "offset")]
                _native.default_generator.set_state(tuple(state))
                break
            raise


for _backend in (eager, eager_noexcept, aot_eager, aot_eager_decomp_partition):
    register_backend(_backend, tags=("debug",))
