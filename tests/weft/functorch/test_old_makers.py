"""Functions and state of new models, as functorch made them."""

import pytest

import weft
from weft._functorch.make_functional import functional_init, functional_init_with_buffers
from weft._vmap_internals import _vmap


def test_an_ensemble_of_new_models():
    x = weft.randn(3, 4, 2)
    params, buffers, call, names, buffer_names = functional_init_with_buffers(weft.nn.BatchNorm1d, [3])(2)
    assert [p.shape for p in params] == [(3, 2), (3, 2)] and names == ("weight", "bias")
    assert [b.shape for b in buffers] == [(3, 2), (3, 2), (3,)] and buffer_names[-1] == "num_batches_tracked"
    assert not any(p.requires_grad for p in params)
    weights, linear, _ = functional_init(weft.nn.Linear, (3,))(2, 5)
    each = _vmap(lambda w, b, x: linear((w, b), (x,)))(*weights, x)
    weft.testing.assert_close(each[1], x[1] @ weights[0][1].T + weights[1][1])
    single, linear, _ = functional_init(weft.nn.Linear)(2, 5)
    weft.testing.assert_close(linear(single, (x[0],)), x[0] @ single[0].T + single[1])


def test_what_they_refuse():
    with pytest.raises(ValueError, match="more than 1 element"):
        functional_init(weft.nn.Linear, (2, 2))
    with pytest.raises(ValueError, match="should be > 0"):
        functional_init_with_buffers(weft.nn.Linear, (0,))
    with pytest.raises(RuntimeError, match="has buffers"):
        functional_init(weft.nn.BatchNorm1d)(2)
