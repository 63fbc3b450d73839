// vecmath.h: the one definition of vector arithmetic that is not an operator of C++.
//
// Header-free: GCC vector types and builtins only. The eager kernels include this file; generated kernels paste the
// sections they use. A section starts with `//@ name: sections it needs` and ends at the next one. All functions are
// templates or overloads over vector types (never scalars), so that a value gives the same result at every position.
// Accuracy figures are the largest error in ulp over all finite float32 patterns of the stated range, measured by
// tests/aten/native/test_vecmath.py. NaN, infinities, zeros of either sign and denormals follow C99 Annex F.

//@ base:
#ifndef WEFT_INLINE
#define WEFT_INLINE static inline __attribute__((always_inline))
#endif
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef double f64x2 __attribute__((vector_size(16)));
template <class F> using vm_mask = decltype(F{} < F{});  // signed integers of the lane's width: 0 or -1

// x*y + z rounded once. Overloads by width, since a loop of __builtin_fmaf is not always turned into one instruction.
template <class F> WEFT_INLINE F vm_fma(F x, F y, F z) {
  F r = z;
  for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++) r[i] = __builtin_fma(x[i], y[i], z[i]);
  return r;
}
#ifdef __FMA__
WEFT_INLINE f32x8 vm_fma(f32x8 x, f32x8 y, f32x8 z) { return __builtin_ia32_vfmaddps256(x, y, z); }
WEFT_INLINE f64x4 vm_fma(f64x4 x, f64x4 y, f64x4 z) { return __builtin_ia32_vfmaddpd256(x, y, z); }
WEFT_INLINE f32x4 vm_fma(f32x4 x, f32x4 y, f32x4 z) { return __builtin_ia32_vfmaddps(x, y, z); }
WEFT_INLINE f64x2 vm_fma(f64x2 x, f64x2 y, f64x2 z) { return __builtin_ia32_vfmaddpd(x, y, z); }
#endif
#ifdef __AVX512F__
WEFT_INLINE f32x16 vm_fma(f32x16 x, f32x16 y, f32x16 z) { return __builtin_ia32_vfmaddps512_mask(x, y, z, -1, 4); }
WEFT_INLINE f64x8 vm_fma(f64x8 x, f64x8 y, f64x8 z) { return __builtin_ia32_vfmaddpd512_mask(x, y, z, -1, 4); }
#endif
template <class F> WEFT_INLINE F vm_abs(F x) {
  typedef vm_mask<F> I;
  return (F)((I)x & ~(I)(-(F{})));  // clears the sign bit: -0.0 is the sign bit alone
}
template <class F> WEFT_INLINE F vm_copysign(F x, F s) {
  typedef vm_mask<F> I;
  const I sign = (I)(-(F{}));
  return (F)(((I)x & ~sign) | ((I)s & sign));
}

//@ sqrt: base
template <class F> WEFT_INLINE F vm_sqrt(F x) {
  F r = x;
  for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++) r[i] = __builtin_sqrt(x[i]);
  return r;
}
#ifdef __AVX__
WEFT_INLINE f32x8 vm_sqrt(f32x8 x) { return __builtin_ia32_sqrtps256(x); }
WEFT_INLINE f64x4 vm_sqrt(f64x4 x) { return __builtin_ia32_sqrtpd256(x); }
#endif
#ifdef __AVX512F__
WEFT_INLINE f32x16 vm_sqrt(f32x16 x) { return __builtin_ia32_sqrtps512_mask(x, x, -1, 4); }
WEFT_INLINE f64x8 vm_sqrt(f64x8 x) { return __builtin_ia32_sqrtpd512_mask(x, x, -1, 4); }
#endif

//@ rounding: base
// The immediate of roundps: 8 (nearest even), 9 (floor), 10 (ceil), 11 (trunc), all without the inexact exception.
template <int mode, class F> WEFT_INLINE F vm_round_mode(F x) {
  F r = x;
  for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++)
    r[i] = mode == 8 ? __builtin_rint(x[i])
                     : mode == 9 ? __builtin_floor(x[i]) : mode == 10 ? __builtin_ceil(x[i]) : __builtin_trunc(x[i]);
  return r;
}
#ifdef __AVX__
template <int mode> WEFT_INLINE f32x8 vm_round_mode(f32x8 x) { return __builtin_ia32_roundps256(x, mode); }
template <int mode> WEFT_INLINE f64x4 vm_round_mode(f64x4 x) { return __builtin_ia32_roundpd256(x, mode); }
#endif
#ifdef __AVX512F__
template <int mode> WEFT_INLINE f32x16 vm_round_mode(f32x16 x) {
  return __builtin_ia32_rndscaleps_mask(x, mode, x, -1, 4);
}
template <int mode> WEFT_INLINE f64x8 vm_round_mode(f64x8 x) { return __builtin_ia32_rndscalepd_mask(x, mode, x, -1, 4); }
#endif
template <class F> WEFT_INLINE F vm_round(F x) { return vm_round_mode<8>(x); }
template <class F> WEFT_INLINE F vm_floor(F x) { return vm_round_mode<9>(x); }
template <class F> WEFT_INLINE F vm_ceil(F x) { return vm_round_mode<10>(x); }
template <class F> WEFT_INLINE F vm_trunc(F x) { return vm_round_mode<11>(x); }

//@ minmax: base
// NaN if either is NaN (as maximum/minimum of PyTorch), +0 and -0 compare equal: the first is returned.
template <class F> WEFT_INLINE F vm_max(F x, F y) { return (x > y) | (x != x) ? x : (y != y) | (y > x) ? y : x; }
template <class F> WEFT_INLINE F vm_min(F x, F y) { return (x < y) | (x != x) ? x : (y != y) | (y < x) ? y : x; }

//@ lookup: base
#ifdef __AVX512VL__
// The entries, of 16, that the low four bits of the lanes name, in one instruction.
WEFT_INLINE f32x16 vm_lookup16(const float *row, vm_mask<f32x16> k) {
  return __builtin_ia32_permvarsf512_mask(*(const f32x16 *)row, k, f32x16{}, -1);
}
WEFT_INLINE f32x8 vm_lookup16(const float *row, vm_mask<f32x8> k) {
  return __builtin_ia32_vpermt2varps256_mask(k, *(const f32x8 *)row, *(const f32x8 *)(row + 8), -1);
}
#endif

//@ exp32: lookup
// Float32 only. 1.0 ulp. n = round(x / ln 2), r = x - n ln 2 in two parts, then a polynomial, scaled in two steps so that
// results below the normal range round once. Polynomials in pairs of terms: a short chain matters more than operations.
// `a < b ? a : b` is one instruction, and NaN where b is.
template <class F> WEFT_INLINE F vm_exp32_reduced(F c, vm_mask<F> &bits) {  // exp(c) = result * 2^bits
  const F shifted = vm_fma(c, F{} + 1.4426950408889634f, F{} + 12582912.0f);  // 1.5 * 2^23: rounds to an integer
  const F n = shifted - 12582912.0f;
  F r = vm_fma(n, F{} - 0.693145751953125f, c);
  r = vm_fma(n, F{} - 1.42860682030941723e-6f, r);
  const F r2 = r * r;
  F p = vm_fma(F{} + 1.991935981e-04f, r, F{} + 1.394721186e-03f);
  p = vm_fma(p, r2, vm_fma(F{} + 8.333262675e-03f, r, F{} + 4.166625394e-02f));
  p = vm_fma(p, r2, vm_fma(F{} + 1.666666687e-01f, r, F{} + 5.000000083e-01f));
  bits = (vm_mask<F>)shifted - 0x4b400000;  // the integer n, from the low bits of the shifted value
  return vm_fma(p, r2, r) + 1.0f;
}
template <class F> WEFT_INLINE F vm_exp32(F x) {
  const F most = F{} + 89.0f, least = F{} - 104.0f;
  F c = most < x ? most : x;
  c = least > c ? least : c;
  vm_mask<F> bits;
  const F p = vm_exp32_reduced(c, bits);
  const vm_mask<F> half = bits >> 1;
  return p * (F)((half + 127) << 23) * (F)((bits - half + 127) << 23);
}

