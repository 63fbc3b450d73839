// node.cpp: autograd's Node, one step of the backward walk, and `record`, which makes one for the results of an op.
#include "node.h"

#include <string.h>

namespace weft {

PyTypeObject *node_type;
static PyObject *accumulate_name;
static uint64_t clock_ticks;  // one for all threads: a node is younger than those it leads to
static PyObject *view_refresher;  // aten.autograd: gives a view written through its base a new grad_fn

// An AccumulateGrad lives from one forward to its backward, and a model has one for each parameter: memory of nodes
// without edges is kept for the next.
constexpr int kFreeLimit = 1024;
static WeftNode *free_leaves[kFreeLimit];
static int n_free;

static bool show_node(WeftNode *node);

WeftNode *new_node(PyObject *name, PyObject *backward, uint32_t n_edges, uint32_t layout_items) {
  Py_ssize_t extra = (Py_ssize_t)((layout_items * sizeof(int64_t) + sizeof(WeftEdge) - 1) / sizeof(WeftEdge));
  WeftNode *node;
  if (n_edges == 0 && extra == 0 && n_free) {
    node = free_leaves[--n_free];
    PyObject_InitVar(reinterpret_cast<PyVarObject *>(node), node_type, 0);
  } else {
    node = PyObject_GC_NewVar(WeftNode, node_type, (Py_ssize_t)n_edges + extra);
    if (!node) return nullptr;
  }
  memset(&node->name, 0, sizeof(WeftNode) - offsetof(WeftNode, name));
  node->name = Py_NewRef(name);
  node->backward = Py_XNewRef(backward);
  node->sequence = ++clock_ticks;
  node->n_edges = n_edges;
  node->edges = reinterpret_cast<WeftEdge *>(node + 1);
  memset(node->edges, 0, n_edges * sizeof(WeftEdge));
  if (layout_items) node->layouts = reinterpret_cast<int64_t *>(node->edges + n_edges);
  return node;
}

static WeftNode *accumulator(WeftTensor *t) {
  if (t->accumulator) return as_node(Py_NewRef(as_object(t->accumulator)));
  WeftNode *node = new_node(accumulate_name, nullptr, 0, 0);
  if (!node) return nullptr;
  node->variable = Py_NewRef(as_object(t));
  node->n_outputs = 1;
  node->sequence = UINT64_MAX;  // as early as possible: gradients of leaves are wanted at once
  t->accumulator = node;
  PyObject_GC_Track(as_object(node));
  return node;
}

// A view whose memory was written since its history was noted: it must have the history of its root. A leaf that
// happens to be a view of a tensor without history keeps its own.
static bool is_stale(WeftTensor *t) {
  if (!t->view_of || WEFT_IS_TRACER(t) || t->view_version == *weft_version(t) || !WEFT_REQUIRES_GRAD(t)) return false;
  return t->grad_fn || WEFT_REQUIRES_GRAD(root_of(t));
}

WeftNode *gradient_node(WeftTensor *t) {
  if (is_stale(t) && t->flags & WEFT_FLAGS_OF_VIEW) return refuse_view(t, true), nullptr;
  if (is_stale(t) && view_refresher) {
    Ref done(PyObject_CallOneArg(view_refresher, as_object(t)));
    if (!done) return nullptr;
  }
  if (t->grad_fn) return as_node(Py_NewRef(as_object(t->grad_fn)));
  return accumulator(t);
}

bool set_edge(WeftEdge *edge, PyObject *input) {
  if (!is_tensor(input) || !WEFT_REQUIRES_GRAD(input)) return true;
  WeftTensor *t = as_tensor(input);
  edge->node = gradient_node(t);
  edge->nr = t->grad_fn ? t->output_nr : 0;
  edge->word = t->word & (WEFT_WORD_DTYPE | WEFT_WORD_DEVICE);
  return edge->node != nullptr;
}

// (sizes, dtype, device) of each output, for Tracers, whose sizes may be symbols.
static PyObject *traced_metas(PyObject *const *outputs, Py_ssize_t n) {
  Ref metas(PyTuple_New(n));
  for (Py_ssize_t i = 0; metas && i < n; i++) {
    Ref shape(PyObject_GetAttrString(outputs[i], "shape")), dtype(PyObject_GetAttrString(outputs[i], "dtype")),
        device(PyObject_GetAttrString(outputs[i], "device"));
    if (!shape || !dtype || !device) return nullptr;
    PyObject *meta = PyTuple_Pack(3, shape.get(), dtype.get(), device.get());
    if (!meta) return nullptr;
    PyTuple_SET_ITEM(metas.get(), i, meta);
  }
  return metas.release();
}

PyObject *anomaly_watcher;

bool set_outputs(WeftNode *node, PyObject *const *outputs, Py_ssize_t n) {
  if (__builtin_expect(anomaly_watcher != nullptr, 0)) {
    Ref done(PyObject_CallFunctionObjArgs(anomaly_watcher, as_object(node), Py_None, nullptr));
    if (!done) return false;
  }
  node->n_outputs = (uint32_t)n;
  if (node->layouts) {
    int64_t *p = node->layouts;
    for (Py_ssize_t i = 0; i < n; i++) {
      WeftTensor *t = as_tensor(outputs[i]);
      *p++ = t->word;
      *p++ = WEFT_NDIM(t);
      for (int d = 0; d < WEFT_NDIM(t); d++) *p++ = t->sizes[d];
    }
  } else {
    node->metas = traced_metas(outputs, n);
    if (!node->metas) return false;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    WeftTensor *t = as_tensor(outputs[i]);
    if (dtype_kind(WEFT_DTYPE(t)) < KIND_FLOAT) continue;  // indices and masks have no gradient
    Py_INCREF(node);
    PyObject *old = as_object(std::exchange(t->grad_fn, node));
    Py_XDECREF(old);
    t->output_nr = (uint32_t)i;
    const bool first = !WEFT_REQUIRES_GRAD(t);
    t->word |= WEFT_WORD_REQUIRES_GRAD;
    if (first && t->storage && t->storage->views) history_changed(t, true);
    if (t->view_of && !WEFT_IS_TRACER(t)) t->view_version = *weft_version(t);
    track(t);
  }
  return true;
}

uint32_t layout_items(PyObject *const *outputs, Py_ssize_t n) {
  uint32_t items = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    if (WEFT_IS_TRACER(outputs[i])) return 0;
    items += 2 + (uint32_t)WEFT_NDIM(outputs[i]);
  }
  return items;
}

