// lapack_kernels.cpp: kernels of linear algebra on batches of matrices, by LAPACK in the dtype of the matrices, small real systems by
// factor.h.
//
// LAPACK's matrices lie by columns, and so do results. A row-major matrix is to it its transpose: it is turned around first, unless its
// transpose does as well. What is reported as failed is left to the ops' NumPy kernels, which word it.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "by_dtype.h"
#include "cholesky.h"
#include "factor.h"
#include "lapack.h"
#include "native_kernel.h"

namespace weft {
namespace {

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
bool lies_by_columns(const WeftTensor *x) {
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

PyObject *unread() { return PyErr_Occurred() ? nullptr : not_for_these(); }

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

// ------------------------------------------------------------------------------------------------------ systems
// LU decompositions, and X of A @ X = B by them.
template <class T> struct Solver {
  i64 n;
  std::vector<T> factors;
  std::vector<i64> pivots;

  explicit Solver(i64 size) : n(size), factors((size_t)(size * size)), pivots((size_t)size) {}
  // Of what has been copied to `factors`; false: it is singular.
  bool factor() {
    i64 info;
    if constexpr (!is_complex<T>)
      if (const Factor<T> *f = near<T>(n)) return !f->lu(n, n, factors.data(), n, pivots.data());
    Lapack<T>::get()->getrf(&n, &n, factors.data(), &n, pivots.data(), &info);
    return info == 0;
  }
  bool factor(const Matrices &a, i64 i) {
    a.copy_columns(i, factors.data(), n);
    return factor();
  }
  // Of the matrix or of its transpose, whichever lies by columns.
  bool factor_either(const Matrices &a, i64 i) {
    memcpy(factors.data(), a.at<T>(i), (size_t)(n * n) * sizeof(T));
    return factor();
  }
  T determinant() const {
    T product = 1;
    for (i64 i = 0; i < n; i++) product *= pivots[(size_t)i] == i + 1 ? factors[(size_t)(i * (n + 1))] : -factors[(size_t)(i * (n + 1))];
    return product;
  }
  // X in place of B [n, width], by columns.
  void solve(T *x, i64 width) const {
    for (i64 j = 0; j < width; j++)
      for (i64 r = 0; r < n; r++) std::swap(x[j * n + r], x[j * n + pivots[(size_t)r] - 1]);
    solve_columns(factors.data(), x, n, width, false, true);
    solve_columns(factors.data(), x, n, width, true, false);
  }
  void invert(T *x) const {
    std::fill(x, x + n * n, T(0));
    for (i64 i = 0; i < n; i++) x[i * (n + 1)] = 1;
    solve(x, n);
  }
};

// (out, A)
PyObject *inverse_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  if (!out || !a.read(args[1])) return unread();
  if (!a.square() || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    Solver<T> solver(a.n);
    return each(a, [&](i64 i) {
      if (!solver.factor(a, i)) return false;
      solver.invert(data_of<T>(out) + i * a.n * a.n);
      return true;
    });
  });
}

// A result of the sizes of B, made a copy of B, for square matrices A of its dtype; the number of columns, 0: they do not go together.
i64 right_sides(WeftTensor *out, PyObject *given, const Matrices &a) {
  WeftTensor *b = plain(given);
  if (!b || !a.square() || WEFT_DTYPE(out) != a.dtype() || WEFT_DTYPE(b) != a.dtype() || b->numel != out->numel || b->numel % (a.count * a.n)) return 0;
  const i64 width = b->numel / (a.count * a.n);
  return width && copy_into(out, b) ? width : 0;
}

// (out, A, B)
PyObject *solve_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  if (!out || !a.read(args[1])) return unread();
  const i64 n = a.n, width = right_sides(out, args[2], a);
  if (!width) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    Solver<T> solver(n);
    return each(a, [&](i64 i) {
      if (!solver.factor(a, i)) return false;
      solver.solve(data_of<T>(out) + i * n * width, width);
      return true;
    });
  });
}

