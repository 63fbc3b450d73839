"""Complex numbers where others are wanted, and powers of them. The numbers beside are PyTorch's."""

import math
import warnings

import pytest

import aten
import weft

INF = math.inf
PARTS = [0.5j, 0j, 1 + 0j, complex(0, math.nan)]


@pytest.mark.parametrize("dtype", [aten.complex64, aten.complex128, aten.complex32])
def test_an_imaginary_part_is_true(dtype):
    x = aten.tensor(PARTS, dtype=aten.complex64).to(dtype)
    for f in (
        lambda x: x.bool(),
        lambda x: x.to(aten.bool),
        lambda x: aten.empty(4, dtype=aten.bool).copy_(x),
        lambda x: aten.stack([x, x], 1).t().bool()[0],
        weft.compile(lambda x: x.bool()),
    ):
        assert f(x).tolist() == [True, False, True, True]


def test_a_number_without_imaginary_part_is_real():
    assert float(aten.tensor(3 + 0j)) == 3.0 and int(aten.tensor([3.5 + 0j])) == 3
    with pytest.raises(RuntimeError, match="value cannot be converted to type double without overflow"):
        float(aten.tensor(3 + 1j))
    with pytest.raises(RuntimeError, match="value cannot be converted to type int64_t without overflow"):
        int(aten.tensor(3 + 1j))


def test_powers_that_are_roots_and_reciprocals():
    x = aten.tensor([complex(INF, 0), 0j, complex(0, INF), complex(-INF, 0), complex(1, -0.0), -4 + 0j, complex(-4, -0.0)])
    written = lambda t: [str(v) for v in t.tolist()]
    assert written(x**0.5) == ["(inf+0j)", "0j", "(inf+infj)", "infj", "(1-0j)", "2j", "-2j"]
    assert written(x**-0.5) == ["0j", "(inf+nanj)", "(nan+nanj)", "-0j", "(1+0j)", "-0.5j", "(-0+0.5j)"]
    assert written(x**-1) == ["0j", "(inf+nanj)", "-0j", "(-0-0j)", "(1+0j)", "(-0.25-0j)", "(-0.25-0j)"]
    assert written(x.pow(aten.tensor(0.5)))[5] == "2j"


def test_several_ellipses_are_one():
    x = aten.arange(6).view(2, 3)
    assert x[..., ...].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x[0, ..., 1, ...].item() == 1 and x[..., 0, ...].tolist() == [0, 3]
    x[..., 0, ...] = 9
    assert x.tolist() == [[9, 1, 2], [9, 4, 5]]


def test_numbers_too_large_are_infinite_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert aten.tensor([1e300, 1.0]).tolist() == [INF, 1.0]
        assert aten.tensor([1e300 + 1j]).tolist() == [complex(INF, 1)]


def test_result_type_is_of_numbers():
    for given in ((1, "a"), ([1], aten.ones(1)), (None, 1)):
        with pytest.raises(TypeError, match="must be Tensor or Number"):
            aten.result_type(*given)
    assert aten.result_type(1, aten.ones(1, dtype=aten.float64)) is aten.float64
