// guard_program.cpp: the Python type of guard programs, and what they refer to weakly.
#include "guard_program.h"

#include <algorithm>
#include <string.h>

const WeftAPI *weft = NULL;
const char *const kGuardOpNames[OP_COUNT] = {
#define X(name) #name,
    WEFT_GUARD_OPS(X)
#undef X
};

// --------------------------------------------------------------------------------------------- life
// Stands between a program and the weak references that it owns: they call `life_ended` with it, also after the program.
struct Life {
  PyObject_HEAD
  GuardProgram *program; // borrowed; NULL once it is gone
};
static PyTypeObject Life_Type = {PyVarObject_HEAD_INIT(NULL, 0)};

static PyObject *life_ended(PyObject *self, PyObject *) {
  GuardProgram *p = ((Life *)self)->program;
  if (p && !p->dead) {
    p->dead = true;
    if (interpreter_ends()) Py_RETURN_NONE; // methods of builtin types die when no Python runs any more: what an entry holds stays
    Py_INCREF(p); // its owner may let go of it
    if (p->died) p->died(p->owner);
    Py_DECREF(p);
  }
  Py_RETURN_NONE;
}
static PyMethodDef life_method = {"ended", life_ended, METH_O, NULL};

// The program dies when `o` does. False, without an exception, if `o` cannot be referred to weakly.
static bool watch(GuardProgram *p, PyObject *o) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) return false;
  if (!p->life) {
    Life *life = PyObject_New(Life, &Life_Type);
    if (!life) return PyErr_Clear(), false;
    life->program = p;
    p->life = (PyObject *)life;
    if (!(p->callback = PyCFunction_New(&life_method, p->life))) return PyErr_Clear(), false;
  }
  PyObject *reference = PyWeakref_NewRef(o, p->callback);
  if (!reference) return PyErr_Clear(), false;
  p->watched->push_back(reference);
  return true;
}

// Keep the object of an instruction as `held` says. Strongly what cannot be referred to weakly.
static bool hold(GuardProgram *p, Instr &in, PyObject *obj, int held) {
  in.held = (Held)held;
  if (in.held != kParts) {
    in.obj = obj;
    if (in.held == kWeak && watch(p, obj)) return true;
    if (in.held == kWeak) in.held = kStrong;
    Py_INCREF(obj);
    return true;
  }
  // (type, (attribute, its value, held) ...)
  Py_ssize_t n = PyTuple_Check(obj) ? PyTuple_GET_SIZE(obj) : 0;
  PyObject *names = n ? PyTuple_New(n) : NULL;
  if (!names) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "parts: a tuple of a type and attributes");
    return false;
  }
  in.obj = names;
  PyTuple_SET_ITEM(names, 0, Py_NewRef(PyTuple_GET_ITEM(obj, 0)));
  for (Py_ssize_t i = 1; i < n; i++) {
    PyObject *name, *value;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(obj, i), "UO", &name, &value)) {
      while (i < n) PyTuple_SET_ITEM(names, i++, Py_NewRef(Py_None));
      return false;
    }
    PyTuple_SET_ITEM(names, i, Py_NewRef(name));
    in.data.push_back((int64_t)value);
    if (value != Py_None && !watch(p, value)) p->watched->push_back(Py_NewRef(value)); // kept, then
  }
  return true;
}

