// shifted.cpp: the loops of shifted.h.
#include "shifted.h"

#include <type_traits>
#include <utility>

#include "weft.h"
// after it
#include "gemm.h"
#include "gemm_simd.h"

namespace {

using weft_gemm::fma;
using weft_gemm::lanes;
using weft_gemm::splat;
using weft_gemm::Vec;
using weft_gemm::VecU;

template <class T, int height, int wide>
void tile(int64_t n, const void *weights, const void *base, const int64_t *offsets, void *out, int64_t ld, int add) {
  const T *w = (const T *)weights, *b = (const T *)base;
  T *to = (T *)out;
  Vec<T> sum[height][wide];
  WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
    WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) sum[i][j] = add ? (Vec<T>)*(const VecU<T> *)(to + i * ld + j * lanes<T>) : Vec<T>{};
  }
  for (int64_t k = 0; k < n; k++, w += height) {
    const T *row = b + offsets[k];
    Vec<T> x[wide];
    WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) x[j] = *(const VecU<T> *)(row + j * lanes<T>);
    WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
      const Vec<T> v = splat<T>(w[i]);
      WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) sum[i][j] = fma(v, x[j], sum[i][j]);
    }
  }
  WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
    WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) *(VecU<T> *)(to + i * ld + j * lanes<T>) = sum[i][j];
  }
}

// A sum of 64 bytes of lanes is one register, or two.
constexpr int kParts = 64 / WEFT_GEMM_BYTES;

// Two registers of sums, each of some lanes, as one: of every 2 * half lanes the first half added to the second.
template <class T, int half, int... lane> inline Vec<T> halved(Vec<T> a, Vec<T> b, std::integer_sequence<int, lane...>) {
  return __builtin_shufflevector(a, b, lane / half * 2 * half + lane % half...) + __builtin_shufflevector(a, b, lane / half * 2 * half + lane % half + half...);
}
template <class T, int half> inline void halve(Vec<T> *sums) {
  WEFT_GEMM_UNROLL for (int i = 0; i < half; i++) sums[i] = halved<T, half>(sums[2 * i], sums[2 * i + 1], std::make_integer_sequence<int, (int)lanes<T>>());
  if constexpr (half > 1) halve<T, half / 2>(sums);
}

// The lanes of each of `count` sums added in halves, as many sums at a time as a register has lanes.
template <class T, int count> inline void fold(const Vec<T> (*sum)[kParts], T *to) {
  constexpr int L = (int)lanes<T>;
  WEFT_GEMM_UNROLL for (int first = 0; first < count; first += L) {
    Vec<T> some[L] = {};
    WEFT_GEMM_UNROLL for (int i = 0; i < (count - first < L ? count - first : L); i++) some[i] = kParts == 2 ? sum[first + i][0] + sum[first + i][kParts - 1] : sum[first + i][0];
    halve<T, L / 2>(some);
    *(VecU<T> *)(to + first) = some[0];
  }
}
template <int count, class T> constexpr int folds_into = (count + (int)lanes<T> - 1) / (int)lanes<T> * (int)lanes<T>;

// Whether all of n elements are finite: no exponent is of ones alone.
template <class T> int finite(int64_t n, const void *x) {
  typedef typename std::conditional<sizeof(T) == 8, uint64_t, uint32_t>::type Bits;
  typedef Bits Lanes __attribute__((vector_size(WEFT_GEMM_BYTES)));
  typedef Bits Unaligned __attribute__((vector_size(WEFT_GEMM_BYTES), aligned(sizeof(T)), may_alias));
  constexpr Bits ones = sizeof(T) == 8 ? (Bits)0x7ff0000000000000 : (Bits)0x7f800000;
  constexpr int64_t L = lanes<T>;
  const T *p = (const T *)x;
  Lanes found[4] = {};
  int64_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L) {
    WEFT_GEMM_UNROLL for (int k = 0; k < 4; k++) found[k] |= (Lanes)(((Lanes) * (const Unaligned *)(p + i + k * L) & ones) == ones);
  }
  found[0] |= found[1] | found[2] | found[3];
  Bits any = 0;
  for (int k = 0; k < (int)L; k++) any |= found[0][k];
  for (; i < n; i++) {
    Bits bits;
    __builtin_memcpy(&bits, p + i, sizeof bits);
    any |= (Bits)((bits & ones) == ones);
  }
  return !any;
}

