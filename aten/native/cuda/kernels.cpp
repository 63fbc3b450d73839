// kernels.cpp: modules of compiled kernels, and their launches.
#include <string.h>

#include <string>
#include <vector>

#include "counts.h"

namespace weft::cuda {

namespace {

constexpr int kSharedUnasked = 48 * 1024;  // more dynamic shared memory must be asked for

struct Module {
  PyObject_HEAD
  CUmodule handle;
  int device;
};

struct Function {
  PyObject_HEAD
  CUfunction handle;
  PyObject *module;
  PyObject *name;
  int shared;
};

PyTypeObject *module_type, *function_type;
Module *as_module(PyObject *self) { return reinterpret_cast<Module *>(self); }
Function *as_function(PyObject *self) { return reinterpret_cast<Function *>(self); }

// Module(image, device=None)
PyObject *module_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"image", "device", nullptr};
  PyObject *image, *which = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "S|O:Module", const_cast<char **>(names), &image, &which)) return nullptr;
  int device = device_argument(which);
  if (device < 0 || !entered(device)) return nullptr;
  CUmodule handle = nullptr;
  CUresult code;
  {
    WithoutGil loading;
    code = driver.cuModuleLoadData(&handle, PyBytes_AS_STRING(image));
  }
  if (!ok(code, "cuModuleLoadData")) return nullptr;
  Module *module = as_module(type->tp_alloc(type, 0));
  if (!module) {
    driver.cuModuleUnload(handle);
    return nullptr;
  }
  module->handle = handle;
  module->device = device;
  return reinterpret_cast<PyObject *>(module);
}

void module_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  CUmodule handle = as_module(self)->handle;
  const int device = as_module(self)->device;
  type->tp_free(self);
  Py_DECREF(type);
  if (is_forked() || enter(device) != CUDA_SUCCESS) return;
  WithoutGil unloading;  // what is queued of it runs first
  driver.cuModuleUnload(handle);
}

// function(name, shared=0)
PyObject *module_function(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"name", "shared", nullptr};
  PyObject *name;
  int shared = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|i:function", const_cast<char **>(names), &name, &shared)) return nullptr;
  const char *text = PyUnicode_AsUTF8(name);
  if (!text || !entered(as_module(self)->device)) return nullptr;
  CUfunction handle;
  if (!ok(driver.cuModuleGetFunction(&handle, as_module(self)->handle, text), "cuModuleGetFunction", text)) return nullptr;
  if (shared > kSharedUnasked && !ok(driver.cuFuncSetAttribute(handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared), "cuFuncSetAttribute", text))
    return nullptr;
  Function *function = as_function(function_type->tp_alloc(function_type, 0));
  if (!function) return nullptr;
  function->handle = handle;
  function->module = Py_NewRef(self);
  function->name = Py_NewRef(name);
  function->shared = shared;
  return reinterpret_cast<PyObject *>(function);
}

void function_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(as_function(self)->name);
  PyObject *module = as_function(self)->module;
  type->tp_free(self);
  Py_XDECREF(module);
  Py_DECREF(type);
}

// ---------------------------------------------------------------------------------------------- launches from Python
union Slot {
  int64_t integer;
  uint64_t pointer;
  double float64;
  float float32;
  uint16_t half;
};

