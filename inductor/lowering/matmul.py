"""Matrix products: templates that read their operands by strides."""

from __future__ import annotations

from inductor import choices
from inductor.ir.loops import loop_variables
from inductor.ir.scalar import apply
from inductor.lowering.reduction import reduce
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value, number

MATRIX_DTYPES = ("float32", "float64", "bfloat16", "float16")


@lowering("mm")
def mm(graph, a, b):
    """[M, K] @ [K, N]"""
    if graph.device != "cpu" and a.dtype == b.dtype and a.dtype not in MATRIX_DTYPES:  # integers: no library's either
        return summed(graph, a, b)
    if a.dtype not in MATRIX_DTYPES or b.dtype != a.dtype:
        raise NotLowered(f"a matrix product of {a.dtype}")
    if any(type(s) is int and s == 0 for s in graph.out.sizes):
        if graph.device != "cpu":
            return number(0, a.dtype, graph.sizes(graph.out))
        raise NotLowered("a matrix product without elements")
    if a.rank == 2 and choices.scales_product(a.sizes[1], a.dtype):
        row, column = loop_variables(2)
        return Value(graph.sizes(graph.out), a.dtype, apply("mul", a.load([row, 0]), b.load([0, column])))
    if choices.sums_product(a.sizes[-2], b.sizes[-1], a.sizes[-1], a.rank == 3, graph.all_hints()):
        return summed(graph, a, b)
    return graph.matmul(a, b)


def summed(graph, a, b):
    """The product as sums in loops, with whatever its operands and its users compute."""
    i = loop_variables(a.rank + 1)  # batch…, row, column, term
    row, column, term = i[-3:]
    batch = i[:-3]
    sizes = (*graph.sizes(graph.out), a.sizes[-1])
    body = apply("mul", a.load([*batch, row, term]), b.load([*batch, term, column]))
    return reduce(graph, Value(sizes, graph.out.dtype.name, body), "sum", (a.rank,), False, graph.out.dtype.name)


@lowering("bmm")
def bmm(graph, a, b):
    """[B, M, K] @ [B, K, N]"""
    return mm(graph, a, b)
