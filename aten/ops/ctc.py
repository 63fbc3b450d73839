"""The loss of labels without times (connectionist temporal classification), of all their alignments with frames."""

from aten import _native
from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.by_definition import by_definition
from aten.ops.loss import reduce_loss
from aten.promotion import category
from aten.scalar.unpatched import math


@composite(
    "ctc_loss(Tensor log_probs, LongTensor targets, Any input_lengths, Any target_lengths, int blank=0, "
    "str reduction='mean', bool zero_infinity=False) -> Tensor",
    tags=["function_only"],
)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    """Minus the log of the summed probability of all alignments of a target (Graves et al. 2006).

    log_probs [T, N, C]; targets [N, S], or all in one vector. The lengths may be the host's, as whoever counts them has them.
    """
    lengths = [v.to(log_probs.device) if hasattr(v, "dtype") else v for v in (input_lengths, target_lengths)]
    return ops.ctc_loss_of(log_probs, targets, *lengths, blank, reduction, zero_infinity)


@composite(
    "ctc_loss_of(Tensor log_probs, LongTensor targets, Any input_lengths, Any target_lengths, int blank, str reduction, "
    "bool zero_infinity) -> Tensor",
    tags=["function_only", "hidden"],
)
def ctc_loss_of(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    """`ctc_loss` of tensors on one device."""
    batched = log_probs.ndim == 3
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for argument #1 'log_probs'"
        )
    if not 0 <= blank < log_probs.shape[-1]:
        raise RuntimeError("blank must be in label range")
    logs = log_probs if batched else log_probs.unsqueeze(1)
    steps, n = logs.shape[:2]
    as_tensor = lambda v: v if hasattr(v, "dtype") else ops.stack([ops.full([], i, dtype=dtypes.int64) for i in v])
    frames, lengths = as_tensor(input_lengths).reshape([-1]), as_tensor(target_lengths).reshape([-1])
    for name, given in (("input", frames), ("target", lengths)):
        if category(given.dtype) >= 2:
            raise RuntimeError(f"{name}_lengths must be integral")
        if bool(given.shape[0] != n):
            raise RuntimeError(f"{name}_lengths must be of size batch_size")
    if targets.dtype.is_floating_point:
        targets = targets.to(dtypes.int64)
    _check_lengths(frames, lengths, steps, targets, batched)
    if targets.ndim == 1 and batched:
        longest = ops.amax(lengths).item()
        start = ops.cumsum(lengths, 0) - lengths
        at = (start.unsqueeze(1) + ops.arange(longest)).clamp(max=max(targets.shape[0] - 1, 0))
        targets = ops.index_select(targets, 0, at.reshape([-1])).reshape([n, longest])
    targets = targets if targets.ndim == 2 else targets.unsqueeze(0)
    spaced = ops.stack([ops.full_like(targets, blank), targets], 2).reshape([n, 2 * targets.shape[1]])
    labels = ops.constant_pad_nd(spaced, [0, 1], blank)
    loss = ctc_alignments(logs, labels, frames.to(dtypes.int64), lengths.to(dtypes.int64), bool(zero_infinity))
    if reduction == "mean":
        return ops.mean(loss / lengths.clamp(min=1).to(loss.dtype))
    result = reduce_loss(loss, reduction)
    return result if batched or reduction != "none" else result.squeeze([0])


def _check_lengths(frames, lengths, steps, targets, batched):
    """Raises RuntimeError for lengths that are known and are not those of what is given."""
    if _native.is_tracer(frames) or _native.is_tracer(lengths) or frames.is_meta or lengths.is_meta or not frames.numel():
        return
    where = "(while checking arguments for ctc_loss_allocate_outputs)"
    if int(frames.min()) < 0 or int(frames.max()) > steps:
        least, most = int(frames.min()), int(frames.max())
        bound, value = ("least 0", least) if least < 0 else (f"most {steps}", most)
        raise RuntimeError(f"Expected input_lengths to have value at {bound}, but got value {value} {where}")
    if int(lengths.min()) < 0:
        raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {int(lengths.min())} {where}")
    together = targets.ndim == 1 and batched
    needed, given = (int(lengths.sum()) if together else int(lengths.max())), targets.shape[-1]
    if needed != given if together else needed > given:
        wanted, dim = (f"size {needed}", 0) if together else (f"size at least {needed}", 1)
        text = f"Expected tensor to have {wanted} at dimension {dim}, but got size {given} for argument #2 'targets'"
        raise RuntimeError(f"{text} {where}")


