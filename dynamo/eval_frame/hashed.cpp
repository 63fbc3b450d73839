// hashed.cpp: the base of records that are keys of many dictionaries (sources, guards): the hash is told once, and read in C.
#include "entry.h"

#include <cstddef>
#include <structmember.h>

namespace {

struct Hashed {
  PyObject_HEAD
  Py_hash_t hash;
};

PyTypeObject Hashed_Type = {PyVarObject_HEAD_INIT(NULL, 0)};

Py_hash_t hash_of(PyObject *self) { return ((Hashed *)self)->hash; }

PyMemberDef members[] = {
    {(char *)"_hash", T_PYSSIZET, offsetof(Hashed, hash), 0, (char *)"hash(self)"},
    {NULL, 0, 0, 0, NULL},
};

} // namespace

bool hashed_ready(PyObject *module) {
  PyTypeObject &t = Hashed_Type;
  t.tp_name = "dynamo._eval_frame.Hashed";
  t.tp_doc = "A record whose hash is what `_hash` was set to.";
  t.tp_basicsize = sizeof(Hashed);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  t.tp_new = PyType_GenericNew;
  t.tp_hash = hash_of;
  t.tp_members = members;
  return PyType_Ready(&t) == 0 && PyModule_AddObjectRef(module, "Hashed", (PyObject *)&t) == 0;
}
