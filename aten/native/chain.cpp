// chain.cpp: the loops of chain.h. Python says once what a chain consists of; nothing of it is asked again.
#include "chain.h"

#include <string.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "loops.h"
#include "released.h"

namespace weft {
namespace {

constexpr int64_t kBlock = 1024, kAway = 16384;
constexpr int kMaxInputs = 8, kMaxArgs = 4;

// Values are numbered: the inputs, the constants, then the result of each step.
struct Step {
  WeftLoop loop;
  int n_args, args[kMaxArgs], item;  // item: bytes of an element of the result
  int buffer, output;                // where the result goes: to a buffer, or (>= 0) to an output of the chain
};

struct Constant {
  alignas(16) char bytes[16];
};

struct Chain {
  int n_inputs, n_outputs, n_buffers;
  int dtypes[kMaxInputs], output_dtypes[kMaxInputs];
  std::vector<Constant> constants;
  std::vector<Step> steps;
};

struct Job {
  const Chain *chain;
  const char *inputs[kMaxInputs];
  bool spread[kMaxInputs];           // one element for all
  char *outputs[kMaxInputs];
};

void run_part(void *context, int64_t begin, int64_t end, int64_t worker) {
  const Job &job = *static_cast<Job *>(context);
  const Chain &c = *job.chain;
  char *buffers = (char *)kernel_runtime()->scratch(worker, (c.n_buffers + 1) * kBlock * 16);
  const int fixed = c.n_inputs + (int)c.constants.size();
  for (int64_t first = begin; first < end; first += kBlock) {
    const intptr_t n = (intptr_t)std::min(kBlock, end - first);
    auto place = [&](int value, intptr_t *step) {
      if (value < c.n_inputs) {
        *step = job.spread[value] ? 0 : weft_itemsize(c.dtypes[value]);
        return const_cast<char *>(job.inputs[value]) + first * *step;
      }
      if (value < fixed) {
        *step = 0;
        return const_cast<char *>(c.constants[(size_t)(value - c.n_inputs)].bytes);
      }
      const Step &made = c.steps[(size_t)(value - fixed)];
      *step = made.item;
      return made.output >= 0 ? job.outputs[made.output] + first * made.item : buffers + made.buffer * kBlock * 16;
    };
    for (size_t k = 0; k < c.steps.size(); k++) {
      const Step &s = c.steps[k];
      char *args[kMaxArgs + 1];
      intptr_t steps[kMaxArgs + 1];
      for (int i = 0; i < s.n_args; i++) args[i] = place(s.args[i], &steps[i]);
      args[s.n_args] = place(fixed + (int)k, &steps[s.n_args]);
      s.loop(args, &n, steps, nullptr);
    }
  }
}

// Whether a tensor is one element shown everywhere, as gradients of sums are.
bool is_spread(const WeftTensor *t) {
  return t->numel > 1 && std::all_of(t->strides, t->strides + WEFT_NDIM(t), [](int64_t s) { return s == 0; });
}

// The results of a chain on tensors of one size, row-major or spread; the only one is written into `target`, if there is one. False with
// an exception set.
bool run_chain(const Chain &chain, WeftTensor *const *inputs, Ref *outputs, WeftTensor *target = nullptr) {
  Job job = {&chain, {}, {}, {}};
  WeftTensor *first = inputs[0];
  for (int i = 0; i < chain.n_inputs; i++) job.inputs[i] = weft_data(inputs[i]), job.spread[i] = is_spread(inputs[i]);
  for (int i = 0; i < chain.n_outputs; i++) {
    outputs[i].reset(target ? Py_NewRef(as_object(target)) : empty((uint32_t)chain.output_dtypes[i], WEFT_NDIM(first), first->sizes, nullptr));
    if (!outputs[i]) return false;
    job.outputs[i] = weft_data(as_tensor(outputs[i].get()));
  }
  if (first->numel == 0) return true;
  if (first->numel < kAway) {
    run_part(&job, 0, first->numel, 0);
  } else {
    Released released;
    kernel_runtime()->parallel_for(first->numel, kAway, run_part, &job);
  }
  return true;
}

bool fits(const WeftTensor *t, const WeftTensor *first) {
  return (t->word & WEFT_WORD_CONTIGUOUS || is_spread(t)) && WEFT_NDIM(t) == WEFT_NDIM(first) && std::equal(t->sizes, t->sizes + WEFT_NDIM(t), first->sizes);
}

// What is known of the calls of an op: kinds of arguments, the chain, and the backward of its Node.
struct Learned {
  struct Item {
    int dtype;        // of a tensor; -1: anything else
    PyObject *value;  // owned; then equal to this
  };
  std::vector<Item> items;
  PyObject *capsule, *backward;                // owned; NULL: such calls are no chain
  std::vector<std::pair<uint32_t, int>> kept;  // which tensors want a gradient, and which a Node then keeps; -1: it makes none
};

constexpr size_t kMostLearned = 64;  // of an op: one that is called with ever new numbers is not learned for ever
PyObject *learner;                   // aten.chains: learner(op, arguments) calls learn_chain for calls like this one

std::unordered_map<NativeOp *, std::vector<Learned>> learned;

bool same(PyObject *a, PyObject *b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (!PyFloat_CheckExact(a) && !PyLong_CheckExact(a) && !PyUnicode_CheckExact(a)) return false;
  if (PyFloat_CheckExact(a)) return memcmp(&reinterpret_cast<PyFloatObject *>(a)->ob_fval, &reinterpret_cast<PyFloatObject *>(b)->ob_fval, 8) == 0;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

Learned *find(const Call &call) {
  auto known = learned.find(call.op);
  if (known == learned.end()) return nullptr;
  for (Learned &l : known->second) {
    bool found = true;
    for (size_t i = 0; i < l.items.size() && found; i++) {
      PyObject *given = call[(int)i].object;
      const bool tensor = is_tensor(given);
      if (l.items[i].dtype >= 0) found = tensor && WEFT_DTYPE(given) == l.items[i].dtype;
      else found = !tensor && same(given, l.items[i].value);
    }
    if (found) return &l;
  }
  return nullptr;
}

Chain *chain_of(PyObject *capsule) { return static_cast<Chain *>(PyCapsule_GetPointer(capsule, "weft.chain")); }
void free_chain(PyObject *capsule) { delete chain_of(capsule); }

// Reads a tuple of ints; -1 with an exception set.
int small_ints(PyObject *tuple, int *out, int most) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > most) {
    PyErr_SetString(PyExc_ValueError, "make_chain: expected a short tuple of ints");
    return -1;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    const long value = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
    if (value == -1 && PyErr_Occurred()) return -1;
    out[i] = (int)value;
  }
  return (int)PyTuple_GET_SIZE(tuple);
}

bool is_dtype(int code) { return code >= 0 && code < WEFT_NUM_DTYPES; }

// One of ("pointwise", code, dtype), ("where", 0, dtype), ("cast", from, to)
WeftLoop find_loop(const char *kind, int code, int dtype) {
  if (!is_dtype(dtype)) return nullptr;
  if (!strcmp(kind, "where")) return weft_kernels.where[dtype];
  if (!strcmp(kind, "cast")) return is_dtype(code) ? weft_kernels.cast[code][dtype] : nullptr;
  return code >= 0 && code < WEFT_NUM_POINTWISE ? weft_kernels.pointwise[code][dtype] : nullptr;
}

// make_chain(dtypes, constants, steps, outputs): dtypes of the inputs; (number, dtype) of the constants; of each step (kind, code, dtype,
// args, dtype of the result, buffer); which values are the outputs. None where a loop is lacking, or a constant does not fit its dtype.
PyObject *make_chain(PyObject *, PyObject *args) {
  PyObject *dtypes, *constants, *steps, *outputs;
  if (!PyArg_ParseTuple(args, "OO!O!O:make_chain", &dtypes, &PyTuple_Type, &constants, &PyTuple_Type, &steps, &outputs)) return nullptr;
  auto chain = std::make_unique<Chain>();
  chain->n_inputs = small_ints(dtypes, chain->dtypes, kMaxInputs);
  int wanted[kMaxInputs];
  chain->n_outputs = chain->n_inputs < 0 ? -1 : small_ints(outputs, wanted, kMaxInputs);
  if (chain->n_outputs < 0) return nullptr;
  for (int i = 0; i < chain->n_inputs; i++)
    if (!is_dtype(chain->dtypes[i])) return PyErr_Format(PyExc_ValueError, "make_chain: no dtype");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
    PyObject *number;
    int dtype;
    Constant made = {};
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(constants, i), "Oi", &number, &dtype)) return nullptr;
    if (!is_dtype(dtype)) return PyErr_Format(PyExc_ValueError, "make_chain: no constant");
    if (!write_element(made.bytes, dtype, number)) {  // what the ops themselves make of it
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    chain->constants.push_back(made);
  }
  const int fixed = chain->n_inputs + (int)chain->constants.size();
  chain->n_buffers = 0;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(steps); k++) {
    Step step;
    const char *kind;
    PyObject *values;
    int code, dtype, made;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, k), "siiOii", &kind, &code, &dtype, &values, &made, &step.buffer)) return nullptr;
    step.n_args = small_ints(values, step.args, kMaxArgs);
    if (step.n_args < 0) return nullptr;
    step.loop = find_loop(kind, code, dtype);
    if (!step.loop) Py_RETURN_NONE;
    for (int i = 0; i < step.n_args; i++)
      if (step.args[i] < 0 || step.args[i] >= fixed + (int)k) return PyErr_Format(PyExc_ValueError, "make_chain: a step reads what is not there yet");
    if (!is_dtype(made) || step.buffer < 0 || step.buffer > 63) return PyErr_Format(PyExc_ValueError, "make_chain: a step has no result");
    step.item = (int)weft_itemsize(made);
    step.output = -1;
    for (int i = 0; i < chain->n_outputs; i++)
      if (wanted[i] == fixed + (int)k) step.output = i, chain->output_dtypes[i] = made;
    chain->n_buffers = std::max(chain->n_buffers, step.buffer + 1);
    chain->steps.push_back(step);
  }
  for (int i = 0; i < chain->n_outputs; i++)
    if (wanted[i] < fixed || wanted[i] >= fixed + (int)chain->steps.size() || std::find(wanted, wanted + i, wanted[i]) != wanted + i)
      return PyErr_Format(PyExc_ValueError, "make_chain: an output is no result of a step of its own");
  PyObject *capsule = PyCapsule_New(chain.get(), "weft.chain", free_chain);
  if (capsule) chain.release();
  return capsule;
}

