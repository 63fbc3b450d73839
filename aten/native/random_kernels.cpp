// random_kernels.cpp: random orders, and draws with given probabilities.
#include <math.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "native_kernel.h"
#include "philox.h"

namespace weft {

namespace {

// (out, n, seed, offset, dtype, device): the order of n numbers that are uniform on [0, 1), of 53 bits
PyObject *randperm_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr;
  if (!out || !weft_kernels.order || WEFT_DTYPE(out) != WEFT_INT64 || out->numel > UINT32_MAX || !PyLong_CheckExact(args[2]) || !PyLong_CheckExact(args[3])) return not_for_these();
  const uint64_t seed = PyLong_AsUnsignedLongLong(args[2]), offset = PyLong_AsUnsignedLongLong(args[3]);
  if (PyErr_Occurred()) return nullptr;
  const int64_t n = out->numel;
  const int64_t room = (n > WEFT_ORDER_ALONE ? 2 * n : n) + 1;
  const Ref memory(empty(WEFT_INT64, 1, &room, nullptr));  // of the allocator, which keeps it for the next call
  if (!memory) return nullptr;
  uint64_t *keys = reinterpret_cast<uint64_t *>(weft_data(as_tensor(memory.get()))), *spare = keys + n;
  Released released(n >= 4096);
  philox_keys(seed, offset, keys, n);
  weft_kernels.order(keys, spare, n, reinterpret_cast<int64_t *>(weft_data(out)));
  return written();
}

// A row of probabilities in float64; false: one is no probability, or there are not `least` above 0.
template <class T> bool probabilities(const T *row, int64_t n, int64_t least, double *to) {
  int64_t some = 0;
  bool good = true;
  for (int64_t i = 0; i < n; i++) {
    to[i] = (double)row[i];
    good &= to[i] >= 0 && to[i] <= std::numeric_limits<double>::max();
    some += to[i] > 0;
  }
  return good && some >= least;
}

// By inverting the sums.
void draw_with_replacement(double *p, int64_t n, const float *uniform, int64_t count, int64_t *out) {
  for (int64_t i = 1; i < n; i++) p[i] += p[i - 1];
  for (int64_t i = 0; i < count; i++) out[i] = std::min<int64_t>(std::upper_bound(p, p + n, (double)uniform[i] * p[n - 1]) - p, n - 1);
}

struct Racer {
  double time;
  int64_t place;
  bool operator<(const Racer &o) const { return time != o.time ? time < o.time : place < o.place; }
};

// The first of a race of exponentials: of many a heap keeps them.
void draw_without_replacement(const double *p, int64_t n, const float *uniform, int64_t count, std::vector<Racer> &first, int64_t *out) {
  first.clear();
  for (int64_t i = 0; i < n; i++) {
    if (!(p[i] > 0)) continue;
    const Racer racer = {-log1p(-(double)uniform[i]) / p[i], i};
    const bool full = (int64_t)first.size() == count;
    if (full && !(racer < first.front())) continue;
    if (full) std::pop_heap(first.begin(), first.end()), first.back() = racer;
    else first.push_back(racer);
    std::push_heap(first.begin(), first.end());
  }
  std::sort_heap(first.begin(), first.end());
  for (int64_t i = 0; i < count; i++) out[i] = first[(size_t)i].place;
}

// (out, probabilities, num_samples, replacement, seed, offset)
PyObject *multinomial_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr, *given = out ? plain(args[1]) : nullptr;
  int64_t count;
  bool replacement;
  if (!given || !WEFT_NDIM(given) || !given->numel || WEFT_DTYPE(out) != WEFT_INT64 || !exact_int(args[2], &count) || count < 1 || !exact_bool(args[3], &replacement)) return not_for_these();
  if ((WEFT_DTYPE(given) != WEFT_FLOAT32 && WEFT_DTYPE(given) != WEFT_FLOAT64) || !PyLong_CheckExact(args[4]) || !PyLong_CheckExact(args[5])) return not_for_these();
  const int64_t n = given->sizes[WEFT_NDIM(given) - 1], rows = given->numel / n, draws = replacement ? count : n;
  if (out->numel != rows * count || (!replacement && count > n)) return not_for_these();
  const uint64_t seed = PyLong_AsUnsignedLongLong(args[4]), offset = PyLong_AsUnsignedLongLong(args[5]);
  if (PyErr_Occurred()) return nullptr;
  const Ref kept = row_major(given);
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  const WeftTensor *p = as_tensor(kept.get());
  const int64_t room = rows * draws;
  const Ref memory(empty(WEFT_FLOAT32, 1, &room, nullptr));
  if (!memory) return nullptr;
  float *uniform = reinterpret_cast<float *>(weft_data(as_tensor(memory.get())));
  int64_t *to = reinterpret_cast<int64_t *>(weft_data(out));
  std::vector<double> row((size_t)n);
  std::vector<Racer> first;
  bool good = true;
  {
    Released released(given->numel >= 4096);
    philox_floats(seed, offset, uniform, room);
    for (int64_t r = 0; good && r < rows; r++, uniform += draws, to += count) {
      const int64_t least = replacement ? 1 : count;
      good = WEFT_DTYPE(p) == WEFT_FLOAT32 ? probabilities(reinterpret_cast<float *>(weft_data(p)) + r * n, n, least, row.data())
                                           : probabilities(reinterpret_cast<double *>(weft_data(p)) + r * n, n, least, row.data());
      if (!good) break;
      if (replacement) draw_with_replacement(row.data(), n, uniform, count, to);
      else draw_without_replacement(row.data(), n, uniform, count, first, to);
      poll_signals();
    }
  }
  return good ? written() : not_for_these();
}

}  // namespace

const NativeKernel random_kernels[] = {{"randperm_philox", WEFT_KERNEL(randperm_kernel)}, {"multinomial_philox", WEFT_KERNEL(multinomial_kernel)}, {nullptr, nullptr}};

}  // namespace weft
