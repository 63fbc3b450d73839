"""Indices drawn with the probabilities of rows."""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import composite, op
from aten.ops.random import reserve, uniform_array
from aten.promotion import TYPE_NAMES, category
from aten.shapes import product


@op(
    "multinomial_philox(Tensor input, int num_samples, bool replacement, int seed, int offset) -> Tensor",
    tags=["random", "library", "function_only", "raises"],
)
def multinomial_philox(input: Meta, num_samples: int, replacement: bool, seed: Any, offset: Any) -> Meta:
    """Indices drawn with the probabilities of each row: by inverting the sums, or without replacement by racing
    exponentials, in which those of probability 0 come last, in their order.
    """
    return input.like(sizes=(*input.sizes[:-1], num_samples), dtype=dtypes.int64)


@multinomial_philox.kernel
def _(out, p, num_samples, replacement, seed, offset):
    p = p.astype(np.float64)
    if not np.isfinite(p).all() or (p < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (p.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement:
        sums = np.cumsum(p, -1)
        u = uniform_array(out.shape, seed, offset) * sums[..., -1:]
        rows, draws, result = sums.reshape(-1, p.shape[-1]), u.reshape(-1, num_samples), out.reshape(-1, num_samples)
        for i in range(rows.shape[0]):
            result[i] = np.minimum(np.searchsorted(rows[i], draws[i], "right"), p.shape[-1] - 1)
        return
    race = np.where(p > 0, -np.log1p(-uniform_array(p.shape, seed, offset)) / np.where(p > 0, p, 1), np.inf)
    out[...] = np.argsort(race, -1, kind="stable")[..., :num_samples]


@composite(
    "multinomial(Tensor input, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
    tags=["random"],
)
def multinomial(input, num_samples, replacement, generator):
    """num_samples indices for each row, drawn with its probabilities (they need not sum to 1)."""
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if category(input.dtype) < 2:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {TYPE_NAMES[input.dtype.name]}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    drawn = product([*input.shape[:-1], num_samples]) if replacement else product(input.shape)
    seed, offset = reserve(drawn, generator)
    return multinomial_philox(input, num_samples, replacement, seed, offset)
