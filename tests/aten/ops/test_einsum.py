"""einsum by numbers of dims instead of letters."""

from __future__ import annotations

import numpy as np
import pytest

import weft


@pytest.mark.parametrize("compiled", [False, True])
def test_operands_with_the_numbers_of_their_dims(compiled):
    def sums(a, b):
        return (
            weft.einsum(a, [0, 1], b, [1, 2], [0, 2]),
            weft.einsum(a, [0, 1]),
            weft.einsum(a, [..., 1], [...]),
            weft.einsum(a, [0, 1], b, [1, 2]),
        )

    a, b = weft.arange(6.0).view(2, 3), weft.arange(12.0).view(3, 4)
    got = (weft.compile(sums, fullgraph=True) if compiled else sums)(a, b)
    for x, want in zip(got, (a @ b, a, a.sum(1), a @ b), strict=True):
        np.testing.assert_allclose(x, want)


def test_what_does_not_fit_is_refused():
    a = weft.ones(2, 2)
    with pytest.raises(ValueError, match="subscript 77 is not within the valid range"):
        weft.einsum(a, [0, 77])
    with pytest.raises(TypeError, match="expected Tensor as element 0 in argument 1, but got int"):
        weft.einsum("ij", 3)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "equation, dtypes, want",
    [
        ("ij->i", "int32", "int64"),
        ("ij->", "int8", "int64"),
        ("ii->", "int32", "int64"),
        ("ij->j", "bool", "int64"),
        ("ij,k->k", "int32", "int64"),
        ("ij,j->j", "uint8", "int64"),
        ("ij,jk->k", "int16", "int64"),
        ("ij,jk->ik", "int32", "int32"),
        ("ij,ij->i", "int32", "int32"),
        ("ij->i", "bfloat16", "bfloat16"),
    ],
)
def test_labels_of_one_operand_alone_are_summed_as_sum_does(equation, dtypes, want, compiled):
    weft.compiler.reset()
    operands = [weft.ones([3] * len(term), dtype=getattr(weft, dtypes)) for term in equation.partition("->")[0].split(",")]

    def summed(*operands):
        return weft.einsum(equation, *operands)

    made = (weft.compile(summed, fullgraph=True) if compiled else summed)(*operands)
    assert made.dtype is getattr(weft, want)
    np.testing.assert_array_equal(made.float(), weft.einsum(equation, *(x.float() for x in operands)))
