"""Every family beside what PyTorch 2.13 says of it: moments, densities, distribution functions, entropies, supports, divergences.

recorded.json was made by running the table below with torch in the place of weft, in float64.
"""

import json
import pathlib

import numpy as np
import pytest

import weft
import weft.distributions as D

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())


def f(*values):
    return weft.tensor(values, dtype=weft.float64)


spd = weft.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=weft.float64)
FAMILIES = {
    "Normal": (lambda: D.Normal(f(0.0, 1.5), f(1.0, 2.0)), f(0.3, -1.0)),
    "Uniform": (lambda: D.Uniform(f(0.0, -1.0), f(1.0, 2.0)), f(0.3, 1.0)),
    "Exponential": (lambda: D.Exponential(f(0.5, 2.0)), f(0.3, 1.0)),
    "Laplace": (lambda: D.Laplace(f(0.0, 1.0), f(1.0, 2.0)), f(0.3, -1.0)),
    "Cauchy": (lambda: D.Cauchy(f(0.0, 1.0), f(1.0, 2.0)), f(0.3, -1.0)),
    "Gamma": (lambda: D.Gamma(f(0.5, 3.0), f(1.0, 2.0)), f(0.3, 1.0)),
    "Chi2": (lambda: D.Chi2(f(1.0, 3.0)), f(0.3, 1.0)),
    "Dirichlet": (lambda: D.Dirichlet(f(1.5, 2.0, 3.0)), f(0.2, 0.3, 0.5)),
    "Beta": (lambda: D.Beta(f(1.5, 2.0), f(3.0, 0.7)), f(0.2, 0.6)),
    "StudentT": (lambda: D.StudentT(f(1.5, 5.0), f(0.0, 1.0), f(1.0, 2.0)), f(0.2, 0.6)),
    "FisherSnedecor": (lambda: D.FisherSnedecor(f(3.0, 5.0), f(3.0, 6.0)), f(0.2, 0.6)),
    "Bernoulli": (lambda: D.Bernoulli(f(0.2, 0.7)), f(0.0, 1.0)),
    "BernoulliL": (lambda: D.Bernoulli(logits=f(0.2, -0.7)), f(0.0, 1.0)),
    "Geometric": (lambda: D.Geometric(f(0.2, 0.7)), f(0.0, 3.0)),
    "Categorical": (lambda: D.Categorical(f(0.2, 0.7, 0.4)), weft.tensor(1)),
    "OneHotCategorical": (lambda: D.OneHotCategorical(f(0.2, 0.7, 0.4)), f(0.0, 1.0, 0.0)),
    "OneHotCategoricalStraightThrough": (lambda: D.OneHotCategoricalStraightThrough(logits=f(0.2, 0.7, 0.4)), f(0.0, 1.0, 0.0)),
    "Poisson": (lambda: D.Poisson(f(0.2, 3.0)), f(0.0, 2.0)),
    "Binomial": (lambda: D.Binomial(5, f(0.2, 0.7)), f(0.0, 2.0)),
    "NegativeBinomial": (lambda: D.NegativeBinomial(f(5.0, 2.0), f(0.2, 0.7)), f(0.0, 2.0)),
    "Multinomial": (lambda: D.Multinomial(4, f(0.2, 0.3, 0.5)), f(1.0, 2.0, 1.0)),
    "VonMises": (lambda: D.VonMises(f(0.2, 1.0), f(0.5, 3.0)), f(1.0, 2.0)),
    "ContinuousBernoulli": (lambda: D.ContinuousBernoulli(f(0.2, 0.5, 0.9)), f(0.1, 0.4, 0.7)),
    "MultivariateNormal": (lambda: D.MultivariateNormal(f(0.2, 0.5), spd), f(0.1, 0.4)),
    "MultivariateNormalP": (lambda: D.MultivariateNormal(f(0.2, 0.5), precision_matrix=spd), f(0.1, 0.4)),
    "LowRankMultivariateNormal": (
        lambda: D.LowRankMultivariateNormal(f(0.2, 0.5), weft.tensor([[0.3], [0.7]], dtype=weft.float64), f(1.0, 0.5)),
        f(0.1, 0.4),
    ),
    "LogNormal": (lambda: D.LogNormal(f(0.2, 0.5), f(0.3, 1.0)), f(0.1, 0.4)),
    "HalfNormal": (lambda: D.HalfNormal(f(0.2, 0.5)), f(0.1, 0.4)),
    "HalfCauchy": (lambda: D.HalfCauchy(f(0.2, 0.5)), f(0.1, 0.4)),
    "Gumbel": (lambda: D.Gumbel(f(0.2, 0.5), f(1.0, 2.0)), f(0.1, 0.4)),
    "Weibull": (lambda: D.Weibull(f(0.2, 0.5), f(1.0, 2.0)), f(0.1, 0.4)),
    "Pareto": (lambda: D.Pareto(f(0.2, 0.5), f(1.0, 3.0)), f(0.3, 0.7)),
    "GeneralizedPareto": (
        lambda: D.GeneralizedPareto(*weft.tensor([[0.2, 0.5, -1, 0], [1, 3, 2, 0.5], [0.3, -0.4, 0, 1.5]])),
        weft.tensor([0.3, 0.7, 2.0, 4.0]),
    ),
    "Kumaraswamy": (lambda: D.Kumaraswamy(f(1.2, 2.5), f(1.0, 3.0)), f(0.3, 0.7)),
    "InverseGamma": (lambda: D.InverseGamma(f(1.2, 2.5), f(1.0, 3.0)), f(0.3, 0.7)),
    "RelaxedBernoulli": (lambda: D.RelaxedBernoulli(f(0.5), f(0.3, 0.6)), f(0.3, 0.7)),
    "RelaxedOneHotCategorical": (lambda: D.RelaxedOneHotCategorical(f(0.5), f(0.3, 0.6, 0.1)), f(0.3, 0.5, 0.2)),
    "LogisticNormal": (lambda: D.LogisticNormal(f(0.5, 0.1), f(0.3, 0.6)), f(0.3, 0.5, 0.2)),
    "Mixture": (
        lambda: D.MixtureSameFamily(D.Categorical(f(0.3, 0.7)), D.Normal(f(0.0, 2.0), f(1.0, 0.5))),
        weft.tensor(0.5, dtype=weft.float64),
    ),
    "MixtureI": (
        lambda: D.MixtureSameFamily(
            D.Categorical(f(0.3, 0.7)),
            D.Independent(D.Normal(weft.zeros(2, 3, dtype=weft.float64), weft.ones(2, 3, dtype=weft.float64)), 1),
        ),
        f(0.5, 0.1, 0.2),
    ),
    "LKJ": (lambda: D.LKJCholesky(3, f(0.5, 2.0)), weft.tensor([[1.0, 0, 0], [0.6, 0.8, 0], [0, 0.6, 0.8]], dtype=weft.float64)),
    "Wishart": (lambda: D.Wishart(weft.tensor(4.0, dtype=weft.float64), spd), spd),
    "Independent": (lambda: D.Independent(D.Normal(f(0.0, 1.0), f(1.0, 2.0)), 1), f(0.1, 0.2)),
    "Transformed": (
        lambda: D.TransformedDistribution(D.Normal(f(0.0, 1.0), f(1.0, 2.0)), [D.AffineTransform(1.0, 2.0), D.TanhTransform()]),
        f(0.1, 0.2),
    ),
}


