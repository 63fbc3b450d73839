// gemm_panel.h: what a matrix product is made of: the register tile, and copying operands into panels for it.
#ifndef WEFT_GEMM_PANEL_H
#define WEFT_GEMM_PANEL_H

#include <string.h>

#include "gemm.h"
#include "gemm_simd.h"

#ifdef __AVX512F__
#define WEFT_GEMM_ROWS 14 // 14 x 2 accumulators, 2 of b, 1 of a: 31 of 32 registers
#define WEFT_GEMM_WIDE_ROWS 6 // with 4 vectors: 6 x 4 + 4 + 1
#else
#define WEFT_GEMM_ROWS 6 // 6 x 2 accumulators, 2 of b, 1 of a: 15 of 16 registers
#define WEFT_GEMM_WIDE_ROWS 2
#endif

namespace weft_gemm {
namespace {

inline i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
inline i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

// A chunk of k: 14 rows of a (21 KB) stay in the first-level cache. Rows of a packed panel lie one line further apart,
// so that they do not fall on the same cache sets.
template <typename T> constexpr i64 max_chunk = 1536 / (i64)sizeof(T);
template <typename T> constexpr i64 panel_stride = max_chunk<T> + 64 / (i64)sizeof(T);

template <typename T> i64 chunk_length(i64 k) {
  if (k <= max_chunk<T>) return k;
  return ceil_div(ceil_div(k, ceil_div(k, max_chunk<T>)), 16) * 16;
}

// ------------------------------------------------------------------------------------------ micro-kernel
// c[i, j] (+)= sum over kc of a[i, k] * b[k, j] for a tile of MR x (NV vectors). a is a packed panel: rows
// panel_stride apart, or (BY_K) MR elements for each k. b: ldb elements from k to k + 1. For each k, NV lines at `ahead`
// are brought near: memory that packing reads soon, and that the processor's own prefetching of long runs misses. `Copying` also packs
// the panel of b that it reads: waiting for memory and computing go side by side.
struct Ahead {
  const char *at;
  i64 step;
};
template <typename T> using Micro = void (*)(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add, Ahead ahead);

template <typename T> using Copying = void (*)(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add, Ahead ahead, T *packed);

template <typename T, int MR, int NV, bool BY_K, bool COPY>
__attribute__((always_inline)) inline void tile(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add, Ahead ahead, T *packed) {
  Vec<T> sum[MR][NV] = {};
  for (i64 k = 0; k < kc; k++) {
    Vec<T> bk[NV];
    WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) {
      bk[j] = *(const VecU<T> *)(b + j * lanes<T>);
      if constexpr (COPY) *(VecU<T> *)(packed + j * lanes<T>) = bk[j];
    }
    if constexpr (COPY) packed += NV * lanes<T>;
    WEFT_GEMM_UNROLL for (int i = 0; i < MR; i++) {
      Vec<T> x = splat<T>(BY_K ? a[i] : a[i * panel_stride<T>]);
      WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) sum[i][j] = fma(x, bk[j], sum[i][j]);
    }
    a += BY_K ? MR : 1;
    b += ldb;
    WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) __builtin_prefetch(ahead.at + j * 64, 0, 2);
    ahead.at += ahead.step;
  }
  WEFT_GEMM_UNROLL for (int i = 0; i < MR; i++) {
    WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) {
      VecU<T> *p = (VecU<T> *)(c + i * ldc + j * lanes<T>);
      *p = add ? *p + sum[i][j] : sum[i][j];
    }
  }
}

template <typename T, int MR, int NV, bool BY_K>
void micro(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add, Ahead ahead) {
  tile<T, MR, NV, BY_K, false>(kc, a, b, ldb, c, ldc, add, ahead, nullptr);
}
template <typename T, int MR, bool BY_K>
void copying(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add, Ahead ahead, T *packed) {
  tile<T, MR, 2, BY_K, true>(kc, a, b, ldb, c, ldc, add, ahead, packed);
}