// The tuple with its tensors, also those in lists and tuples inside, replaced by SavedTensors.
PyObject *save_value(PyObject *item, PyObject *const *outputs, Py_ssize_t n_outputs, WeftNode *node) {
  if (is_tensor(item)) {
    bool is_output = false;
    for (Py_ssize_t k = 0; k < n_outputs; k++) is_output |= outputs[k] == item;
    return save_tensor(as_tensor(item), is_output ? node : nullptr);
  }
  bool list = PyList_CheckExact(item);
  if (!list && !PyTuple_CheckExact(item)) return Py_NewRef(item);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(item);
  Ref packed(list ? PyList_New(n) : PyTuple_New(n));
  for (Py_ssize_t i = 0; packed && i < n; i++) {
    PyObject *kept = save_value(PySequence_Fast_GET_ITEM(item, i), outputs, n_outputs, node);
    if (!kept) return nullptr;
    if (list) PyList_SET_ITEM(packed.get(), i, kept);
    else PyTuple_SET_ITEM(packed.get(), i, kept);
  }
  return packed.release();
}

static PyObject *unpack_item(PyObject *item, WeftNode *node) {
  if (is_saved(item)) return unpack_saved(item, node);
  bool list = PyList_CheckExact(item);
  if (!list && !PyTuple_CheckExact(item)) return Py_NewRef(item);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(item);
  Ref result(list ? PyList_New(n) : PyTuple_New(n));
  for (Py_ssize_t i = 0; result && i < n; i++) {
    PyObject *value = unpack_item(PySequence_Fast_GET_ITEM(item, i), node);
    if (!value) return nullptr;
    if (list) PyList_SET_ITEM(result.get(), i, value);
    else PyTuple_SET_ITEM(result.get(), i, value);
  }
  return result.release();
}

