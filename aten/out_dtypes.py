"""What dtypes `out=` may have: most results are cast to it; of some ops it must be that of the result, and factories take it."""

from typing import Any

from aten.promotion import TYPE_NAMES

_EXACT = frozenset(
    "argmax argmin mm bmm matmul addmm addmv addbmm baddbmm dot mv inner index_select gather clamp clip where norm amax amin "
    "nonzero take masked_select softmax log_softmax round sign sgn frac ceil floor trunc linalg_inv diag tril triu searchsorted "
    "bucketize kthvalue sort max min median mode topk cummax cummin nan_to_num cross linalg_cross histc multinomial quantile "
    "nanquantile renorm isin tensordot scatter scatter_add linalg_norm".split()
)
_TRUTH = frozenset({"any", "all"})  # of bool, or bytes
ANY = frozenset({"bernoulli"})  # zeros and ones: of any dtype
FACTORIES = frozenset({"full", "zeros", "ones", "empty", "linspace", "logspace", "eye", "arange", "range"})


_BY_NAME = {  # of ops that say which of their results it is
    "mode": "expected scalar type '{wanted}' but got '{out}' for {result} output",
    "histogram": "torch.histogram: input tensor and {result} tensor should have the same dtype, but got input {wanted} and "
    "{result} {out}",
}


def refusal(op: Any, out: Any, dtype: Any, place: int = 0) -> str | None:
    """Why the op does not cast its result of `dtype` (its number is `place`) to the dtype of `out`; None if it does."""
    if out is dtype:
        return None
    if op.name in _BY_NAME:
        result = op.schema.returns[place][1]
        return _BY_NAME[op.name].format(wanted=TYPE_NAMES[dtype.name], out=TYPE_NAMES[out.name], result=result)
    if op.name in _EXACT:
        return f"Expected out tensor to have dtype {TYPE_NAMES[dtype.name]}, but got {TYPE_NAMES[out.name]} instead"
    if op.name in _TRUTH and out.name != "uint8":
        return f"{op.name} only supports bool tensor for result, got: {TYPE_NAMES[out.name]}"
    return None


def with_dtype(op: Any, args: Any, kwargs: dict[str, Any], target: Any) -> dict[str, Any]:
    """The keywords of a factory's call, with the dtype that the memory has which it fills."""
    if op.name in FACTORIES and kwargs.get("dtype") is None and hasattr(target, "dtype"):
        return {**kwargs, "dtype": target.dtype}
    return kwargs


__all__ = ["ANY", "FACTORIES", "refusal", "with_dtype"]
