// part_means.cpp: means and maxima of nearly equal parts of the last dims of floats (adaptive pooling), and their derivatives; maxima
// of windows at drawn places (fractional pooling).
//
// Parts may share elements. A part's rows are added up first, then their sum's elements, to one of four sums in turn; of equal elements the first is the largest, of NaN the first NaN.
#include <string.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>
#include <vector>

#include "by_dtype.h"
#include "native_kernel.h"

namespace weft {

namespace {

constexpr int kMostDims = 3;

struct Parts {
  int64_t size[kMostDims], out[kMostDims], outer = 1, all_sizes = 1, all_outs = 1;  // dims that are not there have one part of one element

  std::vector<int64_t> begins[kMostDims], ends[kMostDims];

  int64_t begin(int d, int64_t i) const { return begins[d][(size_t)i]; }
  int64_t end(int d, int64_t i) const { return ends[d][(size_t)i]; }

  // of a tensor whose last n dims are cut, and its means; false: none of this kind
  bool read(const WeftTensor *whole, const WeftTensor *means, int n) {
    const int ndim = WEFT_NDIM(whole);
    if (n < 1 || n > kMostDims || ndim < n || WEFT_NDIM(means) != ndim) return false;
    for (int d = 0; d < kMostDims; d++) size[d] = out[d] = 1;
    for (int d = 0; d < ndim; d++) {
      const int k = d - (ndim - n);
      if (k < 0) {
        if (whole->sizes[d] != means->sizes[d]) return false;
        outer *= whole->sizes[d];
      } else {
        size[kMostDims - n + k] = whole->sizes[d], out[kMostDims - n + k] = means->sizes[d];
        all_sizes *= whole->sizes[d], all_outs *= means->sizes[d];
      }
    }
    for (int d = 0; d < kMostDims; d++)
      for (int64_t i = 0; i < out[d]; i++)
        begins[d].push_back(i * size[d] / out[d]), ends[d].push_back(((i + 1) * size[d] + out[d] - 1) / out[d]);
    return true;
  }

  // f(where it begins) for the rows of the parts at (i, j) of the first two dims
  template <class F> void each_row(int64_t i, int64_t j, F f) const {
    for (int64_t p = begin(0, i); p < end(0, i); p++)
      for (int64_t q = begin(1, j); q < end(1, j); q++) f((p * size[1] + q) * size[2]);
  }
  int64_t rows(int64_t i, int64_t j) const { return (end(0, i) - begin(0, i)) * (end(1, j) - begin(1, j)); }

