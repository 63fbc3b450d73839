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
