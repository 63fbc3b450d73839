// gemm_kernel.h: the matrix product of gemm.h for one instruction set and one type of sums, in registers and in caches.
//
// A tile of `mr` rows and `nv` vectors of columns stays in registers over one chunk of k. For it, b is copied ("packed")
// into panels of nr columns, nr elements for each k, and a into panels of mr rows; copying converts or computes the
// elements. A task is some rows of a block of columns: packed b of one chunk fills part of the second-level cache, a
// panel of a the first.
#ifndef WEFT_GEMM_KERNEL_H
#define WEFT_GEMM_KERNEL_H

#include "gemm_panel.h"
#include "gemm_vector.h"

namespace weft_gemm {
namespace {

// ---------------------------------------------------------------------------------------------- results
// The `store` of plain results; env is a WeftGemmOutput. With `one_bias` every element has the same.
template <typename T, bool one_bias, typename S>
void store_row(const WeftGemmOutput &o, S *to, const S *bias, i64 cols, const T *sums) {
  Vec<T> alpha = splat<T>(o.alpha), beta = splat<T>(o.beta);
  const Vec<T> same = one_bias && bias ? splat<T>(one(bias, T())) : Vec<T>{};
  for (i64 j = 0; j < cols; j += lanes<T>) {
    i64 n = smaller(cols - j, lanes<T>);
    auto read = [&](const S *p) { return n == lanes<T> ? load(p, T()) : load_part<T>(p, n); };
    Vec<T> v = *(const VecU<T> *)(sums + j);
    if (o.alpha != 1) v *= alpha;
    if (bias) v += one_bias ? same : read(bias + j);
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
    if (cols == 1 && ld == 1 && o.out.row_stride == 1) return store_row<T, true, S>(o, to, bias, rows, sums); // a column without gaps
    for (i64 i = 0; i < rows; i++, to += o.out.row_stride, sums += ld) {
      if (o.out.col_stride == 1) {
        store_row<T, false, S>(o, to, bias, cols, sums);
      } else {
        for (i64 j = 0; j < cols; j++) store_row<T, false, S>(o, to + j * o.out.col_stride, bias ? bias + j : nullptr, 1, sums + j);
      }
    }
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
  const Tiles<T> *tiles;
  Micro<T> full, narrow;         // nr columns; one vector
  Micro<T> last_full, last_narrow; // of the rows that are left for the last tile, but where tiles are entered by height
  Copying<T> copying;            // nr columns, whose panel of b the first tile packs; NULL: panels are packed before
  i64 b_size, a_size, c_size, bytes; // scratch memory of a task
};

// Bytes of a row of a block of columns: packed b of one chunk, 384 KB, and sums of 280 rows, 280 KB, fit a second-level
// cache of 1 MB; older processors have half of it.
constexpr i64 block_bytes = WEFT_GEMM_BYTES == 64 ? 1024 : 512;

// The first tile packs what it reads where few tiles read it after it, and where b fits a second-level cache: from further away long runs
// of memory are read faster.
constexpr i64 copied_rows = 16 * WEFT_GEMM_ROWS, copied_bytes = i64(1) << 21;

// The tile and the tasks by shape: speed only, never the result.
template <typename T>
Plan<T> plan_tiles(const WeftGemm &g, const WeftKernelRuntime *rt, i64 batch, const Tiles<T> &tiles_of) {
  Plan<T> p = {};
  p.g = &g, p.rt = rt, p.batch = batch, p.tiles = &tiles_of;
  p.mr = ceil_div(g.m, ceil_div(g.m, tiles_of.rows)); // as many tiles as of the largest, each as low as can be
  i64 nv = p.mr <= tiles_of.wide_rows && g.n > 2 * lanes<T> ? 4 : 2; // 8 chains and more hide the latency of an fma
  p.nr = nv * lanes<T>;
  p.full = tiles_of.choose(p.mr, nv, by_k(g.a));
  p.narrow = tiles_of.choose(p.mr, 1, by_k(g.a));
  const i64 left = g.m % p.mr && !tiles_of.enter ? g.m % p.mr : p.mr;
  p.last_full = tiles_of.choose(left, nv, by_k(g.a));
  p.last_narrow = tiles_of.choose(left, 1, by_k(g.a));
  p.chunk = chunk_length<T>(g.k);
  p.column_block = smaller(block_bytes / (i64)sizeof(T) / p.nr * p.nr, ceil_div(g.n, p.nr) * p.nr);
  p.column_blocks = ceil_div(g.n, p.column_block);
  const bool as_it_is = !g.b.load && g.b.dtype == dtype_of<T> && g.b.col_stride == 1;
  p.direct = as_it_is && g.m <= 2 * WEFT_GEMM_ROWS;
  const bool near = batch * g.k * g.n * (i64)sizeof(T) <= copied_bytes;
  if (as_it_is && near && !p.direct && nv == 2 && tiles_of.choose == choose_micro<T> && g.m <= copied_rows) p.copying = choose_copying<T, WEFT_GEMM_ROWS>(p.mr, by_k(g.a));

  i64 tiles = ceil_div(g.m, p.mr), threads = rt->num_threads, others = p.column_blocks * batch;
  i64 blocks = ceil_div(tiles * p.mr, 280); // packing b for so many rows costs little
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
  const T *source;               // of the first of the `unpacked` panels, which the next row of tiles packs
  i64 unpacked;
};

template <typename T>
void pack_panels(const Plan<T> &p, i64 batch, i64 k0, i64 kc, i64 col, i64 cols, T *to, T *spare, Panels<T> &panels) {
  const WeftGemm &g = *p.g;
  panels.count = 0;
  i64 packed = 0; // panels that were packed together
  panels.unpacked = 0;
  if (p.copying) {
    packed = panels.unpacked = cols / p.nr;
    panels.source = element<T>(g, g.b, batch, k0, col);
  } else if (!p.direct && !g.b.load && g.b.col_stride == 1) {
    packed = cols / p.nr;
    with_type<T>(g.b.dtype, [&](auto type) {
      pack_whole_panels<T>(element<decltype(type)>(g, g.b, batch, k0, col), g.b.row_stride, packed, p.nr, kc, to);
    });
  }
  for (i64 j = 0; j < cols; j += p.nr, to += kc * p.nr) {
    i64 width = smaller(cols - j, p.nr), n = panels.count++;
    panels.width[n] = width <= lanes<T> ? lanes<T> : p.nr;
    panels.at[n] = to, panels.ld[n] = p.nr;
    if (n < packed) continue;
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

inline i64 item_size(const WeftGemmOperand &o) { return o.dtype == WEFT_FLOAT64 ? 8 : o.dtype == WEFT_FLOAT32 ? 4 : 2; }

template <typename T> Ahead element_ahead(const Plan<T> &p, const WeftGemmOperand &o, i64 batch, i64 row, i64 col, i64 step) {
  i64 size = item_size(o), offset = element<char>(*p.g, o, batch, row, col) - (const char *)o.data;
  return {(const char *)o.data + offset * size, step * size};
}

// What the micro-kernels of one block of columns bring near: the panels of b that are packed after it.
template <typename T> struct Stream {
  Ahead next = {};
  i64 width = 0, left = 0;       // bytes of a panel, panels

  Stream(const Plan<T> &p, i64 batch, i64 k0, i64 col) {
    const WeftGemm &g = *p.g;
    if (g.b.load || g.b.col_stride != 1 || batch >= p.batch) return;
    next = element_ahead(p, g.b, batch, k0, col, g.b.row_stride);
    width = p.nr * item_size(g.b), left = ceil_div(smaller(g.n - col, p.column_block), p.nr);
  }
  Ahead take(Ahead otherwise) {
    if (left == 0) return otherwise;
    Ahead ahead = next;
    next.at += width, left--;
    return ahead;
  }
};

// Where a tile's sums go when the result is nothing but them, in their own type: straight there.
template <typename T> T *direct_result(const WeftGemm &g, i64 batch, i64 row, i64 col) {
  const WeftGemmOutput &o = *(const WeftGemmOutput *)g.store_env;
  return (T *)element<T>(g, o.out, batch, row, col);
}
template <typename T> bool is_direct(const WeftGemm &g) {
  if (g.store != store_plain<T>) return false;
  const WeftGemmOutput &o = *(const WeftGemmOutput *)g.store_env;
  return o.alpha == 1 && o.beta == 0 && !o.bias && o.out.dtype == dtype_of<T> && o.out.col_stride == 1;
}

// A task of one thread: rows [row0, row0 + rows) of the columns [col, col + cols) of one batch.
template <typename T> struct Task {
  const Plan<T> &p;
  T *b, *a, *c, *spare;          // scratch memory: packed b, packed a, sums, unpacked columns
  Panels<T> panels = {};
  i64 packed = -1;               // the block of columns in `panels`, when a chunk is all of k
  bool one_chunk, direct;
  bool strided_a;                // the next panel of a is brought near by the tiles; rows of k are while packing
  i64 batch = 0, row0 = 0, rows = 0, col = 0, cols = 0;

  Task(const Plan<T> &plan, T *scratch)
      : p(plan), b(scratch), a(b + p.b_size), c(a + p.a_size), spare(c + p.c_size), one_chunk(p.chunk >= p.g->k),
        direct(is_direct<T>(*p.g)), strided_a(!p.g->a.load && by_k(p.g->a)) {}

  // One panel of a, of `height` rows from row0 + i on, times all panels of b.
  void do_tile_row(i64 i, i64 height, i64 k0, i64 kc, Stream<T> &stream) {
    const WeftGemm &g = *p.g;
    i64 row = row0 + i, ld = p.column_block, stored = 0; // columns that need no store
    T *tile = one_chunk ? c : c + i * ld;
    const bool last = height < p.mr && panels.unpacked == 0 && !p.tiles->enter; // what packs a panel has all rows
    const Micro<T> full = last ? p.last_full : p.full, narrow = last ? p.last_narrow : p.narrow;
    T *out = direct && (last || height == p.mr) ? direct_result<T>(g, batch, row, col) : nullptr;
    pack_a(g, last ? height : p.mr, batch, row, height, k0, kc, a);
    for (i64 j = 0, at = 0; j < panels.count; j++, at += p.nr) {
      Ahead ahead = {(const char *)panels.at[j], panels.ld[j] * (i64)sizeof(T)};
      if (j == 0 && strided_a) ahead = element_ahead(p, g.a, batch, row + p.mr, k0, g.a.col_stride);
      else ahead = stream.take(ahead);
      bool whole = out && cols - at >= panels.width[j];
      if (whole) stored = at + panels.width[j];
      if (j < panels.unpacked) {
        if (j + 1 < panels.unpacked) ahead = element_ahead(p, g.b, batch, k0, col + at + p.nr, g.b.row_stride);
        p.copying(kc, a, panels.source + at, g.b.row_stride, whole ? out + at : tile + at, whole ? out_stride() : ld, k0 > 0, ahead, const_cast<T *>(panels.at[j]));
        continue;
      }
      (panels.width[j] == p.nr ? full : narrow)(kc, a, panels.at[j], panels.ld[j], whole ? out + at : tile + at,
                                                    whole ? out_stride() : ld, k0 > 0, ahead);
    }
    panels.unpacked = 0;
    if (k0 + kc >= g.k && stored < cols) g.store(g.store_env, batch, row, height, col + stored, cols - stored, tile + stored, ld);
  }

  i64 out_stride() const { return ((const WeftGemmOutput *)p.g->store_env)->out.row_stride; }

  void run(i64 index) { // rows vary fastest, then columns, then the batch
    const WeftGemm &g = *p.g;
    i64 columns = index / p.row_blocks, k0 = 0;
    batch = columns / p.column_blocks;
    row0 = index % p.row_blocks * p.row_block, rows = smaller(g.m - row0, p.row_block);
    col = columns % p.column_blocks * p.column_block, cols = smaller(g.n - col, p.column_block);
    do { // once for k = 0: the sums are zero
      i64 kc = smaller(g.k - k0, p.chunk);
      if (packed != columns) pack_panels(p, batch, k0, kc, col, cols, b, spare, panels);
      packed = one_chunk ? columns : -1;
      bool last = k0 + kc >= g.k;
      i64 after = columns + (last && (index + 1) % p.row_blocks == 0);
      Stream<T> stream(p, after / p.column_blocks, last ? 0 : k0 + kc, after % p.column_blocks * p.column_block);
      if (after == columns && one_chunk) stream.left = 0; // is packed already
      for (i64 i = 0; i < rows; i += p.mr) do_tile_row(i, smaller(rows - i, p.mr), k0, kc, stream);
      k0 += kc;
      if (k0 < g.k) weft_poll_signals();
    } while (k0 < g.k);
  }
};

template <typename T> struct Entered {
  const Tiles<T> &tiles;
  explicit Entered(const Plan<T> &p) : tiles(*p.tiles) {
    if (tiles.enter) tiles.enter(p.mr);
  }
  ~Entered() {
    if (tiles.leave) tiles.leave();
  }
};

template <typename T> void do_tiles(void *context, i64 begin, i64 end, i64 worker) {
  const Plan<T> &p = *(const Plan<T> *)context;
  Task<T> task(p, (T *)p.rt->scratch(worker, p.bytes));
  const Entered<T> entered(p);
  for (i64 i = begin; i < end; i++) task.run(i);
}

// ---------------------------------------------------------------------------------------------- entry
inline i64 batch_size(const WeftGemm &g) {
  i64 batch = 1;
  for (i64 d = 0; d < g.batch_ndim; d++) batch *= g.batch_sizes[d];
  return batch;
}

template <typename T> long run_tiles(const WeftGemm &g, const WeftKernelRuntime *rt, const Tiles<T> &tiles) {
  i64 batch = batch_size(g);
  if (g.m <= 0 || g.n <= 0 || batch <= 0) return 0;
  Plan<T> p = plan_tiles<T>(g, rt, batch, tiles);
  i64 work = p.row_block * p.column_block * (g.k + 8), grain = work >= 1000000 ? 1 : 1000000 / work; // 10 us a range
  rt->parallel_for(p.row_blocks * p.column_blocks * batch, grain, do_tiles<T>, &p);
  return 0;
}

// A product of at most 16 rows, as many terms and a vector of columns: nothing is packed, b stays in registers or near them.
constexpr i64 few = 16;

template <typename T> bool is_small(const WeftGemm &g, i64 batch) {
  return batch == 1 && g.m <= few && g.k <= few && g.k > 0 && g.n <= lanes<T> && !g.a.load && !g.b.load &&
         g.a.dtype == dtype_of<T> && g.b.dtype == dtype_of<T>;
}

template <typename T> void run_small(const WeftGemm &g) {
  Vec<T> rows[few], sums[few + 1]; // what reads 64 bytes of the last row reads no further
  const T *a = element<T>(g, g.a, 0, 0, 0), *b = element<T>(g, g.b, 0, 0, 0);
  for (i64 k = 0; k < g.k; k++, b += g.b.row_stride) {
    if (g.b.col_stride == 1) {
      rows[k] = load_part<T>(b, g.n);
    } else {
      rows[k] = Vec<T>{};
      for (i64 j = 0; j < g.n; j++) rows[k][j] = b[j * g.b.col_stride];
    }
  }
  const bool direct = is_direct<T>(g);
  for (i64 i = 0; i < g.m; i++, a += g.a.row_stride) {
    Vec<T> sum = {};
    for (i64 k = 0; k < g.k; k++) sum = fma(splat<T>(a[k * g.a.col_stride]), rows[k], sum);
    if (direct) store_part(direct_result<T>(g, 0, i, 0), sum, g.n);
    else sums[i] = sum;
  }
  if (!direct) g.store(g.store_env, 0, 0, g.m, 0, g.n, sums, lanes<T>);
}

// Batches of small matrices, into nothing but sums: some rows and all columns of a result in registers, nothing is packed.
constexpr i64 small_side = 32, small_rows = 4;

template <typename T> bool are_small(const WeftGemm &g) {
  return g.m <= small_side && g.k <= small_side && g.k > 0 && g.n <= 2 * lanes<T> && !g.a.load && !g.b.load && g.b.col_stride == 1 &&
         g.a.dtype == dtype_of<T> && g.b.dtype == dtype_of<T> && is_direct<T>(g);
}

template <typename T, int R, int C, bool part> void small_tile(const WeftGemm &g, const T *a, const T *b, T *out, i64 rest) {
  Vec<T> sums[R][C] = {};
  for (i64 k = 0; k < g.k; k++, b += g.b.row_stride, a += g.a.col_stride) {
    Vec<T> x[C];
    for (int c = 0; c < C; c++) x[c] = part && c == C - 1 ? load_part<T>(b + c * lanes<T>, rest) : load(b + c * lanes<T>, T());
    for (int r = 0; r < R; r++)
      for (int c = 0; c < C; c++) sums[r][c] = fma(splat<T>(a[r * g.a.row_stride]), x[c], sums[r][c]);
  }
  const i64 ld = ((const WeftGemmOutput *)g.store_env)->out.row_stride;
  for (int r = 0; r < R; r++)
    for (int c = 0; c < C; c++) {
      if (part && c == C - 1) store_part(out + r * ld + c * lanes<T>, sums[r][c], rest);
      else store(out + r * ld + c * lanes<T>, sums[r][c]);
    }
}
template <typename T, int C, bool part> void small_product(const WeftGemm &g, i64 batch, i64 rest) {
  const T *b = element<T>(g, g.b, batch, 0, 0);
  i64 i = 0;
  for (; i + small_rows <= g.m; i += small_rows) small_tile<T, small_rows, C, part>(g, element<T>(g, g.a, batch, i, 0), b, direct_result<T>(g, batch, i, 0), rest);
  for (; i < g.m; i++) small_tile<T, 1, C, part>(g, element<T>(g, g.a, batch, i, 0), b, direct_result<T>(g, batch, i, 0), rest);
}
template <typename T> void small_products(void *context, i64 begin, i64 end, i64) {
  const WeftGemm &g = *(const WeftGemm *)context;
  const i64 whole = g.n % lanes<T>, count = ceil_div(g.n, lanes<T>);
  for (i64 batch = begin; batch < end; batch++) {
    if (count == 1) whole ? small_product<T, 1, true>(g, batch, whole) : small_product<T, 1, false>(g, batch, 0);
    else whole ? small_product<T, 2, true>(g, batch, whole) : small_product<T, 2, false>(g, batch, 0);
  }
}

template <typename T> long run(const WeftGemm *gemm, const WeftKernelRuntime *rt) {
  const WeftGemm &g = *gemm;
  i64 batch = batch_size(g);
  if (g.m <= 0 || g.n <= 0 || batch <= 0) return 0;
  const auto in_rows = [](i64 along_k, i64 along_n, i64 n) { return along_n == 1 || is_dot(along_k, along_n, n); };
  if (g.m == 1 && !g.b.load && in_rows(g.b.row_stride, g.b.col_stride, g.n)) return run_vector<T>(g, rt, batch, false), 0;
  if (g.n == 1 && !g.a.load && in_rows(g.a.col_stride, g.a.row_stride, g.m)) return run_vector<T>(g, rt, batch, true), 0;
  if (is_small<T>(g, batch)) return run_small<T>(g), 0;
  if (batch > 1 && are_small<T>(g)) {
    const i64 work = g.m * g.k * ceil_div(g.n, lanes<T>) + 32;
    return rt->parallel_for(batch, work >= 100000 ? 1 : 100000 / work, small_products<T>, const_cast<WeftGemm *>(gemm)), 0;
  }
  return run_tiles<T>(g, rt, in_registers<T>);
}

} // namespace
} // namespace weft_gemm
#endif
