"""`linspace`, `logspace` and `arange` between complex numbers, as PyTorch 2.13 does it."""

import pytest

import weft


@pytest.mark.parametrize("ends", [(0, 1j), (1 + 1j, 2), (0, weft.tensor(1j)), (weft.tensor(0.0), weft.tensor(1 + 1j)), (0j, 1)])
def test_numbers_between_complex_ends_are_complex(ends):
    start, end = (complex(v) for v in ends)
    made = weft.linspace(*ends, 3)
    assert made.dtype is weft.complex64 and made.tolist() == [start, (start + end) / 2, end]
    assert weft.linspace(*ends, 1).tolist() == [start] and weft.linspace(*ends, 0).dtype is weft.complex64
    assert weft.linspace(*ends, 3, dtype=weft.complex128).tolist() == made.tolist()
    powers = weft.logspace(*ends, 3)
    assert powers.dtype is weft.complex64 and powers.tolist() == pytest.approx([10**v for v in made.tolist()], rel=1e-6)


def test_complex_ends_of_real_numbers_are_refused():
    for make in (weft.linspace, weft.logspace):
        with pytest.raises(RuntimeError, match="inferred dtype c10::complex<float> can't be safely cast to passed dtype Double"):
            make(0, 1j, 3, dtype=weft.float64)


def test_arange_to_a_complex_number_that_is_real():
    for made in (weft.arange(0, 3 + 0j), weft.arange(3 + 0j), weft.arange(0, 3, 1 + 0j)):
        assert made.dtype is weft.float32 and made.tolist() == [0, 1, 2]
    assert weft.arange(3 + 0j, dtype=weft.int64).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="value cannot be converted to type double without overflow"):
        weft.arange(3 + 1j)
