// binder.cpp: compiling a Binder from a schema, and binding calls by it.
#include "binder.h"

#include <string.h>

#include <memory>

#include "op.h"

namespace weft {

bool exact_long(PyObject *p, int64_t *out) {
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

bool is_main_memory(PyObject *p) {
  int type, index;
  if (Py_TYPE(p) == device_type) return parse_device(p, &type, &index) && type == WEFT_CPU && index <= 0;
  return PyUnicode_CheckExact(p) && PyUnicode_CompareWithASCIIString(p, "cpu") == 0;
}

PyObject *Arg::build() const {
  switch (kind) {
    case OBJECT: return Py_NewRef(object);
    case INT: return PyLong_FromLongLong(integer);
    case BOOLEAN: return PyBool_FromLong(integer != 0);
    default: break;
  }
  PyObject *result = PyList_New(n);
  for (int i = 0; result && i < n; i++) {
    PyObject *item = PyLong_FromLongLong(list[i]);
    if (!item) Py_CLEAR(result);
    else PyList_SET_ITEM(result, i, item);
  }
  return result;
}

// ------------------------------------------------------------------------------------------------- binding

int Binder::find(PyObject *name) const {
  for (const Name &known : names)
    if (known.text == name) return known.index;
  if (!PyUnicode_CHECK_INTERNED(name))
    for (const Name &known : names)
      if (PyUnicode_Compare(known.text, name) == 0) return known.index;
  return -1;
}

bool Call::take_integers(const Param &param, PyObject *given, Arg *arg) {
  int64_t *to = list_room();
  if (!to) return false;
  int n;
  if (PyLong_CheckExact(given)) {
    if (!param.spread || !exact_int(given, to)) return false;
    n = param.spread;
    for (int k = 1; k < n; k++) to[k] = to[0];
  } else if (Py_TYPE(given) == dtype_type && op == core_ops[CORE_VIEW]) {
    *arg = Arg(given);
    arg->n = -1;  // a dtype in their place
    return true;
  } else if ((n = exact_ints(given, to)) < 0) {
    return false;
  }
  *arg = Arg::of_integers(to, n);
  arg->object = given;
  used_ += n;
  return true;
}

bool Call::take_other(const Param &param, PyObject *given, int i) {
  Arg &arg = args[i];
  arg.object = given;
  arg.kind = Arg::OBJECT;
  if (given == Py_None && param.takes != ANYTHING) {
    arg.integer = param.takes == DTYPE ? -1 : param.takes == DEVICE;
    return param.optional;
  }
  switch (param.takes) {
    case INTEGER: return exact_int(given, &arg.integer);
    case INTEGERS: return take_integers(param, given, &arg);
    case REAL: {
      if (PyFloat_CheckExact(given)) {
        arg.real = PyFloat_AS_DOUBLE(given);
        return true;
      }
      int64_t whole;
      if (!PyBool_Check(given) && !exact_int(given, &whole)) return false;
      arg.real = PyBool_Check(given) ? (double)(given == Py_True) : (double)whole;
      return true;
    }
    case TRUTH:
      arg.integer = given == Py_True;
      return PyBool_Check(given);
    case DTYPE:
      if (Py_TYPE(given) != dtype_type) return false;
      arg.integer = dtype_code(given);
      return true;
    case DEVICE: return (arg.integer = is_main_memory(given));
    case TENSORS: return PyList_CheckExact(given) || PyTuple_CheckExact(given);
    case TEXT: return PyUnicode_CheckExact(given);
    case BOUND: return is_number(given) || weft::plain(given);
    default: return true;
  }
}

// Ints that are spread over the positional arguments from the i-th on.
bool Call::gather(PyObject *const *given, Py_ssize_t n, int i) {
  int64_t *to = list_room();
  if (!to || n - i > WEFT_MAX_NDIM) return false;
  for (Py_ssize_t k = i; k < n; k++)
    if (!exact_int(given[k], &to[k - i])) return false;
  args[i] = Arg::of_integers(to, (int)(n - i));
  used_ += (int)(n - i);
  return true;
}

bool Call::bind_other(PyObject *const *given, Py_ssize_t n, PyObject *names) {
  const Binder &b = *binder;
  Py_ssize_t first = n;
  if (b.variadic >= 0 && n > b.variadic + 1 && (n > b.positional || PyLong_CheckExact(given[b.variadic + 1])) &&
      PyLong_CheckExact(given[b.variadic])) {
    first = b.variadic;
    if (!gather(given, n, b.variadic)) return false;
  } else if (n > b.positional) {
    return false;
  }
  for (int i = 0; i < first; i++)
    if (!take(b.params[i], given[i], i)) return false;
  if (first != n) first++;
  if (!names) return fill((int)first);
  uint32_t seen = (1u << first) - 1;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); k++) {
    const int i = b.find(PyTuple_GET_ITEM(names, k));
    if (i < 0 || seen >> i & 1 || !take(b.params[i], given[n + k], i)) return false;
    seen |= 1u << i;
  }
  for (int i = (int)first; i < b.n; i++) {
    if (seen >> i & 1) continue;
    if (b.params[i].required) return false;
    args[i] = b.params[i].otherwise;
  }
  return true;
}

