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
    with pytest.raises(TypeError, match="expected Tensor as operand 0, but got int"):
        weft.einsum("ij", 3)
