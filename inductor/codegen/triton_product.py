"""A matrix product in Triton: tiles of the result, with the loops' values as the epilogue of each.

Programs that run side by side have rows and columns in common (GROUP of rows at a time), so that operands come out of the
second-level cache. float32 is multiplied as float32, or as TF32 on tensor cores where `set_float32_matmul_precision` allows.
"""

from __future__ import annotations

from aten import _native
from aten.records import record
from aten.symbolic.expr import Expr, prod_
from inductor import choices
from inductor.codegen.kernel import Plan, Scope
from inductor.codegen.triton_function import Function, named
from inductor.codegen.triton_tiles import power_of_two
from inductor.codegen.triton_values import ValueText
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.loops import Dim, Store
from inductor.lowering.operations import Matrix

GROUP = 8
SMALLEST = 16  # side of a tile that a tensor core takes
AMBIENT_PRECISION = 3 << 3  # WEFT_AMBIENT_MATMUL_PRECISION of weft.h


@record(frozen=True)
class Blocks:
    """The tile of a product: rows, columns, and how much of the sum a step takes."""

    m: int
    n: int
    k: int
    warps: int
    stages: int


# The large tile for each kind of product, and the one where that would leave processors without work. What tensor cores do not
# multiply is 64 sums a thread: a shorter step leaves it registers for the operands.
LARGE = {
    "half": Blocks(128, 128, 64, 8, 4),
    "tf32": Blocks(128, 64, 32, 4, 3),
    "float32": Blocks(128, 128, 16, 8, 3),
    "float64": Blocks(64, 64, 16, 8, 2),
}
SMALL = {
    "half": Blocks(64, 64, 64, 4, 4),
    "tf32": Blocks(64, 64, 32, 4, 3),
    "float32": Blocks(64, 64, 32, 4, 3),
    "float64": Blocks(64, 32, 16, 4, 2),
}
FEW_TILES = 128


