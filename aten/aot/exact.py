"""Traces for exact mode: what eager runs as one kernel, and derives as one step, stays one node.

An eager call of a native rule is not what its definition says to the last bit: `linear` adds its bias before it rounds,
`split` derives into one cat and not into a sum of paddings, softmax has a backward of its own. Here they are recorded as
eager records them, so that gradients are made of the same ops and are added in the same order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from aten import _native, chains
from aten._native import Tensor
from aten.autograd import whole
from aten.autograd.fused import without_gaps
from aten.autograd.inplace import Path, lies_otherwise, shows_again
from aten.autograd.record import Backward
from aten.fx.node import map_arg
from aten.meta import Meta, is_dense, known_equal
from aten.op import Op, node_name, ops
from aten.shapes import is_symbolic, wrap_dims
from aten.transforms.trace import TraceLevel, make_fx
from aten.transforms.tracer import CUT, Cell, Tracer, below, meta_argument, meta_of_call, opened


class _WholeBackward:
    """The backward of a call that has one Node: that which this has in eager."""

    __slots__ = ("level", "line", "backward")

    def __init__(self, level: ExactLevel, backward: Callable[..., Any]):
        self.level, self.line, self.backward = level, level.line, backward

    def __call__(self, node: Any, grads: tuple) -> tuple:
        self.level.at(self.line)
        saved = self.level.all_kept(node.saved, node)
        return tuple(self.backward(SimpleNamespace(saved=saved, needs=node.needs, metas=node.metas), grads))


def _norm(rms: bool) -> Callable[..., list[Any]]:
    def rule(needs: tuple, g: Any, saved: dict[str, Any]) -> list[Any]:
        wanted = [needs[0], needs[2], not rms and needs[3]]
        found = ops.norm_gradient(g, saved["input"], saved["normalized_shape"], saved["weight"], saved["eps"], rms, wanted)
        return [x if need else None for x, need in zip(found, wanted)][: 2 if rms else 3]

    return rule


def _attention(needs: tuple, g: Any, saved: dict[str, Any]) -> list[Any] | None:
    if needs[3]:
        return None
    given = [saved[n] for n in ("query", "key", "value", "attn_mask", "out", "is_causal", "scale")]
    found = ops.attention_gradient(g, *given, list(needs[:3]))
    return [x if need else None for x, need in zip(found, needs)] + [None]


def _is_plain(x: Any) -> bool:
    return not isinstance(x, Tensor) or meta_argument(x).is_contiguous()


# The gradients of an op by one pass, and what is to lie row-major beside the gradient for eager to take it: elsewhere it takes the
# vjp, whose result is laid out as its ops make it. "": anything.
_DERIVED: dict[str, tuple[Callable[[tuple, Any, dict[str, Any]], list[Any] | None], str]] = {
    "gelu": (lambda needs, g, saved: [ops.gelu_gradient(g, saved["input"], saved["approximate"])], "input"),
    "silu": (lambda needs, g, saved: [ops.silu_gradient(g, saved["input"])], "input"),
    "softmax": (lambda needs, g, saved: [ops.softmax_gradient(g, saved["out"], saved["dim"], False)], "out"),
    "log_softmax": (lambda needs, g, saved: [ops.softmax_gradient(g, saved["out"], saved["dim"], True)], "out"),
    "layer_norm": (_norm(False), "input"),
    "rms_norm": (_norm(True), "input"),
    "scaled_dot_product_attention": (_attention, ""),
}


class ExactLevel(TraceLevel):
    """A trace whose nodes are the calls that eager runs."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.with_gaps: list[Tracer] = []  # the inputs that are

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        rule = _COMPOSITES.get(op.name, _chained if op.native == "chain" else None) if op.kind == "composite" else None
        result = NotImplemented if rule is None else rule(self, op, op.join(args, kwargs))
        return super().handle(op, args, kwargs) if result is NotImplemented else result

    def derive(self, backward: Backward, g: Any, saved: tuple) -> tuple:
        plan = backward.plan
        rule, of = _DERIVED.get(plan.op.name, (None, ""))
        named = dict(zip(plan.names, saved))
        if rule is None or _native.is_grad_enabled():
            return super().derive(backward, g, saved)
        if not any(map(is_symbolic, meta_argument(g).strides)):
            g = without_gaps(g)
        if not all(_is_plain(t) for t in ((g, named[of]) if of else ())):
            return super().derive(backward, g, saved)
        found = rule(plan.needs, g, named)
        return super().derive(backward, g, saved) if found is None else tuple(found)

    def record_whole(self, op: Op, backward: Callable[..., Any], args: tuple, saved: tuple, out: Any) -> None:
        """Make one Node for a call: args are tensors and others, saved what `backward` finds in the Node."""
        outputs = out if isinstance(out, tuple) else (out,)
        inputs = tuple([a if self.own(a) else None for a in args])
        kept = tuple([self.keep(s, outputs) for s in saved])
        self.note(node_name(op.name), _WholeBackward(self, backward), inputs, outputs, kept)

    def _put(self, cell: Cell, chain: tuple, new: Tracer) -> Any:
        """A write through a view has one Node, as in eager: gradients of the root are first laid out as the root is."""
        base = self.make(cell.payload, cell.meta)
        plain = all(op.put_fn is not None and op.name not in CUT and not shows_again(op, args) for op, args in chain)
        if not plain or not self.recorded((base, new)):
            return super()._put(cell, chain, new)
        before = _native.set_grad_enabled(False)
        try:
            payload = super()._put(cell, chain, new)
        finally:
            _native.set_grad_enabled(before)
        if self.edge_of(payload) is not None:  # what was written is all of the root: its history is another
            payload = self._as_new(self.make(payload, cell.meta))
        path, out = Path(list(chain)), self.make(payload, cell.meta)

        def backward(node: Any, grads: tuple) -> tuple:
            needs, g = node.needs, _as_root(grads[0], cell.meta)
            return (path.outside(g) if needs[0] else None, path.inside(g) if needs[1] else None)

        self.note("CopySlices", _WholeBackward(self, backward), (base, new), (out,), ())
        return payload

    def _as_new(self, t: Tracer) -> Any:
        """The value of a tensor as one of which another Node may tell."""
        with opened(self):
            payload = self.read(ops.alias(t))
        self.set_edge(payload, None)
        return payload

    def placeholder(self, name: str, meta: Meta, requires_grad: bool = False) -> Tracer:
        made = super().placeholder(name, meta, requires_grad)
        if all(type(n) is int for n in (*meta.sizes, *meta.strides)) and not is_dense(meta) and 0 not in meta.strides:
            self.with_gaps.append(made)
        return made

    def assign(self, target: Tracer, result: Tracer) -> None:
        """An input with gaps is a view of what lies around it: eager lays out gradients of what is written there as that lies."""
        if not target.chain and any(t is target for t in self.with_gaps) and self.recorded((result,)):
            layout, written = target.meta, result
            result = self.make(self._as_new(self.snapshot(written)), written.meta)
            backward = _WholeBackward(self, lambda node, grads: (_as_root(grads[0], layout),))
            self.note("CopySlices", backward, (written,), (result,), ())
        super().assign(target, result)

    def whole(self, op: Op, public: tuple) -> Any:
        """The call as one node; its tensor."""
        meta = meta_of_call(op, tuple(map(meta_argument, public)))
        positional, keywords = op.split(tuple(map(self.payload_of, public)))
        return self.make(self.graph.create_node("call_function", op, positional, keywords, None, meta), meta)

    def recorded(self, public: tuple) -> bool:
        """Whether some tensor among the arguments has history."""
        return _native.is_grad_enabled() and any(self.own(t) and self.edge_of(self.read(t)) is not None for t in public)


