"""Division, remainders and powers by one number: by products, and equal to what eager computes for every value."""

import numpy as np
import pytest

import weft

TYPES = {"int8": np.int8, "uint8": np.uint8, "int16": np.int16, "int32": np.int32, "int64": np.int64}
DIVISORS = (1, 2, 3, 5, 7, 10, 64, 100, 125, -1, -3, -7, -64, -128)


def integers(dtype, divisor):
    """Values of every size, and those around multiples of the divisor."""
    info = np.iinfo(dtype)
    random = np.random.default_rng(0)
    if info.bits <= 16:
        return np.arange(info.min, info.max + 1, dtype=dtype)
    sizes = random.integers(0, info.bits, 4000)
    values = random.integers(info.min, info.max, 4000, dtype=dtype, endpoint=True) >> sizes.astype(dtype)
    multiples = values // divisor * dtype(divisor)
    edges = np.array([info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max], dtype)
    return np.concatenate([values, multiples, multiples + dtype(1), multiples - dtype(1), edges])


def wrapped(numbers, dtype):
    """Python's integers as the dtype wraps them."""
    info = np.iinfo(dtype)
    return np.array([(n - int(info.min)) % 2**info.bits + int(info.min) for n in numbers], dtype)


def exact(values, divisor):
    """(floor, remainder, fmod, quotient towards zero) in Python's integers."""
    wide = [int(v) for v in values]
    fmod = [abs(v) % abs(divisor) * (1 if v >= 0 else -1) for v in wide]
    cut = [abs(v) // abs(divisor) * (1 if (v >= 0) == (divisor > 0) else -1) for v in wide]
    return [v // divisor for v in wide], [v % divisor for v in wide], fmod, cut


@pytest.mark.parametrize("name", TYPES)
def test_integers_divided_by_a_constant(name):
    for divisor in DIVISORS:
        dtype = TYPES[name]
        if not np.iinfo(dtype).min <= divisor <= np.iinfo(dtype).max:
            continue
        values = integers(dtype, divisor)
        weft.compiler.reset()
        f = weft.compile(lambda x, d=divisor: (x // d, x % d, weft.fmod(x, d), weft.div(x, d, rounding_mode="trunc")))
        got = [r.numpy() for r in f(weft.from_numpy(values))]
        for result, expected in zip(got, exact(values, divisor)):
            np.testing.assert_array_equal(result, wrapped(expected, dtype), err_msg=f"{name} by {divisor}")


def test_integers_divided_by_a_number_that_a_call_computes():
    x = weft.from_numpy(integers(np.int64, 7))
    for dtype in (weft.int64, weft.int32):
        f = weft.compile(lambda x, d: (x // d, x % d))
        values = x.to(dtype)
        for d in (7, -7, 1, 3000):
            divisor = weft.tensor(d, dtype=dtype)
            for got, expected in zip(f(values, divisor), (values // divisor, values % divisor)):
                np.testing.assert_array_equal(got.numpy(), expected.numpy())


def same(got, expected, message=""):
    """Equal, zeros with their signs; NaN has none."""
    np.testing.assert_array_equal(got, expected, err_msg=message)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]), err_msg=message)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, 7.25, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, 1e30, 8388607.5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_remainders_are_exact(dtype):
    random = np.random.default_rng(1)
    x = np.concatenate([random.normal(size=3000) * 10.0 ** random.integers(-3, 9, 3000), np.repeat(SPECIAL, len(SPECIAL))])
    y = np.concatenate([random.normal(size=3000), np.tile(SPECIAL, len(SPECIAL))])
    multiples = np.round(x[:3000]) * y[:3000]
    x, y = np.concatenate([x, multiples]).astype(dtype), np.concatenate([y, y[:3000]]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y), np.remainder(x, y)
    f = weft.compile(lambda x, y: (weft.fmod(x, y), x % y, x // y))
    tensors = weft.from_numpy(x), weft.from_numpy(y)
    got = [r.numpy() for r in f(*tensors)]
    same(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])
    same(got[2], (tensors[0] // tensors[1]).numpy())


EXPONENTS = (0, 1, 2, 3, -1, -2, 0.5, -0.5, 4, 1.7, -3, 2.5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_constant_powers_have_the_bits_of_eager(dtype):
    values = np.concatenate([np.random.default_rng(2).normal(size=1000), SPECIAL])
    x = weft.from_numpy(values).to(getattr(weft, dtype))
    for exponent in EXPONENTS:
        weft.compiler.reset()
        got = weft.compile(lambda x, e=exponent: x**e)(x).double().numpy()
        expected = (x**exponent).double().numpy()
        same(got, expected, str(exponent))


def test_powers_of_any_base_and_exponent():
    x = np.repeat(np.array(SPECIAL + [-3.0, -0.5, 0.75]), 20).astype(np.float32)
    y = np.tile(np.array([*SPECIAL, -3.0, -2.5, 16777216.0]), 20).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    for function in (lambda x, y: x**y, weft.compile(lambda x, y: x**y)):
        got = function(weft.from_numpy(x), weft.from_numpy(y)).numpy()
        same(got, expected)


@pytest.mark.parametrize("exponent", [0, 1, 2, 5, 13, 64, 65])
def test_powers_of_integers_wrap(exponent):
    x = weft.arange(-40, 40)
    got = weft.compile(lambda x: x**exponent)(x)
    expected = [((v**exponent + 2**63) % 2**64) - 2**63 for v in range(-40, 40)]
    assert got.tolist() == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quotients_of_floats_are_the_nearest(dtype):
    """Also by a number that is the same for a whole row, and by a constant: a product with its reciprocal is not."""
    random = np.random.default_rng(0)
    x = (random.normal(size=(40, 133)) * 10.0 ** random.integers(-30, 30, (40, 133))).astype(dtype)
    d = random.normal(size=(40, 1)).astype(dtype)
    count = np.arange(5000, dtype=dtype)
    f = weft.compile(lambda x, d, n: (x / d, n / 41, (n / 49).floor()), fullgraph=True)
    by_row, by_number, floors = (t.numpy() for t in f(*map(weft.from_numpy, (x, d, count))))
    np.testing.assert_array_equal(by_row, x / d)
    np.testing.assert_array_equal(by_number, count / np.dtype(dtype).type(41))
    np.testing.assert_array_equal(floors, np.arange(5000) // 49)


@pytest.mark.parametrize("name", [*TYPES, "uint16", "uint32", "uint64"])
def test_integers_divided_by_others(name):
    """Pairs of numbers of every size, small ones alone too, which fill vectors that floats hold."""
    dtype = np.dtype(name).type
    info, random = np.iinfo(dtype), np.random.default_rng(1)
    edges = [n for n in (info.min, info.min + 1, -7, -1, 0, 1, 2, 9, info.max // 2, info.max - 1, info.max) if n >= info.min]
    sizes = random.integers(0, info.bits, (2, 3001)).astype(dtype)
    x, y = random.integers(info.min, info.max, (2, 3001), dtype=dtype, endpoint=True) >> sizes
    pairs = np.array([(a, b) for a in edges for b in edges if b], dtype)
    small = random.integers(0 if info.min == 0 else -100, 100, (2, 1003)).astype(dtype)
    x, y = (np.concatenate(parts) for parts in ((x, pairs[:, 0], small[0]), (y, pairs[:, 1], small[1])))
    y[y == 0] = 3
    weft.compiler.reset()
    f = lambda x, y: (weft.div(x, y, rounding_mode="trunc"), x // y, x % y, weft.fmod(x, y))
    a, b = weft.from_numpy(x), weft.from_numpy(y)
    fmod = [abs(p) % abs(q) * (1 if p >= 0 else -1) for p, q in zip(x.tolist(), y.tolist())]
    floor, remainder = [p // q for p, q in zip(x.tolist(), y.tolist())], [p % q for p, q in zip(x.tolist(), y.tolist())]
    trunc = [abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) for p, q in zip(x.tolist(), y.tolist())]
    for got, want in zip(weft.compile(f)(a, b), (trunc, floor, remainder, fmod)):
        np.testing.assert_array_equal(got.numpy(), wrapped(want, dtype))


def test_a_division_by_zero_raises_wherever_it_stands():
    x = weft.arange(100)
    for place in (0, 50, 99):
        y = weft.ones(100, dtype=weft.int64)
        y[place] = 0
        weft.compiler.reset()
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            weft.compile(lambda x, y: x // y)(x, y)
