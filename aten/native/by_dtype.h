// by_dtype.h: from a dtype's code to its C++ type: the list of real numbers that plain C++ computes with, once.
#ifndef WEFT_BY_DTYPE_H
#define WEFT_BY_DTYPE_H

#include <stdint.h>

#include "half.h"
#include "weft.h"

namespace weft {

template <class T> struct Type {
  typedef T type;
};

// f(Type<T>()) for the type of `dtype`: integers, float32 and float64, bools as bytes; what f gives, or `otherwise` for other dtypes.
template <class R, class F> R by_dtype(int dtype, R otherwise, F f) {
  switch (dtype) {
    case WEFT_BOOL: return f(Type<bool>());
    case WEFT_UINT8: return f(Type<uint8_t>());
    case WEFT_INT8: return f(Type<int8_t>());
    case WEFT_INT16: return f(Type<int16_t>());
    case WEFT_INT32: return f(Type<int32_t>());
    case WEFT_INT64: return f(Type<int64_t>());
    case WEFT_UINT16: return f(Type<uint16_t>());
    case WEFT_UINT32: return f(Type<uint32_t>());
    case WEFT_UINT64: return f(Type<uint64_t>());
    case WEFT_FLOAT32: return f(Type<float>());
    case WEFT_FLOAT64: return f(Type<double>());
    default: return otherwise;
  }
}

// The same, of halves too, as Half and BFloat16.
template <class R, class F> R by_real(int dtype, R otherwise, F f) {
  if (dtype == WEFT_FLOAT16) return f(Type<Half>());
  if (dtype == WEFT_BFLOAT16) return f(Type<BFloat16>());
  return by_dtype(dtype, otherwise, f);
}

struct Sixteen {  // bytes, aligned as eight are
  uint64_t low, high;
};

// f(Type<T>()) for an unsigned integer of `size` bytes: of what only moves.
template <class R, class F> R by_size(int size, R otherwise, F f) {
  switch (size) {
    case 1: return f(Type<uint8_t>());
    case 2: return f(Type<uint16_t>());
    case 4: return f(Type<uint32_t>());
    case 8: return f(Type<uint64_t>());
    case 16: return f(Type<Sixteen>());
    default: return otherwise;
  }
}

}  // namespace weft
#endif
