"""What becomes of numbers that a float of eight bits cannot hold. (Asked of PyTorch 2.13.)"""

import math

import pytest

import weft

GIVEN = [449.0, 465.0, 1e4, -1e30, math.inf, -math.inf, math.nan, 7.0]
ENDS = [448.0, 448.0, 448.0, -448.0, 448.0, -448.0, math.nan, 7.0]
MADE = {
    "to": lambda dtype: weft.tensor(GIVEN).to(dtype),
    "of doubles": lambda dtype: weft.tensor(GIVEN, dtype=weft.float64).to(dtype),
    "copy_": lambda dtype: weft.zeros(8, dtype=dtype).copy_(weft.tensor(GIVEN)),
    "tensor": lambda dtype: weft.tensor(GIVEN, dtype=dtype),
    "full_like": lambda dtype: weft.stack([weft.full_like(weft.zeros(()), x, dtype=dtype) for x in GIVEN]),
    "new_full": lambda dtype: weft.stack([weft.zeros(()).to(dtype).new_full((), x) for x in GIVEN]),
    "compiled": lambda dtype: weft.compile(lambda x: (x * 1).to(dtype), fullgraph=True)(weft.tensor(GIVEN)),
}


@pytest.mark.parametrize("how", MADE)
def test_float8_e4m3fn_ends_at_448(how):
    weft.testing.assert_close(MADE[how](weft.float8_e4m3fn).float(), weft.tensor(ENDS), rtol=0, atol=0, equal_nan=True)


def test_the_others_are_infinite_or_not_a_number():
    x = weft.tensor([1e6, -math.inf])
    assert x.to(weft.float8_e5m2).float().tolist() == [math.inf, -math.inf]
    assert x.to(weft.float8_e4m3fnuz).float().isnan().all() and x.to(weft.float8_e5m2fnuz).float().isnan().all()
    assert weft.tensor([100000, -500]).to(weft.float8_e4m3fn).float().tolist() == [448, -448]


@pytest.mark.parametrize("make", [lambda x, to: weft.full((2,), x, dtype=to), lambda x, to: weft.zeros(2).to(to).fill_(x)])
@pytest.mark.parametrize(
    "dtype, value",
    [
        ("float8_e4m3fn", 449.0),
        ("float8_e4m3fn", math.inf),
        ("float8_e5m2", 57345),
        ("float8_e4m3fnuz", -241.0),
        ("float8_e5m2fnuz", math.inf),
        ("float8_e8m0fnu", -1.0),
    ],
)
def test_a_number_that_fills_must_fit(make, dtype, value):
    with pytest.raises(RuntimeError, match="without overflow"):
        make(value, getattr(weft, dtype))
    assert make(4.0, getattr(weft, dtype)).float().tolist() == [4, 4]


def test_float8_e8m0fnu_keeps_magnitudes():
    assert weft.tensor([-3.0, 8.0, -1.0], dtype=weft.float8_e8m0fnu).float().tolist() == [4, 8, 1]
    assert weft.full_like(weft.zeros(1), -449.0, dtype=weft.float8_e8m0fnu).float().item() == 512


def test_integers_have_divisors_in_common_with_tensors_alone():
    for call in (lambda x: weft.gcd(x, 2), lambda x: x.lcm(2), lambda x: x.gcd_(2)):
        with pytest.raises(TypeError):
            weft.vmap(call)(weft.tensor([4, 6]))
        with pytest.raises(TypeError):
            call(weft.tensor([4, 6]))