// (out, A, B, upper, unitriangular)
PyObject *triangular_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 5 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  bool upper, unit;
  if (!out || !a.read(args[1])) return unread();
  if (!exact_bool(args[3], &upper) || !exact_bool(args[4], &unit)) return not_for_these();
  const i64 n = a.n, width = right_sides(out, args[2], a);
  if (!width) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    const bool turned = !a.columns && near<T>(n);
    std::vector<T> columns((size_t)(turned ? n * n : 0));
    return each(a, [&](i64 i) {
      T *x = data_of<T>(out) + i * n * width;
      if (turned) turn(a.at<T>(i), columns.data(), n, n, n);
      if (turned || a.columns) solve_columns(turned ? columns.data() : a.at<T>(i), x, n, width, upper, unit);
      else solve_columns(a.at<T>(i), x, n, width, !upper, unit, 'T');
      return true;
    });
  });
}

// (out, B, L, upper)
PyObject *factored_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 4 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  bool upper;
  if (!out || !a.read(args[2])) return unread();
  if (!exact_bool(args[3], &upper)) return not_for_these();
  const i64 n = a.n, width = right_sides(out, args[1], a);
  if (!width) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    std::vector<T> columns((size_t)(n * n));
    return each(a, [&](i64 i) {
      T *x = data_of<T>(out) + i * n * width;
      a.copy_columns(i, columns.data(), n);
      for (char trans : {upper ? 'C' : 'N', upper ? 'N' : 'C'}) solve_columns(columns.data(), x, n, width, upper, false, trans);
      return true;
    });
  });
}

// --------------------------------------------------------------------------------------------------- factorizations
// (out, A, upper): the lower factor, of the lower triangle or of the adjoint of the upper one
PyObject *cholesky_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  bool upper;
  if (!out || !a.read(args[1])) return unread();
  if (!exact_bool(args[2], &upper) || !a.square() || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    const i64 n = a.n;
    return each(a, [&](i64 i) {
      T *x = data_of<T>(out) + i * n * n;
      if (upper == a.columns) turn(a.at<T>(i), x, n, n, n);
      else memcpy(x, a.at<T>(i), (size_t)(n * n) * sizeof(T));
      if (upper) conjugate_all(x, n * n);
      i64 info = 0;
      if (n > kTiny) Lapack<T>::get()->potrf("L", &n, x, &n, &info, 1);
      else if (!cholesky_tiny(n, x)) return false;
      for (i64 c = 0; c < n; c++)
        if (std::real(x[c * (n + 1)]) != std::real(x[c * (n + 1)])) return false;  // NaN: not every library looks
      for (i64 c = 1; c < n; c++) std::fill(x + c * n, x + c * n + c, T(0));
      return info == 0;
    });
  });
}

// ((LU, pivots, info), A, pivot, check_errors)
PyObject *lu_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[3];
  Matrices a;
  bool pivot, check;
  if (nargs != 4 || !results_of(args[0], out) || !a.read(args[1]) || !exact_bool(args[3], &check)) return unread();
  if (!exact_bool(args[2], &pivot) || !pivot || WEFT_DTYPE(out[0]) != a.dtype() || out[0]->numel != a.t->numel) return not_for_these();
  const i64 k = std::min(a.m, a.n);
  if (WEFT_DTYPE(out[1]) != WEFT_INT32 || WEFT_DTYPE(out[2]) != WEFT_INT32 || out[1]->numel != a.count * k || out[2]->numel != a.count) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    std::vector<i64> pivots((size_t)k);
    return each(a, [&](i64 i) {
      i64 info;
      T *x = data_of<T>(out[0]) + i * a.m * a.n;
      a.copy_columns(i, x, a.m);
      const i64 size = std::max(a.m, a.n);
      if (size > kTiny || !lu_near(a.m, a.n, x, pivots.data(), &info)) Lapack<T>::get()->getrf(&a.m, &a.n, x, &a.m, pivots.data(), &info);
      std::copy(pivots.begin(), pivots.end(), data_of<int32_t>(out[1]) + i * k);
      data_of<int32_t>(out[2])[i] = (int32_t)info;
      return check ? info == 0 : info >= 0;  // what is refused is said by the definition
    });
  });
}

