"""Small programs over tensors for test_programs: each a function and a maker of its arguments for a size."""

# ruff: noqa: E501, B018, UP031, B009
from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import math
import random

import aten
import weft
from aten.autograd import enable_grad, no_grad
from weft import nn
from weft.nn import functional as F


def t(*sizes, requires_grad=False, shift=1.0):
    """A tensor of distinct small numbers."""
    n = math.prod(sizes)
    x = aten.arange(n, dtype=aten.float32).reshape(*sizes) / 7 - shift
    return x.requires_grad_() if requires_grad else x


SCALE = 3.0
COUNTER = 0


class MLP(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(n, n) for _ in range(3)])
        self.norm = nn.LayerNorm(n)
        self.act = nn.Sequential(nn.GELU(), nn.Linear(n, 2))
        self.scale = 2.0

    def forward(self, x, flip=False):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) + x * i
        x = self.act(self.norm(x)) * self.scale
        return -x if flip else x


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", aten.zeros(()))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.seen.add_(1)
        self.last = x * self.calls
        return self.last + self.seen


@dataclasses.dataclass
class Output:
    loss: object
    logits: object = None


class Cache:
    def __init__(self):
        self.keys = []

    def append(self, k):
        self.keys.append(k)
        return aten.cat(self.keys, 0)


@contextlib.contextmanager
def doubled(box):
    box.append("in")
    try:
        yield 2
    finally:
        box.append("out")


def scaled(fn=None, *, by=2):
    def decorate(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs) * by

        return inner

    return decorate if fn is None else decorate(fn)


@scaled(by=3)
def tripled(x, *, plus=0):
    return x + plus


def f_pointwise(x, y):
    return (x + y * SCALE).sigmoid() - x / 2


def f_kwargs(x, *args, scale=2, **kw):
    return x * scale + sum(args) + kw.get("bias", 0)


