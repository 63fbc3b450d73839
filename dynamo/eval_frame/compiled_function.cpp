// compiled_function.cpp: what weft.compile returns for a function.
//
// A call with plain positional arguments checks guards on the argument array itself; a hit on a direct entry runs the graph
// with no frame at all. Any other call goes to the function with the hook open, so that CPython binds the arguments.
#include "entry.h"

#include <structmember.h>

PyObject *call_uncaptured(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames);


struct CompiledFunction {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyFunctionObject *function; // owned
  PyObject *config;           // owned; None: calls the function with capture off
  PyCodeObject *code;         // owned: whose state is `state`
  CodeState *state;
  std::vector<PyFunctionObject *> *functions; // owned: they run the code of entries with the closure of the original
  PyObject *otherwise;        // owned or NULL: called instead where no entry answers
  PyObject *dict;
  PyObject *weakrefs;
};

static Mode stance = kCompile; // of the process
static bool forced = false;    // every call is compiled by the backend that the stance names: see call_unusual

// Restores this thread's state at the end of a call.
struct Window {
  ThreadState saved;
  Window(PyObject *config, PyCodeObject *passing) : saved(tls) {
    tls.config = config;
    tls.mode = stance;
    tls.passing = passing;
    hook_open();
  }
  ~Window() {
    hook_close();
    tls.config = saved.config, tls.mode = saved.mode;
    tls.passing = saved.passing;
  }
};

static bool refresh_code(CompiledFunction *self) {
  PyCodeObject *code = (PyCodeObject *)self->function->func_code;
  CodeState *state = code_state(code);
  if (!state) return false;
  Py_INCREF(code);
  Py_XSETREF(self->code, code);
  self->state = state;
  return true;
}

// Runs the original after a graph refused its data; eager is expected to raise, mostly: `rerun_returned` says.
static PyObject *rerun_eager(CompiledFunction *self, PyObject *const *args, size_t nargsf) {
  PyObject *type, *refusal, *traceback;
  PyErr_Fetch(&type, &refusal, &traceback);
  PyErr_NormalizeException(&type, &refusal, &traceback);
  PyObject *result = call_uncaptured((PyObject *)self->function, args, nargsf, NULL);
  if (result && compiler) {
    PyObject *told = PyObject_CallMethod(compiler, "rerun_returned", "OO", (PyObject *)self->code, refusal);
    if (!told) Py_CLEAR(result);
    Py_XDECREF(told);
  }
  Py_XDECREF(type);
  Py_XDECREF(refusal);
  Py_XDECREF(traceback);
  return result;
}

// Drops the functions whose code is no entry's any more (all of them: `state` NULL).
static void drop_functions(CompiledFunction *self, const CodeState *state) {
  std::vector<PyFunctionObject *> kept, dropped;
  for (PyFunctionObject *f : *self->functions) {
    bool used = false;
    for (size_t i = 0; state && i < state->entries.size(); i++) used |= (PyObject *)state->entries[i]->code == f->func_code;
    (used ? kept : dropped).push_back(f);
  }
  self->functions->swap(kept);
  for (PyFunctionObject *f : dropped) Py_DECREF(f);
}

static PyObject *entry_function(CompiledFunction *self, Entry *entry) {
  for (PyFunctionObject *f : *self->functions)
    if (f->func_code == (PyObject *)entry->code) return (PyObject *)f;
  PyFunctionObject *f = self->function;
  PyObject *made = PyFunction_NewWithQualName((PyObject *)entry->code, f->func_globals, f->func_qualname);
  if (!made) return NULL;
  if (f->func_closure && PyFunction_SetClosure(made, f->func_closure) < 0) {
    Py_DECREF(made);
    return NULL;
  }
  PyFunctionObject *g = (PyFunctionObject *)made;
  Py_XSETREF(g->func_name, Py_NewRef(f->func_name));
  drop_functions(self, self->state);
  self->functions->push_back(g);
  return made;
}

// A hit on an entry with code: a function of that code runs it; only foreign Python in it needs the hook.
static PyObject *run_code(CompiledFunction *self, PyObject *config, Entry *entry, PyObject *const *args, size_t nargsf) {
  PyObject *function = entry_function(self, entry);
  if (!function) return NULL;
  Py_INCREF(function);
  PyObject *result;
  if (entry->opens_window) {
    Window window(config, entry->code); // the frame of this very code passes
    result = PyObject_Vectorcall(function, args, nargsf, NULL);
  } else {
    result = call_uncaptured(function, args, nargsf, NULL);
  }
  Py_DECREF(function);
  return result;
}

