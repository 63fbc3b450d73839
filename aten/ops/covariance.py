"""Covariances of variables whose observations are the columns of a matrix."""

from __future__ import annotations

from typing import Any

from aten.fx.targets import holds
from aten.op import composite, ops
from aten.ops.closed import floating_of
from aten.promotion import TYPE_NAMES, category


def _check_rows(name: str, input: Any) -> None:
    if input.ndim > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )


def _check_weights(name: str, weights: Any, count: Any) -> None:
    """Raises RuntimeError for what cannot be weights of so many observations."""
    if weights.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions")
    kinds, wanted = ((2, 3), "floating point") if name == "aweights" else ((1,), "integral")
    if category(weights.dtype) not in kinds or weights.dtype.is_complex:
        given = TYPE_NAMES[weights.dtype.name]
        raise RuntimeError(f"cov(): expected {name} to have {wanted} dtype but got {name} with {given} dtype")
    if bool(weights.numel() != count):
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got {weights.numel()} != "
            f"{count}"
        )
    if weights.numel() and not weights.is_meta and not holds(weights.amin() >= 0):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite("cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor")
def cov(input, correction, fweights, aweights):
    """The covariances of rows."""
    _check_rows("cov", input)
    x = input if input.ndim == 2 else input.reshape([1, -1])
    x = floating_of(x)
    w = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            _check_weights(name, weights, x.shape[1])
            w = weights if w is None else w * weights
    n = x.shape[1]
    total = n if w is None else ops.sum(w)
    mean = ops.mean(x, [1], True) if w is None else ops.sum(x * w, [1], True) / total
    if w is not None and aweights is not None and correction:
        below = total - correction * ops.sum(w * aweights) / total
    else:
        below = total - correction
    centred = x - mean
    weighted = centred if w is None else centred * w
    below = max(below, 0) if not hasattr(below, "dtype") else below.clamp(min=0)
    result = (weighted @ (ops.conj_physical(centred) if x.dtype.is_complex else centred).t()) / below
    return result.squeeze([0, 1])


@composite("corrcoef(Tensor input) -> Tensor")
def corrcoef(input):
    """The correlations of rows."""
    _check_rows("corrcoef", input)
    c = cov(input)
    if c.ndim == 0:
        return c / c
    d = ops.diagonal(c, 0, 0, 1).sqrt()
    found = c / d.unsqueeze(1) / d.unsqueeze(0)
    if found.dtype.is_complex:
        return ops.complex(ops.real(found).clamp(-1, 1), ops.imag(found).clamp(-1, 1))
    return found.clamp(-1, 1)
