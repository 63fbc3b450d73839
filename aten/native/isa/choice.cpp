// choice.cpp: `where`, which moves whole items, so that one loop a size serves every dtype.
#include "vectors.h"

namespace {

template <class T> void where(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  const intptr_t n = *count;  // stores of bytes may alias it
  const char *c = args[0], *a = args[1], *b = args[2];
  char *o = args[3];
  const intptr_t item = sizeof(T);
  if (steps[0] == 1 && steps[3] == item && (steps[1] == item || !steps[1]) && (steps[2] == item || !steps[2])) {
    const T *x = (const T *)a, *y = (const T *)b;
    T *z = (T *)o;
    if (steps[1] && steps[2]) {
#pragma GCC ivdep
      for (intptr_t i = 0; i < n; i++) z[i] = c[i] ? x[i] : y[i];
    } else if (n > 0) {
      const T x0 = *x, y0 = *y;
      if (steps[1]) {
#pragma GCC ivdep
        for (intptr_t i = 0; i < n; i++) z[i] = c[i] ? x[i] : y0;
      } else if (steps[2]) {
#pragma GCC ivdep
        for (intptr_t i = 0; i < n; i++) z[i] = c[i] ? x0 : y[i];
      } else {
#pragma GCC ivdep
        for (intptr_t i = 0; i < n; i++) z[i] = c[i] ? x0 : y0;
      }
    }
    return;
  }
  for (intptr_t i = 0; i < n; i++) memcpy(o + i * steps[3], c[i * steps[0]] ? a + i * steps[1] : b + i * steps[2], sizeof(T));
}

}  // namespace

void WEFT_FILL(choice)(WeftKernels *k) {
  for (int d = 0; d < WEFT_NUM_DTYPES; d++) switch (weft_itemsize(d)) {
      case 1: k->where[d] = where<uint8_t>; break;
      case 2: k->where[d] = where<uint16_t>; break;
      case 4: k->where[d] = where<uint32_t>; break;
      case 8: k->where[d] = where<uint64_t>; break;
    }
}
