// op.cpp: the base type of Op: its call, its family, and OpMethod, which makes a method of an op.
#include "op.h"

#include <string.h>

#include "released.h"
#include "replay.h"

namespace weft {

PyTypeObject *op_type;
PyObject unhandled_object;  // compared by address only
NativeOp *core_ops[CORE_COUNT];
static PyTypeObject *method_type;
static PyObject *general_call;   // aten.dispatch.call(op, args, kwargs)
static PyObject *counted_ops;    // list of ops that have entered Python
static const char *const core_names[CORE_COUNT] = {"view", "permute", "expand", "squeeze", "unsqueeze", "slice", "select", "alias",
                                                   "clone", "cast", "mm", "bmm", "add", "linear", "index"};

PyObject *whole_backwards[WHOLE_COUNT];
static const char *const whole_names[WHOLE_COUNT] = {"matmul", "linear", "cat", "split", "max_pool", "avg_pool"};

// ------------------------------------------------------------------------------------------------ arguments

bool exact_int(PyObject *p, int64_t *out) {
  if (!PyLong_CheckExact(p)) return false;
  int overflow;
  *out = PyLong_AsLongLongAndOverflow(p, &overflow);
  return !overflow;
}

int exact_ints(PyObject *p, int64_t *out) {
  if (!PyList_CheckExact(p) && !PyTuple_Check(p)) return -1;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(p);
  if (n > WEFT_MAX_NDIM) return -1;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!exact_int(PySequence_Fast_GET_ITEM(p, i), &out[i])) return -1;
  return (int)n;
}

bool exact_bool(PyObject *p, bool *out) {
  *out = p == Py_True;
  return p == Py_True || p == Py_False;
}

bool wrap_dim(int64_t dim, int ndim, int *out) {
  int n = ndim ? ndim : 1;
  if (dim < -n || dim >= n) return false;
  *out = (int)(dim < 0 ? dim + n : dim);
  return true;
}

bool bind_arguments(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names, PyObject **slots) {
  if (nargs > op->n_positional) return false;
  for (int i = 0; i < op->n_names; i++) slots[i] = i < nargs ? args[i] : nullptr;
  Py_ssize_t n = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t k = 0; k < n; k++) {
    PyObject *name = PyTuple_GET_ITEM(names, k);
    int found = -1;
    for (int i = 0; i < op->n_names && found < 0; i++)
      if (PyTuple_GET_ITEM(op->names, i) == name) found = i;  // both are interned
    if (found < 0 || slots[found]) return false;
    slots[found] = args[nargs + k];
  }
  return true;
}

PyObject *CoreArg::build() const {
  switch (kind) {
    case OBJECT: return Py_NewRef(object);
    case INT: return PyLong_FromLongLong(value);
    case BOOLEAN: return PyBool_FromLong(value != 0);
    default: break;
  }
  PyObject *result = PyList_New((Py_ssize_t)value);
  for (int64_t i = 0; result && i < value; i++) {
    PyObject *item = PyLong_FromLongLong(list[i]);
    if (!item) Py_CLEAR(result);
    else PyList_SET_ITEM(result, (Py_ssize_t)i, item);
  }
  return result;
}

// ----------------------------------------------------------------------------------------------------- call

static PyObject *call_general(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (!general_call) return PyErr_Format(PyExc_RuntimeError, "aten.dispatch is not loaded");
  if (op->python_calls++ == 0 && PyList_Append(counted_ops, as_object(op)) < 0) return nullptr;
  Ref tuple(PyTuple_New(nargs)), kwargs(PyDict_New());
  if (!tuple || !kwargs) return nullptr;
  for (Py_ssize_t i = 0; i < nargs; i++) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(names, i), args[nargs + i]) < 0) return nullptr;
  PyObject *call[4] = {nullptr, as_object(op), tuple.get(), kwargs.get()};
  return PyObject_Vectorcall(general_call, call + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

constexpr uint64_t kOthersDecide = WEFT_AMBIENT_LEVELS | WEFT_AMBIENT_MODES | WEFT_AMBIENT_SAVED_HOOKS;
constexpr uint64_t kAutocast = WEFT_AMBIENT_AUTOCAST_CPU | WEFT_AMBIENT_AUTOCAST_CUDA;

static PyObject *op_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
  NativeOp *op = as_op(self);
  Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  if (op->fast && !(*ambient() & (op->autocast ? kOthersDecide | kAutocast : kOthersDecide))) {
    try {
      CallScope scope;
      PyObject *result = op->fast(op, args, nargs, names);
      if (result != UNHANDLED) return result;
    } catch (const std::exception &) {
      return raise_caught();
    }
  }
  if (op->replays && !(*ambient() & (kOthersDecide | kAutocast))) {
    PyObject *result = replayed(op, args, nargs, names);
    if (result != UNHANDLED) return result;
  }
  return call_general(op, args, nargs, names);
}

