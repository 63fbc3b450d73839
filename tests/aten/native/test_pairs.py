"""Two tensors of one element a run, joined in turns; prelu as one pass with a weight that broadcasts."""

import numpy as np
import pytest

import weft
from weft.nn import functional as F

DTYPES = [
    weft.bool, weft.uint8, weft.int16, weft.float16, weft.bfloat16, weft.float32, weft.int64, weft.float64, weft.complex64,
    weft.complex128,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("sizes", [(), (1,), (7,), (3, 5), (40000,), (0,)], ids=str)
def test_elements_of_two_in_turns(dtype, sizes):
    a, b = ((weft.arange(int(np.prod(sizes))).reshape(sizes) * 3 + k).to(dtype) for k in (0, 1))
    made = weft.stack([a, b], -1)
    assert made.shape == (*sizes, 2) and made.dtype is dtype and made.is_contiguous()
    assert weft.equal(made[..., 0], a) and weft.equal(made[..., 1], b)
    columns = [a.reshape(-1, 1), b.reshape(-1, 1)]
    assert weft.equal(weft.cat(columns, 1), made.reshape(-1, 2))
    if len(sizes) == 2:  # of which one does not lie row by row
        assert weft.equal(weft.stack([a, b.t().contiguous().t()], -1), made)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.bfloat16], ids=str)
@pytest.mark.parametrize("sizes", [(5,), (2, 3), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("channels", [False, True])
def test_prelu(dtype, sizes, channels):
    count = sizes[1] if channels and len(sizes) > 1 else 1
    x = (weft.arange(int(np.prod(sizes))).reshape(sizes) % 7 - 3).to(dtype).requires_grad_()
    weight = weft.linspace(0.25, 0.75, count).to(dtype).requires_grad_()
    made, compiled = F.prelu(x, weight), weft.compile(F.prelu, fullgraph=True)(x, weight)
    shape = [1] * len(sizes)
    shape[min(1, len(sizes) - 1)] = count
    expected = weft.where(x > 0, x, x * weight.reshape(shape))
    assert weft.equal(made, expected) and weft.equal(compiled, expected) and made.dtype is dtype
    wanted = weft.autograd.grad(expected.sum(), [x, weight])
    for result in (made, compiled):
        for found, want in zip(weft.autograd.grad(result.sum(), [x, weight]), wanted):
            assert found.dtype is dtype and weft.allclose(found.double(), want.double(), rtol=1e-2)
