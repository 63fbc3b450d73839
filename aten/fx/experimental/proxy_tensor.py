"""make_fx under PyTorch's name and signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import dispatch, pytree
from aten._native import Tensor
from aten.fx.graph_module import GraphModule
from aten.transforms.trace import TraceLevel
from aten.transforms.trace import make_fx as _make_fx

__all__ = ["get_proxy_mode", "make_fx"]


def get_proxy_mode() -> Any:
    """The trace that records the ops of this moment (of `make_fx`, or of a compiler of whole graphs), or None."""
    return next((level for level in reversed(dispatch.levels) if isinstance(level, TraceLevel)), None)


class TracedModule(GraphModule):
    """A graph that is called with arguments nested as those of which it was made; numbers among them may be there too."""

    leaves: tuple[int, list[int]]  # of the arguments it was made of: how many, and which are placeholders

    def flat(self, given: Sequence[Any]) -> Sequence[Any]:
        """The values of the placeholders in arguments of a call."""
        found = pytree.leaves(tuple(given))
        count, taken = self.leaves
        return [found[i] for i in taken] if len(found) == count else found

    def forward(self, *given: Any) -> Any:
        """Run the graph."""
        return super().forward(*self.flat(given))

    __call__ = forward


def make_fx(
    f: Callable,
    decomposition_table: dict[Any, Callable] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
) -> Callable[..., GraphModule]:
    """make_fx(f)(*args): tracing_mode "real" and "fake" take the sizes as they are, "symbolic" makes symbols of them.

    pre_dispatch and the others say how PyTorch comes by the same operations; here they make no difference.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Unexpected tracing type: {tracing_mode}")
    symbolic = tracing_mode == "symbolic"
    trace = _make_fx(f, decomposition_table, symbolic=symbolic)

    def traced(*args: Any) -> GraphModule:
        found = trace(*args)
        made = TracedModule(found.__dict__["_root"], found.graph, found.shape_env)
        leaves = pytree.leaves(args)
        taken = [i for i, a in enumerate(leaves) if isinstance(a, Tensor) or (symbolic and type(a) is int)]
        made.__dict__["leaves"] = (len(leaves), taken)
        return made

    return traced