int record(PyObject *name, PyObject *backward, PyObject *const *inputs, Py_ssize_t n_inputs, PyObject *const *outputs,
           Py_ssize_t n_outputs, PyObject *saved) {
  WeftNode *node = new_node(name, backward, (uint32_t)n_inputs, layout_items(outputs, n_outputs));
  if (!node) return -1;
  Ref owned(as_object(node));
  for (Py_ssize_t i = 0; i < n_inputs; i++)
    if (!set_edge(&node->edges[i], inputs[i])) return -1;
  if (!set_outputs(node, outputs, n_outputs)) return -1;
  node->saved = saved ? save_value(saved, outputs, n_outputs, node) : PyTuple_New(0);
  if (!node->saved) return -1;
  PyObject_GC_Track(as_object(node));
  return 0;
}

PyObject *get_grad_fn(PyObject *self, void *) {
  WeftTensor *t = as_tensor(self);
  if (!t->grad_fn && !(t->view_of && WEFT_REQUIRES_GRAD(t))) Py_RETURN_NONE;
  Ref node(as_object(gradient_node(t)));
  if (!node || !show_node(as_node(node.get()))) return nullptr;
  return Py_NewRef(t->grad_fn ? node.get() : Py_None);
}

// As it stands, of a view whose memory was written meanwhile what it was.
PyObject *get_noted_grad_fn(PyObject *self, void *) {
  WeftNode *node = as_tensor(self)->grad_fn;
  if (node && !show_node(node)) return nullptr;
  return Py_NewRef(node ? as_object(node) : Py_None);
}

// For aten.autograd (in-place on views); users cannot reach it: the attribute is `_grad_fn`.
void take_history(WeftTensor *t, WeftNode *node, uint32_t output_nr) {
  Py_XINCREF(node);
  PyObject *old = as_object(std::exchange(t->grad_fn, node));
  const bool had = WEFT_REQUIRES_GRAD(t);
  t->output_nr = node ? output_nr : 0;
  if (node) {
    t->word |= WEFT_WORD_REQUIRES_GRAD;
    if (!had) history_changed(t, true);
    if (!WEFT_IS_TRACER(t)) t->view_version = *weft_version(t);
    track(t);
  } else {
    t->word &= ~WEFT_WORD_REQUIRES_GRAD;
    if (old) history_changed(t, false);
  }
  Py_XDECREF(old);
}

int set_grad_fn(PyObject *self, PyObject *value, void *) {
  WeftTensor *t = as_tensor(self);
  PyObject *node;
  unsigned int nr;
  if (!value) {
    PyErr_SetString(PyExc_RuntimeError, "Deletion of _grad_fn not allowed. Detach tensor instead!");
    return -1;
  }
  if (value == Py_None) {
    take_history(t, nullptr, 0);
    return 0;
  }
  if (!PyTuple_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "_grad_fn is (node, output number) or None");
    return -1;
  }
  if (!PyArg_ParseTuple(value, "O!I:_grad_fn", node_type, &node, &nr)) return -1;
  if (nr >= as_node(node)->n_outputs) {
    PyErr_Format(PyExc_ValueError, "_grad_fn: %U has %u outputs, so none of number %u", as_node(node)->name, as_node(node)->n_outputs, nr);
    return -1;
  }
  take_history(t, as_node(node), nr);
  return 0;
}

// ------------------------------------------------------------------------------------ life and death

