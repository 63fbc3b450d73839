"""Calls with history that are replayed give the bits, layouts, Nodes and gradients of those that go through Python."""

import pytest

import weft as torch
from aten import _native
from aten.op import registry
from tests.aten.test_replay import entries, flat, same
from tests.samples.inputs import names, samples


@pytest.fixture(autouse=True)
def replay_after():
    before = _native.replay_after(0)
    yield _native.replay_after
    _native.replay_after(before)


def requiring(value):
    """The same arguments, with float tensors that require grad, and those."""
    if isinstance(value, torch.Tensor):
        if value.dtype.is_floating_point or value.dtype.is_complex:
            made = value.detach().requires_grad_()
            return made, [made]
        return value, []
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        pairs = [requiring(v) for v in value]
        return type(value)(p[0] for p in pairs), [t for p in pairs for t in p[1]]
    return value, []


def nodes(value):
    """The graph behind a result, in names and what each Node has saved."""
    seen, found, waiting = set(), [], [value.grad_fn]
    while waiting:
        node = waiting.pop(0)
        if node is None or node in seen:
            found.append(None if node is None else node.name())
            continue
        seen.add(node)
        found.append((node.name(), len(node.next_functions)))
        waiting += [n for n, _ in node.next_functions]
    return found


def outcome(op, args, kwargs):
    (args, of_args), (values, of_kwargs) = requiring(args), requiring(list(kwargs.values()))
    asked = of_args + of_kwargs
    results = [r for r in flat(op(*args, **dict(zip(kwargs, values)))) if isinstance(r, torch.Tensor)]
    graphs = [(r.requires_grad, r.is_leaf, nodes(r)) for r in results]
    outputs = [r for r in results if r.requires_grad]
    found = []
    if outputs and asked:
        found = [
            g
            for g in torch.autograd.grad([(o.abs() if o.dtype.is_complex else o).sum() for o in outputs], asked, allow_unused=True)
        ]
    return results, graphs, found


CASES = [n for n in names() if "random" not in registry[n].tags and registry[n].kind != "inplace"]


@pytest.mark.parametrize("name", CASES)
def test_the_samples_of_an_op_replayed_with_history(name, replay_after):
    for args, kwargs in list(samples(name))[:4]:
        replay_after(0)
        try:
            expected = outcome(registry[name], args, kwargs)
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            continue
        replay_after(1)
        for _ in range(2):
            found = outcome(registry[name], args, kwargs)
            assert found[1] == expected[1]
            same([r.detach() for r in found[0]], [r.detach() for r in expected[0]])
            same([g if g is None else g.detach() for g in found[2]], [g if g is None else g.detach() for g in expected[2]])


F = torch.nn.functional
INDEX = torch.arange(4)
CALLS = {
    "conv2d": lambda x, w: F.conv2d(x.view(1, 2, 4, 4), w.view(4, 2, 2, 2)),
    "conv_transpose2d": lambda x, w: F.conv_transpose2d(x.view(1, 2, 4, 4), w.view(2, 4, 2, 2)),
    "cross_entropy": lambda x, w: F.cross_entropy(x.view(4, 8), INDEX),
    "batch_norm": lambda x, w: F.batch_norm(x.view(4, 8), None, None, training=True),
    "group_norm": lambda x, w: F.group_norm(x.view(2, 4, 4), 2),
    "pad": lambda x, w: F.pad(x.view(4, 8), (1, 1)),
    "interpolate": lambda x, w: F.interpolate(x.view(1, 2, 4, 4), scale_factor=2.0, mode="bilinear"),
    "adaptive_avg_pool2d": lambda x, w: F.adaptive_avg_pool2d(x.view(1, 2, 4, 4), 2),
    "glu": lambda x, w: F.glu(x),
    "max with places": lambda x, w: x.view(4, 8).max(1).values,
    "sort": lambda x, w: x.sort().values,
    "stack": lambda x, w: torch.stack([x, w], 1),
    "cosine_similarity": lambda x, w: F.cosine_similarity(x.view(4, 8), w.view(4, 8)),
    "addcmul": lambda x, w: torch.addcmul(x, x, w, value=2),
    "median": lambda x, w: x.median(),
    "norm": lambda x, w: x.norm(3),
    "eigvalsh": lambda x, w: torch.linalg.eigvalsh(x[:16].view(4, 4)),
    "rrelu": lambda x, w: F.rrelu(x, training=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_history_enters_python_no_more(name, replay_after):
    x, w = torch.arange(32.0).sin().requires_grad_(), torch.arange(32.0).cos().requires_grad_()
    torch.manual_seed(1)
    expected = CALLS[name](x, w)
    replay_after(3)
    for _ in range(4):
        CALLS[name](x, w)
    torch.manual_seed(1)
    made = []
    assert not entries(lambda: made.append(CALLS[name](x, w)))
    same(made[0].detach(), expected.detach())
    assert nodes(made[0]) == nodes(expected)


def test_which_tensors_require_grad_tells_calls_apart(replay_after):
    replay_after(1)
    x, w = torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2)
    for of_x, of_w in ((True, False), (False, True), (True, True), (False, False)) * 2:
        out = F.conv2d(x.detach().requires_grad_(of_x), w.detach().requires_grad_(of_w))
        assert out.requires_grad is (of_x or of_w)
        if out.requires_grad:
            assert [n is not None for n, _ in out.grad_fn.next_functions][:2] == [of_x, of_w]
        with torch.no_grad():
            assert not F.conv2d(x.detach().requires_grad_(of_x), w).requires_grad


def test_what_is_written_after_it_was_kept_is_noticed(replay_after):
    replay_after(1)
    for _ in range(2):
        x, w = torch.rand(1, 2, 4, 4, requires_grad=True), torch.rand(3, 2, 2, 2)
        out = F.conv2d(x * 1, w)
        w.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_hooks_on_what_is_kept_are_asked(replay_after):
    replay_after(1)
    x = torch.rand(2, 4, 4, requires_grad=True)
    plain = F.group_norm(x, 2)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape) or t, lambda t: t):
        hooked = F.group_norm(x, 2)
    assert kept and torch.equal(plain, hooked)
    assert torch.equal(torch.autograd.grad(plain.sum(), x)[0], torch.autograd.grad(hooked.sum(), x)[0])


def test_a_mean_of_numbers_keeps_the_layout_of_its_gradient():
    """nansum has a Node of its own, in a program as well."""
    x, g = torch.randn(3, 8, 64, requires_grad=True), torch.randn(1, 8, 3).permute(2, 1, 0)
    strides = set()
    _native.replay_after(3)
    for _ in range(12):
        made = torch.nanmean(x, dim=2, keepdim=True)
        assert "Nansum" in type(made.grad_fn.next_functions[0][0]).__name__
        strides.add(torch.autograd.grad(made, x, g)[0].stride())
    assert len(strides) == 1
