// integer.cpp: elementwise loops over integers and bools, and `where`. Arithmetic wraps (-fwrapv); shifts by more than the
// width give what an infinite register would. Division is not here: it can fail.
#include "vectors.h"

namespace {

template <class T> struct Item {
  static inline T load(const char *p) {
    T x;
    memcpy(&x, p, sizeof x);
    return x;
  }
};

// One loop for all strides; the compiler makes vectors of the branches where the steps are constants.
template <class In, class Out, class Op> void unary(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  const intptr_t n = *count;  // stores of bytes may alias it
  const char *a = args[0];
  char *o = args[1];
  if (steps[0] == sizeof(In) && steps[1] == sizeof(Out)) {
    const In *x = (const In *)a;
    Out *y = (Out *)o;
#pragma GCC ivdep
    for (intptr_t i = 0; i < n; i++) y[i] = Op::call(x[i]);
    return;
  }
  for (intptr_t i = 0; i < n; i++) {
    const Out y = Op::call(Item<In>::load(a + i * steps[0]));
    memcpy(o + i * steps[1], &y, sizeof y);
  }
}

template <class In, class Out, class Op> void binary(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  const intptr_t n = *count;  // stores of bytes may alias it
  const char *a = args[0], *b = args[1];
  char *o = args[2];
  const intptr_t item = sizeof(In);
  if (steps[2] == sizeof(Out) && (steps[0] == item || steps[0] == 0) && (steps[1] == item || steps[1] == 0) && n > 0) {
    const In *x = (const In *)a, *y = (const In *)b;
    Out *z = (Out *)o;
    if (steps[0] && steps[1]) {
#pragma GCC ivdep
      for (intptr_t i = 0; i < n; i++) z[i] = Op::call(x[i], y[i]);
    } else if (steps[0]) {
      const In c = *y;
#pragma GCC ivdep
      for (intptr_t i = 0; i < n; i++) z[i] = Op::call(x[i], c);
    } else {
      const In c = *x;
#pragma GCC ivdep
      for (intptr_t i = 0; i < n; i++) z[i] = Op::call(c, steps[1] ? y[i] : *y);
    }
    return;
  }
  for (intptr_t i = 0; i < n; i++) {
    const Out z = Op::call(Item<In>::load(a + i * steps[0]), Item<In>::load(b + i * steps[1]));
    memcpy(o + i * steps[2], &z, sizeof z);
  }
}

// data moves whole items, so one loop a size serves every dtype.
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

template <class T> void clamp(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  const intptr_t n = *count;  // stores of bytes may alias it
  const T low = Item<T>::load(args[1]), high = Item<T>::load(args[2]);
  if (steps[0] == sizeof(T) && steps[3] == sizeof(T)) {
    const T *in = (const T *)args[0];
    T *out = (T *)args[3];
#pragma GCC ivdep
    for (intptr_t i = 0; i < n; i++) {
      const T x = in[i] < low ? low : in[i];
      out[i] = x > high ? high : x;
    }
    return;
  }
  for (intptr_t i = 0; i < n; i++) {
    T x = Item<T>::load(args[0] + i * steps[0]);
    x = x < low ? low : x;
    x = x > high ? high : x;
    memcpy(args[3] + i * steps[3], &x, sizeof x);
  }
}

#define OP1(Name, expression)                                         \
  struct Name {                                                       \
    template <class T> static inline auto call(T x) { return expression; } \
  };
#define OP2(Name, expression)                                              \
  struct Name {                                                            \
    template <class T> static inline auto call(T x, T y) { return expression; } \
  };
template <class T> inline T shift_left(T x, T y) {
  const bool over = (uint64_t)(int64_t)y >= sizeof(T) * 8;
  return over ? T(0) : T((uint64_t)x << (over ? T(0) : y));
}
template <class T> inline T shift_right(T x, T y) {
  const int width = sizeof(T) * 8;
  const bool over = (uint64_t)(int64_t)y >= (uint64_t)width;
  return T(x >> (over ? width - 1 : (int)y)) & (over && T(-1) > T(0) ? T(0) : T(-1));
}
OP1(Neg, T(-x))
OP1(Abs, T(x < 0 ? -x : x))
OP1(Sign, T((x > 0) - (x < 0)))
OP1(Relu, T(x < 0 ? 0 : x))
OP1(Not, T(~x))
OP1(Identity, x)
OP1(BoolNot, (uint8_t)(x == 0))
OP1(LogicalNot, (uint8_t)(x == 0))
OP1(False_, (uint8_t)0)
OP1(True_, (uint8_t)1)
OP1(Negative, (uint8_t)(x < 0))
OP2(Add, T(x + y))
OP2(Sub, T(x - y))
OP2(Mul, T(x *y))
OP2(Max, x > y ? x : y)
OP2(Min, x < y ? x : y)
OP2(And, T(x &y))
OP2(Or, T(x | y))
OP2(Xor, T(x ^ y))
OP2(Shl, shift_left(x, y))
OP2(Shr, shift_right(x, y))
OP2(Eq, (uint8_t)(x == y))
OP2(Ne, (uint8_t)(x != y))
OP2(Lt, (uint8_t)(x < y))
OP2(Le, (uint8_t)(x <= y))
OP2(Gt, (uint8_t)(x > y))
OP2(Ge, (uint8_t)(x >= y))
OP2(LogicalAnd, (uint8_t)((x != 0) & (y != 0)))
OP2(LogicalOr, (uint8_t)((x != 0) | (y != 0)))
OP2(LogicalXor, (uint8_t)((x != 0) ^ (y != 0)))

template <class T> void fill_compare(WeftKernels *k, int dtype) {
#define TRUTH(code, Name) k->binary[code][dtype] = binary<T, uint8_t, Name>;
  TRUTH(WEFT_EQ, Eq) TRUTH(WEFT_NE, Ne) TRUTH(WEFT_LT, Lt) TRUTH(WEFT_LE, Le) TRUTH(WEFT_GT, Gt) TRUTH(WEFT_GE, Ge)
  TRUTH(WEFT_LOGICAL_AND, LogicalAnd) TRUTH(WEFT_LOGICAL_OR, LogicalOr) TRUTH(WEFT_LOGICAL_XOR, LogicalXor)
#undef TRUTH
#define VALUE(code, Name) k->binary[code][dtype] = binary<T, T, Name>;
  VALUE(WEFT_MAXIMUM, Max) VALUE(WEFT_MINIMUM, Min) VALUE(WEFT_FMAX, Max) VALUE(WEFT_FMIN, Min) VALUE(WEFT_BITWISE_AND, And)
  VALUE(WEFT_BITWISE_OR, Or) VALUE(WEFT_BITWISE_XOR, Xor)
  k->unary[WEFT_LOGICAL_NOT][dtype] = unary<T, uint8_t, LogicalNot>;
  k->unary[WEFT_ISNAN][dtype] = k->unary[WEFT_ISINF][dtype] = unary<T, uint8_t, False_>;
  k->unary[WEFT_ISFINITE][dtype] = unary<T, uint8_t, True_>;
  k->unary[WEFT_SIGNBIT][dtype] = unary<T, uint8_t, Negative>;
  k->ternary[WEFT_CLAMP][dtype] = clamp<T>;
}

template <class T> void fill(WeftKernels *k, int dtype) {
  fill_compare<T>(k, dtype);
  VALUE(WEFT_ADD, Add) VALUE(WEFT_SUB, Sub) VALUE(WEFT_MUL, Mul) VALUE(WEFT_LEFT_SHIFT, Shl) VALUE(WEFT_RIGHT_SHIFT, Shr)
#undef VALUE
#define VALUE(code, Name) k->unary[code][dtype] = unary<T, T, Name>;
  VALUE(WEFT_NEG, Neg) VALUE(WEFT_ABS, Abs) VALUE(WEFT_SIGN, Sign) VALUE(WEFT_RELU, Relu) VALUE(WEFT_BITWISE_NOT, Not)
  VALUE(WEFT_FLOOR, Identity) VALUE(WEFT_CEIL, Identity) VALUE(WEFT_ROUND, Identity) VALUE(WEFT_TRUNC, Identity)
#undef VALUE
}

}  // namespace

