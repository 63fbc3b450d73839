"""Recurrent networks, and what around a compiled module its caller leaves out, on the device beside the CPU."""

import warnings

import numpy as np
import pytest

import weft
from tests.cuda.compiled.test_programs import numbers, same

nn = weft.nn


def test_a_result_of_a_compiled_module_that_nobody_uses(device):
    """Its gradient is zeros of the device's."""

    def run(d):
        weft.manual_seed(0)
        x, f = numbers(5, 3, 4).to(d).requires_grad_(), weft.compile(nn.GRU(4, 6).to(d))
        out, _ = f(x)
        out.pow(2).sum().backward()
        return out.detach(), x.grad

    same(run, device)


def test_packed_sequences(device):
    """Their sizes stay on the CPU."""

    def run(d):
        weft.manual_seed(0)
        lstm = nn.LSTM(4, 3, bidirectional=True, batch_first=True).to(d)
        x = numbers(3, 4, 4).to(d).requires_grad_()
        packed = nn.utils.rnn.pack_padded_sequence(x, weft.tensor([4, 3, 2]), batch_first=True)
        out, (h, c) = lstm(packed)
        out, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        (out.sum() + c.sum()).backward()
        return out.detach(), h.detach(), x.grad, lengths

    same(run, device)


def test_generators_know_their_device(device):
    g = weft.Generator(device="cuda").manual_seed(3)
    assert g.device.type == "cuda" and g.clone_state().device == g.device and weft.Generator().device.type == "cpu"
    assert weft.Generator(device).device == device
    weft.testing.assert_close(weft.randn(3, generator=g, device=device).cpu(), numbers(3, seed=3))
    assert len(weft.cuda.default_generators) == weft.cuda.device_count()


def test_more_memory_than_any_device_has(device):
    with pytest.raises(weft.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
        weft.empty(1 << 50, device=device)
    assert weft.ones(2, device=device).sum().item() == 2


def test_arrays_of_a_device_are_refused(device):
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()"):
        weft.ones(2, device=device).numpy()


def test_the_accelerator_is_the_device(device):
    a = weft.accelerator
    assert a.current_stream() == weft.cuda.current_stream() and a.memory_allocated() == weft.cuda.memory_allocated()
    side = weft.cuda.Stream()
    a.set_stream(side)
    assert a.current_stream() == side
    a.set_stream(weft.cuda.default_stream())


WINDOWS = [((9,), 0, 3, 2), ((2, 7), 1, 3, 1), ((7, 2), 0, 2, 3), ((3, 8, 2), 1, 4, 4), ((1, 40), 1, 20, 5), ((), 0, 1, 1)]


@pytest.mark.parametrize("sizes, dim, size, step", WINDOWS)
def test_gradients_of_windows_are_added_on_the_device(device, sizes, dim, size, step):
    grads = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for where in (device, "cpu"):
            weft.manual_seed(0)
            x = weft.randn(sizes).to(where).requires_grad_()
            y = x.unfold(dim, size, step)
            (y * weft.randn(y.shape).to(where)).sum().backward()
            grads.append(x.grad.cpu().numpy())
    np.testing.assert_allclose(*grads, rtol=1e-5, atol=1e-6)
