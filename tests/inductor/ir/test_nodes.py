"""Nodes and expressions are one object each, in any number of threads, and live no longer than who uses them."""

from __future__ import annotations

import gc
import sys
import threading

import pytest

from aten.symbolic import core
from aten.symbolic.expr import Expr, parse, sym
from inductor.ir import nodes


@pytest.fixture
def many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(n, work):
    out = [None] * n
    barrier = threading.Barrier(n)

    def run(t):
        barrier.wait()
        out[t] = work(t)

    threads = [threading.Thread(target=run, args=(t,)) for t in range(n)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return out


def test_nodes_are_numbered_once_in_a_thread(many_switches):
    def work(t):
        with nodes.fresh_table():
            made = [nodes.load("b", sym("i0") + k % 300, "float32") for k in range(2000)]
            assert all(made[k] is made[k % 300] for k in range(2000))
            return [n.uid for n in made[:300]]

    assert in_threads(4, work) == [list(range(300))] * 4


def test_a_table_ends_with_its_graph():
    with nodes.fresh_table():
        outer = nodes.load("b", 0, "float32")
        with nodes.fresh_table():
            assert nodes.load("c", 1, "float32").uid == 0
        assert nodes.load("b", 0, "float32") is outer
        assert nodes.load("d", 0, "float32").uid == 1


def test_expressions_are_one_object_in_all_threads(many_switches):
    def work(t):
        return [(sym("s0") * (k + 2) + sym(f"s{k % 7}") // 3) % (k + 5) for k in range(400)]

    first, *others = in_threads(4, work)
    assert all(a is b for other in others for a, b in zip(first, other))


def test_expressions_are_forgotten():
    kept = sym("s0") * 3 + 1
    for k in range(2000):
        assert isinstance((sym(f"forgotten{k}") + 1) // 7, Expr)
    gc.collect()
    left = [key for key in list(core._nodes) if any(isinstance(part, str) and part.startswith("forgotten") for part in key)]
    assert len(left) < 200
    assert parse("3*s0 + 1") is kept
