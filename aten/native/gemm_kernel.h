// gemm_kernel.h: the matrix product of gemm.h for one instruction set and one type of sums, in registers and in caches.
//
// A tile of `mr` rows and `nv` vectors of columns stays in registers over one chunk of k. For it, b is copied ("packed")
// into panels of nr columns, nr elements for each k, and a into panels of mr rows; copying converts or computes the
// elements. A task is some rows of a block of columns: packed b of one chunk fills part of the second-level cache, a
// panel of a the first.
#ifndef WEFT_GEMM_KERNEL_H
#define WEFT_GEMM_KERNEL_H

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
// are brought near: memory that packing reads soon, and that the processor's own prefetching of long runs misses.
struct Ahead {
  const char *at;
  i64 step;
};
template <typename T> using Micro = void (*)(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add, Ahead ahead);

template <typename T, int MR, int NV, bool BY_K>
void micro(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add, Ahead ahead) {
  Vec<T> sum[MR][NV] = {};
  for (i64 k = 0; k < kc; k++) {
    Vec<T> bk[NV];
    WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) bk[j] = *(const VecU<T> *)(b + j * lanes<T>);
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

// --------------------------------------------------------------------------------------------- packing
// All take the address of the panel's first element. `whole`: how many elements exist from there along the contiguous
// direction, so may be read. What a panel has beyond `rows` or `cols` is zero: never stored, only fast.

// a, k contiguous: mr rows, panel_stride apart.
template <typename T, typename S>
void pack_rows(const S *a, i64 row_stride, i64 rows, i64 kc, i64 whole, T *to) {
  for (i64 i = 0; i < rows; i++, a += row_stride, to += panel_stride<T>) {
    i64 k = 0;
    for (; k < kc && k + lanes<T> <= whole; k += lanes<T>) *(VecU<T> *)(to + k) = load(a + k, T());
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

// ---------------------------------------------------------------------------------------------- tiles
constexpr i64 max_panels = 16;

template <typename T> struct Plan {
  const WeftGemm *g;
  const WeftKernelRuntime *rt;
  i64 mr, nr, batch;             // rows and columns of a tile; product of the batch sizes
  i64 column_block, column_blocks, row_block, row_blocks; // a task: row_block rows of column_block columns
  i64 chunk;                     // of k
  bool direct;                   // whole panels of b are used where they are
  Micro<T> full, narrow;         // nr columns; one vector
  i64 b_size, a_size, c_size, bytes; // scratch memory of a task
};

// The tile and the tasks by shape: speed only, never the result.
template <typename T> Plan<T> plan_tiles(const WeftGemm &g, const WeftKernelRuntime *rt, i64 batch) {
  Plan<T> p = {};
  p.g = &g, p.rt = rt, p.batch = batch;
  p.mr = ceil_div(g.m, ceil_div(g.m, WEFT_GEMM_ROWS)); // as many tiles as of the largest, each as low as can be
  i64 nv = p.mr <= WEFT_GEMM_WIDE_ROWS && g.n > 2 * lanes<T> ? 4 : 2; // 8 chains and more hide the latency of an fma
  p.nr = nv * lanes<T>;
  p.full = choose_micro<T>(p.mr, nv, by_k(g.a));
  p.narrow = choose_micro<T>(p.mr, 1, by_k(g.a));
  p.chunk = chunk_length<T>(g.k);
  p.column_block = smaller(512 / (i64)sizeof(T) / p.nr * p.nr, ceil_div(g.n, p.nr) * p.nr);
  p.column_blocks = ceil_div(g.n, p.column_block);
  p.direct = !g.b.load && g.b.dtype == dtype_of<T> && g.b.col_stride == 1 && g.m <= 2 * WEFT_GEMM_ROWS;

  i64 tiles = ceil_div(g.m, p.mr), threads = rt->num_threads, others = p.column_blocks * batch;
  i64 blocks = ceil_div(tiles * p.mr, 280); // packing b for so many rows costs little; sums of 280 x 128 take 140 KB
  while (threads > 1 && blocks < tiles && blocks * others < 4 * threads && blocks * others % threads) blocks++;
  p.row_block = ceil_div(tiles, blocks) * p.mr;
  p.row_blocks = ceil_div(g.m, p.row_block);

  i64 kc = p.chunk < 1 ? 1 : p.chunk;
  p.b_size = ceil_div(kc * p.column_block + 64, 64) * 64;
  p.a_size = ceil_div(p.mr * panel_stride<T> + 64, 64) * 64;
  p.c_size = ceil_div((p.chunk >= g.k ? p.mr : p.row_block) * p.column_block + 64, 64) * 64;
  p.bytes = (p.b_size + p.a_size + p.c_size + (g.b.load ? lanes<T> * panel_stride<T> + 64 : 0)) * (i64)sizeof(T);
  return p;
}

// The columns [col, col + cols) of one chunk of b, panel by panel.
template <typename T> struct Panels {
  const T *at[max_panels];
  i64 ld[max_panels], width[max_panels], count;
};

template <typename T>
void pack_panels(const Plan<T> &p, i64 batch, i64 k0, i64 kc, i64 col, i64 cols, T *to, T *spare, Panels<T> &panels) {
  const WeftGemm &g = *p.g;
  panels.count = 0;
  for (i64 j = 0; j < cols; j += p.nr, to += kc * p.nr) {
    i64 width = smaller(cols - j, p.nr), n = panels.count++;
    panels.width[n] = width <= lanes<T> ? lanes<T> : p.nr;
    if (p.direct && width == panels.width[n]) {
      panels.at[n] = element<T>(g, g.b, batch, k0, col + j);
      panels.ld[n] = g.b.row_stride;
    } else {
      panels.at[n] = to;
      panels.ld[n] = panels.width[n];
      pack_b(g, batch, k0, kc, col + j, width, panels.width[n], to, spare);
    }
  }
}

// What the micro-kernels of one block of columns bring near: the panels of b that are packed after it.
template <typename T> struct Stream {
  const char *next = nullptr;
  i64 step = 0, width = 0, left = 0; // between ks and panels, in bytes; panels

  Stream(const Plan<T> &p, i64 batch, i64 k0, i64 col) {
    const WeftGemm &g = *p.g;
    if (g.b.load || g.b.col_stride != 1 || batch >= p.batch) return;
    i64 size = g.b.dtype == WEFT_FLOAT64 ? 8 : g.b.dtype == WEFT_FLOAT32 ? 4 : 2;
    next = (const char *)g.b.data + size * (element<char>(g, g.b, batch, k0, col) - (const char *)g.b.data);
    step = g.b.row_stride * size, width = p.nr * size, left = ceil_div(smaller(g.n - col, p.column_block), p.nr);
  }
  Ahead take(Ahead otherwise) {
    if (left == 0) return otherwise;
    Ahead ahead = {next, step};
    next += width, left--;
    return ahead;
  }
};

template <typename T> void do_tiles(void *context, i64 begin, i64 end, i64 worker) {
  const Plan<T> &p = *(const Plan<T> *)context;
  const WeftGemm &g = *p.g;
  T *b_scratch = (T *)p.rt->scratch(worker, p.bytes), *a = b_scratch + p.b_size, *c = a + p.a_size, *spare = c + p.c_size;
  Panels<T> panels = {};
  bool one_chunk = p.chunk >= g.k;
  i64 packed = -1; // the block of columns in `panels`, when a chunk is all of k
  for (i64 task = begin; task < end; task++) { // rows vary fastest, then columns, then the batch
    i64 columns = task / p.row_blocks, batch = columns / p.column_blocks;
    i64 row0 = task % p.row_blocks * p.row_block, rows = smaller(g.m - row0, p.row_block);
    i64 col = columns % p.column_blocks * p.column_block, cols = smaller(g.n - col, p.column_block);
    i64 k0 = 0;
    do { // once for k = 0: the sums are zero
      i64 kc = smaller(g.k - k0, p.chunk);
      if (packed != columns) pack_panels(p, batch, k0, kc, col, cols, b_scratch, spare, panels);
      packed = one_chunk ? columns : -1;
      bool last = k0 + kc >= g.k;
      i64 after = columns + (last && (task + 1) % p.row_blocks == 0);
      Stream<T> stream(p, after / p.column_blocks, last ? 0 : k0 + kc, after % p.column_blocks * p.column_block);
      if (last && after == columns && one_chunk) stream.left = 0; // is packed already
      for (i64 i = 0; i < rows; i += p.mr) {
        i64 height = smaller(rows - i, p.mr);
        T *tile = one_chunk ? c : c + i * p.column_block;
        pack_a(g, p.mr, batch, row0 + i, height, k0, kc, a);
        for (i64 j = 0; j < panels.count; j++) {
          Ahead own = {(const char *)panels.at[j], panels.ld[j] * (i64)sizeof(T)};
          (panels.width[j] == p.nr ? p.full : p.narrow)(kc, a, panels.at[j], panels.ld[j], tile + j * p.nr,
                                                        p.column_block, k0 > 0, stream.take(own));
        }
        if (last) g.store(g.store_env, batch, row0 + i, height, col, cols, tile, p.column_block);
      }
      k0 += kc;
    } while (k0 < g.k);
  }
}

// ---------------------------------------------------------------------------- one row: bound by memory
// sum[j] = sum over k of a[k] * b[k, j], columns of b contiguous: b is read once, row by row, and not packed. The order
// of k is that of tiles. `part` holds a chunk's sums.
template <typename T, typename S>
void row_times(const T *a, const S *b, i64 k_stride, i64 k, i64 cols, T *sum, T *part) {
  constexpr int R = 8; // rows of b at a time, so that `part` is read and written seldom
  i64 chunk = chunk_length<T>(k), whole = cols / lanes<T> * lanes<T>, rest = cols - whole;
  memset(sum, 0, cols * sizeof(T));
  for (i64 k0 = 0; k0 < k; k0 += chunk) {
    i64 end = smaller(k0 + chunk, k), i = k0;
    memset(part, 0, cols * sizeof(T));
    for (; i + R <= end; i += R) {
      const S *p = b + i * k_stride;
      Vec<T> x[R];
      WEFT_GEMM_UNROLL for (int r = 0; r < R; r++) x[r] = splat<T>(a[i + r]);
      for (i64 j = 0; j < whole; j += lanes<T>) {
        Vec<T> s = *(VecU<T> *)(part + j);
        WEFT_GEMM_UNROLL for (int r = 0; r < R; r++) s = fma(x[r], load(p + r * k_stride + j, T()), s);
        *(VecU<T> *)(part + j) = s;
      }
      if (rest) {
        Vec<T> s = load_part<T>(part + whole, rest);
        for (int r = 0; r < R; r++) s = fma(x[r], load_part<T>(p + r * k_stride + whole, rest), s);
        store_part(part + whole, s, rest);
      }
    }
    for (; i < end; i++) {
      const S *p = b + i * k_stride;
      Vec<T> x = splat<T>(a[i]);
      for (i64 j = 0; j < whole; j += lanes<T>) *(VecU<T> *)(part + j) = fma(x, load(p + j, T()), *(VecU<T> *)(part + j));
      if (rest) store_part(part + whole, fma(x, load_part<T>(p + whole, rest), load_part<T>(part + whole, rest)), rest);
    }
    for (i64 j = 0; j < cols; j++) sum[j] = k0 == 0 ? part[j] : sum[j] + part[j];
  }
}

// sum[r] = sum over k of a[k] * b[r, k] for R rows, k contiguous. Element k goes to chain k % 32 of 32 chains of fused
// multiply-adds; chains are then added in halves (l and l + 16, l and l + 8, ...).
template <typename T, typename S, int R> void dot_few(const T *a, const S *b, i64 row_stride, i64 k, T *sum) {
  constexpr int W = 32 / lanes<T>;
  Vec<T> s[R][W] = {};
  i64 i = 0;
  for (; i + 32 <= k; i += 32)
    WEFT_GEMM_UNROLL for (int w = 0; w < W; w++) {
      Vec<T> x = *(const VecU<T> *)(a + i + w * lanes<T>);
      WEFT_GEMM_UNROLL for (int r = 0; r < R; r++)
        s[r][w] = fma(x, load(b + r * row_stride + i + w * lanes<T>, T()), s[r][w]);
    }
  T lane[32];
  for (int r = 0; r < R; r++) {
    for (int w = 0; w < W; w++) *(VecU<T> *)(lane + w * lanes<T>) = s[r][w];
    for (i64 l = 0; l < k - i; l++)
      lane[l] = sizeof(T) == 4 ? __builtin_fmaf(a[i + l], one(b + r * row_stride + i + l, T()), lane[l])
                               : __builtin_fma(a[i + l], one(b + r * row_stride + i + l, T()), lane[l]);
    for (int half = 16; half; half /= 2)
      for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    sum[r] = lane[0];
  }
}

template <typename T, typename S> void dot_rows(const T *a, const S *b, i64 row_stride, i64 k, i64 rows, T *sum) {
  i64 j = 0;
  for (; j + 4 <= rows; j += 4) dot_few<T, S, 4>(a, b + j * row_stride, row_stride, k, sum + j);
  for (; j < rows; j++) dot_few<T, S, 1>(a, b + j * row_stride, row_stride, k, sum + j);
}

// One row (or with `swapped` one column: the transposed product) of result.
template <typename T> struct VectorPlan {
  const WeftGemm *g;
  const WeftKernelRuntime *rt;
  bool swapped;
  i64 n, block, blocks;          // elements of the result, in a task, tasks
};
constexpr i64 vector_block = 1024;

template <typename T> void load_vector(const WeftGemm &g, bool swapped, i64 batch, T *to) {
  const WeftGemmOperand &v = swapped ? g.b : g.a;
  if (v.load) return !v.along_rows == !swapped ? v.load(g.load_env, batch, 0, 0, 1, g.k, to, g.k)
                                             : v.load(g.load_env, batch, 0, 0, g.k, 1, to, 1);
  with_type<T>(v.dtype, [&](auto type) {
    auto *p = element<decltype(type)>(g, v, batch, 0, 0);
    i64 stride = swapped ? v.row_stride : v.col_stride;
    for (i64 k = 0; k < g.k; k++) to[k] = one(p + k * stride, T());
  });
}

template <typename T> void do_vector(void *context, i64 begin, i64 end, i64 worker) {
  const VectorPlan<T> &p = *(const VectorPlan<T> *)context;
  const WeftGemm &g = *p.g;
  T *sum = (T *)p.rt->scratch(worker, (g.k + 2 * vector_block + 64) * (i64)sizeof(T)), *part = sum + vector_block + 16;
  T *vector = part + vector_block;
  const WeftGemmOperand &matrix = p.swapped ? g.a : g.b;
  i64 along_k = p.swapped ? matrix.col_stride : matrix.row_stride, along_n = p.swapped ? matrix.row_stride : matrix.col_stride;
  i64 last = -1;
  for (i64 task = begin; task < end; task++) {
    i64 batch = task / p.blocks, j = task % p.blocks * p.block, n = smaller(p.n - j, p.block);
    if (batch != last) load_vector<T>(g, p.swapped, batch, vector);
    last = batch;
    with_type<T>(matrix.dtype, [&](auto type) {
      typedef decltype(type) S;
      const S *m = element<S>(g, matrix, batch, p.swapped ? j : 0, p.swapped ? 0 : j);
      if (along_n == 1) return row_times<T>(vector, m, along_k, g.k, n, sum, part);
      return dot_rows<T>(vector, m, along_n, g.k, n, sum);
    });
    if (p.swapped) g.store(g.store_env, batch, j, n, 0, 1, sum, 1);
    else g.store(g.store_env, batch, 0, 1, j, n, sum, 0);
  }
}

template <typename T> void run_vector(const WeftGemm &g, const WeftKernelRuntime *rt, i64 batch, bool swapped) {
  i64 n = swapped ? g.m : g.n, threads = rt->num_threads;
  i64 blocks = ceil_div(n, vector_block);
  if (batch * blocks % threads) blocks = ceil_div(blocks, threads) * threads;
  i64 block = ceil_div(ceil_div(n, blocks), 64) * 64;
  VectorPlan<T> p = {&g, rt, swapped, n, block, ceil_div(n, block)};
  i64 work = block * (g.k + 8), grain = work >= 100000 ? 1 : 100000 / work; // 400 KB of matrix: 15 us
  rt->parallel_for(p.blocks * batch, grain, do_vector<T>, &p);
}

// ---------------------------------------------------------------------------------------------- results
// The `store` of plain results; env is a WeftGemmOutput.
template <typename T, typename S>
void store_row(const WeftGemmOutput &o, S *to, const S *bias, i64 cols, const T *sums) {
  Vec<T> alpha = splat<T>(o.alpha), beta = splat<T>(o.beta);
  for (i64 j = 0; j < cols; j += lanes<T>) {
    i64 n = smaller(cols - j, lanes<T>);
    auto read = [&](const S *p) { return n == lanes<T> ? load(p, T()) : load_part<T>(p, n); };
    Vec<T> v = *(const VecU<T> *)(sums + j);
    if (o.alpha != 1) v *= alpha;
    if (bias) v += read(bias + j);
    if (o.beta != 0) v += beta * read(to + j);
    if (n == lanes<T>) store(to + j, v);
    else store_part(to + j, v, n);
  }
}

template <typename T>
void store_plain(const void *env, i64 batch, i64 row, i64 rows, i64 col, i64 cols, const void *from, i64 ld) {
  const WeftGemmOutput &o = *(const WeftGemmOutput *)env;
  const T *sums = (const T *)from;
  with_type<T>(o.out.dtype, [&](auto type) {
    typedef decltype(type) S;
    S *to = (S *)element<S>(*o.gemm, o.out, batch, row, col);
    const S *bias = o.bias ? (const S *)o.bias + col : nullptr;
    for (i64 i = 0; i < rows; i++, to += o.out.row_stride, sums += ld) {
      if (o.out.col_stride == 1) {
        store_row<T, S>(o, to, bias, cols, sums);
      } else {
        for (i64 j = 0; j < cols; j++) store_row<T, S>(o, to + j * o.out.col_stride, bias ? bias + j : nullptr, 1, sums + j);
      }
    }
  });
}

// ---------------------------------------------------------------------------------------------- entry
template <typename T> long run(const WeftGemm *gemm, const WeftKernelRuntime *rt) {
  const WeftGemm &g = *gemm;
  i64 batch = 1;
  for (i64 d = 0; d < g.batch_ndim; d++) batch *= g.batch_sizes[d];
  if (g.m <= 0 || g.n <= 0 || batch <= 0) return 0;
  if (g.m == 1 && !g.b.load && (g.b.row_stride == 1 || g.b.col_stride == 1)) return run_vector<T>(g, rt, batch, false), 0;
  if (g.n == 1 && !g.a.load && (g.a.row_stride == 1 || g.a.col_stride == 1)) return run_vector<T>(g, rt, batch, true), 0;
  Plan<T> p = plan_tiles<T>(g, rt, batch);
  i64 work = p.row_block * p.column_block * (g.k + 8), grain = work >= 1000000 ? 1 : 1000000 / work; // 10 us a range
  rt->parallel_for(p.row_blocks * p.column_blocks * batch, grain, do_tiles<T>, &p);
  return 0;
}

} // namespace
} // namespace weft_gemm
#endif
