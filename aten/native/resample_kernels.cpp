// resample_kernels.cpp: a dim replaced by weighed sums of some of its elements (images resized), and the derivative.
//
// Element o of the result is the sum over k, in order, of weight[o, k] * input[place[o, k]], which are found as `_taps` of
// aten/ops/resize.py says. The derivative sums the same products by place, in the order of (o, k). Rows behind the dim are vectors; where
// the dim is the last one, elements are gathered.
#include <algorithm>
#include <cmath>
#include <vector>

#include "clones.h"
#include "native_kernel.h"

namespace weft {

namespace {

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

WEFT_CLONES void add_bytes(const uint8_t *a, int32_t weight, int64_t n, int32_t *__restrict sums) {
  for (int64_t i = 0; i < n; i++) sums[i] += a[i] * weight;
}
WEFT_CLONES void to_bytes(const int32_t *sums, int bits, int64_t n, uint8_t *__restrict out) {
  for (int64_t i = 0; i < n; i++) out[i] = (uint8_t)std::min(std::max(sums[i] >> bits, 0), 255);
}

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

  // For each of `count` sums `taps` elements: find(i, k, &weight) is the place of the k-th.
  template <class F> void fill(int64_t count, int64_t taps, F find) {
    n = count, most = taps;
    begin.resize((size_t)count + 1), at.resize((size_t)(count * taps)), weight.resize((size_t)(count * taps));
    for (int64_t i = 0; i <= count; i++) begin[(size_t)i] = i * taps;
    for (int64_t i = 0; i < count; i++)
      for (int64_t k = 0; k < taps; k++) {
        double share;
        at[(size_t)(i * taps + k)] = (int32_t)find(i, k, &share), weight[(size_t)(i * taps + k)] = (T)share;
      }
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

// How places are found; all in float64.
struct Resizing {
  int64_t out, size;
  double scale; // 0: none was given
  bool cubic, align, antialias;

  double step() const {
    if (align) return out > 1 ? (double)(size - 1) / (double)(out - 1) : 0.0;
    return scale ? 1 / scale : (double)size / (double)std::max<int64_t>(out, 1);
  }
  double source(int64_t i) const { return align ? (double)i * step() : ((double)i + 0.5) * step() - 0.5; }
  int64_t inside(double place) const { return (int64_t)std::min(std::max(place, 0.0), (double)(size - 1)); }

  static double cubic_weight(double t, double a) {
    t = std::fabs(t);
    const double near = ((a + 2) * t - (a + 3)) * t * t + 1, far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
    return t <= 1 ? near : t < 2 ? far : 0.0;
  }

  template <class T> void fill(Sums<T> *sums) const {
    if (antialias) return fill_wide(sums);
    if (cubic)
      return sums->fill(out, 4, [&](int64_t i, int64_t k, double *weight) {
        const double at = source(i), place = std::floor(at) + (double)(k - 1);
        *weight = cubic_weight(at - place, -0.75);
        return inside(place);
      });
    sums->fill(out, 2, [&](int64_t i, int64_t k, double *weight) {
      const double at = std::max(source(i), 0.0), low = std::min(std::floor(at), (double)(size - 1));
      *weight = k ? at - low : 1 - (at - low);
      return inside(low + (double)k);
    });
  }

  // By a filter that is as wide as the reduction.
  template <class T> void fill_wide(Sums<T> *sums) const {
    const double width = std::max(step(), 1.0), reach = cubic ? 2 * width : width;
    const int64_t taps = 2 * (int64_t)std::ceil(reach) + 1;
    std::vector<double> row((size_t)taps);
    sums->fill(out, taps, [&](int64_t i, int64_t k, double *weight) {
      const double centre = ((double)i + 0.5) * step(), first = std::floor(centre - reach + 0.5);
      if (!k) {
        double sum = 0;
        for (int64_t j = 0; j < taps; j++) {
          const double place = first + (double)j, away = (place + 0.5 - centre) / width;
          const double share = cubic ? cubic_weight(away, -0.5) : std::max(1 - std::fabs(away), 0.0);
          sum += row[(size_t)j] = place >= 0 && place < (double)size ? share : 0.0;
        }
        for (double &share : row) share /= sum;
      }
      *weight = row[(size_t)k];
      return inside(first + (double)k);
    });
  }
};

// (out, input, dim, out_size, scale, cubic, align, antialias); of the derivative (out, grad, dim, size, scale, cubic, align, antialias)
struct Call {
  WeftTensor *out, *given;
  int64_t dim;
  Resizing how = {};

  bool read(PyObject *const *args, Py_ssize_t nargs, bool back) {
    int64_t size;
    out = nargs == 8 ? dense(args[0]) : nullptr, given = out ? plain(args[1]) : nullptr;
    if (!given || !exact_int(args[2], &dim) || !exact_int(args[3], &size) || dim < 0 || dim >= WEFT_NDIM(out) || WEFT_NDIM(given) != WEFT_NDIM(out)) return false;
    if (!exact_bool(args[5], &how.cubic) || !exact_bool(args[6], &how.align) || !exact_bool(args[7], &how.antialias)) return false;
    if (args[4] != Py_None) {
      if (!PyFloat_Check(args[4]) && !PyLong_Check(args[4])) return false;
      how.scale = PyFloat_AsDouble(args[4]);
      if (!(how.scale > 0)) return PyErr_Clear(), false;
    }
    if (WEFT_DTYPE(given) != WEFT_DTYPE(out) || out->sizes[dim] != size || !out->numel || !given->numel) return false;
    for (int d = 0; d < WEFT_NDIM(out); d++)
      if (d != dim && out->sizes[d] != given->sizes[d]) return false;
    how.out = (back ? given : out)->sizes[dim], how.size = (back ? out : given)->sizes[dim];
    return how.step() < 1e6 && how.out < INT32_MAX / (4 * ((int64_t)how.step() + 2)) && how.size < INT32_MAX;
  }
  int64_t inner() const {
    int64_t n = 1;
    for (int d = (int)dim + 1; d < WEFT_NDIM(out); d++) n *= out->sizes[d];
    return n;
  }
};

template <class T> void resampled(const Call &call, WeftTensor *given, bool back) {
  Sums<T> sums, turned;
  call.how.fill(&sums);
  if (back) turned = sums.turned(call.how.size);
  Sums<T> &used = back ? turned : sums;
  const int64_t inner = call.inner(), outer = call.out->numel / (inner * used.n);
  const int64_t length = given->sizes[call.dim], products = (int64_t)sums.at.size(), work = outer * inner * products;
  ResampleJob<T> job = {&used, reinterpret_cast<const T *>(weft_data(given)), reinterpret_cast<T *>(weft_data(call.out)), length, inner, back};
  if (inner == 1) {
    if (used.most && used.most <= (back ? kPadded : INT32_MAX)) used.make_columns((int32_t)length);
    else job.padded = false;
    Loop::parallel(work, outer, products, ResampleJob<T>::elements, &job);
  } else {
    Loop::parallel(work, outer * used.n, std::max<int64_t>(inner * products / used.n, 1), ResampleJob<T>::vectors, &job);
  }
}

template <bool back> PyObject *resample_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Call call;
  if (!call.read(args, nargs, back)) return not_for_these();
  const int dtype = WEFT_DTYPE(call.out);
  if (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) return not_for_these();
  Ref kept = row_major(call.given);
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  if (dtype == WEFT_FLOAT32) resampled<float>(call, as_tensor(kept.get()), back);
  else resampled<double>(call, as_tensor(kept.get()), back);
  return written();
}

// Bytes by whole weights: `bits` of them behind the point, so many that the largest still has 15 (as PyTorch's kernels for images).
struct BytesJob {
  std::vector<int64_t> begin;
  std::vector<int32_t> at, weight;
  int bits = 0;
  int64_t n, size, inner;
  const uint8_t *from;
  uint8_t *to;

