// factor.cpp: triangles and LU decompositions of factor.h, in blocks of columns: what is right of a block is a product of small tiles.
#include "factor.h"

#include <type_traits>

#include "vectors.h"

using namespace weft;

namespace {

typedef int64_t i64;
#define INSIDE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

constexpr i64 kBlock = 32;

template <class T> using D = Plain<T>;
template <class T> using V = typename Plain<T>::V;
template <class T> constexpr i64 kLanes = Plain<T>::kLanes;
template <class T> INSIDE V<T> load(const T *p, i64 n) { return n < kLanes<T> ? load_part<D<T>>(p, n) : D<T>::load(p); }
template <class T> INSIDE void store(T *p, V<T> v, i64 n) { n < kLanes<T> ? store_part<D<T>>(p, v, n) : D<T>::store(p, v); }
template <class T> INSIDE V<T> all(T x) { return x - V<T>{}; }
inline i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// c[i, j] -= sum over k of a[i, k] * b[k, j], one k after the other, for a tile of R registers of rows (of one, `rest` rows if it is
// `part`) and C columns. From one k to the next: a_step, b_step; from one column to the next: b_column, ldc.
template <class T, int R, int C, bool part> void tile(i64 n, const T *a, i64 a_step, const T *b, i64 b_step, i64 b_column, T *c, i64 ldc, i64 rest) {
  V<T> sum[C][R];
  UNROLL for (int j = 0; j < C; j++)
    UNROLL for (int r = 0; r < R; r++) sum[j][r] = load(c + j * ldc + r * kLanes<T>, part ? rest : kLanes<T>);
  for (i64 k = 0; k < n; k++, a += a_step, b += b_step) {
    V<T> x[R];
    UNROLL for (int r = 0; r < R; r++) x[r] = -load(a + r * kLanes<T>, part ? rest : kLanes<T>);
    UNROLL for (int j = 0; j < C; j++) {
      const V<T> y = all(b[j * b_column]);
      UNROLL for (int r = 0; r < R; r++) sum[j][r] = vm_fma(x[r], y, sum[j][r]);
    }
  }
  UNROLL for (int j = 0; j < C; j++)
    UNROLL for (int r = 0; r < R; r++) store(c + j * ldc + r * kLanes<T>, sum[j][r], part ? rest : kLanes<T>);
}

// All tiles of [m, n].
template <class T, int C> void columns(i64 m, i64 k, const T *a, i64 a_step, const T *b, i64 b_step, i64 b_column, T *c, i64 ldc) {
#ifdef __AVX512F__
  constexpr int R = 3;
#else
  constexpr int R = 2;
#endif
  i64 i = 0;
  for (; i + R * kLanes<T> <= m; i += R * kLanes<T>) tile<T, R, C, false>(k, a + i, a_step, b, b_step, b_column, c + i, ldc, 0);
  for (; i + kLanes<T> <= m; i += kLanes<T>) tile<T, 1, C, false>(k, a + i, a_step, b, b_step, b_column, c + i, ldc, 0);
  if (i < m) tile<T, 1, C, true>(k, a + i, a_step, b, b_step, b_column, c + i, ldc, m - i);
}
template <class T> void subtract_product(i64 m, i64 n, i64 k, const T *a, i64 a_step, const T *b, i64 b_step, i64 b_column, T *c, i64 ldc) {
#ifdef __AVX512F__
  constexpr int C = 8;
#else
  constexpr int C = 4;
#endif
  i64 j = 0;
  for (; j + C <= n; j += C) columns<T, C>(m, k, a, a_step, b + j * b_column, b_step, b_column, c + j * ldc, ldc);
  for (; j < n; j++) columns<T, 1>(m, k, a, a_step, b + j * b_column, b_step, b_column, c + j * ldc, ldc);
}

// X in place of B [n, width] for a triangle of at most kBlock rows. Its columns, zeros in what is not the triangle's, are taken off the
// columns of B, some at a time, one after the other.
template <class T> struct Triangle {
  alignas(64) T below[kBlock][kBlock], diagonal[kBlock];
  i64 n;
  bool upper, unit;

  Triangle(i64 n, const T *a, i64 lda, bool upper, bool unit) : n(n), upper(upper), unit(unit) {
    for (i64 j = 0; j < n; j++) {
      for (i64 i = 0; i < kBlock; i++) below[j][i] = 0;
      for (i64 i = upper ? 0 : j + 1, end = upper ? j : n; i < end; i++) below[j][i] = a[j * lda + i];
      diagonal[j] = a[j * lda + j];
    }
  }
  template <int C> void some(T *b, i64 ldb) const {
    constexpr int R = kBlock / kLanes<T>;
    alignas(64) T x[C][kBlock];
    T solved[C][kBlock];
    UNROLL for (int c = 0; c < C; c++)
      for (i64 i = 0; i < kBlock; i++) x[c][i] = i < n ? b[c * ldb + i] : 0;
    for (i64 step = 0; step < n; step++) {
      const i64 j = upper ? n - 1 - step : step;
      UNROLL for (int c = 0; c < C; c++) {
        const T y = unit ? x[c][j] : x[c][j] / diagonal[j];
        solved[c][j] = y;
        UNROLL for (int r = 0; r < R; r++) D<T>::store(x[c] + r * kLanes<T>, vm_fma(-D<T>::load(below[j] + r * kLanes<T>), all(y), D<T>::load(x[c] + r * kLanes<T>)));
      }
    }
    UNROLL for (int c = 0; c < C; c++)
      for (i64 i = 0; i < n; i++) b[c * ldb + i] = solved[c][i];
  }
  void solve(i64 width, T *b, i64 ldb) const {
    i64 j = 0;
    for (; j + 8 <= width; j += 8) some<8>(b + j * ldb, ldb);
    for (; j < width; j++) some<1>(b + j * ldb, ldb);
  }
};

// The same numbers, of matrices that are less work than the blocks' frame.
constexpr i64 kTiny = 8;

template <class T, int N> INSIDE void solve_tiny(i64 n, i64 width, const T *a, i64 lda, bool upper, bool unit, T *b, i64 ldb) {
  if (N) n = N;
  for (i64 c = 0; c < width; c++, b += ldb)
    for (i64 step = 0; step < n; step++) {
      const i64 j = upper ? n - 1 - step : step;
      const T *column = a + j * lda, y = unit ? b[j] : b[j] / column[j];
      b[j] = y;
      for (i64 i = upper ? 0 : j + 1, end = upper ? j : n; i < end; i++) b[i] = fused(-column[i], y, b[i]);
    }
}

template <class T, int N> INSIDE i64 lu_tiny(i64 m, i64 n, T *a, i64 lda, i64 *pivots) {
  if (N) m = n = lda = N;
  i64 info = 0;
  for (i64 j = 0, k = smaller(m, n); j < k; j++) {
    T *column = a + j * lda, top = 0;
    i64 at = j;
    bool found = false;
    for (i64 i = j; i < m; i++) {
      const T size = column[i] < 0 ? -column[i] : column[i];
      if (size > top || (!found && size == top)) at = i, top = size, found = true;
    }
    pivots[j] = at + 1;
    const T pivot = column[at];
    if (pivot == 0) {
      pivots[j] = j + 1;
      if (!info) info = j + 1;
    } else {
      for (i64 c = 0; at != j && c < n; c++) {
        const T kept = a[c * lda + j];
        a[c * lda + j] = a[c * lda + at], a[c * lda + at] = kept;
      }
      for (i64 i = j + 1; i < m; i++) column[i] /= pivot;
    }
    for (i64 c = j + 1; c < n; c++)
      for (i64 i = j + 1; i < m; i++) a[c * lda + i] = fused(-column[i], a[c * lda + j], a[c * lda + i]);
  }
  return info;
}

template <class T> void solve(i64 n, i64 width, const T *a, i64 lda, bool upper, bool unit, T *b, i64 ldb) {
  if (n <= kTiny) {
    const auto of_size = [&](auto size) {
      if (upper) return unit ? solve_tiny<T, size>(n, width, a, lda, true, true, b, ldb) : solve_tiny<T, size>(n, width, a, lda, true, false, b, ldb);
      unit ? solve_tiny<T, size>(n, width, a, lda, false, true, b, ldb) : solve_tiny<T, size>(n, width, a, lda, false, false, b, ldb);
    };
    switch (n) {
      case 2: return of_size(std::integral_constant<int, 2>());
      case 3: return of_size(std::integral_constant<int, 3>());
      case 4: return of_size(std::integral_constant<int, 4>());
      default: return of_size(std::integral_constant<int, 0>());
    }
  }
  for (i64 done = 0; done < n; done += kBlock) {
    const i64 size = smaller(kBlock, n - done), first = upper ? n - done - size : done;
    Triangle<T>(size, a + first * (lda + 1), lda, upper, unit).solve(width, b + first, ldb);
    if (upper) {  // from the last column on, as within a block
      const i64 last = first + size - 1;
      subtract_product<T>(first, width, size, a + last * lda, -lda, b + last, -1, ldb, b, ldb);
    } else {
      const i64 next = first + size;
      subtract_product<T>(n - next, width, size, a + first * lda + next, lda, b + first, 1, ldb, b + next, ldb);
    }
  }
}

// The place of the first of n elements of the greatest size; 0 where all are NaN.
template <class T> i64 greatest(i64 n, const T *x) {
  V<T> most = {};
  i64 i = 0;
  for (; i < n; i += kLanes<T>) {
    const V<T> v = vm_abs(load(x + i, smaller(kLanes<T>, n - i)));
    most = v > most ? v : most;
  }
  T top = 0;
  for (int l = 0; l < kLanes<T>; l++) top = most[l] > top ? most[l] : top;
  for (i = 0; i < n; i++)
    if (x[i] == top || x[i] == -top) return i;
  return 0;
}

template <class T> i64 lu(i64 m, i64 n, T *a, i64 lda, i64 *pivots) {
  if (m == n && n == lda) switch (n) {
      case 2: return lu_tiny<T, 2>(m, n, a, lda, pivots);
      case 3: return lu_tiny<T, 3>(m, n, a, lda, pivots);
      case 4: return lu_tiny<T, 4>(m, n, a, lda, pivots);
    }
  if (m <= kTiny && n <= kTiny) return lu_tiny<T, 0>(m, n, a, lda, pivots);
  const i64 k = smaller(m, n);
  i64 info = 0;
  for (i64 first = 0; first < k; first += kBlock) {
    const i64 size = smaller(kBlock, k - first), next = first + size;
    for (i64 j = first; j < next; j++) {
      T *column = a + j * lda;
      const i64 at = j + greatest(m - j, column + j);
      pivots[j] = at + 1;
      const T pivot = column[at];
      if (pivot == 0) {
        pivots[j] = j + 1;
        if (!info) info = j + 1;
      } else {
        for (i64 c = first; at != j && c < next; c++) {
          const T kept = a[c * lda + j];
          a[c * lda + j] = a[c * lda + at], a[c * lda + at] = kept;
        }
        for (i64 i = j + 1; i < m; i += kLanes<T>) {
          const i64 part = smaller(kLanes<T>, m - i);
          store(column + i, load(column + i, part) / pivot, part);
        }
      }
      subtract_product<T>(m - j - 1, next - j - 1, 1, column + j + 1, 0, column + lda + j, 0, lda, column + lda + j + 1, lda);
    }
    for (i64 c = 0; c < n; c++) {
      if (c == first) c = next;
      if (c >= n) break;
      T *column = a + c * lda;
      for (i64 j = first; j < next; j++) {
        const i64 at = pivots[j] - 1;
        const T kept = column[j];
        column[j] = column[at], column[at] = kept;
      }
    }
    if (next >= n) continue;
    Triangle<T>(size, a + first * (lda + 1), lda, false, true).solve(n - next, a + next * lda + first, lda);
    subtract_product<T>(m - next, n - next, size, a + first * lda + next, lda, a + next * lda + first, 1, lda, a + next * lda + next, lda);
  }
  return info;
}

template <class T> void fill(Factor<T> *f) { *f = {lu<T>, solve<T>}; }

}  // namespace

namespace weft {
void WEFT_FILL(factor)(FactorTable *table) { fill(&table->single), fill(&table->wide); }
}  // namespace weft
