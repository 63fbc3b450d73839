// guard_program.cpp: the meaning of each guard instruction, and the memo that skips them.
#include "guard_program.h"
#include "guard_read.h"

#include <algorithm>
#include <string.h>

const WeftAPI *weft = NULL;
const char *const kGuardOpNames[OP_COUNT] = {
#define X(name) #name,
    WEFT_GUARD_OPS(X)
#undef X
};

// ------------------------------------------------------------------------------------------ checks
static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

// Equal as constants (guards.py: same_constant).
static bool same_constant(PyObject *a, PyObject *b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyComplex_CheckExact(a)) {
    Py_complex x = ((PyComplexObject *)a)->cval, y = ((PyComplexObject *)b)->cval;
    return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
  }
  if (PyTuple_CheckExact(a)) {
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++)
      if (!same_constant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    return true;
  }
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal > 0;
}

static bool length_is(Walk &w, PyObject *o, Py_ssize_t n) {
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    w.saw((const void *)&((PyVarObject *)o)->ob_size, (uint64_t)Py_SIZE(o));
    return Py_SIZE(o) == n;
  }
  if (PyDict_Check(o)) {
    w.saw_dict(o);
    return PyDict_GET_SIZE(o) == n;
  }
  if (PyUnicode_CheckExact(o) || PyBytes_CheckExact(o))
    w.keep_alive(o);
  else
    w.cannot_remember();
  Py_ssize_t have = PyObject_Size(o);
  if (have < 0) PyErr_Clear();
  return have == n;
}

static bool dict_keys_are(Walk &w, PyObject *dict, PyObject *keys) {
  if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  w.saw_dict(dict);
  Py_ssize_t position = 0, i = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &position, &key, &value)) {
    PyObject *wanted = PyTuple_GET_ITEM(keys, i++);
    if (key != wanted && !same_constant(key, wanted)) return false;
  }
  return true;
}

static bool has_attr(Walk &w, PyObject *o, PyObject *name) {
  w.cannot_remember();
  PyObject *v = PyObject_GetAttr(o, name);
  if (!v) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(v);
  return true;
}

// data: word, mask, then ndim sizes and ndim strides, INT64_MIN where not compared.
static bool tensor_is(Walk &w, PyObject *o, const Instr &in) {
  if ((PyObject *)Py_TYPE(o) != in.obj) return false;
  WeftTensor *t = (WeftTensor *)o;
  const int64_t *d = in.data.data();
  if ((t->word & (uint32_t)d[1]) != (uint32_t)d[0]) return false;
  int ndim = WEFT_NDIM(t);
  d += 2;
  for (int i = 0; i < ndim; i++)
    if (d[i] != t->sizes[i] && d[i] != INT64_MIN) return false;
  d += ndim;
  for (int i = 0; i < ndim; i++)
    if (d[i] != t->strides[i] && d[i] != INT64_MIN) return false;
  w.saw_tensor(t, in.a);
  return true;
}

static bool distinct(PyObject *const *regs, const std::vector<int64_t> &which) {
  size_t n = which.size();
  if (n <= 8) {
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++)
        if (regs[which[i]] == regs[which[j]]) return false;
    return true;
  }
  std::vector<PyObject *> sorted;
  sorted.reserve(n);
  for (int64_t r : which) sorted.push_back(regs[r]);
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

// data: n, then n registers, then the rest: none of the first is one of the rest.
static bool apart(PyObject *const *regs, const std::vector<int64_t> &data) {
  size_t n = (size_t)data[0];
  for (size_t i = 1; i <= n; i++)
    for (size_t j = n + 1; j < data.size(); j++)
      if (regs[data[i]] == regs[data[j]]) return false;
  return true;
}

struct Range {
  const char *low, *high;
  bool written;
};