#ifdef __AVX512VL__
// In fewer operations: n in sixteenths, whose power of two is a table's entry, so that a cubic is left; scalef takes the
// whole part of n. Not x but r is held in bounds: for x far out and for NaN the answer is scalef's, of a finite number.
alignas(64) static const float vm_exp_row[16] = {
  1.0f, 1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f, 1.29683959f, 1.35425556f,
  1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f, 1.68179286f, 1.75625217f, 1.83400810f, 1.91520655f};
WEFT_INLINE f32x16 vm_within(f32x16 x, f32x16 limit) { return __builtin_ia32_rangeps512_mask(x, limit, 2, x, -1, 4); }
WEFT_INLINE f32x8 vm_within(f32x8 x, f32x8 limit) { return __builtin_ia32_rangeps256_mask(x, limit, 2, x, -1); }
WEFT_INLINE f32x16 vm_scale(f32x16 x, f32x16 n) { return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4); }
WEFT_INLINE f32x8 vm_scale(f32x8 x, f32x8 n) { return __builtin_ia32_scalefps256_mask(x, n, x, -1); }
template <class F> WEFT_INLINE F vm_exp_table(F x) {
  const F shifted = vm_fma(x, F{} + 1.4426950408889634f, F{} + 786432.0f);  // 1.5 * 2^19: rounds to a sixteenth
  const F n = shifted - 786432.0f;
  F r = vm_fma(n, F{} - 0.693145751953125f, x);
  r = vm_within(vm_fma(n, F{} - 1.42860682030941723e-6f, r), F{} + 0.022f);
  const F row = vm_lookup16(vm_exp_row, (vm_mask<F>)shifted);
  const F p = vm_fma(vm_fma(F{} + 1.666666687e-01f, r, F{} + 5.00016202e-01f), r * r, r);
  return vm_scale(vm_fma(p, row, row), n);
}
WEFT_INLINE f32x16 vm_exp32(f32x16 x) { return vm_exp_table(x); }
WEFT_INLINE f32x8 vm_exp32(f32x8 x) { return vm_exp_table(x); }
WEFT_INLINE f32x4 vm_exp32(f32x4 x) {
  const f32x8 r = vm_exp_table(__builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3));
  return __builtin_shufflevector(r, r, 0, 1, 2, 3);
}
#endif

