"""Sobol sequences. SciPy's table of direction numbers is not needed here: the first dims' are given (Joe and Kuo 2008)."""

import importlib.resources

import numpy as np
import pytest

import weft as torch
from weft import quasirandom

POLYNOMIALS = np.array([1, 3, 7, 11, 13, 19])  # x + 1, x**2 + x + 1, x**3 + x + 1 …, as bits
FIRST = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 3, 0, 0], [1, 3, 1, 0], [1, 1, 1, 0], [1, 1, 3, 3]])


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(quasirandom, "direction_numbers", lambda n: (POLYNOMIALS[:n], FIRST[:n]))


def test_the_first_points_are_pytorchs(table):
    engine = torch.quasirandom.SobolEngine(5)
    assert engine.draw(3).tolist() == [[0.0] * 5, [0.5] * 5, [0.75, 0.25, 0.25, 0.25, 0.75]]
    assert engine.draw(2).tolist() == [[0.25, 0.75, 0.75, 0.75, 0.25], [0.375, 0.375, 0.625, 0.875, 0.375]]
    assert engine.num_generated == 5 and repr(engine) == "SobolEngine(dimension=5)"


def test_a_sequence_goes_on_where_it_was_left(table):
    whole = torch.quasirandom.SobolEngine(6).draw(20)
    engine = torch.quasirandom.SobolEngine(6)
    assert torch.cat([engine.draw(1), engine.draw(0), engine.draw(6), engine.draw(13)]).equal(whole)
    assert engine.reset().fast_forward(7).draw(3).equal(whole[7:10])
    assert engine.fast_forward(2).draw().equal(whole[12:13])


def test_each_dim_of_2_to_the_m_points_has_one_in_each_interval(table):
    for scramble in (False, True):
        points = torch.quasirandom.SobolEngine(6, scramble=scramble, seed=3).draw(64, dtype=torch.float64)
        assert all(sorted((points[:, d] * 64).int().tolist()) == list(range(64)) for d in range(6))


def test_a_seed_decides_the_scrambling(table):
    one, same, other = (torch.quasirandom.SobolEngine(3, scramble=True, seed=s).draw(8) for s in (1, 1, 2))
    assert one.equal(same) and not one.equal(other) and one[0].tolist() != [0, 0, 0]


def test_the_dtype_and_the_place_of_the_points_may_be_said(table):
    engine = torch.quasirandom.SobolEngine(2)
    out = torch.empty(0, dtype=torch.float64)
    assert engine.draw_base2(2, out=out, dtype=torch.float64) is out and out.shape == (4, 2)
    assert engine.draw(1, dtype=torch.float16).dtype is torch.float16
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)


@pytest.mark.parametrize("dimension", [0, 21202])
def test_a_dimension_without_direction_numbers_is_an_error(dimension):
    with pytest.raises(ValueError, match="dimensionality"):
        torch.quasirandom.SobolEngine(dimension)


def test_without_scipy_the_error_says_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib.resources, "files", missing)
    with pytest.raises(ImportError, match="pip install scipy"):
        torch.quasirandom.SobolEngine(2)
