// gemm_kernel.h: the matrix product, in registers and in caches. No includes: inductor pastes this text into
// generated kernels, and isa/gemm_kernels.cpp builds it once per instruction set for the eager ops.
//
// out[i, j] = sum over k of a[i, k] * b[k, j]. Order of that sum, for every element, tile and thread count, on every
// instruction set: k is cut into chunks of one length (`chunk_length`, a function of k and the type alone); within a
// chunk a chain of fused multiply-adds from zero, k ascending; the chunks' sums are added in order. Only `dot_rows`
// (one row times a transposed matrix) has another order, stated there.
//
// A tile of `mr` rows and `nv` vectors stays in registers over one chunk. The operands come to it through `Gemm::a`
// and `Gemm::b`, which copy ("pack") a panel into scratch memory, converting or computing its elements on the way,
// and the finished sums leave through `Gemm::store`, so whoever calls can fuse work into all three.
#ifndef WEFT_GEMM_KERNEL_H
#define WEFT_GEMM_KERNEL_H

#ifdef __AVX512F__
#define WEFT_GEMM_BYTES 64
#define WEFT_GEMM_ROWS 14 // 14 x 2 accumulators, 2 of b, 1 of a: 31 of 32 registers
#else
#define WEFT_GEMM_BYTES 32
#define WEFT_GEMM_ROWS 6 // 6 x 2 accumulators, 2 of b, 1 of a: 15 of 16 registers
#endif
#define WEFT_GEMM_UNROLL _Pragma("GCC unroll 16")
// Called through a few instances that all products of a unit share: inlining or cloning them only costs compile time.
#ifdef __clang__
#define WEFT_GEMM_SHARED __attribute__((noinline))
#else
#define WEFT_GEMM_SHARED __attribute__((noipa))
#endif

namespace weft_gemm {
namespace { // the same text is compiled for several instruction sets: nothing of it may be shared between them

typedef long i64;
struct bfloat16 { unsigned short bits; };
struct float16 { unsigned short bits; };

template <typename T> struct Simd;
template <> struct Simd<float> {
  typedef float V __attribute__((vector_size(WEFT_GEMM_BYTES)));
  typedef float U __attribute__((vector_size(WEFT_GEMM_BYTES), aligned(4), may_alias));
  typedef int I __attribute__((vector_size(WEFT_GEMM_BYTES)));
};
template <> struct Simd<double> {
  typedef double V __attribute__((vector_size(WEFT_GEMM_BYTES)));
  typedef double U __attribute__((vector_size(WEFT_GEMM_BYTES), aligned(8), may_alias));
  typedef long I __attribute__((vector_size(WEFT_GEMM_BYTES)));
};
template <typename T> using Vec = typename Simd<T>::V;
template <typename T> using VecU = typename Simd<T>::U;
template <typename T> constexpr i64 lanes = WEFT_GEMM_BYTES / (i64)sizeof(T);
// A chunk of k: 14 rows of a (21 KB) stay in the first-level cache. Rows of a packed panel lie one line further apart.
template <typename T> constexpr i64 max_chunk = 1536 / (i64)sizeof(T);
template <typename T> constexpr i64 panel_stride = max_chunk<T> + 64 / (i64)sizeof(T);

#if defined(__clang__)
template <typename V> static inline V fma(V a, V b, V c) { return __builtin_elementwise_fma(a, b, c); }
#elif WEFT_GEMM_BYTES == 64
static inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return (Vec<float>)__builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4);
}
static inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return (Vec<double>)__builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4);
}
#else
static inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return __builtin_ia32_vfmaddps256(a, b, c); }
static inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
#endif

template <typename T> static inline Vec<T> splat(T x) { return x - Vec<T>{}; } // -0 - 0 is -0: folds to a broadcast

