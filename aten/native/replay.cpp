// replay.cpp: a call of an op without a native rule walks through Python: composites through their definition, core ops through
// promotion, shape rule and kernel. What it comes to follows from its arguments but for the elements of tensors: it is noted, once a
// call has been made kLearnAfter times, as a program of steps (aten/replay.py records it), and calls like it run those.
#include "replay.h"

#include <string.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "node.h"
#include "released.h"

namespace weft {

thread_local bool tracer_asked_for;

namespace {

constexpr size_t kMostKnown = 4096;  // kinds of calls; then all are forgotten
int learn_after = 6;
PyObject *learner;  // aten.replay.learn(op, args, kwargs) -> program, or None
PyObject *quietly;  // aten.replay.quietly(kernel, *arrays): runs a kernel without warnings of NumPy

// An argument of a step: a value of the program, a constant, or a sequence of those.
struct Operand {
  enum Kind { SLOT, CONSTANT, LIST, TUPLE } kind = CONSTANT;
  int slot = 0;
  Ref constant;
  std::vector<Operand> items;
};

// The layout of a result that a kernel writes.
struct Layout {
  int dtype, ndim;
  std::vector<int64_t> sizes, strides;
};

struct Step {
  enum Kind { CALL, KERNEL, ITEM, NATIVE } kind = CALL;
  Ref function;                // CALL: what is called; KERNEL: the op's kernel, which is given arrays; NATIVE: that on tensors
  Ref names;                   // CALL: of the last arguments
  std::vector<Operand> args;
  std::vector<Layout> made;    // KERNEL, NATIVE: its results
  bool several = false;        // KERNEL, NATIVE: they are a tuple
  int item = 0;                // ITEM: of a sequence, which
  std::vector<int> done;       // values that nobody reads any more
};

struct Program {
  int n_inputs = 0, n_values = 0;
  std::vector<Step> steps;
  Operand result;
  Ref wrapper;                 // makes what is returned of the result; or NULL
};

struct Known {
  int64_t calls = 0;
  PyObject *program = nullptr;  // owned capsule
  bool refused = false;
};

std::unordered_map<std::string, Known> known;

const char *const kCapsule = "weft.program";
Program *program_of(PyObject *capsule) { return static_cast<Program *>(PyCapsule_GetPointer(capsule, kCapsule)); }
void free_program(PyObject *capsule) { delete program_of(capsule); }

void forget() {
  auto old = std::move(known);
  known.clear();
  for (auto &entry : old) Py_XDECREF(entry.second.program);
}

// ------------------------------------------------------------------------------------------------------ keys
// The kind of a call: all of its arguments but the elements of tensors.
struct Key {
  std::string text;
  std::vector<PyObject *> tensors;  // owned: a list that they are in may be emptied meanwhile

  Key() { text.reserve(248), tensors.reserve(6); }  // (else they grow by many small allocations)
  Key(const Key &) = delete;
  ~Key() {
    for (PyObject *t : tensors) Py_DECREF(t);
  }

