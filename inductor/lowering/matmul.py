"""Matrix products: templates that read their operands by strides."""

from __future__ import annotations

from inductor.lowering.registry import NotLowered, lowering

MATRIX_DTYPES = ("float32", "float64", "bfloat16", "float16")


@lowering("mm")
def mm(graph, a, b):
    """[M, K] @ [K, N]"""
    if a.dtype not in MATRIX_DTYPES or b.dtype != a.dtype:
        raise NotLowered(f"a matrix product of {a.dtype}")
    if any(type(s) is int and s == 0 for s in graph.out.sizes):
        raise NotLowered("a matrix product without elements")
    return graph.matmul(a, b)


@lowering("bmm")
def bmm(graph, a, b):
    """[B, M, K] @ [B, K, N]"""
    return mm(graph, a, b)
