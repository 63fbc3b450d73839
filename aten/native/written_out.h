// written_out.h: calls with `out=`, in place, and with `requires_grad=True`, by way of those without.
#ifndef WEFT_WRITTEN_OUT_H
#define WEFT_WRITTEN_OUT_H

#include "op.h"

namespace weft {

// The call's `out`, with the results written into it; UNHANDLED where it has none, or what is done with it is more than to write:
// tensors that are resized or cast into, or that an argument shows a part of.
PyObject *written_out(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
// The call's result without `requires_grad=True`, as a leaf that requires grad; UNHANDLED where it has not that. Of factories.
PyObject *made_leaf(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
// A call of an op in place by way of its functional form: the first argument, with the result in it, and its history. UNHANDLED where it
// would be cast or refused, or another argument shares memory with it.
PyObject *written_in_place(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
extern PyMethodDef written_functions[];

}  // namespace weft
#endif