//@ log32: base
// Float32 only. 1.0 ulp. x = m 2^e with m in [sqrt(1/2), sqrt 2), log m by a polynomial in m - 1.
template <class F> WEFT_INLINE F vm_log32(F x) {
  typedef vm_mask<F> I;
  const I tiny = x < 1.17549435e-38f;
  const F y = tiny ? x * 8388608.0f : x;
  const I bits = (I)y - 0x3f3504f3;  // the bits of sqrt(1/2)
  const I e = (bits >> 23) + (tiny & -23);
  const F f = (F)((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const F k = __builtin_convertvector(e, F);
  F p = F{} + 6.746591828e-02f;
  p = vm_fma(p, f, F{} - 1.167563876e-01f);
  p = vm_fma(p, f, F{} + 1.188817759e-01f);
  p = vm_fma(p, f, F{} - 1.240559202e-01f);
  p = vm_fma(p, f, F{} + 1.421955056e-01f);
  p = vm_fma(p, f, F{} - 1.666799562e-01f);
  p = vm_fma(p, f, F{} + 2.000211875e-01f);
  p = vm_fma(p, f, F{} - 2.500000960e-01f);
  p = vm_fma(p, f, F{} + 3.333331260e-01f);
  const F f2 = f * f;
  p = vm_fma(p * f, f2, k * 1.42860682030941723e-6f);
  p = vm_fma(f2, F{} - 0.5f, p);
  F r = vm_fma(k, F{} + 0.693145751953125f, p + f);
  r = x == __builtin_inff() ? x : r;
  r = x == 0.0f ? F{} - __builtin_inff() : r;
  r = x < 0.0f ? F{} + __builtin_nanf("") : r;
  return x != x ? x : r;
}

//@ tanh32: base exp32
// Float32 only. 1.4 ulp. An odd polynomial below 0.625, 1 - 2 / (exp(2|x|) + 1) above.
template <class F> WEFT_INLINE F vm_tanh32(F x) {
  const F a = vm_abs(x), s = x * x;
  F p = F{} + 2.147536858e-03f;
  p = vm_fma(p, s, F{} - 8.182673854e-03f);
  p = vm_fma(p, s, F{} + 2.170296710e-02f);
  p = vm_fma(p, s, F{} - 5.394720427e-02f);
  p = vm_fma(p, s, F{} + 1.333320976e-01f);
  p = vm_fma(p, s, F{} - 3.333333091e-01f);
  p = vm_fma(p * s, x, x);
  const F q = 1.0f - 2.0f / (vm_exp32(a + a) + 1.0f);
  return x != x ? x : vm_copysign(a < 0.625f ? p : q, x);
}

//@ sigmoid32: base exp32
// Float32 only. 3.1 ulp. exp of -|x| only, so that nothing overflows and small results keep their digits.
template <class F> WEFT_INLINE F vm_sigmoid32(F x) {
  const F e = vm_exp32(-vm_abs(x));
  return (x < 0.0f ? e : x != x ? x : F{} + 1.0f) / (1.0f + e);
}

//@ erf32: lookup exp32
// Float32 only. 1.0 ulp. x + x P(x^2) below 0.93, 1 - exp(-g(|x|)) above with g a polynomial for -log(erfc).
template <class F> WEFT_INLINE F vm_erf32(F x) {
  const F four = F{} + 4.0f, s = x * x, s2 = s * s;
  F t = vm_abs(x);
  t = four < t ? four : t;
  const F t2 = t * t, t4 = t2 * t2;
  F p = vm_fma(F{} + 8.345224853e-05f, s, F{} - 8.137437554e-04f);
  p = vm_fma(p, s2, vm_fma(F{} + 5.200634305e-03f, s, F{} - 2.685927078e-02f));
  p = vm_fma(p, s2, vm_fma(F{} + 1.128369394e-01f, s, F{} - 3.761263370e-01f));
  p = vm_fma(p, s, F{} + 1.283791666e-01f);
  p = vm_fma(p, x, x);
  F q = vm_fma(F{} + 3.606423977e-05f, t, F{} - 2.288106268e-04f);
  q = vm_fma(q, t2, vm_fma(F{} + 5.524274840e-04f, t, F{} + 1.722230171e-03f));
  q = vm_fma(F{} - 2.258897886e-06f, t4, q);
  q = vm_fma(q, t4, vm_fma(vm_fma(F{} - 2.115773444e-02f, t, F{} + 1.040988512e-01f), t2,
                           vm_fma(F{} + 6.361249388e-01f, t, F{} + 1.284598020e-01f)));
  vm_mask<F> bits;
  const F e = vm_exp32_reduced(-vm_fma(q, t, t), bits);  // between exp(-17) and 1: one step scales it
  q = 1.0f - (F)((vm_mask<F>)e + (bits << 23));
  return t < 0.93f ? p : x != x ? x : vm_copysign(q, x);
}

#ifdef __AVX512VL__
// In a third of the operations, 1.3 ulp: a polynomial about the nearest multiple of w, with coefficients from tables of 16
// entries that one instruction looks up. w is chosen such that erf of its multiples is close to a float. About 0 the
// constant term is x itself, so that small results keep their digits.
alignas(64) static const float vm_erf_rows[6][16] = {
  {0.0f, 0.285746872f, 0.536014557f, 0.727991998f, 0.856969953f, 0.932862163f, 0.971972406f, 0.989624321f,
   0.996601641f, 0.999017f, 0.999749243f, 0.999943674f, 0.999988854f, 0.999998093f, 0.999999702f, 0.99999994f},
  {0.128379166f, 1.05522013f, 0.862992525f, 0.6172297f, 0.386066943f, 0.211180761f, 0.101023413f, 0.0422635227f,
   0.0154626975f, 0.00494744256f, 0.00138437015f, 0.00033876588f, 7.24974961e-05f, 1.35682012e-05f,
   2.22073913e-06f, 3.17864419e-07f},
  {3.25445285e-07f, -0.273199171f, -0.446864009f, -0.479412347f, -0.399823725f, -0.273386657f, -0.156928182f,
   -0.0766093656f, -0.0320249051f, -0.0115236295f, -0.00357718766f, -0.000969667337f, -0.000221641778f,
   -5.94047269e-05f, -6.99347174e-06f, 1.10962937e-05f},
  {-0.37614432f, -0.3046031f, -0.133438706f, 0.0424991213f, 0.147352502f, 0.165540934f, 0.128852099f,
   0.0784588233f, 0.0390704833f, 0.016259538f, 0.00572501868f, 0.00171881216f, 0.00044232732f, 9.79344622e-05f,
   1.8706658e-05f, 3.35423392e-05f},
  {0.00032828562f, 0.129543811f, 0.182359591f, 0.142733335f, 0.0572085828f, -0.0153203774f, -0.0478323735f,
   -0.0446786247f, -0.0299411044f, -0.0154344738f, -0.00667686108f, -0.00185688434f, -0.000834761129f,
   0.000666165259f, -9.48103188e-05f, -0.000775606604f},
  {0.110771619f, 0.0785281658f, 0.00387891731f, -0.0566569045f, -0.0674225613f, -0.0413424559f, -0.00912615284f,
   0.00936809834f, 0.012896711f, 0.00919310562f, 0.00473673083f, 0.00192053837f, 0.000635113392f, 0.0001747278f,
   4.04621496e-05f, -0.00207963004f},
};
WEFT_INLINE f32x16 vm_least(f32x16 a, f32x16 x) { return __builtin_ia32_minps512_mask(a, x, x, -1, 4); }  // or x if NaN
WEFT_INLINE f32x8 vm_least(f32x8 a, f32x8 x) { return __builtin_ia32_minps256(a, x); }
template <class F> WEFT_INLINE F vm_erf_table(F x) {
  const F t = vm_least(F{} + 4.0f, vm_abs(x));
  const F shifted = vm_fma(t, F{} + 3.86238813f, F{} + 12582912.0f);  // rounds to an integer, in its low bits
  const vm_mask<F> k = (vm_mask<F>)shifted;
  const F n = shifted - 12582912.0f, d = vm_fma(n, F{} - 0.25890717f, t);
  F p = vm_lookup16(vm_erf_rows[5], k);
  p = vm_fma(p, d, vm_lookup16(vm_erf_rows[4], k));
  p = vm_fma(p, d, vm_lookup16(vm_erf_rows[3], k));
  p = vm_fma(p, d, vm_lookup16(vm_erf_rows[2], k));
  p = vm_fma(p, d, vm_lookup16(vm_erf_rows[1], k));
  return vm_copysign(vm_fma(p, d, n == 0.0f ? d : vm_lookup16(vm_erf_rows[0], k)), x);
}
WEFT_INLINE f32x16 vm_erf32(f32x16 x) { return vm_erf_table(x); }
WEFT_INLINE f32x8 vm_erf32(f32x8 x) { return vm_erf_table(x); }
WEFT_INLINE f32x4 vm_erf32(f32x4 x) {
  const f32x8 r = vm_erf_table(__builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3));
  return __builtin_shufflevector(r, r, 0, 1, 2, 3);
}
#endif

//@ sincos32: base
// Float32 only. 1.6 ulp for |x| <= 71476 (three-part reduction by pi/2); larger lanes take the C library.
template <int phase, class F> WEFT_INLINE F vm_sincos32(F x) {
  typedef vm_mask<F> I;
  const F shifted = vm_fma(x, F{} + 0.636619772f, F{} + 12582912.0f);
  const F n = shifted - 12582912.0f;
  const I quadrant = (I)shifted + phase;
  F r = vm_fma(n, F{} - 1.57079601e+00f, x);
  r = vm_fma(n, F{} - 3.13916473e-07f, r);
  r = vm_fma(n, F{} - 5.39030253e-15f, r);
  const F s = r * r;
  F a = F{} + 2.717939827e-06f;
  a = vm_fma(a, s, F{} - 1.983929612e-04f);
  a = vm_fma(a, s, F{} + 8.333329267e-03f);
  a = vm_fma(a, s, F{} - 1.666666664e-01f);
  a = vm_fma(a * s, r, r);
  F b = F{} - 2.720678696e-07f;
  b = vm_fma(b, s, F{} + 2.479947861e-05f);
  b = vm_fma(b, s, F{} - 1.388888360e-03f);
  b = vm_fma(b, s, F{} + 4.166666662e-02f);
  b = vm_fma(b * s, s, vm_fma(s, F{} - 0.5f, F{} + 1.0f));
  F y = (quadrant & 1) != 0 ? b : a;
  y = (quadrant & 2) != 0 ? -y : y;
  if (phase == 0) y = x == 0.0f ? x : y;
  const I large = ~(vm_abs(x) <= 71476.0f);
  bool any = false;
  for (unsigned i = 0; i < sizeof(F) / 4; i++) any |= large[i] != 0;
  if (__builtin_expect(any, 0))
    for (unsigned i = 0; i < sizeof(F) / 4; i++)
      if (large[i]) y[i] = phase ? __builtin_cosf(x[i]) : __builtin_sinf(x[i]);
  return y;
}
template <class F> WEFT_INLINE F vm_sin32(F x) { return vm_sincos32<0>(x); }
template <class F> WEFT_INLINE F vm_cos32(F x) { return vm_sincos32<1>(x); }

//@ mvec: base
// VM_F64(name), VM_F32(name): vm_<name> of double and float vectors by glibc's libmvec (at most 4 ulp), which is only called
// with whole vectors. Where libmvec lacks the function (most of them before glibc 2.35) define VM_NO_MVEC: the C library.
// VM_LANES(name): the C library lane by lane in double, for the widths without a vector version.
#define VM_LANES1(name)                                                                       \
  template <class F> WEFT_INLINE F vm_##name(F x) {                                           \
    F r = x;                                                                                  \
    for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++) r[i] = __builtin_##name(x[i]);    \
    return r;                                                                                 \
  }
#define VM_LANES2(name)                                                                          \
  template <class F> WEFT_INLINE F vm_##name(F x, F y) {                                         \
    F r = x;                                                                                     \
    for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++) r[i] = __builtin_##name(x[i], y[i]); \
    return r;                                                                                    \
  }
#define VM_CALL1(V, name, symbol)                                  \
  extern "C" V symbol(V) __attribute__((const, nothrow));          \
  WEFT_INLINE V vm_##name(V x) { return symbol(x); }
// Four lanes go as eight: their results have the same bits.
#define VM_AS_EIGHT1(name)                                                                 \
  WEFT_INLINE f32x4 vm_##name(f32x4 x) {                                                   \
    const f32x8 r = vm_##name(__builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3));      \
    return __builtin_shufflevector(r, r, 0, 1, 2, 3);                                      \
  }
#define VM_AS_EIGHT2(name)                                                                 \
  WEFT_INLINE f32x4 vm_##name(f32x4 x, f32x4 y) {                                          \
    const f32x8 r = vm_##name(__builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3),       \
                              __builtin_shufflevector(y, y, 0, 1, 2, 3, 0, 1, 2, 3));      \
    return __builtin_shufflevector(r, r, 0, 1, 2, 3);                                      \
  }
#define VM_CALL2(V, name, symbol)                                  \
  extern "C" V symbol(V, V) __attribute__((const, nothrow));       \
  WEFT_INLINE V vm_##name(V x, V y) { return symbol(x, y); }
