// reduce.cpp: sums, products, extremes, any and all, of rows and of columns, in the fixed order that kernels.h states.
#include "vectors.h"

namespace {

constexpr int kWidth = 64;  // 16 virtual lanes x 4 accumulators: item i of a chunk goes to accumulator i % 64

// The registers that hold the 64 accumulators of a lane type.
template <class D> constexpr int kRegisters = kWidth / D::kLanes;

struct Sum {
  template <class L> static constexpr L start() { return 0; }
  template <class V> static inline V join(V a, V b) { return a + b; }
};
struct Prod {
  template <class L> static constexpr L start() { return 1; }
  template <class V> static inline V join(V a, V b) { return a * b; }
};
struct Max {
  template <class L> static constexpr L start() { return -(L)__builtin_inf(); }
  template <class V> static inline V join(V a, V b) { return vm_max(a, b); }
};
struct Min {
  template <class L> static constexpr L start() { return (L)__builtin_inf(); }
  template <class V> static inline V join(V a, V b) { return vm_min(a, b); }
};

template <class Op, class L> inline L join1(L a, L b) {
  typedef Vec<L, 16 / sizeof(L)> V;
  return Op::join(V{} + a, V{} + b)[0];
}

// Chunk results are merged two of a size at a time, as a binary counter carries: the shape of the tree depends on their
// number only.
template <class Op, class L> struct Cascade {
  L level[64];
  uint64_t used = 0;  // bit k: level[k] holds the result of 2^k chunks
  inline void add(L x) {
    int k = 0;
    for (; used >> k & 1; k++) x = join1<Op>(level[k], x);
    used = (used >> k | 1) << k;
    level[k] = x;
  }
  inline L finish(L empty) const {
    bool first = true;
    L r = empty;
    for (int k = 0; k < 64; k++)
      if (used >> k & 1) {
        r = first ? level[k] : join1<Op>(level[k], r);
        first = false;
      }
    return r;
  }
};

template <class D, class Op> inline typename D::Lane chunk(const char *in, int64_t stride, int64_t n) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes, registers = kRegisters<D>;
  V acc[registers];
  for (int r = 0; r < registers; r++) acc[r] = V{} + Op::template start<L>();
  int64_t i = 0;
  if (stride == item) {
    for (; i + kWidth <= n; i += kWidth)
      for (int r = 0; r < registers; r++) acc[r] = Op::join(acc[r], D::load(in + (i + r * lanes) * item));
  } else {
    for (; i + kWidth <= n; i += kWidth)
      for (int r = 0; r < registers; r++) acc[r] = Op::join(acc[r], load_strided<D>(in + (i + r * lanes) * stride, stride, lanes));
  }
  for (int r = 0; i < n; r++, i += lanes) {
    const int64_t m = n - i < lanes ? n - i : lanes;
    V v = V{} + Op::template start<L>();
    const V x = stride == item ? load_part<D>(in + i * item, m) : load_strided<D>(in + i * stride, stride, m);
    for (int l = 0; l < m; l++) v[l] = x[l];
    acc[r] = Op::join(acc[r], v);
  }
  for (int w = registers / 2; w > 0; w /= 2)
    for (int r = 0; r < w; r++) acc[r] = Op::join(acc[r], acc[r + w]);
  L lane[lanes];
  memcpy(lane, acc, sizeof lane);
  for (int w = lanes / 2; w > 0; w /= 2)
    for (int l = 0; l < w; l++) lane[l] = join1<Op>(lane[l], lane[l + w]);
  return lane[0];
}

template <class D, class Op> void row(int64_t n, const char *in, int64_t stride, char *out) {
  typedef typename D::Lane L;
  Cascade<Op, L> tree;
  for (int64_t i = 0; i < n; i += WEFT_REDUCE_CHUNK)
    tree.add(chunk<D, Op>(in + i * stride, stride, n - i < WEFT_REDUCE_CHUNK ? n - i : WEFT_REDUCE_CHUNK));
  const L r = tree.finish(Op::template start<L>());
  memcpy(out, &r, sizeof r);
}

// Columns: within a block of 64 rows, row i goes to partial result i % 4; partials, then blocks, in a fixed tree. A strip of
// columns keeps its partial results in the first-level cache.
constexpr int64_t kBlock = 64, kStrip = 512;

