"""Calls of which the dtype of the result under CPU autocast is known: name → (torch, F, tensors) → result."""

CALLS = {
    "linear": lambda t, F, x, m, b: F.linear(x, m),
    "matmul": lambda t, F, x, m, b: x @ m,
    "bmm": lambda t, F, x, m, b: t.bmm(b, b),
    "addmm": lambda t, F, x, m, b: t.addmm(x, x, m),
    "einsum": lambda t, F, x, m, b: t.einsum("ij,jk->ik", x, m),
    "mv": lambda t, F, x, m, b: t.mv(m, x[0]),
    "dot": lambda t, F, x, m, b: t.dot(x[0], x[1]),
    "outer": lambda t, F, x, m, b: t.outer(x[0], x[1]),
    "conv1d": lambda t, F, x, m, b: F.conv1d(b, b),
    "conv_transpose1d": lambda t, F, x, m, b: F.conv_transpose1d(b, b),
    "prelu": lambda t, F, x, m, b: F.prelu(x, x[0, :1]),
    "attention": lambda t, F, x, m, b: F.scaled_dot_product_attention(b, b, b),
    "bilinear": lambda t, F, x, m, b: F.bilinear(x, x, b),
    "add": lambda t, F, x, m, b: x + x,
    "mixed_add": lambda t, F, x, m, b: x + x @ m,
    "softmax": lambda t, F, x, m, b: F.softmax(x @ m, -1),
    "layer_norm": lambda t, F, x, m, b: F.layer_norm(x @ m, (4,)),
    "exp": lambda t, F, x, m, b: (x @ m).exp(),
    "sum": lambda t, F, x, m, b: (x @ m).sum(),
    "prod": lambda t, F, x, m, b: (x @ m).prod(),
    "cumsum": lambda t, F, x, m, b: (x @ m).cumsum(0),
    "mse_loss": lambda t, F, x, m, b: F.mse_loss(x @ m, x @ m),
    "cross_entropy": lambda t, F, x, m, b: F.cross_entropy(x @ m, t.zeros(4, dtype=t.int64)),
    "nll_loss": lambda t, F, x, m, b: F.nll_loss(x @ m, t.zeros(4, dtype=t.int64)),
    "bce": lambda t, F, x, m, b: F.binary_cross_entropy(t.sigmoid(x @ m), x * 0),
    "bce_logits": lambda t, F, x, m, b: F.binary_cross_entropy_with_logits(x @ m, x),
    "kl_div": lambda t, F, x, m, b: F.kl_div(x @ m, x @ m, reduction="sum"),
    "cdist": lambda t, F, x, m, b: t.cdist(x @ m, x @ m),
    "inverse": lambda t, F, x, m, b: t.inverse(m @ m),
    "svdvals": lambda t, F, x, m, b: t.linalg.svdvals(x @ m),
    "fft": lambda t, F, x, m, b: t.fft.rfft(x @ m),
    "cat": lambda t, F, x, m, b: t.cat([x @ m, x]),
    "cat_low": lambda t, F, x, m, b: t.cat([x @ m, x @ m]),
    "stack": lambda t, F, x, m, b: t.stack([x, x @ m]),
    "double": lambda t, F, x, m, b: x.double() @ m.double(),
    "embedding": lambda t, F, x, m, b: F.embedding(t.zeros(2, dtype=t.int64), m),
    "gelu": lambda t, F, x, m, b: F.gelu(x @ m),
    "max_pool1d": lambda t, F, x, m, b: F.max_pool1d(b @ b, 2),
    "norm": lambda t, F, x, m, b: (x @ m).norm(),
    "pow": lambda t, F, x, m, b: (x @ m) ** 2,
    "trace": lambda t, F, x, m, b: t.trace(x @ m),
    "chain": lambda t, F, x, m, b: t.linalg.multi_dot([x, m, m]),
    "det": lambda t, F, x, m, b: t.linalg.det(m),
    "matrix_power": lambda t, F, x, m, b: t.linalg.matrix_power(m, 3),
    "tensordot": lambda t, F, x, m, b: t.tensordot(x, m, 1),
    "tensordot_of_all": lambda t, F, x, m, b: t.tensordot(x, m),
    "tensordot_of_all_by_dims": lambda t, F, x, m, b: t.tensordot(x, m, dims=([0, 1], [1, 0])),
    "tensordot_by_dims": lambda t, F, x, m, b: t.tensordot(b, x, dims=([0, 1], [1, 0])),
    "pinv": lambda t, F, x, m, b: t.linalg.pinv(m),
    "pad_reflect": lambda t, F, x, m, b: F.pad(x @ m, (1, 1), "reflect"),
    "pad_reflect_2d": lambda t, F, x, m, b: F.pad(b @ m, (1, 1, 1, 1), mode="reflect"),
    "pad_reflect_3d": lambda t, F, x, m, b: F.pad((b @ m)[None], (1, 1, 1, 1, 1, 1), "reflect"),
    "pad_replicate_3d": lambda t, F, x, m, b: F.pad((b @ m)[None], (1, 1, 1, 1, 1, 1), "replicate"),
    "pad_circular": lambda t, F, x, m, b: F.pad(x @ m, (1, 1), "circular"),
    "pad_constant": lambda t, F, x, m, b: F.pad(x @ m, (1, 1)),
    "lstm": lambda t, F, x, m, b: t.lstm(b, (b[:1, :, :1],) * 2, [m, x[:, :1]], False, 1, 0.0, False, False, False)[0],
    "lstm_state": lambda t, F, x, m, b: t.lstm(b, (b[:1, :, :1],) * 2, [m, x[:, :1]], False, 1, 0.0, False, False, False)[2],
    "rnn": lambda t, F, x, m, b: t.rnn_tanh(b, b[:1], [m, x], False, 1, 0.0, False, False, False)[0],
    "rnn_cell": lambda t, F, x, m, b: t.rnn_tanh_cell(x, x, m, m, m[0], m[1]),
    "huber": lambda t, F, x, m, b: F.huber_loss(x @ m, x),
    "where": lambda t, F, x, m, b: t.where(x > 0, x @ m, x),
}


def run(torch, dtype):
    """{name: dtype of the result} with autocast to `dtype`."""
    torch.manual_seed(0)
    x, m, b = torch.rand(4, 4), torch.rand(4, 4) + torch.eye(4), torch.rand(4, 4, 4)
    result = {}
    with torch.autocast("cpu", dtype=dtype):
        for name, call in CALLS.items():
            try:
                result[name] = str(call(torch, torch.nn.functional, x, m, b).dtype).split(".")[1]
            except (RuntimeError, NotImplementedError) as e:
                result[name] = type(e).__name__
    return result
