// matrices.h: batches of matrices as LAPACK takes them, and the loops over them that its kernels share.
//
// LAPACK's matrices lie by columns, and so do results. A row-major matrix is to it its transpose: it is turned around first, unless its
// transpose does as well.
#ifndef WEFT_MATRICES_H
#define WEFT_MATRICES_H

#include <string.h>

#include <algorithm>
#include <vector>

#include "by_dtype.h"
#include "factor.h"
#include "lapack.h"
#include "native_kernel.h"

namespace weft {
namespace by_matrix {

typedef int64_t i64;
constexpr i64 kAway = 4096;  // elements that are worth giving up the GIL

// f(Type<T>()) where LAPACK has the type.
template <class F> PyObject *by_field(int dtype, F f) {
  switch (dtype) {
    case WEFT_FLOAT32: return Lapack<float>::get() ? f(Type<float>()) : not_for_these();
    case WEFT_FLOAT64: return Lapack<double>::get() ? f(Type<double>()) : not_for_these();
    case WEFT_COMPLEX64: return Lapack<std::complex<float>>::get() ? f(Type<std::complex<float>>()) : not_for_these();
    case WEFT_COMPLEX128: return Lapack<std::complex<double>>::get() ? f(Type<std::complex<double>>()) : not_for_these();
    default: return not_for_these();
  }
}

template <class T> T *data_of(WeftTensor *t) { return reinterpret_cast<T *>(weft_data(t)); }

// Whether a tensor's matrices lie by columns, one after the other.
inline bool lies_by_columns(const WeftTensor *x) {
  const int d = WEFT_NDIM(x);
  const i64 m = x->sizes[d - 2], n = x->sizes[d - 1];
  if (x->word & WEFT_WORD_CONTIGUOUS && (m == 1 || n == 1)) return true;
  i64 step = m * n;
  bool so = (x->strides[d - 2] == 1 || m == 1) && (x->strides[d - 1] == m || n == 1);
  for (int k = d - 3; so && k >= 0; step *= x->sizes[k--]) so = x->strides[k] == step || x->sizes[k] == 1;
  return so;
}

// A batch of matrices with elements; of `columns` the transposes lie row-major.
struct Matrices {
  Ref kept;
  WeftTensor *t = nullptr;
  i64 count, m, n;
  bool columns = false;

  // False: without an exception, none of this kind.
  bool read(PyObject *given) {
    WeftTensor *x = plain(given);
    if (!x || WEFT_NDIM(x) < 2 || !x->numel) return false;
    const int d = WEFT_NDIM(x);
    m = x->sizes[d - 2], n = x->sizes[d - 1], count = x->numel / (m * n);
    columns = lies_by_columns(x);
    kept = columns ? Ref(Py_NewRef(given)) : row_major(x);
    t = kept ? as_tensor(kept.get()) : nullptr;
    return t != nullptr;
  }
  bool square() const { return m == n; }
  int dtype() const { return WEFT_DTYPE(t); }
  template <class T> const T *at(i64 i) const { return data_of<T>(t) + i * m * n; }
  // Matrix i by columns, its lines `ld` apart.
  template <class T> void copy_columns(i64 i, T *to, i64 ld) const;
};

inline PyObject *unread() { return PyErr_Occurred() ? nullptr : not_for_these(); }

// The results of an op of several; false: they are not.
template <int n> bool results_of(PyObject *tuple, WeftTensor *(&to)[n]) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != n) return false;
  for (int i = 0; i < n; i++) to[i] = as_tensor(PyTuple_GET_ITEM(tuple, i));
  return true;
}

// A kernel that writes matrices by columns (those results that `matrices` has a bit of) and others row-major, for results in any layout.
template <PyObject *(*kernel)(PyObject *, PyObject *const *, Py_ssize_t), unsigned matrices = 1>
PyObject *by_columns(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
  constexpr int kMost = 3;
  const bool several = nargs && PyTuple_Check(args[0]);
  const Py_ssize_t n = several ? PyTuple_GET_SIZE(args[0]) : 1;
  if (!nargs || n > kMost) return not_for_these();
  Ref made[kMost], tuple;
  WeftTensor *outs[kMost];
  bool replaced = false;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *given = several ? PyTuple_GET_ITEM(args[0], i) : args[0];
    WeftTensor *out = outs[i] = plain(given);
    if (!out) return not_for_these();
    const bool matrix = matrices >> i & 1 && WEFT_NDIM(out) >= 2;
    if (matrix ? lies_by_columns(out) : (out->word & WEFT_WORD_CONTIGUOUS) != 0) {
      made[i].reset(Py_NewRef(given));
      continue;
    }
    i64 strides[WEFT_MAX_NDIM], step = 1;
    const int d = WEFT_NDIM(out);
    for (int k = d - 1; matrix && k >= 0; k--) {
      const int dim = k == d - 1 ? d - 2 : k == d - 2 ? d - 1 : k;
      strides[dim] = step, step *= out->sizes[dim];
    }
    made[i].reset(empty((uint32_t)WEFT_DTYPE(out), d, out->sizes, matrix ? strides : nullptr));
    if (!made[i]) return nullptr;
    replaced = true;
  }
  if (!replaced) return kernel(self, args, nargs);
  std::vector<PyObject *> again(args, args + nargs);
  if (several) {
    tuple.reset(PyTuple_New(n));
    for (Py_ssize_t i = 0; tuple && i < n; i++) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(made[i].get()));
    if (!tuple) return nullptr;
  }
  again[0] = several ? tuple.get() : made[0].get();
  Ref result(kernel(self, again.data(), nargs));
  if (result.get() != Py_None) return result.release();
  for (Py_ssize_t i = 0; i < n; i++)
    if (made[i].get() != as_object(outs[i]) && !copy_into(outs[i], as_tensor(made[i].get()))) return unread();
  return result.release();
}