// The micro-kernel of mr <= ROWS rows.
template <typename T, int NV, bool BY_K, int MR> Micro<T> choose_micro(i64 mr) {
  if constexpr (MR > 1)
    return mr == MR ? micro<T, MR, NV, BY_K> : choose_micro<T, NV, BY_K, MR - 1>(mr);
  else
    return micro<T, 1, NV, BY_K>;
}
template <typename T> Micro<T> choose_micro(i64 mr, i64 nv, bool by_k) {
  constexpr int R = WEFT_GEMM_ROWS, W = WEFT_GEMM_WIDE_ROWS;
  if (nv == 4) return by_k ? choose_micro<T, 4, true, W>(mr) : choose_micro<T, 4, false, W>(mr);
  if (nv == 2) return by_k ? choose_micro<T, 2, true, R>(mr) : choose_micro<T, 2, false, R>(mr);
  return by_k ? choose_micro<T, 1, true, R>(mr) : choose_micro<T, 1, false, R>(mr);
}

// That of tiles of two vectors which packs, of mr rows as three tiles and more have them; NULL: there is none.
template <typename T, int MR> Copying<T> choose_copying(i64 mr, bool by_k) {
  if (mr == MR) return by_k ? copying<T, MR, true> : copying<T, MR, false>;
  if constexpr (3 * MR > 2 * WEFT_GEMM_ROWS + 3) return choose_copying<T, MR - 1>(mr, by_k);
  return nullptr;
}

// What tiles there are: at most `rows` high, up to `wide_rows` with four vectors of columns. What a thread does before it uses some of a
// height, and after it: or NULL.
template <typename T> struct Tiles {
  Micro<T> (*choose)(i64 mr, i64 nv, bool by_k);
  i64 rows, wide_rows;
  void (*enter)(i64 mr), (*leave)();
};
template <typename T> constexpr Tiles<T> in_registers = {choose_micro<T>, WEFT_GEMM_ROWS, WEFT_GEMM_WIDE_ROWS, nullptr, nullptr};

// --------------------------------------------------------------------------------------------- packing
// All take the address of the panel's first element. `whole`: how many elements exist from there along the contiguous
// direction, so may be read. What a panel has beyond `rows` or `cols` is zero: never stored, only fast.

// a, k contiguous: mr rows, panel_stride apart.
template <typename T, typename S>
void pack_rows(const S *a, i64 row_stride, i64 rows, i64 kc, i64 whole, T *to) {
  for (i64 i = 0; i < rows; i++, a += row_stride, to += panel_stride<T>) {
    i64 k = 0;
    for (; k < kc && k + lanes<T> <= whole; k += lanes<T>) {
      *(VecU<T> *)(to + k) = load(a + k, T());
      __builtin_prefetch(a + rows * row_stride + k, 0, 2); // the next panel's
    }
    if (k < kc) *(VecU<T> *)(to + k) = load_part<T>(a + k, kc - k);
  }
}

// a, rows contiguous: mr elements for each k. Writes up to a vector beyond the panel's end.
template <typename T, typename S>
void pack_by_k(const S *a, i64 k_stride, i64 rows, i64 mr, i64 kc, i64 whole, T *to) {
  if (rows == mr && ceil_div(mr, lanes<T>) * lanes<T> <= whole) {
    for (i64 k = 0; k < kc; k++, a += k_stride, to += mr)
      for (i64 i = 0; i < mr; i += lanes<T>) *(VecU<T> *)(to + i) = load(a + i, T());
    return;
  }
  for (i64 k = 0; k < kc; k++, a += k_stride, to += mr)
    for (i64 i = 0; i < mr; i++) to[i] = i < rows ? one(a + i, T()) : T();
}

// a with any strides, into the layout of pack_rows.
template <typename T, typename S>
void pack_rows_strided(const S *a, i64 row_stride, i64 k_stride, i64 rows, i64 kc, T *to) {
  for (i64 i = 0; i < rows; i++)
    for (i64 k = 0; k < kc; k++) to[i * panel_stride<T> + k] = one(a + i * row_stride + k * k_stride, T());
}