// The call whose guards passed. Steals `entry`.
static inline PyObject *run_entry(CompiledFunction *self, PyObject *config, Entry *entry, PyObject *const *regs,
                                  PyObject *const *args, size_t nargsf) {
  PyObject *result;
  if (entry->eager) {
    result = call_uncaptured((PyObject *)self->function, args, nargsf, NULL);
  } else if (entry->code) {
    result = run_code(self, config, entry, args, nargsf);
  } else {
    bool rerun;
    result = run_direct(entry, regs, &rerun);
    if (rerun) result = rerun_eager(self, args, nargsf);
  }
  Py_DECREF(entry);
  return result;
}

// `looked`: this frame was looked at already, so that the hook lets it pass.
static PyObject *run_open(CompiledFunction *self, PyObject *config, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                          bool looked) {
  Window window(config, looked ? self->code : NULL);
  return PyObject_Vectorcall((PyObject *)self->function, args, nargsf, kwnames);
}

static PyObject *miss(CompiledFunction *self, PyObject *config, PyObject *const *args, size_t nargsf);

static inline PyObject *call_captured(CompiledFunction *self, PyObject *config, PyObject *const *args, size_t nargsf,
                                      PyObject *kwnames);

// A call that is left to Python, or under a stance that is not the default.
__attribute__((noinline)) static PyObject *call_unusual(CompiledFunction *self, PyObject *const *args, size_t nargsf,
                                                        PyObject *kwnames) {
  if (self->config == Py_None || stance == kOff) {
    if (self->otherwise) return PyObject_Vectorcall(self->otherwise, args, nargsf, kwnames);
    return call_uncaptured((PyObject *)self->function, args, nargsf, kwnames);
  }
  if (!forced || !compiler) return call_captured(self, self->config, args, nargsf, kwnames);
  PyObject *config = PyObject_CallMethod(compiler, "forced_config", "O", self->config);
  if (!config) return NULL;
  Py_INCREF(self);
  PyObject *result = call_captured(self, config, args, nargsf, kwnames);
  Py_DECREF(self);
  Py_DECREF(config);
  return result;
}

static PyObject *call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  CompiledFunction *self = (CompiledFunction *)callable;
  if (__builtin_expect(self->config == Py_None || stance != kCompile || forced, 0))
    return call_unusual(self, args, nargsf, kwnames);
  return call_captured(self, self->config, args, nargsf, kwnames);
}

// `config`: what the call is compiled for, the function's own unless a stance says another.
static inline PyObject *call_captured(CompiledFunction *self, PyObject *config, PyObject *const *args, size_t nargsf,
                                      PyObject *kwnames) {
  if ((PyObject *)self->code != self->function->func_code && !refresh_code(self)) return NULL;
  PyCodeObject *code = self->code;
  constexpr int kNotPlain = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  bool plain = !kwnames && PyVectorcall_NARGS(nargsf) == code->co_argcount && !code->co_kwonlyargcount &&
               !(code->co_flags & kNotPlain);
  if (self->otherwise && (!plain || self->state->kind == kSkip || self->state->kind == kSkipRecursive))
    return PyObject_Vectorcall(self->otherwise, args, nargsf, kwnames);
  if (!plain || self->state->kind == kSkip) return run_open(self, config, args, nargsf, kwnames, false);
  if (self->state->kind == kSkipRecursive) return call_uncaptured((PyObject *)self->function, args, nargsf, kwnames);
  PyObject *inline_regs[256], **regs = inline_regs;
  std::vector<PyObject *> spill;
  Owned owned;
  Entry *entry = find_entry(self->state, config, args, self->function, spill, regs, owned);
  if (!entry) return miss(self, config, args, nargsf);
  return run_entry(self, config, entry, regs, args, nargsf);
}