  // f(which part, its number of elements, the first of a run of them, the run's length) for all runs of all parts
  template <class F> void each(F f) const {
    int64_t part = 0;
    for (int64_t i = 0; i < out[0]; i++)
      for (int64_t j = 0; j < out[1]; j++)
        for (int64_t k = 0; k < out[2]; k++, part++) {
          const int64_t a = begin(2, k), length = end(2, k) - a, count = (end(0, i) - begin(0, i)) * (end(1, j) - begin(1, j)) * length;
          for (int64_t p = begin(0, i); p < end(0, i); p++)
            for (int64_t q = begin(1, j); q < end(1, j); q++) f(part, count, (p * size[1] + q) * size[2] + a, length);
        }
  }
};

template <class T> T sum_of(const T *x, int64_t n) {
  T sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) sums[k] += x[i + k];
  for (; i < n; i++) sums[i & 3] += x[i];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}
template <class T> void add(int64_t n, const T *from, T *to) {
  for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

// Parts that lie side by side have their rows in common.
template <class T> struct MeansJob {
  const Parts &parts;
  const T *from;
  T *to;
  const WeftKernelRuntime *runtime;

  T *row(int64_t worker) const { return static_cast<T *>(runtime->scratch(worker, parts.size[2] * (int64_t)sizeof(T))); }

  static void forward(void *context, int64_t begin, int64_t end, int64_t worker) {
    const MeansJob &job = *static_cast<MeansJob *>(context);
    const Parts &p = job.parts;
    const int64_t width = p.size[2];
    T *const row = job.row(worker), *y = job.to + begin * p.all_outs;
    for (int64_t r = begin; r < end; r++)
      for (int64_t i = 0; i < p.out[0]; i++)
        for (int64_t j = 0; j < p.out[1]; j++) {
          const int64_t rows = p.rows(i, j);
          const T *sums = nullptr;
          p.each_row(i, j, [&](int64_t at) {
            const T *x = job.from + r * p.all_sizes + at;
            if (sums) add(width, x, row);
            else if (rows > 1) std::copy(x, x + width, row);
            sums = rows > 1 ? row : x;
          });
          for (int64_t k = 0; k < p.out[2]; k++) {
            const int64_t length = p.end(2, k) - p.begin(2, k);
            *y++ = sum_of(sums + p.begin(2, k), length) / (T)(rows * length);
          }
        }
  }
  static void backward(void *context, int64_t begin, int64_t end, int64_t worker) {
    const MeansJob &job = *static_cast<MeansJob *>(context);
    const Parts &p = job.parts;
    const int64_t width = p.size[2];
    T *const row = job.row(worker);
    const T *g = job.from + begin * p.all_outs;
    for (int64_t r = begin; r < end; r++) {
      T *to = job.to + r * p.all_sizes;
      for (int64_t i = 0; i < p.out[0]; i++)
        for (int64_t j = 0; j < p.out[1]; j++) {
          const int64_t rows = p.rows(i, j);
          T *line = row;  // what is added to each row of the parts; a row that no other has is written as it is made
          const auto fresh = [&](int d, int64_t part, int64_t at) { return part == 0 || at >= p.end(d, part - 1); };
          const bool alone = rows == 1 && fresh(0, i, p.begin(0, i)) && fresh(1, j, p.begin(1, j));
          if (alone) line = to + (p.begin(0, i) * p.size[1] + p.begin(1, j)) * width;
          for (int64_t k = 0, done = 0; k < p.out[2]; k++) {
            const int64_t first = p.begin(2, k), last = p.end(2, k), shared = std::min(std::max(first, done), last);
            const T share = *g++ / (T)(rows * (last - first));
            for (int64_t x = first; x < shared; x++) line[x] += share;
            std::fill(line + shared, line + last, share);
            done = std::max(done, last);
          }
          if (alone) continue;
          for (int64_t a = p.begin(0, i); a < p.end(0, i); a++)
            for (int64_t b = p.begin(1, j); b < p.end(1, j); b++) {
              T *const at = to + (a * p.size[1] + b) * width;
              if (fresh(0, i, a) && fresh(1, j, b)) std::copy(row, row + width, at);  // the first part that has the row
              else add(width, row, at);
            }
        }
    }
  }
};

// (out, input, outs); of the derivative (out, grad, sizes)
template <bool back> PyObject *means_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? dense(args[0]) : nullptr, *given = out ? plain(args[1]) : nullptr;
  const int dtype = out ? WEFT_DTYPE(out) : 0;
  if (!given || (!PyList_Check(args[2]) && !PyTuple_Check(args[2])) || WEFT_DTYPE(given) != dtype || (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64)) return not_for_these();
  Parts parts;
  if (!parts.read(back ? out : given, back ? given : out, (int)PySequence_Size(args[2])) || !out->numel || !given->numel) return not_for_these();
  Ref kept = row_major(given);
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  const auto run = [&](auto zero) {
    typedef decltype(zero) T;
    MeansJob<T> job = {parts, reinterpret_cast<const T *>(weft_data(as_tensor(kept.get()))), reinterpret_cast<T *>(weft_data(out)), kernel_runtime()};
    const int64_t whole = (back ? out : given)->numel;
    Loop::parallel(whole, parts.outer, parts.all_sizes, back ? MeansJob<T>::backward : MeansJob<T>::forward, &job);
  };
  if (dtype == WEFT_FLOAT32) run(0.0f);
  else run(0.0);
  return written();
}

template <class T> struct MaximaJob {
  const Parts &parts;
  const T *from;
  T *values;
  int64_t *places;  // in the last dims taken as one

  static void forward(void *context, int64_t begin, int64_t end, int64_t) {
    const MaximaJob &job = *static_cast<MaximaJob *>(context);
    const Parts &p = job.parts;
    for (int64_t r = begin; r < end; r++) {
      const T *x = job.from + r * p.all_sizes;
      T *values = job.values + r * p.all_outs;
      int64_t *places = job.places + r * p.all_outs, last = -1, best = 0;
      T value = 0;
      p.each([&](int64_t part, int64_t, int64_t at, int64_t length) {
        if (part != last) {
          if (last >= 0) values[last] = value, places[last] = best;
          last = part, best = at, value = x[at];
        }
        T top = value;  // (what is captured stays in memory)
        int64_t which = best;
        for (int64_t i = at; i < at + length; i++) {
          const T v = x[i];
          const bool larger = (v > top) | ((v != v) & (top == top));  // no branch: which is larger nobody foresees
          which = larger ? i : which, top = larger ? v : top;
        }
        best = which, value = top;
      });
      if (last >= 0) values[last] = value, places[last] = best;
    }
  }
};

// Adds what belongs to a place there, halves in float32, of which those that are written are rounded. Places that are outside (somebody wrote them past their version) are left out.
template <class T, class Sum> struct PlacesJob {
  int64_t sizes, outs;
  const T *grad;
  const int64_t *places;
  T *to;

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const PlacesJob &job = *static_cast<PlacesJob *>(context);
    constexpr bool narrow = !std::is_same<T, Sum>::value;
    std::vector<Sum> side(narrow ? (size_t)job.sizes : 0);
    for (int64_t r = begin; r < end; r++) {
      T *const to = job.to + r * job.sizes;
      Sum *sums = side.data();
      if constexpr (!narrow) sums = to;
      memset((void *)to, 0, (size_t)job.sizes * sizeof(T));
      for (int64_t i = r * job.outs; i < (r + 1) * job.outs; i++)
        if (const int64_t at = job.places[i]; (uint64_t)at < (uint64_t)job.sizes) sums[at] += (Sum)job.grad[i];
      if constexpr (narrow) {
        for (int64_t i = r * job.outs; i < (r + 1) * job.outs; i++)
          if (const int64_t at = job.places[i]; (uint64_t)at < (uint64_t)job.sizes) to[at] = T(sums[at]);
        for (int64_t i = r * job.outs; i < (r + 1) * job.outs; i++)
          if (const int64_t at = job.places[i]; (uint64_t)at < (uint64_t)job.sizes) sums[at] = 0;
      }
    }
  }
};

