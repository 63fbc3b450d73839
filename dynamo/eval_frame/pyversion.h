// pyversion.h: what differs between CPython 3.11 to 3.14 below the public API.
//
// Frames and their slots, dictionary version tags, where an instance keeps its dictionary, and recursion counters. Nothing
// else of this extension includes internal headers or asks for PY_VERSION_HEX. eval_frame.py tests the frame part at import.
#pragma once

#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#if PY_VERSION_HEX < 0x030E0000
#include <internal/pycore_frame.h>
#else
#include <internal/pycore_interpframe.h>
#endif
#undef Py_BUILD_CORE
#include <stdint.h>
#include <vector>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030F0000
#error "weft supports CPython 3.11 to 3.14"
#endif
#ifdef Py_GIL_DISABLED
#error "weft needs the GIL: docs/free_threading.md says what stands in the way"
#endif

using Frame = _PyInterpreterFrame;

// ------------------------------------------------------------------------------------------- slots
// A place of a frame: a local, or a value on its stack. From 3.14 on a word with a tag, which says who counts the reference.
#if PY_VERSION_HEX < 0x030E0000
using Slot = PyObject *;
static inline PyObject *slot_get(Slot s) { return s; } // borrowed; NULL where it is empty
static inline void slot_init(Slot *s, PyObject *o) { *s = o; } // steals `o`, which may be NULL; what was there is nobody's
#else
using Slot = _PyStackRef;
static inline PyObject *slot_get(Slot s) { return PyStackRef_AsPyObjectBorrow(s); } // the empty one is a tagged NULL
static inline void slot_init(Slot *s, PyObject *o) { *s = o ? PyStackRef_FromPyObjectSteal(o) : PyStackRef_NULL; }
#endif
static inline void slot_set(Slot *s, PyObject *o) { // steals `o`, drops what was there
  Slot old = *s;
  slot_init(s, o);
#if PY_VERSION_HEX < 0x030E0000
  Py_XDECREF(old);
#else
  PyStackRef_XCLOSE(old);
#endif
}

// ------------------------------------------------------------------------------------------ frames
// frame_exchange_code takes a reference of its own to the new code, and drops that to the old.
#if PY_VERSION_HEX < 0x030E0000
static inline void exchange(PyObject **place, PyObject *with) {
  PyObject *old = *place;
  *place = Py_NewRef(with);
  Py_DECREF(old);
}
#endif
#if PY_VERSION_HEX < 0x030D0000
static inline PyCodeObject *frame_code(Frame *f) { return f->f_code; }
static inline void frame_exchange_code(Frame *f, PyCodeObject *code) { exchange((PyObject **)&f->f_code, (PyObject *)code); }
static inline bool frame_is_fresh(Frame *f) { return f->prev_instr == _PyCode_CODE(f->f_code) - 1; }
static inline void frame_rewind(Frame *f) { f->prev_instr = _PyCode_CODE(f->f_code) - 1; }
#else
#if PY_VERSION_HEX < 0x030E0000
static inline PyCodeObject *frame_code(Frame *f) { return (PyCodeObject *)f->f_executable; }
static inline void frame_exchange_code(Frame *f, PyCodeObject *code) { exchange(&f->f_executable, (PyObject *)code); }
#else
static inline PyCodeObject *frame_code(Frame *f) { return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(f->f_executable); }
static inline void frame_exchange_code(Frame *f, PyCodeObject *code) {
  Slot old = f->f_executable;
  f->f_executable = PyStackRef_FromPyObjectNew(code);
  PyStackRef_CLOSE(old);
}
#endif
static inline bool frame_is_fresh(Frame *f) { return f->instr_ptr == _PyCode_CODE(frame_code(f)); }
static inline void frame_rewind(Frame *f) { f->instr_ptr = _PyCode_CODE(frame_code(f)); }
#endif

#if PY_VERSION_HEX < 0x030C0000
static inline PyFunctionObject *frame_function(Frame *f) { return f->f_func; }
static inline int frame_words(PyCodeObject *c) {
  return c->co_nlocalsplus + c->co_stacksize + (int)FRAME_SPECIALS_SIZE;
}
// Later frames of `code` reserve at least `words`: their size is computed from co_stacksize.
static inline void frame_reserve(PyCodeObject *code, int words) {
  int have = frame_words(code);
  if (have < words) code->co_stacksize += words - have;
}
constexpr bool kEvaluatorClearsFrame = false;
#else
#if PY_VERSION_HEX < 0x030E0000
static inline PyFunctionObject *frame_function(Frame *f) { return (PyFunctionObject *)f->f_funcobj; }
#else
static inline PyFunctionObject *frame_function(Frame *f) { return (PyFunctionObject *)slot_get(f->f_funcobj); }
#endif
static inline int frame_words(PyCodeObject *c) { return c->co_framesize; }
static inline void frame_reserve(PyCodeObject *code, int words) {
  if (code->co_framesize < words) code->co_framesize = words;
}
constexpr bool kEvaluatorClearsFrame = true;
#endif

// The stack of a frame that has not started is empty: it begins behind `n` locals.
static inline void frame_set_locals(Frame *f, int n) {
#if PY_VERSION_HEX < 0x030E0000
  f->stacktop = n;
#else
  f->stackpointer = f->localsplus + n;
#endif
}

// A nested evaluator of 3.12 and 3.13 takes two units of C recursion, of which 3.12.1 has fewer than Python's own limit allows.
// 3.14 measures the stack instead.
#if PY_VERSION_HEX < 0x030C0000 || PY_VERSION_HEX >= 0x030E0000
static inline void recursion_give(PyThreadState *, int) {}
static inline void recursion_take(PyThreadState *, int) {}
#else
static inline void recursion_give(PyThreadState *t, int n) { t->c_recursion_remaining += n; }
static inline void recursion_take(PyThreadState *t, int n) { t->c_recursion_remaining -= n; }
#endif

