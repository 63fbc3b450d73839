"""Ends of random numbers that a dtype holds: what PyTorch's `uniform_` and `random_` say of others."""

from typing import Any

from aten import dtype as dtypes
from aten.errors import warn_caller
from aten.info import finfo, iinfo
from aten.promotion import TYPE_NAMES

# Names of C++, and how many bits of an integer a float holds.
_IN_C = {
    "float16": ("c10::Half", 11), "bfloat16": ("c10::BFloat16", 8), "float32": ("float", 24), "float64": ("double", 53),
    "uint8": ("unsigned char", 0), "int8": ("signed char", 0), "int16": ("short int", 0), "int32": ("int", 0),
    "int64": ("long int", 0), "uint16": ("short unsigned int", 0), "uint32": ("unsigned int", 0),
    "uint64": ("long unsigned int", 0), "bool": ("bool", 0),
}  # fmt: skip


def _check_known(function: str, dtype: Any, kinds: bool) -> None:
    if not kinds or dtype.name not in _IN_C:
        raise NotImplementedError(f"\"{function}\" not implemented for '{TYPE_NAMES[dtype.name]}'")


def _check_within(low: Any, high: Any, dtype: Any, texts: tuple[str, str]) -> None:
    name, digits = _IN_C[dtype.name]
    limits = None if dtype is dtypes.bool else finfo(dtype) if digits else iinfo(dtype)
    least, most = (limits.min, limits.max) if limits else (0, 1)
    for value, text in zip((low, high), texts):
        if not least <= value <= most:
            raise RuntimeError(f"{text} is out of bounds for {name}")


def check_permutation(n: int, dtype: Any) -> None:
    """Raises RuntimeError where a dtype does not hold each number below n, NotImplementedError for bool."""
    if dtype is dtypes.bool:
        raise NotImplementedError("\"randperm\" not implemented for 'Bool'")
    if dtype.is_floating_point:
        most, shown = {"float16": (2049, "2049"), "float32": (2**24 + 1, "2^24+1")}.get(dtype.name, (2**53 + 1, "2^53+1"))
        if n > most:
            raise RuntimeError(f"n cannot be greater than {shown} for {TYPE_NAMES[dtype.name]} type.")
    elif not dtype.is_complex and n - 1 > iinfo(dtype).max:
        name = "int" if dtype is dtypes.int32 else f"{dtype.name}_t"
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def check_uniform(low: Any, high: Any, dtype: Any) -> None:
    """Raises RuntimeError where a float dtype does not hold the ends or their distance, NotImplementedError for other dtypes."""
    _check_known("check_uniform_bounds", dtype, dtype.is_floating_point)
    _check_within(low, high, dtype, ("from", "to"))
    if high - low > finfo(dtype).max:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{TYPE_NAMES[dtype.name]}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def check_integers(low: Any, high: Any, dtype: Any) -> None:
    """Raises RuntimeError where a dtype does not hold `low` or `high` - 1, NotImplementedError for dtypes that have no integers of
    their own; warns of those beyond which a float does not hold each integer."""
    _check_known("random_kernel_cpu", dtype, True)
    if not low < high:
        return  # (what is empty is refused by the draw)
    texts = "from", "to - 1"
    _check_within(low, high - 1, dtype, texts)
    name, digits = _IN_C[dtype.name]
    for value, text in zip((low, high - 1), texts):
        if digits and not -(1 << digits) <= value <= 1 << digits:
            warn_caller(
                f"{text} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {name} can support discrete "
                "uniform distribution only within this range. This warning will become an error in version 1.7 release, please "
                "fix the code in advance"
            )
