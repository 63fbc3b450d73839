"""`allow_mutation_on_saved_tensors`: what is saved may be written, and backward sees what it was."""

import pytest
from weft.autograd.graph import allow_mutation_on_saved_tensors

import weft


def test_a_write_through_a_view_copies_what_was_saved_once():
    with allow_mutation_on_saved_tensors() as saved:
        a = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.clone()
        first, second = b**2, b**2
        assert len(saved.tid_to_weakhandle) == 1 and len(saved.cloned) == 0
        b[:1].mul_(10)
        b.sin_()
        assert len(saved.cloned) == 1
        (first + second).sum().backward()
        assert len(saved.cloned) == 0
    assert a.grad.tolist() == [4, 8, 12]


def test_each_version_has_its_copy_while_a_graph_needs_it():
    with allow_mutation_on_saved_tensors() as saved:
        a = weft.ones(2, requires_grad=True).clone()
        first = a**2
        a.sin_()
        second = a**2
        a.sin_()
        assert len(saved.cloned) == 2
        del first
        assert len(saved.cloned) == 1
        del second
        assert len(saved.cloned) == 0


def test_blocks_do_not_nest_and_backward_stays_inside():
    with allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="cannot be nested"):
            with allow_mutation_on_saved_tensors():
                pass
        out = (weft.ones(2, requires_grad=True) ** 2).sum()
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"):
        out.backward()


def through_data(write):
    """A gradient through `y = x.data`, written with write(y, x) before the walk."""
    x = weft.tensor([1.0, 2.0, 3.0])
    y = x.data.requires_grad_()
    loss = (y * y).sum()
    with weft.no_grad():
        write(y, x)
    loss.backward()
    return y.grad


@pytest.mark.parametrize("write", [lambda y, x: y.mul_(2), lambda y, x: y[0].zero_(), lambda y, x: y.t().copy_(x * 3)])
def test_a_data_that_was_saved_may_not_be_written(write):
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        through_data(write)


def test_a_data_that_was_not_saved_is_written_behind_the_back_of_its_tensor():
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.data.add_(1)
    y.sum().backward()
    assert x._version == 0 and x.grad.tolist() == (y.detach()).tolist()
