"""Rows of a table, one by one or by bags."""

from __future__ import annotations

import warnings
from typing import Any

import aten
from aten import Parameter, Tensor
from aten.compiling import is_compiling, reads_numbers_of
from aten.later import later
from aten.op import ops
from weft.overrides import handle_torch_function, has_torch_function

as_sparse_gradient = later("aten.sparse", "as_sparse_gradient")
check_starts = later("aten.ops.embedding_bag", "check_starts")


def _no_grad_embedding_renorm_(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Shortens in place the rows read to `max_norm`."""
    with aten.no_grad():
        at = input.reshape(-1)
        rows = weight.detach().index_select(0, at)
        norms = rows.norm(norm_type, 1, keepdim=True)
        shorter = aten.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)
        weight.detach().index_copy_(0, at, shorter)


def _by_frequency(rows: Tensor, input: Tensor, count: int) -> Tensor:
    """`rows` whose gradients are divided by how often each row was read."""
    at = input.reshape(-1)
    seen = aten.zeros(count, dtype=aten.int64, device=at.device).index_add(0, at, aten.ones_like(at, dtype=aten.int64))
    seen = seen.index_select(0, at).reshape(input.shape)
    return ops.replace_values(rows / seen.unsqueeze(-1).to(rows.dtype), rows.detach())


def _row(padding_idx: int | None, count: int, message: str, error: type[Exception]) -> int | None:
    """padding_idx from the start."""
    if padding_idx is not None and not -count <= padding_idx < count:
        raise error(message)
    return padding_idx if padding_idx is None or padding_idx >= 0 else padding_idx + count


class _SparseRows(aten.autograd.Function):
    """weight[input], whose gradient is sparse."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, padding_idx: int | None) -> Tensor:
        ctx.save_for_backward(input)
        ctx.size, ctx.padding_idx = tuple(weight.shape), padding_idx
        return aten.embedding(weight, input)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        rows, values = ctx.saved_tensors[0].reshape(-1), grad.reshape(-1, *ctx.size[1:])
        if ctx.padding_idx is not None:
            kept = (rows != ctx.padding_idx).nonzero().flatten()
            rows, values = rows[kept], values[kept]
        return None, as_sparse_gradient(rows, values, ctx.size), None


@reads_numbers_of(0)
def _sparse_rows(input: Tensor, weight: Tensor, padding_idx: int | None) -> Tensor:
    """Left to Python where code is captured: graphs have no sparse gradients."""
    return _SparseRows.apply(input, weight, padding_idx)


def _rows(input: Tensor, weight: Tensor, padding_idx: int | None, scale_grad_by_freq: bool, sparse: bool) -> Tensor:
    if sparse and weight.requires_grad and aten.is_grad_enabled():
        rows = _sparse_rows(input, weight, padding_idx)
    else:
        rows = aten.embedding(weight, input) if padding_idx is None else aten.embedding(weight, input, padding_idx=padding_idx)
    return _by_frequency(rows, input, weight.shape[0]) if scale_grad_by_freq else rows


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """weight[input]. Raises IndexError outside [0, rows); the row `padding_idx` gets no gradient. With `sparse` the gradient
    of the table has the rows read alone."""
    if (type(input) is not Tensor or type(weight) not in (Tensor, Parameter)) and has_torch_function((input, weight)):
        given = {"padding_idx": padding_idx, "max_norm": max_norm, "norm_type": norm_type}
        given |= {"scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse}
        return handle_torch_function(embedding, (input, weight), input, weight, **given)
    if not hasattr(weight, "ndim"):
        raise TypeError(f"embedding(): argument 'weight' (position 1) must be Tensor, not {type(weight).__name__}")
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding_idx = _row(padding_idx, weight.shape[0], "Padding_idx must be within num_embeddings", AssertionError)
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    return _rows(input, weight, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of each bag: a row of `input` (N, L), or of a vector what begins at `offsets`. Empty
    bags give zeros; `padding_idx` does not count.

    Raises ValueError for arguments that do not go together, NotImplementedError for weights of samples that are not summed.
    """
    tensors = (input, weight, offsets, per_sample_weights)
    if not all(t is None or type(t) in (Tensor, Parameter) for t in tensors) and has_torch_function(tensors):
        given = {"max_norm": max_norm, "norm_type": norm_type, "scale_grad_by_freq": scale_grad_by_freq, "mode": mode}
        given |= {"sparse": sparse, "per_sample_weights": per_sample_weights, "include_last_offset": include_last_offset}
        return handle_torch_function(embedding_bag, tensors, input, weight, offsets=offsets, padding_idx=padding_idx, **given)
    if weight.dtype is aten.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    offsets = _check(input, weight, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset)
    message = f"padding_idx must be within the number of embeddings, -{weight.shape[0]} through {weight.shape[0] - 1}, "
    padding_idx = _row(padding_idx, weight.shape[0], f"{message}but got {padding_idx}", RuntimeError)
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    starts = None
    if input.dim() == 1:
        starts = (offsets[:-1] if include_last_offset else offsets).to(aten.int64)
    if not scale_grad_by_freq and not sparse and _summed_natively(input, weight, per_sample_weights):
        padding = -1 if padding_idx is None else padding_idx
        if mode == "max":
            return ops.embedding_maxima(weight, input, starts, padding)[0]
        return ops.embedding_sums(weight, input, starts, per_sample_weights, mode == "mean", padding)
    rows = _rows(input, weight, None, scale_grad_by_freq, sparse)
    kept = None if padding_idx is None else (input != padding_idx)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    return ops.bags_of_rows(rows, kept, starts, mode)


def _summed_natively(input: Tensor, weight: Tensor, samples: Tensor | None) -> bool:
    """Whether there are kernels that do not make the rows."""
    wide = weight.dtype is aten.float32 or weight.dtype is aten.float64
    fits = samples is None or samples.dtype is weight.dtype
    return wide and fits and (input.dtype is aten.int64 or input.dtype is aten.int32)


def _check(
    input: Tensor, weight: Tensor, offsets: Any, by_frequency: bool, mode: str, sparse: bool, samples: Any, last: bool
) -> Any:
    if samples is not None and tuple(input.shape) != tuple(samples.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({samples.shape}) is not None, then it must have the same shape as the input "
            f"({input.shape})"
        )
    if not weight.is_floating_point():
        raise RuntimeError(f"embedding_bag: weight is half, bfloat16, float or double, but got {weight.dtype}")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            shown = f"Tensor of type {type(offsets)}" if isinstance(offsets, Tensor) else str(type(offsets))
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
                f"However, found offsets of type {shown}"
            )
    elif input.dim() == 1:
        if not isinstance(offsets, Tensor):
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        _check_offsets(offsets, input.shape[0])
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and by_frequency:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if samples is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if last and input.dim() == 1 and offsets.shape[0] < 1:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    return offsets


def _check_offsets(offsets: Tensor, length: int) -> None:
    """Their values are looked at only where they are there: while a graph is captured that is left to the ops."""
    if not is_compiling():
        check_starts(offsets, length)