// data: number of written ones, then registers. No written tensor's range of bytes meets another one's.
static bool disjoint(Walk &w, PyObject *const *regs, const std::vector<int64_t> &data) {
  std::vector<Range> ranges;
  for (size_t i = 1; i < data.size(); i++) {
    PyObject *o = regs[data[i]];
    if (!weft || !PyObject_TypeCheck(o, weft->tensor_type) || WEFT_IS_TRACER(o)) return false;
    WeftTensor *t = (WeftTensor *)o;
    w.saw_tensor(t, (uint16_t)data[i]);
    if (t->numel == 0) continue;
    int64_t low = 0, high = 0, itemsize = weft_itemsize(WEFT_DTYPE(t));
    for (int d = 0; d < WEFT_NDIM(t); d++) (t->strides[d] < 0 ? low : high) += (t->sizes[d] - 1) * t->strides[d];
    const char *start = weft_data(t);
    ranges.push_back({start + low * itemsize, start + (high + 1) * itemsize, (int64_t)i <= data[0]});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) { return a.low < b.low; });
  const char *reached = NULL, *written_to = NULL; // how far all, and the written ones, of those seen extend
  for (const Range &r : ranges) {
    if (r.low < written_to || (r.written && r.low < reached)) return false;
    reached = std::max(reached, r.high);
    if (r.written) written_to = std::max(written_to, r.high);
  }
  return true;
}

static bool is_object(PyObject *o, const Instr &in) {
  if (in.mode == 0) return o == in.obj;
  return PyWeakref_GET_OBJECT(in.obj) == o && o != Py_None; // the object may be gone: nothing equals it then
}

static bool check(Walk &w, const Instr &in) {
  PyObject *o = w.regs[in.a];
  switch (in.op) {
  case OP_TYPE_IS: w.saw_type_of(o, in.a); return (PyObject *)Py_TYPE(o) == in.obj;
  case OP_ID_IS: return is_object(o, in);
  case OP_EQUALS: w.keep_alive(o); return same_constant(o, in.obj);
  case OP_LENGTH: return length_is(w, o, (Py_ssize_t)in.data[0]);
  case OP_DICT_KEYS: return dict_keys_are(w, o, in.obj);
  case OP_HAS_KEY:
  case OP_LACKS_KEY: {
    if (!PyDict_Check(o)) return false;
    w.saw_dict(o);
    PyObject *v = PyDict_GetItemWithError(o, in.obj);
    if (!v && PyErr_Occurred()) PyErr_Clear();
    return (v != NULL) == (in.op == OP_HAS_KEY);
  }
  case OP_HAS_ATTR: return has_attr(w, o, in.obj);
  case OP_LACKS_ATTR: return !has_attr(w, o, in.obj);
  case OP_LACKS_INSTANCE_ATTR: {
    PyObject *dict = read_instance_dict(w, o, in.a);
    return !dict || !PyDict_Contains(dict, in.obj);
  }
  case OP_LACKS_GLOBAL: w.saw_dict(w.func->func_globals); return !PyDict_Contains(w.func->func_globals, in.obj);
  case OP_FUNCTION_CODE:
    if (!PyFunction_Check(o)) return false;
    w.saw_type_of(o, in.a);
    w.saw(&((PyFunctionObject *)o)->func_code, (uint64_t)((PyFunctionObject *)o)->func_code);
    return ((PyFunctionObject *)o)->func_code == in.obj;
  case OP_SAME_OBJECT: return o == w.regs[in.b];
  case OP_DISTINCT: return distinct(w.regs, in.data);
  case OP_APART: return apart(w.regs, in.data);
  case OP_TENSOR: return tensor_is(w, o, in);
  case OP_DISJOINT: return disjoint(w, w.regs, in.data);
  case OP_AMBIENT: return weft && (*weft->ambient() & (uint64_t)in.data[1]) == (uint64_t)in.data[0];
  case OP_SHAPE: return shape_holds(in.data, w.regs);
  }
  return false;
}

static bool run(GuardProgram *p, std::vector<Instr> &part, Walk &w) {
  for (Instr &in : part) {
    if (in.op < OP_TYPE_IS) {
      PyObject *v = read(w, in);
      if (!v) {
        p->failed = in.guard;
        return false;
      }
      w.regs[in.dst] = v;
      if (w.memo) w.anchored[in.dst] = w.found_in_dict;
    } else if (!check(w, in)) {
      p->failed = in.guard;
      return false;
    }
  }
  return true;
}

// -------------------------------------------------------------------------------------------- memo
static void memo_clear(Memo *m) {
  std::vector<PyObject *> keep;
  keep.swap(m->keep);
  m->words.clear();
  m->key.clear();
  for (PyObject *o : keep) Py_DECREF(o);
}

