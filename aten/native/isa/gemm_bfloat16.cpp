// gemm_bfloat16.cpp: products of bfloat16 matrices by the processor's dot product of pairs, where it has one: only the register tile
// differs from that of floats (gemm_pairs.h).
#if defined(__AVX512F__) && !defined(__AVX512BF16__)
#pragma GCC target("avx512bf16")
#endif
#include "weft.h"

#include "gemm_pairs.h"

#ifdef __AVX512F__
namespace weft_gemm {
namespace {

typedef short Pairs __attribute__((vector_size(64)));

// `micro` of gemm_panel.h on pairs: c[i, j] (+)= sum over kc pairs.
template <int MR, int NV, bool BY_K>
void micro_pairs(i64 kc, const float *a, const float *b, i64 ldb, float *c, i64 ldc, bool add, Ahead ahead) {
  Vec<float> sum[MR][NV] = {};
  for (i64 k = 0; k < kc; k++) {
    Pairs bk[NV];
    WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) bk[j] = (Pairs)load(b + j * lanes<float>, 0.0f);
    WEFT_GEMM_UNROLL for (int i = 0; i < MR; i++) {
      Pairs x = (Pairs)splat(BY_K ? a[i] : a[i * panel_stride<float>]);
      WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) sum[i][j] = __builtin_ia32_dpbf16ps_v16sf(sum[i][j], x, bk[j]);
    }
    a += BY_K ? MR : 1;
    b += ldb;
    WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) __builtin_prefetch(ahead.at + j * 64, 0, 2);
    ahead.at += ahead.step;
  }
  WEFT_GEMM_UNROLL for (int i = 0; i < MR; i++) {
    WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) {
      float *p = c + i * ldc + j * lanes<float>;
      store(p, add ? load(p, 0.0f) + sum[i][j] : sum[i][j]);
    }
  }
}

template <int NV, bool BY_K, int MR> Micro<float> choose_pairs(i64 mr) {
  if constexpr (MR > 1)
    return mr == MR ? micro_pairs<MR, NV, BY_K> : choose_pairs<NV, BY_K, MR - 1>(mr);
  else
    return micro_pairs<1, NV, BY_K>;
}
Micro<float> choose_pairs(i64 mr, i64 nv, bool by_k) {
  constexpr int R = WEFT_GEMM_ROWS, W = WEFT_GEMM_WIDE_ROWS;
  if (nv == 4) return by_k ? choose_pairs<4, true, W>(mr) : choose_pairs<4, false, W>(mr);
  if (nv == 2) return by_k ? choose_pairs<2, true, R>(mr) : choose_pairs<2, false, R>(mr);
  return by_k ? choose_pairs<1, true, R>(mr) : choose_pairs<1, false, R>(mr);
}
constexpr Tiles<float> pairs_in_registers = {choose_pairs, WEFT_GEMM_ROWS, WEFT_GEMM_WIDE_ROWS, nullptr, nullptr};

} // namespace
} // namespace weft_gemm
#endif

WEFT_FILL_PAIRS(bfloat16, pairs_in_registers, false)