// b, columns contiguous: nr elements for each k.
template <typename T, typename S> void pack_columns(const S *b, i64 k_stride, i64 cols, i64 nr, i64 kc, T *to) {
  for (i64 k = 0; k < kc; k++, b += k_stride, to += nr) {
    i64 j = 0;
    for (; j + lanes<T> <= cols; j += lanes<T>) *(VecU<T> *)(to + j) = load(b + j, T());
    if (j < cols) *(VecU<T> *)(to + j) = load_part<T>(b + j, cols - j), j += lanes<T>;
    for (; j < nr; j += lanes<T>) *(VecU<T> *)(to + j) = Vec<T>{};
  }
}

// Whole panels side by side, kc x nr each: row by row, so that memory is read in long runs.
template <typename T, typename S> void pack_whole_panels(const S *b, i64 k_stride, i64 panels, i64 nr, i64 kc, T *to) {
  for (i64 k = 0; k < kc; k++, b += k_stride, to += nr)
    for (i64 n = 0; n < panels; n++)
      for (i64 j = 0; j < nr; j += lanes<T>) *(VecU<T> *)(to + n * kc * nr + j) = load(b + n * nr + j, T());
}

// One stage of a transposition in registers: exchanges the off-diagonal D x D blocks.
template <typename T, int D> inline void transpose_stage(Vec<T> *v) {
  typename Simd<T>::I low = {}, high = {};
  WEFT_GEMM_UNROLL for (int l = 0; l < lanes<T>; l++) {
    low[l] = l & D ? lanes<T> + l - D : l;
    high[l] = l & D ? lanes<T> + l : l + D;
  }
  WEFT_GEMM_UNROLL for (int i = 0; i < lanes<T>; i++)
    if (!(i & D)) {
      Vec<T> x = v[i], y = v[i + D];
      v[i] = __builtin_shuffle(x, y, low);
      v[i + D] = __builtin_shuffle(x, y, high);
    }
}
template <typename T> inline void transpose(Vec<T> *v) {
  transpose_stage<T, 1>(v);
  transpose_stage<T, 2>(v);
  if constexpr (lanes<T> > 4) transpose_stage<T, 4>(v);
  if constexpr (lanes<T> > 8) transpose_stage<T, 8>(v);
}

// A vector's width of columns of b, k contiguous (the weight of `linear`), through square blocks in registers.
template <typename T, typename S>
void pack_strip_by_k(const S *b, i64 column_stride, i64 cols, i64 nr, i64 kc, i64 whole, T *to) {
  for (i64 k = 0; k < kc; k += lanes<T>, to += lanes<T> * nr) {
    Vec<T> v[lanes<T>];
    const S *p = b + k;
    if (cols >= lanes<T> && k + lanes<T> <= whole) {
      WEFT_GEMM_UNROLL for (int l = 0; l < lanes<T>; l++) v[l] = load(p + l * column_stride, T());
    } else {
      for (int l = 0; l < lanes<T>; l++) {
        bool full = k + lanes<T> <= whole;
        v[l] = l >= cols ? Vec<T>{} : full ? load(p + l * column_stride, T()) : load_part<T>(p + l * column_stride, whole - k);
      }
    }
    transpose<T>(v);
    if (k + lanes<T> <= kc) {
      WEFT_GEMM_UNROLL for (int l = 0; l < lanes<T>; l++) *(VecU<T> *)(to + l * nr) = v[l];
    } else {
      for (int l = 0; l < kc - k; l++) *(VecU<T> *)(to + l * nr) = v[l];
    }
  }
}

template <typename T, typename S>
void pack_columns_strided(const S *b, i64 k_stride, i64 column_stride, i64 cols, i64 nr, i64 kc, T *to) {
  for (i64 k = 0; k < kc; k++)
    for (i64 j = 0; j < nr; j++) to[k * nr + j] = j < cols ? one(b + k * k_stride + j * column_stride, T()) : T();
}

