"""The matrix product as C++ text: `out[b, i, j] = sum_k a[b, i, k] * b[b, k, j]` with the rest of the kernel fused in.

`render_mm(spec, epilogue, name)` gives one kernel. Loops, packing and register tiles are not in it: they are
`aten/native/gemm_kernel.h`, built with the package once for each instruction set and type, the same code that eager
products run; a kernel reaches them through `rt->gemm` and so compiles in a few milliseconds. What is rendered is what
differs between products: sizes, where the operands are or how their elements are computed (`Operand.load`), and what
becomes of the sums (the epilogue). Tiles are planned at run time, so a symbolic size costs nothing.

The order of the sum over k is a function of k and, for a single row or column, of the layout: see `gemm.h`. Results
never depend on the number of threads, on alignment, or on the instruction set.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

import aten
from aten.records import field, record

Size = int | str  # a number, or C text over `sym[...]`

DTYPE_CODES = {"float16": 9, "bfloat16": 10, "float32": 11, "float64": 12}  # WeftDType
MAX_BATCH = 6  # WEFT_GEMM_MAX_BATCH


@record(frozen=True)
class Isa:
    """The part of the processor that text depends on: `bytes` in a vector register, 64 (AVX-512) or 32 (AVX2)."""

    bytes: int = 64

    @staticmethod
    @cache
    def native() -> Isa:
        """This machine's, from the flags in /proc/cpuinfo (those of x86-64-v4 make 64)."""
        flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
        wide = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
        return Isa(64 if flags and wide <= set(flags[1].split()) else 32)


LoadVector = Callable[[str, str, str, str, str, int, "str | None"], list[str]]
"""`load(name, batch, row, col, along, lanes, tail) -> lines` that declare the vector `name` of `lanes` elements of the
operand (float, or double for float64 products), starting at [batch, row, col] and running `along` "row" or "col" (row
+ 1, … or col + 1, …). `batch` is the linear batch index. `tail` is None or C text: how many lanes exist; only those
may be read, the others' value is free. `along` is the direction in `Operand.along`."""


@record(frozen=True)
class Operand:
    """Where a matrix is: a: [M, K], b: [K, N], for each batch.

    buf[slot] points to `dtype` elements; element [batch…, row, col] is at
    `offset + sum(batch_i * batch_strides[i]) + row * row_stride + col * col_stride`, all in elements.
    With `load`, elements are what that hook computes (a layer norm, an activation's backward), as vectors running
    `along` a direction; slot, strides and offset are then not used.
    """

    slot: int
    dtype: str
    row_stride: Size
    col_stride: Size
    batch_strides: tuple[Size, ...] = ()
    offset: Size = 0
    load: LoadVector | None = field(default=None, compare=False)
    along: str = "col"


@record(frozen=True)
class MatmulSpec:
    """[batch…, M, K] @ [batch…, K, N]. `batch` are the batch sizes, outermost first, at most 6 (collapse what can be);
    an operand that is broadcast over one has stride 0 there. Sums are float64 if an operand is, else float32."""

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
    """What becomes of the sums. The lines see `buf`, `sym` and `rt`, as the kernel does."""

    def declare(self) -> list[str]:
        """Lines at the top of the store function: pointers, constants."""

    def store_vector(self, acc: str, batch: str, row: str, col: str, lanes: int, tail: str | None) -> list[str]:
        """Lines that consume the vector `acc` = out[batch, row, col : col + lanes], of float (double for float64);
        `batch` is the linear batch index. `tail`: None, or C text of how many lanes are part of the result: no others
        may be read or written elsewhere."""

    def outside(self, depth: int) -> list[str]:
        """Lines for what those of `store_vector`, which has been called before, have in common: in all of a call (depth 0), in
        a row (1)."""


@record(frozen=True)
class StoreEpilogue:
    """out = alpha * acc + bias[col] + beta * out, rounded to `dtype`: nothing to compile. Slot and strides of `out` are
    as an Operand's; `bias` is the slot of n contiguous elements of `dtype`, or None."""

    slot: int
    dtype: str
    row_stride: Size
    col_stride: Size = 1
    batch_strides: tuple[Size, ...] = ()
    offset: Size = 0
    bias: int | None = None
    alpha: float = 1.0
    beta: float = 0.0