template <class D, class Op> void column(int64_t n, int64_t m, const char *in, int64_t stride, char *out) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  alignas(64) L levels[24][kStrip];  // the cascade of Cascade, a strip at a time
  alignas(64) L sum[kStrip];
  for (int64_t j0 = 0; j0 < m; j0 += kStrip) {
    const int64_t width = m - j0 < kStrip ? m - j0 : kStrip;
    uint64_t used = 0;
    for (int64_t i0 = 0; i0 < n; i0 += kBlock) {
      const int64_t rows = n - i0 < kBlock ? n - i0 : kBlock;
      const char *block = in + i0 * stride + j0 * item;
      for (int64_t j = 0; j < width; j += lanes) {
        const int64_t part = width - j < lanes ? width - j : lanes;
        V acc[4];
        for (int a = 0; a < 4; a++) acc[a] = V{} + Op::template start<L>();
        const char *p = block + j * item;
        if (part == lanes) {
          int64_t i = 0;
          for (; i + 4 <= rows; i += 4, p += 4 * stride) {
            acc[0] = Op::join(acc[0], D::load(p));
            acc[1] = Op::join(acc[1], D::load(p + stride));
            acc[2] = Op::join(acc[2], D::load(p + 2 * stride));
            acc[3] = Op::join(acc[3], D::load(p + 3 * stride));
          }
          for (int a = 0; i < rows; i++, a++, p += stride) acc[a] = Op::join(acc[a], D::load(p));
        } else {
          for (int64_t i = 0; i < rows; i++, p += stride) acc[i % 4] = Op::join(acc[i % 4], load_part<D>(p, part));
        }
        const V r = Op::join(Op::join(acc[0], acc[2]), Op::join(acc[1], acc[3]));
        memcpy(sum + j, &r, part * sizeof(L));
      }
      int k = 0;
      for (; used >> k & 1; k++)
        for (int64_t j = 0; j < width; j++) sum[j] = join1<Op>(levels[k][j], sum[j]);
      used = (used >> k | 1) << k;
      memcpy(levels[k], sum, width * sizeof(L));
    }
    bool first = true;
    for (int64_t j = 0; j < width; j++) sum[j] = Op::template start<L>();
    for (int k = 0; k < 24; k++)
      if (used >> k & 1) {
        for (int64_t j = 0; j < width; j++) sum[j] = first ? levels[k][j] : join1<Op>(levels[k][j], sum[j]);
        first = false;
      }
    memcpy(out + j0 * sizeof(L), sum, width * sizeof(L));
  }
}

// Integers: exact in any order.
template <class T> T limit(bool greatest) {
  const bool is_signed = T(-1) < T(0);
  const T top = is_signed ? T((uint64_t(1) << (sizeof(T) * 8 - 1)) - 1) : T(-1);
  return greatest ? top : T(~top);
}
struct IntSum {
  template <class T> static T start() { return 0; }
  template <class T> static inline T join(T a, T b) { return T(a + b); }
};
struct IntProd {
  template <class T> static T start() { return 1; }
  template <class T> static inline T join(T a, T b) { return T(a * b); }
};
struct IntMax {
  template <class T> static T start() { return limit<T>(false); }
  template <class T> static inline T join(T a, T b) { return a > b ? a : b; }
};
struct IntMin {
  template <class T> static T start() { return limit<T>(true); }
  template <class T> static inline T join(T a, T b) { return a < b ? a : b; }
};

template <class T, class Op> void int_row(int64_t n, const char *in, int64_t stride, char *out) {
  T r = Op::template start<T>();
  if (stride == sizeof(T)) {
    const T *x = (const T *)in;
    for (int64_t i = 0; i < n; i++) r = Op::join(r, x[i]);
  } else {
    for (int64_t i = 0; i < n; i++) {
      T x;
      memcpy(&x, in + i * stride, sizeof x);
      r = Op::join(r, x);
    }
  }
  memcpy(out, &r, sizeof r);
}
template <class T, class Op> void int_column(int64_t n, int64_t m, const char *in, int64_t stride, char *out) {
  T *y = (T *)out;
  for (int64_t j = 0; j < m; j++) y[j] = Op::template start<T>();
  for (int64_t i = 0; i < n; i++) {
    const T *x = (const T *)(in + i * stride);
#pragma GCC ivdep
    for (int64_t j = 0; j < m; j++) y[j] = Op::join(y[j], x[j]);
  }
}

