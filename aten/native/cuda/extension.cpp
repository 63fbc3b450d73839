// extension.cpp: the extension module aten._cuda and the capsule of its C API (cuda.h). Importing it opens nothing.
#include "counts.h"

#include <string.h>

namespace weft::cuda {

const WeftAPI *aten;

PyTypeObject *add_type(PyObject *module, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  if (!type) return nullptr;
  if (PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, type) < 0) {
    Py_DECREF(type);
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject *>(type);
}

namespace {

CUstream stream(void *p) { return static_cast<CUstream>(p); }
CUevent event(void *p) { return static_cast<CUevent>(p); }

void *api_current_stream(int device) {
  Stream *current = current_stream(device);
  return current ? current->handle : nullptr;
}

WeftCudaApi api() {
  WeftCudaApi a = {};
  a.abi = WEFT_CUDA_ABI;
  a.current_device = current_device;
  a.current_stream = api_current_stream;
  a.enter = enter;
  a.function = function_handle;
  a.launch = launch;
  a.settle_draws = settle_draws;
  a.allocate = [](int64_t nbytes, int device, void *on) -> void * {
    Stream *known = on ? stream_of(on) : nullptr;
    if (on && !known) return PyErr_Format(PyExc_ValueError, "no stream of weft has the handle %p", on);
    return allocate(nbytes, device, known);
  };
  a.release = release;
  a.record_stream = [](void *block, void *on) {
    Stream *known = stream_of(on);
    return known ? record_stream(block, known) : (int)CUDA_ERROR_INVALID_VALUE;
  };
  a.copy_from_host = copy_from_host;
  a.copy_to_host = copy_to_host;
  a.copy_within = copy_within;
  a.copy_across = copy_across;
  a.fill = fill;
  a.stream_synchronize = [](void *on) { return driver.cuStreamSynchronize(stream(on)); };
  a.event_new = [](void **made) { return driver.cuEventCreate(reinterpret_cast<CUevent *>(made), CU_EVENT_DISABLE_TIMING); };
  a.event_destroy = [](void *e) { return is_forked() ? CUDA_SUCCESS : driver.cuEventDestroy(event(e)); };
  a.event_record = [](void *e, void *on) { return driver.cuEventRecord(event(e), stream(on)); };
  a.event_query = [](void *e) { return driver.cuEventQuery(event(e)); };
  a.event_synchronize = [](void *e) { return driver.cuEventSynchronize(event(e)); };
  a.stream_wait = [](void *on, void *e) { return driver.cuStreamWaitEvent(stream(on), event(e), 0); };
  a.pinned_allocate = pinned_allocate;
  a.pinned_release = [](void *block, int, void *on) { pinned_release(block, on ? stream_of(on) : nullptr); };
  a.is_capturing = [](void *on) { return is_capturing(stream(on)); };
  a.capture_begin = [](void *on, int mode) { return driver.cuStreamBeginCapture(stream(on), mode); };
  a.capture_end = [](void *on, void **graph) { return driver.cuStreamEndCapture(stream(on), reinterpret_cast<CUgraph *>(graph)); };
  a.instantiate = [](void *graph, void **made) {
    return driver.cuGraphInstantiate(reinterpret_cast<CUgraphExec *>(made), static_cast<CUgraph>(graph), 0);
  };
  a.graph_launch = [](void *executable, void *on) {
    count(counts.graph_launches);
    return driver.cuGraphLaunch(static_cast<CUgraphExec>(executable), stream(on));
  };
  a.graph_new = [](void **made) { return driver.cuGraphCreate(reinterpret_cast<CUgraph *>(made), 0); };
  a.add_node = add_node;
  a.kernel_nodes = kernel_nodes;
  a.update_node = update_node;
  a.executable_destroy = [](void *executable) {
    return is_forked() ? CUDA_SUCCESS : driver.cuGraphExecDestroy(static_cast<CUgraphExec>(executable));
  };
  a.graph_destroy = [](void *graph) { return is_forked() ? CUDA_SUCCESS : driver.cuGraphDestroy(static_cast<CUgraph>(graph)); };
  a.pool_begin = pool_begin;
  a.pool_end = pool_end;
  a.pool_release = pool_release;
  a.raise = raise;
  return a;
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "aten._cuda", "CUDA devices of weft, by the driver's own library.", -1, nullptr, nullptr, nullptr,
                          nullptr, nullptr};

bool init(PyObject *module) {
  static WeftCudaApi table = api();
  if (!(aten = weft_import_api())) return false;
  for (PyMethodDef *functions : {device_functions, stream_functions, memory_functions, pinned_functions, interchange_functions, count_functions, fill_functions})
    if (PyModule_AddFunctions(module, functions) < 0) return false;
  if (!init_events(module) || !init_kernels(module) || !init_graphs(module)) return false;
  PyObject *capsule = PyCapsule_New(&table, "aten._cuda._C_API", nullptr);
  if (!capsule) return false;
  int added = PyModule_AddObjectRef(module, "_C_API", capsule);
  Py_DECREF(capsule);
  return added == 0;
}

}  // namespace

}  // namespace weft::cuda

extern "C" __attribute__((visibility("default"))) PyObject *PyInit__cuda() {
  PyObject *module = PyModule_Create(&weft::cuda::definition);
  if (module && !weft::cuda::init(module)) Py_CLEAR(module);
  return module;
}