// ((Q, R), A, mode)
PyObject *qr_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[2];
  Matrices a;
  if (nargs != 3 || !results_of(args[0], out) || !PyUnicode_Check(args[2]) || !a.read(args[1])) return unread();
  const bool alone = PyUnicode_CompareWithASCIIString(args[2], "r") == 0;
  const i64 m = a.m, n = a.n, k = std::min(m, n), wide = alone ? k : out[0]->sizes[WEFT_NDIM(out[0]) - 1];
  if (WEFT_DTYPE(out[0]) != a.dtype() || WEFT_DTYPE(out[1]) != a.dtype() || out[1]->numel != a.count * wide * n || (!alone && out[0]->numel != a.count * m * wide))
    return not_for_these();
  return by_field(a.dtype(), [&](auto type) -> PyObject * {
    typedef typename decltype(type)::type T;
    const auto &lapack = *Lapack<T>::get();
    const bool inside = !alone && n <= wide;  // it is made where Q will be
    i64 info, lwork = -1;
    T sizes[2] = {};
    lapack.geqrf(&m, &n, nullptr, &m, nullptr, sizes, &lwork, &info);
    if (!alone) lapack.orgqr(&m, &wide, &k, nullptr, &m, nullptr, sizes + 1, &lwork, &info);
    lwork = std::max(answered(sizes[0]), answered(sizes[1]));
    std::vector<T> work((size_t)lwork), tau((size_t)k), apart(inside ? 0 : (size_t)(m * std::max(n, wide)));
    return each(a, [&](i64 i) {
      T *q = data_of<T>(out[0]) + i * m * wide, *r = data_of<T>(out[1]) + i * wide * n, *x = inside ? q : apart.data();
      a.copy_columns(i, x, m);
      lapack.geqrf(&m, &n, x, &m, tau.data(), work.data(), &lwork, &info);
      if (info) return false;
      for (i64 column = 0; column < n; column++) {
        const i64 edge = std::min(column + 1, wide);
        std::copy(x + column * m, x + column * m + edge, r + column * wide);
        std::fill(r + column * wide + edge, r + (column + 1) * wide, T(0));
      }
      if (alone) return true;
      lapack.orgqr(&m, &wide, &k, x, &m, tau.data(), work.data(), &lwork, &info);
      if (!inside) memcpy(q, x, (size_t)(m * wide) * sizeof(T));
      return info == 0;
    });
  });
}

// ---------------------------------------------------------------------------------------------------------- spectra
// Eigenvalues, and eigenvectors unless `vectors` is NULL.
PyObject *eigen(const Matrices &a, WeftTensor *values, WeftTensor *vectors, PyObject *uplo) {
  const char *text = PyUnicode_Check(uplo) ? PyUnicode_AsUTF8(uplo) : nullptr;
  if (!text || !a.square() || values->numel != a.count * a.n || (vectors && (vectors->numel != a.t->numel || WEFT_DTYPE(vectors) != a.dtype()))) return unread();
  const bool upper = text[0] == 'U' || text[0] == 'u';
  const char triangle = upper == a.columns ? 'U' : 'L', job = vectors ? 'V' : 'N';  // (of the transpose, which is the conjugate, the other one)
  return by_field(a.dtype(), [&](auto type) -> PyObject * {
    typedef typename decltype(type)::type T;
    typedef Real<T> R;
    if (WEFT_DTYPE(values) != (sizeof(R) == 4 ? WEFT_FLOAT32 : WEFT_FLOAT64)) return not_for_these();
    const i64 n = a.n;
    T size = 0;
    R real_size = 0;
    i64 whole_size = 0;
    if (Lapack<T>::get()->eigen(job, triangle, n, nullptr, nullptr, &size, -1, &real_size, -1, &whole_size, -1)) return not_for_these();
    std::vector<T> work((size_t)answered(size)), apart((size_t)(vectors ? 0 : n * n));
    std::vector<R> real_work(is_complex<T> ? (size_t)answered(real_size) : 0);
    std::vector<i64> whole_work((size_t)std::max<i64>(1, whole_size));
    return each(a, [&](i64 i) {
      T *x = vectors ? data_of<T>(vectors) + i * n * n : apart.data();
      memcpy(x, a.at<T>(i), (size_t)(n * n) * sizeof(T));
      const i64 info = Lapack<T>::get()->eigen(job, triangle, n, x, data_of<R>(values) + i * n, work.data(), (i64)work.size(), real_work.data(),
                                               (i64)real_work.size(), whole_work.data(), (i64)whole_work.size());
      if (vectors && !a.columns) conjugate_all(x, n * n);
      return info == 0;
    });
  });
}

