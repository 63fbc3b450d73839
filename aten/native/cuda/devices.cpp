// devices.cpp: which devices there are, their contexts and streams, and which of them a thread is on.
//
// Contexts are the devices' primary ones, retained on first use and kept. Each device has a stream of its own, which is
// current in every thread that chose no other; further ones come from a pool of 32 a device and priority, in turn, and are never destroyed (a
// block of the allocator may name one). None is the legacy stream: that would wait for all others.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "extension.h"

namespace weft::cuda {

namespace {

constexpr int kStreamsInPool = 32;

struct Device {
  std::atomic<CUcontext> context{nullptr};
  std::atomic<Stream *> own{nullptr};
  std::vector<Stream *> pool[2];  // of normal and of high priority
  size_t next[2] = {0, 0};
};

Device devices[kMaxDevices];
int found = 0, seen = 0;
bool started;
std::atomic<bool> forked{false};
std::unordered_map<CUstream, Stream *> streams;
int64_t last_id;
thread_local int this_device;
thread_local Stream *chosen[kMaxDevices];

// A new stream of the device; NULL with its code.
Stream *make_stream(int device, int priority, int64_t id, CUresult *code) {
  if ((*code = enter(device)) != CUDA_SUCCESS) return nullptr;
  CUstream handle;
  if ((*code = driver.cuStreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, priority)) != CUDA_SUCCESS) return nullptr;
  return new Stream{handle, device, id, priority};
}

}  // namespace

bool is_started() { return started; }

bool is_forked() { return forked.load(std::memory_order_relaxed); }

bool start() {
  if (is_forked()) {
    PyErr_SetString(PyExc_RuntimeError, "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method");
    return false;
  }
  if (started) return true;
  const char *why = open_driver();
  if (why) {
    PyErr_Format(PyExc_RuntimeError, "there is no CUDA driver: %s", why);
    return false;
  }
  int count = 0;
  if (!WEFT_CUDA_OK(cuDeviceGetCount, &count)) return false;
  found = seen = std::min(count, kMaxDevices);
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  started = true;
  return true;
}

int device_count() { return started && !is_forked() ? seen : 0; }

bool check_device(int device) {
  if (!start()) return false;
  if (device >= 0 && device < found) return true;
  PyErr_Format(PyExc_RuntimeError, "CUDA error: invalid device ordinal %d: there are %d devices", device, found);
  return false;
}

CUcontext context_of(int device) { return devices[device].context.load(); }

CUresult enter(int device) {
  if (__builtin_expect(is_forked(), 0)) return CUDA_ERROR_DEINITIALIZED;
  Device &d = devices[device];
  CUcontext context = d.context.load(std::memory_order_acquire);
  if (__builtin_expect(!context, 0)) {  // retaining twice is harmless: it is counted, and gives the same
    CUresult code = driver.cuDevicePrimaryCtxRetain(&context, device);
    if (code != CUDA_SUCCESS) return code;
    d.context.store(context, std::memory_order_release);
  }
  CUcontext now = nullptr;
  CUresult code = driver.cuCtxGetCurrent(&now);  // other libraries may have set theirs
  if (code != CUDA_SUCCESS || now == context) return code;
  return driver.cuCtxSetCurrent(context);
}

bool entered(int device) { return check_device(device) && ok(enter(device), "cuCtxSetCurrent"); }

int current_device() { return this_device; }

Stream *default_stream(int device) {
  std::atomic<Stream *> &own = devices[device].own;
  Stream *stream = own.load(std::memory_order_acquire);
  if (__builtin_expect(stream != nullptr, 1)) return stream;
  CUresult code;
  Stream *made = make_stream(device, 0, 0, &code);
  if (!made) return nullptr;
  if (own.compare_exchange_strong(stream, made)) return made;
  driver.cuStreamDestroy(made->handle);  // another thread was first
  delete made;
  return stream;
}

Stream *current_stream(int device) {
  Stream *stream = chosen[device];
  return stream ? stream : default_stream(device);
}

Stream *stream_of(void *handle) {
  CUstream wanted = static_cast<CUstream>(handle);
  for (int device = 0; device < found; device++) {
    Stream *own = devices[device].own.load();
    if (own && own->handle == wanted) return own;
  }
  auto it = streams.find(wanted);
  return it == streams.end() ? nullptr : it->second;
}

Stream *external_stream(void *handle, int device) {
  Stream *known = stream_of(handle);
  if (!known) known = streams[static_cast<CUstream>(handle)] = new Stream{static_cast<CUstream>(handle), device, ++last_id, 0};
  return known;
}

Stream *known_stream(PyObject *address) {
  void *handle = PyLong_AsVoidPtr(address);
  if (!handle && PyErr_Occurred()) return nullptr;
  Stream *stream = stream_of(handle);
  if (!stream) PyErr_Format(PyExc_ValueError, "no stream of weft has the handle %R", address);
  return stream;
}

