"""kl_divergence, by the classes of both distributions."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import aten
from aten import Tensor
from weft.distributions.bernoulli import Bernoulli
from weft.distributions.beta import Beta
from weft.distributions.binomial import Binomial
from weft.distributions.categorical import Categorical
from weft.distributions.cauchy import Cauchy
from weft.distributions.continuous_bernoulli import ContinuousBernoulli
from weft.distributions.dirichlet import Dirichlet
from weft.distributions.distribution import Distribution
from weft.distributions.exp_family import ExponentialFamily
from weft.distributions.exponential import Exponential
from weft.distributions.gamma import Gamma
from weft.distributions.geometric import Geometric
from weft.distributions.gumbel import Gumbel
from weft.distributions.half_normal import HalfNormal
from weft.distributions.independent import Independent
from weft.distributions.laplace import Laplace
from weft.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from weft.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from weft.distributions.normal import Normal
from weft.distributions.one_hot_categorical import OneHotCategorical
from weft.distributions.pareto import Pareto
from weft.distributions.poisson import Poisson
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.uniform import Uniform
from weft.distributions.utils import _sum_rightmost, euler_constant
from weft.distributions.wishart import Wishart, multivariate_digamma

__all__ = ["kl_divergence", "register_kl"]

_REGISTRY: dict[tuple[type, type], Callable[..., Tensor]] = {}
_found: dict[tuple[type, type], Callable[..., Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """A decorator: the function gives kl_divergence(p, q) for these classes, and for their subclasses where nothing nearer does."""
    if not isinstance(type_p, type):  # any class: libraries have distributions that are not made of ours
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def register(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
        _REGISTRY[type_p, type_q] = fn
        _found.clear()
        return fn

    return register


def _dispatch(type_p: type, type_q: type) -> Callable[..., Tensor] | None:
    """The function for the nearest classes, first of p, then of q; a warning where the other order gives another."""
    matches = [(p, q) for p, q in _REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    near = lambda p, q: (type_p.__mro__.index(p), type_q.__mro__.index(q))  # noqa: E731
    left = min(matches, key=lambda m: near(*m))
    right = min(matches, key=lambda m: near(*m)[::-1])
    if _REGISTRY[left] is not _REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning, stacklevel=3,
        )  # fmt: skip
    return _REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The integral of p log(p / q), for a batch of pairs. Raises NotImplementedError where no formula is registered."""
    key = type(p), type(q)
    fn = _found.get(key) or _dispatch(*key)
    if fn is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    _found[key] = fn
    return fn(p, q)


def _infinite(like: Tensor) -> Tensor:
    return aten.full_like(like, math.inf)


def _xlogx(x: Tensor) -> Tensor:
    return aten.xlogy(x, x)


# ------------------------------------------------------------------------------------------------- of one family
@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    t1 = p.probs * (aten.softplus(-q.logits) - aten.softplus(-p.logits))
    t1 = aten.where(q.probs == 0, math.inf, t1)
    t1 = aten.where(p.probs == 0, 0.0, t1)
    t2 = (1 - p.probs) * (aten.softplus(q.logits) - aten.softplus(p.logits))
    t2 = aten.where(q.probs == 1, math.inf, t2)
    return t1 + aten.where(p.probs == 1, 0.0, t2)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    pa, pb, qa, qb = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    ps, qs = pa + pb, qa + qb
    t1 = qa.lgamma() + qb.lgamma() + ps.lgamma() - (pa.lgamma() + pb.lgamma() + qs.lgamma())
    return t1 + (pa - qa) * pa.digamma() + (pb - qb) * pb.digamma() + (qs - ps) * ps.digamma()


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return aten.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = aten.where((q.probs == 0).expand(t.shape), math.inf, t)
    return aten.where((p.probs == 0).expand(t.shape), 0.0, t).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return p.mean * (p.logits - q.logits) + p._log_constant() + aten.log1p(-p.probs) - q._log_constant() - aten.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = total_p.lgamma() - total_q.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = (p.concentration - q.concentration) * (p.concentration.digamma() - total_p.digamma().unsqueeze(-1))
    return t1 - t2 + t3.sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    p_natural = [x.detach().requires_grad_() for x in p._natural_params]
    q_natural = q._natural_params
    normalizer = p._log_normalizer(*p_natural)
    gradients = aten.autograd.grad(normalizer.sum(), p_natural, create_graph=True)
    result = q._log_normalizer(*q_natural) - normalizer
    for x, y, g in zip(p_natural, q_natural, gradients):
        result = result - _sum_rightmost((y - x) * g, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = aten.lgamma(q.concentration) - aten.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * aten.digamma(p.concentration)
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, moved, own = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    t1 = -ratio.log() - moved + own
    return t1 + ratio * euler_constant + aten.exp(moved + (1 + ratio).lgamma() - own) - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - aten.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * aten.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio, alphas = p.scale / q.scale, q.alpha / p.alpha
    found = q.alpha * ratio.log() - alphas.log() + alphas - 1
    return aten.where(p.support.lower_bound < q.support.lower_bound, math.inf, found)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    return aten.where((q.low > p.low) | (q.high < p.high), math.inf, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _scale_tril(d: Any) -> Tensor:
    return d._unbroadcasted_scale_tril if isinstance(d, MultivariateNormal) else d.scale_tril


def _multivariate(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be computed")
    n, lp, lq = p.event_shape[0], _scale_tril(p), _scale_tril(q)
    half = lambda factor: factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)  # noqa: E731
    shape = aten.broadcast_shapes(q.batch_shape, p.batch_shape)
    solved = aten.linalg_solve_triangular(lq.expand((*shape, n, n)), lp.expand((*shape, n, n)), upper=False)
    trace = solved.pow(2).sum([-1, -2])
    return half(lq) - half(lp) + 0.5 * (trace + _batch_mahalanobis(lq, q.loc - p.loc) - n)


for _first in (MultivariateNormal, LowRankMultivariateNormal):
    for _second in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_first, _second)(_multivariate)


@register_kl(Wishart, Wishart)
def _wishart(p: Any, q: Any) -> Tensor:
    n = p.event_shape[-1]
    trace = aten.cholesky_solve(p.covariance_matrix, q._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
    of_sizes = q.df * (q._log_det() - p._log_det()) + p.df / 2 * (trace - n)
    of_df = aten.mvlgamma(q.df / 2, n) - aten.mvlgamma(p.df / 2, n) + (p.df - q.df) / 2 * multivariate_digamma(p.df / 2, n)
    return of_sizes + of_df


# ---------------------------------------------------------------------------------------------- of different ones
@functools.singledispatch
def _first_parameter(p: Any) -> Tensor:
    raise TypeError(f"no parameter of {type(p).__name__} is known")


_PARAMETERS = {
    "concentration1": (Beta,),
    "probs": (ContinuousBernoulli,),
    "rate": (Exponential, Gamma, Poisson),
    "loc": (Gumbel, Laplace, Normal),
    "scale": (Pareto,),
    "low": (Uniform,),
}
for _kind, _name in [(kind, name) for name, kinds in _PARAMETERS.items() for kind in kinds]:
    _first_parameter.register(_kind)(functools.partial(lambda name, p: getattr(p, name), _name))


def _beyond(p: Any, q: Any) -> Tensor:
    """p has values where q has none."""
    return _infinite(_first_parameter(p))


_BEYOND: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform), Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}  # fmt: skip
for _first, _others in _BEYOND.items():
    for _second in _others:
        register_kl(_first, _second)(_beyond)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - aten.log1p(-q.probs) - q._log_constant()


