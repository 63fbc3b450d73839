"""Jacobians of a function: by finite differences, row by row by backward, column by column by forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aten import _native, overrides
from aten._native import Tensor
from aten.autograd.engine import grad
from aten.autograd.grad_mode import no_grad
from aten.autograd.sparse_inputs import is_sparse


class GradcheckError(RuntimeError):
    """A derivative disagrees with finite differences, or misbehaves otherwise."""


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def is_number_tensor(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.dtype.is_floating_point or x.dtype.is_complex)


def outputs_of(fn: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Tensor, ...]:
    found = tuple(r for r in as_tuple(fn(*inputs)) if isinstance(r, Tensor))
    if any(map(is_sparse, found)):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for "
            "gradcheck."
        )
    return found


def array(x: Tensor) -> np.ndarray:
    if not _has_memory(x):
        places = np.ndindex(tuple(x.shape))
        return np.array([x.detach()[place].item() for place in places], x.dtype.to_numpy()).reshape(tuple(x.shape))
    return np.array(x.detach().numpy(force=True))


def _has_memory(x: Tensor) -> bool:
    return not overrides.kind_of(type(x)) & overrides.DISPATCH


def _write(x: Tensor, values: np.ndarray) -> None:
    """Put values into an input, behind the back of autograd."""
    if _has_memory(x):
        x.detach().numpy(force=True)[...] = values
    else:
        with no_grad():
            x.detach().copy_(to_tensor(values, x))


def to_tensor(a: np.ndarray, like: Tensor) -> Tensor:
    return _native.from_numpy(np.ascontiguousarray(a.astype(like.dtype.to_numpy()))).reshape(tuple(like.shape))


def _check_alike(befores: list[np.ndarray], afters: list[np.ndarray]) -> None:
    """Raises AssertionError where a function's outputs are others when its inputs have moved a little."""
    for before, after in zip(befores, afters):
        for what in ("shape", "dtype"):
            one, other = getattr(before, what), getattr(after, what)
            if one != other:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed on one side, but got: {one} "
                    f"and {other}"
                )


def unit(generator: np.random.Generator, like: Tensor) -> np.ndarray:
    """A random vector of length 1 of the sizes of a tensor, complex for complex ones."""
    sizes = tuple(like.shape)
    vector = generator.standard_normal(sizes)
    if like.dtype.is_complex:
        vector = vector + 1j * generator.standard_normal(sizes)
    return vector / max(float(np.linalg.norm(vector)), 1e-300)


