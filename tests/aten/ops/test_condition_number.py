"""The condition number of singular and of empty matrices, as PyTorch 2.13 has it."""

import math

import pytest

import weft


@pytest.mark.parametrize("p", [1, -1, math.inf, -math.inf, "fro", "nuc"])
def test_singular_matrices(p):
    singular, regular = weft.ones(2, 2), weft.eye(2)
    assert weft.linalg.cond(singular, p).item() == math.inf
    both = weft.linalg.cond(weft.stack([singular, regular]), p)
    assert both[0].item() == math.inf and weft.allclose(both[1], weft.linalg.cond(regular, p))
    zeros = weft.linalg.cond(weft.zeros(2, 2, dtype=weft.complex64), p)
    assert zeros.dtype is weft.float32 and (zeros.isnan().item() if p == "nuc" else zeros.item() == math.inf)


def test_matrices_without_elements():
    assert weft.linalg.cond(weft.zeros(0, 0)).item() == 0
    for p in (None, 2, -2, 1, "fro", "nuc"):
        assert weft.linalg.cond(weft.zeros(2, 0, 0, dtype=weft.complex64), p).tolist() == [0, 0]
        assert weft.linalg.cond(weft.zeros(0, 2, 2), p).shape == (0,)
    assert weft.linalg.cond(weft.zeros(2, 0, 3), 2).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="A must be batches of square matrices, but they are 0 by 3 matrices"):
        weft.linalg.cond(weft.zeros(0, 3), "fro")
