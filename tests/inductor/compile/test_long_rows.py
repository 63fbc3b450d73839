"""Rows that do not stay in cache: the loop that stores runs from their end."""

import pytest

import weft


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


@pytest.mark.parametrize("columns", [32768, 40000, 65537])
@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16, weft.float64])
def test_softmax_of_long_rows(columns, dtype):
    x = weft.randn(5, columns).to(dtype)
    f = lambda x: weft.softmax(x, 1) * x
    tolerance = 2e-2 if dtype is weft.bfloat16 else 1e-5
    weft.testing.assert_close(weft.compile(f)(x), f(x), rtol=tolerance, atol=1e-9)


def test_an_expensive_value_is_kept_where_it_was():
    x = weft.randn(6, 33001)
    f = lambda x: (lambda e: e / e.sum(1, keepdim=True) + e.amax(1, keepdim=True))(weft.exp(weft.sin(x)))
    weft.testing.assert_close(weft.compile(f)(x), f(x))


def test_as_many_columns_as_a_symbol_says():
    f = weft.compile(lambda x: x - x.mean(1, keepdim=True), dynamic=True)
    for columns in (70000, 3, 0, 8193):
        x = weft.randn(5, columns)
        weft.testing.assert_close(f(x), x - x.mean(1, keepdim=True), equal_nan=True)