// Windows of one size whose places are drawn (aten/ops/fractional_pool.py): their largest elements, and where those stand.
template <class T, class Wide> struct DrawnWindows {
  int n;
  int64_t size[kMostDims], kernel[kMostDims], out[kMostDims], all_sizes, all_outs;
  const T *from, *samples;
  T *values;
  int64_t *places;
  std::atomic<bool> outside{false};  // some window is not within its image

  // Where the windows begin along dim d, computed in the dtype of the sample, every step rounded. False: not all are within.
  bool starts(int d, T sample, int64_t *to) const {
    const int64_t last = size[d] - kernel[d];
    const Wide step = out[d] > 1 ? (Wide)((double)last / (double)(out[d] - 1)) : Wide(0);
    const T shifted((Wide)sample * step);
    bool within = last >= 0;
    for (int64_t i = 0; i < out[d] - 1; i++) {
      const T place((Wide)T((Wide)T((Wide)i) + (Wide)sample) * step), at(std::trunc((Wide)place) - std::trunc((Wide)shifted));
      to[i] = (int64_t)(Wide)at;
      within = within && to[i] >= 0 && to[i] <= last;
    }
    to[out[d] - 1] = last;
    return within;
  }

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    DrawnWindows &job = *static_cast<DrawnWindows *>(context);
    std::vector<int64_t> at[kMostDims];
    for (int d = 0; d < kMostDims; d++) at[d].resize((size_t)job.out[d]);
    for (int64_t r = begin; r < end; r++) {
      const T *sample = job.samples + r * job.n;
      for (int d = 0; d < kMostDims; d++) {
        const int k = d - (kMostDims - job.n);
        if (k < 0) at[d][0] = 0;
        else if (!job.starts(d, sample[job.n == 2 ? 1 - k : k], at[d].data())) job.outside = true;
      }
      if (job.outside) return;
      job.image(r, at);
    }
  }

  void image(int64_t r, const std::vector<int64_t> *at) const {
    const T *const x = from + r * all_sizes;
    int64_t o = r * all_outs;
    for (const int64_t z : at[0])
      for (const int64_t y : at[1])
        for (const int64_t w : at[2]) {
          int64_t best = (z * size[1] + y) * size[2] + w;
          Wide top = (Wide)x[best];
          for (int64_t i = z; i < z + kernel[0]; i++)
            for (int64_t j = y; j < y + kernel[1]; j++) {
              const int64_t row = (i * size[1] + j) * size[2];
              for (int64_t p = row + w; p < row + w + kernel[2]; p++) {
                const Wide v = (Wide)x[p];
                const bool larger = (v > top) | ((v != v) & (top == top));
                best = larger ? p : best, top = larger ? v : top;
              }
            }
          values[o] = x[best], places[o++] = best;
        }
  }
};

