// device.cpp: Device objects: device("cpu"), device("cuda", 1).
#include <string.h>

#include "native.h"

namespace weft {

struct Device {
  PyObject_HEAD
  int type;
  int index;  // -1: none was named
};

PyTypeObject *device_type;
const char *const device_names[kDevices] = {"cpu", "cuda", "meta"};
static PyObject *cpu_device, *meta_device;

static PyObject *make_device(int type, int index) {
  Device *device = PyObject_New(Device, device_type);
  if (!device) return nullptr;
  device->type = type;
  device->index = index;
  return as_object(device);
}

PyObject *device_object(int type, int index) {
  if (type == WEFT_CPU) return Py_NewRef(cpu_device);
  if (type == WEFT_META) return Py_NewRef(meta_device);
  return make_device(type, index);
}

// "cuda:1" → type and index; false with RuntimeError set.
static bool parse_device_text(PyObject *object, int *type, int *index) {
  const char *text = PyUnicode_AsUTF8(object);
  if (!text) return false;
  const char *colon = strchr(text, ':');
  size_t length = colon ? (size_t)(colon - text) : strlen(text);
  *index = -1;
  if (colon) {
    char *end;
    long value = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end || value < 0 || value > kLargestIndex) {
      PyErr_Format(PyExc_RuntimeError, "invalid device string: %R", object);
      return false;
    }
    *index = (int)value;
  }
  for (int i = 0; i < 3; i++) {
    if (strlen(device_names[i]) == length && memcmp(device_names[i], text, length) == 0) {
      *type = i;
      return true;
    }
  }
  PyErr_Format(PyExc_RuntimeError, "expected one of cpu, cuda, meta as device type, got %R", object);
  return false;
}

// -1 (none) to what the tensor word has room for; false with an exception set.
static bool parse_index(PyObject *arg, int *index) {
  int overflow;
  long value = PyLong_AsLongAndOverflow(arg, &overflow);
  if (value == -1 && PyErr_Occurred()) return false;
  if (overflow || value < -1 || value > kLargestIndex) {
    PyErr_Format(PyExc_RuntimeError, "Device index must be -1 or between 0 and %d, got %S", kLargestIndex, arg);
    return false;
  }
  *index = (int)value;
  return true;
}

bool parse_device(PyObject *arg, int *type, int *index) {
  *type = WEFT_CPU;
  *index = -1;
  if (!arg || arg == Py_None) return true;
  if (Py_TYPE(arg) == device_type) {
    *type = reinterpret_cast<Device *>(arg)->type;
    *index = reinterpret_cast<Device *>(arg)->index;
    return true;
  }
  if (PyUnicode_Check(arg)) return parse_device_text(arg, type, index);
  if (PyLong_CheckExact(arg)) {
    *type = WEFT_CUDA;
    return parse_index(arg, index);
  }
  PyErr_Format(PyExc_TypeError, "device must be a device or a string, got %R", arg);
  return false;
}

static PyObject *device_new(PyTypeObject *, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"type", "index", nullptr};
  PyObject *what, *index_arg = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char **>(names), &what, &index_arg)) return nullptr;
  int type, index;
  if (!parse_device(what, &type, &index)) return nullptr;
  if (index_arg != Py_None) {
    if (index >= 0) {
      PyErr_SetString(PyExc_RuntimeError, "device: an index was given twice");
      return nullptr;
    }
    if (!parse_index(index_arg, &index)) return nullptr;
  }
  if (index < 0) return device_object(type, index);
  return make_device(type, index);
}

static PyObject *device_repr(PyObject *self) {
  Device *d = reinterpret_cast<Device *>(self);
  if (d->index < 0) return PyUnicode_FromFormat("device(type='%s')", device_names[d->type]);
  return PyUnicode_FromFormat("device(type='%s', index=%d)", device_names[d->type], d->index);
}

static PyObject *device_str(PyObject *self) {
  Device *d = reinterpret_cast<Device *>(self);
  if (d->index < 0) return PyUnicode_FromString(device_names[d->type]);
  return PyUnicode_FromFormat("%s:%d", device_names[d->type], d->index);
}

static PyObject *device_compare(PyObject *a, PyObject *b, int op) {
  if (Py_TYPE(a) != device_type || Py_TYPE(b) != device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  Device *x = reinterpret_cast<Device *>(a), *y = reinterpret_cast<Device *>(b);
  bool equal = x->type == y->type && x->index == y->index;
  return PyBool_FromLong(equal == (op == Py_EQ));
}

static Py_hash_t device_hash(PyObject *self) {
  Device *d = reinterpret_cast<Device *>(self);
  return 1 + d->type * 32 + d->index + 1;
}

static PyObject *get_type(PyObject *self, void *) {
  return PyUnicode_FromString(device_names[reinterpret_cast<Device *>(self)->type]);
}

static PyObject *get_index(PyObject *self, void *) {
  int index = reinterpret_cast<Device *>(self)->index;
  if (index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(index);
}

static PyObject *device_reduce(PyObject *self, PyObject *) {
  Ref text(device_str(self));
  return text ? Py_BuildValue("O(O)", device_type, text.get()) : nullptr;
}

static PyGetSetDef device_getset[] = {{"type", get_type, nullptr, "'cpu', 'cuda' or 'meta'", nullptr},
                                      {"index", get_index, nullptr, "number of the device, or None", nullptr},
                                      {nullptr, nullptr, nullptr, nullptr, nullptr}};
static PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyType_Slot device_slots[] = {{Py_tp_new, (void *)device_new},
                                     {Py_tp_repr, (void *)device_repr},
                                     {Py_tp_str, (void *)device_str},
                                     {Py_tp_richcompare, (void *)device_compare},
                                     {Py_tp_hash, (void *)device_hash},
                                     {Py_tp_getset, device_getset},
                                     {Py_tp_methods, device_methods},
                                     {Py_tp_doc, (void *)"device(type, index=None): where a tensor's memory is."},
                                     {0, nullptr}};
static PyType_Spec device_spec = {"aten._native.Device", sizeof(Device), 0, Py_TPFLAGS_DEFAULT, device_slots};

bool init_device(PyObject *module) {
  device_type = add_type(module, &device_spec);
  if (!device_type) return false;
  cpu_device = make_device(WEFT_CPU, -1);
  meta_device = make_device(WEFT_META, -1);
  return cpu_device && meta_device;
}

}  // namespace weft
