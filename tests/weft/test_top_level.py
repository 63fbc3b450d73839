"""Functions of the top level whose arguments are not those of nn.functional; what is expected is PyTorch 2.13's."""

import pytest

import weft as torch
from weft.nn import functional as F

X = torch.tensor([[0.3, -0.2], [0.5, 0.1]])
W, B = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.25])
SIGNS = torch.tensor([1.0, -1.0])


def test_weights_come_before_statistics():
    mean, variance = torch.tensor([0.1, 0.2]), torch.tensor([1.0, 4.0])
    given = torch.batch_norm(X, W, B, mean, variance, False, 0.1, 1e-5, True)
    assert torch.equal(given, F.batch_norm(X, mean, variance, W, B))
    trained = torch.batch_norm(X, W, B, None, None, True, 0.1, 1e-5, False)
    assert torch.equal(trained, F.batch_norm(X, None, None, W, B, training=True))
    image = X.reshape(1, 2, 2)
    found = torch.instance_norm(image, W, B, None, None, True, 0.1, 1e-5, False)
    assert torch.equal(found, F.instance_norm(image, weight=W, bias=B))
    assert torch.equal(torch.layer_norm(X, (2,), W, B, 1e-5, False), F.layer_norm(X, (2,), W, B))
    assert torch.equal(torch.group_norm(X, 2, W, B, 1e-5, False), F.group_norm(X, 2, W, B))


def test_tables_come_before_indices():
    table = X.clone().requires_grad_()
    rows = torch.embedding(table, torch.tensor([1, 0, 1]), 0, False, False)
    assert torch.equal(rows, X[torch.tensor([1, 0, 1])])
    rows.sum().backward()
    assert table.grad.tolist() == [[0.0, 0.0], [2.0, 2.0]]


@pytest.mark.parametrize(
    "mode,expected",
    [
        (0, ([[0.5, 0.1], [0.8, -0.1]], [], [0, 0], [0, 0])),
        (1, ([[0.5, 0.1], [0.4, -0.05]], [0, 1, 1], [1, 2], [1, 2])),
        (2, ([[0.5, 0.1], [0.5, 0.1]], [0, 1, 1], [1, 2], [[1, 1], [1, 1]])),
    ],
)
def test_bags_with_what_their_gradients_need(mode, expected):
    found = torch.embedding_bag(X, torch.tensor([1, 0, 1]), torch.tensor([0, 1]), False, mode)
    assert torch.allclose(found[0], torch.tensor(expected[0]))
    assert [t.tolist() for t in found[1:]] == list(expected[1:])


def test_bags_with_an_empty_one_and_a_last_offset():
    bags, bag_of, sizes, largest = torch.embedding_bag(
        X, torch.tensor([0, 1]), torch.tensor([0, 0, 2]), mode=2, include_last_offset=True
    )
    assert bags.tolist()[0] == [0.0, 0.0]
    assert (bag_of.tolist(), sizes.tolist(), largest.tolist()) == ([1, 1], [0, 2], [[0, 0], [1, 1]])


def test_convolution_of_all_dims_and_transposed():
    x, w = torch.randn(2, 4, 6, 6), torch.randn(4, 2, 3, 3)
    assert torch.equal(torch.convolution(x, w, None, [2], [1], [1], False, [0], 2), F.conv2d(x, w, None, 2, 1, 1, 2))
    assert torch.equal(
        torch.convolution(x, w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1), F.conv_transpose2d(x, w, None, 2, 1, 1)
    )
    with pytest.raises(RuntimeError, match="an input of 4 dimensions is expected"):
        torch.convolution(x[0], w, None, [1], [0], [1], False, [0], 2)


def test_losses_are_reduced_by_number_and_not_by_default():
    y = torch.tensor([[0.6, 0.2], [0.4, 0.9]])
    for loss, arguments in {
        "binary_cross_entropy_with_logits": (X, y),
        "cosine_embedding_loss": (X, y, SIGNS),
        "hinge_embedding_loss": (X, SIGNS),
        "kl_div": (X, y),
        "margin_ranking_loss": (X[0], y[0], SIGNS),
        "triplet_margin_loss": (X, y, X * 2),
    }.items():
        each = getattr(F, loss)(*arguments, reduction="none")
        assert torch.equal(getattr(torch, loss)(*arguments), each), loss
        assert torch.allclose(getattr(torch, loss)(*arguments, reduction=1), each.mean()), loss
        assert torch.allclose(getattr(torch, loss)(*arguments, reduction=2), each.sum()), loss
        with pytest.raises(TypeError, match="argument 'reduction' must be int, not str"):
            getattr(torch, loss)(*arguments, reduction="mean")
        with pytest.raises(ValueError, match="not a valid value for reduction"):
            getattr(torch, loss)(*arguments, reduction=3)
    logs = torch.zeros(3, 2, 3).log_softmax(-1)
    each = torch.ctc_loss(logs, torch.tensor([[1, 2], [1, 1]]), [3, 3], [2, 1])
    assert torch.allclose(each, torch.tensor([1.6863990, 1.5040774]))
    assert torch.equal(torch.poisson_nll_loss(X, y, True, False, 1e-8, 0), F.poisson_nll_loss(X, y, reduction="none"))


def test_maxima_come_with_their_places():
    values, places = torch.adaptive_max_pool1d(torch.arange(6.0).reshape(1, 6), 2)
    assert (values.tolist(), places.tolist()) == ([[2.0, 5.0]], [[2, 5]])


def test_compiled_whole():
    def f(x, w, b, table):
        y = torch.batch_norm(x, w, b, None, None, True, 0.1, 1e-5, True)
        rows = torch.embedding(table, torch.tensor([1, 0]))
        return torch.layer_norm(y, (2,), w, b, 1e-5) + rows, torch.kl_div(x, y.abs(), 1)

    for found, expected in zip(torch.compile(f, fullgraph=True)(X, W, B, X), f(X, W, B, X)):
        assert torch.allclose(found, expected)
