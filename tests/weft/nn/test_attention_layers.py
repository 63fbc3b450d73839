"""MultiheadAttention and Transformers."""

import math

import pytest

import weft
from weft import nn


def filled(module):
    """Parameters that are the same wherever this runs."""
    with weft.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(((weft.arange(p.numel()) * (k + 3)) % 7 - 3).reshape(p.shape) / 8)
    return module.eval()


def ramp(*sizes):
    return weft.arange(float(math.prod(sizes))).reshape(sizes) / math.prod(sizes)


def causal(n):
    return nn.Transformer.generate_square_subsequent_mask(n)


PADDING = [[False, False, True], [False, False, False]]

# What the callable gives, summed and times a ramp: from PyTorch 2.13.
CASES = [
    (lambda: filled(nn.MultiheadAttention(4, 2))(ramp(3, 2, 4), ramp(3, 2, 4), ramp(3, 2, 4))[0], [2.11201, 1.18565]),
    (lambda: filled(nn.MultiheadAttention(4, 2))(*[ramp(3, 2, 4)] * 3, key_padding_mask=weft.tensor(PADDING))[1], [6.0, 2.74805]),
    (lambda: filled(nn.MultiheadAttention(4, 2, kdim=3, vdim=5, batch_first=True))(
        ramp(2, 3, 4), ramp(2, 6, 3), ramp(2, 6, 5), need_weights=False)[0], [-11.86946, -5.60143]),
    (lambda: filled(nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True))(
        *[ramp(3, 2, 4)] * 3, attn_mask=causal(3))[0], [-5.15148, -2.24805]),
    (lambda: filled(nn.TransformerEncoderLayer(4, 2, 6))(ramp(3, 2, 4), causal(3), is_causal=True), [-4.80145, -2.47677]),
    (lambda: filled(nn.TransformerDecoderLayer(4, 2, 6, norm_first=True, activation="gelu"))(
        ramp(3, 2, 4), ramp(5, 2, 4)), [7.45706, 5.79116]),
    (lambda: filled(nn.Transformer(4, 2, 1, 1, 6, batch_first=True))(
        ramp(2, 3, 4), ramp(2, 5, 4), tgt_mask=causal(5), src_key_padding_mask=weft.tensor(PADDING)), [-7.5, -3.2068]),
]  # fmt: skip


@pytest.mark.parametrize("make,expected", CASES)
def test_values(make, expected):
    found = make()
    assert [found.sum().item(), (found * ramp(*found.shape)).sum().item()] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(
    "module,inputs",
    [
        (nn.MultiheadAttention(8, 2), ((3, 2, 8),) * 3),
        (nn.TransformerEncoderLayer(8, 2, 16, 0.0), ((3, 2, 8),)),
        (nn.TransformerDecoderLayer(8, 2, 16, 0.0, norm_first=True), ((3, 2, 8), (4, 2, 8))),
        (nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True), ((2, 3, 8), (2, 4, 8))),
    ],
)
def test_attention_compiles(module, inputs):
    weft.manual_seed(0)
    inputs = [weft.randn(*sizes) for sizes in inputs]
    first = lambda result: result[0] if isinstance(result, tuple) else result
    expected = first(module(*inputs))
    (expected * weft.linspace(0, 1, expected.numel()).reshape(expected.shape)).sum().backward()
    gradients = [p.grad for p in module.parameters()]
    module.zero_grad()
    found = first(weft.compile(module, backend="eager", fullgraph=True)(*inputs))
    weft.testing.assert_close(found, expected)
    (found * weft.linspace(0, 1, found.numel()).reshape(found.shape)).sum().backward()
    for p, g in zip(module.parameters(), gradients):
        weft.testing.assert_close(p.grad, g)


x = weft.zeros(3, 2, 8)
REFUSED = [
    (lambda a: a(x[..., :6], x, x), AssertionError, "was expecting embedding dimension of 8, but got 6"),
    (lambda a: a(x[0], x, x), AssertionError, r"For unbatched \(2-D\) `query`, expected `key` and `value` to be 2-D"),
    (lambda a: a(x, x, x, attn_mask=weft.zeros(4, 3)), RuntimeError, "The shape of the 2D attn_mask"),
    (lambda a: a(x, x, x, attn_mask=weft.zeros(3, 3, dtype=weft.int64)), AssertionError, "only bool and floating types"),
    (lambda a: a(x, x, x, is_causal=True), RuntimeError, "Need attn_mask if specifying the is_causal hint"),
    (lambda a: a(x, x, x, key_padding_mask=weft.zeros(3)), AssertionError, "expected `key_padding_mask` to be `None` or 2-D"),
]


@pytest.mark.parametrize("call,error,message", REFUSED)
def test_what_attention_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call(nn.MultiheadAttention(8, 2))


def test_masks_of_two_kinds_are_warned_of():
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    with pytest.warns(UserWarning, match="mismatched src_key_padding_mask and src_mask is deprecated"):
        layer(x, causal(3), weft.tensor(PADDING))
    with pytest.warns(UserWarning, match="self.use_nested_tensor is False because encoder_layer.self_attn.batch_first"):
        nn.TransformerEncoder(layer, 2)


def test_names_of_state():
    names = list(nn.TransformerDecoderLayer(8, 2, 16).state_dict())
    assert [n[10:] for n in names[:4]] == ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    assert names[8:12] == ["linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"] and names[-1] == "norm3.bias"


@pytest.mark.parametrize("compiled", [False, True])
def test_an_encoder_that_only_evaluates_gives_zeros_for_padding_behind(compiled):
    """PyTorch takes nested tensors through it then, which have no padding."""
    weft.manual_seed(0)
    x = weft.randn(2, 4, 8)
    behind = weft.tensor([[False, False, True, True], [False, False, False, True]])
    between = weft.tensor([[False, True, False, True], [False, False, False, True]])

    def encoder(nested=True, **options):
        layer = nn.TransformerEncoderLayer(8, 2, 16, **{"batch_first": True, "dropout": 0.0, **options})
        return nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8), enable_nested_tensor=nested).eval()

    def zeros(model, padding, **given):
        f = weft.compile(model, fullgraph=True) if compiled else model
        return (f(x, src_key_padding_mask=padding, **given) == 0).all(-1).tolist()

    nothing = weft.zeros(2, 4, dtype=weft.bool).tolist()
    model = encoder(activation=nn.GELU())
    assert zeros(model, behind) == nothing  # while gradients are recorded
    with weft.no_grad():
        assert zeros(model, behind) == behind.tolist()
        assert zeros(model, weft.zeros(2, 4).masked_fill(behind, -float("inf"))) == behind.tolist()
        assert zeros(model, between) == nothing
        assert zeros(model, behind, mask=weft.zeros(4, 4, dtype=weft.bool)) == nothing
        assert zeros(encoder(nested=False), behind) == nothing
        assert zeros(model.train(), behind) == nothing
