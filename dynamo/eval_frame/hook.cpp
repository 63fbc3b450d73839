// hook.cpp: the frame evaluation hook (PEP 523).
//
// It is in the interpreter only while some compiled call may run Python that is to be captured. A frame about to start is
// matched against the entries of its code object; on a hit its code is exchanged in place and the stock evaluator runs it,
// or the graph is called and the frame ends with the result. Everything else passes.
#include "entry.h"

#include <algorithm>
#include <pthread.h>

// What was in the interpreter below ours. More than one where somebody put a hook above ours while a window was open, and
// kept it: that hook still calls ours when the next window puts ours above it, so that one frame comes here several times.
// Its first arrival goes on to the last of these, the second to the one before.
static std::vector<_PyFrameEvalFunction> below;
struct Arrival {
  Frame *frame; // the frame last sent on by this thread
  size_t times;
};
static thread_local Arrival arrived __attribute__((tls_model("initial-exec")));
static int window_count = 0;               // windows open in all threads
static thread_local int my_windows __attribute__((tls_model("initial-exec"))) = 0;    // of them, this thread's
static PyCodeObject *stub = NULL;          // returns its only argument, and has no RESUME: no tracing event fires
constexpr size_t kStackReserve = 192 * 1024;

static PyObject *hook(PyThreadState *ts, Frame *frame, int throwflag);

// ----------------------------------------------------------------------------------------- windows
static void windows_add(int n) {
  if (n == 0) return;
  PyInterpreterState *interp = PyInterpreterState_Get();
  _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interp);
  if (window_count == 0 && n > 0 && current != hook) {
    auto known = std::find(below.begin(), below.end(), current);
    if (known == below.end())
      below.push_back(current);
    else
      below.erase(known + 1, below.end()); // what it calls is what stands before it
    _PyInterpreterState_SetEvalFrameFunc(interp, hook);
  }
  window_count += n;
  // Somebody else may have put a hook above ours since: it stays, and ours lets everything pass.
  if (window_count == 0 && current == hook && n < 0) {
    _PyInterpreterState_SetEvalFrameFunc(interp, below.empty() ? _PyEval_EvalFrameDefault : below.back());
    if (!below.empty()) below.pop_back();
  }
}

bool hook_open() {
  my_windows++;
  windows_add(1);
  return true;
}

void hook_close() {
  my_windows--;
  windows_add(-1);
}

Suspended::Suspended() : windows(my_windows) {
  my_windows = 0;
  windows_add(-windows);
}

Suspended::~Suspended() {
  my_windows += windows;
  windows_add(windows);
}

PyObject *call_uncaptured(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  Suspended s;
  return PyObject_Vectorcall(callable, args, nargsf, kwnames);
}

// ---------------------------------------------------------------------------------------- C stack
static const char *find_stack_limit() {
  pthread_attr_t attributes;
  void *low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
  }
  return size > 2 * kStackReserve ? (const char *)low + kStackReserve : (const char *)1;
}

// Nested evaluators use C stack, which Python's own recursion limit does not know of.
static bool stack_exhausted() {
  if (!tls.stack_limit) tls.stack_limit = find_stack_limit();
  return (const char *)__builtin_frame_address(0) < tls.stack_limit;
}

static PyObject *evaluate(PyThreadState *ts, Frame *frame, int throwflag) {
  if (__builtin_expect(stack_exhausted(), 0)) {
    if (!throwflag) PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the C stack is used up");
    throwflag = 1; // lets the evaluator tear the frame down
  }
  Arrival before = arrived;
  size_t times = before.frame == frame ? before.times : 0;
  arrived = {frame, times + 1};
  _PyFrameEvalFunction next = times < below.size() ? below[below.size() - 1 - times] : _PyEval_EvalFrameDefault;
  recursion_give(ts, 2);
  PyObject *result = next(ts, frame, throwflag);
  recursion_take(ts, 2);
  arrived = before;
  return result;
}

// ------------------------------------------------------------------------------------------ frames
static bool capturable(Frame *f) {
  if (f->owner != FRAME_OWNED_BY_THREAD || !frame_has_code(f) || f->f_locals || !frame_is_fresh(f)) return false;
  constexpr int kGenerator = CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR;
  int flags = frame_code(f)->co_flags;
  return (flags & (CO_OPTIMIZED | CO_NEWLOCALS)) == (CO_OPTIMIZED | CO_NEWLOCALS) && !(flags & kGenerator) &&
         frame_function(f) && PyFunction_Check(frame_function(f));
}

