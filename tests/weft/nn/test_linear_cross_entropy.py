"""`linear_cross_entropy` in pieces of rows is `cross_entropy` of the layer, with the same gradients."""

import pytest

import weft
import weft.nn.functional as F

Options = weft.nn.LinearCrossEntropyOptions


def inputs():
    weft.manual_seed(0)
    made = weft.randn(7, 4), weft.randn(5, 4), weft.randn(5)
    return tuple(x.double().requires_grad_() for x in made), weft.tensor([0, 1, 2, 3, 4, 2, 1])


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_pieces_are_the_whole(rows, reduction, weighted):
    (x, w, b), y = inputs()
    rest = {"weight": weft.rand(5).double() if weighted else None, "reduction": reduction, "ignore_index": 2}
    whole = F.cross_entropy(F.linear(x, w, b), y, **rest)
    pieces = F.linear_cross_entropy(x, w, y, linear_bias=b, options=Options(batch_chunk_size=rows), **rest)
    assert weft.allclose(pieces, whole)
    expected = weft.autograd.grad(whole.sum(), (x, w, b))
    for got, want in zip(weft.autograd.grad(pieces.sum(), (x, w, b)), expected):
        assert weft.allclose(got, want)


def test_compiled_is_eager():
    (x, w, b), y = inputs()
    f = lambda x, w, b: F.linear_cross_entropy(x, w, y, linear_bias=b, options=Options(batch_chunk_size=3))
    expected = weft.autograd.grad(f(x, w, b), (x, w, b))
    for got, want in zip(weft.autograd.grad(weft.compile(f, fullgraph=True)(x, w, b), (x, w, b)), expected):
        assert weft.allclose(got, want)


def test_sizes_of_pieces():
    """As PyTorch 2.13 chooses them."""
    assert Options().rows(100, 16, 1000) == 1
    assert Options(chunking_method="aspect_ratio").rows(1024, 16, 64) == 256
    assert Options(chunking_method="aspect_ratio:4").rows(1024, 16, 64) == 64
    assert Options(chunking_method=None).rows(10, 4, 4) == 10
    assert Options(batch_chunk_size=3).rows(2, 4, 4) == 2
    with pytest.raises(ValueError, match="give different chunk sizes"):
        Options(batch_chunk_size=3, chunking_method="aspect_ratio").rows(1024, 16, 64)


@pytest.mark.parametrize(
    "bad", [{"acc_policy": "x"}, {"chunking_method": "aspect_ratio:0"}, {"batch_chunk_size": 0}, {"acc_dtype": weft.int64}]
)
def test_bad_options(bad):
    with pytest.raises(ValueError):
        Options(**bad)


def test_options_that_do_not_apply_are_ignored_with_a_warning():
    (x, w, b), y = inputs()
    with pytest.warns(UserWarning, match="``options`` ignored"):
        smoothed = F.linear_cross_entropy(x, w, y, linear_bias=b, label_smoothing=0.1, options=Options(batch_chunk_size=2))
    assert weft.allclose(smoothed, F.cross_entropy(F.linear(x, w, b), y, label_smoothing=0.1))


def test_a_class_out_of_range():
    (x, w, _), y = inputs()
    with pytest.raises(IndexError, match="Target 9 is out of bounds"):
        F.linear_cross_entropy(x, w, weft.where(y == 3, 9, y), options=Options(batch_chunk_size=2))