// ------------------------------------------------------------------------------------- Python type
// Whether the registers that `in` names exist, and its constants are what the checks take them for.
static bool is_valid(const GuardProgram *p, const Instr &in) {
  const std::vector<int64_t> &d = in.data;
  auto is_register = [p](int64_t r) { return r >= 0 && r < p->n_regs; };
  if (in.op < OP_TYPE_IS && !is_register(in.dst)) return false;
  switch (in.op) {
  case OP_LOCAL:
  case OP_CLOSURE:
  case OP_CELL:
  case OP_OBJECT:
  case OP_LACKS_GLOBAL: return true;
  case OP_AMBIENT: return d.size() == 2;
  case OP_NUM_THREADS: return d.size() == 1;
  case OP_GLOBALS: return is_register(in.a) && d.size() == 1;
  case OP_SHAPE: return shape_is_valid(d, p->n_regs);
  case OP_SAME_OBJECT: return is_register(in.a) && is_register(in.b);
  case OP_DISTINCT: return std::all_of(d.begin(), d.end(), is_register);
  case OP_APART:
  case OP_OVERLAP:
  case OP_DISJOINT:
    return d.size() >= 1 && d[0] >= 0 && d[0] < (int64_t)d.size() && std::all_of(d.begin() + 1, d.end(), is_register);
  case OP_TENSOR: {
    if (d.size() < 2 || !PyType_Check(in.obj) || !weft || !PyType_IsSubtype((PyTypeObject *)in.obj, weft->tensor_type)) return false;
    bool compares_ndim = (d[1] & WEFT_WORD_NDIM) == WEFT_WORD_NDIM;
    return is_register(in.a) && compares_ndim && (int64_t)d.size() == 2 + 2 * ((d[0] & WEFT_WORD_NDIM) >> 16);
  }
  case OP_GLOBAL:
  case OP_BUILTIN: return true;
  case OP_ATTR:
  case OP_CLASS_ATTR:
  case OP_LACKS_ATTR:
  case OP_LACKS_INSTANCE_ATTR: return is_register(in.a) && PyUnicode_Check(in.obj);
  case OP_DICT_KEYS:
  case OP_SET: return is_register(in.a) && PyTuple_Check(in.obj);
  case OP_LENGTH:
  case OP_DICT_KEY: return is_register(in.a) && d.size() == 1;
  case OP_CLASS_LOOKUP: return is_register(in.a) && in.name && PyUnicode_Check(in.name);
  case OP_MRO: return is_register(in.a) && in.name && PyUnicode_Check(in.name);
  case OP_MAKES: return is_register(in.a) && in.name && PyUnicode_Check(in.name) && d.size() == 1;
  case OP_INHERITS: return is_register(in.a) && in.name && PyUnicode_Check(in.name) && d.size() == 1;
  }
  return is_register(in.a);
}

static bool read_part(GuardProgram *p, PyObject *list, std::vector<Instr> &out) {
  Py_ssize_t n = PyList_Size(list);
  if (n < 0) return false;
  out.reserve((size_t)n);
  for (Py_ssize_t i = 0; i < n; i++) {
    Instr in{};
    PyObject *obj, *data, *name = Py_None;
    int op, dst, a, b, guard, held = kStrong;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "iiiiiOO!|Oi", &op, &dst, &a, &b, &guard, &obj, &PyTuple_Type, &data, &name,
                          &held))
      return false;
    if (op < 0 || op >= OP_COUNT || a < 0 || a > kMaxRegs || b < 0 || dst < 0 || dst > kMaxRegs || held < kStrong || held > kParts) {
      PyErr_Format(PyExc_ValueError, "no guard instruction %d held %d", op, held);
      return false;
    }
    in.op = (uint16_t)op, in.dst = (uint16_t)dst, in.a = (uint16_t)a, in.b = (uint16_t)b, in.guard = (uint32_t)guard;
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(data); j++) {
      PyObject *item = PyTuple_GET_ITEM(data, j);
      int64_t v;
      if (PyFloat_Check(item)) {
        double f = PyFloat_AS_DOUBLE(item);
        memcpy(&v, &f, 8);
      } else {
        v = PyLong_AsLongLong(item);
        if (v == -1 && PyErr_Occurred()) {
          if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
          PyErr_Clear();
          v = (int64_t)PyLong_AsUnsignedLongLong(item); // words use all 64 bits
          if (PyErr_Occurred()) return false;
        }
      }
      in.data.push_back(v);
    }
    in.name = name == Py_None ? NULL : Py_NewRef(name);
    bool kept = hold(p, in, obj, held);
    out.push_back(in);
    if (!kept) return false;
    if (!is_valid(p, in)) {
      PyErr_Format(PyExc_ValueError, "a guard instruction %s that cannot run", kGuardOpNames[op]);
      return false;
    }
    if (op == OP_LOCAL) p->n_args = std::max(p->n_args, a + 1);
  }
  return true;
}

// The class that a part looks names up on, if it does nothing else; NULL else.
static PyTypeObject *sole_class(const std::vector<Instr> &part) {
  if (part.empty() || part[0].op != OP_OBJECT || part[0].held > kWeak || !PyType_Check(part[0].obj)) return NULL;
  for (size_t i = 1; i < part.size(); i++)
    if (part[i].op != OP_CLASS_LOOKUP || part[i].a != part[0].dst) return NULL;
  return (PyTypeObject *)part[0].obj;
}

