// graphs.cpp: work captured from streams, played again as a whole.
#include <algorithm>
#include <vector>

#include "counts.h"

namespace weft::cuda {

bool is_capturing(CUstream stream) {
  int status = 0;
  return driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != 0;
}

int kernel_nodes(void *graph, void **nodes, int room) {
  size_t count = 0;
  CUgraph captured = static_cast<CUgraph>(graph);
  if (driver.cuGraphGetNodes(captured, nullptr, &count) != CUDA_SUCCESS) return -1;
  std::vector<CUgraphNode> all(count);
  if (count && driver.cuGraphGetNodes(captured, all.data(), &count) != CUDA_SUCCESS) return -1;
  int kernels = 0;
  for (CUgraphNode node : all) {
    int type;
    if (driver.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) return -1;
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    if (kernels < room) nodes[kernels] = node;
    kernels++;
  }
  return kernels;
}

int add_node(void *graph, void *before, void **node, void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params) {
  CUkernelNodeParams given = {static_cast<CUfunction>(function), grid[0], grid[1], grid[2], threads, 1, 1, shared, params, nullptr, nullptr, nullptr};
  CUgraphNode after = static_cast<CUgraphNode>(before);
  return driver.cuGraphAddKernelNode(reinterpret_cast<CUgraphNode *>(node), static_cast<CUgraph>(graph), &after, before ? 1 : 0, &given);
}

int update_node(void *executable, void *node, void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params) {
  CUkernelNodeParams given = {static_cast<CUfunction>(function), grid[0], grid[1], grid[2], threads, 1, 1, shared, params, nullptr, nullptr, nullptr};
  count(counts.patched_nodes);
  return driver.cuGraphExecKernelNodeSetParams(static_cast<CUgraphExec>(executable), static_cast<CUgraphNode>(node), &given);
}

namespace {

struct Graph {
  PyObject_HEAD
  CUgraph captured;
  CUgraphExec executable;
  CUstream stream;   // being captured, else NULL
  int device;
  std::shared_ptr<Drawing> *draws;  // made by the first that asks
};

Graph *as_graph(PyObject *self) { return reinterpret_cast<Graph *>(self); }

Drawing *drawing_of(Graph *graph) {
  if (!graph->draws) graph->draws = new std::shared_ptr<Drawing>(new Drawing);
  return graph->draws->get();
}

void clear(Graph *graph) {
  if (graph->draws) {
    if (graph->stream && !end_draws(*graph->draws)) PyErr_WriteUnraisable(reinterpret_cast<PyObject *>(graph));
    delete std::exchange(graph->draws, nullptr);
  }
  if (is_forked()) return;
  if (graph->stream) {
    CUgraph unfinished = nullptr;
    driver.cuStreamEndCapture(graph->stream, &unfinished);
    if (unfinished) driver.cuGraphDestroy(unfinished);
  }
  if (graph->executable) driver.cuGraphExecDestroy(graph->executable);
  if (graph->captured) driver.cuGraphDestroy(graph->captured);
  graph->stream = nullptr;
  graph->executable = nullptr;
  graph->captured = nullptr;
}

void graph_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  clear(as_graph(self));
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *graph_begin(PyObject *self, PyObject *args) {
  Graph *graph = as_graph(self);
  PyObject *address;
  int mode;
  if (!PyArg_ParseTuple(args, "Oi:begin", &address, &mode)) return nullptr;
  Stream *stream = stream_of(PyLong_AsVoidPtr(address));
  if (!stream) return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_ValueError, "no stream of weft has the handle %R", address);
  if (graph->captured || graph->stream) return PyErr_Format(PyExc_RuntimeError, "This CUDAGraph instance already owns a captured graph");
  if (!entered(stream->device) || !WEFT_CUDA_OK(cuStreamBeginCapture, stream->handle, mode)) return nullptr;
  graph->stream = stream->handle;
  graph->device = stream->device;
  drawing_of(graph);
  return begin_draws(*graph->draws) ? Py_NewRef(Py_None) : nullptr;
}

PyObject *graph_end(PyObject *self, PyObject *) {
  Graph *graph = as_graph(self);
  if (!graph->stream) return PyErr_Format(PyExc_RuntimeError, "capture_end() without capture_begin()");
  CUgraph captured = nullptr;
  CUstream stream = std::exchange(graph->stream, nullptr);
  if (!entered(graph->device)) return nullptr;
  const CUresult code = driver.cuStreamEndCapture(stream, &captured);
  graph->captured = captured;
  if (code == CUDA_SUCCESS) return end_draws(*graph->draws) ? Py_NewRef(Py_None) : nullptr;
  if (!end_draws(*graph->draws)) PyErr_Clear();
  return raise(code, "cuStreamEndCapture");
}

PyObject *graph_instantiate(PyObject *self, PyObject *) {
  Graph *graph = as_graph(self);
  if (!graph->captured) return PyErr_Format(PyExc_RuntimeError, "CUDAGraph: nothing was captured");
  if (graph->executable || !entered(graph->device)) return graph->executable ? Py_NewRef(Py_None) : nullptr;
  return WEFT_CUDA_OK(cuGraphInstantiate, &graph->executable, graph->captured, 0) ? Py_NewRef(Py_None) : nullptr;
}

PyObject *graph_launch(PyObject *self, PyObject *address) {
  Graph *graph = as_graph(self);
  void *stream = PyLong_AsVoidPtr(address);
  if (PyErr_Occurred()) return nullptr;
  if (!graph->executable) return PyErr_Format(PyExc_RuntimeError, "Called CUDAGraph::replay without a preceding successful capture.");
  if (!entered(graph->device) || !replay_draws(*drawing_of(graph), graph->executable)) return nullptr;
  CUresult code;
  {
    WithoutGil launching;
    count(counts.graph_launches);
    code = driver.cuGraphLaunch(graph->executable, static_cast<CUstream>(stream));
  }
  return ok(code, "cuGraphLaunch") ? Py_NewRef(Py_None) : nullptr;
}

PyObject *graph_register(PyObject *self, PyObject *generator) {
  drawing_of(as_graph(self))->add(generator);
  Py_RETURN_NONE;
}

PyObject *graph_reset(PyObject *self, PyObject *) {
  clear(as_graph(self));
  Py_RETURN_NONE;
}

PyObject *graph_kernels(PyObject *self, PyObject *) {
  Graph *graph = as_graph(self);
  int count = graph->captured ? kernel_nodes(graph->captured, nullptr, 0) : 0;
  return count < 0 ? PyErr_Format(PyExc_RuntimeError, "the driver does not list the graph's nodes") : PyLong_FromLong(count);
}

PyObject *stream_is_capturing(PyObject *, PyObject *address) {
  void *stream = PyLong_AsVoidPtr(address);
  if (PyErr_Occurred()) return nullptr;
  int status = 0;
  return WEFT_CUDA_OK(cuStreamIsCapturing, static_cast<CUstream>(stream), &status) ? PyBool_FromLong(status != 0) : nullptr;
}

PyMethodDef methods[] = {{"begin", graph_begin, METH_VARARGS, "begin(stream handle, mode): what is queued there from now on is recorded; mode 0 global, 1 thread-local, 2 relaxed"},
                         {"end", graph_end, METH_NOARGS, "end the capture"},
                         {"instantiate", graph_instantiate, METH_NOARGS, "make it ready to be launched"},
                         {"launch", graph_launch, METH_O, "launch(stream handle)"},
                         {"register", graph_register, METH_O, "register(generator): numbers of it, too, are new at every launch"},
                         {"reset", graph_reset, METH_NOARGS, "forget what was captured"},
                         {"kernels", graph_kernels, METH_NOARGS, "how many launches it holds"},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, (void *)graph_dealloc}, {Py_tp_methods, methods}, {Py_tp_new, (void *)PyType_GenericNew},
                       {Py_tp_doc, (void *)"Graph(): captured work."}, {0, nullptr}};
PyType_Spec spec = {"aten._cuda.Graph", sizeof(Graph), 0, Py_TPFLAGS_DEFAULT, slots};
PyMethodDef functions[] = {{"is_capturing", stream_is_capturing, METH_O, "is_capturing(stream handle)"}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_graphs(PyObject *module) { return add_type(module, &spec) && PyModule_AddFunctions(module, functions) == 0; }

}  // namespace weft::cuda
