// inductor._runner: the Program type, the loading of libraries, and the benchmark entry.
#include "runner.h"

#include <dlfcn.h>
#include <structmember.h>
#include <time.h>

namespace runner {

const WeftAPI *api = nullptr;
const WeftCudaApi *cuda = nullptr;
PyTypeObject *program_type = nullptr;

// ------------------------------------------------------------------------------------------------------------- Program
static PyObject *program_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names) {
  ProgramObject *self = (ProgramObject *)callable;
  size_t n = (size_t)PyVectorcall_NARGS(nargsf);
  if (n != self->plan->inputs.size() || (names && PyTuple_GET_SIZE(names))) {
    PyErr_Format(PyExc_TypeError, "the compiled graph takes %zu positional inputs, %zu given", self->plan->inputs.size(), n);
    return nullptr;
  }
  PyObject *out = PyTuple_New((Py_ssize_t)self->plan->outputs.size());
  if (!out) return nullptr;
  if (run(self, const_cast<PyObject **>(args), ((PyTupleObject *)out)->ob_item, nullptr)) return out;
  Py_DECREF(out);
  return nullptr;
}

PyObject *new_program(PyObject *data, void *library, PyObject *constants, PyObject *functions) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++)
    if (!is_tensor(PyTuple_GET_ITEM(constants, i))) {
      PyErr_SetString(PyExc_TypeError, "the constants of a Program are Tensors");
      return nullptr;
    }
  Plan *plan = load_plan(data, constants, library, functions);
  if (!plan) return nullptr;
  PyObject *listed = PyDict_GetItemString(data, "checks");
  PyObject *checks = listed ? PySequence_Tuple(listed) : PyTuple_New(0);
  ProgramObject *self = checks ? PyObject_GC_New(ProgramObject, program_type) : nullptr;
  if (!self) {
    Py_XDECREF(checks);
    free_plan(plan);
    return nullptr;
  }
  self->vectorcall = program_call;
  self->plan = plan;
  self->constants = Py_NewRef(constants);
  self->checks = checks;
  self->data = Py_NewRef(data);
  self->functions = Py_NewRef(functions);
  self->library = library;
  self->weakrefs = nullptr;
  self->graphs = nullptr;
  self->words = nullptr;
  PyObject_GC_Track((PyObject *)self);
  return (PyObject *)self;
}

// dlopen compares path texts before it looks at files, and /proc/self/fd/N names another file each time a descriptor is
// reused. So every load spells its path differently: a bit of the count is "/" or "/./".
static std::string unique_spelling(const char *path) {
  static uint64_t count = 0;
  static const char prefix[] = "/proc/self/fd/";
  if (strncmp(path, prefix, sizeof prefix - 1) != 0) return path;
  std::string out = "/proc/self/fd";
  for (uint64_t bits = ++count; bits; bits >>= 1) out += bits & 1 ? "/." : "/";
  return out + "/" + (path + sizeof prefix - 1);
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"data", "library", "constants", "functions", nullptr};
  PyObject *data, *library = Py_None, *constants = nullptr, *functions = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OOO", const_cast<char **>(names), &PyDict_Type, &data, &library, &constants,
                                   &functions))
    return nullptr;
  void *handle = nullptr;
  if (library != Py_None) {
    const char *path = PyUnicode_AsUTF8(library);
    if (!path) return nullptr;
    handle = dlopen(unique_spelling(path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      PyErr_Format(PyExc_ValueError, "not a library of kernels: %s", dlerror());
      return nullptr;
    }
  }
  PyObject *bound = constants ? PySequence_Tuple(constants) : PyTuple_New(0);
  PyObject *self = bound ? new_program(data, handle, bound, functions) : nullptr;
  Py_XDECREF(bound);
  return self;
}

static int program_traverse(ProgramObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(self->constants);
  Py_VISIT(self->data);
  Py_VISIT(self->functions);
  return traverse_plan(self->plan, visit, arg);
}

static void program_dealloc(ProgramObject *self) {
  PyObject_GC_UnTrack(self);
  if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self);
  free_graphs(self->graphs);
  free_words(self->words);
  free_plan(self->plan);
  Py_DECREF(self->constants);
  Py_DECREF(self->checks);
  Py_DECREF(self->data);
  Py_DECREF(self->functions);
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMemberDef program_members[] = {
    {"data", T_OBJECT, offsetof(ProgramObject, data), READONLY, "The plain data it was loaded from."},
    {"constants", T_OBJECT, offsetof(ProgramObject, constants), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ProgramObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ProgramObject, weakrefs), READONLY, nullptr},
    {}};

