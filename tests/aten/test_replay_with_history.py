"""Calls with history that are replayed give the bits, layouts, Nodes and gradients of those that go through Python."""

import numpy as np
import pytest

import weft as torch
from aten import _native
from aten.op import registry
from tests.aten.test_replay import CALLS, entries, flat, same
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
        found = [g for g in torch.autograd.grad([(o.abs() if o.dtype.is_complex else o).sum() for o in outputs], asked, allow_unused=True)]
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
