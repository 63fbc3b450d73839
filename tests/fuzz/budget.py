"""How long a fuzzer runs: `WEFT_FUZZ_SECONDS` for all of them, or what each takes for enough in the suite."""

from __future__ import annotations

import os
import pathlib

from tests.fuzz import drive

KNOWN = pathlib.Path(__file__).with_name("known.txt")  # seeds that differ today, a line each: fuzzer, seed


def seconds(default: float) -> float:
    return float(os.environ.get("WEFT_FUZZ_SECONDS", default))


def known(name: str) -> set[int]:
    """Seeds of a fuzzer that are listed."""
    return {int(line.split()[1]) for line in KNOWN.read_text().splitlines() if line.startswith(name + " ")}


def differences(name: str, default_seconds: float, most: int) -> str:
    """What a fuzzer reports of seeds 0, 1, 2 … until its time is over: `most` of them unless a time is asked for. Each process of
    it is ended where a seed hangs."""
    many = 10**9 if "WEFT_FUZZ_SECONDS" in os.environ else most
    told = drive.run(f"tests.fuzz.{name}", seconds(default_seconds), 0, lambda text: None, many, known=known(name))
    assert told.seeds > 0 and told.void < told.seeds
    return "\n\n".join(f"seed {seed}: {text}" for seed, text in told.reports.values())
