"""Bytes in memory: eight of them fill no register."""

import numpy as np
import pytest

import weft


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("to", ["float32", "float64", "int32", "int64"])
def test_bytes_become_numbers(dtype, to):
    values = np.arange(256).astype(np.uint8).view(dtype) if dtype is not np.bool_ else np.arange(256) % 3 == 0
    x = weft.from_numpy(np.concatenate([values, values[:5]]))
    weft.compiler.reset()
    got = weft.compile(lambda x: x.to(getattr(weft, to)) * 2)(x)
    assert got.tolist() == [2 * int(v) for v in x.tolist()]


def test_where_by_bytes():
    mask = weft.from_numpy(np.arange(77) % 5 < 2)
    x = weft.arange(77.0)
    weft.compiler.reset()
    got = weft.compile(lambda x, m: x.masked_fill(m, -1))(x, mask)
    assert got.tolist() == [-1 if i % 5 < 2 else float(i) for i in range(77)]
