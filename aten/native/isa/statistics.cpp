// statistics.cpp: moments, affine maps, logsumexp, running sums and places of extremes (statistics.h).
#include "statistics.h"

#include <math.h>

#include "folds.h"

namespace {

// The sum over up to a chunk of dense items of what `value(register)` makes of them; see lanes_of in reduce.cpp.
template <class D, class Value> inline typename D::Lane chunk_sum(const char *p, int64_t n, Value value) {
  typedef typename D::V V;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes, registers = kRegisters<D>;
  V acc[registers] = {}, rest[registers] = {};
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
#pragma GCC unroll 16
    for (int r = 0; r < registers; r++) acc[r] = acc[r] + value(D::load(p + (i + r * lanes) * item));
    for (int byte = 0; byte < kWidth * item; byte += 64) __builtin_prefetch(p + i * item + byte + kPrefetch);
  }
  if (i < n) {
    int r = 0;
    for (; i + lanes <= n; r++, i += lanes) rest[r] = value(D::load(p + i * item));
    if (i < n) rest[r] = only<D>(value(load_part<D>(p + i * item, n - i)), n - i);
#pragma GCC unroll 16
    for (int k = 0; k < registers; k++) acc[k] = acc[k] + rest[k];
  }
  return fold<D, Sum>(fold_registers<Sum, registers>(acc));
}

template <class D, class Value> inline double runs_sum(int64_t runs, int64_t n, const char *in, int64_t stride, Value value) {
  double total = 0;
  for (int64_t r = 0; r < runs; r++, in += stride)
    for (int64_t i = 0; i < n; i += WEFT_REDUCE_CHUNK)
      total += chunk_sum<D>(in + i * sizeof(typename D::Stored), n - i < WEFT_REDUCE_CHUNK ? n - i : WEFT_REDUCE_CHUNK, value);
  return total;
}

template <class D> void moments(int64_t runs, int64_t n, const char *in, int64_t stride, void *mean, void *squares) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  const L center = (L)(runs_sum<D>(runs, n, in, stride, [](V v) { return v; }) / ((double)runs * (double)n));
  const L total = (L)runs_sum<D>(runs, n, in, stride, [=](V v) { return (v - center) * (v - center); });
  memcpy(mean, &center, sizeof center);
  memcpy(squares, &total, sizeof total);
}

// Columns go by strips: what is kept for a column stays in the first-level cache while rows pass by.
constexpr int64_t kColumns = 512, kTall = 128;

// Calls body(offset in elements, index of the register, register, valid lanes) for a row of m items.
template <class D, class Body> inline void each(const char *p, int64_t m, Body body) {
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  int64_t j = 0, k = 0;
  for (; j + lanes <= m; j += lanes, k++) body(j, k, D::load(p + j * item), (int64_t)lanes);
  if (j < m) body(j, k, load_part<D>(p + j * item, m - j), m - j);
}
template <class D> inline void put(char *p, int64_t j, typename D::V v, int64_t m) {
  constexpr int item = sizeof(typename D::Stored);
  if (m == D::kLanes) D::store(p + j * item, v);
  else store_part<D>(p + j * item, v, m);
}

// total[j] = the sum over rows of value(index of the register, register).
template <class D, class Value> inline void column_sums(int64_t n, int64_t m, const char *in, int64_t stride, double *total, Value value) {
  typedef typename D::V V;
  constexpr int lanes = D::kLanes;
  alignas(64) V sum[kColumns / lanes];
  for (int64_t j = 0; j < m; j++) total[j] = 0;
  for (int64_t i0 = 0; i0 < n; i0 += 64) {
    const int64_t end = n - i0 < 64 ? n : i0 + 64;
    for (int64_t i = i0; i < end; i++) {
      const char *p = in + i * stride;
      each<D>(p, m, [&](int64_t j, int64_t k, V v, int64_t) {
        __builtin_prefetch(p + 2 * stride + j * sizeof(typename D::Stored));
        sum[k] = i == i0 ? value(k, v) : sum[k] + value(k, v);
      });
    }
    for (int64_t j = 0; j < m; j++) total[j] += sum[j / lanes][j % lanes];
  }
}

