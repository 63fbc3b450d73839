// rows.cpp: functions of whole contiguous rows: softmax, log_softmax, their derivatives, layer_norm and rms_norm. A row is
// read from the first-level cache after its first pass. Sums take the order of kernels.h within one chunk.
#include <math.h>

#include "folds.h"

namespace {

// Calls body(offset in elements, register, valid lanes) for a row of n, `load_part` filling the rest with `fill`.
template <class D, class Body> inline void each(const char *p, int64_t n, typename D::Lane fill, Body body) {
  constexpr int item = sizeof(typename D::Stored);
  int64_t i = 0;
  for (; i + D::kLanes <= n; i += D::kLanes) body(i, D::load(p + i * item), (int64_t)D::kLanes);
  if (i < n) body(i, load_part<D>(p + i * item, n - i, fill), n - i);
}
template <class D> inline void put(char *p, int64_t i, typename D::V v, int64_t m) {
  constexpr int item = sizeof(typename D::Stored);
  if (m == D::kLanes) D::store(p + i * item, v);
  else store_part<D>(p + i * item, v, m);
}
template <class D> inline typename D::V get(const char *p, int64_t i, int64_t m) {
  constexpr int item = sizeof(typename D::Stored);
  return m == D::kLanes ? D::load(p + i * item) : load_part<D>(p + i * item, m);
}
struct Greatest {
  template <class V> static inline V join(V a, V b) { return a > b ? a : b; }
};

// The sum over a row of what `value(offset, register, valid lanes)` makes of it, in the order of one chunk: register r of
// every 64 items to accumulator r, which no variable indexes, so that it stays in a register.
template <class D, class Value> inline typename D::Lane row_sum(const char *p, int64_t n, Value value) {
  typedef typename D::V V;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes, registers = kRegisters<D>;
  V acc[registers] = {};
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
#pragma GCC unroll 16
    for (int r = 0; r < registers; r++) acc[r] = acc[r] + value(i + r * lanes, D::load(p + (i + r * lanes) * item), (int64_t)lanes);
  }
#pragma GCC unroll 16
  for (int r = 0; r < registers; r++) {
    const int64_t at = i + r * lanes;
    if (at + lanes <= n) acc[r] = acc[r] + value(at, D::load(p + at * item), (int64_t)lanes);
    else if (at < n) acc[r] = acc[r] + only<D>(value(at, load_part<D>(p + at * item, n - at), n - at), n - at);
  }
  return fold<D, Sum>(fold_registers<Sum, registers>(acc));
}

// The greatest item that is a number; rows to come are read ahead.
template <class D> inline typename D::Lane row_max(const char *in, int64_t n) {
  typedef typename D::V V;
  constexpr int item = sizeof(typename D::Stored), lanes = D::kLanes;
  V best[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; r++) best[r] = V{} - (typename D::Lane)__builtin_inf();
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) best[r] = greater(D::load(in + (i + r * lanes) * item), best[r]);
    for (int byte = 0; byte < 4 * lanes * item; byte += 64) __builtin_prefetch(in + i * item + byte + kPrefetch);
  }
  for (; i + lanes <= n; i += lanes) best[0] = greater(D::load(in + i * item), best[0]);
  if (i < n) best[1] = greater(load_part<D>(in + i * item, n - i, -(typename D::Lane)__builtin_inf()), best[1]);
  return fold<D, Greatest>(greater(greater(best[0], best[2]), greater(best[1], best[3])));
}

// exp(x - top), kept where the row's results will stand (half types: beside them, for rows of at most kKept items, else
// computed again), then scaled. A row with a NaN, of -inf alone or with +inf becomes NaN by its sum.
constexpr int64_t kKept = 4096;

