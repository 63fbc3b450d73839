// power.cpp: powers of floats.
#include "pointwise.h"

namespace {

#define OP(Name, expression)                                                 \
  struct Name {                                                              \
    template <class V> static inline auto call(V x, V y) { return expression; } \
  };
OP(Pow, vm_pow(x, y))
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
    if (y == 2) return pointwise_loop<D, Values<D>, Square, 2>(args, n, steps, data);
    if (y == 3) return pointwise_loop<D, Values<D>, Cube, 2>(args, n, steps, data);
    if (y == 0.5) return pointwise_loop<D, Values<D>, Root, 2>(args, n, steps, data);
    if (y == -1) return pointwise_loop<D, Values<D>, Inverse, 2>(args, n, steps, data);
    if (y == -2) return pointwise_loop<D, Values<D>, InverseSquare, 2>(args, n, steps, data);
    if (y == -0.5) return pointwise_loop<D, Values<D>, InverseRoot, 2>(args, n, steps, data);
    if (y == 1) return pointwise_loop<D, Values<D>, First, 2>(args, n, steps, data);
    if (y == 0) return pointwise_loop<D, Values<D>, One, 2>(args, n, steps, data);
  }
  pointwise_loop<D, Values<D>, Pow, 2>(args, n, steps, data);
}

}  // namespace

void WEFT_FILL(power)(WeftKernels *k) {
  k->pointwise[WEFT_POW][WEFT_FLOAT32] = pow_loop<F32>;
  k->pointwise[WEFT_POW][WEFT_FLOAT64] = pow_loop<F64>;
  k->pointwise[WEFT_POW][WEFT_FLOAT16] = pow_loop<F16>;
  k->pointwise[WEFT_POW][WEFT_BFLOAT16] = pow_loop<BF16>;
}
