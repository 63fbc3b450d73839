// resample_kernels.cpp: a dim replaced by weighed sums of some of its elements (images resized), and the derivative.
//
// Element o of the result is the sum over k, in order, of weights[o, k] * input[places[o, k]]. The derivative sums the same products by
// place, in the order of (o, k). Rows behind the dim are vectors; where the dim is the last one, elements are gathered.
#include <algorithm>
#include <vector>

#include "native_kernel.h"

namespace weft {

namespace {

#define WEFT_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), optimize("O3")))
#define WEFT_SUMS(T)                                                                                                              \
  WEFT_CLONES void gather_two(const T *row, const int32_t *at, const T *weight, int64_t n, T *__restrict out) {                    \
    for (int64_t i = 0; i < n; i++) out[i] = row[at[i]] * weight[i] + row[at[n + i]] * weight[n + i];                              \
  }                                                                                                                               \
  WEFT_CLONES void gather_one(const T *row, const int32_t *at, const T *weight, int64_t n, T *__restrict out) {                    \
    for (int64_t i = 0; i < n; i++) out[i] = row[at[i]] * weight[i];                                                              \
  }                                                                                                                               \
  WEFT_CLONES void gather_more(const T *row, const int32_t *at, const T *weight, int64_t n, T *__restrict out) {                   \
    for (int64_t i = 0; i < n; i++) out[i] += row[at[i]] * weight[i];                                                             \
  }                                                                                                                               \
  WEFT_CLONES void rows_two(const T *a, const T *b, T p, T q, int64_t n, T *__restrict out) {                                      \
    for (int64_t i = 0; i < n; i++) out[i] = a[i] * p + b[i] * q;                                                                 \
  }                                                                                                                               \
  WEFT_CLONES void rows_one(const T *a, T p, int64_t n, T *__restrict out) {                                                       \
    for (int64_t i = 0; i < n; i++) out[i] = a[i] * p;                                                                            \
  }                                                                                                                               \
  WEFT_CLONES void rows_more(const T *a, T p, int64_t n, T *__restrict out) {                                                      \
    for (int64_t i = 0; i < n; i++) out[i] += a[i] * p;                                                                           \
  }
WEFT_SUMS(float)
WEFT_SUMS(double)

constexpr int64_t kPadded = 16; // the most elements a sum of gathered ones is filled up to

// What each of `n` sums takes: those of sum i are begin[i] .. begin[i + 1] - 1.
template <class T> struct Sums {
  int64_t n = 0, most = 0;
  std::vector<int64_t> begin;
  std::vector<int32_t> at;
  std::vector<T> weight;
  std::vector<int32_t> column_at; // the k-th of every sum, then the next; missing ones take the place behind the row, which is zero
  std::vector<T> column_weight;

  void make_columns(int32_t behind) {
    column_at.assign((size_t)(most * n), behind), column_weight.assign((size_t)(most * n), T(0));
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = begin[i]; k < begin[i + 1]; k++)
        column_at[(size_t)((k - begin[i]) * n + i)] = at[(size_t)k], column_weight[(size_t)((k - begin[i]) * n + i)] = weight[(size_t)k];
  }

  // places and weights [count, taps] of a dim of `size`; false: a place is outside
  bool read(const int64_t *places, const T *weights, int64_t count, int64_t taps, int64_t size) {
    for (int64_t i = 0; i < count * taps; i++)
      if (places[i] < 0 || places[i] >= size) return false;
    n = count, most = taps;
    begin.resize((size_t)count + 1);
    for (int64_t i = 0; i <= count; i++) begin[(size_t)i] = i * taps;
    at.assign(places, places + count * taps), weight.assign(weights, weights + count * taps);
    return true;
  }