@cache
def preamble() -> str:
    """What a translation unit needs once before kernels of `render_mm`; includes nothing.

    Declares WeftKernelRuntime unless WEFT_KERNEL_RUNTIME is defined (by who has declared it already).
    """
    text = (Path(aten.__file__).parent / "native" / "gemm.h").read_text()
    return KERNEL_RUNTIME + re.sub(r"\n\s*\n+", "\n", re.sub(r"[ \t]*//[^\n]*", "", text))


KERNEL_RUNTIME = """\
#ifndef WEFT_KERNEL_RUNTIME
#define WEFT_KERNEL_RUNTIME
typedef struct WeftErrorRecord { long check, value, bound; } WeftErrorRecord;
typedef struct WeftKernelRuntime {
  void (*parallel_for)(long n, long grain, void (*body)(void *ctx, long begin, long end, long worker), void *ctx);
  void *(*scratch)(long worker, long bytes);
  long num_threads;
  WeftErrorRecord *error;
  const struct WeftGemmTable *gemm;
} WeftKernelRuntime;
#endif
"""

ENVIRONMENT = "struct Env { void *const *buf; const long *sym; const WeftKernelRuntime *rt; };"
UNPACK = """\
  void *const *const buf = ((const Env *)env)->buf; (void)buf;
  const long *const sym = ((const Env *)env)->sym; (void)sym;
  const WeftKernelRuntime *const rt = ((const Env *)env)->rt; (void)rt;"""


def render_mm(spec: MatmulSpec, epilogue: Epilogue | StoreEpilogue, name: str, isa: Isa | None = None) -> str:
    """C++ text of `extern "C" long name(void *const *buf, const long *sym, const WeftKernelRuntime *rt)`.

    Stands after `preamble()` in its translation unit; its other names are in namespace `name` + "_". K = 0 gives zeros
    to the epilogue; M, N or a batch size of 0 does nothing. Raises ValueError for a dtype that has no product here, or
    too many batch sizes.
    """
    for operand in (spec.a, spec.b):
        if operand.load is None and operand.dtype not in DTYPE_CODES:
            raise ValueError(f"a matrix product of {operand.dtype} has no template")
    if len(spec.batch) > MAX_BATCH:
        raise ValueError(f"a matrix product over {len(spec.batch)} batch dimensions; at most {MAX_BATCH}")
    scalar = "double" if spec.dtype == "float64" else "float"
    lanes = (isa or Isa.native()).bytes // (8 if scalar == "double" else 4)

    helpers = [render_load(which, operand, scalar, lanes)
               for which, operand in (("a", spec.a), ("b", spec.b)) if operand.load is not None]
    body = ["WeftGemm g = {};",
            f"g.m = {spec.m}, g.n = {spec.n}, g.k = {spec.k}, g.batch_ndim = {len(spec.batch)};",
            *[f"g.batch_sizes[{d}] = {size};" for d, size in enumerate(spec.batch)],
            *operand_lines("g.a", "a", spec.a), *operand_lines("g.b", "b", spec.b)]
    if isinstance(epilogue, StoreEpilogue):
        body += output_lines(epilogue, spec.dtype)
    else:
        helpers.append(render_store(epilogue, spec, scalar, lanes))
        body.append("g.store = put, g.store_env = &env;")
    both = all(operand.load is None and operand.dtype == "bfloat16" for operand in (spec.a, spec.b))
    run = "bfloat16" if both else spec.dtype
    if helpers:
        helpers = [f"namespace {{ namespace {name}_ {{", ENVIRONMENT, *helpers, "}}"]
        body = [f"using namespace {name}_;", "const Env env = {buf, sym, rt};", *body]
    return "\n".join([
        *helpers,
        f'extern "C" long {name}(void *const *buf, const long *sym, const WeftKernelRuntime *rt) {{',
        *indent(body, 1),
        f"  return rt->gemm->run_{run}(&g, rt);",
        "}",
        "",
    ])