static bool swap_code(PyThreadState *ts, Frame *f, PyCodeObject *code) {
  PyCodeObject *old = frame_code(f);
  PyObject **base = (PyObject **)f;
  int need = frame_words(code), n_args = code_argument_slots(old);
  if (ts->datastack_top - base < need) {
    if (ts->datastack_limit - base <= need) return false;
    ts->datastack_top = base + need; // leaving the frame resets it to the frame's base
  }
  for (int i = n_args; i < code->co_nlocalsplus; i++) slot_init(&f->localsplus[i], NULL);
  frame_exchange_code(f, code);
  frame_set_locals(f, code->co_nlocalsplus);
  frame_rewind(f);
  return true;
}

// Ends a frame that never ran with `result` (stolen).
static PyObject *finish(PyThreadState *ts, Frame *f, PyObject *result) {
  if (!kEvaluatorClearsFrame) return result;
  int n_args = code_argument_slots(frame_code(f));
  for (int i = 0; i < n_args; i++) slot_set(&f->localsplus[i], NULL);
  if (!swap_code(ts, f, stub)) {
    Py_DECREF(result);
    PyErr_NoMemory();
    return evaluate(ts, f, 1);
  }
  slot_init(&f->localsplus[0], result);
  return evaluate(ts, f, 0);
}

// Whether code is the import system's. It runs with locks held that the compiler, which imports its parts, may wait for: no
// Python of ours runs below it.
static bool imports(PyCodeObject *code) {
  const char *file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) PyErr_Clear();
  return file && (strncmp(file, "<frozen importlib", 17) == 0 || strncmp(file, "<frozen zipimport", 17) == 0);
}

enum Action { kPass, kPassUncaptured, kSwap, kSwapUncaptured, kFinished, kRaise };

// What to do with a capturable frame. The registers of guards live on this function's stack, not below the evaluator.
__attribute__((noinline)) static Action decide(PyThreadState *ts, Frame *frame, PyObject **result, PyObject **expected) {
  ThreadState &t = tls;
  PyCodeObject *code = frame_code(frame);
  PyFunctionObject *func = frame_function(frame);
  FrameArguments args(frame);
  PyObject *config = t.config;
  PyObject *inline_regs[256], **regs = inline_regs;
  std::vector<PyObject *> spill;
  Owned owned;
  Entry *entry = NULL;
  CodeState *state = find_state(code);
  if (t.passing == code) { // CompiledFunction has looked already
    t.passing = NULL;
    return kPass;
  }
  if (!state && !(state = code_state(code))) {
    PyErr_Clear();
    return kPass;
  }
  if (state->kind == kUnseen && imports(code)) state->kind = kSkipRecursive;
  if (state->kind == kSkip) return kPass;
  if (state->kind == kSkipRecursive) return kPassUncaptured;
  entry = find_entry(state, config, args, func, spill, regs, owned);
  Permission permission = entry ? kNo : may_compile(state, code, config);
  if (permission == kError) return kRaise;
  if (permission == kBeyondLimit) return kPassUncaptured;
  if (permission == kYes) {
    int made = compile_frame(state, code, func, args, config, expected);
    if (made < 0) return kRaise;
    if (state->kind == kSkipRecursive || made == 2) return kPassUncaptured;
    if (made && !(entry = find_entry(state, config, args, func, spill, regs, owned)) &&
        !tell_inconsistent(state, code, func, args))
      return kRaise;
  }
  if (!entry) return kPass;
  Action action = kPass;
  if (entry->eager) {
    action = kPassUncaptured;
  } else if (entry->code) {
    if (swap_code(ts, frame, entry->code)) action = entry->opens_window ? kSwap : kSwapUncaptured;
  } else {
    bool rerun;
    Suspended s;
    *result = run_direct(entry, regs, &rerun);
    action = *result ? kFinished : kRaise;
    if (rerun) {
      PyErr_Clear();
      action = kPassUncaptured;
    }
  }
  Py_DECREF(entry);
  return action;
}

// Within a scope: the innermost frame is out of the chain of frames. A frame that was taken apart is seen once.
struct CallerHidden {
  PyThreadState *ts;
  Frame *caller;
  CallerHidden(PyThreadState *t) : ts(t), caller(current_frame(t)) {
    if (caller) current_frame(ts) = caller->previous;
  }
  ~CallerHidden() { current_frame(ts) = caller; }
};

// The values that the code before a break hands to the function that goes on are that function's alone: the caller's stack,
// which is empty but for this call, keeps None in their place. What the function drops so ends there, as it did before it was
// taken apart (a generator inside of its `try`, an object with `__del__`).
static void take_arguments(Frame *caller, Frame *frame) {
  if (!caller || !frame_has_code(caller)) return;
  PyCodeObject *code = frame_code(caller);
  int n = frame_code(frame)->co_argcount;
  if (code->co_stacksize < n + 2) return;
  Slot *stack = caller->localsplus + code->co_nlocalsplus;
  if (slot_get(stack[kCalleePlace]) != (PyObject *)frame_function(frame) || slot_get(stack[1 - kCalleePlace])) return; // called by somebody else
  for (int i = 0; i < n; i++)
    if (slot_get(stack[2 + i]) == slot_get(frame->localsplus[i])) slot_set(&stack[2 + i], Py_NewRef(Py_None));
}

