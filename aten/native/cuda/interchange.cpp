// interchange.cpp: memory shown to other libraries and taken from them (DLPack, __cuda_array_interface__).
#include "extension.h"

namespace weft::cuda {

namespace {

// hand_over(tensor, stream): a consumer's stream (a handle; None and 1 the legacy one, -1 none) waits for what is queued on the
// current one, and the memory is not reused before what the consumer has queued by the time it lets go.
PyObject *hand_over(PyObject *, PyObject *args) {
  PyObject *tensor, *stream;
  if (!PyArg_ParseTuple(args, "O!O:hand_over", aten->tensor_type, &tensor, &stream)) return nullptr;
  long long number = stream == Py_None ? 1 : PyLong_AsLongLong(stream);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  if (number == -1) Py_RETURN_NONE;
  if (number == 0) return PyErr_Format(PyExc_ValueError, "__dlpack__: stream 0 is ambiguous on CUDA: 1 is the legacy stream, 2 the thread's");
  WeftStorage *storage = reinterpret_cast<WeftTensor *>(tensor)->storage;
  const int device = storage->device_index;
  if (!entered(device)) return nullptr;
  CUstream theirs = reinterpret_cast<CUstream>(number);
  Stream *ours = current_stream(device);
  if (!ours) return raise(enter(device), "cuStreamCreateWithPriority");
  record_stream(storage->data, external_stream(theirs, device));  // the block may belong to a third
  if (ours->handle == theirs) Py_RETURN_NONE;
  CUevent event;
  if (!WEFT_CUDA_OK(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING)) return nullptr;
  CUresult code = driver.cuEventRecord(event, ours->handle);
  if (code == CUDA_SUCCESS) code = driver.cuStreamWaitEvent(theirs, event, 0);
  driver.cuEventDestroy(event);
  return ok(code, "cuStreamWaitEvent") ? Py_NewRef(Py_None) : nullptr;
}

void release_owner(WeftStorage *storage) { Py_XDECREF(static_cast<PyObject *>(storage->owner)); }

// wrap(address, sizes, strides, dtype, device, owner): a tensor on memory of another library, which `owner` keeps
PyObject *wrap(PyObject *, PyObject *args) {
  unsigned long long address;
  PyObject *sizes_arg, *strides_arg, *dtype_arg, *owner;
  int device;
  if (!PyArg_ParseTuple(args, "KO!O!OiO:wrap", &address, &PyTuple_Type, &sizes_arg, &PyTuple_Type, &strides_arg, &dtype_arg, &device, &owner)) return nullptr;
  const int dtype = aten->dtype_code(dtype_arg), ndim = (int)PyTuple_GET_SIZE(sizes_arg);
  if (dtype < 0 || !check_device(device)) return nullptr;
  if (ndim > WEFT_MAX_NDIM || PyTuple_GET_SIZE(strides_arg) != ndim) return PyErr_Format(PyExc_ValueError, "wrap: %d sizes", ndim);
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM], last = 0;
  bool none = false;
  for (int i = 0; i < ndim; i++) {
    sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes_arg, i));
    strides[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides_arg, i));
    if (PyErr_Occurred()) return nullptr;
    if (sizes[i] < 0 || strides[i] < 0) return PyErr_Format(PyExc_ValueError, "wrap: a size or stride is negative");
    none |= sizes[i] == 0;
    last += (sizes[i] - 1) * strides[i];
  }
  WeftStorage *storage = aten->storage_new(0, WEFT_CUDA, device);
  if (!storage) return nullptr;
  storage->data = none ? nullptr : reinterpret_cast<char *>(address);
  storage->nbytes = none ? 0 : (last + 1) * weft_itemsize(dtype);
  storage->flags = WEFT_STORAGE_EXTERNAL;
  storage->owner = Py_NewRef(owner);
  storage->release = release_owner;
  return aten->tensor_new(weft_word(dtype, WEFT_CUDA, device, 0), ndim, sizes, strides, 0, storage);
}

// The device whose memory an address is; -1 for none.
PyObject *device_of_pointer(PyObject *, PyObject *arg) {
  unsigned long long address = PyLong_AsUnsignedLongLong(arg);
  if (PyErr_Occurred() || !entered(current_device())) return nullptr;
  int device = -1;
  if (driver.cuPointerGetAttribute(&device, 9, address) != CUDA_SUCCESS) device = -1;
  return PyLong_FromLong(device);
}

}  // namespace

PyMethodDef interchange_functions[] = {
    {"hand_over", hand_over, METH_VARARGS, "hand_over(tensor, stream): a consumer's stream waits for what is queued on the current one"},
    {"wrap", wrap, METH_VARARGS, "wrap(address, sizes, strides, dtype, device, owner): a tensor on another library's memory"},
    {"device_of_pointer", device_of_pointer, METH_O, "the device whose memory an address is; -1 for none"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft::cuda