def _as_root(g: Any, layout: Meta) -> Any:
    """A gradient of the root of views as eager lays it out."""
    if not lies_otherwise(g, layout):
        return g
    laid_out = ops.empty_strided(list(g.shape), list(layout.strides), dtype=g.dtype, device=g.device)
    if is_dense(layout):
        return ops.copy(laid_out, g)
    laid_out.copy_(g)  # (`copy` gives what has no gaps)
    return laid_out


def _fits(x: Any, n: Callable[[int], bool]) -> bool:
    return isinstance(x, Tensor) and n(x.ndim) and not x.dtype.is_complex


def _matmul(level: ExactLevel, op: Op, public: tuple) -> Any:
    a, b = public
    if not all(_fits(t, lambda n: n >= 2) for t in public) or a.ndim == b.ndim == 2 or a.dtype is not b.dtype:
        return NotImplemented
    return _product(level, op, public, whole.matmul_backward)


def _linear(level: ExactLevel, op: Op, public: tuple) -> Any:
    x, weight, bias = public
    if not _fits(x, lambda n: n >= 2) or not _fits(weight, lambda n: n == 2) or not x.dtype.is_floating_point:
        return NotImplemented
    if x.dtype is not weight.dtype or not _rows_lie_evenly(meta_argument(x)):
        return NotImplemented
    if bias is not None and not (_fits(bias, lambda n: n == 1) and bias.dtype is x.dtype and meta_argument(bias).is_contiguous()):
        return NotImplemented
    if bias is not None and not known_equal(bias.shape[0], weight.shape[0]):
        return NotImplemented
    return _product(level, op, public, whole.linear_backward)


