// distance_kernels.cpp: distances between the rows of two matrices, or of one, and their derivatives. The definition is
// aten/ops/distance.py.
#include "distance.h"

#include <math.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "native_kernel.h"

namespace weft {

namespace {

template <class T> const Distances<T> &distances_of();
template <> const Distances<float> &distances_of<float>() { return distance_table.single; }
template <> const Distances<double> &distances_of<double>() { return distance_table.wide; }

// 0, 1, 2 or inf; false: another norm
bool read_norm(PyObject *p, Norm *norm) {
  const double order = PyFloat_CheckExact(p) ? PyFloat_AS_DOUBLE(p) : -1;
  *norm = order == 0 ? NORM_0 : order == 1 ? NORM_1 : order == 2 ? NORM_2 : NORM_MAX;
  return order == 0 || order == 1 || order == 2 || order == HUGE_VAL;
}

// Distances of rows of x [batches, n, k] from rows of y [batches, m, k]; of one matrix from the rows after each.
template <class T> struct Pairs {
  Norm norm;
  bool within;
  int64_t n, m, k;
  const T *x, *y, *grad, *distances;  // the last two: of derivatives
  T *out;                             // distances, or the gradient of x
  std::unique_ptr<T[]> columns;       // of all y, transposed

  void turn(int64_t batches) {
    columns.reset(new T[(size_t)(batches * m * k) + 1]);
    for (int64_t b = 0; b < batches; b++)
      for (int64_t j = 0; j < m; j++)
        for (int64_t l = 0; l < k; l++) columns[(size_t)((b * k + l) * m + j)] = y[(b * m + j) * k + l];
  }
  // Where the distances of row i from those after it begin.
  int64_t after(int64_t i) const { return i * (2 * n - i - 1) / 2; }

  static void forward(void *context, int64_t begin, int64_t end, int64_t) {
    const Pairs &p = *static_cast<Pairs *>(context);
    for (int64_t r = begin; r < end; r++) {
      const int64_t b = r / p.n, first = p.within ? r + 1 : 0;
      T *to = p.out + (p.within ? p.after(r) : r * p.m);
      distances_of<T>().row(p.norm, p.k, p.m - first, p.x + r * p.k, p.columns.get() + b * p.k * p.m + first, p.m, to);
    }
  }

  // Weights and distances of `rows` rows from r on, [rows, m]: rows together, as those of one matrix from the rows before them lie apart.
  void weigh(int64_t r, int64_t rows, T *weights, T *sizes) const {
    const auto put = [this, weights, sizes](int64_t to, int64_t at) {
      const T d = distances[at], g = grad[at];
      weights[to] = norm != NORM_2 ? g : d == 0 ? T(0) : g / d, sizes[to] = d;
    };
    for (int64_t j = 0; within && j < r; j++)
      for (int64_t q = 0; q < rows; q++) put(q * m + j, after(j) + r + q - j - 1);
    for (int64_t q = 0; q < rows; q++) {
      const int64_t i = r + q;
      for (int64_t j = r; within && j < i; j++) put(q * m + j, after(j) + i - j - 1);
      const int64_t from = within ? i + 1 : 0, at = within ? after(i) - i - 1 : i * m;
      for (int64_t j = from; j < m; j++) put(q * m + j, at + j);
    }
  }

  static void backward(void *context, int64_t begin, int64_t end, int64_t) {
    const Pairs &p = *static_cast<Pairs *>(context);
    const int64_t together = p.within ? 16 : 1, m = p.m, k = p.k;
    std::vector<T> weights((size_t)(together * m)), sizes((size_t)(together * m));
    for (int64_t first = begin; first < end; first += together) {
      const int64_t rows = std::min(together, end - first);
      p.weigh(first, rows, weights.data(), sizes.data());
      for (int64_t r = first; r < first + rows; r++) {
        T *to = p.out + r * k;
        std::fill(to, to + k, T(0));
        const T *y = p.y + r / p.n * m * k, *w = weights.data() + (r - first) * m, *d = sizes.data() + (r - first) * m;
        distances_of<T>().pull(p.norm, k, p.within ? r : m, p.x + r * k, y, w, d, to);
        // A row is not at a distance from itself, even if that is NaN.
        if (p.within) distances_of<T>().pull(p.norm, k, m - r - 1, p.x + r * k, y + (r + 1) * k, w + r + 1, d + r + 1, to);
      }
    }
  }
};

template <class T> void run(Norm norm, bool within, WeftTensor *out, WeftTensor *x, WeftTensor *y, WeftTensor *grad, WeftTensor *distances) {
  const auto data = [](WeftTensor *t) { return t ? reinterpret_cast<T *>(weft_data(t)) : nullptr; };
  const int d = WEFT_NDIM(x);
  Pairs<T> p = {norm, within, x->sizes[d - 2], y->sizes[d - 2], x->sizes[d - 1], data(x), data(y), data(grad), data(distances), data(out), nullptr};
  int64_t batches = 1;
  for (int i = 0; i < d - 2; i++) batches *= x->sizes[i];
  const int64_t each = p.m * (p.k + 1);
  if (!grad) p.turn(batches);
  Loop::parallel(batches * p.n * each, batches * p.n, each, grad ? Pairs<T>::backward : Pairs<T>::forward, &p);
}

// (out, x1, x2, p), of one matrix (out, x, p); of derivatives (out, grad, x1, x2, distances, p) and (out, grad, x, distances, p)
template <bool within, bool back> PyObject *distance_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Norm norm;
  WeftTensor *out = nargs == 4 - within + 2 * back ? dense(args[0]) : nullptr;
  if (!out || !distance_table.single.row || !read_norm(args[nargs - 1], &norm)) return not_for_these();
  const int dtype = WEFT_DTYPE(out);
  if (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) return not_for_these();
  Ref kept[4];
  WeftTensor *t[4];  // in the order of the arguments
  const int count = 2 - within + 2 * back;
  for (int i = 0; i < count; i++) {
    WeftTensor *given = plain(args[1 + i]);
    if (!given || WEFT_DTYPE(given) != dtype) return not_for_these();
    kept[i] = row_major(given);
    if (!kept[i]) return PyErr_Occurred() ? nullptr : not_for_these();
    t[i] = as_tensor(kept[i].get());
  }
  WeftTensor *x = t[back], *y = within ? x : t[back + 1], *grad = back ? t[0] : nullptr, *distances = back ? t[count - 1] : nullptr;
  const int d = WEFT_NDIM(x);
  if (d < 2 || (within && d != 2) || WEFT_NDIM(y) != d || y->sizes[d - 1] != x->sizes[d - 1]) return not_for_these();
  for (int i = 0; i < d - 2; i++)
    if (x->sizes[i] != y->sizes[i]) return not_for_these();
  const int64_t n = x->sizes[d - 2], k = x->sizes[d - 1];
  const int64_t pairs = within ? n * (n - 1) / 2 : k ? x->numel / k * y->sizes[d - 2] : (back ? grad : out)->numel;
  if (back ? grad->numel != pairs || distances->numel != pairs || out->numel != x->numel : out->numel != pairs) return not_for_these();
  if (!out->numel) return written();
  if (!k) return not_for_these();
  if (dtype == WEFT_FLOAT32) run<float>(norm, within, out, x, y, grad, distances);
  else run<double>(norm, within, out, x, y, grad, distances);
  return written();
}

}  // namespace

const NativeKernel distance_kernels[] = {{"row_distances", WEFT_KERNEL(distance_kernel<false, false>)},
                                         {"row_distances_backward", WEFT_KERNEL(distance_kernel<false, true>)},
                                         {"row_distances_within", WEFT_KERNEL(distance_kernel<true, false>)},
                                         {"row_distances_within_backward", WEFT_KERNEL(distance_kernel<true, true>)},
                                         {nullptr, nullptr}};

}  // namespace weft
