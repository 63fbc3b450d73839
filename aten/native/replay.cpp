// replay.cpp: a call of an op without a native rule walks through Python: composites through their definition, core ops through
// promotion, shape rule and kernel. What it comes to follows from its arguments but for the elements of tensors: it is noted, once a
// call has been made kLearnAfter times, as a program of steps (aten/replay.py records it), and calls like it run those.
#include "replay.h"

#include <string.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "node.h"
#include "program.h"
#include "released.h"

namespace weft {

thread_local bool tracer_asked_for;

namespace {

constexpr size_t kMostKnown = 4096;  // kinds of calls; then all are forgotten
int learn_after = 6;
PyObject *learner;  // aten.replay.learn(op, args, kwargs) -> program, or None
thread_local bool learning;  // whether this thread records a call, which is made apart from that
thread_local std::vector<const Program *> running;  // the programs that this thread is in
struct Running {
  explicit Running(const Program *program) { running.push_back(program); }
  ~Running() { running.pop_back(); }
};

struct Known {
  int64_t calls = 0;
  PyObject *program = nullptr;  // owned capsule
  bool refused = false;
};

std::unordered_map<std::string, Known> known;

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
      text.push_back(records(t) ? 'g' : 't');
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
    const bool learning_before = std::exchange(learning, true);
    Ref made(PyObject_CallFunctionObjArgs(learner, owner, given.get(), by_name.get(), nullptr));
    learning = learning_before;
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
  // A step may come to the very call: a rule that takes such calls does not take these elements (an index is out of range).
  if (std::find(running.begin(), running.end(), program) != running.end()) return UNHANDLED;
  const Running here(program);
  PyObject *result = run_program(*program, key.tensors);
  if (result || !PyErr_ExceptionMatches(PyExc_Exception)) return result;
  PyErr_Clear();  // the general path says what is wrong
  return UNHANDLED;
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

// not_replayed() -> whether a call is being recorded, which is none to be replayed; it warns, say
PyObject *not_replayed(PyObject *, PyObject *) {
  tracer_asked_for = true;
  return PyBool_FromLong(learning);
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
