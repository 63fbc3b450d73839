// rows.cpp: functions of whole contiguous rows: softmax, log_softmax, their derivatives, layer_norm and rms_norm. A row is
// read from the first-level cache after its first pass. Sums take the order of kernels.h within one chunk.
#include <math.h>

#include "vectors.h"

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
template <class D> inline typename D::V only(typename D::V v, int64_t m) {  // lanes past m become zero
  for (int64_t l = m; l < D::kLanes; l++) v[l] = 0;
  return v;
}

// Four registers of partial sums, register i / lanes % 4, joined as a tree.
template <class D> struct Total {
  typename D::V part[4] = {};
  int next = 0;
  inline void add(typename D::V v) {
    part[next] = part[next] + v;
    next = (next + 1) & 3;
  }
  inline typename D::Lane sum() const {
    const typename D::V v = (part[0] + part[2]) + (part[1] + part[3]);
    typename D::Lane lane[D::kLanes];
    memcpy(lane, &v, sizeof v);
    for (int w = D::kLanes / 2; w > 0; w /= 2)
      for (int l = 0; l < w; l++) lane[l] += lane[l + w];
    return lane[0];
  }
};

template <class D> inline typename D::Lane row_max(const char *in, int64_t n) {
  typename D::V best = typename D::V{} - (typename D::Lane)__builtin_inf();
  each<D>(in, n, -(typename D::Lane)__builtin_inf(), [&](int64_t, typename D::V v, int64_t) { best = vm_max(best, v); });
  typename D::Lane r = best[0];
  for (int l = 1; l < D::kLanes; l++) r = (best[l] != best[l]) | (best[l] > r) ? best[l] : r;
  return r;
}

template <class D, bool log> void softmax(int64_t rows, int64_t n, const char *in, int64_t in_stride, char *out, int64_t out_stride) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  for (int64_t r = 0; r < rows; r++, in += in_stride, out += out_stride) {
    const L top = row_max<D>(in, n);
    // A row of -inf alone gives NaN, as 0 / 0 does.
    Total<D> total;
    each<D>(in, n, 0, [&](int64_t, V v, int64_t m) { total.add(only<D>(vm_exp(v - top), m)); });
    if (log) {
      const L shift = top + (sizeof(L) == 4 ? (L)logf(total.sum()) : (L)::log(total.sum()));
      const L log_sum = shift - top;
      each<D>(in, n, 0, [&](int64_t i, V v, int64_t m) { put<D>(out, i, (v - top) - log_sum, m); });
    } else {
      const L scale = 1 / total.sum();
      each<D>(in, n, 0, [&](int64_t i, V v, int64_t m) { put<D>(out, i, vm_exp(v - top) * scale, m); });
    }
  }
}

template <class D, bool log> void softmax_backward(int64_t rows, int64_t n, const char *g, const char *out, char *gin) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  const int64_t bytes = n * sizeof(typename D::Stored);
  for (int64_t r = 0; r < rows; r++, g += bytes, out += bytes, gin += bytes) {
    Total<D> total;
    each<D>(g, n, 0, [&](int64_t i, V v, int64_t m) { total.add(log ? v : v * get<D>(out, i, m)); });
    const L sum = total.sum();
    each<D>(g, n, 0, [&](int64_t i, V v, int64_t m) {
      const V y = get<D>(out, i, m);
      put<D>(gin, i, log ? v - vm_exp(y) * sum : y * (v - sum), m);
    });
  }
}

template <class D>
void layer_norm(int64_t rows, int64_t n, const char *x, const char *weight, const char *bias, double eps, int rms, char *y, char *mean,
                char *rstd) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  const int64_t bytes = n * sizeof(typename D::Stored);
  for (int64_t r = 0; r < rows; r++, x += bytes, y += bytes) {
    L center = 0;
    if (!rms) {
      Total<D> total;
      each<D>(x, n, 0, [&](int64_t, V v, int64_t) { total.add(v); });
      center = total.sum() / (L)n;
    }
    Total<D> squares;
    each<D>(x, n, 0, [&](int64_t, V v, int64_t m) { squares.add(only<D>((v - center) * (v - center), m)); });
    const L variance = squares.sum() / (L)n;
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
