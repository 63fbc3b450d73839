// transpose.cpp: matrices of plain items transposed in registers, whatever the items mean: 1, 2, 4, 8 or 16 bytes.
//
// A register holds, in each of its 16-byte parts, a piece of another row of the source; the parts are transposed side by
// side by interleaving (Eklundh's perfect shuffles), so that what is stored is one full register of consecutive items.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // in the header of GCC 12
#include <immintrin.h>

#include "vectors.h"

namespace {

template <int BYTES> struct Parts;  // BYTES / 16 parts
template <> struct Parts<16> {
  typedef __m128i V;
  static inline V load(const char *p, int64_t) { return _mm_loadu_si128((const V *)p); }
  static inline void store(char *p, V v) { _mm_storeu_si128((V *)p, v); }
};
template <> struct Parts<32> {
  typedef __m256i V;
  static inline V load(const char *p, int64_t far) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(Parts<16>::load(p, 0)), Parts<16>::load(p + far, 0), 1);
  }
  static inline void store(char *p, V v) { _mm256_storeu_si256((V *)p, v); }
};
#define WEFT_INTERLEAVE(V, prefix, suffix)                                                          \
  template <int S> inline V low(V a, V b) {                                                         \
    return S == 1 ? prefix##_unpacklo_epi8(a, b) : S == 2 ? prefix##_unpacklo_epi16(a, b)           \
         : S == 4 ? prefix##_unpacklo_epi32(a, b) : prefix##_unpacklo_epi64(a, b);                  \
  }                                                                                                 \
  template <int S> inline V high(V a, V b) {                                                        \
    return S == 1 ? prefix##_unpackhi_epi8(a, b) : S == 2 ? prefix##_unpackhi_epi16(a, b)           \
         : S == 4 ? prefix##_unpackhi_epi32(a, b) : prefix##_unpackhi_epi64(a, b);                  \
  }
WEFT_INTERLEAVE(__m128i, _mm, )
WEFT_INTERLEAVE(__m256i, _mm256, )
#ifdef __AVX512F__
template <> struct Parts<64> {
  typedef __m512i V;
  static inline V load(const char *p, int64_t far) {
    V v = _mm512_castsi256_si512(Parts<32>::load(p, far));
    return _mm512_inserti64x4(v, Parts<32>::load(p + 2 * far, far), 1);
  }
  static inline void store(char *p, V v) { _mm512_storeu_si512(p, v); }
};
WEFT_INTERLEAVE(__m512i, _mm512, )
#endif

// One register's width of columns: out[i][j] = in[j][i] for j < BYTES / S.
template <int BYTES, int S>
inline void transpose_columns(const char *in, int64_t in_stride, char *out, int64_t out_stride, int64_t rows, bool more) {
  constexpr int kPart = 16 / S, kColumns = BYTES / S;
  typedef Parts<BYTES> R;
  int64_t i = 0;
  for (; i + kPart <= rows; i += kPart) {
    if (more && (i * S & 63) == 0)  // rows lie on other pages: the processor does not guess the next ones
      for (int j = 0; j < kColumns; j++) __builtin_prefetch(in + (kColumns + j) * in_stride + i * S);
    typename R::V v[kPart], w[kPart];
#pragma GCC unroll 16
    for (int k = 0; k < kPart; k++) v[k] = R::load(in + k * in_stride + i * S, kPart * in_stride);
#pragma GCC unroll 4
    for (int round = 1; round < kPart; round *= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < kPart / 2; k++) {
        w[2 * k] = low<S>(v[k], v[k + kPart / 2]);
        w[2 * k + 1] = high<S>(v[k], v[k + kPart / 2]);
      }
#pragma GCC unroll 16
      for (int k = 0; k < kPart; k++) v[k] = w[k];
    }
#pragma GCC unroll 16
    for (int k = 0; k < kPart; k++) R::store(out + (i + k) * out_stride, v[k]);
  }
  for (; i < rows; i++)
    for (int j = 0; j < kColumns; j++) memcpy(out + i * out_stride + j * S, in + j * in_stride + i * S, S);
}

template <int S> void transpose(const char *in, int64_t in_stride, char *out, int64_t out_stride, int64_t rows, int64_t columns) {
  constexpr int kWide = kBytes / S, kNarrow = 16 / S;
  int64_t j = 0;
  for (; j + kWide <= columns; j += kWide)
    transpose_columns<kBytes, S>(in + j * in_stride, in_stride, out + j * S, out_stride, rows, j + 2 * kWide <= columns);
  for (; j + kNarrow <= columns; j += kNarrow)
    transpose_columns<16, S>(in + j * in_stride, in_stride, out + j * S, out_stride, rows, false);
  for (int64_t i = 0; i < rows && j < columns; i++)
    for (int64_t c = j; c < columns; c++) memcpy(out + i * out_stride + c * S, in + c * in_stride + i * S, S);
}

}  // namespace

void WEFT_FILL(transpose)(WeftKernels *k) {
  k->transpose[0] = transpose<1>;
  k->transpose[1] = transpose<2>;
  k->transpose[2] = transpose<4>;
  k->transpose[3] = transpose<8>;
  k->transpose[4] = transpose<16>;
}
