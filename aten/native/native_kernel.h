// native_kernel.h: kernels of ops by their names (`op.native_fn` in Python): f(out, core arguments...) on plain tensors.
//
// Such a function writes `out` (a tuple where there are several results), which is allocated and row-major, or gives NotImplemented for
// what it has no loop for: an unusual dtype, an index out of range. The op's NumPy kernel then computes, or words the error.
#ifndef WEFT_NATIVE_KERNEL_H
#define WEFT_NATIVE_KERNEL_H

#include "loops.h"
#include "op.h"
#include "released.h"

namespace weft {

inline PyObject *not_for_these() { return Py_NewRef(Py_NotImplemented); }
inline PyObject *written() { return Py_NewRef(Py_None); }

// A plain row-major tensor; NULL for anything else.
inline WeftTensor *dense(PyObject *p) {
  WeftTensor *t = plain(p);
  return t && t->word & WEFT_WORD_CONTIGUOUS ? t : nullptr;
}

// The tensor itself where it is row-major, else a row-major copy. Empty, without an exception, where there is none.
inline Ref row_major(WeftTensor *t) {
  if (t->word & WEFT_WORD_CONTIGUOUS) return Ref(Py_NewRef(as_object(t)));
  Ref copy(empty(t->word & ~(uint32_t)WEFT_WORD_REQUIRES_GRAD, WEFT_NDIM(t), t->sizes, nullptr));
  return copy && copy_into(as_tensor(copy.get()), t) ? std::move(copy) : Ref();
}

inline bool is_half(int dtype) { return dtype == WEFT_FLOAT16 || dtype == WEFT_BFLOAT16; }

// Whether the tensor's last dim, if it has one of several elements, is dense.
inline bool has_dense_rows(const WeftTensor *t) { return !WEFT_NDIM(t) || t->sizes[WEFT_NDIM(t) - 1] <= 1 || t->strides[WEFT_NDIM(t) - 1] == 1; }

// n copies of an element of `item` bytes.
void fill_items(char *to, int64_t n, const char *value, int item);

// creation_kernels.cpp: to[i] = start + i * step.
void count_int64(int64_t *to, int64_t n, int64_t start, int64_t step);

// sort.cpp: the rows of a row-major tensor in ascending order, and where their elements stood; false with an exception set, or, without
// one, for a dtype that has no order.
bool sort_rows(WeftTensor *x, WeftTensor *values, WeftTensor *indices);
constexpr int64_t kUnit = 1;

// search_kernels.cpp: rules.
PyObject *fast_unique(Call &call);
PyObject *fast_bincount(Call &call);
PyObject *fast_repeat_interleave(Call &call);
PyObject *fast_unique_consecutive(Call &call);

// Tables, each ending with a NULL name; bound to the ops of these names by native_kernels().
struct NativeKernel {
  const char *op;
  PyObject *(*function)(PyObject *, PyObject *const *, Py_ssize_t);
};
#define WEFT_KERNEL(...) guarded<__VA_ARGS__>
extern PyMethodDef series_functions[];  // series_kernels.cpp
extern const NativeKernel pointwise_kernels[], convolution_kernels[], search_kernels[], norm_kernels[], loss_kernels[], sampling_kernels[], structure_kernels[], scatter_kernels[], order_kernels[], draw_kernels[], creation_kernels[], random_kernels[], part_kernels[], resample_kernels[], ctc_kernels[], fft_kernels[], lapack_kernels[], factored_kernels[], complex_kernels[], gated_kernels[], distance_kernels[], bag_kernels[], recurrent_kernels[], nearest_kernels[], special_kernels[], polynomial_kernels[],
    selection_kernels[];

}  // namespace weft
#endif
