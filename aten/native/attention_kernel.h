// attention_kernel.h: attention.h for one instruction set, out of matrix products in cache (gemm_kernel.h).
//
// A task is a block of query rows of one head. Keys come in blocks; scores of a block are made row by row into weights
// while they are in the first-level cache, as the product stores them, and the next product takes them as its operand.
// A running maximum and sum make the softmax of many blocks (Milakov & Gimelshein 2018; Dao et al. 2022). The derivative
// makes the weights again: dS = P * (dP - sum(dO * O)).
#ifndef WEFT_ATTENTION_KERNEL_H
#define WEFT_ATTENTION_KERNEL_H

#include "attention.h"
#include "gemm_kernel.h"
#include "vecmath.h"

namespace weft_gemm {
namespace {

typedef Vec<float> F;
constexpr i64 L = lanes<float>;
constexpr i64 key_block = 128;   // one block of columns of a product: its rows are whole when they are stored
constexpr i64 row_block = 256;

inline F tail_or(F v, i64 n, float other) { // the first n lanes of v
  typedef Simd<float>::I I;
  I lane;
  WEFT_GEMM_UNROLL for (int l = 0; l < L; l++) lane[l] = l;
  return lane < (int)n ? v : splat(other);
}
// Lane 0 of v combined with the others, in halves: l and l + L/2, l and l + L/4, ...
template <int D> inline F upper_half(F v) {
  Simd<float>::I lane;
  WEFT_GEMM_UNROLL for (int l = 0; l < L; l++) lane[l] = l + D < L ? l + D : l;
  return __builtin_shuffle(v, lane);
}
inline float sum_lanes(F v) {
  if constexpr (L == 16) v += upper_half<8>(v);
  v += upper_half<4>(v);
  v += upper_half<2>(v);
  v += upper_half<1>(v);
  return v[0];
}
inline F larger(F a, F b) { return a > b ? a : b; }
inline float max_lanes(F v) {
  if constexpr (L == 16) v = larger(v, upper_half<8>(v));
  v = larger(v, upper_half<4>(v));
  v = larger(v, upper_half<2>(v));
  v = larger(v, upper_half<1>(v));
  return v[0];
}

struct Head { // one head: its operands, with the batch's offset applied
  const WeftAttention *t;
  WeftGemmOperand query, key, value, mask, out, grad_out, grad_query, grad_key, grad_value;

