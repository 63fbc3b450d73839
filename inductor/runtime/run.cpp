// One call of a Program: bind the arguments, compute values, run the steps, collect the results.
#include "runner.h"

#include <alloca.h>
#include <time.h>

namespace runner {

static const int64_t RELEASE_GIL_ABOVE = 50000; // nanoseconds of estimated work
static const uint32_t CHECKED = WEFT_WORD_DTYPE | WEFT_WORD_DEVICE | WEFT_WORD_NDIM | WEFT_WORD_TRACER;

// ------------------------------------------------------------------------------------------------------------- failing
static void set_refusal(ProgramObject *program, const char *kind, int64_t check, int64_t value, int64_t bound) {
  PyObject *errors = PyImport_ImportModule("aten.errors");
  PyObject *type = errors ? PyObject_GetAttrString(errors, kind) : nullptr;
  if (type) {
    bool known = check >= 0 && check < PyTuple_GET_SIZE(program->checks);
    PyObject *record = known ? PyTuple_GET_ITEM(program->checks, check) : Py_None;
    PyObject *e = PyObject_CallFunction(type, "OLL", record, (long long)value, (long long)bound);
    if (e) PyErr_SetObject(type, e);
    Py_XDECREF(e);
  }
  Py_XDECREF(type);
  Py_XDECREF(errors);
}

void set_failed(ProgramObject *program, int64_t check, int64_t value, int64_t bound) {
  set_refusal(program, "GraphFailed", check, value, bound);
}

// A number of the call that 64 bits do not hold, as Python's do.
static bool fail_beyond_64_bits(ProgramObject *program) {
  PyErr_Clear();
  set_refusal(program, "PromiseBroken", -1, 0, 0);
  return false;
}

// A value that does not exist, an in-place write that eager would refuse: eager says what is wrong.
static bool fail_without_record(ProgramObject *program) {
  PyErr_Clear();
  set_failed(program, -1, 0, 0);
  return false;
}

static bool wrong_input(ProgramObject *program, size_t i, PyObject *got, const char *what) {
  PyErr_Format(PyExc_TypeError, "input %zu of the compiled graph: %s (%.100s given)", i, what, Py_TYPE(got)->tp_name);
  return fail_because(program), false;
}

// ------------------------------------------------------------------------------------------------------------- binding
const int64_t *resolve(const Call &call, const Layout &layout, int64_t *scratch) {
  if (layout.is_static) return layout.dims.data();
  int n = layout.ndim();
  for (int i = 0; i < n; i++) scratch[i] = call.values[layout.sizes[i]];
  for (int i = 0; i < n; i++) scratch[n + i] = call.values[layout.strides[i]];
  return scratch;
}

static bool same_strides(const WeftTensor *t, const int64_t *sizes, const int64_t *strides, int n) {
  for (int i = 0; i < n; i++)
    if (t->strides[i] != strides[i] && sizes[i] != 1 && t->numel != 0) return false;
  return true;
}

static PyObject *restride(WeftTensor *t, const int64_t *sizes, const int64_t *strides, int n) {
  uint32_t word = t->word & (WEFT_WORD_DTYPE | WEFT_WORD_DEVICE);
  PyObject *out = api->empty(word, n, sizes, strides);
  if (out && t->numel && on_device(t->word)) {
    if (!copy_by_op((WeftTensor *)out, t)) Py_CLEAR(out);
  } else if (out && t->numel) {
    copy_strided(weft_data((WeftTensor *)out), strides, weft_data(t), t->strides, sizes, n, weft_itemsize(WEFT_DTYPE(t)));
  }
  return out;
}

// Kernels on a device rely on an address that 16 divides: what lies otherwise is copied, gaps and all.
static bool align_input(Call &call, const Input &input, size_t i) {
  WeftTensor *t = (WeftTensor *)call.args[i];
  if (((uintptr_t)weft_data(t) & 15) == 0) return true;
  if (t->numel == 0) { // an offset from no memory, which nobody reads: kernels are promised multiples of 16 all the same
    call.data[input.buffer] = nullptr;
    return true;
  }
  PyObject *copy = moved_to_aligned(t);
  if (!copy) return false;
  call.data[input.buffer] = weft_data((WeftTensor *)copy);
  Py_XSETREF(call.tensors[input.buffer], copy);
  return true;
}

static bool check_layout(Call &call, const Input &input, size_t i, PyObject **args, PyObject *movable) {
  WeftTensor *t = (WeftTensor *)args[i];
  int64_t scratch[2 * WEFT_MAX_NDIM];
  const int64_t *dims = resolve(call, input.layout, scratch);
  int n = input.layout.ndim();
  for (int k = 0; k < n; k++)
    if (t->sizes[k] != dims[k]) {
      PyErr_Format(PyExc_ValueError, "input %zu of the compiled graph: size %lld of dimension %d, compiled for %lld", i,
                   (long long)t->sizes[k], k, (long long)dims[k]);
      return fail_because(call.program), false;
    }
  if (same_strides(t, dims, dims + n, n)) return true;
  if (movable) {
    PyObject *copy = restride(t, dims, dims + n, n);
    int rc = copy ? PyList_Append(movable, copy) : -1;
    Py_XDECREF(copy);
    if (rc == 0) args[i] = copy;
    return rc == 0;
  }
  PyErr_Format(PyExc_ValueError, "input %zu of the compiled graph has other strides than it was compiled for", i);
  return fail_because(call.program), false;
}

// A tensor of static layout: compared in place. Row-major ones have it in the word, and need no look at strides.
static bool matches(const WeftTensor *t, const StaticInput &input) {
  if (t->numel == input.numel && input.contiguous && (t->word & WEFT_WORD_CONTIGUOUS)) return true;
  const int64_t *dims = input.dims;
  int n = input.ndim;
  bool same = true;
  for (int k = 0; k < n; k++) same &= t->sizes[k] == dims[k];
  if (input.contiguous && (t->word & WEFT_WORD_CONTIGUOUS)) return same;
  for (int k = 0; k < n; k++) same &= t->strides[k] == dims[n + k];
  return same;
}

// Whether the memory of every mutated input may be written. Whether autograd allows it was settled at capture.
static bool may_write(Call &call, PyObject **args) {
  NoGrad no_grad;
  for (int32_t i : call.program->plan->mutations)
    if (api->check_inplace((WeftTensor *)args[i]) < 0) return fail_without_record(call.program);
  return true;
}

static inline bool is_the_tensor(ProgramObject *program, size_t i, PyObject *o, uint32_t word) {
  if (__builtin_expect(!is_tensor(o), 0)) return wrong_input(program, i, o, "expected a Tensor");
  if (__builtin_expect((((WeftTensor *)o)->word & CHECKED) != word, 0))
    return wrong_input(program, i, o, "another dtype, device or number of dimensions");
  return true;
}

static bool bind(Call &call, PyObject **args, PyObject *movable) {
  ProgramObject *self = call.program;
  const Plan &plan = *self->plan;
  for (const StaticInput &input : plan.static_inputs) {
    size_t i = (size_t)input.input;
    if (!is_the_tensor(self, i, args[i], input.word)) return false;
    if (!matches((const WeftTensor *)args[i], input) && !check_layout(call, plan.inputs[i], i, args, movable)) return false;
    if (input.buffer >= 0) call.data[input.buffer] = weft_data((const WeftTensor *)args[i]);
    if (input.aligned && !align_input(call, plan.inputs[i], i)) return false;
  }
  for (int32_t i : plan.symbolic_inputs) // before any value is read from them
    if (!is_the_tensor(self, (size_t)i, args[i], plan.inputs[i].word)) return false;
  for (int32_t v : plan.dynamic)
    if (!evaluate(call, plan.values[v], &call.values[v]))
      return PyErr_Occurred() ? (fail_because(self), false) : fail_beyond_64_bits(self);
  for (int32_t i : plan.symbolic_inputs) {
    if (!check_layout(call, plan.inputs[i], (size_t)i, args, movable)) return false;
    if (plan.inputs[i].buffer >= 0) call.data[plan.inputs[i].buffer] = weft_data((const WeftTensor *)args[i]);
    if (plan.inputs[i].aligned && !align_input(call, plan.inputs[i], (size_t)i)) return false;
  }
  return plan.mutations.empty() || may_write(call, args);
}

// ------------------------------------------------------------------------------------------------------------- buffers
static bool prepare(Call &call) {
  const Plan &plan = *call.program->plan;
  if (plan.arena >= 0) {
    int64_t bytes = call.values[plan.arena];
    if (bytes < 0) return fail_without_record(call.program);
    call.arena = api->storage_new(bytes, WEFT_CPU, 0);
    if (!call.arena) return false;
  }
  if (plan.device >= 0 && !begin_device(call)) return false;
  for (int32_t i : plan.prepared) {
    const Buffer &b = plan.buffers[i];
    if (b.kind == BufferKind::Arena)
      call.data[i] = (on_device(b.word) ? call.device_arena : call.arena)->data + call.values[b.offset];
    else
      call.data[i] = weft_data((WeftTensor *)PyTuple_GET_ITEM(call.program->constants, b.base));
  }
  return true;
}

__attribute__((noinline)) static PyObject *alloc_general(Call &call, const Buffer &b) {
  int64_t scratch[2 * WEFT_MAX_NDIM];
  const int64_t *dims = resolve(call, b.layout, scratch);
  int n = b.layout.ndim();
  if (!b.layout.is_static)
    for (int k = 0; k < n; k++)
      if (dims[k] < 0) return fail_without_record(call.program), nullptr;
  return api->empty(b.word, n, dims, dims + n); // (strides of dims of one element are eager's too)
}

bool alloc(Call &call, int32_t i) {
  const Buffer &b = call.program->plan->buffers[i];
  PyObject *t = b.whole_word ? api->empty_row_major(b.whole_word, b.layout.dims.data(), b.numel, b.bytes) : alloc_general(call, b);
  if (!t) return false;
  Py_XDECREF(call.tensors[i]);
  call.tensors[i] = t;
  call.data[i] = ((WeftTensor *)t)->storage->data;
  return true;
}

PyObject *tensor_of(Call &call, int32_t i) {
  if (call.tensors[i]) return call.tensors[i];
  const Buffer &b = call.program->plan->buffers[i];
  int64_t scratch[2 * WEFT_MAX_NDIM];
  PyObject *out = nullptr;
  switch (b.kind) {
  case BufferKind::Input: out = Py_NewRef(call.args[b.base]); break;
  case BufferKind::Constant: out = Py_NewRef(PyTuple_GET_ITEM(call.program->constants, b.base)); break;
  case BufferKind::Arena: {
    const int64_t *dims = resolve(call, b.layout, scratch);
    WeftStorage *arena = on_device(b.word) ? call.device_arena : call.arena;
    arena->refs++;
    out = api->tensor_new(b.word, b.layout.ndim(), dims, dims + b.layout.ndim(),
                          call.values[b.offset] / weft_itemsize(b.word & WEFT_WORD_DTYPE), arena);
    break;
  }
  case BufferKind::View: {
    WeftTensor *base = (WeftTensor *)tensor_of(call, b.base);
    if (!base) return nullptr;
    const int64_t *dims = resolve(call, b.layout, scratch);
    out = api->alias(base, b.layout.ndim(), dims, dims + b.layout.ndim(), base->offset + call.values[b.offset]);
    break;
  }
  default: PyErr_Format(PyExc_RuntimeError, "buffer %d of a Program has no memory yet", i);
  }
  return call.tensors[i] = out;
}

static void locate_view(Call &call, int32_t i) {
  const Buffer &b = call.program->plan->buffers[i];
  call.data[i] = call.data[b.base] + call.values[b.offset] * weft_itemsize(b.word & WEFT_WORD_DTYPE);
}

void relocate_view(Call &call, int32_t i) {
  Py_CLEAR(call.tensors[i]);
  locate_view(call, i);
}

static bool copy(Call &call, int32_t source, int32_t target) {
  WeftTensor *in = (WeftTensor *)tensor_of(call, source), *out = (WeftTensor *)tensor_of(call, target);
  if (!in || !out) return false;
  bool same = (in->word & CHECKED) == (out->word & CHECKED);
  for (int k = 0; same && k < WEFT_NDIM(in); k++) same = in->sizes[k] == out->sizes[k];
  if (!same) {
    PyErr_SetString(PyExc_RuntimeError, "a Program copies between buffers of different sizes or dtypes");
    return false;
  }
  if (on_device(out->word)) return in->numel == 0 || copy_by_op(out, in);
  return copy_strided(weft_data(out), out->strides, weft_data(in), in->strides, in->sizes, WEFT_NDIM(in),
                      weft_itemsize(WEFT_DTYPE(in)));
}

// --------------------------------------------------------------------------------------------------------------- steps
static int64_t run_kernel(const Call &call, const Step &step, const WeftKernelRuntime *runtime) {
  size_t n = step.buffers.size(), m = step.values_static ? 0 : step.values.size();
  void **pointers = (void **)alloca(sizeof(void *) * (n + m + 1));
  for (size_t i = 0; i < n; i++) pointers[i] = call.data[step.buffers[i]];
  const int64_t *numbers = step.numbers.data();
  if (m) {
    int64_t *computed = (int64_t *)(pointers + n);
    for (size_t i = 0; i < m; i++) computed[i] = call.values[step.values[i]];
    numbers = computed;
  }
  return step.kernel(pointers, numbers, runtime);
}

// Kernels of a heavy Program run without the GIL. What they touch is kept alive by references to the arguments' and constants'
// storages: meanwhile another thread, and between two steps an op of this one, may give an argument a new one.
struct Release {
  PyThreadState *state = nullptr;
  bool heavy, away = false;
  std::vector<WeftStorage *> held;

