// lapack_kernels.cpp: kernels of linear algebra on batches of matrices, by LAPACK in the dtype of the matrices.
//
// A row-major matrix is to LAPACK its transpose, so most kernels ask for what gives the right result of that: an LQ decomposition for QR,
// right hand sides from the other side, U and Vh exchanged. What LAPACK reports as failed is left to the ops' NumPy kernels, which word it.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "by_dtype.h"
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

// A batch of matrices with elements; of `columns` the transposes lie row-major.
struct Matrices {
  Ref kept;
  WeftTensor *t = nullptr;
  i64 count, m, n;
  bool columns = false;

  // False: without an exception, none of this kind.
  bool read(PyObject *given, bool may_be_columns = false) {
    WeftTensor *x = plain(given);
    if (!x || WEFT_NDIM(x) < 2 || !x->numel) return false;
    const int d = WEFT_NDIM(x);
    m = x->sizes[d - 2], n = x->sizes[d - 1], count = x->numel / (m * n);
    if (may_be_columns && !(x->word & WEFT_WORD_CONTIGUOUS)) {
      i64 step = m * n;
      columns = x->strides[d - 2] == 1 && x->strides[d - 1] == m;
      for (int k = d - 3; columns && k >= 0; step *= x->sizes[k--]) columns = x->strides[k] == step;
    }
    kept = columns ? Ref(Py_NewRef(given)) : row_major(x);
    t = kept ? as_tensor(kept.get()) : nullptr;
    return t != nullptr;
  }
  bool square() const { return m == n; }
  int dtype() const { return WEFT_DTYPE(t); }
};

PyObject *unread() { return PyErr_Occurred() ? nullptr : not_for_these(); }

// The results of an op of several, row-major; false: they are not.
template <int n> bool results_of(PyObject *tuple, WeftTensor *(&to)[n]) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != n) return false;
  for (int i = 0; i < n; i++)
    if (!(to[i] = dense(PyTuple_GET_ITEM(tuple, i)))) return false;
  return true;
}

// A kernel that writes by rows, for results in any layout (those of LAPACK's decompositions lie by columns).
template <PyObject *(*kernel)(PyObject *, PyObject *const *, Py_ssize_t)> PyObject *by_rows(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
  constexpr int kMost = 3;
  const bool several = nargs && PyTuple_Check(args[0]);
  const Py_ssize_t n = several ? PyTuple_GET_SIZE(args[0]) : 1;
  if (!nargs || n > kMost) return not_for_these();
  Ref rows[kMost], tuple;
  WeftTensor *outs[kMost];
  bool replaced = false;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *given = several ? PyTuple_GET_ITEM(args[0], i) : args[0];
    outs[i] = plain(given);
    if (!outs[i]) return not_for_these();
    const bool is_dense = outs[i]->word & WEFT_WORD_CONTIGUOUS;
    rows[i].reset(is_dense ? Py_NewRef(given) : empty((uint32_t)WEFT_DTYPE(outs[i]), WEFT_NDIM(outs[i]), outs[i]->sizes, nullptr));
    if (!rows[i]) return nullptr;
    replaced = replaced || !is_dense;
  }
  if (!replaced) return kernel(self, args, nargs);
  std::vector<PyObject *> again(args, args + nargs);
  if (several) {
    tuple.reset(PyTuple_New(n));
    for (Py_ssize_t i = 0; tuple && i < n; i++) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(rows[i].get()));
    if (!tuple) return nullptr;
  }
  again[0] = several ? tuple.get() : rows[0].get();
  Ref result(kernel(self, again.data(), nargs));
  if (result.get() != Py_None) return result.release();
  for (Py_ssize_t i = 0; i < n; i++)
    if (rows[i].get() != as_object(outs[i]) && !copy_into(outs[i], as_tensor(rows[i].get()))) return unread();
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

// out[j][i] = in[i][j], conjugated if asked, of m rows of n.
template <class T> void transpose(const T *in, T *out, i64 m, i64 n, bool conjugated = false) {
  constexpr i64 kBlock = 16;
  for (i64 i = 0; i < m; i += kBlock)
    for (i64 j = 0; j < n; j += kBlock)
      for (i64 k = i; k < std::min(m, i + kBlock); k++)
        for (i64 l = j; l < std::min(n, j + kBlock); l++) out[l * m + k] = conjugated ? conjugate(in[k * n + l]) : in[k * n + l];
}