void WEFT_FILL(integer)(WeftKernels *k) {
  fill<uint8_t>(k, WEFT_UINT8);
  fill<int8_t>(k, WEFT_INT8);
  fill<int16_t>(k, WEFT_INT16);
  fill<int32_t>(k, WEFT_INT32);
  fill<int64_t>(k, WEFT_INT64);
  fill<uint16_t>(k, WEFT_UINT16);
  fill<uint32_t>(k, WEFT_UINT32);
  fill<uint64_t>(k, WEFT_UINT64);
  fill_compare<uint8_t>(k, WEFT_BOOL);
  k->binary[WEFT_ADD][WEFT_BOOL] = binary<uint8_t, uint8_t, Or>;
  k->binary[WEFT_MUL][WEFT_BOOL] = binary<uint8_t, uint8_t, And>;
  k->unary[WEFT_BITWISE_NOT][WEFT_BOOL] = unary<uint8_t, uint8_t, BoolNot>;
  for (int d = 0; d < WEFT_NUM_DTYPES; d++) switch (weft_itemsize(d)) {
      case 1: k->ternary[WEFT_WHERE][d] = where<uint8_t>; break;
      case 2: k->ternary[WEFT_WHERE][d] = where<uint16_t>; break;
      case 4: k->ternary[WEFT_WHERE][d] = where<uint32_t>; break;
      case 8: k->ternary[WEFT_WHERE][d] = where<uint64_t>; break;
    }
}
