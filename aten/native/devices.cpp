// devices.cpp: the table of devices, one WeftDevice a type, and what is done through it: copies between devices, waiting.
#include <memory>

#include "native.h"

namespace weft {

namespace {

const WeftDevice meta_row = {"meta", false, [] { return kLargestIndex + 1; }, nullptr, nullptr, nullptr, nullptr, nullptr};
const WeftDevice no_cuda_row = {"cuda", true, [] { return 0; }, nullptr, nullptr, nullptr, nullptr, nullptr};
const WeftDevice *rows[kDevices] = {&cpu_row, &no_cuda_row, &meta_row};

}  // namespace

const WeftDevice *device_row(int type) { return rows[type]; }

void set_device_row(int type, const WeftDevice *row) { rows[type] = row; }

bool device_exists(int type, int index) {
  if (__builtin_expect(type == WEFT_CPU && index == 0, 1)) return true;
  int count = rows[type]->count();
  if (index >= 0 && index < count) return true;
  if (count == 0)
    PyErr_Format(PyExc_RuntimeError, "there is no %s device on this machine, or no driver for it", rows[type]->name);
  else
    PyErr_Format(PyExc_RuntimeError, "there is no device %s:%d: indices are below %d", rows[type]->name, index, count);
  return false;
}

bool copy_bytes(char *to, int to_type, int to_index, const char *from, int from_type, int from_index, int64_t nbytes) {
  if (nbytes == 0) return true;
  if (to_type == from_type && to_index == from_index) return rows[to_type]->copy(to, from, nbytes, WEFT_COPY_WITHIN, to_index) == 0;
  if (from_type == WEFT_CPU) return rows[to_type]->copy(to, from, nbytes, WEFT_COPY_FROM_HOST, to_index) == 0;
  if (to_type == WEFT_CPU) return rows[from_type]->copy(to, from, nbytes, WEFT_COPY_TO_HOST, from_index) == 0;
  std::unique_ptr<char[]> between(new (std::nothrow) char[nbytes]);
  if (!between) {
    PyErr_NoMemory();
    return false;
  }
  return rows[from_type]->copy(between.get(), from, nbytes, WEFT_COPY_TO_HOST, from_index) == 0 &&
         rows[to_type]->copy(to, between.get(), nbytes, WEFT_COPY_FROM_HOST, to_index) == 0;
}

PyObject *moved(WeftTensor *t, int type, int index) {
  if (!device_exists(type, index)) return nullptr;
  WeftStorage *from = t->storage;
  uint32_t word = weft_word(WEFT_DTYPE(t), type, index, 0);
  if (!rows[type]->has_memory) return empty(word, WEFT_NDIM(t), t->sizes, t->strides);
  if (!rows[from->device_type]->has_memory) {
    PyErr_SetString(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
    return nullptr;
  }
  int64_t elements = t->numel != 0;
  for (int d = 0; d < WEFT_NDIM(t) && elements; d++) elements += (t->sizes[d] - 1) * t->strides[d];  // the layout is inside of memory
  int64_t nbytes = elements * weft_itemsize(WEFT_DTYPE(t));
  WeftStorage *to = storage_new(nbytes, type, index);
  if (!to) return nullptr;
  if (nbytes && !copy_bytes(to->data, type, index, weft_data(t), from->device_type, from->device_index, nbytes)) {
    storage_decref(to);
    return nullptr;
  }
  return tensor_new(word, WEFT_NDIM(t), t->sizes, t->strides, 0, to);
}

namespace {

// move(tensor, device): a tensor of its own memory there, of the same sizes, strides and elements, without history
PyObject *move(PyObject *, PyObject *args) {
  PyObject *tensor, *device;
  int type, index;
  if (!PyArg_ParseTuple(args, "O!O:move", tensor_type, &tensor, &device) || !parse_device(device, &type, &index)) return nullptr;
  if (!need_memory(as_tensor(tensor), "a copy to another device")) return nullptr;
  return moved(as_tensor(tensor), type, index < 0 ? 0 : index);
}

// copy_memory(to, from): the bytes of one row-major tensor into another of as many, whatever devices they are on
PyObject *copy_memory(PyObject *, PyObject *args) {
  PyObject *first, *second;
  if (!PyArg_ParseTuple(args, "O!O!:copy_memory", tensor_type, &first, tensor_type, &second)) return nullptr;
  WeftTensor *to = as_tensor(first), *from = as_tensor(second);
  if (!need_memory(to, "copy_memory()") || !need_memory(from, "copy_memory()")) return nullptr;
  int64_t nbytes = to->numel * weft_itemsize(WEFT_DTYPE(to));
  if (!(to->word & from->word & WEFT_WORD_CONTIGUOUS) || nbytes != from->numel * weft_itemsize(WEFT_DTYPE(from)))
    return PyErr_Format(PyExc_RuntimeError, "copy_memory: the tensors are not row-major of as many bytes");
  if (to->storage->flags & WEFT_STORAGE_READONLY) return PyErr_Format(PyExc_RuntimeError, "copy_memory: the memory is read-only");
  if (!rows[to->storage->device_type]->has_memory || !rows[from->storage->device_type]->has_memory)
    return PyErr_Format(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
  if (!copy_bytes(nbytes ? weft_data(to) : nullptr, to->storage->device_type, to->storage->device_index, nbytes ? weft_data(from) : nullptr,
                  from->storage->device_type, from->storage->device_index, nbytes))
    return nullptr;
  Py_RETURN_NONE;
}

PyObject *device_count(PyObject *, PyObject *arg) {
  int type, index;
  if (!parse_device(arg, &type, &index)) return nullptr;
  return PyLong_FromLong(rows[type]->count());
}

PyObject *synchronize(PyObject *, PyObject *arg) {
  int type, index;
  if (!parse_device(arg, &type, &index) || !device_exists(type, index < 0 ? 0 : index)) return nullptr;
  if (rows[type]->has_memory && rows[type]->synchronize(index < 0 ? 0 : index) < 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject *simulate_cuda(PyObject *, PyObject *arg) {
  long count = PyLong_AsLong(arg);
  if (count == -1 && PyErr_Occurred()) return nullptr;
  if (count < 0 || count > kLargestIndex + 1) return PyErr_Format(PyExc_ValueError, "simulate_cuda: %ld devices", count);
  if (rows[WEFT_CUDA] != &no_cuda_row && rows[WEFT_CUDA] != simulated_device)
    return PyErr_Format(PyExc_RuntimeError, "simulate_cuda: there are real devices");
  simulate_devices((int)count);
  rows[WEFT_CUDA] = simulated_device;  // stays, as tensors may outlive the test: with a count of 0 there are no new ones
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef device_functions[] = {
    {"move", move, METH_VARARGS, "move(tensor, device): the same elements and strides in memory of another device"},
    {"copy_memory", copy_memory, METH_VARARGS, "copy_memory(to, from): bytes between row-major tensors of any two devices"},
    {"device_count", device_count, METH_O, "how many devices of this type there are"},
    {"synchronize", synchronize, METH_O, "wait until a device has done what it was given"},
    {"simulate_cuda", simulate_cuda, METH_O, "for tests: so many CUDA devices whose memory only copies may touch; 0: none any more"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