int device_argument(PyObject *argument) {
  if (!start()) return -1;
  long index = this_device;
  if (argument && argument != Py_None) {
    PyObject *number = PyLong_Check(argument) ? Py_NewRef(argument) : PyObject_GetAttrString(argument, "index");
    if (!number) return -1;
    if (number != Py_None) index = PyLong_AsLong(number);
    Py_DECREF(number);
    if (index == -1 && PyErr_Occurred()) return -1;
    if (index == -1) index = this_device;
  }
  return index < kMaxDevices && check_device((int)index) ? (int)index : -1;
}

namespace {

// -------------------------------------------------------------------------------------------------- devices, to Python
PyObject *initialize(PyObject *, PyObject *) {
  if (!start()) return nullptr;
  if (aten->device(WEFT_CUDA) != &device_row.device) aten->set_device(WEFT_CUDA, &device_row.device);
  Py_RETURN_NONE;
}

PyObject *why_not(PyObject *, PyObject *) {
  const char *why = open_driver();
  return why ? PyUnicode_FromString(why) : Py_NewRef(Py_None);
}

PyObject *get_count(PyObject *, PyObject *) { return start() ? PyLong_FromLong(device_count()) : nullptr; }

PyObject *driver_version(PyObject *, PyObject *) {
  int version;
  return start() && WEFT_CUDA_OK(cuDriverGetVersion, &version) ? PyLong_FromLong(version) : nullptr;
}

PyObject *show_devices(PyObject *, PyObject *arg) {
  long count = PyLong_AsLong(arg);
  if (count == -1 && PyErr_Occurred()) return nullptr;
  seen = (int)std::clamp(count, 0L, (long)found);
  Py_RETURN_NONE;
}

PyObject *attribute(PyObject *, PyObject *args) {
  int which, device, value;
  if (!PyArg_ParseTuple(args, "ii:attribute", &device, &which) || !check_device(device)) return nullptr;
  return WEFT_CUDA_OK(cuDeviceGetAttribute, &value, which, device) ? PyLong_FromLong(value) : nullptr;
}

PyObject *device_name(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  char name[256] = "";
  return device >= 0 && WEFT_CUDA_OK(cuDeviceGetName, name, (int)sizeof name, device) ? PyUnicode_FromString(name) : nullptr;
}

PyObject *device_uuid(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  char bytes[16];
  return device >= 0 && WEFT_CUDA_OK(cuDeviceGetUuid, bytes, device) ? PyBytes_FromStringAndSize(bytes, 16) : nullptr;
}

PyObject *total_memory(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  size_t bytes;
  return device >= 0 && WEFT_CUDA_OK(cuDeviceTotalMem, &bytes, device) ? PyLong_FromSize_t(bytes) : nullptr;
}

PyObject *capability(PyObject *, PyObject *arg) {
  int device = device_argument(arg), major, minor;
  if (device < 0 || !WEFT_CUDA_OK(cuDeviceGetAttribute, &major, 75, device) || !WEFT_CUDA_OK(cuDeviceGetAttribute, &minor, 76, device)) return nullptr;
  return Py_BuildValue("ii", major, minor);
}

PyObject *get_current_device(PyObject *, PyObject *) { return PyLong_FromLong(this_device); }

PyObject *set_current_device(PyObject *, PyObject *arg) {
  long device = PyLong_AsLong(arg);
  if (device == -1 && PyErr_Occurred()) return nullptr;
  if (!entered((int)device)) return nullptr;
  this_device = (int)device;
  Py_RETURN_NONE;
}

PyObject *synchronize(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  if (device < 0) return nullptr;
  return device_row.device.synchronize(device) == 0 ? Py_NewRef(Py_None) : nullptr;
}

// -------------------------------------------------------------------------------------------------- streams, to Python
PyObject *described(Stream *stream) {
  return Py_BuildValue("(NiLi)", PyLong_FromVoidPtr(stream->handle), stream->device, (long long)stream->id, stream->priority);
}

PyObject *new_stream(PyObject *, PyObject *args) {
  PyObject *which;
  int priority;
  if (!PyArg_ParseTuple(args, "Oi:new_stream", &which, &priority)) return nullptr;
  int device = device_argument(which), least, greatest;
  if (device < 0 || !entered(device) || !WEFT_CUDA_OK(cuCtxGetStreamPriorityRange, &least, &greatest)) return nullptr;
  Device &d = devices[device];
  const bool high = priority < 0;
  std::vector<Stream *> &pool = d.pool[high];
  if (pool.size() < kStreamsInPool) {
    CUresult code;
    Stream *made = make_stream(device, high ? std::max(greatest, priority) : 0, ++last_id, &code);
    if (!made) return raise(code, "cuStreamCreateWithPriority");
    pool.push_back(made);
    streams[made->handle] = made;
    return described(made);
  }
  return described(pool[d.next[high]++ % kStreamsInPool]);
}

PyObject *stream_of_id(PyObject *, PyObject *args) {
  PyObject *which;
  long long id;
  if (!PyArg_ParseTuple(args, "OL:stream_of_id", &which, &id)) return nullptr;
  const int device = device_argument(which);
  if (device < 0 || !entered(device)) return nullptr;
  if (id == 0) {
    Stream *own = default_stream(device);
    return own ? described(own) : raise(enter(device), "cuStreamCreateWithPriority");
  }
  for (auto &[handle, stream] : streams)
    if (stream->device == device && stream->id == id) return described(stream);
  return PyErr_Format(PyExc_ValueError, "no stream of cuda:%d has the id %lld", device, id);
}

PyObject *see_stream(PyObject *, PyObject *args) {
  PyObject *address, *which;
  if (!PyArg_ParseTuple(args, "O!O:external_stream", &PyLong_Type, &address, &which)) return nullptr;
  int device = device_argument(which);
  void *handle = PyLong_AsVoidPtr(address);
  if (device < 0 || PyErr_Occurred()) return nullptr;
  return described(external_stream(handle, device));
}

PyObject *get_current_stream(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  if (device < 0) return nullptr;
  Stream *stream = current_stream(device);
  return stream ? described(stream) : raise(enter(device), "cuStreamCreateWithPriority");
}

PyObject *get_default_stream(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  if (device < 0) return nullptr;
  Stream *stream = default_stream(device);
  return stream ? described(stream) : raise(enter(device), "cuStreamCreateWithPriority");
}

PyObject *set_stream(PyObject *, PyObject *address) {
  Stream *stream = known_stream(address);
  if (!stream) return nullptr;
  chosen[stream->device] = stream->id ? stream : nullptr;
  Py_RETURN_NONE;
}

PyObject *stream_synchronize(PyObject *, PyObject *address) {
  Stream *stream = known_stream(address);
  if (!stream || !entered(stream->device)) return nullptr;
  CUresult code;
  {
    WithoutGil waiting;
    code = driver.cuStreamSynchronize(stream->handle);
  }
  return ok(code, "cuStreamSynchronize") ? Py_NewRef(Py_None) : nullptr;
}

PyObject *stream_query(PyObject *, PyObject *address) {
  Stream *stream = known_stream(address);
  if (!stream || !entered(stream->device)) return nullptr;
  CUresult code = driver.cuStreamQuery(stream->handle);
  if (code == CUDA_ERROR_NOT_READY) Py_RETURN_FALSE;
  return ok(code, "cuStreamQuery") ? Py_NewRef(Py_True) : nullptr;
}

}  // namespace