class Jacobians:
    """Those of `fn` at `inputs`; eps: how far differences go, nondet_tol: how much two walks may differ."""

    def __init__(self, fn: Callable[..., Any], inputs: tuple[Any, ...], eps: float, nondet_tol: float):
        self.fn, self.inputs, self.eps, self.nondet_tol = fn, inputs, eps, nondet_tol
        self.wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self.outputs = outputs_of(fn, inputs)
        self.chosen = [i for i, o in enumerate(self.outputs) if o.requires_grad]

    # ---- numerical
    def column(self, which: int, place: tuple[int, ...], along: complex) -> list[np.ndarray]:
        """The derivatives of all outputs by one element, by central differences."""
        x = self.inputs[which]
        kept, results = array(x), []
        for step in (self.eps, -self.eps):
            moved = kept.copy()
            moved[place] += step * along
            _write(x, moved)
            results.append([array(o) for o in outputs_of(self.fn, self.inputs)])
        _write(x, kept)
        _check_alike(*results)
        return [(a - b) / (2 * self.eps) for a, b in zip(*results)]

    def numerical(self, which: int) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """For each output (derivative along real parts, along imaginary parts or None): sizes (elements of the input, *output)."""
        x = self.inputs[which]
        places = list(np.ndindex(tuple(x.shape)))

        def stacked(along: complex) -> list[np.ndarray]:
            columns = [self.column(which, p, along) for p in places]
            return [
                np.stack([c[k] for c in columns]) if columns else np.zeros((0, *o.shape), o.dtype.to_numpy())
                for k, o in enumerate(self.outputs)
            ]

        real = stacked(1)
        imaginary = stacked(1j) if x.dtype.is_complex else [None] * len(real)
        return list(zip(real, imaginary))

    # ---- analytical
    def rows(self, k: int) -> list[np.ndarray]:
        """For each wanted input, the gradients of every element of output k: sizes (elements, [parts], *input)."""
        out = self.outputs[k]
        parts = (1, 1j) if out.dtype.is_complex else (1,)
        found: list[list[list[np.ndarray]]] = [[] for _ in self.wanted]
        for place in np.ndindex(tuple(out.shape)):
            of_place = [self._pull(k, place, part) for part in parts]
            for row, values in zip(found, zip(*of_place)):
                row.append(list(values))
        return [np.array(row) if row else np.zeros((0, len(parts), *self.inputs[i].shape)) for row, i in zip(found, self.wanted)]

    def _pull(self, k: int, place: tuple[int, ...], part: complex) -> list[np.ndarray]:
        out = self.outputs[k]
        seed = np.zeros(tuple(out.shape), out.dtype.to_numpy())
        seed[place] = part
        xs = [self.inputs[i] for i in self.wanted]
        pulled = []
        for _ in range(2):
            gs = grad(out, xs, to_tensor(seed, out), retain_graph=True, allow_unused=True)
            for x, g in zip(xs, gs):
                if g is not None and tuple(g.shape) != tuple(x.shape):
                    raise GradcheckError("Analytical gradient has incorrect size")
            pulled.append([np.zeros(tuple(x.shape), x.dtype.to_numpy()) if g is None else array(g) for x, g in zip(xs, gs)])
        for a, b in zip(*pulled):
            if a.size and not np.max(np.abs(a - b)) <= self.nondet_tol and not np.array_equal(a, b, equal_nan=True):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    "different "
                    f"values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was "
                    f"{self.nondet_tol}."
                )
        return pulled[0]

    def along(self, which: int, u: np.ndarray) -> list[np.ndarray]:
        x = self.inputs[which]
        kept, results = array(x), []
        for step in (self.eps, -self.eps):
            _write(x, kept + step * u)
            results.append([array(o) for o in outputs_of(self.fn, self.inputs)])
        _write(x, kept)
        _check_alike(*results)
        return [(a - b) / (2 * self.eps) for a, b in zip(*results)]

    # ---- forward mode
    def push(self, which: int, tangent: np.ndarray) -> list[np.ndarray]:
        """Tangents of all outputs for a tangent of one input."""
        from aten.autograd import forward_ad  # forward mode needs transforms, which are above this package

        with forward_ad.dual_level():
            args = list(self.inputs)
            x = args[which]
            args[which] = forward_ad.make_dual(x.detach(), to_tensor(tangent, x))
            results = []
            for out in outputs_of(self.fn, args):
                primal, found = forward_ad.unpack_dual(out)
                if found is not None and found.dtype is not primal.dtype:
                    raise GradcheckError("Forward AD gradient has dtype mismatch.")
                results.append(np.zeros(tuple(primal.shape), primal.dtype.to_numpy()) if found is None else array(found))
            return results

    def tangents(self, which: int, tangent: Tensor, zeros: bool) -> tuple[Tensor | None, ...]:
        """Tangents of all outputs, as tensors; zeros: the other wanted inputs have tangents too, which are zero."""
        from aten.autograd import forward_ad  # as above

        with forward_ad.dual_level():
            args = list(self.inputs)
            for i in self.wanted:
                given = tangent if i == which else args[i].detach().new_zeros(tuple(args[i].shape)) if zeros else None
                args[i] = args[i].detach() if given is None else forward_ad.make_dual(args[i].detach(), given)
            return tuple(forward_ad.unpack_dual(out).tangent for out in outputs_of(self.fn, args))