// The last n of three numbers.
bool read_last(PyObject *list, int n, int64_t *to) {
  for (int i = 0; i < kMostDims; i++) to[i] = 1;
  if (!PyList_Check(list) || PyList_GET_SIZE(list) != n) return false;
  for (int i = 0; i < n; i++)
    if (!exact_int(PyList_GET_ITEM(list, i), &to[kMostDims - n + i]) || to[kMostDims - n + i] < 1) return false;
  return true;
}

// ((values, places), input, outs)
PyObject *maxima_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  const bool two = nargs == 3 && PyTuple_Check(args[0]) && PyTuple_GET_SIZE(args[0]) == 2;
  WeftTensor *out = two ? dense(PyTuple_GET_ITEM(args[0], 0)) : nullptr, *places = out ? dense(PyTuple_GET_ITEM(args[0], 1)) : nullptr;
  WeftTensor *given = places ? plain(args[1]) : nullptr;
  if (!given || (!PyList_Check(args[2]) && !PyTuple_Check(args[2])) || WEFT_DTYPE(given) != WEFT_DTYPE(out) || WEFT_DTYPE(places) != WEFT_INT64 || places->numel != out->numel) return not_for_these();
  Parts parts;
  if (!parts.read(given, out, (int)PySequence_Size(args[2])) || !out->numel || !given->numel) return not_for_these();
  Ref kept = row_major(given);
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  const bool found = by_real<bool>(WEFT_DTYPE(out), false, [&](auto type) {
    typedef typename decltype(type)::type T;
    MaximaJob<T> job = {parts, reinterpret_cast<const T *>(weft_data(as_tensor(kept.get()))), reinterpret_cast<T *>(weft_data(out)), reinterpret_cast<int64_t *>(weft_data(places))};
    Loop::parallel(given->numel, parts.outer, parts.all_sizes, MaximaJob<T>::forward, &job);
    return true;
  });
  return found ? written() : not_for_these();
}

