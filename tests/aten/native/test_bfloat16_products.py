"""Products of bfloat16 matrices, in tiles or by pairs, whichever the processor has: sizes with remainders, layouts, chunks of k."""

import pytest

import weft

_SIZES = [(2, 2, 2), (5, 7, 9), (14, 32, 32), (15, 33, 31), (100, 100, 100), (37, 1000, 65), (64, 1537, 48), (300, 3, 2)]
_SIZES += [(16, 64, 80), (17, 40, 33), (31, 70, 16), (32, 96, 64), (33, 1600, 100), (50, 33, 17), (512, 512, 512)]


@pytest.mark.parametrize("sizes", _SIZES, ids=str)
def test_products(sizes):
    m, k, n = sizes
    a, b, bias = (weft.randn(s).bfloat16() for s in ((m, k), (k, n), (n,)))
    wanted = a.float() @ b.float()
    limit = 2.0**-8 * wanted.abs().max() * 1.1
    for x in (a, a.t().contiguous().t(), weft.cat([a, a], 1)[:, :k]):
        for y in (b, b.t().contiguous().t(), weft.cat([b, b], 1)[:, :n]):
            assert ((x @ y).float() - wanted).abs().max() <= limit
    many = weft.stack([a, a * 2])
    assert ((many @ b).float() - weft.stack([wanted, wanted * 2])).abs().max() <= 2 * limit
    out = weft.nn.functional.linear(a, b.t(), bias).float() - (wanted + bias.float())
    assert out.abs().max() <= limit + 2.0**-7


def test_what_lies_beyond_the_terms_is_not_read():
    a, b = weft.full((40, 80), float("nan")).bfloat16(), weft.full((80, 70), float("nan")).bfloat16()
    a[:, :37], b[:37] = weft.randn(40, 37), weft.randn(37, 70)
    found = (a[:, :37] @ b[:37]).float()
    assert (found - a[:, :37].float() @ b[:37].float()).abs().max() <= 0.2
