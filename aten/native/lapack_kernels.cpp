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

#include "cholesky.h"
#include "matrices.h"

namespace weft {
namespace {

using namespace by_matrix;

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

// ((out, info), A, B): of what has no pivot LAPACK says where.
PyObject *solve_info_kernel(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *to[2];
  if (nargs != 3 || !results_of(args[0], to)) return not_for_these();
  PyObject *const solved[3] = {as_object(to[0]), args[1], args[2]};
  PyObject *made = solve_kernel(self, solved, 3);
  if (made == Py_None) memset(weft_data(to[1]), 0, (size_t)(to[1]->numel * weft_itemsize(WEFT_DTYPE(to[1]))));
  return made;
}

// X of A @ X = B for a row-major triangle of A, in place of one right side.
template <class T> void solve_row_major(const T *a, T *x, i64 n, bool upper, bool unit) {
  const char uplo = upper ? 'L' : 'U', diag = unit ? 'U' : 'N';
  const i64 step = 1;
  Lapack<T>::get()->trsv(&uplo, "T", &diag, &n, a, &n, x, &step, 1, 1, 1);
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
    const bool turned = !a.columns && width > 1 && near<T>(n);
    std::vector<T> columns((size_t)(turned ? n * n : 0));
    return each(a, [&](i64 i) {
      T *x = data_of<T>(out) + i * n * width;
      if (turned) turn(a.at<T>(i), columns.data(), n, n, n);
      if (!a.columns && width == 1) solve_row_major(a.at<T>(i), x, n, upper, unit);
      else if (turned || a.columns) solve_columns(turned ? columns.data() : a.at<T>(i), x, n, width, upper, unit);
      else solve_columns(a.at<T>(i), x, n, width, !upper, unit, 'T');
      return true;
    });
  });
}

// --------------------------------------------------------------------------------------------------- factorizations
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

// det(A) * A^-1 of the solver's matrix, which has the norm `norm`; false: less than a third of the digits of the inverse is right.
template <class T> bool adjugate_of(Solver<T> *solver, double norm, T *x) {
  const double poor = ::pow((double)std::numeric_limits<Real<T>>::epsilon(), -2.0 / 3);
  const i64 n = solver->n;
  if (!solver->factor()) return false;
  solver->invert(x);
  if (!(norm * norm_of(x, n * n) < poor)) return false;
  const T determinant = solver->determinant();
  for (i64 k = 0; k < n * n; k++) x[k] *= determinant;
  return true;
}

// (out, A): det(A) * A^-1; where numbers of 32 bits are too few for the inverse, by those of 64
PyObject *adjugate_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  if (!out || !a.read(args[1])) return unread();
  if (!a.square() || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    typedef std::conditional_t<is_complex<T>, std::complex<double>, double> Wide;
    const i64 n = a.n;
    Solver<T> solver(n);
    return each(a, [&](i64 i) {
      T *x = data_of<T>(out) + i * n * n;
      const double norm = norm_of(a.at<T>(i), n * n);
      a.copy_columns(i, solver.factors.data(), n);
      if (adjugate_of(&solver, norm, x)) return true;
      if (std::is_same<T, Wide>::value || !Lapack<Wide>::get()) return false;
      Solver<Wide> wide(n);
      std::vector<Wide> found((size_t)(n * n));
      a.copy_columns(i, x, n);
      std::copy(x, x + n * n, wide.factors.begin());
      if (!adjugate_of(&wide, norm, found.data())) return false;
      std::transform(found.begin(), found.end(), x, [](Wide v) { return (T)v; });
      return true;
    });
  });
}

}  // namespace

const NativeKernel lapack_kernels[] = {{"linalg_inv", WEFT_KERNEL(by_columns<inverse_kernel>)},
                                       {"solve_matrix", WEFT_KERNEL(by_columns<solve_kernel>)},
                                       {"solve_info", WEFT_KERNEL(by_columns<solve_info_kernel>)},
                                       {"solve_triangular_matrix", WEFT_KERNEL(by_columns<triangular_kernel>)},
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
