// Checks on a device: what becomes of those that fail in kernels that nobody waits for.
//
// A kernel that meets an index out of range writes 1 into the word of its check. The words of a Program stay on the device from call to
// call, so that a call copies and clears nothing: it leaves an event behind its launches, and whoever waits for the device
// (`failed_checks`) waits for the event and reads the words of the Programs that have run. Under WEFT_STRICT a call has words of its own
// and waits for them; in a capture it has its own too, which nobody reads.
#include "runner.h"

#include <deque>

namespace runner {

struct CheckWords {
  char *memory = nullptr;   // on the device: one int32 a check
  void *event = nullptr;    // behind the last call
  void *stream = nullptr;   // on which that was
  bool waiting = false;     // it is among `pending`
};

static std::deque<ProgramObject *> pending; // owned

static PyObject *failed(int code, const char *call) { return cuda->raise(code, call, "a compiled graph"); }

bool strict() {
  PyObject *settings = PyImport_ImportModule("aten.settings");
  PyObject *value = settings ? PyObject_GetAttrString(settings, "strict") : nullptr;
  bool out = value && PyObject_IsTrue(value) == 1;
  Py_XDECREF(value);
  Py_XDECREF(settings);
  PyErr_Clear();
  return out;
}

static int32_t first_set(const int32_t *words, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (words[i]) return i;
  return -1;
}

// The error of a check that failed in a call which has returned: eager's class and the user's line, no more is known.
static void raise_late(ProgramObject *program, int32_t check) {
  PyObject *record = PyTuple_GET_ITEM(program->checks, check);
  PyObject *errors = PyImport_ImportModule("inductor.cuda.checks");
  PyObject *e = errors ? PyObject_CallMethod(errors, "late", "O", record) : nullptr;
  if (e) PyErr_SetObject((PyObject *)Py_TYPE(e), e);
  Py_XDECREF(e);
  Py_XDECREF(errors);
}

// ------------------------------------------------------------------------------------------------------- a call's words
// Words of 0, in the order of the call's stream; NULL with an exception set.
static char *new_words(const Call &call) {
  const Plan &plan = *call.program->plan;
  char *words = (char *)cuda->allocate(4 * plan.n_words, plan.device, call.stream);
  int code = words ? cuda->fill(words, 0, 4 * plan.n_words, call.stream) : 0;
  if (!code) return words;
  cuda->release(words);
  failed(code, "cuMemsetD8Async");
  return nullptr;
}

// The Program's own, in the order of the call's stream: what an earlier call did on another one comes first.
static char *kept_words(Call &call) {
  CheckWords *&w = call.program->words;
  if (!w) {
    w = new CheckWords;
    w->stream = call.stream;
    int code = cuda->event_new(&w->event);
    w->memory = code ? nullptr : new_words(call);
    if (!w->memory) {
      free_words(w);
      w = nullptr;
      if (code) failed(code, "cuEventCreate");
      return nullptr;
    }
  }
  if (w->stream != call.stream) {
    int code = cuda->stream_wait(call.stream, w->event);
    if (!code) code = cuda->record_stream(w->memory, call.stream);
    if (code) return failed(code, "cuStreamWaitEvent"), nullptr;
    w->stream = call.stream;
  }
  return w->memory;
}

void free_words(CheckWords *w) {
  if (!w) return;
  if (w->event) cuda->event_destroy(w->event);
  if (w->memory) cuda->release(w->memory);
  delete w;
}

bool begin_checks(Call &call) {
  if (!call.program->plan->n_words) return true;
  call.own_words = strict() || cuda->is_capturing(call.stream);
  call.words = call.own_words ? new_words(call) : kept_words(call);
  return call.words != nullptr;
}

// ----------------------------------------------------------------------------------------------------------- looking
// The words on the host, in the order of a stream; the first check that has failed, -1 if none, or -2 with an exception set.
static int32_t read_words(ProgramObject *program, const char *words, void *stream) {
  const Plan &plan = *program->plan;
  int32_t *host = (int32_t *)cuda->pinned_allocate(4 * plan.n_words);
  if (!host) return -2;
  int code = cuda->copy_to_host(host, words, 4 * plan.n_words, stream);
  if (code == 0) {
    Py_BEGIN_ALLOW_THREADS
    code = cuda->stream_synchronize(stream);
    Py_END_ALLOW_THREADS
  }
  int32_t check = code == 0 ? first_set(host, plan.n_words) : -2;
  cuda->pinned_release(host, plan.device, stream);
  if (code) failed(code, "cuStreamSynchronize");
  return check;
}

bool end_checks(Call &call, bool ok) {
  if (!call.words) return ok;
  if (call.own_words) {
    if (ok && !cuda->is_capturing(call.stream)) {
      int32_t check = read_words(call.program, call.words, call.stream);
      ok = check == -1;
      if (check >= 0) set_failed(call.program, check, 0, 0); // eager says what is wrong
    }
    cuda->release(call.words);
    return ok;
  }
  CheckWords *w = call.program->words;
  int code = cuda->event_record(w->event, call.stream);
  if (code && ok) failed(code, "cuEventRecord");
  if (!w->waiting) {
    w->waiting = true;
    pending.push_back((ProgramObject *)Py_NewRef((PyObject *)call.program));
  }
  return ok && !code;
}

// What the last calls of a Program have found.
static bool look(ProgramObject *program) {
  CheckWords *w = program->words;
  const Plan &plan = *program->plan;
  int code = cuda->enter(plan.device);
  if (code == 0) {
    Py_BEGIN_ALLOW_THREADS
    code = cuda->event_synchronize(w->event);
    Py_END_ALLOW_THREADS
  }
  if (code) return failed(code, "cuEventSynchronize"), false;
  int32_t check = read_words(program, w->memory, w->stream);
  if (check < 0) return check == -1;
  code = cuda->fill(w->memory, 0, 4 * plan.n_words, w->stream);
  if (!code) code = cuda->event_record(w->event, w->stream);
  if (code)
    failed(code, "cuMemsetD8Async");
  else
    raise_late(program, check);
  return false;
}

PyObject *failed_checks(PyObject *, PyObject *) {
  while (!pending.empty()) {
    ProgramObject *program = pending.front();
    pending.pop_front();
    program->words->waiting = false;
    bool ok = look(program);
    Py_DECREF((PyObject *)program);
    if (!ok) return nullptr;
  }
  Py_RETURN_NONE;
}

} // namespace runner
