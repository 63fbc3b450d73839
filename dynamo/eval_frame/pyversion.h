// pyversion.h: what differs between CPython 3.11, 3.12 and 3.13 below the public API.
//
// Frames, dictionary version tags, where an instance keeps its dictionary, and recursion counters. Nothing else of
// this extension includes internal headers or asks for PY_VERSION_HEX. eval_frame.py tests the frame part at import.
#pragma once

#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#include <stdint.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "weft supports CPython 3.11, 3.12 and 3.13"
#endif

using Frame = _PyInterpreterFrame;

// ------------------------------------------------------------------------------------------ frames
#if PY_VERSION_HEX < 0x030C0000
static inline PyCodeObject *frame_code(Frame *f) { return f->f_code; }
static inline PyFunctionObject *frame_function(Frame *f) { return f->f_func; }
static inline void frame_set_code(Frame *f, PyCodeObject *code) { f->f_code = code; }
static inline int frame_words(PyCodeObject *c) {
  return c->co_nlocalsplus + c->co_stacksize + (int)FRAME_SPECIALS_SIZE;
}
// Later frames of `code` reserve at least `words`: their size is computed from co_stacksize.
static inline void frame_reserve(PyCodeObject *code, int words) {
  int have = frame_words(code);
  if (have < words) code->co_stacksize += words - have;
}
static inline bool frame_is_fresh(Frame *f) { return f->prev_instr == _PyCode_CODE(f->f_code) - 1; }
static inline void frame_rewind(Frame *f) { f->prev_instr = _PyCode_CODE(f->f_code) - 1; }
static inline void recursion_give(PyThreadState *, int) {}
static inline void recursion_take(PyThreadState *, int) {}
constexpr bool kEvaluatorClearsFrame = false;
#else
#if PY_VERSION_HEX < 0x030D0000
static inline PyCodeObject *frame_code(Frame *f) { return f->f_code; }
static inline void frame_set_code(Frame *f, PyCodeObject *code) { f->f_code = code; }
static inline bool frame_is_fresh(Frame *f) { return f->prev_instr == _PyCode_CODE(f->f_code) - 1; }
static inline void frame_rewind(Frame *f) { f->prev_instr = _PyCode_CODE(f->f_code) - 1; }
#else
static inline PyCodeObject *frame_code(Frame *f) { return (PyCodeObject *)f->f_executable; }
static inline void frame_set_code(Frame *f, PyCodeObject *code) { f->f_executable = (PyObject *)code; }
static inline bool frame_is_fresh(Frame *f) { return f->instr_ptr == _PyCode_CODE(frame_code(f)); }
static inline void frame_rewind(Frame *f) { f->instr_ptr = _PyCode_CODE(frame_code(f)); }
#endif
static inline PyFunctionObject *frame_function(Frame *f) { return (PyFunctionObject *)f->f_funcobj; }
static inline int frame_words(PyCodeObject *c) { return c->co_framesize; }
static inline void frame_reserve(PyCodeObject *code, int words) {
  if (code->co_framesize < words) code->co_framesize = words;
}
// A nested evaluator takes two units of C recursion, of which 3.12.1 has fewer than Python's own limit allows.
static inline void recursion_give(PyThreadState *t, int n) { t->c_recursion_remaining += n; }
static inline void recursion_take(PyThreadState *t, int n) { t->c_recursion_remaining -= n; }
constexpr bool kEvaluatorClearsFrame = true;
#endif

// The executable of a frame is not always code (None for entry frames of 3.13), and may have no function.
static inline bool frame_has_code(Frame *f) {
#if PY_VERSION_HEX < 0x030D0000
  return true;
#else
  return PyCode_Check(f->f_executable);
#endif
}

// The thread's innermost frame, which a frame about to start takes for its caller.
static inline Frame *&current_frame(PyThreadState *t) {
#if PY_VERSION_HEX < 0x030D0000
  return t->cframe->current_frame;
#else
  return t->current_frame;
#endif
}

// Where a call of a plain function keeps the function on the stack: of the two places below the arguments, the other is NULL.
constexpr int kCalleePlace = PY_VERSION_HEX < 0x030D0000 ? 1 : 0;

