"""What is made from numbers alone, what dropout keeps, and elements that follow each other."""

import math

import numpy as np
import pytest

import aten
import weft

F = weft.nn.functional


def test_the_gradient_of_dropout_is_where_the_result_is():
    x = weft.arange(1.0, 2001.0).requires_grad_()
    out = F.dropout(x, 0.25)
    (g,) = weft.autograd.grad(out.sum(), x, create_graph=True)
    assert g.tolist() == [0.0 if v == 0 else weft.tensor(1 / 0.75).item() for v in out.tolist()]
    assert 0 < (out == 0).sum().item() < 1000


def test_zeros_that_stay_have_a_gradient():
    x = weft.zeros(1000, requires_grad=True)
    (g,) = weft.autograd.grad(F.dropout(x, 0.5).sum(), x)
    assert set(g.tolist()) == {0.0, 2.0}


def test_compiled_dropout_draws_what_eager_draws():
    step = lambda x: weft.autograd.grad((F.dropout(x, 0.5) * x).sum(), x)[0]
    x = weft.randn(3, 500, requires_grad=True)
    made = []
    for run in (step, weft.compile(step)):
        weft.manual_seed(3)
        made.append(run(x).tolist())
    assert made[0] == made[1]


def test_a_random_order_is_one_compiled_too():
    for n in (0, 1, 5, 1000, 40000):
        weft.manual_seed(7)
        order = weft.randperm(n)
        assert order.dtype is aten.int64 and sorted(order.tolist()) == list(range(n))
        weft.manual_seed(7)
        assert weft.compile(weft.randperm, dynamic=False)(n).tolist() == order.tolist()
    assert weft.randperm(9, dtype=aten.int32).dtype is aten.int32
    with pytest.raises(RuntimeError):
        weft.randperm(-1)


SPANS = [(0, 1, 7), (-3.5, 2.25, 1000), (5, 5, 4), (1e38, -1e38, 9), (0, 1, 1), (0, 1, 0), (2, -7, 12)]


@pytest.mark.parametrize("start,end,steps", SPANS)
def test_spaced_values_are_counted_from_both_ends(start, end, steps):
    low = np.float32(start)
    step = (np.float32(end) - low) / np.float32(steps - 1) if steps > 1 else np.float32(0)
    half = steps // 2
    below = [np.float32(float(low) + i * float(step)) for i in range(half)]
    above = [np.float32(float(np.float32(end)) - i * float(step)) for i in range(steps - half - 1, -1, -1)]
    expected = below + above if steps > 1 else [low] * steps
    assert weft.linspace(start, end, steps).tolist() == [float(v) for v in expected]
    assert weft.compile(lambda: weft.linspace(start, end, steps))().tolist() == [float(v) for v in expected]


def test_the_first_of_equal_elements_stays():
    x = weft.tensor([0.0, -0.0, 1.0, 1.0, math.nan, math.nan, -0.0])
    values = weft.unique_consecutive(x)
    assert str(values.tolist()) == "[0.0, 1.0, nan, nan, -0.0]"
    assert weft.unique_consecutive(x, return_counts=True)[1].tolist() == [2, 2, 1, 1, 1]
    assert str(weft.unique_consecutive(weft.tensor([-0.0, 0.0])).tolist()) == "[-0.0]"
    assert weft.unique_consecutive(weft.tensor([True, True, False])).tolist() == [True, False]
    assert weft.unique_consecutive(weft.zeros(0)).tolist() == []
    assert weft.unique_consecutive(weft.zeros(1000)).untyped_storage().nbytes() < 100


@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss", "mse_loss", "l1_loss"])
def test_losses_of_differences_at_their_kinks(name):
    loss = getattr(F, name)
    x = weft.tensor([0.0, 1.0, -1.0, 2.0, math.nan, 0.5], requires_grad=True)
    y = weft.zeros(6, requires_grad=True)
    for _ in range(2):  # learned, then known
        gx, gy = weft.autograd.grad(loss(x, y, reduction="sum"), (x, y))
        found, minus = gx.tolist(), (-gy).tolist()
        expected = {"mse_loss": [0, 2, -2, 4, math.nan, 1], "l1_loss": [0, 1, -1, 1, 0, 1]}.get(name, [0, 1, -1, 1, math.nan, 0.5])
        assert str(found[:4] + found[5:]) == str([float(v) for v in expected[:4] + expected[5:]])
        assert str(minus[:4]) == str(found[:4]).replace("-0.0", "0.0")


def test_parts_of_a_sum_have_a_gradient_of_one_element():
    x, y = weft.randn(3, 40, requires_grad=True), weft.randn(3, 40)
    (g,) = weft.autograd.grad(F.mse_loss(x, y), x)
    np.testing.assert_allclose(g.numpy(), (2 * (x - y) / 120).detach().numpy(), rtol=1e-6)


def test_truths_are_numbers_to_space_between():
    assert weft.linspace(False, True, steps=3).tolist() == [0, 0.5, 1] == weft.linspace(weft.tensor(False), True, 3).tolist()
    assert weft.logspace(False, True, 2).tolist() == [1, 10]


def test_spaces_between_tensors_of_whole_numbers_start_and_end_whole():
    log = lambda end: weft.logspace(0, end, 2, 5.0, dtype=weft.int64)
    line = lambda end: weft.linspace(0, end, 2, dtype=weft.int64)
    end = weft.tensor(1.2)
    for f, expected in ((log, [1, 5]), (line, [0, 1])):
        assert f(end).tolist() == weft.compile(f, fullgraph=True)(end).tolist() == expected
