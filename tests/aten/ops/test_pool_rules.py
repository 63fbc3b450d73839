"""The native rules of pools and norms give what the definitions give, of integers, short rows and halves too."""

import numpy as np
import pytest

from aten import dtype as dtypes
from aten.op import registry
from aten.tensor import from_numpy

rng = np.random.default_rng(0)


def by_rule(name, *args):
    """What the op gives without its definition."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry[name], "function", None)
        return registry[name](*args)


def by_rule_and_by_definition(name, *args):
    return by_rule(name, *args), registry[name].function(*args)


def same(found, expected, tolerance=0.0):
    assert found.dtype is expected.dtype and found.shape == expected.shape
    a, b = (t.to(dtypes.float64).numpy() for t in (found, expected))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "bfloat16"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_maxima_of_integers_and_halves_and_where_they_stand(n, dtype):
    x = from_numpy(rng.integers(-5, 6, (2, 3, 7, 6, 9)[: 2 + n])).to(getattr(dtypes, dtype))
    for padding, dilation, ceil_mode in ((0, 1, False), (1, 2, True)):
        pairs = by_rule_and_by_definition(f"max_pool{n}d", x, 3, 2, padding, dilation, ceil_mode, True)
        for found, expected in zip(*pairs):
            same(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [3, 9, 40, 300])
def test_short_rows_of_pools(width, dtype):
    x = from_numpy(rng.normal(size=(3, 5, width))).to(getattr(dtypes, dtype))
    x[0, 0, 1] = float("nan")
    for kernel, stride, padding in ((3, 1, 1), (2, 2, 0), (3, 2, 1)):
        same(*by_rule_and_by_definition("max_pool2d", x, kernel, stride, padding, 1, False, False))
        for ceil_mode, counted in ((False, True), (True, False)):
            args = x, kernel, stride, padding, ceil_mode, counted, None
            same(*by_rule_and_by_definition("avg_pool2d", *args), 1e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize(
    ("sizes", "dtype"),
    [((9, 4, 40), "float16"), ((9, 4, 40), "bfloat16"), ((9, 4, 40), "float32"), ((9, 4, 3), "float32"), ((9, 4, 3), "float64")],
)
def test_batch_norm_follows_statistics(sizes, dtype):
    made = lambda: from_numpy(rng.uniform(0.5, 2, 4)).to(getattr(dtypes, dtype))
    x = from_numpy(rng.normal(1, 2, sizes)).to(getattr(dtypes, dtype))
    given = [made() for _ in range(4)]
    kept = [t.clone() for t in given]
    found, expected = (
        by_rule("batch_norm", x, *given, True, 0.25, 1e-5),
        registry["batch_norm"].function(x, *kept, True, 0.25, 1e-5),
    )
    tolerance = {"float16": 4e-3, "bfloat16": 3e-2}.get(dtype, 1e-5)
    for a, b in zip((found, *given[:2]), (expected, *kept[:2])):
        same(a, b, tolerance)


@pytest.mark.parametrize("sizes", [(9, 4, 3), (9, 4), (2, 4, 30)])
def test_group_norm_of_short_channels(sizes):
    x, w = from_numpy(rng.normal(1, 2, sizes)), from_numpy(rng.uniform(0.5, 2, 4))
    same(*by_rule_and_by_definition("group_norm", x, 2, w, w, 1e-5), 1e-12)
