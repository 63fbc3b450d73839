"""How long a fuzzer runs: `WEFT_FUZZ_SECONDS` for all of them, or what each takes for enough in the suite."""

from __future__ import annotations

import itertools
import os
import pathlib
import time

KNOWN = pathlib.Path(__file__).with_name("known.txt")  # seeds that differ today, a line each: fuzzer, seed


def seconds(default: float) -> float:
    return float(os.environ.get("WEFT_FUZZ_SECONDS", default))


def seeds(name: str, default_seconds: float, most: int):
    """(seed, whether it is known to differ) of a fuzzer until its time is over: `most` of them unless a time is asked for."""
    end = time.monotonic() + seconds(default_seconds)
    listed = {int(line.split()[1]) for line in KNOWN.read_text().splitlines() if line.startswith(name + " ")}
    for seed in itertools.count():
        if time.monotonic() > end or (seed >= most and "WEFT_FUZZ_SECONDS" not in os.environ):
            return
        yield seed, seed in listed