def _rows_lie_evenly(x: Meta) -> bool:
    """Whether all dims but the last are one with one stride."""
    if len(x.sizes) == 2 or x.is_contiguous():
        return True
    rows, step = 1, 0
    for size, stride in reversed(list(zip(x.sizes[:-1], x.strides[:-1]))):
        if type(size) is not int or type(stride) is not int:
            return False
        if size == 0:
            return True
        if size == 1:
            continue
        if rows == 1:
            step = stride
        elif stride != step * rows:
            return False
        rows *= size
    return True


def _product(level: ExactLevel, op: Op, public: tuple, backward: Callable[..., Any]) -> Any:
    out = level.whole(op, public)
    if level.recorded(public):
        level.record_whole(op, backward, public, public[:2], out)
    return out


def _split(level: ExactLevel, op: Op, public: tuple) -> Any:
    x, dim = public[0], public[-1]
    if not isinstance(x, Tensor) or not x.ndim or not level.recorded((x,)):
        return NotImplemented
    result = tuple(_without_record(level, op, public))
    backward = whole.unbind_backward if op.name == "unbind" else whole.split_backward
    level.record_whole(op, backward, (x,), (dim % x.ndim,), result)
    return result


def _without_record(level: ExactLevel, op: Op, public: tuple) -> Any:
    before = _native.set_grad_enabled(False)
    try:
        with opened(level):
            return op.function(*public)
    finally:
        _native.set_grad_enabled(before)


def _without_history(level: ExactLevel, op: Op, public: tuple) -> Any:
    return NotImplemented if level.recorded(public) else level.whole(op, public)


def _pool(level: ExactLevel, op: Op, public: tuple) -> Any:
    if op.name.startswith("max_pool") and public[-1]:  # with places
        return NotImplemented
    return _without_history(level, op, public)


def _nansum(level: ExactLevel, op: Op, public: tuple) -> Any:
    """Of what lies row-major eager has one Node: a product with whether an element is a number, in the order of the gradient."""
    x, dim, keepdim, dtype = public
    if not isinstance(x, Tensor) or not level.recorded((x,)) or not x.dtype.is_floating_point or dtype not in (None, x.dtype):
        return NotImplemented
    if not meta_argument(x).is_contiguous():
        return NotImplemented
    out = _without_record(level, op, public)
    level.record_whole(op, whole.nansum_backward, (x,), (x, tuple(wrap_dims(dim, x.ndim)), keepdim), out)
    return out


def _batch_norm(level: ExactLevel, op: Op, public: tuple) -> Any:
    x, mean, var, weight, bias, training, momentum, eps = public
    if level.recorded(public):
        return NotImplemented
    if not training or mean is None or var is None:
        return level.whole(op, public)
    with opened(level):
        out, new_mean, new_var = ops.batch_norm_training(x, mean, var, weight, bias, momentum, eps)
        mean.copy_(new_mean)
        var.copy_(new_var)
    return out


