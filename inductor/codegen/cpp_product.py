"""Matrix products in C++: the template of `inductor.templates.mm`, with loops' values as its epilogue."""

from __future__ import annotations

from aten.records import record
from aten.symbolic.expr import Expr, as_expr, to_cpp
from inductor.codegen.cpp_values import ValueWriter
from inductor.codegen.cpp_vector import MEMORY, symbol_lines
from inductor.codegen.kernel import Plan, Scope
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.loops import Nest, Store
from inductor.ir.narrow import narrowed
from inductor.lowering.operations import Matrix
from inductor.templates import mm


@record(frozen=True)
class ProductBody:
    """The body of a product's kernel: [batch…, M, K] @ [batch…, K, N], each element then going through `epilogue`."""

    sizes: tuple[Expr, ...]
    k: Expr
    a: Matrix
    b: Matrix
    batch: tuple[Expr, ...]  # the batch dim as the operands' strides see it
    epilogue: Nest

    def preamble(self) -> str:
        """What stands once before such kernels."""
        return mm.preamble()

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        return f"product [{sizes}] over {self.k}: {self.a.buffer} @ {self.b.buffer}\n{self.epilogue}"


class EpilogueWriter(ValueWriter):
    """Stores of a product's elements: `store_vector` writes them for one vector along a row."""

    def __init__(self, kernel: Kernel, nest: Nest, buffers: dict[str, Buffer], ranges: dict):
        nest, axis = narrowed(nest, ranges), nest.dims[-1]
        super().__init__(kernel, Plan(nest, "point", axis, nest.dims[:-1], ()), ranges)
        self.buffers, self.stores = buffers, [s for s in nest.statements if isinstance(s, Store)]
        self.rows["acc"] = 2
        self.scopes = [Scope(frozenset()), Scope(frozenset({"row"})), Scope(frozenset({"col"}))]  # of a call, a row, a vector
        self.touched = {name: k for k, name in enumerate(kernel.args)}

    @property
    def running(self) -> set[str]:
        return {"acc"}

    def declare(self) -> list[str]:
        """Pointers and sizes."""
        lines = [*symbol_lines(self.kernel.symbols, "sym"), f"constexpr int L = {self.lanes}; constexpr w_all n = {{}}; (void)n;"]
        for name, k in self.touched.items():
            T = MEMORY[self.buffers[name].dtype]
            const = "" if name in self.kernel.writes else "const "
            lines.append(f"{const}{T} *const b{k} = ({const}{T} *)buf[{k}]; (void)b{k};")
        return lines

    def outside(self, depth: int) -> list[str]:
        """Lines of what is the same for a whole call (depth 0) or row (1); complete once the vectors have been written."""
        return self.scopes[depth].lines

    def store_vector(self, acc: str, batch: str, row: str, col: str, lanes: int, tail: str | None) -> list[str]:
        """Lines that compute and store everything for `lanes` elements from [batch, row, col] on."""
        self.lanes = lanes
        scope = self.scopes[2]
        scope.lines, scope.names, scope.inverses, scope.firsts = [], {}, {}, {}
        self.named_rows["acc"] = acc
        values = [self.emit(s.value) for s in self.stores]
        stores = [self.store_line(s, v) for s, v in zip(self.stores, values)]
        names = [("batch", batch), ("row", row), ("col", col)]
        head = [f"const long {n} = {text};" for n, text in names if n != text]
        mask = "constexpr w_all n = {};" if tail is None else f"const w_some n = w_tail({tail});"
        return ["{", f"  {mask}", *("  " + x for x in (*head, *scope.lines, *stores)), "}"]


def render_product(kernel: Kernel, buffers: dict[str, Buffer], ranges: dict, isa) -> str:
    """The text of a product's kernel; stands after the preamble and the prelude."""
    body: ProductBody = kernel.body
    names = {s.value: f"sym[{k}]" for k, s in enumerate(kernel.symbols)}

    def size(e: Expr) -> int | str:
        e = as_expr(e)
        return e.value if e.is_const else to_cpp(e, ranges, names)

    def operand(m: Matrix) -> mm.Operand:
        *batch, row, col = map(size, m.strides)
        return mm.Operand(kernel.args.index(m.buffer), m.dtype, row, col, tuple(batch), size(m.offset))

    rows, cols = map(size, body.sizes[-2:])
    spec = mm.MatmulSpec(rows, cols, size(body.k), operand(body.a), operand(body.b), tuple(map(size, body.batch)))
    comments = [f"// {line}" for line in kernel.lines]
    return "\n".join([*comments, mm.render_mm(spec, epilogue_of(kernel, buffers, ranges, size), kernel.name, mm.Isa(isa.bytes))])


def epilogue_of(kernel: Kernel, buffers: dict[str, Buffer], ranges: dict, size):
    """A plain store where the epilogue is nothing more, else compiled lines."""
    body: ProductBody = kernel.body
    stores = [s for s in body.epilogue.statements if isinstance(s, Store)]
    if len(stores) == 1 and stores[0].value.kind == "row":
        from inductor.ir.index import coefficient, without

        s, steps, offset = stores[0], [], stores[0].index
        for d in body.epilogue.dims:
            steps.append(coefficient(s.index, d.name))
            if steps[-1] is None:
                break
            offset = without(offset, d.name)
        else:
            *outer, row, col = steps
            if len(outer) == len(body.batch) or not outer:
                return mm.StoreEpilogue(
                    kernel.args.index(s.buffer), s.dtype, size(row), size(col), tuple(map(size, outer)), size(offset)
                )
            outer = (outer[0] * body.batch[1], outer[0])
            return mm.StoreEpilogue(
                kernel.args.index(s.buffer), s.dtype, size(row), size(col), tuple(map(size, outer)), size(offset)
            )
    return EpilogueWriter(kernel, body.epilogue, buffers, ranges)
