"""Random number generators: Philox4x32-10 streams, each a seed and the next counter. A state is 16 bytes, as a tensor: both, low
bytes first."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from aten import _native
from aten._native import Generator, Tensor, default_generator, philox_reserve

_as_numbers, _from_numbers = Generator.get_state, Generator.set_state  # (seed, next counter)
_seed = Generator.manual_seed
_WORD = 2**64


def _number(seed: Any) -> int:
    """The 64 bits of a seed. Raises ValueError for one that has more, RuntimeError for what is no integer."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
    value = int(seed)
    if not -(2**63) <= value < _WORD:
        raise ValueError("Overflow when unpacking long long")
    return value % _WORD


def thread_safe_generator() -> Generator | None:
    """The generator of the thread that a worker of a DataLoader is; None, the default one, as workers are processes here."""
    return None


def _get_state(self: Generator) -> Tensor:
    """The state as 16 bytes."""
    return _native.from_numpy(np.array(_as_numbers(self), np.uint64).view(np.uint8))


def _set_state(self: Generator, state: Any) -> Generator:
    """Continue where `get_state` was called."""
    if isinstance(state, tuple):
        _from_numbers(self, state)
        return self
    if not isinstance(state, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
    if state.dtype.name != "uint8":
        raise TypeError("RNG state must be a torch.ByteTensor")
    if state.numel() != 16 or state.ndim != 1:
        raise RuntimeError("RNG state must be a torch.ByteTensor of 16 elements")
    seed, offset = np.array(state.tolist(), np.uint8).view(np.uint64).tolist()
    _from_numbers(self, (seed, offset))
    return self


def _fresh_seed(self: Generator) -> int:
    """Seed from the system's entropy; returns the seed."""
    value = int.from_bytes(os.urandom(8), "little") >> 1
    _seed(self, value)
    return value


def _manual_seed(self: Generator, seed: Any) -> Generator:
    """Start again at this seed; returns the generator."""
    _seed(self, _number(seed))
    return self


def _clone_state(self: Generator) -> Generator:
    """Another generator that continues as this one would."""
    made = Generator(self.device)
    _from_numbers(made, _as_numbers(self))
    return made


def _graphsafe_set_state(self: Generator, other: Generator) -> Generator:
    _from_numbers(self, _as_numbers(other))
    return self


def _rebuild(state: tuple[int, int], device: str) -> Generator:
    made = Generator(device)
    _from_numbers(made, state)
    return made


for _name, _fn in {
    "get_state": _get_state,
    "set_state": _set_state,
    "graphsafe_get_state": _clone_state,
    "graphsafe_set_state": _graphsafe_set_state,
    "clone_state": _clone_state,
    "seed": _fresh_seed,
    "manual_seed": _manual_seed,
    "get_offset": lambda self: self.offset,
    "set_offset": lambda self, offset: _from_numbers(self, (_as_numbers(self)[0], offset)),
    "__reduce__": lambda self: (_rebuild, (_as_numbers(self), str(self.device))),
}.items():
    setattr(Generator, _name, _fn)


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator, and return it. Raises ValueError for a seed of more than 64 bits."""
    return _manual_seed(default_generator, int(seed))


def seed() -> int:
    """Seed the default generator from the system's entropy; returns the seed."""
    return _fresh_seed(default_generator)


def initial_seed() -> int:
    """The default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, a tensor of 16 bytes."""
    return _get_state(default_generator)


def set_rng_state(new_state: Any) -> None:
    """Continue the default generator where `get_rng_state` was called."""
    _set_state(default_generator, new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:  # fmt: skip
    """Restore the default generator's state at the end. The CPU has the only generator, whatever `devices` says."""
    state = _as_numbers(default_generator)
    try:
        yield
    finally:
        if enabled:
            _from_numbers(default_generator, state)


__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "philox_reserve",
    "seed",
    "set_rng_state",
]