  template <typename T>
  void put(T value) {
    text.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  bool sizes(PyObject *sequence) {
    if (!PyTuple_Check(sequence)) return false;
    put((int)PyTuple_GET_SIZE(sequence));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence); i++) {
      int64_t v;
      if (!exact_int(PyTuple_GET_ITEM(sequence, i), &v)) return false;
      put(v);
    }
    return true;
  }
  bool meta(PyObject *v) {
    Ref dtype(PyObject_GetAttrString(v, "dtype")), sizes_of(PyObject_GetAttrString(v, "sizes")), strides(PyObject_GetAttrString(v, "strides"));
    Ref device(PyObject_GetAttrString(v, "device"));
    if (!dtype || !sizes_of || !strides || !device) {
      PyErr_Clear();
      return false;
    }
    text.push_back('m');
    put(dtype.get());
    put(device.get());
    return sizes(sizes_of.get()) && sizes(strides.get());
  }
  // False: such calls have no key.
  bool add(PyObject *v, int depth = 0) {
    PyTypeObject *type = Py_TYPE(v);
    if (WeftTensor *t = plain(v)) {
      if (records(t)) return false;
      text.push_back('t');
      put(t->word & (WEFT_WORD_DTYPE | WEFT_WORD_NDIM | WEFT_WORD_CONTIGUOUS | WEFT_WORD_INFERENCE));
      text.append(reinterpret_cast<const char *>(t->sizes), sizeof(int64_t) * (size_t)WEFT_NDIM(t));
      if (!(t->word & WEFT_WORD_CONTIGUOUS)) text.append(reinterpret_cast<const char *>(t->strides), sizeof(int64_t) * (size_t)WEFT_NDIM(t));
      tensors.push_back(Py_NewRef(v));
      return true;
    }
    if (v == Py_None || v == Py_True || v == Py_False) {
      text.push_back(v == Py_None ? 'N' : v == Py_True ? 'T' : 'F');
      return true;
    }
    if (PyLong_CheckExact(v)) {
      int64_t value;
      if (!exact_int(v, &value)) return false;
      text.push_back('i');
      put(value);
      return true;
    }
    if (PyFloat_CheckExact(v)) {
      text.push_back('f');
      put(PyFloat_AS_DOUBLE(v));
      return true;
    }
    if (PyComplex_CheckExact(v)) {
      text.push_back('c');
      put(PyComplex_AsCComplex(v));
      return true;
    }
    if (PyUnicode_CheckExact(v)) {
      Py_ssize_t n;
      const char *s = PyUnicode_AsUTF8AndSize(v, &n);
      if (!s) {
        PyErr_Clear();
        return false;
      }
      text.push_back('s');
      put(n);
      text.append(s, (size_t)n);
      return true;
    }
    if (type == dtype_type) {
      text.push_back('d');
      put(v);  // there is one of each
      return true;
    }
    if (PyTuple_Check(v) || PyList_CheckExact(v)) {
      if (depth > 3 || (type != &PyTuple_Type && type != &PyList_Type && type != size_type)) return false;
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(v);
      if (n > 64) return false;
      text.push_back(PyList_CheckExact(v) ? 'l' : 'u');
      put(n);
      for (Py_ssize_t i = 0; i < n; i++)
        if (!add(PySequence_Fast_GET_ITEM(v, i), depth + 1)) return false;
      return true;
    }
    return meta_factory && (PyObject *)type == meta_factory && meta(v);
  }
};

// --------------------------------------------------------------------------------------------------- running
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

PyObject *run_program(const Program &program, const std::vector<PyObject *> &inputs) {
  Values values(program.n_values);
  for (int i = 0; i < program.n_inputs; i++) values.all[(size_t)i] = Py_NewRef(inputs[(size_t)i]);
  size_t at = (size_t)program.n_inputs;
  for (const Step &step : program.steps) {
    PyObject *const *v = values.all.data();
    PyObject *made = step.kind == Step::CALL     ? run_call_step(step, v)
                     : step.kind == Step::KERNEL ? run_kernel_step(step, v)
                     : step.kind == Step::NATIVE ? run_native_step(step, v)
                                                 : PySequence_GetItem(v[step.args[0].slot], step.item);
    if (!made) return nullptr;
    values.all[at++] = made;
    for (int slot : step.done) Py_CLEAR(values.all[(size_t)slot]);
  }
  Ref result(value_of(program.result, values.all.data(), false));
  return result && program.wrapper ? PyObject_CallOneArg(program.wrapper.get(), result.get()) : result.release();
}

// An argument for the learner: lists as they are now, since other threads may change them.
PyObject *as_now(PyObject *v) { return PyList_CheckExact(v) ? PyList_GetSlice(v, 0, PyList_GET_SIZE(v)) : Py_NewRef(v); }

// What calls with this key come to. UNHANDLED: not known (yet).
PyObject *replay(const Key &key, PyObject *owner, PyObject *args, PyObject *kwargs, PyObject *const *vector, Py_ssize_t nargs, PyObject *names) {
  if (known.size() >= kMostKnown) forget();
  Known *entry = &known[key.text];
  if (entry->refused) return UNHANDLED;
  if (!entry->program) {
    if (++entry->calls < learn_after || !learner) return UNHANDLED;
    entry->refused = true;  // until it is known: what runs meanwhile does not come here again
    Ref given, by_name;
    if (args) {
      given.reset(Py_NewRef(args));
      by_name.reset(PyDict_New());
    } else {
      given.reset(PyTuple_New(nargs));
      by_name.reset(PyDict_New());
      for (Py_ssize_t i = 0; given && i < nargs; i++) {
        PyObject *value = as_now(vector[i]);
        if (!value) return nullptr;
        PyTuple_SET_ITEM(given.get(), i, value);
      }
      for (Py_ssize_t i = 0; by_name && names && i < PyTuple_GET_SIZE(names); i++) {
        Ref value(as_now(vector[nargs + i]));
        if (!value || PyDict_SetItem(by_name.get(), PyTuple_GET_ITEM(names, i), value.get()) < 0) return nullptr;
      }
    }
    if (!given || !by_name) return nullptr;
    Ref made(PyObject_CallFunctionObjArgs(learner, owner, given.get(), by_name.get(), nullptr));
    if (!made) return nullptr;
    if (made.get() == Py_None) return UNHANDLED;
    if (!program_of(made.get())) return nullptr;
    entry = &known[key.text];  // (others may have been learned, or forgotten, meanwhile)
    entry->refused = false;
    Py_XSETREF(entry->program, made.release());
  }
  Ref capsule(Py_NewRef(entry->program));
  const Program *program = program_of(capsule.get());
  if (!program || program->n_inputs != (int)key.tensors.size()) return UNHANDLED;
  PyObject *result = run_program(*program, key.tensors);
  if (result || !PyErr_ExceptionMatches(PyExc_Exception)) return result;
  PyErr_Clear();  // the general path says what is wrong
  return UNHANDLED;
}

// --------------------------------------------------------------------------------------------------- making
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

// (kind, function, names or None, [operands], [layouts], several, item, (slots that are done))
bool read_step(PyObject *given, int n_values, Step *out) {
  PyObject *function, *names, *operands, *layouts, *done;
  int kind, several;
  if (!PyArg_ParseTuple(given, "iOOO!O!piO!", &kind, &function, &names, &PyList_Type, &operands, &PyList_Type, &layouts, &several, &out->item, &PyTuple_Type, &done)) return false;
  out->kind = (Step::Kind)kind;
  out->several = several;
  out->function.reset(Py_NewRef(function));
  if (names != Py_None) out->names.reset(Py_NewRef(names));
  out->args.resize((size_t)PyList_GET_SIZE(operands));
  out->made.resize((size_t)PyList_GET_SIZE(layouts));
  const bool possible = kind >= Step::CALL && kind <= Step::NATIVE && out->args.size() <= 32 && ((kind != Step::KERNEL && kind != Step::NATIVE) || !out->made.empty()) &&
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
  for (size_t i = 0; i < out->made.size(); i++)
    if (!read_layout(PyList_GET_ITEM(layouts, (Py_ssize_t)i), &out->made[i])) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(done); i++) {
    const int slot = (int)PyLong_AsLong(PyTuple_GET_ITEM(done, i));
    if (PyErr_Occurred() || slot < 0 || slot > n_values) return false;
    out->done.push_back(slot);
  }
  return true;
}