@op(
    "ctc_alignments(Tensor logs, Tensor labels, Tensor frames, Tensor lengths, bool zero_infinity) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def ctc_alignments(logs: Meta, labels: Meta, frames: Meta, lengths: Meta, zero_infinity: bool) -> Meta:
    """Losses [N] of logs [T, N, C] and labels [N, 2 S + 1], which have blanks around each; `frames` of T and `lengths` of S count.
    What no alignment allows is infinite, or 0.
    """
    return Meta.contiguous((logs.sizes[1],), logs.dtype, logs.device)


@op(
    "ctc_alignments_backward(Tensor grad, Tensor logs, Tensor labels, Tensor frames, Tensor lengths, bool zero_infinity) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def ctc_alignments_backward(grad: Meta, logs: Meta, labels: Meta, frames: Meta, lengths: Meta, zero_infinity: bool) -> Meta:
    """The gradient of logs, as of log-probabilities that a log_softmax made (it includes their exp): of used frames NaN where the
    loss is infinite."""
    return Meta.contiguous(logs.sizes, logs.dtype, logs.device)


@ctc_alignments.decompose
def _(logs, labels, frames, lengths, zero_infinity):
    (steps, n), width = logs.shape[:2], labels.shape[1]
    before = ops.cat([labels[:, :2], labels[:, :-2]], 1) if width > 1 else labels
    may_skip = (ops.arange(width) % 2 > 0) & (ops.arange(width) > 1) & ops.ne(labels, before)
    low = -1e30  # stands for log(0): differences stay finite
    emit = ops.gather(logs, 2, labels.unsqueeze(0).expand([steps, n, width])).clamp(min=low)
    alpha = ops.where(ops.arange(width) < 2, emit[0], low)
    rows = [alpha]
    for t in range(1, steps):
        one = ops.constant_pad_nd(alpha[:, :-1], [1, 0], low)
        two = ops.where(may_skip, ops.constant_pad_nd(alpha[:, :-2], [2, 0], low), low)
        alpha = (ops.logsumexp(ops.stack([alpha, one, two], 0), [0]) + emit[t]).clamp(min=low)
        rows.append(alpha)
    at = (frames - 1).clamp(min=0).reshape([1, n, 1]).expand([1, n, width])
    final = ops.gather(ops.stack(rows, 0), 0, at).squeeze([0])
    final = ops.where(ops.eq(frames, 0).unsqueeze(1), ops.where(ops.arange(width) == 0, 0.0, low), final)
    ends = ops.stack([2 * lengths, (2 * lengths - 1).clamp(min=0)], 1)
    pair = ops.gather(final, 1, ends)
    pair = ops.where((ops.arange(2) == 1) & ops.eq(lengths, 0).unsqueeze(1), low, pair)
    loss = -ops.logsumexp(pair, [1])
    impossible = loss > 1e29
    # The gradient is that of log-probabilities which a log_softmax made: it includes exp(log_probs) of the frames in use.
    used = (ops.arange(steps).unsqueeze(1) < frames) & ops.logical_not(impossible)
    found = loss.detach()
    loss = ops.replace_values(loss + ops.sum(ops.where(used.unsqueeze(2), logs, -math.inf).exp(), [0, 2]), loss)
    if not zero_infinity:  # what is infinite has no slope; frames beyond the length have one of 0
        slope = ops.where((ops.arange(steps).unsqueeze(1) < frames) & impossible, math.nan, 0.0)
        loss = loss + ops.sum(logs * slope.unsqueeze(2), [0, 2])
        loss = ops.replace_values(loss, ops.where(impossible, math.inf, found))
    else:
        loss = ops.where(impossible, 0.0, loss)
    return loss


@ctc_alignments.vjp
def _(g, needs, logs, labels, frames, lengths, zero_infinity):
    return ctc_alignments_backward(g, logs, labels, frames, lengths, zero_infinity), None, None, None


@ctc_alignments_backward.decompose
def _(grad, logs, labels, frames, lengths, zero_infinity):
    from aten.transforms.reverse_mode import vjp  # which is made of ops

    _, pull = vjp(lambda x: ctc_alignments.decompose_fn(x, labels, frames, lengths, zero_infinity), logs)
    return pull(grad)[0]


ctc_alignments.kernel(by_definition(lambda *args: ctc_alignments.decompose_fn(*args)))
ctc_alignments_backward.kernel(by_definition(lambda *args: ctc_alignments_backward.decompose_fn(*args)))
