"""Python's types of numbers where a dtype is asked for."""

import pytest

import weft


def test_types_of_python_stand_for_dtypes():
    x = weft.ones(2, dtype=weft.float64)
    assert x.to(complex).dtype is weft.complex128 and x.to("cpu", complex).dtype is weft.complex128
    assert x.view(complex).tolist() == [1 + 1j] and x.view(dtype=complex).dtype is weft.complex128
    assert x.view(dtype=int).tolist() == [4607182418800017408] * 2 and x.view(float).dtype is weft.float64
    with pytest.raises(TypeError):
        x.view(str)
