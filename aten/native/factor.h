// factor.h: triangles and LU decompositions of real matrices that lie by columns, as tables of plain functions, one set an instruction set.
//
// For matrices that fit the nearer caches: LAPACK's own are better at large ones. Every element is a chain of fused multiply-adds in the
// order of the textbook's loops, whatever the blocks: numbers do not depend on the instruction set.
#ifndef WEFT_FACTOR_H
#define WEFT_FACTOR_H

#include <stdint.h>

namespace weft {

template <class T> struct Factor {
  // A = P @ L @ U in place of [m, n], with row exchanges: row i was exchanged for pivots[i], counted from 1. 0, or the number of the
  // first diagonal element of U that is 0, from 1.
  int64_t (*lu)(int64_t m, int64_t n, T *a, int64_t lda, int64_t *pivots);
  // X of A @ X = B in place of B [n, width], for the upper or the lower triangle of A, with ones on the diagonal if `unit`.
  void (*solve)(int64_t n, int64_t width, const T *a, int64_t lda, bool upper, bool unit, T *b, int64_t ldb);
};

struct FactorTable {
  Factor<float> single;
  Factor<double> wide;
};

void weft_fill_factor_v3(FactorTable *) __attribute__((weak));
void weft_fill_factor_v4(FactorTable *) __attribute__((weak));
extern FactorTable factor_table;  // the table in use; without an instruction set its entries are NULL

}  // namespace weft
#endif
