// devices.cpp: the table of devices, one WeftDevice a type, and what is done through it: copies between devices, waiting.
//
// CUDA's driver is looked for when a program first asks for its devices: until then the row imports aten._cuda, which puts its own there.
#include <memory>

#include "native.h"
#include "streams.h"

namespace weft {

namespace {

const WeftDevice meta_row = {"meta", false, [] { return kLargestIndex + 1; }, nullptr, nullptr, nullptr, nullptr, nullptr};

// The devices of aten._cuda; none where there is no driver. The interpreter's look-up of an imported module is cheap, and a
// driver that was not found is not looked for again.
int look_for_cuda();
const WeftStreamedDevice no_cuda_row = {{"cuda", true, look_for_cuda, nullptr, nullptr, nullptr, nullptr, nullptr}, [] { return 0; }, nullptr, nullptr};
const WeftDevice *rows[kDevices] = {&cpu_row, &no_cuda_row.device, &meta_row};

int look_for_cuda() {
  static bool looking;
  if (looking) return 0;  // asked while the module is imported
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  looking = true;
  Ref module(PyImport_ImportModule("aten._cuda")), ready;
  if (module) ready.reset(PyObject_CallMethod(module.get(), "initialize", nullptr));
  looking = false;
  PyErr_Restore(type, value, trace);  // what was raised is that there is no driver: `why_not` of the module says it
  return ready ? rows[WEFT_CUDA]->count() : 0;
}

const WeftStreamedDevice &cuda_row() { return *reinterpret_cast<const WeftStreamedDevice *>(rows[WEFT_CUDA]); }

}  // namespace

const WeftDevice *device_row(int type) { return rows[type]; }

void set_device_row(int type, const WeftDevice *row) { rows[type] = row; }

int device_index(int type, int index) { return index >= 0 ? index : type == WEFT_CUDA ? cuda_row().current() : 0; }

static void raise_no_device(int type) {
  Ref module(type == WEFT_CUDA ? PyImport_ImportModule("aten._cuda") : nullptr), reason;
  if (module) reason.reset(PyObject_CallMethod(module.get(), "why_not", nullptr));
  PyErr_Clear();
  if (reason && PyUnicode_Check(reason.get()))
    PyErr_Format(PyExc_RuntimeError, "there is no %s device on this machine, or no driver for it: %U", rows[type]->name, reason.get());
  else
    PyErr_Format(PyExc_RuntimeError, "there is no %s device on this machine, or no driver for it", rows[type]->name);
}

bool device_exists(int type, int index) {
  if (__builtin_expect(type == WEFT_CPU && index == 0, 1)) return true;
  int count = rows[type]->count();
  if (index >= 0 && index < count) return true;
  if (count == 0) raise_no_device(type);
  else
    PyErr_Format(PyExc_RuntimeError, "CUDA error: invalid device ordinal: there is no device %s:%d: indices are below %d", rows[type]->name, index, count);
  return false;
}

// The host has waited for a device: raises what kernels there have found wrong meanwhile (aten.devices.waited).
static bool looked() {
  static PyObject *waited = nullptr;
  if (!waited) {
    PyObject *module = PyImport_ImportModule("aten.devices");
    waited = module ? PyObject_GetAttrString(module, "waited") : nullptr;
    Py_XDECREF(module);
  }
  PyObject *done = waited ? PyObject_CallNoArgs(waited) : nullptr;
  Py_XDECREF(done);
  return done != nullptr;
}

bool copy_bytes(char *to, int to_type, int to_index, const char *from, int from_type, int from_index, int64_t nbytes, bool ahead) {
  if (nbytes == 0) return true;
  if (ahead && from_type != to_type && (from_type == WEFT_CUDA || to_type == WEFT_CUDA) && cuda_row().copy_ahead)
    return from_type == WEFT_CPU ? cuda_row().copy_ahead(to, from, nbytes, WEFT_COPY_FROM_HOST, to_index) == 0
                                 : cuda_row().copy_ahead(to, from, nbytes, WEFT_COPY_TO_HOST, from_index) == 0;
  if (to_type == WEFT_CUDA && from_type == WEFT_CUDA && to_index != from_index && cuda_row().across)
    return cuda_row().across(to, to_index, from, from_index, nbytes) == 0;
  if (to_type == from_type && to_index == from_index) return rows[to_type]->copy(to, from, nbytes, WEFT_COPY_WITHIN, to_index) == 0;
  if (from_type == WEFT_CPU) return rows[to_type]->copy(to, from, nbytes, WEFT_COPY_FROM_HOST, to_index) == 0;
  if (to_type == WEFT_CPU) return rows[from_type]->copy(to, from, nbytes, WEFT_COPY_TO_HOST, from_index) == 0 && looked();
  std::unique_ptr<char[]> between(new (std::nothrow) char[nbytes]);
  if (!between) {
    PyErr_NoMemory();
    return false;
  }
  return rows[from_type]->copy(between.get(), from, nbytes, WEFT_COPY_TO_HOST, from_index) == 0 &&
         rows[to_type]->copy(to, between.get(), nbytes, WEFT_COPY_FROM_HOST, to_index) == 0;
}

PyObject *moved(WeftTensor *t, int type, int index, bool ahead) {
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
  if (nbytes && !copy_bytes(to->data, type, index, weft_data(t), from->device_type, from->device_index, nbytes, ahead)) {
    storage_decref(to);
    return nullptr;
  }
  return tensor_new(word, WEFT_NDIM(t), t->sizes, t->strides, 0, to);
}

namespace {

// move(tensor, device, ahead=False): a tensor of its own memory there, of the same sizes, strides and elements, without history
PyObject *move(PyObject *, PyObject *args) {
  PyObject *tensor, *device;
  int type, index, ahead = 0;
  if (!PyArg_ParseTuple(args, "O!O|p:move", tensor_type, &tensor, &device, &ahead) || !parse_device(device, &type, &index)) return nullptr;
  if (!need_memory(as_tensor(tensor), "a copy to another device")) return nullptr;
  return moved(as_tensor(tensor), type, device_index(type, index), ahead);
}

// copy_memory(to, from, ahead=False): the bytes of one row-major tensor into another of as many, whatever devices they are on
PyObject *copy_memory(PyObject *, PyObject *args) {
  PyObject *first, *second;
  int ahead = 0;
  if (!PyArg_ParseTuple(args, "O!O!|p:copy_memory", tensor_type, &first, tensor_type, &second, &ahead)) return nullptr;
  WeftTensor *to = as_tensor(first), *from = as_tensor(second);
  if (!need_memory(to, "copy_memory()") || !need_memory(from, "copy_memory()")) return nullptr;
  int64_t nbytes = to->numel * weft_itemsize(WEFT_DTYPE(to));
  if (!(to->word & from->word & WEFT_WORD_CONTIGUOUS) || nbytes != from->numel * weft_itemsize(WEFT_DTYPE(from)))
    return PyErr_Format(PyExc_RuntimeError, "copy_memory: the tensors are not row-major of as many bytes");
  if (to->storage->flags & WEFT_STORAGE_READONLY) return PyErr_Format(PyExc_RuntimeError, "copy_memory: the memory is read-only");
  if (!rows[to->storage->device_type]->has_memory || !rows[from->storage->device_type]->has_memory)
    return PyErr_Format(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
  if (!copy_bytes(nbytes ? weft_data(to) : nullptr, to->storage->device_type, to->storage->device_index, nbytes ? weft_data(from) : nullptr,
                  from->storage->device_type, from->storage->device_index, nbytes, ahead))
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
  if (!parse_device(arg, &type, &index)) return nullptr;
  index = device_index(type, index);
  if (!device_exists(type, index) || (rows[type]->has_memory && rows[type]->synchronize(index) < 0)) return nullptr;
  Py_RETURN_NONE;
}

// device_index(device): the index that a device has, or means where none is named
PyObject *get_device_index(PyObject *, PyObject *arg) {
  int type, index;
  return parse_device(arg, &type, &index) ? PyLong_FromLong(device_index(type, index)) : nullptr;
}

}  // namespace

PyMethodDef device_functions[] = {
    {"move", move, METH_VARARGS, "move(tensor, device, ahead=False): the same elements and strides in memory of another device; ahead: the copy may still be under way"},
    {"copy_memory", copy_memory, METH_VARARGS, "copy_memory(to, from, ahead=False): bytes between row-major tensors of any two devices"},
    {"device_count", device_count, METH_O, "how many devices of this type there are"},
    {"synchronize", synchronize, METH_O, "wait until a device has done what it was given"},
    {"device_index", get_device_index, METH_O, "the index of a device; of one without: what this thread means by it"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
