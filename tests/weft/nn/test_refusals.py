"""What functions of nn refuse, in PyTorch 2.13's classes and words; weighted losses."""

import pytest

import weft

F = weft.nn.functional
x, t, w = weft.tensor([1.0, 2, 3, 4]), weft.tensor([1.5, 3, 3.5, 6]), weft.tensor([1.0, 2, 3, 4])


def empty(*sizes, dtype=weft.float32):
    return weft.zeros(*sizes, dtype=dtype)


PLACES = weft.zeros(1, 1, 2, 2, dtype=weft.int64)
REFUSED = [
    (lambda: F.mse_loss(x, t, weight=w[:2]), ValueError, "Weights and input must have the same size"),
    (lambda: F.unfold(empty(1, 2, 2, 2), (2, 3)), RuntimeError, r"as \(1, 0\), but its components must be at least one"),
    (lambda: F.binary_cross_entropy(x, t), RuntimeError, "all elements of input should be between 0 and 1"),
    (lambda: F.unfold(empty(1, 2, 4, 4), 0), RuntimeError, "kernel size should be greater than zero"),
    (lambda: F.max_unpool2d(empty(1, 1, 2, 2), PLACES, 2, output_size=(6, 6)), ValueError, r"dim 0 must be between 2 and 6"),
    (lambda: F.max_unpool2d(empty(1, 1, 2, 2), PLACES, 2, output_size=(1, 5, 5)), ValueError, "containing 2 or 4 elements"),
    (lambda: F.max_unpool2d(empty(1, 1, 2, 2), PLACES[..., :1], 2), RuntimeError, "Expected shape of indices to be same"),
    (lambda: F.max_unpool2d(empty(1, 1, 2, 2), PLACES.int(), 2), RuntimeError, "should be type int64 but got: Int"),
    (lambda: F.fold(empty(1, 5, 9), (4, 5), (2, 3)), RuntimeError, "to be divisible by the product of kernel_size"),
    (lambda: F.fold(empty(1, 6, 10), (4, 5), (2, 3)), RuntimeError, "to match the calculated number of sliding blocks 3 . 3 = 9"),
    (lambda: F.fold(empty(1, 12, 12), (4, 5), 2, dilation=8), RuntimeError, r"as \(-4, -3\), which is too small"),
    (lambda: F.multi_margin_loss(empty(10, 0), empty(10, dtype=weft.int64)), RuntimeError, r"Expected non-empty .* \[10, 0\]"),
    (lambda: F.multi_margin_loss(empty(3, 4), empty(2, dtype=weft.int64)), RuntimeError, r"target size \[3\], but got \[2\]"),
    (lambda: F.multilabel_margin_loss(empty(3, 4), empty(3, 3, dtype=weft.int64)), RuntimeError, "inconsistent target size"),
    (lambda: F.pad(empty(3, 0, 10), [2, 2], "replicate"), RuntimeError, r"Expected 2D or 3D \(batch mode\) tensor"),
    (lambda: F.grid_sample(empty(1, 1, 2, 2), empty(2, 1, 1, 2), align_corners=False), RuntimeError, "to have same batch size"),
    (lambda: F.grid_sample(empty(1, 2, 2), empty(1, 1, 1, 2), align_corners=False), RuntimeError, "grid to have size 1 in last"),
    (lambda: F.grid_sample(empty(1, 1, 0, 2), empty(1, 1, 1, 2), align_corners=False), RuntimeError, "dimension 2 being empty"),
    (lambda: F.cosine_embedding_loss(empty(3, 4), empty(3), empty(3)), RuntimeError, "1D target tensor expects 2D input tensors"),
    (lambda: F.fractional_max_pool2d(empty(1, 1, 5, 5), 2, output_ratio=[0.5] * 3), ValueError, "requires output_ratio to either"),
    (lambda: F.group_norm(weft.rand(1, 10, 1), 10), ValueError, "Expected more than 1 value per channel when training"),
    (lambda: F.batch_norm(weft.rand(1, 10, 1), None, None), RuntimeError, "running_mean must be defined in evaluation mode"),
    (lambda: F.cosine_similarity(w.to(weft.int8), w.to(weft.int8), 0), RuntimeError, "yet common dtype is Char"),
    (lambda: F.interpolate(empty(1, 1, 2, 2), (1, 2, 3)), ValueError, "same number of spatial dimensions"),
    (lambda: F.interpolate(empty(1, 1, 2), 3, mode="bilinear"), NotImplementedError, "Got 3D input, but bilinear mode needs 4D"),
    (lambda: F.interpolate(empty(1, 1, 2, 2), 0.5), TypeError, "expected size to be one of int"),
    (lambda: F.interpolate(empty(1, 1, 2), 3, antialias=True), ValueError, "Anti-alias option is restricted"),
]


@pytest.mark.parametrize("call,error,message", REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "loss,mean,total", [(F.mse_loss, 1.9, 19.0), (F.l1_loss, 1.2, 12.0), (F.huber_loss, 1.875, 7.5)]
)
def test_weights_of_elements(loss, mean, total):
    assert loss(x, t, weight=w).item() == pytest.approx(mean)
    assert loss(x, t, weight=w, reduction="sum").item() == pytest.approx(total)


def test_alignments_of_no_frames():
    """No frames say an empty target for certain, and nothing else."""
    logs = weft.randn(1, 2, 5).log_softmax(2).requires_grad_()
    targets, none = weft.tensor([[1, 2], [3, 4]]), weft.tensor([0, 0])
    assert F.ctc_loss(logs, targets, none, none, reduction="none").tolist() == [0, 0]
    assert F.ctc_loss(logs, targets, none, weft.tensor([1, 1]), reduction="none").tolist() == [float("inf")] * 2


def test_classes_as_bytes():
    logs, classes = weft.randn(3, 4).log_softmax(1), weft.tensor([0, 3, 1])
    assert weft.equal(F.nll_loss(logs, classes.to(weft.uint8)), F.nll_loss(logs, classes))


def test_places_of_nearest_pixels_have_gradients_of_zero():
    grid = (weft.rand(1, 3, 2, 2) * 2 - 1).requires_grad_()
    image = weft.rand(1, 2, 4, 5, requires_grad=True)
    F.grid_sample(image, grid, "nearest", align_corners=False).sum().backward()
    assert weft.equal(grid.grad, weft.zeros(1, 3, 2, 2)) and image.grad.sum().item() == 12
