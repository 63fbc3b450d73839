// kernels.h: the eager kernels as tables of plain functions, one set an instruction set, chosen once at import.
//
// No Python here. `aten/native/isa/*.cpp` is compiled for each ISA and fills a Kernels table (weft_fill_kernels_v3,
// weft_fill_kernels_v4); entries it leaves NULL keep the portable ones. Loops get one run of elements: whoever calls
// has already broadcast, collapsed dimensions, split the work over threads, and cast to the loop's dtype.
#ifndef WEFT_KERNELS_H
#define WEFT_KERNELS_H

#include <stdint.h>

#include "weft.h"

// An elementwise loop, in NumPy's calling convention so that NumPy's own inner loops can stand in a table:
// args = inputs..., output; steps in bytes (0 repeats a scalar); *n elements. Half types compute in float32.
typedef void (*WeftLoop)(char **args, const intptr_t *n, const intptr_t *steps, void *data);

// enum WeftPointwise: codes of the elementwise functions, in the order of aten/scalar; and what is known of each.
#include "pointwise_codes.h"

enum WeftReduce {
  WEFT_REDUCE_SUM, WEFT_REDUCE_PROD, WEFT_REDUCE_MAX, WEFT_REDUCE_MIN, WEFT_REDUCE_NANSUM, WEFT_REDUCE_ANY, WEFT_REDUCE_ALL,
  WEFT_NUM_REDUCE
};

// `row`: out[0] = reduce of n items `stride` bytes apart. `column`: out[j] = reduce over i < n of in[i * stride + j * item],
// for j < m; out is contiguous. The accumulator (and out) is the input's dtype, but float32 for float16 and bfloat16; sums
// and products are asked for in int64 of int64 input only; any/all read any dtype and write bool. Order of a sum: chunks of
// WEFT_REDUCE_CHUNK items, each in 16 virtual lanes x 4 accumulators (item i in lane i % 64), lanes then chunks in a
// fixed pairwise tree, whatever the ISA. NANSUM is a sum that reads 0 for NaN, of floats only; its results are joined by SUM.
#define WEFT_REDUCE_CHUNK 4096
typedef void (*WeftReduceRow)(int64_t n, const char *in, int64_t stride, char *out);
// `rows`: out[r] = row of the n items at in + r * row_stride, for r < count, the same bits; NULL: there is none for the dtype.
typedef void (*WeftReduceRows)(int64_t count, int64_t n, const char *in, int64_t row_stride, int64_t stride, char *out);
// The reduce_row of MIN and of MAX of n adjacent floats in one pass.
typedef void (*WeftExtremesRow)(int64_t n, const char *in, char *least, char *most);
typedef void (*WeftReduceColumn)(int64_t n, int64_t m, const char *in, int64_t stride, char *out);

// rows of n contiguous items; strides between rows in bytes.
typedef void (*WeftSoftmax)(int64_t rows, int64_t n, const char *in, int64_t in_stride, char *out, int64_t out_stride);
typedef void (*WeftSoftmaxBackward)(int64_t rows, int64_t n, const char *g, const char *out, char *gin);
// y = (x - mean) * rstd * weight + bias; weight, bias, mean, rstd may be NULL; mean and rstd are float32 (float64 for
// float64). With `rms` the mean is not subtracted.
typedef void (*WeftLayerNorm)(int64_t rows, int64_t n, const char *x, const char *weight, const char *bias, double eps, int rms,
                              char *y, char *mean, char *rstd);

// The derivative of layer_norm over `rows` rows: gx (or NULL), and gw, gb (or NULL): n sums of these rows, of the type of the
// sums (float32, float64 for float64), which the caller adds up. The mean and deviation are computed again.
typedef void (*WeftLayerNormBackward)(int64_t rows, int64_t n, const char *g, const char *x, const char *weight, double eps, int rms,
                                      char *gx, char *gw, char *gb);

