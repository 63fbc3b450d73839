// errors.cpp: a code of the driver becomes an exception that names it, the call, and what the call was for.
#include <time.h>

#include "extension.h"

namespace weft::cuda {

Away::Away() {
  // Where a thread waits for all calls to return, it goes first: it needs the GIL and is soon done.
  while (!aten->call_goes_away()) {
    Py_BEGIN_ALLOW_THREADS;
    const timespec pause = {0, 20000};
    nanosleep(&pause, nullptr);
    Py_END_ALLOW_THREADS;
  }
  state_ = PyEval_SaveThread();
}

Away::~Away() {
  PyEval_RestoreThread(state_);
  aten->call_ended();
}

std::string describe(CUresult code) {
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(code, &name);
  driver.cuGetErrorString(code, &text);
  std::string said = name ? name : "error " + std::to_string(code);
  if (text && said != text) said += std::string(": ") + text;
  return said;
}

PyObject *raise(CUresult code, const char *call, const char *what) {
  PyObject *errors = PyImport_ImportModule("aten.errors");
  if (!errors) return nullptr;
  PyObject *type = PyObject_GetAttrString(errors, code == CUDA_ERROR_OUT_OF_MEMORY ? "OutOfMemoryError" : "CudaError");
  Py_DECREF(errors);
  if (!type) return nullptr;
  std::string text = "CUDA error " + std::to_string(code) + " of " + call;
  if (what && *what) text += std::string(", for ") + what;
  text += ": " + describe(code);
  PyObject *error = PyObject_CallFunction(type, "s", text.c_str());
  PyObject *number = error ? PyLong_FromLong(code) : nullptr;
  if (number && PyObject_SetAttrString(error, "code", number) == 0) PyErr_SetObject(type, error);
  Py_XDECREF(number);
  Py_XDECREF(error);
  Py_DECREF(type);
  return nullptr;
}

}  // namespace weft::cuda
