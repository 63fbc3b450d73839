"""Mistakes that pass unnoticed on a GPU most of the time, planted: the simulated driver finds each of them, each time."""

from __future__ import annotations

import pytest

import weft
from aten import _native, errors
from tests.cuda.kernels import AddOne

N = 100


@pytest.mark.usefixtures("lazy")
def test_a_result_read_without_waiting(cuda):
    kernel, x, host = AddOne(), weft.zeros(N, device=cuda), weft.zeros(N).pin_memory()
    out = kernel(x, weft.empty(N, device=cuda))
    _native.copy_memory(host, out, True)
    assert host.tolist() != [1.0] * N
    weft.cuda.synchronize()
    assert host.tolist() == [1.0] * N


@pytest.mark.usefixtures("lazy")
def test_another_stream_without_an_event(cuda):
    kernel, side = AddOne(), weft.cuda.Stream()
    x, out = weft.zeros(N, device=cuda), weft.zeros(N, device=cuda)
    weft.cuda.synchronize()
    kernel(x, x)
    kernel(x, out, stream=side)
    side.synchronize()
    with weft.cuda.stream(side):
        assert out.tolist() != [2.0] * N  # the first launch was not waited for


def test_the_same_with_an_event_is_right(cuda):
    kernel, side = AddOne(), weft.cuda.Stream()
    x, out = weft.zeros(N, device=cuda), weft.zeros(N, device=cuda)
    side.wait_stream(weft.cuda.current_stream())
    kernel(x, x)
    side.wait_event(weft.cuda.current_stream().record_event())
    kernel(x, out, stream=side)
    with weft.cuda.stream(side):
        assert out.tolist() == [2.0] * N


def test_an_overrun(sim):
    x, out = weft.ones(60).cuda(), weft.empty(60, device="cuda")
    AddOne()(x, out, 64)
    with pytest.raises(errors.CudaError, match="700"):
        out.cpu()
    assert "240 bytes into one of 240 (4 such lanes)" in sim.fault()


def test_use_after_free(sim):
    kernel, x = AddOne(), weft.ones(N).cuda()
    gone = weft.empty(N, device="cuda")
    address = gone.data_ptr()
    del gone
    kernel.function.launch((2,), 128, 0, (x, ("*fp32", address), ("i32", N), None, None))
    with pytest.raises(errors.CudaError, match="700"):
        weft.cuda.synchronize()
    assert "store of 4 bytes" in sim.fault()


@pytest.mark.usefixtures("lazy")
def test_memory_of_another_stream_reused_too_early(sim):
    """A tensor given back while another stream still uses it: without record_stream its memory is taken from under that use."""
    kernel, side = AddOne(), weft.cuda.Stream()
    x = weft.ones(N).cuda()
    side.wait_stream(weft.cuda.current_stream())
    kernel(x, x, stream=side)
    del x
    weft.cuda.current_stream().synchronize()
    with pytest.raises(errors.CudaError, match="700"):
        side.synchronize()
    assert "load of 4 bytes" in sim.fault()


@pytest.mark.usefixtures("lazy")
def test_the_same_with_record_stream_is_right(cuda):
    kernel, side = AddOne(), weft.cuda.Stream()
    x = weft.ones(N).cuda()
    side.wait_stream(weft.cuda.current_stream())
    kernel(x, x, stream=side)
    x.record_stream(side)
    address = x.data_ptr()
    del x
    assert weft.empty(N, device=cuda).data_ptr() != address
    side.synchronize()
    assert weft.empty(N, device=cuda).data_ptr() == address


@pytest.mark.usefixtures("lazy")
def test_the_source_of_a_copy_reused_too_early(cuda):
    host, x = weft.ones(N).pin_memory(), weft.zeros(N, device=cuda)
    x.copy_(host, non_blocking=True)
    host.zero_()
    assert x.tolist() == [0.0] * N  # what was there when the copy ran
    host.fill_(1)
    x.copy_(host)
    host.zero_()
    assert x.tolist() == [1.0] * N


def test_a_synchronisation_inside_a_capture(sim):
    x, graph = weft.zeros(N).cuda(), weft.cuda.CUDAGraph()
    with pytest.raises(errors.CudaError, match="900 .*CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"), weft.cuda.graph(graph):
        AddOne()(x, x)
        weft.cuda.synchronize()
    assert not weft.cuda.is_current_stream_capturing()


def test_what_nothing_has_written_is_not_a_number(cuda):
    kept = weft.ones(3, device=cuda)
    del kept  # its memory is given out again, without what it held
    assert str(weft.empty(3, device=cuda).tolist()) == "[nan, nan, nan]"
