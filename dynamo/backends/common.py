"""What backends are made of: `aot_autograd` gives compilers of core graphs what they need to be a backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import aot
from aten.autograd.graph import saves_through_hooks
from aten.fx.symbols import runs_whole
from aten.fx.targets import assert_async, assert_true
from dynamo import exc, trace_rules
from dynamo.backends.partition import check_partition


def unboxed(compiled: Any) -> Callable:
    """A compiler's result as callable(*inputs) -> tuple: boxed ones take a list, which they may empty."""
    if getattr(compiled, "_boxed_call", False):
        return lambda *inputs: compiled(list(inputs))
    return compiled


def as_it_is(
    gm: Any, example_inputs: Sequence[Any], backend: Callable, backward_backend: Callable | None = None
) -> Callable | None:
    """A callable for a captured graph that aot does not take as it stands: it is run op by op, or, where it is one of wrappers,
    compiled by `backend` and `backward_backend` (the same by default) as graphs of what they are made of. None for others."""
    if runs_whole(gm.graph) or saves_through_hooks():
        return gm.forward
    wrappers = [node for node in gm.graph.nodes if node.meta.get("wrapper")]
    if not wrappers:
        return None
    if wrappers[-1].op != "placeholder":  # made in the graph
        return gm.forward
    from aten.aot import wrapped

    try:
        return wrapped.compile(gm, example_inputs, backend, backward_backend or backend)
    except wrapped.NotFlat:
        return gm.forward


def asserting(gm: Any, run: Callable) -> Callable:
    """A compiled graph whose asserts raise what they do in Python: kernels know only that an index was out of bounds."""
    if not any(node.target is assert_true or node.target is assert_async for node in gm.graph.nodes):
        return run

    def call(*inputs: Any) -> Any:
        try:
            return run(*inputs)
        except IndexError:
            gm.forward(*inputs)
            raise

    return call


def _compiled(compiler: Callable, graph: Any) -> Callable:
    """What a compiler makes of a core graph. Raises BackendCompilerFailed where one of the user's raises."""
    try:
        return unboxed(compiler(graph, metas_of(graph)))
    except Exception as e:
        if trace_rules.is_ours(compiler):
            raise
        raise exc.BackendCompilerFailed(compiler, e) from e


class AotAutograd:
    """backend(gm, example_inputs): the core graphs of forward and backward, each given to its compiler."""

    def __init__(
        self,
        fw_compiler: Callable | None = None,
        bw_compiler: Callable | None = None,
        inference_compiler: Callable | None = None,
        decompositions: dict | None = None,
    ):
        if fw_compiler is None:
            raise TypeError("aot_autograd needs fw_compiler")
        self.fw_compiler = fw_compiler
        self.bw_compiler = bw_compiler or fw_compiler
        self.inference_compiler = inference_compiler or fw_compiler
        self.decompositions = decompositions
        self.__name__ = "aot_autograd"

    def __call__(self, gm: Any, example_inputs: Sequence[Any], **options: Any) -> Callable:
        found = as_it_is(gm, example_inputs, self._with(self.fw_compiler), self._with(self.bw_compiler))
        if found is not None:
            return found
        made = aot.graphs(gm, example_inputs, self._table())
        if made.refused:
            return gm.forward
        forward = self.inference_compiler if made.backward is None else self.fw_compiler
        run = aot.checked(made.forward, _compiled(forward, made.forward))
        back = None
        if made.backward is not None:
            back = aot.checked(made.backward, _compiled(self.bw_compiler, made.backward))
        return asserting(gm, aot.AotFunction(made, run, back))

    def _with(self, compiler: Callable) -> AotAutograd:
        """The backend of graphs that are themselves a forward or a backward."""
        return AotAutograd(compiler, decompositions=self.decompositions)

    def _table(self) -> dict | None:
        return None if self.decompositions is None else {**aot.core_decompositions(), **self.decompositions}


def metas_of(gm: Any) -> list[Any]:
    """What is known of each input of a graph: Metas, and symbols of sizes."""
    return [n.meta["val"] for n in gm.graph.placeholders]


def aot_autograd(
    fw_compiler: Callable | None = None,
    bw_compiler: Callable | None = None,
    inference_compiler: Callable | None = None,
    decompositions: dict | None = None,
    partition_fn: Callable | None = None,
    keep_inference_input_mutations: bool = False,
) -> AotAutograd:
    """A backend of compilers of functional graphs of core ops.

    fw_compiler(gm, metas) -> callable(*inputs) -> tuple, or what `make_boxed_func` makes; bw_compiler, inference_compiler
    (graphs that nothing will be differentiated through): the same by default. decompositions: {op: function}, added to
    those into core ops. partition_fn: min_cut_rematerialization_partition. Graphs write their inputs at the end of a call,
    whatever keep_inference_input_mutations says. Raises TypeError without fw_compiler, NotImplementedError for another
    partition_fn.
    """
    check_partition(partition_fn)
    return AotAutograd(fw_compiler, bw_compiler, inference_compiler, decompositions)
