"""A batch cut up over devices, a copy of the module on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aten
from aten import _native
from weft.nn.module import Module
from weft.nn.parallel.parallel_apply import parallel_apply
from weft.nn.parallel.replicate import replicate
from weft.nn.parallel.scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls `module`: as it is without devices, else copies of it on parts of the batch (dim `dim`), joined on `output_device`."""

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        given = range(_native.device_count("cuda")) if device_ids is None else device_ids
        self.device_ids = [aten.device("cuda", d) if isinstance(d, int) else aten.device(d) for d in given]
        if output_device is None and self.device_ids:
            output_device = self.device_ids[0]
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        scattered, named = self.scatter(inputs, kwargs, self.device_ids)
        if not scattered and not named:
            scattered, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*scattered[0], **named[0])
        replicas = self.replicate(self.module, self.device_ids[: len(scattered)])
        return self.gather(self.parallel_apply(replicas, scattered, named), self.output_device)

    def replicate(self, module: Module, device_ids: Sequence[Any]) -> list[Module]:
        return replicate(module, device_ids)

    def scatter(self, inputs: tuple, kwargs: dict | None, device_ids: Sequence[Any]) -> Any:
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas: Sequence[Module], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """`DataParallel(module, …)(*inputs)`."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
