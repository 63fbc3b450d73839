"""Batches of small matrices are multiplied without packing them; sums are chains in the order of k, as those of large ones."""

import itertools

import numpy as np
import pytest

import weft

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_products_of_small_matrices(dtype):
    for m, k, n in itertools.product((1, 3, 4, 20, 32, 33), (1, 7, 32, 33), (2, 8, 16, 17, 20, 32, 40)):
        a, b = weft.from_numpy(rng.standard_normal((5, m, k))).to(dtype), weft.from_numpy(rng.standard_normal((5, k, n))).to(dtype)
        expected = np.stack([x @ y for x, y in zip(a.double().numpy(), b.double().numpy())])
        turned = a.transpose(1, 2).contiguous().transpose(1, 2)
        wide = weft.cat([b, b], 2)[:, :, :n]
        tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype is weft.float32 else {"rtol": 1e-11, "atol": 1e-11}
        for x, y in ((a, b), (turned, b), (a, wide), (a, b[:1].expand_as(b)), (a.flip(0).flip(0)[::1], b)):
            wanted = (
                expected if y is not b[:1] and y.stride(0) else np.stack([p @ b[0].double().numpy() for p in a.double().numpy()])
            )
            np.testing.assert_allclose(weft.bmm(x, y).double().numpy(), wanted, **tolerance)
        one = weft.stack([weft.mm(p, q) for p, q in zip(a, b)])
        if m > 1 and n > 1:
            assert weft.bmm(a, b).equal(one)  # the same bits, alone or in a batch