template <class D> void moments_columns(int64_t n, int64_t m, const char *in, int64_t stride, void *mean, void *squares) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int lanes = D::kLanes;
  alignas(64) V center[kColumns / lanes];
  double total[kColumns];
  for (int64_t j0 = 0; j0 < m; j0 += kColumns) {
    const int64_t width = m - j0 < kColumns ? m - j0 : kColumns;
    const char *strip = in + j0 * sizeof(typename D::Stored);
    column_sums<D>(n, width, strip, stride, total, [](int64_t, V v) { return v; });
    for (int64_t k = 0; k < kColumns / lanes; k++) center[k] = V{};
    for (int64_t j = 0; j < width; j++) {
      const L c = (L)(total[j] / (double)n);
      center[j / lanes][j % lanes] = c;
      memcpy((L *)mean + j0 + j, &c, sizeof c);
    }
    column_sums<D>(n, width, strip, stride, total, [&](int64_t k, V v) { return (v - center[k]) * (v - center[k]); });
    for (int64_t j = 0; j < width; j++) {
      const L s = (L)total[j];
      memcpy((L *)squares + j0 + j, &s, sizeof s);
    }
  }
}

// The sums of row i go to accumulator i % 4. Exponentials wait for their sum where the result will stand, but of half types.
template <class D, bool log> void softmax_columns(int64_t n, int64_t m, const char *in, int64_t stride, char *out) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), registers = kTall / D::kLanes;
  constexpr bool waits = !log && sizeof(L) == item;
  alignas(64) V top[registers], sum[4][registers];
  for (int64_t j0 = 0; j0 < m; j0 += kTall, in += kTall * item, out += kTall * item) {
    const int64_t width = m - j0 < kTall ? m - j0 : kTall;
    for (int k = 0; k < registers; k++) top[k] = V{} - (L)__builtin_inf(), sum[0][k] = sum[1][k] = sum[2][k] = sum[3][k] = V{};
    for (int64_t i = 0; i < n; i++)
      each<D>(in + i * stride, width, [&](int64_t j, int64_t k, V v, int64_t) {
        __builtin_prefetch(in + (i + 8) * stride + j * item);
        top[k] = greater(v, top[k]);
      });
    for (int64_t i = 0; i < n; i++)
      each<D>(in + i * stride, width, [&](int64_t j, int64_t k, V v, int64_t valid) {
        const V e = vm_exp(v - top[k]);
        sum[i & 3][k] = sum[i & 3][k] + e;
        if (waits) put<D>(out + i * stride, j, e, valid);
      });
    for (int k = 0; k < registers; k++) {
      const V total = (sum[0][k] + sum[2][k]) + (sum[1][k] + sum[3][k]);
      sum[0][k] = log ? vm_log(total) : 1 / total;
    }
    for (int64_t i = 0; i < n; i++)
      each<D>((waits ? out : in) + i * stride, width, [&](int64_t j, int64_t k, V v, int64_t valid) {
        put<D>(out + i * stride, j, log ? (v - top[k]) - sum[0][k] : waits ? v * sum[0][k] : vm_exp(v - top[k]) * sum[0][k], valid);
      });
  }
}

// Sums of 64 rows are added in float64.
template <class D, bool log> void softmax_columns_backward(int64_t n, int64_t m, const char *g, const char *out, int64_t stride, char *gin) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes, registers = kTall / lanes;
  const auto at = [&](int64_t i, int64_t j, int64_t valid) { return valid == lanes ? D::load(out + i * stride + j * item) : load_part<D>(out + i * stride + j * item, valid); };
  for (int64_t j0 = 0; j0 < m; j0 += kTall, g += kTall * item, out += kTall * item, gin += kTall * item) {
    const int64_t width = m - j0 < kTall ? m - j0 : kTall;
    alignas(64) V sum[registers];
    double total[kTall] = {};
    for (int64_t i0 = 0; i0 < n; i0 += 64) {
      for (int k = 0; k < registers; k++) sum[k] = V{};
      for (int64_t i = i0; i < n && i < i0 + 64; i++)
        each<D>(g + i * stride, width, [&](int64_t j, int64_t k, V v, int64_t valid) {
          __builtin_prefetch(g + (i + 8) * stride + j * item);
          if (!log) __builtin_prefetch(out + (i + 8) * stride + j * item);
          sum[k] = sum[k] + (log ? v : v * at(i, j, valid));
        });
      for (int64_t j = 0; j < width; j++) total[j] += sum[j / lanes][j % lanes];
    }
    for (int64_t j = 0; j < width; j++) sum[j / lanes][j % lanes] = (L)total[j];
    for (int64_t i = 0; i < n; i++)
      each<D>(g + i * stride, width, [&](int64_t j, int64_t k, V v, int64_t valid) {
        const V y = at(i, j, valid);
        put<D>(gin + i * stride, j, log ? v - vm_exp(y) * sum[k] : y * (v - sum[k]), valid);
      });
  }
}

