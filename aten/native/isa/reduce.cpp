// reduce.cpp: sums, products, extremes, any and all, of rows and of columns, in the fixed order that kernels.h states.
#include "folds.h"

namespace {

// Elements of D, 0 for NaN.
template <class D> struct SkipNan : D {
  typedef typename D::V V;
  static inline V number(V v) { return v == v ? v : V{}; }
  static inline V load(const void *p) { return number(D::load(p)); }
};
// The first n elements, and a number in the other lanes.
template <class D> struct Part {
  static inline typename D::V of(const void *p, int64_t n, typename D::Lane fill = 0) { return load_part<D>(p, n, fill); }
};
template <class D> struct Part<SkipNan<D>> {
  static inline typename D::V of(const void *p, int64_t n, typename D::Lane fill = 0) { return SkipNan<D>::number(load_part<D>(p, n, fill)); }
};

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

// Up to a chunk of items as one register: what is left is to join its lanes. The tail has registers of its own, so that the
// accumulators are never indexed by a variable and stay in registers.
template <class D, class Op, bool dense> inline typename D::V lanes_of(const char *in, int64_t stride, int64_t n) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes, registers = kRegisters<D>;
  const V start = V{} + Op::template start<L>();
  V acc[registers], rest[registers];
#pragma GCC unroll 16
  for (int r = 0; r < registers; r++) acc[r] = rest[r] = start;
  Nans<V> nans = {};
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    V x[registers];
#pragma GCC unroll 16
    for (int r = 0; r < registers; r++) {
      const int64_t at = i + r * lanes;
      x[r] = dense ? D::load(in + at * item) : load_strided<D>(in + at * stride, stride, lanes);
      acc[r] = Op::step(acc[r], x[r]);
    }
    if (dense)
      for (int byte = 0; byte < kWidth * item; byte += 64) __builtin_prefetch(in + i * item + byte + kPrefetch);
    if (Op::watches) {
#pragma GCC unroll 16
      for (int r = 0; r < registers; r += 2) nans |= unordered(x[r], x[r + 1]);
    }
  }
  if (i < n) {
    int r = 0;
    for (; i + lanes <= n; r++, i += lanes) rest[r] = dense ? D::load(in + i * item) : load_strided<D>(in + i * stride, stride, lanes);
    if (i < n) {
      if (dense) {
        rest[r] = Part<D>::of(in + i * item, n - i, Op::template start<L>());
      } else {
        const V x = load_strided<D>(in + i * stride, stride, n - i);
        for (int l = 0; l < n - i; l++) rest[r][l] = x[l];
      }
    }
#pragma GCC unroll 16
    for (int k = 0; k < registers; k++) acc[k] = Op::step(acc[k], rest[k]);
    if (Op::watches) {
#pragma GCC unroll 16
      for (int k = 0; k < registers; k += 2) nans |= unordered(rest[k], rest[k + 1]);
    }
  }
  const V v = fold_registers<Op, registers>(acc);
  if constexpr (Op::watches) return put_nan(v, nans);
  return v;
}

// A dense row of at most `registers` registers.
template <class D, class Op, int registers> inline typename D::V short_row(const char *in, int64_t n) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int lanes = D::kLanes, item = sizeof(typename D::Stored);
  const V start = V{} + Op::template start<L>();
  V acc[registers];
#pragma GCC unroll 4
  for (int r = 0; r < registers; r++) {
    const bool last = r == registers - 1;
    acc[r] = last ? Part<D>::of(in + r * lanes * item, n - r * lanes, Op::template start<L>()) : D::load(in + r * lanes * item);
    acc[r] = Op::join(start, acc[r]);
  }
  return fold_registers<Op, registers>(acc);
}