// Moves pairs of LOCAL and TENSOR to the front, which nothing that comes before decides, and the ambient word behind them.
static void order_live(GuardProgram *p) {
  std::vector<Instr> pairs, rest;
  std::vector<Instr> &live = *p->live;
  auto is_pair = [&live](size_t i) {
    return i + 1 < live.size() && live[i].op == OP_LOCAL && live[i + 1].op == OP_TENSOR && live[i + 1].a == live[i].dst;
  };
  Instr *ambient = NULL;
  for (size_t i = 0; i < live.size(); i++) {
    bool pair = is_pair(i);
    if (live[i].op == OP_AMBIENT && !ambient && weft) {
      ambient = &live[i];
      continue;
    }
    (pair ? pairs : rest).push_back(live[i]);
    if (pair) pairs.push_back(live[++i]);
  }
  if (ambient) {
    p->has_ambient = true, p->ambient = (uint64_t)ambient->data[0], p->ambient_mask = (uint64_t)ambient->data[1];
    pairs.push_back(*ambient);
  }
  pairs.insert(pairs.end(), rest.begin(), rest.end());
  live.swap(pairs);
  for (size_t i = 0; is_pair(i); i += 2) {
    const Instr &tensor = live[i + 1];
    const std::vector<int64_t> &d = tensor.data;
    p->tensors->push_back({tensor.obj, (uint32_t)d[0], (uint32_t)d[1], live[i].a, live[i].dst, (int32_t)(d.size() - 2) / 2, d.data() + 2});
  }
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  int n_regs, first, count, key_function;
  PyObject *live, *fixed, *last, *keys;
  static const char *names[] = {"n_regs", "fixed_first", "fixed_count", "live", "fixed", "last", "keys", "key_function", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iiiO!O!O!O!p", (char **)names, &n_regs, &first, &count, &PyList_Type, &live,
                                   &PyList_Type, &fixed, &PyList_Type, &last, &PyList_Type, &keys, &key_function))
    return NULL;
  if (n_regs < 0 || n_regs > kMaxRegs || first < 0 || count < 0 || first + count > n_regs) {
    PyErr_Format(PyExc_ValueError, "%d values to guard, not 0 to %d", n_regs, kMaxRegs);
    return NULL;
  }
  GuardProgram *p = (GuardProgram *)type->tp_alloc(type, 0);
  if (!p) return NULL;
  p->n_regs = n_regs, p->fixed_first = first, p->fixed_count = count, p->key_function = key_function;
  p->live = new std::vector<Instr>, p->fixed = new std::vector<Instr>, p->last = new std::vector<Instr>;
  p->key_regs = new std::vector<uint16_t>, p->memos = new std::vector<Memo *>;
  p->watched = new std::vector<PyObject *>, p->tensors = new std::vector<TensorArgument>;
  p->failed = -1;
  p->credit = kMemoSlots;
  bool ok = read_part(p, live, *p->live) && read_part(p, fixed, *p->fixed) && read_part(p, last, *p->last);
  for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(keys); i++)
    p->key_regs->push_back((uint16_t)PyLong_AsLong(PyList_GET_ITEM(keys, i)));
  for (uint16_t key : *p->key_regs)
    if (ok && key >= n_regs) {
      PyErr_SetString(PyExc_ValueError, "a key that is no register");
      ok = false;
    }
  if (!ok || PyErr_Occurred()) {
    Py_DECREF(p);
    return NULL;
  }
  order_live(p);
  p->sole_class = sole_class(*p->fixed);
  return (PyObject *)p;
}

static void program_dealloc(PyObject *self) {
  GuardProgram *p = (GuardProgram *)self;
  if (p->life) ((Life *)p->life)->program = NULL;
  for (PyObject *o : *p->watched) Py_DECREF(o);
  delete p->watched;
  Py_XDECREF(p->callback);
  Py_XDECREF(p->life);
  for (Memo *m : *p->memos) {
    if (m) memo_clear(m);
    delete m;
  }
  for (auto *part : {p->live, p->fixed, p->last}) {
    for (Instr &in : *part) {
      if (in.held != kWeak) Py_XDECREF(in.obj);
      Py_XDECREF(in.name);
    }
    delete part;
  }
  delete p->tensors;
  delete p->key_regs;
  delete p->memos;
  Py_TYPE(self)->tp_free(self);
}

