"""Parameters, and other leaves, that a compiled function makes: what the program keeps on them, and their gradients."""

import warnings

import pytest

import weft
from weft import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(weft.ones(2))
        self.w.no_wd = True


def marked(x):
    p = nn.Parameter(x * 2)
    p.special = True
    return p, p.__dict__, vars(p) is p.__dict__, p.grad


def with_gradient(x):
    p = nn.Parameter(x * 2)
    p.grad, p.kind = x, "given"
    return p, p.__dict__, p.grad


def leaf(x):
    p = (x * 2).requires_grad_()
    (p * 3).sum().backward()
    p.kind = "leaf"
    return p, p.grad, p.__dict__


def unmarked(x):
    p = nn.Parameter(x * 2)
    return p, p.__dict__, hasattr(p, "special")


@pytest.mark.parametrize("f", [marked, with_gradient, leaf, unmarked])
def test_attributes_of_leaves(f):
    got, expected = weft.compile(f)(weft.ones(2)), f(weft.ones(2))
    assert repr(got) == repr(expected)
    assert got[0].__dict__ == expected[0].__dict__ and repr(got[0].grad) == repr(expected[0].grad)
    assert type(got[0]) is type(expected[0])


def test_attributes_of_parameters_of_a_module_that_is_made_inside():
    made = weft.compile(lambda x: (Scaled(), x + 1))(weft.ones(2))[0]
    assert made.w.__dict__ == {"no_wd": True}


def test_attributes_that_one_parameter_takes_from_another():
    def f(x, m):
        p = nn.Parameter(m.w.detach() * 2)
        p.__dict__.update(m.w.__dict__)
        m.w = p
        return m.w.no_wd

    m, compiled = Scaled(), weft.compile(f)
    for _ in range(3):
        assert compiled(weft.ones(2), m) is True and m.w.__dict__ == {"no_wd": True}


def test_a_gradient_that_is_not_kept_is_warned_of_once():
    def f(x):
        return x * 2 if x.grad is None else x

    compiled = weft.compile(f)
    for x in (weft.ones(2, requires_grad=True) * 2, weft.ones(2, requires_grad=True)):
        counts = []
        for g in (f, compiled, compiled):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                g(x)
            counts.append(len([w for w in told if "not a leaf" in str(w.message)]))
        assert counts == [counts[0]] * 3