// run_chain(chain, inputs) -> tuple of results; NotImplemented where the inputs are not tensors of one size and its dtypes,
// row-major or spread.
PyObject *run_chain_on(PyObject *, PyObject *args) {
  PyObject *capsule, *given;
  if (!PyArg_ParseTuple(args, "OO!:run_chain", &capsule, &PyTuple_Type, &given)) return nullptr;
  const Chain *chain = chain_of(capsule);
  if (!chain) return nullptr;
  WeftTensor *inputs[kMaxInputs];
  if (PyTuple_GET_SIZE(given) != chain->n_inputs || !chain->n_inputs) Py_RETURN_NOTIMPLEMENTED;
  for (int i = 0; i < chain->n_inputs; i++) {
    inputs[i] = plain(PyTuple_GET_ITEM(given, i));
    if (!inputs[i] || WEFT_DTYPE(inputs[i]) != chain->dtypes[i] || !fits(inputs[i], inputs[0])) Py_RETURN_NOTIMPLEMENTED;
  }
  Ref results[kMaxInputs];
  if (!run_chain(*chain, inputs, results)) return nullptr;
  PyObject *tuple = PyTuple_New(chain->n_outputs);
  for (int i = 0; tuple && i < chain->n_outputs; i++) PyTuple_SET_ITEM(tuple, i, results[i].release());
  return tuple;
}

