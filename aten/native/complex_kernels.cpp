// complex_kernels.cpp: products of small complex matrices; those of large ones are NumPy's. And the directions of complex numbers.
#include <algorithm>

#include "native_kernel.h"

namespace weft {

namespace {

constexpr int64_t kSmall = 8192;  // products of elements, of which a call of NumPy's library costs more

// [n, k] @ [k, m], steps in numbers, of which a complex one is two. A sum is a chain over k, its parts rounded as they are written here.
template <class T> struct Sides {
  const T *a, *b;
  T *out;
  int64_t n, k, m, a_row, a_step, b_row, b_step;

  void run() const {
    std::fill(out, out + 2 * n * m, T(0));
    for (int64_t i = 0; i < n; i++)
      for (int64_t l = 0; l < k; l++) {
        const T re = a[i * a_row + l * a_step], im = a[i * a_row + l * a_step + 1];
        T *to = out + 2 * i * m;
        const T *from = b + l * b_row;
        for (int64_t j = 0; j < m; j++, to += 2, from += b_step) {
          const T x = from[0], y = from[1];
          to[0] += re * x - im * y;
          to[1] += re * y + im * x;
        }
      }
  }
};

template <class T> void multiply(WeftTensor *out, const WeftTensor *a, const WeftTensor *b) {
  const int d = WEFT_NDIM(out) - 2;  // batches
  const int64_t batches = d ? out->sizes[0] : 1;
  Sides<T> s = {nullptr, nullptr, nullptr, a->sizes[d], a->sizes[d + 1], b->sizes[d + 1], 2 * a->strides[d], 2 * a->strides[d + 1], 2 * b->strides[d], 2 * b->strides[d + 1]};
  for (int64_t i = 0; i < batches; i++) {
    s.a = reinterpret_cast<const T *>(weft_data(const_cast<WeftTensor *>(a))) + (d ? 2 * i * a->strides[0] : 0);
    s.b = reinterpret_cast<const T *>(weft_data(const_cast<WeftTensor *>(b))) + (d ? 2 * i * b->strides[0] : 0);
    s.out = reinterpret_cast<T *>(weft_data(out)) + 2 * i * s.n * s.m;
    s.run();
  }
}

// (out, a, b): mm, or bmm
PyObject *product_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? dense(args[0]) : nullptr, *a = out ? plain(args[1]) : nullptr, *b = a ? plain(args[2]) : nullptr;
  if (!b || WEFT_DTYPE(a) != WEFT_DTYPE(out) || WEFT_DTYPE(b) != WEFT_DTYPE(out)) return not_for_these();
  const int n = WEFT_NDIM(out);
  if ((n != 2 && n != 3) || WEFT_NDIM(a) != n || WEFT_NDIM(b) != n || a->sizes[n - 1] != b->sizes[n - 2]) return not_for_these();
  if (out->sizes[n - 2] != a->sizes[n - 2] || out->sizes[n - 1] != b->sizes[n - 1] || out->storage == a->storage || out->storage == b->storage) return not_for_these();
  if (n == 3 && (a->sizes[0] != out->sizes[0] || b->sizes[0] != out->sizes[0])) return not_for_these();
  if (!out->numel || out->numel > kSmall || out->numel * a->sizes[n - 1] > kSmall) return not_for_these();
  if (WEFT_DTYPE(out) == WEFT_COMPLEX64) multiply<float>(out, a, b);
  else if (WEFT_DTYPE(out) == WEFT_COMPLEX128) multiply<double>(out, a, b);
  else return not_for_these();
  return written();
}

// x / |x|, and 0 of 0, a block at a time.
template <class T> void directions(const T *x, T *to, int64_t n, WeftLoop hypot) {
  constexpr int64_t kBlock = 512;
  alignas(64) T size[kBlock];
  for (; n > 0; n -= kBlock, x += 2 * kBlock, to += 2 * kBlock) {
    const intptr_t some = (intptr_t)std::min(n, kBlock), steps[3] = {2 * sizeof(T), 2 * sizeof(T), sizeof(T)};
    char *args[3] = {reinterpret_cast<char *>(const_cast<T *>(x)), reinterpret_cast<char *>(const_cast<T *>(x + 1)), reinterpret_cast<char *>(size)};
    hypot(args, &some, steps, nullptr);
    for (intptr_t i = 0; i < some; i++) {
      const bool none = size[i] == 0;
      const T s = none ? 1 : size[i], re = x[2 * i] / s, im = x[2 * i + 1] / s;
      to[2 * i] = none ? 0 : re, to[2 * i + 1] = none ? 0 : im;
    }
  }
}

struct Directions {
  const char *in;
  char *out;
  int dtype;

  static void range(void *context, int64_t begin, int64_t end, int64_t) {
    const Directions &d = *static_cast<const Directions *>(context);
    const int64_t n = end - begin;
    if (d.dtype == WEFT_COMPLEX64)
      directions(reinterpret_cast<const float *>(d.in) + 2 * begin, reinterpret_cast<float *>(d.out) + 2 * begin, n, weft_kernels.pointwise[WEFT_HYPOT][WEFT_FLOAT32]);
    else
      directions(reinterpret_cast<const double *>(d.in) + 2 * begin, reinterpret_cast<double *>(d.out) + 2 * begin, n, weft_kernels.pointwise[WEFT_HYPOT][WEFT_FLOAT64]);
  }
};

// (out, x)
PyObject *direction_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? dense(args[0]) : nullptr, *x = out ? dense(args[1]) : nullptr;
  if (!x || WEFT_DTYPE(x) != WEFT_DTYPE(out) || (WEFT_DTYPE(x) != WEFT_COMPLEX64 && WEFT_DTYPE(x) != WEFT_COMPLEX128)) return not_for_these();
  if (!weft_kernels.pointwise[WEFT_HYPOT][WEFT_FLOAT32] || !weft_kernels.pointwise[WEFT_HYPOT][WEFT_FLOAT64]) return not_for_these();
  Directions job = {weft_data(x), weft_data(out), WEFT_DTYPE(x)};
  Loop::parallel(4 * x->numel, x->numel, 4, Directions::range, &job);
  return written();
}

}  // namespace

const NativeKernel complex_kernels[] = {{"mm", WEFT_KERNEL(product_kernel)}, {"bmm", WEFT_KERNEL(product_kernel)}, {"direction", WEFT_KERNEL(direction_kernel)}, {nullptr, nullptr}};

}  // namespace weft
