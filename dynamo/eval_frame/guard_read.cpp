// guard_read.cpp: accessor instructions.
#include "guard_read.h"

#include <structmember.h>

// How an attribute is found on instances of one type (Instr::mode).
enum AttrMode : uint8_t {
  kUnresolved = 0,
  kInstance,      // in the instance's dictionary, else `found` on the class (a plain value, or NULL)
  kComputedElse,  // in the instance's dictionary, else computed by a descriptor
  kSlot,          // a pointer at `offset` of the instance
  kSlotOrNone,    // the same, where NULL reads as None
  kClass,         // the object is a class
  kClassName,     // the same, and its __name__ is meant
  kComputed       // a descriptor, a custom __getattribute__, ...: asks Python
};

static PyObject *dict_get(PyObject *dict, PyObject *key) {
  PyObject *v = PyDict_GetItemWithError(dict, key);
  if (!v && PyErr_Occurred()) PyErr_Clear();
  return v;
}

// The value of a key, which is noted.
static PyObject *tracked_get(Walk &w, PyObject *dict, PyObject *key) {
  PyObject *v = dict_get(dict, key);
  w.found_in_dict = true;
  w.saw_key(dict, key, v);
  return v;
}

PyObject *read_instance_dict(Walk &w, PyObject *o, uint16_t reg) {
  w.saw_type_of(o, reg);
  PyObject **slot = instance_dict_slot(o);
  if (!slot) return NULL;
  PyObject *dict = instance_dict_tracked(o);
  w.saw(slot, (uint64_t)*slot);
  if (!dict) {
    if (*slot) w.cannot_remember();
    PyErr_Clear();
    return *slot && PyDict_Check(*slot) ? *slot : NULL;
  }
  return dict;
}

static PyObject *computed(Walk &w, PyObject *o, PyObject *name) {
  w.cannot_remember();
  w.own_registers();
  PyObject *v = PyObject_GetAttr(o, name);
  if (!v) {
    PyErr_Clear();
    return NULL;
  }
  w.owned.items.push_back(v);
  return v;
}

// ---------------------------------------------------------------------- types with fields of their own
struct Field {
  PyTypeObject *type;
  const char *name;
  Py_ssize_t offset;
};
static const Field kFields[] = {
    {&PyFunction_Type, "__code__", offsetof(PyFunctionObject, func_code)},
    {&PyFunction_Type, "__globals__", offsetof(PyFunctionObject, func_globals)},
    {&PyFunction_Type, "__defaults__", offsetof(PyFunctionObject, func_defaults)},
    {&PyFunction_Type, "__kwdefaults__", offsetof(PyFunctionObject, func_kwdefaults)},
    {&PyFunction_Type, "__closure__", offsetof(PyFunctionObject, func_closure)},
    {&PyMethod_Type, "__func__", offsetof(PyMethodObject, im_func)},
    {&PyMethod_Type, "__self__", offsetof(PyMethodObject, im_self)},
    {&PyCell_Type, "cell_contents", offsetof(PyCellObject, ob_ref)},
};

// A field that Python shows as None where C has NULL (defaults of a function); a cell that is empty has no contents.
static bool field_offset(PyTypeObject *t, PyObject *name, Py_ssize_t *offset) {
  for (const Field &f : kFields)
    if (f.type == t && PyUnicode_CompareWithASCIIString(name, f.name) == 0) {
      *offset = f.offset;
      return true;
    }
  if (weft && PyType_IsSubtype(t, weft->tensor_type) && PyUnicode_CompareWithASCIIString(name, "grad") == 0) {
    *offset = offsetof(WeftTensor, grad);
    return true;
  }
  return false;
}

static bool default_getattro(PyTypeObject *t) {
  if (t->tp_getattro == PyObject_GenericGetAttr || t->tp_getattro == PyModule_Type.tp_getattro) return true;
  // A class with __getattr__ (which is asked last) but the usual __getattribute__.
  static PyObject *name = PyUnicode_InternFromString("__getattribute__");
  PyObject *usual = _PyType_Lookup(&PyBaseObject_Type, name);
  return usual && _PyType_Lookup(t, name) == usual;
}

static void resolve(Instr &in, PyTypeObject *t) {
  in.type = t;
  in.found = NULL;
  PyObject *found = _PyType_Lookup(t, in.obj);
  in.type_tag = t->tp_version_tag; // the look-up has assigned it
  if (field_offset(t, in.obj, &in.offset)) {
    in.mode = t == &PyCell_Type ? kSlot : kSlotOrNone;
  } else if (PyType_IsSubtype(t, &PyType_Type)) {
    in.mode = t->tp_getattro == PyType_Type.tp_getattro && !found ? kClass : kComputed;
    static PyObject *name = PyUnicode_InternFromString("__name__");
    if (found && found == _PyType_Lookup(&PyType_Type, name) && PyUnicode_Compare(in.obj, name) == 0) in.mode = kClassName;
  } else if (!default_getattro(t)) {
    in.mode = kComputed;
  } else if (found && Py_TYPE(found)->tp_descr_set) { // a data descriptor comes before the dictionary
    in.mode = kComputed;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) {
      PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
      if (member->type == T_OBJECT_EX || member->type == T_OBJECT) {
        in.offset = member->offset;
        in.mode = member->type == T_OBJECT ? kSlotOrNone : kSlot;
      }
    }
  } else if (found && Py_TYPE(found)->tp_descr_get) {
    in.mode = kComputedElse;
  } else {
    in.mode = kInstance;
    in.found = found;
  }
}