// The size of a workspace that a routine has answered in its first element.
template <class T> i64 answered(T size) { return std::max<i64>(1, (i64)std::real(size)); }

// X of op(A) @ X = B for a triangle, in place of B [n, width], by rows. M is the matrix whose columns lie in memory: op(A)^T = trans(M).
template <class T> void solve_rows(const T *a, T *b, i64 n, i64 width, char uplo, char trans, bool unit) {
  const T one = 1;
  const char diag = unit ? 'U' : 'N';
  Lapack<T>::get()->trsm("R", &uplo, &trans, &diag, &width, &n, &one, a, &n, b, &width, 1, 1, 1, 1);
}

// ------------------------------------------------------------------------------------------------------ systems
// Solves A @ X = B by the LU decomposition of the matrix whose columns lie in memory, by rows A^T: X^T @ (P @ L @ U) = B^T.
template <class T> struct Solver {
  i64 n;
  std::vector<T> factors;
  std::vector<i64> pivots;

  explicit Solver(i64 size) : n(size), factors((size_t)(size * size)), pivots((size_t)size) {}
  // False: A is singular.
  bool factor(const T *a, bool columns) {
    if (columns) transpose(a, factors.data(), n, n);
    else memcpy(factors.data(), a, (size_t)(n * n) * sizeof(T));
    i64 info;
    Lapack<T>::get()->getrf(&n, &n, factors.data(), &n, pivots.data(), &info);
    return info == 0;
  }
  T determinant() const {
    T product = 1;
    for (i64 i = 0; i < n; i++) product *= pivots[(size_t)i] == i + 1 ? factors[(size_t)(i * (n + 1))] : -factors[(size_t)(i * (n + 1))];
    return product;
  }
  // X in place of B [n, width], by rows.
  void solve(T *x, i64 width) const {
    solve_rows(factors.data(), x, n, width, 'U', 'N', false);
    solve_rows(factors.data(), x, n, width, 'L', 'N', true);
    for (i64 r = n - 1; r >= 0; r--)
      if (const i64 other = pivots[(size_t)r] - 1; other != r) std::swap_ranges(x + r * width, x + (r + 1) * width, x + other * width);
  }
  void invert(T *x) const {
    std::fill(x, x + n * n, T(0));
    for (i64 i = 0; i < n; i++) x[i * (n + 1)] = 1;
    solve(x, n);
  }
};

// (out, A)
PyObject *inverse_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? dense(args[0]) : nullptr;
  Matrices a;
  if (!out || !a.read(args[1], true)) return unread();
  if (!a.square() || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    Solver<T> solver(a.n);
    return each(a, [&](i64 i) {
      if (!solver.factor(data_of<T>(a.t) + i * a.n * a.n, a.columns)) return false;
      solver.invert(data_of<T>(out) + i * a.n * a.n);
      return true;
    });
  });
}

// (out, A, B)
PyObject *solve_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? dense(args[0]) : nullptr, *b = out ? plain(args[2]) : nullptr;
  Matrices a;
  if (!b || !a.read(args[1], true)) return unread();
  if (!a.square() || WEFT_DTYPE(out) != a.dtype() || WEFT_DTYPE(b) != a.dtype() || b->numel != out->numel || b->numel % (a.count * a.n)) return not_for_these();
  const i64 n = a.n, width = b->numel / (a.count * n);
  if (!width || !copy_into(out, b)) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    Solver<T> solver(n);
    return each(a, [&](i64 i) {
      if (!solver.factor(data_of<T>(a.t) + i * n * n, a.columns)) return false;
      solver.solve(data_of<T>(out) + i * n * width, width);
      return true;
    });
  });
}

