// entry.cpp: entries, the states of code objects, and running a direct entry.
#include "entry.h"

#include "recursion.h"

#include <algorithm>
#include <string_view>
#include <structmember.h>

thread_local ThreadState tls;
PyObject *compiler = NULL;
PyObject *check_failed = NULL;
static CodeState *all_states = NULL;
static Py_ssize_t extra_index = -1;

// ------------------------------------------------------------------------------------ code objects
static void drop_entries(CodeState *state) {
  std::vector<Entry *> entries;
  entries.swap(state->entries);
  for (Entry *e : entries) e->home = NULL;
  for (Entry *e : entries) Py_DECREF(e);
}

// Something that the guards refer to is gone: nothing can use the entry any more, and its place is free.
static void entry_died(void *owner) {
  Entry *entry = (Entry *)owner;
  CodeState *home = entry->home;
  if (!home) return;
  entry->home = NULL;
  for (size_t i = 0; i < home->entries.size(); i++)
    if (home->entries[i] == entry) {
      home->entries.erase(home->entries.begin() + (ptrdiff_t)i);
      Py_DECREF(entry);
      return;
    }
}

static void state_free(void *p) {
  CodeState *state = (CodeState *)p;
  if (!state) return;
  if (state->previous)
    state->previous->next = state->next;
  else
    all_states = state->next;
  if (state->next) state->next->previous = state->previous;
  drop_entries(state);
  Py_XDECREF(state->record);
  delete state;
}

CodeState *find_state(PyCodeObject *code) {
  void *p = NULL;
  if (code_extra_get((PyObject *)code, extra_index, &p) < 0) {
    PyErr_Clear();
    return NULL;
  }
  return (CodeState *)p;
}

CodeState *code_state(PyCodeObject *code) {
  CodeState *state = find_state(code);
  if (state) return state;
  state = new CodeState{};
  state->code = code;
  if (code_extra_set((PyObject *)code, extra_index, state) < 0) {
    delete state;
    return NULL;
  }
  state->next = all_states;
  if (all_states) all_states->previous = state;
  all_states = state;
  return state;
}

// ----------------------------------------------------------------------------------------- look-up
Entry *find_entry(CodeState *state, PyObject *config, PyObject *const *args, PyFunctionObject *func,
                  std::vector<PyObject *> &spill, PyObject **&regs, Owned &owned) {
  constexpr int kInlineRegs = 256; // the room that the callers have on their stack
  for (size_t i = 0; i < state->entries.size(); i++) {
    Entry *entry = state->entries[i];
    if (entry->config != config) continue;
    if (entry->guards->n_regs > kInlineRegs && spill.size() < (size_t)entry->guards->n_regs) {
      spill.resize((size_t)entry->guards->n_regs);
      regs = spill.data();
    }
    Py_INCREF(entry); // a guard may run Python, which may reset everything
    if (guard_check(entry->guards, args, func, regs, owned)) {
      if (i > 0 && i < state->entries.size() && state->entries[i] == entry) {
        for (size_t j = i; j > 0; j--) state->entries[j] = state->entries[j - 1];
        state->entries[0] = entry;
      }
      entry->hits++;
      return entry;
    }
    Py_DECREF(entry);
  }
  return NULL;
}

static Py_ssize_t limit_of(PyObject *config, const char *name, Py_ssize_t otherwise) {
  Suspended off; // a property
  PyObject *value = PyObject_GetAttrString(config, name);
  Py_ssize_t limit = value ? PyLong_AsSsize_t(value) : otherwise;
  Py_XDECREF(value);
  PyErr_Clear();
  return limit;
}

// Whether there are as many entries of this config as there may be, or of all configs: `limit` of them.
static bool is_full(CodeState *state, PyObject *config, Py_ssize_t *limit) {
  Py_ssize_t n = 0;
  for (Entry *e : state->entries) n += e->config == config;
  *limit = limit_of(config, "recompile_limit", 8);
  if (n < *limit) {
    n = (Py_ssize_t)state->entries.size();
    *limit = n ? limit_of(config, "accumulated_recompile_limit", 256) : 1;
  }
  return n >= *limit;
}

Permission may_compile(CodeState *state, PyCodeObject *code, PyObject *config) {
  constexpr int kFrames = 32; // with fewer left, guards that call Python (a key's `__eq__`) fail for that alone
  if (!compiler || tls.mode != kCompile || state->compiling || state->closed || frames_left() < kFrames) return kNo;
  Py_ssize_t limit;
  if (!is_full(state, config, &limit)) return kYes;
  if (!state->limit_told) {
    Suspended off;
    PyGC_Collect(); // entries for what is garbage already (a class is always in a circle) go with it
    if (!is_full(state, config, &limit)) return kYes;
    PyObject *r = PyObject_CallMethod(compiler, "limit_reached", "OnO", (PyObject *)code, limit, config);
    if (!r) return kError;
    Py_DECREF(r);
    state->limit_told = true;
  }
  return kBeyondLimit;
}

