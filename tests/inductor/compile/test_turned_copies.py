"""Copies of tensors whose dims stand in another order: tiles are turned in registers, from memory to memory."""

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.usefixtures("own_cache")
DTYPES = ["bool", "int8", "float16", "bfloat16", "float32", "int64", "float64"]
CASES = [
    ((70, 33), (1, 0)),
    ((5, 300), (1, 0)),
    ((300, 5), (1, 0)),
    ((2, 300), (1, 0)),
    ((3, 37), (1, 0)),
    ((4, 1000), (1, 0)),
    ((3, 20, 31), (1, 2, 0)),
    ((5, 2, 9, 70), (0, 2, 3, 1)),
    ((3, 7, 90, 20), (0, 2, 3, 1)),
    ((64, 9, 64), (2, 1, 0)),
    ((2, 64, 64, 64), (0, 3, 2, 1)),  # rows a power of two apart on both sides
    ((1, 90, 40, 3), (0, 3, 1, 2)),
]


@pytest.fixture
def sources(kernels_made):
    """The texts of all kernels that are made."""
    return lambda: "".join(kernels_made)


def numbers(shape, dtype):
    return weft.randint(-100, 100, shape).to(getattr(weft, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dims"), CASES)
def test_equal_the_order_asked_for(shape, dims, dtype):
    x = numbers(shape, dtype)
    got = weft.compile(lambda x: x.permute(dims).contiguous(), fullgraph=True)(x)
    assert got.is_contiguous() and np.array_equal(got.double().numpy(), x.double().numpy().transpose(dims))


@pytest.mark.parametrize("dtype", DTYPES)
def test_take_no_tile_of_their_own(dtype, sources):
    x = numbers((70, 33), dtype)
    weft.compile(lambda x: x.t().contiguous(), fullgraph=True)(x)
    assert "w_transposed<L>" in sources() and "tile0" not in sources()


def test_of_any_size(sources):
    f = weft.compile(lambda x: x.t().contiguous(), fullgraph=True, dynamic=True)
    for shape in ((40, 70), (8, 200), (129, 5), (2, 3), (0, 4)):
        x = numbers(shape, "float32")
        assert f(x).tolist() == x.t().tolist()
    assert "w_transposed<L>" in sources()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [2, 3, 4])
def test_few_columns_are_put_side_by_side(columns, dtype, sources):
    x = numbers((columns, 333), dtype)
    f = lambda x: x[:, 1:].t().contiguous()
    assert np.array_equal(weft.compile(f, fullgraph=True)(x).double().numpy(), f(x).double().numpy())
    assert f"w_interleaved<{columns}, L>" in sources()


def test_few_columns_that_are_computed_or_do_not_lie_side_by_side(sources):
    x, y = numbers((3, 333), "float32"), weft.zeros(333, 5)

    def f(x, y):
        y[:, :3] = x.t()
        return (x + 1).t().contiguous()

    z = y.clone()
    assert weft.equal(weft.compile(f, fullgraph=True)(x, y), f(x, z)) and weft.equal(y, z)
    assert "w_interleaved" not in sources()
