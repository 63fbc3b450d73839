"""Sobol sequences: points that fill the unit cube more evenly than random ones (Sobol 1967)."""

from __future__ import annotations

from typing import Any

import numpy as np

import aten
from aten import Tensor


def direction_numbers(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """(polynomials, first numbers of each) of the dimensions behind each other, chosen by criterion D(6) of Joe and Kuo (2008).

    They are a table of some 10^5 numbers, which SciPy carries as a file. Raises ImportError without SciPy.
    """
    from importlib import resources

    try:
        table = resources.files("scipy").joinpath("stats", "_sobol_direction_numbers.npz")
        with table.open("rb") as file, np.load(file) as numbers:
            return numbers["poly"][:dimension].astype(np.int64), numbers["vinit"][:dimension].astype(np.int64)
    except (ImportError, FileNotFoundError):
        raise ImportError("SobolEngine reads SciPy's direction numbers; SciPy is missing: pip install scipy") from None


def _directions(dimension: int, bits: int) -> np.ndarray:
    """int64[dimension, bits]: what the k-th bit of the Gray code adds, scaled by 2**bits (Bratley and Fox 1988)."""
    polynomials, first = direction_numbers(dimension)
    v = np.zeros((dimension, bits), np.int64)
    v[0] = 1
    for d in range(1, dimension):
        polynomial = int(polynomials[d])
        degree = polynomial.bit_length() - 1
        row = [int(m) for m in first[d, :degree]]
        for j in range(degree, bits):
            new = row[j - degree]
            for k in range(1, degree + 1):
                if polynomial >> (degree - k) & 1:
                    new ^= row[j - k] << k
            row.append(new)
        v[d] = row[:bits]
    return v << np.arange(bits - 1, -1, -1)


def _scrambled(v: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Each number's bits, the highest first, times a unit lower triangular matrix of its dimension, modulo 2 (Owen 1998)."""
    bits = v.shape[1]
    places = np.arange(bits - 1, -1, -1)
    digits = v[:, :, None] >> places & 1
    return np.asarray((np.einsum("dik,djk->dji", lower, digits) % 2 << places).sum(-1))


class SobolEngine:
    """Draws the points of a (scrambled) Sobol sequence of `dimension` dims, each behind the last.

    scramble: a random shift and a random linear scramble of the digits, by `seed` if it is given. Raises ValueError for a
    dimension outside [1, MAXDIM], ImportError without SciPy, whose table of direction numbers is read.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        state = _directions(dimension, self.MAXBIT)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            generator = None if seed is None else aten.Generator().manual_seed(seed)
            digits = aten.randint(2, (dimension, self.MAXBIT), generator=generator).numpy()
            shift = (digits << np.arange(self.MAXBIT)).sum(1)
            lower = np.tril(aten.randint(2, (dimension, self.MAXBIT, self.MAXBIT), generator=generator).numpy(), -1)
            state = _scrambled(state, lower + np.eye(self.MAXBIT, dtype=np.int64))
        self.sobolstate = aten.from_numpy(state)
        self.shift = aten.from_numpy(shift)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points: (n, dimension), of `dtype` or the default one; written to `out` if it is given."""
        dtype = aten.get_default_dtype() if dtype is None else dtype
        result = (self._next(n) * 2.0**-self.MAXBIT).to(dtype)
        if out is None:
            return result
        return out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2**m points. Raises ValueError unless the points drawn are then a power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again at the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out `n` points."""
        self._next(n)
        return self

    def _next(self, n: int) -> Tensor:
        """The next `n` points times 2**MAXBIT: each differs from the last by the number of the lowest 0 bit of its index."""
        begin = self.num_generated
        turned = [(~i & i + 1).bit_length() - 1 for i in range(max(begin - 1, 0), begin + n - 1)]
        steps = np.concatenate([self.quasi.numpy()[None], self.sobolstate.numpy()[:, turned].T])
        points = np.bitwise_xor.accumulate(steps, axis=0)
        self.quasi = aten.from_numpy(points[-1].copy())
        self.num_generated += n
        return aten.from_numpy(points if begin == 0 else points[1:])[:n]

    def __repr__(self) -> str:
        more = [f"dimension={self.dimension}"] + (["scramble=True"] if self.scramble else [])
        return f"SobolEngine({', '.join(more + ([] if self.seed is None else [f'seed={self.seed}']))})"
