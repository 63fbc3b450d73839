// native_kernel.cpp: the kernels of native_kernel.h, by the names of their ops.
#include "native_kernel.h"

#include <list>

namespace weft {

// native_kernels() -> {name of an op: its native kernel}
PyObject *native_kernels(PyObject *, PyObject *) {
  static std::list<PyMethodDef> definitions;  // which functions point to
  Ref all(PyDict_New());
  for (const NativeKernel *table : {pointwise_kernels, convolution_kernels, search_kernels, norm_kernels, loss_kernels, sampling_kernels, structure_kernels, scatter_kernels, order_kernels, draw_kernels, creation_kernels, random_kernels, part_kernels, resample_kernels, ctc_kernels, fft_kernels, lapack_kernels, factored_kernels, complex_kernels, gated_kernels, distance_kernels, bag_kernels, recurrent_kernels, nearest_kernels, selection_kernels})
    for (const NativeKernel *row = table; all && row->op; row++) {
      definitions.push_back({row->op, (PyCFunction)(void *)row->function, METH_FASTCALL, nullptr});
      Ref function(PyCFunction_New(&definitions.back(), nullptr));
      if (!function || PyDict_SetItemString(all.get(), row->op, function.get()) < 0) return nullptr;
    }
  return all.release();
}

}  // namespace weft
