// half.h: float16 and bfloat16 bits to float32 and back, rounding to nearest even, for any processor.
#ifndef WEFT_HALF_H
#define WEFT_HALF_H

#include <stdint.h>
#include <string.h>

namespace weft {

inline float bits_to_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

inline uint32_t float_to_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return bits;
}

inline float bfloat16_to_float(uint16_t h) { return bits_to_float((uint32_t)h << 16); }

inline uint16_t float_to_bfloat16(float f) {
  uint32_t bits = float_to_bits(f);
  if (f != f) return (uint16_t)((bits >> 16 & 0x8000) | 0x7fc0);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float float16_to_float(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00) return bits_to_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);       // inf, nan
  if (rest >= 0x400) return bits_to_float(sign | ((rest << 13) + ((127 - 15) << 23)));      // normal
  float magnitude = (float)rest * bits_to_float((127 - 24) << 23);                          // subnormal: rest * 2^-24
  return bits_to_float(sign | float_to_bits(magnitude));
}

inline uint16_t float_to_float16(float f) {
  uint32_t bits = float_to_bits(f), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (bits >= 0x477ff000) return (uint16_t)(sign | 0x7c00);  // rounds to 65536 or more: inf
  if (bits < 0x38800000) {                                   // below 2^-14: subnormal; adding 0.5 rounds at 2^-24
    float shifted = bits_to_float(bits) + 0.5f;
    return (uint16_t)(sign | (float_to_bits(shifted) - 0x3f000000));
  }
  uint32_t rounded = bits - ((127 - 15) << 23) + 0xfff + (bits >> 13 & 1);
  return (uint16_t)(sign | rounded >> 13);
}

// Item types whose arithmetic is float32's, so that templates can treat them as numbers.
struct Half {
  uint16_t bits;
  Half() = default;
  Half(float f) : bits(float_to_float16(f)) {}
  operator float() const { return float16_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  BFloat16(float f) : bits(float_to_bfloat16(f)) {}
  operator float() const { return bfloat16_to_float(bits); }
};

}  // namespace weft
#endif
