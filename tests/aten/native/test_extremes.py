"""aminmax of all elements in one pass: the bits of amin and of amax, whatever the length, NaN and zeros of both signs."""

import numpy as np
import pytest

import weft


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 5, 100, 4096, 8192, 8193, 20000, 131071, 131072, 400003])
def test_bits_of_both(dtype, n):
    rng = np.random.default_rng(n)
    for kind in ("normal", "nan", "zeros", "infinite"):
        a = rng.standard_normal(n)
        if kind == "zeros":
            a = np.copysign(0.0, a)
        elif kind != "normal":
            a[rng.integers(0, n)] = np.nan if kind == "nan" else np.inf
        t = weft.from_numpy(a.astype(dtype))
        found, expected = t.aminmax(), (t.amin(), t.amax())
        assert [f.numpy().tobytes() for f in found] == [e.numpy().tobytes() for e in expected]


def test_other_forms():
    x = weft.randn(3, 4)
    assert [t.shape for t in x.aminmax(keepdim=True)] == [(1, 1), (1, 1)]
    assert weft.equal(x.t().aminmax().max, x.max()) and weft.equal(x.aminmax(dim=1).min, x.amin(1))
    assert weft.equal(weft.arange(7).aminmax().max, weft.tensor(6)) and type(x.aminmax()).__name__ == "aminmax"
    leaf = weft.tensor([1.0, 3.0, 3.0], requires_grad=True)
    leaf.aminmax().max.backward()
    assert leaf.grad.tolist() == [0.0, 0.5, 0.5]
    with pytest.raises(RuntimeError, match="numel"):
        weft.empty(0).aminmax()