  explicit Release(const Call &call) {
    const Plan &plan = *call.program->plan;
    heavy = plan.cost >= 0 && call.values[plan.cost] > RELEASE_GIL_ABOVE;
    if (!heavy) return;
    for (size_t i = 0; i < plan.inputs.size(); i++)
      if (plan.inputs[i].kind == InputKind::Tensor) hold(call.args[i]);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.program->constants); i++) hold(PyTuple_GET_ITEM(call.program->constants, i));
  }
  void hold(PyObject *tensor) {
    held.push_back(((WeftTensor *)tensor)->storage);
    held.back()->refs++;
  }
  ~Release() {
    take();
    for (WeftStorage *storage : held) api->storage_decref(storage);
    if (away) api->call_ended();
  }
  void drop() {
    if (!heavy || state) return;
    if (!away && !(away = api->call_goes_away())) return;
    state = PyEval_SaveThread();
    api->without_gil(state);
  }
  void take() {
    if (!state) return;
    api->without_gil(nullptr);
    PyEval_RestoreThread(state);
    state = nullptr;
  }
};

// Whether a step may queue work on the device otherwise than by a launch.
static bool may_use_device(StepKind kind) {
  return kind == StepKind::Extern || kind == StepKind::Python || kind == StepKind::Copy || kind == StepKind::Loop || kind == StepKind::Cond;
}

