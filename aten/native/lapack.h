// lapack.h: the routines of LAPACK and BLAS that NumPy's own library exports, by name, for the four types that they compute in.
//
// NumPy's wheels bring OpenBLAS with 64-bit integers, and NumPy has loaded it. Where there is none (another build of NumPy), a routine is
// NULL, and ops keep to NumPy's functions. Matrices are by columns there: a row-major one is its transpose.
#ifndef WEFT_LAPACK_H
#define WEFT_LAPACK_H

#include <stddef.h>
#include <stdint.h>

#include <complex>
#include <type_traits>

namespace weft {

// The routine of that name without its letter for the type ("getrf" of floats: sgetrf); NULL if there is none.
void *lapack_routine(char type, const char *name);

template <class T> struct RealOf {
  typedef T type;
};
template <class T> struct RealOf<std::complex<T>> {
  typedef T type;
};
template <class T> using Real = typename RealOf<T>::type;

template <class T> constexpr bool is_complex = !std::is_same<T, Real<T>>::value;
template <class T> constexpr char type_letter = std::is_same<Real<T>, float>::value ? (is_complex<T> ? 'c' : 's') : (is_complex<T> ? 'z' : 'd');

inline float conjugate(float x) { return x; }
inline double conjugate(double x) { return x; }
template <class T> inline std::complex<T> conjugate(std::complex<T> x) { return std::conj(x); }

// Fortran takes all by address, and behind the arguments the length of each text.
typedef const int64_t *In;
template <class T> struct Lapack {
  typedef Real<T> R;
  void (*getrf)(In m, In n, T *a, In lda, int64_t *pivots, int64_t *info);
  void (*potrf)(const char *uplo, In n, T *a, In lda, int64_t *info, size_t);
  void (*trsm)(const char *side, const char *uplo, const char *trans, const char *diag, In m, In n, const T *alpha, const T *a, In lda, T *b, In ldb, size_t, size_t, size_t, size_t);
  void (*geqrf)(In m, In n, T *a, In lda, T *tau, T *work, In lwork, int64_t *info);
  void (*orgqr)(In m, In n, In k, T *a, In lda, const T *tau, T *work, In lwork, int64_t *info);
  void (*ormqr)(const char *side, const char *trans, In m, In n, In k, const T *a, In lda, const T *tau, T *c, In ldc, T *work, In lwork, int64_t *info, size_t, size_t);
  void (*trsv)(const char *uplo, const char *trans, const char *diag, In n, const T *a, In lda, T *x, In step, size_t, size_t, size_t);
  void (*sytrf)(const char *uplo, In n, T *a, In lda, int64_t *pivots, T *work, In lwork, int64_t *info, size_t);
  void (*hetrf)(const char *uplo, In n, T *a, In lda, int64_t *pivots, T *work, In lwork, int64_t *info, size_t);
  void *evd;  // syevd, heevd
  void *gesdd;

  // NULL if one of them is missing.
  static const Lapack *get() {
    static const Lapack *found = [] {
      static Lapack all;
      const auto find = [](const char *name) { return lapack_routine(type_letter<T>, name); };
      const auto set = [&](auto &to, const char *name) { return (to = reinterpret_cast<std::decay_t<decltype(to)>>(find(name))) != nullptr; };
      const bool whole = set(all.getrf, "getrf") && set(all.potrf, "potrf") && set(all.trsm, "trsm") &&
                         set(all.geqrf, "geqrf") && set(all.orgqr, is_complex<T> ? "ungqr" : "orgqr") &&
                         set(all.ormqr, is_complex<T> ? "unmqr" : "ormqr") && set(all.trsv, "trsv") &&
                         set(all.sytrf, "sytrf") && set(all.hetrf, is_complex<T> ? "hetrf" : "sytrf") &&
                         set(all.evd, is_complex<T> ? "heevd" : "syevd") && set(all.gesdd, "gesdd");
      return whole ? &all : nullptr;
    }();
    return found;
  }

  // Eigenvalues `w` in ascending order of the triangle `uplo`, and with 'V' eigenvectors instead of `a`.
  int64_t eigen(char job, char uplo, int64_t n, T *a, R *w, T *work, int64_t lwork, R *rwork, int64_t lrwork, int64_t *iwork, int64_t liwork) const {
    int64_t info = 0;
    if constexpr (is_complex<T>)
      reinterpret_cast<void (*)(const char *, const char *, In, T *, In, R *, T *, In, R *, In, int64_t *, In, int64_t *, size_t, size_t)>(evd)(
          &job, &uplo, &n, a, &n, w, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, 1, 1);
    else
      reinterpret_cast<void (*)(const char *, const char *, In, T *, In, R *, T *, In, int64_t *, In, int64_t *, size_t, size_t)>(evd)(
          &job, &uplo, &n, a, &n, w, work, &lwork, iwork, &liwork, &info, 1, 1);
    return info;
  }
  // m by n; `iwork` of 8 min(m, n).
  int64_t singular(char job, int64_t m, int64_t n, T *a, R *s, T *u, int64_t ldu, T *vh, int64_t ldvh, T *work, int64_t lwork, R *rwork, int64_t *iwork) const {
    int64_t info = 0;
    if constexpr (is_complex<T>)
      reinterpret_cast<void (*)(const char *, In, In, T *, In, R *, T *, In, T *, In, T *, In, R *, int64_t *, int64_t *, size_t)>(gesdd)(
          &job, &m, &n, a, &m, s, u, &ldu, vh, &ldvh, work, &lwork, rwork, iwork, &info, 1);
    else
      reinterpret_cast<void (*)(const char *, In, In, T *, In, R *, T *, In, T *, In, T *, In, int64_t *, int64_t *, size_t)>(gesdd)(
          &job, &m, &n, a, &m, s, u, &ldu, vh, &ldvh, work, &lwork, iwork, &info, 1);
    return info;
  }
};

}  // namespace weft
#endif
