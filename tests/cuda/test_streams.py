"""Streams, events, and which device and stream a thread is on."""

from __future__ import annotations

import threading

import pytest

import weft
from tests.cuda.kernels import AddOne


@pytest.mark.usefixtures("second")
def test_streams_come_from_a_pool_and_compare_by_what_they_are(cuda):
    own = weft.cuda.current_stream()
    assert own == weft.cuda.default_stream() and own.stream_id == 0 and own.cuda_stream != 0
    made = [weft.cuda.Stream() for _ in range(33)]
    assert len({s.cuda_stream for s in made}) == 32 and own not in made and made[0].device == weft.device("cuda:0")
    high = weft.cuda.Stream(priority=-1)
    assert high.priority < 0 and high not in made and high.__cuda_stream__() == (0, high.cuda_stream)
    assert weft.cuda.ExternalStream(high.cuda_stream) == high and "cuda:0" in repr(high)
    assert weft.cuda.Stream(device=1).device_index == 1


def test_the_current_stream_is_a_threads_own(cuda):
    side, seen = weft.cuda.Stream(), []
    with weft.cuda.stream(side):
        thread = threading.Thread(target=lambda: seen.append(weft.cuda.current_stream()))
        thread.start()
        thread.join()
        assert weft.cuda.current_stream() == side
        with side, weft.cuda.stream(None):
            assert weft.cuda.current_stream() == side
    assert seen == [weft.cuda.default_stream()] and weft.cuda.current_stream() == weft.cuda.default_stream()
    weft.cuda.set_stream(side)
    assert weft.cuda.current_stream() == side
    weft.cuda.set_stream(weft.cuda.default_stream())


@pytest.mark.usefixtures("second")
def test_the_current_device(cuda):
    assert weft.cuda.current_device() == 0 and weft.cuda.device_count() == 2 and weft.cuda.is_initialized()
    with weft.cuda.device(1):
        assert weft.cuda.current_device() == 1 and weft.empty(2, device="cuda").device.index == 1
        assert weft.ones(2).cuda().device.index == 1 and weft.ones(2).to("cuda").device == weft.device("cuda:1")
        with weft.cuda.stream(weft.cuda.Stream(device=0)):
            assert weft.cuda.current_device() == 0
        with weft.cuda.device_of(weft.empty(1, device="cuda:0")), weft.cuda.device(None), weft.cuda.device(-1):
            assert weft.cuda.current_device() == 0
    assert weft.cuda.current_device() == 0
    weft.cuda.set_device("cuda:1")
    assert weft.cuda.current_device() == 1
    weft.cuda.set_device(0)
    with pytest.raises(RuntimeError, match="invalid device ordinal 7"):
        weft.cuda.set_device(7)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        weft.cuda.set_device("cpu")


def test_what_a_device_is(sim, cuda):
    found = weft.cuda.get_device_properties(0)
    assert (found.name, found.major, found.minor, found.multi_processor_count, found.warp_size) == ("cudasim", 9, 0, 132, 32)
    assert found.total_memory == 1 << 30 and found.L2_cache_size == 60 << 20 and "cudasim" in repr(found)
    assert weft.cuda.get_device_name() == "cudasim" and weft.cuda.get_device_capability(1) == (9, 0)
    assert weft.cuda.get_arch_list() == ["sm_90"] and weft.cuda.is_bf16_supported() and weft.cuda.is_tf32_supported()
    with pytest.raises(AssertionError, match="Invalid device id"):
        weft.cuda.get_device_properties(5)


def test_events(sim, cuda):
    kernel, x = AddOne(), weft.zeros(64, device=cuda)
    start, end = weft.cuda.Event(enable_timing=True), weft.cuda.Event(enable_timing=True)
    assert end.query() and start.cuda_event == 0
    start.record()
    kernel(x, x)
    end.record()
    end.synchronize()
    assert sim.log and end.query() and start.elapsed_time(end) >= 0 and end.device == weft.device("cuda:0")
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(weft.cuda.current_stream().record_event())
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(weft.cuda.Event(enable_timing=True))
    with weft.cuda.device(1), pytest.raises(RuntimeError, match="Event device 0 does not match recording stream's device 1"):
        end.record(weft.cuda.current_stream())


@pytest.mark.usefixtures("lazy")
def test_an_event_waits_for_what_was_queued_before_it_only(sim, cuda):
    kernel, x, y = AddOne(), weft.zeros(64, device=cuda), weft.zeros(64, device=cuda)
    weft.cuda.synchronize()
    kernel(x, x)
    event = weft.cuda.current_stream().record_event()
    kernel(y, y)
    event.synchronize()
    assert len(sim.log) == 1
    weft.cuda.current_stream().synchronize()
    assert len(sim.log) == 2 and weft.cuda.current_stream().query()


def test_threads_launch_side_by_side(cuda):
    results = {}

    def work(k):
        with weft.cuda.stream(weft.cuda.Stream()):
            x = weft.full((64,), float(k)).cuda()
            for _ in range(3):
                x = kernel(x, weft.empty(64, device="cuda"))
            results[k] = x.tolist()

    kernel = AddOne()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: [k + 3.0] * 64 for k in range(4)}
