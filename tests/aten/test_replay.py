"""Calls that are replayed give the bits, layouts and errors of those that go through Python."""

import numpy as np
import pytest

import weft as torch
from aten import _native, autograd, replay
from aten.autograd.record import Backward
from aten.op import registry
from tests.samples.inputs import names, samples


@pytest.fixture
def replay_after():
    before = _native.replay_after(0)
    yield _native.replay_after
    _native.replay_after(before)


def entries(function):
    _native.python_entries(True)
    function()
    return _native.python_entries(True)


def flat(value):
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(v)]
    return [value]


def same(a, b):
    a, b = flat(a), flat(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        if not hasattr(x, "dtype"):
            assert type(x) is type(y)
            continue
        assert (x.dtype, x.shape, x.stride(), x._is_view()) == (y.dtype, y.shape, y.stride(), y._is_view())
        equal = np.asarray(x.resolve_conj()).tobytes() == np.asarray(y.resolve_conj()).tobytes()
        assert equal or np.array_equal(np.asarray(x), np.asarray(y), equal_nan=True)


@pytest.mark.parametrize("name", [n for n in names() if "random" not in registry[n].tags][::3])
def test_the_samples_of_an_op_replayed(name, replay_after):
    for args, kwargs in list(samples(name))[:4]:
        replay_after(0)
        try:
            expected = registry[name](*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            continue
        replay_after(1)
        same(registry[name](*args, **kwargs), expected)


CALLS = {
    "convolution": lambda x: torch.conv2d(x.view(1, 2, 4, 4), torch.ones(3, 2, 3, 3), padding=1),
    "several results": lambda x: x.view(4, 8).sort(1),
    "a view": lambda x: x.view(2, 4, 4).movedim(0, 2).unflatten(0, (2, 2)),
    "constants of the sizes": lambda x: torch.nn.functional.interpolate(x.view(1, 2, 4, 4), scale_factor=2, mode="bilinear"),
    "of another dtype": lambda x: torch.remainder(x.to(torch.int64), 3),
    "complex": lambda x: torch.view_as_complex(x.view(-1, 2)) * 2j,
    "a list": lambda x: torch.block_diag(x.view(4, 8), x.view(8, 4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_enters_python_no_more(name, replay_after):
    x = torch.arange(32.0).sin()
    expected = CALLS[name](x)
    replay_after(3)
    for _ in range(4):
        CALLS[name](x)
    same(CALLS[name](x), expected)
    assert set(entries(lambda: CALLS[name](x))) <= {"view_as_complex"}


def test_other_arguments_are_another_call(replay_after):
    replay_after(1)
    x = torch.arange(24.0)
    for sizes in ((4, 6), (6, 4), (2, 12)):
        for k in (0, 1, -1):
            assert torch.equal(x.view(sizes).tril(k), torch.from_numpy(np.tril(x.view(sizes).numpy(), k)))
            assert torch.equal(x.view(sizes).t().tril(k), torch.from_numpy(np.tril(x.view(sizes).t().numpy(), k)))
    assert x.int().view(4, 6).tril().dtype is torch.int32


def test_an_error_stays_the_calls_own(replay_after):
    replay_after(1)
    x, at = torch.ones(3, 4), torch.tensor([[0, 3]])
    logits = lambda at: torch.nn.functional.nll_loss(x, at)
    assert logits(torch.tensor([0, 1, 3])).item() == -1
    for _ in range(3):
        with pytest.raises(IndexError, match="out of bounds"):
            logits(torch.tensor([0, 1, 4]))
        with pytest.raises(RuntimeError, match="at least 2 dimensions"):
            at.view(-1).tril()


def test_what_depends_on_elements_or_writes_arguments_is_not_replayed(replay_after):
    replay_after(1)
    for counts in ([1, 2], [3, 0], [0, 1]):
        assert torch.ones(2).repeat_interleave(torch.tensor(counts)).shape == (sum(counts),)
    mean, var, x = torch.zeros(2), torch.ones(2), torch.arange(12.0).view(2, 2, 3)
    for k in range(1, 4):
        torch.nn.functional.instance_norm(x, mean, var, use_input_stats=True, momentum=0.5)
        assert torch.allclose(mean, x.mean((0, 2)) * (1 - 0.5**k))


def test_a_kept_constant_is_nobodys_result(replay_after):
    replay_after(1)
    first = torch.linspace(0, 1, 5)
    first.fill_(7)
    assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    x = torch.eye(3).fill_(2)
    assert torch.eye(3).sum().item() == 3 and x.sum().item() == 18


def test_random_numbers_go_on(replay_after):
    torch.manual_seed(3)
    expected = [torch.rand(5), torch.nn.functional.dropout(torch.ones(9)), torch.randn(2, 3), torch.randint(0, 9, (4,))]
    replay_after(1)
    for _ in range(2):
        torch.manual_seed(3)
        found = [torch.rand(5), torch.nn.functional.dropout(torch.ones(9)), torch.randn(2, 3), torch.randint(0, 9, (4,))]
        same(found, expected)


def test_a_setting_is_part_of_the_call(replay_after):
    replay_after(1)
    assert torch.linspace(0, 1, 3).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.linspace(0, 1, 3).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    made = torch.full((2,), 1.0, requires_grad=True)
    assert made.requires_grad and torch.full((2,), 1.0, requires_grad=True).requires_grad


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "conv", "pad"])
def test_derivatives_are_replayed(name, replay_after):
    F = torch.nn.functional
    call = {
        "max_pool2d": lambda x: F.max_pool2d(x, 2),
        "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
        "conv": lambda x: F.conv2d(x, torch.ones(1, 2, 3, 3), padding=1),
        "pad": lambda x: F.pad(x, (1, 2, 1, 1), mode="reflect"),
    }[name]
    x = torch.arange(72.0).sin().view(1, 2, 6, 6).requires_grad_()
    (expected,) = autograd.grad(call(x).square().sum(), x)
    replay_after(1)
    for _ in range(2):
        same(autograd.grad(call(x).square().sum(), x), [expected])
    (again,) = autograd.grad(call(x).square().sum(), x, create_graph=True)
    assert again.requires_grad


def test_derivatives_of_users_ops_run_each_time():
    calls = []

    @torch.library.custom_op("replayed::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def backward(ctx, g):
        calls.append(1)
        return g * len(calls)

    twice.register_autograd(backward)
    for n in range(1, 20):
        x = torch.ones(3, requires_grad=True)
        twice(x).sum().backward()
        assert len(calls) == n and x.grad.tolist() == [n] * 3


def test_derivatives_of_own_ops_are_replayed(monkeypatch):
    """By the walk itself: once it knows what they come to, no Python is called."""
    run = []
    derive = Backward.derive
    monkeypatch.setattr(Backward, "derive", lambda self, *args: run.append(self.plan.op.name) or derive(self, *args))
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    for _ in range(12):
        run.append("begin")
        torch.autograd.grad(x.cumprod(1).sum(), x)
    assert run[1] == "sum" and "cumprod" in run and run[-1] == "begin"


def test_what_is_saved_is_unpacked_once_a_walk():
    told = []
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: told.append(1) or t):
        y = x.cumprod(0)
    for n in range(1, 15):
        torch.autograd.grad(y, x, torch.ones(3), retain_graph=True)
        assert len(told) == n * len(told[: len(told) // n]) and len(told) % n == 0


@pytest.mark.parametrize("name, more", [("max_pool2d", (2,)), ("avg_pool2d", (2,)), ("group_norm", (2,))])
def test_what_is_computed_on_row_major_copies_is_replayed_whole(name, more):
    """A definition that copies its argument and calls its own op again comes to the op's native kernel."""
    op, given = registry[name], torch.rand(2, 4, 6, 6).to(memory_format=torch.channels_last)
    level, _ = replay.traced(op, lambda inputs: op(*inputs, *more), [given])
    assert op in [node.target for node in level.graph.nodes]


def test_a_kernel_that_refuses_zeros_is_replayed_natively(monkeypatch):
    p = torch.full((8, 8), 0.5)
    first = [torch.multinomial(p, 4) for _ in range(6)]
    called = []
    monkeypatch.setattr(registry["multinomial_philox"], "kernel_fn", lambda *args: called.append(args))
    again = [torch.multinomial(p[:7], 4) for _ in range(6)]  # learned anew
    assert not called and all(len(set(row)) == 4 for t in (*first, *again) for row in t.tolist())


def test_numbers_beside_a_condition_are_of_the_dtype_of_what_they_stand_beside():
    keep = torch.tensor([True, False])
    for _ in range(12):  # noted after some calls
        for dtype in (torch.complex64, torch.complex128, torch.float32, torch.int64):
            x = torch.zeros(2, dtype=dtype)
            assert torch.where(keep, 10, x).tolist() == [10, 0] and x.masked_fill_(keep, 7).tolist() == [7, 0]


def test_what_a_loss_warns_of_leaves_its_values_to_be_replayed(replay_after):
    replay_after(2)
    x, target = torch.randn(4, 5), torch.rand(4, 5)
    with pytest.warns(UserWarning, match="reduction: 'mean' divides"):
        for _ in range(6):
            found = torch.nn.functional.kl_div(x, target)
        _native.python_entries(True)
        torch.nn.functional.kl_div(x, target)
        told = _native.python_entries(True)
    assert set(told) <= {"kl_div"}
    assert abs((target * (target.log() - x)).mean() - found) < 1e-6


WRITERS = {
    "gather": lambda x: x.gather(1, torch.arange(300 * 5).view(300, 5) % 300),
    "index": lambda x: x[torch.tensor([4, 0, 4, 299])],
    "index columns": lambda x: x[:, torch.tensor([1, 7, 1])],
    "index_select": lambda x: x.index_select(0, torch.tensor([3, 3, 1])),
    "sort": lambda x: x.sort(1).values,
    "nll_loss": lambda x: torch.nn.functional.nll_loss(x, torch.arange(300) % 7),
}


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float64))
@pytest.mark.parametrize("name", WRITERS)
def test_zeros_that_gradients_are_put_into_are_one_element(name, dtype, replay_after, monkeypatch):
    started, start = [], replay._Writer.start
    monkeypatch.setattr(replay._Writer, "start", lambda self, node: (found := start(self, node)) and started.append(node) or found)
    x = torch.randn(300, 300).to(dtype).requires_grad_()
    y = WRITERS[name](x)
    g = torch.rand(y.shape).to(dtype)
    expected = torch.autograd.grad(y, x, g, retain_graph=True)
    replay_after(1)
    for _ in range(3):
        found = torch.autograd.grad(y, x, g, retain_graph=True)
        same(found, expected)
        assert found[0].is_contiguous()
    assert [node.target.name for node in started] == ["full"]


@pytest.mark.parametrize("name", ("eq", "ne"))
def test_complex_numbers_are_compared_with_numbers_as_they_are(name, replay_after):
    replay_after(1)
    z = torch.tensor([0.5 + 0j, 2 + 0j, 1j, 1 + 0j])
    for number, equal in ((0.5, [True, False, False, False]), (2, [False, True, False, False]), (1j, [False, False, True, False])):
        for _ in range(4):
            assert registry[name](z, number).tolist() == [e is (name == "eq") for e in equal]
            assert registry[name](z[2], number).item() is (equal[2] is (name == "eq"))
