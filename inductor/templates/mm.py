"""The matrix product as C++ text: `out[b, i, j] = sum_k a[b, i, k] * b[b, k, j]` with the rest of the kernel fused in.

`render_mm(spec, epilogue, name)` gives one kernel. The loops, the packing and the register tile are
`aten/native/gemm_kernel.h`, the same text that eager products are built from; it is pasted once into a translation
unit by `preamble()`. What is rendered here is small: how a panel of each operand is read (`Operand`, with a hook where
its elements are computed), how a finished piece of the result is stored (the epilogue), and the sizes.

Order of the sum over k: see gemm_kernel.h. It depends on K alone, except that one row times a matrix with contiguous
columns of K (`plan_tiles(...).path == "dot"`) is summed in 32 interleaved chains. Results never depend on the number
of threads or on alignment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

import aten

Size = int | str  # a number, or C text over `sym[...]`

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "bfloat16": "weft_gemm::bfloat16",
    "float16": "weft_gemm::float16",
}


@dataclass(frozen=True)
class Isa:
    """The part of the processor that decides the tile: `bytes` in a vector register, 64 (AVX-512) or 32 (AVX2)."""

    bytes: int = 64

    @property
    def rows(self) -> int:
        """Rows of the largest register tile of two vectors, as in gemm_kernel.h."""
        return 14 if self.bytes == 64 else 6

    def lanes(self, T: str) -> int:
        return self.bytes // (8 if T == "double" else 4)

    @staticmethod
    @cache
    def native() -> Isa:
        """This machine's, from the flags in /proc/cpuinfo (those of x86-64-v4 make 64)."""
        flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
        wide = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
        return Isa(64 if flags and wide <= set(flags[1].split()) else 32)


LoadVector = Callable[[str, str, str, str, str, int, "str | None"], list[str]]
"""`load(name, batch, row, col, along, lanes, tail) -> lines` that declare the vector `name` of `lanes` elements of the
operand, starting at [batch, row, col] and running `along` "row" or "col" (row + 1, … or col + 1, …). `tail` is None or
C text: how many lanes exist; only those may be read, the others' value is free. `along` is the direction in
`Operand.along`."""


@dataclass(frozen=True)
class Operand:
    """Where a matrix [rows, cols] (for each batch) is: a: [M, K], b: [K, N].

    buf[slot] points to `dtype` elements; element [batch…, row, col] is at
    `offset + sum(batch_i * batch_strides[i]) + row * row_stride + col * col_stride`, all in elements.
    With `load`, elements are what that hook computes (a layer norm, an activation's backward, a cast), as vectors
    running `along` a direction, and slot and strides are not used.
    """

    slot: int
    dtype: str
    row_stride: Size
    col_stride: Size
    batch_strides: tuple[Size, ...] = ()
    offset: str = "0"
    load: LoadVector | None = field(default=None, compare=False)
    along: str = "col"


@dataclass(frozen=True)
class MatmulSpec:
    """[batch…, M, K] @ [batch…, K, N]. `batch` are the batch sizes, outermost first; an operand that is broadcast over
    one has stride 0 there. Computed in float64 if an operand is float64, else in float32."""

    m: Size
    n: Size
    k: Size
    a: Operand
    b: Operand
    batch: tuple[Size, ...] = ()

    @property
    def dtype(self) -> str:
        return "float64" if "float64" in (self.a.dtype, self.b.dtype) else "float32"


class Epilogue(Protocol):
    """What becomes of the sums. The lines see `buf`, `sym` and `rt`, and everything in namespace weft_gemm."""

    def declare(self) -> list[str]:
        """Lines at the top of the store function: pointers, constants."""

    def store_vector(self, acc: str, batch: str, row: str, col: str, lanes: int, tail: str | None) -> list[str]:
        """Lines that consume the vector `acc` = out[batch, row, col : col + lanes] (`batch` is the linear batch
        index). `tail`: None, or C text of how many lanes are part of the result: no others may be read or written."""


