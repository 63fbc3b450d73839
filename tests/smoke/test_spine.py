"""One path through every layer: capture, joint graph, loops, Program, cache; sizes, breaks, aliasing, arrays, transforms."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import dynamo
import inductor
import weft
from weft.func import grad, vmap


def close(a, b, **tolerance):
    weft.testing.assert_close(a, b, **(tolerance or {"rtol": 1e-5, "atol": 1e-5}))


def graphs():
    return dynamo.counters["graphs"]


@pytest.fixture(autouse=True)
def fresh():
    dynamo.reset()


def head(x, b):
    return weft.nn.functional.gelu(x + b).sum(-1)


def test_forward_and_backward_of_a_fused_graph():
    f = weft.compile(head, fullgraph=True)
    for _ in range(2):
        x, b = weft.randn(4, 8, requires_grad=True), weft.randn(8, requires_grad=True)
        u, v = x.detach().requires_grad_(), b.detach().requires_grad_()
        f(x, b).pow(2).sum().backward()
        head(u, v).pow(2).sum().backward()
        close(x.grad, u.grad)
        close(b.grad, v.grad)
    assert graphs() == 1


def test_double_backward_through_a_compiled_function():
    x = weft.randn(5, dtype=weft.float64, requires_grad=True)
    f = weft.compile(lambda x: (x.sin() * x).sum())
    (g,) = weft.autograd.grad(f(x), x, create_graph=True)
    (h,) = weft.autograd.grad(g.sum(), x)
    close(h, (2 * x.cos() - x * x.sin()).detach())


def test_two_sizes_become_symbols_at_once_and_a_view_guards_divisibility():
    def halves(x):
        B, T, C = x.shape
        return x.view(B, T // 2, 2 * C).exp().sum(-1)

    f = weft.compile(halves, fullgraph=True)
    for shape in [(2, 4, 3), (3, 6, 3), (5, 8, 3), (1, 2, 3), (0, 4, 3), (4, 0, 3)]:
        x = weft.randn(*shape)
        close(f(x), halves(x))
    assert graphs() <= 4
    with pytest.raises(RuntimeError, match="is invalid for input of size"):
        f(weft.randn(2, 5, 3))
    with pytest.raises(RuntimeError, match="is invalid for input of size"):
        halves(weft.randn(2, 5, 3))


def test_symbolic_sizes_broadcast_against_each_other_and_meet_zero_and_one():
    f = weft.compile(lambda a, b: (a + b).mul(2).sum(0), fullgraph=True)
    for m, n in [(3, 3), (4, 4), (7, 7), (1, 5), (5, 1), (1, 1), (0, 0), (0, 1), (6, 6)]:
        a, b = weft.randn(m, 2), weft.randn(n, 2)
        close(f(a, b), (a + b).mul(2).sum(0))
    with pytest.raises(RuntimeError, match="must match"):
        f(weft.randn(3, 2), weft.randn(4, 2))


def test_a_break_resumes():
    seen = []

    def f(x):
        y = x * 2
        seen.append(float(y.sum()))  # data-dependent: a graph break
        return y + len(seen)

    g = weft.compile(f)
    x = weft.ones(3)
    close(g(x), x * 2 + 1)
    close(g(x), x * 2 + 2)
    assert seen == [6.0, 6.0] and dynamo.counters["breaks"] >= 1
    def unknown_size(x):
        seen.append(x.nonzero().unbind())
        return x + 1

    with pytest.raises(dynamo.Unsupported) as error:
        weft.compile(unknown_size, fullgraph=True)(x)
    text = str(error.value)
    assert "test_spine.py" in text and "seen.append(x.nonzero().unbind())" in text and "why:" in text and "try:" in text


def test_an_input_is_mutated_and_its_version_advances():
    def f(x, y):
        x.add_(y)
        return x * 2

    g = weft.compile(f, fullgraph=True)
    for _ in range(2):
        x, y = weft.ones(4), weft.arange(4.0)
        version = x._version
        out = g(x, y)
        close(x, weft.ones(4) + weft.arange(4.0))
        close(out, x * 2)
        assert x._version > version


def test_overlapping_inputs_are_written_in_eager_order():
    def f(x, y):
        x.add_(1)
        return y * 2

    g = weft.compile(f)
    base, other = weft.zeros(6), weft.zeros(6)
    close(g(base[:3], base[3:]), f(other[:3], other[3:]))
    close(g(base[:4], base[2:]), f(other[:4], other[2:]))
    close(base, other)
    close(g(base, base), f(other, other))


def test_a_function_of_arrays():
    f = weft.compile(lambda a, b: np.sqrt(((a - b) ** 2).sum(axis=-1)))
    a, b = np.random.rand(5, 3), np.random.rand(5, 3)
    out = f(a, b)
    assert isinstance(out, np.ndarray) and out.dtype == np.float64
    np.testing.assert_allclose(out, np.sqrt(((a - b) ** 2).sum(axis=-1)))


def test_vmap_of_grad_and_make_fx_of_grad_with_a_symbolic_size():
    from aten.transforms import make_fx

    f = lambda x: (x.sin() * x).sum()
    x = weft.randn(4, 3)
    close(vmap(grad(f))(x), x.cos() * x + x.sin())
    gm = make_fx(grad(f), symbolic=True)(weft.randn(5))
    assert "s0" in str(gm.graph)
    y = weft.randn(9)
    close(gm(y), y.cos() * y + y.sin())


WARM = """
import weft, inductor, dynamo
def f(x, b):
    B, T = x.shape
    return (x.view(B // 2, 2 * T) + b).tanh().sum(-1)
g = weft.compile(f, dynamic=True)
for shape, strided in [((4, 3), False), ((6, 3), False), ((8, 5), True)]:
    x = weft.arange(float(2 * shape[0] * shape[1])).view(2 * shape[0], shape[1])
    x = x[:shape[0]].contiguous() if not strided else weft.arange(float(shape[0] * shape[1])).view(shape[1], -1).t().contiguous()
    assert weft.allclose(g(x, weft.ones(1)), f(x, weft.ones(1)))
try:
    g(weft.ones(5, 3), weft.ones(1))
    raise SystemExit("no error")
except RuntimeError as error:
    assert "invalid" in str(error), error
x = weft.arange(24.0).view(4, 6)[:, :3]
try:
    g(x, weft.ones(1)); a = None
except RuntimeError as error:
    a = str(error)
try:
    f(x, weft.ones(1)); b = None
except RuntimeError as error:
    b = str(error)
assert a == b, (a, b)
print(inductor.counters["lowerings"], inductor.counters["compiles"], inductor.counters["cache_hits"])
"""


def test_a_warm_process_lowers_nothing_and_violated_guards_never_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]) + os.pathsep + os.environ.get("PYTHONPATH", ""))
    script = tmp_path / "warm.py"
    script.write_text(textwrap.dedent(WARM))
    outputs = []
    for _ in range(2):
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outputs.append([int(n) for n in done.stdout.split()])
    (cold_lowerings, _, _), (lowerings, compiles, hits) = outputs
    assert cold_lowerings >= 1 and lowerings == 0 and compiles == 0 and hits >= 1


def test_every_stage_is_counted():
    before = dict(inductor.counters)
    weft.compile(lambda x: (x + 17.25).cos())(weft.randn(3))
    assert inductor.counters["graphs"] == before.get("graphs", 0) + 1
