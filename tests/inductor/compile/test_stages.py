"""Graphs of which some sizes are known only once a part has run are compiled in stages."""

import pytest

import weft
from aten.aot import stages


@pytest.fixture
def made(monkeypatch):
    """The stages that are made."""
    found = []
    init = stages.Stage.__init__

    def noted(self, *args):
        init(self, *args)
        found.append(self)

    monkeypatch.setattr(stages.Stage, "__init__", noted)
    return found


def same(function, *calls, **options):
    compiled = weft.compile(function, fullgraph=True, **options)
    for args in calls:
        mine = [a.clone() for a in args]
        yours = [a.clone() for a in args]
        weft.testing.assert_close(compiled(*mine), function(*yours))
        weft.testing.assert_close(mine, yours)


def masked(x, m):
    y = (x * 2 + 1).relu()
    s = y[m]
    return s.sin() * s.exp() + s.sum(), y


def test_what_lies_between_is_compiled_once_for_all_sizes(made):
    calls = [(x := weft.randn(n), x > 0) for n in (7, 5, 1, 30)]
    calls.append((weft.randn(4), weft.zeros(4) > 0))  # (a size that is known and 0 would be compiled for itself)
    same(masked, *calls, dynamic=True)
    assert [len(s.variants) for s in made] == [1, 1]
    assert [guards for s in made for _, guards, _ in s.variants] == [[], []]


def test_what_a_stage_takes_for_granted_is_asked_at_each_call(made):
    """Numbers that a stage is compiled for others of are found by its guards, or come to it by ops."""
    function = lambda x, m: x[m].sin().reshape(-1, 2).sum(1) * 2 + 1
    same(function, *[(weft.randn(8), weft.arange(8) < n) for n in (4, 2, 8, 0, 6)])
    with pytest.raises(RuntimeError, match="invalid"):
        weft.compile(function, fullgraph=True)(weft.randn(8), weft.arange(8) < 3)


def test_errors_of_the_program_are_said_by_its_ops():
    compiled = weft.compile(lambda x, m: (x[m] * 2).sin() + weft.ones(5), fullgraph=True)
    with pytest.raises(RuntimeError, match=r"tensor a \(3\) must match the size of tensor b \(5\)"):
        compiled(weft.ones(6), weft.arange(6) < 3)


def test_numbers_of_tensors(made):
    def function(x, n):
        k = n.item()
        weft._check_is_size(k)
        return (weft.zeros(k) + x.sum() * 2).cos() + 1, x[:k].sin() * 2

    same(function, *[(weft.randn(6), weft.tensor(n)) for n in (3, 0, 1, 6)])
    assert made


def test_gradients_pass_through_stages(made):
    x = weft.randn(20, requires_grad=True)
    compiled = weft.compile(lambda x, m: masked(x, m)[0].sum(), fullgraph=True)
    compiled(x, x.detach() > 0).backward()
    other = x.detach().clone().requires_grad_()
    masked(other, other.detach() > 0)[0].sum().backward()
    weft.testing.assert_close(x.grad, other.grad)
    plain = compiled(x.detach(), x.detach() > 0)
    assert not plain.requires_grad


def test_what_writes_memory_of_others_stays_between_stages(made):
    def function(x, m):
        view = x[1:]
        y = x * 2 + 1
        k = weft.nonzero(m)
        x.add_(1)
        z = view * y[1:] + k.sum()
        own = z + 1
        own[0] = 5
        own.mul_(2)
        return own, k * 3 + 1, view

    same(function, *[(weft.randn(n), weft.arange(n) > 2) for n in (5, 8)])
    writers = [n.target.name for s in made for n in s.nodes if getattr(n.target, "name", "").endswith("_")]
    assert "add_" not in writers and "mul_" in writers


def test_a_kernel_that_fails_is_run_by_ops(made):
    def function(x, m, i):
        s = x[m] * 2 + 1
        return x.add_(1), s.sin()[i] * 2

    compiled = weft.compile(function, fullgraph=True)
    x, m = weft.ones(4), weft.ones(4) > 0
    compiled(x, m, weft.tensor([3]))
    with pytest.raises(IndexError, match="out of"):
        compiled(x, m, weft.tensor([4]))
    assert x.tolist() == [3] * 4  # written once a call


def test_random_numbers_are_those_of_eager():
    def function(x, m):
        s = x[m]
        return weft.nn.functional.dropout(s * 2, 0.5) + weft.rand_like(s)

    x = weft.randn(50)
    weft.manual_seed(3)
    expected = function(x, x > 0)
    weft.manual_seed(3)
    weft.testing.assert_close(weft.compile(function, fullgraph=True)(x, x > 0), expected)


def test_a_backend_that_is_called_itself():
    from weft._inductor.compile_fx import compile_fx

    function = lambda x: x.nonzero() * 3 + 1
    x = weft.tensor([0, 1, 2, 0])
    compiled = weft.compile(function, fullgraph=True, backend=lambda gm, inputs: compile_fx(gm, inputs))
    weft.testing.assert_close(compiled(x), function(x))
