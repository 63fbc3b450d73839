"""Tensors of one element that stand for numbers in calls: sizes, bounds of slices, factors. Capture reads them as item() does."""

import numpy as np
import pytest

import weft

CASES = {
    "size": lambda x, n: x.new_ones(n, 2),
    "size in a list": lambda x, n: x.new_ones([n, n + 1]),
    "zeros": lambda x, n: weft.zeros(n, 3),
    "view": lambda x, n: x.view(n, -1) + 1,
    "alpha": lambda x, n: weft.add(x, x, alpha=n),
    "roll": lambda x, n: weft.roll(x, n),
    "tail": lambda x, n: x[n:] + 1,
    "head": lambda x, n: x[:n] * 2,
    "inner": lambda x, n: x.view(2, 4)[:, n:],
}


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_number(name, fullgraph):
    function = CASES[name]
    compiled = weft.compile(function, backend="eager", fullgraph=fullgraph)
    for n in (2, 1, 4):
        args = weft.arange(8.0), weft.tensor(n)
        weft.testing.assert_close(compiled(*args), function(*args))


def test_write_between_bounds():
    def function(x, n):
        y = x.clone()
        y[n:] = 0
        return y

    compiled = weft.compile(function, fullgraph=True)
    for n in (0, 3, 9, -1):
        args = weft.arange(8.0), weft.tensor(n)
        weft.testing.assert_close(compiled(*args), function(*args))


def test_quotient_of_numbers_as_a_size():
    def function(x, w):
        chunks = weft.div(x.shape[0], w, rounding_mode="trunc") - 1
        return x.new_zeros((2, chunks + 1)) + x.sum()

    args = weft.arange(8.0), 4
    weft.testing.assert_close(weft.compile(function, fullgraph=True)(*args), function(*args))


def test_empty_tensors_of_one_dim_are_left_out_of_cat():
    function = lambda *tensors: weft.cat(tensors, -1)
    compiled = weft.compile(function, fullgraph=True, dynamic=True)
    args = weft.randn(2, 3), weft.randn(0), weft.randn(2, 4, requires_grad=True)
    weft.testing.assert_close(compiled(*args), function(*args))
    compiled(*args).sum().backward()
    weft.testing.assert_close(args[2].grad, weft.ones(2, 4))


def test_index_put_of_one_row_is_spread():
    function = lambda a, b, c: weft.ops.aten.index_put_(a + 1, (None, b, None), c)
    args = weft.randn(4, 4, 2), weft.arange(3), weft.randn(4, 1, 2)
    weft.testing.assert_close(weft.compile(function, fullgraph=True, dynamic=True)(*args), function(*args))


def test_quotient_of_bools_towards_zero():
    a, b = weft.tensor([True, False, True]), weft.tensor([2, 3, 1])
    function = lambda a, b: weft.div(a, b, rounding_mode="trunc")
    assert function(a, b).tolist() == [0, 0, 1]
    weft.testing.assert_close(weft.compile(function, fullgraph=True)(a, b), function(a, b))


NO_TENSORS = {
    "none": lambda n: [n, None],
    "kinds": lambda n: [n, {}, None],
    "text": lambda n: [n, "a"],
    "ragged": lambda n: [[n, 2], [3]],
    "shallow": lambda n: [[n, 2], 3],
    "deep": lambda n: [3, [n]],
    "too large": lambda n: [n, 2**70],
    "too large, and none": lambda n: [2**70, n, None],
    "a tensor": lambda n: [weft.tensor(n), None],
    "an array beside numbers": lambda n: [np.array([1.5]), n],
}


@pytest.mark.parametrize("dtype", [None, weft.int64, weft.float32])
@pytest.mark.parametrize("name", NO_TENSORS)
def test_what_is_no_tensor_is_refused_as_in_eager_where_numbers_are_symbols(name, dtype):
    def function(x, n):
        try:
            return x + 1, weft.tensor(NO_TENSORS[name](n), dtype=dtype)
        except (RuntimeError, TypeError, ValueError) as e:
            return x + 1, type(e), str(e)

    weft.compiler.reset()  # (the code is one for all of these tests)
    compiled = weft.compile(function, backend="eager", fullgraph=True)
    for n in (2, 3, 4):
        assert repr(compiled(weft.ones(2), n)) == repr(function(weft.ones(2), n))
