// replay.h: calls that are made again and again, as the steps that they come to.
#ifndef WEFT_REPLAY_H
#define WEFT_REPLAY_H

#include "op.h"

namespace weft {

// What a call of an op that no rule takes comes to, where its like has been made often enough to be known; else UNHANDLED.
PyObject *replayed(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
// What the backward of a node (aten.autograd.record.Backward) gives where its like has run often enough to be known, else UNHANDLED.
PyObject *replayed_backward(WeftNode *node, PyObject *grads);
extern PyMethodDef replay_functions[];
extern PyObject *meta_factory;  // aten.meta.Meta
PyObject *array_of_tensor(WeftTensor *t);  // its memory as a NumPy array
extern thread_local bool tracer_asked_for;  // somebody was told that a tensor is a Tracer: what he does depends on values

}  // namespace weft
#endif
