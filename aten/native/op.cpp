// op.cpp: the base type of Op: its call, its rule, and OpMethod, which makes a method of an op.
#include "op.h"

#include <string.h>

#include "chain.h"
#include "released.h"
#include "replay.h"
#include "written_out.h"

namespace weft {

PyTypeObject *op_type;
PyObject unhandled_object;  // compared by address only
NativeOp *core_ops[CORE_COUNT];
static PyTypeObject *method_type;
static PyObject *general_call;   // aten.dispatch.call(op, args, kwargs)
static PyObject *counted_ops;    // list of ops that have entered Python
static const char *const core_names[CORE_COUNT] = {"view", "permute", "expand", "squeeze", "unsqueeze", "slice", "select", "diagonal", "unfold", "alias",
                                                   "clone", "view_as_real", "view_as_complex", "as_strided", "cast", "mm", "index",
                                                   "dropout_kept", "watched", "channel_norm", "copy_", "index_put_"};

PyObject *whole_backwards[WHOLE_COUNT];
static const char *const whole_names[WHOLE_COUNT] = {"matmul", "linear", "cat", "split", "unbind", "max_pool", "avg_pool", "masked_scatter", "flat", "nansum"};

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

// The bits of the ambient word of the types of device for which autocast has a policy for the op.
static inline uint64_t autocast_of(const NativeOp *op) {
  return (op->autocast & 1 ? WEFT_AMBIENT_AUTOCAST_CPU : 0) | (op->autocast & 2 ? WEFT_AMBIENT_AUTOCAST_CUDA : 0);
}

// What the op's rule, which it has, answers; UNHANDLED where it leaves the call.
static inline PyObject *answered(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  try {
    CallScope scope;
    Call call;
    const Binder *binder = op->binder ? op->binder : binder_of(op);
    return !binder ? nullptr : call.bind(op, binder, args, nargs, names) ? op->rule(call) : UNHANDLED;
  } catch (const std::exception &) {
    return raise_caught();
  }
}

static PyObject *op_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
  NativeOp *op = as_op(self);
  Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  if (op->rule && !(*ambient() & (kOthersDecide | autocast_of(op)))) {
    PyObject *result = answered(op, args, nargs, names);
    if (result != UNHANDLED) return result;
  }
  if (names && !(*ambient() & (kOthersDecide | kAutocast))) {
    PyObject *result = made_leaf(op, args, nargs, names);
    if (result != UNHANDLED) return result;
  }
  if (op->replays && !(*ambient() & (kOthersDecide | kAutocast))) {
    PyObject *result = replayed(op, args, nargs, names);
    if (result != UNHANDLED) return result;
  }
  if ((names || op->functional) && !(*ambient() & (kOthersDecide | kAutocast))) {
    PyObject *result = op->functional ? written_in_place(op, args, nargs, names) : written_out(op, args, nargs, names);
    if (result != UNHANDLED) return result;
  }
  if (op->promised) {
    Ref name(PyObject_GetAttrString(self, "name"));
    if (!name) return nullptr;
    if (!op->promised) return op_vectorcall(self, args, nargsf, names);
  }
  return call_general(op, args, nargs, names);
}