// ((values, vectors), A, UPLO)
PyObject *eigh_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[2];
  Matrices a;
  return nargs == 3 && results_of(args[0], out) && a.read(args[1]) ? eigen(a, out[0], out[1], args[2]) : unread();
}

// (values, A, UPLO)
PyObject *eigvalsh_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  return out && a.read(args[1]) ? eigen(a, out, nullptr, args[2]) : unread();
}

// Singular values, and vectors (m of them of u, n of vh, or as many as there are values) unless `u` is NULL.
PyObject *singular(const Matrices &a, WeftTensor *u, WeftTensor *s, WeftTensor *vh, bool full) {
  const i64 m = a.m, n = a.n, k = std::min(m, n), width = full ? m : k;
  if (s->numel != a.count * k || (u && (u->numel != a.count * m * width || vh->numel != a.count * n * (full ? n : k)))) return not_for_these();
  if (u && (WEFT_DTYPE(u) != a.dtype() || WEFT_DTYPE(vh) != a.dtype())) return not_for_these();
  return by_field(a.dtype(), [&](auto type) -> PyObject * {
    typedef typename decltype(type)::type T;
    typedef Real<T> R;
    if (WEFT_DTYPE(s) != (sizeof(R) == 4 ? WEFT_FLOAT32 : WEFT_FLOAT64)) return not_for_these();
    const auto &lapack = *Lapack<T>::get();
    const char job = !u ? 'N' : full ? 'A' : 'S';
    const i64 rows = full ? n : k;  // of vh
    T size = 0;
    if (lapack.singular(job, m, n, nullptr, nullptr, nullptr, m, nullptr, rows, &size, -1, nullptr, nullptr)) return not_for_these();
    std::vector<T> work((size_t)answered(size)), x((size_t)(m * n));
    std::vector<R> real_work(is_complex<T> ? (size_t)(k * std::max(5 * k + 7, 2 * std::max(m, n) + 2 * k + 1)) : 0);
    std::vector<i64> whole_work((size_t)(8 * k));
    return each(a, [&](i64 i) {
      a.copy_columns(i, x.data(), m);
      return lapack.singular(job, m, n, x.data(), data_of<R>(s) + i * k, u ? data_of<T>(u) + i * m * width : nullptr, m,
                             u ? data_of<T>(vh) + i * n * rows : nullptr, rows, work.data(), (i64)work.size(), real_work.data(), whole_work.data()) == 0;
    });
  });
}

// ((U, S, Vh), A, full_matrices)
PyObject *svd_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[3];
  Matrices a;
  bool full;
  return nargs == 3 && results_of(args[0], out) && exact_bool(args[2], &full) && a.read(args[1]) ? singular(a, out[0], out[1], out[2], full) : unread();
}

// (S, A)
PyObject *svdvals_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  return out && a.read(args[1]) ? singular(a, nullptr, out, nullptr, false) : unread();
}

// ------------------------------------------------------------------------------------------------------ determinants
// (out, A)
PyObject *det_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  if (!out || !a.read(args[1])) return unread();
  if (!a.square() || out->numel != a.count || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    Solver<T> solver(a.n);
    return each(a, [&](i64 i) {
      solver.factor_either(a, i);
      data_of<T>(out)[i] = solver.determinant();
      return true;
    });
  });
}