// -------------------------------------------------------------------------------------------------- targets
PyObject *Call::room_there(int dtype, int ndim, const int64_t *sizes) const {
  if (WEFT_DTYPE(target) != dtype || !has_sizes(target, ndim, sizes)) return nullptr;
  for (int i = 0; i < binder->n; i++) {
    PyObject *given = args[i].kind == Arg::OBJECT ? args[i].object : nullptr;
    if (given && overlaps(target, weft::plain(given))) return nullptr;
  }
  return as_object(target);
}

bool Call::writes_into(int i) const {
  if (!target || args[i].object != as_object(target)) return false;
  for (int k = 0; k < binder->n; k++) {
    PyObject *given = k != i && args[k].kind == Arg::OBJECT ? args[k].object : nullptr;
    if (given && is_tensor(given) && as_tensor(given)->storage == target->storage) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------- dims

bool Call::ints(int i) {
  Arg &arg = args[i];
  if (arg.kind == Arg::INTS) return true;
  int64_t *to = list_room();
  if (!to) return false;
  const int n = exact_int(arg.object, to) ? 1 : exact_ints(arg.object, to);
  if (n < 0) return false;
  PyObject *object = arg.object;
  arg = Arg::of_integers(to, n);
  arg.object = object;
  used_ += n;
  return true;
}

bool Call::some_dims(int i, int ndim, uint64_t *mask) {
  if (ndim > 64 || !ints(i)) return false;
  Arg &arg = args[i];
  const bool ours = arg.list >= room_ && arg.list < room_ + kRoom;
  int64_t *to = ours ? const_cast<int64_t *>(arg.list) : list_room();
  if (!to) return false;
  *mask = 0;
  for (int k = 0; k < arg.n; k++) {
    int dim;
    if (!wrap_dim(arg.list[k], ndim, &dim) || *mask >> dim & 1) return false;
    *mask |= 1ull << dim;
    to[k] = dim;
  }
  if (!ours) used_ += arg.n;
  arg.list = to;
  return true;
}

bool Call::dims(int i, int ndim, uint64_t *mask) {
  Arg &arg = args[i];
  if (!arg.none()) {
    if (!some_dims(i, ndim, mask)) return false;
    if (arg.n) {
      if (!ndim) arg.n = 0, *mask = 0;
      return true;
    }
  }
  int64_t *to = ndim > 64 ? nullptr : list_room();
  if (!to) return false;
  for (int d = 0; d < ndim; d++) to[d] = d;
  used_ += ndim;
  *mask = ndim == 64 ? ~0ull : (1ull << ndim) - 1;
  PyObject *object = arg.object;
  arg = Arg::of_integers(to, ndim);
  arg.object = object;
  return true;
}

// ------------------------------------------------------------------------------------------------- compiling

namespace {

Takes takes_of(const char *type, bool list, bool numbers) {
  struct Row {
    const char *type;
    Takes one, several;
  };
  static const Row rows[] = {{"Tensor", TENSOR, TENSORS}, {"LongTensor", TENSOR, TENSORS}, {"BoolTensor", TENSOR, TENSORS},
                             {"int", INTEGER, INTEGERS},  {"IntOrDType", ANYTHING, INTEGERS}, {"float", REAL, ANYTHING},
                             {"Scalar", REAL, ANYTHING},  {"bool", TRUTH, ANYTHING},       {"ScalarType", DTYPE, ANYTHING},
                             {"Device", DEVICE, ANYTHING}, {"str", TEXT, ANYTHING},
                             {"NumberOrTensor", BOUND, ANYTHING}};
  for (const Row &row : rows)
    if (strcmp(row.type, type) == 0) return list ? row.several : numbers ? TERM : row.one;
  return ANYTHING;
}

// A parameter: (type, is list, spread, optional, whether numbers are taken, (default,) or ()).
bool read_param(PyObject *given, Param *param) {
  const char *type;
  int list, numbers, optional;
  PyObject *otherwise;
  if (!PyArg_ParseTuple(given, "spippO!", &type, &list, &param->spread, &optional, &numbers, &PyTuple_Type, &otherwise)) return false;
  param->takes = takes_of(type, list, numbers);
  param->optional = optional;
  param->required = PyTuple_GET_SIZE(otherwise) == 0;
  return true;
}

// Of an op: ((parameter, ...), ((name, index), ...), positional, variadic, core, name of its Node or None, whether integers are
// computed as floats).
Binder *compile(NativeOp *op) {
  auto made = std::make_unique<Binder>();
  PyObject *params, *names, *node_name;
  int floats;
  made->form.reset(PyObject_CallMethod(as_object(op), "native_form", nullptr));
  if (!made->form || !PyArg_ParseTuple(made->form.get(), "O!O!iiiOp:native_form", &PyTuple_Type, &params, &PyTuple_Type, &names, &made->positional,
                                       &made->variadic, &made->core, &node_name, &floats))
    return nullptr;
  made->n = (int)PyTuple_GET_SIZE(params);
  if (made->n > kMostParams || made->core > made->n) return PyErr_Format(PyExc_ValueError, "%R has parameters that native rules do not take", op), nullptr;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); k++) {
    Name name;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(names, k), "Ui", &name.text, &name.index)) return nullptr;
    Py_INCREF(name.text);
    PyUnicode_InternInPlace(&name.text);
    made->names.push_back(name);  // the reference is kept: names are interned once an op
  }
  for (int i = 0; i < made->n; i++) {
    PyObject *given = PyTuple_GET_ITEM(params, i);
    if (!read_param(given, &made->params[i])) return nullptr;
    if (!made->params[i].required && !Call::bind_default(made.get(), i, PyTuple_GET_ITEM(PyTuple_GET_ITEM(given, 5), 0)))
      return PyErr_Format(PyExc_ValueError, "the default of parameter %d of %R is not of its type", i, op), nullptr;
  }
  if (op->binder) {  // another thread has been faster
    free_binder(made.release());
    return op->binder;
  }
  made->plain = made->variadic < 0 ? made->positional : made->variadic + 1;
  Py_XSETREF(op->node_name, node_name == Py_None ? nullptr : Py_NewRef(node_name));
  op->floats = (char)floats;
  return op->binder = made.release();
}

}  // namespace

