// program.cpp: runs and reads programs.
#include "program.h"

#include <string.h>

#include <memory>

#include "replay.h"

namespace weft {

PyObject *quietly;

namespace {

const char *const kCapsule = "weft.program";
void free_program(PyObject *capsule) { delete program_of(capsule); }

// The argument's value; a new reference. `arrays`: NumPy arrays in the place of tensors.
PyObject *value_of(const Operand &operand, PyObject *const *values, bool arrays) {
  if (operand.kind == Operand::CONSTANT || operand.kind == Operand::SLOT) {
    PyObject *v = operand.kind == Operand::SLOT ? values[operand.slot] : operand.constant.get();
    return arrays && is_tensor(v) ? array_of_tensor(as_tensor(v)) : Py_NewRef(v);
  }
  const Py_ssize_t n = (Py_ssize_t)operand.items.size();
  Ref all(operand.kind == Operand::LIST ? PyList_New(n) : PyTuple_New(n));
  for (Py_ssize_t i = 0; all && i < n; i++) {
    PyObject *item = value_of(operand.items[(size_t)i], values, arrays);
    if (!item) return nullptr;
    if (operand.kind == Operand::LIST) PyList_SET_ITEM(all.get(), i, item);
    else PyTuple_SET_ITEM(all.get(), i, item);
  }
  return all.release();
}

struct Values {
  std::vector<PyObject *> all;  // owned
  explicit Values(int n) : all((size_t)n, nullptr) {}
  ~Values() {
    for (PyObject *v : all) Py_XDECREF(v);
  }
};

PyObject *run_kernel_step(const Step &step, PyObject *const *values) {
  std::vector<Ref> kept;
  std::vector<PyObject *> args(2, nullptr);
  const size_t n = step.made.size();
  Ref results(PyTuple_New((Py_ssize_t)n)), outs(PyTuple_New((Py_ssize_t)n));
  if (!results || !outs) return nullptr;
  for (size_t i = 0; i < n; i++) {
    const Layout &l = step.made[i];
    PyObject *made = empty((uint32_t)l.dtype, l.ndim, l.sizes.data(), l.strides.data());
    if (!made) return nullptr;
    PyTuple_SET_ITEM(results.get(), (Py_ssize_t)i, made);
    PyObject *array = array_of_tensor(as_tensor(made));
    if (!array) return nullptr;
    PyTuple_SET_ITEM(outs.get(), (Py_ssize_t)i, array);
  }
  args[1] = step.function.get();
  args.push_back(step.several ? outs.get() : PyTuple_GET_ITEM(outs.get(), 0));
  for (const Operand &operand : step.args) {
    kept.emplace_back(value_of(operand, values, true));
    if (!kept.back()) return nullptr;
    args.push_back(kept.back().get());
  }
  Ref done(PyObject_Vectorcall(quietly, args.data() + 1, (args.size() - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!done) return nullptr;
  return step.several ? results.release() : Py_NewRef(PyTuple_GET_ITEM(results.get(), 0));
}

// The arguments of a step, from the n-th on; `kept` holds what was made for them.
bool put_arguments(const Step &step, PyObject *const *values, PyObject **args, size_t *n, std::vector<Ref> *kept) {
  kept->reserve(step.args.size());
  for (const Operand &operand : step.args) {
    if (operand.kind == Operand::SLOT) {
      args[(*n)++] = values[operand.slot];
    } else if (operand.kind == Operand::CONSTANT) {
      args[(*n)++] = operand.constant.get();
    } else {
      kept->emplace_back(value_of(operand, values, false));
      if (!kept->back()) return false;
      args[(*n)++] = kept->back().get();
    }
  }
  return true;
}

// A native kernel refuses what it took when the program was made where an index is out of range, say: the general path words that.
PyObject *run_native_step(const Step &step, PyObject *const *values) {
  std::vector<Ref> kept;
  PyObject *args[34];
  Ref results(step.several ? PyTuple_New((Py_ssize_t)step.made.size()) : nullptr);
  if (step.several && !results) return nullptr;
  for (size_t i = 0; i < step.made.size(); i++) {
    const Layout &l = step.made[i];
    PyObject *made = empty((uint32_t)l.dtype, l.ndim, l.sizes.data(), l.strides.data());
    if (!made) return nullptr;
    if (step.several) PyTuple_SET_ITEM(results.get(), (Py_ssize_t)i, made);
    else results.reset(made);
  }
  size_t n = 1;
  args[n++] = results.get();
  if (!put_arguments(step, values, args, &n, &kept)) return nullptr;
  Ref done(PyObject_Vectorcall(step.function.get(), args + 1, (n - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (done.get() == Py_NotImplemented) PyErr_SetString(PyExc_RuntimeError, "not for these values");
  return done && done.get() != Py_NotImplemented ? results.release() : nullptr;
}

PyObject *run_call_step(const Step &step, PyObject *const *values) {
  std::vector<Ref> kept;
  PyObject *args[34];
  size_t n = 1;
  if (!put_arguments(step, values, args, &n, &kept)) return nullptr;
  const size_t named = step.names ? (size_t)PyTuple_GET_SIZE(step.names.get()) : 0;
  return PyObject_Vectorcall(step.function.get(), args + 1, (n - 1 - named) | PY_VECTORCALL_ARGUMENTS_OFFSET, step.names.get());
}

// Makes a Node of the values that steps before have made: the last argument, one or a tuple.
PyObject *run_record_step(const Step &step, PyObject *const *values) {
  std::vector<Ref> kept;
  PyObject *args[34];
  size_t n = 0;
  if (!put_arguments(step, values, args, &n, &kept)) return nullptr;
  PyObject *const result = args[--n];
  const bool several = PyTuple_Check(result);
  Arg core[32];
  for (size_t i = 0; i < n; i++) core[i] = Arg(args[i]);
  PyObject *const *outputs = several ? &PyTuple_GET_ITEM(result, 0) : &result;
  if (!record_needs(as_op(step.function.get()), (uint32_t)step.item, core, (int)n, outputs, several ? (int)PyTuple_GET_SIZE(result) : 1)) return nullptr;
  return Py_NewRef(result);
}

// While it lives, nothing is recorded, if `apart`.
class Apart {
 public:
  explicit Apart(bool apart) : before_(apart ? *ambient() & WEFT_AMBIENT_GRAD : 0) { *ambient() &= ~before_; }
  ~Apart() { *ambient() |= before_; }

 private:
  uint64_t before_;
};

PyObject *run_step(const Step &step, PyObject *const *values) {
  const Apart apart(step.apart);
  switch (step.kind) {
    case Step::CALL: return run_call_step(step, values);
    case Step::KERNEL: return run_kernel_step(step, values);
    case Step::NATIVE: return run_native_step(step, values);
    case Step::RECORD: return run_record_step(step, values);
    case Step::ITEM: return PySequence_GetItem(values[step.args[0].slot], step.item);
  }
  return nullptr;
}

}  // namespace

PyObject *run_program(const Program &program, const std::vector<PyObject *> &inputs) {
  Values values(program.n_values);
  for (int i = 0; i < program.n_inputs; i++) values.all[(size_t)i] = Py_NewRef(inputs[(size_t)i]);
  size_t at = (size_t)program.n_inputs;
  for (const Step &step : program.steps) {
    PyObject *made = run_step(step, values.all.data());
    if (!made) return nullptr;
    values.all[at++] = made;
    for (int slot : step.done) Py_CLEAR(values.all[(size_t)slot]);
  }
  Ref result(value_of(program.result, values.all.data(), false));
  return result && program.wrapper ? PyObject_CallOneArg(program.wrapper.get(), result.get()) : result.release();
}

// --------------------------------------------------------------------------------------------------- making
namespace {

// An operand is (0, slot), (1, constant), (2, [operands]) of a list, (3, [operands]) of a tuple.
bool read_operand(PyObject *given, int n_values, Operand *out) {
  int kind;
  PyObject *value;
  if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "iO", &kind, &value)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "make_program: an operand is (kind, value)");
    return false;
  }
  out->kind = (Operand::Kind)kind;
  if (kind == Operand::SLOT) {
    out->slot = (int)PyLong_AsLong(value);
    if (PyErr_Occurred()) return false;
    if (out->slot < 0 || out->slot >= n_values) PyErr_SetString(PyExc_ValueError, "make_program: a step reads what is not there yet");
    return !PyErr_Occurred();
  }
  if (kind == Operand::CONSTANT) {
    out->constant.reset(Py_NewRef(value));
    return true;
  }
  if ((kind != Operand::LIST && kind != Operand::TUPLE) || !PyList_Check(value)) {
    PyErr_SetString(PyExc_ValueError, "make_program: no operand");
    return false;
  }
  out->items.resize((size_t)PyList_GET_SIZE(value));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
    if (!read_operand(PyList_GET_ITEM(value, i), n_values, &out->items[(size_t)i])) return false;
  return true;
}

// (dtype code, sizes, strides)
bool read_layout(PyObject *given, Layout *out) {
  PyObject *sizes, *strides;
  int64_t read[WEFT_MAX_NDIM];
  if (!PyArg_ParseTuple(given, "iOO", &out->dtype, &sizes, &strides)) return false;
  out->ndim = parse_ints(sizes, read, "sizes");
  if (out->ndim < 0) return false;
  out->sizes.assign(read, read + out->ndim);
  const int n = parse_ints(strides, read, "strides");
  if (n != out->ndim || out->dtype < 0 || out->dtype >= WEFT_NUM_DTYPES) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "make_program: no layout");
    return false;
  }
  out->strides.assign(read, read + n);
  return true;
}

// (kind, function, names or None, [operands], [layouts], several, item, apart, (slots that are done))
bool read_step(PyObject *given, int n_values, Step *out) {
  PyObject *function, *names, *operands, *layouts, *done;
  int kind, several, apart;
  if (!PyArg_ParseTuple(given, "iOOO!O!pipO!", &kind, &function, &names, &PyList_Type, &operands, &PyList_Type, &layouts, &several, &out->item, &apart,
                        &PyTuple_Type, &done)) return false;
  out->kind = (Step::Kind)kind;
  out->several = several;
  out->apart = apart;
  out->function.reset(Py_NewRef(function));
  if (names != Py_None) out->names.reset(Py_NewRef(names));
  out->args.resize((size_t)PyList_GET_SIZE(operands));
  out->made.resize((size_t)PyList_GET_SIZE(layouts));
  const bool possible = kind >= Step::CALL && kind <= Step::RECORD && out->args.size() <= 32 && ((kind != Step::KERNEL && kind != Step::NATIVE) || !out->made.empty()) &&
                        (names == Py_None || (PyTuple_Check(names) && (size_t)PyTuple_GET_SIZE(names) <= out->args.size()));
  if (!possible) {
    PyErr_SetString(PyExc_ValueError, "make_program: no step");
    return false;
  }
  for (size_t i = 0; i < out->args.size(); i++)
    if (!read_operand(PyList_GET_ITEM(operands, (Py_ssize_t)i), n_values, &out->args[i])) return false;
  if (kind == Step::ITEM && (out->args.size() != 1 || out->args[0].kind != Operand::SLOT)) {
    PyErr_SetString(PyExc_ValueError, "make_program: an item is of a value");
    return false;
  }
  if (kind == Step::RECORD && (out->args.empty() || !PyObject_TypeCheck(function, op_type))) {
    PyErr_SetString(PyExc_ValueError, "make_program: an op is recorded, with its result");
    return false;
  }
  for (size_t i = 0; i < out->made.size(); i++)
    if (!read_layout(PyList_GET_ITEM(layouts, (Py_ssize_t)i), &out->made[i])) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(done); i++) {
    const int slot = (int)PyLong_AsLong(PyTuple_GET_ITEM(done, i));
    if (PyErr_Occurred() || slot < 0 || slot > n_values) return false;
    out->done.push_back(slot);
  }
  return true;
}

}  // namespace

PyObject *make_program(PyObject *, PyObject *args) {
  PyObject *steps, *result, *wrapper;
  auto made = std::make_unique<Program>();
  if (!PyArg_ParseTuple(args, "iO!OO:make_program", &made->n_inputs, &PyList_Type, &steps, &result, &wrapper)) return nullptr;
  made->n_values = made->n_inputs;
  made->steps.resize((size_t)PyList_GET_SIZE(steps));
  for (Step &step : made->steps) {
    PyObject *given = PyList_GET_ITEM(steps, &step - made->steps.data());
    if (!PyTuple_Check(given)) return PyErr_Format(PyExc_TypeError, "make_program: a step is a tuple");
    if (!read_step(given, made->n_values, &step)) return nullptr;
    made->n_values++;
  }
  if (!read_operand(result, made->n_values, &made->result)) return nullptr;
  if (wrapper != Py_None) made->wrapper.reset(Py_NewRef(wrapper));
  PyObject *capsule = PyCapsule_New(made.get(), kCapsule, free_program);
  if (capsule) made.release();
  return capsule;
}

Program *program_of(PyObject *capsule) { return static_cast<Program *>(PyCapsule_GetPointer(capsule, kCapsule)); }

}  // namespace weft
