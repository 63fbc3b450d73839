// node.h: making and reading Nodes, for the files of autograd and dispatch.
#ifndef WEFT_NODE_H
#define WEFT_NODE_H

#include "native.h"

namespace weft {

inline WeftNode *as_node(PyObject *p) { return reinterpret_cast<WeftNode *>(p); }

// A Node that the collector does not know yet (PyObject_GC_Track it once filled). `layout_items`: int64s for `layouts`.
WeftNode *new_node(PyObject *name, PyObject *backward, uint32_t n_edges, uint32_t layout_items);
// Points the edge at the node of `input` if that is a tensor that requires grad; false with an exception set.
bool set_edge(WeftEdge *edge, PyObject *input);
// Room that set_outputs needs in `layouts`: 0 when some output is a Tracer.
uint32_t layout_items(PyObject *const *outputs, Py_ssize_t n);
// A value as a Node keeps it: its tensors, also those in lists and tuples inside, replaced by SavedTensors.
PyObject *save_value(PyObject *item, PyObject *const *outputs, Py_ssize_t n_outputs, WeftNode *node);
// Makes `node` the grad_fn of the floating outputs, and notes their sizes.
bool set_outputs(WeftNode *node, PyObject *const *outputs, Py_ssize_t n);
// Memory that is about to be written in place, and whether a Node of this thread has kept a tensor of it.
struct Watched {
  WeftStorage *storage;
  bool kept;
};
extern thread_local Watched watched;
// What detect_anomaly watches with: watcher(node, None) of a new node, watcher(node, gradients) and watcher(node, exception) of
// one that ran; NULL while it is off.
extern PyObject *anomaly_watcher;
// The saved values, tensors unpacked and checked: a new tuple; NULL with RuntimeError set.
PyObject *unpack(WeftNode *node);

}  // namespace weft
#endif
