// statistics.h: the eager kernels of scans, moments and places of extremes, as tables like those of kernels.h; and the pieces
// that normalisations over channels are made of.
#ifndef WEFT_STATISTICS_H
#define WEFT_STATISTICS_H

#include <stdint.h>

#include "weft.h"

// Mean and sum of squared deviations of `runs` runs of n dense items, `stride` bytes apart. Results are of the type of sums
// (float32, float64 for float64). Sums are in the order of one chunk of kernels.h, chunks added in float64, in order.
typedef void (*WeftMoments)(int64_t runs, int64_t n, const char *in, int64_t stride, void *mean, void *squares);
// The same of each of m columns of n rows. Sums are of 64 rows, in order, those added in float64, in order.
typedef void (*WeftMomentsColumns)(int64_t n, int64_t m, const char *in, int64_t stride, void *mean, void *squares);
// softmax or log_softmax of each of m columns of n rows, which stand `stride` bytes apart in `in` and in `out`.
typedef void (*WeftSoftmaxColumns)(int64_t n, int64_t m, const char *in, int64_t stride, char *out);
// The derivative by such a softmax's input; g, out and gin lie alike.
typedef void (*WeftSoftmaxColumnsBackward)(int64_t n, int64_t m, const char *g, const char *out, int64_t stride, char *gin);
// y = (x - center) * scale + shift over n dense items; the factors are of the type of sums.
typedef void (*WeftAffine)(int64_t n, const char *x, const void *center, const void *scale, const void *shift, char *y);
// out[r] = log(sum(exp(x))) of n dense items, for each of `rows` rows `stride` bytes apart.
typedef void (*WeftLogSumExp)(int64_t rows, int64_t n, const char *in, int64_t stride, char *out);
// Running sums of dense rows: the lanes of a register in log steps, registers one after the other. `columns`: out[i] = out[i - 1] + in[i]
// for rows of m dense items. Those of integers and bool are int64.
typedef void (*WeftCumsum)(int64_t rows, int64_t n, const char *in, int64_t in_stride, char *out);
typedef void (*WeftCumsumColumns)(int64_t n, int64_t m, const char *in, int64_t stride, char *out, int64_t out_stride);
// The index of the first greatest (least) of n dense items, or of each of m columns of n rows; a NaN counts as such.
typedef int64_t (*WeftArgRow)(int64_t n, const char *in);
typedef void (*WeftArgColumns)(int64_t n, int64_t m, const char *in, int64_t stride, int64_t *out);

typedef struct WeftStatistics {
  WeftMoments moments[WEFT_NUM_DTYPES];
  WeftMomentsColumns moments_columns[WEFT_NUM_DTYPES];
  WeftSoftmaxColumns softmax_columns[2][WEFT_NUM_DTYPES];  // [1]: log_softmax
  WeftSoftmaxColumnsBackward softmax_columns_backward[2][WEFT_NUM_DTYPES];
  WeftAffine affine[WEFT_NUM_DTYPES];
  WeftLogSumExp logsumexp[WEFT_NUM_DTYPES];
  WeftCumsum cumsum[WEFT_NUM_DTYPES];
  WeftCumsumColumns cumsum_columns[WEFT_NUM_DTYPES];
  WeftArgRow arg_row[2][WEFT_NUM_DTYPES];  // [1]: the least
  WeftArgColumns arg_columns[2][WEFT_NUM_DTYPES];
} WeftStatistics;

#ifdef __cplusplus
extern "C" {
#endif
void weft_fill_statistics_v3(WeftStatistics *) __attribute__((weak));
void weft_fill_statistics_v4(WeftStatistics *) __attribute__((weak));
extern WeftStatistics weft_statistics;  // the table in use, filled beside weft_kernels
#ifdef __cplusplus
}
#endif
#endif
