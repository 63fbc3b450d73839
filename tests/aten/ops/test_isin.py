"""isin: which calls it refuses, and the layout of its result. PyTorch 2.13's."""

import pytest

import weft


def test_results_are_row_major():
    x = weft.arange(24).reshape(2, 3, 4).permute(2, 0, 1)
    for tests in (3, weft.tensor(3), weft.tensor([1, 2]), weft.arange(40)):
        found = weft.isin(x, tests)
        assert found.stride() == (6, 3, 1)
        assert weft.equal(found, weft.isin(x.contiguous(), tests))
    assert weft.isin(x, 3, invert=True).stride() == (6, 3, 1)


@pytest.mark.parametrize("elements, tests", [(3, 4), (None, 1), ([3], [4]), ("a", 3)])
def test_no_tensor(elements, tests):
    with pytest.raises(TypeError, match=r"isin\(\) received an invalid combination of arguments"):
        weft.isin(elements, tests)


@pytest.mark.parametrize("other", [None, "a", [1]])
def test_beside_a_tensor(other):
    for call in (lambda: weft.isin(weft.arange(3), other), lambda: weft.isin(other, weft.arange(3))):
        with pytest.raises(TypeError, match=r"isin\(\) received .* got \(.*Tensor"):
            call()


def test_numbers():
    assert weft.isin(weft.arange(3), 2.0).tolist() == [False, False, True]
    assert weft.isin(2, weft.arange(3)).item() is True
    assert weft.isin(weft.arange(3), 2.5).tolist() == [False, False, False]
    for number, error in ((True, RuntimeError), (1j, RuntimeError), (2**70, OverflowError)):
        with pytest.raises(error):
            weft.isin(weft.ones(2), number)