// The object, kept until `owned` ends.
static PyObject *own(Owned &owned, PyObject *o) { return owned.items.push_back(Py_NewRef(o)), o; }

// The argument slots by name: a new dict.
static PyObject *named_arguments(PyCodeObject *code, PyObject *const *args) {
  PyObject *values = PyDict_New();
  int n = code_argument_slots(code);
  for (int i = 0; values && i < n; i++)
    if (args[i] && PyDict_SetItem(values, PyTuple_GET_ITEM(code->co_localsplusnames, i), args[i]) < 0) Py_CLEAR(values);
  return values;
}

bool tell_inconsistent(CodeState *state, PyCodeObject *code, PyFunctionObject *func, PyObject *const *args) {
  Suspended off;
  PyObject *values = named_arguments(code, args);
  Owned owned;
  PyObject *entry = own(owned, state->entries.empty() ? Py_None : (PyObject *)state->entries[0]);
  PyObject *told = values ? PyObject_CallMethod(own(owned, compiler), "guards_inconsistent", "OOOO", (PyObject *)code,
                                                (PyObject *)func, values, entry)
                          : NULL;
  Py_XDECREF(values);
  Py_XDECREF(told);
  return told != NULL;
}

PyObject *check_raised(PyObject *result, PyObject *expected, PyCodeObject *code, PyObject *config) {
  if (result && expected) {
    Suspended off;
    PyObject *told = PyObject_CallMethod(compiler, "did_not_raise", "OOO", (PyObject *)code, expected, config);
    if (!told) Py_CLEAR(result);
    Py_XDECREF(told);
  }
  Py_XDECREF(expected);
  return result;
}

int compile_frame(CodeState *state, PyCodeObject *code, PyFunctionObject *func, PyObject *const *args, PyObject *config,
                  PyObject **expected) {
  *expected = NULL;
  PyObject *values = named_arguments(code, args);
  if (!values) return -1;
  if (!state->record && !(state->record = PyDict_New())) {
    Py_DECREF(values);
    return -1;
  }
  Suspended off;
  constexpr int kRoom = 1000; // the frames of a compiler, which a program near its limit of recursion has not left
  Deeper deeper(kRoom);
  state->kind = kTracked;
  state->compiling = PyThread_get_thread_ident();
  Py_INCREF(code);
  Owned owned; // looking the method up may import the compiler, and let a thread in that resets everything
  PyObject *record = own(owned, state->record);
  PyObject *made = PyObject_CallMethod(own(owned, compiler), "compile_frame", "OOOOO", (PyObject *)code, (PyObject *)func, values,
                                       config, record);
  state->compiling = 0;
  Py_DECREF(values);
  int result = 0;
  if (!made) {
    result = -1;
  } else if (PyObject_TypeCheck(made, &Entry_Type)) {
    Entry *entry = (Entry *)made;
    result = 1;
    if (entry->home || entry->guards->n_args > code_argument_slots(code)) {
      PyErr_Format(PyExc_SystemError, "an entry for other code than %R", code);
      result = -1;
    } else if (!entry->guards->dead) {
      if (entry->code) frame_reserve(code, frame_words(entry->code));
      state->entries.insert(state->entries.begin(), (Entry *)Py_NewRef(made));
      entry->home = state;
    }
  } else if (made == Py_None) { // eager this time, and so is what it calls
    result = 2;
  } else if (PyExceptionClass_Check(made)) { // the same, and the call is to raise this
    result = 2;
    *expected = Py_NewRef(made);
  } else if (made == Py_False) { // never again
    state->closed = true;
    if (state->entries.empty()) state->kind = kSkip;
  }
  Py_XDECREF(made);
  Py_DECREF(code);
  return result;
}

// ------------------------------------------------------------------------------------------ direct
// The registers that the result hands on: while the graph runs, what they borrow from may be changed.
static void own_registers(const Result &r, PyObject *const *regs, Owned &owned) {
  if (r.kind == R_REG) owned.items.push_back(Py_NewRef(regs[r.index]));
  for (const Result &item : r.items) own_registers(item, regs, owned);
}

static bool has_register(const Result &r) {
  return r.kind == R_REG || std::any_of(r.items.begin(), r.items.end(), has_register);
}

