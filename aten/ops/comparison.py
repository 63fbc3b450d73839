"""Comparisons and logic of elements, and closeness of tensors."""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.info import iinfo
from aten.op import alias_of, composite, ops, registry
from aten.ops.pointwise import binary
from aten.promotion import TYPE_NAMES, category, check_width, number_dtype
from aten.symbolic.symint import is_symbolic


def _bool(dtype: Any) -> Any:
    return dtypes.bool


for _name, _ufunc in (
    ("eq", np.equal),
    ("ne", np.not_equal),
    ("lt", np.less),
    ("le", np.less_equal),
    ("gt", np.greater),
    ("ge", np.greater_equal),
    ("logical_and", np.logical_and),
    ("logical_or", np.logical_or),
    ("logical_xor", np.logical_xor),
):
    binary(_name, _ufunc, result=_bool, compute=None, numbers=not _name.startswith("logical_"), tensor_first=True)
for _new, _old in (
    ("not_equal", "ne"),
    ("less", "lt"),
    ("less_equal", "le"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
):
    alias_of(_new, registry[_old])


@composite(
    "isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", native="chain"
)
def isclose(input, other, rtol, atol, equal_nan):
    """|input - other| <= atol + rtol * |other|, elementwise; equal infinities are close."""
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{TYPE_NAMES[input.dtype.name]} did not match {TYPE_NAMES[other.dtype.name]}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(
            f"{'rtol' if rtol < 0 else 'atol'} must be greater than or equal to zero, but got {rtol if rtol < 0 else atol}"
        )
    close = ops.eq(input, other)
    if equal_nan:
        close = close | (ops.isnan(input) & ops.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if category(input.dtype) < 2:
        input, other = input.to(dtypes.float64), other.to(dtypes.float64)
    allowed = atol + (rtol * other).abs()
    error = (input - other).abs()
    return close | (ops.isfinite(error) & (error <= allowed))


@composite("allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool")
def allclose(input, other, rtol, atol, equal_nan):
    """Whether all elements are close; a Python bool."""
    return ops.all(isclose(input, other, rtol, atol, equal_nan)).item()


@composite("equal(Tensor input, Tensor other) -> bool", native="reduction")
def equal(input, other):
    """Whether sizes and all elements are equal; a Python bool."""
    if input.is_meta or other.is_meta:
        raise NotImplementedError("equal(): tensors on meta have no elements to compare")
    if tuple(input.shape) != tuple(other.shape):
        return False
    return ops.all(ops.eq(input, other)).item()


def as_compared(number: Any, tensor: Any) -> Any:
    """A number as a tensor to compare with another: of its dtype, or of float64 where that has no such number."""
    fits = category(number_dtype(number)) <= category(tensor.dtype)
    if type(number) is int and category(tensor.dtype) == 1:
        fits = iinfo(tensor.dtype).min <= number <= iinfo(tensor.dtype).max
    dtype = tensor.dtype if fits else dtypes.float64
    return ops.full([], number if fits else float(number), dtype=dtype, device=tensor.device)


@composite(
    "isin(Any elements, Any test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
    tags=["function_only"],
)
def isin(elements, test_elements, assume_unique, invert):
    """Which elements are among test_elements. Of whatever layout these are, the result is row-major."""
    _check_isin(elements, test_elements)
    if not hasattr(elements, "dtype"):
        elements = as_compared(elements, test_elements)
        test_elements = test_elements.to(elements.dtype)
    if not hasattr(test_elements, "dtype"):
        test_elements = as_compared(test_elements, elements)
        elements = elements.to(test_elements.dtype)
    tests = test_elements.reshape([-1])
    if type(tests.numel()) is int and tests.numel() == 1:
        found = ops.eq(elements, tests.reshape([]) if elements.ndim == 0 else tests)
    elif _is_many(elements) and _is_many(tests) and elements.dtype is tests.dtype and not elements.dtype.is_complex:
        rows = ops.sort(tests)[0]
        at = ops.searchsorted(rows, elements).clamp(max=tests.shape[0] - 1)
        found = ops.eq(ops.index_select(rows, 0, at.reshape([-1])).reshape(list(elements.shape)), elements)
    else:
        found = ops.any(ops.eq(elements.unsqueeze(-1), tests), -1)
    return ops.contiguous(ops.logical_not(found) if invert else found)


def _check_isin(elements: Any, test_elements: Any) -> None:
    """Raises unless both are tensors or one is a number; bools and complex numbers are not compared."""
    given = (elements, test_elements)
    tensors = [x for x in given if hasattr(x, "dtype") and not isinstance(x, (np.ndarray, np.generic))]
    numbers = [x for x in given if isinstance(x, (int, float, complex)) or is_symbolic(x)]
    if not tensors or len(tensors) + len(numbers) < 2:
        kinds = ", ".join("Tensor" if any(x is t for t in tensors) else type(x).__name__ for x in given)
        raise TypeError(
            f"isin() received an invalid combination of arguments - got ({kinds}), but expected one of: (Tensor elements, Tensor "
            "test_elements), (Number element, Tensor test_elements), (Tensor elements, Number test_element)"
        )
    for number in numbers:
        check_width(number)
        if isinstance(number, (bool, complex)):
            name = "Bool" if isinstance(number, bool) else "ComplexDouble"
            raise RuntimeError(f"Unsupported input type encountered for isin(): {name}")


def _is_many(x: Any) -> bool:
    return type(x.numel()) is int and x.numel() > 32


@composite("isposinf(Tensor input) -> Tensor", native="chain")
def isposinf(input):
    """Which elements are +inf."""
    return ops.eq(input, float("inf")) if category(input.dtype) >= 2 else ops.zeros_like(input, dtype=dtypes.bool)


@composite("isneginf(Tensor input) -> Tensor", native="chain")
def isneginf(input):
    """Which elements are -inf."""
    return ops.eq(input, -float("inf")) if category(input.dtype) >= 2 else ops.zeros_like(input, dtype=dtypes.bool)


@composite("isreal(Tensor input) -> Tensor")
def isreal(input):
    """Which elements have no imaginary part."""
    return ops.eq(ops.imag(input), 0) if input.dtype.is_complex else ops.ones_like(input, dtype=dtypes.bool)
