"""C++ text of kernels: one function a nest, run over ranges of its outer loops, and one entry a kernel.

A nest becomes `static void NAME_k(void *ctx, long begin, long end, long worker)` over a range of *units*: points of the
outer loops, times blocks of the vector axis. The entry hands the units to `parallel_for` where that pays. What a unit
computes, and in which order, depends on sizes alone, so results do not depend on threads.
"""

from __future__ import annotations

import re
from typing import Any

from aten.later import later
from aten.records import record
from inductor.codegen import kernel as walk
from inductor.codegen.cpp_loops import NestWriter
from inductor.codegen.cpp_narrow import NarrowWriter, is_narrow
from inductor.codegen.cpp_product import render_product
from inductor.codegen.cpp_split import split, splits
from inductor.codegen.cpp_vector import Isa, native_isa, prelude, symbol_lines
from inductor.ir import scalar
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.nodes import walk as walk_nodes

writer_of_rows = later("inductor.codegen.cpp_rows", "writer_of_rows")
LINK = "// link: mvec m"
PARAMETERS = "void *const *buffers, const long *symbols, const WeftKernelRuntime *runtime"
UNIT = 12_000  # characters of kernels that take about as long (0.1 s) as three times what a unit costs by itself
EXPORT = "#pragma GCC visibility push(default)"


def sections(kernels: list[Kernel]) -> frozenset[str]:
    """The sections of vecmath.h that kernels use."""
    needs = set()
    for k in kernels:
        for nest in k.body if isinstance(k.body, tuple) else (k.body.epilogue,):
            for n in walk_nodes(v for stage in nest.stages for v in walk.values_of(stage)):
                if n.kind == "call":
                    needs.update(scalar.table[n.name].needs.split())
    return frozenset(needs)


@record
class Text:
    """What the kernels of a Program say: what stands before them, and a text for each kernel, with those that are other names
    for it."""

    head: str
    kernels: list[str]

    def __str__(self) -> str:
        return "\n".join((self.head, *self.kernels))

    def units(self, most: int) -> list[str]:
        """Translation units of about one length, as many as pay, at most `most`: they compile side by side."""
        n = max(1, min(most, sum(map(len, self.kernels)) // UNIT, len(self.kernels)))
        units: list[list[int]] = [[] for _ in range(n)]
        lengths = [0] * n
        for k in sorted(range(len(self.kernels)), key=lambda k: (-len(self.kernels[k]), k)):
            least = lengths.index(min(lengths))
            units[least].append(k)
            lengths[least] += len(self.kernels[k])
        return ["\n".join((self.head, *(self.kernels[k] for k in sorted(unit)))) for unit in units]


def written(
    kernels: list[Kernel],
    buffers: dict[str, Buffer],
    hints: dict[str, int] | None = None,
    ranges: dict | None = None,
    isa: Isa | None = None,
) -> Text:
    """The C++ of a Program: every kernel as an `extern "C"` function of the type WeftKernel.

    `hints` are likely values of the graph's symbols, `ranges` what is known of them.
    """
    isa = isa or native_isa()
    hints, ranges = hints or {}, ranges or {}
    templates = [k for k in kernels if not isinstance(k.body, tuple)]
    head = [LINK, *dict.fromkeys(k.body.preamble() for k in templates), prelude(sections(kernels)), EXPORT]
    seen: dict[str, tuple[str, int]] = {}
    texts: list[str] = []
    for k in kernels:
        text = (
            render_kernel(k, buffers, hints, ranges, isa)
            if isinstance(k.body, tuple)
            else render_product(k, buffers, ranges, isa)
        )
        first, place = seen.setdefault(canonical(text, k.name), (k.name, len(texts)))
        if first == k.name:
            texts.append(text)
        else:  # an alias stands in the unit of what it is another name for
            texts[place] = f"{texts[place]}\n{same_as(k, first)}"
    return Text("\n".join(head), texts)


def render(kernels: list[Kernel], buffers: dict[str, Buffer], *args: Any, **kwargs: Any) -> str:
    """The translation unit of a Program: what `written` says, in one piece."""
    return str(written(kernels, buffers, *args, **kwargs))


def canonical(text: str, name: str) -> str:
    """A kernel's text without the names of itself, its buffers and its lines: equal for kernels that do the same."""
    numbers: dict[str, str] = {}
    code = "\n".join(line for line in text.split("\n") if not line.startswith("//"))
    code = re.sub(rf"\b{name}(?!\d)", "kernel", code)
    return re.sub(r"buf\d+", lambda m: numbers.setdefault(m[0], f"buf{len(numbers)}"), code)


def same_as(kernel: Kernel, other: str) -> str:
    """A kernel that does what `other`, rendered before, does on its own arguments: one more name for it."""
    comments = [f"// {line}" for line in kernel.lines]
    signature = f"long {kernel.name}(void *const *buffers, const long *symbols, const WeftKernelRuntime *runtime)"
    return "\n".join([*comments, f'extern "C" {signature} __attribute__((alias("{other}")));', ""])


def render_kernel(kernel: Kernel, buffers: dict[str, Buffer], hints: dict, ranges: dict, isa: Isa) -> str:
    """One kernel; stands after the prelude."""
    writers = []
    for k, nest in enumerate(kernel.body):
        given = (kernel, nest, f"{kernel.name}_{k}", buffers, hints, ranges, isa)
        w = NestWriter(*given)
        if is_narrow(w):
            w = NarrowWriter(*given)
        elif w.plan.mode == "row":
            w = writer_of_rows(w, given)
        writers.append(w)
    if splits(writers[0]):
        functions, body = split(writers[0])
    else:
        functions, body = [w.function() for w in writers], writers[0].launch()
    if len(writers) > 1:
        functions, body = several(kernel, writers, functions)
    return "\n".join(
        [
            *(f"// {line}" for line in kernel.lines),
            *functions,
            f'extern "C" long {kernel.name}({PARAMETERS}) {{',
            "  w_frame frame = {buffers, symbols, runtime, 0, 0, 0};",
            *(f"  {line}" for line in (*symbol_lines(kernel.symbols, "symbols"), *body)),
            "  return frame.failed;",
            "}",
            "",
        ]
    )


def several(kernel: Kernel, writers: list[NestWriter], functions: list[str]) -> tuple[list[str], list[str]]:
    """(functions, lines of the entry) of a kernel of independent nests: one parallel_for over all their units. Nests
    that differ in their buffers only share a function."""
    own: dict[str, str] = {}
    names = []
    for w, text in zip(writers, functions):
        names.append(own.setdefault(canonical(text, w.name), w.name))
    kept = [text for w, text, name in zip(writers, functions, names) if w.name == name]
    lines, ends, total = [], [], "0"
    for k, (w, name) in enumerate(zip(writers, names)):
        kept.append(f"static const short {w.name}_args[] = {{{', '.join(map(str, w.args))}}};")
        total = f"{total} + {w.expr(w.units)}" if total != "0" else w.expr(w.units)
        lines.append(f"const long end{k} = {f'end{k - 1} + ' if k else ''}{w.expr(w.units)};")
        ends.append(f"{{{name}, {w.name}_args, end{k}}}")
    grain = max(1, min(w.grain for w in writers))
    lines += [
        f"const w_part parts[] = {{{', '.join(ends)}}};",
        "w_parts all = {&frame, parts};",
        f"runtime->parallel_for(end{len(writers) - 1}, {grain}, w_run_parts, &all);",
    ]
    return kept, lines
