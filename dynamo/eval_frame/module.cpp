// module.cpp: dynamo._eval_frame.
#include "entry.h"

static PyObject *ambient(PyObject *, PyObject *) {
  return PyLong_FromUnsignedLongLong(weft ? *weft->ambient() : 0);
}

static PyObject *num_threads(PyObject *, PyObject *) { return PyLong_FromLong(weft ? weft->num_threads() : 1); }

// The name that Python's own messages call a class by: classes written in C have their module in it.
static PyObject *type_name(PyObject *, PyObject *cls) {
  if (!PyType_Check(cls)) return PyErr_Format(PyExc_TypeError, "type_name() is of a class");
  return PyUnicode_FromString(((PyTypeObject *)cls)->tp_name);
}

// What calling something written in C takes, as its flags say: of most no signature tells.
static PyObject *takes_by_flags(PyObject *, PyObject *callable) {
  int flags = METH_VARARGS | METH_KEYWORDS, object = 0;
  if (PyCFunction_Check(callable)) {
    flags = PyCFunction_GET_FLAGS(callable);
  } else if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type)) {
    flags = ((PyMethodDescrObject *)callable)->d_method->ml_flags;
    object = 1;
  } else if (Py_IS_TYPE(callable, &PyWrapperDescr_Type)) {
    if (!(((PyWrapperDescrObject *)callable)->d_base->flags & PyWrapperFlag_KEYWORDS)) flags = METH_VARARGS;
  }
  int count = flags & METH_O ? object + 1 : flags & METH_NOARGS ? object : -1;
  return Py_BuildValue("(iO)", count, flags & METH_KEYWORDS ? Py_True : Py_False);
}

// What a `with` statement of 3.14 loads of its context manager: a method of the class, bound.
static PyObject *exit_method(PyObject *, PyObject *manager) {
  static PyObject *name = PyUnicode_InternFromString("__exit__");
  PyTypeObject *cls = Py_TYPE(manager);
  PyObject *found = _PyType_Lookup(cls, name);
  if (!found)
    return PyErr_Format(PyExc_TypeError, "'%T' object does not support the context manager protocol (missed __exit__ method)", manager);
  descrgetfunc get = Py_TYPE(found)->tp_descr_get;
  Py_INCREF(found);
  if (!get) return found;
  PyObject *bound = get(found, manager, (PyObject *)cls);
  Py_DECREF(found);
  return bound;
}

// Where a class had a `__new__` that was deleted, its slot still looks for one, which makes object's refuse arguments.
static PyObject *makes_as_object(PyObject *, PyObject *cls) {
  return PyBool_FromLong(PyType_Check(cls) && ((PyTypeObject *)cls)->tp_new == PyBaseObject_Type.tp_new);
}

// The hashes that a dict or set keeps of its keys, in the order of iteration: no `__hash__` runs.
static PyObject *stored_hashes(PyObject *, PyObject *container) {
  if (!PyDict_Check(container) && !PyAnySet_Check(container)) return PyErr_Format(PyExc_TypeError, "stored_hashes() is of a dict or set");
  std::vector<std::pair<PyObject *, Py_hash_t>> found;
  if (!keys_and_hashes(container, found)) return NULL;
  PyObject *all = PyTuple_New((Py_ssize_t)found.size());
  for (size_t i = 0; all && i < found.size(); i++) {
    PyObject *hash = PyLong_FromSsize_t(found[i].second);
    if (hash)
      PyTuple_SET_ITEM(all, i, hash);
    else
      Py_CLEAR(all);
  }
  return all;
}

// A dict of these keys and values; hashes[i], where it is no None, is taken for the hash of keys[i].
static PyObject *dict_of(PyObject *, PyObject *args) {
  PyObject *keys, *values, *hashes;
  if (!PyArg_ParseTuple(args, "O!O!O!", &PyTuple_Type, &keys, &PyTuple_Type, &values, &PyTuple_Type, &hashes)) return NULL;
  Py_ssize_t n = PyTuple_GET_SIZE(keys);
  if (PyTuple_GET_SIZE(values) != n || PyTuple_GET_SIZE(hashes) != n)
    return PyErr_Format(PyExc_ValueError, "dict_of(): as many keys, values and hashes are needed");
  PyObject *made = PyDict_New();
  for (Py_ssize_t i = 0; made && i < n; i++) {
    PyObject *hash = PyTuple_GET_ITEM(hashes, i), *key = PyTuple_GET_ITEM(keys, i), *value = PyTuple_GET_ITEM(values, i);
    Py_hash_t known = hash == Py_None ? PyObject_Hash(key) : PyLong_AsSsize_t(hash);
    if ((known == -1 && PyErr_Occurred()) || _PyDict_SetItem_KnownHash(made, key, value, known) < 0) Py_CLEAR(made);
  }
  return made;
}

static PyMethodDef functions[] = {
    {"ambient", ambient, METH_NOARGS, "ambient() -> this thread's ambient word (weft.h)"},
    {"num_threads", num_threads, METH_NOARGS, "num_threads() -> threads that a kernel may use"},
    {"stored_hashes", stored_hashes, METH_O, "stored_hashes(container) -> the hashes that a dict or set keeps of its keys, in order"},
    {"makes_as_object", makes_as_object, METH_O, "makes_as_object(cls) -> whether its slot for __new__ is object's"},
    {"dict_of", dict_of, METH_VARARGS, "dict_of(keys, values, hashes) -> a dict; where a hash is given, the key is not asked for it"},
    {"exit_method", exit_method, METH_O, "exit_method(manager) -> its __exit__, as a `with` statement finds it"},
    {"type_name", type_name, METH_O, "type_name(cls) -> what messages call it: 'int', 'functools.partial'"},
    {"takes_by_flags", takes_by_flags, METH_O, "takes_by_flags(callable) -> how many arguments (-1: not said), and whether keywords"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dynamo._eval_frame", "The frame hook, guards and compiled functions.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__eval_frame(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  weft = weft_import_api();
  if (!weft || !dict_tags_ready() || !guard_program_ready(module) || !shape_program_ready(module) || !entry_ready(module) ||
      !hook_ready(module) || !compiled_function_ready(module) || !instructions_ready(module) || !encode_ready(module) || !hashed_ready(module) ||
      !graph_call_ready(module)) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
