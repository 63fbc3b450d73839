"""Replayed calls whose elements no rule takes, that warn, or whose results show memory made on the way: as in Python."""

import subprocess
import sys
import warnings

import pytest

import weft as torch
from aten import _native

F = torch.nn.functional


@pytest.fixture(autouse=True)
def at_once():
    before = _native.replay_after(1)
    yield
    _native.replay_after(before)


OUT_OF_RANGE = {
    "take": lambda t: t.take(torch.tensor([0, 70])),
    "index": lambda t: t[torch.tensor([0, 70])],
    "index_select": lambda t: t.index_select(0, torch.tensor([0, 70])),
    "gather": lambda t: t.gather(0, torch.tensor([70])),
    "scatter": lambda t: t.scatter(0, torch.tensor([70]), t),
    "index_add": lambda t: t.index_add(0, torch.tensor([70]), t[:1]),
    "index_put": lambda t: t.index_put((torch.tensor([70]),), t[:1]),
    "embedding": lambda t: F.embedding(torch.tensor([0, 70]), t[None]),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_an_index_out_of_range_is_refused_each_time(name, requires_grad):
    for _ in range(4):
        with pytest.raises((IndexError, RuntimeError), match="out of (bounds|range)"):
            OUT_OF_RANGE[name](torch.ones(3, requires_grad=requires_grad))


def test_an_index_out_of_range_does_not_end_the_process():
    program = """
import weft as torch
weights, said = torch.ones(1, 3, requires_grad=True), 0
for _ in range(9):
    try:
        torch.nn.functional.embedding(torch.tensor([0, 0, 1]), weights)
    except IndexError:
        said += 1
print(said)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "9"), done.stderr


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_call_warns_once_also_while_it_is_recorded(requires_grad):
    for _ in range(3):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            F.l1_loss(torch.ones(3, requires_grad=requires_grad), torch.ones(2, 3), reduction="none")
        assert len(said) == 1


def test_the_product_with_a_vector_is_no_view():
    x, v = torch.ones(2, 2, 3), torch.ones(3, requires_grad=True)
    for product in (F.linear, torch.matmul):
        for _ in range(3):
            made = product(x, v)
            assert not made._is_view() and made._base is None
            assert made.add_(1).grad_fn.name() == "AddBackward0"


@pytest.mark.parametrize("after", [0, 1])
def test_part_of_what_dropout_gives_of_another_layout_may_be_written(after):
    _native.replay_after(after)
    x = torch.ones(3, 2, requires_grad=True).t()
    for _ in range(3):
        made = F.dropout(x, 0.5, training=True)
        made[1:] = x[0]
        assert made[1].tolist() == [1, 1, 1] and made.grad_fn.name() == "CopySlices"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.hardtanh(x, -3.5, 3.5),
        lambda x: x.nan_to_num(0.75),
        lambda x: F.celu(x, 0.77),
        lambda x: F.smooth_l1_loss(x, x, beta=0.7),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_first_call_of_an_elementwise_function_may_be_one_in_inference_mode(call, requires_grad):
    for made_inside in (False, True):
        x = torch.ones(2, 3, requires_grad=requires_grad)
        with torch.inference_mode():
            assert call(x * 1 if made_inside else x).is_inference()
    y = call(torch.ones(2, 3, requires_grad=True))
    assert y.requires_grad and not y.is_inference()
    y.sum().backward()


@pytest.mark.parametrize(
    "write", [lambda t, i: t.index_fill_(0, i, 3.5), lambda t, i: t.index_copy_(0, i, torch.full((1, 3), 3.5))]
)
def test_writes_to_elements_that_are_shown_twice_stay(write):
    for _ in range(3):
        memory = torch.arange(6.0)
        write(memory.as_strided((2, 3), (1, 1)), torch.tensor([0]))
        assert memory.tolist() == [3.5, 3.5, 3.5, 3, 4, 5]
