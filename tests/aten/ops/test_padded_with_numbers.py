"""`F.pad` takes a float: what it fills with must fit the dtype as a float. The answers are PyTorch 2.13's."""

import pytest

import weft
from weft.nn.functional import pad

REFUSED = [("uint8", -1), ("uint8", 2**70), ("int8", -(2**70)), ("int32", 2**70), ("float16", 2**70)]


@pytest.mark.parametrize("dtype, value", REFUSED)
def test_what_does_not_fit(dtype, value):
    x = weft.ones(2, dtype=getattr(weft, dtype))
    with pytest.raises(RuntimeError, match="value cannot be converted to type .* without overflow"):
        pad(x, (1, 1), value=value)
    assert pad(x, (0, -1), value=value).tolist() == [1]  # nothing is filled


def test_integers_of_any_width():
    for dtype in (weft.float32, weft.float64, weft.bfloat16):
        assert pad(weft.ones(1, dtype=dtype), (1, 0), value=-(2**70)).tolist() == [-1.1805916207174113e21, 1]
    assert pad(weft.ones(1, dtype=weft.bool), (1, 0), value=2**70).tolist() == [True, True]
    assert weft.nn.ConstantPad1d(1, 3)(weft.ones(1, 1, dtype=weft.int64)).tolist() == [[3, 1, 3]]


def test_scalars_wrap():
    """`constant_pad_nd` itself takes any number; a complex one without an imaginary part is real."""
    assert weft.constant_pad_nd(weft.ones(1, dtype=weft.uint8), [1, 0], -1).tolist() == [255, 1]
    assert weft.constant_pad_nd(weft.ones(1, dtype=weft.uint8), [1, 0], 2 + 0j).tolist() == [2, 1]
    assert weft.constant_pad_nd(weft.ones(1), [1, 0], 2 + 0j).tolist() == [2, 1]
    with pytest.raises(RuntimeError, match="without overflow"):
        weft.constant_pad_nd(weft.ones(1), [1, 0], 2j)
