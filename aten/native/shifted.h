// shifted.h: sums of one run of elements read from many places, of which convolutions are made: row k of a matrix is not a row but where
// it begins, so that windows of an image are read where they lie and none is copied.
#ifndef WEFT_SHIFTED_H
#define WEFT_SHIFTED_H

#include <stdint.h>

// Every sum is a chain of fused multiply-adds, k ascending; `dots` and `image_dots` have one of 64 bytes of lanes, which are then added in halves: the same
// numbers for any instruction set, tile and number of threads. Whole tiles are read and written: memory goes on for 256 bytes.
#define WEFT_SHIFTED_HEIGHTS 13
typedef struct WeftShifted {
  // out[i * ld + j] (+)= sum over k of weights[k * height + i] * base[offsets[k] + j], for i < height, j < width[height]
  void (*tile[2][WEFT_SHIFTED_HEIGHTS])(int64_t n, const void *weights, const void *base, const int64_t *offsets, void *out, int64_t ld, int add);
  int64_t width[2][WEFT_SHIFTED_HEIGHTS];
  // sums[i * ld + k] += sum over j < n of rows[i * row_stride + j] * base[offsets[k] + j], for i < height, k < count; n in whole registers of 64 bytes
  void (*dots[2])(int64_t n, int64_t height, int64_t count, const void *rows, int64_t row_stride, const void *base, const int64_t *offsets, void *sums, int64_t ld);
  int64_t dot_rows;      // best heights are multiples of it
  int (*finite[2])(int64_t n, const void *x);  // whether all of n elements are
  // to[r * n + i] = from[r * from_stride + (i - first) * step] for first <= i < last, 0 for the other i < n; for r < rows
  void (*copy_rows[2])(int64_t rows, const void *from, int64_t from_stride, int64_t step, int64_t first, int64_t last, int64_t n, void *to);
  // out[r * out_stride + j] = *more + sum over k of weights[k] * base[r * stride + offsets[k] + j], for r < rows, j < n; nothing else is written
  void (*rows[2])(int64_t taps, const void *weights, const void *base, const int64_t *offsets, int64_t stride, int64_t rows, int64_t n, const void *more, void *out, int64_t out_stride);
  // sums[k] += sum over images i, j < n of rows[i * row_stride + j] * base[i * stride + offsets[k] + j], for k < count; n in whole registers of 64 bytes
  void (*image_dots[2])(int64_t images, int64_t n, int64_t count, const void *rows, int64_t row_stride, const void *base, int64_t stride, const int64_t *offsets, void *sums);
} WeftShifted;           // [0]: float32, [1]: float64; no tile of a height: NULL

#ifdef __cplusplus
extern "C" {
#endif
void weft_fill_shifted_v3(WeftShifted *) __attribute__((weak));
void weft_fill_shifted_v4(WeftShifted *) __attribute__((weak));
extern WeftShifted weft_shifted;  // the table in use
#ifdef __cplusplus
}
#endif
#endif
