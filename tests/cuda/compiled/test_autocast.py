"""Autocast on a device has PyTorch's lists for CUDA: dtypes of results, eager and compiled."""

import pytest

import weft

F = weft.nn.functional
LSTM, NORM = weft.nn.LSTM(4, 4), weft.nn.BatchNorm1d(4)
CALLS = {
    "matmul": ("float16", lambda x, h: x @ x), "conv": ("float16", lambda x, h: F.conv1d(x[None], x[:, :, None])),
    "lstm": ("float16", lambda x, h: LSTM(x)[0]), "mv": ("float16", lambda x, h: x.mv(x[0])),
    "exp": ("float32", lambda x, h: h.exp()), "power": ("float32", lambda x, h: h**2), "sum": ("float32", lambda x, h: h.sum()),
    "softmax": ("float32", lambda x, h: h.softmax(-1)), "layer_norm": ("float32", lambda x, h: F.layer_norm(h, (4,))),
    "mse_loss": ("float32", lambda x, h: F.mse_loss(h, h)), "normalize": ("float32", lambda x, h: F.normalize(h)),
    "cumsum": ("float32", lambda x, h: h.cumsum(0)), "integers": ("int64", lambda x, h: (h > 0).sum()),
    "dtype": ("float16", lambda x, h: h.sum(dtype=weft.float16)), "widest": ("float32", lambda x, h: weft.addcmul(h, h, x)),
    "halves": ("float16", lambda x, h: weft.addcmul(h, h, h)), "cat": ("float32", lambda x, h: weft.cat([h, x])),
    "mean": ("float16", lambda x, h: h.mean()), "std": ("float16", lambda x, h: h.std()),
    "gelu": ("float16", lambda x, h: F.gelu(h)), "elu": ("float16", lambda x, h: F.elu(h)),
    "batch_norm": ("float16", lambda x, h: NORM(h)),
    "double": ("float64", lambda x, h: x.double().exp() @ x.double()),
    "in place": ("float16", lambda x, h: h.clone().exp_()),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
def test_dtypes_are_pytorchs_for_cuda(device, compiled):
    x = weft.rand(4, 4, generator=weft.Generator().manual_seed(0)).to(device)
    h, found = x.half(), {}
    LSTM.to(device), NORM.to(device)
    try:
        for name, (_, call) in CALLS.items():
            f = weft.compile(call, backend="eager", fullgraph=True) if compiled else call
            with weft.autocast("cuda"):
                found[name] = str(f(x, h).dtype).removeprefix("torch.").removeprefix("weft.")
    finally:
        LSTM.cpu(), NORM.cpu()  # memory of the device is given back
    assert found == {name: dtype for name, (dtype, _) in CALLS.items()}


def test_policies_are_of_the_device_of_the_tensors(device):
    h = weft.ones(3, dtype=weft.float16)
    with weft.autocast("cuda"):
        assert h.exp().dtype is weft.float16 and h.to(device).exp().dtype is weft.float32
    with weft.autocast("cpu"):
        assert h.exp().dtype is weft.float16 and h.to(device).exp().dtype is weft.float16


def test_losses_of_probabilities_are_refused(device):
    p = weft.full((3,), 0.5, device=device)
    with weft.autocast("cuda"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        F.binary_cross_entropy(p, p)
    with weft.autocast("cuda", enabled=False):
        F.binary_cross_entropy(p, p)


def test_values_of_softmax_keep_their_digits(device):
    x = weft.arange(64.0).mul(0.01).half()
    with weft.autocast("cuda"):
        found = x.to(device).softmax(0)
    weft.testing.assert_close(found.cpu(), x.float().softmax(0))