static bool memo_holds(const Memo *m, void *const *key, size_t n_keys) {
  if (!std::equal(m->key.begin(), m->key.end(), key, key + n_keys)) return false;
  if (weft && m->epoch != *weft->epoch) return false;
  for (const Word &word : m->words)
    if ((*word.address & word.mask) != word.value) return false;
  return true;
}

// The same word is read many times in a walk (one dictionary, many keys): keep the first of each.
static void keep_first(std::vector<Word> &words) {
  std::vector<Word> unique;
  std::vector<std::pair<const uint64_t *, uint64_t>> seen;
  seen.reserve(words.size());
  for (const Word &w : words) {
    auto key = std::make_pair(w.address, w.mask);
    auto at = std::lower_bound(seen.begin(), seen.end(), key);
    if (at != seen.end() && *at == key) continue;
    seen.insert(at, key);
    unique.push_back(w);
  }
  words.swap(unique);
}

static bool run_fixed(GuardProgram *p, Walk &w) {
  constexpr size_t kMaxKeys = 16;
  size_t n = 0;
  void *key[kMaxKeys];
  bool remember = p->key_regs->size() + 2 <= kMaxKeys && !(p->walks > 64 && p->hits < p->walks);
  if (!remember) return run(p, *p->fixed, w);
  for (uint16_t r : *p->key_regs) key[n++] = w.regs[r];
  if (p->key_function) {
    key[n++] = w.func->func_globals;
    key[n++] = w.func->func_closure;
  }
  uintptr_t hash = 0;
  for (size_t i = 0; i < n; i++) hash = (hash ^ ((uintptr_t)key[i] >> 4)) * 0x9E3779B97F4A7C15ull;
  if (p->memos->empty()) p->memos->resize(kMemoSlots);
  Memo *&slot = (*p->memos)[hash >> 58];
  if (slot && memo_holds(slot, key, n)) {
    std::copy(slot->regs.begin(), slot->regs.end(), w.regs + p->fixed_first);
    p->hits++;
    return true;
  }
  p->walks++;
  Memo fresh;
  fresh.epoch = weft ? *weft->epoch : 0;
  w.memo = &fresh;
  w.anchored.assign((size_t)p->n_regs + 1, 0);
  bool passed = run(p, *p->fixed, w);
  w.memo = NULL;
  if (!passed || w.forget) {
    memo_clear(&fresh);
    return passed;
  }
  keep_first(fresh.words);
  fresh.key.assign(key, key + n);
  fresh.regs.assign(w.regs + p->fixed_first, w.regs + p->fixed_first + p->fixed_count);
  Memo *&target = (*p->memos)[hash >> 58]; // reading attributes may have run Python
  if (!target) target = new Memo;
  std::swap(*target, fresh);
  memo_clear(&fresh);
  return true;
}

bool guard_check(GuardProgram *p, PyObject *const *args, PyFunctionObject *func, PyObject **regs, Owned &owned) {
  Walk w{regs, args, func, NULL, false, owned, {}};
  if (!run(p, *p->live, w)) return false;
  if (!p->fixed->empty() && !run_fixed(p, w)) return false;
  return p->last->empty() || run(p, *p->last, w);
}