// (kind, value) into a slot; false with an exception set. Kinds are those of Triton's signatures.
bool fill_scalar(const char *kind, PyObject *value, Slot *slot) {
  if (kind[0] == '*') {
    slot->pointer = PyLong_AsUnsignedLongLong(value);
  } else if (!strcmp(kind, "fp64")) {
    slot->float64 = PyFloat_AsDouble(value);
  } else if (!strcmp(kind, "fp32")) {
    slot->float32 = (float)PyFloat_AsDouble(value);
  } else if (!strcmp(kind, "fp16")) {
    double number = PyFloat_AsDouble(value);
    if (!PyErr_Occurred()) PyFloat_Pack2(number, reinterpret_cast<char *>(&slot->half), 1);
  } else if (!strcmp(kind, "bf16")) {  // to nearest even
    float number = (float)PyFloat_AsDouble(value);
    uint32_t bits;
    memcpy(&bits, &number, 4);
    slot->half = number != number ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  } else if ((kind[0] == 'i' || kind[0] == 'u') && kind[1]) {
    slot->integer = kind[0] == 'u' ? (int64_t)PyLong_AsUnsignedLongLong(value) : PyLong_AsLongLong(value);
  } else {
    PyErr_Format(PyExc_ValueError, "launch: no argument is of kind '%s'", kind);
  }
  return !PyErr_Occurred();
}

bool fill_argument(PyObject *argument, Slot *slot) {
  *slot = {};
  if (argument == Py_None) return true;
  if (PyObject_TypeCheck(argument, aten->tensor_type)) {
    WeftTensor *tensor = reinterpret_cast<WeftTensor *>(argument);
    if (!tensor->storage || tensor->storage->device_type != WEFT_CUDA) {
      PyErr_SetString(PyExc_TypeError, "launch: the tensor is not on a cuda device");
      return false;
    }
    slot->pointer = tensor->storage->data ? reinterpret_cast<uint64_t>(weft_data(tensor)) : 0;
    return true;
  }
  const char *kind;
  PyObject *value;
  if (!PyTuple_Check(argument)) return PyErr_Format(PyExc_TypeError, "launch: an argument is a tensor, None or (kind, value), got %R", argument), false;
  return PyArg_ParseTuple(argument, "sO:launch", &kind, &value) && fill_scalar(kind, value, slot);
}

// launch(grid, block, shared, arguments, stream=None)
PyObject *function_launch(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"grid", "block", "shared", "arguments", "stream", nullptr};
  PyObject *arguments, *address = Py_None, *grid_arg;
  unsigned threads, shared, grid[3] = {1, 1, 1};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!IIO!|O:launch", const_cast<char **>(names), &PyTuple_Type, &grid_arg, &threads, &shared, &PyTuple_Type,
                                   &arguments, &address))
    return nullptr;
  if (!PyArg_ParseTuple(grid_arg, "I|II:grid", grid, grid + 1, grid + 2)) return nullptr;
  const int device = as_module(as_function(self)->module)->device;
  void *handle = address == Py_None ? nullptr : PyLong_AsVoidPtr(address);
  if (PyErr_Occurred() || !entered(device)) return nullptr;
  if (address == Py_None) {
    Stream *stream = current_stream(device);
    if (!stream) return raise(enter(device), "cuStreamCreateWithPriority");
    handle = stream->handle;
  }
  std::vector<Slot> slots((size_t)PyTuple_GET_SIZE(arguments));
  std::vector<void *> params;
  for (size_t i = 0; i < slots.size(); i++) {
    if (!fill_argument(PyTuple_GET_ITEM(arguments, (Py_ssize_t)i), &slots[i])) return nullptr;
    params.push_back(&slots[i]);
  }
  CUresult code;
  {
    WithoutGil launching;
    code = launch(as_function(self)->handle, grid, threads, shared, params.data(), params.size(), handle);
  }
  return ok(code, "cuLaunchKernelEx", PyUnicode_AsUTF8(as_function(self)->name)) ? Py_NewRef(Py_None) : nullptr;
}

template <int attribute>
PyObject *get_attribute(PyObject *self, void *) {
  int value;
  if (!entered(as_module(as_function(self)->module)->device)) return nullptr;
  return WEFT_CUDA_OK(cuFuncGetAttribute, &value, attribute, as_function(self)->handle) ? PyLong_FromLong(value) : nullptr;
}