// ------------------------------------------------------------------------------- loads that convert to T
static inline Vec<float> load(const float *p, float) { return *(const VecU<float> *)p; }
static inline Vec<double> load(const double *p, double) { return *(const VecU<double> *)p; }
static inline float one(const float *p, float) { return *p; }
static inline double one(const double *p, double) { return *p; }

static inline Vec<float> load(const bfloat16 *p, float) {
  typedef unsigned short H __attribute__((vector_size(WEFT_GEMM_BYTES / 2), aligned(2), may_alias));
  typedef unsigned int W __attribute__((vector_size(WEFT_GEMM_BYTES)));
  return (Vec<float>)(__builtin_convertvector(*(const H *)p, W) << 16);
}
static inline float one(const bfloat16 *p, float) {
  union { unsigned int bits; float value; } u = {(unsigned int)p->bits << 16};
  return u.value;
}

static inline Vec<float> load(const float16 *p, float) {
  typedef short H __attribute__((vector_size(WEFT_GEMM_BYTES / 2), aligned(2), may_alias));
#if WEFT_GEMM_BYTES == 64
  typedef short A __attribute__((vector_size(32)));
  return (Vec<float>)__builtin_ia32_vcvtph2ps512_mask((A)(*(const H *)p), Vec<float>{}, (unsigned short)-1, 4);
#else
  typedef short A __attribute__((vector_size(16)));
  return (Vec<float>)__builtin_ia32_vcvtph2ps256((A)(*(const H *)p));
#endif
}
static inline float one(const float16 *p, float) {
  typedef short A __attribute__((vector_size(16)));
  A h = {(short)p->bits};
  return __builtin_ia32_vcvtph2ps(h)[0];
}

// The first n elements, zeros after them; reads nothing else.
template <typename T, typename S> static inline Vec<T> load_part(const S *p, i64 n) {
  Vec<T> v = {};
  for (i64 l = 0; l < n; l++) v[l] = one(p + l, T());
  return v;
}

// ------------------------------------------------------------------------------------ stores that round from T
static inline void store(float *p, Vec<float> v) { *(VecU<float> *)p = v; }
static inline void store(double *p, Vec<double> v) { *(VecU<double> *)p = v; }

static inline void store(bfloat16 *p, Vec<float> v) { // to nearest, ties to even; NaN stays NaN
  typedef unsigned short H __attribute__((vector_size(WEFT_GEMM_BYTES / 2)));
  typedef unsigned short HU __attribute__((vector_size(WEFT_GEMM_BYTES / 2), aligned(2), may_alias));
  typedef unsigned int W __attribute__((vector_size(WEFT_GEMM_BYTES)));
  W bits = (W)v, rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  *(HU *)p = __builtin_convertvector(v == v ? rounded : (bits >> 16 | 0x40), H);
}

static inline void store(float16 *p, Vec<float> v) {
#if WEFT_GEMM_BYTES == 64
  typedef short HU __attribute__((vector_size(32), aligned(2), may_alias));
  typedef short A __attribute__((vector_size(32)));
  *(HU *)p = (A)__builtin_ia32_vcvtps2ph512_mask(v, 0, A{}, (unsigned short)-1);
#else
  typedef short HU __attribute__((vector_size(16), aligned(2), may_alias));
  *(HU *)p = (HU)__builtin_ia32_vcvtps2ph256(v, 0);
#endif
}

// The first n lanes.
template <typename S, typename V> static inline void store_part(S *p, V v, i64 n) {
  S whole[sizeof(V) / sizeof(v[0])];
  store(whole, v);
  for (i64 l = 0; l < n; l++) p[l] = whole[l];
}

template <typename T> static inline i64 chunk_length(i64 k) {
  if (k <= max_chunk<T>) return k;
  i64 chunks = (k + max_chunk<T> - 1) / max_chunk<T>, length = (k + chunks - 1) / chunks;
  return (length + 15) / 16 * 16;
}

