"""How a nest lies on a GPU, as data: which loops are the two axes of a program's tile, how large it is, and who runs it.

    points   kept dims along x, one program a block of them
    tiles    no reduced dims, two of which are walked by unit steps: the second along r, a program a block of both
    whole    the reduced dims along r, all of a row in one tile: what was loaded once is at hand for every stage
    looped   the reduced dims along r, in blocks

Sizes are for the large case: 1,024 elements a program, so that a thread holds 16 bytes of each operand, and warps of 256.
"""

from __future__ import annotations

from aten.records import record
from aten.symbolic.expr import prod_
from inductor import choices
from inductor.codegen.kernel import accesses, axis_scores
from inductor.ir.buffer import ITEMSIZE, Buffer
from inductor.ir.index import coefficient
from inductor.ir.loops import Accumulate, Dim, Nest, Reduce, Running

POINTS = 1024  # elements of a tile
WHOLE_ROW = 4096  # the longest row that a program holds in registers
LOOPED_ROW = 2048  # of a longer one, what it holds at a time
SIDE = 32  # of a square tile
COLUMNS = 64  # columns that are reduced side by side
PER_WARP = 256
MANY_STEPS = 8  # a loop of more has its end as an argument: of a constant one the compiler makes that many copies


@record(frozen=True)
class Tile:
    """See the module. `first` and `second` are the dims along the two axes, outermost first."""

    mode: str
    first: tuple[Dim, ...]
    second: tuple[Dim, ...]
    xblock: int
    rblock: int
    warps: int


def power_of_two(n: int) -> int:
    """The smallest that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def _warps(elements: int) -> int:
    return min(8, max(1, elements // PER_WARP))


def _extent(dims: tuple[Dim, ...], hints: dict[str, int]) -> int:
    return choices.size(prod_(d.size for d in dims), hints, 1 << 20)


def tile_of(nest: Nest, buffers: dict[str, Buffer], hints: dict[str, int]) -> Tile:
    """The tile of a nest; `hints` are likely values of symbols, which choose and never decide results."""
    if not nest.reduced or not any(isinstance(s, Reduce | Running) for s in nest.statements):
        return _points(nest, buffers, hints)  # sums into places are atomic: all dims are one
    return _rows(nest, buffers, hints)


def _points(nest: Nest, buffers: dict[str, Buffer], hints: dict[str, int]) -> Tile:
    votes = axis_scores(Nest(tuple(Dim(d.name, d.size) for d in nest.dims), nest.stages), buffers)
    dims = nest.dims
    last = max(dims, key=lambda d: (votes[d.name], dims.index(d))) if dims else None
    if last is not None and not any(isinstance(s, Accumulate) for s in nest.statements):
        steps = unit_steps(nest, buffers, last)
        across = [d for d in dims if d is not last and steps[d.name] and choices.size(d.size, hints) >= SIDE // 2]
        if across and choices.size(last.size, hints) >= SIDE // 2:
            other = max(across, key=lambda d: steps[d.name])
            first = (*(d for d in dims if d is not last and d is not other), last)
            return Tile("tiles", first, (other,), SIDE, SIDE, _warps(SIDE * SIDE))
    if last is not None and last is not dims[-1] and votes[last.name] > votes[dims[-1].name]:
        dims = (*(d for d in dims if d is not last), last)
    block = min(POINTS, max(128, power_of_two(_extent(dims, hints) // 128)))
    return Tile("points", dims, (), block, 1, _warps(block))


def unit_steps(nest: Nest, buffers: dict[str, Buffer], last: Dim) -> dict[str, int]:
    """For every dim the bytes an element that lie side by side along it, of operands that `last` walks through too: of others, such
    as a column or the rows that a table is asked for, one element is many points'."""
    found = dict.fromkeys((d.name for d in nest.dims), 0)
    for name, index in dict.fromkeys(accesses(nest)):
        if last.name not in index.free_symbols:
            continue
        for d in nest.dims:
            step = coefficient(index, d.name)
            if step is not None and step.is_const and step.value == 1:
                found[d.name] += ITEMSIZE[buffers[name].dtype] if name in buffers else 4
    return found


def _rows(nest: Nest, buffers: dict[str, Buffer], hints: dict[str, int]) -> Tile:
    votes = axis_scores(nest, buffers)
    kept, reduced = nest.kept, nest.reduced
    static = all(d.size.is_const for d in reduced)
    length, rows = _extent(reduced, hints), _extent(kept, hints)
    best = max((votes[d.name] for d in kept), default=0.0)
    sorts = any(isinstance(s, Running) and s.kind == "sort" for s in nest.statements)
    columns = rows > 1 and best > max(votes[d.name] for d in reduced) and not sorts
    if columns:
        inner = max(kept, key=lambda d: (votes[d.name], kept.index(d)))
        kept = (*(d for d in kept if d is not inner), inner)
    whole = static and power_of_two(length) <= (POINTS // SIDE * 2 if columns else WHOLE_ROW)
    r = power_of_two(length) if whole else POINTS // COLUMNS if columns else min(LOOPED_ROW, power_of_two(length))
    x = min(max(1, POINTS // r), power_of_two(rows)) if not columns else min(max(POINTS // r, SIDE), power_of_two(rows))
    return Tile("whole" if whole else "looped", kept, reduced, x, r, _warps(x * r))
