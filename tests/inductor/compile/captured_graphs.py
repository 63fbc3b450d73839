"""Captured graphs for the tests of the pipeline, written as text."""

import numpy as np

import aten
from aten.fx.graph_module import GraphModule
from aten.fx.reader import parse
from aten.symbolic.shape_env import ShapeEnv


def captured(text, *, attributes=None, lines=(), **hints):
    """A GraphModule as capture makes it: `hints` are the symbols of the call, `lines` the user's line by node name."""
    env = ShapeEnv()
    for name, hint in hints.items():
        env.symbol(name, hint)
    graph = parse(text, env)
    for node in graph.nodes:
        if node.name in dict(lines):
            node.meta["line"] = dict(lines)[node.name]
    return GraphModule(attributes or {}, graph, env)


def f32(*sizes, grad=False, seed=0):
    """A tensor of normal numbers."""
    t = aten.tensor(np.random.default_rng(seed).normal(size=sizes).astype("f4"))
    return t.requires_grad_() if grad else t


GELU = """
def graph(x: "f32[s0, 4] grad", b: "f32[4] grad"):
    add = aten.add(x, b)                  # f32[s0, 4]
    gelu = aten.gelu(add)                 # f32[s0, 4]
    total = aten.sum(gelu, -1)            # f32[s0]
    return (total,)
"""
EVEN = """
def graph(x: "f32[s0, 6]"):
    halves = aten.view(x, [s0 // 2, 12])  # f32[s0 // 2, 12]
    y = aten.mul(halves, 2)               # f32[s0 // 2, 12]
    return (y,)
"""
EMBEDDING = """
def graph(weight: "f32[7, 4]", index: "i64[s0]"):
    rows = aten.embedding(weight, index)  # f32[s0, 4]
    y = aten.mul(rows, 3)                 # f32[s0, 4]
    return (y,)
"""
UPDATE = """
def graph(p: "f32[8]", m: "f32[8]", g: "f32[8]"):
    scaled = aten.mul_(m, 0.9)            # f32[8]
    moved = aten.add_(m, g)               # f32[8]
    step = aten.mul(m, 0.1)               # f32[8]
    done = aten.sub_(p, step)             # f32[8]
    norm = aten.sum(step)                 # f32[]
    return (norm, p)
"""
CACHE = """
def graph(cache: "f32[8, 4]", new: "f32[2, 4]", index: "i64[2]", weight: "f32[9, 4]"):
    rows = aten.embedding(weight, index)  # f32[2, 4]
    grown = aten.add_(cache, 1)           # f32[8, 4]
    late = aten.embedding(weight, index)  # f32[2, 4]
    both = aten.add(rows, late)           # f32[2, 4]
    y = aten.mul(both, new)               # f32[2, 4]
    z = aten.sum(cache)                   # f32[]
    return (y, z)
"""
TABLE = """
def graph(x: "f32[3] grad"):
    table = self.table                    # f32[3]
    y = aten.mul(x, table)                # f32[3]
    return (y,)
"""
HISTORY = """
def graph(x: "f32[4, 6] grad"):
    y = aten.exp(x)                       # f32[4, 6] grad
    v = aten.view(x, [24])                # f32[24] grad
    return (y, v)
"""
DROPOUT = """
def graph(x: "f32[64] grad"):
    h = aten.mul(x, x)                    # f32[64]
    y = aten.dropout(h, 0.5, True)        # f32[64]
    return (y,)
"""
VIEWS = """
def graph(x: "f32[4, 6]"):
    y = aten.exp(x)                       # f32[4, 6]
    t = aten.transpose(y, 0, 1)           # f32[6, 4]{1, 6}
    v = aten.view(x, [24])                # f32[24]
    n = aten.mul(x, 2)                    # f32[4, 6]
    return (y, t, v, x, n, 3, None, "mean")
"""