#define VM_F64(name)
#define VM_F32(name)
#define VM_F64_2(name)
#define VM_F32_2(name)
#if !defined(VM_NO_MVEC) && defined(__AVX512F__)
#undef VM_F64
#undef VM_F32
#undef VM_F64_2
#undef VM_F32_2
#define VM_F64(name) VM_CALL1(f64x4, name, _ZGVdN4v_##name) VM_CALL1(f64x8, name, _ZGVeN8v_##name)
#define VM_F32(name) VM_CALL1(f32x8, name, _ZGVdN8v_##name##f) VM_CALL1(f32x16, name, _ZGVeN16v_##name##f) VM_AS_EIGHT1(name)
#define VM_F64_2(name) VM_CALL2(f64x4, name, _ZGVdN4vv_##name) VM_CALL2(f64x8, name, _ZGVeN8vv_##name)
#define VM_F32_2(name) VM_CALL2(f32x8, name, _ZGVdN8vv_##name##f) VM_CALL2(f32x16, name, _ZGVeN16vv_##name##f) VM_AS_EIGHT2(name)
#elif !defined(VM_NO_MVEC) && defined(__AVX2__)
#undef VM_F64
#undef VM_F32
#undef VM_F64_2
#undef VM_F32_2
#define VM_F64(name) VM_CALL1(f64x4, name, _ZGVdN4v_##name)
#define VM_F32(name) VM_CALL1(f32x8, name, _ZGVdN8v_##name##f) VM_AS_EIGHT1(name)
#define VM_F64_2(name) VM_CALL2(f64x4, name, _ZGVdN4vv_##name)
#define VM_F32_2(name) VM_CALL2(f32x8, name, _ZGVdN8vv_##name##f) VM_AS_EIGHT2(name)
#endif
// vm_<name> of float vectors by our own vm_<name>32.
#define VM_OWN32(name)                                             \
  WEFT_INLINE f32x16 vm_##name(f32x16 x) { return vm_##name##32(x); } \
  WEFT_INLINE f32x8 vm_##name(f32x8 x) { return vm_##name##32(x); }   \
  WEFT_INLINE f32x4 vm_##name(f32x4 x) { return vm_##name##32(x); }
#define VM_LIBM1(name) VM_LANES1(name) VM_F64(name) VM_F32(name)
#define VM_LIBM2(name) VM_LANES2(name) VM_F64_2(name) VM_F32_2(name)

//@ exp: mvec exp32
VM_LANES1(exp) VM_F64(exp) VM_OWN32(exp)
//@ log: mvec log32
VM_LANES1(log) VM_F64(log) VM_OWN32(log)
//@ sin: mvec sincos32
VM_LANES1(sin) VM_F64(sin) VM_OWN32(sin)
//@ cos: mvec sincos32
VM_LANES1(cos) VM_F64(cos) VM_OWN32(cos)
//@ tanh: mvec tanh32
VM_LANES1(tanh) VM_F64(tanh) VM_OWN32(tanh)
//@ erf: mvec erf32
VM_LANES1(erf) VM_F64(erf) VM_OWN32(erf)
//@ sigmoid: exp sigmoid32
template <class F> WEFT_INLINE F vm_sigmoid(F x) {
  const F e = vm_exp(-vm_abs(x));
  return (x < 0.0 ? e : x != x ? x : F{} + 1.0) / (1.0 + e);
}
VM_OWN32(sigmoid)
//@ exp2: mvec
VM_LIBM1(exp2)
//@ expm1: mvec
VM_LIBM1(expm1)
//@ log2: mvec
VM_LIBM1(log2)
//@ log10: mvec
VM_LIBM1(log10)
//@ log1p: mvec
VM_LIBM1(log1p)
//@ tan: mvec
VM_LIBM1(tan)
//@ asin: mvec
VM_LIBM1(asin)
//@ acos: mvec
VM_LIBM1(acos)
//@ atan: mvec
VM_LIBM1(atan)
//@ sinh: mvec
VM_LIBM1(sinh)
//@ cosh: mvec
VM_LIBM1(cosh)
//@ asinh: mvec
VM_LIBM1(asinh)
//@ acosh: mvec
VM_LIBM1(acosh)
//@ atanh: mvec
VM_LIBM1(atanh)
//@ erfc: mvec
VM_LIBM1(erfc)
//@ pow: mvec rounding
// Float32 by way of double: 2^(y log2|x|) to 2^-43 and less where that is near 1, rounded once, for AVX2 and AVX-512 alike. The logarithm of m in
// [sqrt(1/2), sqrt 2) by a polynomial in (m - 1) / (m + 1). Double: libmvec's of |x|. Zeros, infinities and negative
// bases are mended in the lanes: the library takes them one by one.
VM_LANES2(pow)
// The power of x by that of |x|: the sign of odd powers, NaN of those that are no integers, and what is 1 by definition.
template <class F> WEFT_INLINE F vm_pow_signed(F x, F y, F power) {
  const auto whole = vm_trunc(y) == y, odd = whole & (vm_trunc(y * 0.5f) != y * 0.5f);
  F r = (vm_mask<F>)((vm_mask<F>)x < 0) & odd ? -power : power;
  r = (x < 0) & (vm_abs(x) < __builtin_inf()) & ~whole ? F{} + __builtin_nan("") : r;
  r = (x != x) | (y != y) ? x + y : r;
  return (y == 0) | (x == 1) ? F{} + 1 : (x == -1) & (vm_abs(y) == __builtin_inf()) ? F{} + 1 : r;
}
#ifdef __AVX2__
template <class D, class F> WEFT_INLINE F vm_pow_wide(F x32, F y32) {
  typedef unsigned long U __attribute__((vector_size(sizeof(D))));
  const D x = __builtin_convertvector(x32, D), y = __builtin_convertvector(y32, D);
  const U bits = (U)x - 0x3fe6a09e667f3bcd + 0x4000000000000000;  // less those of sqrt(1/2), with 1024 more in the exponent
  const U e = bits >> 52;
  const D m = (D)((bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
  const D t = (m - 1.0) / (m + 1.0), s = t * t, s2 = s * s;
  D a0 = vm_fma(D{} + 0.31990682786264507, s2, D{} + 0.5770779424565828);
  a0 = vm_fma(a0, s2, D{} + 2.885390081777849);
  D a1 = vm_fma(D{} + 0.2828809090583436, s2, D{} + 0.41220923213432226);
  a1 = vm_fma(a1, s2, D{} + 0.9617966941137217);
  D log2 = vm_fma(vm_fma(a1, s, a0), t, (D)(e + 0x4330000000000000) - 0x1.00000000004p52);
  log2 = x == 0.0 ? D{} - 1e300 : x == __builtin_inf() ? D{} + 1e300 : log2;
  D z = y * log2;
  z = z < -200.0 ? D{} - 200.0 : z;
  z = z > 200.0 ? D{} + 200.0 : z;
  const D shifted = z + 0x1.8p52, f = z - (shifted - 0x1.8p52), f2 = f * f;
  D b0 = vm_fma(D{} + 1.3259945262689143e-06, f2, D{} + 0.00015403432339553542);
  b0 = vm_fma(b0, f2, D{} + 0.009618129195951041);
  b0 = vm_fma(b0, f2, D{} + 0.24022650695631514);
  b0 = vm_fma(b0, f2, D{} + 1.0);
  D b1 = vm_fma(D{} + 1.0212097549811005e-07, f2, D{} + 1.5252640059770786e-05);
  b1 = vm_fma(b1, f2, D{} + 0.001333355825801874);
  b1 = vm_fma(b1, f2, D{} + 0.05550410866428854);
  b1 = vm_fma(b1, f2, D{} + 0.6931471805599526);
  return __builtin_convertvector((D)((U)vm_fma(b1, f, b0) + ((U)shifted << 52)), F);
}
WEFT_INLINE f32x4 vm_pow(f32x4 x, f32x4 y) { return vm_pow_signed(x, y, vm_pow_wide<f64x4>(vm_abs(x), y)); }
WEFT_INLINE f32x8 vm_pow(f32x8 x, f32x8 y) {
  const f32x8 a = vm_abs(x);
#ifdef __AVX512F__
  return vm_pow_signed(x, y, vm_pow_wide<f64x8>(a, y));
#else
  const f32x4 low = vm_pow_wide<f64x4>(__builtin_shufflevector(a, a, 0, 1, 2, 3), __builtin_shufflevector(y, y, 0, 1, 2, 3));
  const f32x4 high = vm_pow_wide<f64x4>(__builtin_shufflevector(a, a, 4, 5, 6, 7), __builtin_shufflevector(y, y, 4, 5, 6, 7));
  return vm_pow_signed(x, y, (f32x8)__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7));
#endif
}
#ifdef __AVX512F__
WEFT_INLINE f32x16 vm_pow(f32x16 x, f32x16 y) {
  const f32x16 a = vm_abs(x);
  const f32x8 low = vm_pow_wide<f64x8>(__builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7),
                                       __builtin_shufflevector(y, y, 0, 1, 2, 3, 4, 5, 6, 7));
  const f32x8 high = vm_pow_wide<f64x8>(__builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15),
                                        __builtin_shufflevector(y, y, 8, 9, 10, 11, 12, 13, 14, 15));
  return vm_pow_signed(x, y, (f32x16)__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}
