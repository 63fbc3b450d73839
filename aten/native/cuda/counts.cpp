// counts.cpp: what this process has asked the driver to do, for benchmarks: `aten._cuda.counts()`.
#include "counts.h"

namespace weft::cuda {

Counts counts;

namespace {

PyObject *get_counts(PyObject *, PyObject *) {
  PyObject *out = PyDict_New();
#define X(name)                                                                                   \
  if (PyObject *n = out ? PyLong_FromLongLong(counts.name.load(std::memory_order_relaxed)) : nullptr) { \
    if (PyDict_SetItemString(out, #name, n) < 0) Py_CLEAR(out);                                   \
    Py_DECREF(n);                                                                                 \
  }
  WEFT_CUDA_COUNTS(X)
#undef X
  return out;
}

}  // namespace

PyMethodDef count_functions[] = {{"counts", get_counts, METH_NOARGS,
                                  "counts(): launches, launches of graphs, nodes patched in them, copies and their bytes, since the process began"},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace weft::cuda
