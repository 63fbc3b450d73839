// unary.cpp: elementwise functions of one floating argument.
#include "vectors.h"

namespace {

#define OP(Name, expression)                                      \
  struct Name {                                                   \
    template <class V> static inline auto call(V x) { return expression; } \
  };

// In float lanes of half types the result is rounded once, on the store.
template <class V> inline V erf_of(V x) { return vm_erf(x); }
template <class V> inline V gelu(V x) { return 0.5 * x * (1.0 + vm_erf(x * 0.70710678118654752440)); }
inline f32x16 gelu(f32x16 x) { return 0.5f * x * (1.0f + vm_erf(x * 0.70710678118654752440f)); }
inline f32x8 gelu(f32x8 x) { return 0.5f * x * (1.0f + vm_erf(x * 0.70710678118654752440f)); }
template <class V, class S> inline V gelu_tanh(V x, S half, S root, S cube) {
  return half * x * (1 + vm_tanh(root * (x + cube * x * x * x)));
}
inline f32x16 gelu_tanh(f32x16 x) { return gelu_tanh(x, 0.5f, 0.79788456080286535588f, 0.044715f); }
inline f32x8 gelu_tanh(f32x8 x) { return gelu_tanh(x, 0.5f, 0.79788456080286535588f, 0.044715f); }
inline f64x8 gelu_tanh(f64x8 x) { return gelu_tanh(x, 0.5, 0.79788456080286535588, 0.044715); }
inline f64x4 gelu_tanh(f64x4 x) { return gelu_tanh(x, 0.5, 0.79788456080286535588, 0.044715); }
template <class V> inline V sign(V x) { return x > 0 ? V{} + 1 : x < 0 ? V{} - 1 : V{}; }  // 0 for NaN, as PyTorch
template <class V> inline V frac(V x) { return x - vm_trunc(x); }
template <class V> inline V exp2_of(V x) { return vm_exp2(x); }

OP(Neg, -x)
OP(Abs, vm_abs(x))
OP(Sign, sign(x))
OP(Reciprocal, 1 / x)
OP(Sqrt, vm_sqrt(x))
OP(Rsqrt, 1 / vm_sqrt(x))
OP(Exp, vm_exp(x))
OP(Exp2, exp2_of(x))
OP(Expm1, vm_expm1(x))
OP(Log, vm_log(x))
OP(Log2, vm_log2(x))
OP(Log10, vm_log10(x))
OP(Log1p, vm_log1p(x))
OP(Sin, vm_sin(x))
OP(Cos, vm_cos(x))
OP(Tan, vm_tan(x))
OP(Asin, vm_asin(x))
OP(Acos, vm_acos(x))
OP(Atan, vm_atan(x))
OP(Sinh, vm_sinh(x))
OP(Cosh, vm_cosh(x))
OP(Tanh, vm_tanh(x))
OP(Asinh, vm_asinh(x))
OP(Acosh, vm_acosh(x))
OP(Atanh, vm_atanh(x))
OP(Erf, erf_of(x))
OP(Erfc, vm_erfc(x))
OP(Erfinv, vm_erfinv(x))
OP(Lgamma, vm_lgamma(x))
OP(Digamma, vm_digamma(x))
OP(Sigmoid, vm_sigmoid(x))
OP(Floor, vm_floor(x))
OP(Ceil, vm_ceil(x))
OP(Round, vm_round(x))
OP(Trunc, vm_trunc(x))
OP(Frac, frac(x))
OP(Relu, x < 0 ? V{} : x)
OP(Silu, x * vm_sigmoid(x))
OP(Gelu, gelu(x))
OP(GeluTanh, gelu_tanh(x))
OP(LogicalNot, x == 0)
OP(Isnan, x != x)
OP(Isinf, vm_abs(x) == __builtin_inff())
OP(Isfinite, vm_abs(x) < __builtin_inff())
OP(Signbit, (vm_mask<V>)x < 0)

template <class D> void fill(WeftKernels *k, int dtype) {
#define VALUE(code, Name) k->unary[code][dtype] = unary_loop<D, Values<D>, Name>;
#define TRUTH(code, Name) k->unary[code][dtype] = unary_loop<D, Truths<D>, Name>;
  VALUE(WEFT_NEG, Neg) VALUE(WEFT_ABS, Abs) VALUE(WEFT_SIGN, Sign) VALUE(WEFT_RECIPROCAL, Reciprocal) VALUE(WEFT_SQRT, Sqrt)
  VALUE(WEFT_RSQRT, Rsqrt) VALUE(WEFT_EXP, Exp) VALUE(WEFT_EXP2, Exp2) VALUE(WEFT_EXPM1, Expm1) VALUE(WEFT_LOG, Log)
  VALUE(WEFT_LOG2, Log2) VALUE(WEFT_LOG10, Log10) VALUE(WEFT_LOG1P, Log1p) VALUE(WEFT_SIN, Sin) VALUE(WEFT_COS, Cos)
  VALUE(WEFT_TAN, Tan) VALUE(WEFT_ASIN, Asin) VALUE(WEFT_ACOS, Acos) VALUE(WEFT_ATAN, Atan) VALUE(WEFT_SINH, Sinh)
  VALUE(WEFT_COSH, Cosh) VALUE(WEFT_TANH, Tanh) VALUE(WEFT_ASINH, Asinh) VALUE(WEFT_ACOSH, Acosh) VALUE(WEFT_ATANH, Atanh)
  VALUE(WEFT_ERF, Erf) VALUE(WEFT_ERFC, Erfc) VALUE(WEFT_ERFINV, Erfinv) VALUE(WEFT_LGAMMA, Lgamma) VALUE(WEFT_DIGAMMA, Digamma)
  VALUE(WEFT_SIGMOID, Sigmoid) VALUE(WEFT_FLOOR, Floor) VALUE(WEFT_CEIL, Ceil) VALUE(WEFT_ROUND, Round) VALUE(WEFT_TRUNC, Trunc)
  VALUE(WEFT_FRAC, Frac) VALUE(WEFT_RELU, Relu) VALUE(WEFT_SILU, Silu) VALUE(WEFT_GELU, Gelu) VALUE(WEFT_GELU_TANH, GeluTanh)
  TRUTH(WEFT_LOGICAL_NOT, LogicalNot) TRUTH(WEFT_ISNAN, Isnan) TRUTH(WEFT_ISINF, Isinf) TRUTH(WEFT_ISFINITE, Isfinite)
  TRUTH(WEFT_SIGNBIT, Signbit)
#undef VALUE
#undef TRUTH
}

}  // namespace

void WEFT_FILL(unary)(WeftKernels *k) {
  fill<F32>(k, WEFT_FLOAT32);
  fill<F64>(k, WEFT_FLOAT64);
  fill<F16>(k, WEFT_FLOAT16);
  fill<BF16>(k, WEFT_BFLOAT16);
}