// by_family(op, args, kwargs): what the op's family answers, whatever modes and levels there are; NotImplemented if it has none
// or leaves the call.
static PyObject *by_family(PyObject *, PyObject *given) {
  PyObject *object, *args, *kwargs;
  if (!PyArg_ParseTuple(given, "O!O!O!:by_family", op_type, &object, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) return nullptr;
  NativeOp *op = as_op(object);
  if (!op->fast) Py_RETURN_NOTIMPLEMENTED;
  Py_ssize_t n = PyTuple_GET_SIZE(args), named = PyDict_GET_SIZE(kwargs), at = 0, k = 0;
  std::vector<PyObject *> all((size_t)(n + named) + 1);
  for (Py_ssize_t i = 0; i < n; i++) all[(size_t)i] = PyTuple_GET_ITEM(args, i);
  Ref names(named ? PyTuple_New(named) : nullptr);
  if (named && !names) return nullptr;
  for (PyObject *name, *value; PyDict_Next(kwargs, &at, &name, &value); k++) {
    PyTuple_SET_ITEM(names.get(), k, Py_NewRef(name));
    all[(size_t)(n + k)] = value;
  }
  try {
    CallScope scope;
    PyObject *result = op->fast(op, all.data(), n, names.get());
    if (result != UNHANDLED) return result;
  } catch (const std::exception &) {
    return raise_caught();
  }
  Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *op_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *self = type->tp_alloc(type, 0);
  if (self) as_op(self)->vectorcall = op_vectorcall;
  return self;
}

static int op_init(PyObject *, PyObject *, PyObject *) { return 0; }

static void op_dealloc(PyObject *self) {
  NativeOp *op = as_op(self);
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(op->names);
  Py_XDECREF(op->node_name);
  Py_XDECREF(op->display);
  if (op->plans)
    for (Plan &plan : *op->plans) Py_XDECREF(plan.backward);
  delete op->plans;
  type->tp_free(self);
  Py_DECREF(type);
}

// ------------------------------------------------------------------------------------------------- recording

static PyObject *plan_maker;  // aten.autograd.record.native_plan(op, mask) -> (backward, sources, inputs)

static Plan *bad_plan(NativeOp *op) {
  if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "what was planned to be saved for %R is no plan", op);
  return nullptr;
}

static Plan *find_plan(NativeOp *op, uint32_t mask, int n_args) {
  if (!op->plans) op->plans = new std::vector<Plan>();
  for (Plan &plan : *op->plans)
    if (plan.mask == mask) return &plan;
  if (!plan_maker || !op->node_name) {
    PyErr_Format(PyExc_RuntimeError, plan_maker ? "%R is not recorded here" : "aten.autograd is not loaded", op);
    return nullptr;
  }
  Ref made(PyObject_CallFunction(plan_maker, "OI", op, mask));
  PyObject *backward, *sources, *inputs;
  if (made && !PyTuple_Check(made.get())) return bad_plan(op);
  if (!made || !PyArg_ParseTuple(made.get(), "OO!O!", &backward, &PyTuple_Type, &sources, &PyTuple_Type, &inputs)) return nullptr;
  Plan plan = {mask, backward, {}, {}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sources); i++) {
    int kind, index;
    PyObject *source = PyTuple_GET_ITEM(sources, i);
    if (!PyTuple_Check(source) || !PyArg_ParseTuple(source, "ii", &kind, &index)) return bad_plan(op);
    const bool argument = kind == Plan::Source::VALUE || kind == Plan::Source::META;
    if (kind < Plan::Source::VALUE || kind > Plan::Source::RESULT || index < 0 || (argument && index >= n_args)) return bad_plan(op);
    plan.saved.push_back({(Plan::Source::Kind)kind, index});
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
    int64_t index;
    if (!exact_int(PyTuple_GET_ITEM(inputs, i), &index) || index < 0 || index >= n_args) return bad_plan(op);
    plan.inputs.push_back((int)index);
  }
  Py_INCREF(backward);
  op->plans->push_back(std::move(plan));
  return &op->plans->back();
}

