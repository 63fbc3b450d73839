"""nn.init: what the values satisfy, errors, old names."""

from __future__ import annotations

import math

import pytest

import weft as torch
from weft.nn import init


def test_gains():
    assert init.calculate_gain("tanh") == 5 / 3 and init.calculate_gain("conv_transpose2d") == 1
    assert init.calculate_gain("leaky_relu", 0.2) == pytest.approx(math.sqrt(2 / 1.04))
    with pytest.raises(ValueError, match="negative_slope x not a valid number"):
        init.calculate_gain("leaky_relu", "x")
    with pytest.raises(ValueError, match="Unsupported nonlinearity parrot"):
        init.calculate_gain("parrot")


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape):
    w = init.orthogonal_(torch.empty(*shape), gain=2.0).flatten(1)
    gram = w @ w.t() if w.shape[0] <= w.shape[1] else w.t() @ w
    assert torch.allclose(gram, 4 * torch.eye(min(w.shape)), atol=1e-5)


def test_dirac_hands_channels_on():
    w = init.dirac_(torch.empty(4, 2, 3, 3), groups=2)
    x = torch.randn(1, 4, 5, 5)
    assert torch.allclose(torch.nn.functional.conv2d(x, w, padding=1, groups=2), x)
    with pytest.raises(ValueError, match="divisible by groups"):
        init.dirac_(torch.empty(3, 2, 3), groups=2)
    with pytest.raises(ValueError, match="3, 4, or 5 dimensions"):
        init.dirac_(torch.empty(3, 2))


def test_sparse_eye_and_their_errors():
    w = init.sparse_(torch.empty(10, 3), 0.35, std=2.0)
    assert (w == 0).sum(0).tolist() == [4, 4, 4]
    assert torch.equal(init.eye_(torch.empty(2, 3)), torch.eye(2, 3))
    for fill in (init.eye_, lambda t: init.sparse_(t, 0.5)):
        with pytest.raises(ValueError, match="Only tensors with 2 dimensions"):
            fill(torch.empty(3))
    with pytest.raises(ValueError, match="2 or more dimensions"):
        init.orthogonal_(torch.empty(3))


def test_a_generator_decides_the_numbers():
    def drawn(fill, seed):
        return fill(torch.empty(8, 8), generator=torch.Generator().manual_seed(seed))

    for fill in (init.uniform_, init.normal_, init.trunc_normal_, init.xavier_uniform_, init.kaiming_normal_, init.orthogonal_,
                 lambda t, generator: init.sparse_(t, 0.5, generator=generator)):  # fmt: skip
        assert torch.equal(drawn(fill, 1), drawn(fill, 1)) and not torch.equal(drawn(fill, 1), drawn(fill, 2))


def test_bounds_and_empty_tensors():
    w = init.kaiming_uniform_(torch.empty(64, 32), a=0, mode="fan_out", nonlinearity="relu")
    assert w.abs().max().item() <= math.sqrt(6 / 64)
    assert init.trunc_normal_(torch.empty(1000), std=3.0, a=-1, b=0.5).max().item() <= 0.5
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_normal_(torch.empty(0, 3))
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(torch.empty(3), mean=10.0)
    with pytest.raises(ValueError, match="Mode parrot not supported"):
        init.kaiming_uniform_(torch.empty(2, 2), mode="parrot")


def test_names_without_underscore_still_work():
    with pytest.warns(FutureWarning, match="`nn.init.constant` is now deprecated in favor of `nn.init.constant_`"):
        assert init.constant(torch.empty(2), 3.0).tolist() == [3, 3]


@pytest.mark.parametrize("side", [1, -1])
def test_truncated_normal_values_far_from_the_mean_have_its_density(side):
    """Where the cumulative distribution is 1 in its last digit, the values still fall off as exp(-9 x) from the near edge."""
    for mean, low, high, wanted in ((10.0, -1.0, 1.0, 1 - 1 / 9.1), (100.0, -1.0, 1.0, 1.0)):
        low, high = sorted((side * low, side * high))
        with pytest.warns(UserWarning, match="more than 2 std"):
            x = init.trunc_normal_(torch.empty(4000), side * mean, 1.0, low, high)
        assert low <= x.min() and x.max() <= high
        assert float(x.mean()) * side == pytest.approx(wanted, abs=0.02)