// (out, A, B, upper, unitriangular)
PyObject *triangular_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 5 ? dense(args[0]) : nullptr, *b = out ? plain(args[2]) : nullptr;
  Matrices a;
  bool upper, unit;
  if (!b || !a.read(args[1], true)) return unread();
  if (!exact_bool(args[3], &upper) || !exact_bool(args[4], &unit) || !a.square() || WEFT_DTYPE(out) != a.dtype() || WEFT_DTYPE(b) != a.dtype()) return not_for_these();
  const i64 n = a.n, width = b->numel / (a.count * n);
  if (b->numel != out->numel || !width || b->numel != a.count * n * width || !copy_into(out, b)) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    return each(a, [&](i64 i) {
      solve_rows(data_of<T>(a.t) + i * n * n, data_of<T>(out) + i * n * width, n, width, upper == a.columns ? 'U' : 'L', a.columns ? 'T' : 'N', unit);
      return true;
    });
  });
}

// (out, B, L, upper)
PyObject *factored_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 4 ? dense(args[0]) : nullptr, *b = out ? plain(args[1]) : nullptr;
  Matrices a;
  bool upper;
  if (!b || !a.read(args[2])) return unread();
  if (!exact_bool(args[3], &upper) || !a.square() || WEFT_DTYPE(out) != a.dtype() || WEFT_DTYPE(b) != a.dtype()) return not_for_these();
  const i64 n = a.n, width = b->numel / (a.count * n);
  if (b->numel != out->numel || !width || b->numel != a.count * n * width || !copy_into(out, b)) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    return each(a, [&](i64 i) {
      const T *factor = data_of<T>(a.t) + i * n * n;
      T *x = data_of<T>(out) + i * n * width;
      for (char trans : {upper ? 'C' : 'N', upper ? 'N' : 'C'}) solve_rows(factor, x, n, width, upper ? 'L' : 'U', trans, false);
      return true;
    });
  });
}

// --------------------------------------------------------------------------------------------------- factorizations
// (out, A, upper): the lower factor, of the lower triangle or of the adjoint of the upper one
PyObject *cholesky_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? dense(args[0]) : nullptr;
  Matrices a;
  bool upper;
  if (!out || !a.read(args[1])) return unread();
  if (!exact_bool(args[2], &upper) || !a.square() || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    const i64 n = a.n;
    return each(a, [&](i64 i) {
      const T *from = data_of<T>(a.t) + i * n * n;
      T *x = data_of<T>(out) + i * n * n;
      if (upper) transpose(from, x, n, n, true);
      else memcpy(x, from, (size_t)(n * n) * sizeof(T));
      i64 info;
      Lapack<T>::get()->potrf("U", &n, x, &n, &info, 1);
      for (i64 r = 0; r < n; r++) std::fill(x + r * n + r + 1, x + (r + 1) * n, T(0));
      return info == 0;
    });
  });
}

