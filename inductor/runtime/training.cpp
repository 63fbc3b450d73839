// Training: a forward and a backward Program as one autograd node.
//
// The forward returns [results of the user..., saved..., kept...], where the backward Program takes what is saved, and
// `kept` is only for higher derivatives. Where gradients are recorded, the results that can have one get a
// Node whose backward is native too: it hands [saved..., tangents...] to the backward Program. A backward that is itself
// differentiated (create_graph), or that is being traced, goes to a Python function instead.
#include "runner.h"

#include <algorithm>
#include <structmember.h>

namespace runner {

struct BackwardObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  ProgramObject *program;           // owned
  PyObject *differentiable;         // owned: backward(node, grads) by differentiable ops
  PyObject *other_forms;            // owned, or NULL: backward(node, grads) of gradients that are missing or lie otherwise
  std::vector<int32_t> *gradients;  // the input that each output of the Program is the gradient of
  int32_t n_inputs;
};

struct TrainingObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  ProgramObject *forward;           // owned
  BackwardObject *backward;         // owned
  PyObject *name;                   // owned: of the node
  std::vector<int32_t> *results;    // the results of the user that get a gradient
  int32_t n_results;                // how many results the user gets
  PyObject *weakrefs;
};

// What a node keeps of its forward call, in one object: what the backward Program takes, then the generator's state, if
// any, then the arguments, for higher derivatives. Versions of arguments are checked only when somebody asks for them: a
// plain backward may come after an in-place write to an argument that it does not need.
struct KeptObject {
  PyObject_VAR_HEAD
  int32_t n_saved;
  struct Item {
    PyObject *object; // owned
    uint32_t version;
  } items[1];
};

static PyTypeObject *backward_type, *training_type, *kept_type;

// -------------------------------------------------------------------------------------------------------- what is kept
static void keep(KeptObject::Item &item, PyObject *owned) {
  item.object = owned;
  item.version = is_tensor(owned) ? *weft_version((WeftTensor *)owned) : 0;
}

// A result of the node itself is kept without history: node -> result -> grad_fn -> node would be a cycle.
static PyObject *without_history(PyObject *o, PyObject *const *outputs, size_t n_outputs) {
  for (size_t i = 0; i < n_outputs; i++)
    if (outputs[i] == o) {
      WeftTensor *t = (WeftTensor *)o;
      return api->alias(t, WEFT_NDIM(t), t->sizes, t->strides, t->offset);
    }
  return Py_NewRef(o);
}

static PyObject *new_kept(PyObject *const *args, size_t n_args, PyObject *const *saved, size_t n_saved,
                          PyObject *const *outputs, size_t n_outputs) {
  KeptObject *self = PyObject_GC_NewVar(KeptObject, kept_type, (Py_ssize_t)(n_saved + n_args));
  if (!self) return nullptr;
  self->n_saved = (int32_t)n_saved;
  memset(self->items, 0, sizeof *self->items * (n_saved + n_args));
  for (size_t i = 0; i < n_args; i++) keep(self->items[n_saved + i], Py_NewRef(args[i]));
  for (size_t i = 0; i < n_saved; i++) {
    PyObject *o = without_history(saved[i], outputs, n_outputs);
    if (!o) {
      Py_DECREF(self);
      return nullptr;
    }
    keep(self->items[i], o);
  }
  PyObject_GC_Track((PyObject *)self);
  return (PyObject *)self;
}

static bool unchanged(const KeptObject::Item &item, const char *what, Py_ssize_t i) {
  if (!is_tensor(item.object)) return true;
  uint32_t version = *weft_version((WeftTensor *)item.object);
  if (version == item.version) return true;
  PyErr_Format(PyExc_RuntimeError,
               "one of the variables needed for gradient computation has been modified by an inplace operation: "
               "%s %zd of a compiled graph is at version %u; expected version %u instead",
               what, i, version, item.version);
  return false;
}

static PyObject *kept_items(KeptObject *self, Py_ssize_t start, Py_ssize_t stop, const char *what) {
  PyObject *out = PyTuple_New(stop - start);
  for (Py_ssize_t i = start; out && i < stop; i++) {
    if (!unchanged(self->items[i], what, i - start)) {
      Py_DECREF(out);
      return nullptr;
    }
    PyTuple_SET_ITEM(out, i - start, Py_NewRef(self->items[i].object));
  }
  return out;
}

static PyObject *kept_inputs(PyObject *o, PyObject *) {
  KeptObject *self = (KeptObject *)o;
  return kept_items(self, self->n_saved, Py_SIZE(self), "input");
}

