"""Floats that no integer dtype holds become what PyTorch 2.13 makes of them on x86 (literals: `torch.tensor(VALUES).to(dtype)`)."""

import numpy as np
import pytest

import aten
import weft

LOW, LONG = -(2**31), -(2**63)
NAN, INF = float("nan"), float("inf")
VALUES = [NAN, INF, -INF, 3e9, -3e9, 300.0, -1.5, 5e9, 1e19, 40000.0, -129.0, 65536.5, 2.0**32 + 7, 2.0**63]
ANSWERS = {
    "int8": [0, 0, 0, 0, 0, 44, -1, 0, 0, 64, 127, 0, 0, 0],
    "uint8": [0, 0, 0, 0, 0, 44, 255, 0, 0, 64, 127, 0, 7, 0],
    "int16": [0, 0, 0, 0, 0, 300, -1, 0, 0, -25536, -129, 0, 0, 0],
    "uint16": [0, 0, 0, 0, 0, 300, 65535, 0, 0, 40000, 65407, 0, 0, 0],
    "int32": [LOW, LOW, LOW, LOW, LOW, 300, -1, LOW, LOW, 40000, -129, 65536, LOW, LOW],
    "uint32": [0, 0, 0, 3000000000, 1294967296, 300, 4294967295, 705032704, 0, 40000, 4294967167, 65536, 7, 0],
    "int64": [LONG, LONG, LONG, 3000000000, -3000000000, 300, -1, 5000000000, LONG, 40000, -129, 65536, 4294967303, LONG],
    "uint64": [
        2**63, 0, 2**63, 3000000000, 2**64 - 3000000000, 300, 2**64 - 1, 5000000000, 10**19, 40000, 2**64 - 129, 65536,
        4294967303, 2**63,
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_what_does_not_fit_an_integer(name):
    dtype = getattr(aten, name)
    one_by_one = [weft.tensor(v, dtype=aten.float64).to(dtype).item() for v in VALUES]
    many = weft.tensor(VALUES * 5, dtype=aten.float64)
    assert one_by_one == ANSWERS[name]
    assert many.to(dtype).tolist() == ANSWERS[name] * 5
    assert weft.tensor(VALUES * 5, dtype=aten.float64).flip(0)[::2].to(dtype).tolist() == (ANSWERS[name] * 5)[::-1][::2]


@pytest.mark.parametrize("name", ANSWERS)
def test_compiled_casts_are_those_of_eager(name):
    dtype = getattr(aten, name)
    weft.compiler.reset()
    for source in (aten.float64, aten.float32):
        x = weft.tensor(VALUES * 5, dtype=aten.float64).to(source)
        assert weft.compile(lambda x: (x + 0).to(dtype))(x).tolist() == x.to(dtype).tolist()


@pytest.mark.parametrize("name", ANSWERS)
def test_the_kernel_in_numpy_says_the_same(name):
    out = np.empty(len(VALUES), name)
    aten.cast.kernel_fn(out, np.array(VALUES), getattr(aten, name))
    assert out.tolist() == ANSWERS[name]


def test_floats_of_other_sizes():
    nan = [float("nan")] * 40
    for dtype in (aten.float32, aten.float16, aten.bfloat16):
        assert weft.tensor(nan, dtype=dtype).int().tolist() == [LOW] * 40
        assert weft.tensor(nan, dtype=dtype).short().tolist() == [0] * 40
