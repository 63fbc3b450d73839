/* A frame hook of somebody else (a debugger, a profiler): counts frames and hands them on to what was there before it. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

static _PyFrameEvalFunction previous;
static long frames;

static PyObject *foreign(PyThreadState *ts, struct _PyInterpreterFrame *frame, int throwflag) {
  frames++;
  return previous(ts, frame, throwflag);
}

static PyObject *install(PyObject *module, PyObject *none) {
  PyInterpreterState *interpreter = PyInterpreterState_Get();
  previous = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, foreign);
  Py_RETURN_NONE;
}

static PyObject *uninstall(PyObject *module, PyObject *none) {
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), previous);
  Py_RETURN_NONE;
}

static PyObject *seen(PyObject *module, PyObject *none) { return PyLong_FromLong(frames); }

static PyMethodDef functions[] = {
    {"install", install, METH_NOARGS, 0},
    {"uninstall", uninstall, METH_NOARGS, 0},
    {"seen", seen, METH_NOARGS, 0},
    {0},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "foreign_hook", 0, -1, functions};

PyMODINIT_FUNC PyInit_foreign_hook(void) { return PyModule_Create(&definition); }