// check(function, args) -> True, or the index of the guard that failed: args is a tuple of the argument slots.
static PyObject *program_check(PyObject *self, PyObject *args) {
  PyObject *function, *values;
  if (!PyArg_ParseTuple(args, "O!O!", &PyFunction_Type, &function, &PyTuple_Type, &values)) return NULL;
  GuardProgram *p = (GuardProgram *)self;
  std::vector<PyObject *> regs((size_t)p->n_regs + 1);
  Owned owned;
  if (PyTuple_GET_SIZE(values) < p->n_args) {
    PyErr_Format(PyExc_ValueError, "the guards read %d arguments, there are %zd", p->n_args, PyTuple_GET_SIZE(values));
    return NULL;
  }
  std::vector<PyObject *> slots(PySequence_Fast_ITEMS(values), PySequence_Fast_ITEMS(values) + PyTuple_GET_SIZE(values));
  if (guard_check(p, slots.data(), (PyFunctionObject *)function, regs.data(), owned)) Py_RETURN_TRUE;
  return PyLong_FromLongLong(p->failed);
}

static PyObject *program_stats(PyObject *self, void *) {
  GuardProgram *p = (GuardProgram *)self;
  size_t words = 0, again = 0;
  for (Memo *m : *p->memos) {
    words = std::max(words, m ? m->words.size() + m->types.size() + m->tensors.size() + m->layouts.size() : 0);
    again = std::max(again, m ? m->again.size() : 0);
  }
  return Py_BuildValue("{s:i,s:i,s:n,s:n,s:n,s:n,s:n}", "walks", p->walks, "hits", p->hits, "words", (Py_ssize_t)words,
                       "again", (Py_ssize_t)again, "live", (Py_ssize_t)p->live->size(), "fixed", (Py_ssize_t)p->fixed->size(), "last", (Py_ssize_t)p->last->size());
}

// The guards whose instructions a hit on the memo still runs.
static PyObject *program_again(PyObject *self, void *) {
  GuardProgram *p = (GuardProgram *)self;
  PyObject *found = PySet_New(NULL);
  for (Memo *m : *p->memos)
    for (size_t i = 0; found && m && i < m->again.size(); i++) {
      PyObject *index = PyLong_FromUnsignedLong((*p->fixed)[m->again[i]].guard);
      if (!index || PySet_Add(found, index) < 0) Py_CLEAR(found);
      Py_XDECREF(index);
    }
  return found;
}

static PyObject *program_failed(PyObject *self, void *) { return PyLong_FromLongLong(((GuardProgram *)self)->failed); }
static PyObject *program_dead(PyObject *self, void *) { return PyBool_FromLong(((GuardProgram *)self)->dead); }

static PyMethodDef program_methods[] = {
    {"check", program_check, METH_VARARGS, "check(function, args) -> True, or the index of the guard that failed"},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef program_getset[] = {
    {"failed", program_failed, NULL, "index of the guard that rejected a call last, -1: none has", NULL},
    {"again", program_again, NULL, "indices of the guards that words do not describe: each call runs them again", NULL},
    {"dead", program_dead, NULL, "whether something that the guards refer to is gone, so that no call can pass", NULL},
    {"stats", program_stats, NULL, "counts: walks, memo hits, words of the longest memo, instructions that it runs again, instructions", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject GuardProgram_Type = {PyVarObject_HEAD_INIT(NULL, 0)};

bool guard_program_ready(PyObject *module) {
  PyTypeObject &t = GuardProgram_Type;
  t.tp_name = "dynamo._eval_frame.GuardProgram";
  t.tp_doc = "Guards, ready to run: made by dynamo.guard_program.";
  t.tp_basicsize = sizeof(GuardProgram);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_new = program_new;
  t.tp_dealloc = program_dealloc;
  t.tp_methods = program_methods;
  t.tp_getset = program_getset;
  Life_Type.tp_name = "dynamo._eval_frame.Life";
  Life_Type.tp_basicsize = sizeof(Life);
  Life_Type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  Life_Type.tp_dealloc = (destructor)PyObject_Free;
  if (PyType_Ready(&Life_Type) < 0 || PyType_Ready(&t) < 0 || PyModule_AddObjectRef(module, "GuardProgram", (PyObject *)&t) < 0) return false;
  PyObject *ops = PyDict_New();
  if (!ops) return false;
  for (int i = 0; i < OP_COUNT; i++) {
    PyObject *v = PyLong_FromLong(i);
    if (!v || PyDict_SetItemString(ops, kGuardOpNames[i], v) < 0) return false;
    Py_DECREF(v);
  }
  return PyModule_AddObject(module, "GUARD_OPS", ops) == 0;
}