bool Call::bind_default(Binder *binder, int i, PyObject *value) {
  Call scratch;
  scratch.used_ = 0, scratch.needs = 0;
  Param &param = binder->params[i];
  if (!scratch.take(param, value, i)) return false;
  param.otherwise = scratch.args[i];
  if (param.otherwise.kind == Arg::INTS) {
    binder->lists.emplace_back(param.otherwise.list, param.otherwise.list + param.otherwise.n);
    param.otherwise.list = binder->lists.back().data();
  }
  return true;
}

const Binder *binder_of(NativeOp *op) { return op->binder ? op->binder : compile(op); }

void free_binder(Binder *binder) {
  if (!binder) return;
  for (const Name &name : binder->names) Py_DECREF(name.text);
  delete binder;
}

bool Spelled::read(PyObject *given) {
  PyObject *object, *args, *kwargs;
  if (!PyArg_ParseTuple(given, "O!O!O!", op_type, &object, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) return false;
  op = as_op(object);
  n = PyTuple_GET_SIZE(args);
  const Py_ssize_t named = PyDict_GET_SIZE(kwargs);
  Py_ssize_t at = 0, k = 0;
  all.resize((size_t)(n + named) + 1);
  for (Py_ssize_t i = 0; i < n; i++) all[(size_t)i] = PyTuple_GET_ITEM(args, i);
  names.reset(named ? PyTuple_New(named) : nullptr);
  if (named && !names) return false;
  for (PyObject *name, *value; PyDict_Next(kwargs, &at, &name, &value); k++) {
    PyTuple_SET_ITEM(names.get(), k, Py_NewRef(name));
    all[(size_t)(n + k)] = value;
  }
  return true;
}

// bound(op, args, kwargs) -> what the op's binder makes of the arguments, a tuple; NotImplemented where it leaves them
PyObject *bound(PyObject *, PyObject *given) {
  Spelled spelled;
  if (!spelled.read(given)) return nullptr;
  Call call;
  const Binder *binder = binder_of(spelled.op);
  if (!binder) return nullptr;
  if (!call.bind(spelled.op, binder, spelled.all.data(), spelled.n, spelled.names.get())) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  Ref all(PyTuple_New(call.binder->n));
  for (int i = 0; all && i < call.binder->n; i++) {
    PyObject *value = call.args[i].build();
    if (!value) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, value);
  }
  return all.release();
}

}  // namespace weft