PyMethodDef device_functions[] = {
    {"initialize", initialize, METH_NOARGS, "open the driver and put its devices into the table; RuntimeError says what is missing"},
    {"why_not", why_not, METH_NOARGS, "why the driver cannot be opened, None if it can"},
    {"device_count", get_count, METH_NOARGS, "how many devices programs see"},
    {"show_devices", show_devices, METH_O, "show_devices(n): programs see n of the devices; tensors on others live on"},
    {"driver_version", driver_version, METH_NOARGS, "1000 * major + 10 * minor of the CUDA that the driver serves"},
    {"attribute", attribute, METH_VARARGS, "attribute(device, which): a number of cuDeviceGetAttribute"},
    {"device_name", device_name, METH_O, nullptr},
    {"device_uuid", device_uuid, METH_O, "16 bytes"},
    {"total_memory", total_memory, METH_O, "bytes"},
    {"capability", capability, METH_O, "capability(device): (major, minor)"},
    {"current_device", get_current_device, METH_NOARGS, "this thread's"},
    {"set_device", set_current_device, METH_O, nullptr},
    {"synchronize", synchronize, METH_O, "synchronize(device): until all that was queued on it has run"},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef stream_functions[] = {
    {"stream_of_id", stream_of_id, METH_VARARGS, "stream_of_id(device, id): the stream that has it, as new_stream gives it"},
    {"new_stream", new_stream, METH_VARARGS, "new_stream(device, priority): (handle, device, id, priority), from the pool"},
    {"external_stream", see_stream, METH_VARARGS, "external_stream(handle, device): another library's"},
    {"current_stream", get_current_stream, METH_O, "current_stream(device): this thread's, as new_stream gives it"},
    {"default_stream", get_default_stream, METH_O, "default_stream(device): the device's own"},
    {"set_stream", set_stream, METH_O, "set_stream(handle): work of this thread for its device goes there"},
    {"stream_synchronize", stream_synchronize, METH_O, "stream_synchronize(handle): until all that is queued there has run"},
    {"stream_query", stream_query, METH_O, "stream_query(handle): whether it has"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft::cuda
