// native_kernel.cpp: the kernels of native_kernel.h, by the names of their ops.
#include "native_kernel.h"

#include <list>

namespace weft {

// native_kernels() -> {name of an op: its native kernel}
PyObject *native_kernels(PyObject *, PyObject *) {
  static std::list<PyMethodDef> definitions;  // which functions point to
  Ref all(PyDict_New());
  for (const NativeKernel *table : {pointwise_kernels, convolution_kernels, search_kernels, norm_kernels, loss_kernels, sampling_kernels, structure_kernels, scatter_kernels, order_kernels, draw_kernels, creation_kernels, random_kernels, part_kernels, resample_kernels, ctc_kernels, fft_kernels, lapack_kernels, factored_kernels, complex_kernels, gated_kernels, distance_kernels, bag_kernels, recurrent_kernels, nearest_kernels, selection_kernels, special_kernels, polynomial_kernels})
    for (const NativeKernel *row = table; all && row->op; row++) {
      definitions.push_back({row->op, (PyCFunction)(void *)row->function, METH_FASTCALL, nullptr});
      Ref function(PyCFunction_New(&definitions.back(), nullptr));
      if (!function || PyDict_SetItemString(all.get(), row->op, function.get()) < 0) return nullptr;
    }
  return all.release();
}

namespace {

bool is_half_tensor(PyObject *p) { return is_tensor(p) && is_half(WEFT_DTYPE(as_tensor(p))); }

// A result as the kernel is to write it: halves as float32, what lies otherwise row-major; the tensor itself where it is both.
PyObject *written_as(PyObject *out) {
  WeftTensor *t = plain(out);
  if (!t || (t->word & WEFT_WORD_CONTIGUOUS && !is_half(WEFT_DTYPE(t)))) return Py_NewRef(out);
  const int dtype = is_half(WEFT_DTYPE(t)) ? WEFT_FLOAT32 : WEFT_DTYPE(t);
  return empty((uint32_t)dtype, WEFT_NDIM(t), t->sizes, nullptr);
}

// kernel(out, arguments...) with float32 for halves, rounded once. NotImplemented: there are none, or the kernel has no loop for it.
PyObject *run_widened(PyObject *kernel, PyObject *const *args, Py_ssize_t nargs) {
  if (nargs < 1) return not_for_these();
  PyObject *const out = args[0];
  const bool several = PyTuple_Check(out);
  const Py_ssize_t n_outs = several ? PyTuple_GET_SIZE(out) : 1;
  const auto result = [&](Py_ssize_t i) { return several ? PyTuple_GET_ITEM(out, i) : out; };
  bool halves = false;
  for (Py_ssize_t i = 0; i < n_outs; i++) halves = halves || is_half_tensor(result(i));
  for (Py_ssize_t i = 1; i < nargs; i++) halves = halves || is_half_tensor(args[i]);
  if (!halves) return not_for_these();
  Ref made(PyTuple_New(n_outs)), call(PyTuple_New(nargs));
  if (!made || !call) return nullptr;
  for (Py_ssize_t i = 0; i < n_outs; i++) {
    PyObject *to = written_as(result(i));
    if (!to) return nullptr;
    PyTuple_SET_ITEM(made.get(), i, to);
  }
  PyTuple_SET_ITEM(call.get(), 0, Py_NewRef(several ? made.get() : PyTuple_GET_ITEM(made.get(), 0)));
  for (Py_ssize_t i = 1; i < nargs; i++) {
    WeftTensor *half = is_half_tensor(args[i]) ? plain(args[i]) : nullptr;
    PyObject *wide = half ? cast_tensor(half, WEFT_FLOAT32) : Py_NewRef(args[i]);
    if (!wide) return PyErr_Occurred() ? nullptr : not_for_these();
    PyTuple_SET_ITEM(call.get(), i, wide);
  }
  Ref done(PyObject_CallObject(kernel, call.get()));
  if (!done || done.get() == Py_NotImplemented) return done.release();
  for (Py_ssize_t i = 0; i < n_outs; i++) {
    PyObject *to = result(i), *from = PyTuple_GET_ITEM(made.get(), i);
    if (to == from) continue;
    if (!copy_into(as_tensor(to), as_tensor(from))) return PyErr_Occurred() ? nullptr : not_for_these();
    weft_bump_version(as_tensor(to));
  }
  return written();
}

}  // namespace

// widened(kernel): a native kernel that calls another one with float32 for halves
PyObject *widened(PyObject *, PyObject *kernel) {
  static PyMethodDef definition = {"widened_kernel", (PyCFunction)(void *)guarded<run_widened>, METH_FASTCALL, nullptr};
  return PyCFunction_New(&definition, kernel);
}

}  // namespace weft
