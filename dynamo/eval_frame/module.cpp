// module.cpp: dynamo._eval_frame.
#include "entry.h"

static PyObject *ambient(PyObject *, PyObject *) {
  return PyLong_FromUnsignedLongLong(weft ? *weft->ambient() : 0);
}

static PyObject *num_threads(PyObject *, PyObject *) { return PyLong_FromLong(weft ? weft->num_threads() : 1); }

// The name that Python's own messages call a class by: classes written in C have their module in it.
static PyObject *type_name(PyObject *, PyObject *cls) {
  if (!PyType_Check(cls)) return PyErr_Format(PyExc_TypeError, "type_name() is of a class");
  return PyUnicode_FromString(((PyTypeObject *)cls)->tp_name);
}

// What a `with` statement of 3.14 loads of its context manager: a method of the class, bound.
static PyObject *exit_method(PyObject *, PyObject *manager) {
  static PyObject *name = PyUnicode_InternFromString("__exit__");
  PyTypeObject *cls = Py_TYPE(manager);
  PyObject *found = _PyType_Lookup(cls, name);
  if (!found)
    return PyErr_Format(PyExc_TypeError, "'%T' object does not support the context manager protocol (missed __exit__ method)", manager);
  descrgetfunc get = Py_TYPE(found)->tp_descr_get;
  Py_INCREF(found);
  if (!get) return found;
  PyObject *bound = get(found, manager, (PyObject *)cls);
  Py_DECREF(found);
  return bound;
}

static PyMethodDef functions[] = {
    {"ambient", ambient, METH_NOARGS, "ambient() -> this thread's ambient word (weft.h)"},
    {"num_threads", num_threads, METH_NOARGS, "num_threads() -> threads that a kernel may use"},
    {"exit_method", exit_method, METH_O, "exit_method(manager) -> its __exit__, as a `with` statement finds it"},
    {"type_name", type_name, METH_O, "type_name(cls) -> what messages call it: 'int', 'functools.partial'"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dynamo._eval_frame", "The frame hook, guards and compiled functions.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__eval_frame(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  weft = weft_import_api();
  if (!weft || !dict_tags_ready() || !guard_program_ready(module) || !shape_program_ready(module) || !entry_ready(module) ||
      !hook_ready(module) || !compiled_function_ready(module)) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