template <class T, int height, int count>
void dots_block(int64_t n, const T *rows, int64_t row_stride, const T *base, const int64_t *offsets, T *sums, int64_t ld) {
  Vec<T> sum[height * count][kParts] = {};
  const T *at[count];
  WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) at[k] = base + offsets[k];
  for (int64_t j = 0; j < n; j += kParts * lanes<T>) {
    WEFT_GEMM_UNROLL for (int part = 0; part < kParts; part++) {
      const int64_t first = j + part * lanes<T>;
      Vec<T> g[height];
      WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) g[i] = *(const VecU<T> *)(rows + i * row_stride + first);
      WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) {
        const Vec<T> x = *(const VecU<T> *)(at[k] + first);
        WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) sum[i * count + k][part] = fma(g[i], x, sum[i * count + k][part]);
      }
    }
  }
  T each[folds_into<height * count, T>];
  fold<T, height * count>(sum, each);
  WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
    WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) sums[i * ld + k] += each[i * count + k];
  }
}

#ifdef __AVX512F__
constexpr int kRows = 4, kCount = 6;  // 24 registers of sums
#else
constexpr int kRows = 2, kCount = 3;  // 12
#endif

template <class T, int height>
void dots_of(int64_t n, int64_t count, const T *rows, int64_t row_stride, const T *base, const int64_t *offsets, T *sums, int64_t ld) {
  int64_t k = 0;
  for (; k + kCount <= count; k += kCount) dots_block<T, height, kCount>(n, rows, row_stride, base, offsets + k, sums + k, ld);
  for (; k + 3 <= count && kCount > 3; k += 3) dots_block<T, height, 3>(n, rows, row_stride, base, offsets + k, sums + k, ld);
  for (; k < count; k++) dots_block<T, height, 1>(n, rows, row_stride, base, offsets + k, sums + k, ld);
}

template <class T>
void dots(int64_t n, int64_t height, int64_t count, const void *rows, int64_t row_stride, const void *base, const int64_t *offsets, void *sums, int64_t ld) {
  const T *g = (const T *)rows, *b = (const T *)base;
  T *to = (T *)sums;
  int64_t i = 0;
  for (; i + kRows <= height; i += kRows) dots_of<T, kRows>(n, count, g + i * row_stride, row_stride, b, offsets, to + i * ld, ld);
  for (; i < height; i++) dots_of<T, 1>(n, count, g + i * row_stride, row_stride, b, offsets, to + i * ld, ld);
}

// The lanes from `first` on, before `last`: what is read elsewhere is 0, and nothing is written there.
template <class T> struct Between {
#if WEFT_GEMM_BYTES == 64 && !defined(__clang__)
  unsigned bits;
  static unsigned up_to(int64_t n) { return n <= 0 ? 0 : n >= lanes<T> ? (1u << lanes<T>) - 1 : (1u << n) - 1; }
  Between(int64_t first, int64_t last) : bits(up_to(last) & ~up_to(first)) {}
  Vec<T> read(const T *p) const {
    if constexpr (sizeof(T) == 8) return __builtin_ia32_loadupd512_mask(p, Vec<T>{}, (unsigned char)bits);
    else return __builtin_ia32_loadups512_mask(p, Vec<T>{}, (unsigned short)bits);
  }
  void write(T *p, Vec<T> v) const {
    if constexpr (sizeof(T) == 8) __builtin_ia32_storeupd512_mask(p, v, (unsigned char)bits);
    else __builtin_ia32_storeups512_mask(p, v, (unsigned short)bits);
  }
#elif !defined(__clang__)
  typedef int Lanes32 __attribute__((vector_size(32)));
  typedef long long Lanes64 __attribute__((vector_size(32)));
  typename std::conditional<sizeof(T) == 8, Lanes64, Lanes32>::type bits;
  static int clamped(int64_t n) { return n < 0 ? 0 : n > lanes<T> ? (int)lanes<T> : (int)n; }
  Between(int64_t first, int64_t last) {
    const int low = clamped(first), high = clamped(last);
    if constexpr (sizeof(T) == 8) bits = (Lanes64{0, 1, 2, 3} >= low) & (Lanes64{0, 1, 2, 3} < high);
    else bits = (Lanes32{0, 1, 2, 3, 4, 5, 6, 7} >= low) & (Lanes32{0, 1, 2, 3, 4, 5, 6, 7} < high);
  }
  Vec<T> read(const T *p) const {
    if constexpr (sizeof(T) == 8) return __builtin_ia32_maskloadpd256((const Vec<T> *)p, bits);
    else return __builtin_ia32_maskloadps256((const Vec<T> *)p, bits);
  }
  void write(T *p, Vec<T> v) const {
    if constexpr (sizeof(T) == 8) __builtin_ia32_maskstorepd256((Vec<T> *)p, bits, v);
    else __builtin_ia32_maskstoreps256((Vec<T> *)p, bits, v);
  }
#else
  int64_t first, last;
  Between(int64_t first, int64_t last) : first(first < 0 ? 0 : first), last(last > lanes<T> ? lanes<T> : last) {}
  Vec<T> read(const T *p) const {
    Vec<T> v = {};
    for (int64_t k = first; k < last; k++) v[k] = p[k];
    return v;
  }
  void write(T *p, Vec<T> v) const {
    for (int64_t k = first; k < last; k++) p[k] = v[k];
  }
#endif
};

