"""Numbers beside tensors: what fits a dtype, bools in arithmetic, NumPy's scalars and arrays. Made with PyTorch 2.13."""

import operator

import numpy as np
import pytest

import weft
from weft import ones, tensor

T, F = True, False
BIG = 2**70


def masks():
    return tensor([T, F, T])


@pytest.mark.parametrize("value", [2, tensor([1, 2, 3]), tensor(2)])
@pytest.mark.parametrize("name", ["iadd", "imul", "ior", "iand", "ixor", "ipow", "ifloordiv", "imod", "ilshift"])
def test_a_bool_tensor_takes_no_integers_in_place(name, value):
    with pytest.raises(RuntimeError, match="result type Long can't be cast to the desired output type Bool"):
        getattr(operator, name)(masks(), value)


def test_a_bool_tensor_takes_no_floats_in_place():
    for name in ("iadd", "imul", "itruediv", "iand", "ior", "ixor", "ilshift", "irshift"):
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Bool"):
            getattr(operator, name)(masks(), 1.5)
    for name in ("iand", "ior", "ixor"):
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
            getattr(operator, name)(tensor([1, 2, 3]), 1.5)
    assert operator.iadd(masks(), masks()).tolist() == [T, F, T]
    assert operator.imul(masks(), T).tolist() == [T, F, T]


@pytest.mark.parametrize("subtract", [operator.sub, operator.isub])
@pytest.mark.parametrize("other", [1, 1.5, tensor([1, 2, 3]), tensor(2.0)])
def test_bools_are_not_subtracted(subtract, other):
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        subtract(masks(), other)


def test_nothing_is_subtracted_from_or_by_bools():
    for a, b in ((ones(3), T), (ones(3), masks()), (1, masks()), (T, ones(3))):
        with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
            operator.sub(a, b)
    for b in (masks(), T):
        with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
            operator.sub(masks(), b)


@pytest.mark.parametrize("name", ["floordiv", "mod", "pow", "lshift", "rshift"])
def test_bools_have_no_quotients_powers_and_shifts(name):
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        getattr(operator, name)(masks(), masks())


# ------------------------------------------------------------------------------------ integers beyond a dtype
CALLS = {
    "+": lambda x, n: x + n,
    "reflected": lambda x, n: n - x,
    "*": lambda x, n: x * n,
    "==": lambda x, n: x == n,
    "<": lambda x, n: x < n,
    "where": lambda x, n: weft.where(x > 1, x, n),
    "masked_fill": lambda x, n: x.masked_fill(x > 1, n),
    "fill_": lambda x, n: x.fill_(n),
    "full": lambda x, n: weft.full((2,), n, dtype=x.dtype),
    "alpha": lambda x, n: x.add(x, alpha=n),
    "scatter": lambda x, n: x.scatter(0, tensor([0]), n),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", [weft.int64, weft.uint8, weft.float32, weft.bfloat16])
def test_integers_of_more_than_64_bits_are_refused(call, dtype):
    x = tensor([1, 2], dtype=dtype)
    with pytest.raises(OverflowError, match="int too big to convert"):
        CALLS[call](x, BIG)
    with pytest.raises(OverflowError, match="can't convert negative int to unsigned"):
        CALLS[call](x, -BIG)


MAKERS = [
    lambda dtype, number: tensor([number, 1], dtype=dtype),
    lambda dtype, number: weft.full((2,), number, dtype=dtype),
    lambda dtype, number: ones(2, dtype=dtype).fill_(number),
]


def test_elements_must_fit():
    for call in MAKERS:
        for dtype, number in ((weft.uint8, 300), (weft.int8, 128), (weft.int8, -129), (weft.int32, 2**31), (weft.int64, 1e20)):
            with pytest.raises(RuntimeError, match=f"value cannot be converted to type {dtype.name}_t without overflow"):
                call(dtype, number)
        assert call(weft.uint8, -1)[0].item() == 255
        assert call(weft.int8, -128)[0].item() == -128
        assert call(weft.int32, 1.9)[0].item() == 1
        assert call(weft.bool, 300)[0].item() is True
    with pytest.raises(RuntimeError, match="c10::Half without overflow"):
        weft.full((2,), 70000, dtype=weft.float16)
    assert tensor([70000], dtype=weft.float16).item() == float("inf")
    assert tensor([BIG], dtype=weft.float32).item() == float(BIG)
    assert tensor([BIG], dtype=weft.bool).item() is True
    for bad in (float("nan"), float("inf")):
        with pytest.raises(RuntimeError, match="without overflow"):
            tensor([bad], dtype=weft.int64)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        tensor([1 + 2j], dtype=weft.int64)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        tensor([1 + 2j], dtype=weft.float32)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        tensor([BIG], dtype=weft.int64)
    assert tensor(np.array([300, -1]), dtype=weft.uint8).tolist() == [44, 255]  # of an array: a cast


def test_values_that_fill_keep_the_dtype():
    x = masks()
    assert x.masked_fill(x, 300).tolist() == [T, F, T] and x.masked_fill(x, 0).dtype is weft.bool
    assert x.masked_fill_(x, 2).tolist() == [T, F, T]
    assert x.index_fill_(0, tensor([1]), 7.5).tolist() == [T, T, T]
    i = tensor([1, 2])
    assert i.masked_fill(i > 1, 1.5).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        tensor([1], dtype=weft.uint8).masked_fill(tensor([T]), 1e10)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        i[0] = BIG
    h = tensor([1.0], dtype=weft.float16)
    h[0] = 70000
    assert h.item() == float("inf")


# ---------------------------------------------------------------------------------------------- NumPy
@pytest.mark.parametrize(
    ("scalar", "result"),
    [
        (np.float32(2), weft.float32),
        (np.float64(2), weft.float32),
        (np.float16(2), weft.float32),
        (np.int64(2), weft.int64),
        (np.uint8(2), weft.int64),
        (np.bool_(True), weft.float32),
    ],
)
def test_scalars_of_numpy_are_numbers(scalar, result):
    i, number = tensor([1, 2, 3]), float(scalar)
    for out, expected in ((i * scalar, [number, 2 * number, 3 * number]), (scalar + i, [1 + number, 2 + number, 3 + number])):
        assert isinstance(out, weft.Tensor) and out.dtype is result and out.tolist() == expected
    assert (i == scalar).tolist() == [x == number for x in (1, 2, 3)]
    assert (i.float() - scalar).tolist() == [x - number for x in (1, 2, 3)]
    half = tensor([1.0, 2.0], dtype=weft.float16) * scalar
    assert half.dtype is weft.float16
    assert operator.imul(tensor([1.0, 2.0]), scalar).tolist() == [number, 2 * number]


ARRAY = np.array([1.0, 5.0, 3.0])


def test_arrays_beside_tensors_give_tensors():
    x = tensor([1.0, 2.0, 3.0])
    for out in (x == ARRAY, ARRAY == x):
        assert isinstance(out, weft.Tensor) and out.tolist() == [T, F, T]
    for out in (x != ARRAY, ARRAY != x):
        assert isinstance(out, weft.Tensor) and out.tolist() == [F, T, F]
    assert (x == np.array(2.0)).tolist() == [F, T, F]
    assert (x == ARRAY[::-1]).tolist() == [F, F, F]
    assert (x.requires_grad_() == ARRAY).tolist() == [T, F, T]
    x = x.detach()
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow):
        out = op(x, ARRAY)
        assert isinstance(out, weft.Tensor) and out.dtype is weft.float64
        np.testing.assert_array_equal(out.numpy(), op(x.numpy(), ARRAY))
        out = op(ARRAY, x)
        assert isinstance(out, weft.Tensor) and out.dtype is weft.float64
        np.testing.assert_allclose(out.numpy(), op(ARRAY, x.numpy()))
    assert (x + np.array(2.0)).dtype is weft.float64 and (x * np.float32(2)).dtype is weft.float32
    assert (x @ ARRAY).item() == 20
    x += ARRAY
    assert x.tolist() == [2, 7, 6]
    for out in (np.sin(x), np.add(x, x), np.maximum(x, ARRAY)):
        assert isinstance(out, weft.Tensor)
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        ones(3, requires_grad=True) + ARRAY
    with pytest.raises(RuntimeError, match="must match the size"):
        assert x == np.ones(4)
    assert (x == np.array(["a", "b", "c"])) is False
    with pytest.raises(TypeError):
        x + np.array(["a", "b", "c"])


