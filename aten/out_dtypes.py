"""What dtypes `out=` may have: most results are cast to it; of some ops it must be that of the result, and factories take it."""

from __future__ import annotations

from typing import Any

from aten.promotion import TYPE_NAMES

_EXACT = frozenset(
    "argmax argmin mm bmm matmul addmm addmv addbmm baddbmm dot mv inner index_select gather where norm amax amin nonzero take "
    "masked_select softmax log_softmax linalg_inv diag tril triu searchsorted bucketize "
    "kthvalue sort max min median nanmedian mode topk cummax cummin cross linalg_cross histc multinomial quantile "
    "nanquantile renorm isin tensordot scatter scatter_add linalg_norm".split()
)
_JOINED = frozenset("cat stack hstack vstack dstack column_stack".split())
_BOUNDED = frozenset({"clamp", "clip"})
_TRUTH = frozenset({"any", "all"})  # of bool, or bytes
_OF_TRUTH = frozenset({"isneginf", "isposinf", "signbit"})
_ALIKE = frozenset("abs neg ceil floor round sign sgn frac trunc bitwise_not conj_physical clamp_min clamp_max hardshrink".split())
_OF_A_DIM = frozenset({"max", "min", "median", "nanmedian"})  # what they give without one they cast
ANY = frozenset({"bernoulli", "any", "all"})  # zeros and ones: of any dtype, or what is refused above
FACTORIES = frozenset({"full", "zeros", "ones", "empty", "linspace", "logspace", "eye", "arange", "range"})
_RANGES = frozenset({"arange", "range", "linspace", "logspace"})


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
    if op.name == "nan_to_num":
        return f"nan_to_num: dtype of out: {TYPE_NAMES[out.name]} should be same as input: {TYPE_NAMES[dtype.name]}"
    if op.name in _OF_TRUTH:
        return f"{op.name} does not support non-boolean outputs."
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


def as_it_lies(op: Any, value: Any, target: Any) -> Any:
    """The result in the sizes of the memory it is written into, which ops of ranges keep where it has as many elements."""
    kept = op.name in _RANGES and target.ndim != 1 and target.numel() == value.numel()
    return value.reshape(list(target.shape)) if kept else value


__all__ = ["ANY", "FACTORIES", "as_it_lies", "not_cast", "refusal", "with_dtype"]