// ((LU, pivots, info), A, pivot)
PyObject *lu_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[3];
  Matrices a;
  bool pivot;
  if (nargs != 3 || !results_of(args[0], out) || !a.read(args[1])) return unread();
  if (!exact_bool(args[2], &pivot) || !pivot || WEFT_DTYPE(out[0]) != a.dtype() || out[0]->numel != a.t->numel) return not_for_these();
  const i64 k = std::min(a.m, a.n);
  if (WEFT_DTYPE(out[1]) != WEFT_INT32 || WEFT_DTYPE(out[2]) != WEFT_INT32 || out[1]->numel != a.count * k || out[2]->numel != a.count) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    std::vector<T> columns((size_t)(a.m * a.n));
    std::vector<i64> pivots((size_t)k);
    return each(a, [&](i64 i) {
      i64 info;
      transpose(data_of<T>(a.t) + i * a.m * a.n, columns.data(), a.m, a.n);
      Lapack<T>::get()->getrf(&a.m, &a.n, columns.data(), &a.m, pivots.data(), &info);
      transpose(columns.data(), data_of<T>(out[0]) + i * a.m * a.n, a.n, a.m);
      std::copy(pivots.begin(), pivots.end(), data_of<int32_t>(out[1]) + i * k);
      data_of<int32_t>(out[2])[i] = (int32_t)info;
      return info >= 0;
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
    const i64 lda = std::max(n, wide);
    const bool inside = !alone && lda == wide;  // it is made where Q will be
    i64 info, lwork = -1;
    T sizes[2] = {};
    lapack.gelqf(&n, &m, nullptr, &lda, nullptr, sizes, &lwork, &info);
    if (!alone) lapack.orglq(&wide, &m, &k, nullptr, &lda, nullptr, sizes + 1, &lwork, &info);
    lwork = std::max(answered(sizes[0]), answered(sizes[1]));
    std::vector<T> work((size_t)lwork), tau((size_t)k), apart(inside ? 0 : (size_t)(m * lda));
    return each(a, [&](i64 i) {
      const T *from = data_of<T>(a.t) + i * m * n;
      T *q = data_of<T>(out[0]) + i * m * wide, *r = data_of<T>(out[1]) + i * wide * n, *x = inside ? q : apart.data();
      for (i64 row = 0; row < m; row++) std::copy(from + row * n, from + (row + 1) * n, x + row * lda);
      lapack.gelqf(&n, &m, x, &lda, tau.data(), work.data(), &lwork, &info);
      if (info) return false;
      for (i64 row = 0; row < wide; row++) {
        const i64 edge = std::min(row, n);
        std::fill(r + row * n, r + row * n + edge, T(0));
        if (edge < n) std::copy(x + row * lda + edge, x + row * lda + n, r + row * n + edge);
      }
      if (alone) return true;
      lapack.orglq(&wide, &m, &k, x, &lda, tau.data(), work.data(), &lwork, &info);
      if (!inside)
        for (i64 row = 0; row < m; row++) std::copy(x + row * lda, x + row * lda + wide, q + row * wide);
      return info == 0;
    });
  });
}

