// factored_kernels.cpp: kernels that make factors (Cholesky's, LDL^T) and that work with factors as LAPACK packs them: systems solved,
// permutations and reflections multiplied out.
#include "cholesky.h"
#include "matrices.h"

namespace weft {
namespace {

using namespace by_matrix;

// --------------------------------------------------------------------------------------------------------- Cholesky
// The lower factor, of the lower triangle or of the adjoint of the upper one.
PyObject *cholesky_of(WeftTensor *out, PyObject *given, PyObject *is_upper) {
  Matrices a;
  bool upper;
  if (!a.read(given)) return unread();
  if (!exact_bool(is_upper, &upper) || !a.square() || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return not_for_these();
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

// (out, A, upper)
PyObject *cholesky_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? as_tensor(args[0]) : nullptr;
  return out ? cholesky_of(out, args[1], args[2]) : unread();
}

// ((L, info), A, upper): what is not positive definite is left to the definition
PyObject *cholesky_info_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[2];
  if (nargs != 3 || !results_of(args[0], out) || !out[0] || !out[1] || WEFT_DTYPE(out[1]) != WEFT_INT32) return unread();
  std::fill_n(reinterpret_cast<int32_t *>(weft_data(out[1])), out[1]->numel, 0);
  return cholesky_of(out[0], args[1], args[2]);
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

// --------------------------------------------------------------------------------------------------------------- LU
// Row exchanges, counted from 1, of the matrices of a batch.
struct Exchanges {
  Ref kept;
  const int32_t *rows = nullptr;
  i64 count = 0, k = 0;

  // False, without an exception: they are not such, or leave `n` rows.
  bool read(PyObject *given, i64 n) {
    WeftTensor *x = plain(given);
    if (!x || WEFT_NDIM(x) < 1 || WEFT_DTYPE(x) != WEFT_INT32 || !x->numel) return false;
    kept = row_major(x);
    if (!kept) return false;
    rows = data_of<int32_t>(as_tensor(kept.get())), k = x->sizes[WEFT_NDIM(x) - 1], count = x->numel / k;
    return std::all_of(rows, rows + x->numel, [&](int32_t row) { return row >= 1 && row <= n; });
  }
  const int32_t *at(i64 i) const { return rows + i * k; }
};

// (out, LU, pivots, B, adjoint)
PyObject *lu_solve_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 5 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  Exchanges exchanges;
  bool turned;
  if (!out || !a.read(args[1]) || !exchanges.read(args[2], a.n)) return unread();
  if (!exact_bool(args[4], &turned) || exchanges.count != a.count || exchanges.k != a.n) return not_for_these();
  const i64 n = a.n, width = right_sides(out, args[3], a);
  if (!width) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    std::vector<T> apart((size_t)(a.columns ? 0 : n * n));
    return each(a, [&](i64 i) {
      const int32_t *rows = exchanges.at(i);
      const T *factors = a.columns ? a.at<T>(i) : apart.data();
      T *x = data_of<T>(out) + i * n * width;
      if (!a.columns) a.copy_columns(i, apart.data(), n);
      const auto exchange = [&](i64 r) {
        for (i64 j = 0; j < width; j++) std::swap(x[j * n + r], x[j * n + rows[r] - 1]);
      };
      for (i64 r = 0; !turned && r < n; r++) exchange(r);
      const char trans = turned ? 'C' : 'N';
      solve_columns(factors, x, n, width, turned, !turned, trans);
      solve_columns(factors, x, n, width, !turned, turned, trans);
      for (i64 r = n - 1; turned && r >= 0; r--) exchange(r);
      return true;
    });
  });
}

// (out, pivots, n, dtype): out[row][i] = 1 where row `row` of A has become row i.
PyObject *permutation_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 4 ? dense(args[0]) : nullptr;
  if (!out || WEFT_NDIM(out) < 2 || !out->numel) return not_for_these();
  const i64 n = out->sizes[WEFT_NDIM(out) - 1];
  Exchanges exchanges;
  if (!exchanges.read(args[1], n)) return unread();
  if (exchanges.count * n * n != out->numel || exchanges.k > n) return not_for_these();
  return by_field(WEFT_DTYPE(out), [&](auto type) {
    typedef typename decltype(type)::type T;
    std::vector<i64> order((size_t)n);
    memset(weft_data(out), 0, (size_t)out->numel * sizeof(T));
    for (i64 i = 0; i < exchanges.count; i++) {
      for (i64 r = 0; r < n; r++) order[(size_t)r] = r;
      for (i64 r = 0; r < exchanges.k; r++) std::swap(order[(size_t)r], order[(size_t)exchanges.at(i)[r] - 1]);
      for (i64 r = 0; r < n; r++) data_of<T>(out)[(i * n + order[(size_t)r]) * n + r] = 1;
    }
    return written();
  });
}

// ------------------------------------------------------------------------------------------------------ reflections
// The factors of the reflections of `a`; NULL: they are not its.
WeftTensor *factors_of(PyObject *given, const Matrices &a, Ref *kept) {
  WeftTensor *tau = plain(given);
  if (!tau || WEFT_NDIM(tau) < 1 || !tau->numel || WEFT_DTYPE(tau) != a.dtype()) return nullptr;
  const i64 k = tau->sizes[WEFT_NDIM(tau) - 1];
  if (tau->numel != a.count * k || k > std::min(a.m, a.n)) return nullptr;
  *kept = row_major(tau);
  return *kept ? as_tensor(kept->get()) : nullptr;
}

