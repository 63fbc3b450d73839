"""The parts of an attention in Triton: a program has a block of rows (or of columns) and walks along the other, with the sums of
each row as they are so far (Milakov & Gimelshein 2018; Dao 2023), so that scores are in registers alone.

Products of halves are added up in float32; the weights are rounded to the operands' dtype before they are multiplied, as for
any product. A row that sees nothing is 0.
"""

from __future__ import annotations

from aten import _native
from aten.records import record
from aten.symbolic.expr import Expr, as_expr, prod_
from inductor import choices
from inductor.codegen.kernel import Plan, Scope
from inductor.codegen.triton_function import Function, named
from inductor.codegen.triton_product import AMBIENT_PRECISION, SMALLEST, beyond, tiles
from inductor.codegen.triton_tiles import power_of_two
from inductor.codegen.triton_values import DTYPES, ValueText
from inductor.ir import nodes
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.index import row_major
from inductor.ir.loops import Dim, Nest
from inductor.lowering.operations import Attention

AXES = {"query": ("row", "e"), "grad": ("row", "w"), "output": ("row", "w"), "key": ("col", "e"), "value": ("col", "w")}


@record(frozen=True)
class Blocks:
    """How many rows (or columns) of scores a program has, and how many columns (or rows) it walks along at a time."""

    own: int
    walked: int
    warps: int
    stages: int