def same(found, expected):
    if isinstance(found, weft.Tensor):
        assert list(found.shape) == expected[0]
        np.testing.assert_allclose(found.detach().double().reshape(-1).numpy(), expected[1], rtol=1e-6, atol=1e-9)
    else:
        assert found == expected or str(found).replace("weft.Size", "torch.Size") == expected


FACTS = "mean mode variance batch_shape event_shape has_rsample has_enumerate_support".split()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_says_what_pytorch_says(name):
    make, value = FAMILIES[name]
    d, expected = make(), RECORDED[name]
    for fact in FACTS:
        if fact in expected:
            same(getattr(d, fact), expected[fact])
    for method in ("log_prob", "cdf"):
        if method in expected:
            same(getattr(d, method)(value), expected[method])
    if "icdf" in expected:
        same(d.icdf(f(*[0.3, 0.8] * (len(value) // 2))), expected["icdf"])
    for method in ("entropy", "enumerate_support"):
        if method in expected:
            same(getattr(d, method)(), expected[method])
    if "support" in expected:
        assert repr(d.support) == expected["support"]
    assert repr(d).replace("weft", "torch") == expected["repr"]
    assert list(d.sample((3,)).shape) == expected["sample"]
    wide = d.expand((4, *d.batch_shape))
    assert list(wide.batch_shape) == expected["expand"][0]
    same(wide.log_prob(value), expected["expand"][1])
    assert list(wide.sample().shape) == expected["expand"][2]
    if expected["bad"] == "ValueError":
        with pytest.raises(ValueError, match="support|broadcastable"):
            d.log_prob(value * 1e3 - 777.5)


@pytest.mark.parametrize("pair", [k for k in RECORDED if k.startswith("kl ")])
def test_divergences(pair):
    _, p, q = pair.split()
    same(D.kl_divergence(FAMILIES[p][0](), FAMILIES[q][0]()), RECORDED[pair])


# Of one family with other parameters: what PyTorch says, in float64. (Above both are the same, so that most of a formula is 0.)
APART = [
    ("Normal", (f(0.3, 0.6), f(0.8, 1.3)), (f(-0.2, 0.1), f(1.1, 0.4)), [0.186222326, 4.383845]),
    ("Gumbel", (f(0.3, 0.6), f(0.8, 1.3)), (f(-0.2, 0.1), f(1.1, 0.4)), [0.195782479, 2.74379689]),
    ("Laplace", (f(0.3, 0.6), f(0.8, 1.3)), (f(-0.2, 0.1), f(1.1, 0.4)), [0.162280225, 1.2836603]),
    ("Cauchy", (f(0.3, 0.6), f(0.8, 1.3)), (f(-0.2, 0.1), f(1.1, 0.4)), [0.0922061939, 0.411854906]),
    ("LogNormal", (f(0.3, 0.6), f(0.8, 1.3)), (f(-0.2, 0.1), f(1.1, 0.4)), [0.186222326, 4.383845]),
    ("Gamma", (f(1.3, 0.6), f(0.8, 1.3)), (f(2.2, 0.1), f(1.1, 0.4)), [0.144295868, 0.786650071]),
    ("Beta", (f(1.3, 1.6), f(0.8, 1.3)), (f(2.2, 1.1), f(1.1, 0.4)), [0.0857068497, 0.366475795]),
    ("Pareto", (f(1.3, 0.6), f(2.8, 1.3)), (f(1.2, 0.1), f(3.1, 1.4)), [0.253492557, 2.51127836]),
    ("Uniform", (f(0.1, 0.3), f(0.5, 0.9)), (f(0.05, 0.1), f(0.7, 2.0)), [0.485507816, 1.15267951]),
    ("Exponential", (f(1.3, 0.6),), (f(2.2, 0.1),), [0.166214596, 0.958426136]),
    ("HalfNormal", (f(1.3, 0.6),), (f(2.2, 0.1),), [0.200679873, 15.7082405]),
    ("Poisson", (f(1.3, 0.6),), (f(2.2, 0.1),), [0.216078975, 0.575055682]),
    ("Geometric", (f(0.3, 0.6),), (f(0.2, 0.1),), [0.0938918587, 1.25113933]),
    ("Bernoulli", (f(0.3, 0.6),), (f(0.2, 0.1),), [0.0281675576, 0.750683595]),
    ("ContinuousBernoulli", (f(0.3, 0.6),), (f(0.2, 0.1),), [0.0114848972, 0.274495155]),
    ("Binomial", (5, f(0.3, 0.6)), (5, f(0.2, 0.1)), [0.140837788, 3.75341798]),
    ("Dirichlet", (f(0.3, 0.6),), (f(1.2, 0.1),), [2.92784917]),
    ("Categorical", (f(0.3, 0.7),), (f(0.2, 0.8),), [0.0281675576]),
    ("OneHotCategorical", (f(0.3, 0.7),), (f(0.2, 0.8),), [0.0281675576]),
]


@pytest.mark.parametrize("name,p,q,expected", APART, ids=[row[0] for row in APART])
def test_divergences_of_one_family(name, p, q, expected):
    found = D.kl_divergence(getattr(D, name)(*p), getattr(D, name)(*q))
    np.testing.assert_allclose(found.reshape(-1).numpy(), expected, rtol=1e-6)


def test_a_divergence_that_nobody_knows():
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.VonMises(0.0, 1.0))


@pytest.mark.parametrize("name", [n for n in FAMILIES if n not in ("StudentT", "FisherSnedecor", "HalfCauchy", "Cauchy", "LKJ")])
def test_samples_have_the_mean(name):
    d = FAMILIES[name][0]()
    try:
        mean, spread = d.mean, d.stddev
    except NotImplementedError:
        return
    if not bool((mean.isfinite() & spread.isfinite()).all()) or name == "VonMises":
        return
    weft.manual_seed(0)
    n = 4000
    error = (d.sample((n,)).double().mean(0) - mean).abs()
    assert bool((error <= 6 * spread / n**0.5 + 1e-3).all())


def test_samples_are_differentiable():
    weft.manual_seed(0)
    a = f(0.5, 2.0, 30.0).requires_grad_()
    x = D.Gamma(a, f(1.0, 1.0, 1.0)).rsample((4000,))
    x.mean(0).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), 1, atol=0.1)  # the mean of Gamma(a, 1) is a
    loc = f(0.0).requires_grad_()
    D.MultivariateNormal(loc, scale_tril=weft.eye(1, dtype=weft.float64)).rsample().sum().backward()
    assert loc.grad.tolist() == [1.0]


def test_parameters_and_values_are_checked():
    with pytest.raises(ValueError, match="Expected parameter scale .* to satisfy the constraint GreaterThan"):
        D.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="within the support"):
        D.Beta(1.0, 1.0).log_prob(weft.tensor(2.0))
    with pytest.raises(ValueError, match="not both"):
        D.Bernoulli(0.5, logits=0.0)
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1