@dataclass(frozen=True)
class StoreEpilogue:
    """out = acc (+ bias[col]) (+ out), rounded to `dtype`. `batch` and `batch_strides` as in MatmulSpec."""

    slot: int
    dtype: str
    row_stride: Size
    batch: tuple[Size, ...] = ()
    batch_strides: tuple[Size, ...] = ()
    offset: str = "0"
    bias: int | None = None
    accumulate: bool = False

    def declare(self) -> list[str]:
        scalar = C_TYPES[self.dtype]
        lines = [f"{scalar} *const out = ({scalar} *)buf[{self.slot}] + ({self.offset});"]
        if self.bias is not None:
            lines.append(f"const {scalar} *const bias = (const {scalar} *)buf[{self.bias}];")
        return lines

    def store_vector(self, acc: str, batch: str, row: str, col: str, lanes: int, tail: str | None) -> list[str]:
        where = f"out + {batch_offset(batch, self.batch, self.batch_strides)} + {row} * ({self.row_stride}) + {col}"
        T = "double" if self.dtype == "float64" else "float"

        def load(address: str) -> str:
            return f"load({address}, {T}())" if tail is None else f"load_part<{T}>({address}, {tail})"

        lines = [f"auto *const to = {where};"]
        if self.bias is not None:
            lines.append(f"{acc} += {load(f'bias + {col}')};")
        if self.accumulate:
            lines.append(f"{acc} += {load('to')};")
        return [*lines, f"store(to, {acc});" if tail is None else f"store_part(to, {acc}, {tail});"]


# --------------------------------------------------------------------------------------------------- sizes and tiles


def product(text: str, factor: Size) -> str:
    return "0" if factor == 0 else text if factor == 1 else f"{text} * ({factor})"


def batch_offset(batch: str, sizes: tuple[Size, ...], strides: tuple[Size, ...]) -> str:
    """C text of sum(index_i * strides[i]) where `batch` is the linear index over `sizes`."""
    terms, inner = [], "1"
    for position in reversed(range(len(sizes))):
        index = batch if inner == "1" else f"{batch} / ({inner})"
        if position > 0:
            index = f"({index}) % ({sizes[position]})"
        if strides[position] != 0:
            terms.append(product(f"({index})", strides[position]))
        inner = str(sizes[position]) if inner == "1" else f"{inner} * ({sizes[position]})"
    return f"({' + '.join(terms)})" if terms else "0"


@dataclass(frozen=True)
class Tiles:
    """How a product is done. path: "tiles", or for one row (or one column) of result "row" (b's columns contiguous)
    or "dot" (k contiguous). `swapped`: one column, done as one row of the transposed product."""

    path: str
    rows: int = 1
    vectors: int = 1
    column_block: int = 128
    narrow: bool = False  # the last tile of columns needs one vector only
    direct_rows: int = 0  # up to this many rows, b is read where it is
    swapped: bool = False


