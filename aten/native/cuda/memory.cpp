// memory.cpp: CUDA's row of the table of devices, and copies in the order of streams.
#include "counts.h"

#include <string.h>

namespace weft::cuda {

namespace {

CUdeviceptr pointer(const void *p) { return reinterpret_cast<CUdeviceptr>(p); }
CUstream handle(void *stream) { return static_cast<CUstream>(stream); }

}  // namespace

CUresult copy_from_host(void *to, const void *from, int64_t nbytes, void *stream) {
  if (!nbytes) return CUDA_SUCCESS;
  count(counts.copies_from_host), count(counts.bytes_from_host, nbytes);
  return driver.cuMemcpyHtoDAsync(pointer(to), from, (size_t)nbytes, handle(stream));
}

CUresult copy_to_host(void *to, const void *from, int64_t nbytes, void *stream) {
  if (!nbytes) return CUDA_SUCCESS;
  count(counts.copies_to_host), count(counts.bytes_to_host, nbytes);
  return driver.cuMemcpyDtoHAsync(to, pointer(from), (size_t)nbytes, handle(stream));
}

CUresult copy_within(void *to, const void *from, int64_t nbytes, void *stream) {
  if (!nbytes) return CUDA_SUCCESS;
  count(counts.copies_within), count(counts.bytes_within, nbytes);
  return driver.cuMemcpyDtoDAsync(pointer(to), pointer(from), (size_t)nbytes, handle(stream));
}

CUresult copy_across(void *to, int to_device, const void *from, int from_device, int64_t nbytes, void *stream) {
  if (!nbytes) return CUDA_SUCCESS;
  return driver.cuMemcpyPeerAsync(pointer(to), context_of(to_device), pointer(from), context_of(from_device), (size_t)nbytes, handle(stream));
}

CUresult fill(void *to, int byte, int64_t nbytes, void *stream) {
  return nbytes ? driver.cuMemsetD8Async(pointer(to), (unsigned char)byte, (size_t)nbytes, handle(stream)) : CUDA_SUCCESS;
}

namespace {

// The current stream of a device that has been entered; NULL with an exception set.
Stream *here(int device) {
  if (!entered(device)) return nullptr;
  Stream *stream = current_stream(device);
  if (!stream) raise(enter(device), "cuStreamCreateWithPriority");
  return stream;
}

int row_copy(void *to, const void *from, int64_t nbytes, WeftCopy way, int device, bool wait) {
  Stream *stream = here(device);
  if (!stream) return -1;
  if (way == WEFT_COPY_WITHIN) return ok(copy_within(to, from, nbytes, stream->handle), "cuMemcpyDtoDAsync") ? 0 : -1;
  const bool to_host = way == WEFT_COPY_TO_HOST, pinned = pinned_use(to_host ? to : from, stream);
  CUresult code, waited = CUDA_SUCCESS;
  {
    Away copying;
    code = to_host ? copy_to_host(to, from, nbytes, stream->handle) : copy_from_host(to, from, nbytes, stream->handle);
    // Pageable memory has been read when the call returns, and where it is written there is no way but to wait.
    if (code == CUDA_SUCCESS && (to_host || pinned) && (wait || !pinned)) waited = driver.cuStreamSynchronize(stream->handle);
  }
  return ok(code, to_host ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync") && ok(waited, "cuStreamSynchronize") ? 0 : -1;
}

int copy(void *to, const void *from, int64_t nbytes, WeftCopy way, int device) { return row_copy(to, from, nbytes, way, device, true); }

int copy_ahead(void *to, const void *from, int64_t nbytes, WeftCopy way, int device) { return row_copy(to, from, nbytes, way, device, false); }

int across(void *to, int to_device, const void *from, int from_device, int64_t nbytes) {
  // What was queued for either device comes first, and what is queued for either from now on, after.
  Stream *giving = here(from_device), *taking = giving ? here(to_device) : nullptr;
  if (!taking) return -1;
  CUevent event;
  if (!WEFT_CUDA_OK(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING)) return -1;
  CUresult code = driver.cuEventRecord(event, taking->handle);
  if (code == CUDA_SUCCESS) code = enter(from_device);
  if (code == CUDA_SUCCESS) code = driver.cuStreamWaitEvent(giving->handle, event, 0);
  if (code == CUDA_SUCCESS) code = copy_across(to, to_device, from, from_device, nbytes, giving->handle);
  driver.cuEventDestroy(event);
  if (!ok(code, "cuMemcpyPeerAsync") || !WEFT_CUDA_OK(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING)) return -1;
  code = driver.cuEventRecord(event, giving->handle);
  if (code == CUDA_SUCCESS) code = enter(to_device);
  if (code == CUDA_SUCCESS) code = driver.cuStreamWaitEvent(taking->handle, event, 0);
  driver.cuEventDestroy(event);
  return ok(code, "cuStreamWaitEvent") ? 0 : -1;
}

int row_fill(void *to, int byte, int64_t nbytes, int device) {
  Stream *stream = here(device);
  return stream && ok(fill(to, byte, nbytes, stream->handle), "cuMemsetD8Async") ? 0 : -1;
}

int synchronize(int device) {
  if (!entered(device)) return -1;
  CUresult code;
  {
    WithoutGil waiting;
    code = driver.cuCtxSynchronize();
  }
  return ok(code, "cuCtxSynchronize") ? 0 : -1;
}

// fill(tensor, element): every element is the one of a tensor on the CPU; False, and nothing done, where the driver has no memset of
// such elements: of 8 bytes and more that do not repeat
PyObject *fill_elements(PyObject *, PyObject *args) {
  PyObject *tensor, *element;
  if (!PyArg_ParseTuple(args, "O!O!:fill", aten->tensor_type, &tensor, aten->tensor_type, &element)) return nullptr;
  WeftTensor *to = reinterpret_cast<WeftTensor *>(tensor), *one = reinterpret_cast<WeftTensor *>(element);
  if (to->storage->device_type != WEFT_CUDA || one->storage->device_type != WEFT_CPU || one->numel != 1 ||
      WEFT_DTYPE(to) != WEFT_DTYPE(one) || !(to->word & WEFT_WORD_CONTIGUOUS))
    return PyErr_Format(PyExc_ValueError, "fill: a row-major tensor on a device and one element of its dtype on the CPU");
  if (!to->numel) Py_RETURN_TRUE;
  const char *bytes = weft_data(one);
  size_t size = weft_itemsize(WEFT_DTYPE(to)), width = size;
  while (width > 1 && memcmp(bytes, bytes + width / 2, width / 2) == 0) width /= 2;
  if (width > 4) Py_RETURN_FALSE;
  Stream *stream = here(to->storage->device_index);
  if (!stream) return nullptr;
  uint32_t value = 0;
  memcpy(&value, bytes, width);
  CUdeviceptr at = pointer(weft_data(to));
  size_t n = (size_t)to->numel * (size / width);
  CUresult code = width == 4   ? driver.cuMemsetD32Async(at, value, n, stream->handle)
                  : width == 2 ? driver.cuMemsetD16Async(at, (unsigned short)value, n, stream->handle)
                               : driver.cuMemsetD8Async(at, (unsigned char)value, n, stream->handle);
  return ok(code, "cuMemsetAsync") ? Py_NewRef(Py_True) : nullptr;
}

}  // namespace

PyMethodDef fill_functions[] = {{"fill", fill_elements, METH_VARARGS, "fill(tensor, element): whether all its elements could be made that one"},
                                {nullptr, nullptr, 0, nullptr}};

const WeftStreamedDevice device_row = {{"cuda", true, device_count, [](int64_t nbytes, int device) { return allocate(nbytes, device, nullptr); },
                                        [](void *block, int64_t, int) { release(block); }, copy, row_fill, synchronize},
                                       current_device,
                                       copy_ahead,
                                       across};

}  // namespace weft::cuda