@pytest.mark.parametrize("make", [D.biject_to, D.transform_to])
@pytest.mark.parametrize("name", "positive unit_interval simplex real real_vector corr_cholesky lower_cholesky nonnegative".split())
def test_constraints_have_transforms(make, name):
    constraint = getattr(D.constraints, name)
    x = (
        weft.linspace(-1, 1, 9, dtype=weft.float64).reshape(3, 3)
        if name == "lower_cholesky"
        else weft.linspace(-1, 1, 6, dtype=weft.float64)
    )
    t = make(constraint)
    y = t(x)
    assert bool(constraint.check(y).all())
    np.testing.assert_allclose(t(t.inv(y)).numpy(), y.numpy(), atol=1e-9)


def test_a_transform_tells_its_jacobian():
    t = D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.TanhTransform()])
    x = f(0.1, -0.4).requires_grad_()
    y = t(x)
    (g,) = weft.autograd.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(t.log_abs_det_jacobian(x, y).detach().numpy(), g.abs().log().detach().numpy(), rtol=1e-9)


def test_a_step_with_samples_and_divergence_is_captured():
    def step(mean, scale):
        q = D.Normal(mean, scale, validate_args=False)
        z = q.rsample()
        prior = D.Normal(weft.zeros_like(mean), weft.ones_like(scale), validate_args=False)
        return z, D.kl_divergence(q, prior) + q.log_prob(z)

    args = weft.randn(4), weft.rand(4) + 0.5
    weft.manual_seed(1)
    expected = step(*args)
    weft.manual_seed(1)
    found = weft.compile(step, backend="eager", fullgraph=True)(*args)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_densities_are_captured_whole_without_the_checks_of_values():
    def density(logits, mean, index, value):
        chosen = D.Categorical(logits=logits).log_prob(index)
        squashed = D.TransformedDistribution(D.Normal(mean, mean.exp()), [D.TanhTransform(cache_size=1)])
        return chosen + squashed.log_prob(value) + D.StudentT(mean.exp() + 2).log_prob(value)

    weft.manual_seed(0)
    args = (weft.randn(3, 4), weft.randn(3), weft.tensor([0, 3, 1]), weft.rand(3) - 0.5)
    compiled = weft.compile(density, backend="eager", fullgraph=True)
    weft.testing.assert_close(compiled(*args), density(*args))
    wrong = weft.tensor([0, 7, 1])
    with pytest.raises(ValueError, match="within the support"):
        D.Categorical(logits=args[0]).log_prob(wrong)


def test_parameters_of_the_common_shape_are_the_tensors_that_were_given():
    m, s = weft.zeros(2, requires_grad=True), weft.ones(2)
    d = D.Normal(m, s)
    assert d.loc is m and d.scale is s and D.Normal(m, 1.0).loc is m and D.Uniform(m, s).low is m
    d.log_prob(s).sum().backward()
    assert d.loc.is_leaf and d.loc.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_tensors_of_the_common_sizes_are_not_viewed(compiled):
    x, row = weft.ones(3, 2), weft.ones(2)

    def same(x, row):
        a, b = weft.broadcast_tensors(x, row)
        return a is x, b is row, b, weft.broadcast_tensors(row, weft.ones(()))[0] is row, row.expand_as(row) is row

    found = (weft.compile(same, fullgraph=True) if compiled else same)(x, row)
    assert found[:2] == (True, False) and found[2].shape == (3, 2) and found[3:] == (True, False)