// learn_chain(op, items, chain, backward): calls of `op` whose arguments are items, (dtype code, None) or (-1, value), run the chain on
// their tensors, None: are no chain; `backward` is that of its Node, and says what it keeps.
PyObject *learn_chain(PyObject *, PyObject *args) {
  PyObject *op, *items, *capsule, *backward;
  if (!PyArg_ParseTuple(args, "O!O!OO:learn_chain", op_type, &op, &PyTuple_Type, &items, &capsule, &backward) || (capsule != Py_None && !chain_of(capsule))) return nullptr;
  Learned made = {{}, capsule == Py_None ? nullptr : capsule, backward == Py_None ? nullptr : backward, {}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
    int dtype;
    PyObject *value;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items, i), "iO", &dtype, &value)) return nullptr;
    made.items.push_back({dtype, value});
  }
  const Binder *binder = binder_of(as_op(op));
  if (!binder) return nullptr;
  if ((int)made.items.size() != binder->n) return PyErr_Format(PyExc_ValueError, "learn_chain: an item for each parameter");
  for (const Learned::Item &item : made.items) Py_XINCREF(item.value);
  Py_XINCREF(made.capsule);
  Py_XINCREF(made.backward);
  learned[as_op(op)].push_back(std::move(made));
  Py_RETURN_NONE;
}

static PyObject *set_chain_learner(PyObject *, PyObject *callable) {
  Py_XSETREF(learner, Py_NewRef(callable));
  Py_RETURN_NONE;
}

// Has a call learned that is like no known one; NULL, with an exception set or not.
Learned *learn(const Call &call) {
  if (!learner || learned[call.op].size() >= kMostLearned) return nullptr;
  Ref given(PyTuple_New(call.binder->n));
  for (int i = 0; given && i < call.binder->n; i++) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(call[i].object));
  Ref done(given ? PyObject_CallFunctionObjArgs(learner, as_object(call.op), given.get(), nullptr) : nullptr);
  return done ? find(call) : nullptr;
}

