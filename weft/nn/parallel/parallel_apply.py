"""Modules called on inputs of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.nn.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None, devices: Any = None
) -> list[Any]:
    """modules[i](*inputs[i], **kwargs_tup[i]) for each i, one after the other."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    named = kwargs_tup if kwargs_tup is not None else ({},) * len(modules)
    if len(modules) != len(named) or (devices is not None and len(modules) != len(devices)):
        raise AssertionError("parallel_apply takes as many kwargs and devices as modules")
    spread = lambda given: given if isinstance(given, (list, tuple)) else (given,)
    return [module(*spread(given), **more) for module, given, more in zip(modules, inputs, named)]