// ------------------------------------------------------------------------------------------- operands
template <typename T, typename F> void with_type(i64 dtype, F f) { // f(a value of the operand's type)
  if constexpr (sizeof(T) == 8) {
    f(double());
  } else {
    if (dtype == WEFT_FLOAT32) return f(float());
    if (dtype == WEFT_BFLOAT16) return f(bfloat16());
    if (dtype == WEFT_FLOAT16) return f(float16());
  }
}

template <typename S> const S *element(const WeftGemm &g, const WeftGemmOperand &o, i64 batch, i64 row, i64 col) {
  i64 offset = row * o.row_stride + col * o.col_stride;
  for (i64 d = g.batch_ndim - 1; d >= 0; batch /= g.batch_sizes[d--])
    offset += batch % g.batch_sizes[d] * o.batch_strides[d];
  return (const S *)o.data + offset;
}

template <typename T> constexpr i64 dtype_of = sizeof(T) == 4 ? WEFT_FLOAT32 : WEFT_FLOAT64;

// How a is packed: rows for each k where rows are contiguous, or are computed along.
inline bool by_k(const WeftGemmOperand &a) { return a.load ? a.along_rows : a.row_stride == 1 && a.col_stride != 1; }

template <typename T>
void pack_a(const WeftGemm &g, i64 mr, i64 batch, i64 row, i64 rows, i64 k0, i64 kc, T *to) {
  const WeftGemmOperand &a = g.a;
  if (a.load && a.along_rows) {
    if (rows < mr) memset(to, 0, mr * kc * sizeof(T));
    return a.load(g.load_env, batch, row, k0, kc, rows, to, mr);
  }
  if (!by_k(a))
    for (i64 i = rows; i < mr; i++) memset(to + i * panel_stride<T>, 0, kc * sizeof(T));
  if (a.load) return a.load(g.load_env, batch, row, k0, rows, kc, to, panel_stride<T>);
  with_type<T>(a.dtype, [&](auto type) {
    auto *p = element<decltype(type)>(g, a, batch, row, k0);
    if (by_k(a)) return pack_by_k<T>(p, a.col_stride, rows, mr, kc, g.m - row, to);
    if (a.col_stride == 1) return pack_rows<T>(p, a.row_stride, rows, kc, g.k - k0, to);
    return pack_rows_strided<T>(p, a.row_stride, a.col_stride, rows, kc, to);
  });
}

// `spare` holds a vector's width of columns of a chunk, for computed elements that are to be transposed.
template <typename T>
void pack_b(const WeftGemm &g, i64 batch, i64 k0, i64 kc, i64 col, i64 cols, i64 nr, T *to, T *spare) {
  const WeftGemmOperand &b = g.b;
  if (b.load && !b.along_rows) {
    if (cols < nr) memset(to, 0, kc * nr * sizeof(T));
    return b.load(g.load_env, batch, k0, col, kc, cols, to, nr);
  }
  if (b.load) {
    for (i64 j = 0; j < nr; j += lanes<T>) {
      i64 width = cols - j < 0 ? 0 : smaller(cols - j, lanes<T>);
      b.load(g.load_env, batch, k0, col + j, width, kc, spare, panel_stride<T>);
      pack_strip_by_k<T>(spare, panel_stride<T>, width, nr, kc, kc, to + j);
    }
    return;
  }
  with_type<T>(b.dtype, [&](auto type) {
    auto *p = element<decltype(type)>(g, b, batch, k0, col);
    if (b.col_stride == 1) return pack_columns<T>(p, b.row_stride, cols, nr, kc, to);
    if (b.row_stride != 1) return pack_columns_strided<T>(p, b.row_stride, b.col_stride, cols, nr, kc, to);
    for (i64 j = 0; j < nr; j += lanes<T>)
      pack_strip_by_k<T>(p + j * b.col_stride, b.col_stride, cols - j, nr, kc, g.k - k0, to + j);
  });
}

} // namespace
} // namespace weft_gemm
#endif
