// entry.h: what one compilation of a code object leaves behind, and this thread's state of capture.
#pragma once

#include "guard_program.h"

#include <vector>

// How a direct entry makes its result from the graph's outputs: a tree.
enum ResultKind : uint8_t { R_OUTPUT, R_CONST, R_REG, R_TUPLE, R_NAMED, R_LIST, R_DICT };
struct Result {
  ResultKind kind;
  int64_t index;              // output or register
  PyObject *obj;              // owned: constant, class of a named tuple, or tuple of dictionary keys
  std::vector<Result> items;
};

struct Entry {
  PyObject_HEAD
  PyObject *config;           // owned: compared by identity with the caller's
  GuardProgram *guards;       // owned
  PyCodeObject *code;         // owned or NULL: replaces the frame's code
  PyObject *graph;            // owned or NULL: direct entries call it on `inputs` (registers) and make `result`
  std::vector<uint16_t> *inputs;
  Result *result;
  PyObject *info;             // owned: the Python side's record (guards to explain, ...)
  bool eager;                 // the original code runs, with capture off
  bool opens_window;          // the code runs foreign Python that may be captured
  bool hands_on;              // a direct entry whose result has registers in it, which are owned while the graph runs
  struct CodeState *home;     // borrowed: whose entry it is, or NULL
  int64_t hits;
};
extern PyTypeObject Entry_Type;

enum CodeKind : uint8_t { kUnseen, kTracked, kSkip, kSkipRecursive };

// Everything known of one code object, kept in its co_extra.
struct CodeState {
  CodeKind kind;
  bool limit_told;
  bool closed;                // nothing is compiled any more; the entries that there are go on
  bool continues;             // the code goes on with a frame behind a break: it shows that frame's caller as its own
  unsigned long compiling;    // thread that compiles it now, 0: none
  PyObject *record;           // owned dict for the Python side (sizes seen ...), or NULL
  std::vector<Entry *> entries; // owned; most recently used first
  CodeState *previous, *next; // all states, for reset
  PyCodeObject *code;         // borrowed
};

enum Mode : uint8_t { kOff, kRunOnly, kCompile };

// `config` says for whom frames are captured; NULL: the hook lets every frame pass.
struct ThreadState {
  PyObject *config;           // borrowed from the CompiledFunction being called
  Mode mode;
  PyCodeObject *passing;      // borrowed: the next frame of this code passes, for it was looked at already
  const char *stack_limit;    // lowest address a hooked frame may use
};
extern thread_local ThreadState tls __attribute__((tls_model("initial-exec")));

// code_state(code): NULL with an exception set; find_state never creates, sets no exception.
CodeState *code_state(PyCodeObject *code);
CodeState *find_state(PyCodeObject *code);

// The first entry of `state` made for `config` whose guards hold; `regs` has room for every program (reg_room).
// A new reference or NULL; no exception is set.
Entry *find_entry(CodeState *state, PyObject *config, PyObject *const *args, PyFunctionObject *func,
                  std::vector<PyObject *> &spill, PyObject **&regs, Owned &owned);

// Calls the compiler for a frame; adds what it makes. 1: `state` has a new entry; 0: run eager; 2: eager this time, with
// all that it calls; -1: exception. *expected: the class of exception that the call is certain to raise, or NULL.
int compile_frame(CodeState *state, PyCodeObject *code, PyFunctionObject *func, PyObject *const *args, PyObject *config,
                  PyObject **expected);

// The end of a call that was certain to raise `expected` (stolen, may be NULL): `result`, or NULL if that is an error.
PyObject *check_raised(PyObject *result, PyObject *expected, PyCodeObject *code, PyObject *config);

// What was just made does not hold for the very call that it was made for: an internal error. False with an exception.
bool tell_inconsistent(CodeState *state, PyCodeObject *code, PyFunctionObject *func, PyObject *const *args);

// Whether a miss may be compiled now. Calls back once when the limit of entries is reached (kError: that raised); what the
// limit refuses runs eager with all that it calls.
enum Permission { kNo, kYes, kBeyondLimit, kError };
Permission may_compile(CodeState *state, PyCodeObject *code, PyObject *config);

// Runs a direct entry. NULL with an exception; *rerun: the graph refused the data and wrote nothing.
PyObject *run_direct(Entry *entry, PyObject *const *regs, bool *rerun);

// Puts the hook in or takes it out of the interpreter; calls nest and count over all threads.
bool hook_open();
void hook_close();

bool entry_ready(PyObject *module);
bool hook_ready(PyObject *module);
bool compiled_function_ready(PyObject *module);
bool instructions_ready(PyObject *module);
bool encode_ready(PyObject *module);
bool hashed_ready(PyObject *module);
bool graph_call_ready(PyObject *module);

extern PyObject *compiler;      // owned: dynamo.convert_frame, or NULL
extern PyObject *check_failed;  // owned: exception class that asks for a rerun in eager, or NULL

// Within a scope: this thread captures nothing.
struct CaptureOff {
  PyObject *config;
  Mode mode;
  CaptureOff() : config(tls.config), mode(tls.mode) { tls.config = NULL, tls.mode = kOff; }
  ~CaptureOff() { tls.config = config, tls.mode = mode; }
};

// Within a scope: this thread captures nothing and has no window open.
struct Suspended {
  CaptureOff off;
  int windows;
  Suspended();
  ~Suspended();
};
