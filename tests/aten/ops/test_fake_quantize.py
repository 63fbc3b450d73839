"""fake_quantize: what PyTorch 2.13 gives for these (printed once), compiled too, and gradients where nothing was clamped."""

from __future__ import annotations

import numpy as np
import pytest

import weft

FORMS = {
    "tensor": (lambda x: weft.fake_quantize_per_tensor_affine(x, 0.1, 2, -3, 4), [-0.3, 0.1, 0.2, 0.2], [1, 1, 0, 0]),
    "channel": (
        lambda x: weft.fake_quantize_per_channel_affine(
            x.view(2, 2), weft.tensor([0.1, 0.2]), weft.tensor([0, 1], dtype=weft.int32), 0, -3, 4
        ).flatten(),
        [-0.3, 0.1, 0.2, 0.6],
        [1, 1, 1, 0],
    ),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("compiled", [False, True])
def test_values_and_gradients(name, compiled):
    call, want, inside = FORMS[name]
    x = weft.tensor([-0.31, 0.12, 0.26, 5.0], requires_grad=True)
    out = (weft.compile(call, fullgraph=True) if compiled else call)(x)
    np.testing.assert_allclose(out.detach(), want, rtol=1e-6)
    out.sum().backward()
    assert x.grad.tolist() == inside


def test_halves_go_to_the_even_step_and_parameters_may_be_tensors():
    x = weft.tensor([0.05, 0.15, 0.25])
    out = weft.fake_quantize_per_tensor_affine(x, weft.tensor(0.1), weft.tensor(0, dtype=weft.int32), -8, 8)
    np.testing.assert_allclose(out, [0.0, 0.2, 0.2], rtol=1e-6)
    with pytest.raises(RuntimeError, match="quant_min"):
        weft.fake_quantize_per_tensor_affine(x, 0.1, 0, 4, -4)