// argument(i, checked): sizes and numbers may be asked of an argument that has been written since.
static PyObject *kept_argument(PyObject *o, PyObject *args) {
  KeptObject *self = (KeptObject *)o;
  Py_ssize_t i;
  int checked;
  if (!PyArg_ParseTuple(args, "np", &i, &checked)) return nullptr;
  if (i < 0 || i >= Py_SIZE(self) - self->n_saved) return PyErr_Format(PyExc_IndexError, "there is no argument %zd", i);
  const KeptObject::Item &item = self->items[self->n_saved + i];
  return !checked || unchanged(item, "input", i) ? Py_XNewRef(item.object) : nullptr;
}

static PyObject *kept_values(PyObject *o, PyObject *) {
  KeptObject *self = (KeptObject *)o;
  return kept_items(self, 0, self->n_saved, "saved value");
}

static int kept_traverse(KeptObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) Py_VISIT(self->items[i].object);
  return 0;
}

static int kept_clear(KeptObject *self) {
  for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) Py_CLEAR(self->items[i].object);
  return 0;
}

static void kept_dealloc(KeptObject *self) {
  PyObject_GC_UnTrack(self);
  kept_clear(self);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyObject *kept_n_inputs(PyObject *o, void *) {
  return PyLong_FromSsize_t(Py_SIZE(o) - ((KeptObject *)o)->n_saved);
}

static PyGetSetDef kept_getset[] = {{"n_inputs", kept_n_inputs, nullptr, "How many arguments there were.", nullptr}, {}};
static PyMethodDef kept_methods[] = {
    {"inputs", kept_inputs, METH_NOARGS, "The arguments; RuntimeError if one has been written since."},
    {"argument", kept_argument, METH_VARARGS, "argument(i, checked): one argument; if checked, RuntimeError likewise."},
    {"values", kept_values, METH_NOARGS, "What was saved, and the generator's state; RuntimeError likewise."},
    {nullptr, nullptr, 0, nullptr}};
static PyType_Slot kept_slots[] = {{Py_tp_traverse, (void *)kept_traverse},
                                   {Py_tp_clear, (void *)kept_clear},
                                   {Py_tp_dealloc, (void *)kept_dealloc},
                                   {Py_tp_methods, (void *)kept_methods},
                                   {Py_tp_getset, (void *)kept_getset},
                                   {Py_tp_doc, (void *)"What a compiled node keeps of its forward call: node.saved[0]."},
                                   {0, nullptr}};
static PyType_Spec kept_spec = {"inductor._runner.Kept", offsetof(KeptObject, items), sizeof(KeptObject::Item),
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, kept_slots};

// ------------------------------------------------------------------------------------------------------------ backward
// A gradient that nobody asked for: zeros of the output's sizes.
static PyObject *zeros_of_output(const WeftNode *node, size_t output) {
  const int64_t *p = node->layouts;
  if (!p) return PyErr_Format(PyExc_SystemError, "a compiled node was recorded without sizes");
  for (size_t i = 0; i < output; i++) p += 2 + p[1];
  PyObject *t = api->empty((uint32_t)p[0] & (WEFT_WORD_DTYPE | WEFT_WORD_DEVICE), (int)p[1], p + 2, nullptr);
  WeftTensor *made = (WeftTensor *)t;
  if (!t || !made->numel) return t;
  const int64_t nbytes = made->numel * weft_itemsize(WEFT_DTYPE(made));
  if (api->device(WEFT_DEVICE_TYPE(made))->fill(weft_data(made), 0, nbytes, (int)(made->word >> 12 & 15)) < 0) Py_CLEAR(t);
  return t;
}

static bool all_plain(PyObject *grads) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(grads); i++) {
    PyObject *g = PyTuple_GET_ITEM(grads, i);
    if (g != Py_None && (!is_tensor(g) || WEFT_IS_TRACER(g))) return false;
  }
  return true;
}

// One entry an input: the gradients, None where there is none. Steals the references in `results`.
static PyObject *distribute(const BackwardObject *self, const std::vector<PyObject *> &results) {
  PyObject *out = PyTuple_New(self->n_inputs);
  if (out)
    for (int32_t i = 0; i < self->n_inputs; i++) PyTuple_SET_ITEM(out, i, Py_NewRef(Py_None));
  for (size_t k = 0; k < results.size(); k++) {
    if (!out) {
      Py_DECREF(results[k]);
      continue;
    }
    PyObject *old = PyTuple_GET_ITEM(out, (*self->gradients)[k]);
    PyTuple_SET_ITEM(out, (*self->gradients)[k], results[k]);
    Py_DECREF(old);
  }
  return out;
}

