// module.cpp: dynamo._eval_frame.
#include "entry.h"

static PyObject *ambient(PyObject *, PyObject *) {
  return PyLong_FromUnsignedLongLong(weft ? *weft->ambient() : 0);
}

static PyMethodDef functions[] = {
    {"ambient", ambient, METH_NOARGS, "ambient() -> this thread's ambient word (weft.h)"},
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