#endif
#ifndef VM_NO_MVEC
VM_CALL2(f64x4, pow_mvec, _ZGVdN4vv_pow)
#ifdef __AVX512F__
VM_CALL2(f64x8, pow_mvec, _ZGVeN8vv_pow)
#endif
template <class D> WEFT_INLINE D vm_pow_double(D x, D y) {
  const D a = vm_abs(x);
  const auto end = (a == 0) | (a == __builtin_inf());
  const D power = vm_pow_mvec(end ? D{} + 1 : a, y);
  return vm_pow_signed(x, y, end ? (((y > 0) ^ (a == 0)) ? D{} + __builtin_inf() : D{}) : power);
}
WEFT_INLINE f64x4 vm_pow(f64x4 x, f64x4 y) { return vm_pow_double(x, y); }
#ifdef __AVX512F__
WEFT_INLINE f64x8 vm_pow(f64x8 x, f64x8 y) { return vm_pow_double(x, y); }
#endif
#endif
#endif
//@ atan2: mvec
VM_LIBM2(atan2)
//@ hypot: mvec
VM_LIBM2(hypot)
//@ fmod: base rounding
// Exact. A quotient below `most` is off by one at most, and then too large: the remainder, which a fused multiply-add gives
// without an error, has the wrong sign. Quotients beyond, divisors that are 0 or infinite and NaN take the C library.
template <class F> WEFT_INLINE F vm_fmod(F x, F y) {
  const F most = F{} + (sizeof(x[0]) == 4 ? 0x1p22 : 0x1p50);
  const F q = vm_trunc(x / y), rest = vm_fma(-q, y, x);
  const auto over = (rest != 0) & ((rest < 0) != (x < 0));
  F r = vm_copysign(over ? rest + vm_copysign(y, x) : rest, x);
  const auto other = ~((vm_abs(q) < most) & (vm_abs(y) < (F{} + __builtin_inf())));
  bool any = false;
  for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++) any |= other[i] != 0;
  if (__builtin_expect(any, 0))
    for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++)
      if (other[i]) r[i] = sizeof(x[0]) == 4 ? __builtin_fmodf(x[i], y[i]) : __builtin_fmod(x[i], y[i]);
  return r;
}
//@ nextafter: base
template <class F> WEFT_INLINE F vm_nextafter(F x, F y) {
  F r = x;
  for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++)
    r[i] = sizeof(x[0]) == 4 ? __builtin_nextafterf(x[i], y[i]) : __builtin_nextafter(x[i], y[i]);
  return r;
}
//@ horner: base
// c[0] + c[1] x + c[2] x^2 ..., even and odd powers apart: half the delay.
template <class F, int n> WEFT_INLINE F vm_horner(const double (&c)[n], F x) {
  typedef decltype(F{}[0] + F{}[0]) E;
  const F s = x * x;
  F even = F{} + (E)c[(n - 1) & ~1], odd = F{} + (E)c[(n - 2) | 1];
  _Pragma("GCC unroll 16") for (int i = ((n - 1) & ~1) - 2; i >= 0; i -= 2) even = vm_fma(even, s, F{} + (E)c[i]);
  _Pragma("GCC unroll 16") for (int i = ((n - 2) | 1) - 2; i >= 1; i -= 2) odd = vm_fma(odd, s, F{} + (E)c[i]);
  return vm_fma(odd, x, even);
}
//@ by_double: mvec
// VM_BY_DOUBLE(name): vm_<name> of double vectors is vm_<name>_double; floats go through it, rounded once.
#ifdef __AVX512F__
#define VM_BY_DOUBLE_VECTORS(name)                                                                                      \
  WEFT_INLINE f32x8 vm_##name(f32x8 x) { return __builtin_convertvector(vm_##name##_double(__builtin_convertvector(x, f64x8)), f32x8); } \
  WEFT_INLINE f32x16 vm_##name(f32x16 x) {                                                                              \
    const f32x8 low = vm_##name(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7));                                 \
    const f32x8 high = vm_##name(__builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15));                          \
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);                    \
  }                                                                                                                     \
  VM_AS_EIGHT1(name)
#elif defined(__AVX2__)
#define VM_BY_DOUBLE_VECTORS(name)                                                                                      \
  WEFT_INLINE f32x4 vm_##name(f32x4 x) { return __builtin_convertvector(vm_##name##_double(__builtin_convertvector(x, f64x4)), f32x4); } \
  WEFT_INLINE f32x8 vm_##name(f32x8 x) {                                                                                \
    const f32x4 low = vm_##name(__builtin_shufflevector(x, x, 0, 1, 2, 3)), high = vm_##name(__builtin_shufflevector(x, x, 4, 5, 6, 7)); \
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);                                                  \
  }
#else
#define VM_BY_DOUBLE_VECTORS(name)
#endif
#define VM_BY_DOUBLE(name)                                                                                              \
  template <class F> WEFT_INLINE F vm_##name(F x) {                                                                     \
    F r = x;                                                                                                            \
    if constexpr (sizeof(x[0]) == 8) r = vm_##name##_double(x);                                                         \
    else                                                                                                                \
      for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++) r[i] = (float)vm_##name##_double(f64x2{} + (double)x[i])[0]; \
    return r;                                                                                                           \
  }                                                                                                                     \
  VM_BY_DOUBLE_VECTORS(name)