static PyObject *save_source(const Plan::Source &source, const CoreArg *args, PyObject *const *outputs, int n_outputs, WeftNode *node) {
  if (source.kind == Plan::Source::OUT) {
    if (n_outputs == 1) return save_tensor(as_tensor(outputs[0]), node);
    PyObject *all = PyTuple_New(n_outputs);
    for (int i = 0; all && i < n_outputs; i++) {
      PyObject *one = save_tensor(as_tensor(outputs[i]), node);
      if (!one) Py_CLEAR(all);
      else PyTuple_SET_ITEM(all, i, one);
    }
    return all;
  }
  if (source.kind == Plan::Source::RESULT) return save_tensor(as_tensor(outputs[source.index]), node);
  const CoreArg &arg = args[source.index];
  if (arg.kind == CoreArg::OBJECT && PyList_CheckExact(arg.object)) return save_value(arg.object, outputs, n_outputs, node);
  if (arg.kind != CoreArg::OBJECT || !is_tensor(arg.object)) return arg.build();
  if (source.kind == Plan::Source::META) return save_meta(as_tensor(arg.object));
  return save_tensor(as_tensor(arg.object), nullptr);
}

bool record_op(NativeOp *op, const CoreArg *args, int n_args, PyObject *const *outputs, int n_outputs) {
  uint32_t mask = 0;
  for (int i = 0; i < n_args; i++)
    if (args[i].kind == CoreArg::OBJECT && is_tensor(args[i].object) && WEFT_REQUIRES_GRAD(args[i].object)) mask |= 1u << i;
  Plan *plan = find_plan(op, mask, n_args);
  if (!plan) return false;
  WeftNode *node = new_node(op->node_name, plan->backward, (uint32_t)plan->inputs.size(), layout_items(outputs, n_outputs));
  if (!node) return false;
  Ref owned(as_object(node));
  for (size_t e = 0; e < plan->inputs.size(); e++) {
    const CoreArg &arg = args[plan->inputs[e]];
    if (arg.kind == CoreArg::OBJECT && !set_edge(&node->edges[e], arg.object)) return false;
  }
  if (!set_outputs(node, outputs, n_outputs)) return false;
  node->saved = PyTuple_New((Py_ssize_t)plan->saved.size());
  for (size_t i = 0; node->saved && i < plan->saved.size(); i++) {
    PyObject *value = save_source(plan->saved[i], args, outputs, n_outputs, node);
    if (!value) return false;
    PyTuple_SET_ITEM(node->saved, (Py_ssize_t)i, value);
  }
  if (!node->saved) return false;
  PyObject_GC_Track(as_object(node));
  return true;
}

PyObject *named_results(NativeOp *op, PyObject *const *results, int n) {
  Ref all(PyTuple_New(n));
  for (int i = 0; all && i < n; i++) PyTuple_SET_ITEM(all.get(), i, Py_NewRef(results[i]));
  Ref schema(all ? PyObject_GetAttrString(as_object(op), "schema") : nullptr);
  Ref made(schema ? PyObject_GetAttrString(schema.get(), "result_type") : nullptr);
  return made ? PyObject_CallOneArg(made.get(), all.get()) : nullptr;
}

static PyObject *set_plan_maker(PyObject *, PyObject *callable) {
  Py_XSETREF(plan_maker, Py_NewRef(callable));
  Py_RETURN_NONE;
}

// ------------------------------------------------------------------------------------------------- families

static const Family *find_family(const char *name) {
  for (const Family *table : {pointwise_families, cast_families, reduce_families, view_families, index_families, matmul_families, row_families, join_families, structure_families, pool_families, place_families, scan_families,
                              create_families})
    for (const Family *row = table; row->name; row++)
      if (strcmp(row->name, name) == 0) return row;
  return nullptr;
}

