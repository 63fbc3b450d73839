"""Selective activation checkpointing: a policy says, op by op, whose results are kept and which are computed again."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from aten import Tensor, pytree
from weft.ops import OpOverload, OpOverloadPacket
from weft.utils._python_dispatch import TorchDispatchMode

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What is done with the results of an op. A compiler may decide otherwise where it says PREFER."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


_SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """What a policy is told: whether the op runs for the first time or again."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


class _Kept:
    """A result as it was kept, with its version."""

    __slots__ = ("val", "version")

    def __init__(self, value: Any) -> None:
        self.val = value.detach() if isinstance(value, Tensor) else value
        self.version = value._version if isinstance(value, Tensor) else None

    def taken(self, may_differ: bool) -> Any:
        """The result again. Raises RuntimeError if it was written meanwhile and that is not allowed."""
        if not isinstance(self.val, Tensor):
            return self.val
        if self.val._version != self.version and not may_differ:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated; pass allow_cache_entry_mutation=True to "
                "take it as it is now."
            )
        return self.val.detach()


class _Policed(TorchDispatchMode):
    """A mode that asks the policy."""

    is_recompute = False

    def __init__(self, policy_fn: Callable[..., Any], storage: dict[Any, list[Any]]) -> None:
        self.policy_fn, self.storage = policy_fn, storage

    def saves(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the results of this call are kept."""
        if getattr(func, "kind", "") == "view" and str(func).startswith("aten.detach"):
            return False
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=self.is_recompute), func, *args, **kwargs)
        return policy if isinstance(policy, bool) else policy in _SAVED


class _CachingTorchDispatchMode(_Policed):
    """Open during the call itself: keeps results."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if self.saves(func, args, kwargs or {}):
            kept = pytree.map_leaves(_Kept, out) if isinstance(out, (tuple, list)) else _Kept(out)
            self.storage.setdefault(func, []).append(kept)
        return out


class _CachedTorchDispatchMode(_Policed):
    """Open while the call is made again: gives back what was kept, in order."""

    is_recompute = True

    def __init__(self, policy_fn: Callable[..., Any], storage: dict[Any, list[Any]], may_differ: bool) -> None:
        super().__init__(policy_fn, storage)
        self.may_differ = may_differ

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.saves(func, args, kwargs or {}):
            return func(*args, **(kwargs or {}))
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        if not self.storage[func]:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        kept = self.storage[func].pop(0)
        if isinstance(kept, _Kept):
            return kept.taken(self.may_differ)
        return pytree.map_leaves(lambda k: k.taken(self.may_differ), kept)


def _of_list(ops: list[Any]) -> Callable[..., CheckpointPolicy]:
    for op in ops:
        if isinstance(op, OpOverloadPacket):
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got the packet {op}: please update the OpOverloadPacket to a "
                f"specific OpOverload, as {op}.default"
            )
        if not isinstance(op, OpOverload):
            raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}.")
    return lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE if op in ops else CheckpointPolicy.PREFER_RECOMPUTE


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[_CachingTorchDispatchMode, _CachedTorchDispatchMode]:
    """The two contexts for `checkpoint(..., context_fn=)`: of the call itself and of the one in backward.

    policy_fn_or_list: `policy(ctx, op, *args, **kwargs)` gives a CheckpointPolicy, or whether to keep the results; or a list of
    the ops whose results are kept. Raises TypeError for anything else, ValueError for a list of other things.
    """
    if isinstance(policy_fn_or_list, list):
        policy = _of_list(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, list[Any]] = {}
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(policy, storage, allow_cache_entry_mutation)