def plan_tiles(spec: MatmulSpec, isa: Isa) -> Tiles:
    """Tile and path by shape. Changes speed, and the order of the sum only between "dot" and the others."""
    lanes = isa.lanes(C_TYPES[spec.dtype])
    if spec.m == 1 and spec.b.load is None and 1 in (spec.b.row_stride, spec.b.col_stride):
        return Tiles("row" if spec.b.col_stride == 1 else "dot")
    if spec.n == 1 and spec.a.load is None and 1 in (spec.a.row_stride, spec.a.col_stride):
        return Tiles("row" if spec.a.row_stride == 1 else "dot", swapped=True)

    rows = isa.rows
    if isinstance(spec.m, int) and spec.m > 0:  # the same number of tiles, as low as they can be
        rows = -(-spec.m // -(-spec.m // rows))
    vectors = 4 if rows <= (6 if isa.bytes == 64 else 2) else 2  # 8 chains hide the latency of an fma
    width = vectors * lanes
    narrow = isinstance(spec.n, int) and 0 < spec.n % width <= lanes
    block = 128 if width <= 64 else 2 * width
    if isinstance(spec.n, int) and spec.n < block:
        block = -(-spec.n // width) * width
    return Tiles("tiles", rows, vectors, max(block, width), narrow, direct_rows=2 * isa.rows)


# -------------------------------------------------------------------------------------------------------- rendering


@cache
def preamble() -> str:
    """What a translation unit needs once before kernels of `render_mm`; includes nothing."""
    text = (Path(aten.__file__).parent / "native" / "gemm_kernel.h").read_text()
    text = re.sub(r"[ \t]*//[^\n]*", "", text)
    return KERNEL_RUNTIME + re.sub(r"\n\s*\n+", "\n", text)


KERNEL_RUNTIME = """\
#ifndef WEFT_KERNEL_RUNTIME
#define WEFT_KERNEL_RUNTIME
typedef struct WeftErrorRecord { long check, value, bound; } WeftErrorRecord;
typedef struct WeftKernelRuntime {
  void (*parallel_for)(long n, long grain, void (*body)(void *ctx, long begin, long end, long worker), void *ctx);
  void *(*scratch)(long worker, long bytes);
  long num_threads;
  WeftErrorRecord *error;
} WeftKernelRuntime;
#endif
"""


def render_mm(spec: MatmulSpec, epilogue: Epilogue, name: str, isa: Isa | None = None) -> str:
    """C++ text of `extern "C" long name(void *const *buf, const long *sym, const WeftKernelRuntime *rt)`.

    Stands after `preamble()` in its translation unit. Names in it other than `name` begin with `name` + "_".
    K = 0 gives zeros to the epilogue; M, N or a batch size of 0 does nothing. Raises ValueError for a dtype without
    a rule here.
    """
    for operand in (spec.a, spec.b):
        if operand.load is None and operand.dtype not in C_TYPES:
            raise ValueError(f"a matrix product of {operand.dtype} has no template")
    isa = isa or Isa.native()
    tiles = plan_tiles(spec, isa)
    T = C_TYPES[spec.dtype]
    lanes = isa.lanes(T)
    parts = [f"namespace {{ namespace {name}_ {{ using namespace weft_gemm;", ENVIRONMENT]
    if tiles.path == "tiles":
        parts += [render_a(spec, tiles, T, lanes), render_b(spec, tiles, T, lanes)]
        parts += [render_store(spec, epilogue, T, lanes)]
        sizes = tiles_struct(spec, tiles, T)
    else:
        parts += [render_vector(spec, tiles, T, lanes), render_vector_store(epilogue, tiles, T, lanes)]
        sizes = vector_struct(spec, tiles, T)
    return "\n".join([
        *parts,
        "}}",
        f'extern "C" long {name}(void *const *buf, const long *sym, const WeftKernelRuntime *rt) {{',
        f"  using namespace {name}_; using namespace weft_gemm;",
        "  const Env environment = {buf, sym, rt};",
        sizes,
        "  return run(g, rt);",
        "}",
        "",
    ])


ENVIRONMENT = "struct Env { void *const *buf; const long *sym; const WeftKernelRuntime *rt; };"
UNPACK = """\
  void *const *const buf = ((const Env *)env)->buf; (void)buf;
  const long *const sym = ((const Env *)env)->sym; (void)sym;
  const WeftKernelRuntime *const rt = ((const Env *)env)->rt; (void)rt;"""


def batch_size(spec: MatmulSpec) -> str:
    return " * ".join(f"({size})" for size in spec.batch) or "1"


def tiles_struct(spec: MatmulSpec, tiles: Tiles, T: str) -> str:
    by_k = str(by_k_layout(spec.a)).lower()
    kernel = f"micro<{T}, {tiles.rows}, {tiles.vectors}, {by_k}>"
    narrow = f"micro<{T}, {tiles.rows}, 1, {by_k}>" if tiles.narrow else "0"
    return (f"  const Gemm<{T}> g = {{{batch_size(spec)}, {spec.m}, {spec.n}, {spec.k}, {tiles.rows}, "
            f"{tiles.vectors} * lanes<{T}>, {tiles.column_block}, {kernel}, {narrow}, "
            "pack_a, pack_b, put, &environment};")


def vector_struct(spec: MatmulSpec, tiles: Tiles, T: str) -> str:
    length = spec.m if tiles.swapped else spec.n
    return f"  const Gemv<{T}> g = {{{batch_size(spec)}, {length}, {spec.k}, row, sums, put, &environment}};"


def by_k_layout(a: Operand) -> bool:
    """Whether a is packed as rows for each k, because rows are what is contiguous."""
    if a.load is not None:
        return a.along == "row"
    return a.row_stride == 1 and a.col_stride != 1


def address(operand: Operand, spec: MatmulSpec, row: str, col: str) -> str:
    """C text of the address of an element."""
    scalar = C_TYPES[operand.dtype]
    terms = [f"(const {scalar} *)buf[{operand.slot}]", f"({operand.offset})",
             batch_offset("batch", spec.batch, operand.batch_strides),
             product(row, operand.row_stride), product(col, operand.col_stride)]
    return " + ".join(term for term in terms if term not in ("0", "(0)"))


def render_a(spec: MatmulSpec, tiles: Tiles, T: str, lanes: int) -> str:
    """`pack_a`: a panel of `rows` <= mr rows of a."""
    a, mr = spec.a, tiles.rows
    head = (f"const {T} *pack_a(const void *env, long batch, long row, long rows, long k0, long kc, {T} *to) {{\n"
            f"{UNPACK}")
    if a.load is not None:
        return "\n".join([head, *computed_a(a, mr, T, lanes), "  return to;\n}"])
    scalar, p = C_TYPES[a.dtype], address(a, spec, "row", "k0")
    if by_k_layout(a):
        pack = f"pack_by_k<{T}, {scalar}>({p}, {a.col_stride}, rows, {mr}, kc, {spec.m} - row, to)"
    elif a.col_stride == 1:
        pack = f"pack_rows<{T}, {scalar}>({p}, {a.row_stride}, rows, {mr}, kc, {spec.k} - k0, to)"
    else:
        pack = f"pack_rows_strided<{T}, {scalar}>({p}, {a.row_stride}, {a.col_stride}, rows, {mr}, kc, to)"
    return f"{head}\n  {pack};\n  return to;\n}}"


def computed(operand: Operand, row: str, col: str, count: str, lanes: int, use: str, use_part: str) -> list[str]:
    """Lines in a block of their own: load the vector `x` at [row, col], of which `count` elements exist, and use it."""
    head = [f"    const long op_row = {row}, op_col = {col}, left = {count};"]
    whole = operand.load("x", "batch", "op_row", "op_col", operand.along, lanes, None)
    part = operand.load("x", "batch", "op_row", "op_col", operand.along, lanes, "left")
    return [*head, f"    if (left >= {lanes}) {{", *indent(whole, 3), f"      {use}", "    } else {",
            *indent(part, 3), f"      {use_part}", "    }"]


def computed_a(a: Operand, mr: int, T: str, lanes: int) -> list[str]:
    if a.along == "row":
        return [
            "  for (long k = 0; k < kc; k++)",
            f"  for (long i = 0; i < rows; i += {lanes}) {{",
            *computed(a, "row + i", "k0 + k", "rows - i", lanes, *[f"store(to + k * {mr} + i, x);"] * 2),
            "  }",
            f"  for (long k = 0; rows < {mr} && k < kc; k++) for (long i = rows; i < {mr}; i++) to[k * {mr} + i] = 0;",
        ]
    return [
        "  for (long i = 0; i < rows; i++)",
        f"  for (long k = 0; k < kc; k += {lanes}) {{",
        *computed(a, "row + i", "k0 + k", "kc - k", lanes, *[f"store(to + i * panel_stride<{T}> + k, x);"] * 2),
        "  }",
        f"  for (long i = rows; i < {mr}; i++) for (long k = 0; k < kc; k++) to[i * panel_stride<{T}> + k] = 0;",
    ]


def render_b(spec: MatmulSpec, tiles: Tiles, T: str, lanes: int) -> str:
    """`pack_b`: a panel of `cols` <= nr columns of b, packed, or where it is."""
    b = spec.b
    head = (f"const {T} *pack_b(const void *env, long batch, long k0, long kc, long col, long cols, long nr, {T} *to, "
            f"long *ld) {{\n{UNPACK}\n  *ld = nr;")
    if b.load is not None:
        return "\n".join([head, *computed_b(b, T, lanes), "  return to;\n}"])
    scalar, p = C_TYPES[b.dtype], address(b, spec, "k0", "col")
    if b.col_stride == 1:
        pack = f"pack_columns<{T}, {scalar}>({p}, {b.row_stride}, cols, nr, kc, to)"
        if scalar == T:
            head += (f"\n  if ({spec.m} <= {tiles.direct_rows} && cols == nr) {{ *ld = {b.row_stride}; return {p}; }}")
    elif b.row_stride == 1:
        pack = f"pack_columns_by_k<{T}, {scalar}>({p}, {b.col_stride}, cols, nr, kc, {spec.k} - k0, to)"
    else:
        pack = f"pack_columns_strided<{T}, {scalar}>({p}, {b.row_stride}, {b.col_stride}, cols, nr, kc, to)"
    return f"{head}\n  {pack};\n  return to;\n}}"


def computed_b(b: Operand, T: str, lanes: int) -> list[str]:
    if b.along == "col":
        return [
            "  for (long k = 0; k < kc; k++)",
            f"  for (long j = 0; j < nr; j += {lanes}) {{",
            f"    {T} *const p = to + k * nr + j;",
            f"    if (j >= cols) {{ store(p, Vec<{T}>{{}}); continue; }}",
            *computed(b, "k0 + k", "col + j", "cols - j", lanes, "store(p, x);",
                      f"store(p, Vec<{T}>{{}}); store_part(p, x, left);"),
            "  }",
        ]
    return [
        f"  for (long j = 0; j < nr; j += {lanes})",
        f"  for (long k = 0; k < kc; k += {lanes}) {{",
        f"    Vec<{T}> block[{lanes}] = {{}};",
        f"    for (long l = 0; l < {lanes} && j + l < cols; l++) {{",
        *computed(b, "k0 + k", "col + j + l", "kc - k", lanes, *["block[l] = x;"] * 2),
        "    }",
        f"    transpose<{T}>(block);",
        f"    for (long l = 0; l < {lanes} && k + l < kc; l++) store(to + (k + l) * nr + j, block[l]);",
        "  }",
    ]


def render_store(spec: MatmulSpec, epilogue: Epilogue, T: str, lanes: int) -> str:
    """`put`: a finished piece of the result, whole vectors first."""
    lines = ["void put(const void *env, long batch, long row0, long rows, long col0, long cols, "
             f"const {T} *sums, long ld) {{", UNPACK, *indent(epilogue.declare(), 1),
             "  for (long i = 0; i < rows; i++, sums += ld) {",
             "    const long row = row0 + i;",
             "    long j = 0;",
             f"    for (; j + {lanes} <= cols; j += {lanes}) {{",
             f"      const long col = col0 + j; Vec<{T}> acc = load(sums + j, {T}());",
             *indent(epilogue.store_vector("acc", "batch", "row", "col", lanes, None), 3),
             "    }"]
    if not (isinstance(spec.n, int) and spec.n % lanes == 0):
        lines += ["    if (j < cols) {",
                  f"      const long col = col0 + j, tail = cols - j; Vec<{T}> acc = load(sums + j, {T}());",
                  *indent(epilogue.store_vector("acc", "batch", "row", "col", lanes, "tail"), 3),
                  "    }"]
    return "\n".join([*lines, "  }\n}"])


def render_vector(spec: MatmulSpec, tiles: Tiles, T: str, lanes: int) -> str:
    """`row` (the vector, as T) and `sums` (its products with some columns of the matrix), for one row of result."""
    vector, matrix = (spec.b, spec.a) if tiles.swapped else (spec.a, spec.b)
    lines = [f"void row(const void *env, long batch, {T} *to) {{", UNPACK]
    place = (lambda k: (k, "0")) if tiles.swapped else (lambda k: ("0", k))
    if vector.load is not None and vector.along == ("row" if tiles.swapped else "col"):
        lines += [f"  for (long k = 0; k < {spec.k}; k += {lanes}) {{",
                  *computed(vector, *place("k"), f"{spec.k} - k", lanes, "store(to + k, x);",
                            "store_part(to + k, x, left);"),
                  "  }"]
    elif vector.load is not None:
        lines += [f"  for (long k = 0; k < {spec.k}; k++) {{",
                  *computed(vector, *place("k"), "1", lanes, *["to[k] = x[0];"] * 2), "  }"]
    else:
        stride = vector.row_stride if tiles.swapped else vector.col_stride
        lines += [f"  const {C_TYPES[vector.dtype]} *p = {address(vector, spec, '0', '0')};",
                  f"  for (long k = 0; k < {spec.k}; k++) to[k] = one(p + {product('k', stride)}, {T}());"]
    scalar = C_TYPES[matrix.dtype]
    start = address(matrix, spec, *(("col", "0") if tiles.swapped else ("0", "col")))
    along_k, along_n = ((matrix.col_stride, matrix.row_stride) if tiles.swapped else
                        (matrix.row_stride, matrix.col_stride))
    function, stride = ("row_times", along_k) if tiles.path == "row" else ("dot_rows", along_n)
    return "\n".join([*lines, "}",
                      f"void sums(const void *env, long batch, const {T} *a, long col, long cols, {T} *sum, "
                      f"{T} *part) {{",
                      UNPACK, f"  {function}<{T}, {scalar}>(a, {start}, {stride}, {spec.k}, cols, sum, part);", "}"])


def render_vector_store(epilogue: Epilogue, tiles: Tiles, T: str, lanes: int) -> str:
    head = [f"void put(const void *env, long batch, long col0, long cols, const {T} *sums) {{",
            UNPACK, *indent(epilogue.declare(), 1)]
    if tiles.swapped:  # one column: a vector with one lane for each row
        return "\n".join([*head, "  for (long i = 0; i < cols; i++) {",
                          f"    const long row = col0 + i; Vec<{T}> acc = splat<{T}>(sums[i]);",
                          *indent(epilogue.store_vector("acc", "batch", "row", "0L", lanes, "1L"), 2), "  }\n}"])
    return "\n".join([*head, "  long j = 0;", f"  for (; j + {lanes} <= cols; j += {lanes}) {{",
                      f"    const long col = col0 + j; Vec<{T}> acc = load(sums + j, {T}());",
                      *indent(epilogue.store_vector("acc", "batch", "0L", "col", lanes, None), 2), "  }",
                      "  if (j < cols) {",
                      f"    const long col = col0 + j, tail = cols - j; Vec<{T}> acc = load(sums + j, {T}());",
                      *indent(epilogue.store_vector("acc", "batch", "0L", "col", lanes, "tail"), 2), "  }\n}"])


def indent(lines: list[str], depth: int) -> list[str]:
    return ["  " * depth + line for line in lines]