def operand_lines(place: str, which: str, operand: Operand | StoreEpilogue) -> list[str]:
    """Fill a WeftGemmOperand."""
    if isinstance(operand, Operand) and operand.load is not None:
        return [f"{place}.load = load_{which}, {place}.along_rows = {int(operand.along == 'row')}, g.load_env = &env;"]
    code = DTYPE_CODES[operand.dtype]
    size = {9: 2, 10: 2, 11: 4, 12: 8}[code]
    return [f"{place}.data = (const char *)buf[{operand.slot}] + {size} * ({operand.offset});",
            f"{place}.dtype = {code}, {place}.row_stride = {operand.row_stride}, "
            f"{place}.col_stride = {operand.col_stride};",
            *[f"{place}.batch_strides[{d}] = {stride};" for d, stride in enumerate(operand.batch_strides)]]


def output_lines(out: StoreEpilogue, dtype: str) -> list[str]:
    bias = [] if out.bias is None else [f"o.bias = buf[{out.bias}];"]
    return ["WeftGemmOutput o = {};", *operand_lines("o.out", "", out), *bias,
            f"o.gemm = &g, o.alpha = {float(out.alpha)!r}, o.beta = {float(out.beta)!r};",
            f"g.store = rt->gemm->store_{dtype}, g.store_env = &o;"]


def vector_type(scalar: str, lanes: int) -> str:
    """Declares VecU, to read a vector from anywhere."""
    size = lanes * (8 if scalar == "double" else 4)
    return (f"  typedef {scalar} Vec __attribute__((vector_size({size}))); "
            f"typedef {scalar} VecU __attribute__((vector_size({size}), aligned({size // lanes}), may_alias));")


def render_load(which: str, operand: Operand, scalar: str, lanes: int) -> str:
    """`load_a` or `load_b`: WeftGemmOperand.load by the operand's hook, a vector at a time."""
    assert operand.load is not None
    step = ("row0 + l", "col0 + i") if operand.along == "row" else ("row0 + i", "col0 + l")

    def vector(tail: str | None) -> list[str]:
        return [*indent(operand.load("x", "batch", "row", "col", operand.along, lanes, tail), 4),
                "        *(VecU *)(to + l) = x;"]

    return "\n".join([
        f"void load_{which}(const void *env, long batch, long row0, long col0, long lines, long length, void *start, "
        "long ld) {",
        UNPACK, vector_type(scalar, lanes),
        f"  {scalar} *to = ({scalar} *)start;",
        "  for (long i = 0; i < lines; i++, to += ld)",
        f"    for (long l = 0; l < length; l += {lanes}) {{",
        f"      const long row = {step[0]}, col = {step[1]}, tail = length - l;",
        f"      if (tail >= {lanes}) {{", *vector(None), "      } else {", *vector("tail"), "      }",
        "    }", "}"])


def render_store(epilogue: Epilogue, spec: MatmulSpec, scalar: str, lanes: int) -> str:
    """`put`: WeftGemm.store by the epilogue, a vector at a time, the columns beyond whole vectors last."""
    def vector(tail: str | None) -> list[str]:
        return ["      Vec acc = *(const VecU *)(sums + j);",
                *indent(epilogue.store_vector("acc", "batch", "row", "col", lanes, tail), 3)]

    inner = [f"    for (; j + {lanes} <= cols; j += {lanes}) {{", "      const long col = col0 + j;", *vector(None), "    }"]
    if not (isinstance(spec.n, int) and spec.n % lanes == 0):
        inner += ["    if (j < cols) {", "      const long col = col0 + j, tail = cols - j;", *vector("tail"), "    }"]
    lines = ["void put(const void *env, long batch, long row0, long rows, long col0, long cols, const void *from, "
             "long ld) {", UNPACK, vector_type(scalar, lanes), f"  const {scalar} *sums = (const {scalar} *)from;",
             *indent(epilogue.declare(), 1),
             *indent(epilogue.outside(0), 1),
             "  for (long i = 0; i < rows; i++, sums += ld) {",
             "    const long row = row0 + i;",
             *indent(epilogue.outside(1), 2),
             "    long j = 0;", *inner]
    return "\n".join([*lines, "  }", "}"])


def indent(lines: list[str], depth: int) -> list[str]:
    return ["  " * depth + line for line in lines]
