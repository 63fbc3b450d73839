// division.h: divisions of integers, as tables of loops, one set an instruction set.
#ifndef WEFT_DIVISION_H
#define WEFT_DIVISION_H

#include "kernels.h"

namespace weft {

enum Division { DIVIDE_FLOOR, DIVIDE_REMAINDER, DIVIDE_FMOD, DIVIDE_TRUNC, DIVIDE_KINDS };

// In NumPy's calling convention: args are x, y, out. A quotient by 0 is any number: whoever calls has found none.
struct DivisionTable {
  WeftLoop loops[DIVIDE_KINDS][WEFT_NUM_DTYPES];  // NULL: there is none for the dtype
};

void weft_fill_division_v3(DivisionTable *) __attribute__((weak));
void weft_fill_division_v4(DivisionTable *) __attribute__((weak));
extern DivisionTable division_table;  // the table in use; without an instruction set its entries are NULL

template <Division which, class T> inline T divided(T x, T y) {
  if (y == 0) return 0;  // another thread wrote it
  if ((T)-1 < 0 && y == (T)-1) return which == DIVIDE_FLOOR || which == DIVIDE_TRUNC ? (T)(0 - x) : 0;  // whose quotient may not exist
  const T q = x / y, r = x % y;
  if (which == DIVIDE_FMOD || which == DIVIDE_TRUNC) return which == DIVIDE_FMOD ? r : q;
  const bool apart = r != 0 && (r < 0) != (y < 0);
  return which == DIVIDE_FLOOR ? (T)(q - apart) : (T)(apart ? r + y : r);
}

template <Division which, class T> void division_loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  const char *x = args[0], *y = args[1];
  char *to = args[2];
  for (intptr_t i = 0; i < *n; i++, x += steps[0], y += steps[1], to += steps[2])
    *reinterpret_cast<T *>(to) = divided<which>(*reinterpret_cast<const T *>(x), *reinterpret_cast<const T *>(y));
}

}  // namespace weft
#endif
