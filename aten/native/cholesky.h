// cholesky.h: Cholesky factors of matrices so small that a call of LAPACK is more than the work.
#ifndef WEFT_CHOLESKY_H
#define WEFT_CHOLESKY_H

#include <cmath>

#include "lapack.h"

namespace weft {

// The lower factor in place of a small matrix by columns, whose upper triangle is left; false: it is not positive definite.
constexpr int64_t kTiny = 8;
template <class T> bool cholesky_tiny(int64_t n, T *a) {
  for (int64_t j = 0; j < n; j++) {
    Real<T> rest = std::real(a[j * n + j]);
    for (int64_t k = 0; k < j; k++) rest -= std::norm(a[k * n + j]);
    if (!(rest > 0)) return false;
    const Real<T> d = std::sqrt(rest);
    a[j * n + j] = d;
    for (int64_t i = j + 1; i < n; i++) {
      T sum = a[j * n + i];
      for (int64_t k = 0; k < j; k++) sum -= a[k * n + i] * conjugate(a[k * n + j]);
      a[j * n + i] = sum / d;
    }
  }
  return true;
}

}  // namespace weft
#endif