def f_views(x):
    b, n = x.shape
    y = x.view(b * n).reshape(n, b)
    return y.transpose(0, 1), x.unsqueeze(0).expand(2, b, n), x.flatten()[: n // 2], x.permute(1, 0).contiguous()


def f_shapes(x):
    n = x.shape[0]
    return aten.zeros(n, 2) + n, x.sum() / n, n * 2, x.size(-1), f"{x.ndim}"


def f_branch_on_shape(x):
    if x.shape[0] % 2 == 0:
        return x[: x.shape[0] // 2]
    return x * 2


def f_break_print(x):
    y = x * 2
    print("in the middle")
    return y + x


def f_break_item(x):
    s = x.sum().item()
    return x * s


def f_break_branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def f_break_loop(x):
    for i in range(3):
        x = x + i
        if x.sum() > 1e6:
            break
    return x


def f_break_in_call(x):
    def inner(v):
        v = v * 2
        print("inner")
        return v + 1

    return inner(x) + inner(x + 1)


def f_break_with(x):
    with no_grad():
        y = x * 2
        print("inside")
        z = y + 1
    return z * x


def f_break_try(x):
    try:
        y = x + 1
        print("try")
        y = y.reshape(7, 11, 13)
    except RuntimeError:
        y = x - 1
    finally:
        x = x * 2
    return y + x


def f_break_between_comprehensions(x):
    for _ in range(2):
        try:
            y = sum([v * 0.1 for v in x.unbind(0)], x[0])
            print("between")
        except ValueError:
            x = x + 1
        y = sum([v * 0.2 for v in x.unbind(0)], y)
    return y


def f_inplace_input(x):
    x.add_(1)
    x[0] = 5
    return x * 2


def f_list_result(x):
    out = []
    for i in range(3):
        out.append(x * i)
    return out, {"a": out[0], "b": (x, 3)}


def f_mutates_list(x, box):
    box.append(x * 2)
    box[0] = x + 1
    return len(box)


def f_mutates_dict(x, d):
    d["new"] = x * 2
    d["old"] = d["old"] + x
    return d["new"] - 1


def f_global(x):
    global COUNTER
    COUNTER += 1
    return x * 2


def f_closure(x):
    total = x

    def add(v):
        nonlocal total
        total = total + v

    for v in x:
        add(v.sum())
    return total


def f_returns_closure(x):
    y = x * 2
    return lambda z: z + y


def f_comprehension(x):
    rows = [r * i for i, r in enumerate(x)]
    return aten.stack(rows), {i: r.sum() for i, r in enumerate(rows)}


def f_no_grad(x):
    y = x * 2
    with no_grad():
        z = y * 3
        with enable_grad():
            w = y + 1
    return y, z, w


def f_dataclass(x):
    out = Output(loss=(x * x).mean())
    out.logits = x + out.loss
    return out.logits, Output(x * 2).loss


def f_dataclass_result(x):
    return Output(loss=x.sum(), logits=x)


def f_namedtuple(x):
    Point = collections.namedtuple("Point", "a b")
    p = Point(x, b=x + 1)
    return p.a + p.b


def f_context_manager(x):
    box = []
    with doubled(box) as k:
        x = x * k
    return x, box


def f_decorated(x):
    return tripled(x, plus=1)


def f_assert(x):
    assert x.ndim == 2, "two dimensions"
    return x.relu()


def f_shape_error_caught(x):
    try:
        return x @ x.reshape(-1)[:-1]
    except RuntimeError:
        return x - 1


def f_generator(x):
    def rows(v):
        for i in range(v.shape[0]):
            yield v[i] * i

    return sum(rows(x)), max(i for i in range(3))


def f_star(x):
    first, *rest = x.unbind(0)
    a, b = (first, rest[0]) if rest else (first, first)
    return a * b, len(rest)


def f_zip(xs, ys):
    return [a * b for a, b in zip(xs, reversed(ys))]


def f_module(m, x):
    return m(x).sum()


def f_identity(x, y):
    return x, y + 1, x is y


def f_walrus(x):
    if (n := x.shape[0]) > 2:
        return x * n
    return x


def f_while(x):
    i = 0
    while i < 3:
        x = x * 2
        i += 1
    return x


def f_sorted(xs):
    return [k for k, _ in sorted(enumerate(xs), key=lambda p: -p[0])], xs[0] + 1


def f_partial(x):
    f = functools.partial(aten.add, x)
    return f(x), list(map(lambda v: v * 2, x.unbind(0)))


def f_type_dispatch(x):
    if isinstance(x, aten.Tensor) and hasattr(x, "shape") and not isinstance(x, (list, tuple)):
        return getattr(x, "relu")()
    return None


def f_math(x):
    return x * math.sqrt(x.shape[-1]) + math.pi, math.floor(x.shape[0] / 2)


def f_random_module(x):
    return x * random.Random(0).random()


def f_compiling(x):
    return x + 1 if weft.compiler.is_compiling() else x + 1


def f_cache(c, x):
    return c.append(x) * 2


def f_softmax_attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    mask = aten.tril(aten.ones(q.shape[0], q.shape[0], dtype=aten.bool))
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


PROGRAMS = [
    (f_pointwise, lambda n: (t(n, 3), t(n, 3))),
    (f_kwargs, lambda n: (t(n), 1, 2)),
    (f_views, lambda n: (t(n, 4),)),
    (f_shapes, lambda n: (t(n, 2),)),
    (f_branch_on_shape, lambda n: (t(n, 2),)),
    (f_break_print, lambda n: (t(n),)),
    (f_break_item, lambda n: (t(n),)),
    (f_break_branch, lambda n: (t(n),)),
    (f_break_loop, lambda n: (t(n),)),
    (f_break_in_call, lambda n: (t(n),)),
    (f_break_with, lambda n: (t(n, requires_grad=True),)),
    (f_break_try, lambda n: (t(n),)),
    (f_break_between_comprehensions, lambda n: (t(n),)),
    (f_inplace_input, lambda n: (t(n, 2),)),
    (f_list_result, lambda n: (t(n),)),
    (f_mutates_list, lambda n: (t(n), [1])),
    (f_mutates_dict, lambda n: (t(n), {"old": t(n)})),
    (f_global, lambda n: (t(n),)),
    (f_closure, lambda n: (t(n, 2),)),
    (f_comprehension, lambda n: (t(n, 2),)),
    (f_no_grad, lambda n: (t(n, requires_grad=True),)),
    (f_dataclass, lambda n: (t(n),)),
    (f_dataclass_result, lambda n: (t(n),)),
    (f_namedtuple, lambda n: (t(n),)),
    (f_context_manager, lambda n: (t(n),)),
    (f_decorated, lambda n: (t(n),)),
    (f_assert, lambda n: (t(n, 2),)),
    (f_shape_error_caught, lambda n: (t(n, 3),)),
    (f_generator, lambda n: (t(n, 2),)),
    (f_star, lambda n: (t(n, 2),)),
    (f_zip, lambda n: ([t(n), t(n)], [t(n), t(n) + 1])),
    (f_module, lambda n: (MLP(), t(n, 4))),
    (f_module, lambda n: (Counter(), t(n, 4))),
    (f_identity, lambda n: (t(n), t(n))),
    (f_walrus, lambda n: (t(n),)),
    (f_while, lambda n: (t(n),)),
    (f_sorted, lambda n: ([t(n), t(n), t(n)],)),
    (f_partial, lambda n: (t(n, 2),)),
    (f_type_dispatch, lambda n: (t(n),)),
    (f_math, lambda n: (t(n, 4),)),
    (f_random_module, lambda n: (t(n),)),
    (f_compiling, lambda n: (t(n),)),
    (f_cache, lambda n: (Cache(), t(n))),
    (f_softmax_attention, lambda n: (t(n, 4), t(n, 4), t(n, 4))),
]
