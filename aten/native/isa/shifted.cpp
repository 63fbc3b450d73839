// shifted.cpp: the loops of shifted.h.
#include "shifted.h"

#include "weft.h"
// after it
#include "gemm.h"
#include "gemm_simd.h"

namespace {

using weft_gemm::fma;
using weft_gemm::lanes;
using weft_gemm::splat;
using weft_gemm::Vec;
using weft_gemm::VecU;

template <class T, int height, int wide>
void tile(int64_t n, const void *weights, const void *base, const int64_t *offsets, void *out, int64_t ld, int add) {
  const T *w = (const T *)weights, *b = (const T *)base;
  T *to = (T *)out;
  Vec<T> sum[height][wide];
  WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
    WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) sum[i][j] = add ? (Vec<T>)*(const VecU<T> *)(to + i * ld + j * lanes<T>) : Vec<T>{};
  }
  for (int64_t k = 0; k < n; k++, w += height) {
    const T *row = b + offsets[k];
    Vec<T> x[wide];
    WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) x[j] = *(const VecU<T> *)(row + j * lanes<T>);
    WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
      const Vec<T> v = splat<T>(w[i]);
      WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) sum[i][j] = fma(v, x[j], sum[i][j]);
    }
  }
  WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
    WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) *(VecU<T> *)(to + i * ld + j * lanes<T>) = sum[i][j];
  }
}

// A sum of 64 bytes of lanes is one register, or two.
constexpr int kParts = 64 / WEFT_GEMM_BYTES;

template <class T> inline T folded(const Vec<T> *sum) {
  constexpr int all = kParts * (int)lanes<T>;
  T each[all];
  __builtin_memcpy(each, sum, sizeof each);
  for (int half = all / 2; half; half /= 2)
    for (int l = 0; l < half; l++) each[l] += each[l + half];
  return each[0];
}

template <class T, int height, int count>
void dots_block(int64_t n, const T *rows, int64_t row_stride, const T *base, const int64_t *offsets, T *sums, int64_t ld) {
  Vec<T> sum[height][count][kParts] = {};
  const T *at[count];
  WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) at[k] = base + offsets[k];
  for (int64_t j = 0; j < n; j += kParts * lanes<T>) {
    WEFT_GEMM_UNROLL for (int part = 0; part < kParts; part++) {
      const int64_t first = j + part * lanes<T>;
      Vec<T> g[height];
      WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) g[i] = *(const VecU<T> *)(rows + i * row_stride + first);
      WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) {
        const Vec<T> x = *(const VecU<T> *)(at[k] + first);
        WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) sum[i][k][part] = fma(g[i], x, sum[i][k][part]);
      }
    }
  }
  WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
    WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) sums[i * ld + k] += folded<T>(sum[i][k]);
  }
}

#ifdef __AVX512F__
constexpr int kRows = 4, kCount = 6;  // 24 registers of sums
#else
constexpr int kRows = 2, kCount = 3;  // 12
#endif

template <class T, int height>
void dots_of(int64_t n, int64_t count, const T *rows, int64_t row_stride, const T *base, const int64_t *offsets, T *sums, int64_t ld) {
  int64_t k = 0;
  for (; k + kCount <= count; k += kCount) dots_block<T, height, kCount>(n, rows, row_stride, base, offsets + k, sums + k, ld);
  for (; k + 3 <= count && kCount > 3; k += 3) dots_block<T, height, 3>(n, rows, row_stride, base, offsets + k, sums + k, ld);
  for (; k < count; k++) dots_block<T, height, 1>(n, rows, row_stride, base, offsets + k, sums + k, ld);
}

template <class T>
void dots(int64_t n, int64_t height, int64_t count, const void *rows, int64_t row_stride, const void *base, const int64_t *offsets, void *sums, int64_t ld) {
  const T *g = (const T *)rows, *b = (const T *)base;
  T *to = (T *)sums;
  int64_t i = 0;
  for (; i + kRows <= height; i += kRows) dots_of<T, kRows>(n, count, g + i * row_stride, row_stride, b, offsets, to + i * ld, ld);
  for (; i < height; i++) dots_of<T, 1>(n, count, g + i * row_stride, row_stride, b, offsets, to + i * ld, ld);
}

template <class T, int height, int wide> void put_tile(WeftShifted *s, int d) {
  s->tile[d][height] = tile<T, height, wide>;
  s->width[d][height] = wide * lanes<T>;
}
template <class T> void put(WeftShifted *s, int d) {
  put_tile<T, 1, 4>(s, d), put_tile<T, 2, 4>(s, d);
#ifdef __AVX512F__
  put_tile<T, 4, 4>(s, d), put_tile<T, 6, 4>(s, d), put_tile<T, 8, 2>(s, d), put_tile<T, 10, 2>(s, d), put_tile<T, 12, 2>(s, d);
#else
  put_tile<T, 4, 2>(s, d), put_tile<T, 6, 2>(s, d);
#endif
  s->dots[d] = dots<T>;
  s->dot_rows = kRows;
}

}  // namespace

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern "C" void JOIN(weft_fill_shifted_, WEFT_ISA)(WeftShifted *s) {
  *s = WeftShifted{};
  put<float>(s, 0);
  put<double>(s, 1);
}
