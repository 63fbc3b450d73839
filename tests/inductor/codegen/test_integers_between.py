"""Floats that become integers and floats again: GCC 12 takes them for truncated, lane by lane (-0, numbers beyond the integers)."""

import pytest

import weft

KINDS = [(weft.float32, weft.int64), (weft.float64, weft.int64), (weft.float32, weft.int32), (weft.float64, weft.int32)]


@pytest.mark.parametrize("shape", [(), (3,), (5, 7), (64,)], ids=str)
@pytest.mark.parametrize("floating, integer", KINDS + [(weft.bfloat16, weft.int64), (weft.float16, weft.int16)], ids=str)
@pytest.mark.parametrize("value", [-0.3, 0.3, -0.0, -1.5, 1e30])
def test_an_integer_between_floats_is_one(shape, floating, integer, value):
    if value > 1e9 and (floating is weft.float16 or integer is weft.int16):
        value = 1000.5
    x = weft.full(shape, value, dtype=floating)
    f = lambda x: (x.to(integer).to(floating), x * x.to(integer))
    weft.compiler.reset()
    for options in (None, {"exact": True}):
        for want, got in zip(f(x), weft.compile(f, fullgraph=True, options=options)(x)):
            assert weft.equal(got, want) and weft.equal(got.signbit(), want.signbit())
