"""What linear algebra says of halves, in which LAPACK has nothing: PyTorch refuses them on every device."""

from typing import Any

from aten import dtype as dtypes
from aten.promotion import TYPE_NAMES
from aten.shapes import show


def is_half(x: Any) -> bool:
    """Whether numbers are float16 or bfloat16."""
    return x.dtype in (dtypes.float16, dtypes.bfloat16)


def refuse_halves(kernel: str, x: Any) -> None:
    """Raises NotImplementedError for halves, which LAPACK does not have."""
    if is_half(x):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{TYPE_NAMES[x.dtype.name]}'")


def refuse_low_precision(name: str, x: Any) -> None:
    """Raises RuntimeError for halves, as the functions do that ask before any kernel is called."""
    if is_half(x):
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {TYPE_NAMES[x.dtype.name]}")


def refuse_inexact(x: Any) -> None:
    """Raises RuntimeError for halves, of which no tolerance is known."""
    if is_half(x):
        raise RuntimeError("This function doesn't handle types other than float and double")


def refuse_pinv(x: Any) -> None:
    """What `linalg.pinv` says of halves."""
    if is_half(x):
        raise RuntimeError(
            f"linalg.pinv({TYPE_NAMES[x.dtype.name]}{{{show(x.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )


def refuse_vander(x: Any) -> None:
    """What `linalg.vander` says of halves."""
    if is_half(x):
        name = TYPE_NAMES[x.dtype.name]
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {name}")
