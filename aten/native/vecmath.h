// vecmath.h: the one definition of vector arithmetic that is not an operator of C++.
//
// Header-free: GCC vector types and builtins only. The eager kernels include this file; generated kernels paste the
// sections they use. A section starts with `//@ name: sections it needs` and ends at the next one. All functions are
// templates or overloads over vector types (never scalars), so that a value gives the same result at every position.
// What goes by double or by series of its own is in vecspecial.h, random numbers are in vecrandom.h.
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
  for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++) {
    if constexpr (sizeof(x[0]) == 4) r[i] = __builtin_fmaf(x[i], y[i], z[i]);
    else r[i] = __builtin_fma(x[i], y[i], z[i]);
  }
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

// Whether any lane of a mask is set: GCC takes the lanes of a loop out one by one.
template <class I> WEFT_INLINE bool vm_some(I m) {
#if defined(__AVX512F__) && !defined(__clang__)
  typedef int I16 __attribute__((vector_size(64)));
  if constexpr (sizeof(I) == 64) return __builtin_ia32_ptestmd512((I16)m, (I16)m, (unsigned short)-1) != 0;
#endif
#ifdef __AVX__
  typedef long long I4 __attribute__((vector_size(32)));
  if constexpr (sizeof(I) == 32) return !__builtin_ia32_ptestz256((I4)m, (I4)m);
#endif
  bool some = false;
  for (unsigned i = 0; i < sizeof(I) / sizeof(m[0]); i++) some |= m[i] != 0;
  return some;
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
// `a > b ? a : b` is one instruction, and b where either is NaN.
template <class F> WEFT_INLINE F vm_max(F x, F y) { return y != y ? y : y > x ? y : x; }
template <class F> WEFT_INLINE F vm_min(F x, F y) { return y != y ? y : y < x ? y : x; }
#ifdef __AVX512F__
WEFT_INLINE f32x16 vm_max(f32x16 x, f32x16 y) {
  return __builtin_ia32_maxps512_mask(y, x, y, __builtin_ia32_cmpps512_mask(y, y, 7, -1, 4), 4);
}
WEFT_INLINE f32x16 vm_min(f32x16 x, f32x16 y) {
  return __builtin_ia32_minps512_mask(y, x, y, __builtin_ia32_cmpps512_mask(y, y, 7, -1, 4), 4);
}
WEFT_INLINE f64x8 vm_max(f64x8 x, f64x8 y) {
  return __builtin_ia32_maxpd512_mask(y, x, y, __builtin_ia32_cmppd512_mask(y, y, 7, -1, 4), 4);
}
WEFT_INLINE f64x8 vm_min(f64x8 x, f64x8 y) {
  return __builtin_ia32_minpd512_mask(y, x, y, __builtin_ia32_cmppd512_mask(y, y, 7, -1, 4), 4);
}
#endif

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
template <class F> WEFT_INLINE F vm_sincos32_reduced(F x, vm_mask<F> phase) {  // sines where phase is 0, cosines where it is 1
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
  const F y = (quadrant & 1) != 0 ? b : a;
  return (quadrant & 2) != 0 ? -y : y;
}
template <int phase, class F> WEFT_INLINE F vm_sincos32(F x) {
  typedef vm_mask<F> I;
  F y = vm_sincos32_reduced(x, I{} + phase);
  if (phase == 0) y = x == 0.0f ? x : y;
  const I large = ~(vm_abs(x) <= 71476.0f);
  if (__builtin_expect(vm_some(large), 0))
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
  if (__builtin_expect(vm_some(other), 0))
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