static bool run_step(Call &call, const Step &step) {
  if (call.queue && may_use_device(step.kind) && !play_queued(call)) return false;
  switch (step.kind) {
  case StepKind::View: return locate_view(call, step.a), true;
  case StepKind::Evaluate:
    if (evaluate_range(call, step.a, step.b)) return true;
    return PyErr_Occurred() ? false : fail_without_record(call.program);
  case StepKind::Extern:
  case StepKind::Python: return run_op(call, step);
  case StepKind::Copy: return copy(call, step.a, step.b);
  case StepKind::Loop: return run_loop(call, step);
  case StepKind::Cond: return run_cond(call, step);
  case StepKind::RngAdvance: {
    uint64_t seed, offset;
    api->philox_reserve((uint64_t)call.values[step.a], &seed, &offset);
    return true;
  }
  case StepKind::Check:
    if (call.values[step.a]) return true;
    set_failed(call.program, step.b, 0, 0);
    return false;
  case StepKind::Launch: return launch(call, step);
  case StepKind::Alloc:
  case StepKind::Kernel: break; // run_steps
  }
  return false;
}

// Adds the seconds of each step to `profile`, when a thread has asked for that.
__attribute__((tls_model("initial-exec"))) static thread_local double *profile;

static double seconds_now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool run_profiled(ProgramObject *program, PyObject **args, PyObject **results, double *seconds) {
  profile = seconds;
  bool ok = run(program, args, results, nullptr);
  profile = nullptr;
  return ok;
}