// `regs` whose values are owned.
static PyObject *make_result(const Result &r, PyObject *outputs, PyObject *const *regs) {
  switch (r.kind) {
  case R_OUTPUT:
    if (r.index >= PyTuple_GET_SIZE(outputs)) {
      PyErr_Format(PyExc_SystemError, "a compiled graph returned %zd values, too few", PyTuple_GET_SIZE(outputs));
      return NULL;
    }
    return Py_NewRef(PyTuple_GET_ITEM(outputs, r.index));
  case R_CONST: return Py_NewRef(r.obj);
  case R_REG: return Py_NewRef(regs[r.index]);
  case R_TUPLE:
  case R_NAMED:
  case R_LIST: {
    Py_ssize_t n = (Py_ssize_t)r.items.size();
    PyObject *seq = r.kind == R_TUPLE   ? PyTuple_New(n)
                    : r.kind == R_NAMED ? ((PyTypeObject *)r.obj)->tp_alloc((PyTypeObject *)r.obj, n) // as tuple.__new__
                                        : PyList_New(n);
    for (Py_ssize_t i = 0; seq && i < n; i++) {
      PyObject *v = make_result(r.items[(size_t)i], outputs, regs);
      if (!v) {
        Py_DECREF(seq);
        return NULL;
      }
      if (r.kind == R_LIST)
        PyList_SET_ITEM(seq, i, v);
      else
        PyTuple_SET_ITEM(seq, i, v);
    }
    return seq;
  }
  case R_DICT: {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < r.items.size(); i++) {
      PyObject *v = make_result(r.items[i], outputs, regs);
      if (!v || PyDict_SetItem(dict, PyTuple_GET_ITEM(r.obj, (Py_ssize_t)i), v) < 0) Py_CLEAR(dict);
      Py_XDECREF(v);
    }
    return dict;
  }
  }
  return NULL;
}

// What PyObject_Vectorcall does, without a call of the interpreter's library.
static inline PyObject *call_graph(PyObject *graph, PyObject *const *args, size_t n) {
  PyTypeObject *type = Py_TYPE(graph);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL)) return PyObject_Vectorcall(graph, args, n, NULL);
  vectorcallfunc function;
  memcpy(&function, (char *)graph + type->tp_vectorcall_offset, sizeof function);
  return function ? function(graph, args, n, NULL) : PyObject_Vectorcall(graph, args, n, NULL);
}

PyObject *run_direct(Entry *entry, PyObject *const *regs, bool *rerun) {
  *rerun = false;
  size_t n = entry->inputs->size();
  PyObject *small[64];
  std::vector<PyObject *> large;
  PyObject **in = small;
  if (n > 64) {
    large.resize(n);
    in = large.data();
  }
  Owned handed_on;
  if (entry->hands_on) own_registers(*entry->result, regs, handed_on);
  for (size_t i = 0; i < n; i++) in[i] = Py_NewRef(regs[(*entry->inputs)[i]]);
  PyObject *outputs = entry->graph ? call_graph(entry->graph, in, n) : PyTuple_New(0);
  PyObject *result = NULL;
  if (!outputs) {
    *rerun = check_failed && PyErr_ExceptionMatches(check_failed);
  } else if (!PyTuple_CheckExact(outputs)) {
    PyObject *tuple = PySequence_Tuple(outputs); // a backend of the user's may return a list
    Py_DECREF(outputs);
    outputs = tuple;
  }
  const Result &made = *entry->result;
  if (outputs && made.kind == R_OUTPUT && made.index < PyTuple_GET_SIZE(outputs)) result = Py_NewRef(PyTuple_GET_ITEM(outputs, made.index));
  else if (outputs) result = make_result(made, outputs, regs);
  Py_XDECREF(outputs);
  for (size_t i = 0; i < n; i++) Py_DECREF(in[i]);
  return result;
}

