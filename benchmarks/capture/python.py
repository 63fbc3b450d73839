"""Programs that use Python: classes, generators, exceptions, context managers, dispatch tables."""

import contextlib
import dataclasses
import functools
import itertools
from collections import OrderedDict, defaultdict, namedtuple

import torch
from torch import nn

from benchmarks.capture import normal, program

Pair = namedtuple("Pair", "mean spread")
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "cube": lambda x: x**3}


@dataclasses.dataclass
class Config:
    width: int = 6
    names: tuple = ("relu", "tanh", "cube")
    scale: float = 0.5

    @property
    def doubled(self):
        return 2 * self.scale


@program(normal(("n", 6), (6, 6)))
def a_config(x, w):
    config = Config(scale=0.25)
    for name in config.names:
        x = ACTIVATIONS[name](x @ w) * config.doubled + x
    return x.reshape(-1, config.width)


@program(normal(("n", 6)))
def named_tuples(x):
    def describe(x):
        return Pair(mean=x.mean(0), spread=x.std(0))

    pair = describe(x)
    again = pair._replace(spread=pair.spread + 1)
    return {"z": (x - again.mean) / again.spread, **again._asdict()}


@program(normal(("n", 8)))
def generators(x):
    def halves(x):
        while x.shape[1] > 1:
            a, b = x.chunk(2, dim=1)
            x = a * b
            yield x

    return [part.sum(0) for part in itertools.islice(halves(x), 3)]


@program(normal(("n", 4)))
def exceptions(x):
    found = {}
    for name in ("a", "b", "c"):
        try:
            scale = {"a": 2.0, "c": 3.0}[name]
        except KeyError as e:
            found[str(e)] = x.sum()
        else:
            found[name] = x * scale
        finally:
            x = x + 1
    return found


@contextlib.contextmanager
def scaled(state, by):
    state.append(by)
    try:
        yield state[-1]
    finally:
        state.pop()


@program(normal(("n", 4)))
def context_managers(x):
    state = [1.0]
    with scaled(state, 2.0) as s, scaled(state, 3.0) as t:
        y = x * s * t * sum(state)
    return y / state[-1]


@program(normal(("n", 4), ("n", 4)))
def partials_and_reduce(x, y):
    blend = functools.partial(torch.lerp, weight=0.3)
    return functools.reduce(blend, [x, y, x * y, x - y])


@program(normal(("n", 4)))
def grouped(x):
    groups = defaultdict(list)
    for i, column in enumerate(x.unbind(1)):
        groups["even" if i % 2 == 0 else "odd"].append(column)
    ordered = OrderedDict(sorted(groups.items(), reverse=True))
    return {k: torch.stack(v).logsumexp(0) for k, v in ordered.items()}


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        for i, p in enumerate(self.parameters()):
            nn.init.constant_(p, 0.1 * (i + 1))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        for i, layer in enumerate(self.layers):
            x = layer(x) if i % 2 else x + torch.sigmoid(layer(x))
        return x


STACK = Stack()


@program(normal(("n", 4)))
def a_module(x):
    return STACK(x)


@program(normal(("n", 4)))
def closures_and_state(x):
    total = 0

    def add(v):
        nonlocal total
        total = total + v
        return total

    running = [add(column) for column in x.T]
    return torch.stack(running, 1), f"{len(running)} columns"
