"""Random programs of views and in-place ops: what aot makes of them is what eager does."""

import random

import pytest

import aten
import aten.autograd
from aten import aot
from aten.symbolic.expr import evaluate
from tests.aten.aot.test_aot import R, capture, check, close, interpret, loss, run


class Program:
    """A list of steps on a pool of tensors, drawn from a seed; the same steps for every call."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.steps = []
        sizes = [(4, 6), (4, 6), (6,)]
        views = [None, None, None]  # the pool entry each one views
        for _ in range(rng.randint(3, 10)):
            i = rng.randrange(len(sizes))
            s = sizes[i]
            kind = rng.choice(["view", "view", "write", "write", "pointwise", "binary", "reduce"])
            if kind == "view" and s:
                op, new = self._view(rng, s)
                self.steps.append((op, i))
                sizes.append(new)
                views.append(i)
            elif kind == "write":
                self.steps.append((rng.choice(WRITES), i))
            elif kind == "binary":
                j = rng.choice([j for j, t in enumerate(sizes) if t == s])
                self.steps.append((rng.choice(BINARY), i, j))
                sizes.append(s)
                views.append(None)
            elif kind == "reduce" and s:
                d = rng.randrange(len(s))
                self.steps.append((lambda x, d=d: x.sum(d), i))
                sizes.append(s[:d] + s[d + 1 :])
                views.append(None)
            else:
                self.steps.append((rng.choice(UNARY), i))
                sizes.append(s)
                views.append(None)
        self.results = rng.sample(range(len(sizes)), min(len(sizes), rng.randint(1, 4)))

    def _view(self, rng, s):
        d = rng.randrange(len(s))
        choices = [(lambda x, d=d: x.select(d, x.shape[d] - 1), s[:d] + s[d + 1 :])]
        if s[d] > 2:
            choices.append((lambda x, d=d: x.narrow(d, 1, x.shape[d] - 2), s[:d] + (s[d] - 2,) + s[d + 1 :]))
            choices.append((lambda x, d=d: aten.slice(x, d, 0, None, 2), s[:d] + ((s[d] + 1) // 2,) + s[d + 1 :]))
        if len(s) == 2:
            choices.append((lambda x: x.t(), (s[1], s[0])))
        choices.append((lambda x: x.unsqueeze(0), (1, *s)))
        return rng.choice(choices)

    def __call__(self, *inputs):
        pool = list(inputs)
        for op, *which in self.steps:
            out = op(*[pool[i] for i in which])
            if out is not None:
                pool.append(out)
        return tuple(pool[i] for i in self.results)


def _write(fn):
    def step(x):
        fn(x)

    return step


WRITES = [
    _write(lambda x: x.add_(1.5)),
    _write(lambda x: x.mul_(0.5)),
    _write(lambda x: x.sin_()),
    _write(lambda x: x.zero_()),
    _write(lambda x: x.copy_(x.cos())),
]
UNARY = [lambda x: x.exp() * 0.1, lambda x: x * 2, lambda x: x.tanh(), lambda x: x.detach() + x]
BINARY = [lambda x, y: x * y, lambda x, y: x + y, lambda x, y: x - y * 0.5]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    aten._native.manual_seed(seed)
    inputs = [R(4, 6), R(4, 6), R(6)]
    which = random.Random(seed + 1000)
    for x in inputs:
        x.requires_grad_(which.random() < 0.5)
    program = Program(seed)
    if not differentiable(program, inputs):
        inputs = [x.detach() for x in inputs]
    check(program, *inputs, nonleaf=True)


def differentiable(program, inputs):
    """Whether eager can: a value that its backward needs may have been written."""
    leaves, _, results = run(program, inputs, True)
    total = loss(results)
    if not isinstance(total, aten.Tensor):
        return True
    try:
        grads = aten.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        squares = [(g * g).sum() for g in grads if g is not None and g.requires_grad]
        if squares:
            aten.autograd.grad(sum(squares), leaves, allow_unused=True)
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
        return False
    return True


@pytest.mark.parametrize("seed", range(60))
def test_other_sizes(seed):
    """What was compiled for one size answers for every other that the guards let through."""
    program = Program(seed)
    example = [R(4, 6), R(4, 6), R(6)]
    gm = capture(program, [x.clone() for x in example])
    compiled = aot.compile(gm, example, interpret)
    for rows, columns in ((5, 8), (3, 3), (9, 4)):
        values = {"s0": rows, "s1": columns}
        if not all(evaluate(g.expr, values) for g in gm.shape_env.guards):
            continue
        inputs = [R(rows, columns), R(rows, columns), R(columns)]
        ours, theirs = ([x.clone() for x in inputs] for _ in range(2))
        for a, b in zip(compiled(*ours), program(*theirs)):
            close(a, b)
            assert a.stride() == b.stride()
        for a, b in zip(ours, theirs):
            close(a, b)