// ------------------------------------------------------------------------------------------ micro-kernel
// c[i, j] (+)= sum over kc of a[i, k] * b[k, j] for a tile of MR x (NV vectors). a is a packed panel: rows
// panel_stride apart, or (BY_K) MR elements for each k. b: ldb elements from k to k + 1.
template <typename T, int MR, int NV, bool BY_K>
WEFT_GEMM_SHARED static void micro(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add) {
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
  }
  WEFT_GEMM_UNROLL for (int i = 0; i < MR; i++) {
    WEFT_GEMM_UNROLL for (int j = 0; j < NV; j++) {
      VecU<T> *p = (VecU<T> *)(c + i * ldc + j * lanes<T>);
      *p = add ? *p + sum[i][j] : sum[i][j];
    }
  }
}

// --------------------------------------------------------------------------------------------- packing
// All take the address of the panel's first element, and `whole`: how many elements may be read from there along the
// contiguous direction. What a panel has beyond `rows` or `cols` is zero (never stored, so only its speed matters).

// a, k contiguous: MR rows, panel_stride apart.
template <typename T, typename S>
WEFT_GEMM_SHARED static void pack_rows(const S *a, i64 row_stride, i64 rows, i64 mr, i64 kc, i64 whole, T *out) {
  for (i64 i = 0; i < mr; i++, a += row_stride, out += panel_stride<T>) {
    if (i >= rows) {
      for (i64 k = 0; k < kc; k++) out[k] = 0;
      continue;
    }
    i64 k = 0;
    for (; k < kc && k + lanes<T> <= whole; k += lanes<T>) *(VecU<T> *)(out + k) = load(a + k, T());
    for (; k < kc; k++) out[k] = one(a + k, T());
  }
}

// a, rows contiguous: mr elements for each k. Writes up to a vector beyond the panel's end.
template <typename T, typename S>
WEFT_GEMM_SHARED static void pack_by_k(const S *a, i64 k_stride, i64 rows, i64 mr, i64 kc, i64 whole, T *out) {
  i64 width = (mr + lanes<T> - 1) / lanes<T> * lanes<T>;
  for (i64 k = 0; k < kc; k++, a += k_stride, out += mr)
    for (i64 i = 0; i < mr; i += lanes<T>)
      *(VecU<T> *)(out + i) = width <= whole && rows == mr ? load(a + i, T())
                              : load_part<T>(a + i, rows - i < 0 ? 0 : rows - i < lanes<T> ? rows - i : lanes<T>);
}

// a with any strides, into the layout of pack_rows.
template <typename T, typename S>
WEFT_GEMM_SHARED static void pack_rows_strided(const S *a, i64 row_stride, i64 k_stride, i64 rows, i64 mr, i64 kc, T *out) {
  for (i64 i = 0; i < mr; i++)
    for (i64 k = 0; k < kc; k++) out[i * panel_stride<T> + k] = i < rows ? one(a + i * row_stride + k * k_stride, T()) : T();
}

// b, columns contiguous: nr elements for each k.
template <typename T, typename S>
WEFT_GEMM_SHARED static void pack_columns(const S *b, i64 k_stride, i64 cols, i64 nr, i64 kc, T *out) {
  for (i64 k = 0; k < kc; k++, b += k_stride, out += nr)
    for (i64 j = 0; j < nr; j += lanes<T>)
      *(VecU<T> *)(out + j) = j + lanes<T> <= cols ? load(b + j, T()) : load_part<T>(b + j, cols - j < 0 ? 0 : cols - j);
}

