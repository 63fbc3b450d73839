"""The option max_autotune: several schedules of a graph are compiled and run, the fastest is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native, errors, logs, settings
from inductor import _runner

log = logs.get("autotune")

# What each schedule does otherwise than the first one.
CANDIDATES: tuple[dict[str, Any], ...] = (
    {},
    {"epilogue_fusion": False},
    {"max_fusion_size": 24},
    {"realize_reads_threshold": 4, "realize_opcount_threshold": 30},
    {"realize_reads_threshold": 40, "realize_opcount_threshold": 600},
)
SHORTEST = 2e-3  # seconds of one measurement
ROUNDS = 5


def candidates(start: Callable[[str], Any], name: str) -> list[Any]:
    """The units that `start(name of the unit)` makes under each candidate's options, each text once; they compile at
    the same time."""
    units: dict[str, Any] = {}
    for k, values in enumerate(CANDIDATES):
        with settings.options(values):
            unit = start(f"{name}_{k}" if k else name)
        units.setdefault(f"{unit.source}\n{unit.program}", unit)
    return list(units.values())


def fastest(units: Sequence[Any], inputs: Sequence[Any], written: frozenset[int] = frozenset()) -> tuple[int, tuple | None]:
    """Which unit runs fastest on these inputs, and what the first one returns; that one, and None, where it fails.

    Inputs that a unit writes (`written`) are copied before. The generator is left as it was.
    """
    state = _native.default_generator.get_state()
    try:
        programs = [_runner.Program(u.program.to_data(), u.job and u.job.wait(), u.constants) for u in units]
        own = tuple(_copy(x) if i in written else x for i, x in enumerate(inputs))
        results = programs[0](*own)
        times = [min(_time(p, own) for _ in range(ROUNDS)) for p in programs] if len(programs) > 1 else [0.0]
    except errors.GraphFailed:
        return 0, None
    finally:
        _native.default_generator.set_state(state)
    best = times.index(min(times))
    if log.on:
        log(", ".join(f"{1e6 * t:.1f} us" for t in times) + f": schedule {best}")
    return best, results


def _copy(x: Any) -> Any:
    """A tensor of its own with the layout of `x`."""
    out = _native.empty(x.shape, x.dtype, x.device, x.stride())
    return out.copy_(x.detach())


def _time(program: Any, inputs: tuple) -> float:
    n = 1
    while True:
        seconds = _runner.benchmark(program, inputs, n)
        if n * seconds >= SHORTEST:
            return seconds
        n = max(2 * n, int(SHORTEST / max(seconds, 1e-9)))
