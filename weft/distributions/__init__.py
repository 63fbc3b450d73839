"""Probability distributions: sampling, densities, divergences, constraints of parameters and transforms between them."""

from weft.distributions import constraints, transforms
from weft.distributions.bernoulli import Bernoulli
from weft.distributions.beta import Beta
from weft.distributions.binomial import Binomial
from weft.distributions.categorical import Categorical
from weft.distributions.cauchy import Cauchy
from weft.distributions.chi2 import Chi2
from weft.distributions.constraint_registry import biject_to, transform_to
from weft.distributions.continuous_bernoulli import ContinuousBernoulli
from weft.distributions.dirichlet import Dirichlet
from weft.distributions.distribution import Distribution
from weft.distributions.exp_family import ExponentialFamily
from weft.distributions.exponential import Exponential
from weft.distributions.fishersnedecor import FisherSnedecor
from weft.distributions.gamma import Gamma
from weft.distributions.generalized_pareto import GeneralizedPareto
from weft.distributions.geometric import Geometric
from weft.distributions.gumbel import Gumbel
from weft.distributions.half_cauchy import HalfCauchy
from weft.distributions.half_normal import HalfNormal
from weft.distributions.independent import Independent
from weft.distributions.inverse_gamma import InverseGamma
from weft.distributions.kl import kl_divergence, register_kl
from weft.distributions.kumaraswamy import Kumaraswamy
from weft.distributions.laplace import Laplace
from weft.distributions.lkj_cholesky import LKJCholesky
from weft.distributions.log_normal import LogNormal
from weft.distributions.logistic_normal import LogisticNormal
from weft.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from weft.distributions.mixture_same_family import MixtureSameFamily
from weft.distributions.multinomial import Multinomial
from weft.distributions.multivariate_normal import MultivariateNormal
from weft.distributions.negative_binomial import NegativeBinomial
from weft.distributions.normal import Normal
from weft.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from weft.distributions.pareto import Pareto
from weft.distributions.poisson import Poisson
from weft.distributions.relaxed_bernoulli import RelaxedBernoulli
from weft.distributions.relaxed_categorical import RelaxedOneHotCategorical
from weft.distributions.studentT import StudentT
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import *  # noqa: F403
from weft.distributions.uniform import Uniform
from weft.distributions.von_mises import VonMises
from weft.distributions.weibull import Weibull
from weft.distributions.wishart import Wishart

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
]
__all__ += transforms.__all__