__attribute__((noinline)) static PyObject *miss(CompiledFunction *self, PyObject *config, PyObject *const *args,
                                                size_t nargsf) {
  if (self->otherwise) return PyObject_Vectorcall(self->otherwise, args, nargsf, NULL);
  int made = 0;
  PyObject *expected = NULL;
  {
    Mode mode = tls.mode;
    tls.mode = stance; // may_compile and compile_frame ask this thread's mode
    Permission permission = may_compile(self->state, self->code, config);
    if (permission == kYes)
      made = compile_frame(self->state, self->code, self->function, args, config, &expected);
    else if (permission != kNo)
      made = permission == kError ? -1 : 2;
    tls.mode = mode;
  }
  if (made < 0) return NULL;
  if (self->state->kind == kSkipRecursive || made == 2) {
    PyObject *code = Py_NewRef(self->code); // a call may exchange it
    PyObject *result = call_uncaptured((PyObject *)self->function, args, nargsf, NULL);
    result = check_raised(result, expected, (PyCodeObject *)code, config);
    Py_DECREF(code);
    return result;
  }
  if (!made) return run_open(self, config, args, nargsf, NULL, true);
  PyObject *inline_regs[256], **regs = inline_regs;
  std::vector<PyObject *> spill;
  Owned owned;
  Entry *entry = find_entry(self->state, config, args, self->function, spill, regs, owned);
  if (!entry) {
    if (!tell_inconsistent(self->state, self->code, self->function, args)) return NULL;
    return run_open(self, config, args, nargsf, NULL, true);
  }
  return run_entry(self, config, entry, regs, args, nargsf);
}

