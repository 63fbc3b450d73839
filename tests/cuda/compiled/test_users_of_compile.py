"""Compiled programs on a device and on the CPU."""

from __future__ import annotations

import warnings

import pytest

import weft
from tests.cuda.compiled.as_on_cpu import same
from tests.cuda.compiled.programs import Programs, seq

nn, F = weft.nn, weft.nn.functional
program = Programs()


@program
def compiled_sizes(d):
    f = weft.compile(lambda x, w: F.softmax(x @ w, -1).cumsum(0), dynamic=True, fullgraph=True)
    return [f(seq(d, n, 4), seq(d, 4, 3)) for n in (2, 5, 1, 17)]


@program
def compiled_with_breaks(d):
    def f(x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        print(end="")
        return y.relu()

    c = weft.compile(f)
    return [c(seq(d, 4)), c(-seq(d, 4) - 9), c(seq(d, 5) + 9)]


@program
def compiled_writes(d):
    def f(x, y):
        x.mul_(2)
        y[1:] = x[:-1]
        return x + y

    x, y = seq(d, 4), weft.zeros(4, device=d)
    return [weft.compile(f)(x, y), x, y]


@program
def compiled_functional(d):
    f = weft.compile(lambda x: weft.func.grad(lambda x: (x.sin() ** 2).sum())(x))
    g = weft.compile(lambda x: weft.vmap(lambda r: r.softmax(0) @ r)(x))
    return [f(seq(d, 4)), g(seq(d, 3, 4))]


@program
def compiled_control_flow(d):
    f = weft.compile(lambda x: weft.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)))
    return [f(seq(d, 4)), f(-seq(d, 4))]


@program
def compiled_unfold_of_an_empty_batch(d):
    f = weft.compile(lambda x: F.unfold(x, 2), dynamic=False)
    x = weft.zeros(0, 3, 4, 4, device=d, requires_grad=True)
    y = f(x)
    return [y, y.requires_grad, y.grad_fn is not None, *weft.autograd.grad(y.sum(), x)]


@program
def compiled_host_op(d):
    f = weft.compile(lambda a: weft.linalg.solve(a @ a.mT + 3 * weft.eye(3, device=a.device), a).sum() * 2)
    x = seq(d, 3, 3).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = f(x)
        return [y, *weft.autograd.grad(y, x)]


@program
def exported(d):
    class Net(nn.Module):
        def forward(self, x):
            return x.relu() @ x.T

    return weft.export.export(Net(), (seq(d, 3, 4),)).module()(seq(d, 3, 4))


@program
def compiled_errors(d):
    return weft.compile(lambda x, y: x @ y)(seq(d, 2, 3), seq(d, 2, 3))


@program
def compiled_dtypes(d):
    f = weft.compile(lambda x: (x * 2 + 1).relu().sum(-1))
    return [f(seq(d, 3, 5, dtype=t)) for t in (weft.float16, weft.bfloat16, weft.float64, weft.int32, weft.int64)]


@program
def compiled_layouts(d):
    f = weft.compile(lambda x: (x * 2).permute(1, 0).contiguous() + x.T)
    return [f(seq(d, 3, 4)), f(seq(d, 4, 3).T), f(seq(d, 6, 8)[::2, ::2])]


@pytest.mark.parametrize("name", program)
def test_as_on_the_cpu(cuda, name):
    same(program[name])
