"""Embedding, EmbeddingBag and AdaptiveLogSoftmaxWithLoss."""

import pytest

import weft
from weft import nn

F = nn.functional
TABLE = [[1.0, 2.0], [3.0, 4.0], [6.0, 8.0], [0.0, 0.5]]


def table():
    return weft.tensor(TABLE, requires_grad=True)


def test_rows_that_are_too_long_are_shortened_in_place():
    module = nn.Embedding.from_pretrained(weft.tensor(TABLE), max_norm=5.0)
    weft.testing.assert_close(module(weft.tensor([2, 0, 2])), weft.tensor([[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]))
    weft.testing.assert_close(module.weight[2], weft.tensor([3.0, 4.0]))
    assert module.weight[1].tolist() == [3.0, 4.0]


def test_gradients_by_frequency_and_padding():
    weight = table()
    F.embedding(weft.tensor([[0, 0, 1], [2, 0, 3]]), weight, padding_idx=3, scale_grad_by_freq=True).sum().backward()
    weft.testing.assert_close(weight.grad, weft.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]))


# PyTorch 2.13: torch.nn.functional.embedding_bag(input, table, offsets, mode=…), and the gradient of its sum.
BAGS = [
    ("sum", None, [[4, 6], [0, 0], [6, 8.5]], [[1, 1], [1, 1], [1, 1], [1, 1]]),
    ("mean", None, [[2, 3], [0, 0], [3, 4.25]], [[0.5, 0.5]] * 4),
    ("max", None, [[3, 4], [0, 0], [6, 8]], [[0, 0], [1, 1], [1, 1], [0, 0]]),
    ("mean", 3, [[2, 3], [0, 0], [6, 8]], [[0.5, 0.5], [0.5, 0.5], [1, 1], [0, 0]]),
    ("max", 2, [[3, 4], [0, 0], [0, 0.5]], [[0, 0], [1, 1], [0, 0], [1, 1]]),
]


@pytest.mark.parametrize("mode,padding,expected,gradient", BAGS)
def test_bags(mode, padding, expected, gradient):
    weight = table()
    result = F.embedding_bag(weft.tensor([0, 1, 2, 3]), weight, weft.tensor([0, 2, 2]), mode=mode, padding_idx=padding)
    assert result.tolist() == expected
    result.sum().backward()
    assert weight.grad.tolist() == gradient
    whole = F.embedding_bag(weft.tensor([[0, 1], [2, 3]]), weight, mode=mode, padding_idx=padding)
    assert whole.tolist() == [expected[0], expected[2]]


def test_bags_of_weighted_samples():
    samples = weft.tensor([2.0, 0.5, 1.0, 1.0], requires_grad=True)
    result = F.embedding_bag(weft.tensor([0, 1, 2, 3]), table(), weft.tensor([0, 2, 4]), mode="sum", per_sample_weights=samples,
                             include_last_offset=True)  # fmt: skip
    assert result.tolist() == [[3.5, 6.0], [6.0, 8.5]]
    result.sum().backward()
    assert samples.grad.tolist() == [3.0, 7.0, 14.0, 0.5]


REFUSED = [
    (dict(input=weft.tensor([0, 1])), ValueError, "offsets has to be a 1D Tensor but got None"),
    (dict(input=weft.tensor([[0, 1]]), offsets=weft.tensor([0])), ValueError, "if input is 2D, then offsets has to be None"),
    (dict(input=weft.tensor([[0, 1]]), mode="median"), ValueError, "mode has to be one of sum, mean or max"),
    (dict(input=weft.tensor([0, 1]), offsets=weft.tensor([1])), RuntimeError, r"offsets\[0\] has to be 0"),
    (dict(input=weft.tensor([[0, 4]])), RuntimeError, "Expected idx >= 0 && idx < num_embeddings"),
    (dict(input=weft.tensor([[0, 1]]), per_sample_weights=weft.ones(1, 2)), NotImplementedError, "only supported for mode='sum'"),
]


@pytest.mark.parametrize("arguments,error,message", REFUSED)
def test_what_bags_refuse(arguments, error, message):
    with pytest.raises(error, match=message):
        F.embedding_bag(weight=table(), **arguments)


def test_bags_compile():
    module = nn.EmbeddingBag(5, 3, mode="mean", padding_idx=1)
    call = weft.compile(lambda i, o: module(i, o), backend="eager", fullgraph=True)
    arguments = weft.tensor([1, 4, 2, 2, 0]), weft.tensor([0, 3])
    weft.testing.assert_close(call(*arguments), module(*arguments))


def test_adaptive_softmax_is_a_softmax():
    weft.manual_seed(0)
    module = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 12], div_value=2.0)
    x, target = weft.randn(6, 8), weft.tensor([0, 19, 7, 4, 12, 5])
    logs = module.log_prob(x)
    weft.testing.assert_close(logs.exp().sum(1), weft.ones(6))
    output, loss = module(x, target)
    weft.testing.assert_close(output, logs.gather(1, target.unsqueeze(1)).squeeze(1))
    weft.testing.assert_close(loss, -output.mean())
    assert module.predict(x).tolist() == logs.argmax(1).tolist()
    assert [tuple(p.shape) for p in module.parameters()] == [(7, 8), (4, 8), (7, 4), (2, 8), (8, 2)]
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\]"):
        module(x, target + 1)
    with pytest.raises(ValueError, match="unique, positive integers sorted"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 5])


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_a_table_of_sparse_gradients_has_them_compiled(backend, by_frequency):
    table = nn.Embedding(5, 2, sparse=True, padding_idx=1, scale_grad_by_freq=by_frequency)
    weft.compile(lambda rows: (table(rows) * 2).sum(), backend=backend)(weft.tensor([1, 2, 2])).backward()
    assert table.weight.grad.is_sparse
    assert table.weight.grad.to_dense()[:, 0].tolist() == [0, 0, 2 if by_frequency else 4, 0, 0]
    optimizer = weft.optim.SparseAdam(list(table.parameters()))
    optimizer.step()


def test_gradients_by_frequency_are_of_one_graph():
    table = nn.Embedding(5, 2, scale_grad_by_freq=True)
    found = weft.compile(table, fullgraph=True, backend="aot_eager")(weft.tensor([1, 2, 2]))
    found.sum().backward()
    assert table.weight.grad.tolist() == [[0, 0], [1, 1], [1, 1], [0, 0], [0, 0]]
