"""Families that are given probabilities or logits: one is a parameter, the other follows from it."""

from __future__ import annotations

from typing import Any

from weft.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits


def one_of(owner: Any, probs: Any, logits: Any, broadcast: bool = False) -> Any:
    """The one that is given, set on `owner` under its name. Raises ValueError for both or none."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    name, value = ("logits", logits) if probs is None else ("probs", probs)
    if broadcast:
        (value,) = broadcast_all(value)
    if owner is not None:
        setattr(owner, name, value)
    return value


def probabilities(is_binary: bool, clamped: bool = False) -> tuple[lazy_property, lazy_property]:
    """The attributes `probs` and `logits`, each computed from the other where it was not given."""

    def probs(self: Any) -> Any:
        found = logits_to_probs(self.logits, is_binary=is_binary)
        return clamp_probs(found) if clamped else found

    def logits(self: Any) -> Any:
        return probs_to_logits(self.probs, is_binary=is_binary)

    return lazy_property(probs), lazy_property(logits)