template <class D> void affine(int64_t n, const char *x, const void *center, const void *scale, const void *shift, char *y) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  L c, s, b;
  memcpy(&c, center, sizeof c);
  memcpy(&s, scale, sizeof s);
  memcpy(&b, shift, sizeof b);
  const V factor = V{} + s, add = V{} + b;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    __builtin_prefetch(x + i * item + kPrefetch);
    D::store(y + i * item, vm_fma(D::load(x + i * item) - c, factor, add));
  }
  if (i < n) store_part<D>(y + i * item, vm_fma(load_part<D>(x + i * item, n - i) - c, factor, add), n - i);
}

// Rows of any length: the greatest number first, then the sum. Infinite extremes are not subtracted.
template <class D> void logsumexp(int64_t rows, int64_t n, const char *in, int64_t stride, char *out) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  const L least = -(L)__builtin_inf();
  for (int64_t r = 0; r < rows; r++, in += stride) {
    V best[2] = {V{} + least, V{} + least};
    int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      best[0] = greater(D::load(in + i * item), best[0]);
      best[1] = greater(D::load(in + (i + lanes) * item), best[1]);
      for (int byte = 0; byte < 2 * lanes * item; byte += 64) __builtin_prefetch(in + i * item + byte + kPrefetch);
    }
    for (; i < n; i += lanes) best[0] = greater(n - i < lanes ? load_part<D>(in + i * item, n - i, least) : D::load(in + i * item), best[0]);
    L top = fold<D, Max>(greater(best[0], best[1]));
    if (top == least || top == -least) top = 0;
    const double total = runs_sum<D>(1, n, in, 0, [=](V v) { return vm_exp(v - top); });
    const L result = (L)::log(total) + top;
    memcpy(out + r * sizeof(L), &result, sizeof result);
  }
}

// ------------------------------------------------------------------------------------------------------ running sums

// Lane k is lane k - by of v, zero for k < by.
template <int by, class V, int... i> inline V shifted(V v, std::integer_sequence<int, i...>) {
  return (V)__builtin_shufflevector(V{}, v, (i < by ? i : (int)sizeof...(i) + i - by)...);
}
template <class D> inline typename D::V prefix(typename D::V v) {
  const auto lanes = std::make_integer_sequence<int, D::kLanes>();
  v = v + shifted<1>(v, lanes);
  v = v + shifted<2>(v, lanes);
  if constexpr (D::kLanes >= 8) v = v + shifted<4>(v, lanes);
  if constexpr (D::kLanes >= 16) v = v + shifted<8>(v, lanes);
  return v;
}
template <class V> inline V last_lane(V v) {
  return V{} + v[sizeof(V) / sizeof(v[0]) - 1];
}

// Integers and bool run on in int64, as words that wrap around. Any order of additions gives the same sums.
typedef Plain<uint64_t> Sum64;
template <class S, bool truth = false> struct Whole {
  typedef S Stored;
  static constexpr int kLanes = Sum64::kLanes;
  typedef Sum64::V V;
  static inline V load(const void *p) {
    Vec<S, kLanes> v;
    memcpy(&v, p, sizeof v);
    const V wide = w_cast<uint64_t>(v);
    return truth ? (V)(wide != 0) & 1 : wide;
  }
  static inline uint64_t one(const char *p) {
    S x;
    memcpy(&x, p, sizeof x);
    return truth ? x != 0 : (uint64_t)x;
  }
};

// What sums of D are stored as.
template <class D> struct SumsOf { typedef D type; };
template <class S, bool truth> struct SumsOf<Whole<S, truth>> { typedef Sum64 type; };
template <class D> using Sums = typename SumsOf<D>::type;

