"""What is easily mistaken is warned of, as by PyTorch."""

import pytest

import weft

F = weft.nn.functional
x, theta = weft.rand(2, 3, 4, 4), weft.zeros(2, 2, 3)

MISTAKES = [
    (lambda: F.mse_loss(weft.ones(3, 1), weft.ones(3)), r"Using a target size \(torch.Size\(\[3\]\)\) that is different"),
    (lambda: F.huber_loss(weft.ones(3, 1), weft.ones(3)), "likely lead to incorrect results due to broadcasting"),
    (lambda: F.softmax(x), "Implicit dimension choice for softmax has been deprecated"),
    (lambda: F.log_softmax(x), "Implicit dimension choice for log_softmax"),
    (lambda: F.l1_loss(x, x, reduce=False), "please use reduction='none' instead"),
    (lambda: F.kl_div(x, x), "reduction: 'mean' divides the total loss by both the batch size and the support size"),
    (lambda: F.upsample(x, scale_factor=2), "`nn.functional.upsample` is deprecated"),
    (lambda: F.upsample_bilinear(x, scale_factor=2), "`nn.functional.upsample_bilinear` is deprecated"),
    (lambda: F.grid_sample(x, weft.zeros(2, 2, 2, 2)), "Default grid_sample behavior has changed"),
    (lambda: F.affine_grid(theta, [2, 1, 2, 2]), "Default affine_grid behavior has changed"),
]


@pytest.mark.parametrize("call,message", MISTAKES)
def test_mistakes_are_warned_of(call, message):
    with pytest.warns(UserWarning, match=message):
        call()
