"""Jacobians and Hessians, by mapping vjp and jvp over a basis."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from aten import pytree
from aten.op import registry
from aten.transforms.batching import vmap
from aten.transforms.forward_mode import jvp
from aten.transforms.reverse_mode import vjp
from aten.transforms.tracer import made_by


def _basis(leaves: list[Any]) -> list[Any]:
    """For each leaf a stack of one-hot tensors: together the basis of all leaves' elements."""
    total = sum(leaf.numel() for leaf in leaves)
    found, start = [], 0
    for leaf in leaves:
        n = leaf.numel()
        eye = registry["eye"](n, dtype=leaf.dtype, device=leaf.device)
        parts = [registry["zeros"]([start, n], dtype=leaf.dtype, device=leaf.device), eye]
        parts.append(registry["zeros"]([total - start - n, n], dtype=leaf.dtype, device=leaf.device))
        found.append(registry["cat"](parts, 0).reshape([total, *leaf.shape]))
        start += n
    return found


def _chosen(args: tuple, argnums: int | tuple[int, ...]) -> tuple[list[int], bool]:
    single = isinstance(argnums, int)
    if not single and not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    indices: Any = [argnums] if single else argnums
    if not indices:
        raise RuntimeError(f"argnums must be non-empty, got argnums={argnums}")
    for i in indices:
        if not isinstance(i, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got a {type(i)} in it")
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
    chosen = [i + len(args) if i < 0 else i for i in indices]
    if len(set(chosen)) != len(chosen):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return chosen, single


def _of(func: Callable, args: tuple, indices: list[int], kwargs: dict) -> Callable:
    def of(*chosen: Any) -> Any:
        full = list(args)
        for i, value in zip(indices, chosen):
            full[i] = value
        return func(*full, **kwargs)

    return of


def _split(columns: Any, leaves: list[Any], rest: Callable[[Any, Any], list[Any]]) -> list[Any]:
    """Cut the first dimension of `columns` into one part a leaf, and give each the sizes rest(part, leaf)."""
    found, start = [], 0
    for leaf in leaves:
        n = math.prod(leaf.shape)
        part = columns.narrow(0, start, n)
        found.append(part.reshape(rest(part, leaf)))
        start += n
    return found


def jacrev(
    func: Callable,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """A function that returns the Jacobian of func: for each output (nested as they are) and chosen argument a tensor
    of sizes (*output, *argument). Reverse mode: one vjp for each element of the outputs, chunk_size at a time (None: all).

    Raises RuntimeError where `argnums` names no argument, or one twice; ValueError for a chunk_size below 1.
    _preallocate_and_copy, a way of PyTorch's to save memory, changes nothing.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        indices, single = _chosen(args, argnums)
        out, vjp_fn, *aux = vjp(_of(func, args, indices, kwargs), *[args[i] for i in indices], has_aux=has_aux)
        outputs, out_spec = pytree.flatten(out)
        pull = lambda *basis: vjp_fn(pytree.unflatten(list(basis), out_spec))
        rows = vmap(pull, chunk_size=chunk_size)(*_basis(outputs))  # a tuple by argument, each (total, *argument)
        leaves, spec = pytree.flatten(rows)
        by_output: list[list[Any]] = [[] for _ in outputs]
        for leaf in leaves:
            for i, part in enumerate(_split(leaf, outputs, lambda p, o: [*o.shape, *p.shape[1:]])):
                by_output[i].append(part)
        nested = [pytree.unflatten(parts, spec) for parts in by_output]
        result = pytree.unflatten([n[0] if single else n for n in nested], out_spec)
        return (result, aux[0]) if has_aux else result

    return made_by(jacrev, wrapper, argnums=argnums, has_aux=has_aux, chunk_size=chunk_size)


def jacfwd(
    func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable:
    """As `jacrev`, by forward mode: one jvp for each element of the arguments."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        indices, single = _chosen(args, argnums)
        primals = tuple(args[i] for i in indices)
        leaves, spec = pytree.flatten(primals)
        of = _of(func, args, indices, kwargs)

        def push(*basis: Any) -> Any:
            return jvp(of, primals, pytree.unflatten(list(basis), spec), has_aux=has_aux)[1:]

        tangents, *aux = vmap(push, randomness=randomness, out_dims=(0, None) if has_aux else 0)(*_basis(leaves))
        columns, out_spec = pytree.flatten(tangents)
        results = []
        for column in columns:
            parts = _split(column, leaves, lambda p, x: [*x.shape, *p.shape[1:]])
            moved = [
                p.movedim(list(range(x.ndim)), list(range(p.ndim - x.ndim, p.ndim))) for p, x in zip(parts, leaves)
            ]
            nested = pytree.unflatten(moved, spec)
            results.append(nested[0] if single else nested)
        result = pytree.unflatten(results, out_spec)
        return (result, aux[0]) if has_aux else result

    return made_by(jacfwd, wrapper, argnums=argnums, has_aux=has_aux, randomness=randomness)


def hessian(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """A function that returns the matrix of second derivatives: jacfwd of jacrev."""
    return jacfwd(jacrev(func, argnums), argnums)
