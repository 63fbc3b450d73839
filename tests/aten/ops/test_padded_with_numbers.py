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


def test_a_copy_of_a_part_keeps_its_layout():
    """Where nothing is added, the result is a clone of a slice; else row-major (or with the channels innermost)."""
    x = weft.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    for by, strides in [
        ((0, 0), (1, 12, 4)),
        ((), (1, 12, 4)),
        ((-1, 0), (1, 8, 4)),
        ((0, 0, 0, 0, -1, -1), (1, 6, 2)),
        ((0, 1), (8, 4, 1)),
        ((1, -1), (6, 3, 1)),
    ]:
        y = pad(x, by)
        assert y.stride() == strides and y.data_ptr() != x.data_ptr(), by
        assert weft.equal(y, pad(x.contiguous(), by))
        assert weft.compile(pad)(x, by).stride() == strides
    wide = weft.arange(3.0)[:, None].expand(3, 4)
    assert pad(wide, (0, 0)).stride() == (4, 1)
    apart = weft.arange(24.0).reshape(2, 3, 4)[:, :, ::2].transpose(0, 1)
    assert pad(apart, (0, 0)).stride() == (2, 6, 1)
