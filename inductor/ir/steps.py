"""What Programs are made of: inputs, buffers, outputs, checks, and the kinds of steps. `inductor.ir.program` puts them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aten._native import dtypes
from aten.records import record

if TYPE_CHECKING:
    from inductor.ir.program import Program

DTYPES = [dtype.name for dtype in dtypes]


@record(frozen=True)
class Input:
    """One argument of a call: a tensor whose sizes and strides must equal the given values, or a Python number.

    `kind` is "tensor", "int", "float" or "bool"; `dtype`, `sizes`, `strides` and `device` are those of a tensor. `aligned`: its
    kernels rely on an address that 16 divides; one that lies otherwise is copied first.
    """

    kind: str
    dtype: str = ""
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    device: str = "cpu"
    aligned: bool = False


@record(frozen=True)
class Buffer:
    """Memory of one call.

    kind      where it lies                                     `base`            `offset` (a value)
    input     in an argument                                    input             -
    constant  in a tensor bound when the Program was loaded     constant          -
    fresh     newly allocated by an `Alloc` step                -                 -
    arena     in the call's arena on its device                 -                 bytes from its start
    view      in another buffer                                 buffer            elements from the base's first
    returned  what the op of an `Extern` step returns           -                 -
    result    wherever the op of a `Python` step put it         -                 -

    `sizes` and `strides` are values; those of a `result` are unknown before its step has run, so they are empty.
    """

    kind: str
    dtype: str
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    base: int = -1
    offset: int = -1
    device: str = "cpu"


@record(frozen=True)
class Alloc:
    """Take memory for a `fresh` buffer."""

    buffer: int


@record(frozen=True)
class View:
    """Locate a `view` buffer; its base is located already."""

    buffer: int


@record(frozen=True)
class Evaluate:
    """Compute the values start..stop-1, which depend on sizes of `result` buffers."""

    start: int
    stop: int


@record(frozen=True)
class Kernel:
    """Call a function of the Program's library with the addresses of `buffers` and the numbers of `values`.

    `writes` are the positions in `buffers` that it writes. A kernel whose `first_check` is not -1 may fail, having
    written nothing visible: it returns 1 + i for checks[first_check + i].
    """

    name: str
    buffers: tuple[int, ...]
    values: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    first_check: int = -1


@record(frozen=True)
class Launch:
    """Run a function on the Program's device, over `grid` (a value) programs; returns before it has run.

    functions   (digest of its image, name, threads of a program, bytes of shared memory), one or more that do the same
    choice      a value: which of them is right for this call; -1 where there is one
    arguments   ("buffer", i), ("i32" or "i64" or "fp64", value), or ("failed", i): where the word of checks[i] lies, to be set
                if the check fails. Two empty pointers follow, which Triton's functions end with
    writes      the buffers that it writes
    """

    functions: tuple[tuple[str, str, int, int], ...]
    choice: int
    grid: int
    arguments: tuple[tuple[str, int], ...]
    writes: tuple[int, ...] = ()


@record(frozen=True)
class Extern:
    """Run the op named `op`, whose results become the buffers `outputs`: where they are laid out as planned and new, the
    tensors themselves take the buffers' places, else they are copied.

    `args` and `kwargs` hold: ["buffer", i], ["value", i], ["dtype", name], ["device", name], ["list", items],
    ["literal", x] with x a number, string, bool or None, and ["complex", [real, imaginary]].
    """

    op: str
    args: tuple
    outputs: tuple[int, ...]
    kwargs: tuple = ()


@record(frozen=True)
class Python:
    """Run the op named `op`; the tensors it returns become the `result` buffers `outputs`."""

    op: str
    args: tuple
    outputs: tuple[int, ...]
    kwargs: tuple = ()


@record(frozen=True)
class Copy:
    """Copy a buffer into another of the same sizes and dtype."""

    source: int
    target: int


@record(frozen=True)
class Loop:
    """while condition(*carried, *captured): carried = body(*carried, *captured).

    `results` are `result` buffers that hold the carried tensors afterwards, never the initial ones themselves.
    """

    condition: Program
    body: Program
    carried: tuple[int, ...]
    captured: tuple[int, ...]
    results: tuple[int, ...]


@record(frozen=True)
class Cond:
    """Run `then` if the one element of the bool buffer `predicate` is true, else `otherwise`, on `operands`."""

    predicate: int
    then: Program
    otherwise: Program
    operands: tuple[int, ...]
    results: tuple[int, ...]


@record(frozen=True)
class RngAdvance:
    """Advance the default generator by a number (a value) of Philox counters."""

    count: int


@record(frozen=True)
class Check:
    """Fail with checks[check] unless the value is not 0."""

    value: int
    check: int


@record(frozen=True)
class CheckInfo:
    """What a failing check means: the op, its argument, and the user's line ("" when not known)."""

    op: str
    argument: str = ""
    line: str = ""


@record(frozen=True)
class Output:
    """One result of a call.

    kind      result                                            `index`
    buffer    a tensor over the buffer                          buffer
    part      a view of such a tensor, laid out as a view is    buffer
    input     the argument itself                               input
    view      a view of an argument, `sizes`, `strides`,        input
              `offset` (elements in the storage) being values;
              `literal`: None, "detached" if no view of it
    int, float, bool   a value as a Python number               value
    constant  `literal`: a number, string, bool or None         -
    """

    kind: str
    index: int = -1
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = -1
    literal: object = None


STEPS: dict[str, Any] = {
    s.__name__: s for s in (Alloc, View, Evaluate, Kernel, Launch, Extern, Python, Copy, Loop, Cond, RngAdvance, Check)
}