// Which tensors the Node of a call keeps if those of `wanting` want a gradient; -1: it is none, or (with an exception set) the answer is
// not known. `known` may have moved afterwards.
int kept_of(const Call &call, const Learned &known, uint32_t wanting) {
  for (auto &[mask, kept] : known.kept)
    if (mask == wanting) return kept;
  Ref backward(Py_XNewRef(known.backward)), answer(backward ? PyObject_CallMethod(backward.get(), "kept", "I", wanting) : nullptr);
  const long kept = answer ? PyLong_AsLong(answer.get()) : -1;
  if (PyErr_Occurred()) return -1;
  if (Learned *again = find(call)) again->kept.emplace_back(wanting, (int)kept);
  return (int)kept;
}

}  // namespace

PyObject *fast_chain(Call &call) {
  NativeOp *op = call.op;
  WeftTensor *inputs[kMaxInputs];
  PyObject *objects[kMaxInputs];
  int n = 0;
  uint32_t wanting = 0;  // which tensors want a gradient
  for (int i = 0; i < call.binder->n; i++) {
    if (!is_tensor(call[i].object)) continue;
    if (n == kMaxInputs) return UNHANDLED;
    objects[n] = call[i].object;
    inputs[n] = plain(objects[n]);
    if (!inputs[n] || !fits(inputs[n], inputs[0])) return UNHANDLED;
    wanting |= (uint32_t)records(inputs[n]) << n;
    n++;
  }
  if (!n || !inputs[0]->numel) return UNHANDLED;
  const Learned *known = find(call);
  if (!known) known = learn(call);
  if (!known) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (!known->capsule) return UNHANDLED;
  const Chain *chain = chain_of(known->capsule);
  if (!chain || n != chain->n_inputs || (wanting && !op->node_name)) return UNHANDLED;
  Ref keep_chain(Py_NewRef(known->capsule)), backward(Py_XNewRef(known->backward)), results[kMaxInputs];
  const int kept = wanting ? kept_of(call, *known, wanting) : 0;
  if (kept < 0) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (!run_chain(*chain, inputs, results)) return nullptr;
  if (wanting) {
    Ref saved(PyTuple_New(n));
    for (int i = 0; saved && i < n; i++) PyTuple_SET_ITEM(saved.get(), i, Py_NewRef(kept >> i & 1 ? objects[i] : Py_None));
    PyObject *out = results[0].get();
    if (!saved || record(op->node_name, backward.get(), objects, n, &out, 1, saved.get()) < 0) return nullptr;
  }
  return results[0].release();
}

// The op `name_` of a chain `name`: the last step of a block writes what the others have read.
PyObject *fast_inplace_chain(Call &call) {
  WeftTensor *target = is_tensor(call[0].object) ? plain(call[0].object) : nullptr, *inputs[kMaxInputs];
  int n = 0;
  if (!target) return UNHANDLED;
  for (int i = 0; i < call.binder->n; i++) {
    if (!is_tensor(call[i].object)) continue;
    WeftTensor *t = n < kMaxInputs ? plain(call[i].object) : nullptr;
    if (!t || records(t) || !fits(t, target) || (t != target && t->storage == target->storage)) return UNHANDLED;
    inputs[n++] = t;
  }
  if (!n || inputs[0] != target || !target->numel || is_spread(target)) return UNHANDLED;
  Ref base(PyObject_GetAttrString(as_object(call.op), "base"));
  if (!base || !PyObject_TypeCheck(base.get(), op_type)) return base ? UNHANDLED : nullptr;
  NativeOp *own = std::exchange(call.op, as_op(base.get()));
  const Learned *known = find(call);
  if (!known) known = learn(call);
  call.op = own;
  if (!known) return PyErr_Occurred() ? nullptr : UNHANDLED;
  const Chain *chain = known->capsule ? chain_of(known->capsule) : nullptr;
  if (!chain || n != chain->n_inputs || chain->n_outputs != 1 || chain->output_dtypes[0] != WEFT_DTYPE(target) || chain->steps.back().output != 0) return UNHANDLED;
  if (check_inplace(target) < 0) return nullptr;
  Ref keep_chain(Py_NewRef(known->capsule)), results[kMaxInputs];
  if (!run_chain(*chain, inputs, results, target)) return nullptr;
  weft_bump_version(target);
  return results[0].release();
}

PyMethodDef chain_functions[] = {{"make_chain", make_chain, METH_VARARGS, "make_chain(dtypes, constants, steps, outputs): a chain, or None"},
                                 {"run_chain", guarded<run_chain_on>, METH_VARARGS, "run_chain(chain, inputs) -> tuple of results"},
                                 {"set_chain_learner", set_chain_learner, METH_O, nullptr},
                                 {"learn_chain", learn_chain, METH_VARARGS, "learn_chain(op, items, chain, backward)"},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
