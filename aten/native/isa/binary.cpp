// binary.cpp: elementwise functions of two floating arguments, where, clamp.
#include "vectors.h"

namespace {

#define OP(Name, expression)                                                 \
  struct Name {                                                              \
    template <class V> static inline auto call(V x, V y) { return expression; } \
  };

template <class V> inline V fmax_of(V x, V y) { return y != y ? x : x != x ? y : x > y ? x : y; }
template <class V> inline V fmin_of(V x, V y) { return y != y ? x : x != x ? y : x < y ? x : y; }

// The sign of the divisor, as Python's %.
template <class V> inline V remainder_of(V x, V y) {
  const V r = vm_fmod(x, y);
  return (r != 0) & ((r < 0) != (y < 0)) ? r + y : r;
}
// floor(x / y) without the double rounding of the quotient; x / 0 is the infinity or NaN of the division.
template <class V> inline V floor_divide_of(V x, V y) {
  const V r = vm_fmod(x, y);
  V q = (x - r) / y;
  q = (r != 0) & ((r < 0) != (y < 0)) ? q - 1 : q;
  V f = vm_floor(q);
  f = q - f > 0.5 ? f + 1 : f;
  f = q == 0 ? vm_copysign(V{}, x / y) : f;
  return y == 0 ? x / y : f;
}

OP(Add, x + y)
OP(Sub, x - y)
OP(Mul, x *y)
OP(Div, x / y)
OP(Pow, vm_pow(x, y))
OP(Maximum, vm_max(x, y))
OP(Minimum, vm_min(x, y))
OP(Fmax, fmax_of(x, y))
OP(Fmin, fmin_of(x, y))
OP(Atan2, vm_atan2(x, y))
OP(Fmod, vm_fmod(x, y))
OP(Remainder, remainder_of(x, y))
OP(FloorDivide, floor_divide_of(x, y))
OP(Copysign, vm_copysign(x, y))
OP(Hypot, vm_hypot(x, y))
OP(Nextafter, vm_nextafter(x, y))
OP(Eq, x == y)
OP(Ne, x != y)
OP(Lt, x < y)
OP(Le, x <= y)
OP(Gt, x > y)
OP(Ge, x >= y)
OP(LogicalAnd, (x != 0) & (y != 0))
OP(LogicalOr, (x != 0) | (y != 0))
OP(LogicalXor, (x != 0) ^ (y != 0))
OP(Square, x *x)
OP(Cube, x *x *x)
OP(Root, vm_sqrt(x))
OP(Inverse, 1 / x)
OP(InverseSquare, 1 / (x * x))
OP(InverseRoot, 1 / vm_sqrt(x))
OP(First, x)
OP(One, V{} + 1)

// Exponents that everybody uses are exact products and roots; compiled code tells the same ones (inductor/ir/fold.py).
template <class D> void pow_loop(char **args, const intptr_t *n, const intptr_t *steps, void *data) {
  if (steps[1] == 0 && *n > 0) {
    const double y = (double)splat<D>(args[1])[0];
    if (y == 2) return binary_loop<D, Values<D>, Square>(args, n, steps, data);
    if (y == 3) return binary_loop<D, Values<D>, Cube>(args, n, steps, data);
    if (y == 0.5) return binary_loop<D, Values<D>, Root>(args, n, steps, data);
    if (y == -1) return binary_loop<D, Values<D>, Inverse>(args, n, steps, data);
    if (y == -2) return binary_loop<D, Values<D>, InverseSquare>(args, n, steps, data);
    if (y == -0.5) return binary_loop<D, Values<D>, InverseRoot>(args, n, steps, data);
    if (y == 1) return binary_loop<D, Values<D>, First>(args, n, steps, data);
    if (y == 0) return binary_loop<D, Values<D>, One>(args, n, steps, data);
  }
  binary_loop<D, Values<D>, Pow>(args, n, steps, data);
}

template <class D> void clamp_loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  const auto low = splat<D>(args[1]), high = splat<D>(args[2]);
  const Strided<D> in(args[0], steps[0]);
  const Contiguous<D> dense(args[0], 0);
  constexpr intptr_t item = sizeof(typename D::Stored);
  for (int64_t i = 0; i < *n; i += D::kLanes) {
    const int64_t m = *n - i < D::kLanes ? *n - i : D::kLanes;
    auto x = steps[0] != item ? in.part(i, m) : m == D::kLanes ? dense.full(i) : dense.part(i, m);
    x = x < low ? low : x;  // comparisons with NaN are false: it stays
    x = x > high ? high : x;
    x = (low != low) | (high != high) ? low + high : x;
    if (m == D::kLanes && steps[3] == item) D::store(args[3] + i * item, x);
    else Values<D>::part(args[3] + i * steps[3], steps[3], x, m);
  }
}

template <class D> void fill(WeftKernels *k, int dtype) {
#define VALUE(code, Name) k->binary[code][dtype] = binary_loop<D, Values<D>, Name>;
#define TRUTH(code, Name) k->binary[code][dtype] = binary_loop<D, Truths<D>, Name>;
  VALUE(WEFT_ADD, Add) VALUE(WEFT_SUB, Sub) VALUE(WEFT_MUL, Mul) VALUE(WEFT_DIV, Div) VALUE(WEFT_MAXIMUM, Maximum)
  VALUE(WEFT_MINIMUM, Minimum) VALUE(WEFT_FMAX, Fmax) VALUE(WEFT_FMIN, Fmin) VALUE(WEFT_ATAN2, Atan2) VALUE(WEFT_FMOD, Fmod)
  VALUE(WEFT_REMAINDER, Remainder) VALUE(WEFT_FLOOR_DIVIDE, FloorDivide) VALUE(WEFT_COPYSIGN, Copysign)
  VALUE(WEFT_HYPOT, Hypot)
  TRUTH(WEFT_EQ, Eq) TRUTH(WEFT_NE, Ne) TRUTH(WEFT_LT, Lt) TRUTH(WEFT_LE, Le) TRUTH(WEFT_GT, Gt) TRUTH(WEFT_GE, Ge)
  TRUTH(WEFT_LOGICAL_AND, LogicalAnd) TRUTH(WEFT_LOGICAL_OR, LogicalOr) TRUTH(WEFT_LOGICAL_XOR, LogicalXor)
#undef VALUE
#undef TRUTH
  k->binary[WEFT_POW][dtype] = pow_loop<D>;
  k->ternary[WEFT_CLAMP][dtype] = clamp_loop<D>;
}

}  // namespace

void WEFT_FILL(binary)(WeftKernels *k) {
  fill<F32>(k, WEFT_FLOAT32);
  fill<F64>(k, WEFT_FLOAT64);
  fill<F16>(k, WEFT_FLOAT16);
  fill<BF16>(k, WEFT_BFLOAT16);
  k->binary[WEFT_NEXTAFTER][WEFT_FLOAT32] = binary_loop<F32, Values<F32>, Nextafter>;
  k->binary[WEFT_NEXTAFTER][WEFT_FLOAT64] = binary_loop<F64, Values<F64>, Nextafter>;
}