// cls.name: what the class holds, where that needs no binding.
static PyObject *class_value(Walk &w, PyObject *cls, PyObject *name) {
  PyObject *v = _PyType_Lookup((PyTypeObject *)cls, name);
  w.saw_type((PyTypeObject *)cls);
  if (!v) return computed(w, cls, name); // __getattr__ of a metaclass, __name__ and the like
  if (!Py_TYPE(v)->tp_descr_get || PyFunction_Check(v)) return v;
  return computed(w, cls, name);
}

static PyObject *read_attr(Walk &w, Instr &in, PyObject *o) {
  PyTypeObject *t = Py_TYPE(o);
  if (in.type != t || in.type_tag == 0 || in.type_tag != t->tp_version_tag) resolve(in, t);
  w.saw_type_of(o, in.a);
  w.saw_type(t);
  switch (in.mode) {
  case kSlot:
  case kSlotOrNone: {
    PyObject *v = *(PyObject **)((char *)o + in.offset);
    w.saw((char *)o + in.offset, (uint64_t)v);
    return v || in.mode == kSlot ? v : Py_None;
  }
  case kClass: return class_value(w, o, in.obj);
  case kClassName: {
    if (!(((PyTypeObject *)o)->tp_flags & Py_TPFLAGS_HEAPTYPE)) break; // made anew from the name in C
    PyObject **at = &((PyHeapTypeObject *)o)->ht_name;
    w.saw(at, (uint64_t)*at);
    w.keep_alive(*at);
    return *at;
  }
  case kInstance:
  case kComputedElse: {
    PyObject *dict = read_instance_dict(w, o, in.a);
    PyObject *v = dict ? tracked_get(w, dict, in.obj) : NULL;
    if (v) return v;
    w.found_in_dict = false;
    if (in.mode == kInstance && in.found) return in.found;
    return computed(w, o, in.obj);
  }
  }
  return computed(w, o, in.obj);
}

static PyObject *read_class_attr(Walk &w, PyObject *cls, PyObject *name) {
  if (!PyType_Check(cls)) return NULL;
  PyObject *v = _PyType_Lookup((PyTypeObject *)cls, name);
  w.saw_type((PyTypeObject *)cls);
  return v;
}

static PyObject *read_item(Walk &w, Instr &in, PyObject *o) {
  if (PyDict_Check(o)) {
    w.saw_type_of(o, in.a);
    return tracked_get(w, o, in.obj);
  }
  if (in.data.size() && (PyList_Check(o) || PyTuple_Check(o))) {
    Py_ssize_t n = Py_SIZE(o), i = (Py_ssize_t)in.data[0];
    w.saw_type_of(o, in.a);
    w.saw(&((PyVarObject *)o)->ob_size, (uint64_t)n);
    if (i < 0) i += n;
    if (i < 0 || i >= n) return NULL;
    if (PyList_Check(o)) w.saw(&((PyListObject *)o)->ob_item, (uint64_t)((PyListObject *)o)->ob_item);
    PyObject **at = PyList_Check(o) ? &((PyListObject *)o)->ob_item[i] : &((PyTupleObject *)o)->ob_item[i];
    w.saw(at, (uint64_t)*at);
    return *at;
  }
  w.cannot_remember();
  w.own_registers();
  PyObject *v = PyObject_GetItem(o, in.obj);
  if (!v) {
    PyErr_Clear();
    return NULL;
  }
  w.owned.items.push_back(v);
  return v;
}

static PyObject *read_dict_key(Walk &w, PyObject *dict, int64_t index) {
  if (!PyDict_Check(dict)) return NULL;
  Keys keys(w, dict);
  PyObject *key = keys.next();
  while (key && index-- > 0) key = keys.next();
  return key;
}

PyObject *read(Walk &w, Instr &in) {
  w.found_in_dict = false;
  switch (in.op) {
  case OP_LOCAL: return w.args[in.a];
  case OP_CLOSURE: {
    if (!w.func->func_closure || in.a >= PyTuple_GET_SIZE(w.func->func_closure)) return NULL;
    PyObject **item = &PyTuple_GET_ITEM(w.func->func_closure, in.a);
    PyCellObject *cell = (PyCellObject *)*item;
    w.saw(item, (uint64_t)cell); // the closure of a later function may come to the same address, with other cells
    w.saw(&cell->ob_ref, (uint64_t)cell->ob_ref);
    return cell->ob_ref;
  }
  case OP_CELL: {
    if (!w.func->func_closure || in.a >= PyTuple_GET_SIZE(w.func->func_closure)) return NULL;
    PyObject **item = &PyTuple_GET_ITEM(w.func->func_closure, in.a);
    w.saw(item, (uint64_t)*item);
    return *item;
  }
  case OP_GLOBAL: return tracked_get(w, w.func->func_globals, in.obj);
  case OP_BUILTIN: return tracked_get(w, w.func->func_globals, in.obj) ? NULL : tracked_get(w, w.func->func_builtins, in.obj);
  case OP_OBJECT: return in.obj;
  case OP_ATTR: return read_attr(w, in, w.regs[in.a]);
  case OP_CLASS_ATTR: return read_class_attr(w, w.regs[in.a], in.obj);
  case OP_ITEM: return read_item(w, in, w.regs[in.a]);
  case OP_DICT_KEY: return read_dict_key(w, w.regs[in.a], in.data[0]);
  case OP_INSTANCE_DICT: return read_instance_dict(w, w.regs[in.a], in.a);
  case OP_CONVERT: { // a new object for each call: a tensor over the memory of an array
    w.cannot_remember();
    w.own_registers();
    PyObject *v = PyObject_CallOneArg(in.obj, w.regs[in.a]);
    if (!v) {
      PyErr_Clear();
      return NULL;
    }
    w.owned.items.push_back(v);
    return v;
  }
  }
  return NULL;
}