//@ gamma_double: log sin tan rounding by_double
// Arguments below 10 go up by steps of 1 where all of them are positive: what the steps add is one quotient (Abramowitz and Stegun,
// 6.1.40, 6.3.18 and 6.4.12 for what is above, the reflections 6.1.17, 6.3.7 and 6.4.7 for negative ones).
//@ lgamma: gamma_double
VM_LANES1(lgamma)
template <class D> WEFT_INLINE D vm_lgamma_double(D x) {
  const D pi = D{} + 3.14159265358979323846;
  const auto mirrored = x < 0.5;
  D y = mirrored ? 1.0 - x : x, product = D{} + 1.0;
  for (int k = 0; k < 8; k++) {
    const auto low = y < 8.0;
    product = low ? product * y : product;
    y = low ? y + 1.0 : y;
  }
  const D z = 1.0 / y, s = z * z;
  D series = vm_fma(s, D{} + 0.0064102564102564103, D{} - 0.0019175269175269176);
  series = vm_fma(series, s, D{} + 0.00084175084175084171);
  series = vm_fma(series, s, D{} - 0.00059523809523809529);
  series = vm_fma(series, s, D{} + 0.00079365079365079365);
  series = vm_fma(series, s, D{} - 0.0027777777777777779);
  series = vm_fma(series, s, D{} + 0.083333333333333329) * z;
  const D large = vm_fma(y - 0.5, vm_log(y), -y) + (0.91893853320467274 + series);
  const D sine = vm_abs(vm_sin(pi * (x - vm_round(x))));
  const D small = vm_log(mirrored ? pi * product / sine : 1.0 / product);
  D r = mirrored ? small - large : large + small;
  r = (x == 1.0) | (x == 2.0) ? D{} : r;
  r = vm_abs(x) == __builtin_inf() ? vm_abs(x) : r;
  return (x <= 0.0) & (x == vm_round(x)) ? D{} + __builtin_inf() : r;
}
VM_BY_DOUBLE_VECTORS(lgamma)
//@ digamma: gamma_double
template <class D> WEFT_INLINE D vm_digamma_double(D x) {
  const D pi = D{} + 3.14159265358979323846;
  const auto negative = x < 0.0;
  D y = negative ? 1.0 - x : x, up = D{}, down = D{} + 1.0;
  for (int k = 0; k < 10; k++) {
    const auto low = y < 10.0;
    up = low ? vm_fma(up, y, down) : up;
    down = low ? down * y : down;
    y = low ? y + 1.0 : y;
  }
  const D s = 1.0 / (y * y);
  D series = vm_fma(s, D{} - 0.083333333333333329, D{} + 0.021092796092796094);
  series = vm_fma(-s, series, D{} + 0.0075757575757575760);
  series = vm_fma(-s, series, D{} + 0.0041666666666666666);
  series = vm_fma(-s, series, D{} + 0.0039682539682539680);
  series = vm_fma(-s, series, D{} + 0.0083333333333333332);
  series = vm_fma(-s, series, D{} + 0.083333333333333329);
  D r = vm_log(y) - 0.5 / y - s * series - up / down;
  const D f = x - vm_trunc(x);
  r = negative ? r - pi / vm_tan(pi * f) : r;
  r = y == __builtin_inf() ? x : r;
  r = negative & ~(vm_abs(f) > 0.0) ? D{} + __builtin_nan("") : r;
  return x == 0.0 ? vm_copysign(D{} + __builtin_inf(), -x) : r;
}
VM_BY_DOUBLE(digamma)
//@ trigamma: gamma_double
template <class D> WEFT_INLINE D vm_trigamma_double(D x) {
  const D pi = D{} + 3.14159265358979323846;
  const auto negative = x < 0.0;
  D y = negative ? 1.0 - x : x, up = D{}, down = D{} + 1.0;
  for (int k = 0; k < 10; k++) {
    const auto low = y < 10.0;
    const D square = y * y;
    up = low ? vm_fma(up, square, down) : up;
    down = low ? down * square : down;
    y = low ? y + 1.0 : y;
  }
  const D z = 1.0 / y, s = z * z;
  D series = vm_fma(s, D{} + 1.1666666666666667, D{} - 0.25311355311355310);
  series = vm_fma(series, s, D{} + 0.075757575757575760);
  series = vm_fma(series, s, D{} - 0.033333333333333333);
  series = vm_fma(series, s, D{} + 0.023809523809523808);
  series = vm_fma(series, s, D{} - 0.033333333333333333);
  series = vm_fma(series, s, D{} + 0.16666666666666666);
  D r = vm_fma(series * s, z, vm_fma(s, D{} + 0.5, z)) + up / down;
  const D sine = vm_sin(pi * (x - vm_round(x))), ratio = pi / sine;
  r = negative ? ratio * ratio - r : r;
  return (x <= 0.0) & (x == vm_round(x)) ? D{} + __builtin_inf() : r;
}
VM_BY_DOUBLE(trigamma)
//@ bessel: exp sqrt horner by_double
// Modified Bessel functions of the orders 0 and 1: polynomials for exp(-|x|) i(x) below 8 (by x for order 1), and for that times
// sqrt|x| above, in 16/|x|; by Chebyshev's points, to 1e-16. The exponential in two halves overflows where the result does.
static const double vm_i0_low[] = {
  0.2070019212239867, -0.11300432688620549, 0.094515628539951033, -0.089043441360759618, 0.087343416175523131,
  -0.084963380916163053, 0.079275225907163474, -0.06954119561719381, 0.056777032019916948, -0.04298594945479612,
  0.030177912022978357, -0.019682654690592341, 0.011960077907026221, -0.0067923998730731695, 0.0036171264488970428,
  -0.0018118867939377239, 0.0008563152748272306, -0.00038290209550065975, 0.00016240542162878106,
  -6.5508613896208509e-05, 2.5202327271076921e-05, -9.251680584432654e-06, 3.2293390826404927e-06,
  -1.0883393970072518e-06, 3.675842926555429e-07, -1.1384114641747256e-07, 2.6265363151970112e-08,
  -7.7230945568463327e-09, 4.4705167275117407e-09, -1.1852342482684723e-09};
static const double vm_i0_high[] = {
  0.40217650944500816, 0.0033605519836677504, 0.00013621607437904054, 1.1143033800708978e-05, 1.4838480973971801e-06,
  2.9735960465627118e-07, 8.8713600387547075e-08, 3.9328893751146339e-08, 2.1620199017859248e-08,
  7.5343558438033418e-09, -7.1010934904762744e-09, -1.3326094405766387e-08, -4.3057274269883612e-09,
  7.3359687108161536e-09, 5.1919580836693993e-09, -3.1346276429240787e-09, -2.9337366286377844e-09,
  1.1050558794424347e-09, 9.7357766250852424e-10, -2.8033819978869995e-10, -1.4824893214970786e-10,
  3.6293552297187331e-11};
static const double vm_i1_low[] = {
  0.044687709875608835, -0.061124338029666291, 0.068057599909511601, -0.068482606205825469, 0.063767403713407209,
  -0.055280039227051464, 0.044674572621254668, -0.03367135551992323, 0.023686016957729535, -0.015571309256763564,
  0.009583962150731578, -0.0055345677592412296, 0.0030057624197775295, -0.0015388749696724586, 0.00074451234450611571,
  -0.00034117472445271377, 0.0001484212433475852, -6.1426557197047607e-05, 2.4233753149624307e-05,
  -9.1317757305685711e-06, 3.2938991390037488e-06, -1.1381566323785447e-06, 3.7593673064041182e-07,
  -1.1993980285486188e-07, 3.802984785138283e-08, -1.1224475126135595e-08, 2.6032065423311571e-09,
  -7.2770335560738356e-10, 3.7284532079392345e-10, -9.506861180736366e-11};
static const double vm_i1_high[] = {
  0.38939845902587228, -0.0097495771932356347, -0.00021923576382047057, -1.5038547209501858e-05,
  -1.8349106860450982e-06, -3.4838534380376333e-07, -1.0000393426323456e-07, -4.3131964899777332e-08,
  -2.3448682413065369e-08, -8.4091820404429177e-09, 7.1023061012586319e-09, 1.3958551001385955e-08,
  4.8307021641857403e-09, -7.4444414771972697e-09, -5.5590753458538014e-09, 3.0868867367227251e-09,
  3.1008802702394666e-09, -1.0594544160443166e-09, -1.0230972770946493e-09, 2.6340771095136483e-10,
  1.5532708319177999e-10, -3.3654318531801763e-11};
template <int order, class D> WEFT_INLINE D vm_bessel_i(D x) {
  const D a = vm_abs(x), near = a < 8.0 ? a : D{} + 8.0, far = a > 8.0 ? a : D{} + 8.0;
  const D t = near * 0.25 - 1.0, u = 16.0 / far - 1.0, e = vm_exp(a * 0.5);
  const D low = order ? vm_horner(vm_i1_low, t) * near : vm_horner(vm_i0_low, t);
  const D high = (order ? vm_horner(vm_i1_high, u) : vm_horner(vm_i0_high, u)) / vm_sqrt(far);
  const D r = (a < 8.0 ? low : high) * e * e;
  return x != x ? x : order ? vm_copysign(r, x) : r;
}
template <class D> WEFT_INLINE D vm_i0_double(D x) { return vm_bessel_i<0>(x); }
template <class D> WEFT_INLINE D vm_special_i1_double(D x) { return vm_bessel_i<1>(x); }
VM_BY_DOUBLE(i0)
VM_BY_DOUBLE(special_i1)
//@ erfinv: erf erfc exp log sqrt horner
// x times a polynomial in w = -log(1 - x^2), above w = 5 in its root (as Giles, 2012, ours by Chebyshev's points); double: two Halley
// steps on erf(y) = x more, from where the tail is good to 1e-4.
static const double vm_erfinv_near[] = {
  1.5014093517282388, 0.61660069198670087, -0.026108280762080514, -0.019573564270649057, 0.008525934497817092,
  -0.00048787647495549788, -0.00083646873822000958, 0.00029213577974979843, 2.5157435365049296e-05,
  -4.1400436180749841e-05, 4.1495774334934372e-06, 2.9311370421177089e-06};
static const double vm_erfinv_far[] = {
  3.0433666276789002, 0.97829618551635966, 0.0055454320215588071, -0.0038593888055816761, 0.0025661958843531812,
  -0.0016892790362531222, 0.00089762692188153498, -0.00029781092365765635, -2.5103174104854589e-06,
  7.0890105293846552e-05, -4.195930723941766e-05, 6.1329394042062156e-06, 5.6486304344536722e-06,
  -2.4291604486190342e-06};