  static WeftGemmOperand at(const WeftAttention &t, WeftGemmOperand o, i64 batch) {
    if (!o.data) return o;
    i64 offset = 0;
    for (i64 d = t.batch_ndim - 1; d >= 0; batch /= t.batch_sizes[d--])
      offset += batch % t.batch_sizes[d] * o.batch_strides[d];
    o.data = (const char *)o.data + offset * (o.dtype == WEFT_BOOL ? 1 : item_size(o));
    return o;
  }
  Head(const WeftAttention &a, i64 batch)
      : t(&a), query(at(a, a.query, batch)), key(at(a, a.key, batch)), value(at(a, a.value, batch)),
        mask(at(a, a.mask, batch)), out(at(a, a.out, batch)), grad_out(at(a, a.grad_out, batch)),
        grad_query(at(a, a.grad_query, batch)), grad_key(at(a, a.grad_key, batch)),
        grad_value(at(a, a.grad_value, batch)) {}
};

inline WeftGemmOperand from(WeftGemmOperand o, i64 row, i64 col = 0) { // the matrix that starts at [row, col]
  if (o.data) o.data = (const char *)o.data + (row * o.row_stride + col * o.col_stride) * (o.dtype == WEFT_BOOL ? 1 : item_size(o));
  return o;
}
inline WeftGemmOperand transposed(WeftGemmOperand o) {
  i64 step = o.row_stride;
  o.row_stride = o.col_stride, o.col_stride = step;
  return o;
}
inline WeftGemmOperand rows_of(float *p, i64 stride) {
  WeftGemmOperand o = {};
  o.data = p, o.dtype = WEFT_FLOAT32, o.row_stride = stride, o.col_stride = 1;
  return o;
}

// ------------------------------------------------------------------------------ products inside a task
const WeftKernelRuntime one_thread = {nullptr, nullptr, 1, nullptr, nullptr};

inline WeftGemm product(i64 m, i64 n, i64 k, WeftGemmOperand a, WeftGemmOperand b) {
  WeftGemm g = {};
  g.m = m, g.n = n, g.k = k, g.a = a, g.b = b;
  return g;
}
inline i64 product_bytes(i64 m, i64 n, i64 k) {
  if (m <= 0 || n <= 0) return 0;
  return plan_tiles<float>(product(m, n, k, rows_of(nullptr, k), rows_of(nullptr, n)), &one_thread, 1, in_registers<float>).bytes;
}
inline void run_here(const WeftGemm &g, float *scratch) {
  if (g.m <= 0 || g.n <= 0) return;
  Plan<float> p = plan_tiles<float>(g, &one_thread, 1, in_registers<float>);
  Task<float> task(p, scratch);
  for (i64 i = 0; i < p.row_blocks * p.column_blocks; i++) task.run(i);
}
// out = a @ b, or with `add` out += a @ b
inline void multiply(i64 m, i64 n, i64 k, WeftGemmOperand a, WeftGemmOperand b, float *out, i64 ld, bool add, float *scratch) {
  WeftGemm g = product(m, n, k, a, b);
  WeftGemmOutput o = {&g, rows_of(out, ld), nullptr, 1, add ? 1.0 : 0.0};
  g.store = store_plain<float>, g.store_env = &o;
  run_here(g, scratch);
}
inline void copy_out(WeftGemmOperand to, const float *sums, i64 rows, i64 cols, i64 ld) {
  WeftGemm g = product(rows, cols, 0, {}, {});
  WeftGemmOutput o = {&g, to, nullptr, 1, 0};
  store_plain<float>(&o, 0, 0, rows, 0, cols, sums, ld);
}

// ------------------------------------------------------------------------------------------- softmax
struct Rows {                    // of a block of query rows
  float *weights;                // key_block apart: exp(score - top), and in the end the weights
  float *top, *total;            // largest score so far; sum of exp(score - top)
  float *sums;                   // of weights @ value so far, or NULL
  i64 sums_width;
};

struct Scores {                  // WeftGemm.store_env of q @ k^T
  const Head *head;
  Rows rows;
  i64 row0, key0;                // of the block in the head
  bool final;                    // top and total are final: give weights; else advance them
};

// Adds the mask of row `row` to `score`, n keys from `key` on.
inline void add_mask(const WeftGemmOperand &mask, i64 row, i64 key, i64 n, float *score) {
  if (mask.dtype == WEFT_BOOL) {
    const unsigned char *m = (const unsigned char *)mask.data + row * mask.row_stride + key * mask.col_stride;
    for (i64 j = 0; j < n; j++) score[j] = m[j * mask.col_stride] ? score[j] : -__builtin_inff();
    return;
  }
  with_type<float>(mask.dtype, [&](auto type) {
    const auto *m = (const decltype(type) *)mask.data + row * mask.row_stride + key * mask.col_stride;
    for (i64 j = 0; j < n; j++) score[j] += one(m + j * mask.col_stride, 0.0f);
  });
}

// exp(x) for x <= 0, and 0 below the normal range: a masked score must not cost what a denormal result costs.
inline F weight_of(F x) {
  F least = splat(-87.0f);
  F e = vm_exp32(x < least ? least : x);
  return x < least ? F{} : e;
}

// The running softmax takes one row of a block: scores become exp(score - top).
inline void advance_row(const Rows &rows, i64 i, i64 seen, float *w) {
  F top = splat(-__builtin_inff()), total = {}; // NaN scores are in no maximum, but in the sum
  for (i64 j = 0; j < seen; j += L) top = larger(*(const VecU<float> *)(w + j), top);
  float before = rows.top[i], now = max_lanes(top);
  now = now > before ? now : before;
  float base = now == -__builtin_inff() ? 0 : now;
  for (i64 j = 0; j < seen; j += L) {
    F e = weight_of(*(const VecU<float> *)(w + j) - splat(base));
    total += e;
    *(VecU<float> *)(w + j) = e;
  }
  float sum = sum_lanes(total);
  if (rows.total[i] != 0 && now != before) { // what is there so far counts for less
    float again = weight_of(splat(before - base))[0], *o = rows.sums + i * rows.sums_width;
    sum += rows.total[i] * again;
    for (i64 j = 0; rows.sums && j < rows.sums_width; j++) o[j] *= again;
  } else {
    sum += rows.total[i];
  }
  rows.total[i] = sum;
  rows.top[i] = now;
}

// The softmax of row i is known: scores become weights.
inline void finish_row(const Rows &rows, i64 i, i64 seen, float *w) {
  F base = splat(rows.top[i] == -__builtin_inff() ? 0.0f : rows.top[i]);
  F total = splat(rows.total[i] == 0 ? 1.0f : rows.total[i]);
  for (i64 j = 0; j < seen; j += L) *(VecU<float> *)(w + j) = weight_of(*(const VecU<float> *)(w + j) - base) / total;
}

// WeftGemm.store of q @ k^T: rows of sums become weights.
void store_scores(const void *env, i64, i64 row, i64 rows, i64, i64 cols, const void *from, i64 ld) {
  const Scores &s = *(const Scores *)env;
  F scale = splat((float)s.head->t->scale);
  for (i64 i = row; i < row + rows; i++) {
    const float *sums = (const float *)from + (i - row) * ld;
    float *w = s.rows.weights + i * key_block;
    i64 seen = s.head->t->causal ? smaller(cols, s.row0 + i - s.key0 + 1) : cols; // of this block's keys
    if (seen < 0) seen = 0;
    i64 j = 0;
    for (; j + L <= seen; j += L) *(VecU<float> *)(w + j) = *(const VecU<float> *)(sums + j) * scale;
    if (j < seen) *(VecU<float> *)(w + j) = tail_or(*(const VecU<float> *)(sums + j) * scale, seen - j, -__builtin_inff());
    if (s.head->mask.data) add_mask(s.head->mask, s.row0 + i, s.key0, seen, w);
    (s.final ? finish_row : advance_row)(s.rows, i, seen, w);
    for (j = ceil_div(seen, L) * L; j < cols; j += L) *(VecU<float> *)(w + j) = F{};
  }
}

inline void scores(const Head &h, Rows rows, i64 row0, i64 n_rows, i64 key0, i64 n_keys, bool final, float *scratch) {
  WeftGemm g = product(n_rows, n_keys, h.t->width, from(h.query, row0), transposed(from(h.key, key0)));
  Scores s = {&h, rows, row0, key0, final};
  g.store = store_scores, g.store_env = &s;
  run_here(g, scratch);
}

inline void start(Rows &rows, i64 n) {
  for (i64 i = 0; i < n; i++) rows.top[i] = -__builtin_inff(), rows.total[i] = 0;
}

// ------------------------------------------------------------------------------------------- forward
struct AttentionTasks {
  const WeftAttention *t;
  const WeftKernelRuntime *rt;
  i64 block, blocks;             // query rows in a task, tasks in a head
  i64 inner;                     // bytes of scratch for a product
};

// Scratch for the products of a task, of whole blocks and of the last ones: fewer rows may take other tiles, and more bytes.
inline i64 inner_bytes(const WeftAttention &t, i64 block) {
  const i64 rows[2] = {block, t.rows % block}, keys[2] = {smaller(t.keys, key_block), t.keys % key_block};
  i64 most = 0;
  for (i64 r : rows)
    for (i64 k : keys)
      for (i64 width : {t.width, t.value_width})
        for (i64 bytes : {product_bytes(r, k, width), product_bytes(r, width, k), product_bytes(k, width, r)})
          most = bytes > most ? bytes : most;
  return ceil_div(most, 64) * 64;
}

void attention_tasks(void *context, i64 begin, i64 end, i64 worker) {
  const AttentionTasks &tasks = *(const AttentionTasks *)context;
  const WeftAttention &t = *tasks.t;
  i64 width = t.value_width, room = tasks.block * (key_block + width + 2) + 64;
  char *memory = (char *)tasks.rt->scratch(worker, tasks.inner + room * 4);
  float *scratch = (float *)memory, *weights = (float *)(memory + tasks.inner), *sums = weights + tasks.block * key_block;
  Rows rows = {weights, sums + tasks.block * width, sums + tasks.block * (width + 1), sums, width};
  for (i64 task = begin; task < end; task++) {
    Head h(t, task / tasks.blocks);
    i64 row0 = task % tasks.blocks * tasks.block, n = smaller(t.rows - row0, tasks.block);
    start(rows, n);
    memset(sums, 0, n * width * sizeof(float));
    for (i64 key0 = 0; key0 < t.keys && (!t.causal || key0 < row0 + n); key0 += key_block) {
      i64 keys = smaller(t.keys - key0, key_block);
      scores(h, rows, row0, n, key0, keys, false, scratch);
      multiply(n, width, keys, rows_of(weights, key_block), from(h.value, key0), sums, width, key0 > 0, scratch);
    }
    for (i64 i = 0; i < n; i++) {
      float total = rows.total[i] == 0 ? 1.0f : rows.total[i];
      for (i64 j = 0; j < width; j++) sums[i * width + j] /= total;
    }
    copy_out(from(h.out, row0), sums, n, width, width);
  }
}

inline i64 heads_of(const WeftAttention &t) {
  i64 heads = 1;
  for (i64 d = 0; d < t.batch_ndim; d++) heads *= t.batch_sizes[d];
  return heads;
}

long attention(const WeftAttention *attention, const WeftKernelRuntime *rt) {
  const WeftAttention &t = *attention;
  i64 heads = heads_of(t);
  if (heads <= 0 || t.rows <= 0 || t.value_width <= 0) return 0;
  i64 blocks = ceil_div(t.rows, row_block), wanted = ceil_div(2 * rt->num_threads, heads);
  if (blocks < wanted) blocks = smaller(wanted, ceil_div(t.rows, 4 * WEFT_GEMM_ROWS));
  i64 block = ceil_div(t.rows, blocks);
  AttentionTasks tasks = {&t, rt, block, ceil_div(t.rows, block), inner_bytes(t, block)};
  i64 work = block * (t.keys + 1) * (t.width + t.value_width + 16);
  rt->parallel_for(heads * tasks.blocks, work >= 1000000 ? 1 : 1000000 / work, attention_tasks, &tasks);
  return 0;
}

// ---------------------------------------------------------------------------------------- derivative
struct ScoreGradients {          // WeftGemm.store_env of dO @ v^T
  const float *weights, *dots;   // P; sum(dO * O) of each row
  float *gradients;              // dS, key_block apart
  float scale;
};

void store_score_gradients(const void *env, i64, i64 row, i64 rows, i64, i64 cols, const void *from, i64 ld) {
  const ScoreGradients &s = *(const ScoreGradients *)env;
  for (i64 i = row; i < row + rows; i++) {
    const float *sums = (const float *)from + (i - row) * ld, *p = s.weights + i * key_block;
    float *to = s.gradients + i * key_block;
    F dot = splat(s.dots[i]), scale = splat(s.scale);
    for (i64 j = 0; j < cols; j += L)
      *(VecU<float> *)(to + j) = *(const VecU<float> *)(p + j) * (*(const VecU<float> *)(sums + j) - dot) * scale;
  }
}

// dots[i] = sum(grad_out[i] * out[i])
inline void row_dots(const Head &h, i64 row0, i64 n, float *dots) {
  with_type<float>(h.out.dtype, [&](auto type) {
    typedef decltype(type) S;
    for (i64 i = 0; i < n; i++) {
      const S *g = (const S *)h.grad_out.data + (row0 + i) * h.grad_out.row_stride;
      const S *o = (const S *)h.out.data + (row0 + i) * h.out.row_stride;
      F sum = {};
      i64 j = 0, width = h.t->value_width;
      if (h.grad_out.col_stride == 1 && h.out.col_stride == 1)
        for (; j + L <= width; j += L) sum += load(g + j, 0.0f) * load(o + j, 0.0f);
      for (; j < width; j++) sum[j % L] += one(g + j * h.grad_out.col_stride, 0.0f) * one(o + j * h.out.col_stride, 0.0f);
      dots[i] = sum_lanes(sum);
    }
  });
}

// The weights of a block. When its keys are all there are, nothing is known of the softmax before: top and total are made.
inline void block_weights(const Head &h, Rows rows, i64 row0, i64 n, i64 key0, i64 keys, float *scratch) {
  bool all = keys == h.t->keys;
  scores(h, rows, row0, n, key0, keys, !all, scratch);
  for (i64 i = 0; all && i < n; i++) {
    F total = splat(rows.total[i] == 0 ? 1.0f : rows.total[i]);
    float *w = rows.weights + i * key_block;
    for (i64 j = 0; j < keys; j += L) *(VecU<float> *)(w + j) = *(const VecU<float> *)(w + j) / total;
  }
}

void derivative_tasks(void *context, i64 begin, i64 end, i64 worker) {
  const AttentionTasks &tasks = *(const AttentionTasks *)context;
  const WeftAttention &t = *tasks.t;
  i64 e = t.width, v = t.value_width, block = tasks.block;
  i64 room = 2 * block * key_block + 3 * t.rows + t.rows * e + key_block * (e + v) + 64;
  char *memory = (char *)tasks.rt->scratch(worker, tasks.inner + room * 4);
  float *scratch = (float *)memory, *weights = (float *)(memory + tasks.inner), *gradients = weights + block * key_block;
  float *top = gradients + block * key_block, *total = top + t.rows, *dots = total + t.rows;
  float *dq = dots + t.rows, *dk = dq + t.rows * e, *dv = dk + key_block * e;
  for (i64 head = begin; head < end; head++) {
    Head h(t, head);
    row_dots(h, 0, t.rows, dots);
    Rows all = {nullptr, top, total, nullptr, 0};
    start(all, t.rows);
    auto rows_at = [&](i64 row0) { return Rows{weights, top + row0, total + row0, nullptr, 0}; };
    for (i64 row0 = 0; row0 < t.rows && t.keys > key_block; row0 += block) { // first the softmax of whole rows
      i64 n = smaller(t.rows - row0, block);
      for (i64 key0 = 0; key0 < t.keys && (!t.causal || key0 < row0 + n); key0 += key_block)
        scores(h, rows_at(row0), row0, n, key0, smaller(t.keys - key0, key_block), false, scratch);
    }
    if (h.grad_query.data) memset(dq, 0, t.rows * e * sizeof(float));
    for (i64 key0 = 0; key0 < t.keys; key0 += key_block) {
      i64 keys = smaller(t.keys - key0, key_block);
      bool started = false;
      memset(dk, 0, keys * e * sizeof(float));
      memset(dv, 0, keys * v * sizeof(float));
      for (i64 row0 = 0; row0 < t.rows; row0 += block) {
        i64 n = smaller(t.rows - row0, block);
        if (t.causal && row0 + n <= key0) continue; // sees none of these keys
        block_weights(h, rows_at(row0), row0, n, key0, keys, scratch);
        WeftGemmOperand p = rows_of(weights, key_block), ds = rows_of(gradients, key_block), g = from(h.grad_out, row0);
        if (h.grad_value.data) multiply(keys, v, n, transposed(p), g, dv, v, started, scratch);
        if (h.grad_query.data || h.grad_key.data) {
          WeftGemm dp = product(n, keys, v, g, transposed(from(h.value, key0)));
          ScoreGradients s = {weights, dots + row0, gradients, (float)t.scale};
          dp.store = store_score_gradients, dp.store_env = &s;
          run_here(dp, scratch);
        }
        if (h.grad_key.data) multiply(keys, e, n, transposed(ds), from(h.query, row0), dk, e, started, scratch);
        if (h.grad_query.data) multiply(n, e, keys, ds, from(h.key, key0), dq + row0 * e, e, key0 > 0, scratch);
        started = true;
      }
      if (h.grad_key.data) copy_out(from(h.grad_key, key0), dk, keys, e, e);
      if (h.grad_value.data) copy_out(from(h.grad_value, key0), dv, keys, v, v);
    }
    if (h.grad_query.data) copy_out(h.grad_query, dq, t.rows, e, e);
  }
}

long attention_derivative(const WeftAttention *attention, const WeftKernelRuntime *rt) {
  const WeftAttention &t = *attention;
  i64 heads = heads_of(t);
  if (heads <= 0) return 0;
  i64 block = smaller(t.rows < 1 ? 1 : t.rows, row_block);
  AttentionTasks tasks = {&t, rt, block, 1, inner_bytes(t, block)};
  i64 work = (t.rows + 1) * (t.keys + 1) * (t.width + t.value_width + 16) * 3;
  rt->parallel_for(heads, work >= 1000000 ? 1 : 1000000 / work, derivative_tasks, &tasks);
  return 0;
}

} // namespace
} // namespace weft_gemm
#endif
