// guard_check.cpp: the meaning of each check.
#include "guard_read.h"

#include <algorithm>
#include <string.h>

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
  if (PyList_Check(o) || PyTuple_Check(o)) { // past whatever a subclass overrides
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
  Keys found(w, dict);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
    PyObject *key = found.next(), *wanted = PyTuple_GET_ITEM(keys, i);
    if (!key || (key != wanted && !same_constant(key, wanted))) return false;
  }
  return true;
}

// Elements in the order in which the set gives them: that of its table.
static bool set_is(Walk &w, PyObject *o, PyObject *elements) {
  if (!PyAnySet_Check(o)) return false;
  PySetObject *set = (PySetObject *)o;
  if (set->used != PyTuple_GET_SIZE(elements)) return false;
  w.saw(&set->used, (uint64_t)set->used);
  w.saw(&set->mask, (uint64_t)set->mask);
  w.saw(&set->table, (uint64_t)set->table);
  Py_ssize_t n = 0;
  for (Py_ssize_t i = 0; i <= set->mask; i++) {
    setentry *at = &set->table[i];
    if (!at->key || at->hash == -1) continue; // empty, or removed
    if (!same_constant(at->key, PyTuple_GET_ITEM(elements, n++))) return false;
    w.saw(&at->key, (uint64_t)at->key);
    w.keep_alive(at->key);
  }
  return true;
}

static bool has_attr(Walk &w, PyObject *o, PyObject *name) {
  w.cannot_remember();
  w.own_registers();
  PyObject *v = PyObject_GetAttr(o, name);
  if (!v) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(v);
  return true;
}

// A condition (OP_SHAPE) reads it.
static bool note_value(Walk &w, PyObject *o) {
  if (weft && PyObject_TypeCheck(o, weft->tensor_type) && !WEFT_IS_TRACER(o))
    w.saw_tensor((WeftTensor *)o);
  else
    w.keep_alive(o);
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
    w.saw_tensor(t);
    w.saw_memory(t);
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

// Whether `o` is the thing of which `in` holds the parts.
static bool has_parts(PyObject *o, const Instr &in) {
  if ((PyObject *)Py_TYPE(o) != PyTuple_GET_ITEM(in.obj, 0)) return false;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(in.obj); i++) {
    PyObject *part = PyObject_GetAttr(o, PyTuple_GET_ITEM(in.obj, i));
    Py_XDECREF(part); // compared only: `o` still has it
    if (!part) PyErr_Clear();
    if ((int64_t)part != in.data[(size_t)i - 1]) return false;
  }
  return true;
}

// Whether `o`, NULL for nothing, is what the instruction compares with.
static bool is_held(PyObject *o, const Instr &in) {
  if (in.held == kAbsent || !o) return in.held == kAbsent && !o;
  return in.held == kParts ? has_parts(o, in) : o == in.obj;
}

