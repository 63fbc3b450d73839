"""The mode of rows with NaN, which depends on where the NaNs stand. Expected: PyTorch 2.13 on a CPU."""

import math

import pytest

import weft

nan, inf = math.nan, math.inf
ROWS = (
    ([nan, nan, 1.0], nan, 0),
    ([1.0, nan, nan], 1.0, 0),
    ([nan, 1.0, 1.0], 1.0, 2),
    ([2.0, nan, 1.0], 1.0, 2),
    ([nan, 2.0, 1.0], nan, 0),
    ([nan, 2.0, nan, 2.0], nan, 0),
    ([2.0, 2.0, nan, nan], 2.0, 1),
    ([nan, nan, 2.0, 2.0, 2.0, 1.0], 2.0, 4),
    ([inf, nan, inf], inf, 0),
    ([nan, 1.0, nan, 1.0, 1.0, nan, 2.0, 2.0, nan, nan], 1.0, 4),
    ([0.0, -0.0, 1.0], 0.0, 1),
    ([nan], nan, 0),
    ([nan, 3.0, 1.0] * 9, 1.0, 8),
    ([4.0, 2.0, nan, 0.0] * 50, 0.0, 27),
)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.bfloat16])
def test_mode_beside_nan(dtype, compiled):
    weft.compiler.reset()
    mode = weft.compile(lambda x: weft.mode(x, 0), fullgraph=True) if compiled else lambda x: weft.mode(x, 0)
    for row, value, at in ROWS:
        found = mode(weft.tensor(row, dtype=dtype))
        assert (found[0].item(), found[1].item()) == pytest.approx((value, at), nan_ok=True), row
