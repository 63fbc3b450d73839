"""Random number generators: Philox4x32-10 streams, each a seed and the next counter."""

import contextlib
import os
from collections.abc import Iterator

from aten._native import Generator, default_generator, manual_seed, philox_reserve


def seed() -> int:
    """Seed the default generator from the system's entropy; returns the seed."""
    value = int.from_bytes(os.urandom(8), "little")
    manual_seed(value)
    return value


def initial_seed() -> int:
    """The default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state() -> tuple[int, int]:
    """(seed, next counter) of the default generator."""
    return default_generator.get_state()


def set_rng_state(state: tuple[int, int]) -> None:
    """Continue the default generator where `get_rng_state` was called."""
    default_generator.set_state(state)


@contextlib.contextmanager
def fork_rng() -> Iterator[None]:
    """Restore the default generator's state at the end."""
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed",
           "philox_reserve", "seed", "set_rng_state"]
