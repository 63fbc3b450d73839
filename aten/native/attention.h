// attention.h: scaled dot product attention as data, and its derivative: softmax(q @ k^T * scale + mask) @ v.
//
// For eager ops and for generated programs (WeftGemmTable::attention of gemm.h). Sums, exponentials and the softmax are
// float32; operands and results float32, bfloat16 or float16. A row that may see no key gives zeros. The result of a row
// is a function of its inputs and sizes alone: keys are taken in blocks of 128, and in order, whatever the threads.
#ifndef WEFT_ATTENTION_H
#define WEFT_ATTENTION_H

#include "gemm.h"

typedef struct WeftAttention {
  long batch_ndim, batch_sizes[WEFT_GEMM_MAX_BATCH];
  long rows, keys, width, value_width; // query: [rows, width], key: [keys, width], value: [keys, value_width]
  WeftGemmOperand query, key, value;   // one dtype; any strides; a batch stride of 0 repeats. `load` is not used
  WeftGemmOperand mask;                // data NULL: none. [rows, keys]: bool (keep where true), or added: a floating dtype
  long causal;                         // row i sees keys 0 .. i
  double scale;
  WeftGemmOperand out;                 // [rows, value_width], of the operands' dtype
  // The derivative reads `out` and writes those of the three whose data is not NULL.
  WeftGemmOperand grad_out, grad_query, grad_key, grad_value;
} WeftAttention;

#endif
