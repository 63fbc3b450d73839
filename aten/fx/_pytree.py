"""Structures taken apart as a known one is: each kind says how, for a value and the structure that it should have."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

SUPPORTED_NODES: dict[type, Callable] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[type, Callable | None] = {}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Callable, flatten_fn_exact_match_spec: Callable | None = None) -> None:
    """flatten_fn_spec(value, spec): the children, in the order of `spec`; the other: whether a value has just these."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(pytree: Any, spec: Any, exact_structural_match: bool = False) -> list[Any]:
    """The leaves of a value in the order of `spec`. RuntimeError for kinds that are not registered, and values that differ."""
    if spec.is_leaf():
        return [pytree]
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec."
        )
    children = SUPPORTED_NODES[spec.type](pytree, spec)
    exact = SUPPORTED_NODES_EXACT_MATCH[spec.type] if exact_structural_match else None
    if exact is not None and not exact(pytree, spec):
        raise RuntimeError(f"Cannot flatten pytree {pytree}, given spec: {spec}")
    pairs = zip(children, spec.children_specs)
    return [leaf for child, its in pairs for leaf in tree_flatten_spec(child, its, exact_structural_match)]


def _same_length(value: Any, spec: Any) -> bool:
    return len(value) == spec.num_children


def _in_order(value: Any, spec: Any) -> list[Any]:
    return [value[i] for i in range(spec.num_children)]


register_pytree_flatten_spec(dict, lambda value, spec: [value[key] for key in spec.context], _same_length)
register_pytree_flatten_spec(list, _in_order, _same_length)
register_pytree_flatten_spec(tuple, _in_order, _same_length)
register_pytree_flatten_spec(namedtuple, _in_order, _same_length)  # type: ignore[arg-type]
