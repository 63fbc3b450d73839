"""Of which class the errors are that refuse arguments of another kind. (Asked of PyTorch 2.13.)"""

import pytest

import weft

F = weft.nn.functional
LEAF = weft.ones(3, requires_grad=True)
X = weft.ones(3)
INTEGERS = weft.ones(3, dtype=weft.int64)

REFUSED = [
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
