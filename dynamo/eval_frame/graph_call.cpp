// graph_call.cpp: a captured graph that runs op by op, called often: its Python without the method around it (0.5 us a call).
#include "entry.h"

#include <structmember.h>

struct GraphCall {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *first;    // owned: what is called `left` times more
  PyObject *then;     // owned: makes `function`
  PyObject *module;   // owned: the function's first argument
  PyObject *function; // owned or NULL
  Py_ssize_t left;
};

static PyObject *graph_call(PyObject *o, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  GraphCall *self = (GraphCall *)o;
  if (kwnames || (!self->function && self->left > 0)) {
    self->left -= !kwnames;
    return PyObject_Vectorcall(self->first, args, nargsf, kwnames);
  }
  if (!self->function && !(self->function = PyObject_CallNoArgs(self->then))) return NULL;
  size_t n = (size_t)PyVectorcall_NARGS(nargsf);
  PyObject *small[16];
  std::vector<PyObject *> large;
  PyObject **all = small;
  if (n + 1 > 16) {
    large.resize(n + 1);
    all = large.data();
  }
  all[0] = self->module;
  for (size_t i = 0; i < n; i++) all[i + 1] = args[i];
  return PyObject_Vectorcall(self->function, all, n + 1, NULL);
}

static PyObject *graph_call_new(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *first, *then, *module;
  Py_ssize_t runs;
  if (!PyArg_ParseTuple(args, "OOOn", &module, &first, &then, &runs)) return NULL;
  GraphCall *self = (GraphCall *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = graph_call;
  self->module = Py_NewRef(module);
  self->first = Py_NewRef(first);
  self->then = Py_NewRef(then);
  self->left = runs;
  return (PyObject *)self;
}

static int graph_call_traverse(PyObject *o, visitproc visit, void *arg) {
  GraphCall *self = (GraphCall *)o;
  Py_VISIT(self->module);
  Py_VISIT(self->first);
  Py_VISIT(self->then);
  Py_VISIT(self->function);
  return 0;
}

static int graph_call_clear(PyObject *o) {
  GraphCall *self = (GraphCall *)o;
  Py_CLEAR(self->module);
  Py_CLEAR(self->first);
  Py_CLEAR(self->then);
  Py_CLEAR(self->function);
  return 0;
}

static void graph_call_dealloc(PyObject *o) {
  PyObject_GC_UnTrack(o);
  graph_call_clear(o);
  Py_TYPE(o)->tp_free(o);
}

static PyMemberDef members[] = {
    {"__self__", T_OBJECT, offsetof(GraphCall, module), READONLY, "The graph's module."},
    {"function", T_OBJECT, offsetof(GraphCall, function), READONLY, "What `then` made, or None."},
    {NULL, 0, 0, 0, NULL},
};
static PyTypeObject GraphCall_Type = {PyVarObject_HEAD_INIT(NULL, 0)};

bool graph_call_ready(PyObject *module) {
  PyTypeObject &t = GraphCall_Type;
  t.tp_name = "dynamo._eval_frame.GraphCall";
  t.tp_doc = "GraphCall(module, first, then, runs): calls first(*inputs) so many times, from then on then()(module, *inputs).";
  t.tp_basicsize = sizeof(GraphCall);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  t.tp_new = graph_call_new;
  t.tp_dealloc = graph_call_dealloc;
  t.tp_traverse = graph_call_traverse;
  t.tp_clear = graph_call_clear;
  t.tp_members = members;
  t.tp_call = PyVectorcall_Call;
  t.tp_vectorcall_offset = offsetof(GraphCall, vectorcall);
  return PyType_Ready(&t) == 0 && PyModule_AddObjectRef(module, "GraphCall", (PyObject *)&t) == 0;
}
