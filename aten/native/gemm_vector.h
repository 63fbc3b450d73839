// gemm_vector.h: products with one row or one column of result, bound by memory: the matrix is read once, not packed.
#ifndef WEFT_GEMM_VECTOR_H
#define WEFT_GEMM_VECTOR_H

#include "gemm_panel.h"

namespace weft_gemm {
namespace {

// As row_times below, for columns that fit a vector: the chunks are chains of their own, of which some are summed at a time.
template <typename T, typename S> void row_times_few(const T *a, const S *b, i64 k_stride, i64 k, i64 cols, T *sum) {
  constexpr int C = 8; // chunks at a time: as many as hide the latency of an fma
  const i64 chunk = chunk_length<T>(k);
  const i64 last_read = k_stride > 0 ? k - ceil_div(lanes<T> - cols, k_stride) : 0; // rows before it are read in whole vectors
  Vec<T> all = {};
  auto chain = [&](Vec<T> s, i64 from, i64 to) {
    i64 i = from;
    for (; i < to && i < last_read; i++) s = fma(splat<T>(a[i]), load(b + i * k_stride, T()), s);
    for (; i < to; i++) {
      const S *p = b + i * k_stride;
      s = fma(splat<T>(a[i]), cols == lanes<T> ? load(p, T()) : load_part<T>(p, cols), s);
    }
    return s;
  };
  i64 k0 = 0;
  for (; chunk && k0 + C * chunk <= last_read; k0 += C * chunk) {
    Vec<T> s[C] = {};
    for (i64 i = k0; i < k0 + chunk; i++) {
      WEFT_GEMM_UNROLL for (int c = 0; c < C; c++)
        s[c] = fma(splat<T>(a[i + c * chunk]), load(b + (i + c * chunk) * k_stride, T()), s[c]);
    }
    WEFT_GEMM_UNROLL for (int c = 0; c < C; c++) all = k0 == 0 && c == 0 ? s[0] : all + s[c];
  }
  for (; k0 < k; k0 += chunk) {
    const Vec<T> s = chain(Vec<T>{}, k0, smaller(k0 + chunk, k));
    all = k0 == 0 ? s : all + s;
  }
  *(VecU<T> *)sum = all; // `sum` has room for whole vectors
}

// sum[j] = sum over k of a[k] * b[k, j], columns of b contiguous: b is read once, row by row, and not packed. The order
// of k is that of tiles. `part` holds a chunk's sums.
template <typename T, typename S>
void row_times(const T *a, const S *b, i64 k_stride, i64 k, i64 cols, T *sum, T *part) {
  constexpr int R = 8; // rows of b at a time, so that `part` is read and written seldom
  if (cols <= lanes<T>) return row_times_few<T>(a, b, k_stride, k, cols, sum);
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

// sum[j] = sum over k of a[k] * b[j, k], k contiguous. Element k goes to chain k % 32 of 32 chains of fused
// multiply-adds; chains are then added in halves (l and l + 16, l and l + 8, ...), for a vector of rows at a time.
// `dot_few` leaves the sums of R rows as one vector each, after the halvings that whole vectors take part in.
template <typename T, typename S, int R> inline void dot_few(const T *a, const S *b, i64 row_stride, i64 k, Vec<T> *sums) {
  constexpr int W = 32 / lanes<T>;
  Vec<T> s[R][W] = {};
  i64 i = 0;
  for (; i + 32 <= k; i += 32)
    WEFT_GEMM_UNROLL for (int w = 0; w < W; w++) {
      Vec<T> x = *(const VecU<T> *)(a + i + w * lanes<T>);
      WEFT_GEMM_UNROLL for (int r = 0; r < R; r++)
        s[r][w] = fma(x, load(b + r * row_stride + i + w * lanes<T>, T()), s[r][w]);
    }
  WEFT_GEMM_UNROLL for (int w = 0; w < W; w++, i += lanes<T>) {
    if (i >= k) break;
    i64 n = k - i;
    Vec<T> x = n < lanes<T> ? load_part<T>(a + i, n) : load(a + i, T());
    WEFT_GEMM_UNROLL for (int r = 0; r < R; r++) {
      const S *p = b + r * row_stride + i;
      s[r][w] = fma(x, n < lanes<T> ? load_part<T>(p, n) : load(p, T()), s[r][w]);
    }
  }
  WEFT_GEMM_UNROLL for (int r = 0; r < R; r++) {
    WEFT_GEMM_UNROLL for (int half = W / 2; half; half /= 2)
      WEFT_GEMM_UNROLL for (int w = 0; w < half; w++) s[r][w] += s[r][w + half];
    sums[r] = s[r][0];
  }
}

// One sum a lane: those of the lanes of each of the vectors.
template <typename T> inline void add_lanes(Vec<T> *s, T *sum) {
  transpose<T>(s);
  WEFT_GEMM_UNROLL for (int half = (int)lanes<T> / 2; half; half /= 2)
    WEFT_GEMM_UNROLL for (int l = 0; l < half; l++) s[l] += s[l + half];
  *(VecU<T> *)sum = s[0];
}

// As many rows as a vector has lanes, of at most a vector each: `x` is all of a.
template <typename T, typename S> inline void dot_short(Vec<T> x, const S *b, i64 row_stride, i64 k, T *sum) {
  constexpr int L = lanes<T>;
  Vec<T> s[L];
  WEFT_GEMM_UNROLL for (int l = 0; l < L; l++) {
    const S *p = b + l * row_stride;
    s[l] = fma(x, k == L ? load(p, T()) : load_part<T>(p, k), Vec<T>{});
  }
  add_lanes<T>(s, sum);
}

template <typename T, typename S> void dot_rows(const T *a, const S *b, i64 row_stride, i64 k, i64 rows, T *sum) {
  constexpr int L = lanes<T>, R = 4;
  i64 j = 0;
  if (k <= L) {
    const Vec<T> x = k == L ? load(a, T()) : load_part<T>(a, k);
    for (; j + L <= rows; j += L, b += L * row_stride) dot_short<T, S>(x, b, row_stride, k, sum + j);
  }
  for (; j < rows; j += L, b += L * row_stride) { // `sum` has room for whole vectors
    Vec<T> s[L] = {};
    i64 n = smaller(L, rows - j), r = 0;
    for (; r + R <= n; r += R) dot_few<T, S, R>(a, b + r * row_stride, row_stride, k, s + r);
    for (; r < n; r++) dot_few<T, S, 1>(a, b + r * row_stride, row_stride, k, s + r);
    add_lanes<T>(s, sum + j);
  }
}

// Whether a product with one row or column is made of dot products. The order of a sum depends on which of the matrix' dims is the
// inner one, not on whether that has gaps: a tensor that compiled code keeps without them is summed as it is where it lies.
inline bool is_dot(i64 along_k, i64 along_n, i64 n) { return n == 1 || (along_n != 1 && (along_k == 1 || along_k < along_n)); }

// As dot_rows, of rows whose elements lie `step` apart: as many at a time as `room` is for are copied there.
inline i64 rows_in_room(i64 k) { return k <= 1024 ? 64 : 1 + 65536 / k; }
template <typename T, typename S>
void dot_gapped(const T *a, const S *b, i64 row_stride, i64 step, i64 k, i64 rows, T *sum, T *room) {
  const i64 most = rows_in_room(k);
  for (i64 j = 0; j < rows; j += most) {
    const i64 n = smaller(most, rows - j);
    for (i64 r = 0; r < n; r++)
      for (i64 i = 0; i < k; i++) room[r * k + i] = one(b + (j + r) * row_stride + i * step, T());
    dot_rows<T, T>(a, room, k, k, n, sum + j);
  }
}

// One row (or with `swapped` one column: the transposed product) of result.
template <typename T> struct VectorPlan {
  const WeftGemm *g;
  const WeftKernelRuntime *rt;
  bool swapped;
  i64 n, block, blocks;          // elements of the result, in a task, tasks
};
constexpr i64 vector_block = 1024;

// The vector, where it lies if it is of the type of the sums and has no gaps, else in `to`.
template <typename T> const T *load_vector(const WeftGemm &g, bool swapped, i64 batch, T *to) {
  const WeftGemmOperand &v = swapped ? g.b : g.a;
  if (v.load) {
    if (!v.along_rows == !swapped) v.load(g.load_env, batch, 0, 0, 1, g.k, to, g.k);
    else v.load(g.load_env, batch, 0, 0, g.k, 1, to, 1);
    return to;
  }
  const T *lies = nullptr;
  with_type<T>(v.dtype, [&](auto type) {
    auto *p = element<decltype(type)>(g, v, batch, 0, 0);
    i64 stride = swapped ? v.row_stride : v.col_stride;
    if constexpr (sizeof(type) == sizeof(T))
      if (stride == 1) return (void)(lies = (const T *)p);
    for (i64 k = 0; k < g.k; k++) to[k] = one(p + k * stride, T());
  });
  return lies ? lies : to;
}

template <typename T> void do_vector(void *context, i64 begin, i64 end, i64 worker) {
  const VectorPlan<T> &p = *(const VectorPlan<T> *)context;
  const WeftGemm &g = *p.g;
  const WeftGemmOperand &matrix = p.swapped ? g.a : g.b;
  i64 along_k = p.swapped ? matrix.col_stride : matrix.row_stride, along_n = p.swapped ? matrix.row_stride : matrix.col_stride;
  const bool dot = is_dot(along_k, along_n, p.n), gapped = dot && along_k != 1;
  const i64 copied = gapped ? smaller(rows_in_room(g.k), p.block) * g.k : 0;
  T *sum = (T *)p.rt->scratch(worker, (g.k + copied + 2 * vector_block + 64) * (i64)sizeof(T)), *part = sum + vector_block + 16;
  T *const room = part + vector_block, *const rows = room + g.k + 16;
  const T *vector = room;
  i64 last = -1;
  for (i64 task = begin; task < end; task++) {
    i64 batch = task / p.blocks, j = task % p.blocks * p.block, n = smaller(p.n - j, p.block);
    if (batch != last) vector = load_vector<T>(g, p.swapped, batch, room);
    last = batch;
    with_type<T>(matrix.dtype, [&](auto type) {
      typedef decltype(type) S;
      const S *m = element<S>(g, matrix, batch, p.swapped ? j : 0, p.swapped ? 0 : j);
      if (!dot) return row_times<T>(vector, m, along_k, g.k, n, sum, part);
      if (gapped) return dot_gapped<T>(vector, m, along_n, along_k, g.k, n, sum, rows);
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

} // namespace
} // namespace weft_gemm
#endif
