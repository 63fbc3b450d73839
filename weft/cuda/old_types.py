"""`torch.cuda.FloatTensor` and the like: types that old code names, without a GPU to make them on."""

from __future__ import annotations

from typing import Any


class _OldType(type):
    """A class of which there are no instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")

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