static int node_traverse(PyObject *self, visitproc visit, void *arg) {
  WeftNode *node = as_node(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(node->backward);
  Py_VISIT(node->saved);
  Py_VISIT(node->metas);
  Py_VISIT(node->variable);
  Py_VISIT(node->pre_hooks);
  Py_VISIT(node->post_hooks);
  Py_VISIT(node->dict);
  for (uint32_t i = 0; i < node->n_edges; i++) Py_VISIT(as_object(node->edges[i].node));
  return 0;
}

static int node_clear(PyObject *self) {
  WeftNode *node = as_node(self);
  if (node->variable) {
    if (as_tensor(node->variable)->accumulator == node) as_tensor(node->variable)->accumulator = nullptr;
    Py_CLEAR(node->variable);
  }
  Py_CLEAR(node->backward);
  Py_CLEAR(node->saved);
  Py_CLEAR(node->metas);
  Py_CLEAR(node->pre_hooks);
  Py_CLEAR(node->post_hooks);
  Py_CLEAR(node->dict);
  for (uint32_t i = 0; i < node->n_edges; i++) {
    PyObject *next = as_object(std::exchange(node->edges[i].node, nullptr));
    Py_XDECREF(next);
  }
  return 0;
}

// A graph may be a chain of a million nodes: nodes that die while another is being freed wait in a list (linked through
// `sequence`), so that the C stack stays flat.
static void node_dealloc(PyObject *self) {
  static WeftNode *waiting;
  static bool freeing;
  PyObject_GC_UnTrack(self);
  if (as_node(self)->weakrefs) PyObject_ClearWeakRefs(self);
  as_node(self)->sequence = reinterpret_cast<uintptr_t>(waiting);
  waiting = as_node(self);
  if (freeing) return;
  freeing = true;
  while (WeftNode *node = waiting) {
    waiting = reinterpret_cast<WeftNode *>((uintptr_t)node->sequence);
    PyTypeObject *type = Py_TYPE(node);
    node_clear(as_object(node));
    Py_CLEAR(node->name);
    if (Py_SIZE(node) == 0 && n_free < kFreeLimit) free_leaves[n_free++] = node;
    else PyObject_GC_Del(node);
    Py_DECREF(type);
  }
  freeing = false;
}

// ---------------------------------------------------------------------------------------- attributes

static PyObject *node_repr(PyObject *self) {
  return PyUnicode_FromFormat("<%U object at %p>", as_node(self)->name, self);
}

static PyObject *node_name(PyObject *self, PyObject *) {
  if (as_node(self)->variable) return PyUnicode_FromString("torch::autograd::AccumulateGrad");  // as C++ names what is no class of Python's
  return Py_NewRef(as_node(self)->name);
}

static PyObject *get_next_functions(PyObject *self, void *) {
  WeftNode *node = as_node(self);
  Ref result(PyTuple_New(node->n_edges));
  for (uint32_t i = 0; result && i < node->n_edges; i++) {
    if (node->edges[i].node && !show_node(node->edges[i].node)) return nullptr;
    PyObject *next = node->edges[i].node ? as_object(node->edges[i].node) : Py_None;
    PyObject *pair = Py_BuildValue("OI", next, node->edges[i].nr);
    if (!pair) return nullptr;
    PyTuple_SET_ITEM(result.get(), i, pair);
  }
  return result.release();
}

PyObject *unpack(WeftNode *node) {
  if (!node->saved) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
                    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
                    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
                    "saved tensors after calling backward.");
    return nullptr;
  }
  return unpack_item(node->saved, node);
}

static PyObject *get_saved(PyObject *self, void *) { return unpack(as_node(self)); }

// What is kept itself: tensors as SavedTensors, whose hooks may be set.
static PyObject *get_raw_saved(PyObject *self, void *) {
  if (!as_node(self)->saved) return unpack(as_node(self));  // says that it is freed
  return Py_NewRef(as_node(self)->saved);
}

static PyObject *get_needs(PyObject *self, void *) {
  WeftNode *node = as_node(self);
  PyObject *needs = PyTuple_New(node->n_edges);
  for (uint32_t i = 0; needs && i < node->n_edges; i++) PyTuple_SET_ITEM(needs, i, PyBool_FromLong(node->edges[i].node != nullptr));
  return needs;
}

// (sizes, dtype, device) of each output.
static PyObject *get_metas(PyObject *self, void *) {
  WeftNode *node = as_node(self);
  if (node->metas) return Py_NewRef(node->metas);
  if (!node->layouts) return PyTuple_New(0);
  Ref metas(PyTuple_New(node->n_outputs));
  const int64_t *p = node->layouts;
  for (uint32_t i = 0; metas && i < node->n_outputs; i++, p += 2 + p[1]) {
    uint32_t word = (uint32_t)p[0];
    PyObject *meta = Py_BuildValue("NON", size_object((int)p[1], p + 2), dtype_object((int)(word & WEFT_WORD_DTYPE)),
                                   device_object((int)(word >> 8 & 15), (int)(word >> 12 & 15)));
    if (!meta) return nullptr;
    PyTuple_SET_ITEM(metas.get(), i, meta);
  }
  return metas.release();
}

static PyObject *get_variable(PyObject *self, void *) {
  PyObject *variable = as_node(self)->variable;
  if (variable) return Py_NewRef(variable);
  PyErr_SetString(PyExc_AttributeError, "only AccumulateGrad has a variable");
  return nullptr;
}

static PyObject *get_sequence(PyObject *self, void *) { return PyLong_FromUnsignedLongLong(as_node(self)->sequence); }