// set_family(op, family, code=0, names=(), positional=0, node_name=None, flags=0)
static PyObject *set_family(PyObject *, PyObject *args, PyObject *kwargs) {
  static const char *keywords[] = {"op", "family", "code", "names", "positional", "node_name", "flags", nullptr};
  PyObject *object, *names = nullptr, *node_name = Py_None;
  const char *family;
  int code = 0, positional = 0, flags = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!s|iO!iOi:set_family", const_cast<char **>(keywords), op_type, &object, &family, &code,
                                   &PyTuple_Type, &names, &positional, &node_name, &flags))
    return nullptr;
  const Family *found = find_family(family);
  if (!found) return PyErr_Format(PyExc_ValueError, "there is no native family %s", family);
  if (code < 0 || code >= found->codes) return PyErr_Format(PyExc_ValueError, "%s has no code %d", family, code);
  NativeOp *op = as_op(object);
  Ref interned(PyTuple_New(names ? PyTuple_GET_SIZE(names) : 0));
  for (Py_ssize_t i = 0; interned && i < PyTuple_GET_SIZE(interned.get()); i++) {
    PyObject *name = Py_NewRef(PyTuple_GET_ITEM(names, i));
    PyUnicode_InternInPlace(&name);
    PyTuple_SET_ITEM(interned.get(), i, name);
  }
  if (!interned) return nullptr;
  op->n_names = (int)PyTuple_GET_SIZE(interned.get());
  op->n_positional = positional;
  Py_XSETREF(op->names, interned.release());
  Py_XSETREF(op->node_name, node_name == Py_None ? nullptr : Py_NewRef(node_name));
  op->code = code;
  op->flags = flags;
  op->fast = found->fast;
  Py_RETURN_NONE;
}

static PyObject *has_family(PyObject *, PyObject *op) {
  if (!PyObject_TypeCheck(op, op_type)) return PyErr_Format(PyExc_TypeError, "has_family(op)");
  return PyBool_FromLong(as_op(op)->fast != nullptr);
}

static PyObject *set_core_op(PyObject *, PyObject *args) {
  const char *name;
  PyObject *op;
  if (!PyArg_ParseTuple(args, "sO!:set_core_op", &name, op_type, &op)) return nullptr;
  for (int i = 0; i < CORE_COUNT; i++) {
    if (strcmp(name, core_names[i]) == 0) {
      PyObject *old = as_object(std::exchange(core_ops[i], as_op(Py_NewRef(op))));
      Py_XDECREF(old);
      Py_RETURN_NONE;
    }
  }
  return PyErr_Format(PyExc_ValueError, "%s is not a core op of the native paths", name);
}

static PyObject *set_product_backward(PyObject *, PyObject *args) {
  const char *name;
  PyObject *callable;
  if (!PyArg_ParseTuple(args, "sO:set_product_backward", &name, &callable)) return nullptr;
  for (int i = 0; i < WHOLE_COUNT; i++) {
    if (strcmp(name, whole_names[i]) == 0) {
      Py_XSETREF(whole_backwards[i], Py_NewRef(callable));
      Py_RETURN_NONE;
    }
  }
  return PyErr_Format(PyExc_ValueError, "%s is not recorded whole", name);
}

static PyObject *set_general_call(PyObject *, PyObject *callable) {
  Py_XSETREF(general_call, Py_NewRef(callable));
  Py_RETURN_NONE;
}

// python_entries(reset=False) -> {op: calls that entered Python}
static PyObject *python_entries(PyObject *, PyObject *args) {
  int reset = 0;
  if (!PyArg_ParseTuple(args, "|p:python_entries", &reset)) return nullptr;
  Ref result(PyDict_New());
  for (Py_ssize_t i = 0; result && i < PyList_GET_SIZE(counted_ops); i++) {
    PyObject *op = PyList_GET_ITEM(counted_ops, i);
    Ref name(PyObject_GetAttrString(op, "name")), count(PyLong_FromLongLong(as_op(op)->python_calls));
    if (!name || !count || PyDict_SetItem(result.get(), name.get(), count.get()) < 0) return nullptr;
  }
  if (result && reset) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(counted_ops); i++) as_op(PyList_GET_ITEM(counted_ops, i))->python_calls = 0;
    if (PyList_SetSlice(counted_ops, 0, PyList_GET_SIZE(counted_ops), nullptr) < 0) return nullptr;
  }
  return result.release();
}

// Subclasses made in Python keep the native call: before 3.12 a heap type does not inherit the flag that says so.
static PyObject *enable_vectorcall(PyObject *, PyObject *cls) {
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(cls), op_type))
    return PyErr_Format(PyExc_TypeError, "%R is not a subclass of NativeOp", cls);
  PyTypeObject *type = reinterpret_cast<PyTypeObject *>(cls);
  if (type->tp_call != PyVectorcall_Call) return PyErr_Format(PyExc_TypeError, "%R defines __call__", cls);
  type->tp_vectorcall_offset = op_type->tp_vectorcall_offset;
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
  return Py_NewRef(cls);
}