template <class D, class Op> void row(int64_t n, const char *in, int64_t stride, char *out) {
  typedef typename D::Lane L;
  const bool dense = stride == sizeof(typename D::Stored);
  if (dense && n > 0 && n <= 2 * D::kLanes) {
    const L few = fold<D, Op>(n <= D::kLanes ? short_row<D, Op, 1>(in, n) : short_row<D, Op, 2>(in, n));
    memcpy(out, &few, sizeof few);
    return;
  }
  Cascade<Op, L> tree;
  for (int64_t i = 0; i < n; i += WEFT_REDUCE_CHUNK) {
    const int64_t m = n - i < WEFT_REDUCE_CHUNK ? n - i : WEFT_REDUCE_CHUNK;
    if (i && i % (1 << 20) == 0) weft_poll_signals();
    tree.add(fold<D, Op>(dense ? lanes_of<D, Op, true>(in + i * stride, stride, m) : lanes_of<D, Op, false>(in + i * stride, stride, m)));
  }
  const L r = tree.finish(Op::template start<L>());
  memcpy(out, &r, sizeof r);
}

// A whole chunk's least and greatest as `lanes_of` finds them, each element read once.
template <class D> inline void extremes_of(const char *in, typename D::V *least, typename D::V *most) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes, registers = kRegisters<D>;
  V low[registers], high[registers];
#pragma GCC unroll 16
  for (int r = 0; r < registers; r++) low[r] = V{} + Min::start<L>(), high[r] = V{} + Max::start<L>();
  Nans<V> nans = {};
  for (int64_t i = 0; i < WEFT_REDUCE_CHUNK; i += kWidth) {
    V x[registers];
#pragma GCC unroll 16
    for (int r = 0; r < registers; r++) {
      x[r] = D::load(in + (i + r * lanes) * item);
      low[r] = Min::step(low[r], x[r]), high[r] = Max::step(high[r], x[r]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < registers; r += 2) nans |= unordered(x[r], x[r + 1]);
  }
  *least = put_nan(fold_registers<Min, registers>(low), nans), *most = put_nan(fold_registers<Max, registers>(high), nans);
}

// The same bits as `row` of each.
template <class D> void extremes_row(int64_t n, const char *in, char *least, char *most) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int64_t chunk = WEFT_REDUCE_CHUNK, item = sizeof(typename D::Stored);
  if (n < chunk) return row<D, Min>(n, in, item, least), row<D, Max>(n, in, item, most);
  Cascade<Min, L> lows;
  Cascade<Max, L> highs;
  for (int64_t i = 0; i < n; i += chunk, in += chunk * item) {
    V low, high;
    if (n - i >= chunk) extremes_of<D>(in, &low, &high);
    else low = lanes_of<D, Min, true>(in, item, n - i), high = lanes_of<D, Max, true>(in, item, n - i);
    lows.add(fold<D, Min>(low)), highs.add(fold<D, Max>(high));
  }
  const L low = lows.finish(0), high = highs.finish(0);
  memcpy(least, &low, sizeof low), memcpy(most, &high, sizeof high);
}

// Rows side by side: each is brought to one register, and as many as a register has lanes are folded together.
template <class D, class Op> void rows(int64_t count, int64_t n, const char *in, int64_t row_stride, int64_t stride, char *out) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int lanes = D::kLanes;
  int64_t i = 0;
  if (stride == sizeof(typename D::Stored) && n <= WEFT_REDUCE_CHUNK)
    for (; i + lanes <= count; i += lanes, in += lanes * row_stride) {
      V part[lanes];
      if (n <= lanes) {
#pragma GCC unroll 16
        for (int r = 0; r < lanes; r++) part[r] = short_row<D, Op, 1>(in + r * row_stride, n);
      } else if (n <= 2 * lanes) {
#pragma GCC unroll 16
        for (int r = 0; r < lanes; r++) part[r] = short_row<D, Op, 2>(in + r * row_stride, n);
      } else {
        for (int r = 0; r < lanes; r++) part[r] = lanes_of<D, Op, true>(in + r * row_stride, stride, n);
      }
      const V v = fold_rows<D, Op>(part);
      memcpy(out + i * sizeof(L), &v, sizeof v);
    }
  for (; i < count; i++, in += row_stride) row<D, Op>(n, in, stride, out + i * sizeof(L));
}