// Whether the exception that is set says that a check of a graph failed.
static bool graph_failed() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject *errors = PyImport_ImportModule("aten.errors");
  PyObject *wanted = errors ? PyObject_GetAttrString(errors, "GraphFailed") : nullptr;
  bool is = wanted && type && PyErr_GivenExceptionMatches(type, wanted);
  Py_XDECREF(wanted);
  Py_XDECREF(errors);
  PyErr_Restore(type, value, traceback);
  return is;
}

// The gradients by differentiable ops, without the history that nobody asked for: what eager gives, or its error.
static PyObject *run_eager(BackwardObject *self, PyObject *const *args) {
  PyErr_Clear();
  PyObject *found = PyObject_Vectorcall(self->differentiable, args, 2, nullptr);
  PyObject *out = found ? PyTuple_New(PyTuple_GET_SIZE(found)) : nullptr;
  for (Py_ssize_t i = 0; out && i < PyTuple_GET_SIZE(found); i++) {
    PyObject *g = PyTuple_GET_ITEM(found, i);
    g = is_tensor(g) ? PyObject_CallMethod(g, "detach", nullptr) : Py_NewRef(g);
    if (!g) Py_CLEAR(out);
    else PyTuple_SET_ITEM(out, i, g);
  }
  Py_XDECREF(found);
  return out;
}

// Whether the gradients lie as the Program's inputs do that stand for them.
static bool fit(const BackwardObject *self, PyObject *grads) {
  const std::vector<Input> &inputs = self->program->plan->inputs;
  size_t n = (size_t)PyTuple_GET_SIZE(grads);
  for (size_t i = 0; i < n && n <= inputs.size(); i++) {
    PyObject *g = PyTuple_GET_ITEM(grads, (Py_ssize_t)i);
    if (g == Py_None) return false;
    const WeftTensor *t = (WeftTensor *)g;
    const Layout &layout = inputs[inputs.size() - n + i].layout;
    if (layout.is_static) {
      int ndim = layout.ndim();
      if (WEFT_NDIM(t) != ndim || !std::equal(t->strides, t->strides + ndim, layout.dims.data() + ndim)) return false;
    } else if (!layout.contiguous || !(t->word & WEFT_WORD_CONTIGUOUS)) {
      return false;
    }
  }
  return true;
}

static PyObject *backward_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names) {
  BackwardObject *self = (BackwardObject *)callable;
  if (PyVectorcall_NARGS(nargsf) != 2 || names || !PyObject_TypeCheck(args[0], api->node_type) || !PyTuple_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "backward(node, grads: tuple)");
    return nullptr;
  }
  PyObject *node = args[0], *grads = args[1];
  if ((*api->ambient() & (WEFT_AMBIENT_GRAD | WEFT_AMBIENT_LEVELS)) || !all_plain(grads))
    return PyObject_Vectorcall(self->differentiable, args, 2, nullptr);
  if (self->other_forms && !fit(self, grads)) {
    PyObject *found = PyObject_Vectorcall(self->other_forms, args, 2, nullptr);
    if (found != Py_NotImplemented && (found || !graph_failed())) return found;
    Py_XDECREF(found);
    return run_eager(self, args);
  }
  PyObject *saved = PyObject_GetAttrString(node, "saved");
  if (!saved) return nullptr;
  KeptObject *block = (KeptObject *)PyTuple_GET_ITEM(saved, 0);
  PyObject *kept = PyList_New(0), *out = nullptr;
  std::vector<PyObject *> inputs;
  Py_ssize_t n_saved = (Py_ssize_t)self->program->plan->inputs.size() - PyTuple_GET_SIZE(grads);
  bool ok = kept != nullptr;
  for (Py_ssize_t i = 0; ok && i < n_saved; i++) {
    ok = unchanged(block->items[i], "saved value", i);
    inputs.push_back(block->items[i].object);
  }
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(grads); i++) {
    PyObject *g = PyTuple_GET_ITEM(grads, i);
    if (g == Py_None) {
      g = zeros_of_output((WeftNode *)node, (size_t)i);
      ok = g && PyList_Append(kept, g) == 0;
      Py_XDECREF(g);
    }
    inputs.push_back(g);
  }
  if (ok && inputs.size() != self->program->plan->inputs.size()) {
    PyErr_Format(PyExc_SystemError, "a compiled backward takes %zu inputs, has %zu", self->program->plan->inputs.size(),
                 inputs.size());
    ok = false;
  }
  if (ok) {
    std::vector<PyObject *> results(self->gradients->size());
    if (run(self->program, inputs.data(), results.data(), kept)) out = distribute(self, results);
    else if (graph_failed()) out = run_eager(self, args);
  }
  Py_XDECREF(kept);
  Py_DECREF(saved);
  return out;
}