def _chained(level: ExactLevel, op: Op, public: tuple) -> Any:
    """A composite that eager runs as one chain of loops has one Node: what its ops add to the gradient of an argument is added
    up before it meets other gradients of that."""
    tensors = [a for a in public if isinstance(a, Tensor)]
    if not level.recorded(public) or not _lie_as_chains([meta_argument(t) for t in tensors]):
        return NotImplemented
    wanting = sum(1 << i for i, t in enumerate(tensors) if level.recorded((t,)))
    with below(0):
        kept = _kept(op, *_kinds(public), wanting)
    if kept < 0:
        return NotImplemented
    out = _without_record(level, op, public)
    at = [i for i, a in enumerate(public) if isinstance(a, Tensor)]

    def derived(node: Any, grads: tuple) -> list[Any]:
        graph = _derivatives(op, public, tuple([node.needs[i] for i in at]), grads[0].dtype)
        given = dict(zip(at, _again(graph, grads[0], node.saved)))
        return [given.get(i) for i in range(len(public))]

    level.record_whole(op, derived, public, tuple(t if kept >> i & 1 else None for i, t in enumerate(tensors)), out)
    return out


def _lie_as_chains(metas: list[Meta]) -> bool:
    """Whether eager runs an elementwise composite of such tensors as a chain."""
    alike = all(m.is_contiguous() and m.ndim == metas[0].ndim and all(map(known_equal, m.sizes, metas[0].sizes)) for m in metas)
    return alike and all(m.device.type == "cpu" for m in metas)


def _kinds(public: tuple) -> tuple[tuple, tuple]:
    """The arguments that are no tensors, each with its type, and the dtypes of those that are."""
    others = tuple([None if isinstance(a, Tensor) else (type(a), a) for a in public])
    return others, tuple([a.dtype for a in public if isinstance(a, Tensor)])


def _examples(others: tuple, dtypes: tuple) -> tuple:
    of = iter(dtypes)
    return tuple([ops.zeros([1], dtype=next(of)) if k is None else k[1] for k in others])


@functools.cache
def _kept(op: Op, others: tuple, dtypes: tuple, wanting: int) -> int:
    """Which tensors the Node of such a call keeps, as `chains.Backward.kept` says it."""
    backward = chains.made_for(op, _examples(others, dtypes))[1]
    return -1 if backward is None else backward.kept(wanting)


def _derivatives(op: Op, public: tuple, needs: tuple[bool, ...], dtype: Any) -> Any:
    """The graph of a chain's gradients, from that of its result and its tensors, as eager traces it before it makes loops."""
    with below(0):
        return _derivative_graph(op, *_kinds(public), needs, dtype)


@functools.cache
def _derivative_graph(op: Op, others: tuple, dtypes: tuple, needs: tuple[bool, ...], dtype: Any) -> Any:
    public = _examples(others, dtypes)
    backward = chains.Backward(op, public)
    tensors = [a for a in public if isinstance(a, Tensor)]
    return make_fx(lambda g, *xs: backward.derivatives(g, xs, needs, True))(ops.zeros([1], dtype=dtype), *tensors).graph


def _again(graph: Any, g: Any, tensors: tuple) -> tuple:
    """The results of a graph of elementwise ops on tensors of other sizes than it was traced with. Where a result is the gradient
    it is that as it lies; loops of a chain run on what is row-major."""
    values: dict[Any, Any] = {}
    laid_out = g.contiguous()
    given = iter((laid_out, *tensors))
    for node in graph.nodes:
        args = map_arg(node.args, values.__getitem__)
        if node.op == "placeholder":
            values[node] = next(given)
        elif node.op == "output":
            spread = lambda x: x if x is None or x.shape == g.shape else ops.row_major(x.expand(list(g.shape)))
            return tuple([g if x is laid_out else spread(x) for x in args[0]])
        elif node.target.name in chains.THROUGH:
            values[node] = args[0]
        elif node.target.name == "full":
            values[node] = ops.full([], *args[1:], **node.kwargs)
        else:
            values[node] = node.target(*args, **node.kwargs)
    raise AssertionError("a graph without results")


_COMPOSITES: dict[str, Callable[[ExactLevel, Op, tuple], Any]] = {
    "matmul": _matmul,
    "linear": _linear,
    "split": _split,
    "chunk": _split,
    "unbind": _split,
    "batch_norm": _batch_norm,
    "group_norm": _without_history,
    "nansum": _nansum,
    **{f"{kind}_pool{n}d": _pool for kind in ("max", "avg") for n in (1, 2, 3)},
}

__all__ = ["ExactLevel"]