def blocks_of(m: int, n: int, k: int, batch: int, kind: str) -> Blocks:
    """The tile of a product of likely sizes; sides are no longer than a power of two about the matrix's own."""
    large = LARGE[kind]
    tiles = -(-m // large.m) * -(-n // large.n) * batch
    b = large if tiles >= FEW_TILES else SMALL[kind]
    rows, columns = (min(side, max(SMALLEST, power_of_two(size))) for side, size in ((b.m, m), (b.n, n)))
    depth = min(b.k, max(SMALLEST, power_of_two(k)))
    return Blocks(rows, columns, depth, min(b.warps, max(1, rows * columns // 512)), b.stages)


class ProductWriter(ValueText):
    """One product as a Triton function: the grid runs over tiles of columns, tiles of rows, and the batch, as one number: its
    second and third dims end at 65535."""

    def __init__(self, kernel: Kernel, buffers: dict[str, Buffer], ranges: dict, hints: dict, narrow: bool):
        nest = kernel.body.epilogue
        super().__init__(kernel, Plan(nest, "tile", nest.dims[-1], (), ()), buffers, ranges, narrow)
        self.nest, self.body = nest, kernel.body
        self.rows["acc"] = 0
        self.named["acc"] = "acc"
        body = self.body
        m, n = body.sizes[-2:]
        batch = prod_(body.sizes[:-2])
        rows, columns, depth, batches = (choices.size(e, hints, 512) for e in (m, n, body.k, batch))
        kind = "tf32" if self.precision() == "tf32" else body.a.dtype if body.a.dtype in LARGE else "half"
        self.blocks = blocks_of(rows, columns, depth, batches, kind)
        self.dims = {d.name: d for d in nest.dims}
        matrices = (body.a, body.b)
        exprs = [*body.sizes, body.k, *body.batch, *(e for x in matrices for e in (x.offset, *x.strides))]
        exprs += [s.index for s in nest.statements if isinstance(s, Store)]
        self.sized = frozenset().union(*(e.free_symbols for e in exprs)) - self.dims.keys()

    def variable(self, name: str) -> str | None:
        return name if name in self.dims else None

    def joined(self, e: Expr) -> tuple[Expr, dict[str, str]]:
        return e, {}

    def present(self, scope: Scope) -> list[str]:
        return ["row", "col"]

    def address(self, buffer: str, e: Expr, where, scope: Scope) -> str:
        text = f"{self.argument(buffer)} + {self.index(e, where)}"
        missing = [d for d in ("row", "col") if d not in e.free_symbols or where]
        return " + ".join([text, *(f"{d} * 0" for d in missing)])

    def shape(self, scope: Scope) -> str:
        return "[BM, BN]"

    def lanes_in(self, scope: Scope) -> str:
        inside = ["inside"] if self.edges else []
        return " & ".join([*inside, *self.masks])

    def operand(self, m: Matrix, row: tuple[str, bool], col: tuple[str, bool]) -> str:
        """The line's right side that loads a block of an operand. `row`, `col`: its variables, and whether they may lie beyond
        the end (of the sum: rows and columns of the result that do not exist read what exists and are not stored)."""
        *batch, by_row, by_col = m.strides
        places = as_places(self, m)
        at = f"{places(m.offset)} + {row[0]} * {places(by_row)} + {col[0]} * {places(by_col)}"
        if len(batch) == 2:
            inner = places(self.body.batch[1])
            at += f" + batch // {inner} * {places(batch[0])} + batch % {inner} * {places(batch[1])}"
        elif batch:
            at += f" + batch * {places(batch[0])}"
        tests = [f"({name} < n_k)" for name, beyond in (row, col) if beyond]
        mask = f", mask={tests[0]}, other=0" if tests else ""
        return f"tl.load({self.argument(m.buffer)} + {at}{mask})"

    def precision(self) -> str:
        """How float32 operands are multiplied; of other dtypes it says nothing."""
        return "tf32" if self.body.a.dtype == "float32" and _native.ambient() & AMBIENT_PRECISION else "ieee"

    def function(self) -> Function:
        body, b = self.body, self.blocks
        m, n = body.sizes[-2:]
        largest = self.fits_whole()
        wide = "" if largest else ".to(tl.int64)"
        accumulator = "tl.float64" if body.a.dtype == "float64" else "tl.float32"
        rest = {"m": beyond(m, b.m), "n": beyond(n, b.n), "k": beyond(body.k, b.k)}
        self.edges = rest["m"] or rest["n"]
        text_m, text_n, text_k = (self.places(e) for e in (m, n, body.k))
        lines = [
            f"tile = tl.program_id(0){wide}",
            f"rows = {self.places(tiles(m, b.m))}",
            f"columns = {self.places(tiles(n, b.n))}",
            "batch = tile // (rows * columns)",
            "tile = tile % (rows * columns)",
            f"group = tile // ({GROUP} * columns)",
            f"height = tl.minimum(rows - group * {GROUP}, {GROUP})",
            f"tile = tile % ({GROUP} * columns)",
            f"row = ((group * {GROUP} + tile % height) * BM + tl.arange(0, BM))[:, None]",
            "col = (tile // height * BN + tl.arange(0, BN))[None, :]",
            f"n_k = {text_k}",
            f"up = {f'row % {text_m}' if rest['m'] else 'row'}",
            f"aside = {f'col % {text_n}' if rest['n'] else 'col'}",
            f"acc = tl.zeros([BM, BN], {accumulator})",
            f"for start in range(0, {text_k}, BK):",
            f"    across = (start + tl.arange(0, BK))[None, :]{wide}",
            f"    down = (start + tl.arange(0, BK))[:, None]{wide}",
            f"    left = {self.operand(body.a, ('up', False), ('across', rest['k']))}",
            f"    right = {self.operand(body.b, ('down', rest['k']), ('aside', False))}",
            f'    acc = tl.dot(left, right, acc, input_precision="{self.precision()}")',
        ]
        if self.edges:
            lines.append(f"inside = (row < {text_m}) & (col < {text_n})")
        scope = self.scopes[0]
        stores = [s for s in self.nest.statements if isinstance(s, Store)]
        values = [self.emit(s.value) for s in stores]
        for s, value in zip(stores, values):
            value = f"{value}.to(tl.int8)" if s.dtype == "bool" else value
            scope.lines.append(self.store_line(s, value, scope))
        constants = (("BM", b.m), ("BN", b.n), ("BK", b.k))
        parameters = tuple(self.arguments.values())
        names = ", ".join([*(p.name for p in parameters), *(f"{name}: tl.constexpr" for name, _ in constants)])
        body_lines = (f"    {line}" for line in (*lines, *scope.lines))
        name, text = named("product", "\n".join(["", "", "@triton.jit", f"def NAME({names}):", *body_lines, ""]))
        grid = tiles(m, b.m) * tiles(n, b.n) * prod_(body.sizes[:-2])
        return Function(name, text, parameters, constants, grid, b.warps, b.stages)

    def fits_whole(self) -> bool:
        """Whether every place of the operands is counted in 32 bits."""
        return all(self.fits(e) for e in (*map(self.reach, (self.body.a, self.body.b)), prod_(self.body.sizes)))

    def reach(self, m: Matrix) -> Expr:
        """About the last place of an operand, a block beyond its end included."""
        *batch, by_row, by_col = m.strides
        sizes = [*(self.body.batch if len(batch) == 2 else self.body.sizes[:-2][-len(batch) :] if batch else ())]
        total = m.offset + (self.body.sizes[-2] + self.body.k + self.body.sizes[-1] + 512) * (by_row + by_col)
        for size, step in zip(sizes, batch):
            total = total + size * step
        return total


def as_places(writer: ProductWriter, m: Matrix):
    """Strides and offsets as text, in the width of the loops' places."""
    return lambda e: writer.places(e, narrow=True)


def beyond(size: Expr, block: int) -> bool:
    """Whether a last block may reach beyond the end."""
    return not size.is_const or size.value % block != 0


def tiles(size: Expr, block: int) -> Expr:
    """How many tiles a dim has."""
    return (size + (block - 1)) // block


__all__ = ["Blocks", "Dim", "ProductWriter", "blocks_of"]
