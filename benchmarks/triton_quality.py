"""What Triton makes of weft's kernels, for devices that need not be there: registers, spills, shared memory, widths of accesses,
tensor-core instructions.

    python -m benchmarks.triton_quality                     # every graph, for sm_80, sm_90 and sm_100
    python -m benchmarks.triton_quality --only softmax,mm --sm 90
    python -m benchmarks.triton_quality --write             # keeps the table in benchmarks/results/triton_quality.md

Widths are of PTX: the bytes that one instruction of one thread moves. An access of less than 16 bytes is not a fault in itself
(a row of 1,023 has no other), so the table says how many instructions of each width there are, and a reader judges.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.quality_graphs import graphs
from inductor.codegen import triton
from inductor.codegen.triton_function import Function
from inductor.cuda import compile_server, images
from inductor.ir.buffer import Kernel, Schedule

RESULTS = Path(__file__).parent / "results" / "triton_quality.md"
SHORT = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "int64": "i64", "float64": "f64"}


class Quality(NamedTuple):
    """Of one function, compiled."""

    registers: int
    spilled: int  # bytes of a thread
    shared: int  # bytes of a program
    loads: str
    stores: str
    tensor_cores: str
    seconds: float


def functions_of(schedule: Schedule, ranges: dict, hints: dict) -> Iterator[Function]:
    """The functions of a schedule's kernels."""
    kernels = [s for s in schedule.steps if isinstance(s, Kernel)]
    for functions in triton.render(kernels, schedule.buffers, ranges, hints, narrow=True).values():
        yield from functions


def chosen_precision(name: str, render: Callable[[], list[Function]]) -> list[Function]:
    """What `render` gives while products are of the precision that the graph's name asks for."""
    import weft

    before = weft.get_float32_matmul_precision()
    weft.set_float32_matmul_precision("high" if "tf32" in name else before)
    try:
        return render()
    finally:
        weft.set_float32_matmul_precision(before)


def widths(ptx: str, kind: str) -> str:
    """Instructions that read (ld) or write (st) global memory by bytes of a thread: "16: 4, 4: 1"."""
    found: Counter[int] = Counter()
    for vector, bits in re.findall(rf"\b{kind}\.global(?:\.[a-z_:0-9]+)*?(?:\.v(\d))?\.[bfus](\d+)\b", ptx):
        found[int(vector or 1) * int(bits) // 8] += 1
    if kind == "ld":
        for size in re.findall(r"cp\.async\.c[ag]\.shared\.global[^;]*?,\s*(0x[0-9a-f]+|\d+)", ptx):
            found[int(size, 0)] += 1
    return ", ".join(f"{w}: {n}" for w, n in sorted(found.items(), reverse=True)) or "-"


def tensor_cores(ptx: str) -> str:
    """Instructions of tensor cores, by name."""
    names = re.findall(r"\b(wgmma\.mma_async|mma\.sync|tcgen05\.mma)", ptx)
    return ", ".join(f"{n} {c}" for n, c in Counter(names).items()) or "-"


def quality(f: Function, capability: int) -> Quality:
    """Compile a function and look at it."""
    from triton import knobs

    started = time.process_time()
    *_, assembly, binary = compile_server.stages(images.request(f, capability).data())
    (_, ptx, _), (_, cubin, metadata) = assembly, binary
    seconds = time.process_time() - started
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([knobs.nvidia.cuobjdump.path, "-res-usage", file.name], capture_output=True, text=True, check=True)
    usage: dict[str, Any] = dict(re.findall(r"(REG|STACK|LOCAL):(\d+)", done.stdout + done.stderr))
    spilled = int(usage.get("STACK", 0)) + int(usage.get("LOCAL", 0))
    return Quality(int(usage["REG"]), spilled, metadata["shared"], widths(ptx, "ld"), widths(ptx, "st"), tensor_cores(ptx), seconds)


def table(chosen: list[tuple[str, Schedule, dict, dict]], capabilities: list[int]) -> tuple[list[str], Counter]:
    """Lines of a Markdown table, and counts over all of it."""
    lines = [
        "| graph | function | sm | grid | warps | registers | spilled | shared | loads | stores | tensor cores |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    total: Counter = Counter()
    known: dict[tuple[str, int], Quality] = {}
    for name, schedule, ranges, hints in chosen:
        functions = chosen_precision(name, lambda: [*functions_of(schedule, ranges, hints)])  # noqa: B023
        for f in {(f.name, f.constants): f for f in functions}.values():
            for capability in capabilities:
                key = (f.name + str(f.constants), capability)
                if key not in known:
                    known[key] = quality(f, capability)
                    total["functions"] += 1
                    total["spilling"] += known[key].spilled > 0
                    total["seconds"] += known[key].seconds
                q = known[key]
                row = [name, f.name.partition("_")[0], capability, f.grid, f.warps, *q[:6]]
                lines.append("| " + " | ".join(map(str, row)) + " |")
                print(lines[-1], flush=True)
    return lines, total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="comma-separated parts of names of graphs")
    parser.add_argument("--sm", default="80,90,100")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    parts = [p for p in options.only.split(",") if p]
    chosen = [g for g in graphs(parts) if not parts or any(p in g[0] for p in parts) or g[0].startswith("gpt")]
    lines, total = table(chosen, [int(c) for c in options.sm.split(",")])
    summary = (
        f"{len(chosen)} graphs, {total['functions']} functions and devices, {total['spilling']} of them spill; "
        f"{total['seconds']:.0f} s of CPU to compile."
    )
    print(summary)
    if options.write:
        RESULTS.write_text("\n".join(["# Kernels for CUDA devices, as compiled", "", __doc__ or "", summary, "", *lines, ""]))


if __name__ == "__main__":
    main()
