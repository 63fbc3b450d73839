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

static PyMethodDef functions[] = {
    {"ambient", ambient, METH_NOARGS, "ambient() -> this thread's ambient word (weft.h)"},
    {"num_threads", num_threads, METH_NOARGS, "num_threads() -> threads that a kernel may use"},
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
  if (!weft || !guard_program_ready(module) || !shape_program_ready(module) || !entry_ready(module) || !hook_ready(module) ||
      !compiled_function_ready(module)) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
