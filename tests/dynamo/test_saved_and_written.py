"""Writes through `data` and `detach()` into what a derivative saved: gradients are of what was written, or refused, as in eager."""

import pytest

import weft
from dynamo.breaks import Unsupported


def an_input(x):
    out = x.sin()
    x.data.mul_(2)
    return out


def a_value(x):
    y = x * 1
    out = y.sin()
    y.data.mul_(2)
    return out


def through_a_view(x):
    y = x.view(-1)
    out = y.sin()
    x.data.mul_(2)
    return out


def of_several_ops(x):
    out = x.sin() * x.cos()
    x.data.copy_(x.data * 3)
    return out * x


def other_memory(x):
    out = x.sin()
    x.data = x.data * 2
    return out


def without_gradients(x):
    out = x.sin()
    with weft.no_grad():
        x.data.add_(1.0)
    return out.cos()


def detached(x):
    out = x.sin()
    x.detach().mul_(2)
    return out


def a_view_detached(x):
    y = x * x
    part = y.detach()[1:]
    out = y.sin()
    part.mul_(2)
    return out


def what_came_of(f):
    x = weft.tensor([0.3, 0.7], requires_grad=True)
    out = f(x)
    try:
        out.sum().backward()
    except RuntimeError as e:
        return str(e).partition("[")[0], x.tolist()
    return out.tolist(), x.grad.tolist(), x.tolist()


PROGRAMS = [an_input, a_value, through_a_view, of_several_ops, other_memory, without_gradients, detached, a_view_detached]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_eager(program, backend):
    assert what_came_of(weft.compile(program, backend=backend)) == what_came_of(program)
    with pytest.raises(Unsupported, match="that autograd does not see"):
        weft.compile(program, backend=backend, fullgraph=True)(weft.ones(2, requires_grad=True))


def test_what_no_derivative_needs_any_more_is_written_in_the_graph():
    def unneeded(x):
        y = x * 1
        out = y * 2 + y
        y.detach().mul_(3)
        return out

    def step(x):
        (g,) = weft.autograd.grad((x.sin() * x).sum(), x)
        x.detach().sub_(g)
        return x * 2

    for program in (unneeded, step):
        assert what_came_of(weft.compile(program, fullgraph=True)) == what_came_of(program)
