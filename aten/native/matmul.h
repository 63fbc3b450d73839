// matmul.h: matrix products of tensors, for the eager ops. Native code only; generated kernels use gemm.h.
#ifndef WEFT_MATMUL_H
#define WEFT_MATMUL_H

#include "weft.h"

#include "gemm.h"

namespace weft {

// The matrix product for this processor's instruction set.
const WeftGemmTable *gemm_table();

// out = alpha * (a @ b) + bias + beta * out, on CPU tensors of one dtype (integer or floating, not bool or complex).
// a: [*, m, k], b: [*, k, n], out: [*, m, n], any strides; batch sizes are out's, an operand's size 1 there is repeated.
// a and b have as many dims as out. bias: [n], contiguous, or NULL (floating dtypes only). Old values of out are not
// read when beta is 0. Sums are float64 for float64, float32 for other floating dtypes, and wrap for integers.
// No errors and no Python: may run without the GIL.
void matmul(const WeftTensor *out, const WeftTensor *a, const WeftTensor *b, const WeftTensor *bias, double alpha,
            double beta, const WeftKernelRuntime *runtime);

// The part of it that is one WeftGemm, for integers (integer_products.cpp).
void integer_product(const WeftGemmOutput &o, const WeftKernelRuntime *runtime);

extern PyMethodDef matmul_functions[], attention_functions[];

} // namespace weft
#endif
