"""multilabel_margin_loss is computed a row at a time; it and its derivatives are those of all pairs of classes."""

import numpy as np
import pytest

import weft
from aten.op import ops
from weft.nn import functional as F

rng = np.random.default_rng(0)


@pytest.mark.parametrize("rows, n", [(3, 5), (1, 1), (4, 40), (0, 3)])
def test_it_and_its_derivatives(rows, n):
    x = weft.tensor(rng.standard_normal((rows, n)), requires_grad=True)
    y = weft.tensor(rng.integers(-1, n, (rows, n)))
    found, wanted = F.multilabel_margin_loss(x, y, reduction="none"), ops.label_margins.decompose_fn(x, y)
    weft.testing.assert_close(found, wanted)
    g = weft.tensor(rng.standard_normal(rows), requires_grad=True)
    both = [weft.autograd.grad(out, x, g, create_graph=True)[0] for out in (found, wanted)]
    weft.testing.assert_close(*both)
    weft.testing.assert_close(*(weft.autograd.grad((f * x.detach()).sum(), g)[0] for f in both))


def test_many_classes_make_no_pairs_in_memory():
    n = 4096
    x, y = weft.zeros(2, n, requires_grad=True), weft.full((2, n), -1, dtype=weft.int64)
    y[:, :2048] = weft.arange(2048)
    loss = F.multilabel_margin_loss(x, y)  # (all pairs would be 134 MB of each intermediate)
    assert loss.item() == 1024 and loss.grad_fn.next_functions[0][0].name() == "LabelMarginsBackward0"
    (g,) = weft.autograd.grad(loss, x)
    assert g[:, :2048].eq(-0.25).all() and g[:, 2048:].eq(0.25).all()


def test_a_nan_counts_as_nothing():
    x = weft.tensor([[float("nan"), 1.0, 2.0]], requires_grad=True)
    for label, loss, slopes in ((0, 0.0, [0, 0, 0]), (1, 2 / 3, [0, -1 / 3, 1 / 3])):
        found = F.multilabel_margin_loss(x, weft.tensor([[label, -1, -1]]))
        assert found.item() == pytest.approx(loss)
        np.testing.assert_allclose(weft.autograd.grad(found, x)[0].numpy(), [slopes], rtol=1e-6)


def test_a_label_that_is_no_class():
    with pytest.raises(RuntimeError, match="out of bounds"):
        F.multilabel_margin_loss(weft.zeros(2, 3), weft.full((2, 3), 3))
