// gemm_pairs.h: bfloat16 matrices as matrices of pairs: two neighbours along k are one 32-bit element, so that a product has the shape of a
// float product with half of k, and plan, packing and tasks are those of gemm_kernel.h.
#ifndef WEFT_GEMM_PAIRS_H
#define WEFT_GEMM_PAIRS_H

#include "gemm_kernel.h"

#ifdef __AVX512F__
namespace weft_gemm {
namespace {

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

// `load` of a as lines along k: those of a row after the other.
void load_a_lines(const void *env, long batch, long row, long col, long lines, long length, void *to, long ld) {
  typedef unsigned W __attribute__((vector_size(64)));
  typedef unsigned short HU __attribute__((vector_size(32), aligned(2), may_alias));
  const WeftGemm &g = *(const WeftGemm *)env;
  const bfloat16 *p = element<bfloat16>(g, g.a, batch, row, 0);
  const i64 k_stride = g.a.col_stride, stride = g.a.row_stride;
  unsigned *pairs = (unsigned *)to;
  for (i64 l = 0; l < length; l += 16) {
    const i64 some = smaller(16, length - l);
    if (stride == 1 && lines <= 16 && row + 16 <= g.m) {
      Vec<float> v[16] = {};
      for (i64 i = 0; i < some; i++) {
        const bfloat16 *low = p + 2 * (col + l + i) * k_stride;
        W x = __builtin_convertvector(*(const HU *)low, W);
        if (2 * (col + l + i) + 1 < g.k) x |= __builtin_convertvector(*(const HU *)(low + k_stride), W) << 16;
        v[i] = (Vec<float>)x;
      }
      transpose<float>(v);
      for (i64 i = 0; i < lines; i++) *(VecU<float> *)(pairs + i * ld + l) = v[i];
      continue;
    }
    for (i64 i = 0; i < lines; i++)
      for (i64 n = l; n < l + some; n++) {
        const bfloat16 *low = p + i * stride + 2 * (col + n) * k_stride;
        pairs[i * ld + n] = low->bits | (2 * (col + n) + 1 < g.k ? (unsigned)low[k_stride].bits << 16 : 0);
      }
  }
}

// The operand as a matrix of pairs where its neighbours along k are pairs in memory; else computed by `join`.
WeftGemmOperand pairs_of(const WeftGemm &g, const WeftGemmOperand &o, i64 k_stride, i64 stride, bool is_a, bool lines) {
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
  result.load = !is_a ? load_b : lines ? load_a_lines : load_a;
  result.along_rows = is_a && !lines; // lines are pairs of k; a line runs along rows of a, columns of b
  return result;
}

// `lines`: the tiles take panels of a by rows only.
long run_pairs(const WeftGemm *gemm, const WeftKernelRuntime *rt, const Tiles<float> &tiles, bool lines) {
  const WeftGemm &g = *gemm;
  if (g.m == 1 || g.n == 1 || g.a.load || g.b.load) return run<float>(gemm, rt); // bound by memory, or computed
  WeftGemm pairs = g;
  pairs.k = (g.k + 1) / 2;
  pairs.a = pairs_of(g, g.a, g.a.col_stride, g.a.row_stride, true, lines);
  pairs.b = pairs_of(g, g.b, g.b.row_stride, g.b.col_stride, false, lines);
  pairs.load_env = gemm;
  return run_tiles<float>(pairs, rt, tiles);
}

} // namespace
} // namespace weft_gemm
#endif

// The table's product of bfloat16; without AVX-512 there is none.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#ifdef __AVX512F__
#define WEFT_FILL_PAIRS(part, tiles, lines)                                                       \
  extern "C" void JOIN(weft_fill_gemm_##part##_, WEFT_ISA)(WeftGemmTable * table) {                \
    table->run_bfloat16 = [](const WeftGemm *gemm, const WeftKernelRuntime *rt) {                  \
      return weft_gemm::run_pairs(gemm, rt, weft_gemm::tiles, lines);                              \
    };                                                                                             \
  }
#else
#define WEFT_FILL_PAIRS(part, tiles, lines) \
  extern "C" void JOIN(weft_fill_gemm_##part##_, WEFT_ISA)(WeftGemmTable *) {}
#endif
#endif
