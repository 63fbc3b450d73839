"""What dtypes `out=` may have: most results are cast to it; of some ops it must be that of the result, and factories take it."""

from __future__ import annotations

from typing import Any

from aten.promotion import TYPE_NAMES

_EXACT = frozenset(
    "argmax argmin mm bmm matmul addmm addmv addbmm baddbmm dot mv inner index_select gather where norm amax amin nonzero take "
    "masked_select softmax log_softmax linalg_inv diag tril triu searchsorted bucketize "
    "kthvalue sort max min median nanmedian mode topk cummax cummin cross linalg_cross histc multinomial quantile "
    "nanquantile renorm isin tensordot scatter scatter_add scatter_reduce aminmax index_add index_copy index_reduce take_along_dim "
    "vdot heaviside frexp complex polar float_power chain_matmul matrix_power inverse qr svd slogdet ormqr triangular_solve "
    "lu_unpack lu_solve nuclear_norm linalg_norm linalg_matrix_norm linalg_vector_norm linalg_cholesky linalg_cholesky_ex "
    "linalg_inv_ex linalg_det linalg_slogdet linalg_qr linalg_svd linalg_svdvals linalg_eigh linalg_eigvalsh linalg_solve "
    "linalg_solve_ex linalg_solve_triangular linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_ldl_factor "
    "linalg_ldl_factor_ex linalg_ldl_solve linalg_matrix_power linalg_multi_dot linalg_matmul linalg_vecdot".split()
)
_JOINED = frozenset("cat stack hstack vstack dstack column_stack".split())
_BOUNDED = frozenset({"clamp", "clip"})
_TRUTH = frozenset({"any", "all"})  # of bool, or bytes
_OF_TRUTH = frozenset({"isneginf", "isposinf", "signbit"})
_ALIKE = frozenset("abs neg ceil floor round sign sgn frac trunc bitwise_not conj_physical clamp_min clamp_max hardshrink".split())
_TO_REAL = frozenset("fft_irfft fft_irfft2 fft_irfftn fft_hfft fft_hfft2 fft_hfftn".split())
_TO_COMPLEX = frozenset(
    "fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_rfft fft_rfft2 fft_rfftn fft_ihfft fft_ihfft2 fft_ihfftn".split()
)
_SPREADS = frozenset({"var", "std"})
_POWERS = frozenset({"matrix_power", "linalg_matrix_power"})  # the zeroth they cast
_OF_A_DIM = frozenset({"max", "min", "median", "nanmedian"})  # what they give without one they cast
ANY = frozenset({"bernoulli", "any", "all"})  # zeros and ones: of any dtype, or what is refused above
FACTORIES = frozenset({"full", "zeros", "ones", "empty", "linspace", "logspace", "eye", "arange", "range"})
_RANGES = frozenset({"arange", "range", "linspace", "logspace"})
_ONCE = frozenset("mean var std logsumexp nansum nanmean".split())  # rounded once, to the dtype of what they are written into


_BY_NAME = {  # of ops that say which of their results it is
    "mode": "expected scalar type '{wanted}' but got '{out}' for {result} output",
    "histogram": "torch.histogram: input tensor and {result} tensor should have the same dtype, but got input {wanted} and "
    "{result} {out}",
}


