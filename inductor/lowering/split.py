"""Reductions in two kernels, for devices: where few results are made of many elements each, a program a result would leave most
of a GPU idle. The first kernel reduces parts of them side by side, the second one what the parts gave, in their order."""

from __future__ import annotations

from aten.symbolic.expr import ONE, Expr, as_expr, le, lt, prod_
from inductor import choices
from inductor.ir import nodes
from inductor.ir.index import coefficient, unflatten
from inductor.ir.loops import Reduction, loop_variables
from inductor.ir.nodes import FLOATS, Node, const
from inductor.lowering.value import Value, domain, reindex


def in_parts(graph, x: Value, kind: str, dims: tuple[int, ...], dtype: str) -> Value | None:
    """The first kernel's result: the reduction `kind` of x along `dims` for each of some parts of them, which are its last
    dim. None where one kernel is enough."""
    if graph.device == "cpu" or kind.startswith("arg"):
        return None
    left = [d for d in range(x.rank) if d not in dims]
    length, results = prod_(x.sizes[d] for d in dims), prod_(x.sizes[d] for d in left)
    parts = _parts(graph, length, results, _along_rows(x, dims))
    if parts == 1:
        return None
    piece = length // parts if length.is_const and length.value % parts == 0 else (length + (parts - 1)) // parts
    sizes = (*(x.sizes[d] for d in left), as_expr(parts), piece)
    i = loop_variables(len(sizes))
    at = i[-2] * piece + i[-1]
    known = {**graph.ranges, **domain(sizes)}

    def where(i: tuple[Expr, ...]) -> list[Expr]:
        found = dict(zip(dims, unflatten(at, [x.sizes[d] for d in dims], known)))
        found.update(zip(left, i))
        return [found[d] for d in range(x.rank)]

    body = reindex(x, sizes, where, graph.ranges).body
    if not length.is_const or length.value % parts:
        body = nodes.masked(graph.condition(lt(at, length), sizes), body, neutral(kind, dtype))
    loops = Reduction(sizes, (len(sizes) - 1,), kind, dtype, body)
    return graph.computed(loops, dtype, sizes[:-1], (len(sizes) - 1,))


def _along_rows(x: Value, dims: tuple[int, ...]) -> bool:
    """Whether what x mostly reads lies side by side along the reduced dims."""
    unit = [{d for d in range(x.rank) if coefficient(n.index, f"i{d}") is ONE} for n in nodes.loads([x.body])]
    return any(found & {*dims} for found in unit) or not any(unit)


def _parts(graph, length: Expr, results: Expr, rows: bool) -> int:
    """In how many parts a reduction is cut; sizes that are symbols are guarded to be on the side of the limit where they are."""
    least = choices.LEAST_SPLIT if rows else choices.LEAST_SPLIT_COLUMN
    if not _at_least(graph, length, least):
        return 1
    most = choices.FEW_PROGRAMS * (1 if rows else choices.COLUMNS_A_PROGRAM)
    if _at_least(graph, results, most):
        return 1
    hints = graph.all_hints()
    programs = max(1, choices.size(results, hints) // (1 if rows else choices.COLUMNS_A_PROGRAM))
    n = choices.size(length, hints)
    wanted = min(choices.MANY_PROGRAMS // programs, n // (least // 4))
    power = 1 << (max(wanted, 1).bit_length() - 1)
    if length.is_const and n % power:
        near = [p for p in range(power // 2 + 1, 2 * power) if n % p == 0]
        return min(near, key=lambda p: abs(p - power)) if near else power
    return power


def _at_least(graph, size: Expr, least: int) -> bool:
    if size.is_const:
        return size.value >= least
    hints = graph.all_hints()
    if graph.env is None or not size.free_symbols <= hints.keys():
        return False
    found = choices.size(size, hints) >= least
    graph.env.guard(le(least, size) if found else lt(size, least))
    return found


def neutral(kind: str, dtype: str) -> Node:
    """What changes no reduction of the kind."""
    if kind in ("sum", "prod", "any", "all"):
        return const({"sum": 0, "prod": 1, "any": False, "all": True}[kind], dtype)
    if dtype in FLOATS:
        return const(float("-inf") if kind == "max" else float("inf"), dtype)
    if dtype == "bool":
        return const(kind != "max", dtype)
    bits = int(dtype.lstrip("uint"))
    low, high = (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return const(low if kind == "max" else high, dtype)