static PyObject *get_hooks(PyObject *self, void *post) {
  PyObject **list = post ? &as_node(self)->post_hooks : &as_node(self)->pre_hooks;
  if (!*list) *list = PyList_New(0);
  return Py_XNewRef(*list);
}

// record(name, backward, inputs, outputs, saved=()): backward(node, grads) -> tuple, one entry an input
static PyObject *record_function(PyObject *, PyObject *args) {
  PyObject *name, *backward, *inputs, *outputs, *saved = nullptr;
  if (!PyArg_ParseTuple(args, "UOO!O!|O!:record", &name, &backward, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &PyTuple_Type, &saved))
    return nullptr;
  Py_ssize_t n_in = PyTuple_GET_SIZE(inputs), n_out = PyTuple_GET_SIZE(outputs);
  for (Py_ssize_t i = 0; i < n_out; i++)
    if (!is_tensor(PyTuple_GET_ITEM(outputs, i)))
      return PyErr_Format(PyExc_TypeError, "record: output %zd is not a Tensor", i);
  PyObject **in = reinterpret_cast<PyTupleObject *>(inputs)->ob_item, **out = reinterpret_cast<PyTupleObject *>(outputs)->ob_item;
  if (record(name, backward, in, n_in, out, n_out, saved) < 0) return nullptr;
  Py_RETURN_NONE;
}

static PyObject *gradient_edge(PyObject *, PyObject *tensor) {
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %R", Py_TYPE(tensor));
  if (!WEFT_REQUIRES_GRAD(tensor)) return PyErr_Format(PyExc_RuntimeError, "Can't get gradient edge for a tensor that doesn't require gradients");
  WeftNode *node = gradient_node(as_tensor(tensor));
  if (!node || !show_node(node)) return Py_XDECREF(as_object(node)), nullptr;
  return Py_BuildValue("NI", node, as_tensor(tensor)->grad_fn ? as_tensor(tensor)->output_nr : 0);
}

static PyObject *set_view_refresher(PyObject *, PyObject *callable) {
  Py_XSETREF(view_refresher, Py_NewRef(callable));
  Py_RETURN_NONE;
}

