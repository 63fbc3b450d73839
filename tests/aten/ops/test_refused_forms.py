"""Arguments that contradict each other, or ask for a narrower or wrong kind of number: errors as PyTorch 2.13 raises them."""

import pytest

import weft

REFUSED = [
    (lambda: weft.fft.fftn(weft.ones(2, 3), s=(1, 2), dim=(1,)), "dim and shape arguments must have the same length"),
    (lambda: weft.fft.irfftn(weft.ones(2, 3), s=(4,), dim=(0, 1)), "dim and shape arguments must have the same length"),
    (lambda: weft.fft.fftfreq(5, dtype=weft.int64), "fftfreq requires a floating point or complex dtype"),
    (lambda: weft.fft.rfftfreq(5, dtype=weft.int32), "rfftfreq requires a floating point or complex dtype"),
    (
        lambda: weft.linalg.vector_norm(weft.ones(3, dtype=weft.float64), dtype=weft.float32),
        r"dtype of the input \(Double\) should be convertible without narrowing to the specified dtype \(Float\)",
    ),
    (
        lambda: weft.linalg.vector_norm(weft.ones(3), dtype=weft.complex64),
        "dtype should be real for real inputs, but got ComplexFloat",
    ),
    (lambda: weft.linalg.svd(weft.eye(2), driver="gesvd"), "keyword argument `driver=` is only supported on CUDA inputs"),
    (lambda: weft.linalg.svdvals(weft.eye(2), driver="gesvd"), "keyword argument `driver=` is only supported on CUDA inputs"),
    (
        lambda: weft.nn.functional.scaled_dot_product_attention(*[weft.ones(2, 2)] * 3, dropout_p=1.5),
        "dropout probability has to be between 0 and 1, but got 1.5",
    ),
    (
        lambda: weft.func.grad(lambda x: x.sum().to(weft.complex64))(weft.ones(3)),
        "grad can be implicitly created only for real scalar outputs but got torch.complex64|weft.complex64",
    ),
]


@pytest.mark.parametrize("call, text", REFUSED)
def test_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_what_is_allowed_beside():
    assert weft.linalg.vector_norm(weft.ones(4), dtype=weft.float64).dtype is weft.float64
    assert weft.fft.fftfreq(4, dtype=weft.float64).tolist() == [0.0, 0.25, -0.5, -0.25]


def test_parameters_of_inference_tensors():
    with weft.inference_mode():
        x = weft.ones(2)
        assert weft.nn.Parameter(x).is_inference()
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"):
        weft.nn.Parameter(x)


def test_two_names_of_one_tolerance():
    for given in ({"rtol": 0.1}, {"atol": 0.1}):
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            weft.linalg.pinv(weft.eye(2), rcond=0.1, **given)
    assert weft.linalg.pinv(weft.eye(2), rcond=0.1).tolist() == [[1.0, 0.0], [0.0, 1.0]]