bool check(Walk &w, const Instr &in) {
  PyObject *o = w.regs[in.a];
  switch (in.op) {
  case OP_TYPE_IS: w.saw_type_of(o, in.a); return (PyObject *)Py_TYPE(o) == in.obj;
  case OP_ID_IS:
    if (in.held == kParts) w.saw_parts_of(o);
    return is_held(o, in);
  case OP_EQUALS: w.keep_alive(o); return same_constant(o, in.obj);
  case OP_LENGTH: return length_is(w, o, (Py_ssize_t)in.data[0]);
  case OP_DICT_KEYS: return dict_keys_are(w, o, in.obj);
  case OP_LACKS_KEY: {
    if (!PyDict_Check(o)) return false;
    w.saw_type_of(o, in.a);
    w.saw_key(o, in.obj, NULL);
    int has = PyDict_Contains(o, in.obj);
    if (has < 0) PyErr_Clear();
    return has == 0;
  }
  case OP_SET: return set_is(w, o, in.obj);
  case OP_CLASS_LOOKUP: {
    if (!PyType_Check(o)) return false;
    PyObject *found = _PyType_Lookup((PyTypeObject *)o, in.name);
    w.saw_type((PyTypeObject *)o); // the look-up has given it a version
    return is_held(found, in);
  }
  case OP_MRO: {
    if (!PyType_Check(o)) return false;
    PyTypeObject *type = (PyTypeObject *)o;
    _PyType_Lookup(type, in.name); // it has a version now, which ends when its bases change
    w.saw_type(type);
    Py_ssize_t n = type->tp_mro ? PyTuple_GET_SIZE(type->tp_mro) : 0;
    bool same = n == (Py_ssize_t)in.data.size();
    for (Py_ssize_t i = 0; same && i < n; i++) same = PyTuple_GET_ITEM(type->tp_mro, i) == (PyObject *)in.data[i];
    return same;
  }
  case OP_MAKES: {
    if (!PyType_Check(o)) return false;
    _PyType_Lookup((PyTypeObject *)o, in.name); // it has a version now, which ends when its `__new__` is set or deleted
    w.saw_type((PyTypeObject *)o);
    return (((PyTypeObject *)o)->tp_new == PyBaseObject_Type.tp_new) == (bool)in.data[0];
  }
  case OP_INHERITS: {
    if (!PyType_Check(o)) return false;
    PyTypeObject *type = (PyTypeObject *)o;
    _PyType_Lookup(type, in.name); // it has a version now, which ends when its bases change
    w.saw_type(type);
    bool among = false;
    for (Py_ssize_t i = 0; type->tp_mro && i < PyTuple_GET_SIZE(type->tp_mro); i++) among |= PyTuple_GET_ITEM(type->tp_mro, i) == in.obj;
    return among == (bool)in.data[0];
  }
  case OP_LACKS_ATTR: return !has_attr(w, o, in.obj);
  case OP_LACKS_INSTANCE_ATTR: {
    PyObject *dict = read_instance_dict(w, o, in.a);
    if (dict) w.saw_key(dict, in.obj, NULL);
    return !dict || !PyDict_Contains(dict, in.obj);
  }
  case OP_LACKS_GLOBAL: w.saw_key(w.func->func_globals, in.obj, NULL); return !PyDict_Contains(w.func->func_globals, in.obj);
  case OP_FUNCTION_CODE:
    if (!PyFunction_Check(o)) return false;
    w.saw_type_of(o, in.a);
    w.saw(&((PyFunctionObject *)o)->func_code, (uint64_t)((PyFunctionObject *)o)->func_code);
    return ((PyFunctionObject *)o)->func_code == in.obj;
  case OP_LACKS_DEFAULTS: {
    if (!PyFunction_Check(o)) return false;
    auto *function = (PyFunctionObject *)o;
    w.saw_type_of(o, in.a);
    w.saw(&function->func_defaults, (uint64_t)function->func_defaults);
    w.saw(&function->func_kwdefaults, (uint64_t)function->func_kwdefaults);
    return !function->func_defaults && !function->func_kwdefaults;
  }
  case OP_GLOBALS: {
    if (!PyFunction_Check(o)) return false;
    w.saw_type_of(o, in.a);
    PyObject *globals = ((PyFunctionObject *)o)->func_globals;
    w.saw(&((PyFunctionObject *)o)->func_globals, (uint64_t)globals);
    return (int64_t)globals == in.data[0];
  }
  case OP_SAME_OBJECT: return o == w.regs[in.b];
  case OP_DISTINCT: return distinct(w.regs, in.data);
  case OP_APART: return apart(w.regs, in.data);
  case OP_TENSOR: return tensor_is(w, o, in);
  case OP_VALUE: return note_value(w, o);
  case OP_DISJOINT: return disjoint(w, w.regs, in.data);
  case OP_OVERLAP: return !disjoint(w, w.regs, in.data);
  case OP_AMBIENT: return ambient_is(in);
  case OP_NUM_THREADS: return weft && weft->num_threads() == in.data[0];
  case OP_SHAPE: return shape_holds(in.data, w.regs);
  }
  return false;
}
