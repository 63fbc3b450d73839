"""What a schedule is made of: buffers, the steps that fill them, and their order.

A `Schedule` is the compiler's last value before a Program: it says what runs, on which buffers, in which order, but not
where buffers lie in memory (`inductor.schedule.memory.plan` decides that). Sizes, strides and offsets are Exprs of the
graph's symbols, in elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aten._native import dtypes
from aten.records import field, record

if TYPE_CHECKING:
    from aten.symbolic.expr import Expr
    from inductor.ir.loops import Nest

ITEMSIZE = {dtype.name: dtype.itemsize for dtype in dtypes}
PARTS = {"complex64": "float32", "complex128": "float64"}  # of a complex number, two of which it is in memory


@record(frozen=True)
class Buffer:
    """A tensor that kernels and ops read or write.

    `kind` is "input" (an argument of the graph), "computed" (memory that some step fills) or "view" (of `base`, another
    buffer that is not a view, from `offset` elements after the base's first element).
    """

    name: str
    dtype: str
    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    kind: str = "computed"
    base: str | None = None
    offset: Expr | int = 0
    device: str = "cpu"

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        strides = ", ".join(map(str, self.strides))
        of = "" if self.base is None else f" of {self.base} + {self.offset}"
        return f"{self.name}: {self.dtype}[{sizes}] strides ({strides}){of}"


@record(frozen=True)
class Ref:
    """In the arguments of an Extern: the tensor in the buffer of this name."""

    name: str

    def __str__(self) -> str:
        return self.name


@record(frozen=True)
class Check:
    """What a kernel verifies and may report as failed: a row of the Program's table of checks."""

    op: str  # the op that would have raised, such as "embedding" or "floor_divide"
    argument: str  # "index", "divisor"
    line: str  # the user's line, "file.py:12  x[i]"


@record
class Kernel:
    """One generated function, `WeftKernel` of weft.h.

    args     names of the buffers handed to it, in order: `buffers[i]` is the address of the first element of args[i]
    writes   those of them that it writes
    symbols  what `symbols[i]` holds, in order: symbols of the graph. An int is passed as it is, a float as its 64 bits
    body     what it computes: the loop nests, or a template with its epilogue
    lines    the user's lines that it comes from
    checks   what it may report: it returns 1 + index into this table, having written nothing that is visible
    work     about how many elements it visits, for whoever decides about threads and the GIL
    """

    name: str
    args: tuple[str, ...]
    writes: tuple[str, ...]
    symbols: tuple[Expr, ...] = ()
    body: tuple[Nest, ...] | Any = ()
    lines: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    work: Expr | int = 0

    def __str__(self) -> str:
        parts = map(str, self.body) if isinstance(self.body, tuple) else [str(self.body)]
        lines = [f"{self.name}({', '.join(self.args)})  writes {', '.join(self.writes)}"]
        lines += [f"    # {line}" for line in self.lines]
        return "\n".join([*lines, *("    " + line for part in parts for line in part.splitlines())])


@record
class Extern:
    """Run the aten op named `op` into the buffers `outputs` (made beforehand, with their strides).

    `args` and `kwargs` hold Refs, numbers, strings, None, Exprs, dtype names as `DTypeName`, and tuples of these. With
    `allocates`, the op returns its results instead and their sizes are known only then: the sizes of these outputs are
    unbacked symbols of the graph.
    """

    op: str
    args: tuple
    kwargs: dict[str, Any]
    outputs: tuple[str, ...]
    lines: tuple[str, ...] = ()
    allocates: bool = False

    def __str__(self) -> str:
        given = [str(a) for a in self.args] + [f"{k}={v}" for k, v in self.kwargs.items()]
        return f"{', '.join(self.outputs)} = aten.{self.op}({', '.join(given)})"


@record(frozen=True)
class DTypeName:
    """In the arguments of an Extern: a dtype."""

    name: str


@record
class Schedule:
    """Steps in execution order.

    inputs   one entry an argument of the graph: the name of an input buffer, or the symbol that the argument is
    buffers  every buffer that a step or an output names, by name
    outputs  one entry an output of the graph: the name of a buffer, an Expr (a size), or None. A mutated input that the
             kernels have written in place stands as that input's own name
    mutated  the input buffers that are written
    """

    inputs: tuple[str | Expr, ...]
    buffers: dict[str, Buffer]
    steps: list[Kernel | Extern]
    outputs: tuple[str | Expr | None, ...]
    mutated: tuple[str, ...] = ()
    symbols: tuple[Expr, ...] = field(default=())

    def __str__(self) -> str:
        buffers = "\n".join(f"    {b}" for b in self.buffers.values())
        outputs = ", ".join(map(str, self.outputs))
        return f"buffers\n{buffers}\n" + "\n".join(map(str, self.steps)) + f"\nreturn ({outputs})"