static const double vm_erfinv_end[] = {
  4.0419693775873258, 1.9836777651419935, 0.0031197223215172769, -0.0057161257992776318, 0.0034770003928339,
  0.00096245870009901275, 0.0007570811745788627, -0.0058802566776144944, 0.0035313127963943055};
template <class F> WEFT_INLINE F vm_erfinv_start(F x, F w, F far) {
  typedef decltype(F{}[0] + F{}[0]) E;
  const F near = vm_horner(vm_erfinv_near, (w < (E)5 ? w : F{} + (E)5) * (E)0.4 - (E)1);
  return x * (w < (E)5 ? near : far);
}
// The ends are infinities, and what is beyond has no inverse.
template <class F> WEFT_INLINE F vm_erfinv_ends(F x, F y) {
  typedef decltype(F{}[0] + F{}[0]) E;
  const F most = F{} + (E)__builtin_inf();
  y = vm_abs(x) == (E)1 ? vm_copysign(most, x) : y;
  return vm_abs(x) <= (E)1 ? y : F{} + (E)__builtin_nan("");
}
template <class F> WEFT_INLINE F vm_erfinv(F x) {
  const F b = vm_abs(x), w = -vm_log((1.0 - b) * (1.0 + b));
  F a = vm_erfinv_start(b, w, vm_horner(vm_erfinv_end, (vm_sqrt(w) - 4.2002409902343825) * 0.5091201200284101));
  for (int i = 0; i < 2; i++) {
    const F miss = b > 0.5 ? (1.0 - b) - vm_erfc(a) : vm_erf(a) - b;
    const F u = miss / (1.12837916709551257390 * vm_exp(-a * a));
    a = a - u / (1.0 + a * u);
  }
  return vm_erfinv_ends(x, b < 1e-8 ? x * 0.88622692545275801365 : vm_copysign(a, x));
}
template <class F> WEFT_INLINE F vm_erfinv32(F x) {
  const F w = -vm_log((1.0f - x) * (1.0f + x));
  return vm_erfinv_ends(x, vm_erfinv_start(x, w, vm_horner(vm_erfinv_far, (vm_sqrt(w) - 3.209684055085084f) * 1.0270988976272268f)));
}
VM_OWN32(erfinv)
//@ philox: base
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), what all random numbers are made of.
// Element e of a draw has 32 bits, lane e % 4 of counter first + e / 4, or 64, lanes 2 (e % 2) and the next of counter
// first + e / 2: the vector type says which, of unsigned or of unsigned long. Words lie in the low halves of 64-bit lanes,
// where a product wants them; what is in the high halves does not matter.
template <class V> constexpr int vm_lanes = sizeof(V) / sizeof(V{}[0]);
template <class T, int N> struct vm_vector { typedef T V __attribute__((vector_size(N * sizeof(T)))); };
template <class V, class T> using vm_like = typename vm_vector<T, vm_lanes<V>>::V;
template <int... K> struct vm_order {
  template <class V> WEFT_INLINE V of() { return V{(decltype(V{}[0] + V{}[0]))K...}; }
  template <int flip, class V> WEFT_INLINE V flipped(V x) { return __builtin_shufflevector(x, x, (K ^ flip)...); }
};
#ifdef __clang__
template <class T, T... K> using vm_order_of = vm_order<(int)K...>;
template <class W> using vm_order_in = __make_integer_seq<vm_order_of, int, vm_lanes<W>>;
#else
template <int N> struct vm_orders { typedef vm_order<__integer_pack(N)...> order; };
template <class W> using vm_order_in = typename vm_orders<vm_lanes<W>>::order;
#endif
// x's low halves times m, which has nothing in its high ones.
template <class W> WEFT_INLINE W vm_mul32(W x, W m) { return (x & 0xfffffffful) * m; }
#if defined(__AVX2__) && !defined(__clang__)  // GCC does not see it in the text above
WEFT_INLINE vm_vector<unsigned long, 4>::V vm_mul32(vm_vector<unsigned long, 4>::V x, vm_vector<unsigned long, 4>::V m) {
  typedef vm_vector<int, 8>::V I;
  return (vm_vector<unsigned long, 4>::V)__builtin_ia32_pmuludq256((I)x, (I)m);
}
#endif
#if defined(__AVX512F__) && !defined(__clang__)
WEFT_INLINE vm_vector<unsigned long, 8>::V vm_mul32(vm_vector<unsigned long, 8>::V x, vm_vector<unsigned long, 8>::V m) {
  typedef vm_vector<int, 16>::V I;
  typedef vm_vector<long long, 8>::V Q;
  return (vm_vector<unsigned long, 8>::V)__builtin_ia32_pmuludq512_mask((I)x, (I)m, Q{}, -1);
}
#endif
// All elements of whole counters from `first` on. Words 0 (or 2) of a counter are in the even (or odd) lanes of `x`, words 1
// and 3 in `y`: one product makes a round, and in the end nothing is to be sorted.
template <class U> WEFT_INLINE U vm_philox_block(unsigned long seed, unsigned long first) {
  typedef typename vm_vector<unsigned long, sizeof(U) / 8>::V W;
  typedef typename vm_vector<unsigned, sizeof(U) / 4>::V I;
  typedef vm_order_in<I> order;
  const W lane = vm_order_in<W>::template of<W>(), odd = -(lane & 1), low = W{} + 0xfffffffful;
  const W multiplier = odd ? W{} + 0xCD9E8D57ul : W{} + 0xD2511F53ul, step = odd ? W{} + 0xBB67AE85ul : W{} + 0x9E3779B9ul;
  W key = odd ? W{} + (seed >> 32) : W{} + seed, x = ((lane >> 1) + first) & ~odd, y = x >> 32;
  _Pragma("GCC unroll 10") for (int round = 0; round < 10; round++) {
    const I p = (I)vm_mul32(x, multiplier);
    x = (W)order::template flipped<3>(p) ^ y ^ key;  // the upper half of the other lane's product
    y = (W)order::template flipped<2>(p);            // its lower half
    key += step;
  }
  return (U)(sizeof(U{}[0]) == 4 ? (x & low) | (y << 32) : (x << 32) | (y & low));
}
// A source of consecutive elements: none, so that they are computed where they are asked for ...
struct vm_direct {};
// Elements that begin within a counter.
template <class U> static __attribute__((noinline, cold)) U vm_philox_shifted(unsigned long seed, unsigned long first, long skip) {
  const U two[2] = {vm_philox_block<U>(seed, first), vm_philox_block<U>(seed, first + sizeof(U) / 16)};
  U r;
  __builtin_memcpy(&r, (const char *)two + skip * sizeof(r[0]), sizeof r);
  return r;
}
template <class U> WEFT_INLINE U vm_philox_run(vm_direct, unsigned long seed, unsigned long first, long element) {
  constexpr unsigned long per = 16 / sizeof(U{}[0]);
  first += (unsigned long)element / per;
  if (__builtin_expect(element % per != 0, 0)) return vm_philox_shifted<U>(seed, first, element % per);
  return vm_philox_block<U>(seed, first);
}
// ... or those of 32 counters ahead, of one draw. Several chains of rounds side by side take half the time of one after the
// other, and a word that is alone in its lane needs no shuffle.
struct vm_ahead {
  alignas(64) unsigned words[128];
  long start = -(1l << 62);
};
#ifdef __AVX512F__
#define VM_PHILOX_LANES 8
#else
#define VM_PHILOX_LANES 4
#endif
template <int... K> WEFT_INLINE void vm_zip(vm_order<K...>, unsigned *to, typename vm_vector<unsigned long, sizeof...(K)>::V x,
                                            typename vm_vector<unsigned long, sizeof...(K)>::V y) {
  constexpr int n = sizeof...(K);
  const auto low = __builtin_shufflevector(x, y, (K / 2 + K % 2 * n)...), high = __builtin_shufflevector(x, y, (n / 2 + K / 2 + K % 2 * n)...);
  __builtin_memcpy(to, &low, sizeof low);
  __builtin_memcpy(to + 2 * n, &high, sizeof high);
}
template <int bytes> static __attribute__((noinline)) void vm_look_ahead(vm_ahead &a, unsigned long seed, unsigned long first, long element) {
  constexpr int lanes = VM_PHILOX_LANES, chains = 4;
  typedef vm_vector<unsigned long, lanes>::V W;
  const W low = W{} + 0xfffffffful, m0 = W{} + 0xD2511F53ul, m1 = W{} + 0xCD9E8D57ul;
  a.start = element - element % (16 / bytes);
  first += (unsigned long)a.start / (16 / bytes);
  for (int part = 0; part < 32; part += lanes * chains) {
    W c0[chains], c1[chains], c2[chains], c3[chains], k0 = W{} + seed, k1 = W{} + (seed >> 32);
    _Pragma("GCC unroll 4") for (int c = 0; c < chains; c++) {
      c0[c] = vm_order_in<W>::template of<W>() + (first + part + c * lanes);
      c1[c] = c0[c] >> 32;
      c2[c] = c3[c] = W{};
    }
    _Pragma("GCC unroll 10") for (int round = 0; round < 10; round++) {
      _Pragma("GCC unroll 4") for (int c = 0; c < chains; c++) {
        const W p0 = vm_mul32(c0[c], m0), p1 = vm_mul32(c2[c], m1);
        c0[c] = (p1 >> 32) ^ c1[c] ^ k0;
        c2[c] = (p0 >> 32) ^ c3[c] ^ k1;
        c1[c] = p1;
        c3[c] = p0;
      }
      k0 += 0x9E3779B9ul;
      k1 += 0xBB67AE85ul;
    }
    _Pragma("GCC unroll 4") for (int c = 0; c < chains; c++) {
      unsigned *const to = a.words + 4 * (part + c * lanes);
      if (bytes == 4) vm_zip(vm_order_in<W>{}, to, (c0[c] & low) | (c1[c] << 32), (c2[c] & low) | (c3[c] << 32));
      else vm_zip(vm_order_in<W>{}, to, (c0[c] << 32) | (c1[c] & low), (c2[c] << 32) | (c3[c] & low));
    }
  }
}
template <class U> WEFT_INLINE U vm_philox_run(vm_ahead &a, unsigned long seed, unsigned long first, long element) {
  constexpr int bytes = sizeof(U{}[0]);
  static_assert(sizeof(U) <= sizeof a.words / 2, "");
  if (__builtin_expect((unsigned long)(element - a.start) > sizeof a.words / bytes - vm_lanes<U>, 0))
    vm_look_ahead<bytes>(a, seed, first, element);
  U r;
  __builtin_memcpy(&r, (const char *)a.words + (element - a.start) * bytes, sizeof r);
  return r;
}
// The bits of any elements.
template <class U, class E> WEFT_INLINE U vm_philox(unsigned long seed, unsigned long first, E element) {
  typedef vm_like<U, unsigned long> W;
  constexpr bool wide = sizeof(U{}[0]) == 8;
  const W e = __builtin_convertvector(element, W), m0 = W{} + 0xD2511F53ul, m1 = W{} + 0xCD9E8D57ul;
  W c0 = first + (e >> (wide ? 1 : 2)), c1 = c0 >> 32, c2 = {}, c3 = {};
  unsigned long k0 = seed, k1 = seed >> 32;
  for (int round = 0; round < 10; round++) {
    const W p0 = vm_mul32(c0, m0), p1 = vm_mul32(c2, m1);
    c0 = (p1 >> 32) ^ c1 ^ k0;
    c2 = (p0 >> 32) ^ c3 ^ k1;
    c1 = p1;
    c3 = p0;
    k0 += 0x9E3779B9ul;
    k1 += 0xBB67AE85ul;
  }
  const auto second = (e & 1) != 0, upper = (e & 2) != 0;
  if constexpr (wide) return second ? (c2 << 32) | (c3 & 0xfffffffful) : (c0 << 32) | (c1 & 0xfffffffful);
  else return __builtin_convertvector(upper ? (second ? c3 : c2) : (second ? c1 : c0), U);
}