// ((sign, logabsdet), A)
PyObject *slogdet_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[2];
  Matrices a;
  if (nargs != 2 || !results_of(args[0], out) || !a.read(args[1])) return unread();
  if (!a.square() || out[0]->numel != a.count || out[1]->numel != a.count || WEFT_DTYPE(out[0]) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) -> PyObject * {
    typedef typename decltype(type)::type T;
    typedef Real<T> R;
    if (WEFT_DTYPE(out[1]) != (sizeof(R) == 4 ? WEFT_FLOAT32 : WEFT_FLOAT64)) return not_for_these();
    const i64 n = a.n;
    Solver<T> solver(n);
    return each(a, [&](i64 i) {
      T sign = 1;
      double log_size = 0;
      if (!solver.factor_either(a, i)) sign = 0, log_size = -std::numeric_limits<double>::infinity();
      for (i64 k = 0; k < n && sign != T(0); k++) {
        const T d = solver.factors[(size_t)(k * (n + 1))];
        const R size = std::abs(d);
        sign *= d / (solver.pivots[(size_t)k] == k + 1 ? size : -size), log_size += ::log((double)size);
      }
      data_of<T>(out[0])[i] = sign, data_of<R>(out[1])[i] = (R)log_size;
      return true;
    });
  });
}

template <class T> double norm_of(const T *x, i64 n) {
  double sum = 0;
  for (i64 i = 0; i < n; i++) sum += (double)std::norm(x[i]);
  return ::sqrt(sum);
}

// (out, A): det(A) * A^-1, of matrices whose inverse has a third of its digits right
PyObject *adjugate_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  if (!out || !a.read(args[1])) return unread();
  if (!a.square() || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    const double poor = ::pow((double)std::numeric_limits<Real<T>>::epsilon(), -2.0 / 3);
    const i64 n = a.n;
    Solver<T> solver(n);
    return each(a, [&](i64 i) {
      T *x = data_of<T>(out) + i * n * n;
      if (!solver.factor(a, i)) return false;
      solver.invert(x);
      if (!(norm_of(a.at<T>(i), n * n) * norm_of(x, n * n) < poor)) return false;
      const T determinant = solver.determinant();
      for (i64 k = 0; k < n * n; k++) x[k] *= determinant;
      return true;
    });
  });
}

}  // namespace

const NativeKernel lapack_kernels[] = {{"linalg_inv", WEFT_KERNEL(by_columns<inverse_kernel>)},
                                       {"solve_matrix", WEFT_KERNEL(by_columns<solve_kernel>)},
                                       {"solve_triangular_matrix", WEFT_KERNEL(by_columns<triangular_kernel>)},
                                       {"solve_factored", WEFT_KERNEL(by_columns<factored_kernel>)},
                                       {"cholesky_lower", WEFT_KERNEL(by_columns<cholesky_kernel>)},
                                       {"linalg_lu_factor_ex", WEFT_KERNEL(by_columns<lu_kernel, 1>)},
                                       {"linalg_qr", WEFT_KERNEL(by_columns<qr_kernel, 3>)},
                                       {"linalg_eigh", WEFT_KERNEL(by_columns<eigh_kernel, 2>)},
                                       {"hermitian_values", WEFT_KERNEL(by_columns<eigvalsh_kernel, 0>)},
                                       {"linalg_svd", WEFT_KERNEL(by_columns<svd_kernel, 5>)},
                                       {"singular_values", WEFT_KERNEL(by_columns<svdvals_kernel, 0>)},
                                       {"linalg_det", WEFT_KERNEL(by_columns<det_kernel, 0>)},
                                       {"slogdet", WEFT_KERNEL(by_columns<slogdet_kernel, 0>)},
                                       {"adjugate", WEFT_KERNEL(by_columns<adjugate_kernel>)},
                                       {nullptr, nullptr}};

}  // namespace weft
