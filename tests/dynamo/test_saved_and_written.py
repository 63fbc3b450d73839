"""Writes into what a derivative saved: gradients are refused, or those of what was written through `data`, as in eager."""

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


def an_argument_of(x):
    y = x * 2
    out = y.sin()
    y.add_(1)
    return out


def a_result_of(x):
    y = weft.nn.functional.relu(x * 2)
    y += 1
    return y


def a_view_of_what_is_saved(x):
    y = x * 2
    out = y[1:].sin()
    y.mul_(2)
    return out


def through_a_view_in_place(x):
    y = x * 2
    out = y.view(2, 1) @ y.view(1, 2)
    y[1:].zero_()
    return out


def another_result(x):
    y = x * 2
    left, right = y.sin(), y * 3
    y.add_(1)
    return right, left


def an_input_that_counts(x):
    weights = weft.ones(2)
    out = x * weights
    weights.add_(1)
    return out


def asked_within(x):
    y = x * 2
    out = y.sin().sum()
    y.add_(1)
    try:
        return weft.autograd.grad(out, x)[0]
    except RuntimeError:
        return x * 7


REFUSED = [an_argument_of, a_result_of, a_view_of_what_is_saved, through_a_view_in_place, an_input_that_counts]


def gradients_of(f):
    """What the backward of each result gives or says."""
    x = weft.tensor([0.3, 0.7], requires_grad=True)
    results = f(x)
    found = []
    for out in results if isinstance(results, tuple) else (results,):
        x.grad = None
        try:
            out.sum().backward()
            found.append((out.tolist(), x.grad.tolist()))
        except RuntimeError as e:
            found.append((out.tolist(), str(e)))
    return found


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("program", REFUSED)
def test_what_a_gradient_needs_and_the_program_overwrites_is_refused(program, backend):
    found = gradients_of(weft.compile(program, backend=backend))
    assert found == gradients_of(program) and "modified by an inplace operation" in found[0][1]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_only_the_gradients_that_need_what_was_overwritten_are_refused(backend):
    found = gradients_of(weft.compile(another_result, backend=backend))
    assert found == gradients_of(another_result) and [type(said) for _, said in found] == [list, str]
    assert gradients_of(weft.compile(asked_within, backend=backend)) == gradients_of(asked_within)


def test_what_no_gradient_needs_is_overwritten_in_the_graph():
    def program(x):
        y = x * 2
        out = y.exp()  # (keeps its result)
        y.sigmoid_()  # (a copy of its own)
        y.add_(1)
        unused = y.sin()
        y.mul_(2)
        return out + y, unused.detach()

    seen = []

    def backend(gm, inputs):
        made = weft._inductor.compile_fx.compile_fx(gm, inputs)
        seen.append(made is not gm)
        return made

    x = weft.tensor([0.3, 0.7], requires_grad=True)
    found, expected = weft.compile(program, backend=backend)(x), program(x)
    assert found[0].tolist() == pytest.approx(expected[0].tolist()) and seen == [True]


COPIES = {  # what is returned beside a value that a derivative saves, and is memory of its own
    "clone": lambda y: y.clone(),
    "times one": lambda y: y * 1,
    "less nothing": lambda y: y - 0,
    "padded by nothing": lambda y: weft.nn.functional.pad(y, (0, 0)),
    "read again": lambda y: (y * 1)[:, :2],
    "contiguous of a copy": lambda y: y.clone().contiguous(),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("backend", ["aot_eager_decomp_partition", "inductor"])
def test_copies_that_are_returned_may_be_written(copy, backend):
    def program(x):
        y = x.sin()
        return y * y.sum(), copy(y), x.sin()

    found = []
    for f in (program, weft.compile(program, backend=backend)):
        x = weft.tensor([[0.3, 0.7, 0.9], [1.0, 0.1, 0.2]], requires_grad=True)
        out, copied, again = f(x)
        with weft.no_grad():
            copied.zero_()
            again.zero_()
        found.append(weft.autograd.grad(out.sum(), x)[0])
    weft.testing.assert_close(*found)


def test_a_copy_that_the_function_writes_by_index_is_not_what_is_saved():
    def program(x, w):
        y = x - x.mean(0, keepdim=True)
        copied = y * 1
        copied[copied[:, 0] > 0] *= w
        return copied, y.sum(0, keepdim=True) * y

    found = []
    for f in (program, weft.compile(program)):
        x, w = (weft.arange(n).reshape(-1, 2).square().cos().requires_grad_() for n in (10.0, 2.0))
        found.append(weft.autograd.grad(sum(t.square().sum() for t in f(x, w[0])), (x, w)))
    for a, b in zip(*found):
        weft.testing.assert_close(a, b)
