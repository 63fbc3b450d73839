// folds.h: how registers of partial results become one number a row: sums, products and extremes of lanes in the fixed order
// of kernels.h, and those of as many rows as a register has lanes at once.
#ifndef WEFT_ISA_FOLDS_H
#define WEFT_ISA_FOLDS_H

#include <utility>

#include "vectors.h"

namespace {

constexpr int kWidth = 64;        // 16 virtual lanes x 4 accumulators: item i of a chunk goes to accumulator i % 64
constexpr int kPrefetch = 2048;   // bytes read ahead: past the page that the processor's own prefetch ends at

// The registers that hold the 64 accumulators of a lane type.
template <class D> constexpr int kRegisters = kWidth / D::kLanes;

// The greater (less) lane by one instruction; a NaN in `x` is skipped, so that who wants it looks with `unordered`.
#ifdef __AVX512F__
inline f32x16 greater(f32x16 x, f32x16 best) { return __builtin_ia32_maxps512_mask(x, best, best, -1, 4); }
inline f64x8 greater(f64x8 x, f64x8 best) { return __builtin_ia32_maxpd512_mask(x, best, best, -1, 4); }
inline f32x16 less(f32x16 x, f32x16 best) { return __builtin_ia32_minps512_mask(x, best, best, -1, 4); }
inline f64x8 less(f64x8 x, f64x8 best) { return __builtin_ia32_minpd512_mask(x, best, best, -1, 4); }
// Which lanes of one of two registers are NaN, as bits; and NaN put there.
template <class V> using Nans = unsigned;
inline unsigned unordered(f32x16 a, f32x16 b) { return (unsigned short)__builtin_ia32_cmpps512_mask(a, b, 3, -1, 4); }
inline unsigned unordered(f64x8 a, f64x8 b) { return (unsigned char)__builtin_ia32_cmppd512_mask(a, b, 3, -1, 4); }
inline f32x16 put_nan(f32x16 v, unsigned at) { return __builtin_ia32_blendmps_512_mask(v, f32x16{} + __builtin_nanf(""), at); }
inline f64x8 put_nan(f64x8 v, unsigned at) { return __builtin_ia32_blendmpd_512_mask(v, f64x8{} + __builtin_nan(""), at); }
#else
inline f32x8 greater(f32x8 x, f32x8 best) { return __builtin_ia32_maxps256(x, best); }
inline f64x4 greater(f64x4 x, f64x4 best) { return __builtin_ia32_maxpd256(x, best); }
inline f32x8 less(f32x8 x, f32x8 best) { return __builtin_ia32_minps256(x, best); }
inline f64x4 less(f64x4 x, f64x4 best) { return __builtin_ia32_minpd256(x, best); }
template <class V> using Nans = vm_mask<V>;
inline Nans<f32x8> unordered(f32x8 a, f32x8 b) { return (Nans<f32x8>)__builtin_ia32_cmpps256(a, b, 3); }
inline Nans<f64x4> unordered(f64x4 a, f64x4 b) { return (Nans<f64x4>)__builtin_ia32_cmppd256(a, b, 3); }
template <class V> inline V put_nan(V v, Nans<V> at) { return at ? V{} + __builtin_nanf("") : v; }
#endif

// A reduction of floats: `join` of two results (NaN if either is), `step` of the next value into an accumulator, which for
// extremes leaves NaN to `unordered`.
struct Sum {
  static constexpr bool watches = false;
  template <class L> static constexpr L start() { return 0; }
  template <class V> static inline V join(V a, V b) { return a + b; }
  template <class V> static inline V step(V acc, V x) { return acc + x; }
};
struct Prod {
  static constexpr bool watches = false;
  template <class L> static constexpr L start() { return 1; }
  template <class V> static inline V join(V a, V b) { return a * b; }
  template <class V> static inline V step(V acc, V x) { return acc * x; }
};
struct Max {
  static constexpr bool watches = true;
  template <class L> static constexpr L start() { return -(L)__builtin_inf(); }
  template <class V> static inline V join(V a, V b) { return vm_max(a, b); }
  template <class V> static inline V step(V acc, V x) { return greater(x, acc); }
};
struct Min {
  static constexpr bool watches = true;
  template <class L> static constexpr L start() { return (L)__builtin_inf(); }
  template <class V> static inline V join(V a, V b) { return vm_min(a, b); }
  template <class V> static inline V step(V acc, V x) { return less(x, acc); }
};

template <class Op, class L> inline L join1(L a, L b) {
  typedef Vec<L, 16 / sizeof(L)> V;
  return Op::join(V{} + a, V{} + b)[0];
}

// Groups of 2w lanes of x, then those of y, each cut in halves of w, which are joined.
template <class Op, int w, class V, int... i> inline V join_halves(V x, V y, std::integer_sequence<int, i...>) {
  return Op::join((V)__builtin_shufflevector(x, y, (i / w * 2 * w + i % w)...), (V)__builtin_shufflevector(x, y, (i / w * 2 * w + i % w + w)...));
}
// Lane r of the result is the join of all lanes of v[r], halves first.
template <class D, class Op> inline typename D::V fold_rows(typename D::V *v) {
  constexpr int n = D::kLanes;
  const auto lanes = std::make_integer_sequence<int, n>();
#pragma GCC unroll 16
  for (int r = 0; r < n / 2; r++) v[r] = join_halves<Op, n / 2>(v[2 * r], v[2 * r + 1], lanes);
#pragma GCC unroll 16
  for (int r = 0; r < n / 4; r++) v[r] = join_halves<Op, n / 4>(v[2 * r], v[2 * r + 1], lanes);
  if constexpr (n >= 8) {
#pragma GCC unroll 16
    for (int r = 0; r < n / 8; r++) v[r] = join_halves<Op, n / 8>(v[2 * r], v[2 * r + 1], lanes);
  }
  if constexpr (n >= 16) v[0] = join_halves<Op, 1>(v[0], v[1], lanes);
  return v[0];
}
// The join of all lanes of one register, in the same order.
template <class D, class Op> inline typename D::Lane fold(typename D::V v) {
  const auto lanes = std::make_integer_sequence<int, D::kLanes>();
  if constexpr (D::kLanes >= 16) v = join_halves<Op, 8>(v, v, lanes);
  if constexpr (D::kLanes >= 8) v = join_halves<Op, 4>(v, v, lanes);
  v = join_halves<Op, 2>(v, v, lanes);
  return join_halves<Op, 1>(v, v, lanes)[0];
}

// Lanes past the first m become zero.
template <class V, int... i> inline V only_lanes(V v, int64_t m, std::integer_sequence<int, i...>) {
  typedef vm_mask<V> I;
  return I{i...} < I{} + (decltype(I{}[0] + 0))m ? v : V{};
}
template <class D> inline typename D::V only(typename D::V v, int64_t m) {
  return only_lanes(v, m, std::make_integer_sequence<int, D::kLanes>());
}

// The accumulators joined to one register, halves first.
template <class Op, int registers, class V> inline V fold_registers(V *acc) {
#pragma GCC unroll 16
  for (int w = registers / 2; w > 0; w /= 2)
#pragma GCC unroll 16
    for (int r = 0; r < w; r++) acc[r] = Op::join(acc[r], acc[r + w]);
  return acc[0];
}

}  // namespace
#endif
