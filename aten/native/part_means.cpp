// part_means.cpp: means of nearly equal parts of the last dims of floats (adaptive pooling), and their derivative.
//
// Parts may share elements. A part's sum goes over its elements in row-major order.
#include <algorithm>

#include "by_dtype.h"
#include "native_kernel.h"

namespace weft {

namespace {

constexpr int kMostDims = 3;

struct Parts {
  int64_t size[kMostDims], out[kMostDims], outer = 1, all_sizes = 1, all_outs = 1;  // dims that are not there have one part of one element

  int64_t begin(int d, int64_t i) const { return i * size[d] / out[d]; }
  int64_t end(int d, int64_t i) const { return ((i + 1) * size[d] + out[d] - 1) / out[d]; }

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
    return true;
  }

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

template <class T> struct MeansJob {
  Parts parts;
  const T *from;
  T *to;

  static void forward(void *context, int64_t begin, int64_t end, int64_t) {
    const MeansJob &job = *static_cast<MeansJob *>(context);
    const Parts &p = job.parts;
    for (int64_t r = begin; r < end; r++) {
      const T *x = job.from + r * p.all_sizes;
      T *y = job.to + r * p.all_outs;
      int64_t last = -1, elements = 1;
      T sum = 0;
      p.each([&](int64_t part, int64_t count, int64_t at, int64_t length) {
        if (part != last && last >= 0) y[last] = sum / (T)elements;
        if (part != last) sum = 0, last = part, elements = count;
        for (int64_t i = 0; i < length; i++) sum += x[at + i];
      });
      if (last >= 0) y[last] = sum / (T)elements;
    }
  }
  static void backward(void *context, int64_t begin, int64_t end, int64_t) {
    const MeansJob &job = *static_cast<MeansJob *>(context);
    const Parts &p = job.parts;
    for (int64_t r = begin; r < end; r++) {
      const T *g = job.from + r * p.all_outs;
      T *to = job.to + r * p.all_sizes;
      std::fill(to, to + p.all_sizes, T(0));
      p.each([&](int64_t part, int64_t count, int64_t at, int64_t length) {
        const T share = g[part] / (T)count;
        for (int64_t i = 0; i < length; i++) to[at + i] += share;
      });
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
    MeansJob<T> job = {parts, reinterpret_cast<const T *>(weft_data(as_tensor(kept.get()))), reinterpret_cast<T *>(weft_data(out))};
    const int64_t whole = (back ? out : given)->numel;
    Loop::parallel(whole, parts.outer, parts.all_sizes, back ? MeansJob<T>::backward : MeansJob<T>::forward, &job);
  };
  if (dtype == WEFT_FLOAT32) run(0.0f);
  else run(0.0);
  return written();
}

}  // namespace

const NativeKernel part_kernels[] = {{"part_means", WEFT_KERNEL(means_kernel<false>)}, {"part_means_backward", WEFT_KERNEL(means_kernel<true>)}, {nullptr, nullptr}};

}  // namespace weft