static PyGetSetDef node_getset[] = {
    {"next_functions", get_next_functions, nullptr, "((node or None, output number), ...) of the inputs", nullptr},
    {"saved", get_saved, nullptr, "the values kept for backward; RuntimeError once freed, or if a tensor has changed", nullptr},
    {"_raw_saved", get_raw_saved, nullptr, "the values kept for backward, tensors as SavedTensors", nullptr},
    {"needs", get_needs, nullptr, "which inputs want a gradient", nullptr},
    {"metas", get_metas, nullptr, "(sizes, dtype, device) of each output", nullptr},
    {"variable", get_variable, nullptr, "the leaf of an AccumulateGrad", nullptr},
    {"_sequence_nr", get_sequence, nullptr, nullptr, nullptr},
    {"_pre_hooks", get_hooks, nullptr, nullptr, nullptr},
    {"_post_hooks", get_hooks, nullptr, nullptr, (void *)1},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
static PyMemberDef node_members[] = {
    {"backward", T_OBJECT, offsetof(WeftNode, backward), READONLY, "what turns gradients of outputs into those of inputs"},
    {"__dictoffset__", T_PYSSIZET, offsetof(WeftNode, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(WeftNode, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
// node(*grads): the gradients of its inputs for those of its outputs.
static PyObject *node_call(PyObject *self, PyObject *grads, PyObject *names) {
  WeftNode *node = as_node(self);
  if (names && PyDict_GET_SIZE(names)) return PyErr_Format(PyExc_TypeError, "%U takes no keyword arguments", node->name);
  if (!node->backward) return PyErr_Format(PyExc_RuntimeError, "%U has nothing to call: it takes the gradient of a leaf", node->name);
  if (PyTuple_GET_SIZE(grads) != (Py_ssize_t)node->n_outputs)
    return PyErr_Format(PyExc_TypeError, "%U takes %u gradients, got %zd", node->name, node->n_outputs, PyTuple_GET_SIZE(grads));
  Ref found(PyObject_CallFunctionObjArgs(node->backward, self, grads, nullptr));
  if (!found || !PyTuple_Check(found.get()) || PyTuple_GET_SIZE(found.get()) != 1) return found.release();
  return Py_NewRef(PyTuple_GET_ITEM(found.get(), 0));
}

// What is kept for backward is needed no longer.
static PyObject *node_free(PyObject *self, PyObject *) {
  Py_CLEAR(as_node(self)->saved);
  Py_RETURN_NONE;
}

static PyObject *node_apply(PyObject *self, PyObject *grads) { return node_call(self, grads, nullptr); }

static PyMethodDef node_methods[] = {{"name", node_name, METH_NOARGS, "'AddBackward'"},
                                     {"apply", node_apply, METH_VARARGS, "apply(*grads): what calling the node gives"},
                                     {"_free", node_free, METH_NOARGS, "let go of what is kept for backward"},
                                     {nullptr, nullptr, 0, nullptr}};
static PyObject *node_class(PyObject *, PyObject *name);

static PyMethodDef node_functions[] = {
    {"record", record_function, METH_VARARGS, "record(name, backward, inputs, outputs, saved=()): make a Node for the outputs"},
    {"gradient_edge", gradient_edge, METH_O, "(node, output number) that a gradient of the tensor goes to"},
    {"set_view_refresher", set_view_refresher, METH_O, nullptr},
    {"node_class", node_class, METH_O, "the class of nodes of this name"},
    {nullptr, nullptr, 0, nullptr}};
static PyType_Slot node_slots[] = {{Py_tp_dealloc, (void *)node_dealloc},
                                   {Py_tp_traverse, (void *)node_traverse},
                                   {Py_tp_clear, (void *)node_clear},
                                   {Py_tp_repr, (void *)node_repr},
                                   {Py_tp_call, (void *)node_call},
                                   {Py_tp_getset, node_getset},
                                   {Py_tp_members, node_members},
                                   {Py_tp_methods, node_methods},
                                   {Py_tp_doc, (void *)"One step of the backward walk."},
                                   {0, nullptr}};
static PyType_Spec node_spec = {"aten._native.Node", sizeof(WeftNode), sizeof(WeftEdge),
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

// The class of nodes of a name: a subclass of Node that has nothing of its own but the name.
static PyTypeObject *class_of(PyObject *name) {
  static PyObject *classes;
  if (!classes && !(classes = PyDict_New())) return nullptr;
  PyObject *known = PyDict_GetItemWithError(classes, name);
  if (known || PyErr_Occurred()) return reinterpret_cast<PyTypeObject *>(known);
  Ref whole(PyUnicode_FromFormat("aten._native.%U", name));
  const char *text = whole ? PyUnicode_AsUTF8(whole.get()) : nullptr;
  if (!text) return nullptr;
  PyType_Slot slots[] = {{Py_tp_dealloc, (void *)node_dealloc}, {Py_tp_traverse, (void *)node_traverse}, {Py_tp_clear, (void *)node_clear}, {0, nullptr}};
  PyType_Spec spec = node_spec;
  spec.name = text;
  spec.slots = slots;
  node_type->tp_flags |= Py_TPFLAGS_BASETYPE;  // for these classes alone: users make none
  Ref bases(PyTuple_Pack(1, node_type)), made(bases ? PyType_FromSpecWithBases(&spec, bases.get()) : nullptr);
  node_type->tp_flags &= ~Py_TPFLAGS_BASETYPE;
  if (!made || PyDict_SetItem(classes, name, made.get()) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject *>(made.get());
}

// Whoever looks at a node sees one of the class of its name. Recording does not pay for that: the class is set here.
static bool show_node(WeftNode *node) {
  if (Py_TYPE(node) != node_type) return true;
  PyTypeObject *type = class_of(node->name);
  if (!type) return false;
  Py_INCREF(type);
  Py_SET_TYPE(as_object(node), type);
  Py_DECREF(node_type);
  return true;
}

static PyObject *node_class(PyObject *, PyObject *name) {
  if (!PyUnicode_Check(name)) return PyErr_Format(PyExc_TypeError, "expected a name, got %R", Py_TYPE(name));
  return Py_XNewRef(reinterpret_cast<PyObject *>(class_of(name)));
}

bool init_node(PyObject *module) {
  accumulate_name = PyUnicode_InternFromString("AccumulateGrad");
  node_type = add_type(module, &node_spec);
  return accumulate_name && node_type && PyModule_AddFunctions(module, node_functions) == 0;
}

bool init_autograd(PyObject *module) {
  return init_node(module) && init_saved(module) && PyModule_AddFunctions(module, engine_functions) == 0;
}

}  // namespace weft
