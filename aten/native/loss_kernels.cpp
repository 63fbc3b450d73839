// loss_kernels.cpp: the sum of the losses of classes, and how many there are.
#include "native_kernel.h"

namespace weft {

namespace {

template <class T> bool class_sums(WeftTensor *x, WeftTensor *target, int64_t ignored, char *total, char *count) {
  const int n = WEFT_NDIM(x), dim = n > 1 ? 1 : 0;
  const int64_t classes = x->sizes[dim], step = x->strides[dim];
  const int64_t *t = reinterpret_cast<const int64_t *>(weft_data(target));
  double sum = 0;
  int64_t kept = 0;
  for (int64_t i = 0; i < target->numel; i++) {
    const int64_t which = t[i];
    if (which == ignored) continue;
    if (which < 0 || which >= classes) return false;
    int64_t at = which * step, rest = i;
    for (int d = n - 1; d >= 0; d--) {
      if (d == dim) continue;
      at += rest % x->sizes[d] * x->strides[d];
      rest /= x->sizes[d];
    }
    sum -= (double)reinterpret_cast<const T *>(weft_data(x))[at];
    kept++;
  }
  *reinterpret_cast<T *>(total) = (T)sum;
  *reinterpret_cast<T *>(count) = (T)kept;
  return true;
}

// ((total, count), input, target, ignore_index)
PyObject *class_loss_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  int64_t ignored;
  const bool two = nargs == 4 && PyTuple_Check(args[0]) && PyTuple_GET_SIZE(args[0]) == 2;
  WeftTensor *total = two ? dense(PyTuple_GET_ITEM(args[0], 0)) : nullptr, *count = total ? dense(PyTuple_GET_ITEM(args[0], 1)) : nullptr;
  WeftTensor *x = count ? plain(args[1]) : nullptr, *target = x ? dense(args[2]) : nullptr;
  if (!target || !exact_int(args[3], &ignored) || !WEFT_NDIM(x) || WEFT_DTYPE(target) != WEFT_INT64) return not_for_these();
  const int dtype = WEFT_DTYPE(x), n = WEFT_NDIM(x);
  if (WEFT_DTYPE(total) != dtype || WEFT_DTYPE(count) != dtype || WEFT_NDIM(target) != (n > 1 ? n - 1 : 0)) return not_for_these();
  for (int d = 0; d < WEFT_NDIM(target); d++)
    if (target->sizes[d] != x->sizes[d ? d + 1 : 0]) return not_for_these();
  if (total->numel != 1 || count->numel != 1) return not_for_these();
  const bool fine = dtype == WEFT_FLOAT32   ? class_sums<float>(x, target, ignored, weft_data(total), weft_data(count))
                    : dtype == WEFT_FLOAT64 ? class_sums<double>(x, target, ignored, weft_data(total), weft_data(count))
                                            : false;
  return fine ? written() : not_for_these();
}

}  // namespace

const NativeKernel loss_kernels[] = {{"class_loss", WEFT_KERNEL(class_loss_kernel)}, {nullptr, nullptr}};

}  // namespace weft
