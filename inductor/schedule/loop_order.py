"""The loops of a nest, as few and as plain as its indices allow.

Dims of one element go; a dim that indices divide (`i // 32`, `i % 32`) is split there, so that indices become sums of
strides; neighbours that every index walks through without a gap become one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from aten.symbolic.expr import ONE, Expr, as_expr, evaluate, simplify, substitute, sym
from inductor.codegen.kernel import in_order, values_of
from inductor.ir.index import coefficient, divides, split_points, without
from inductor.ir.loops import Accumulate, Dim, Nest, Stage, Store
from inductor.ir.nodes import Node, rewrite_indices, walk


def tidy(nest: Nest, ranges: dict) -> Nest:
    """An equal nest with plain loops, its dims named i0, i1, … and r0, r1, …."""
    nest = map_indices(nest, {}, nest.dims, ranges)
    nest = split_dims(drop_single(nest, ranges), ranges)
    return renamed(merge_dims(nest, ranges), ranges)


def map_indices(nest: Nest, values: dict[str, Expr], dims: tuple[Dim, ...], ranges: dict) -> Nest:
    """The nest over other dims, the old variables being `values` of the new; every index simplified."""
    known = {**ranges, **{d.name: (as_expr(0), d.size - 1) for d in dims}}
    memo: dict[Node, Node] = {}
    swap = {k: as_expr(v) for k, v in values.items()}

    def index(e: Expr) -> Expr:
        return simplify(substitute(e, swap), known)

    def value(n: Node) -> Node:
        return rewrite_indices(n, index, memo)

    return Nest(dims, tuple(Stage(s.inner, tuple(_mapped(x, index, value) for x in s.body)) for s in nest.stages))


def _mapped(s, index: Callable, value: Callable):
    if isinstance(s, Store):
        return Store(s.buffer, index(s.index), value(s.value), s.dtype)
    if isinstance(s, Accumulate):
        where = tuple(map(value, s.where))
        renamed_symbols = {old.symbol.value: new.symbol for old, new in zip(s.where, where)}
        return Accumulate(s.buffer, index(substitute(s.index, renamed_symbols)), value(s.value), s.dtype, where, s.kind)
    return type(s)(**{**vars(s), "value": value(s.value)})


def exprs_of(nest: Nest) -> list[Expr]:
    """Every index of the nest: addresses, and indices used as data."""
    out: dict[Expr, None] = {}
    for stage in nest.stages:
        for n in walk(values_of(stage)):
            if n.kind in ("load", "index"):
                out[n.index] = None
        for s in stage.body:
            if isinstance(s, (Store, Accumulate)):
                out[s.index] = None
    return list(out)


def drop_single(nest: Nest, ranges: dict) -> Nest:
    gone = {d.name: as_expr(0) for d in nest.dims if d.size is ONE}
    if not gone:
        return nest
    return map_indices(nest, gone, tuple(d for d in nest.dims if d.name not in gone), ranges)


def split_dims(nest: Nest, ranges: dict) -> Nest:
    """Split every dim where indices divide it, innermost part first."""
    for _ in range(16):  # each round splits one dim once; sixteen levels are more than any view chain has
        exprs = exprs_of(nest)
        for position, d in enumerate(nest.dims):
            at = [p for p in split_points(exprs, d.name) if (q := divides(p, d.size)) is not None and q is not ONE]
            if at:
                nest = _split(nest, position, min(at, key=_magnitude), ranges)
                break
        else:
            return nest
    return nest


def _magnitude(e: Expr):
    return (e.value if e.is_const else evaluate(e, dict.fromkeys(e.free_symbols, 64)), str(e))


def _split(nest: Nest, position: int, inner: Expr, ranges: dict) -> Nest:
    d = nest.dims[position]
    outer = Dim(d.name + "a", divides(inner, d.size), d.reduced)
    within = Dim(d.name + "b", inner, d.reduced)
    dims = (*nest.dims[:position], outer, within, *nest.dims[position + 1 :])
    return map_indices(nest, {d.name: outer.var * inner + within.var}, dims, ranges)


def merge_dims(nest: Nest, ranges: dict) -> Nest:
    """Merge pairs of dims until none fits. Which of two loops is the outer one is free, except where the order of the
    reduced points shows in results."""
    ordered = in_order(nest)
    while True:
        exprs = exprs_of(nest)
        for a, b in permutations(nest.dims, 2):
            if a.reduced != b.reduced or (a.reduced and ordered and not _neighbours(nest, a, b)):
                continue
            if all(_walks_through(e, a, b) for e in exprs):
                nest = _merge(nest, a, b, ranges)
                break
        else:
            return nest


def _neighbours(nest: Nest, outer: Dim, inner: Dim) -> bool:
    """Whether `inner` is the next loop of its kind within `outer`."""
    dims = [d for d in nest.dims if d.reduced == outer.reduced]
    return dims.index(inner) == dims.index(outer) + 1


def _walks_through(e: Expr, outer: Dim, inner: Dim) -> bool:
    big, small = coefficient(e, outer.name), coefficient(e, inner.name)
    return big is not None and small is not None and big is small * inner.size


def _merge(nest: Nest, outer: Dim, inner: Dim, ranges: dict) -> Nest:
    joint = Dim(outer.name + "_" + inner.name, outer.size * inner.size, outer.reduced)
    dims = tuple(joint if d is inner else d for d in nest.dims if d is not outer)
    known = {**ranges, **{d.name: (as_expr(0), d.size - 1) for d in dims}}
    memo: dict[Node, Node] = {}

    def index(e: Expr) -> Expr:
        if not {outer.name, inner.name} & e.free_symbols:
            return e
        step = coefficient(e, inner.name)
        return simplify(without(without(e, outer.name), inner.name) + step * joint.var, known)

    def value(n: Node) -> Node:
        return rewrite_indices(n, index, memo)

    return Nest(dims, tuple(Stage(s.inner, tuple(_mapped(x, index, value) for x in s.body)) for s in nest.stages))


def renamed(nest: Nest, ranges: dict) -> Nest:
    """Kept dims are called i0, i1, …, reduced ones r0, r1, …."""
    counts, values, dims = [0, 0], {}, []
    for d in nest.dims:
        name = f"{'r' if d.reduced else 'i'}{counts[d.reduced]}"
        counts[d.reduced] += 1
        values[d.name] = sym(name)
        dims.append(Dim(name, d.size, d.reduced))
    return map_indices(nest, values, tuple(dims), ranges)