// Columns: within a block of 64 rows, row i goes to partial result i % 4; partials, then blocks, in a fixed tree. A strip of
// columns keeps its partial results in the first-level cache; 16 rows are read side by side, as many streams as the
// processor follows.
constexpr int64_t kBlock = 64, kStrip = 512, kStreams = 16, kNarrow = 256;
constexpr int kLevels = 58;  // enough for any number of blocks; those of high places are not touched

// Rows [0, n) of a block into the four partial results of one register of columns.
template <class D, class Op, class Load> inline void column_step(typename D::V *acc, Nans<typename D::V> &nans, int64_t n, Load load) {
  typedef typename D::V V;
  if (n % kStreams == 0) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i += 4) {
      V x[4];
#pragma GCC unroll 4
      for (int a = 0; a < 4; a++) acc[a] = Op::step(acc[a], x[a] = load(i + a));
      if (Op::watches) nans |= unordered(x[0], x[1]) | unordered(x[2], x[3]);
    }
  } else {
    for (int64_t i = 0; i < n; i += 4) {
#pragma GCC unroll 4
      for (int a = 0; a < 4; a++)
        if (i + a < n) {
          const V x = load(i + a);
          acc[a] = Op::step(acc[a], x);
          if (Op::watches) nans |= unordered(x, x);
        }
    }
  }
}

// One block of rows and one strip: out[j] for j < width; `out` has room for whole registers.
template <class D, class Op> void column_block(int64_t rows, int64_t width, const char *in, int64_t stride, typename D::Lane *out) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  alignas(64) V kept[4][kStrip / lanes];
  Nans<V> nans[kStrip / lanes];
  // Narrow rows stand in few lines: all rows of the block at once.
  const int64_t together = width * item <= kNarrow ? kBlock : kStreams;
  for (int64_t i0 = 0; i0 < rows; i0 += together) {
    const int64_t n = rows - i0 < together ? rows - i0 : together;
    const bool last = i0 + together >= rows;
    for (int64_t j = 0, k = 0; j < width; j += lanes, k++) {
      V acc[4];
#pragma GCC unroll 4
      for (int a = 0; a < 4; a++) acc[a] = i0 ? kept[a][k] : V{} + Op::template start<L>();
      Nans<V> seen = {};
      if (Op::watches && i0) seen = nans[k];
      const char *p = in + i0 * stride + j * item;
      const int64_t part = width - j;
      if (part >= lanes) column_step<D, Op>(acc, seen, n, [=](int64_t i) { return D::load(p + i * stride); });
      else column_step<D, Op>(acc, seen, n, [=](int64_t i) { return Part<D>::of(p + i * stride, part); });
      if (last) {
        V r = Op::join(Op::join(acc[0], acc[2]), Op::join(acc[1], acc[3]));
        if constexpr (Op::watches) r = put_nan(r, seen);
        memcpy(out + j, &r, sizeof r);
      } else {
#pragma GCC unroll 4
        for (int a = 0; a < 4; a++) kept[a][k] = acc[a];
        if (Op::watches) nans[k] = seen;
      }
    }
  }
}

template <class D, class Op> void wide_column(int64_t n, int64_t m, const char *in, int64_t stride, char *out) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  alignas(64) L levels[kLevels][kStrip];  // the cascade of Cascade, a strip at a time
  alignas(64) L sum[kStrip];
  const auto join = [&](const L *level, int64_t width) {  // sum = level op sum
    for (int64_t j = 0; j < width; j += lanes) {
      V a, b;
      memcpy(&a, level + j, sizeof a);
      memcpy(&b, sum + j, sizeof b);
      a = Op::join(a, b);
      memcpy(sum + j, &a, sizeof a);
    }
  };
  for (int64_t j0 = 0; j0 < m; j0 += kStrip) {
    const int64_t width = m - j0 < kStrip ? m - j0 : kStrip, bytes = (width + lanes - 1) / lanes * sizeof(V);
    uint64_t used = 0;
    for (int64_t i0 = 0; i0 < n; i0 += kBlock) {
      if (i0 && i0 % (1 << 16) == 0) weft_poll_signals();
      column_block<D, Op>(n - i0 < kBlock ? n - i0 : kBlock, width, in + i0 * stride + j0 * item, stride, sum);
      int k = 0;
      for (; used >> k & 1; k++) join(levels[k], width);
      used = (used >> k | 1) << k;
      memcpy(levels[k], sum, bytes);
    }
    bool first = true;
    for (int64_t j = 0; j < width; j++) sum[j] = Op::template start<L>();
    for (int k = 0; k < kLevels; k++)
      if (used >> k & 1) {
        if (first) memcpy(sum, levels[k], bytes);
        else join(levels[k], width);
        first = false;
      }
    memcpy(out + j0 * sizeof(L), sum, width * sizeof(L));
  }
}