static bool run_steps(Call &call, Release &release) {
  const WeftKernelRuntime *runtime = api->kernel_runtime();
  double *times = profile, last = times ? seconds_now() : 0;
  profile = nullptr; // sub-Programs count as one step
  for (const Step &step : call.program->plan->steps) {
    if (times && &step != call.program->plan->steps.data()) {
      double now = seconds_now();
      times[&step - call.program->plan->steps.data() - 1] += now - last;
      last = now;
    }
    if (step.kind == StepKind::Alloc) {
      release.take();
      if (!alloc(call, step.a)) return false;
      continue;
    }
    if (step.kind != StepKind::Kernel) {
      release.take();
      if (!run_step(call, step)) return false;
      continue;
    }
    release.drop();
    if (step.b >= 0) runtime->error->value = runtime->error->bound = 0;
    int64_t code;
    try {
      code = run_kernel(call, step, runtime);
    } catch (const std::bad_alloc &) {
      release.take();
      PyErr_NoMemory();
      return false;
    } catch (const std::exception &) { // a handler of signals raised
      release.take();
      return false;
    }
    if (code != 0) {
      release.take();
      set_failed(call.program, step.b < 0 ? -1 : step.b + code - 1, runtime->error->value, runtime->error->bound);
      return false;
    }
  }
  if (times && !call.program->plan->steps.empty())
    times[call.program->plan->steps.size() - 1] += seconds_now() - last;
  return true;
}