// ------------------------------------------------------------------------------------- Python type
static bool read_part(PyObject *list, std::vector<Instr> &out) {
  Py_ssize_t n = PyList_Size(list);
  if (n < 0) return false;
  out.reserve((size_t)n);
  for (Py_ssize_t i = 0; i < n; i++) {
    Instr in{};
    PyObject *obj, *data;
    int op, dst, a, b, guard;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "iiiiiOO!", &op, &dst, &a, &b, &guard, &obj, &PyTuple_Type, &data))
      return false;
    if (op < 0 || op >= OP_COUNT) {
      PyErr_Format(PyExc_ValueError, "no guard instruction %d", op);
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
    in.mode = op == OP_ID_IS && PyWeakref_CheckRef(obj);
    in.obj = Py_NewRef(obj);
    out.push_back(in);
  }
  return true;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  int n_regs, first, count, key_function;
  PyObject *live, *fixed, *last, *keys;
  static const char *names[] = {"n_regs", "fixed_first", "fixed_count", "live", "fixed", "last", "keys", "key_function", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iiiO!O!O!O!p", (char **)names, &n_regs, &first, &count, &PyList_Type, &live,
                                   &PyList_Type, &fixed, &PyList_Type, &last, &PyList_Type, &keys, &key_function))
    return NULL;
  if (n_regs > kMaxRegs) {
    PyErr_Format(PyExc_ValueError, "%d values to guard, more than %d", n_regs, kMaxRegs);
    return NULL;
  }
  GuardProgram *p = (GuardProgram *)type->tp_alloc(type, 0);
  if (!p) return NULL;
  p->n_regs = n_regs, p->fixed_first = first, p->fixed_count = count, p->key_function = key_function;
  p->live = new std::vector<Instr>, p->fixed = new std::vector<Instr>, p->last = new std::vector<Instr>;
  p->key_regs = new std::vector<uint16_t>, p->memos = new std::vector<Memo *>;
  p->failed = -1;
  bool ok = read_part(live, *p->live) && read_part(fixed, *p->fixed) && read_part(last, *p->last);
  for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(keys); i++)
    p->key_regs->push_back((uint16_t)PyLong_AsLong(PyList_GET_ITEM(keys, i)));
  if (!ok || PyErr_Occurred()) {
    Py_DECREF(p);
    return NULL;
  }
  return (PyObject *)p;
}

static void program_dealloc(PyObject *self) {
  GuardProgram *p = (GuardProgram *)self;
  for (Memo *m : *p->memos) {
    if (m) memo_clear(m);
    delete m;
  }
  for (auto *part : {p->live, p->fixed, p->last}) {
    for (Instr &in : *part) Py_XDECREF(in.obj);
    delete part;
  }
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
  std::vector<PyObject *> slots(PySequence_Fast_ITEMS(values), PySequence_Fast_ITEMS(values) + PyTuple_GET_SIZE(values));
  if (guard_check(p, slots.data(), (PyFunctionObject *)function, regs.data(), owned)) Py_RETURN_TRUE;
  return PyLong_FromLongLong(p->failed);
}

static PyObject *program_stats(PyObject *self, void *) {
  GuardProgram *p = (GuardProgram *)self;
  size_t words = 0;
  for (Memo *m : *p->memos) words = std::max(words, m ? m->words.size() : 0);
  return Py_BuildValue("{s:i,s:i,s:n,s:n,s:n,s:n}", "walks", p->walks, "hits", p->hits, "words", (Py_ssize_t)words, "live",
                       (Py_ssize_t)p->live->size(), "fixed", (Py_ssize_t)p->fixed->size(), "last", (Py_ssize_t)p->last->size());
}

static PyMethodDef program_methods[] = {
    {"check", program_check, METH_VARARGS, "check(function, args) -> True, or the index of the guard that failed"},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef program_getset[] = {
    {"stats", program_stats, NULL, "counts: walks, memo hits, words of the longest memo, instructions", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject GuardProgram_Type = {PyVarObject_HEAD_INIT(NULL, 0)};

bool guard_program_ready(PyObject *module) {
  PyTypeObject &t = GuardProgram_Type;
  t.tp_name = "dynamo._eval_frame.GuardProgram";
  t.tp_doc = "Guards, ready to run: made by dynamo.guard_compiler.";
  t.tp_basicsize = sizeof(GuardProgram);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_new = program_new;
  t.tp_dealloc = program_dealloc;
  t.tp_methods = program_methods;
  t.tp_getset = program_getset;
  if (PyType_Ready(&t) < 0 || PyModule_AddObjectRef(module, "GuardProgram", (PyObject *)&t) < 0) return false;
  PyObject *ops = PyDict_New();
  if (!ops) return false;
  for (int i = 0; i < OP_COUNT; i++) {
    PyObject *v = PyLong_FromLong(i);
    if (!v || PyDict_SetItemString(ops, kGuardOpNames[i], v) < 0) return false;
    Py_DECREF(v);
  }
  return PyModule_AddObject(module, "GUARD_OPS", ops) == 0;
}