// (out, A, tau)
PyObject *reflections_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? as_tensor(args[0]) : nullptr;
  Matrices a;
  Ref kept;
  if (!out || !a.read(args[1])) return unread();
  WeftTensor *tau = factors_of(args[2], a, &kept);
  if (!tau || a.m < a.n || out->numel != a.t->numel || WEFT_DTYPE(out) != a.dtype()) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    const i64 k = tau->numel / a.count;
    i64 info, lwork = -1;
    T size = 0;
    Lapack<T>::get()->orgqr(&a.m, &a.n, &k, nullptr, &a.m, nullptr, &size, &lwork, &info);
    lwork = answered(size);
    std::vector<T> work((size_t)lwork);
    return each(a, [&](i64 i) {
      T *x = data_of<T>(out) + i * a.m * a.n;
      a.copy_columns(i, x, a.m);
      Lapack<T>::get()->orgqr(&a.m, &a.n, &k, x, &a.m, data_of<T>(tau) + i * k, work.data(), &lwork, &info);
      return info == 0;
    });
  });
}

// (out, A, tau, C, left, transpose)
PyObject *reflected_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? as_tensor(args[0]) : nullptr, *c = nargs == 6 ? plain(args[3]) : nullptr;
  Matrices a;
  Ref kept;
  bool left, turned;
  if (!out || !c || !a.read(args[1])) return unread();
  WeftTensor *tau = factors_of(args[2], a, &kept);
  if (!tau || !exact_bool(args[4], &left) || !exact_bool(args[5], &turned)) return unread();
  const int d = WEFT_NDIM(c);
  if (d < 2 || WEFT_DTYPE(c) != a.dtype() || WEFT_DTYPE(out) != a.dtype() || !c->numel || out->numel != c->numel) return not_for_these();
  const i64 m = c->sizes[d - 2], n = c->sizes[d - 1], k = tau->numel / a.count;
  if ((left ? m : n) != a.m || a.count * m * n != c->numel) return not_for_these();
  if (!copy_into(out, c)) return unread();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    const char side = left ? 'L' : 'R', trans = !turned ? 'N' : is_complex<T> ? 'C' : 'T';
    i64 info, lwork = -1;
    T size = 0;
    Lapack<T>::get()->ormqr(&side, &trans, &m, &n, &k, nullptr, &a.m, nullptr, nullptr, &m, &size, &lwork, &info, 1, 1);
    lwork = answered(size);
    std::vector<T> work((size_t)lwork), apart((size_t)(a.columns ? 0 : a.m * a.n));
    return each(a, [&](i64 i) {
      if (!a.columns) a.copy_columns(i, apart.data(), a.m);
      Lapack<T>::get()->ormqr(&side, &trans, &m, &n, &k, a.columns ? a.at<T>(i) : apart.data(), &a.m, data_of<T>(tau) + i * k,
                              data_of<T>(out) + i * m * n, &m, work.data(), &lwork, &info, 1, 1);
      return info == 0;
    });
  });
}

// ------------------------------------------------------------------------------------------------------------ LDL^T
// ((LD, pivots, info), A, hermitian, check_errors)
PyObject *ldl_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out[3];
  Matrices a;
  bool hermitian, check;
  if (nargs != 4 || !results_of(args[0], out) || !a.read(args[1]) || !exact_bool(args[2], &hermitian) || !exact_bool(args[3], &check)) return unread();
  if (!a.square() || WEFT_DTYPE(out[0]) != a.dtype() || out[0]->numel != a.t->numel || WEFT_DTYPE(out[1]) != WEFT_INT32) return not_for_these();
  if (WEFT_DTYPE(out[2]) != WEFT_INT32 || out[1]->numel != a.count * a.n || out[2]->numel != a.count) return not_for_these();
  return by_field(a.dtype(), [&](auto type) {
    typedef typename decltype(type)::type T;
    const i64 n = a.n;
    const auto factor = hermitian ? Lapack<T>::get()->hetrf : Lapack<T>::get()->sytrf;
    i64 info, lwork = -1;
    T size = 0;
    factor("L", &n, nullptr, &n, nullptr, &size, &lwork, &info, 1);
    lwork = answered(size);
    std::vector<T> work((size_t)lwork);
    std::vector<i64> pivots((size_t)n);
    return each(a, [&](i64 i) {
      T *x = data_of<T>(out[0]) + i * n * n;
      a.copy_columns(i, x, n);
      for (i64 c = 1; c < n; c++) std::fill(x + c * n, x + c * n + c, T(0));
      factor("L", &n, x, &n, pivots.data(), work.data(), &lwork, &info, 1);
      std::copy(pivots.begin(), pivots.end(), data_of<int32_t>(out[1]) + i * n);
      data_of<int32_t>(out[2])[i] = (int32_t)info;
      return check ? info == 0 : info >= 0;  // what is refused is said by the definition
    });
  });
}

}  // namespace

const NativeKernel factored_kernels[] = {{"cholesky_lower", WEFT_KERNEL(by_columns<cholesky_kernel>)},
                                         {"cholesky_info", WEFT_KERNEL(by_columns<cholesky_info_kernel, 1>)},
                                         {"solve_factored", WEFT_KERNEL(by_columns<factored_kernel>)},
                                         {"lu_solve_matrix", WEFT_KERNEL(by_columns<lu_solve_kernel>)},
                                         {"permutation_of", WEFT_KERNEL(permutation_kernel)},
                                         {"product_of_reflections", WEFT_KERNEL(by_columns<reflections_kernel>)},
                                         {"reflected", WEFT_KERNEL(by_columns<reflected_kernel>)},
                                         {"linalg_ldl_factor_ex", WEFT_KERNEL(by_columns<ldl_kernel, 1>)},
                                         {nullptr, nullptr}};

}  // namespace weft
