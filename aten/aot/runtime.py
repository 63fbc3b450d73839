"""Run a compiled forward and backward under autograd: one Node for the whole graph.

The compiled callables are functions of flat inputs. What they cannot do themselves is done here: outputs that are
inputs or views, writes to inputs, random state, gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native, dispatch, errors, overrides
from aten._native import Tensor
from aten.aot.data import AotGraphs, Fresh, InputAlias, OutputView, Size, ViewOf, tangent_strides
from aten.errors import GraphFailed
from aten.fx.interpreter import Interpreter
from aten.fx.symbols import binders, map_symbols, read, resolve, resolve_expr
from aten.meta import Meta


class AotFunction:
    """callable(*inputs) -> tuple."""

    def __init__(self, graphs: AotGraphs, forward: Callable, backward: Callable | None):
        self.graphs = graphs
        self.forward = forward
        self.backward = backward
        self._binders = binders(graphs.forward.graph)
        self._symbolic = _uses_symbols(graphs)
        self._differentiable = frozenset(graphs.differentiable)
        self.kept: frozenset[int] = frozenset()
        self.tangents: list[Any] = []
        self.other_forms: Callable | None = None  # (inputs, saved, grads) -> gradients where the backward's form is not theirs
        if graphs.backward is not None:
            placeholders = graphs.backward.graph.placeholders
            first = len(graphs.forward.graph.outputs) - graphs.saved  # (behind them a backend may have put constants)
            self.tangents = [n.meta["val"] for n in placeholders[first : first + len(graphs.differentiable)]]
        if graphs.joint is not None:
            used = graphs.joint.graph.placeholders
            self.kept = frozenset([i for i, _ in graphs.mutations if used[i].users])

    def __call__(self, *inputs: Any) -> tuple:
        graphs = self.graphs
        symbols = (
            {name: read(inputs, where) for name, where in self._binders.items() if where[0] < len(inputs)}
            if (self._symbolic)
            else {}
        )
        flat: Sequence[Any] = inputs
        if not isinstance(graphs.rng_counters, int):
            flat = (*inputs, *_native.philox_reserve(int(resolve_expr(graphs.rng_counters, symbols))))
        before = _native.set_grad_enabled(False)
        try:
            results = self.forward(*flat)
        finally:
            _native.set_grad_enabled(before)
        made = results[: graphs.saved]
        if self.backward is not None:
            self._record(flat, made, results[graphs.saved :])
        for (i, o), writes in zip(graphs.mutations, graphs.writes):
            target = inputs[i] if writes else inputs[i].data  # (whose writes are not the tensor's)
            write_back(target, made[o], o in self._differentiable)
            for _ in range(writes - 1):
                inputs[i]._bump_version()
        return tuple([self._output(o, inputs, made, symbols) for o in graphs.outputs])

    def _record(self, flat: Sequence[Any], made: Sequence[Any], saved: Sequence[Any]) -> None:
        graphs = self.graphs
        inputs = tuple([flat[i] for i in graphs.grad_inputs])
        outputs = tuple([made[i] for i in graphs.differentiable])
        _native.record("CompiledBackward", _Backward(self, flat), inputs, outputs, tuple(saved))

    def _output(self, o: Any, inputs: Sequence[Any], made: Sequence[Any], symbols: dict) -> Any:
        kind = type(o)
        if kind is Fresh:
            return made[o.index]
        if kind is InputAlias:
            return inputs[o.input]
        if kind is ViewOf:
            return regenerate(o, inputs[o.input], symbols)
        if kind is OutputView:
            return regenerate(o, made[o.index], symbols)
        return resolve_expr(o.expr, symbols) if kind is Size else o.value


errors.hearers[AotFunction.__call__.__code__] = lambda *warning: True  # the captured program gives those of its ops


def _uses_symbols(graphs: AotGraphs) -> bool:
    return graphs.rng_counters != 0 or any(isinstance(o, (Size, ViewOf, OutputView)) for o in graphs.outputs)


def regenerate(view: ViewOf | OutputView, base: Tensor, symbols: dict) -> Tensor:
    """The view again, of the real base, by the ops it was made with."""
    recorded = view.requires_grad or not base.requires_grad  # (of what has no history, it may be written with one)
    before = _native.set_grad_enabled(recorded and _native.is_grad_enabled())
    try:
        out = base
        for op, args in view.chain:
            out = dispatch.call_core(op, (out, *[map_symbols(a, lambda s: resolve(s, symbols)) for a in args]))
        return out
    finally:
        _native.set_grad_enabled(before)


def write_back(target: Tensor, value: Tensor, differentiable: bool) -> None:
    """target.copy_(value), as eager's own in-place op would have left it: data, version, grad_fn. What writes a leaf that requires
    grad wrote its detached alias: of others the capture says that eager refuses."""
    if differentiable and not (target.is_leaf and target.requires_grad):
        target.copy_(value)
        return
    before = _native.set_grad_enabled(False)
    try:
        target.copy_(value)
    finally:
        _native.set_grad_enabled(before)


class _Backward:
    """The `backward` of one call's Node. Keeps the inputs, for a backward that is itself differentiated."""

    __slots__ = ("function", "inputs", "versions")

    def __init__(self, function: AotFunction, inputs: Sequence[Any]):
        self.function = function
        if function.kept:  # what gradients depend on and this call writes to
            inputs = [as_it_is(x) if i in function.kept else x for i, x in enumerate(inputs)]
        self.inputs = inputs
        self.versions = tuple([x._version if isinstance(x, Tensor) else 0 for x in inputs])

    def __call__(self, node: Any, grads: tuple) -> tuple:
        function = self.function
        if _native.is_grad_enabled():
            if function.graphs.own_derivatives:
                raise RuntimeError(
                    "a compiled graph with an autograd.Function of the user cannot be differentiated twice by this backend: its "
                    "outputs are views, or the backend is not inductor"
                )
            return self.differentiable(grads)
        saved = node.saved
        tangents = function.tangents
        if function.other_forms is not None and not all(map(_fits, grads, tangents)):
            found = function.other_forms(self.argument, saved, grads)
            if found is not None:
                return found
        given = [fit_tangent(g, meta, made) for g, meta, made in zip(grads, tangents, node.metas)]
        try:
            return tuple(function.backward(*saved, *given))
        except GraphFailed:  # what eager gives, or its error
            found = self.differentiable(grads)
            return tuple([g.detach() if isinstance(g, Tensor) else g for g in found])

    def argument(self, i: int, checked: bool) -> Any:
        """What the graph was called with; if checked, RuntimeError where it has been written since."""
        x, version = self.inputs[i], self.versions[i]
        if checked and isinstance(x, Tensor) and x._version != version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"an input of a compiled graph with sizes {list(x.shape)} is at version {x._version}; "
                f"expected version {version}"
            )
        return x

    def differentiable(self, grads: tuple) -> tuple:
        """The gradients with history: forward and backward again, op by op, under autograd."""
        function = self.function
        joint: Any = function.graphs.joint
        used = joint.graph.placeholders
        for i, node in enumerate(used[: len(self.inputs)]):
            if node.users:
                self.argument(i, True)
        placeholders = joint.graph.placeholders[len(self.inputs) :]
        symbols = {name: read(self.inputs, where) for name, where in function._binders.items()}
        given = [zeros_for(n.meta["val"], symbols) if g is None else g for g, n in zip(grads, placeholders)]
        return tuple(Interpreter(joint).run(*self.inputs, *given))


