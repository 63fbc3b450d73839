"""Programs for the mutation fuzzer: all of tests/dynamo and of tests/review, each a function of C, as in tests.review."""

from __future__ import annotations

import copy
import functools
import importlib

from tests.dynamo import models, programs
from tests.review import groups, harness

LEFT_OUT = {
    # Threads, event loops and tracers of their own, or a stack that is exhausted: what they show is not what a call gives.
    "threads_same_fn", "threads_compiled", "async_fn", "settrace_inside", "settrace_during_compile",
    "recursion_error", "p_deep", "time_random_env",
    # Warnings of NumPy that compiled code does not give (docs/differences.md).
    "warned_in_its_line",
}  # fmt: skip


def fresh(found: dict, name: str) -> str:
    """`name`, with a number if it is taken."""
    return next(n for n in (name, *(f"{name}.{i}" for i in range(2, 99))) if n not in found)


@functools.cache
def subjects() -> dict:
    """Name → program."""
    found = {}
    for f, make in models.PROGRAMS:
        found[fresh(found, f"models.{f.__name__}")] = lambda C, f=f, make=make: [C(f)(*make(n)) for n in (4, 5)]
    for f, args in programs.PROGRAMS:
        found[fresh(found, f"python.{f.__name__}")] = lambda C, f=f, args=args: C(f)(*copy.deepcopy(args))
    for group in groups.PROGRAMS:
        groups.cases(group)
        module = importlib.import_module(f"tests.review.programs.{group}")
        found |= {f"{group}.{name}": f for name, f in harness.collect(module).items()}
    return {name: f for name, f in found.items() if name.split(".")[1] not in LEFT_OUT}
