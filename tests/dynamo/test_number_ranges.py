"""Numbers that change between calls: what graphs compute of them is what Python's integers say, and what fits a dtype is asked."""

import math

import pytest

import weft

INTS = ((2, 3), (3, 5), (4, 7), (2**31, 2**33), (2**40, 2**41), (2**61, 2**60), (7, 9), (-(2**61), 3))
OF_INTS = {
    "remainder of a product": lambda x, a, b: x * (a * b % 7),
    "quotient of a product": lambda x, a, b: x * (a * b // 2**62),
    "product": lambda x, a, b: x + a * b,
    "float of a product": lambda x, a, b: x.float() * float(a * b),
    "division of a product": lambda x, a, b: x.float() * (a * b / 2.0),
    "sum of squares": lambda x, a, b: x * ((a * a + b * b) % 5),
    "fill": lambda x, a, b: weft.full((2,), a * b),
    "extremes": lambda x, a, b: (x + 1, max(a, 2**63), min(a, b, -(2**70))),
}


def answer(f, *args):
    try:
        return repr(f(*args))
    except Exception as e:
        return type(e).__name__, str(e)


@pytest.mark.parametrize("name", OF_INTS)
def test_integers_beyond_64_bits(name):
    f = OF_INTS[name]
    compiled = weft.compile(f)
    for a, b in INTS:
        assert answer(compiled, weft.arange(2), a, b) == answer(f, weft.arange(2), a, b)


FLOATS = (1.0, 2.0, 3.5, 1e5, 1e308, math.inf, -1e308, -0.0, math.nan, 4.0)
OF_FLOATS = {
    "full": lambda x, v: weft.full((2,), v),
    "full_like": lambda x, v: weft.full_like(x, v),
    "fill_": lambda x, v: x.clone().fill_(v),
    "masked_fill": lambda x, v: x.masked_fill(x > 0, v),
    "index_fill": lambda x, v: x.index_fill(0, weft.tensor([0]), v),
    "scatter": lambda x, v: x.scatter(0, weft.tensor([0]), v),
    "pad": lambda x, v: weft.nn.functional.pad(x, (1, 1), value=v),
    "tensor": lambda x, v: (x, weft.tensor([v, v * 1e30]), weft.tensor(v, dtype=weft.float16)),
    "new_tensor": lambda x, v: (x.new_tensor(v), x.new_tensor([v, 1]), x.new_tensor((v,), dtype=weft.float64)) if abs(v) < 9 else x,
    "addcmul": lambda x, v: weft.addcmul(x, x, x, value=v),
    "leaky_relu": lambda x, v: weft.nn.functional.leaky_relu(x.float(), v),
    "norm": lambda x, v: x.float().norm(v),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [weft.float32, weft.float16, weft.int32], ids=str)
@pytest.mark.parametrize("name", OF_FLOATS)
def test_floats_beyond_the_dtype(name, dtype):
    f = OF_FLOATS[name]
    x = weft.arange(2).to(dtype)
    compiled = weft.compile(f)
    for v in FLOATS:
        assert answer(compiled, x, v) == answer(f, x, v)


def test_a_constant_that_does_not_fit_is_refused_where_it_is_captured():
    f = lambda: weft.full((2,), 1e308)
    assert answer(weft.compile(f)) == answer(f) == ("RuntimeError", "value cannot be converted to type float without overflow")


def test_numbers_of_an_elementwise_op_count_alike_in_every_layout():
    slope = weft.nn.functional.leaky_relu
    rows, columns = weft.full((4, 4), -1.0), weft.full((8, 8), -1.0)[::2, ::2]
    assert slope(rows, 1e38).tolist() == slope(columns, 1e38).tolist()
    for x in (rows, columns):
        assert answer(slope, x, 1e308) == ("RuntimeError", "value cannot be converted to type float without overflow")


def test_a_norm_of_order_nan():  # torch 2.13: nan
    assert weft.ones(3).norm(math.nan).isnan() and weft.zeros(2, 2).norm(math.nan, 0).isnan().all()


def test_which_of_equal_elements_a_set_keeps():
    def f(x, a, b):
        sets = set(a) & set(b), set(a).intersection(b), frozenset(b) & set(a), set(a) | set(b), set(a) - {2}
        inside = set(a)
        inside &= set(b)
        return x + 1, [sorted(map(repr, s)) for s in (*sets, inside)]

    compiled = weft.compile(f, backend="eager")
    for a, b in (([1.0, 2], [1, 2.0]), ([1], [1.0, 2]), ([1.0, 3, 4], [1]), ([True, 0], [1, 0.0])):
        assert compiled(weft.ones(1), a, b)[1] == f(weft.ones(1), a, b)[1]