// Few columns without gaps: so many rows are one that they fill several registers. What these have in a column, and then the rows that
// are left, is joined in order.
constexpr int64_t kFew = 32, kFilled = 64;
template <class D, class Op> void column(int64_t n, int64_t m, const char *in, int64_t stride, char *out) {
  typedef typename D::Lane L;
  const int64_t together = (kFilled + m - 1) / m, wide = together * m, groups = n / together, left = n % together;
  if (m >= kFew || groups < 2 * kBlock / together || stride != m * (int64_t)sizeof(typename D::Stored)) return wide_column<D, Op>(n, m, in, stride, out);
  L parts[kFilled + kFew], rest[kFew];
  wide_column<D, Op>(groups, wide, in, stride * together, reinterpret_cast<char *>(parts));
  for (int64_t j = m; j < wide; j++) parts[j % m] = join1<Op>(parts[j % m], parts[j]);
  if (left) wide_column<D, Op>(left, m, in + groups * together * stride, stride, reinterpret_cast<char *>(rest));
  for (int64_t j = 0; left && j < m; j++) parts[j] = join1<Op>(parts[j], rest[j]);
  memcpy(out, parts, (size_t)m * sizeof(L));
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
// Complex numbers: their sums are those of columns of parts; products run in lanes, without the care for infinities of C's operator.
template <class D> void complex_sums(int64_t n, int64_t m, const char *in, int64_t stride, char *out) { column<D, Sum>(n, 2 * m, in, stride, out); }
constexpr int64_t kShort = 4096;  // numbers of a dense row that are added in lanes, with no tree of blocks
template <class D> void complex_sum(int64_t n, const char *in, int64_t stride, char *out) {
  typedef typename D::Lane L;
  constexpr int registers = kRegisters<D>;
  if (n > kShort || stride != 2 * (int64_t)sizeof(L)) return column<D, Sum>(n, 2, in, stride, out);
  const L *x = reinterpret_cast<const L *>(in);
  typename D::V acc[registers] = {};
  int64_t i = 0;
  for (; i + kWidth <= 2 * n; i += kWidth)
#pragma GCC unroll 16
    for (int r = 0; r < registers; r++) acc[r] += D::load(x + i + r * D::kLanes);
  L parts[kWidth];
  memcpy(parts, acc, sizeof parts);
  for (int l = 0; i < 2 * n; i++, l++) parts[l] += x[i];
  for (int half = kWidth / 2; half > 1; half /= 2)
    for (int l = 0; l < half; l++) parts[l] += parts[l + half];
  memcpy(out, parts, 2 * sizeof(L));
}

constexpr int kComplexLanes = 16;
template <class T> struct Products {  // planes of parts
  T re[kComplexLanes], im[kComplexLanes];
  inline void times(int l, T a, T b) {
    const T r = re[l] * a - im[l] * b;
    im[l] = re[l] * b + im[l] * a, re[l] = r;
  }
};
template <class T> void complex_product(int64_t n, const char *in, int64_t stride, char *out) {
  Products<T> p;  // that begin with the first elements: 1 times one that is infinite would be NaN
  for (int l = 0; l < kComplexLanes && l < n; l++) {
    const T *x = reinterpret_cast<const T *>(in + l * stride);
    p.re[l] = x[0], p.im[l] = x[1];
  }
  int64_t i = n < kComplexLanes ? n : kComplexLanes;
  if (stride == 2 * (int64_t)sizeof(T)) {
    const T *x = reinterpret_cast<const T *>(in);
    for (; i + kComplexLanes <= n; i += kComplexLanes)
#pragma GCC ivdep
      for (int l = 0; l < kComplexLanes; l++) p.times(l, x[2 * (i + l)], x[2 * (i + l) + 1]);
  }
  for (; i < n; i++) {
    const T *x = reinterpret_cast<const T *>(in + i * stride);
    p.times((int)(i % kComplexLanes), x[0], x[1]);
  }
  for (int half = kComplexLanes / 2; half; half /= 2)
    for (int l = 0; l < half && l + half < n; l++) p.times(l, p.re[l + half], p.im[l + half]);
  T *to = reinterpret_cast<T *>(out);
  to[0] = p.re[0], to[1] = p.im[0];
}
template <class T> void complex_products(int64_t n, int64_t m, const char *in, int64_t stride, char *out) {
  T *to = reinterpret_cast<T *>(out);
  memcpy(out, in, (size_t)m * 2 * sizeof(T));
  for (int64_t i = 1; i < n; i++) {
    const T *x = reinterpret_cast<const T *>(in + i * stride);
#pragma GCC ivdep
    for (int64_t j = 0; j < m; j++) {
      const T a = to[2 * j], b = to[2 * j + 1], c = x[2 * j], d = x[2 * j + 1];
      to[2 * j] = a * c - b * d, to[2 * j + 1] = a * d + b * c;
    }
  }
}

// A half is zero when all bits but the sign are.
struct Half {
  uint16_t bits;
};
inline bool operator!=(Half x, int) { return (x.bits & 0x7fff) != 0; }

template <class D> void fill_float(WeftKernels *k, int d) {
  k->reduce_row[WEFT_REDUCE_SUM][d] = row<D, Sum>;
  k->reduce_rows[WEFT_REDUCE_SUM][d] = rows<D, Sum>;
  k->reduce_row[WEFT_REDUCE_NANSUM][d] = row<SkipNan<D>, Sum>;
  k->reduce_rows[WEFT_REDUCE_NANSUM][d] = rows<SkipNan<D>, Sum>;
  k->reduce_column[WEFT_REDUCE_NANSUM][d] = column<SkipNan<D>, Sum>;
  k->reduce_row[WEFT_REDUCE_PROD][d] = row<D, Prod>;
  k->reduce_rows[WEFT_REDUCE_PROD][d] = rows<D, Prod>;
  k->reduce_row[WEFT_REDUCE_MAX][d] = row<D, Max>;
  k->reduce_rows[WEFT_REDUCE_MAX][d] = rows<D, Max>;
  k->reduce_row[WEFT_REDUCE_MIN][d] = row<D, Min>;
  k->reduce_rows[WEFT_REDUCE_MIN][d] = rows<D, Min>;
  k->extremes_row[d] = extremes_row<D>;
  k->reduce_column[WEFT_REDUCE_SUM][d] = column<D, Sum>;
  k->reduce_column[WEFT_REDUCE_PROD][d] = column<D, Prod>;
  k->reduce_column[WEFT_REDUCE_MAX][d] = column<D, Max>;
  k->reduce_column[WEFT_REDUCE_MIN][d] = column<D, Min>;
}
template <class D> void fill_complex(WeftKernels *k, int d) {
  k->reduce_row[WEFT_REDUCE_SUM][d] = complex_sum<D>;
  k->reduce_column[WEFT_REDUCE_SUM][d] = complex_sums<D>;
  k->reduce_row[WEFT_REDUCE_PROD][d] = complex_product<typename D::Lane>;
  k->reduce_column[WEFT_REDUCE_PROD][d] = complex_products<typename D::Lane>;
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
  fill_complex<F32>(k, WEFT_COMPLEX64);
  fill_complex<F64>(k, WEFT_COMPLEX128);
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