// ------------------------------------------------------------------------------------- Python type
static bool read_result(PyObject *spec, Result &out, int n_regs) {
  const char *kind;
  PyObject *value;
  if (!PyArg_ParseTuple(spec, "sO", &kind, &value)) return false;
  out = Result{};
  std::string_view k(kind);
  if (k == "output" || k == "reg") {
    out.kind = k == "reg" ? R_REG : R_OUTPUT;
    out.index = PyLong_AsLongLong(value);
    if (PyErr_Occurred()) return false;
    if (out.index >= 0 && (out.kind == R_OUTPUT || out.index < n_regs)) return true;
    PyErr_Format(PyExc_ValueError, "no %s %lld", kind, (long long)out.index);
    return false;
  }
  if (k == "const") {
    out.kind = R_CONST;
    out.obj = Py_NewRef(value);
    return true;
  }
  PyObject *items = value;
  if (k == "dict") {
    PyObject *keys;
    if (!PyArg_ParseTuple(value, "O!O!", &PyTuple_Type, &keys, &PyTuple_Type, &items)) return false;
    out.kind = R_DICT;
    out.obj = Py_NewRef(keys);
  } else if (k == "named") {
    PyObject *cls;
    if (!PyArg_ParseTuple(value, "O!O!", &PyType_Type, &cls, &PyTuple_Type, &items)) return false;
    if (!PyType_IsSubtype((PyTypeObject *)cls, &PyTuple_Type)) {
      PyErr_Format(PyExc_TypeError, "a class of tuples, not %R", cls);
      return false;
    }
    out.kind = R_NAMED;
    out.obj = Py_NewRef(cls);
  } else {
    out.kind = k == "list" ? R_LIST : R_TUPLE;
  }
  if (!PyTuple_Check(items) || (out.kind == R_DICT && PyTuple_GET_SIZE(items) != PyTuple_GET_SIZE(out.obj))) {
    PyErr_Format(PyExc_TypeError, "the items of a %s, not %R", kind, items);
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
    out.items.emplace_back();
    if (!read_result(PyTuple_GET_ITEM(items, i), out.items.back(), n_regs)) return false;
  }
  return !PyErr_Occurred();
}

static void free_result(Result &r) {
  Py_XDECREF(r.obj);
  for (Result &item : r.items) free_result(item);
}

static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *config, *guards, *code = Py_None, *graph = Py_None, *inputs = NULL, *result = NULL, *info = Py_None;
  int opens_window = 0, eager = 0;
  static const char *names[] = {"config", "guards", "code", "graph", "inputs", "result", "info", "opens_window", "eager", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!|OOO!O!Opp", (char **)names, &config, &GuardProgram_Type, &guards, &code,
                                   &graph, &PyTuple_Type, &inputs, &PyTuple_Type, &result, &info, &opens_window, &eager))
    return NULL;
  if (code != Py_None && !PyCode_Check(code)) {
    PyErr_SetString(PyExc_TypeError, "code: a code object or None");
    return NULL;
  }
  if ((code != Py_None) + (result != NULL) + eager != 1) {
    PyErr_SetString(PyExc_TypeError, "an entry has either code or a result, or is eager");
    return NULL;
  }
  Entry *e = (Entry *)type->tp_alloc(type, 0);
  if (!e) return NULL;
  e->config = Py_NewRef(config);
  e->guards = (GuardProgram *)Py_NewRef(guards);
  e->code = code == Py_None ? NULL : (PyCodeObject *)Py_NewRef(code);
  e->graph = graph == Py_None ? NULL : Py_NewRef(graph);
  e->info = Py_NewRef(info);
  e->opens_window = opens_window;
  e->eager = eager;
  e->inputs = new std::vector<uint16_t>;
  for (Py_ssize_t i = 0; inputs && i < PyTuple_GET_SIZE(inputs); i++)
    e->inputs->push_back((uint16_t)PyLong_AsLong(PyTuple_GET_ITEM(inputs, i)));
  if (result) e->result = new Result;
  if (PyErr_Occurred() || (result && !read_result(result, *e->result, e->guards->n_regs))) {
    Py_DECREF(e);
    return NULL;
  }
  for (uint16_t r : *e->inputs)
    if (r >= e->guards->n_regs) {
      PyErr_Format(PyExc_ValueError, "input %d is no register of the guards", (int)r);
      Py_DECREF(e);
      return NULL;
    }
  e->hands_on = result && (e->graph || e->result->kind != R_REG) && has_register(*e->result); // (else nothing runs)
  e->guards->owner = e, e->guards->died = entry_died;
  return (PyObject *)e;
}

static void entry_dealloc(PyObject *self) {
  Entry *e = (Entry *)self;
  if (e->guards && e->guards->owner == e) e->guards->owner = NULL, e->guards->died = NULL;
  Py_XDECREF(e->config);
  Py_XDECREF(e->guards);
  Py_XDECREF(e->code);
  Py_XDECREF(e->graph);
  Py_XDECREF(e->info);
  if (e->result) free_result(*e->result);
  delete e->result;
  delete e->inputs;
  Py_TYPE(self)->tp_free(self);
}