static PyObject *run(PyThreadState *ts, Frame *frame) {
  PyObject *result = NULL, *expected = NULL;
  PyObject *config = tls.config;
  PyCodeObject *code = frame_code(frame);
  switch (decide(ts, frame, &result, &expected)) {
  case kPass:
  case kSwap: return evaluate(ts, frame, 0);
  case kPassUncaptured:
  case kSwapUncaptured: {
    if (!expected) {
      Suspended s;
      return evaluate(ts, frame, 0);
    }
    Py_INCREF(code); // the frame lets go of it
    {
      Suspended s;
      result = evaluate(ts, frame, 0);
    }
    result = check_raised(result, expected, code, config);
    Py_DECREF(code);
    return result;
  }
  case kFinished: return finish(ts, frame, result);
  case kRaise: return evaluate(ts, frame, 1);
  }
  return NULL;
}

static PyObject *hook(PyThreadState *ts, Frame *frame, int throwflag) {
  if (!tls.config || throwflag || arrived.frame == frame || !capturable(frame)) return evaluate(ts, frame, throwflag);
  if (__builtin_expect(stack_exhausted(), 0)) return evaluate(ts, frame, throwflag);
  CodeState *state = find_state(frame_code(frame));
  if (!state || !state->continues) return run(ts, frame);
  take_arguments(current_frame(ts), frame);
  CallerHidden hidden(ts);
  return run(ts, frame);
}

// ------------------------------------------------------------------------------- Uncaptured(callable)
// A callable during whose calls nothing is captured: a compiled graph in the middle of code with breaks.
struct Uncaptured {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *callable;
};

static PyObject *uncaptured_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  return call_uncaptured(((Uncaptured *)self)->callable, args, nargsf, kwnames);
}

static PyObject *uncaptured_new(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *callable;
  if (!PyArg_ParseTuple(args, "O", &callable)) return NULL;
  Uncaptured *self = (Uncaptured *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = uncaptured_call;
  self->callable = Py_NewRef(callable);
  return (PyObject *)self;
}

static int uncaptured_traverse(PyObject *o, visitproc visit, void *arg) {
  Py_VISIT(((Uncaptured *)o)->callable);
  return 0;
}

static int uncaptured_clear(PyObject *o) {
  Py_CLEAR(((Uncaptured *)o)->callable);
  return 0;
}

static void uncaptured_dealloc(PyObject *o) {
  PyObject_GC_UnTrack(o);
  uncaptured_clear(o);
  Py_TYPE(o)->tp_free(o);
}

static PyTypeObject Uncaptured_Type = {PyVarObject_HEAD_INIT(NULL, 0)};

static bool uncaptured_ready(PyObject *module) {
  PyTypeObject &t = Uncaptured_Type;
  t.tp_name = "dynamo._eval_frame.Uncaptured";
  t.tp_doc = "Uncaptured(callable): calls it with capture off.";
  t.tp_basicsize = sizeof(Uncaptured);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  t.tp_new = uncaptured_new;
  t.tp_dealloc = uncaptured_dealloc;
  t.tp_traverse = uncaptured_traverse;
  t.tp_clear = uncaptured_clear;
  t.tp_call = PyVectorcall_Call;
  t.tp_vectorcall_offset = offsetof(Uncaptured, vectorcall);
  return PyType_Ready(&t) == 0 && PyModule_AddObjectRef(module, "Uncaptured", (PyObject *)&t) == 0;
}

// -------------------------------------------------------------------------------------- for Python
static PyObject *is_open(PyObject *, PyObject *) {
  return PyBool_FromLong(_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) == hook);
}

// The configuration under which this thread captures now, or None.
static PyObject *active_config(PyObject *, PyObject *) { return Py_NewRef(tls.config ? tls.config : Py_None); }

static PyMethodDef functions[] = {
    {"is_open", is_open, METH_NOARGS, "is_open() -> whether the hook is in the interpreter now"},
    {"active_config", active_config, METH_NOARGS, "active_config() -> the configuration this thread captures for, or None"},
    {NULL, NULL, 0, NULL},
};

static PyCodeObject *make_stub() {
  PyObject *globals = PyDict_New();
  PyObject *code = globals ? PyRun_String("(lambda r: r).__code__.replace(co_code=(lambda r: r).__code__.co_code[2:], "
                                          "co_name='compiled', co_qualname='compiled')",
                                          Py_eval_input, globals, globals)
                           : NULL;
  Py_XDECREF(globals);
  return (PyCodeObject *)code;
}

bool hook_ready(PyObject *module) {
  if (kEvaluatorClearsFrame && !(stub = make_stub())) return false;
  return uncaptured_ready(module) && PyModule_AddFunctions(module, functions) == 0;
}
