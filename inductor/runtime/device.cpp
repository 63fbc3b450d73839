// Steps on a device: launches without Python.
#include "runner.h"

namespace runner {

static PyObject *failed(int code, const char *call) { return cuda->raise(code, call, "a compiled graph"); }

bool begin_device(Call &call) {
  const Plan &plan = *call.program->plan;
  int code = cuda->enter(plan.device);
  if (code) return failed(code, "cuCtxSetCurrent"), false;
  call.stream = cuda->current_stream(plan.device);
  if (plan.graphs && !cuda->is_capturing(call.stream)) call.queue = new_queue();
  if (!begin_checks(call)) return false;
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
  if (call.queue) {
    cuda->settle_draws(slots, n);
    return queue_launch(call, f, (uint32_t)grid, slots, n + 2), true;
  }
  params[n] = &slots[n], params[n + 1] = &slots[n + 1];
  uint32_t dims[3] = {(uint32_t)grid, 1, 1};
  int code = cuda->launch(f.handle, dims, f.threads, f.shared, params, n + 2, call.stream);
  if (code) return failed(code, "cuLaunchKernelEx"), false;
  return true;
}

bool end_device(Call &call, bool ok) {
  if (call.queue) {
    ok = ok && play_queued(call);
    free_queue(call.queue);
  }
  ok = end_checks(call, ok);
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
