// embedding.cpp: the loops of embedding.h: some columns of all rows of a bag after the other, held in registers.
#include "embedding.h"
#include "vectors.h"

using namespace weft;

namespace {

#define INSIDE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

template <class T> using D = Plain<T>;
template <class T> using V = typename Plain<T>::V;
template <class T> constexpr int64_t kLanes = Plain<T>::kLanes;
constexpr int64_t kAhead = 8;  // rows: they lie anywhere, so nothing else fetches them

template <class T, bool part> INSIDE V<T> read(const T *p, int64_t rest) { return part ? load_part<D<T>>(p, rest) : D<T>::load(p); }
template <class T, bool part> INSIDE void write(T *p, V<T> v, int64_t rest) { part ? store_part<D<T>>(p, v, rest) : D<T>::store(p, v); }

template <class T> INSIDE void fetch(const T *p, int64_t n) {
  for (int64_t i = 0; i < n; i += 64 / (int64_t)sizeof(T)) __builtin_prefetch(p + i);
}

template <class T, int R, bool part, bool scaled>
INSIDE void summed(int64_t n, int64_t width, const T *table, const int64_t *at, const T *scales, T *out, int64_t rest) {
  V<T> sum[R] = {};
  for (int64_t i = 0; i < n; i++) {
    if (i + kAhead < n) fetch(table + at[i + kAhead] * width, R * kLanes<T>);
    const T *row = table + at[i] * width;
    UNROLL for (int r = 0; r < R; r++) {
      const V<T> x = read<T, part>(row + r * kLanes<T>, rest);
      sum[r] += scaled ? x * scales[i] : x;
    }
  }
  UNROLL for (int r = 0; r < R; r++) write<T, part>(out + r * kLanes<T>, sum[r], rest);
}

template <class T, bool scaled> void sum_of(int64_t n, int64_t width, const T *table, const int64_t *at, const T *scales, T *out) {
  int64_t l = 0;
  for (; l + 8 * kLanes<T> <= width; l += 8 * kLanes<T>) summed<T, 8, false, scaled>(n, width, table + l, at, scales, out + l, 0);
  for (; l + 4 * kLanes<T> <= width; l += 4 * kLanes<T>) summed<T, 4, false, scaled>(n, width, table + l, at, scales, out + l, 0);
  for (; l + kLanes<T> <= width; l += kLanes<T>) summed<T, 1, false, scaled>(n, width, table + l, at, scales, out + l, 0);
  if (l < width) summed<T, 1, true, scaled>(n, width, table + l, at, scales, out + l, width - l);
}
template <class T> void sum(int64_t n, int64_t width, const T *table, const int64_t *at, const T *scales, T *out) {
  scales ? sum_of<T, true>(n, width, table, at, scales, out) : sum_of<T, false>(n, width, table, at, nullptr, out);
}

template <class T> struct Whole;
template <> struct Whole<float> { typedef int32_t type; };
template <> struct Whole<double> { typedef int64_t type; };

template <class T, int R, bool part> INSIDE void largest(int64_t n, int64_t width, const T *table, const int64_t *at, T *out, int64_t *from, int64_t rest) {
  typedef typename Whole<T>::type I;  // which row of the bag it is: as wide as T
  typedef Vec<I, kLanes<T>> W;
  V<T> top[R];
  W which[R] = {};
  UNROLL for (int r = 0; r < R; r++) top[r] = read<T, part>(table + at[0] * width + r * kLanes<T>, rest);
  for (int64_t i = 1; i < n; i++) {
    if (i + kAhead < n) fetch(table + at[i + kAhead] * width, R * kLanes<T>);
    const T *row = table + at[i] * width;
    UNROLL for (int r = 0; r < R; r++) {
      const V<T> x = read<T, part>(row + r * kLanes<T>, rest);
      const auto larger = (x > top[r]) | ((x != x) & (top[r] == top[r]));
      top[r] = larger ? x : top[r];
      which[r] = (W)larger ? W{} + (I)i : which[r];
    }
  }
  UNROLL for (int r = 0; r < R; r++) {
    const int64_t lanes = part ? rest : kLanes<T>;
    write<T, part>(out + r * kLanes<T>, top[r], rest);
    I index[kLanes<T>];
    memcpy(index, &which[r], sizeof index);
    for (int64_t l = 0; l < lanes; l++) from[r * kLanes<T> + l] = at[index[l]];
  }
}
template <class T> void most(int64_t n, int64_t width, const T *table, const int64_t *at, T *out, int64_t *from) {
  int64_t l = 0;
  for (; l + 4 * kLanes<T> <= width; l += 4 * kLanes<T>) largest<T, 4, false>(n, width, table + l, at, out + l, from + l, 0);
  for (; l + kLanes<T> <= width; l += kLanes<T>) largest<T, 1, false>(n, width, table + l, at, out + l, from + l, 0);
  if (l < width) largest<T, 1, true>(n, width, table + l, at, out + l, from + l, width - l);
}

template <class T> void add(int64_t width, T scale, const T *row, T *to) {
  int64_t l = 0;
  const V<T> s = scale - V<T>{};
  for (; l + kLanes<T> <= width; l += kLanes<T>) D<T>::store(to + l, D<T>::load(to + l) + s * D<T>::load(row + l));
  if (l < width) store_part<D<T>>(to + l, load_part<D<T>>(to + l, width - l) + s * load_part<D<T>>(row + l, width - l), width - l);
}

// In 16 chains, which are added up in order.
template <class T> T dot(int64_t width, const T *a, const T *b) {
  constexpr int kChains = 16, R = kChains / kLanes<T>;
  V<T> sum[R] = {};
  int64_t l = 0;
  for (; l + kChains <= width; l += kChains)
    UNROLL for (int r = 0; r < R; r++) sum[r] = vm_fma(D<T>::load(a + l + r * kLanes<T>), D<T>::load(b + l + r * kLanes<T>), sum[r]);
  T chains[kChains], total = 0;
  memcpy(chains, sum, sizeof chains);
  for (int64_t c = 0; l < width; l++, c++) chains[c] += a[l] * b[l];
  for (int c = 0; c < kChains; c++) total += chains[c];
  return total;
}

template <class T> void fill(Bags<T> *bags) { *bags = {sum<T>, most<T>, add<T>, dot<T>}; }

}  // namespace

namespace weft {
void WEFT_FILL(embedding)(EmbeddingTable *table) { fill(&table->single), fill(&table->wide); }
}  // namespace weft
