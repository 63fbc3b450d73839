// creation_kernels.cpp: what is made from numbers alone: evenly spaced values, and random orders.
#include <algorithm>
#include <memory>

#include "native_kernel.h"
#include "philox.h"

namespace weft {

namespace {

// The same numbers on every processor: a product is rounded before it is added.
#define WEFT_ROUNDED __attribute__((target_clones("default", "avx2", "arch=x86-64-v4"), optimize("O3", "fp-contract=off")))

// to[i] = base + sign * ((first + i) * step); sign: which way the values are counted.
WEFT_ROUNDED void spaced_floats(float *to, int64_t n, double base, double step, int64_t first, int64_t along) {
  for (int64_t i = 0; i < n; i++) to[i] = (float)(base + (double)(int32_t)(first + i * along) * step);
}
WEFT_ROUNDED void spaced_doubles(double *to, int64_t n, double base, double step, int64_t first, int64_t along) {
  for (int64_t i = 0; i < n; i++) to[i] = base + (double)(int32_t)(first + i * along) * step;
}

// (out, start, end, step, steps, dtype, device): from the nearer end
PyObject *spaced_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 7 ? dense(args[0]) : nullptr;
  if (!out || !PyFloat_CheckExact(args[1]) || !PyFloat_CheckExact(args[2]) || !PyFloat_CheckExact(args[3])) return not_for_these();
  const double start = PyFloat_AS_DOUBLE(args[1]), end = PyFloat_AS_DOUBLE(args[2]), step = PyFloat_AS_DOUBLE(args[3]);
  const int64_t n = out->numel, low = n / 2;
  if (n >= INT32_MAX) return not_for_these();
  if (WEFT_DTYPE(out) == WEFT_FLOAT32) {
    float *to = reinterpret_cast<float *>(weft_data(out));
    spaced_floats(to, low, start, step, 0, 1), spaced_floats(to + low, n - low, end, -step, n - low - 1, -1);
  } else if (WEFT_DTYPE(out) == WEFT_FLOAT64) {
    double *to = reinterpret_cast<double *>(weft_data(out));
    spaced_doubles(to, low, start, step, 0, 1), spaced_doubles(to + low, n - low, end, -step, n - low - 1, -1);
  } else {
    return not_for_these();
  }
  return written();
}

// The order of n keys, ascending, equal ones as they stand. Keys are uniform, so that digits of the highest bits, least first, leave few
// neighbours to exchange; a word has the upper 32 bits of a key of 64, and its place.
constexpr int kDigit = 11;

void order_of(const uint64_t *keys, uint64_t *words, uint64_t *spare, int64_t n) {
  const int passes = n < (int64_t)1 << (2 * kDigit - 1) ? 2 : 3;  // of three the lowest digit has bits that are not there: zeros
  for (int64_t i = 0; i < n; i++) words[i] = (keys[i] >> 32) << 32 | (uint64_t)i;
  for (int pass = passes - 1; pass >= 0; pass--) {
    const int shift = std::max(32, 64 - kDigit * (pass + 1)), bits = 64 - kDigit * pass - shift;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    int64_t starts[1 << kDigit] = {};
    for (int64_t i = 0; i < n; i++) starts[words[i] >> shift & mask]++;
    int64_t total = 0;
    for (int64_t &s : starts) {
      const int64_t count = s;
      s = total, total += count;
    }
    for (int64_t i = 0; i < n; i++) spare[starts[words[i] >> shift & mask]++] = words[i];
    std::swap(words, spare);
  }
  if (passes & 1) std::copy(words, words + n, spare), std::swap(words, spare);
  for (int64_t i = 1; i < n; i++) {
    const uint64_t word = words[i], key = keys[(uint32_t)word];
    int64_t to = i;
    for (; to > 0; to--) {
      if (words[to - 1] >> 32 < word >> 32) break;
      const uint64_t before = keys[(uint32_t)words[to - 1]];
      if (before < key || (before == key && (uint32_t)words[to - 1] < (uint32_t)word)) break;
      words[to] = words[to - 1];
    }
    words[to] = word;
  }
}

// (out, n, seed, offset, dtype, device): the order of n numbers that are uniform on [0, 1), of 53 bits
PyObject *randperm_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr;
  if (!out || WEFT_DTYPE(out) != WEFT_INT64 || out->numel > UINT32_MAX || !PyLong_CheckExact(args[2]) || !PyLong_CheckExact(args[3])) return not_for_these();
  const uint64_t seed = PyLong_AsUnsignedLongLong(args[2]), offset = PyLong_AsUnsignedLongLong(args[3]);
  if (PyErr_Occurred()) return nullptr;
  const int64_t n = out->numel;
  Released released(n >= 4096);
  std::unique_ptr<uint64_t[]> memory(new uint64_t[(size_t)(2 * n + 1)]);
  uint64_t *keys = memory.get(), *spare = keys + n, *words = reinterpret_cast<uint64_t *>(weft_data(out));
  philox_keys(seed, offset, keys, n);
  order_of(keys, words, spare, n);
  for (int64_t i = 0; i < n; i++) words[i] = (uint32_t)words[i];
  return written();
}

}  // namespace

const NativeKernel creation_kernels[] = {{"spaced", WEFT_KERNEL(spaced_kernel)}, {"randperm_philox", WEFT_KERNEL(randperm_kernel)}, {nullptr, nullptr}};

}  // namespace weft