// out[i][j] = in[j][i] for i < rows, j < columns; strides in bytes from j to j + 1 of `in`, from i to i + 1 of `out`; items are
// adjacent along i in `in` and along j in `out`. The two do not overlap.
typedef void (*WeftTranspose)(const char *in, int64_t in_stride, char *out, int64_t out_stride, int64_t rows, int64_t columns);

// The four lanes of each of the WEFT_PHILOX_RUN counters from `first` on.
#define WEFT_PHILOX_RUN 64
typedef void (*WeftPhiloxRun)(uint64_t seed, uint64_t first, uint32_t *out);
// The lanes of such a run as numbers of [0, 1), and as normal ones.
typedef void (*WeftPhiloxFloats)(const uint32_t *lanes, float *out);
// out: the places of n uniform random keys in ascending order, equal ones as they stand. `spare`: memory for n keys, if there are
// more than WEFT_ORDER_ALONE.
#define WEFT_ORDER_ALONE (1 << 19)
typedef void (*WeftOrder)(const uint64_t *keys, uint64_t *spare, int64_t n, int64_t *out);

#define WEFT_LONGEST_COPY 2048  // bytes of a row that is copied without the C library
#define WEFT_NUM_ITEMS 5  // items of 1, 2, 4, 8 and 16 bytes, by the logarithm

typedef struct WeftKernels {
  const char *isa;
  WeftLoop pointwise[WEFT_NUM_POINTWISE][WEFT_NUM_DTYPES]; // by the dtype of the inputs
  WeftLoop where[WEFT_NUM_DTYPES];                         // args: bool condition, input, other, out
  WeftLoop cast[WEFT_NUM_DTYPES][WEFT_NUM_DTYPES]; // [from][to]; of one dtype: copy
  WeftLoop copy[WEFT_NUM_ITEMS];                   // args: in, out
  // Rows of 4 to WEFT_LONGEST_COPY adjacent bytes each; memory that is read is not written.
  void (*copy_rows)(const char *from, intptr_t from_step, char *to, intptr_t to_step, int64_t rows, int64_t bytes);
  WeftTranspose transpose[WEFT_NUM_ITEMS];
  WeftPhiloxRun philox_run;
  WeftPhiloxFloats philox_uniform, philox_normal;
  WeftOrder order;
  WeftReduceRow reduce_row[WEFT_NUM_REDUCE][WEFT_NUM_DTYPES];
  WeftReduceRows reduce_rows[WEFT_NUM_REDUCE][WEFT_NUM_DTYPES];
  WeftReduceColumn reduce_column[WEFT_NUM_REDUCE][WEFT_NUM_DTYPES];
  WeftExtremesRow extremes_row[WEFT_NUM_DTYPES];
  WeftSoftmax softmax[WEFT_NUM_DTYPES], log_softmax[WEFT_NUM_DTYPES];
  WeftSoftmaxBackward softmax_backward[WEFT_NUM_DTYPES], log_softmax_backward[WEFT_NUM_DTYPES];
  WeftLayerNorm layer_norm[WEFT_NUM_DTYPES];
  WeftLayerNormBackward layer_norm_backward[WEFT_NUM_DTYPES];
  WeftLoop gelu_backward[2][WEFT_NUM_DTYPES], silu_backward[WEFT_NUM_DTYPES]; // args: g, x, out; [1]: tanh
} WeftKernels;

#ifdef __cplusplus
extern "C" {
#endif
// Present when the ISA folder is built; called at import if the processor has the ISA, v3 first, then v4 over it.
void weft_fill_kernels_v3(WeftKernels *) __attribute__((weak));
void weft_fill_kernels_v4(WeftKernels *) __attribute__((weak));
extern WeftKernels weft_kernels; // the table in use
void weft_poll_signals(void);    // in long kernels now and then: throws where the call was interrupted (released.h)
extern const WeftPointwiseRow weft_pointwise_rows[WEFT_NUM_POINTWISE];
#ifdef __cplusplus
}
#endif
#endif
