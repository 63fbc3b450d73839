"""Of which class the errors are that refuse arguments of another kind. (Asked of PyTorch 2.13.)"""

import numpy as np
import pytest

import weft

F = weft.nn.functional
LEAF = weft.ones(3, requires_grad=True)
X = weft.ones(3)
INTEGERS = weft.ones(3, dtype=weft.int64)

TRUTH = weft.tensor([True, False])
SQUARE = weft.ones(2, 2)

REFUSED = [
    (ValueError, lambda: X[2**70]),
    (ValueError, lambda: SQUARE[..., -(2**63) - 1]),
    (ValueError, lambda: X.clone().__setitem__(2**63, 1)),
    (IndexError, lambda: X[2**62]),
    (NotImplementedError, lambda: TRUTH.clamp(min=True)),
    (NotImplementedError, lambda: TRUTH.clip(True, True)),
    (NotImplementedError, lambda: TRUTH.clone().clamp_(max=True)),
    (NotImplementedError, lambda: TRUTH.clamp_min(True)),
    (NotImplementedError, lambda: TRUTH.clamp(TRUTH, TRUTH)),
    (NotImplementedError, lambda: weft.compile(lambda x: x.clamp(max=True))(TRUTH)),
    (RuntimeError, lambda: F.fold(weft.ones(1, 4, 4), (0, 0), 0)),
    (RuntimeError, lambda: F.fold(weft.ones(1, 4, 4), (3, 3), 2, padding=-1)),
    (RuntimeError, lambda: F.unfold(weft.ones(1, 1, 4, 4), 2, padding=-1)),
    (RuntimeError, lambda: F.unfold(weft.ones(1, 0, 4, 4), 2)),
    (TypeError, lambda: weft.einsum("ij,jk->ik", SQUARE, np.ones((2, 2)))),
    (TypeError, lambda: weft.einsum(np.ones((2, 2)), [0, 1], [0])),
    (TypeError, lambda: weft.einsum(3, SQUARE)),
    (ValueError, lambda: weft.manual_seed(2**64)),
    (RuntimeError, lambda: weft.Generator().manual_seed(1.5)),
    (RuntimeError, lambda: weft.Generator().manual_seed(True)),
    (RuntimeError, lambda: weft.add(INTEGERS, INTEGERS, alpha=True)),
    (RuntimeError, lambda: weft.add(X, INTEGERS, alpha=True)),
    (RuntimeError, lambda: weft.sub(X, X, alpha=2j)),
    (TypeError, lambda: LEAF.clamp_(min="a")),
    (TypeError, lambda: LEAF.clamp_(max=[1])),
    (TypeError, lambda: LEAF.clamp_min_("a")),
    (TypeError, lambda: LEAF.fill_("a")),
    (TypeError, lambda: X.clamp("a")),
    (RuntimeError, lambda: X.clamp(min=1j)),
    (TypeError, lambda: X.requires_grad_("x")),
    (TypeError, lambda: X.requires_grad_(1)),
    (RuntimeError, lambda: setattr(X, "requires_grad", 1)),
    (RuntimeError, lambda: X.norm(p="x")),
    (RuntimeError, lambda: X.norm("nuc")),
    (RuntimeError, lambda: F.normalize(X, p="x")),
    (RuntimeError, lambda: weft.linalg.norm(X, "x")),
    (TypeError, lambda: weft.linalg.vector_norm(X, "x")),
    (RuntimeError, lambda: weft.linalg.matrix_norm(weft.ones(2, 2), "x")),
    (TypeError, lambda: X.to(memory_format=3)),
    (TypeError, lambda: X.to(weft.float64, memory_format="x")),
    (TypeError, lambda: X.contiguous(memory_format=3)),
    (TypeError, lambda: X.clone(memory_format=3)),
    (TypeError, lambda: weft.empty_like(X, memory_format=3)),
    (TypeError, lambda: weft.empty(3, memory_format=3)),
    (TypeError, lambda: X.float(memory_format=3)),
    (TypeError, lambda: weft.nn.Linear(2, 2).to(memory_format=3)),
    (ValueError, lambda: F.local_response_norm(weft.ones(2, 3), 2)),
    (RuntimeError, lambda: F.local_response_norm(weft.ones(2, 3, 4), 0)),
    (NotImplementedError, lambda: INTEGERS.clamp(min=1j)),
    (RuntimeError, lambda: X.norm(1j)),
    (TypeError, lambda: weft.cat((None,))),
    (TypeError, lambda: weft.stack([X, None])),
    (TypeError, lambda: weft.meshgrid(None, X)),
    (TypeError, lambda: weft.block_diag(None, X)),
    (TypeError, lambda: weft.column_stack((None,))),
    (TypeError, lambda: weft.trapezoid(X, "a")),
    (TypeError, lambda: weft.trapezoid(X, 3)),
    (TypeError, lambda: F.embedding(INTEGERS, None)),
    (TypeError, lambda: F.embedding(INTEGERS, [1])),
    (RuntimeError, lambda: weft.searchsorted(weft.tensor(1.0), X)),
    (TypeError, lambda: weft.searchsorted(X, np.ones(2))),
    (TypeError, lambda: weft.isin(np.ones(2), X)),
    (ValueError, lambda: X.sum(2**70)),
    (ValueError, lambda: X.cumsum(2**70)),
    (ValueError, lambda: weft.tril(weft.ones(2, 2), 2**70)),
    (ValueError, lambda: weft.randperm(2**70)),
    (TypeError, lambda: X.sum((2**70,))),
    (TypeError, lambda: X.reshape(1, 2**70)),
    (TypeError, lambda: weft.zeros((2**70, 1))),
    (ValueError, lambda: weft.ones(2, dtype=weft.uint64).__setitem__(0, 2**63)),
    (ValueError, lambda: weft.ones(2).__setitem__(0, 2**63)),
]


