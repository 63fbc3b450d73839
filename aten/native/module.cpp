// module.cpp: the extension module aten._native and the capsule of its C API.
#include <string.h>

#include "chain.h"
#include "places.h"
#include "pool.h"
#include "recursion.h"
#include "replay.h"
#include "written_out.h"
#include "matmul.h"
#include "native_kernel.h"
#include "released.h"

namespace weft {

PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, PyObject *bases) {
  PyObject *type = PyType_FromSpecWithBases(spec, bases);
  if (!type) return nullptr;
  const char *dot = strrchr(spec->name, '.');
  if (PyModule_AddObjectRef(module, dot ? dot + 1 : spec->name, type) < 0) {
    Py_DECREF(type);
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject *>(type);
}

static WeftAPI api;

static bool init_api(PyObject *module) {
  api.abi = WEFT_ABI;
  api.sizeof_tensor = sizeof(WeftTensor);
  api.sizeof_storage = sizeof(WeftStorage);
  api.sizeof_node = sizeof(WeftNode);
  api.tensor_type = tensor_type;
  api.node_type = node_type;
  api.storage_new = storage_new;
  api.storage_decref = storage_decref;
  api.tensor_new = tensor_new;
  api.empty = empty;
  api.empty_row_major = empty_row_major;
  api.alias = checked_alias;
  api.known_view = known_view;
  api.dtype_code = dtype_code;
  api.dtype_object = dtype_object;
  api.ambient = ambient;
  api.kernel_runtime = kernel_runtime;
  api.num_threads = num_threads;
  api.philox_reserve = philox_reserve;
  api.record = record;
  api.check_inplace = check_inplace;
  api.call_goes_away = []() {
    kernel_thread.depth++;
    kernel_thread.programs++;
    if (call_goes_away()) return true;
    kernel_thread.depth--;
    kernel_thread.programs--;
    return false;
  };
  api.call_ended = []() {
    kernel_thread.programs--;
    if (--kernel_thread.depth == 0) call_ended();
    else if (kernel_thread.resting) op_of_program_ended();
  };
  api.without_gil = [](PyThreadState *state) {
    kernel_thread.state = state;
    kernel_thread.resting = !state;
    kernel_thread.asked = __builtin_ia32_rdtsc();
  };
  api.device = device_row;
  api.set_device = set_device_row;
  Ref capsule(PyCapsule_New(&api, "aten._native._C_API", nullptr));
  return capsule && PyModule_AddObjectRef(module, "_C_API", capsule.get()) == 0;
}

static PyObject *set_parameter_type(PyObject *, PyObject *type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(type), tensor_type))
    return PyErr_Format(PyExc_TypeError, "%R is not a subclass of Tensor", type);
  Py_XSETREF(api.parameter_type, Py_NewRef(type));
  Py_RETURN_NONE;
}

PyTypeObject *parameter_type() { return reinterpret_cast<PyTypeObject *>(api.parameter_type); }

static PyObject *deepen_thread(PyObject *, PyObject *by) {
  const long n = PyLong_AsLong(by);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  deepen((int)n);
  Py_RETURN_NONE;
}

// Takes a tuple whose items no cycle can go through from the collector, as its first walk over it would; whether none does.
static bool untrack_if_atomic(PyObject *tuple) {
  bool atomic = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject *item = PyTuple_GET_ITEM(tuple, i);
    const bool acyclic = !PyObject_IS_GC(item) || (PyTuple_CheckExact(item) && untrack_if_atomic(item));
    atomic = atomic && acyclic;
  }
  if (atomic && PyObject_GC_IsTracked(tuple)) PyObject_GC_UnTrack(tuple);
  return atomic;
}

static void untrack_code(PyCodeObject *code) {
  untrack_if_atomic(code->co_names);
  untrack_if_atomic(code->co_localsplusnames);
  untrack_if_atomic(code->co_consts);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
    PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
    if (PyCode_Check(item)) untrack_code(reinterpret_cast<PyCodeObject *>(item));
  }
}

static PyObject *untrack_constants(PyObject *, PyObject *code) {
  if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "%R is not a code object", code);
  untrack_code(reinterpret_cast<PyCodeObject *>(code));
  Py_RETURN_NONE;
}

static PyMethodDef module_functions[] = {
    {"deepen", deepen_thread, METH_O, "deepen(n): calls in this thread may nest n frames deeper than the recursion limit, until deepen(-n)"},
    {"memory_stats", memory_stats, METH_NOARGS, "bytes and counts of the CPU allocator"},
    {"reset_peak_memory", reset_peak_memory, METH_NOARGS, "start peak_bytes again from what is allocated now"},
    {"empty_cache", empty_cache, METH_NOARGS, "give cached memory back to the system; the bytes given"},
    {"native_kernels", native_kernels, METH_NOARGS, "{name of an op: its kernel on tensors}"},
    {"widened", widened, METH_O, "widened(kernel): a native kernel that calls another one with float32 for halves, and rounds once; NotImplemented without halves"},
    {"untrack_constants", untrack_constants, METH_O, "the collector need not walk the constants and names of a code object and of those within"},
    {"set_parameter_type", set_parameter_type, METH_O, "the class that the fast path treats like Tensor itself"},
    {nullptr, nullptr, 0, nullptr}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "aten._native", "Tensors, autograd and dispatch of weft, in C++.", -1,
                                 module_functions, nullptr, nullptr, nullptr, nullptr};

static bool init(PyObject *module) {
  if (!init_threads()) {
    PyErr_SetString(PyExc_ImportError, "cannot register the thread pool's fork handler");
    return false;
  }
  PyMethodDef *const tables[] = {device_functions, inplace_functions, fused_backward_functions, ambient_functions, thread_functions,
                                 philox_functions, matmul_functions, attention_functions, places_functions, chain_functions,
                                 replay_functions, written_functions, pool_functions, series_functions};
  for (PyMethodDef *functions : tables)
    if (PyModule_AddFunctions(module, functions) < 0) return false;
  return init_dtype(module) && init_device(module) && init_size(module) && init_storage(module) && init_tensor(module) &&
         init_philox(module) && init_autograd(module) && init_op(module) && init_api(module);
}

}  // namespace weft

extern "C" __attribute__((visibility("default"))) PyObject *PyInit__native() {
  PyObject *module = PyModule_Create(&weft::definition);
  if (module && !weft::init(module)) Py_CLEAR(module);
  return module;
}