// One stage of the transposition in registers: exchanges the off-diagonal D x D blocks.
template <typename T, int D> static inline void transpose_stage(Vec<T> *v) {
  typename Simd<T>::I low, high;
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
template <typename T> static inline void transpose(Vec<T> *v) {
  transpose_stage<T, 1>(v);
  transpose_stage<T, 2>(v);
  if (lanes<T> > 4) transpose_stage<T, lanes<T> == 4 ? 1 : 4>(v);
  if (lanes<T> > 8) transpose_stage<T, lanes<T> == 16 ? 8 : 1>(v);
}

// b, k contiguous (the weight of `linear`), into the layout of pack_columns, through square blocks in registers.
template <typename T, typename S>
WEFT_GEMM_SHARED static void pack_columns_by_k(const S *b, i64 column_stride, i64 cols, i64 nr, i64 kc, i64 whole,
                                                        T *out) {
  for (i64 j = 0; j < nr; j += lanes<T>)
    for (i64 k = 0; k < kc; k += lanes<T>) {
      Vec<T> v[lanes<T>];
      const S *p = b + j * column_stride + k;
      if (j + lanes<T> <= cols && k + lanes<T> <= whole) {
        WEFT_GEMM_UNROLL for (int l = 0; l < lanes<T>; l++) v[l] = load(p + l * column_stride, T());
      } else {
        i64 n = whole - k < lanes<T> ? whole - k : lanes<T>;
        for (int l = 0; l < lanes<T>; l++) v[l] = j + l < cols ? load_part<T>(p + l * column_stride, n) : Vec<T>{};
      }
      transpose<T>(v);
      T *o = out + k * nr + j;
      if (k + lanes<T> <= kc) {
        WEFT_GEMM_UNROLL for (int l = 0; l < lanes<T>; l++) *(VecU<T> *)(o + l * nr) = v[l];
      } else {
        for (int l = 0; l < kc - k; l++) *(VecU<T> *)(o + l * nr) = v[l];
      }
    }
}

template <typename T, typename S>
WEFT_GEMM_SHARED static void pack_columns_strided(const S *b, i64 k_stride, i64 column_stride, i64 cols, i64 nr, i64 kc, T *out) {
  for (i64 k = 0; k < kc; k++)
    for (i64 j = 0; j < nr; j++) out[k * nr + j] = j < cols ? one(b + k * k_stride + j * column_stride, T()) : T();
}

// ---------------------------------------------------------------------------------------------- driver
template <typename T> struct Gemm {
  i64 batch, m, n, k;
  i64 mr, nr;                    // rows and columns of a tile
  i64 column_block;              // columns done together: a multiple of nr, so that chunk x block of b fills half of L2
  void (*micro)(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add);
  void (*narrow)(i64 kc, const T *a, const T *b, i64 ldb, T *c, i64 ldc, bool add); // one vector wide, or null
  // Gives a packed panel of `rows` <= mr rows, of a[row.., k0 .. k0 + kc).
  const T *(*a)(const void *env, i64 batch, i64 row, i64 rows, i64 k0, i64 kc, T *scratch);
  // Gives a panel of `cols` <= nr columns, packed nr wide (*ld = nr), or its own address (*ld = elements between ks).
  const T *(*b)(const void *env, i64 batch, i64 k0, i64 kc, i64 col, i64 cols, i64 nr, T *scratch, i64 *ld);
  void (*store)(const void *env, i64 batch, i64 row, i64 rows, i64 col, i64 cols, const T *c, i64 ldc);
  const void *env;
};

template <typename T> struct GemmTasks {
  const Gemm<T> *g;
  i64 row_block, row_blocks, column_blocks, chunk;
  i64 b_size, a_size, c_size;    // elements of scratch memory a worker has
  T *scratch;
};

constexpr i64 max_panels = 16;

// The packed columns [col, col + cols) of one chunk of b.
template <typename T> struct Panels {
  const T *at[max_panels];
  i64 ld[max_panels], width[max_panels], count;
};

template <typename T>
static void pack_block(const Gemm<T> &g, i64 batch, i64 k0, i64 kc, i64 col, i64 cols, T *scratch, Panels<T> &p) {
  p.count = 0;
  for (i64 j = 0; j < cols; j += g.nr, p.count++) {
    i64 width = cols - j < g.nr ? cols - j : g.nr;
    p.width[p.count] = g.narrow && width <= lanes<T> ? lanes<T> : g.nr;
    p.at[p.count] = g.b(g.env, batch, k0, kc, col + j, width, p.width[p.count], scratch, &p.ld[p.count]);
    scratch += kc * g.nr;
  }
}

// Rows [row, row + rows) of one block of columns, all of k.
template <typename T>
static void do_block(const GemmTasks<T> &t, i64 batch, i64 row, i64 rows, i64 col, i64 cols, T *scratch, Panels<T> &p,
                     bool packed) {
  const Gemm<T> &g = *t.g;
  T *b_scratch = scratch, *a_scratch = b_scratch + t.b_size, *c = a_scratch + t.a_size;
  i64 ldc = g.column_block, k0 = 0;
  bool one_chunk = t.chunk >= g.k;
  do { // once for k = 0: the sums are zero
    i64 kc = g.k - k0 < t.chunk ? g.k - k0 : t.chunk;
    if (!packed) pack_block(g, batch, k0, kc, col, cols, b_scratch, p);
    for (i64 i = 0; i < rows; i += g.mr) {
      i64 height = rows - i < g.mr ? rows - i : g.mr;
      const T *a = g.a(g.env, batch, row + i, height, k0, kc, a_scratch);
      T *tile = one_chunk ? c : c + i * ldc;
      for (i64 j = 0; j < p.count; j++)
        (p.width[j] == g.nr ? g.micro : g.narrow)(kc, a, p.at[j], p.ld[j], tile + j * g.nr, ldc, k0 > 0);
      if (k0 + kc >= g.k) g.store(g.env, batch, row + i, height, col, cols, tile, ldc);
    }
    k0 += kc;
  } while (k0 < g.k);
}

template <typename T> WEFT_GEMM_SHARED static void do_tasks(void *context, i64 begin, i64 end, i64 worker) {
  const GemmTasks<T> &t = *(const GemmTasks<T> *)context;
  const Gemm<T> &g = *t.g;
  T *scratch = t.scratch + worker * (t.b_size + t.a_size + t.c_size);
  Panels<T> p;
  i64 last = -1; // the block of columns that `p` holds, when one chunk is all of k
  for (i64 task = begin; task < end; task++) { // rows vary fastest, then columns, then the batch
    i64 columns = task / t.row_blocks, batch = columns / t.column_blocks;
    i64 row = task % t.row_blocks * t.row_block, col = columns % t.column_blocks * g.column_block;
    i64 rows = g.m - row < t.row_block ? g.m - row : t.row_block;
    i64 cols = g.n - col < g.column_block ? g.n - col : g.column_block;
    do_block(t, batch, row, rows, col, cols, scratch, p, last == columns);
    last = t.chunk >= g.k ? columns : -1;
  }
}

// Cuts the result into tasks: enough for all threads, rows in blocks that keep packing b cheap.
template <typename T> WEFT_GEMM_SHARED static i64 run(const Gemm<T> &g, const WeftKernelRuntime *rt) {
  if (g.m <= 0 || g.n <= 0 || g.batch <= 0) return 0;
  GemmTasks<T> t;
  t.g = &g;
  t.chunk = chunk_length<T>(g.k);
  t.column_blocks = (g.n + g.column_block - 1) / g.column_block;
  i64 tiles = (g.m + g.mr - 1) / g.mr, threads = rt->num_threads > 1 ? rt->num_threads : 1;
  i64 blocks = (tiles + 19) / 20, others = t.column_blocks * g.batch; // 280 rows of 128 columns of sums: 140 KB
  // Blocks of rows until the tasks divide among the threads with little left over.
  while (threads > 1 && blocks < tiles && blocks * others < 4 * threads && blocks * others % threads) blocks++;
  t.row_block = (tiles + blocks - 1) / blocks * g.mr;
  t.row_blocks = (g.m + t.row_block - 1) / t.row_block;
  i64 kc = t.chunk < 1 ? 1 : t.chunk, block = (g.n < g.column_block ? (g.n + g.nr - 1) / g.nr * g.nr : g.column_block);
  t.b_size = (kc + lanes<T>) * block;
  t.a_size = g.mr * panel_stride<T> + 64;
  t.c_size = (t.chunk >= g.k ? g.mr : t.row_block) * g.column_block;
  i64 each = t.b_size + t.a_size + t.c_size;
  t.b_size += (-each & 15); // every worker's memory starts on a cache line
  each += (-each & 15);
  t.scratch = (T *)rt->scratch(0, each * threads * (i64)sizeof(T));
  // A range of tasks worth 4e6 multiply-adds (20 us or more) for a thread to be woken.
  i64 work = t.row_block * block * (g.k + 8), grain = work >= 4000000 ? 1 : 4000000 / work;
  rt->parallel_for(t.row_blocks * others, grain, do_tasks<T>, &t);
  return 0;
}

// --------------------------------------------------------------------------------- one row: memory bound
// sum[j] = sum over k of a[k] * b[k, j], columns of b contiguous: b is read once, row by row, never packed. The same
// order of k as a tile's. `part` holds the sums of a chunk; cols <= vector_block.
constexpr i64 vector_block = 1024;

template <typename T, typename S>
WEFT_GEMM_SHARED static void row_times(const T *a, const S *b, i64 k_stride, i64 k, i64 cols, T *sum, T *part) {
  constexpr int R = 8; // rows of b at a time, so that `part` is read and written seldom
  i64 chunk = chunk_length<T>(k), whole = cols / lanes<T> * lanes<T>;
  for (i64 j = 0; j < cols; j++) sum[j] = 0;
  for (i64 k0 = 0; k0 < k; k0 += chunk) {
    i64 end = k0 + chunk < k ? k0 + chunk : k, i = k0;
    for (i64 j = 0; j < cols; j++) part[j] = 0;
    for (; i + R <= end; i += R) {
      const S *p = b + i * k_stride;
      for (i64 j = 0; j < whole; j += lanes<T>) {
        Vec<T> s = *(VecU<T> *)(part + j);
        WEFT_GEMM_UNROLL for (int r = 0; r < R; r++) s = fma(splat<T>(a[i + r]), load(p + r * k_stride + j, T()), s);
        *(VecU<T> *)(part + j) = s;
      }
      if (whole < cols) {
        Vec<T> s = load_part<T>(part + whole, cols - whole);
        for (int r = 0; r < R; r++) s = fma(splat<T>(a[i + r]), load_part<T>(p + r * k_stride + whole, cols - whole), s);
        store_part(part + whole, s, cols - whole);
      }
    }
    for (; i < end; i++)
      for (i64 j = 0; j < cols; j += lanes<T>) {
        i64 n = cols - j < lanes<T> ? cols - j : lanes<T>;
        store_part(part + j, fma(splat<T>(a[i]), load_part<T>(b + i * k_stride + j, n), load_part<T>(part + j, n)), n);
      }
    for (i64 j = 0; j < cols; j++) sum[j] += part[j];
  }
}

// sum[j] = sum over k of a[k] * b[j, k], k contiguous in b. Order of k: element k goes to lane k % 32 of 32, a chain of
// fused multiply-adds each; lanes are then added in halves (l + 16, l + 8, ...).
template <typename T, typename S, int R>
static inline void dot_few(const T *a, const S *b, i64 column_stride, i64 k, T *sum) {
  constexpr int W = 32 / lanes<T>;
  Vec<T> s[R][W] = {};
  i64 i = 0;
  for (; i + 32 <= k; i += 32)
    WEFT_GEMM_UNROLL for (int w = 0; w < W; w++) {
      Vec<T> x = *(const VecU<T> *)(a + i + w * lanes<T>);
      WEFT_GEMM_UNROLL for (int r = 0; r < R; r++)
        s[r][w] = fma(x, load(b + r * column_stride + i + w * lanes<T>, T()), s[r][w]);
    }
  for (int w = 0; i < k; w++, i += lanes<T>) {
    i64 n = k - i < lanes<T> ? k - i : lanes<T>;
    for (int r = 0; r < R; r++) {
      Vec<T> y = load_part<T>(b + r * column_stride + i, n), x = load_part<T>(a + i, n), t = fma(x, y, s[r][w]);
      for (i64 l = 0; l < n; l++) s[r][w][l] = t[l];
    }
  }
  for (int r = 0; r < R; r++) {
    T lane[32];
    for (int w = 0; w < W; w++) *(VecU<T> *)(lane + w * lanes<T>) = s[r][w];
    for (int half = 16; half; half /= 2)
      for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    sum[r] = lane[0];
  }
}

template <typename T, typename S>
WEFT_GEMM_SHARED static void dot_rows(const T *a, const S *b, i64 column_stride, i64 k, i64 cols, T *sum, T *) {
  i64 j = 0;
  for (; j + 4 <= cols; j += 4) dot_few<T, S, 4>(a, b + j * column_stride, column_stride, k, sum + j);
  for (; j < cols; j++) dot_few<T, S, 1>(a, b + j * column_stride, column_stride, k, sum + j);
}

template <typename T> struct Gemv {
  i64 batch, n, k;
  void (*a)(const void *env, i64 batch, T *out);                // the row, k elements
  void (*sums)(const void *env, i64 batch, const T *a, i64 col, i64 cols, T *sum, T *part);
  void (*store)(const void *env, i64 batch, i64 col, i64 cols, const T *sum);
  const void *env;
};
template <typename T> struct GemvTasks {
  const Gemv<T> *g;
  i64 block, blocks, each;
  T *scratch;
};

template <typename T> WEFT_GEMM_SHARED static void do_vector_tasks(void *context, i64 begin, i64 end, i64 worker) {
  const GemvTasks<T> &t = *(const GemvTasks<T> *)context;
  const Gemv<T> &g = *t.g;
  T *sum = t.scratch + worker * t.each, *part = sum + vector_block + 16, *a = part + vector_block + 16;
  i64 last = -1;
  for (i64 task = begin; task < end; task++) {
    i64 batch = task / t.blocks, col = task % t.blocks * t.block, cols = g.n - col < t.block ? g.n - col : t.block;
    if (batch != last) g.a(g.env, batch, a);
    last = batch;
    g.sums(g.env, batch, a, col, cols, sum, part);
    g.store(g.env, batch, col, cols, sum);
  }
}

template <typename T> WEFT_GEMM_SHARED static i64 run(const Gemv<T> &g, const WeftKernelRuntime *rt) {
  if (g.n <= 0 || g.batch <= 0) return 0;
  GemvTasks<T> t;
  t.g = &g;
  i64 threads = rt->num_threads > 1 ? rt->num_threads : 1;
  i64 blocks = (g.n + vector_block - 1) / vector_block;
  if (g.batch * blocks < threads) blocks = threads;
  t.block = ((g.n + blocks - 1) / blocks + 63) / 64 * 64;
  t.blocks = (g.n + t.block - 1) / t.block;
  t.each = (g.k + 2 * vector_block + 64 + 15) / 16 * 16;
  t.scratch = (T *)rt->scratch(0, t.each * threads * (i64)sizeof(T));
  i64 work = t.block * (g.k + 8), grain = work >= 100000 ? 1 : 100000 / work; // 400 KB of b: some 15 us
  rt->parallel_for(t.blocks * g.batch, grain, do_vector_tasks<T>, &t);
  return 0;
}

} // namespace
} // namespace weft_gemm
#endif
