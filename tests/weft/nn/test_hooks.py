"""Hooks of modules: their order, what they may replace, hooks for all modules, and all of it compiled."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import weft as torch
from weft import nn
from weft.nn.modules import module as M


def test_the_order_of_all_kinds():
    seen = []
    layer = nn.Linear(2, 2)
    handles = [
        M.register_module_forward_pre_hook(lambda m, a: seen.append("every pre")),
        M.register_module_forward_hook(lambda m, a, o: seen.append("every post")),
        M.register_module_full_backward_pre_hook(lambda m, g: seen.append("every back pre")),
        M.register_module_full_backward_hook(lambda m, gi, go: seen.append("every back")),
    ]
    layer.register_forward_pre_hook(lambda m, a: seen.append("pre 2"))
    layer.register_forward_pre_hook(lambda m, a: seen.append("pre 1"), prepend=True)
    layer.register_forward_hook(lambda m, a, o: seen.append("post 2"))
    layer.register_forward_hook(lambda m, a, o: seen.append("post 1"), prepend=True)
    layer.register_full_backward_pre_hook(lambda m, g: seen.append("back pre"))
    layer.register_full_backward_hook(lambda m, gi, go: seen.append("back 2"))
    layer.register_full_backward_hook(lambda m, gi, go: seen.append("back 1"), prepend=True)
    try:
        layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
        M.every.backward_is_full = None
    assert seen == [
        "every pre", "pre 1", "pre 2", "every post", "post 1", "post 2",
        "every back pre", "back pre", "every back", "back 1", "back 2",
    ]  # fmt: skip
    assert not M.every.calls


def test_hooks_with_kwargs_replace_arguments_and_results():
    class Scale(nn.Module):
        def forward(self, x, *, by=1.0):
            return x * by

    scale = Scale()
    first = scale.register_forward_pre_hook(lambda m, a, k: (a, {"by": k["by"] * 2}), with_kwargs=True)
    scale.register_forward_hook(lambda m, a, k, o: o + k["by"], with_kwargs=True)
    assert scale(torch.ones(1), by=3.0).item() == 12.0
    first.remove()
    assert scale(torch.ones(1), by=3.0).item() == 6.0
    assert not scale._forward_pre_hooks and not scale._forward_pre_hooks_with_kwargs
    scale.register_forward_pre_hook(lambda m, a, k: a, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        scale(torch.ones(1), by=1.0)


def test_always_called_hooks_run_after_errors_and_theirs_are_warnings():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    module, seen = Fails(), []
    module.register_forward_hook(lambda m, a, o: seen.append(o), always_call=True)
    module.register_forward_hook(lambda m, a, o: seen.append("never"))
    module.register_forward_hook(lambda m, a, o: 1 / 0, always_call=True)
    with pytest.raises(ValueError, match="no"), pytest.warns(UserWarning, match="silenced as another error"):
        module(torch.ones(1))
    assert seen == [None]


def test_full_backward_hooks_see_and_replace_gradients():
    layer, seen = nn.Linear(3, 2), []
    layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].clone(), go[0].clone())))
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0 + 5,))
    x = torch.randn(4, 3, requires_grad=True)
    layer(x).sum().backward()
    assert torch.equal(seen[0][1], torch.full((4, 2), 2.0))
    assert torch.allclose(seen[0][0], (torch.full((4, 2), 2.0) @ layer.weight).detach()) and (x.grad == 5).all()
    layer.register_full_backward_hook(lambda m, gi, go: (None, None))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        layer(x).sum().backward()
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        layer.register_backward_hook(lambda *a: None)


def test_full_backward_hooks_without_inputs_that_need_gradients():
    layer, seen = nn.Linear(3, 2), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, tuple(go[0].shape))))
    layer(torch.randn(4, 3)).sum().backward()
    assert seen == [((None,), (4, 2))]
    layer.register_full_backward_hook(lambda m, gi, go: (torch.ones(4, 3),))
    with pytest.raises(RuntimeError, match="should always return None"):
        layer(torch.randn(4, 3)).sum().backward()


def test_forward_hooks_come_before_the_gradients_are_watched():
    """What a forward hook makes of the result is inside: the backward hook sees the gradient of what the call returned."""
    layer, seen = nn.Identity(), []
    layer.register_forward_hook(lambda m, a, o: o * 3)
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].item(), go[0].item())))
    layer(torch.ones(1, requires_grad=True)).sum().backward()
    assert seen == [(3.0, 1.0)]


def test_old_backward_hooks_are_of_the_last_op():
    layer, seen = nn.Linear(3, 2), []
    layer.register_backward_hook(lambda m, gi, go: seen.append(tuple(go[0].shape)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer(torch.randn(4, 3)).sum().backward()
    assert seen == [(4, 2)]
    with pytest.raises(RuntimeError, match="Cannot use both"):
        layer.register_full_backward_hook(lambda *a: None)


def test_hooks_on_registration_replace_what_is_filed():
    handles = [
        M.register_module_parameter_registration_hook(lambda m, n, p: nn.Parameter(p.detach() * 2) if n == "w" else None),
        M.register_module_buffer_registration_hook(lambda m, n, b: b + 1),
        M.register_module_module_registration_hook(lambda m, n, s: nn.Identity() if isinstance(s, nn.ReLU) else None),
    ]
    try:
        module = nn.Module()
        module.w = nn.Parameter(torch.ones(1))
        module.register_buffer("b", torch.zeros(1))
        module.relu = nn.ReLU()
        module.add_module("again", nn.ReLU())
    finally:
        for handle in handles:
            handle.remove()
    assert module.w.item() == 2 and module.b.item() == 1
    assert type(module.relu) is type(module.again) is nn.Identity
    module.relu = nn.ReLU()
    assert type(module.relu) is nn.ReLU


def _double(module, args, output):
    return output * 2


def test_handles_are_pickled_and_copied_with_their_hooks():
    layer = nn.Identity()
    handle = layer.register_forward_hook(_double)
    layer.handle = handle
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other(torch.ones(1)).item() == 2
        other.handle.remove()
        assert other(torch.ones(1)).item() == 1 and layer(torch.ones(1)).item() == 2
    with handle:
        pass
    assert layer(torch.ones(1)).item() == 1


def test_backward_hooks_run_in_python_between_graphs(fresh):
    layer, seen = nn.Linear(3, 3), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].sum().item()) or (gi[0] * 3,))
    module = nn.Sequential(layer, nn.Tanh())
    x, y = (torch.ones(2, 3).requires_grad_() for _ in range(2))
    module(x).sum().backward()
    torch.compile(module, backend="eager")(y).sum().backward()
    assert torch.allclose(x.grad, y.grad) and seen[0] == pytest.approx(seen[1])
    with pytest.raises(torch._dynamo.Unsupported, match="depends on that of another"):
        torch.compile(module, backend="eager", fullgraph=True)(y)


@pytest.mark.parametrize("place", ["outer", "inner"])
def test_hooks_are_captured(fresh, place):
    layer = nn.Linear(3, 3)
    layer.register_forward_pre_hook(lambda m, a, k: ((a[0] + 1,), k), with_kwargs=True)
    layer.register_forward_hook(lambda m, a, o: o * 2, always_call=True)
    module = layer if place == "outer" else nn.Sequential(layer, nn.Tanh())
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    x, y = (torch.ones(2, 3).requires_grad_() for _ in range(2))
    module(x).sum().backward()
    compiled(y).sum().backward()
    assert torch.allclose(module(x), compiled(y)) and torch.allclose(x.grad, y.grad)


def test_hooks_for_all_modules_reach_what_is_compiled(fresh):
    module = nn.Sequential(nn.ReLU())
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    x = torch.ones(2)
    assert compiled(x).tolist() == [1, 1]
    handle = M.register_module_forward_hook(lambda m, a, o: o + 1)
    try:
        assert compiled(x).tolist() == module(x).tolist() == [3, 3]
    finally:
        handle.remove()
    assert compiled(x).tolist() == [1, 1]