//@ uniform: philox
// [0, 1): the upper 24 bits of 32 for a float, 53 of 64 for a double.
template <int bytes> struct vm_word { typedef unsigned T; };
template <> struct vm_word<8> { typedef unsigned long T; };
template <class V> using vm_bits = vm_like<V, typename vm_word<sizeof(V{}[0])>::T>;
template <class V> WEFT_INLINE V vm_unit(vm_bits<V> b) {
  if constexpr (sizeof(V{}[0]) == 8) return __builtin_convertvector((vm_mask<V>)(b >> 11), V) * 0x1p-53;
  else return __builtin_convertvector((vm_mask<V>)(b >> 8), V) * 0x1p-24f;
}
template <class V, class E> WEFT_INLINE V vm_uniform(unsigned long seed, unsigned long first, E element) {
  return vm_unit<V>(vm_philox<vm_bits<V>>(seed, first, element));
}
template <class V, class S> WEFT_INLINE V vm_uniform_run(S &&source, unsigned long seed, unsigned long first, long element) {
  return vm_unit<V>(vm_philox_run<vm_bits<V>>(source, seed, first, element));
}

//@ normal: uniform
// Box and Muller: elements 2k and 2k + 1 are radius sqrt(-2 log(1 - u)) times cosine and sine of 2 pi v, u and v uniform.
// The C library's functions, lane by lane: the numbers are to be the same whatever the width of a vector. + 0 has no -0.
static inline void vm_normal_pair(float &u, float &v) {
  const float radius = __builtin_sqrtf(-2.0f * __builtin_logf(1.0f - u)), angle = 6.283185307179586f * v;
  __builtin_sincosf(angle, &v, &u);
  u = 0.0f + radius * u;
  v = 0.0f + radius * v;
}
static inline void vm_normal_pair(double &u, double &v) {
  const double radius = __builtin_sqrt(-2.0 * __builtin_log(1.0 - u)), angle = 6.283185307179586476925 * v;
  __builtin_sincos(angle, &v, &u);
  u = 0.0 + radius * u;
  v = 0.0 + radius * v;
}
template <class V> static __attribute__((noinline)) V vm_normal_pairs(V x) {
  auto lane = x[0];
  decltype(lane) r[vm_lanes<V>];
  __builtin_memcpy(r, &x, sizeof x);
  for (int k = 0; k < vm_lanes<V>; k += 2) vm_normal_pair(r[k], r[k + 1]);
  __builtin_memcpy(&x, r, sizeof x);
  return x;
}
template <class V, class E> WEFT_INLINE V vm_normal(unsigned long seed, unsigned long first, E element) {
  V u = vm_uniform<V>(seed, first, element & ~1), v = vm_uniform<V>(seed, first, element | 1);
  for (int k = 0; k < vm_lanes<V>; k++) {
    auto a = u[k], b = v[k];
    vm_normal_pair(a, b);
    u[k] = element[k] & 1 ? b : a;
  }
  return u;
}
template <class V, class S> WEFT_INLINE V vm_normal_run(S &&source, unsigned long seed, unsigned long first, long element) {
  if (__builtin_expect(element & 1, 0)) return vm_normal<V>(seed, first, vm_order_in<V>::template of<vm_like<V, unsigned long>>() + element);
  return vm_normal_pairs(vm_uniform_run<V>(source, seed, first, element));
}

//@ random_below: philox
// Integers of [0, range), range at most 2^32: the upper half of the product with 32 bits. V: of long.
template <class V, class E> WEFT_INLINE V vm_random_below(unsigned long seed, unsigned long first, unsigned long range, E element) {
  typedef vm_like<V, unsigned> U;
  return (V)(__builtin_convertvector(vm_philox<U>(seed, first, element), vm_like<V, unsigned long>) * range >> 32);
}
template <class V, class S>
WEFT_INLINE V vm_random_below_run(S &&source, unsigned long seed, unsigned long first, unsigned long range, long element) {
  typedef vm_like<V, unsigned> U;
  return (V)(__builtin_convertvector(vm_philox_run<U>(source, seed, first, element), vm_like<V, unsigned long>) * range >> 32);
}
