// written_out.h: calls with `out=`.
#ifndef WEFT_WRITTEN_OUT_H
#define WEFT_WRITTEN_OUT_H

#include "op.h"

namespace weft {

// The call's `out`, with the results written into it; UNHANDLED where it has none, or what is done with it is more than to write:
// tensors that are resized or cast into, or that an argument shows a part of.
PyObject *written_out(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names);

}  // namespace weft
#endif
