"""VonMises(loc, concentration)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["VonMises"]


class VonMises(Distribution):
    """A normal distribution of angles, in [-pi, pi]."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    params = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - aten.special_i1e(self.concentration) / aten.special_i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        log_i0 = aten.log(aten.special_i0e(self.concentration)) + self.concentration
        return self.concentration * aten.cos(value - self.loc) - math.log(2 * math.pi) - log_i0

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher 1979), in double precision."""
        shape = self._extended_shape(sample_shape)
        with aten.no_grad():
            loc, kappa = self.loc.double().expand(shape), self.concentration.double().expand(shape)
            tau = 1 + (1 + 4 * kappa**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = aten.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
            x, done = aten.zeros_like(loc), aten.zeros_like(loc, dtype=aten.bool)
            while not bool(done.all()):
                u = aten.rand((3, *shape), dtype=aten.float64, device=loc.device)
                z = aten.cos(math.pi * u[0])
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - u[1] > 0) | ((c / u[1]).log() + 1 - c >= 0)
                x = aten.where(accept & ~done, (u[2] - 0.5).sign() * f.clamp(-1, 1).acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