  // The same products by place instead.
  Sums turned(int64_t size) const {
    Sums out;
    out.n = size;
    out.begin.assign((size_t)size + 1, 0);
    for (int32_t place : at) out.begin[(size_t)place + 1]++;
    for (int64_t i = 0; i < size; i++) out.most = std::max(out.most, out.begin[(size_t)i + 1]), out.begin[(size_t)i + 1] += out.begin[(size_t)i];
    std::vector<int64_t> next(out.begin.begin(), out.begin.end() - 1);
    out.at.resize(at.size()), out.weight.resize(at.size());
    for (int64_t o = 0; o < n; o++)
      for (int64_t k = begin[(size_t)o]; k < begin[(size_t)o + 1]; k++) {
        const int64_t to = next[(size_t)at[(size_t)k]]++;
        out.at[(size_t)to] = (int32_t)o, out.weight[(size_t)to] = weight[(size_t)k];
      }
    return out;
  }
};

template <class T> struct ResampleJob {
  const Sums<T> *sums;
  const T *from;
  T *to;
  int64_t size, inner; // of what is summed
  bool padded;         // rows are copied, for the sums take a zero behind them

  static void elements(void *context, int64_t begin, int64_t end, int64_t) { // over rows, of which each is the whole dim
    const ResampleJob &job = *static_cast<ResampleJob *>(context);
    const Sums<T> &s = *job.sums;
    std::vector<T> copy(job.padded ? (size_t)job.size + 1 : 0);
    for (int64_t r = begin; r < end; r++) {
      const T *row = job.from + r * job.size;
      T *out = job.to + r * s.n;
      if (job.padded) std::copy(row, row + job.size, copy.begin()), row = copy.data();
      if (s.column_at.empty()) {
        for (int64_t i = 0; i < s.n; i++) {
          T sum = 0;
          for (int64_t k = s.begin[(size_t)i]; k < s.begin[(size_t)i + 1]; k++) sum += row[s.at[(size_t)k]] * s.weight[(size_t)k];
          out[i] = sum;
        }
        continue;
      }
      const int32_t *at = s.column_at.data();
      const T *weight = s.column_weight.data();
      if (s.most > 1) gather_two(row, at, weight, s.n, out);
      else gather_one(row, at, weight, s.n, out);
      for (int64_t k = 2; k < s.most; k++) gather_more(row, at + k * s.n, weight + k * s.n, s.n, out);
    }
  }

  static void vectors(void *context, int64_t begin, int64_t end, int64_t) { // over rows of the result
    const ResampleJob &job = *static_cast<ResampleJob *>(context);
    const Sums<T> &s = *job.sums;
    for (int64_t r = begin; r < end; r++) {
      const int64_t outer = r / s.n, i = r % s.n, first = s.begin[(size_t)i], count = s.begin[(size_t)i + 1] - first;
      const T *from = job.from + outer * job.size * job.inner;
      T *out = job.to + r * job.inner;
      const auto row = [&](int64_t k) { return from + s.at[(size_t)(first + k)] * job.inner; };
      const T *weight = s.weight.data() + first;
      if (!count) std::fill(out, out + job.inner, T(0));
      else if (count == 1) rows_one(row(0), weight[0], job.inner, out);
      else rows_two(row(0), row(1), weight[0], weight[1], job.inner, out);
      for (int64_t k = 2; k < count; k++) rows_more(row(k), weight[k], job.inner, out);
    }
  }
};

template <class T> bool resampled(WeftTensor *out, WeftTensor *given, WeftTensor *places, WeftTensor *weights, int dim, bool back) {
  const int64_t count = places->sizes[0], taps = places->sizes[1], size = (back ? out : given)->sizes[dim];
  Sums<T> sums, turned;
  if (!sums.read(reinterpret_cast<const int64_t *>(weft_data(places)), reinterpret_cast<const T *>(weft_data(weights)), count, taps, size)) return false;
  if (back) turned = sums.turned(size);
  Sums<T> &used = back ? turned : sums;
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < dim; d++) outer *= out->sizes[d];
  for (int d = dim + 1; d < WEFT_NDIM(out); d++) inner *= out->sizes[d];
  const int64_t long_side = given->sizes[dim];
  ResampleJob<T> job = {&used, reinterpret_cast<const T *>(weft_data(given)), reinterpret_cast<T *>(weft_data(out)), long_side, inner, back};
  const int64_t work = outer * inner * count * taps;
  if (inner == 1) {
    if (used.most && used.most <= (back ? kPadded : INT32_MAX)) used.make_columns((int32_t)long_side);
    else job.padded = false;
    Loop::parallel(work, outer, count * taps, ResampleJob<T>::elements, &job);
  } else {
    Loop::parallel(work, outer * used.n, std::max<int64_t>(inner * count * taps / used.n, 1), ResampleJob<T>::vectors, &job);
  }
  return true;
}

// (out, input, places, weights, dim); of the derivative (out, grad, places, weights, dim, size)
template <bool back> PyObject *resample_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  int64_t dim;
  WeftTensor *out = nargs == (back ? 6 : 5) ? dense(args[0]) : nullptr, *given = out ? plain(args[1]) : nullptr;
  WeftTensor *places = given ? dense(args[2]) : nullptr, *weights = places ? dense(args[3]) : nullptr;
  if (!weights || !exact_int(args[4], &dim) || dim < 0 || dim >= WEFT_NDIM(out) || WEFT_NDIM(given) != WEFT_NDIM(out)) return not_for_these();
  const int dtype = WEFT_DTYPE(out);
  if ((dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || WEFT_DTYPE(given) != dtype || WEFT_DTYPE(weights) != dtype || WEFT_DTYPE(places) != WEFT_INT64) return not_for_these();
  if (WEFT_NDIM(places) != 2 || WEFT_NDIM(weights) != 2 || places->sizes[0] != weights->sizes[0] || places->sizes[1] != weights->sizes[1]) return not_for_these();
  for (int d = 0; d < WEFT_NDIM(out); d++)
    if (d != dim && out->sizes[d] != given->sizes[d]) return not_for_these();
  if (!out->numel || !given->numel || !places->numel || (back ? given : out)->sizes[dim] != places->sizes[0]) return not_for_these();
  if (out->sizes[dim] >= INT32_MAX || given->sizes[dim] >= INT32_MAX || places->numel >= INT32_MAX) return not_for_these();
  Ref kept = row_major(given);
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  WeftTensor *from = as_tensor(kept.get());
  const bool done = dtype == WEFT_FLOAT32 ? resampled<float>(out, from, places, weights, (int)dim, back) : resampled<double>(out, from, places, weights, (int)dim, back);
  return done ? written() : not_for_these();
}

}  // namespace

const NativeKernel resample_kernels[] = {{"resample", WEFT_KERNEL(resample_kernel<false>)}, {"resample_backward", WEFT_KERNEL(resample_kernel<true>)}, {nullptr, nullptr}};

}  // namespace weft
