// Steps on a device: launches without Python, and what becomes of checks that fail in kernels that nobody waits for.
//
// A kernel that meets an index out of range writes 1 into the word of its check. Behind the launches of a call its words are
// copied to the host with an event, and looked at when the event has passed: by the next call that has checks, or by whoever
// waits for the device (`failed_checks`). Under WEFT_STRICT a call waits for its own.
#include "runner.h"

#include <deque>

namespace runner {

// The words of a call, on their way to the host.
struct Pending {
  PyObject *program; // owned
  void *event;
  int32_t *words;    // pinned
  int device;
};

static std::deque<Pending> pending;

static PyObject *failed(int code, const char *call) { return cuda->raise(code, call, "a compiled graph"); }

static bool strict() {
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

// Looks at what has arrived, or with `wait` at everything; false with the error of the first check that has failed.
static bool look(bool wait) {
  while (!pending.empty()) {
    Pending p = pending.front();
    int code = cuda->enter(p.device);
    if (code == 0 && wait) {
      Py_BEGIN_ALLOW_THREADS
      code = cuda->event_synchronize(p.event);
      Py_END_ALLOW_THREADS
    } else if (code == 0) {
      code = cuda->event_query(p.event);
      if (code == 600) return true; // not yet
    }
    if (pending.empty() || pending.front().event != p.event) continue; // another thread has looked meanwhile
    pending.pop_front();
    ProgramObject *program = (ProgramObject *)p.program;
    int32_t check = code == 0 ? first_set(p.words, program->plan->n_words) : -1;
    cuda->event_destroy(p.event);
    cuda->pinned_release(p.words, p.device, cuda->current_stream(p.device));
    if (code != 0) failed(code, "cuEventSynchronize");
    if (check >= 0) raise_late(program, check);
    Py_DECREF(p.program);
    if (code != 0 || check >= 0) return false;
  }
  return true;
}

PyObject *failed_checks(PyObject *, PyObject *) {
  if (!look(true)) return nullptr;
  Py_RETURN_NONE;
}

bool begin_device(Call &call) {
  const Plan &plan = *call.program->plan;
  int code = cuda->enter(plan.device);
  if (code) return failed(code, "cuCtxSetCurrent"), false;
  call.stream = cuda->current_stream(plan.device);
  if (plan.graphs && !cuda->is_capturing(call.stream)) call.queue = new_queue();
  if (plan.n_words) {
    if (!pending.empty() && !cuda->is_capturing(call.stream) && !look(false)) return false;
    call.words = (char *)cuda->allocate(4 * plan.n_words, plan.device, call.stream);
    if (!call.words) return false;
    code = cuda->fill(call.words, 0, 4 * plan.n_words, call.stream);
    if (code) return failed(code, "cuMemsetD8Async"), false;
  }
  if (plan.device_arena >= 0) {
    int64_t bytes = call.values[plan.device_arena];
    if (bytes < 0) return set_failed(call.program, -1, 0, 0), false;
    call.device_arena = api->storage_new(bytes, WEFT_CUDA, plan.device);
    if (!call.device_arena) return false;
  }
  return true;
}

bool launch(Call &call, const Step &step) {
  const Launch &l = step.launch;
  int64_t grid = call.values[l.grid];
  if (grid <= 0) return true;
  if (grid > INT32_MAX) return set_failed(call.program, -1, 0, 0), false;
  int64_t choice = l.choice < 0 ? 0 : call.values[l.choice];
  const Launch::Function &f = l.functions[choice > 0 && choice < (int64_t)l.functions.size() ? (size_t)choice : 0];
  size_t n = l.arguments.size();
  int64_t *slots = (int64_t *)alloca(sizeof(int64_t) * (n + 2));
  void **params = (void **)alloca(sizeof(void *) * (n + 2));
  for (size_t i = 0; i < n; i++) {
    const Launch::Argument &a = l.arguments[i];
    switch (a.kind) {
    case Launch::Argument::Buffer: slots[i] = (int64_t)call.data[a.index]; break;
    case Launch::Argument::Failed: slots[i] = (int64_t)(call.words + 4 * a.index); break;
    default: slots[i] = call.values[a.index]; // (32 bits are the lower half)
    }
    params[i] = &slots[i];
  }
  slots[n] = slots[n + 1] = 0; // global and profile scratch, of which it needs none
  if (call.queue) return queue_launch(call, f, (uint32_t)grid, slots, n + 2), true;
  params[n] = &slots[n], params[n + 1] = &slots[n + 1];
  uint32_t dims[3] = {(uint32_t)grid, 1, 1};
  int code = cuda->launch(f.handle, dims, f.threads, f.shared, params, call.stream);
  if (code) return failed(code, "cuLaunchKernelEx"), false;
  return true;
}

// Under strict: waits, and lets eager say what is wrong.
static bool look_now(Call &call, int32_t *words) {
  const Plan &plan = *call.program->plan;
  int code;
  Py_BEGIN_ALLOW_THREADS
  code = cuda->stream_synchronize(call.stream);
  Py_END_ALLOW_THREADS
  int32_t check = code == 0 ? first_set(words, plan.n_words) : -1;
  cuda->pinned_release(words, plan.device, call.stream);
  if (code) return failed(code, "cuStreamSynchronize"), false;
  if (check >= 0) return set_failed(call.program, check, 0, 0), false;
  return true;
}

static bool send_words(Call &call) {
  const Plan &plan = *call.program->plan;
  int32_t *words = (int32_t *)cuda->pinned_allocate(4 * plan.n_words);
  if (!words) return false;
  int code = cuda->copy_to_host(words, call.words, 4 * plan.n_words, call.stream);
  if (code == 0 && strict() && !cuda->is_capturing(call.stream)) return look_now(call, words);
  void *event = nullptr;
  if (code == 0) code = cuda->event_new(&event);
  if (code == 0) code = cuda->event_record(event, call.stream);
  if (code) {
    cuda->pinned_release(words, plan.device, call.stream);
    return failed(code, "cuEventRecord"), false;
  }
  pending.push_back({Py_NewRef((PyObject *)call.program), event, words, plan.device});
  return true;
}

bool end_device(Call &call, bool ok) {
  if (call.queue) {
    ok = ok && play_queued(call);
    free_queue(call.queue);
  }
  if (ok && call.words && !cuda->is_capturing(call.stream)) ok = send_words(call);
  if (call.words) cuda->release(call.words);
  if (call.device_arena) api->storage_decref(call.device_arena);
  return ok;
}

PyObject *moved_to_aligned(WeftTensor *t) {
  int n = WEFT_NDIM(t), device = (int)(t->word >> 12 & 15);
  int64_t elements = 1;
  for (int k = 0; k < n; k++) elements += (t->sizes[k] - 1) * t->strides[k]; // (of one element at least)
  int64_t bytes = elements * weft_itemsize(WEFT_DTYPE(t));
  WeftStorage *storage = api->storage_new(bytes, WEFT_CUDA, device);
  if (!storage) return nullptr;
  int code = cuda->enter(device);
  if (!code) code = cuda->copy_within(storage->data, weft_data(t), bytes, cuda->current_stream(device));
  if (code) {
    api->storage_decref(storage);
    return cuda->raise(code, "cuMemcpyDtoDAsync", "an argument that 16 does not divide");
  }
  return api->tensor_new(t->word & (WEFT_WORD_DTYPE | WEFT_WORD_DEVICE), n, t->sizes, t->strides, 0, storage);
}

bool copy_by_op(WeftTensor *out, WeftTensor *in) {
  NoGrad no_grad;
  PyObject *done = PyObject_CallMethod((PyObject *)out, "copy_", "O", (PyObject *)in);
  Py_XDECREF(done);
  return done != nullptr;
}

} // namespace runner