// Every second element of two registers.
template <class T> inline Vec<T> every_second(Vec<T> a, Vec<T> b) {
  if constexpr (lanes<T> == 16) return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  else if constexpr (lanes<T> == 8) return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  else return __builtin_shufflevector(a, b, 0, 2, 4, 6);
}

template <class T> void copy_rows(int64_t rows, const void *from, int64_t from_stride, int64_t step, int64_t first, int64_t last, int64_t n, void *to) {
  constexpr int64_t L = lanes<T>;
  const T *source = (const T *)from - first * step;  // as if it began with the row
  T *row = (T *)to;
  for (int64_t i = 0; i < n; i += L) {
    const int64_t low = first - i, high = last - i;
    const Between<T> all(0, n - i);
    T *at = row + i;
    const T *p = source + i * step;
    if (step == 1) {
      const Between<T> some(low, high);
      for (int64_t r = 0; r < rows; r++, at += n, p += from_stride) all.write(at, some.read(p));
    } else if (step == 2) {
      const Between<T> left(2 * low, 2 * high - 1), right(2 * low - L, 2 * high - 1 - L);
      for (int64_t r = 0; r < rows; r++, at += n, p += from_stride) all.write(at, every_second<T>(left.read(p), right.read(p + L)));
    } else {
      for (int64_t r = 0; r < rows; r++, at += n, p += from_stride)
        for (int64_t k = 0; k < L && k < n - i; k++) at[k] = k >= low && k < high ? p[k * step] : T();
    }
  }
}

// Sums of `height` rows, `wide` registers of each.
template <class T, int height, int wide>
void rows_block(int64_t taps, const T *w, const T *base, const int64_t *offsets, int64_t stride, const Between<T> *some, T more, T *out, int64_t out_stride) {
  Vec<T> sum[height][wide] = {};
  for (int64_t k = 0; k < taps; k++) {
    const T *at = base + offsets[k];
    const Vec<T> v = splat<T>(w[k]);
    WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
      WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) sum[i][j] = fma(v, (Vec<T>)*(const VecU<T> *)(at + i * stride + j * lanes<T>), sum[i][j]);
    }
  }
  const Vec<T> all = splat<T>(more);
  WEFT_GEMM_UNROLL for (int i = 0; i < height; i++) {
    WEFT_GEMM_UNROLL for (int j = 0; j < wide; j++) some[j].write(out + i * out_stride + j * lanes<T>, sum[i][j] + all);
  }
}

template <class T, int height, int wide>
int64_t rows_from(int64_t r, int64_t rows, int64_t taps, const T *w, const T *base, const int64_t *offsets, int64_t stride, const Between<T> *some, T more, T *out, int64_t out_stride) {
  for (; r + height <= rows; r += height) rows_block<T, height, wide>(taps, w, base + r * stride, offsets, stride, some, more, out + r * out_stride, out_stride);
  if constexpr (height > 1) r = rows_from<T, height / 2, wide>(r, rows, taps, w, base, offsets, stride, some, more, out, out_stride);
  return r;
}

