"""What compiled functions take of memory at most: beside eager, and beside what their values need."""

import gc

import pytest

import weft
import weft.nn.functional as F
from aten import _native
from weft import nn

pytestmark = pytest.mark.usefixtures("one_thread")
UNIT = 16 * 32 * 64 * 64 * 4  # bytes of an image


@pytest.fixture
def one_thread():
    before = weft.get_num_threads()
    weft.set_num_threads(1)
    yield
    weft.set_num_threads(before)


def peak(call):
    """The most bytes that a call holds beside what was there before it."""
    gc.collect()
    before = _native.memory_stats()["allocated_bytes"]
    _native.reset_peak_memory()
    call()
    return _native.memory_stats()["peak_bytes"] - before


def chain(x, w):
    for _ in range(6):
        x = F.conv2d(x, w, padding=1).tanh()
    return x


def test_the_result_of_an_op_goes_when_nothing_needs_it():
    x, w = weft.randn(16, 32, 64, 64), weft.randn(32, 32, 3, 3) * 0.1
    compiled = weft.compile(chain, fullgraph=True)
    assert weft.allclose(compiled(x, w), chain(x, w), atol=1e-5)
    assert peak(lambda: compiled(x, w)) < 3.1 * UNIT  # a convolution's, its tanh, and the next one's


@weft.library.custom_op("weft_tests::halved_twice", mutates_args=())
def halved_twice(x: weft.Tensor) -> weft.Tensor:
    for _ in range(4):
        other = x * 0.5  # each is let go before the next is made
    return other * 0.5


@halved_twice.register_fake
def _(x):
    return weft.empty_like(x)


def test_what_an_op_makes_on_the_way_does_not_wait_for_the_end_of_the_call():
    def f(x):
        for _ in range(4):
            x = halved_twice((x + 1).tanh())
        return x

    x = weft.randn(16, 32, 64, 64)
    compiled = weft.compile(f, fullgraph=True)
    assert weft.allclose(compiled(x), f(x), atol=1e-6)
    assert peak(lambda: compiled(x)) < 5.1 * UNIT


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)) for _ in range(6)])

    def forward(self, x):
        for part in self.parts:
            x = weft.relu(x + part(x))
        return x.mean()


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.projections = nn.ModuleList([nn.Linear(128, 384) for _ in range(4)])

    def forward(self, x):
        for projection in self.projections:
            q, k, v = projection(x).view(8, 256, 3, 8, 16).permute(2, 0, 3, 1, 4)
            x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        return x.mean()


@pytest.mark.parametrize(("model", "sizes"), [(Residual, (16, 16, 48, 48)), (Transformer, (8, 256, 128))])
def test_training_takes_about_as_much_as_eager(model, sizes):
    model, x = model(), weft.randn(sizes)
    step = weft.compile(model, fullgraph=True)

    def train(loss):
        loss(x).backward()
        model.zero_grad()

    train(step), train(model)
    assert peak(lambda: train(step)) < 1.25 * peak(lambda: train(model))  # (eager stacks the gradients of q, k and v: 24 MB)
