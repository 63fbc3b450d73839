// ambient.cpp: the thread's 64-bit word of all state that changes what an op means.
#include "native.h"

namespace weft {

// The dtype of cuda's autocast: read by Python alone (aten/autocast.py), and part of the word so that compiled code guards it.
constexpr uint64_t kAutocastCudaDtype = 0xffull << 40;
// Which device new tensors are on where none is named, 0 where nobody has said: a mode says it (aten/default_device.py).
constexpr uint64_t kDevice = 0xffffull << 48;
constexpr uint64_t kInitial =
    WEFT_AMBIENT_GRAD | (uint64_t)WEFT_FLOAT32 << 8 | (uint64_t)WEFT_BFLOAT16 << 16 | (uint64_t)WEFT_FLOAT16 << 40;
// New threads start with gradients on; what a process sets as its default dtype holds for later threads too.
static uint64_t process_default = kInitial;
// initial-exec: one load instead of a call; a few bytes fit in what the loader keeps for that.
__attribute__((tls_model("initial-exec"))) static thread_local uint64_t word;
__attribute__((tls_model("initial-exec"))) static thread_local bool started;

uint64_t *ambient() {
  if (__builtin_expect(!started, 0)) {
    word = process_default;
    started = true;
  }
  return &word;
}

static PyObject *get_ambient(PyObject *, PyObject *) { return PyLong_FromUnsignedLongLong(*ambient()); }

// Replaces the word, which must name dtypes that there are; levels and modes are counted by add_ambient_count alone.
static bool replace_word(uint64_t bits) {
  constexpr uint64_t kCounted = WEFT_AMBIENT_LEVELS | WEFT_AMBIENT_MODES;
  const uint64_t dtype = (bits & WEFT_AMBIENT_DEFAULT_DTYPE) >> 8, autocast = (bits & WEFT_AMBIENT_AUTOCAST_DTYPE) >> 16,
                 cuda_autocast = (bits & kAutocastCudaDtype) >> 40;
  if (dtype < WEFT_NUM_DTYPES && dtype_kind((int)dtype) == KIND_FLOAT && autocast < WEFT_NUM_DTYPES &&
      cuda_autocast < WEFT_NUM_DTYPES &&
      !((bits ^ *ambient()) & kCounted) && (!(bits & kDevice) || (bits & WEFT_AMBIENT_MODES))) {
    *ambient() = bits;
    return true;
  }
  PyErr_Format(PyExc_ValueError, "%llu is no ambient word of this thread", (unsigned long long)bits);
  return false;
}

static PyObject *set_ambient(PyObject *, PyObject *value) {
  if (!PyLong_Check(value)) return PyErr_Format(PyExc_TypeError, "set_ambient: expected an int");
  uint64_t bits = PyLong_AsUnsignedLongLong(value);
  if ((bits == (uint64_t)-1 && PyErr_Occurred()) || !replace_word(bits)) return nullptr;
  Py_RETURN_NONE;
}

// set_ambient_bits(mask, value) -> the previous bits under mask
static PyObject *set_ambient_bits(PyObject *, PyObject *args) {
  unsigned long long mask, value;
  if (!PyArg_ParseTuple(args, "KK:set_ambient_bits", &mask, &value)) return nullptr;
  uint64_t old = *ambient() & mask;
  if (!replace_word((*ambient() & ~mask) | (value & mask))) return nullptr;
  return PyLong_FromUnsignedLongLong(old);
}

static PyObject *is_grad_enabled(PyObject *, PyObject *) { return PyBool_FromLong(grad_enabled()); }

static PyObject *set_grad_enabled(PyObject *, PyObject *value) {
  int on = PyObject_IsTrue(value);
  if (on < 0) return nullptr;
  bool old = grad_enabled();
  *ambient() = (*ambient() & ~WEFT_AMBIENT_GRAD) | (on ? WEFT_AMBIENT_GRAD : 0);
  return PyBool_FromLong(old);
}

static PyObject *is_inference_mode_enabled(PyObject *, PyObject *) {
  return PyBool_FromLong((*ambient() & WEFT_AMBIENT_INFERENCE) != 0);
}

// as_inference(tensor, on): the tensor, from now on one that was made under inference_mode, or not. For those of a compiled graph, which
// runs in the mode of its start.
static PyObject *as_inference(PyObject *, PyObject *args) {
  PyObject *tensor;
  int on;
  if (!PyArg_ParseTuple(args, "Op:as_inference", &tensor, &on)) return nullptr;
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "as_inference: no tensor");
  uint32_t &word = as_tensor(tensor)->word;
  word = on ? word | WEFT_WORD_INFERENCE : word & ~WEFT_WORD_INFERENCE;
  return Py_NewRef(tensor);
}

static PyObject *get_default_dtype(PyObject *, PyObject *) { return Py_NewRef(dtype_object(default_dtype())); }

static PyObject *set_default_dtype(PyObject *, PyObject *dtype) {
  int code = dtype_code(dtype);
  if (code < 0) return nullptr;
  if (dtype_kind(code) != KIND_FLOAT || code > WEFT_FLOAT64)
    return PyErr_Format(PyExc_TypeError, "only floating-point dtypes can be the default dtype, got %R", dtype);
  *ambient() = (*ambient() & ~WEFT_AMBIENT_DEFAULT_DTYPE) | (uint64_t)code << 8;
  process_default = (process_default & ~WEFT_AMBIENT_DEFAULT_DTYPE) | (uint64_t)code << 8;
  Py_RETURN_NONE;
}

// add_ambient_count(shift, delta): the counters of open levels (shift 24) and modes (shift 32).
static PyObject *add_ambient_count(PyObject *, PyObject *args) {
  int shift, delta;
  if (!PyArg_ParseTuple(args, "ii:add_ambient_count", &shift, &delta)) return nullptr;
  if (shift != 24 && shift != 32) return PyErr_Format(PyExc_ValueError, "no counter at bit %d", shift);
  uint64_t *bits = ambient();
  int64_t count = (int64_t)(*bits >> shift & 0xff) + delta;
  if (count < 0 || count > 255) return PyErr_Format(PyExc_RuntimeError, "%lld levels are open", (long long)count);
  *bits = (*bits & ~(0xffull << shift)) | (uint64_t)count << shift;
  return PyLong_FromLongLong(count);
}

PyMethodDef ambient_functions[] = {
    {"ambient", get_ambient, METH_NOARGS, "this thread's ambient word (bits in weft.h)"},
    {"set_ambient", set_ambient, METH_O, "replace this thread's ambient word"},
    {"set_ambient_bits", set_ambient_bits, METH_VARARGS, "set_ambient_bits(mask, value) -> previous bits under mask"},
    {"add_ambient_count", add_ambient_count, METH_VARARGS, "add_ambient_count(shift, delta) -> new count"},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, nullptr},
    {"set_grad_enabled", set_grad_enabled, METH_O, "set_grad_enabled(on) -> whether it was on"},
    {"as_inference", as_inference, METH_VARARGS, "as_inference(tensor, on) -> the tensor, now one made under inference_mode or not"},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS, nullptr},
    {"get_default_dtype", get_default_dtype, METH_NOARGS, nullptr},
    {"set_default_dtype", set_default_dtype, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