template <class T>
void sum_rows(int64_t taps, const void *weights, const void *base, const int64_t *offsets, int64_t stride, int64_t rows, int64_t n, const void *more, void *out, int64_t out_stride) {
  constexpr int64_t L = lanes<T>;
  constexpr int kHeight = WEFT_GEMM_BYTES == 64 ? 8 : 4;
  const T *w = (const T *)weights, *b = (const T *)base;
  T *to = (T *)out;
  const T rest = *(const T *)more;
  for (int64_t j = 0; j < n; j += 2 * L) {
    const Between<T> some[] = {{0, n - j}, {0, n - j - L}};
    if (n - j > L) rows_from<T, kHeight / 2, 2>(0, rows, taps, w, b + j, offsets, stride, some, rest, to + j, out_stride);
    else rows_from<T, kHeight, 1>(0, rows, taps, w, b + j, offsets, stride, some, rest, to + j, out_stride);
  }
}

// Sums over several images of one channel, of `count` taps.
template <class T, int count>
void image_dots_block(int64_t images, int64_t n, const T *rows, int64_t row_stride, const T *base, int64_t stride, const int64_t *offsets, T *sums) {
  Vec<T> sum[count][kParts] = {};
  for (int64_t image = 0; image < images; image++, rows += row_stride, base += stride) {
    const T *at[count];
    WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) at[k] = base + offsets[k];
    for (int64_t j = 0; j < n; j += kParts * lanes<T>) {
      WEFT_GEMM_UNROLL for (int part = 0; part < kParts; part++) {
        const int64_t first = j + part * lanes<T>;
        const Vec<T> g = *(const VecU<T> *)(rows + first);
        WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) sum[k][part] = fma(g, (Vec<T>)*(const VecU<T> *)(at[k] + first), sum[k][part]);
      }
    }
  }
  T each[folds_into<count, T>];
  fold<T, count>(sum, each);
  WEFT_GEMM_UNROLL for (int k = 0; k < count; k++) sums[k] += each[k];
}

template <class T>
void image_dots(int64_t images, int64_t n, int64_t count, const void *rows, int64_t row_stride, const void *base, int64_t stride, const int64_t *offsets, void *sums) {
  constexpr int kMany = WEFT_GEMM_BYTES == 64 ? 9 : 5;
  const T *g = (const T *)rows, *b = (const T *)base;
  T *to = (T *)sums;
  int64_t k = 0;
  for (; k + kMany <= count; k += kMany) image_dots_block<T, kMany>(images, n, g, row_stride, b, stride, offsets + k, to + k);
  for (; k + 3 <= count; k += 3) image_dots_block<T, 3>(images, n, g, row_stride, b, stride, offsets + k, to + k);
  for (; k < count; k++) image_dots_block<T, 1>(images, n, g, row_stride, b, stride, offsets + k, to + k);
}

template <class T, int height, int wide> void put_tile(WeftShifted *s, int d) {
  s->tile[d][height] = tile<T, height, wide>;
  s->width[d][height] = wide * lanes<T>;
}
template <class T> void put(WeftShifted *s, int d) {
  put_tile<T, 1, 4>(s, d), put_tile<T, 2, 4>(s, d);
#ifdef __AVX512F__
  put_tile<T, 4, 4>(s, d), put_tile<T, 6, 4>(s, d), put_tile<T, 8, 2>(s, d), put_tile<T, 10, 2>(s, d), put_tile<T, 12, 2>(s, d);
#else
  put_tile<T, 4, 2>(s, d), put_tile<T, 6, 2>(s, d);
#endif
  s->dots[d] = dots<T>;
  s->dot_rows = kRows;
  s->finite[d] = finite<T>, s->copy_rows[d] = copy_rows<T>, s->rows[d] = sum_rows<T>, s->image_dots[d] = image_dots<T>;
}

}  // namespace

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern "C" void JOIN(weft_fill_shifted_, WEFT_ISA)(WeftShifted *s) {
  *s = WeftShifted{};
  put<float>(s, 0);
  put<double>(s, 1);
}