// f(i) for each matrix, until one says false; without the GIL where there is much to do.
template <class F> PyObject *each(const Matrices &a, F f) {
  bool good = true;
  {
    Released released(a.count * a.m * a.n >= kAway);
    for (i64 i = 0; good && i < a.count; i++) {
      good = f(i);
      poll_signals();
    }
  }
  return good ? written() : not_for_these();
}

// out[j * ld + i] = in[i * n + j] of m rows of n.
template <class T> void turn(const T *in, T *out, i64 m, i64 n, i64 ld) {
  constexpr i64 kSide = 16;
  constexpr int log_item = sizeof(T) == 4 ? 2 : sizeof(T) == 8 ? 3 : 4;
  if (const WeftTranspose transpose = weft_kernels.transpose[log_item])
    return transpose((const char *)in, n * (i64)sizeof(T), (char *)out, ld * (i64)sizeof(T), n, m);
  for (i64 i = 0; i < m; i += kSide)
    for (i64 j = 0; j < n; j += kSide)
      for (i64 k = i; k < std::min(m, i + kSide); k++)
        for (i64 l = j; l < std::min(n, j + kSide); l++) out[l * ld + k] = in[k * n + l];
}
template <class T> void copy_lines(const T *from, T *to, i64 lines, i64 length, i64 ld) {
  for (i64 k = 0; k < lines; k++) memcpy(to + k * ld, from + k * length, (size_t)length * sizeof(T));
}
template <class T> void Matrices::copy_columns(i64 i, T *to, i64 ld) const {
  if (columns) copy_lines(at<T>(i), to, n, m, ld);
  else turn(at<T>(i), to, m, n, ld);
}
template <class T> void conjugate_all(T *x, i64 n) {
  if constexpr (is_complex<T>)
    for (i64 k = 0; k < n; k++) x[k] = conjugate(x[k]);
}

// The size of a workspace that a routine has answered in its first element.
template <class T> i64 answered(T size) { return std::max<i64>(1, (i64)std::real(size)); }

// The loops of factor.h, where they are better than LAPACK's; NULL elsewhere.
template <class T> const Factor<T> *near(i64 n) {
  constexpr i64 kNear = 512;
  if constexpr (is_complex<T>) return nullptr;
  else if constexpr (sizeof(T) == 4) return n <= kNear && factor_table.single.lu ? &factor_table.single : nullptr;
  else return n <= kNear && factor_table.wide.lu ? &factor_table.wide : nullptr;
}

// False: LAPACK's is better, or the only one.
template <class T> bool lu_near(i64 m, i64 n, T *a, i64 *pivots, i64 *info) {
  if constexpr (!is_complex<T>)
    if (const Factor<T> *f = near<T>(std::max(m, n))) return *info = f->lu(m, n, a, m, pivots), true;
  return false;
}

// X of op(A) @ X = B for a triangle of A, all by columns, in place of B [n, width].
template <class T> void solve_columns(const T *a, T *b, i64 n, i64 width, bool upper, bool unit, char trans = 'N') {
  if constexpr (!is_complex<T>)
    if (const Factor<T> *f = trans == 'N' ? near<T>(n) : nullptr) return f->solve(n, width, a, n, upper, unit, b, n);
  const T one = 1;
  const char uplo = upper ? 'U' : 'L', diag = unit ? 'U' : 'N';
  Lapack<T>::get()->trsm("L", &uplo, &trans, &diag, &n, &width, &one, a, &n, b, &n, 1, 1, 1, 1);
}

// A result of the sizes of B, made a copy of B, for square matrices A of its dtype; the number of columns, 0: they do not go together.
inline i64 right_sides(WeftTensor *out, PyObject *given, const Matrices &a) {
  WeftTensor *b = plain(given);
  if (!b || !a.square() || WEFT_DTYPE(out) != a.dtype() || WEFT_DTYPE(b) != a.dtype() || b->numel != out->numel || b->numel % (a.count * a.n)) return 0;
  const i64 width = b->numel / (a.count * a.n);
  return width && copy_into(out, b) ? width : 0;
}

}  // namespace by_matrix
}  // namespace weft
#endif
