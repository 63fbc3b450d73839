"""NumPy functions inside compiled functions, beside NumPy."""

import numpy as np
import pytest

import weft

A = np.arange(12.0).reshape(3, 4).astype(np.float32)
I = np.array([[0], [1], [3]])  # noqa: E741
B = np.array([3, 1, 2])
EXPRESSIONS = """np.take_along_axis(A, I, 1); np.take_along_axis(A, B, None); np.roll(A, 1); np.roll(A, 1, 0); np.repeat(A, 2)
np.repeat(B, 2, 0); np.tile(B, 2); np.tile(B, (2, 2)); np.diag(A); np.diag(B); np.diagonal(A); np.rot90(A); np.flipud(A)
np.vstack([A, A]); np.hstack([B, B]); np.split(A, 2, 1); np.split(A, [1, 2], 1); np.array_split(B, 2); np.diff(B)
np.meshgrid(B, B); np.sort(B); np.sort(A, axis=0); np.argsort(B, kind='stable'); np.trace(A); A.trace(); np.nan_to_num(A)
np.isclose(A, A + 1e-9); np.inner(B, B); np.linalg.norm(A); np.linalg.norm(A, axis=0); np.linalg.norm(B)
np.linalg.norm(A, 1, axis=1); np.issubdtype(A.dtype, np.floating); np.finfo(A.dtype).eps; np.iinfo(np.int16).max
np.result_type(A, B); np.column_stack([B, B]); np.atleast_2d(B); np.linalg.norm(A, axis=1, keepdims=True)
np.can_cast(np.int32, np.int64); np.promote_types(np.int8, np.float16)""".replace("\n", ";")


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.split(";")])
def test_it_is_numpys(expression):
    scope = {"np": np}
    exec(f"def f(A, B, I): return {expression}", scope)
    same(weft.compile(scope["f"], backend="eager", fullgraph=True)(A, B, I), scope["f"](A, B, I))


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert found.dtype == expected.dtype and np.allclose(found, expected)
    else:
        assert found == expected


MAKERS = [np.zeros, np.empty, np.arange, lambda n, dtype: np.ones(n).astype(dtype), lambda n, dtype: np.asarray([n], dtype)]


@pytest.mark.parametrize("make", MAKERS)
def test_dtypes_of_the_other_byte_order_are_left_to_numpy(make):
    def f(a, dtype):
        return a * 2, make(3, dtype=dtype).dtype

    assert weft.compile(f)(np.ones(2), np.dtype(">f8"))[1] == np.dtype(">f8")


@pytest.mark.parametrize("divisor", [0.75, -2, np.array([0.75, -0.75, 2.0, -2.0]), np.float32(-3)])
def test_a_remainder_of_zero_has_the_divisors_sign(divisor):
    def f(a):
        return a % divisor, np.remainder(a, divisor), a[1] % divisor

    a = np.array([0.0, -0.0, -6.0, 6.0])
    for got, want in zip(weft.compile(f)(a), f(a)):
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
        np.testing.assert_array_equal(got, want)


OF_TENSORS = [
    lambda t: np.sum(t),
    lambda t: np.mean(t, 0),
    lambda t: np.clip(t, 1, 2),
    lambda t: np.reshape(t, (3, 2)),
    lambda t: np.amax(t),
    lambda t: np.transpose(t),
    lambda t: np.argmax(t),
    lambda t: np.cumsum(t, 0),
    lambda t: np.maximum(t, 1),
    lambda t: np.where(t > 1, t, 0),
    lambda t: np.concatenate([t, t]),
    lambda t: np.take(t, [0]),
    lambda t: np.exp(t),
    lambda t: np.shape(t),
    lambda t: np.size(t, 0),
    lambda t: np.around(t),
    lambda t: np.split(t, 2)[0],
    lambda t: np.array_split(t, 2)[1],
    lambda t: np.flip(t),
]


@pytest.mark.parametrize("function", OF_TENSORS)
def test_functions_that_ask_the_methods_of_tensors(function):
    """NumPy hands what is no array to a method of its own, which gives a tensor."""
    x = weft.arange(6.0).reshape(2, 3)
    weft.compiler.reset()
    found, expected = weft.compile(lambda t: (t + 1, function(t)), backend="eager")(x)[1], function(x)
    assert type(found) is type(expected) and np.allclose(np.asarray(found), np.asarray(expected))


ANOTHER = """np.flipud(t) | np.roll(t, 1) | np.asarray(t) | np.stack([t, t]) | np.zeros_like(t) | np.diff(t) | np.dot(t, t.T)
np.outer(t, t) | np.take_along_axis(t.detach(), weft.zeros(2, 1, dtype=weft.int64), 1)""".replace("\n", " | ")


@pytest.mark.parametrize("expression", ANOTHER.split(" | "))
def test_what_no_array_is_made_of_is_refused(expression):
    """An array of a tensor that requires grad, and a dtype of a tensor where NumPy asks for its own."""
    scope = {"np": np, "weft": weft}
    exec(f"def f(t): return {expression}", scope)
    x = weft.arange(6.0).reshape(2, 3).requires_grad_()
    weft.compiler.reset()
    for function in (scope["f"], weft.compile(scope["f"], backend="eager")):
        with pytest.raises((RuntimeError, TypeError), match="requires grad|Cannot interpret"):
            function(x)


def test_the_size_along_an_axis():
    def f(a):
        return np.size(a, 1), np.size(a, axis=-2), np.size(a), np.size([1, 2])

    assert weft.compile(f, backend="eager", fullgraph=True)(A) == f(A)


def test_constant_arrays_of_zeros_of_both_signs():
    def f():
        return np.linspace(0, -0.0, 3), np.array([0.0, -0.0]), np.array([-0.0, -0.0])

    for got, want in zip(weft.compile(f, backend="eager", fullgraph=True)(), f()):
        assert got.tobytes() == want.tobytes()
