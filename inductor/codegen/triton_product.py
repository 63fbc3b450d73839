"""A matrix product in Triton: tiles of the result, with the loops' values as the epilogue of each."""

from __future__ import annotations

from aten.symbolic.expr import prod_
from inductor.codegen.kernel import Plan, Scope
from inductor.codegen.triton import ValueText, text_of
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.loops import Store
from inductor.lowering.graph import Matrix

BLOCKS = {"BM": 16, "BN": 16, "BK": 16}


class ProductWriter(ValueText):
    """One product as a Triton function: the grid runs over tiles of columns, tiles of rows, and the batch."""

    def __init__(self, kernel: Kernel, buffers: dict[str, Buffer], ranges: dict):
        nest = kernel.body.epilogue
        super().__init__(kernel, Plan(nest, "tile", nest.dims[-1], (), ()), buffers, ranges)
        self.nest, self.body, self.name = nest, kernel.body, f"{kernel.name}_0"
        self.rows["acc"] = 0

    def constants(self) -> dict[str, int]:
        return dict(BLOCKS)

    def grid(self) -> str:
        *batch, m, n = self.body.sizes
        return f"(cdiv({text_of(n)}, {BLOCKS['BN']}), cdiv({text_of(m)}, {BLOCKS['BM']}), {text_of(prod_(batch))})"

    def zeros(self, scope: Scope) -> str:
        return "(row * 0 + col * 0)"

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
            "batch = tl.program_id(2)",
            "row = (tl.program_id(1) * BM + tl.arange(0, BM)).to(tl.int64)[:, None]",
            "col = (tl.program_id(0) * BN + tl.arange(0, BN)).to(tl.int64)[None, :]",
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
