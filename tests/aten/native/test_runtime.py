"""The ambient word, the thread pool, generators."""

import os
import threading

import numpy as np
import pytest

from aten import _native
from aten import dtype as dtypes
from aten import random as weft_random
from tests.fuzz import children


def test_the_ambient_word_belongs_to_a_thread():
    seen = []
    before = _native.set_grad_enabled(False)
    thread = threading.Thread(target=lambda: seen.append(_native.is_grad_enabled()))
    thread.start()
    thread.join()
    assert before is True and seen == [True] and not _native.is_grad_enabled()
    _native.set_grad_enabled(True)


def test_ambient_bits_and_counters():
    old = _native.ambient()
    assert _native.set_ambient_bits(2, 2) == 0
    assert _native.is_inference_mode_enabled()
    _native.set_ambient(old)
    assert _native.add_ambient_count(24, 1) == 1
    assert _native.ambient() >> 24 & 0xFF == 1
    assert _native.add_ambient_count(24, -1) == 0
    with pytest.raises(RuntimeError):
        _native.add_ambient_count(24, -1)


def test_the_default_dtype_is_floating_and_used_by_empty():
    assert dtypes.get_default_dtype() is dtypes.float32
    dtypes.set_default_dtype(dtypes.float64)
    try:
        assert _native.empty((1,)).dtype is dtypes.float64
    finally:
        dtypes.set_default_dtype(dtypes.float32)
    with pytest.raises(TypeError, match="floating-point"):
        dtypes.set_default_dtype(dtypes.int64)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("n, grain", [(1, 1), (7, 3), (1000, 10), (100000, 1)])
def test_the_pool_covers_the_range_once(n, grain, nested):
    total, ranges = _native._test_pool(n, grain, nested)
    assert total == n * (n - 1) // 2
    assert ranges <= max(1, n // grain + 1)


def test_two_threads_compete_for_the_pool():
    results = []

    def run():
        for _ in range(50):
            results.append(_native._test_pool(5000, 1, False)[0])

    threads = [threading.Thread(target=run) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [5000 * 4999 // 2] * 150


def test_a_worker_that_was_put_off_still_does_what_it_took():
    """More threads than processors: workers stand still between taking a range and running it."""

    def work(progress):
        _native.set_num_threads(8)
        for _ in range(30000):
            assert _native._test_pool(64, 1, False)[0] == 64 * 63 // 2

    assert children.run(work).kind == "ended"


def test_the_pool_survives_a_fork():
    _native._test_pool(10000, 1, False)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        total = _native._test_pool(10000, 1, False)[0]
        os.write(write, str(total).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert int(os.read(read, 100)) == 10000 * 9999 // 2
    os.close(read)
    os.close(write)


def test_the_number_of_threads():
    n = _native.get_num_threads()
    _native.set_num_threads(1)
    assert _native._test_pool(60, 1, False) == (1770, 1)
    _native.set_num_threads(n)
    with pytest.raises(RuntimeError, match="positive"):
        _native.set_num_threads(0)


def test_philox_known_answers():
    # Random123's known-answer file: kat_vectors, philox4x32 10 rounds
    assert _native.philox_bits(0, 0) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


def test_generator_states():
    generator = weft_random.manual_seed(5)
    assert weft_random.philox_reserve(3) == (5, 0)
    assert weft_random.get_rng_state().tolist() == [5, *[0] * 7, 3, *[0] * 7]
    with weft_random.fork_rng():
        weft_random.philox_reserve(10)
    assert generator.offset == 3
    own = _native.Generator().manual_seed(-1)
    assert own.initial_seed() == 2**64 - 1
    weft_random.manual_seed(0)


def test_fills_take_the_lanes_that_are_promised():
    t = _native.philox_uniform(_native.empty((10,)), 3, 100)
    bits = [lane for k in range(3) for lane in _native.philox_bits(3, 100 + k)]
    assert t.tolist() == [(b >> 8) / 2**24 for b in bits[:10]]
    d = _native.philox_uniform(_native.empty((5,), dtypes.float64), 3, 100)
    assert d.tolist() == [((bits[2 * i] << 32 | bits[2 * i + 1]) >> 11) / 2**53 for i in range(5)]
    k = _native.philox_integers(_native.empty((10,), dtypes.int64), 3, 100, -5, 20)
    assert k.tolist() == [-5 + (b * 25 >> 32) for b in bits[:10]]


def test_normals_are_standard():
    for dtype in (dtypes.float32, dtypes.float64, dtypes.bfloat16):
        x = np.asarray(_native.philox_normal(_native.empty((20001,), dtype), 1, 0, 2.0, 3.0)).astype(np.float64)
        assert abs(x.mean() - 2) < 0.1 and abs(x.std() - 3) < 0.1