template <class D, bool log> void softmax(int64_t rows, int64_t n, const char *in, int64_t in_stride, char *out, int64_t out_stride) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  typedef Plain<L> Wide;
  constexpr bool direct = sizeof(typename D::Stored) == sizeof(L);
  alignas(64) L beside[direct || log ? 1 : kKept];
  const bool keeps = direct || n <= kKept;
  for (int64_t r = 0; r < rows; r++, in += in_stride, out += out_stride) {
    const L top = row_max<D>(in, n);
    if (log) {
      const L total = row_sum<D>(in, n, [&](int64_t, V v, int64_t) { return vm_exp(v - top); });
      const L log_sum = sizeof(L) == 4 ? (L)logf(total) : (L)::log(total);
      each<D>(in, n, 0, [&](int64_t i, V v, int64_t m) { put<D>(out, i, (v - top) - log_sum, m); });
    } else if (keeps) {
      char *kept = direct ? out : (char *)beside;
      const L total = row_sum<D>(in, n, [&](int64_t i, V v, int64_t m) {
        const V e = vm_exp(v - top);
        put<Wide>(kept, i, e, m);
        return e;
      });
      const L scale = 1 / total;
      each<Wide>(kept, n, 0, [&](int64_t i, V v, int64_t m) { put<D>(out, i, v * scale, m); });
    } else {
      const L scale = 1 / row_sum<D>(in, n, [&](int64_t, V v, int64_t) { return vm_exp(v - top); });
      each<D>(in, n, 0, [&](int64_t i, V v, int64_t m) { put<D>(out, i, vm_exp(v - top) * scale, m); });
    }
  }
}

template <class D, bool log> void softmax_backward(int64_t rows, int64_t n, const char *g, const char *out, char *gin) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  const int64_t bytes = n * sizeof(typename D::Stored);
  for (int64_t r = 0; r < rows; r++, g += bytes, out += bytes, gin += bytes) {
    const L sum = row_sum<D>(g, n, [&](int64_t i, V v, int64_t m) { return log ? v : v * get<D>(out, i, m); });
    each<D>(g, n, 0, [&](int64_t i, V v, int64_t m) {
      const V y = get<D>(out, i, m);
      put<D>(gin, i, log ? v - vm_exp(y) * sum : y * (v - sum), m);
    });
  }
}

// Reads ahead of the first pass over a row.
template <class D> inline void ahead(const char *row, int64_t i) {
  __builtin_prefetch(row + i * sizeof(typename D::Stored) + kPrefetch);
}

template <class D>
void layer_norm(int64_t rows, int64_t n, const char *x, const char *weight, const char *bias, double eps, int rms, char *y, char *mean,
                char *rstd) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  const int64_t bytes = n * sizeof(typename D::Stored);
  for (int64_t r = 0; r < rows; r++, x += bytes, y += bytes) {
    L center = 0;
    if (!rms) center = row_sum<D>(x, n, [&](int64_t i, V v, int64_t) { return ahead<D>(x, i), v; }) / (L)n;
    const L squares = row_sum<D>(x, n, [&](int64_t i, V v, int64_t) {
      if (rms) ahead<D>(x, i);
      return (v - center) * (v - center);
    });
    const L variance = squares / (L)n;
    const L scale = 1 / (sizeof(L) == 4 ? (L)sqrtf(variance + (L)eps) : (L)sqrt(variance + (L)eps));
    each<D>(x, n, 0, [&](int64_t i, V v, int64_t m) {
      V z = (v - center) * scale;
      if (weight) z = z * get<D>(weight, i, m);
      if (bias) z = z + get<D>(bias, i, m);
      put<D>(y, i, z, m);
    });
    if (mean) memcpy(mean + r * sizeof(L), &center, sizeof(L));
    if (rstd) memcpy(rstd + r * sizeof(L), &scale, sizeof(L));
  }
}

template <class D> void fill(WeftKernels *k, int d) {
  k->softmax[d] = softmax<D, false>;
  k->log_softmax[d] = softmax<D, true>;
  k->softmax_backward[d] = softmax_backward<D, false>;
  k->log_softmax_backward[d] = softmax_backward<D, true>;
  k->layer_norm[d] = layer_norm<D>;
}

}  // namespace

void WEFT_FILL(rows)(WeftKernels *k) {
  fill<F32>(k, WEFT_FLOAT32);
  fill<F64>(k, WEFT_FLOAT64);
  fill<F16>(k, WEFT_FLOAT16);
  fill<BF16>(k, WEFT_BFLOAT16);
}
