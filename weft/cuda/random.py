"""Seeds of the GPU's generator. It is the CPU's: random numbers have the same bits on both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import aten
from weft.cuda.devices import device_count, driver, is_available


def manual_seed(seed: int) -> None:
    """Seeds the GPU's generator, if there is one: it shares the CPU's seed."""
    if is_available():
        aten.manual_seed(int(seed))


def seed() -> None:
    """Seeds the GPU's generator anew, if there is one."""
    if is_available():
        aten.seed()


manual_seed_all = manual_seed
seed_all = seed


def initial_seed() -> int:
    driver()
    return aten.initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """The generator's state, a tensor of 16 bytes."""
    driver()
    return aten.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """The state of each GPU's generator."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Continue where `get_rng_state` was called."""
    if is_available():
        aten.set_rng_state(new_state.cpu() if new_state.is_cuda else new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
    "set_rng_state_all",
]  # fmt: skip
