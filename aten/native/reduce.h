// reduce.h: what the rules that reduce share: dims as sizes and steps in bytes, and kept dims.
#ifndef WEFT_REDUCE_H
#define WEFT_REDUCE_H

#include "op.h"

namespace weft {

constexpr int64_t kGrain = 16384;  // elements worth a thread

struct Dim {
  int64_t size, stride;  // stride in bytes
};

// fast_reduce.cpp. Adjacent dims that step as one become one; the number left.
int merge(Dim *dims, int n);
// The dtype that items of `dtype` are summed in.
inline int sum_dtype(int dtype) { return dtype == WEFT_FLOAT16 || dtype == WEFT_BFLOAT16 ? WEFT_FLOAT32 : dtype; }
// Gives the reduced tensor (ours alone) the sizes that keepdim asks for; false with MemoryError set.
bool keep_dims(WeftTensor *out, uint64_t mask);

// Where the first greatest (least) elements of the rows of `x` along a dim stand, NaN counting as such; false: not for its dtype.
bool arg_extremes(WeftTensor *x, int dim, bool least, int64_t *to);

// selection.cpp, fast_statistics.cpp, fast_norm.cpp: rules
PyObject *fast_equal(Call &call);
PyObject *fast_masked_scatter(Call &call);
PyObject *fast_var(Call &call);
PyObject *fast_logsumexp(Call &call);
PyObject *fast_batch_norm(Call &call);
PyObject *fast_group_norm(Call &call);

}  // namespace weft
#endif
