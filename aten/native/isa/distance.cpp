// distance.cpp: the loops of distance.h: distances have other rows in their lanes, derivatives have columns.
#include "distance.h"
#include "vectors.h"

using namespace weft;

namespace {

#define INSIDE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

template <class T> using D = Plain<T>;
template <class T> using V = typename Plain<T>::V;
template <class T> constexpr int64_t kLanes = Plain<T>::kLanes;

// sum, taken on by a difference.
template <Norm norm, class W> INSIDE W joined(W sum, W x) {
  if constexpr (norm == NORM_2) return vm_fma(x, x, sum);
  if constexpr (norm == NORM_1) return sum + vm_abs(x);
  if constexpr (norm == NORM_0) return sum + (x == W{} ? W{} : x == x ? W{} + 1 : x);
  const W size = vm_abs(x);
  return (size > sum) | (size != size) ? size : sum;
}

template <Norm norm, class T, int R> INSIDE void some(int64_t k, const T *x, const T *columns, int64_t step, T *out) {
  V<T> sum[R] = {};
  for (int64_t l = 0; l < k; l++) {
    const V<T> mine = x[l] - V<T>{};
    UNROLL for (int r = 0; r < R; r++) sum[r] = joined<norm>(sum[r], mine - D<T>::load(columns + l * step + r * kLanes<T>));
  }
  UNROLL for (int r = 0; r < R; r++) D<T>::store(out + r * kLanes<T>, norm == NORM_2 ? vm_sqrt(sum[r]) : sum[r]);
}

template <Norm norm, class T> void row_of(int64_t k, int64_t m, const T *x, const T *columns, int64_t step, T *out) {
  int64_t j = 0;
  for (; j + 4 * kLanes<T> <= m; j += 4 * kLanes<T>) some<norm, T, 4>(k, x, columns + j, step, out + j);
  for (; j + kLanes<T> <= m; j += kLanes<T>) some<norm, T, 1>(k, x, columns + j, step, out + j);
  if (j == m) return;
  V<T> sum = {};
  for (int64_t l = 0; l < k; l++) sum = joined<norm>(sum, x[l] - load_part<D<T>>(columns + l * step + j, m - j));
  store_part<D<T>>(out + j, norm == NORM_2 ? vm_sqrt(sum) : sum, m - j);
}

template <class T> void row(Norm norm, int64_t k, int64_t m, const T *x, const T *columns, int64_t step, T *out) {
  if (norm == NORM_0) row_of<NORM_0, T>(k, m, x, columns, step, out);
  else if (norm == NORM_1) row_of<NORM_1, T>(k, m, x, columns, step, out);
  else if (norm == NORM_2) row_of<NORM_2, T>(k, m, x, columns, step, out);
  else row_of<NORM_MAX, T>(k, m, x, columns, step, out);
}

// -1, 0, 1, or NaN
template <class W> INSIDE W sign_of(W x) {
  const W one = W{} + 1, zero = W{};
  return x > zero ? one : x < zero ? -one : x;
}

template <Norm norm, class T, int R, bool part>
INSIDE void pulled(int64_t k, int64_t m, const T *x, const T *y, const T *weights, const T *distances, T *to, int64_t rest) {
  const auto read = [rest](const T *p) { return part ? load_part<D<T>>(p, rest) : D<T>::load(p); };
  V<T> sum[R], mine[R];
  UNROLL for (int r = 0; r < R; r++) sum[r] = read(to + r * kLanes<T>), mine[r] = read(x + r * kLanes<T>);
  for (int64_t j = 0; j < m; j++, y += k) {
    const V<T> w = weights[j] - V<T>{}, d = distances[j] - V<T>{};
    UNROLL for (int r = 0; r < R; r++) {
      const V<T> away = mine[r] - read(y + r * kLanes<T>);
      if constexpr (norm == NORM_2) sum[r] = vm_fma(w, away, sum[r]);
      if constexpr (norm == NORM_1) sum[r] += w * sign_of(away);
      if constexpr (norm == NORM_MAX) sum[r] += vm_abs(away) == d ? w * sign_of(away) : V<T>{};
    }
  }
  UNROLL for (int r = 0; r < R; r++) part ? store_part<D<T>>(to + r * kLanes<T>, sum[r], rest) : D<T>::store(to + r * kLanes<T>, sum[r]);
}

template <Norm norm, class T> void pull_of(int64_t k, int64_t m, const T *x, const T *y, const T *weights, const T *distances, T *to) {
  int64_t l = 0;
  for (; l + 4 * kLanes<T> <= k; l += 4 * kLanes<T>) pulled<norm, T, 4, false>(k, m, x + l, y + l, weights, distances, to + l, 0);
  for (; l + kLanes<T> <= k; l += kLanes<T>) pulled<norm, T, 1, false>(k, m, x + l, y + l, weights, distances, to + l, 0);
  if (l < k) pulled<norm, T, 1, true>(k, m, x + l, y + l, weights, distances, to + l, k - l);
}

template <class T> void pull(Norm norm, int64_t k, int64_t m, const T *x, const T *y, const T *weights, const T *distances, T *to) {
  if (norm == NORM_0) return;  // the number of differences changes in steps
  if (norm == NORM_1) pull_of<NORM_1, T>(k, m, x, y, weights, distances, to);
  else if (norm == NORM_2) pull_of<NORM_2, T>(k, m, x, y, weights, distances, to);
  else pull_of<NORM_MAX, T>(k, m, x, y, weights, distances, to);
}

}  // namespace

namespace weft {
void WEFT_FILL(distance)(DistanceTable *table) { table->single = {row<float>, pull<float>}, table->wide = {row<double>, pull<double>}; }
}  // namespace weft