def as_it_is(x: Tensor) -> Tensor:
    """A copy that is laid out as the tensor is: what was compiled for the one fits the other."""
    return _native.empty(x.shape, x.dtype, x.device, x.stride()).copy_(x)


def _fits(grad: Tensor | None, meta: Meta) -> bool:
    return grad is not None and tangent_strides(meta, grad.shape) == tuple(grad.stride())


def fit_tangent(grad: Tensor | None, meta: Meta, made: tuple) -> Tensor:
    """A gradient as the backward graph was compiled for: zeros if there is none, in the output's layout."""
    sizes, dtype, device = made
    if grad is None:
        return _empty_like(meta, sizes, dtype, device).zero_()
    if overrides.kind_of(type(grad)) & overrides.DISPATCH:  # (what it is made of has layouts of its own)
        return grad
    if grad.dtype is not dtype:
        grad = grad.to(dtype)
    strides = tangent_strides(meta, sizes)
    if tuple(grad.stride()) == strides or grad.numel() <= 1 and grad.is_contiguous():
        return grad
    out = _empty_like(meta, sizes, dtype, device)
    out.copy_(grad)
    return out


def laid_out(out: Tensor, meta: Meta) -> Tensor:
    """A result in the layout of its Meta, where that is one of numbers."""
    known = out.dtype is meta.dtype and all(type(s) is int for s in meta.strides)
    if not known or all(n < 2 or a == b for n, a, b in zip(out.shape, out.stride(), meta.strides)):
        return out
    return _empty_like(meta, out.shape, out.dtype, out.device).copy_(out)


def _empty_like(meta: Meta, sizes: Sequence[int], dtype: Any, device: Any) -> Tensor:
    return _native.empty(sizes, dtype, device, tangent_strides(meta, sizes))


def ones_for(meta: Meta, like: Tensor) -> Tensor:
    """Ones with the sizes of `like`, laid out as this Meta says."""
    return _empty_like(meta, like.shape, meta.dtype, meta.device).fill_(1)


def zeros_for(meta: Meta, symbols: dict) -> Tensor:
    """Zeros of this Meta."""
    sizes = [s if type(s) is int else int(resolve(s, symbols)) for s in meta.sizes]
    return _empty_like(meta, sizes, meta.dtype, meta.device).zero_()
