"""The matrix exponential."""

import numpy as np

from aten.meta import Meta
from aten.op import op, ops, registry
from aten.ops.linalg import adjoint, check_matrix
from aten.scalar.unpatched import math


@op("matrix_exp(Tensor input) -> Tensor", tags=["library"])
def matrix_exp(input: Meta) -> Meta:
    """The matrix exponential: Taylor series of a matrix scaled down, squared back."""
    check_matrix("linalg.matrix_exp", input, square=True)
    return input.like(sizes=input.sizes)


@matrix_exp.kernel
def _(out, a):
    a = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    size = np.abs(a).sum(-1).max(-1, initial=0.0) if a.size else np.zeros(a.shape[:-2])
    largest = size.max(initial=0.0)
    # Up to this norm 18 terms are exact to float64 (Bader, Blanes, Casas: Computing the matrix exponential, 2019, table 1).
    times = int(max(0, np.ceil(np.log2(max(largest, 1e-300) / 1.09)))) if np.isfinite(largest) else 0
    total = _taylor(a / 2.0**times)
    for _ in range(times):
        total = total @ total
    out[...] = total


def _taylor(a: np.ndarray) -> np.ndarray:
    """The sum of a^k / k! for k <= 18 by seven products: polynomials of degree 5 in a are the coefficients of one in a^6
    (Paterson, Stockmeyer)."""
    one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    two = a @ a
    three = two @ a
    six = three @ three
    powers = [one, a, two, three, two @ two, three @ two]
    blocks = [sum(power / math.factorial(first + k) for k, power in enumerate(powers)) for first in (0, 6, 12)]
    total = blocks[2] + six / math.factorial(18)
    for block in (blocks[1], blocks[0]):
        total = total @ six + block
    return total


@matrix_exp.vjp
def _(g, input):
    """The upper right block of exp([[A^H, g], [0, A^H]])."""
    n = input.shape[-1]
    a = adjoint(input)
    top = ops.cat([a, g], -1)
    bottom = ops.cat([ops.zeros_like(a), a], -1)
    block = matrix_exp(ops.cat([top, bottom], -2))
    return ops.narrow(ops.narrow(block, -2, 0, n), -1, n, n)


registry["linalg_matrix_exp"] = matrix_exp