static PyMemberDef entry_members[] = {
    {"config", T_OBJECT, offsetof(Entry, config), READONLY, NULL},
    {"guards", T_OBJECT, offsetof(Entry, guards), READONLY, NULL},
    {"code", T_OBJECT, offsetof(Entry, code), READONLY, NULL},
    {"graph", T_OBJECT, offsetof(Entry, graph), READONLY, NULL},
    {"info", T_OBJECT, offsetof(Entry, info), READONLY, NULL},
    {"hits", T_LONGLONG, offsetof(Entry, hits), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Entry_Type = {PyVarObject_HEAD_INIT(NULL, 0)};

// -------------------------------------------------------------------------------- module functions
static PyObject *set_compiler(PyObject *, PyObject *args) {
  PyObject *object, *failure;
  if (!PyArg_ParseTuple(args, "OO", &object, &failure)) return NULL;
  Py_XSETREF(compiler, Py_NewRef(object));
  Py_XSETREF(check_failed, failure == Py_None ? NULL : Py_NewRef(failure));
  Py_RETURN_NONE;
}

static PyObject *entries_of(PyObject *, PyObject *code) {
  if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "entries(code): a code object, not %R", code);
  CodeState *state = find_state((PyCodeObject *)code);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && state && i < state->entries.size(); i++)
    if (PyList_Append(list, (PyObject *)state->entries[i]) < 0) Py_CLEAR(list);
  return list;
}

static PyObject *set_continues(PyObject *, PyObject *code) {
  if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "continues(code): a code object, not %R", code);
  CodeState *state = code_state((PyCodeObject *)code);
  if (!state) return NULL;
  state->continues = true;
  Py_RETURN_NONE;
}

static PyObject *record_of(PyObject *, PyObject *code) {
  if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "record(code): a code object, not %R", code);
  CodeState *state = code_state((PyCodeObject *)code);
  if (!state || (!state->record && !(state->record = PyDict_New()))) return NULL;
  return Py_NewRef(state->record);
}

static PyObject *skip(PyObject *, PyObject *args) {
  PyObject *code;
  int recursive = 0;
  if (!PyArg_ParseTuple(args, "O!|p", &PyCode_Type, &code, &recursive)) return NULL;
  CodeState *state = code_state((PyCodeObject *)code);
  if (!state) return NULL;
  state->kind = recursive ? kSkipRecursive : kSkip;
  Py_RETURN_NONE;
}

static void reset_state(CodeState *state) {
  drop_entries(state);
  Py_CLEAR(state->record);
  state->limit_told = state->closed = false;
  state->kind = kUnseen;
}

// Dropping an entry may free code objects, and with them states: start again after each that held something.
static PyObject *reset(PyObject *, PyObject *args) {
  PyObject *code = Py_None;
  if (!PyArg_ParseTuple(args, "|O", &code)) return NULL;
  if (code != Py_None) {
    CodeState *state = PyCode_Check(code) ? find_state((PyCodeObject *)code) : NULL;
    if (state) reset_state(state);
    Py_RETURN_NONE;
  }
  for (CodeState *s = all_states; s;) {
    if (s->entries.empty() && !s->record) {
      s->limit_told = s->closed = false;
      s->kind = kUnseen;
      s = s->next;
    } else {
      PyObject *alive = Py_NewRef(s->code);
      reset_state(s);
      Py_DECREF(alive);
      s = all_states;
    }
  }
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_compiler", set_compiler, METH_VARARGS, "set_compiler(module, exception class that asks for a rerun in eager, or None)"},
    {"entries", entries_of, METH_O, "entries(code) -> list of entries, most recently used first"},
    {"continues", set_continues, METH_O, "continues(code): it goes on with a frame behind a break, in that frame's place"},
    {"record", record_of, METH_O, "record(code) -> dict that lives with the code object"},
    {"skip", skip, METH_VARARGS, "skip(code, recursive=False): never capture it (nor, recursive, what it calls)"},
    {"reset", reset, METH_VARARGS, "reset(code=None): forget the entries of a code object, or of all"},
    {NULL, NULL, 0, NULL},
};

bool entry_ready(PyObject *module) {
  PyTypeObject &t = Entry_Type;
  t.tp_name = "dynamo._eval_frame.Entry";
  t.tp_doc = "One compilation of a code object: guards, and code or a direct graph call.";
  t.tp_basicsize = sizeof(Entry);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_new = entry_new;
  t.tp_dealloc = entry_dealloc;
  t.tp_members = entry_members;
  extra_index = code_extra_index(state_free);
  return extra_index >= 0 && PyType_Ready(&t) == 0 && PyModule_AddObjectRef(module, "Entry", (PyObject *)&t) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
