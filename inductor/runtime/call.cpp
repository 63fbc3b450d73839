// Steps that work on Python objects: ops called by name, loops and branches over sub-Programs, results of unknown size.
#include "runner.h"

namespace runner {

static PyObject *argument(Call &call, const Arg &arg) {
  switch (arg.kind) {
  case Arg::Tensor: return Py_XNewRef(tensor_of(call, arg.index));
  case Arg::Int: return PyLong_FromLongLong(call.values[arg.index]);
  case Arg::Float: return PyFloat_FromDouble(as_double(call.values[arg.index]));
  case Arg::Bool: return PyBool_FromLong(call.values[arg.index] != 0);
  case Arg::Object: return Py_NewRef(arg.object);
  case Arg::List: {
    PyObject *list = PyList_New((Py_ssize_t)arg.items.size());
    for (size_t i = 0; list && i < arg.items.size(); i++) {
      PyObject *item = argument(call, arg.items[i]);
      if (!item) {
        Py_CLEAR(list);
        break;
      }
      PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
  }
  }
  return nullptr;
}

bool set_result(Call &call, int32_t i, PyObject *tensor) {
  const Buffer &b = call.program->plan->buffers[i];
  uint32_t mask = WEFT_WORD_DTYPE | WEFT_WORD_DEVICE | WEFT_WORD_TRACER;
  if (!is_tensor(tensor) || (((WeftTensor *)tensor)->word & mask) != b.word) {
    PyErr_Format(PyExc_RuntimeError, "buffer %d of a Program was given another dtype or device than planned", i);
    Py_DECREF(tensor);
    return false;
  }
  Py_XDECREF(call.tensors[i]);
  call.tensors[i] = tensor;
  call.data[i] = weft_data((WeftTensor *)tensor);
  return true;
}

static bool set_results(Call &call, const std::vector<int32_t> &buffers, PyObject *returned) {
  if (buffers.size() == 1 && is_tensor(returned)) return set_result(call, buffers[0], Py_NewRef(returned));
  PyObject *items = PySequence_Fast(returned, "an op of a Program returned neither a tensor nor a tuple");
  if (!items) return false;
  bool ok = PySequence_Fast_GET_SIZE(items) == (Py_ssize_t)buffers.size();
  if (!ok) PyErr_SetString(PyExc_RuntimeError, "an op of a Program returned another number of results than planned");
  for (size_t i = 0; ok && i < buffers.size(); i++)
    ok = set_result(call, buffers[i], Py_NewRef(PySequence_Fast_GET_ITEM(items, (Py_ssize_t)i)));
  Py_DECREF(items);
  return ok;
}

// Whether a tensor that an op has returned can be the buffer itself: laid out as planned, and nobody else's.
static bool may_adopt(const WeftTensor *t, const int64_t *strides, int n) {
  for (int k = 0; k < n; k++)
    if (t->strides[k] != strides[k]) return false;
  return Py_REFCNT((PyObject *)t) == 1 && t->storage->refs == 1;
}

// Puts what an op has returned into its buffer: the tensor itself where that is possible, so that a step costs no more than
// the op does, else a copy. Steals.
static bool place(Call &call, int32_t i, PyObject *tensor) {
  if (tensor == (PyObject *)call.tensors[i]) return Py_DECREF(tensor), true; // an op that writes into the buffer
  const Buffer &b = call.program->plan->buffers[i];
  int64_t scratch[2 * WEFT_MAX_NDIM];
  const int64_t *dims = resolve(call, b.layout, scratch);
  int n = b.layout.ndim();
  WeftTensor *t = (WeftTensor *)tensor;
  bool same = is_tensor(tensor) && (int)WEFT_NDIM(t) == n;
  for (int k = 0; same && k < n; k++) same = t->sizes[k] == dims[k];
  if (!same) {
    PyErr_Format(PyExc_RuntimeError, "an op of a Program returned another size than buffer %d was planned for", i);
    Py_DECREF(tensor);
    return false;
  }
  if (b.kind != BufferKind::View && may_adopt(t, dims + n, n)) return set_result(call, i, tensor);
  if (b.kind == BufferKind::Returned && !alloc(call, i)) return Py_DECREF(tensor), false;
  WeftTensor *target = (WeftTensor *)tensor_of(call, i);
  uint32_t mask = WEFT_WORD_DTYPE | WEFT_WORD_DEVICE | WEFT_WORD_TRACER;
  bool ok = target && (t->word & mask) == b.word;
  if (target && !ok) PyErr_Format(PyExc_RuntimeError, "buffer %d of a Program was given another dtype than planned", i);
  if (ok && on_device(t->word))
    ok = t->numel == 0 || copy_by_op(target, t);
  else
    ok = ok && copy_strided(weft_data(target), target->strides, weft_data(t), t->strides, t->sizes, n,
                            weft_itemsize(WEFT_DTYPE(t)));
  Py_DECREF(tensor);
  return ok;
}

static bool place_results(Call &call, const Step &step, PyObject *returned) { // steals
  if (step.results.size() == 1 && is_tensor(returned)) return place(call, step.results[0], returned);
  PyObject *items = PySequence_List(returned);
  Py_DECREF(returned);
  if (!items) return false;
  bool ok = PyList_GET_SIZE(items) == (Py_ssize_t)step.results.size();
  if (!ok) PyErr_SetString(PyExc_RuntimeError, "an op of a Program returned another number of results than planned");
  for (size_t i = 0; ok && i < step.results.size(); i++) {
    PyObject *item = PyList_GET_ITEM(items, (Py_ssize_t)i);
    PyList_SET_ITEM(items, (Py_ssize_t)i, Py_NewRef(Py_None));
    ok = place(call, step.results[i], item);
  }
  Py_DECREF(items);
  return ok;
}

void fail_because(ProgramObject *program) {
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return;
  PyObject *type, *cause, *traceback;
  PyErr_Fetch(&type, &cause, &traceback);
  PyErr_NormalizeException(&type, &cause, &traceback);
  set_failed(program, -1, 0, 0);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  PyObject *failed_type, *failed, *failed_traceback;
  PyErr_Fetch(&failed_type, &failed, &failed_traceback);
  PyErr_NormalizeException(&failed_type, &failed, &failed_traceback);
  if (failed && cause) PyException_SetCause(failed, cause); // steals
  PyErr_Restore(failed_type, failed, failed_traceback);
}

// Whether the exception that is set shall be seen: none that data bring about, but one of a compiler or a kernel that is wrong.
static bool is_told() {
  bool fault = false;
  for (PyObject *type : {PyExc_TypeError, PyExc_NotImplementedError, PyExc_AttributeError, PyExc_NameError, PyExc_AssertionError, PyExc_SystemError})
    fault |= PyErr_ExceptionMatches(type) != 0;
  if (!fault) return false;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  bool told = strict();
  PyErr_Restore(type, value, traceback);
  return told;
}

bool run_op(Call &call, const Step &step) {
  for (int32_t i : step.releases) Py_CLEAR(call.tensors[i]);
  std::vector<PyObject *> args;
  bool ok = true;
  for (const Arg &arg : step.args) {
    args.push_back(argument(call, arg));
    ok &= args.back() != nullptr;
  }
  PyObject *returned = nullptr;
  if (ok) {
    NoGrad no_grad;
    size_t n_named = (size_t)PyTuple_GET_SIZE(step.names);  // (an op's native way is asked for calls without names)
    returned = PyObject_Vectorcall(step.op, args.data(), args.size() - n_named, n_named ? step.names : nullptr);
    if (!returned && !is_told()) fail_because(call.program);
  }
  for (PyObject *arg : args) Py_XDECREF(arg);
  if (!returned) return false;
  if (step.kind == StepKind::Python) {
    ok = set_results(call, step.results, returned);
    Py_DECREF(returned);
    return ok;
  }
  if (!place_results(call, step, returned)) return false;
  for (int32_t i : step.views) relocate_view(call, i);
  return true;
}

// Tensors over buffers, as arguments of a sub-Program: owned references.
static bool operands(Call &call, const std::vector<int32_t> &buffers, std::vector<PyObject *> &out) {
  for (int32_t i : buffers) {
    PyObject *t = tensor_of(call, i);
    if (!t) return false;
    out.push_back(Py_NewRef(t));
  }
  return true;
}

static void drop(std::vector<PyObject *> &tensors) {
  for (PyObject *t : tensors) Py_XDECREF(t);
  tensors.clear();
}

static PyObject *clone(WeftTensor *t) {
  int n = WEFT_NDIM(t);
  PyObject *out = api->empty(t->word & (WEFT_WORD_DTYPE | WEFT_WORD_DEVICE), n, t->sizes, nullptr);
  if (out && t->numel && on_device(t->word)) {
    if (!copy_by_op((WeftTensor *)out, t)) Py_CLEAR(out);
  } else if (out && t->numel)
    copy_strided(weft_data((WeftTensor *)out), ((WeftTensor *)out)->strides, weft_data(t), t->strides, t->sizes, n,
                 weft_itemsize(WEFT_DTYPE(t)));
  return out;
}

static bool truth(PyObject *o, bool *out) {
  if (is_tensor(o)) {
    WeftTensor *t = (WeftTensor *)o;
    if (t->numel != 1 || WEFT_DTYPE(t) != WEFT_BOOL) {
      PyErr_SetString(PyExc_RuntimeError, "the condition of a Program is not one bool");
      return false;
    }
    if (!on_device(t->word)) return *out = *weft_data(t) != 0, true;
    PyObject *value = PyObject_CallMethod(o, "item", nullptr);
    *out = value == Py_True;
    Py_XDECREF(value);
    return value != nullptr;
  }
  int rc = PyObject_IsTrue(o);
  *out = rc == 1;
  return rc >= 0;
}

bool run_loop(Call &call, const Step &step) {
  std::vector<PyObject *> state, next((size_t)step.n_carried);
  bool ok = operands(call, step.buffers, state), go = true, first = true;
  while (ok) {
    PyObject *condition = nullptr;
    ok = run(step.first, state.data(), &condition, nullptr) && truth(condition, &go);
    Py_XDECREF(condition);
    if (!ok || !go) break;
    ok = PyErr_CheckSignals() == 0 && run(step.second, state.data(), next.data(), nullptr);
    for (int32_t i = 0; ok && i < step.n_carried; i++) {
      Py_DECREF(state[(size_t)i]);
      state[(size_t)i] = next[(size_t)i];
    }
    first = false;
  }
  for (int32_t i = 0; ok && i < step.n_carried; i++) {
    PyObject *t = first ? clone((WeftTensor *)state[(size_t)i]) : Py_NewRef(state[(size_t)i]);
    ok = t && set_result(call, step.results[(size_t)i], t);
  }
  drop(state);
  return ok;
}

bool run_cond(Call &call, const Step &step) {
  std::vector<PyObject *> args, out(step.results.size());
  PyObject *predicate = tensor_of(call, step.a);
  bool choice = false;
  bool ok = predicate && truth(predicate, &choice) && operands(call, step.buffers, args) &&
            run(choice ? step.first : step.second, args.data(), out.data(), nullptr);
  for (size_t i = 0; i < out.size(); i++) {
    if (!ok) {
      Py_XDECREF(out[i]);
      continue;
    }
    ok = set_result(call, step.results[i], out[i]);
  }
  drop(args);
  return ok;
}

// n items of `run` bytes. Those of a register are moved as one: a gradient of a sum is one element shown everywhere.
template <class T> static void copy_items(char *out, int64_t out_step, const char *in, int64_t in_step, int64_t n) {
  typedef T Item __attribute__((aligned(1), may_alias));
  if (out_step == sizeof(T) && in_step == 0) {
    const T value = *(const Item *)in;
    for (int64_t k = 0; k < n; k++) ((Item *)out)[k] = value;
  } else if (out_step == sizeof(T)) {
    for (int64_t k = 0; k < n; k++) ((Item *)out)[k] = *(const Item *)(in + k * in_step);
  } else {
    for (int64_t k = 0; k < n; k++) *(Item *)(out + k * out_step) = *(const Item *)(in + k * in_step);
  }
}
static void copy_line(int64_t run, char *out, int64_t out_step, const char *in, int64_t in_step, int64_t n) {
  switch (run) {
  case 1: return copy_items<uint8_t>(out, out_step, in, in_step, n);
  case 2: return copy_items<uint16_t>(out, out_step, in, in_step, n);
  case 4: return copy_items<uint32_t>(out, out_step, in, in_step, n);
  case 8: return copy_items<uint64_t>(out, out_step, in, in_step, n);
  default:
    for (int64_t k = 0; k < n; k++) memcpy(out + k * out_step, in + k * in_step, (size_t)run);
  }
}

// Any layout to any layout, same sizes. Inner runs that are contiguous on both sides are one memcpy.
bool copy_strided(char *out, const int64_t *out_strides, const char *in, const int64_t *in_strides, const int64_t *sizes,
                  int ndim, int itemsize) {
  for (int i = 0; i < ndim; i++)
    if (sizes[i] == 0) return true;
  int64_t run = itemsize;
  while (ndim > 0 && (sizes[ndim - 1] == 1 || (out_strides[ndim - 1] * itemsize == run && in_strides[ndim - 1] * itemsize == run)))
    run *= sizes[--ndim];
  if (ndim == 0) return memcpy(out, in, (size_t)run), true;
  int64_t index[WEFT_MAX_NDIM] = {0};
  const int last = ndim - 1;
  const int64_t out_step = out_strides[last] * itemsize, in_step = in_strides[last] * itemsize;
  for (;;) {
    char *o = out;
    const char *s = in;
    for (int i = 0; i < last; i++) o += index[i] * out_strides[i] * itemsize, s += index[i] * in_strides[i] * itemsize;
    copy_line(run, o, out_step, s, in_step, sizes[last]);
    int i = last - 1;
    while (i >= 0 && ++index[i] == sizes[i]) index[i--] = 0;
    if (i < 0) return true;
  }
}

} // namespace runner
