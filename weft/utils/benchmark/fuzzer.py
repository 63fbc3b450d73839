"""Fuzzer: random sizes, layouts and tensors to measure with."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import aten
from aten import Tensor
from aten import dtype as dtypes

__all__ = ["FuzzedParameter", "FuzzedSparseTensor", "FuzzedTensor", "Fuzzer", "ParameterAlias"]
_ATTEMPTS = 1000  # draws that may be refused, one after the other


class ParameterAlias:
    """In a distribution: the value of another parameter."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number between minval and maxval, "uniform" or "loguniform", or one of the keys of {value: probability}.

    strict: a value that is an alias counts as a draw of its own. Raises ValueError for limits or probabilities that are none.
    """

    def __init__(
        self, name: str, minval: float | None = None, maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None, strict: bool = False,
    ) -> None:  # fmt: skip
        self._name, self.name, self.strict = name, name, strict
        self._limits: Any = minval, maxval
        if distribution is None:
            raise ValueError(f"FuzzedParameter {name}: distribution must be 'uniform', 'loguniform' or a dict")
        if isinstance(distribution, dict):
            if abs(math.fsum(distribution.values()) - 1) > 1e-6 or min(distribution.values()) < 0:
                raise AssertionError("Distribution is not normalized")
        elif distribution not in ("uniform", "loguniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")
        elif minval is None or maxval is None or minval > maxval or (distribution == "loguniform" and minval <= 0):
            raise AssertionError(f"FuzzedParameter {name}: minval and maxval do not bound a {distribution} distribution")
        self._distribution = distribution

    def sample(self, state: np.random.RandomState) -> Any:
        """A value, which may be a ParameterAlias."""
        if isinstance(self._distribution, dict):
            keys = list(self._distribution)
            return keys[state.choice(len(keys), p=list(self._distribution.values()))]
        low, high = self._limits
        whole = isinstance(low, int) and isinstance(high, int)
        if self._distribution == "uniform":
            return int(state.randint(low, high + 1)) if whole else state.uniform(low, high)
        value = float(np.exp(state.uniform(math.log(low), math.log(high))))
        return min(max(round(value), low), high) if whole else value


class FuzzedTensor:
    """A tensor whose sizes and steps are numbers or names of parameters; its dims are laid out in random order.

    dim_parameter: the name of the parameter that says how many of the sizes count. tensor_constructor(size, dtype, **parameters)
    makes it; by default uniform numbers.
    """

    def __init__(
        self, name: str, size: tuple[str | int, ...], steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5, min_elements: int | None = None, max_elements: int | None = None,
        max_allocation_bytes: int | None = None, dim_parameter: str | None = None, roll_parameter: str | None = None,
        dtype: Any = dtypes.float32, cuda: bool = False, tensor_constructor: Callable | None = None,
    ) -> None:  # fmt: skip
        self._name, self.name, self._size, self._steps = name, name, size, steps
        self._probability_contiguous = probability_contiguous
        self._dim_parameter, self._roll_parameter = dim_parameter, roll_parameter
        self._limits = min_elements or 0, max_elements or math.inf, max_allocation_bytes or math.inf
        self._dtype, self._cuda, self._constructor = dtype, cuda, tensor_constructor

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: Any, **kwargs: Any) -> Tensor:
        """Uniform numbers; integers below 127, or of 0 and 1."""
        if dtype.is_floating_point or dtype.is_complex:
            return aten.rand(size, dtype=dtype)
        return aten.randint(1 if dtype is dtypes.bool else 127, size).to(dtype=dtype)

    def _resolved(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """(sizes, steps, sizes of the memory)"""
        dims = params[self._dim_parameter] if self._dim_parameter else len(self._size)
        size = tuple(params.get(s, s) for s in self._size)[:dims]
        steps = tuple(params.get(s, s) for s in self._steps or ())[:dims]
        steps += (1,) * (dims - len(steps))
        return size, steps, tuple(n * step for n, step in zip(size, steps))

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether it has an allowed number of elements and bytes."""
        size, _, memory = self._resolved(params)
        least, most, bytes_ = self._limits
        return least <= math.prod(size) <= most and math.prod(memory) * self._dtype.itemsize <= bytes_

    def _make_tensor(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Tensor, dict[str, Any]]:
        size, steps, memory = self._resolved(params)
        made = (self._constructor or self.default_tensor_constructor)(size=memory, dtype=self._dtype, **params)
        if self._cuda:
            made = made.cuda()
        order = np.arange(len(size))
        if len(size) > 1 and state.rand() > self._probability_contiguous:
            order = state.permutation(order)
            made = made.permute([int(i) for i in order]).contiguous().permute([int(i) for i in np.argsort(order)])
        shown = made[tuple(slice(None, n * step, step) for n, step in zip(size, steps))]
        properties = {
            "numel": shown.numel(), "shape": shown.size(), "order": order, "steps": steps, "is_contiguous": shown.is_contiguous(),
            "dtype": str(self._dtype),
        }  # fmt: skip
        return shown, properties


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse tensor of `nnz` (a name) elements: sparse_dim of its dims, with places that repeat unless `coalesced`."""

    def __init__(
        self, name: str, size: tuple[str | int, ...], min_elements: int | None = None, max_elements: int | None = None,
        dim_parameter: str | None = None, sparse_dim: str | None = None, nnz: str | None = None, density: str | None = None,
        coalesced: str | None = None, dtype: Any = dtypes.float32, cuda: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            name, size, min_elements=min_elements, max_elements=max_elements, dim_parameter=dim_parameter, dtype=dtype, cuda=cuda
        )
        self._sparse_dim, self._nnz, self._density, self._coalesced = sparse_dim, nnz, density, coalesced

    def _make_tensor(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Tensor, dict[str, Any]]:
        size, _, _ = self._resolved(params)
        dims = params.get(self._sparse_dim, 1) if self._sparse_dim else len(size)
        places = math.prod(size[:dims])
        nnz = params[self._nnz] if self._nnz else math.ceil(places * params.get(self._density, 0.1))
        at = np.stack(np.unravel_index(state.randint(0, places, nnz), size[:dims])) if nnz else np.zeros((dims, 0), np.int64)
        values = self.default_tensor_constructor((nnz, *size[dims:]), self._dtype)
        made = aten.sparse_coo_tensor(aten.tensor(at.astype(np.int64)), values, size)
        if not self._coalesced or params.get(self._coalesced, True):
            made = made.coalesce()
        made = made.cuda() if self._cuda else made
        properties = {
            "numel": made.numel(), "shape": made.size(), "is_coalesced": made.is_coalesced(), "density": nnz / max(places, 1),
            "sparsity": 1 - nnz / max(places, 1), "sparse_dim": made.sparse_dim(), "dense_dim": made.dense_dim(),
            "is_hybrid": made.dense_dim() > 0, "dtype": str(self._dtype),
        }  # fmt: skip
        return made, properties


class Fuzzer:
    """Draws parameters until every constraint (a function of them by name) and tensor takes them, and makes the tensors."""

    def __init__(
        self, parameters: list[Any], tensors: list[Any], constraints: list[Callable] | None = None, seed: int | None = None
    ) -> None:
        self._parameters, self._tensors = (
            [x for g in given for x in (g if isinstance(g, (list, tuple)) else [g])] for given in (parameters, tensors)
        )
        self._constraints = constraints or []
        names = [x.name for x in (*self._parameters, *self._tensors)]
        if repeated := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"Parameters and tensors have the same name: {sorted(repeated)}")
        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._drawn = self._refused = 0

    @property
    def rejection_rate(self) -> float:
        """The part of the draws that was refused."""
        return self._refused / self._drawn if self._drawn else 0.0

    def _draw(self, state: np.random.RandomState) -> dict[str, Any]:
        for _ in range(_ATTEMPTS):
            self._drawn += 1
            params = {p.name: p.sample(state) for p in self._parameters}
            for _ in self._parameters:
                params = {k: params[v.alias_to] if isinstance(v, ParameterAlias) else v for k, v in params.items()}
            takes = functools.partial(lambda params, c: c(**params), params)
            if all(map(takes, self._constraints)) and all(t.satisfies_constraints(params) for t in self._tensors):
                return params
            self._refused += 1
        raise ValueError(f"Fuzzer: {_ATTEMPTS} draws one after the other did not satisfy the constraints")

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, Any], dict[str, Any]]]:
        """`n` times (tensors, what they are like, parameters); the same each time it is called."""
        state = np.random.RandomState(self._seed)
        for _ in range(n):
            params = self._draw(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            yield {name: t for name, (t, _) in made.items()}, {name: p for name, (_, p) in made.items()}, params
