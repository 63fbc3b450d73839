"""grouped_mm: a product for each group, in each of its four forms, with gradients, compiled too."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft.nn import functional as F

OFFS = weft.tensor([2, 5], dtype=weft.int32)


def numbers(*size):
    return weft.from_numpy(np.random.RandomState(len(size) + sum(size)).randn(*size)).requires_grad_()


CASES = {
    "rows cut": (numbers(6, 4), numbers(2, 4, 3), lambda a, b: weft.cat([a[:2] @ b[0], a[2:5] @ b[1], weft.zeros(1, 3).double()])),
    "columns cut": (
        numbers(2, 4, 3), numbers(3, 6), lambda a, b: weft.cat([a[0] @ b[:, :2], a[1] @ b[:, 2:5], weft.zeros(4, 1).double()], 1)
    ),
    "sum cut": (numbers(4, 5), numbers(5, 3), lambda a, b: weft.stack([a[:, :2] @ b[:2], a[:, 2:] @ b[2:]])),
    "none cut": (numbers(2, 4, 3), numbers(2, 3, 5), lambda a, b: a @ b),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_each_group_is_a_product(case, compiled):
    a, b, plain = CASES[case]
    offs = None if case == "none cut" else OFFS

    def product(a, b):
        return F.grouped_mm(a, b, offs=offs)

    out = (weft.compile(product, fullgraph=True) if compiled else product)(a, b)
    want = plain(a, b)
    np.testing.assert_allclose(out.detach(), want.detach(), rtol=1e-12)
    seed = numbers(*want.shape).detach()
    for got, expected in zip(weft.autograd.grad(out, (a, b), seed), weft.autograd.grad(want, (a, b), seed), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_derivatives_of_every_order():
    for case in ("rows cut", "columns cut", "sum cut"):
        a, b, _ = CASES[case]
        assert weft.autograd.gradcheck(lambda a, b: weft.ops.aten.grouped_product(a, b, OFFS), (a, b), check_forward_ad=True)
        assert weft.autograd.gradgradcheck(lambda a, b: F.grouped_mm(a, b, offs=OFFS), (a, b))


def test_what_does_not_fit_is_refused():
    a, b, _ = CASES["rows cut"]
    for match, call in {
        "Have to provide offsets": lambda: F.grouped_mm(a, b),
        "int32": lambda: F.grouped_mm(a, b, offs=OFFS.long()),
        "contraction": lambda: F.grouped_mm(a[:, :2], b, offs=OFFS),
        "2 or 3d": lambda: F.grouped_mm(a[0], b, offs=OFFS),
        "Bias": lambda: F.grouped_mm(a, b, offs=OFFS, bias=a),
        "output dtype": lambda: F.grouped_mm(a, b, offs=OFFS, out_dtype=weft.float32),
    }.items():
        with pytest.raises(RuntimeError, match=match):
            call()