static int backward_traverse(BackwardObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT((PyObject *)self->program);
  Py_VISIT(self->differentiable);
  Py_VISIT(self->other_forms);
  return 0;
}

static int backward_clear(BackwardObject *self) {
  Py_CLEAR(self->differentiable);
  Py_CLEAR(self->other_forms);
  return 0;
}

static void backward_dealloc(BackwardObject *self) {
  PyObject_GC_UnTrack(self);
  backward_clear(self);
  Py_XDECREF((PyObject *)self->program);
  delete self->gradients;
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMemberDef backward_members[] = {
    {"program", T_OBJECT, offsetof(BackwardObject, program), READONLY, "The backward Program."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BackwardObject, vectorcall), READONLY, nullptr},
    {}};
static PyType_Slot backward_slots[] = {{Py_tp_call, (void *)PyVectorcall_Call},
                                       {Py_tp_traverse, (void *)backward_traverse},
                                       {Py_tp_clear, (void *)backward_clear},
                                       {Py_tp_dealloc, (void *)backward_dealloc},
                                       {Py_tp_members, (void *)backward_members},
                                       {Py_tp_doc, (void *)"backward(node, grads) of a compiled graph."},
                                       {0, nullptr}};
static PyType_Spec backward_spec = {
    "inductor._runner.Backward", sizeof(BackwardObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, backward_slots};

// ------------------------------------------------------------------------------------------------------------- forward
static bool record(TrainingObject *self, PyObject *const *args, size_t n_args, PyObject **results, size_t n_outputs) {
  PyObject *small[16];
  size_t n = self->results->size();
  PyObject **outputs = n <= 16 ? small : (PyObject **)PyMem_Malloc(n * sizeof(PyObject *));
  if (!outputs) return PyErr_NoMemory(), false;
  for (size_t i = 0; i < n; i++) outputs[i] = results[(*self->results)[i]];
  size_t n_results = (size_t)self->n_results;
  PyObject *kept = new_kept(args, n_args, results + n_results, n_outputs - n_results, outputs, n);
  PyObject *saved = kept ? PyTuple_Pack(1, kept) : nullptr;
  int rc = -1;
  if (saved) rc = api->record(self->name, (PyObject *)self->backward, args, (Py_ssize_t)n_args, outputs, (Py_ssize_t)n, saved);
  if (outputs != small) PyMem_Free(outputs);
  Py_XDECREF(saved);
  Py_XDECREF(kept);
  return rc == 0;
}

static PyObject *training_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names) {
  TrainingObject *self = (TrainingObject *)callable;
  const Plan &plan = *self->forward->plan;
  size_t n = (size_t)PyVectorcall_NARGS(nargsf), n_outputs = plan.outputs.size();
  if (n != plan.inputs.size() || (names && PyTuple_GET_SIZE(names))) {
    PyErr_Format(PyExc_TypeError, "the compiled graph takes %zu positional inputs, %zu given", plan.inputs.size(), n);
    return nullptr;
  }
  PyObject *small[128];
  PyObject **results = n_outputs <= 128 ? small : (PyObject **)PyMem_Malloc(n_outputs * sizeof(PyObject *));
  if (!results) return PyErr_NoMemory();
  PyObject *out = nullptr;
  if (run(self->forward, const_cast<PyObject **>(args), results, nullptr)) {
    bool wanted = *api->ambient() & WEFT_AMBIENT_GRAD;
    if (!wanted || record(self, args, n, results, n_outputs)) out = PyTuple_New(self->n_results);
    for (size_t i = 0; i < n_outputs; i++) {
      if (out && i < (size_t)self->n_results)
        PyTuple_SET_ITEM(out, (Py_ssize_t)i, results[i]);
      else
        Py_DECREF(results[i]);
    }
  }
  if (results != small) PyMem_Free(results);
  return out;
}

static bool read_indices(PyObject *sequence, size_t limit, std::vector<int32_t> &out) {
  PyObject *items = PySequence_Fast(sequence, "expected a sequence of indices");
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) {
    long x = PyLong_AsLong(PySequence_Fast_GET_ITEM(items, i));
    if (x < 0 || (size_t)x >= limit) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "Training: an index is out of range");
      Py_DECREF(items);
      return false;
    }
    out.push_back((int32_t)x);
  }
  Py_DECREF(items);
  return true;
}

