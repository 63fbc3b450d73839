// gemm_bfloat16.cpp: products of bfloat16 matrices by the processor's dot product of pairs, where it has one.
//
// Two neighbours along k are one 32-bit element: a product of such pairs has the shape of a float product with half of
// k, so plan, packing and tasks are those of gemm_kernel.h; only the register tile differs.
#if defined(__AVX512F__) && !defined(__AVX512BF16__)
#pragma GCC target("avx512bf16")
#endif
#include "weft.h"

#include "gemm_kernel.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

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

// Writes lines of pairs: pair l of line i is elements (2 * (k0 + i), + 1) along k of row (or column) first + l.
void join_pairs(const bfloat16 *p, i64 k_stride, i64 stride, i64 k0, i64 k, i64 lines, i64 length, unsigned *to, i64 ld) {
  typedef unsigned W __attribute__((vector_size(64)));
  typedef unsigned WU __attribute__((vector_size(64), aligned(4), may_alias));
  typedef unsigned short HU __attribute__((vector_size(32), aligned(2), may_alias));
  for (i64 i = 0; i < lines; i++, to += ld) {
    const bfloat16 *low = p + 2 * (k0 + i) * k_stride, *high = low + k_stride;
    bool both = 2 * (k0 + i) + 1 < k; // an odd k ends with half a pair: the other half is zero, in both operands
    i64 l = 0;
    if (stride == 1 && both)
      for (; l + 16 <= length; l += 16)
        *(WU *)(to + l) = __builtin_convertvector(*(const HU *)(low + l), W) |
                          __builtin_convertvector(*(const HU *)(high + l), W) << 16;
    for (; l < length; l++)
      to[l] = low[l * stride].bits | (both ? (unsigned)high[l * stride].bits << 16 : 0);
  }
}

// WeftGemmOperand.load of the product of pairs; env: the product of bfloat16s.
void load_a(const void *env, long batch, long row, long col, long lines, long length, void *to, long ld) {
  const WeftGemm &g = *(const WeftGemm *)env;
  join_pairs(element<bfloat16>(g, g.a, batch, row, 0), g.a.col_stride, g.a.row_stride, col, g.k, lines, length,
             (unsigned *)to, ld);
}
void load_b(const void *env, long batch, long row, long col, long lines, long length, void *to, long ld) {
  const WeftGemm &g = *(const WeftGemm *)env;
  join_pairs(element<bfloat16>(g, g.b, batch, 0, col), g.b.row_stride, g.b.col_stride, row, g.k, lines, length,
             (unsigned *)to, ld);
}

// The operand as a matrix of pairs where its neighbours along k are pairs in memory; else computed by `join`.
WeftGemmOperand pairs_of(const WeftGemm &g, const WeftGemmOperand &o, i64 k_stride, i64 stride, bool is_a) {
  WeftGemmOperand result = o;
  bool even = k_stride == 1 && g.k % 2 == 0 && stride % 2 == 0 && (i64)o.data % 4 == 0;
  for (i64 d = 0; d < g.batch_ndim; d++) {
    even = even && o.batch_strides[d] % 2 == 0;
    result.batch_strides[d] /= 2;
  }
  if (even) {
    result.dtype = WEFT_FLOAT32;
    (is_a ? result.row_stride : result.col_stride) /= 2;
    return result;
  }
  result.load = is_a ? load_a : load_b;
  result.along_rows = is_a; // lines are pairs of k; a line runs along rows of a, columns of b
  return result;
}

long run_bfloat16(const WeftGemm *gemm, const WeftKernelRuntime *rt) {
  const WeftGemm &g = *gemm;
  if (g.m == 1 || g.n == 1 || g.a.load || g.b.load) return run<float>(gemm, rt); // bound by memory, or computed
  WeftGemm pairs = g;
  pairs.k = (g.k + 1) / 2;
  pairs.a = pairs_of(g, g.a, g.a.col_stride, g.a.row_stride, true);
  pairs.b = pairs_of(g, g.b, g.b.row_stride, g.b.col_stride, false);
  pairs.load_env = gemm;
  return run_tiles<float>(pairs, rt, choose_pairs);
}

} // namespace
} // namespace weft_gemm
#endif

extern "C" void JOIN(weft_fill_gemm_bfloat16_, WEFT_ISA)(WeftGemmTable *table) {
#ifdef __AVX512F__
  table->run_bfloat16 = weft_gemm::run_bfloat16;
#else
  (void)table;
#endif
}
