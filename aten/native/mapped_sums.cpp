// mapped_sums.cpp: sums of what is computed element by element (norms, count_nonzero), a block at a time that is never stored.
//
// A block is a chunk of the sum, so that the result has the bits of a sum of the whole.
#include <math.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "clones.h"
#include "reduce.h"
#include "strips.h"

namespace weft {
namespace {

enum Map { SQUARE, SIZE };

constexpr int64_t kChunk = WEFT_REDUCE_CHUNK;
constexpr int64_t kTogether = 16, kMost = 8 * kChunk;  // rows that a vector of sums is of; elements that are mapped at a time

template <class T> inline __attribute__((always_inline)) void map_all(Map map, const T *x, int64_t n, T *to) {
  switch (map) {
    case SQUARE:
      for (int64_t i = 0; i < n; i++) to[i] = x[i] * x[i];
      break;
    case SIZE:
      for (int64_t i = 0; i < n; i++) to[i] = std::abs(x[i]);
      break;
  }
}
WEFT_CLONES void map_block(Map map, const float *x, int64_t n, float *to) { map_all(map, x, n, to); }
WEFT_CLONES void map_block(Map map, const double *x, int64_t n, double *to) { map_all(map, x, n, to); }

// The sums of rows of floats that lie one after the other, each mapped.
template <class T, int dtype> struct Sums {
  Map map;
  WeftReduceRow row = weft_kernels.reduce_row[WEFT_REDUCE_SUM][dtype];
  WeftReduceRows rows = weft_kernels.reduce_rows[WEFT_REDUCE_SUM][dtype];
  bool exists() const { return row && rows; }

  void run(const T *x, T *out, int64_t count, int64_t n) const {
    if (n <= kChunk) {
      const int64_t some = kTogether * n <= kMost ? std::max(kTogether, kChunk / n) : kChunk / n;
      return share((count + some - 1) / some, some * n, [&](int64_t begin, int64_t end) {
        alignas(64) T made[kMost];  // (vectors that cross lines of the cache take twice as long)
        for (int64_t i = begin; i < end; i++) {
          const int64_t first = i * some, m = std::min(some, count - first);
          map_block(map, x + first * n, m * n, made);
          rows(m, n, reinterpret_cast<char *>(made), n * (int64_t)sizeof(T), sizeof(T), reinterpret_cast<char *>(out + first));
        }
      });
    }
    const int64_t chunks = (n + kChunk - 1) / kChunk;
    std::vector<T> partial((size_t)chunks);
    for (int64_t r = 0; r < count; r++) {
      share(chunks, kChunk, [&](int64_t begin, int64_t end) {
        alignas(64) T made[kChunk];
        for (int64_t i = begin; i < end; i++) {
          const int64_t m = std::min(kChunk, n - i * kChunk);
          map_block(map, x + r * n + i * kChunk, m, made);
          row(m, reinterpret_cast<char *>(made), sizeof(T), reinterpret_cast<char *>(&partial[(size_t)i]));
          poll_signals();
        }
      });
      out[r] = join_blocks(WEFT_REDUCE_SUM, partial.data(), chunks, false);
    }
  }
};

// Whether x is row-major floats and `mask` its last dims, so that they are rows; their number and length.
bool rows_of(const WeftTensor *x, uint64_t mask, int64_t *rows, int64_t *n) {
  if (!(x->word & WEFT_WORD_CONTIGUOUS) || !x->numel || (WEFT_DTYPE(x) != WEFT_FLOAT32 && WEFT_DTYPE(x) != WEFT_FLOAT64)) return false;
  int d = WEFT_NDIM(x);
  for (*n = 1; d && mask >> (d - 1) & 1; d--) *n *= x->sizes[d - 1];
  *rows = x->numel / *n;
  return mask >> d << d == mask && mask != 0;
}

template <class T, int dtype> bool sum_rows(WeftTensor *x, Map map, int64_t rows, int64_t n, WeftTensor *out) {
  if (n == 1) map = SIZE;  // (whose square may be infinite, or none)
  const Sums<T, dtype> sums{map};
  if (!sums.exists()) return false;
  T *to = reinterpret_cast<T *>(weft_data(out));
  sums.run(reinterpret_cast<const T *>(weft_data(x)), to, rows, n);
  if (map == SQUARE)
    for (int64_t r = 0; r < rows; r++) to[r] = ::sqrt(to[r]);
  return true;
}

PyObject *mapped(Call &call, Map map, uint64_t mask, bool keepdim) {
  WeftTensor *x = call.tensor(0);
  int64_t rows, n, sizes[WEFT_MAX_NDIM];
  int kept = 0;
  if (!rows_of(x, mask, &rows, &n)) return UNHANDLED;
  for (int d = 0; d < WEFT_NDIM(x); d++)
    if (!(mask >> d & 1)) sizes[kept++] = x->sizes[d];
  Ref out(empty((uint32_t)WEFT_DTYPE(x), kept, sizes, nullptr));
  if (!out) return nullptr;
  WeftTensor *to = as_tensor(out.get());
  const bool summed = WEFT_DTYPE(x) == WEFT_FLOAT32 ? sum_rows<float, WEFT_FLOAT32>(x, map, rows, n, to) : sum_rows<double, WEFT_FLOAT64>(x, map, rows, n, to);
  if (!summed) return UNHANDLED;
  return keepdim && !keep_dims(to, mask) ? nullptr : out.release();
}

}  // namespace

// norm(input, p='fro', dim=None, keepdim=False, *, dtype=None), linalg_vector_norm(input, ord=2, …): of order 1 and 2, without history
PyObject *fast_norm(Call &call) {
  PyObject *p = call[1].object;
  double order = 2;
  uint64_t mask;
  if (call.recording() || !call.usual(4)) return UNHANDLED;
  if (is_number(p)) order = PyFloat_AsDouble(p);
  else if (p != Py_None && (!PyUnicode_Check(p) || PyUnicode_CompareWithASCIIString(p, "fro") != 0)) return UNHANDLED;
  if (PyErr_Occurred()) PyErr_Clear();  // (an int beyond all floats)
  if (order != 1 && order != 2) return UNHANDLED;
  if ((!call[2].none() && (!call.ints(2) || !call[2].n)) || !call.dims(2, WEFT_NDIM(call.tensor(0)), &mask)) return UNHANDLED;
  return mapped(call, order == 1 ? SIZE : SQUARE, mask, call.truth(3));
}

// power_norm(input, dim, p, keepdim) of order 2
PyObject *fast_power_norm(Call &call) {
  uint64_t mask;
  if (!call[1].n || !is_number(call[2].object) || !call.dims(1, WEFT_NDIM(call.tensor(0)), &mask)) return UNHANDLED;
  const double p = PyFloat_AsDouble(call[2].object);
  if (PyErr_Occurred()) PyErr_Clear();  // (an int beyond all floats)
  Ref out(p == 2 ? mapped(call, SQUARE, mask, call.truth(3)) : UNHANDLED);
  return out.get() == UNHANDLED ? out.release() : call.made(std::move(out));
}

// count_nonzero(input) of a row-major tensor
PyObject *fast_count_nonzero(Call &call) {
  WeftTensor *x = call.tensor(0);
  const int dtype = WEFT_DTYPE(x);
  const int64_t item = weft_itemsize(dtype), chunks = (x->numel + kChunk - 1) / kChunk;
  const WeftLoop differ = weft_kernels.pointwise[WEFT_NE][dtype];
  if (!call.usual(1) || !(x->word & WEFT_WORD_CONTIGUOUS) || !differ) return UNHANDLED;
  std::vector<int64_t> counts((size_t)chunks);
  share(chunks, kChunk, [&](int64_t begin, int64_t end) {
    char mask[kChunk];
    alignas(16) char zero[16] = {};
    const intptr_t steps[] = {(intptr_t)item, 0, 1};
    for (int64_t i = begin; i < end; i++) {
      const intptr_t n = (intptr_t)std::min(kChunk, x->numel - i * kChunk);
      char *args[] = {weft_data(x) + i * kChunk * item, zero, mask};
      differ(args, &n, steps, nullptr);
      counts[(size_t)i] = count_true(mask, n);
      poll_signals();
    }
  });
  Ref out(empty(WEFT_INT64, 0, nullptr, nullptr));
  if (!out) return nullptr;
  int64_t &total = *reinterpret_cast<int64_t *>(weft_data(as_tensor(out.get())));
  total = 0;
  for (int64_t count : counts) total += count;
  return out.release();
}

}  // namespace weft
