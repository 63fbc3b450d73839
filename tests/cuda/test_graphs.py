"""Recorded work, played again: what it reads and writes, its memory, and each code that a capture can end with."""

from __future__ import annotations

import gc

import pytest

import weft
from aten import _cuda, errors
from tests.cuda.kernels import AddOne


def test_a_graph_plays_on_new_values(sim, cuda):
    kernel, x, graph = AddOne(), weft.zeros(100, device=cuda), weft.cuda.CUDAGraph()
    with weft.cuda.graph(graph):
        assert weft.cuda.is_current_stream_capturing()
        y = kernel(x, weft.empty(100, device=cuda))
        z = kernel(y, weft.empty(100, device=cuda))
    assert not sim.log and not weft.cuda.is_current_stream_capturing() and graph.kernels() == 2
    for value in (1.0, 5.0):
        x.copy_(weft.full((100,), value))
        launches = sim.calls("cuLaunchKernelEx"), sim.calls("cuGraphLaunch")
        graph.replay()
        assert z.tolist() == [value + 2] * 100
        assert (sim.calls("cuLaunchKernelEx"), sim.calls("cuGraphLaunch")) == (launches[0], launches[1] + 1)


def test_a_graph_of_two_streams(cuda):
    kernel, x, graph, side = AddOne(), weft.zeros(64, device=cuda), weft.cuda.CUDAGraph(), weft.cuda.Stream()
    y, z = weft.empty(64, device=cuda), weft.empty(64, device=cuda)
    with weft.cuda.graph(graph):
        side.wait_stream(weft.cuda.current_stream())
        kernel(x, y)
        kernel(x, z, stream=side)
        weft.cuda.current_stream().wait_stream(side)
        kernel(z, z)
    graph.replay()
    assert y.tolist() == [1] * 64 and z.tolist() == [2] * 64


def test_memory_of_a_graph_is_given_to_nobody_else(cuda):
    kernel, x, graph = AddOne(), weft.zeros(100, device=cuda), weft.cuda.CUDAGraph()
    with weft.cuda.graph(graph):
        between = kernel(x, weft.empty(100, device=cuda))
        address = between.data_ptr()
        z = kernel(between, weft.empty(100, device=cuda))
        del between
    with weft.cuda.stream(weft.cuda.graph.default_capture_stream):
        others = [weft.empty(100, device=cuda) for _ in range(20)]
    assert address not in [t.data_ptr() for t in others]
    graph.replay()
    assert z.tolist() == [2] * 100
    reserved = weft.cuda.memory_reserved()
    del z, others
    graph.reset()
    del graph
    gc.collect()
    weft.cuda.empty_cache()
    assert weft.cuda.memory_reserved() < reserved


def test_graphs_share_a_pool(cuda):
    kernel, x = AddOne(), weft.zeros(64, device=cuda)
    first, second = weft.cuda.CUDAGraph(), weft.cuda.CUDAGraph()
    with weft.cuda.graph(first):
        y = kernel(x, weft.empty(64, device=cuda))
    with weft.cuda.graph(second, pool=first.pool()):
        z = kernel(y, weft.empty(64, device=cuda))
    first.replay()
    second.replay()
    assert z.tolist() == [2] * 64
    pools = {s["pool"] for s in weft.cuda.memory_snapshot()}
    assert len(pools - {0}) >= 1 and first.pool() is second.pool()


def test_a_graph_is_made_ready_when_asked(sim, cuda):
    graph, x = weft.cuda.CUDAGraph(keep_graph=True), weft.zeros(64, device=cuda)
    kernel = AddOne()
    with weft.cuda.graph(graph):
        kernel(x, x)
    assert sim.calls("cuGraphInstantiateWithFlags") + sim.calls("cuGraphInstantiate") == 0
    graph.instantiate()
    graph.replay()
    assert x.tolist() == [1] * 64


def test_what_is_wrong_before_a_capture(cuda):
    graph = weft.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"), weft.cuda.stream(weft.cuda.Stream()):
        graph.capture_begin(capture_error_mode="often")
    with pytest.raises(RuntimeError, match="capture_end"):
        graph.capture_end()
    with weft.cuda.graph(graph):
        pass
    with pytest.raises(RuntimeError, match="already owns a captured graph"), weft.cuda.graph(graph):
        pass


def waits(kernel, x, side):
    weft.cuda.synchronize()


def waits_for_the_stream(kernel, x, side):
    weft.cuda.current_stream().synchronize()


def reads(kernel, x, side):
    x.tolist()


def leaves_a_stream_open(kernel, x, side):
    side.wait_stream(weft.cuda.current_stream())
    kernel(x, x, stream=side)


def waits_for_an_event_of_before(kernel, x, side):
    BEFORE.wait()


def asks_an_event_of_the_capture(kernel, x, side):
    weft.cuda.current_stream().record_event().query()


def begins_another(kernel, x, side):
    _cuda.Graph().begin(weft.cuda.current_stream().cuda_stream, 0)


BEFORE = None


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (waits, 900), (waits_for_the_stream, 900), (reads, 900), (leaves_a_stream_open, 904), (waits_for_an_event_of_before, 905),
        (asks_an_event_of_the_capture, 907), (begins_another, 401),
    ],
)  # fmt: skip
def test_a_capture_that_cannot_be(sim, act, code):
    global BEFORE
    kernel, x, side = AddOne(), weft.zeros(64).cuda(), weft.cuda.Stream()
    BEFORE = weft.cuda.current_stream().record_event()
    graph = weft.cuda.CUDAGraph()
    with pytest.raises(errors.CudaError) as caught, weft.cuda.graph(graph):
        kernel(x, x)
        act(kernel, x, side)
    assert caught.value.code == code
    graph.reset()
    assert not weft.cuda.is_current_stream_capturing() and x.tolist() == [0] * 64  # the device goes on


def test_the_end_of_a_broken_capture_says_so(sim):
    graph, stream = _cuda.Graph(), weft.cuda.Stream()
    graph.begin(stream.cuda_stream, 0)
    with pytest.raises(errors.CudaError):
        weft.cuda.synchronize()
    with pytest.raises(errors.CudaError, match="901 of cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"):
        graph.end()


@pytest.mark.parametrize(("mode", "allowed"), [("global", False), ("thread_local", True), ("relaxed", True)])
def test_what_other_threads_may_do_during_a_capture(sim, mode, allowed):
    import threading

    graph, x, kernel, told = weft.cuda.CUDAGraph(), weft.zeros(64).cuda(), AddOne(), []

    def other():
        try:
            weft.cuda.synchronize()
            told.append(True)
        except errors.CudaError:
            told.append(False)

    try:
        with weft.cuda.graph(graph, capture_error_mode=mode):
            kernel(x, x)
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
    except errors.CudaError as error:
        assert not allowed and error.code == 901
    assert told == [allowed]


def test_a_graph_that_outlives_its_memory(sim):
    graph, kernel = weft.cuda.CUDAGraph(), AddOne()
    x = weft.zeros(64).cuda()
    with weft.cuda.graph(graph):
        kernel(x, x)
    del x
    graph.replay()
    with pytest.raises(errors.CudaError, match="700"):
        weft.cuda.synchronize()