// The first `n` lanes by masks, those of words by the masks of doubles; narrow integers, which have none, go one by one.
template <class D> constexpr bool kIntegers = std::is_same<Sums<D>, Sum64>::value;
template <class D> constexpr bool kMasked = !kIntegers<D> || sizeof(typename D::Stored) == 8;
template <class D> inline typename D::V some(const char *p, int64_t n) {
  if constexpr (kIntegers<D>) return (typename D::V)load_part<F64>(p, n);
  else return load_part<D>(p, n);
}
template <class D> inline void put_some(char *p, typename D::V v, int64_t n) {
  if constexpr (kIntegers<D>) store_part<F64>(p, (F64::V)v, n);
  else store_part<D>(p, v, n);
}
inline void put_one(char *p, uint64_t x) { memcpy(p, &x, sizeof x); }

// Two rows side by side: what the one waits for, the other computes.
template <class D, int rows> inline void cumsum_rows(int64_t n, const char *in, int64_t in_stride, char *out) {
  typedef typename D::V V;
  constexpr int item = sizeof(typename D::Stored), to = sizeof(typename Sums<D>::Stored), lanes = D::kLanes;
  const int64_t out_stride = n * to;
  V carry[rows] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
      const char *p = in + r * in_stride + i * item;
      __builtin_prefetch(p + kPrefetch);
      const V y = prefix<D>(D::load(p)) + carry[r];
      carry[r] = last_lane(y);
      Sums<D>::store(out + r * out_stride + i * to, y);
    }
  if (i == n) return;
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) {
    const char *p = in + r * in_stride + i * item;
    char *q = out + r * out_stride + i * to;
    if constexpr (kMasked<D>) {
      put_some<D>(q, prefix<D>(some<D>(p, n - i)) + carry[r], n - i);
    } else {
      auto sum = carry[r][0];
      for (int64_t k = 0; k < n - i; k++) put_one(q + k * to, sum += D::one(p + k * item));
    }
  }
}
template <class D> void cumsum(int64_t rows, int64_t n, const char *in, int64_t in_stride, char *out) {
  const int64_t out_stride = n * sizeof(typename Sums<D>::Stored);
  int64_t r = 0;
  for (; r + 2 <= rows; r += 2) cumsum_rows<D, 2>(n, in + r * in_stride, in_stride, out + r * out_stride);
  if (r < rows) cumsum_rows<D, 1>(n, in + r * in_stride, in_stride, out + r * out_stride);
}

// Sums of half types run on in float32, a strip at a time.
template <class D> void cumsum_columns(int64_t n, int64_t m, const char *in, int64_t stride, char *out, int64_t out_stride) {
  typedef typename D::V V;
  constexpr int item = sizeof(typename D::Stored), to = sizeof(typename Sums<D>::Stored), lanes = D::kLanes;
  alignas(64) V running[kColumns / lanes];
  for (int64_t j0 = 0; j0 < m; j0 += kColumns) {
    const int64_t width = m - j0 < kColumns ? m - j0 : kColumns;
    for (int64_t k = 0; k < kColumns / lanes; k++) running[k] = V{};
    for (int64_t i = 0; i < n; i++) {
      const char *p = in + i * stride + j0 * item;
      char *q = out + i * out_stride + j0 * to;
      int64_t j = 0, k = 0;
      for (; j + lanes <= width; j += lanes, k++) {
        __builtin_prefetch(p + 2 * stride + j * item);
        Sums<D>::store(q + j * to, running[k] = running[k] + D::load(p + j * item));
      }
      if (j == width) continue;
      if constexpr (kMasked<D>) put_some<D>(q + j * to, running[k] = running[k] + some<D>(p + j * item, width - j), width - j);
      else
        for (int64_t l = 0; j < width; l++, j++) put_one(q + j * to, running[k][l] += D::one(p + j * item));
    }
  }
}

// ------------------------------------------------------------------------------------------------ places of extremes

#ifdef __AVX512F__
inline bool any_lane(Vec<int, 16> m) { return __builtin_ia32_ptestmd512(m, m, -1) != 0; }
inline bool any_lane(Vec<long, 8> m) { return __builtin_ia32_ptestmq512((Vec<long long, 8>)m, (Vec<long long, 8>)m, -1) != 0; }
#else
template <class I> inline bool any_lane(I m) { return !__builtin_ia32_ptestz256((Vec<long long, 4>)m, (Vec<long long, 4>)m); }
#endif

