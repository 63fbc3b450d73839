"""What a checkpoint says where its second call is another than the first, or of no use."""

import pytest

import weft
from weft.utils.checkpoint import CheckpointError, checkpoint, set_checkpoint_debug_enabled


def two_faced():
    calls = []

    def fn(x):
        calls.append(x)
        return x.sin().exp() if len(calls) == 1 else x.sin() * weft.ones(2)

    return fn


@pytest.mark.parametrize("passed, held", [(True, None), (False, True)])
def test_debug_lists_the_ops_of_both_calls(passed, held):
    out = None
    with set_checkpoint_debug_enabled(held):
        out = checkpoint(two_faced(), weft.ones(1, requires_grad=True), use_reentrant=False, debug=passed)
    with pytest.raises(CheckpointError, match="You are seeing this error because you passed `debug=True` to checkpoint") as info:
        out.backward()
    assert "exp(" in str(info.value) and "mul(" in str(info.value)


def test_debug_can_be_held_off():
    with set_checkpoint_debug_enabled(False):
        out = checkpoint(two_faced(), weft.ones(1, requires_grad=True), use_reentrant=False, debug=True)
    with pytest.raises(CheckpointError, match="Recomputed values for the following tensors have different metadata"):
        out.backward()


def test_a_checkpoint_without_gradients_says_that_it_is_of_no_use():
    def fn(x):
        with weft.no_grad():
            return x * 2

    x = weft.ones(2, requires_grad=True)
    out = checkpoint(fn, x, use_reentrant=True) + x
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        out.sum().backward()