def blocks_of(kind: str, rows: int, columns: int, numbers: int, itemsize: int, drops: bool = False) -> Blocks:
    """The block of an attention of likely sizes; `numbers` is the larger of its depth and width, and `drops` says whether random
    numbers are drawn, of which a block takes as many registers again."""
    small = numbers <= 64
    if itemsize == 4:  # without tensor cores a thread holds its part of the operands
        own, walked, warps = (64, 32, 8) if kind == "forward" and small else (32, 16 if kind == "rows" and small else 32, 8)
    elif kind == "forward":
        own, walked, warps = (128, 64, 4) if small and not drops else (64, 64, 4)
    else:
        own, walked, warps = (64, 64, 4) if small else (64, 32, 4)
    sizes = (columns, rows) if kind == "columns" else (rows, columns)
    own, walked = (min(side, max(SMALLEST, power_of_two(size))) for side, size in zip((own, walked), sizes))
    stages = 3 if itemsize == 2 and kind == "forward" else 2
    return Blocks(own, walked, min(warps, max(1, own * max(walked, power_of_two(numbers)) // (128 * itemsize))), stages)


class AttentionWriter(ValueText):
    """One part of an attention as a Triton function: the grid runs over blocks of rows (or columns), then the batch.

    `row` and `col` run along the two axes of a block of scores, the program's own first; `along` is the walked one as the first
    axis of an operand."""

    def __init__(self, kernel: Kernel, buffers: dict[str, Buffer], ranges: dict, hints: dict, narrow: bool):
        self.body: Attention = kernel.body
        d = self.domain = self.body.domain
        sizes = {"row": d.rows, "col": d.columns, "e": d.depth, "w": d.width}
        dims = [Dim(f"i{k}", size) for k, size in enumerate(d.batch)] + [Dim(name, size) for name, size in sizes.items()]
        super().__init__(kernel, Plan(Nest(tuple(dims), ()), "tile", dims[-1], (), ()), buffers, ranges, narrow)
        self.own, self.walked = ("col", "row") if self.body.kind == "columns" else ("row", "col")
        self.sizes, self.dims = sizes, {dim.name: dim for dim in dims}
        rows, columns, numbers = (choices.size(e, hints, 1024) for e in (d.rows, d.columns, d.depth))
        numbers = max(numbers, choices.size(d.width, hints, 64))
        itemsize = 4 if self.body.dtype == "float32" else 2
        self.block = blocks_of(self.body.kind, rows, columns, numbers, itemsize, self.body.keep is not None)
        self.across = {"e": power_of_two(max(d.depth.value, SMALLEST)), "w": power_of_two(max(d.width.value, SMALLEST))}
        block = {self.own: self.block.own, self.walked: self.block.walked, **self.across}
        self.rest = {name: beyond(size, block[name]) for name, size in sizes.items()}
        exprs = [*d.batch, d.rows, d.columns, *(index for _, index in self.body.stores.values())]
        exprs += [n.index for n in nodes.loads([x for x in (*self.body.operands.values(), self.body.mask) if x is not None])]
        self.sized = frozenset().union(*(e.free_symbols for e in exprs)) - self.dims.keys()
        self.names = {self.walked: self.walked}

    # ---- places

    def variable(self, name: str) -> str | None:
        return self.names.get(name, name) if name in self.dims else None

    def joined(self, e: Expr) -> tuple[Expr, dict[str, str]]:
        return e, {}

    def present(self, scope: Scope) -> list[str]:
        return [self.own] if scope is self.scopes[0] else [self.own, self.walked]

    def address(self, buffer: str, e: Expr, where, scope: Scope) -> str:
        missing = [d for d in self.present(scope) if d not in e.free_symbols or where]
        return " + ".join([f"{self.argument(buffer)} + {self.index(e, where)}", *(f"{d} * 0" for d in missing)])

    def shape(self, scope: Scope) -> str:
        return f"[OWN, {1 if scope is self.scopes[0] else 'WALKED'}]"

    def lanes_in(self, scope: Scope) -> str:
        return " & ".join([*(self.inside(d) for d in self.present(scope) if self.rest[d]), *self.masks])

    def inside(self, axis: str) -> str:
        return f"({self.names.get(axis, axis)} < {self.places(self.sizes[axis])})"

    def block_at(self, buffer: str, e: Expr, axes: tuple[str, ...]) -> tuple[str, str]:
        """(address, mask or nothing) of a block of an operand or result along `axes`: row or col, and e or w if there are two."""
        if len(axes) == 2:
            self.names[self.walked] = "along"
        places = [self.names.get(a, a) for a in axes]
        at = " + ".join([f"{self.argument(buffer)} + {self.index(e)}", *(f"{a} * 0" for a in places)])
        mask = " & ".join(self.inside(a) for a in axes if self.rest[a])
        self.names[self.walked] = self.walked
        return at, mask and f", mask={mask}"

    def loaded(self, name: str) -> str:
        """The line that loads a block of an operand, or a number a row."""
        n = self.body.operands[name]
        at, mask = self.block_at(n.buffer, n.index, AXES.get(name, ("row",)))
        return f"{name} = tl.load({at}{mask and f'{mask}, other=0'})"

    def stored(self, name: str, value: str, axes: tuple[str, ...]) -> str:
        """The line that stores a block of a result."""
        buffer, index = self.body.stores[name]
        at, mask = self.block_at(buffer, index, axes)
        return f"tl.store({at}, {value}.to({DTYPES[self.buffers[buffer].dtype]}){mask})"

    # ---- arithmetic

    def dot(self, left: str, right: str, acc: str = "") -> str:
        precise = "tf32" if self.body.dtype == "float32" and _native.ambient() & AMBIENT_PRECISION else "ieee"
        return f'tl.dot({left}, {right}{acc and f", {acc}"}, input_precision="{precise}")'

    def by_pairs(self, of_rows: str, of_columns: str) -> str:
        """The product of every row's numbers with every column's."""
        left, right = (of_rows, of_columns) if self.own == "row" else (of_columns, of_rows)
        return self.dot(left, f"tl.trans({right})")

    def rounded(self, text: str) -> str:
        """Weights as the operand of a product."""
        return text if self.body.dtype == "float32" else f"{text}.to({DTYPES[self.body.dtype]})"

    def score_lines(self) -> None:
        """The lines that make `s`, the scores of a block: -inf where they do not exist or are not let be."""
        self.scopes[-1].lines.append(f"s = {self.by_pairs('query', 'key')} * scale")
        tests = [self.inside(a) for a in ("row", "col") if self.rest[a] and (a == "col" or self.own == "col")]
        if self.body.causal:
            tests.append("(col <= row)")
        mask = self.body.mask
        if mask is not None and mask.dtype == "bool":
            tests.append(self.emit(mask))
        elif mask is not None:
            self.scopes[-1].lines.append(f"s = s + {self.emit(mask)}")
        if tests:
            self.scopes[-1].lines.append(f's = tl.where({" & ".join(tests)}, s, float("-inf"))')

    def dropped(self, name: str) -> str:
        """The block `name` times what is kept of the weights."""
        return name if self.body.keep is None else f"({name} * {self.emit(self.body.keep)})"

    # ---- loops

    def loop(self, lines: list[str], write) -> None:
        """Walk along columns (or rows): `write()` adds the lines of a step to the innermost scope."""
        end = self.places(self.sizes[self.walked])
        begin = "0"
        if self.body.causal and self.own == "row":  # no key after the block's last row is seen
            end = f"tl.minimum({end}, (block + 1) * OWN)"
        elif self.body.causal:
            begin = "block * OWN // WALKED * WALKED"
        scope = self.open({self.walked})
        for name, axes in ((self.walked, "None, :"), ("along", ":, None")):
            scope.lines.append(f"{name} = (start + tl.arange(0, WALKED))[{axes}]{self.wide}")
        write()
        made = self.close().lines
        lines.append(f"for start in range({begin}, {end}, WALKED):")
        lines.extend("    " + line for line in made)

    def function(self) -> Function:
        d, b, lines = self.domain, self.block, self.scopes[0].lines
        self.wide = "" if self.narrow or all(self.fits(index) for _, index in self.indices()) else ".to(tl.int64)"
        blocks = tiles(self.sizes[self.own], b.own)
        lines += [
            f"tile = tl.program_id(0){self.wide}",
            f"blocks = {self.places(blocks)}",
            "block = tile % blocks",
            "batch = tile // blocks",
        ]
        for k, (size, step) in enumerate(zip(d.batch, row_major(d.batch))):
            lines.append(f"i{k} = batch // {self.places(step)} % {self.places(size)}")
        lines += [f"{name} = tl.arange(0, {size})[None, :]" for name, size in self.across.items()]
        lines += [f"scale = {self.scale_text()}", f"{self.own} = (block * OWN + tl.arange(0, OWN))[:, None]"]
        {"forward": self.rows_of_out, "rows": self.gradient_by_rows, "columns": self.gradients_by_columns}[self.body.kind](lines)
        constants = (("OWN", b.own), ("WALKED", b.walked))
        parameters = tuple(self.arguments.values())
        names = ", ".join([*(p.name for p in parameters), *(f"{name}: tl.constexpr" for name, _ in constants)])
        name, text = named("attention", "\n".join(["", "", "@triton.jit", f"def NAME({names}):", *(f"    {x}" for x in lines), ""]))
        return Function(name, text, parameters, constants, blocks * prod_(d.batch), b.warps, b.stages)

    def indices(self) -> list[tuple[str, Expr]]:
        return [*self.body.stores.values(), *((n.buffer, n.index) for n in nodes.loads(list(self.body.operands.values())))]

    def scale_text(self) -> str:
        scale = as_expr(self.body.scale)
        return repr(float(scale.value)) if scale.is_const else f"({self.computed(scale)} * 1.0).to(tl.float32)"

    def running_sums(self, and_then) -> None:
        """The lines of a step that bring `top` and `total`, a row's largest score and its sum of exponentials, up to date."""
        self.scopes[-1].lines.append(self.loaded("key"))
        self.score_lines()
        self.scopes[-1].lines += [
            "higher = tl.maximum(top, tl.max(s, 1)[:, None])",
            'base = tl.where(higher == float("-inf"), 0.0, higher)',  # nothing is seen so far
            "p = tl.exp(s - base)",
            "fade = tl.exp(top - base)",
            "total = total * fade + tl.sum(p, 1)[:, None]",
        ]
        and_then()
        self.scopes[-1].lines.append("top = higher")

    def start_of_sums(self) -> list[str]:
        return ['top = tl.full([OWN, 1], float("-inf"), tl.float32)', "total = tl.zeros([OWN, 1], tl.float32)"]

    def start_at_zero(self, name: str, across: str) -> str:
        return f"{name} = tl.zeros([OWN, {self.across[across]}], tl.float32)"

    def rows_of_out(self, lines: list[str]) -> None:
        lines += [self.loaded("query"), *self.start_of_sums(), self.start_at_zero("acc", "w")]

        def add() -> None:
            weights = self.rounded(self.dropped("p"))
            self.scopes[-1].lines += [self.loaded("value"), f"acc = {self.dot(weights, 'value', 'acc * fade')}"]

        self.loop(lines, lambda: self.running_sums(add))
        lines.append("out = acc / tl.where(total == 0, 1.0, total)")
        lines.append(self.stored("out", "out", ("row", "w")))

    def weight_lines(self) -> None:
        """The lines that make `p`, the weights of a block, and `gs`, the gradient of its scores."""
        step = self.scopes[-1].lines
        self.score_lines()
        step.append("p = tl.exp(s - sums)")
        step.append(f"gp = {self.by_pairs('grad', 'value')}")
        step.append(f"gs = p * ({self.dropped('gp')} - weighted)")

    def gradient_by_rows(self, lines: list[str]) -> None:
        lines += [self.loaded("query"), self.loaded("grad"), self.loaded("output")]
        lines.append("weighted = tl.sum(grad.to(tl.float32) * output.to(tl.float32), 1)[:, None]")
        lines += self.start_of_sums()
        self.loop(lines, lambda: self.running_sums(lambda: None))
        lines.append('sums = tl.where(total == 0, float("inf"), top + tl.log(total))')
        lines.append(self.start_at_zero("acc", "e"))

        def add() -> None:
            self.scopes[-1].lines += [self.loaded("key"), self.loaded("value")]
            self.weight_lines()
            self.scopes[-1].lines.append(f"acc = {self.dot(self.rounded('gs'), 'key', 'acc')}")

        self.loop(lines, add)
        lines.append(self.stored("query", "(acc * scale)", ("row", "e")))
        lines.append(self.stored("sums", "sums", ("row",)))
        lines.append(self.stored("weighted", "weighted", ("row",)))

    def gradients_by_columns(self, lines: list[str]) -> None:
        lines += [self.loaded("key"), self.loaded("value"), self.start_at_zero("by_key", "e"), self.start_at_zero("by_value", "w")]

        def add() -> None:
            step = self.scopes[-1].lines
            step += [self.loaded(name) for name in ("query", "grad", "sums", "weighted")]
            self.weight_lines()
            step.append(f"by_value = {self.dot(self.rounded(self.dropped('p')), 'grad', 'by_value')}")
            step.append(f"by_key = {self.dot(self.rounded('gs'), 'query', 'by_key')}")

        self.loop(lines, add)
        lines.append(self.stored("key", "(by_key * scale)", ("col", "e")))
        lines.append(self.stored("value", "by_value", ("col", "w")))


__all__ = ["AttentionWriter", "blocks_of"]
