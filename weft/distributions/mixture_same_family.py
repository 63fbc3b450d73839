"""MixtureSameFamily(mixture, components)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.categorical import Categorical
from weft.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of several components of a family, chosen by a Categorical; they are the last dim of the components' batch."""

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        batch, mixed = component_distribution.batch_shape[:-1], mixture_distribution.batch_shape
        for a, b in zip(reversed(mixed), reversed(batch)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        k = mixture_distribution.logits.shape[-1]
        if component_distribution.batch_shape[-1] != k:
            raise ValueError(
                f"`mixture_distribution component` ({k}) does not equal `component_distribution.batch_shape[-1]` "
                f"({component_distribution.batch_shape[-1]})"
            )
        self._mixture_distribution, self._component_distribution, self._num_component = (
            mixture_distribution,
            component_distribution,
            k,
        )
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, new._component_distribution.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self) -> Tensor:
        probs = self._mixture_distribution.probs
        return probs.reshape((*probs.shape, *[1] * self._event_ndims))

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        dim = -1 - self._event_ndims
        inside = (self._weights() * self._component_distribution.variance).sum(dim)
        between = (self._weights() * (self._component_distribution.mean - self.mean.unsqueeze(dim)).pow(2.0)).sum(dim)
        return inside + between

    def cdf(self, x: Tensor) -> Tensor:
        found = self._component_distribution.cdf(x.unsqueeze(-1 - self._event_ndims))
        return (found * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self._component_distribution.log_prob(x.unsqueeze(-1 - self._event_ndims))
        return aten.logsumexp(log_prob + aten.log_softmax(self._mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with aten.no_grad():
            dim = len(sample_shape) + len(self._batch_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            places = chosen.reshape((*chosen.shape, *[1] * (self._event_ndims + 1)))
            places = places.expand((*chosen.shape, 1, *self._event_shape))
            return drawn.gather(dim, places).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution!r},\n  {self._component_distribution!r})"