static PyType_Slot program_slots[] = {
    {Py_tp_doc, (void *)"Program(data: dict, library: str | None = None, constants: sequence of Tensor = (), functions: dict | None = None)\n\n"
                        "A loaded Program: called with its inputs, returns the tuple of its outputs. Raises ValueError for "
                        "data that are not a Program, aten.errors.GraphFailed when a check fails."},
    {Py_tp_new, (void *)program_new},
    {Py_tp_call, (void *)PyVectorcall_Call},
    {Py_tp_traverse, (void *)program_traverse},
    {Py_tp_dealloc, (void *)program_dealloc},
    {Py_tp_members, (void *)program_members},
    {0, nullptr}};

static PyType_Spec program_spec = {"inductor._runner.Program", sizeof(ProgramObject), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, program_slots};

// ----------------------------------------------------------------------------------------------------------- benchmark
static double seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static PyObject *benchmark(PyObject *, PyObject *args) {
  PyObject *program, *inputs;
  Py_ssize_t n;
  if (!PyArg_ParseTuple(args, "O!O!n", program_type, &program, &PyTuple_Type, &inputs, &n)) return nullptr;
  ProgramObject *p = (ProgramObject *)program;
  if (PyTuple_GET_SIZE(inputs) != (Py_ssize_t)p->plan->inputs.size() || n <= 0) {
    PyErr_SetString(PyExc_ValueError, "benchmark(program, inputs, n): wrong number of inputs, or n < 1");
    return nullptr;
  }
  size_t n_outputs = p->plan->outputs.size();
  std::vector<PyObject *> results(n_outputs + 1);
  double start = seconds();
  for (Py_ssize_t k = 0; k < n; k++) {
    if (!run(p, ((PyTupleObject *)inputs)->ob_item, results.data(), nullptr)) return nullptr;
    for (size_t i = 0; i < n_outputs; i++) Py_DECREF(results[i]);
  }
  return PyFloat_FromDouble((seconds() - start) / (double)n);
}

static PyObject *profile(PyObject *, PyObject *args) {
  PyObject *program, *inputs;
  Py_ssize_t n;
  if (!PyArg_ParseTuple(args, "O!O!n", program_type, &program, &PyTuple_Type, &inputs, &n)) return nullptr;
  const Plan &plan = *((ProgramObject *)program)->plan;
  if (PyTuple_GET_SIZE(inputs) != (Py_ssize_t)plan.inputs.size() || n <= 0) {
    PyErr_SetString(PyExc_ValueError, "profile(program, inputs, n): wrong number of inputs, or n < 1");
    return nullptr;
  }
  std::vector<double> times(plan.steps.size());
  std::vector<PyObject *> results(plan.outputs.size() + 1);
  for (Py_ssize_t k = 0; k < n; k++) {
    if (!run_profiled((ProgramObject *)program, ((PyTupleObject *)inputs)->ob_item, results.data(), times.data())) return nullptr;
    for (size_t i = 0; i < plan.outputs.size(); i++) Py_DECREF(results[i]);
  }
  PyObject *out = PyList_New((Py_ssize_t)times.size());
  for (size_t i = 0; out && i < times.size(); i++)
    PyList_SET_ITEM(out, (Py_ssize_t)i, PyFloat_FromDouble(times[i] / (double)n));
  return out;
}

static PyMethodDef functions[] = {
    {"benchmark", benchmark, METH_VARARGS,
     "benchmark(program, inputs: tuple, n: int) -> float\n\nSeconds a call, of n calls made from C."},
    {"profile", profile, METH_VARARGS,
     "profile(program, inputs: tuple, n: int) -> list[float]\n\nSeconds of each step, the mean of n calls made from C."},
    {"failed_checks", failed_checks, METH_NOARGS,
     "failed_checks()\n\nRaises aten.errors.GraphFailed's cause for a check that a kernel on a device has failed, once what ran it is done."},
    {"source_states", source_states, METH_VARARGS,
     "source_states(root: str, packages: tuple[str, ...]) -> str\n\nA line for each .py, .h and .so below root/package: path, size, when written, in order."},
    {"sha256", sha256, METH_O, "sha256(data: bytes-like) -> str\n\nThe SHA-256 digest in hexadecimal."},
    {nullptr, nullptr, 0, nullptr}};

static PyModuleDef module_def = {PyModuleDef_HEAD_INIT, "inductor._runner",
                                 "Loads and runs Programs (inductor/ir/program.py).", -1, functions};

} // namespace runner

PyMODINIT_FUNC PyInit__runner() {
  using namespace runner;
  PyObject *native = PyImport_ImportModule("aten._native");
  if (!native) return nullptr;
  Py_DECREF(native);
  api = weft_import_api();
  if (!api) return nullptr;
  PyObject *module = PyModule_Create(&module_def);
  if (!module) return nullptr;
  program_type = (PyTypeObject *)PyType_FromSpec(&program_spec);
  if (!program_type || PyModule_AddObjectRef(module, "Program", (PyObject *)program_type) < 0 || !add_training_type(module)) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
