"""The simulated driver itself, by its own interface: what a driver refuses, and that a wait for one device is none for another."""

from __future__ import annotations

import ctypes as c
import threading

import pytest

import weft
from aten import _native

N = 64
GLOBAL, RELAXED = 0, 2
BLOCKING, NON_BLOCKING = 0, 1
MERGE, UNMATCHED, ISOLATION, IMPLICIT, WRONG_THREAD, INVALIDATED, INVALID_HANDLE = 902, 903, 905, 906, 908, 901, 400


class Driver:
    """The library's functions on the first device; a handle that a call makes is what it gives."""

    def __init__(self, sim):
        self.lib = sim.lib
        weft.cuda.synchronize(0)  # the context of the first device is this thread's

    def made(self, name, *args):
        handle = c.c_void_p()
        assert self.call(name, c.byref(handle), *args) == 0
        return handle

    def call(self, name, *args):
        found = getattr(self.lib, name, None) or getattr(self.lib, name + "_v2")
        return found(*args)

    def stream(self, flags=NON_BLOCKING):
        return self.made("cuStreamCreate", flags)

    def captured(self, flags=NON_BLOCKING, mode=GLOBAL):
        stream = self.stream(flags)
        assert self.call("cuStreamBeginCapture", stream, mode) == 0
        return stream

    def end(self, stream):
        return self.call("cuStreamEndCapture", stream, c.byref(c.c_void_p()))


@pytest.fixture
def driver(sim):
    made = Driver(sim)
    yield made
    sim.recover()


def test_two_captures_do_not_merge(driver):
    first, second = driver.captured(), driver.captured()
    event = driver.made("cuEventCreate", 0)
    assert driver.call("cuEventRecord", event, first) == 0
    assert driver.call("cuStreamWaitEvent", second, event, 0) == MERGE
    assert driver.end(first) == driver.end(second) == INVALIDATED


def test_a_capture_ends_on_the_stream_where_it_began(driver):
    first, other = driver.captured(), driver.stream()
    event = driver.made("cuEventCreate", 0)
    assert driver.call("cuEventRecord", event, first) == driver.call("cuStreamWaitEvent", other, event, 0) == 0
    assert driver.end(other) == UNMATCHED
    assert driver.end(first) == 0


def test_a_captured_stream_waits_for_nothing_from_before(driver):
    before, event = driver.stream(), driver.made("cuEventCreate", 0)
    assert driver.call("cuEventRecord", event, before) == 0
    first = driver.captured()
    assert driver.call("cuStreamWaitEvent", first, event, 0) == ISOLATION
    assert driver.end(first) == INVALIDATED


@pytest.mark.parametrize(("flags", "code"), [(BLOCKING, IMPLICIT), (NON_BLOCKING, 0)])
def test_the_legacy_stream_waits_for_blocking_ones(driver, flags, code):
    x = weft.zeros(N).cuda()
    stream = driver.captured(flags)
    legacy, bytes_ = None, c.c_size_t(4 * N)
    assert driver.call("cuMemsetD8Async", c.c_uint64(x.data_ptr()), c.c_ubyte(0), bytes_, legacy) == code
    assert driver.end(stream) == (INVALIDATED if code else 0)


@pytest.mark.parametrize(("mode", "code"), [(GLOBAL, WRONG_THREAD), (RELAXED, 0)])
def test_a_capture_ends_in_the_thread_where_it_began(driver, mode, code):
    stream, found = driver.captured(mode=mode), []
    context = driver.made("cuCtxGetCurrent")

    def elsewhere():
        driver.call("cuCtxSetCurrent", context)
        found.append(driver.end(stream))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [code]
    assert code == 0 or driver.end(stream) == 0


def test_handles_of_another_device(driver):
    event, stream = driver.made("cuEventCreate", 0), driver.stream()
    with weft.cuda.device(1):
        weft.zeros(1, device="cuda")
        elsewhere = driver.made("cuStreamCreate", NON_BLOCKING)
    assert driver.call("cuEventRecord", event, elsewhere) == INVALID_HANDLE
    assert driver.call("cuEventRecord", event, stream) == 0


@pytest.mark.usefixtures("lazy")
def test_a_wait_for_one_device_is_none_for_another(second):
    x, host = weft.ones(N, device=second), weft.zeros(N).pin_memory()
    _native.copy_memory(host, x, True)
    weft.cuda.synchronize(0)
    assert host.tolist() == [0.0] * N
    weft.cuda.synchronize(1)
    assert host.tolist() == [1.0] * N
