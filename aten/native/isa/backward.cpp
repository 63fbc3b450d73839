// backward.cpp: derivatives that eager backward takes in one pass: gelu, silu, layer_norm and rms_norm.
#include <math.h>

#include <type_traits>

#include "folds.h"
#include "pointwise.h"

namespace {

template <class V> using LaneOf = typename std::decay<decltype(V{}[0])>::type;

// g * (Phi(x) + x * phi(x))
struct GeluBackward {
  template <class V> static inline V call(V g, V x) {
    typedef LaneOf<V> L;
    const L half = 0.5, one = 1, root_half = (L)0.70710678118654752440, density = (L)0.39894228040143267794;
    return g * (half * (one + vm_erf(x * root_half)) + x * (density * vm_exp(-half * (x * x))));
  }
};
struct GeluTanhBackward {
  template <class V> static inline V call(V g, V x) {
    typedef LaneOf<V> L;
    const L half = 0.5, one = 1, root = (L)0.79788456080286535588, cube = (L)0.044715, slope = (L)0.134145;
    const V t = vm_tanh(root * (x + cube * (x * x * x)));
    return g * (half * (one + t) + half * x * ((one - t * t) * (root * (one + slope * (x * x)))));
  }
};
struct SiluBackward {
  template <class V> static inline V call(V g, V x) {
    const LaneOf<V> one = 1;
    const V s = vm_sigmoid(x);
    return g * (s * (one + x * (one - s)));
  }
};

// Calls body(i, lanes) for the registers of a row of n.
template <class D, class Body> inline void each(int64_t n, Body body) {
  for (int64_t i = 0; i < n; i += D::kLanes) body(i, n - i < D::kLanes ? n - i : (int64_t)D::kLanes);
}
// Lanes past m hold zero.
template <class D> inline typename D::V get(const char *p, int64_t i, int64_t m) {
  p += i * sizeof(typename D::Stored);
  return m == D::kLanes ? D::load(p) : load_part<D>(p, m);
}
template <class D> inline void put(char *p, int64_t i, typename D::V v, int64_t m) {
  p += i * sizeof(typename D::Stored);
  if (m == D::kLanes) D::store(p, v);
  else store_part<D>(p, v, m);
}
template <class D> inline typename D::Lane sum_lanes(typename D::V v) { return fold<D, Sum>(v); }

// With y = (x - mean) * rstd and h = g * weight: gx = rstd * (h - mean(h) - y * mean(h * y)), gw = sum of g * y, gb of g.
template <class D>
void layer_norm_backward(int64_t rows, int64_t n, const char *g, const char *x, const char *weight, double eps, int rms, char *gx, char *gw,
                         char *gb) {
  typedef typename D::V V;
  typedef typename D::Lane L;
  typedef Plain<L> Sums;
  const int64_t bytes = n * sizeof(typename D::Stored);
  const L size = (L)n;
  if (gw) memset(gw, 0, n * sizeof(L));
  if (gb) memset(gb, 0, n * sizeof(L));
  for (int64_t r = 0; r < rows; r++, g += bytes, x += bytes) {
    V total = {}, squares = {}, first = {}, second = {};
    L center = 0;
    if (!rms) {
      each<D>(n, [&](int64_t i, int64_t m) { total += get<D>(x, i, m); });
      center = sum_lanes<D>(total) / size;
    }
    each<D>(n, [&](int64_t i, int64_t m) {
      const V d = only<D>(get<D>(x, i, m) - center, m);
      squares += d * d;
    });
    const L variance = sum_lanes<D>(squares) / size;
    const L scale = 1 / (sizeof(L) == 4 ? (L)sqrtf(variance + (L)eps) : (L)sqrt(variance + (L)eps));
    each<D>(n, [&](int64_t i, int64_t m) {
      const V y = (get<D>(x, i, m) - center) * scale, gi = get<D>(g, i, m);
      const V h = weight ? gi * get<D>(weight, i, m) : gi;
      first += h;
      second += h * y;
      if (gw) put<Sums>(gw, i, get<Sums>(gw, i, m) + gi * y, m);
      if (gb) put<Sums>(gb, i, get<Sums>(gb, i, m) + gi, m);
    });
    if (!gx) continue;
    const L mean = rms ? 0 : sum_lanes<D>(first) / size, slope = sum_lanes<D>(second) / size;
    each<D>(n, [&](int64_t i, int64_t m) {
      const V y = (get<D>(x, i, m) - center) * scale, gi = get<D>(g, i, m);
      const V h = weight ? gi * get<D>(weight, i, m) : gi;
      put<D>(gx, i, scale * (h - mean - y * slope), m);
    });
    gx += bytes;
  }
}

template <class D> void fill(WeftKernels *k, int d) {
  k->layer_norm_backward[d] = layer_norm_backward<D>;
  k->gelu_backward[0][d] = pointwise_loop<D, Values<D>, GeluBackward, 2>;
  k->gelu_backward[1][d] = pointwise_loop<D, Values<D>, GeluTanhBackward, 2>;
  k->silu_backward[d] = pointwise_loop<D, Values<D>, SiluBackward, 2>;
}

}  // namespace

void WEFT_FILL(backward)(WeftKernels *k) {
  fill<F32>(k, WEFT_FLOAT32);
  fill<F64>(k, WEFT_FLOAT64);
  fill<F16>(k, WEFT_FLOAT16);
  fill<BF16>(k, WEFT_BFLOAT16);
}
