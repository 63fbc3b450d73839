// reduce.h: what the rules that reduce share: dims as sizes and steps in bytes, and kept dims.
#ifndef WEFT_REDUCE_H
#define WEFT_REDUCE_H

#include "kernels.h"
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

// How many of n bytes are not 0 (selection.cpp).
int64_t count_true(const char *mask, int64_t n);

template <class T>
T join(int kind, T a, T b) {
  switch (kind) {
    case WEFT_REDUCE_SUM: case WEFT_REDUCE_NANSUM: return a + b;
    case WEFT_REDUCE_PROD: return a * b;
    case WEFT_REDUCE_MAX: return a != a ? a : b != b ? b : a > b ? a : b;
    default: return a != a ? a : b != b ? b : a < b ? a : b;
  }
}

// Results of whole blocks (each 2^k chunks) and of the rest, joined as the kernel joins chunks: the same tree.
template <class T>
T join_blocks(int kind, const T *blocks, int64_t whole, bool has_rest) {
  T level[64];
  uint64_t used = 0;
  for (int64_t i = 0; i < whole; i++) {
    T x = blocks[i];
    int k = 0;
    for (; used >> k & 1; k++) x = join(kind, level[k], x);
    used = (used >> k | 1) << k;
    level[k] = x;
  }
  bool first = !has_rest;
  T r = has_rest ? blocks[whole] : T(0);
  for (int k = 0; k < 64; k++) {
    if (!(used >> k & 1)) continue;
    r = first ? level[k] : join(kind, level[k], r);
    first = false;
  }
  return r;
}

// selection.cpp, mapped_sums.cpp, fast_statistics.cpp, fast_norm.cpp: rules
PyObject *fast_norm(Call &call);
PyObject *fast_power_norm(Call &call);
PyObject *fast_count_nonzero(Call &call);
PyObject *fast_equal(Call &call);
PyObject *fast_masked_scatter(Call &call);
PyObject *fast_masked_select(Call &call);
PyObject *fast_var(Call &call);
PyObject *fast_logsumexp(Call &call);
PyObject *fast_batch_norm(Call &call);
PyObject *fast_channel_norm(Call &call);
PyObject *fast_group_norm(Call &call);

}  // namespace weft
#endif
