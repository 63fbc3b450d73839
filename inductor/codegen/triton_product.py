"""A matrix product in Triton: tiles of the result, with the loops' values as the epilogue of each."""

from __future__ import annotations

from aten.symbolic.expr import Expr, prod_
from inductor.codegen.kernel import Plan, Scope
from inductor.codegen.triton_values import ValueText, text_of
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.loops import Store
from inductor.lowering.operations import Matrix

BLOCKS = {"BM": 16, "BN": 16, "BK": 16}


class ProductWriter(ValueText):
    """One product as a Triton function: the grid runs over tiles of columns, tiles of rows, and the batch, as one number: its
    second and third dims end at 65535."""

    def __init__(self, kernel: Kernel, buffers: dict[str, Buffer], ranges: dict):
        nest = kernel.body.epilogue
        super().__init__(kernel, Plan(nest, "tile", nest.dims[-1], (), ()), buffers, ranges)
        self.nest, self.body, self.name = nest, kernel.body, f"{kernel.name}_0"
        self.rows["acc"] = 0

    def constants(self) -> dict[str, int]:
        return dict(BLOCKS)

    def grid(self) -> str:
        *batch, m, n = self.body.sizes
        return f"(cdiv({text_of(n)}, {BLOCKS['BN']}) * cdiv({text_of(m)}, {BLOCKS['BM']}) * {text_of(prod_(batch))},)"

    def zeros(self, scope: Scope) -> str:
        return "(row * 0 + col * 0)"

    def shape(self, scope: Scope) -> str:
        return "[BM, BN]"

    def lanes_in(self, scope: Scope) -> str:
        return " & ".join(["inside", *self.masks])

    def operand(self, m: Matrix, row: str, col: str, mask: str) -> str:
        *batch, by_row, by_col = m.strides
        at = f"{text_of(m.offset)} + {row} * {text_of(by_row)} + {col} * {text_of(by_col)}"
        if len(batch) == 2:
            inner = text_of(self.body.batch[1])
            at += f" + batch // {inner} * {text_of(batch[0])} + batch % {inner} * {text_of(batch[1])}"
        elif batch:
            at += f" + batch * {text_of(batch[0])}"
        return f"tl.load({self.argument(m.buffer)} + {at}, mask={mask}, other=0)"

    def function(self) -> str:
        body = self.body
        m, n = body.sizes[-2:]
        symbols = [s.value for s in self.kernel.symbols]
        args = [
            *(f"b{k}" for k in range(len(self.kernel.args))),
            "failed",
            *symbols,
            *(f"{b}: tl.constexpr" for b in BLOCKS),
        ]
        wide = "tl.float64" if body.a.dtype == "float64" else "tl.float32"
        lines = [
            "tile = tl.program_id(0).to(tl.int64)",
            f"columns = tl.full([], 1, tl.int64) * {tiles(n, 'BN')}",
            f"rows = tl.full([], 1, tl.int64) * {tiles(m, 'BM')}",
            "batch = tile // (columns * rows)",
            "row = (tile // columns % rows * BM + tl.arange(0, BM))[:, None]",
            "col = (tile % columns * BN + tl.arange(0, BN))[None, :]",
            f"inside = (row < {text_of(m)}) & (col < {text_of(n)})",
            f"acc = tl.zeros([BM, BN], {wide})",
            f"for start in range(0, {text_of(body.k)}, BK):",
            "    across = (start + tl.arange(0, BK)).to(tl.int64)[None, :]",
            "    down = (start + tl.arange(0, BK)).to(tl.int64)[:, None]",
            f"    left = {self.operand(body.a, 'row', 'across', f'(row < {text_of(m)}) & (across < {text_of(body.k)})')}",
            f"    right = {self.operand(body.b, 'down', 'col', f'(down < {text_of(body.k)}) & (col < {text_of(n)})')}",
            '    acc = tl.dot(left, right, acc, input_precision="ieee")',
        ]
        scope = self.scopes[0]
        stores = [s for s in self.nest.statements if isinstance(s, Store)]
        values = [self.emit(s.value) for s in stores]
        for s, value in zip(stores, values):
            value = f"{value}.to(tl.int8)" if s.dtype == "bool" else value
            scope.lines.append(self.store_line(s, value, scope))
        head = f"def {self.name}({', '.join(args)}):"
        return "\n".join(["", "@triton.jit", head, *("    " + line for line in (*lines, *scope.lines)), ""])


def tiles(size: Expr, block: str) -> str:
    """How many tiles a dim has, at least one, as text inside a kernel."""
    if size.is_const:
        return str(max(1, -(-size.value // BLOCKS[block])))
    return f"tl.maximum(({text_of(size)} + {block} - 1) // {block}, 1)"