// by_rule(op, args, kwargs): what the op's rule answers, whatever modes and levels there are; NotImplemented if it has none or
// leaves the call.
static PyObject *by_rule(PyObject *, PyObject *given) {
  Spelled call;
  if (!call.read(given)) return nullptr;
  if (!call.op->rule) Py_RETURN_NOTIMPLEMENTED;
  PyObject *result = answered(call.op, call.all.data(), call.n, call.names.get());
  if (result != UNHANDLED) return result;
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
  free_binder(op->binder);
  Py_XDECREF(op->node_name);
  Py_XDECREF(op->display);
  Py_XDECREF(op->functional);
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
  if (!binder_of(op)) return nullptr;
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

static PyObject *save_source(const Plan::Source &source, const Arg *args, PyObject *const *outputs, int n_outputs, WeftNode *node) {
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
  const Arg &arg = args[source.index];
  if (arg.kind == Arg::OBJECT && PyList_CheckExact(arg.object)) return save_value(arg.object, outputs, n_outputs, node);
  if (arg.kind != Arg::OBJECT || !is_tensor(arg.object)) return arg.build();
  if (source.kind == Plan::Source::META) return save_meta(as_tensor(arg.object));
  return save_tensor(as_tensor(arg.object), nullptr);
}

bool record_needs(NativeOp *op, uint32_t mask, const Arg *args, int n_args, PyObject *const *outputs, int n_outputs) {
  Plan *plan = find_plan(op, mask, n_args);
  if (!plan) return false;
  WeftNode *node = new_node(op->node_name, plan->backward, (uint32_t)plan->inputs.size(), layout_items(outputs, n_outputs));
  if (!node) return false;
  Ref owned(as_object(node));
  for (size_t e = 0; e < plan->inputs.size(); e++) {
    const Arg &arg = args[plan->inputs[e]];
    if (arg.kind == Arg::OBJECT && !set_edge(&node->edges[e], arg.object)) return false;
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

bool node_keeps(NativeOp *op, uint32_t mask, int n_args, int i, bool *keeps) {
  const Plan *plan = find_plan(op, mask, n_args);
  *keeps = false;
  for (size_t k = 0; plan && k < plan->saved.size(); k++) {
    const Plan::Source &source = plan->saved[k];
    *keeps |= source.kind == Plan::Source::OUT || source.kind == Plan::Source::RESULT || (source.kind == Plan::Source::VALUE && source.index == i);
  }
  return plan != nullptr;
}

bool record_op(NativeOp *op, const Arg *args, int n_args, PyObject *const *outputs, int n_outputs) {
  uint32_t mask = 0;
  for (int i = 0; i < n_args; i++)
    if (args[i].kind == Arg::OBJECT && is_tensor(args[i].object) && WEFT_REQUIRES_GRAD(args[i].object)) mask |= 1u << i;
  return record_needs(op, mask, args, n_args, outputs, n_outputs);
}

bool Call::has_history() const { return op->node_name && grad_enabled(); }

int Call::dtype(int i, int own) const {
  const int given = (int)args[i].integer;
  if (given < 0 || given == own) return own;
  return (dtype_kind(given) == KIND_FLOAT || given == WEFT_INT64) && !recording() ? given : -1;
}

bool Call::record_all(PyObject *const *outputs, int n) { return record_needs(op, needs, args, binder->core, outputs, n); }

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

// ---------------------------------------------------------------------------------------------------- rules

struct RuleKind {
  const char *name;
  const RuleRow *rows;
};
static const RuleKind kinds[] = {{"pointwise", pointwise_rules}, {"copy", copy_rules}, {"reduction", reduction_rules}, {"view", view_rules},
                                 {"index", index_rules}, {"masked", masked_rules}, {"product", product_rules}, {"rows", row_rules}, {"join", join_rules},
                                 {"structure", structure_rules}, {"pool", pool_rules}, {"places", place_rules}, {"scan", scan_rules},
                                 {"create", create_rules}};

static RuleRow find_rule(const char *kind, const char *name) {
  if (strcmp(kind, "chain") == 0) return {name, name[strlen(name) - 1] == '_' ? fast_inplace_chain : fast_chain};
  for (const RuleKind &known : kinds) {
    if (strcmp(known.name, kind) != 0) continue;
    for (const RuleRow *row = known.rows; row->name; row++)
      if (strcmp(row->name, name) == 0) return *row;
  }
  return strcmp(kind, "pointwise") == 0 ? pointwise_rule(name) : RuleRow{name, nullptr};
}

// set_rule(op, name, kind): the op of that name is answered by its rule of a kind
static PyObject *set_rule(PyObject *, PyObject *args) {
  PyObject *object;
  const char *name, *kind;
  if (!PyArg_ParseTuple(args, "O!ss:set_rule", op_type, &object, &name, &kind)) return nullptr;
  NativeOp *op = as_op(object);
  const RuleRow row = find_rule(kind, name);
  op->rule = row.rule;
  op->code = row.code;
  for (int i = 0; row.rule && i < CORE_COUNT; i++) {
    if (strcmp(name, core_names[i]) != 0) continue;
    PyObject *old = as_object(std::exchange(core_ops[i], as_op(Py_NewRef(object))));
    Py_XDECREF(old);
  }
  return PyBool_FromLong(row.rule != nullptr);
}

static PyObject *has_rule(PyObject *, PyObject *op) {
  if (!PyObject_TypeCheck(op, op_type)) return PyErr_Format(PyExc_TypeError, "has_rule(op)");
  return PyBool_FromLong(as_op(op)->rule != nullptr);
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
  if (!PyCallable_Check(callable)) return PyErr_Format(PyExc_TypeError, "set_general_call: a callable, not %R", callable);
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

static PyObject *get_functional(PyObject *self, void *) { return Py_NewRef(as_op(self)->functional ? as_op(self)->functional : Py_None); }

static int set_functional(PyObject *self, PyObject *value, void *) {
  if (!value || !PyObject_TypeCheck(value, op_type)) {
    PyErr_SetString(PyExc_TypeError, "functional: an op");
    return -1;
  }
  Py_XSETREF(as_op(self)->functional, Py_NewRef(value));
  return 0;
}

static PyGetSetDef op_getset[] = {{"functional", get_functional, set_functional, "of an op in place: the op whose result it writes", nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};
static PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(NativeOp, vectorcall), READONLY, nullptr},
    {"promised", T_BOOL, offsetof(NativeOp, promised), 0, nullptr},
    {"autocast", T_BYTE, offsetof(NativeOp, autocast), 0, nullptr},
    {"out_in_python", T_BOOL, offsetof(NativeOp, out_in_python), 0, nullptr},
    {"writes_core", T_BOOL, offsetof(NativeOp, writes_core), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
static PyType_Slot op_slots[] = {{Py_tp_new, (void *)op_new},
                                 {Py_tp_init, (void *)op_init},
                                 {Py_tp_dealloc, (void *)op_dealloc},
                                 {Py_tp_call, (void *)PyVectorcall_Call},
                                 {Py_tp_members, op_members},
                                 {Py_tp_getset, op_getset},
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
    {"set_rule", set_rule, METH_VARARGS, "set_rule(op, name, kind): have the native rule of that kind and name answer an op; whether there is one"},
    {"by_rule", by_rule, METH_VARARGS, "by_rule(op, args, kwargs): what its rule answers, or NotImplemented"},
    {"bound", bound, METH_VARARGS, "bound(op, args, kwargs): the arguments as its rule gets them, or NotImplemented"},
    {"has_rule", has_rule, METH_O, "has_rule(op): whether it has a native rule"},
    {"set_product_backward", set_product_backward, METH_VARARGS, nullptr},
    {"set_general_call", set_general_call, METH_O, "call(op, args, kwargs) takes what no rule handles"},
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
