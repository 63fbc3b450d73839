// fast_structure.cpp: flip, roll; and the rows of rules of search_kernels.cpp.
#include <algorithm>

#include "loops.h"
#include "native_kernel.h"
#include "op.h"

namespace weft {

namespace {

// flip(input, dims)
PyObject *fast_flip(Call &call) {
  WeftTensor *x = call.tensor(0);
  uint64_t seen;
  if (!WEFT_NDIM(x) || !weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)]) return UNHANDLED;
  if (!call.some_dims(1, WEFT_NDIM(x), &seen)) return UNHANDLED;
  Ref out(empty_like(x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  Loop loop(WEFT_NDIM(x), x->sizes);
  loop.add(x);
  for (int i = 0; i < call[1].n; i++) loop.reverse((int)call[1].list[i]);
  loop.add(as_tensor(out.get()));
  loop.run(weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)], nullptr);
  return call.made(std::move(out));
}

// out[start of dim ...] = x[from ...], `length` places of a dim
bool copy_places(WeftTensor *out, WeftTensor *x, int ndim, int64_t *sizes, const int64_t *strides, int dim, int64_t to, int64_t from,
                 int64_t length) {
  int64_t size = std::exchange(sizes[dim], length);
  Ref target(alias(out, ndim, sizes, strides, out->offset + to * strides[dim]));
  Ref source(alias(x, ndim, sizes, strides, x->offset + from * strides[dim]));
  sizes[dim] = size;
  return target && source && copy_into(as_tensor(target.get()), as_tensor(source.get()));
}

// roll(input, shifts, dims=()) along one dimension, or of the elements in their order
PyObject *fast_roll(Call &call) {
  WeftTensor *x = call.tensor(0);
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  uint64_t mask;
  if (!(x->word & WEFT_WORD_CONTIGUOUS) || !WEFT_NDIM(x) || !weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)]) return UNHANDLED;
  int dim = 0, ndim = WEFT_NDIM(x);
  if (call[1].n != 1 || call[2].n > 1 || !call.some_dims(2, ndim, &mask)) return UNHANDLED;
  if (call[2].n == 0) {  // as one dimension; its history is that of the general path
    if (call.recording()) return UNHANDLED;
    ndim = 1;
    sizes[0] = x->numel;
  } else {
    dim = (int)call[2].list[0];
    std::copy(x->sizes, x->sizes + ndim, sizes);
  }
  contiguous_strides(ndim, sizes, strides);
  Ref out(empty_like(x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  if (int64_t size = x->numel ? sizes[dim] : 0) {
    int64_t shift = call[1].list[0] % size;
    if (shift < 0) shift += size;
    WeftTensor *o = as_tensor(out.get());
    if (!copy_places(o, x, ndim, sizes, strides, dim, shift, 0, size - shift)) return nullptr;
    if (!copy_places(o, x, ndim, sizes, strides, dim, 0, size - shift, shift)) return nullptr;
  }
  return call.made(std::move(out));
}

}  // namespace

const RuleRow structure_rules[] = {{"flip", fast_flip}, {"roll", fast_roll}, {"unique", fast_unique}, {"unique_consecutive", fast_unique_consecutive}, {"bincount", fast_bincount}, {"repeat_interleave", fast_repeat_interleave},
                                   {nullptr, nullptr}};

}  // namespace weft