def test_nothing_may_be_divided_by_zero():
    nothing = weft.arange(0)
    rows = weft.zeros(0, 2, dtype=weft.int64)
    for result in (nothing % 0, nothing // 0, nothing.fmod(weft.tensor(0)), rows % weft.tensor([1, 0])):
        assert result.numel() == 0 and result.dtype is weft.int64


def test_numbers_of_numpy_go_where_any_number_goes():
    three, half, two = np.float64(3), np.float32(0.5), np.int64(2)
    assert ones(2).fill_(three).tolist() == ones(2).masked_fill_(tensor([T, T]), three).tolist() == [3, 3]
    assert ones(2).index_fill_(0, tensor([0]), three).tolist() == [3, 1]
    assert weft.nn.init.constant_(weft.empty(2), half).tolist() == [0.5, 0.5]
    assert [len(part) for part in weft.arange(5).split(two)] == [2, 2, 1]
    assert weft.arange(2).repeat_interleave(two).tolist() == [0, 0, 1, 1]
    image = ones(1, 1, 4, 4)
    assert weft.nn.functional.avg_pool2d(image, two).shape == (1, 1, 2, 2)
    assert weft.nn.functional.interpolate(image, size=(two, np.int32(3))).shape == (1, 1, 2, 3)
    assert ones(2).lerp_(weft.zeros(2), half).tolist() == [0.5, 0.5]
    for weight in (np.float64(0.25), np.float32(0.25), np.float64(0.75)):
        for dtype in (weft.float32, weft.bfloat16):
            a, b = ones(2).to(dtype), weft.tensor([3.0, -1.0]).to(dtype)
            assert weft.lerp(a, b, weight).equal(weft.lerp(a, b, float(weight)))
    assert weft.std(ones(3), two - 2).item() == 0 and weft.quantile(weft.arange(3.0), half).item() == 1
    assert weft.norm(ones(4), np.float64(2)).item() == 2
    assert weft.Tensor(two).shape == (2,) and weft.Tensor(two, np.int32(3)).shape == (2, 3)


def test_arrays_of_one_integer_are_sizes():
    assert ones(np.array(3), np.int64(4)).shape == ones((np.array(3), 4)).shape == (3, 4)
    for size in (np.array(3.0), np.array([3, 3]), np.array(True)):
        with pytest.raises(TypeError):
            ones((size, 4))


def test_extremes_of_all_and_places_of_what_is_not_zero():
    x = tensor([[1.0, 5.0], [2.0, 0.0]])
    assert x.amax(dim=None).item() == 5 and weft.amin(x, None, keepdim=True).tolist() == [[0.0]]
    out = weft.empty(0, dtype=weft.int64)
    with pytest.raises(RuntimeError, match="out kwarg when as_tuple"):
        weft.nonzero(x, as_tuple=True, out=out)
    assert weft.nonzero(x[0], as_tuple=False, out=out).tolist() == [[0], [1]]
