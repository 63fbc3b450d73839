// recursion.h: how deep calls of Python may go in this thread.
#pragma once

#include <Python.h>

// How many frames deeper calls in this thread may nest.
inline int frames_left() {
#if PY_VERSION_HEX < 0x030C0000
  return PyThreadState_Get()->recursion_remaining;
#else
  return PyThreadState_Get()->py_recursion_remaining;
#endif
}

// Lets this thread call `by` frames deeper than Python's limit, which stays what it is: all threads share that one, and one that
// is deeper than it at the time when it falls is ended by CPython with the whole process. Ends with -by. Where somebody has set
// the limit meanwhile, that holds for this thread too.
inline void deepen(int by) {
  PyThreadState *t = PyThreadState_Get();
#if PY_VERSION_HEX < 0x030C0000
  int &limit = t->recursion_limit, &remaining = t->recursion_remaining;
#else
  int &limit = t->py_recursion_limit, &remaining = t->py_recursion_remaining;
#endif
  const int common = Py_GetRecursionLimit(), before = limit;
  limit = limit + by > common ? limit + by : common;
  remaining += limit - before;
}

// Within a scope.
struct Deeper {
  int by;
  explicit Deeper(int n) : by(n) { deepen(n); }
  ~Deeper() { deepen(-by); }
  Deeper(const Deeper &) = delete;
};
