// float8.h: floats of eight bits, as numbers: one at a time (NumPy's kernels have the loops).
#ifndef WEFT_FLOAT8_H
#define WEFT_FLOAT8_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "weft.h"

namespace weft {

struct Float8Format {
  int mantissa, bias;
  bool infinities;  // IEEE's; else the codes of the greatest exponent are numbers, but for one NaN
  bool one_nan;     // 0x80, so that there is no -0
};

inline Float8Format float8_format(int dtype) {
  switch (dtype) {
    case WEFT_FLOAT8_E4M3FN: return {3, 7, false, false};
    case WEFT_FLOAT8_E5M2: return {2, 15, true, false};
    case WEFT_FLOAT8_E4M3FNUZ: return {3, 8, false, true};
    default: return {2, 16, false, true};
  }
}

// float8_e8m0fnu: powers of two, 2^-127 and up; without a sign, the greatest code is NaN.
inline uint8_t double_to_power(double x) {
  const float f = (float)fabs(x);
  uint32_t bits;
  memcpy(&bits, &f, 4);
  const uint32_t exponent = bits >> 23;
  if (exponent == 255) return 255;
  // The nearest, ties up; below the least normal number the half of it is still the least power.
  const bool half = bits & 0x400000, more = bits & 0x3fffff;
  return (uint8_t)(exponent + (half && (more || exponent)));
}

inline double float8_to_double(uint8_t code, int dtype) {
  if (dtype == WEFT_FLOAT8_E8M0FNU) return code == 255 ? NAN : ldexp(1, code - 127);
  Float8Format f = float8_format(dtype);
  if (f.one_nan && code == 0x80) return NAN;
  int magnitude = code & 0x7f, exponent = magnitude >> f.mantissa, fraction = magnitude & ((1 << f.mantissa) - 1);
  if (!f.one_nan && !f.infinities && magnitude == 0x7f) return NAN;
  double sign = code & 0x80 ? -1 : 1;
  if (f.infinities && exponent == (0x7f >> f.mantissa)) return fraction ? NAN : sign * INFINITY;
  double value = exponent ? ldexp((1 << f.mantissa) + fraction, exponent - f.bias - f.mantissa) : ldexp(fraction, 1 - f.bias - f.mantissa);
  return sign * value;
}

// The nearest, ties to even; what is too great is infinite, the greatest number where there are no infinities but -0, else NaN.
inline uint8_t double_to_float8(double x, int dtype) {
  if (dtype == WEFT_FLOAT8_E8M0FNU) return double_to_power(x);
  Float8Format f = float8_format(dtype);
  uint8_t sign = signbit(x) ? 0x80 : 0;
  uint8_t nan = f.one_nan ? 0x80 : 0x7f, over = f.infinities ? 0x7c : 0x7e;
  if (isnan(x)) return f.one_nan ? nan : (uint8_t)(sign | nan);
  int last = f.infinities ? 0x7b : f.one_nan ? 0x7f : 0x7e;
  double a = fabs(x);
  int low = 0, high = last;
  while (low < high) {  // the greatest code of a number that is not above a
    int middle = (low + high + 1) / 2;
    if (float8_to_double((uint8_t)middle, dtype) <= a) low = middle;
    else high = middle - 1;
  }
  double below = float8_to_double((uint8_t)low, dtype);
  double step = low == last ? below - float8_to_double((uint8_t)(low - 1), dtype) : float8_to_double((uint8_t)(low + 1), dtype) - below;
  int code = low;
  if (a - below > step / 2 || (a - below == step / 2 && (low & 1))) code++;
  if (isinf(x) || code > last) return f.one_nan ? nan : (uint8_t)(sign | over);
  return f.one_nan && code == 0 ? 0 : (uint8_t)(sign | code);
}

}  // namespace weft
#endif
