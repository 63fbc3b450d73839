// nearest_kernels.cpp: images resized by repeating or leaving out rows and columns, and the derivative. The definition is
// aten/ops/resize.py.
#include <string.h>

#include <algorithm>
#include <vector>

#include "by_dtype.h"
#include "native_kernel.h"

namespace weft {

namespace {

// Which row and which column of an image [h, w] is where in a result; in pairs, where each column is there twice.
struct Grid {
  std::vector<int64_t> rows, columns;
  int64_t images = 1, h, w;
  bool pairs;

  static bool read_places(PyObject *given, std::vector<int64_t> *to, int64_t size) {
    WeftTensor *t = dense(given);
    if (!t || WEFT_NDIM(t) != 1 || WEFT_DTYPE(t) != WEFT_INT64) return false;
    const int64_t *at = reinterpret_cast<const int64_t *>(weft_data(t));
    to->assign(at, at + t->numel);
    return std::all_of(to->begin(), to->end(), [size](int64_t i) { return (uint64_t)i < (uint64_t)size; });
  }
  // of a tensor of images and one of results
  bool read(const WeftTensor *small, const WeftTensor *large, PyObject *rows_given, PyObject *columns_given) {
    const int n = WEFT_NDIM(small);
    if (n < 2 || WEFT_NDIM(large) != n || WEFT_DTYPE(small) != WEFT_DTYPE(large) || !small->numel || !large->numel) return false;
    for (int d = 0; d < n - 2; images *= small->sizes[d++])
      if (small->sizes[d] != large->sizes[d]) return false;
    h = small->sizes[n - 2], w = small->sizes[n - 1];
    if (!read_places(rows_given, &rows, h) || !read_places(columns_given, &columns, w)) return false;
    pairs = (int64_t)columns.size() == 2 * w;
    for (int64_t j = 0; pairs && j < 2 * w; j++) pairs = columns[(size_t)j] == j / 2;
    return (int64_t)rows.size() == large->sizes[n - 2] && (int64_t)columns.size() == large->sizes[n - 1];
  }
};

template <class T> struct NearestJob {
  const Grid &grid;
  const T *from;
  T *to;

  static void forward(void *context, int64_t begin, int64_t end, int64_t) {
    const NearestJob &job = *static_cast<NearestJob *>(context);
    const Grid &g = job.grid;
    const int64_t width = (int64_t)g.columns.size(), height = (int64_t)g.rows.size(), *columns = g.columns.data();
    for (int64_t image = begin; image < end; image++)
      for (int64_t i = 0; i < height; i++) {
        T *out = job.to + (image * height + i) * width;
        const int64_t row = g.rows[(size_t)i];
        const T *x = job.from + (image * g.h + row) * g.w;
        if (i && g.rows[(size_t)i - 1] == row) {
          memcpy(out, out - width, (size_t)width * sizeof(T));
        } else if (g.pairs) {
#pragma GCC ivdep
          for (int64_t j = 0; j < g.w; j++) out[2 * j] = x[j], out[2 * j + 1] = x[j];
        } else {
          for (int64_t j = 0; j < width; j++) out[j] = x[columns[j]];
        }
      }
  }

  // Rows of a result that are one row of the image are added up first.
  static void backward(void *context, int64_t begin, int64_t end, int64_t) {
    const NearestJob &job = *static_cast<NearestJob *>(context);
    const Grid &g = job.grid;
    const int64_t width = (int64_t)g.columns.size(), height = (int64_t)g.rows.size(), *columns = g.columns.data();
    std::vector<T> room((size_t)width);
    T *sum = room.data();
    for (int64_t image = begin; image < end; image++) {
      std::fill(job.to + image * g.h * g.w, job.to + (image + 1) * g.h * g.w, T(0));
      for (int64_t i = 0; i < height;) {
        const int64_t row = g.rows[(size_t)i];
        const T *grad = job.from + (image * height + i) * width;
        memcpy(sum, grad, (size_t)width * sizeof(T));
        for (i++; i < height && g.rows[(size_t)i] == row; i++) {
          grad += width;
#pragma GCC ivdep
          for (int64_t j = 0; j < width; j++) sum[j] += grad[j];
        }
        T *out = job.to + (image * g.h + row) * g.w;
        if (g.pairs) {
#pragma GCC ivdep
          for (int64_t j = 0; j < g.w; j++) out[j] += sum[2 * j] + sum[2 * j + 1];
        } else {
          for (int64_t j = 0; j < width; j++) out[columns[j]] += sum[j];
        }
      }
    }
  }
};

template <class T, bool back> void run(const Grid &grid, WeftTensor *from, WeftTensor *out) {
  NearestJob<T> job = {grid, reinterpret_cast<const T *>(weft_data(from)), reinterpret_cast<T *>(weft_data(out))};
  const int64_t all = from->numel + out->numel;
  Loop::parallel(all, grid.images, all / grid.images, back ? NearestJob<T>::backward : NearestJob<T>::forward, &job);
}

// (out, input, rows, columns); of the derivative (out, grad, rows, columns, h, w)
template <bool back> PyObject *nearest_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == (back ? 6 : 4) ? dense(args[0]) : nullptr, *given = out ? plain(args[1]) : nullptr;
  Grid grid;
  if (!given || !grid.read(back ? out : given, back ? given : out, args[2], args[3])) return not_for_these();
  const int dtype = WEFT_DTYPE(out);
  if (back && dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) return not_for_these();
  Ref kept = row_major(given);
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  WeftTensor *from = as_tensor(kept.get());
  if (back) dtype == WEFT_FLOAT32 ? run<float, true>(grid, from, out) : run<double, true>(grid, from, out);
  else
    switch (weft_itemsize(dtype)) {
      case 1: run<uint8_t, false>(grid, from, out); break;
      case 2: run<uint16_t, false>(grid, from, out); break;
      case 4: run<uint32_t, false>(grid, from, out); break;
      case 8: run<uint64_t, false>(grid, from, out); break;
      default: return not_for_these();
    }
  return written();
}

}  // namespace

const NativeKernel nearest_kernels[] = {{"nearest", WEFT_KERNEL(nearest_kernel<false>)}, {"nearest_backward", WEFT_KERNEL(nearest_kernel<true>)}, {nullptr, nullptr}};

}  // namespace weft
