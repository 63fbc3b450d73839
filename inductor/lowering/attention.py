"""Attention on a device: tile by tile, so that no score is stored. Which calls are lowered so `inductor.decompositions` says."""

from __future__ import annotations

from collections.abc import Sequence

from aten.symbolic.expr import Expr, as_expr, substitute, sym
from inductor.ir import nodes
from inductor.ir.index import flat, row_major
from inductor.ir.loops import loop_variables
from inductor.ir.nodes import Node, const
from inductor.ir.scalar import apply
from inductor.lowering.operations import Attention, Domain
from inductor.lowering.random import number
from inductor.lowering.registry import lowering
from inductor.lowering.sorting import on_device
from inductor.lowering.value import Value, broadcast, of_buffer

ROW, COL, DEPTH, WIDTH = map(sym, ("row", "col", "e", "w"))


class Tiles:
    """The operands of one attention as loads by (batch…, row or col, e or w), and its parts as operations."""

    def __init__(self, graph, batch: Sequence[Expr], query: Value, key: Value, value: Value, mask, causal: bool, scale):
        self.graph, self.batch = graph, tuple(batch)
        self.domain = Domain(self.batch, query.sizes[-2], key.sizes[-2], query.sizes[-1], value.sizes[-1])
        self.dtype = query.dtype
        self.operands = {
            "query": self.operand(query, ROW, DEPTH),
            "key": self.operand(key, COL, DEPTH),
            "value": self.operand(value, COL, WIDTH),
        }
        self.mask = None if mask is None else self.over_scores(mask)
        self.keep: Node | None = None
        self.causal, self.scale = bool(causal), as_expr(scale)

    @property
    def variables(self) -> tuple[Expr, ...]:
        return loop_variables(len(self.batch))

    def operand(self, x: Value, place: Expr, across: Expr) -> Node:
        """A load of x, which is stored first if it is anything else."""
        if x.buffer_load is None or x.body.args or self.graph.buffers[x.body.buffer].dtype != x.dtype:
            x = self.graph.realize(x)
        return broadcast(x, (*self.batch, *x.sizes[-2:])).load([*self.variables, place, across])

    def over_scores(self, x: Value) -> Node:
        """What x says of each score. An index that is checked is so once, before."""
        if any(n.kind in ("checked", "row") for n in nodes.walk([x.body])):
            x = self.graph.realize(x)
        return broadcast(x, (*self.batch, self.domain.rows, self.domain.columns)).load([*self.variables, ROW, COL])

    def drop(self, p: float, seed, offset) -> None:
        """Every weight is 0 with probability p, by the numbers that `dropout` of the weights would draw."""
        sizes = (*self.batch, self.domain.rows, self.domain.columns)
        place = nodes.index(flat([*self.variables, ROW, COL], row_major(sizes)))
        drawn = nodes.call("uniform", (number(seed), number(offset), place), "float32")
        kept = apply("ge", drawn, const(float(p), "float32"))
        self.keep = apply("where", kept, const(1 / (1 - p), "float32"), const(0.0, "float32"))

    def result(self, dtype: str, *sizes: Expr) -> Value:
        return of_buffer(self.graph.new_buffer(dtype, (*self.batch, *sizes)))

    def part(self, kind: str, **results: tuple[Value, Expr, Expr | None]) -> None:
        """The operation that computes one part. `results`: by what it makes, (value, row or col, e or w)."""
        stores = {}
        for name, (x, place, across) in results.items():
            index = substitute(x.body.index, {f"i{len(self.batch)}": place})
            stores[name] = (x.body.buffer, index if across is None else substitute(index, {f"i{len(self.batch) + 1}": across}))
        made = Attention(
            kind, self.domain, dict(self.operands), stores, self.mask, self.keep, self.causal, self.scale, self.dtype,
            self.graph.lines(),
        )  # fmt: skip
        self.graph.operations.append(made)

    def forward(self) -> Value:
        out = self.result(self.dtype, self.domain.rows, self.domain.width)
        self.part("forward", out=(out, ROW, WIDTH))
        return out

    def backward(self, grad: Value, output: Value) -> tuple[Value, Value, Value]:
        """The gradients of query, key and value: of the query by rows, which leaves what a row of scores adds up to for the
        other two, by columns."""
        d = self.domain
        self.operands["grad"] = self.operand(grad, ROW, WIDTH)
        self.operands["output"] = self.operand(output, ROW, WIDTH)
        gq, gk = self.result(self.dtype, d.rows, d.depth), self.result(self.dtype, d.columns, d.depth)
        gv = self.result(self.dtype, d.columns, d.width)
        sums, weighted = self.result("float32", d.rows), self.result("float32", d.rows)
        self.part("rows", query=(gq, ROW, DEPTH), sums=(sums, ROW, None), weighted=(weighted, ROW, None))
        del self.operands["output"]
        for name, x in (("sums", sums), ("weighted", weighted)):
            self.operands[name] = x.load([*self.variables, ROW])
        self.part("columns", key=(gk, COL, DEPTH), value=(gv, COL, WIDTH))
        return gq, gk, gv


def tiles(graph, query, key, value, mask, causal, scale) -> Tiles:
    """Of an op whose (first) result's batch sizes are those of the whole."""
    on_device(graph)  # (elsewhere what stays whole is the op itself)
    out = graph.out[0] if isinstance(graph.out, (tuple, list)) else graph.out
    return Tiles(graph, graph.sizes(out)[:-2], query, key, value, mask, causal, scale)


@lowering("scaled_dot_product_attention")
def attention(graph, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, **_):
    """softmax(query @ keyᵀ * scale + mask) @ value"""
    return tiles(graph, query, key, value, attn_mask, is_causal, scale).forward()


@lowering("dropout_attention")
def dropout_attention(graph, query, key, value, attn_mask, is_causal, scale, p, seed, offset):
    """The same, of weights that are dropped."""
    made = tiles(graph, query, key, value, attn_mask, is_causal, scale)
    made.drop(p, seed, offset)
    return made.forward()


@lowering("scaled_dot_product_attention_backward")
def attention_backward(graph, grad, query, key, value, attn_mask, output, is_causal, scale):
    """Gradients of query, key and value."""
    return tiles(graph, query, key, value, attn_mask, is_causal, scale).backward(grad, output)


@lowering("dropout_attention_backward")
def dropout_attention_backward(graph, grad, query, key, value, attn_mask, output, is_causal, scale, p, seed, offset):
    """Gradients of query, key and value, the same weights being dropped."""
    made = tiles(graph, query, key, value, attn_mask, is_causal, scale)
    made.drop(p, seed, offset)
    return made.backward(grad, output)