// make_program(inputs, steps, result, wrapper): a program of `inputs` tensors; each step makes one more value.
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

// Of the ambient word: what hands calls to others, and what decides of their meaning.
constexpr uint64_t kOthers = WEFT_AMBIENT_LEVELS | WEFT_AMBIENT_MODES, kState = ~kOthers;

// What `owner` comes to on the arguments of a tuple, or UNHANDLED.
PyObject *replayed_with(PyObject *owner, PyObject *args) {
  if (*ambient() & kOthers) return UNHANDLED;
  Key key;
  key.put(owner);
  key.put(*ambient() & kState);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
    if (!key.add(PyTuple_GET_ITEM(args, i))) return UNHANDLED;
  return replay(key, owner, args, nullptr, nullptr, 0, nullptr);
}

// replay(owner, args): what `owner` comes to on these arguments; NotImplemented while that is not known.
PyObject *replay_of(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  if (nargs != 2 || !PyTuple_Check(args[1])) return PyErr_Format(PyExc_TypeError, "replay(owner, args)");
  PyObject *found = replayed_with(args[0], args[1]);
  if (found == UNHANDLED) Py_RETURN_NOTIMPLEMENTED;
  return found;
}

// set_replay(op, yes): whether calls of the op may be replayed
PyObject *set_replay(PyObject *, PyObject *args) {
  PyObject *op;
  int yes;
  if (!PyArg_ParseTuple(args, "O!p:set_replay", op_type, &op, &yes)) return nullptr;
  as_op(op)->replays = (char)yes;
  Py_RETURN_NONE;
}

// set_replay_learner(learner, quietly)
PyObject *set_replay_learner(PyObject *, PyObject *args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO:set_replay_learner", &a, &b)) return nullptr;
  Py_XSETREF(learner, Py_NewRef(a));
  Py_XSETREF(quietly, Py_NewRef(b));
  Py_RETURN_NONE;
}

// replay_after(calls) -> what it was: programs known so far are forgotten; 0: no calls are replayed
PyObject *replay_after(PyObject *, PyObject *arg) {
  const long calls = PyLong_AsLong(arg);
  if (calls == -1 && PyErr_Occurred()) return nullptr;
  forget();
  const int before = learn_after;
  learn_after = calls > 0 ? (int)calls : INT32_MAX;
  return PyLong_FromLong(before == INT32_MAX ? 0 : before);
}