// ------------------------------------------------------------------------------------- Python type
static PyObject *compiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *function, *config = Py_None, *otherwise = Py_None;
  static const char *names[] = {"function", "config", "otherwise", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OO", (char **)names, &PyFunction_Type, &function, &config, &otherwise))
    return NULL;
  CompiledFunction *self = (CompiledFunction *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = call;
  self->function = (PyFunctionObject *)Py_NewRef(function);
  self->config = Py_NewRef(config);
  self->functions = new std::vector<PyFunctionObject *>;
  self->otherwise = otherwise == Py_None ? NULL : Py_NewRef(otherwise);
  if (!refresh_code(self)) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int compiled_traverse(PyObject *o, visitproc visit, void *arg) {
  CompiledFunction *self = (CompiledFunction *)o;
  Py_VISIT(self->function);
  Py_VISIT(self->config);
  Py_VISIT(self->otherwise);
  Py_VISIT(self->dict);
  if (self->functions)
    for (PyFunctionObject *f : *self->functions) Py_VISIT(f);
  return 0;
}

static int compiled_clear(PyObject *o) {
  CompiledFunction *self = (CompiledFunction *)o;
  if (self->functions) drop_functions(self, NULL);
  Py_CLEAR(self->otherwise);
  Py_CLEAR(self->dict);
  return 0;
}

static void compiled_dealloc(PyObject *o) {
  CompiledFunction *self = (CompiledFunction *)o;
  PyObject_GC_UnTrack(o);
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  compiled_clear(o);
  delete self->functions;
  Py_XDECREF(self->function);
  Py_XDECREF(self->config);
  Py_XDECREF(self->code);
  Py_TYPE(o)->tp_free(o);
}

static PyObject *compiled_get(PyObject *self, PyObject *object, PyObject *) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

// Whatever the wrapper does not have (its name, defaults, signature, attributes the user set) is the function's.
static PyObject *compiled_getattro(PyObject *o, PyObject *name) {
  PyObject *v = PyObject_GenericGetAttr(o, name);
  if (v || !PyErr_ExceptionMatches(PyExc_AttributeError)) return v;
  PyErr_Clear();
  return PyObject_GetAttr((PyObject *)((CompiledFunction *)o)->function, name);
}

static PyObject *compiled_repr(PyObject *o) {
  return PyUnicode_FromFormat("<compiled function %U at %p>", ((CompiledFunction *)o)->function->func_qualname, o);
}

static PyObject *compiled_doc(PyObject *o, void *) {
  PyObject *doc = ((CompiledFunction *)o)->function->func_doc;
  return Py_NewRef(doc ? doc : Py_None);
}

static PyMemberDef compiled_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(CompiledFunction, function), READONLY, NULL},
    {"config", T_OBJECT, offsetof(CompiledFunction, config), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(CompiledFunction, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledFunction, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyGetSetDef compiled_getset[] = {
    {"__doc__", compiled_doc, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject CompiledFunction_Type = {PyVarObject_HEAD_INIT(NULL, 0)};

static PyObject *set_stance(PyObject *, PyObject *arg) {
  const char *name = PyUnicode_AsUTF8(arg);
  if (!name) return NULL;
  static const char *const names[] = {"eager", "run_only", "compile", "forced"};
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) {
      PyObject *old = PyUnicode_FromString(names[forced ? 3 : stance]);
      forced = i == 3;
      stance = forced ? kCompile : (Mode)i;
      return old;
    }
  return PyErr_Format(PyExc_ValueError, "stance: 'eager', 'run_only', 'compile' or 'forced', not %R", arg);
}

// What enter() hands out, in a capsule: it keeps alive what the thread captures for, and knows what was before.
struct Entered {
  PyObject *config, *before; // owned
  Mode mode;
  const void *thread; // NULL once it is closed
};
static const char *const ENTERED = "dynamo._eval_frame.enter";

static void drop_entered(PyObject *capsule) {
  Entered *entered = (Entered *)PyCapsule_GetPointer(capsule, ENTERED);
  if (!entered->thread) { // (one that was never left goes on being used)
    Py_DECREF(entered->config);
    Py_XDECREF(entered->before);
    delete entered;
  }
}

// Until leave() this thread captures the frames that start.
static PyObject *enter(PyObject *, PyObject *args) {
  PyObject *config;
  int run_only = 0;
  if (!PyArg_ParseTuple(args, "O|p", &config, &run_only)) return NULL;
  PyObject *limit = PyObject_GetAttrString(config, "recompile_limit");
  if (!limit) return PyErr_Format(PyExc_TypeError, "enter: a Config, not %.200s", Py_TYPE(config)->tp_name);
  Py_DECREF(limit);
  Entered *entered = new Entered{Py_NewRef(config), Py_XNewRef(tls.config), tls.mode, NULL};
  PyObject *before = PyCapsule_New(entered, ENTERED, drop_entered);
  if (!before) return NULL;
  entered->thread = &tls;
  tls.config = config;
  tls.mode = run_only ? kRunOnly : stance;
  hook_open();
  return before;
}

static PyObject *leave(PyObject *, PyObject *before) {
  if (!PyCapsule_IsValid(before, ENTERED)) return PyErr_Format(PyExc_TypeError, "leave: what enter() gave, not %.200s", Py_TYPE(before)->tp_name);
  Entered *entered = (Entered *)PyCapsule_GetPointer(before, ENTERED);
  if (entered->thread != &tls || tls.config != entered->config) {
    PyErr_SetString(PyExc_RuntimeError, "leave: not what this thread entered last");
    return NULL;
  }
  entered->thread = NULL;
  hook_close();
  tls.config = entered->before;
  tls.mode = entered->mode;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"enter", enter, METH_VARARGS,
     "enter(config, run_only=False) -> before: this thread captures for config, which the caller keeps alive; run_only: it makes "
     "no new entries"},
    {"leave", leave, METH_O, "leave(before): ends what enter() began"},
    {"set_stance", set_stance, METH_O, "set_stance(name) -> the one before: 'compile', 'forced' (as compiler.forced_config says), 'run_only' (no new entries), 'eager'"},
    {NULL, NULL, 0, NULL},
};

bool compiled_function_ready(PyObject *module) {
  PyTypeObject &t = CompiledFunction_Type;
  t.tp_name = "dynamo._eval_frame.CompiledFunction";
  t.tp_basicsize = sizeof(CompiledFunction);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  t.tp_new = compiled_new;
  t.tp_dealloc = compiled_dealloc;
  t.tp_traverse = compiled_traverse;
  t.tp_clear = compiled_clear;
  t.tp_call = PyVectorcall_Call;
  t.tp_vectorcall_offset = offsetof(CompiledFunction, vectorcall);
  t.tp_dictoffset = offsetof(CompiledFunction, dict);
  t.tp_weaklistoffset = offsetof(CompiledFunction, weakrefs);
  t.tp_descr_get = compiled_get;
  t.tp_getattro = compiled_getattro;
  t.tp_repr = compiled_repr;
  t.tp_members = compiled_members;
  t.tp_getset = compiled_getset;
  return PyType_Ready(&t) == 0 && PyModule_AddObjectRef(module, "CompiledFunction", (PyObject *)&t) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
