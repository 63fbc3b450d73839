"""The loss of labels without times, against the sum over all alignments, one by one."""

import itertools
import math

import pytest

import weft

F = weft.nn.functional


def by_enumeration(logs, labels, blank=0):
    """-log of the summed probability of all paths [T] of classes that spell the labels."""
    steps, classes = logs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        spelled = [c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)]
        if spelled == labels:
            total += math.exp(sum(float(logs[t, c]) for t, c in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("labels", [[], [1], [1, 1], [1, 2], [2, 1, 2], [1, 1, 1]])
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_every_alignment_counts(steps, labels):
    logs = weft.randn(steps, 3, dtype=weft.float64).log_softmax(-1)
    found = F.ctc_loss(logs, weft.tensor(labels, dtype=weft.int64), [steps], [len(labels)], reduction="none")
    assert float(found) == pytest.approx(by_enumeration(logs, labels), rel=1e-10)


def batch(dtype=weft.float64):
    logits = weft.randn(9, 3, 5, dtype=dtype, requires_grad=True)
    targets = weft.tensor([[1, 2, 2], [3, -1, 99], [4, 4, 4]])  # what lies behind the lengths is nobody's
    return logits, targets, weft.tensor([9, 4, 8]), weft.tensor([3, 1, 3])


def test_derivatives():
    logits, targets, frames, lengths = batch()
    targets = targets.clamp(0, 4)
    for reduction in ("mean", "sum", "none"):
        loss = lambda x, how=reduction: F.ctc_loss(x.log_softmax(-1), targets, frames, lengths, reduction=how)
        assert weft.autograd.gradcheck(loss, logits)
    assert weft.autograd.gradgradcheck(lambda x: F.ctc_loss(x.log_softmax(-1), targets, frames, lengths), logits)


def test_native_and_definition_agree():
    from aten.ops.ctc import ctc_alignments, ctc_alignments_backward

    labels = weft.tensor([[0, 1, 0, 1, 0], [0, 2, 0, 3, 0], [0, 4, 0, 0, 0], [0, 1, 0, 2, 0]])
    frames, lengths = weft.tensor([6, 2, 0, 1]), weft.tensor([2, 2, 1, 2])
    for dtype in (weft.float32, weft.float64):
        logs = weft.randn(6, 4, 5, dtype=dtype).log_softmax(-1)
        for forgive in (False, True):
            args = logs, labels, frames, lengths, forgive
            weft.testing.assert_close(ctc_alignments(*args), ctc_alignments.decompose_fn(*args))
            g = weft.randn(4, dtype=dtype)
            found = ctc_alignments_backward(g, *args)
            weft.testing.assert_close(found, ctc_alignments_backward.decompose_fn(g, *args), equal_nan=True)


def test_compiled_is_one_step():
    logits, targets, frames, lengths = batch(weft.float32)
    loss = lambda x: F.ctc_loss((x * 2).log_softmax(-1), targets, frames, lengths) + 1
    compiled = weft.compile(loss, fullgraph=True)
    weft.testing.assert_close(compiled(logits), loss(logits))
    for x, y in zip(*(weft.autograd.grad(f(logits), logits) for f in (compiled, loss))):
        weft.testing.assert_close(x, y)


def test_maps_over_batches():
    logs = weft.randn(2, 5, 1, 4, dtype=weft.float64).log_softmax(-1)
    loss = lambda x: F.ctc_loss(x, weft.tensor([[1, 2]]), [5], [2], reduction="sum")
    weft.testing.assert_close(weft.vmap(loss)(logs), weft.stack([loss(x) for x in logs]))
    per_sample = weft.vmap(weft.func.grad(loss))(logs)
    weft.testing.assert_close(per_sample, weft.stack([weft.func.grad(loss)(x) for x in logs]))


def test_lengths_that_do_not_fit_are_refused():
    logs = weft.zeros(10, 2, 6).log_softmax(-1)
    rows, flat = weft.ones(2, 4, dtype=weft.int64), weft.ones(7, dtype=weft.int64)
    frames, lengths = weft.tensor([10, 8]), weft.tensor([4, 3])
    for targets, given, counted, text in (
        (rows, weft.tensor([11, 8]), lengths, "Expected input_lengths to have value at most 10, but got value 11"),
        (rows, weft.tensor([-1, 8]), lengths, "Expected input_lengths to have value at least 0, but got value -1"),
        (rows, frames, weft.tensor([4, -1]), "Expected target_lengths to have value at least 0, but got value -1"),
        (rows, frames, weft.tensor([5, 3]), "Expected tensor to have size at least 5 at dimension 1, but got size 4"),
        (flat[:5], frames, lengths, "Expected tensor to have size 7 at dimension 0, but got size 5"),
    ):
        with pytest.raises(RuntimeError, match=text):
            F.ctc_loss(logs, targets, given, counted)
    assert F.ctc_loss(logs, flat, frames, lengths) == F.ctc_loss(logs, rows.float(), frames, lengths)