// ((values, places), input, samples, kernel, outs)
PyObject *drawn_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  const bool two = nargs == 5 && PyTuple_Check(args[0]) && PyTuple_GET_SIZE(args[0]) == 2 && PyList_Check(args[3]);
  WeftTensor *out = two ? dense(PyTuple_GET_ITEM(args[0], 0)) : nullptr, *places = out ? dense(PyTuple_GET_ITEM(args[0], 1)) : nullptr;
  WeftTensor *x = places ? plain(args[1]) : nullptr, *samples = x ? plain(args[2]) : nullptr;
  if (!samples || !x->numel || !out->numel || WEFT_DTYPE(x) != WEFT_DTYPE(out) || WEFT_DTYPE(samples) != WEFT_DTYPE(x)) return not_for_these();
  const int n = (int)PyList_GET_SIZE(args[3]), ndim = WEFT_NDIM(x);
  int64_t kernel[kMostDims], outs[kMostDims];
  if ((n != 2 && n != 3) || ndim != n + 2 || !read_last(args[3], n, kernel) || !read_last(args[4], n, outs)) return not_for_these();
  const int64_t images = x->sizes[0] * x->sizes[1];
  if (WEFT_DTYPE(places) != WEFT_INT64 || places->numel != out->numel || samples->numel != images * n) return not_for_these();
  if (out->numel != images * outs[0] * outs[1] * outs[2]) return not_for_these();
  Ref kept[2] = {row_major(x), row_major(samples)};
  if (!kept[0] || !kept[1]) return PyErr_Occurred() ? nullptr : not_for_these();
  const bool found = by_real<bool>(WEFT_DTYPE(out), false, [&](auto type) {
    typedef typename decltype(type)::type T;
    typedef decltype(T() * 1.0f) Wide;  // float of halves
    if constexpr (!std::is_floating_point<Wide>::value || std::is_integral<T>::value) return false;
    else {
      const auto data = [&](int i) { return reinterpret_cast<const T *>(weft_data(as_tensor(kept[i].get()))); };
      DrawnWindows<T, Wide> job = {n, {1, 1, 1}, {}, {}, x->numel / images, out->numel / images, data(0), data(1), reinterpret_cast<T *>(weft_data(out)), reinterpret_cast<int64_t *>(weft_data(places))};
      for (int d = 0; d < n; d++) job.size[kMostDims - n + d] = x->sizes[2 + d];
      std::copy(kernel, kernel + kMostDims, job.kernel), std::copy(outs, outs + kMostDims, job.out);
      Loop::parallel(x->numel, images, job.all_sizes, DrawnWindows<T, Wide>::run, &job);
      return !job.outside;
    }
  });
  return found ? written() : not_for_these();
}

// (out, grad, places, sizes)
PyObject *maxima_backward_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 4 ? dense(args[0]) : nullptr, *g = out ? plain(args[1]) : nullptr, *at = g ? plain(args[2]) : nullptr;
  if (!at || (!PyList_Check(args[3]) && !PyTuple_Check(args[3])) || WEFT_DTYPE(g) != WEFT_DTYPE(out) || WEFT_DTYPE(at) != WEFT_INT64 || at->numel != g->numel) return not_for_these();
  Parts parts;
  if (!parts.read(out, g, (int)PySequence_Size(args[3])) || !out->numel || !g->numel) return not_for_these();
  Ref kept[2] = {row_major(g), row_major(at)};
  if (!kept[0] || !kept[1]) return PyErr_Occurred() ? nullptr : not_for_these();
  const auto run = [&](auto one, auto sum) {
    typedef decltype(one) T;
    typedef PlacesJob<T, decltype(sum)> Job;
    const auto data = [&](int i) { return weft_data(as_tensor(kept[i].get())); };
    Job job = {parts.all_sizes, parts.all_outs, reinterpret_cast<const T *>(data(0)), reinterpret_cast<const int64_t *>(data(1)), reinterpret_cast<T *>(weft_data(out))};
    Loop::parallel(out->numel, parts.outer, parts.all_sizes, Job::run, &job);
    return written();
  };
  switch (WEFT_DTYPE(out)) {
    case WEFT_FLOAT32: return run(0.0f, 0.0f);
    case WEFT_FLOAT64: return run(0.0, 0.0);
    case WEFT_FLOAT16: return run(Half(0.0f), 0.0f);
    case WEFT_BFLOAT16: return run(BFloat16(0.0f), 0.0f);
    default: return not_for_these();
  }
}

}  // namespace

const NativeKernel part_kernels[] = {{"part_means", WEFT_KERNEL(means_kernel<false>)},
                                     {"part_means_backward", WEFT_KERNEL(means_kernel<true>)},
                                     {"part_maxima", WEFT_KERNEL(maxima_kernel)},
                                     {"drawn_maxima", WEFT_KERNEL(drawn_kernel)},
                                     {"part_maxima_backward", WEFT_KERNEL(maxima_backward_kernel)},
                                     {nullptr, nullptr}};

}  // namespace weft