@register_kl(Beta, Exponential)
def _beta_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    of_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    t1 = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + t1 - (q.concentration - 1) * of_log + q.rate * p.mean


def _to_normal(p: Any, q: Any) -> Tensor:
    """From anything of which entropy, mean and variance are known."""
    spread = q.scale.square()
    return -p.entropy() + 0.5 * (2 * math.pi * spread).log() + 0.5 * (p.variance + (p.mean - q.loc).square()) / spread


for _first in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_first, Normal)(_to_normal)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    return aten.where(p.alpha <= 2, math.inf, _to_normal(p, q))


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    return aten.where((q.high < 1) | (q.low > 0), math.inf, -p.entropy() + (q.high - q.low).log())


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_bernoulli_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - aten.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    return aten.where((q.high < 1) | (q.low > 0), math.inf, -p.entropy() + (q.high - q.low).log())


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return (
        -q.concentration * aten.log(ratio)
        + ratio
        + q.concentration.lgamma()
        + q.concentration * euler_constant
        - (1 + euler_constant)
    )


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    product, moved = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 + aten.exp(moved) * product / (product + 1) - moved + product.reciprocal()


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    product, moved = p.rate * q.scale, q.loc / q.scale
    t1 = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    t2 = product.log() + p.concentration / product
    return t1 + t2 + aten.exp(moved) * (1 + product.reciprocal()).pow(-p.concentration) - moved


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    own, ratio, moved = p.loc / q.scale, (p.scale / q.scale).pow(2), q.loc / q.scale
    return -(0.5 * (1 + 2 * math.log(math.sqrt(2 * math.pi)) + ratio.log())) + own - moved + aten.exp(-own + 0.5 * ratio + moved)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    distance = p.loc - q.loc
    ratio, own = p.scale / q.scale, distance / p.scale
    t2 = math.sqrt(2 / math.pi) * p.scale * aten.exp(-0.5 * own.pow(2))
    t3 = distance * aten.erf(math.sqrt(0.5) * own)
    return -aten.log(ratio) + (t2 + t3) / q.scale - 0.5 * (1.0 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    found = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return aten.where(p.alpha <= 1, math.inf, found)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    common = p.scale.log() + p.alpha.reciprocal()
    t1 = p.alpha.log() - common + q.concentration.lgamma() - q.concentration * q.rate.log()
    found = t1 + (1 - q.concentration) * common + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1
    return aten.where(p.alpha <= 1, math.inf, found)


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    t2 = (q.concentration1 - 1) * (_xlogx(p.high) - _xlogx(p.low) - width) / width
    t3 = (q.concentration0 - 1) * (_xlogx(1 - p.high) - _xlogx(1 - p.low) + width) / width
    t4 = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    return aten.where((p.high > 1) | (p.low < 0), math.inf, t3 + t4 - width.log() - t2)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    found = -p.entropy() - p.mean * q.logits - aten.log1p(-q.probs) - q._log_constant()
    return aten.where((p.high >= 1) | (p.low < 0), math.inf, found)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    found = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return aten.where(p.low < 0, math.inf, found)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    t2 = q.concentration.lgamma() - q.concentration * q.rate.log()
    t3 = (1 - q.concentration) * (_xlogx(p.high) - _xlogx(p.low) - width) / width
    found = -width.log() + t2 + t3 + q.rate * (p.high + p.low) / 2
    return aten.where(p.low < 0, math.inf, found)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return ratio.log() + 0.5 * (high + low) - ratio * (aten.exp(-high) - aten.exp(-low))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    of_log = (_xlogx(p.high) - _xlogx(p.low) - width) / width
    found = of_log * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    return aten.where(p.low < q.support.lower_bound, math.inf, found)
