"""Checkpointing where a policy keeps the results of some ops."""

import functools

import pytest

import weft
from weft.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

sin = weft.ops.aten.sin.default


def kept(fn, x, policy, **options):
    context = functools.partial(create_selective_checkpoint_contexts, policy, **options)
    return checkpoint(fn, x, use_reentrant=False, context_fn=context)


def keep_sin(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op is sin else CheckpointPolicy.PREFER_RECOMPUTE


@pytest.mark.parametrize("policy", [keep_sin, [sin], lambda ctx, op, *args, **kwargs: op is sin, lambda *a, **k: False])
def test_gradients_are_those_of_the_call(policy):
    x = weft.tensor([0.5, 1.0], requires_grad=True)
    out = kept(lambda x: x.sin().cos().exp(), x, policy)
    out.sum().backward(retain_graph=True)
    found, x.grad = x.grad, None
    x.sin().cos().exp().sum().backward()
    assert weft.allclose(found, x.grad)


def test_the_policy_is_told_which_time_it_is():
    seen = []

    def policy(ctx, op, *args, **kwargs):
        seen.append((str(op), ctx.is_recompute))
        return CheckpointPolicy.MUST_SAVE

    x = weft.ones(2, requires_grad=True)
    kept(lambda x: x.sin().cos(), x, policy).sum().backward()
    assert seen[:3] == [("aten.sin.default", False), ("aten.cos.default", False), ("aten.sin.default", True)]


def test_what_is_kept_serves_one_walk():
    out = kept(lambda x: x.sin().cos().exp(), weft.ones(2, requires_grad=True), keep_sin).sum()
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.backward()


def test_what_is_kept_is_not_written():
    def fn(x):
        return x.sin().mul_(2).cos().exp()

    x = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="has been mutated"):
        kept(fn, x, keep_sin).sum().backward()
    kept(fn, x, keep_sin, allow_cache_entry_mutation=True).sum().backward()


def test_bad_policies():
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload"):
        create_selective_checkpoint_contexts([2])
    with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific OpOverload"):
        create_selective_checkpoint_contexts([weft.ops.aten.sin])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(2)