static inline int code_argument_slots(PyCodeObject *c) {
  return c->co_argcount + c->co_kwonlyargcount + !!(c->co_flags & CO_VARARGS) + !!(c->co_flags & CO_VARKEYWORDS);
}

static inline int code_extra_get(PyObject *code, Py_ssize_t index, void **value) {
#if PY_VERSION_HEX < 0x030C0000
  return _PyCode_GetExtra(code, index, value);
#else
  return PyUnstable_Code_GetExtra(code, index, value);
#endif
}
static inline int code_extra_set(PyObject *code, Py_ssize_t index, void *value) {
#if PY_VERSION_HEX < 0x030C0000
  return _PyCode_SetExtra(code, index, value);
#else
  return PyUnstable_Code_SetExtra(code, index, value);
#endif
}
static inline Py_ssize_t code_extra_index(freefunc free) {
#if PY_VERSION_HEX < 0x030C0000
  return _PyEval_RequestCodeExtraIndex(free);
#else
  return PyUnstable_Eval_RequestCodeExtraIndex(free);
#endif
}

// ------------------------------------------------------------------------------------ dictionaries
// Every change of a dictionary gives it a tag that no dictionary had before. The low bits belong to watchers.
#if PY_VERSION_HEX < 0x030C0000
constexpr uint64_t kDictTagMask = ~0ull;
#elif PY_VERSION_HEX < 0x030D0000
constexpr uint64_t kDictTagMask = ~0xffull;
#else
constexpr uint64_t kDictTagMask = ~0xfffull;
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
static inline uint64_t *dict_tag(PyObject *dict) { return &((PyDictObject *)dict)->ma_version_tag; }
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

// The word in which an instance holds its dictionary; NULL when its type has none. The word is 0, a dictionary, or (3.11,
// 3.12) a tagged pointer while the dictionary was never asked for.
static inline PyObject **instance_dict_slot(PyObject *o) {
  PyTypeObject *t = Py_TYPE(o);
  if (t->tp_flags & Py_TPFLAGS_MANAGED_DICT) return (PyObject **)o - 3;
  Py_ssize_t offset = t->tp_dictoffset;
  if (offset == 0) return NULL;
  if (offset < 0) { // counted from the end of a variable-sized object
    Py_ssize_t n = Py_ABS(Py_SIZE(o));
    Py_ssize_t size = (t->tp_basicsize + n * t->tp_itemsize + sizeof(void *) - 1) & ~(Py_ssize_t)(sizeof(void *) - 1);
    offset += size;
  }
  return (PyObject **)((char *)o + offset);
}

// An OrderedDict keeps the order of its keys in a list beside the dictionary (Objects/odictobject.c, 3.11 to 3.13): moving a
// key leaves the dictionary and its tag as they are, and counts in `state`.
struct OrderedNode {
  PyObject *key;
  Py_hash_t hash;
  OrderedNode *next, *previous;
};
struct OrderedDict {
  PyDictObject dict;
  OrderedNode *first, *last;
  OrderedNode **nodes_by_slot;
  Py_ssize_t slots;
  void *keys_then;
  size_t state;
};

// The instance's dictionary as a real object whose tag follows every store to an attribute: borrowed, NULL if there is none
// (yet, or at all). Sets no exception.
static inline PyObject *instance_dict_tracked(PyObject *o) {
  PyObject **slot = _PyObject_GetDictPtr(o); // makes the dictionary of inline values
  if (!slot || !*slot) return NULL;
  PyObject *dict = *slot;
#if PY_VERSION_HEX >= 0x030D0000
  // 3.13.0 writes attributes into values kept inside the object without telling the dictionary (gh-125608). Taking one
  // item out and putting it back moves them into the dictionary for good.
  if (((PyDictObject *)dict)->ma_values) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyDict_GET_SIZE(dict) > 0) {
      PyObject *item = PyObject_CallMethod(dict, "popitem", NULL);
      if (item) {
        PyDict_SetItem(dict, PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1));
        Py_DECREF(item);
      }
    } else {
      PyObject *key = PyLong_FromLong(0);
      if (key && PyDict_SetItem(dict, key, Py_None) == 0) PyDict_DelItem(dict, key);
      Py_XDECREF(key);
    }
    PyErr_Restore(type, value, trace);
    if (((PyDictObject *)dict)->ma_values) return NULL;
  }
#endif
  return dict;
}
