"""The random sections of vecmath.h, at every width of a vector, against the eager fills."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from aten import _native
from aten import dtype as dtypes

HEADER = Path(__file__).parents[3] / "aten" / "native"
SOURCE = """
#include "vecmath.h"
#include "vecrandom.h"
typedef unsigned long Seed;
template <class V, class T, class A, class B, class C>
void fill(T *out, long start, long step, long n, long ahead, A run, B run_ahead, C any) {
  typedef vm_like<V, long> E;
  constexpr int L = vm_lanes<V>;
  const E lane = (E)vm_order_in<E>::template of<vm_like<V, unsigned long>>();
  for (long i = 0; i < n; i += L) {
    const V v = step != 1 ? any(start + (lane + i) * step) : ahead ? run_ahead(start + i) : run(start + i);
    for (int k = 0; k < L && i + k < n; k++) out[i + k] = v[k];
  }
}
#define FILL(name, fn, T, L, ...) \\
  extern "C" void name##L(T *out, Seed seed, Seed first, long start, long step, long n, long ahead) { \\
    typedef vm_vector<T, L>::V V; \\
    vm_ahead source; \\
    fill<V>(out, start, step, n, ahead, [=](long k) { return fn##_run<V>(vm_direct{}, __VA_ARGS__, k); }, \\
            [&](long k) { return fn##_run<V>(source, __VA_ARGS__, k); }, \\
            [=](vm_like<V, long> k) { return fn<V>(__VA_ARGS__, k); }); }
#define WIDTH(L) \\
  FILL(bits, vm_philox, unsigned, L, seed, first) \\
  FILL(float, vm_uniform, float, L, seed, first) FILL(double, vm_uniform, double, L, seed, first) \\
  FILL(normal, vm_normal, float, L, seed, first) FILL(dnormal, vm_normal, double, L, seed, first) \\
  FILL(below, vm_random_below, long, L, seed, first, 100ul)
WIDTH(4) WIDTH(8) WIDTH(16)
"""
FLAGS = ["-O1", "-std=c++17", "-fno-math-errno", "-ffp-contract=off", "-fwrapv", "-w", "-shared", "-fPIC", f"-I{HEADER}"]


@pytest.fixture(scope="module", params=["avx512f", "avx2"])
def library(request, tmp_path_factory):
    if request.param not in Path("/proc/cpuinfo").read_text():
        pytest.skip(f"this processor has no {request.param}")
    folder = tmp_path_factory.mktemp("philox")
    (folder / "t.cpp").write_text(SOURCE)
    march = {"avx512f": "x86-64-v4", "avx2": "x86-64-v3"}[request.param]
    compiler = shutil.which("g++") or "c++"
    command = [compiler, *FLAGS, f"-march={march}", str(folder / "t.cpp"), "-o", str(folder / "t.so"), "-lmvec", "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "t.so"))


RUNS = [(0, 1, 70, 0), (3, 1, 40, 0), (6, 1, 33, 0), (5, 3, 40, 0), (0, 0, 16, 0), (0, 1, 300, 1), (7, 1, 333, 1)]
RUNS += [(-8, 1, 70, 0), (-3, 1, 40, 0), (-8, 1, 70, 1), (-5, 1, 40, 1), (-150, 1, 333, 1)]  # only from 0 on they are asked for
CASES = [(7, 0), (2**63 + 11, 2**32 - 9)]  # the low word of the counter wraps
DTYPES = {"bits": "u4", "float": "f4", "double": "f8", "normal": "f4", "dnormal": "f8", "below": "i8"}


def philox_blocks(seed, offset, counters):
    """The bits of `counters` counters from `offset` on: uint32 [counters, 4] (Salmon et al. 2011, Philox4x32-10)."""
    position = np.arange(counters, dtype=np.uint64) + np.uint64(offset & 0xFFFFFFFFFFFFFFFF)
    mask, low = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [position & mask, position >> low, np.zeros_like(position), np.zeros_like(position)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> low) ^ c[1] ^ np.uint64(k0), p1 & mask, (p0 >> low) ^ c[3] ^ np.uint64(k1), p0 & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1).astype(np.uint32)


def eager(name, seed, first, n):
    """The first n elements of a draw, by the eager fills."""
    if name == "bits":
        lanes = [_native.philox_bits(seed, first + k) for k in range(-(-n // 4))]
        return np.array(lanes, np.uint32).reshape(-1)[:n]
    out = np.empty(n, DTYPES[name])
    t = _native.from_numpy(out)
    if name == "below":
        _native.philox_integers(t, seed, first, 0, 100)
    elif "normal" in name:
        _native.philox_normal(t, seed, first)
    else:
        _native.philox_uniform(t, seed, first)
    return out


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("name", DTYPES)
def test_elements_are_those_of_the_eager_fills(library, name, lanes):
    fn = getattr(library, f"{name}{lanes}")
    for seed, first in CASES:
        for start, step, n, ahead in RUNS:
            out = np.empty(n, DTYPES[name])
            args = [ctypes.c_ulong(seed), ctypes.c_ulong(first), *map(ctypes.c_long, (start, step, n, ahead))]
            fn(ctypes.c_void_p(out.ctypes.data), *args)
            places = start + np.arange(n) * step
            asked = places >= 0
            want = eager(name, seed, first, places.max() + 1)[places[asked]]
            np.testing.assert_array_equal(out[asked], want, err_msg=f"{start} {step} {ahead}")


def test_eager_uniform_numbers_are_the_published_generator():
    """Known answers of Random123's kat_vectors for philox4x32-10: a key and a counter of zeros, and of ones."""
    assert [hex(w) for w in _native.philox_bits(0, 0)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


@pytest.mark.parametrize("n", [1, 2, 3, 127, 128, 129, 255, 256, 257, 1000])
def test_fills_take_the_lanes_that_the_contract_says(n):
    """Whatever is computed side by side, beyond 2^32 counters as well."""
    seed, offset = 12345678901234567890, 2**32 - 20
    bits = [_native.philox_bits(seed, offset + i) for i in range(n)]
    lanes = np.array(bits, np.uint64).reshape(-1)
    wide = lanes[0::2] << np.uint64(32) | lanes[1::2]
    floats, doubles = _native.empty((n,), dtypes.float32), _native.empty((n,), dtypes.float64)
    _native.philox_uniform(floats, seed, offset)
    _native.philox_uniform(doubles, seed, offset)
    assert (floats.numpy() == (lanes[:n] >> np.uint64(8)).astype(np.float32) * np.float32(2**-24)).all()
    assert (doubles.numpy() == (wide[:n] >> np.uint64(11)).astype(np.float64) * 2.0**-53).all()
    for dtype, high in ((dtypes.int64, 100), (dtypes.int8, 100), (dtypes.int64, 2**32), (dtypes.int64, 2**32 + 1)):
        whole = _native.empty((n,), dtype)
        _native.philox_integers(whole, seed, offset, 0, high)
        small = high <= 2**32
        want = lanes[:n] * np.uint64(high) >> np.uint64(32) if small else wide[:n] % np.uint64(high)
        if high < 2**32 or not small:
            assert (whole.numpy() == want.astype(np.int64)).all()
        else:
            assert (whole.numpy() == lanes[:n].astype(np.int64)).all()