def refusal(op: Any, given: Any, out: Any, dtype: Any, place: int = 0) -> str | None:
    """Why the op does not cast its result of `dtype` (its number is `place`) to the dtype of `out`; None if it does."""
    if out is dtype:
        return None
    if op.name in _BOUNDED or op.name in _ALIKE:  # by tensors it casts
        alone = sum(hasattr(x, "dtype") for x in given) < 2 and (op.name in _BOUNDED or given[0].dtype is dtype)
        return f"Found dtype {TYPE_NAMES[out.name]} but expected {TYPE_NAMES[dtype.name]}" if alone else None
    if op.name in _TO_REAL and not out.is_floating_point or op.name in _TO_COMPLEX and not out.is_complex:
        kind = "floating point" if op.name in _TO_REAL else "complex"
        named = op.name.removeprefix("fft_").replace("2", "n")
        return f"{named} expects a {kind} output tensor, but got {TYPE_NAMES[out.name]}"
    if op.name == "nan_to_num":
        return f"nan_to_num: dtype of out: {TYPE_NAMES[out.name]} should be same as input: {TYPE_NAMES[dtype.name]}"
    if op.name in _OF_TRUTH:
        return f"{op.name} does not support non-boolean outputs."
    if op.name in _POWERS and any(type(n) is int and n == 0 for n in given[1:]):
        return None
    if op.name in _OF_A_DIM and not any(type(x) is int for x in given[1:]):
        return None
    if op.name in _BY_NAME:
        result = op.schema.returns[place][1]
        return _BY_NAME[op.name].format(wanted=TYPE_NAMES[dtype.name], out=TYPE_NAMES[out.name], result=result)
    if op.name in _EXACT:
        return f"Expected out tensor to have dtype {TYPE_NAMES[dtype.name]}, but got {TYPE_NAMES[out.name]} instead"
    if op.name in _TRUTH and out.name not in ("uint8", "bool"):
        return f"{op.name} only supports bool tensor for result, got: {TYPE_NAMES[out.name]}"
    return None


def not_computed(op: Any, args: Any, value: Any, out: Any) -> str | None:
    """What the op cannot compute in the dtype of `out`, which its result would be cast to."""
    lacks = op.name in _SPREADS and value.ndim and out.is_complex and not (args and args[0].dtype.is_complex)
    return f"\"std_cpu\" not implemented for '{TYPE_NAMES[out.name]}'" if lacks else None


def not_cast(op: Any, dtype: Any, out: Any) -> Exception:
    """What is raised where a result of `dtype` is of a higher kind than `out` is."""
    if op.name in _JOINED:
        return TypeError(f"torch.cat(): input types can't be cast to the desired output type {TYPE_NAMES[out.name]}")
    return RuntimeError(f"result type {TYPE_NAMES[dtype.name]} can't be cast to the desired output type {TYPE_NAMES[out.name]}")


def with_dtype(op: Any, args: Any, kwargs: dict[str, Any], target: Any) -> dict[str, Any]:
    """The keywords of a factory's call, with the dtype that the memory has which it fills."""
    if op.name not in FACTORIES or not hasattr(target, "dtype"):
        return kwargs
    asked = kwargs.get("dtype")
    if asked is None:
        return {**kwargs, "dtype": target.dtype}
    if asked is not target.dtype:
        names = TYPE_NAMES[asked.name], TYPE_NAMES[target.dtype.name]
        raise RuntimeError("dtype {} does not match dtype of out parameter ({})".format(*names))
    return kwargs


def decides(op: Any, dtype: Any, out: Any) -> bool:
    """Whether the op computes in the dtype of `out` what would else be of `dtype`."""
    return dtype is not out and (op.name in _ONCE or "dtype_of_out" in op.tags)


def in_width_of(op: Any, args: Any, target: Any) -> Any:
    """The arguments of a mean that is written into floats of more digits: it is computed in them."""
    if op.name not in _ONCE or not args or getattr(args[0], "ndim", None) is None or not hasattr(target, "dtype"):
        return args
    x, wide = args[0], target.dtype
    wider = x.dtype.is_floating_point and wide.is_floating_point and x.dtype.itemsize < wide.itemsize
    return (x.to(wide), *args[1:]) if wider else args


def as_it_lies(op: Any, value: Any, target: Any) -> Any:
    """The result in the sizes of the memory it is written into, which ops of ranges keep where it has as many elements."""
    kept = op.name in _RANGES and target.ndim != 1 and target.numel() == value.numel()
    return value.reshape(list(target.shape)) if kept else value


__all__ = ["ANY", "FACTORIES", "as_it_lies", "decides", "in_width_of", "not_cast", "not_computed", "refusal", "with_dtype"]