// The extreme first, with whether there is a NaN; then the first lane that equals it (is NaN).
template <class D, class Op> int64_t arg_row(int64_t n, const char *in) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  const V start = V{} + Op::template start<L>();
  V best[4] = {start, start, start, start};
  Nans<V> nans = {};
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    V x[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) best[r] = Op::step(best[r], x[r] = D::load(in + (i + r * lanes) * item));
    nans |= unordered(x[0], x[1]) | unordered(x[2], x[3]);
    for (int byte = 0; byte < 4 * lanes * item; byte += 64) __builtin_prefetch(in + i * item + byte + kPrefetch);
  }
  for (; i < n; i += lanes) {
    const V x = n - i < lanes ? load_part<D>(in + i * item, n - i, Op::template start<L>()) : D::load(in + i * item);
    best[0] = Op::step(best[0], x);
    nans |= unordered(x, x);
  }
  V joined = Op::step(Op::step(best[0], best[2]), Op::step(best[1], best[3]));
  const L extreme = fold<D, Op>(put_nan(joined, nans));
  for (i = 0; i < n; i += lanes) {
    const V x = n - i < lanes ? load_part<D>(in + i * item, n - i, Op::template start<L>()) : D::load(in + i * item);
    const vm_mask<V> hit = extreme != extreme ? x != x : x == extreme;
    if (any_lane(hit))
      for (int l = 0; l < lanes; l++)
        if (hit[l]) return i + l;
  }
  return 0;
}

// A strip's extremes and where they stand are kept in the first-level cache; rows pass by.
template <class D, bool least> void arg_columns(int64_t n, int64_t m, const char *in, int64_t stride, int64_t *out) {
  typedef typename D::V V;
  typedef vm_mask<V> I;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  alignas(64) V best[kColumns / lanes];
  alignas(64) I at[kColumns / lanes];
  for (int64_t j0 = 0; j0 < m; j0 += kColumns) {
    const int64_t width = m - j0 < kColumns ? m - j0 : kColumns;
    for (int64_t i = 0; i < n; i++) {
      const char *p = in + i * stride + j0 * item;
      const I here = I{} + (decltype(I{}[0] + 0))i;
      for (int64_t j = 0, k = 0; j < width; j += lanes, k++) {
        const V x = width - j < lanes ? load_part<D>(p + j * item, width - j) : D::load(p + j * item);
        __builtin_prefetch(p + 2 * stride + j * item);
        const V b = i ? best[k] : x;
        const I take = ((least ? x < b : x > b) | (x != x)) & (b == b);
        best[k] = take ? x : b;
        at[k] = take ? here : i ? at[k] : I{};
      }
    }
    for (int64_t j = 0; j < width; j++) out[j0 + j] = (int64_t)at[j / lanes][j % lanes];
  }
}

template <class D> void fill_sums(WeftStatistics *s, int d) {
  s->cumsum[d] = cumsum<D>;
  s->cumsum_columns[d] = cumsum_columns<D>;
}

template <class D> void fill(WeftStatistics *s, int d) {
  s->moments[d] = moments<D>;
  s->moments_columns[d] = moments_columns<D>;
  s->softmax_columns[0][d] = softmax_columns<D, false>;
  s->softmax_columns[1][d] = softmax_columns<D, true>;
  s->softmax_columns_backward[0][d] = softmax_columns_backward<D, false>;
  s->softmax_columns_backward[1][d] = softmax_columns_backward<D, true>;
  s->affine[d] = affine<D>;
  s->logsumexp[d] = logsumexp<D>;
  fill_sums<D>(s, d);
  s->arg_row[0][d] = arg_row<D, Max>;
  s->arg_row[1][d] = arg_row<D, Min>;
  s->arg_columns[0][d] = arg_columns<D, false>;
  s->arg_columns[1][d] = arg_columns<D, true>;
}

}  // namespace

extern "C" void WEFT_GLUE(weft_fill_statistics_, WEFT_ISA)(WeftStatistics *s) {
  fill<F32>(s, WEFT_FLOAT32);
  fill<F64>(s, WEFT_FLOAT64);
  fill<F16>(s, WEFT_FLOAT16);
  fill<BF16>(s, WEFT_BFLOAT16);
  fill_sums<Whole<uint8_t, true>>(s, WEFT_BOOL);
  fill_sums<Whole<uint8_t>>(s, WEFT_UINT8);
  fill_sums<Whole<int8_t>>(s, WEFT_INT8);
  fill_sums<Whole<int16_t>>(s, WEFT_INT16);
  fill_sums<Whole<int32_t>>(s, WEFT_INT32);
  fill_sums<Whole<int64_t>>(s, WEFT_INT64);
}