PyObject *function_name(PyObject *self, void *) { return Py_NewRef(as_function(self)->name); }
PyObject *function_address(PyObject *self, void *) { return PyLong_FromVoidPtr(as_function(self)->handle); }
PyObject *function_device(PyObject *self, void *) { return PyLong_FromLong(as_module(as_function(self)->module)->device); }
PyObject *module_device(PyObject *self, void *) { return PyLong_FromLong(as_module(self)->device); }

PyMethodDef module_methods[] = {{"function", (PyCFunction)(void *)module_function, METH_VARARGS | METH_KEYWORDS,
                                 "function(name, shared=0): a kernel, ready for that much dynamic shared memory"},
                                {nullptr, nullptr, 0, nullptr}};
PyGetSetDef module_getset[] = {{"device", module_device, nullptr, "index", nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot module_slots[] = {{Py_tp_new, (void *)module_new}, {Py_tp_dealloc, (void *)module_dealloc}, {Py_tp_methods, module_methods},
                              {Py_tp_getset, module_getset}, {Py_tp_doc, (void *)"Module(image, device=None): the kernels of a cubin, on one device."},
                              {0, nullptr}};
PyType_Spec module_spec = {"aten._cuda.Module", sizeof(Module), 0, Py_TPFLAGS_DEFAULT, module_slots};

PyMethodDef function_methods[] = {
    {"launch", (PyCFunction)(void *)function_launch, METH_VARARGS | METH_KEYWORDS,
     "launch(grid, block, shared, arguments, stream=None): grid a tuple, block the threads of one; an argument is a tensor, None (a null pointer) or (kind, value), of Triton's kinds"},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef function_getset[] = {{"name", function_name, nullptr, nullptr, nullptr},
                                 {"handle", function_address, nullptr, "the driver's", nullptr},
                                 {"device", function_device, nullptr, "index", nullptr},
                                 {"registers", get_attribute<CU_FUNC_ATTRIBUTE_NUM_REGS>, nullptr, "of a thread", nullptr},
                                 {"local_bytes", get_attribute<CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES>, nullptr, "of a thread, spills among them", nullptr},
                                 {"static_shared", get_attribute<CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES>, nullptr, "bytes of a block", nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot function_slots[] = {{Py_tp_dealloc, (void *)function_dealloc}, {Py_tp_methods, function_methods}, {Py_tp_getset, function_getset},
                                {Py_tp_doc, (void *)"A kernel of a Module."}, {0, nullptr}};
PyType_Spec function_spec = {"aten._cuda.Function", sizeof(Function), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, function_slots};

}  // namespace

void *function_handle(PyObject *function) {
  if (Py_TYPE(function) == function_type) return as_function(function)->handle;
  PyErr_Format(PyExc_TypeError, "expected a Function of aten._cuda, got %R", function);
  return nullptr;
}

CUresult launch(void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params, size_t n, void *on) {
  if (!grid[0] || !grid[1] || !grid[2]) return CUDA_SUCCESS;
  CUstream stream = static_cast<CUstream>(on);
  CUlaunchConfig config = {grid[0], grid[1], grid[2], threads, 1, 1, shared, stream, nullptr, 0};
  count(counts.launches);
  auto launched = [&](void **arguments) { return driver.cuLaunchKernelEx(&config, static_cast<CUfunction>(function), arguments, nullptr); };
  if (__builtin_expect(!has_draws(params, n), 1)) return launched(params);
  if (is_capturing(stream)) {
    const CUresult code = launched(params);
    return code ? code : keep_drawing_launch(function, grid, threads, shared, params, n, stream);
  }
  std::vector<int64_t> slots;
  for (size_t i = 0; i < n; i++) slots.push_back(*static_cast<int64_t *>(params[i]));
  settle_draws(slots.data(), n);
  std::vector<void *> settled;
  for (int64_t &slot : slots) settled.push_back(&slot);
  return launched(settled.data());
}

bool init_kernels(PyObject *module) {
  return (module_type = add_type(module, &module_spec)) && (function_type = add_type(module, &function_spec));
}

}  // namespace weft::cuda
