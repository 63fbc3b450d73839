"""The caching allocator: reuse in the order of a stream, figures, fragments, and what happens when there is no more."""

from __future__ import annotations

import gc

import pytest

import weft
from aten import _cuda
from inductor.cuda import eager
from tests.cuda.kernels import AddOne

MB = 1 << 20


@pytest.fixture
def memory(sim, cuda):
    """Figures from 0 and nothing cached; 64 MB on each device."""
    eager._programs.clear()  # compiled functions keep words on the device that their checks write
    weft._dynamo.reset()
    gc.collect()  # exceptions hold the frames of tests before
    weft.cuda.empty_cache()
    weft.cuda.reset_peak_memory_stats()
    weft.cuda.reset_accumulated_memory_stats()
    sim.set_memory(64 * MB)
    yield weft.cuda
    sim.set_memory(1 << 30)


def block(megabytes):
    return weft.empty(int(megabytes * MB), dtype=weft.uint8, device="cuda")


def test_a_block_is_reused_at_once_on_its_stream_and_not_on_another(memory):
    x = block(1)
    address = x.data_ptr()
    del x
    with weft.cuda.stream(weft.cuda.Stream()):
        assert block(1).data_ptr() != address
    assert block(1).data_ptr() == address and address % 256 == 0


def test_figures(memory):
    before = memory.memory_allocated()
    x, y = block(3), block(0.1)
    assert memory.memory_allocated() - before == 3 * MB + 512 * -(-(0.1 * MB) // 512)
    stats = memory.memory_stats()
    assert stats["allocation.all.current"] - stats["allocation.all.freed"] >= 2 and memory.memory_reserved() >= 22 * MB
    del x
    assert memory.max_memory_allocated() > memory.memory_allocated() > before
    memory.reset_peak_memory_stats()
    assert memory.max_memory_allocated() == memory.memory_allocated()
    assert "Allocated memory" in memory.memory_summary() and f"{y.nbytes:,}"
    states = [b["state"] for s in memory.memory_snapshot() for b in s["blocks"]]
    assert states.count("active_allocated") == stats["allocation.all.current"] - 1 and "inactive" in states
    free, total = memory.mem_get_info()
    assert total == 64 * MB and free == total - memory.memory_reserved()


def test_neighbours_that_are_free_merge(memory):
    parts = [block(4) for _ in range(5)]  # one segment of 20 MB
    segments = memory.memory_stats()["segment.all.current"]
    first = min(p.data_ptr() for p in parts)
    del parts
    whole = block(19)
    assert whole.data_ptr() == first and memory.memory_stats()["segment.all.current"] == segments


def test_fragments_are_counted_and_not_given_back(memory):
    parts = [block(4) for _ in range(4)]
    kept = parts[1]
    del parts
    split = memory.memory_stats()["inactive_split_bytes.all.current"]
    assert split >= 15 * MB
    memory.empty_cache()
    assert memory.memory_reserved() >= 20 * MB and kept.numel() == 4 * MB
    del kept
    memory.empty_cache()
    assert memory.memory_reserved() == 0


def test_out_of_memory_says_what_was_asked_and_leaves_everything_usable(memory):
    held = [block(20), block(20)]
    with pytest.raises(weft.cuda.OutOfMemoryError) as caught:
        block(40)
    said = str(caught.value)
    assert "Tried to allocate 40.00 MiB. GPU 0 has a total capacity of 64.00 MiB" in said
    assert "40.00 MiB are in use by weft" in said and issubclass(weft.cuda.OutOfMemoryError, RuntimeError)
    assert memory.memory_stats()["num_ooms"] == 1 and weft.OutOfMemoryError is weft.cuda.OutOfMemoryError
    held.pop()
    assert block(40).numel() == 40 * MB and held[0].numel() == 20 * MB  # what was cached has gone back to the driver
    assert memory.memory_stats()["num_alloc_retries"] == 2


def test_memory_in_use_elsewhere_is_waited_for_before_it_is_out(sim, memory):
    side, kernel = weft.cuda.Stream(), AddOne()
    x = weft.zeros(11 * MB, dtype=weft.float32, device="cuda")
    side.wait_stream(weft.cuda.current_stream())
    kernel(x, x, 64, stream=side)
    x.record_stream(side)
    del x
    assert memory.memory_stats()["active_bytes.all.current"] > memory.memory_allocated()
    assert block(44).numel() == 44 * MB  # the launch on the other stream ran first
    assert sim.log


def test_a_limit_of_the_process(memory):
    memory.set_per_process_memory_fraction(0.5)
    try:
        with pytest.raises(weft.cuda.OutOfMemoryError, match="This process may take 32.00 MiB"):
            block(40)
        assert memory.get_per_process_memory_fraction() == 0.5
    finally:
        memory.set_per_process_memory_fraction(1.0)
    with pytest.raises(ValueError, match="Allowed range"):
        memory.set_per_process_memory_fraction(2.0)


def test_what_cannot_be_had_at_all(memory):
    with pytest.raises(weft.cuda.OutOfMemoryError, match="Tried to allocate 4.00 TiB"):
        weft.empty(1 << 42, dtype=weft.uint8, device="cuda")
    assert block(1).numel() == MB


def test_memory_for_libraries(memory):
    address = memory.caching_allocator_alloc(1000)
    assert _cuda.device_of_pointer(address) == 0 and memory.memory_allocated() >= 1000
    memory.caching_allocator_delete(address)


@pytest.mark.usefixtures("lazy")
def test_pinned_memory_is_cached_and_waits_for_copies(cuda):
    host = weft.ones(1000).pin_memory()
    assert host.is_pinned() and host.pin_memory() is host and not weft.ones(3).is_pinned()
    assert host.untyped_storage().is_pinned() and weft.empty(3, pin_memory=True).is_pinned()
    address = host.data_ptr()
    x = host.to(cuda, non_blocking=True)
    del host
    assert weft.empty(1000, pin_memory=True).data_ptr() != address  # the copy has not run
    assert x.tolist() == [1] * 1000
    again = [weft.empty(1000, pin_memory=True) for _ in range(3)]
    assert address in [a.data_ptr() for a in again]
    with pytest.raises(RuntimeError, match="cannot pin"):
        x.pin_memory()