// --------------------------------------------------------------------------------------------------- methods
// An op as an attribute of Tensor: bound on instances, the op itself on the class.

struct OpMethod {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *op;
};

static PyObject *method_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
  return PyObject_Vectorcall(reinterpret_cast<OpMethod *>(self)->op, args, nargsf, names);
}

static PyObject *method_get(PyObject *self, PyObject *instance, PyObject *) {
  PyObject *op = reinterpret_cast<OpMethod *>(self)->op;
  return instance && instance != Py_None ? PyMethod_New(op, instance) : Py_NewRef(op);
}

static PyObject *method_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *op;
  if (!PyArg_ParseTuple(args, "O:OpMethod", &op)) return nullptr;
  OpMethod *self = reinterpret_cast<OpMethod *>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  self->vectorcall = method_vectorcall;
  self->op = Py_NewRef(op);
  return as_object(self);
}

static int method_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<OpMethod *>(self)->op);
  return 0;
}

static int method_clear(PyObject *self) {
  Py_CLEAR(reinterpret_cast<OpMethod *>(self)->op);
  return 0;
}

static void method_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  method_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(NativeOp, vectorcall), READONLY, nullptr},
    {"autocast", T_BOOL, offsetof(NativeOp, autocast), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
static PyType_Slot op_slots[] = {{Py_tp_new, (void *)op_new},
                                 {Py_tp_init, (void *)op_init},
                                 {Py_tp_dealloc, (void *)op_dealloc},
                                 {Py_tp_call, (void *)PyVectorcall_Call},
                                 {Py_tp_members, op_members},
                                 {Py_tp_doc, (void *)"The native side of an op: its fast path."},
                                 {0, nullptr}};
static PyType_Spec op_spec = {"aten._native.NativeOp", sizeof(NativeOp), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, op_slots};
static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpMethod, vectorcall), READONLY, nullptr},
    {"op", T_OBJECT, offsetof(OpMethod, op), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
static PyType_Slot method_slots[] = {{Py_tp_new, (void *)method_new},
                                     {Py_tp_dealloc, (void *)method_dealloc},
                                     {Py_tp_traverse, (void *)method_traverse},
                                     {Py_tp_clear, (void *)method_clear},
                                     {Py_tp_call, (void *)PyVectorcall_Call},
                                     {Py_tp_descr_get, (void *)method_get},
                                     {Py_tp_members, method_members},
                                     {Py_tp_doc, (void *)"OpMethod(op): an op as a method of Tensor."},
                                     {0, nullptr}};
static PyType_Spec method_spec = {"aten._native.OpMethod", sizeof(OpMethod), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                                  method_slots};
static PyMethodDef op_functions[] = {
    {"set_family", (PyCFunction)(void *)set_family, METH_VARARGS | METH_KEYWORDS, "bind an op to a native family"},
    {"by_family", by_family, METH_VARARGS, "by_family(op, args, kwargs): what its family answers, or NotImplemented"},
    {"has_family", has_family, METH_O, "has_family(op): whether it has a native family"},
    {"set_core_op", set_core_op, METH_VARARGS, "set_core_op(name, op): an op that native paths record"},
    {"set_product_backward", set_product_backward, METH_VARARGS, nullptr},
    {"set_general_call", set_general_call, METH_O, "call(op, args, kwargs) takes what no family handles"},
    {"set_plan_maker", set_plan_maker, METH_O, nullptr},
    {"python_entries", python_entries, METH_VARARGS, "python_entries(reset=False) -> {op name: calls that entered Python}"},
    {"_use_kernels", use_kernels, METH_O, nullptr},
    {"pointwise_rows", pointwise_rows, METH_NOARGS, "pointwise_rows() -> [(name, arity)]: functions with eager loops, by code"},
    {"enable_vectorcall", enable_vectorcall, METH_O, "let instances of a subclass of NativeOp be called natively"},
    {nullptr, nullptr, 0, nullptr}};

bool init_op(PyObject *module) {
  Py_SET_TYPE(&unhandled_object, &PyBaseObject_Type);
  Py_SET_REFCNT(&unhandled_object, (Py_ssize_t)1 << 29);
  op_type = add_type(module, &op_spec);
  method_type = add_type(module, &method_spec);
  counted_ops = PyList_New(0);
  return op_type && method_type && counted_ops && init_kernels() && PyModule_AddFunctions(module, op_functions) == 0;
}

}  // namespace weft
