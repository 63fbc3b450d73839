"""Special functions where one formula loses its digits: near 0, far out, at infinities. Expected: PyTorch 2.13, float64."""

import math

import pytest

import weft
import weft.special
from weft import special

INF, NAN = math.inf, math.nan
X = [1e-300, 1e-10, 0.3, 1.9999, 2.0001, 49.9, 50.1, 120.0, 700.0, 1e5 + 0.5]


def tensor(values, **keywords):
    return weft.tensor(values, dtype=weft.float64, **keywords)


def close(found, expected, tolerance=1e-8):
    for x, y in zip(found.tolist(), expected, strict=True):
        assert math.isclose(x, y, rel_tol=tolerance) or x == y or (math.isnan(x) and math.isnan(y)), (found.tolist(), expected)


BESSEL = {
    "bessel_j0": [
        1.0, 1.0, 0.977626246538, 0.223948451944, 0.223833106983,
        0.0457886254679, 0.0652589010672, 0.0718234158292, -0.00628827246507, -0.00239412179509,
    ],
    "bessel_j1": [
        5e-301, 5e-11, 0.148318816273, 0.576731252918, 0.576718358593,
        -0.102796957369, -0.0912643146674, -0.011805211433, 0.029489824084, 0.000796446894081,
    ],
    "bessel_y0": [
        -439.835163623, -14.7325162727, -0.807273577805, 0.510364966587, 0.510386373074,
        -0.103250535233, -0.0919109619424, -0.01210436541, 0.0294943081809, 0.000796458864626,
    ],
    "bessel_y1": [
        -6.36619772368e299, -6366197723.68, -2.29310513839, -0.107088821738, -0.10697604336,
        -0.0468253934091, -0.0661793328062, -0.0718744732091, 0.00630934142145, 0.0023941257774,
    ],
    "modified_bessel_k0": [
        690.891459414, 23.1417824456, 1.37246006054, 0.113907860257, 0.11387988708,
        3.77257417002e-23, 3.08258143916e-23, 8.76356809983e-54, 4.66977643169e-306, 0.0,
    ],
    "modified_bessel_k1": [
        1e300, 10000000000.0, 3.05599203346, 0.139884265832, 0.139847500469,
        3.81018981009e-23, 3.11319518295e-23, 8.80000752009e-54, 4.67311079671e-306, 0.0,
    ],
    "scaled_modified_bessel_k0": [
        690.891459414, 23.1417824479, 1.85262730077, 0.841587406599, 0.841549024872,
        0.176983359193, 0.176631477781, 0.114292779423, 0.0473623694546, 0.00396331243523,
    ],
    "scaled_modified_bessel_k1": [
        1e300, 10000000001.0, 4.12515776224, 1.03350933149, 1.03344436553,
        0.17874802757, 0.178385640944, 0.114768015374, 0.0473961876535, 0.00396333225164,
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_near_and_far(name):
    close(getattr(special, name)(tensor(X)), BESSEL[name])


def test_bessel_functions_of_infinity_and_below_zero():
    ends = tensor([INF, -INF, NAN])
    assert special.bessel_j1(ends).isnan().all() and special.bessel_j0(ends).isnan().all()  # as in PyTorch
    assert special.scaled_modified_bessel_k0(ends)[0] == 0 and special.scaled_modified_bessel_k0(ends)[1].isnan()
    assert special.spherical_bessel_j0(ends)[:2].tolist() == [0, 0]
    close(special.bessel_j1(tensor([-3.0, -60.0])), [-0.339058958526, -0.0465983837582])


def test_quantiles_of_the_normal_distribution_in_its_tails():
    p = tensor([1e-300, 1e-20, 1e-5, 0.1, 0.29999, 0.30001, 0.5, 0.7, 0.999, 0.0, 1.0, -1.0], requires_grad=True)
    found = special.ndtri(p)
    expected = [-37.0471, -9.262340089798408, -4.264890793922825, -1.2815515655446008, -0.5244292733, -0.524371753, 0.0]
    close(found[:7].detach(), expected, 1e-6)
    assert found[9:11].tolist() == [-INF, INF] and found[11].isnan()
    found[1:9].sum().backward()
    close(p.grad[2:4], [math.sqrt(2 * math.pi) * math.exp(x * x / 2) for x in expected[2:4]], 1e-6)


def test_the_slope_of_log_ndtr_does_not_overflow():
    x = tensor([-50.0, -1.0, 0.0, 2.0, 30.0], requires_grad=True)
    special.log_ndtr(x).sum().backward()
    close(x.grad, [50.01998403, 1.525135276, 0.7978845608, 0.05524786268, 1.473646135e-196])


def test_the_slope_of_sinc_has_its_digits_near_zero():
    x = tensor([1e-30, 1e-8, 1e-4, 0.3, 0.31, 0.32, 1.0, 2.5], requires_grad=True)
    weft.sinc(x).sum().backward()
    third = math.pi**2 / 3  # of the series: -pi**2 x / 3
    slopes = [-third * 1e-30, -third * 1e-8, -0.000328986810123, -0.902028130139, -0.926348348887, -0.950130385499]
    close(x.grad, [*slopes, -1.0, -0.0509295817894])


def test_the_slopes_of_modified_bessel_functions_next_to_zero():
    for name in ("i1", "i1e"):
        x = weft.tensor([0.0, 1e-45, 1e-42, 1e-30], requires_grad=True)
        getattr(special, name)(x).sum().backward()
        assert x.grad.tolist() == [0.5] * 4


@pytest.mark.parametrize(
    "x,j0,j1,y0,y1,k0,k1,k0e",
    [  # of SciPy 1.17, where pieces begin and end
        (2.0, 0.22389077914123562, 0.5767248077568734, 0.5103756726497451, -0.10703243154093756, 0.1138938727495334,
         0.13986588181652246, 0.8415682150707712),
        (4.999, -0.17792429435531104, -0.32746688820843084, -0.3083695930729166, 0.14820119642594815, 0.0036951451983498747,
         0.004049116020667694, 0.5478600381702995),
        (33.3, 0.06333848594752092, 0.12386214790148016, 0.12289749913503752, -0.061500722807785624, 7.468357277917752e-16,
         7.57967706554013e-16, 0.21638708343017157),
        (49.99, 0.054834337337488846, -0.09808462798833556, -0.09862809595625299, -0.05582345813594985, 3.4447833118729336e-23,
         3.4790690712345896e-23, 0.1768247525111673),
    ],
)  # fmt: skip
def test_bessel_functions_between(x, j0, j1, y0, y1, k0, k1, k0e):
    x = tensor([x])
    kinds = (special.bessel_j0, special.bessel_j1, special.bessel_y0, special.bessel_y1)
    close(weft.cat([f(x) for f in kinds]), [j0, j1, y0, y1], 1e-13)
    kinds = (special.modified_bessel_k0, special.modified_bessel_k1, special.scaled_modified_bessel_k0)
    close(weft.cat([f(x) / right for f, right in zip(kinds, (k0, k1, k0e))]), [1, 1, 1], 1e-13)


@pytest.mark.parametrize(
    "a,x,lower,upper",
    [  # of SciPy 1.17: what is small has its digits, and large orders converge
        (2.5, 40.0, 0.9999999999999991, 8.391825114831597e-16),
        (0.5, 30.0, 0.9999999999999906, 9.485737571073857e-15),
        (5000.0, 5300.0, 0.9999844548842145, 1.5545115785517534e-05),
        (3.0, 1e-5, 1.66665416671666e-16, 0.9999999999999998),
        (0.0, 1.0, 1.0, 0.0),
        (math.inf, 1.0, 0.0, 1.0),
    ],
)
def test_tails_of_the_incomplete_gamma_functions(a, x, lower, upper):
    found = special.gammainc(tensor([a]), tensor([x])).item(), special.gammaincc(tensor([a]), tensor([x])).item()
    close(tensor(found), [lower, upper], 1e-10)


def test_zeta_far_out_and_at_infinities():
    s = [1e38, INF, 1e38, INF, 2.0, INF, INF, NAN, INF, 3.0, INF]
    q = [1.0, 1.0, 0.5, 0.5, INF, INF, 2.0, 1.0, -0.5, -INF, -INF]
    expected = [1, 1, INF, INF, NAN, NAN, NAN, NAN, INF, INF, INF]
    close(special.zeta(tensor(s), tensor(q)), expected)
