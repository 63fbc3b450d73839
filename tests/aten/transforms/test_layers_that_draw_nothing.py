"""Layers that may drop values, under transforms that allow no random numbers: those that drop none draw none."""

import pytest

import weft
from weft import nn
from weft.func import functional_call, grad, hessian, jacfwd, vmap


@pytest.mark.parametrize("layer", [nn.RNN(2, 3), nn.GRU(2, 3), nn.LSTM(2, 3), nn.GRU(2, 3, num_layers=2, dropout=0.5).eval()])
def test_a_recurrent_layer_without_dropout_is_mapped(layer):
    x = weft.arange(8.0).view(4, 2) / 8
    f = lambda x: layer(x)[0]
    assert jacfwd(f)(x).shape == (4, 3, 4, 2)
    assert weft.allclose(jacfwd(f)(x), weft.func.jacrev(f)(x), atol=1e-5)
    assert hessian(lambda x: f(x).sum())(x).shape == (4, 2, 4, 2)


def test_gradients_for_each_sequence_of_an_lstm():
    layer = nn.LSTM(2, 3)
    params, x = dict(layer.named_parameters()), weft.arange(40.0).view(5, 4, 2) / 40
    loss = lambda p, x: functional_call(layer, p, (x,))[0].sum()
    found = vmap(grad(loss), in_dims=(None, 0))(params, x)
    for i in range(5):
        assert weft.allclose(found["weight_ih_l0"][i], grad(loss)(params, x[i])["weight_ih_l0"], atol=1e-5)


def test_a_packed_sequence_without_dropout_is_mapped():
    layer = nn.GRU(2, 3, num_layers=2)
    packed = nn.utils.rnn.pack_sequence([weft.ones(3, 2), weft.ones(2, 2)])
    f = lambda data: layer(nn.utils.rnn.PackedSequence(data, packed.batch_sizes))[0].data
    assert vmap(f)(weft.stack([packed.data] * 4)).shape == (4, 5, 3)


def test_attention_without_dropout_is_mapped():
    attention, x = nn.MultiheadAttention(4, 2), weft.arange(8.0).view(2, 4) / 8
    assert hessian(lambda x: attention(x, x, x)[0].sum())(x).shape == (2, 4, 2, 4)
    layer = nn.TransformerEncoderLayer(4, 2, 8).double().eval()  # its tangents do not lie in memory as the attention does
    x, f = x.double(), lambda x: layer(x).pow(3).sum()
    found = hessian(f)(x)
    assert weft.allclose(found, weft.func.jacrev(weft.func.jacrev(f))(x))
    assert hessian(lambda x: layer(x).sum())(weft.ones(2, 3, 4).double()).shape == (2, 3, 4) * 2


def test_dropout_is_still_refused():
    layer = nn.LSTM(2, 3, num_layers=2, dropout=0.5)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda x: layer(x)[0])(weft.ones(3, 4, 2))
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda x: nn.functional.dropout(x, 0.5))(weft.ones(3))
