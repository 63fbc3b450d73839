// gemm.h: a matrix product as data, out[i, j] = sum over k of a[i, k] * b[k, j] for each batch.
//
// Eager ops and generated kernels fill a WeftGemm; `WeftGemmTable::run` of this machine's instruction set (gemm_kernel.h)
// does the loops, packing and threads. Work is fused at both ends: an operand may be computed (`load`) instead of read,
// and finished sums leave through `store`. No includes: inductor pastes this text into generated kernels; whoever
// includes it has declared WeftKernelRuntime (weft.h).
//
// Order of the sum, for every element, tile, thread count and instruction set: k is cut into chunks of one length, at
// most 384 (192 for float64), a function of k alone; within a chunk a chain of fused multiply-adds from zero, k
// ascending; the chunks' sums are added in order. One row times one column, or a matrix whose elements lie closer along k
// than along n (and one column, mirrored), has another order: element k goes to chain k % 32 of 32 chains, which are then
// added in halves.
// Products of bfloat16 matrices go, where the processor multiplies pairs of bfloat16 (AVX512_BF16), through `run_bfloat16`:
// chunks of at most 768, chains of its dot product of pairs, which rounds once or twice a pair and reads denormals as zero. In
// tiles (AMX) a chunk goes on with the sums of those before it.
#ifndef WEFT_GEMM_H
#define WEFT_GEMM_H

#define WEFT_GEMM_MAX_BATCH 6

typedef struct WeftGemmOperand {
  const void *data;               // element [0, 0] of the first batch
  long dtype;                     // WeftDType: float32, bfloat16, float16; float64
  long row_stride, col_stride;    // in elements; any, 0 and negative too
  long batch_strides[WEFT_GEMM_MAX_BATCH];
  // Not NULL: computes elements instead of reading `data`. Writes, as the type of the sums, `lines` lines `ld` elements
  // apart of `length` elements each, from [batch, row, col] on: with `along_rows` an element of a line is one row further
  // than the one before and a line one column further than the line before, else the other way round. Lines are written
  // in order; each may be overrun by less than 64 bytes.
  void (*load)(const void *env, long batch, long row, long col, long lines, long length, void *to, long ld);
  long along_rows;
} WeftGemmOperand;

typedef struct WeftGemm {
  long m, n, k;
  long batch_ndim, batch_sizes[WEFT_GEMM_MAX_BATCH]; // `batch` below is the row-major index over these
  WeftGemmOperand a, b;           // [m, k], [k, n]
  // Takes out[batch, row .. row + rows, col .. col + cols): sums[i * ld + j], float or double. Whole vectors of 64 bytes
  // may be read from sums up to the multiple of that after `cols`.
  void (*store)(const void *env, long batch, long row, long rows, long col, long cols, const void *sums, long ld);
  const void *load_env, *store_env;
} WeftGemm;

// A plain result, for `store_float32` and `store_float64`: out = alpha * sums + bias + beta * out (old values are not
// read where beta is 0), rounded to the dtype of `out`.
typedef struct WeftGemmOutput {
  const WeftGemm *gemm;
  WeftGemmOperand out;
  const void *bias;               // n elements of out's dtype, or NULL
  double alpha, beta;
} WeftGemmOutput;

typedef void (*WeftGemmStore)(const void *env, long batch, long row, long rows, long col, long cols, const void *sums,
                              long ld);

struct WeftAttention;
struct WeftGemmTable {
  // 0, always. k = 0 stores zeros; nothing is done where m, n or a batch size is 0.
  long (*run_float32)(const WeftGemm *, const WeftKernelRuntime *);
  long (*run_float64)(const WeftGemm *, const WeftKernelRuntime *);
  long (*run_bfloat16)(const WeftGemm *, const WeftKernelRuntime *); // both operands bfloat16, sums float32
  WeftGemmStore store_float32, store_float64; // env: a WeftGemmOutput
  // attention.h. NULL where the processor has no AVX2.
  long (*attention)(const struct WeftAttention *, const WeftKernelRuntime *);
  long (*attention_derivative)(const struct WeftAttention *, const WeftKernelRuntime *);
};
typedef struct WeftGemmTable WeftGemmTable;

extern "C" void weft_poll_signals(void);  // kernels.h
#endif
