"""What PyTorch 2.13 refuses by the number of dims, elements or arguments, with the class of its error; dtypes of integer sums."""

import pytest

import weft
from weft.nn import functional as F


def x(*sizes):
    return weft.ones(*sizes)


@pytest.mark.parametrize(
    "call,error,text",
    [
        (lambda: weft.hstack([]), RuntimeError, "hstack expects a non-empty TensorList"),
        (lambda: weft.vstack([]), RuntimeError, "vstack expects a non-empty TensorList"),
        (lambda: weft.dstack([]), RuntimeError, "dstack expects a non-empty TensorList"),
        (lambda: weft.roll(weft.tensor(1.0), 1, 0), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
        (lambda: weft.ormqr(x(3), x(3), x(3, 3)), RuntimeError, "input must have at least 2 dimensions"),
        (lambda: x(3).put_(weft.tensor([0]), x(2)), IndexError, "same number of elements"),
        (lambda: F.embedding(weft.tensor([0]), x(3)), RuntimeError, "'weight' must be 2-D"),
        (lambda: F.prelu(x(2, 3), x(1, 3)), RuntimeError, "to be a scalar or 1D tensor"),
        (lambda: F.adaptive_avg_pool2d(x(2, 2), (1, 1)), ValueError, "Input dimension should be at least 3"),
        (lambda: F.adaptive_max_pool3d(x(2, 2, 2), (1, 1, 1)), ValueError, "Input dimension should be at least 4"),
        (lambda: F.triplet_margin_loss(x(2, 2), x(2, 2), x(2, 2), margin=-1.0), ValueError, "margin must be greater than 0"),
        (lambda: weft.cov(x(2, 3), fweights=x(3)), RuntimeError, "fweights to have integral dtype"),
        (lambda: weft.cov(x(2, 3), aweights=x(2)), RuntimeError, "aweights to have the same numel"),
        (lambda: weft.cov(x(2, 3), aweights=-x(3)), RuntimeError, "aweights cannot be negative"),
        (lambda: weft.cov(x(2, 3), fweights=weft.ones(1, 3, dtype=weft.int64)), RuntimeError, "one or fewer dimensions"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_dtypes_of_integers():
    byte = weft.ones(2, 3, dtype=weft.uint8)
    assert weft.addbmm(byte[:, :2], weft.ones(2, 2, 2, dtype=weft.uint8), weft.ones(2, 2, 2, dtype=weft.uint8)).dtype is weft.uint8
    assert byte.sum_to_size(1, 3).dtype is weft.int64 and byte.sum_to_size(2, 3).dtype is weft.uint8
    places = weft.unravel_index(weft.tensor([7, 13], dtype=weft.uint8), (4, 2**30))
    assert [p.tolist() for p in places] == [[0, 0], [7, 13]] and places[0].dtype is weft.int64


def test_the_distance_of_halves_does_not_overflow():
    assert weft.dist(weft.full((4,), 200.0, dtype=weft.float16), weft.zeros(4, dtype=weft.float16)).item() == 400


def test_istft_of_a_whole_spectrum_reads_the_half_that_describes_a_real_signal():
    spectrum = weft.zeros(4, 3, dtype=weft.complex64)
    spectrum[1] = 1
    whole = weft.istft(spectrum, 4, onesided=False)
    assert weft.allclose(whole, weft.istft(spectrum[:3], 4, onesided=True)) and whole.abs().max() > 0.1


def test_index_copy_of_a_number_keeps_the_history_of_both():
    x, source = weft.tensor(1.0, requires_grad=True), weft.tensor(2.0, requires_grad=True)
    y = x.index_copy(0, weft.tensor([0]), source)
    assert y.item() == 2 and y._base is None
    assert [g.item() for g in weft.autograd.grad(y, (x, source))] == [0, 1]


def test_aminmax_of_one_number_has_no_other_dims():
    x = weft.tensor(3.0)
    for dim in (0, -1):
        assert [v.item() for v in weft.aminmax(x, dim=dim)] == [3, 3]
    for dim in (1, 2, -2):
        for f in (weft.aminmax, weft.compile(weft.aminmax)):
            with pytest.raises(IndexError):
                f(x, dim=dim)
