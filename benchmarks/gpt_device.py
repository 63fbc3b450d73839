"""A small GPT on a CUDA device, eager, compiled and with mode="reduce-overhead", against the CPU: what it asks of the driver.

Without a GPU the simulated driver of tests/cuda stands for one (`--simulated`): its launches run on Triton's interpreter,
so that what is counted and computed is real, and no time is measured.
"""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.gpt_model import Config, Text

SMALL = Config(layers=2, width=16, heads=2, context=8, batch=2)
WAYS = {"eager": (False, None), "compiled": (True, None), "reduce-overhead": (True, "reduce-overhead")}
WARM = 3  # steps after which nothing new is compiled: the optimizer's state exists, gradients lie as they will


def main(steps: int, characters: int, simulated: bool) -> None:
    """Prints the table. `steps`: of training, more than WARM."""
    with tempfile.TemporaryDirectory(prefix="weft-gpt-cache-") as cache:
        os.environ["WEFT_CACHE_DIR"] = cache  # read when weft is imported
        if simulated:
            import tests.cuda.on_simulator  # noqa: F401  (there are no devices before)
        report(max(steps, WARM + 1), characters)


def report(steps: int, characters: int) -> None:
    """Trains and generates on the CPU and on the device in every way; prints what differs, and what each asked of the driver."""
    import weft as torch
    from benchmarks.gpt import Trainer, generate

    text = Text()
    batches = text.batches(SMALL, steps)
    reference = Trainer(torch, SMALL, False)
    losses = [reference.step(b) for b in batches]
    written = generate(reference, text, characters, False)
    size = sum(p.numel() for p in reference.parameters)
    print(f"GPT on {torch.cuda.get_device_name()}: {SMALL.layers} layers, {SMALL.width} wide, {size:,} parameters, {steps} steps")
    print(f"{'':16} {'loss':>8} {'CPU':>8}  a step in the steady state")
    for name, (compiled, mode) in WAYS.items():
        torch._dynamo.reset()
        start = time.perf_counter()
        trainer = Trainer(torch, SMALL, compiled, "cuda", mode)
        found, asked, peak = trained(torch, trainer, batches)
        same = generate(trainer, text, characters, compiled) == written
        difference = max(abs(a - b) / abs(a) for a, b in zip(losses, found))
        print(f"{name:16} {found[-1]:8.5f} {losses[-1]:8.5f}  " + ", ".join(f"{asked[k]:g} {k.replace('_', ' ')}" for k in SHOWN))
        print(
            f"{'':16} losses differ by {difference:.1e} at most, generated text {'is the same' if same else 'DIFFERS'}; "
            f"peak memory {peak:,} bytes; {time.perf_counter() - start:.0f} s with compiling"
        )


SHOWN = (
    "launches", "graph_launches", "patched_nodes", "copies_from_host", "copies_to_host", "bytes_from_host", "bytes_to_host",
    "bytes_within",
)  # fmt: skip


def trained(torch: Any, trainer: Any, batches: list[tuple[np.ndarray, np.ndarray]]) -> tuple[list[float], dict[str, float], int]:
    """(losses, what a step asked of the driver once all is compiled, the most bytes in use). Batches are on the device before the
    first step, and losses are read after the last."""
    from aten import _cuda

    given = [trainer.tensors(b) for b in batches]
    torch.cuda.reset_peak_memory_stats()
    losses = [trainer.advance(*batch) for batch in given[:WARM]]
    torch.cuda.synchronize()
    before = _cuda.counts()
    losses += [trainer.advance(*batch) for batch in given[WARM:]]
    asked = {name: (n - before[name]) / (len(batches) - WARM) for name, n in _cuda.counts().items()}
    return [float(x) for x in losses], asked, torch.cuda.max_memory_allocated()