template <class S> inline bool truth(S x) { return x != 0; }
template <class S, bool all> void any_row(int64_t n, const char *in, int64_t stride, char *out) {
  bool r = all;
  for (int64_t i = 0; i < n && r == all; i++) {
    S x;
    memcpy(&x, in + i * stride, sizeof x);
    r = truth(x);
  }
  *out = r;
}
template <class S, bool all> void any_column(int64_t n, int64_t m, const char *in, int64_t stride, char *out) {
  for (int64_t j = 0; j < m; j++) out[j] = all;
  for (int64_t i = 0; i < n; i++) {
    const S *x = (const S *)(in + i * stride);
#pragma GCC ivdep
    for (int64_t j = 0; j < m; j++) out[j] = all ? out[j] & truth(x[j]) : out[j] | truth(x[j]);
  }
}
// A half is zero when all bits but the sign are.
struct Half {
  uint16_t bits;
};
inline bool operator!=(Half x, int) { return (x.bits & 0x7fff) != 0; }

template <class D> void fill_float(WeftKernels *k, int d) {
  k->reduce_row[WEFT_REDUCE_SUM][d] = row<D, Sum>;
  k->reduce_row[WEFT_REDUCE_PROD][d] = row<D, Prod>;
  k->reduce_row[WEFT_REDUCE_MAX][d] = row<D, Max>;
  k->reduce_row[WEFT_REDUCE_MIN][d] = row<D, Min>;
  k->reduce_column[WEFT_REDUCE_SUM][d] = column<D, Sum>;
  k->reduce_column[WEFT_REDUCE_PROD][d] = column<D, Prod>;
  k->reduce_column[WEFT_REDUCE_MAX][d] = column<D, Max>;
  k->reduce_column[WEFT_REDUCE_MIN][d] = column<D, Min>;
}
template <class S> void fill_truth(WeftKernels *k, int d) {
  k->reduce_row[WEFT_REDUCE_ANY][d] = any_row<S, false>;
  k->reduce_row[WEFT_REDUCE_ALL][d] = any_row<S, true>;
  k->reduce_column[WEFT_REDUCE_ANY][d] = any_column<S, false>;
  k->reduce_column[WEFT_REDUCE_ALL][d] = any_column<S, true>;
}
template <class T> void fill_extremes(WeftKernels *k, int d) {
  k->reduce_row[WEFT_REDUCE_MAX][d] = int_row<T, IntMax>;
  k->reduce_row[WEFT_REDUCE_MIN][d] = int_row<T, IntMin>;
  k->reduce_column[WEFT_REDUCE_MAX][d] = int_column<T, IntMax>;
  k->reduce_column[WEFT_REDUCE_MIN][d] = int_column<T, IntMin>;
  fill_truth<T>(k, d);
}

}  // namespace

void WEFT_FILL(reduce)(WeftKernels *k) {
  fill_float<F32>(k, WEFT_FLOAT32);
  fill_float<F64>(k, WEFT_FLOAT64);
  fill_float<F16>(k, WEFT_FLOAT16);
  fill_float<BF16>(k, WEFT_BFLOAT16);
  fill_truth<float>(k, WEFT_FLOAT32);
  fill_truth<double>(k, WEFT_FLOAT64);
  fill_truth<Half>(k, WEFT_FLOAT16);
  fill_truth<Half>(k, WEFT_BFLOAT16);
  fill_extremes<uint8_t>(k, WEFT_BOOL);
  fill_extremes<uint8_t>(k, WEFT_UINT8);
  fill_extremes<int8_t>(k, WEFT_INT8);
  fill_extremes<int16_t>(k, WEFT_INT16);
  fill_extremes<int32_t>(k, WEFT_INT32);
  fill_extremes<int64_t>(k, WEFT_INT64);
  fill_extremes<uint16_t>(k, WEFT_UINT16);
  fill_extremes<uint32_t>(k, WEFT_UINT32);
  fill_extremes<uint64_t>(k, WEFT_UINT64);
  k->reduce_row[WEFT_REDUCE_SUM][WEFT_INT64] = int_row<int64_t, IntSum>;
  k->reduce_row[WEFT_REDUCE_PROD][WEFT_INT64] = int_row<int64_t, IntProd>;
  k->reduce_column[WEFT_REDUCE_SUM][WEFT_INT64] = int_column<int64_t, IntSum>;
  k->reduce_column[WEFT_REDUCE_PROD][WEFT_INT64] = int_column<int64_t, IntProd>;
}