// ------------------------------------------------------------------------------------------------------------- results
static PyObject *view_of(Call &call, PyObject *whole, const Output &out) {
  if (!whole) return nullptr;
  WeftTensor *base = (WeftTensor *)whole;
  int64_t scratch[2 * WEFT_MAX_NDIM];
  const int64_t *dims = resolve(call, out.layout, scratch);
  int n = out.layout.ndim();
  return (out.literal ? api->alias : api->known_view)(base, n, dims, dims + n, base->offset + call.values[out.offset]);
}

static PyObject *make_result(Call &call, const Output &out) {
  switch (out.kind) {
  case OutputKind::Buffer: return Py_XNewRef(call.tensors[out.index] ? call.tensors[out.index] : tensor_of(call, out.index));
  case OutputKind::Input: return Py_NewRef(call.args[out.index]);
  case OutputKind::View: return view_of(call, call.args[out.index], out);
  case OutputKind::Part: return view_of(call, tensor_of(call, out.index), out);
  case OutputKind::Int: return PyLong_FromLongLong(call.values[out.index]);
  case OutputKind::Float: return PyFloat_FromDouble(as_double(call.values[out.index]));
  case OutputKind::Bool: return PyBool_FromLong(call.values[out.index] != 0);
  case OutputKind::Constant: return Py_NewRef(out.literal);
  }
  return nullptr;
}

static bool collect(Call &call, PyObject **results) {
  const Plan &plan = *call.program->plan;
  size_t n = plan.outputs.size();
  for (size_t i = 0; i < n; i++) {
    results[i] = make_result(call, plan.outputs[i]);
    if (!results[i]) {
      while (i-- > 0) Py_CLEAR(results[i]);
      return false;
    }
  }
  return true;
}

bool run(ProgramObject *program, PyObject **args, PyObject **results, PyObject *movable) {
  const Plan &plan = *program->plan;
  size_t n_values = plan.all_static ? 0 : plan.values.size(), n_buffers = plan.buffers.size();
  size_t bytes = 8 * (n_values + 2 * n_buffers);
  alignas(16) char small[4096];
  char *block = bytes <= sizeof small ? small : (char *)PyMem_RawMalloc(bytes);
  if (!block) return PyErr_NoMemory(), false;
  Call call{program, args, (int64_t *)block, (char **)block + n_values, (PyObject **)block + n_values + n_buffers,
            nullptr, nullptr, nullptr, nullptr, false, nullptr};
  if (plan.all_static)
    call.values = const_cast<int64_t *>(plan.constants.data());
  else
    memcpy(call.values, plan.constants.data(), 8 * n_values);
  memset(call.tensors, 0, 8 * n_buffers);

  bool ok = bind(call, args, movable) && prepare(call);
  if (ok) {
    Release release(call);
    ok = run_steps(call, release);
  }
  if (plan.device >= 0) ok = end_device(call, ok);
  if (ok)
    for (int32_t i : plan.mutations) weft_bump_version((WeftTensor *)args[i]);
  ok = ok && collect(call, results);

  for (size_t i = 0; i < n_buffers; i++) Py_XDECREF(call.tensors[i]);
  if (call.arena) api->storage_decref(call.arena);
  if (block != small) PyMem_RawFree(block);
  return ok;
}

} // namespace runner
