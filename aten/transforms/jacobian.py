"""Jacobians and Hessians, by mapping vjp and jvp over a basis."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from aten import pytree
from aten._native import Tensor
from aten.op import registry
from aten.scalar.unpatched import math
from aten.transforms.argnums import chosen_places
from aten.transforms.batching import vmap
from aten.transforms.forward_mode import jvp_of_chosen
from aten.transforms.reverse_mode import vjp_of_chosen
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


def _check_real(which: str, kind: str, leaves: list[Any]) -> None:
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and leaf.is_complex():
            raise RuntimeError(f"{which}: Expected all {kind} to be real but received complex tensor at flattened input idx: {i}")


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
        places = chosen_places(argnums, args)
        _check_real("jacrev", "inputs", pytree.flatten([args[i] for i in places])[0])
        out, vjp_fn, *aux = vjp_of_chosen(func, args, places, kwargs, has_aux)
        outputs, out_spec = pytree.flatten(out)
        _check_real("jacrev", "outputs", outputs)
        pull = lambda *basis: vjp_fn(pytree.unflatten(list(basis), out_spec))
        rows = _rows(pull, _basis(outputs), chunk_size)  # a tuple by argument, each (total, *argument)
        leaves, spec = pytree.flatten(rows)
        by_output: list[list[Any]] = [[] for _ in outputs]
        for leaf in leaves:
            for i, part in enumerate(_split(leaf, outputs, lambda p, o: [*o.shape, *p.shape[1:]])):
                by_output[i].append(part)
        nested = [pytree.unflatten(parts, spec) for parts in by_output]
        single = isinstance(argnums, int)
        result = pytree.unflatten([n[0] if single else n for n in nested], out_spec)
        return (result, aux[0]) if has_aux else result

    return made_by(jacrev, wrapper, argnums=argnums, has_aux=has_aux, chunk_size=chunk_size)


def _rows(pull: Callable, basis: list[Any], chunk_size: int | None) -> Any:
    """The results of `pull` for each element of the basis, stacked; chunk_size=1 maps nothing, so that any code may run."""
    if chunk_size != 1 or not basis[0].shape[0]:
        return vmap(pull, chunk_size=chunk_size)(*basis)
    found = [pytree.flatten(pull(*[b[i] for b in basis])) for i in range(basis[0].shape[0])]
    return pytree.unflatten([registry["stack"](list(column)) for column in zip(*[leaves for leaves, _ in found])], found[0][1])


def jacfwd(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """As `jacrev`, by forward mode: one jvp for each element of the arguments."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        places, single = chosen_places(argnums, args), isinstance(argnums, int)
        primals = tuple(args[i] for i in places)
        leaves, spec = pytree.flatten(primals)
        _check_real("jacfwd", "inputs", leaves)

        def push(*basis: Any) -> Any:
            return jvp_of_chosen(func, args, places, kwargs, pytree.unflatten(list(basis), spec), False, has_aux)[1:]

        tangents, *aux = vmap(push, randomness=randomness, out_dims=(0, None) if has_aux else 0)(*_basis(leaves))
        columns, out_spec = pytree.flatten(tangents)
        _check_real("jacfwd", "outputs", columns)
        results = []
        for column in columns:
            parts = _split(column, leaves, lambda p, x: [*x.shape, *p.shape[1:]])
            moved = [p.movedim(list(range(x.ndim)), list(range(p.ndim - x.ndim, p.ndim))) for p, x in zip(parts, leaves)]
            nested = pytree.unflatten(moved, spec)
            results.append(nested[0] if single else nested)
        result = pytree.unflatten(results, out_spec)
        return (result, aux[0]) if has_aux else result

    return made_by(jacfwd, wrapper, argnums=argnums, has_aux=has_aux, randomness=randomness)


def hessian(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """A function that returns the matrix of second derivatives: jacfwd of jacrev."""
    return jacfwd(jacrev(func, argnums), argnums)