@pytest.mark.parametrize(("kind", "call"), REFUSED)
def test_class(kind, call):
    with pytest.raises(kind) as refused:
        call()
    assert refused.type is kind


def test_what_is_taken_for_a_bound_or_a_format():
    assert X.clamp(min=weft.tensor(2.0)).tolist() == X.clamp(min=2, max=None).tolist() == [2, 2, 2]
    assert weft.zeros(3).fill_(weft.tensor(2)).tolist() == [2, 2, 2]
    assert X.to(memory_format=weft.preserve_format).tolist() == X.clone(memory_format=None).tolist() == [1, 1, 1]


def test_truth_is_clamped_beside_numbers_and_by_one_tensor():
    assert TRUTH.clamp(min=1).tolist() == [1, 1] and TRUTH.clamp(max=0.5).tolist() == [0.5, 0]
    assert TRUTH.clamp(min=TRUTH[0]).tolist() == [True, True] and TRUTH.clamp(TRUTH.int(), INTEGERS[:2]).tolist() == [1, 0]


def test_forms_that_are_taken():
    x = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.clamp(weft.tensor(2.0), 3.5).tolist() == [[2, 2], [3, 3.5]]
    assert x.clamp(1.5, weft.tensor(3)).tolist() == [[1.5, 2], [3, 3]]
    assert x.long().clamp(weft.tensor(2), 3.5).dtype is weft.float32
    assert weft.roll(x, 1, None).tolist() == weft.roll(x, 1).tolist() == [[4, 1], [2, 3]]
    assert weft.trapezoid(weft.tensor([1.0, 2.0]), weft.tensor(1.0)).item() == 0
    assert x[: 2**70].tolist() == x[-(2**70) :].tolist() == x.tolist() and x[2**70 :].shape == (0, 2)
    assert x[None, [0, 1], None].shape == (1, 2, 1, 2)
    assert x.index_put((weft.tensor([0]),), weft.tensor(7.0)).tolist() == [[7, 7], [3, 4]]