// asked_for_tracer() -> whether is_tracer has said yes since it was last called
PyObject *asked_for_tracer(PyObject *, PyObject *) {
  const bool asked = tracer_asked_for;
  tracer_asked_for = false;
  return PyBool_FromLong(asked);
}

// not_replayed(): a call that is being recorded is none to be replayed; it warns, say
PyObject *not_replayed(PyObject *, PyObject *) {
  tracer_asked_for = true;
  Py_RETURN_NONE;
}

}  // namespace

PyObject *replayed(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (learn_after == INT32_MAX) return UNHANDLED;
  Key key;
  key.put(op);
  key.put(*ambient() & kState);
  key.put((int)nargs);
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < nargs + named; i++) {
    if (i >= nargs) {
      PyObject *name = PyTuple_GET_ITEM(names, i - nargs);
      if (!PyUnicode_CHECK_INTERNED(name)) return UNHANDLED;  // another one may come to lie at its address
      key.put(name);
    }
    if (!key.add(args[i])) return UNHANDLED;
  }
  return replay(key, as_object(op), nullptr, nullptr, args, nargs, names);
}

// aten.autograd.record.Backward, and where its objects have what is read here.
struct Backwards {
  PyTypeObject *type = nullptr;
  Py_ssize_t plan, several, replays, saves;
  PyObject *read(PyObject *backward, Py_ssize_t offset) const { return *reinterpret_cast<PyObject **>(reinterpret_cast<char *>(backward) + offset); }
};
static Backwards backwards;

static PyObject *set_backward_class(PyObject *, PyObject *cls) {
  Backwards found;
  const std::pair<const char *, Py_ssize_t *> slots[] = {{"plan", &found.plan}, {"several", &found.several}, {"replays", &found.replays}, {"saves", &found.saves}};
  for (auto &[name, offset] : slots) {
    Ref slot(PyObject_GetAttrString(cls, name));
    if (!slot || Py_TYPE(slot.get()) != &PyMemberDescr_Type) return PyErr_Format(PyExc_TypeError, "set_backward_class: %s is no slot", name);
    *offset = reinterpret_cast<PyMemberDescrObject *>(slot.get())->d_member->offset;
  }
  found.type = reinterpret_cast<PyTypeObject *>(Py_NewRef(cls));
  backwards = found;
  Py_RETURN_NONE;
}

PyObject *replayed_backward(WeftNode *node, PyObject *grads) {
  PyObject *backward = node->backward;
  if (Py_TYPE(backward) != backwards.type || backwards.read(backward, backwards.replays) != Py_True || (*ambient() & (kOthers | WEFT_AMBIENT_GRAD))) return UNHANDLED;
  if (learn_after == INT32_MAX) return UNHANDLED;
  const bool several = backwards.read(backward, backwards.several) == Py_True;
  Ref owner(Py_NewRef(backwards.read(backward, backwards.plan)));
  Ref saved(backwards.read(backward, backwards.saves) == Py_True ? unpack(node) : PyTuple_New(0));
  if (!saved) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(saved.get());
  Ref args(PyTuple_New(1 + n));
  if (!args) return nullptr;
  PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(several ? grads : PyTuple_GET_ITEM(grads, 0)));
  for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(args.get(), 1 + i, Py_NewRef(PyTuple_GET_ITEM(saved.get(), i)));
  PyObject *found = replayed_with(owner.get(), args.get());
  if (found != UNHANDLED) return found;
  // What is saved is not asked for twice: hooks may tell.
  Ref held(Py_NewRef(backward));
  return PyObject_CallMethod(held.get(), "derive", "OOO", PyTuple_GET_ITEM(args.get(), 0), saved.get(), Py_True);
}

PyMethodDef replay_functions[] = {{"make_program", make_program, METH_VARARGS, "make_program(inputs, steps, result, wrapper)"},
                                  {"replay", (PyCFunction)(void *)replay_of, METH_FASTCALL, "replay(owner, args): what it comes to, or NotImplemented"},
                                  {"set_replay", set_replay, METH_VARARGS, "set_replay(op, yes): whether calls of the op may be replayed"},
                                  {"set_replay_learner", set_replay_learner, METH_VARARGS, nullptr},
                                  {"set_backward_class", set_backward_class, METH_O, "set_backward_class(cls): whose objects have slots plan, several, replays, saves"},
                                  {"replay_after", replay_after, METH_O, "replay_after(calls) -> before: when calls like earlier ones are replayed; 0: never"},
                                  {"asked_for_tracer", asked_for_tracer, METH_NOARGS, nullptr},
                                  {"not_replayed", not_replayed, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