// The executable of a frame is not always code (None for entry frames of 3.13), and may have no function.
static inline bool frame_has_code(Frame *f) {
#if PY_VERSION_HEX < 0x030D0000
  return true;
#else
  return PyCode_Check(frame_code(f));
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

// The argument slots of a frame that has not started, as objects (borrowed).
#if PY_VERSION_HEX < 0x030E0000
struct FrameArguments {
  PyObject *const *slots;
  explicit FrameArguments(Frame *f) : slots(f->localsplus) {}
  operator PyObject *const *() const { return slots; }
};
#else
struct FrameArguments {
  PyObject *few[16];
  std::vector<PyObject *> many;
  PyObject **slots = few;
  explicit FrameArguments(Frame *f) {
    int n = code_argument_slots(frame_code(f));
    if (n > 16) {
      many.resize((size_t)n);
      slots = many.data();
    }
    for (int i = 0; i < n; i++) slots[i] = slot_get(f->localsplus[i]);
  }
  FrameArguments(const FrameArguments &) = delete;
  operator PyObject *const *() const { return slots; }
};
#endif

static inline bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
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
// dict_tag: where the tag of a dictionary stands. Every change gives it one that no dictionary had before. From 3.12 on the low
// bits say who watches it: a new watcher looks like a change.
#if PY_VERSION_HEX < 0x030E0000
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
static inline const uint64_t *dict_tag(PyObject *dict) { return &((PyDictObject *)dict)->ma_version_tag; }
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
static inline bool dict_tags_ready() { return true; }
#else
// 3.14 has none any more, so that they are kept here (dict_tag.cpp). NULL, without an exception, where that cannot be.
#define WEFT_KEEPS_DICT_TAGS
const uint64_t *dict_tag(PyObject *dict);
bool dict_tags_ready();
#endif

// The keys of a dictionary (pycore_dict.h): entries of a key and a value each, in the order in which they came, where all keys
// are exactly str. The values of a table that instances share stand apart.
struct DictKeys {
  Py_ssize_t refcnt;
  uint8_t log2_size, log2_index_bytes, kind;
  uint32_t version;
  Py_ssize_t usable, nentries;
  char indices[];
  PyObject **entries() { return (PyObject **)(indices + ((size_t)1 << log2_index_bytes)); }
};

// Whether looking a str up runs no Python, and each store changes the tag (see instance_dict_tracked).
static inline bool dict_has_only_names(PyObject *dict) {
  PyDictObject *d = (PyDictObject *)dict;
#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
  if (d->ma_values) return false;
#endif
  return ((DictKeys *)d->ma_keys)->kind != 0;
}

// What stands in the entry numbered `at`, borrowed, where that is an entry of exactly this key; NULL else.
static inline PyObject *dict_entry(PyObject *dict, Py_ssize_t at, PyObject *key) {
  PyDictObject *d = (PyDictObject *)dict;
  DictKeys *keys = (DictKeys *)d->ma_keys;
  if (at < 0 || at >= keys->nentries || keys->entries()[2 * at] != key) return NULL;
  if (d->ma_values) return ((PyObject **)d->ma_values)[at + (PY_VERSION_HEX >= 0x030D0000)]; // (from 3.13 on behind a word of sizes)
  return keys->entries()[2 * at + 1];
}

static inline Py_ssize_t dict_entry_of(PyObject *dict, PyObject *key) {
  DictKeys *keys = (DictKeys *)((PyDictObject *)dict)->ma_keys;
  for (Py_ssize_t at = 0; at < keys->nentries; at++)
    if (keys->entries()[2 * at] == key) return at;
  return -1;
}

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

// An OrderedDict keeps the order of its keys in a list beside the dictionary (Objects/odictobject.c, 3.11 to 3.14): moving a
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
#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
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
// ------------------------------------------------------------------------------------------- stored hashes
#if PY_VERSION_HEX >= 0x030d0000
extern "C" int _PySet_NextEntry(PyObject *set, Py_ssize_t *at, PyObject **key, Py_hash_t *hash);
extern "C" int _PyDict_SetItem_KnownHash(PyObject *dict, PyObject *key, PyObject *value, Py_hash_t hash);
#endif

// What a dict or set keeps of its keys: (key, hash) in the order of iteration, the keys borrowed. False with an exception set.
static inline bool keys_and_hashes(PyObject *container, std::vector<std::pair<PyObject *, Py_hash_t>> &found) {
  Py_ssize_t at = 0;
  PyObject *key, *value;
  Py_hash_t hash;
  if (PyAnySet_Check(container)) {
    while (_PySet_NextEntry(container, &at, &key, &hash)) found.push_back({key, hash});
    return true;
  }
#if PY_VERSION_HEX >= 0x030d0000
  // (_PyDict_Next is not exported any more.) A table of strings alone keeps no hashes: the strings do.
  DictKeys *table = (DictKeys *)((PyDictObject *)container)->ma_keys;
  if (table->kind != 0) {
    while (PyDict_Next(container, &at, &key, &value)) found.push_back({key, PyObject_Hash(key)});
    return true;
  }
  struct Entry {
    Py_hash_t hash;
    PyObject *key, *value; // value: NULL where the key was taken out
  } *entries = (Entry *)table->entries();
  for (Py_ssize_t i = 0; i < table->nentries; i++)
    if (entries[i].value) found.push_back({entries[i].key, entries[i].hash});
#else
  while (_PyDict_Next(container, &at, &key, &value, &hash)) found.push_back({key, hash});
#endif
  return true;
}
