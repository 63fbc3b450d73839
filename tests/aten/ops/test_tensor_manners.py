"""Small manners of tensors as PyTorch's: reversed, named results, diagonals, memory that grows."""

import pickle

import pytest

import weft


def test_reversed_is_along_the_first_dim():
    assert weft.stack(list(reversed(weft.arange(4).view(2, 2)))).tolist() == [[2, 3], [0, 1]]


def test_named_results():
    found = weft.ones(2, 2).max(1)
    assert repr(found) == "weft.return_types.max(\nvalues=tensor([1., 1.]),\nindices=tensor([0, 0]))"
    assert isinstance(found, weft.return_types.max) and weft.return_types.sort._fields == ("values", "indices")
    assert pickle.loads(pickle.dumps(found)).indices.tolist() == [0, 0]


def test_fill_diagonal():
    assert weft.zeros(2, 3).fill_diagonal_(1).tolist() == [[1, 0, 0], [0, 1, 0]]
    tall = weft.zeros(7, 3).fill_diagonal_(2, wrap=True)
    assert tall.nonzero().tolist() == [[0, 0], [1, 1], [2, 2], [4, 0], [5, 1], [6, 2]]
    assert weft.zeros(2, 2, 2).fill_diagonal_(1).nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]
    for wrong in (weft.zeros(3), weft.zeros(2, 2, 3)):
        with pytest.raises(RuntimeError, match="dimensions"):
            wrong.fill_diagonal_(1)
    x = weft.zeros(3, 3, requires_grad=True)
    (x * 1).fill_diagonal_(5.0).sum().backward()
    assert x.grad.tolist() == (1 - weft.eye(3)).tolist()
    compiled = weft.compile(lambda x: x.clone().fill_diagonal_(3) * 2, fullgraph=True)
    assert compiled(weft.zeros(2, 2)).tolist() == [[6, 0], [0, 6]]


def test_index_fill_refuses_complex_values_of_reals():
    for dtype in (weft.float32, weft.int16, weft.bool):
        with pytest.raises(RuntimeError, match="complex Scalar"):
            weft.zeros(2, dtype=dtype).index_fill_(0, weft.tensor([0]), 1j)


def test_grown_memory_is_filled_where_results_must_not_vary():
    weft.use_deterministic_algorithms(True)
    try:
        assert weft.zeros(1).resize_(3).isnan().tolist() == [False, True, True]
        assert weft.zeros(1, dtype=weft.uint8).resize_(1, 2).tolist() == [[0, 255]]
        weft.utils.deterministic.fill_uninitialized_memory = False
        weft.zeros(1).resize_(2)
    finally:
        weft.utils.deterministic.fill_uninitialized_memory = True
        weft.use_deterministic_algorithms(False, warn_only=True)
    assert weft.is_deterministic_algorithms_warn_only_enabled() and weft.get_deterministic_debug_mode() == 0
    weft.use_deterministic_algorithms(False)


def test_resizing_with_channels_last():
    assert weft.empty(0).resize_(1, 2, 3, 3, memory_format=weft.channels_last).stride() == (18, 1, 6, 2)


def test_slices_and_storages():
    with pytest.raises(TypeError, match="slice indices"):
        weft.ones(3)[0.0:2.0]
    assert weft.ones(10).untyped_storage().__sizeof__() - weft.ones(0).untyped_storage().__sizeof__() == 40


def test_layouts_of_what_is_made_like_another():
    x = weft.randn(2, 3, 4, 5).to(memory_format=weft.channels_last)
    for make in (weft.empty_like, weft.zeros_like, weft.ones_like, lambda x, **k: weft.full_like(x, 2, **k)):
        assert make(x).stride() == x.stride() and make(x.permute(3, 1, 0, 2)).stride() == x.permute(3, 1, 0, 2).stride()
        assert make(x, memory_format=weft.contiguous_format).stride() == (60, 20, 5, 1)
        assert make(weft.ones(2, 3, 4, 5), memory_format=weft.channels_last).stride() == x.stride()
    assert weft.zeros_like(weft.randn(10, 8).t()[::2, ::2]).stride() == (1, 4)
    assert weft.empty(2, 3, 4, 5, memory_format=weft.channels_last).is_contiguous(memory_format=weft.channels_last)
    assert weft.ones_like(x).sum() == 120 and weft.zeros_like(weft.ones(3, 1).t()).shape == (1, 3)
    with pytest.raises(RuntimeError, match="required rank 4"):
        weft.empty(2, 3, memory_format=weft.channels_last)
    compiled = weft.compile(lambda x: weft.ones_like(x) * 2, fullgraph=True)
    assert compiled(x).stride() == x.stride()


def test_methods_whose_functions_are_named_so():
    x = weft.tensor([[2.0, 0.0], [0.0, 0.5]])
    assert x.slogdet()[1].item() == 0 and abs(x.polygamma(1)[0, 0].item() - 0.644934) < 1e-5


def test_writes_by_index_into_an_expanded_tensor_are_deprecated():
    """The last write stands, as PyTorch's; other writes are refused."""
    x = weft.zeros(1).expand(6)
    for write in (lambda: x.index_put_((weft.tensor([2, 1, 0]),), weft.tensor([1.0, 2, 3])), lambda: x.__setitem__([0, 4], 3.0)):
        with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
            write()
        assert x.tolist() == [3] * 6
        x.zero_()
    with pytest.raises(RuntimeError, match="more than one element"):
        x.add_(1)


def test_a_threshold_may_be_written_where_elements_are_shown_twice():
    x = weft.tensor([[0.1, 0.9]]).expand(3, 2)
    weft.nn.functional.threshold_(x, 0.5, 0.7)
    assert x[2].tolist() == weft.tensor([0.7, 0.9]).tolist()


def test_writes_by_index_take_nothing_from_where_they_write():
    x, i = weft.rand(6), weft.tensor([2, 1, 0])
    writes = [
        lambda: x.index_put_((i,), x[:3]),
        lambda: x.index_put_((i,), x[0]),
        lambda: i.index_put_((i,), i),
        lambda: i.index_put_((i,), i.clone()),
        lambda: i.put_(i, i.clone()),
        lambda: i.put_(i.clone(), i),
        lambda: i.scatter_(0, i, i.clone()),
        lambda: i.scatter_add_(0, i.clone(), i),
        lambda: i.index_add_(0, i.clone(), i),
        lambda: i.index_copy_(0, i.clone(), i),
        lambda: i.index_fill_(0, i, 1),
        lambda: x[:3].scatter_reduce_(0, i, x[:3], "sum"),
        lambda: i.index_reduce_(0, i.clone(), i, "prod"),
    ]
    for write in writes:
        with pytest.raises(RuntimeError, match="unsupported operation"):
            write()
    x[i] = x[:3].clone()
    x[:] = x
    first = x[0].item()
    assert x.masked_fill_(x >= 0, x[0]).tolist() == [first] * 6  # of a number
