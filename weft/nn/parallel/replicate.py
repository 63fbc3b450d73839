"""Copies of a module that share the history of its parameters."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from weft.nn.module import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """One copy a device. Their parameters are values of `network`'s, not parameters of their own: gradients go to those."""
    return [_copy(network, device, detach) for device in devices]


def _copy(module: Module, device: Any, detach: bool) -> Module:
    made = copy.copy(module)
    state = made.__dict__
    for store in ("_parameters", "_buffers", "_modules"):
        state[store] = dict(module.__dict__[store])
    for name, parameter in module._parameters.items():
        if parameter is not None:
            value = parameter.detach() if detach else parameter * 1
            del state["_parameters"][name]
            object.__setattr__(made, name, value.to(device))
    for name, buffer in module._buffers.items():
        state["_buffers"][name] = None if buffer is None else buffer.to(device)
    for name, child in module._modules.items():
        state["_modules"][name] = None if child is None else _copy(child, device, detach)
    return made