// ---------------------------------------------------------------------------------------------------------- spectra
// Eigenvalues, and eigenvectors unless `vectors` is NULL.
PyObject *eigen(const Matrices &a, WeftTensor *values, WeftTensor *vectors, PyObject *uplo) {
  const char *text = PyUnicode_Check(uplo) ? PyUnicode_AsUTF8(uplo) : nullptr;
  if (!text || !a.square() || values->numel != a.count * a.n || (vectors && (vectors->numel != a.t->numel || WEFT_DTYPE(vectors) != a.dtype()))) return unread();
  const char triangle = text[0] == 'U' || text[0] == 'u' ? 'L' : 'U', job = vectors ? 'V' : 'N';
  return by_field(a.dtype(), [&](auto type) -> PyObject * {
    typedef typename decltype(type)::type T;
    typedef Real<T> R;
    if (WEFT_DTYPE(values) != (sizeof(R) == 4 ? WEFT_FLOAT32 : WEFT_FLOAT64)) return not_for_these();
    const i64 n = a.n;
    T size = 0;
    R real_size = 0;
    i64 whole_size = 0;
    if (Lapack<T>::get()->eigen(job, triangle, n, nullptr, nullptr, &size, -1, &real_size, -1, &whole_size, -1)) return not_for_these();
    std::vector<T> work((size_t)answered(size)), x((size_t)(n * n));
    std::vector<R> real_work(is_complex<T> ? (size_t)answered(real_size) : 0);
    std::vector<i64> whole_work((size_t)std::max<i64>(1, whole_size));
    return each(a, [&](i64 i) {
      memcpy(x.data(), data_of<T>(a.t) + i * n * n, (size_t)(n * n) * sizeof(T));
      const i64 info = Lapack<T>::get()->eigen(job, triangle, n, x.data(), data_of<R>(values) + i * n, work.data(), (i64)work.size(), real_work.data(),
                                               (i64)real_work.size(), whole_work.data(), (i64)whole_work.size());
      if (vectors) transpose(x.data(), data_of<T>(vectors) + i * n * n, n, n, true);
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
  WeftTensor *out = nargs == 3 ? dense(args[0]) : nullptr;
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
    T size = 0;
    if (lapack.singular(job, n, m, nullptr, nullptr, nullptr, n, nullptr, width, &size, -1, nullptr, nullptr)) return not_for_these();
    std::vector<T> work((size_t)answered(size)), x((size_t)(m * n));
    std::vector<R> real_work(is_complex<T> ? (size_t)(k * std::max(5 * k + 7, 2 * std::max(m, n) + 2 * k + 1)) : 0);
    std::vector<i64> whole_work((size_t)(8 * k));
    return each(a, [&](i64 i) {
      memcpy(x.data(), data_of<T>(a.t) + i * m * n, (size_t)(m * n) * sizeof(T));
      return lapack.singular(job, n, m, x.data(), data_of<R>(s) + i * k, u ? data_of<T>(vh) + i * n * (full ? n : k) : nullptr, n,
                             u ? data_of<T>(u) + i * m * width : nullptr, width, work.data(), (i64)work.size(), real_work.data(), whole_work.data()) == 0;
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
  WeftTensor *out = nargs == 2 ? dense(args[0]) : nullptr;
  Matrices a;
  return out && a.read(args[1]) ? singular(a, nullptr, out, nullptr, false) : unread();
}

// ------------------------------------------------------------------------------------------------------ determinants
// (out, A)
PyObject *det_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? dense(args[0]) : nullptr;
  Matrices a;
  if (!out || !a.read(args[1], true)) return unread();
  if (!a.square() || out->numel != a.count || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    Solver<T> solver(a.n);
    return each(a, [&](i64 i) {
      solver.factor(data_of<T>(a.t) + i * a.n * a.n, false);  // (the transpose has the same determinant)
      data_of<T>(out)[i] = solver.determinant();
      return true;
    });
  });
}

// ((sign, logabsdet), A)
PyObject *slogdet_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[2];
  Matrices a;
  if (nargs != 2 || !results_of(args[0], out) || !a.read(args[1], true)) return unread();
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
      if (!solver.factor(data_of<T>(a.t) + i * n * n, false)) sign = 0, log_size = -std::numeric_limits<double>::infinity();
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
  WeftTensor *out = nargs == 2 ? dense(args[0]) : nullptr;
  Matrices a;
  if (!out || !a.read(args[1])) return unread();
  if (!a.square() || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    const double poor = ::pow((double)std::numeric_limits<Real<T>>::epsilon(), -2.0 / 3);
    const i64 n = a.n;
    Solver<T> solver(n);
    return each(a, [&](i64 i) {
      const T *from = data_of<T>(a.t) + i * n * n;
      T *x = data_of<T>(out) + i * n * n;
      if (!solver.factor(from, false)) return false;
      solver.invert(x);
      if (!(norm_of(from, n * n) * norm_of(x, n * n) < poor)) return false;
      const T determinant = solver.determinant();
      for (i64 k = 0; k < n * n; k++) x[k] *= determinant;
      return true;
    });
  });
}

}  // namespace

const NativeKernel lapack_kernels[] = {{"linalg_inv", WEFT_KERNEL(by_rows<inverse_kernel>)},
                                       {"solve_matrix", WEFT_KERNEL(by_rows<solve_kernel>)},
                                       {"solve_triangular_matrix", WEFT_KERNEL(by_rows<triangular_kernel>)},
                                       {"solve_factored", WEFT_KERNEL(by_rows<factored_kernel>)},
                                       {"cholesky_lower", WEFT_KERNEL(by_rows<cholesky_kernel>)},
                                       {"linalg_lu_factor_ex", WEFT_KERNEL(by_rows<lu_kernel>)},
                                       {"linalg_qr", WEFT_KERNEL(by_rows<qr_kernel>)},
                                       {"linalg_eigh", WEFT_KERNEL(by_rows<eigh_kernel>)},
                                       {"hermitian_values", WEFT_KERNEL(by_rows<eigvalsh_kernel>)},
                                       {"linalg_svd", WEFT_KERNEL(by_rows<svd_kernel>)},
                                       {"singular_values", WEFT_KERNEL(by_rows<svdvals_kernel>)},
                                       {"linalg_det", WEFT_KERNEL(by_rows<det_kernel>)},
                                       {"slogdet", WEFT_KERNEL(by_rows<slogdet_kernel>)},
                                       {"adjugate", WEFT_KERNEL(by_rows<adjugate_kernel>)},
                                       {nullptr, nullptr}};

}  // namespace weft