  // Elements that one sum takes twice, at the border, are taken once by the sum of their weights, in the order of places.
  void read(const Sums<double> &sums) {
    double most = 0;
    std::vector<std::pair<int32_t, double>> merged;
    begin.assign(1, 0);
    for (int64_t i = 0; i < sums.n; i++) {
      const size_t first = merged.size();
      for (int64_t k = sums.begin[(size_t)i]; k < sums.begin[(size_t)i + 1]; k++) {
        const int32_t place = sums.at[(size_t)k];
        if (merged.size() > first && merged.back().first == place) merged.back().second += sums.weight[(size_t)k];
        else merged.emplace_back(place, sums.weight[(size_t)k]);
      }
      for (size_t k = first; k < merged.size(); k++) most = std::max(most, merged[k].second);
      begin.push_back((int64_t)merged.size());
    }
    while (bits < 22 && std::floor(most * (double)(2 << bits) + 0.5) < 32768.0) bits++;
    for (auto &one : merged) {
      const double scaled = one.second * (double)(1 << bits);
      at.push_back(one.first), weight.push_back((int32_t)(scaled + (scaled < 0 ? -0.5 : 0.5)));
    }
    n = sums.n;
  }
  int32_t half() const { return bits ? 1 << (bits - 1) : 0; }

