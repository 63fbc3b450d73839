"""In-place calls with history give the elements and gradients of the functional op, also where backward needs what was there."""

import pytest

import weft as torch
from aten import _native
from aten.op import registry
from tests.aten.test_replay import entries, same
from tests.aten.test_replay_with_history import requiring
from tests.samples.inputs import names, samples

IN_PLACE = [n for n in names() if registry[n].inplace is not None and "random" not in registry[n].tags]


def outcome(name, args, kwargs, in_place):
    given, asked = requiring(list(args))
    values, more = requiring(list(kwargs.values()))
    kwargs = dict(zip(kwargs, values))
    first = given[0] * 1
    result = registry[name].inplace(first, *given[1:], **kwargs) if in_place else registry[name](first, *given[1:], **kwargs)
    if in_place:
        assert result is first
    size = result.abs() if result.dtype.is_complex else result
    return result.detach(), torch.autograd.grad(size.sum(), asked + more, allow_unused=True)


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_call_in_place_gives_the_gradients_of_the_functional_op(name):
    for args, kwargs in list(samples(name))[:4]:
        if not args or not isinstance(args[0], torch.Tensor) or not args[0].dtype.is_floating_point:
            continue
        try:
            expected = outcome(name, args, kwargs, False)
        except RuntimeError:  # nothing requires grad
            continue
        if expected[0].dtype is not args[0].dtype or expected[0].shape != args[0].shape:
            with pytest.raises(RuntimeError):
                outcome(name, args, kwargs, True)
            continue
        found = outcome(name, args, kwargs, True)
        same(found[0].contiguous().clone(), expected[0].contiguous().clone())
        for a, b in zip(found[1], expected[1], strict=True):
            assert (a is None) == (b is None) and (a is None or torch.equal(a, b) or torch.allclose(a, b, equal_nan=True))


USUAL = {
    "add_": lambda x, y: x.add_(y),
    "mul_": lambda x, y: x.mul_(y),
    "pow_": lambda x, y: x.pow_(2),
    "relu_": lambda x, y: torch.nn.functional.relu(x, inplace=True),
    "clamp_": lambda x, y: x.clamp_(-1, 1),
    "copy_": lambda x, y: x.copy_(y),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 0, 0.0),
    "index_add_": lambda x, y: x.index_add_(0, torch.arange(3), y),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=2),
    "tril_": lambda x, y: x.tril_(),
}


@pytest.mark.parametrize("name", USUAL)
def test_a_usual_call_needs_no_python(name):
    x, y = torch.rand(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
    for _ in range(8):
        USUAL[name](x * 1, y)
    made = [x * 1]
    assert not entries(lambda: USUAL[name](made[0], y))
    assert made[0].requires_grad and made[0]._version == 1


def test_what_backward_needs_of_the_elements_that_were_there_is_kept():
    x, y = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([5.0, 7.0], requires_grad=True)
    z = (x * 1).mul_(y).pow_(2)
    z.sum().backward()
    assert x.grad.tolist() == [100.0, 294.0] and y.grad.tolist() == [40.0, 126.0]
    plain = torch.tensor([2.0, 3.0])
    plain.mul_(y).sum().backward()
    assert y.grad.tolist() == [42.0, 129.0] and plain.grad_fn.name() == "MulBackward0"


def test_a_write_is_seen_by_what_had_been_kept_before():
    x = torch.ones(2, requires_grad=True)
    made = x * 1
    squared = made.square()
    made.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.sum().backward()


def test_other_views_of_the_memory_see_a_write_and_its_history():
    x = torch.ones(3, requires_grad=True)
    base = torch.zeros(2, 3)
    row = base[1]
    base.add_(x)
    assert row.tolist() == [1, 1, 1] and row.requires_grad
    row.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_a_gradient_that_is_retained_is_that_of_the_last_value():
    x = torch.ones(2, requires_grad=True)
    made = x * 2
    made.retain_grad()
    made.mul_(3)
    made.sum().backward()
    assert made.grad.tolist() == [1, 1] and x.grad.tolist() == [6, 6]


def test_what_may_not_be_written_is_refused_as_before():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="broadcast|shape"):
        (x * 1).add_(torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(2, dtype=torch.int64).add_(x)
    both = x * 1
    both.mul_(both)
    assert both.tolist() == [1, 1]
    shown = (x * 1).expand(3, 2)
    with pytest.raises(RuntimeError, match="single memory location"):
        shown.add_(1)


def test_hooks_see_the_gradients_of_the_values_they_were_registered_on():
    x = torch.ones(2, requires_grad=True)
    seen = []
    made = x * 2
    made.register_hook(lambda g: seen.append(g.tolist()))
    made.mul_(3)
    made.register_hook(lambda g: seen.append(g.tolist()))
    made.sum().backward()
    assert seen == [[1, 1], [3, 3]]


def test_a_call_within_a_call_watches_its_own_memory():
    x = torch.ones(2, requires_grad=True)
    before = _native.replay_after(1)
    try:
        for _ in range(3):
            made = torch.nn.functional.elu(x * 1, inplace=True).mul_(x)
        made.sum().backward()
        assert x.grad.tolist() == [2, 2]
    finally:
        _native.replay_after(before)


@pytest.mark.parametrize("name", ["relu_", "exp_", "sigmoid_", "tanh_", "sqrt_", "add_", "mul_"])
@pytest.mark.parametrize("size", [3, 200])
def test_what_is_kept_of_a_result_is_not_written_later(name, size):
    """Compiled code has no versions: what it gives, the plain program gives too."""
    x = (torch.rand(size, size) + 0.5).requires_grad_()
    args = (3.0,) if name in ("add_", "mul_") else ()

    def program(x):
        made = x * 1
        getattr(made, name)(*args)
        made[0] += 1
        return made.mul_(2)

    torch._dynamo.reset()
    made = program(x)
    expected = torch.autograd.grad(getattr(x, name.removesuffix("_"))(*args).sum(), x)[0] * 2
    assert torch.equal(torch.autograd.grad(made.sum(), x)[0], expected)
    assert torch.allclose(torch.autograd.grad(torch.compile(program)(x).sum(), x)[0], expected)


def test_a_retained_gradient_is_that_of_the_last_value_also_after_a_write_into_a_view():
    for write in (
        lambda t: t.__setitem__(0, 5.0),
        lambda t: t[0].mul_(3),
        lambda t: t.view(-1)[:1].zero_(),
        lambda t: t[:1].copy_(t[1:]),
    ):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        made = x * 2
        made.retain_grad()
        write(made)
        made.square().sum().backward()
        assert made.grad.tolist() == (2 * made).tolist()
