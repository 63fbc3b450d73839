"""`torch.cuda.FloatTensor` and the like: constructors and types that old code names."""

from __future__ import annotations

from typing import Any

import aten
from aten import legacy
from weft.cuda.devices import is_available


class _OldType(type):
    """A class whose instances are tensors."""

    def __call__(cls, *args: Any) -> Any:
        """Of sizes, a sequence or a tensor, on this thread's GPU. Raises TypeError where there is none."""
        name = f"torch.cuda.{cls.__name__}"
        if not is_available():
            raise TypeError(f"type {name} not available. Torch not compiled with CUDA enabled.")
        return legacy.construct(args, getattr(aten, legacy.DTYPES[cls.__name__]), aten.device("cuda"), name)

    def __instancecheck__(cls, instance: Any) -> bool:
        """Whether it is a tensor of the dtype on a GPU."""
        return bool(getattr(instance, "is_cuda", False)) and instance.type() == f"torch.cuda.{cls.__name__}"


OLD_TYPES = {
    name: _OldType(name, (), {"__module__": "weft.cuda"})
    for name in (
        "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "ByteTensor", "CharTensor", "ShortTensor",
        "IntTensor", "LongTensor", "BoolTensor",
    )
}  # fmt: skip