static PyObject *training_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"forward", "backward", "n_results", "results", "gradients", "differentiable", "name", "other_forms", nullptr};
  PyObject *forward, *backward, *results, *gradients, *differentiable, *name = nullptr, *other_forms = Py_None;
  int n_results;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!iOOO|UO", const_cast<char **>(names), program_type, &forward, program_type,
                                   &backward, &n_results, &results, &gradients, &differentiable, &name, &other_forms))
    return nullptr;
  const Plan &f = *((ProgramObject *)forward)->plan, &b = *((ProgramObject *)backward)->plan;
  auto wanted = std::make_unique<std::vector<int32_t>>(), targets = std::make_unique<std::vector<int32_t>>();
  if (!read_indices(results, (size_t)(n_results > 0 ? n_results : 0), *wanted) || !read_indices(gradients, f.inputs.size(), *targets))
    return nullptr;
  if (n_results < 0 || (size_t)n_results > f.outputs.size() || targets->size() != b.outputs.size() ||
      b.inputs.size() < wanted->size() ||
      b.inputs.size() - wanted->size() > f.outputs.size() - (size_t)n_results) {
    PyErr_SetString(PyExc_ValueError, "Training: the forward and the backward Program do not fit");
    return nullptr;
  }
  BackwardObject *node = PyObject_GC_New(BackwardObject, backward_type);
  if (!node) return nullptr;
  node->vectorcall = backward_call;
  node->program = (ProgramObject *)Py_NewRef(backward);
  node->differentiable = Py_NewRef(differentiable);
  node->other_forms = other_forms == Py_None ? nullptr : Py_NewRef(other_forms);
  node->gradients = targets.release();
  node->n_inputs = (int32_t)f.inputs.size();
  PyObject_GC_Track((PyObject *)node);
  PyObject *label = name ? Py_NewRef(name) : PyUnicode_InternFromString("CompiledBackward");
  TrainingObject *self = label ? (TrainingObject *)type->tp_alloc(type, 0) : nullptr;
  if (!self) {
    Py_XDECREF(label);
    Py_DECREF(node);
    return nullptr;
  }
  self->vectorcall = training_call;
  self->forward = (ProgramObject *)Py_NewRef(forward);
  self->backward = node;
  self->name = label;
  self->results = wanted.release();
  self->n_results = n_results;
  return (PyObject *)self;
}

static int training_traverse(TrainingObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT((PyObject *)self->forward);
  Py_VISIT((PyObject *)self->backward);
  return 0;
}

static void training_dealloc(TrainingObject *self) {
  PyObject_GC_UnTrack(self);
  if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self);
  Py_XDECREF((PyObject *)self->forward);
  Py_XDECREF((PyObject *)self->backward);
  Py_XDECREF(self->name);
  delete self->results;
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMemberDef training_members[] = {
    {"forward", T_OBJECT, offsetof(TrainingObject, forward), READONLY, "The forward Program."},
    {"backward", T_OBJECT, offsetof(TrainingObject, backward), READONLY, "The node's backward; its `.program` is the Program."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(TrainingObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TrainingObject, weakrefs), READONLY, nullptr},
    {}};
static PyType_Slot training_slots[] = {
    {Py_tp_doc,
     (void *)"Training(forward, backward, n_results, results, gradients, differentiable, name='CompiledBackward', other_forms=None)\n\n"
             "forward: Program -> [n_results results..., saved..., kept...]; backward: Program of [saved..., tangents...]\n"
             "results: which results have a tangent; gradients: for each output of the backward, the input it belongs to\n"
             "differentiable(node, grads) -> tuple: the backward by differentiable ops, for higher derivatives\n"
             "other_forms(node, grads) -> tuple or NotImplemented: the backward of gradients that are missing or lie otherwise."},
    {Py_tp_new, (void *)training_new},
    {Py_tp_call, (void *)PyVectorcall_Call},
    {Py_tp_traverse, (void *)training_traverse},
    {Py_tp_dealloc, (void *)training_dealloc},
    {Py_tp_members, (void *)training_members},
    {0, nullptr}};
static PyType_Spec training_spec = {"inductor._runner.Training", sizeof(TrainingObject), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, training_slots};

bool add_training_type(PyObject *module) {
  backward_type = (PyTypeObject *)PyType_FromSpec(&backward_spec);
  training_type = (PyTypeObject *)PyType_FromSpec(&training_spec);
  kept_type = (PyTypeObject *)PyType_FromSpec(&kept_spec);
  return backward_type && training_type && kept_type && PyModule_AddObjectRef(module, "Backward", (PyObject *)backward_type) == 0 &&
         PyModule_AddObjectRef(module, "Training", (PyObject *)training_type) == 0;
}

} // namespace runner