  static void elements(void *context, int64_t first, int64_t last, int64_t) {
    const BytesJob &job = *static_cast<BytesJob *>(context);
    std::vector<int32_t> sums((size_t)job.n);
    for (int64_t r = first; r < last; r++) {
      const uint8_t *row = job.from + r * job.size;
      for (int64_t i = 0; i < job.n; i++) {
        int32_t sum = job.half();
        for (int64_t k = job.begin[(size_t)i]; k < job.begin[(size_t)i + 1]; k++) sum += row[job.at[(size_t)k]] * job.weight[(size_t)k];
        sums[(size_t)i] = sum;
      }
      to_bytes(sums.data(), job.bits, job.n, job.to + r * job.n);
    }
  }

  static void vectors(void *context, int64_t first, int64_t last, int64_t) {
    const BytesJob &job = *static_cast<BytesJob *>(context);
    std::vector<int32_t> sums((size_t)job.inner);
    for (int64_t r = first; r < last; r++) {
      const int64_t outer = r / job.n, i = r % job.n;
      std::fill(sums.begin(), sums.end(), job.half());
      for (int64_t k = job.begin[(size_t)i]; k < job.begin[(size_t)i + 1]; k++)
        add_bytes(job.from + (outer * job.size + job.at[(size_t)k]) * job.inner, job.weight[(size_t)k], job.inner, sums.data());
      to_bytes(sums.data(), job.bits, job.inner, job.to + r * job.inner);
    }
  }
};

// (out, input, dim, out_size, scale, cubic, align, antialias) of bytes
PyObject *bytes_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Call call;
  if (!call.read(args, nargs, false) || WEFT_DTYPE(call.out) != WEFT_UINT8) return not_for_these();
  Ref kept = row_major(call.given);
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  Sums<double> sums;
  call.how.fill(&sums);
  BytesJob job;
  job.read(sums);
  job.from = reinterpret_cast<const uint8_t *>(weft_data(as_tensor(kept.get()))), job.to = reinterpret_cast<uint8_t *>(weft_data(call.out));
  job.size = call.how.size, job.inner = call.inner();
  const int64_t outer = call.out->numel / (job.n * job.inner), products = (int64_t)job.at.size();
  if (job.inner == 1) Loop::parallel(outer * products, outer, products, BytesJob::elements, &job);
  else Loop::parallel(outer * job.inner * products, outer * job.n, std::max<int64_t>(job.inner * products / job.n, 1), BytesJob::vectors, &job);
  return written();
}

}  // namespace

const NativeKernel resample_kernels[] = {{"resample", WEFT_KERNEL(resample_kernel<false>)}, {"resample_backward", WEFT_KERNEL(resample_kernel<true>)}, {"resample_bytes", WEFT_KERNEL(bytes_kernel)}, {nullptr, nullptr}};

}  // namespace weft
