// events.cpp: points in the order of a stream, as Python objects.
#include "extension.h"

namespace weft::cuda {

namespace {

struct Event {
  PyObject_HEAD
  CUevent handle;   // made at its first use, when the device is known
  int device;
  bool timing, blocking;
};

Event *as_event(PyObject *self) { return reinterpret_cast<Event *>(self); }

PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"timing", "blocking", nullptr};
  int timing = 0, blocking = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pp:Event", const_cast<char **>(names), &timing, &blocking) || !start()) return nullptr;
  Event *event = as_event(type->tp_alloc(type, 0));
  if (!event) return nullptr;
  event->handle = nullptr;
  event->device = -1;
  event->timing = timing;
  event->blocking = blocking;
  return reinterpret_cast<PyObject *>(event);
}

void event_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  if (as_event(self)->handle && !is_forked()) driver.cuEventDestroy(as_event(self)->handle);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *event_record(PyObject *self, PyObject *address) {
  Event *event = as_event(self);
  Stream *stream = known_stream(address);
  if (!stream || !entered(stream->device)) return nullptr;
  if (!event->handle) {
    unsigned flags = (event->timing ? 0 : CU_EVENT_DISABLE_TIMING) | (event->blocking ? CU_EVENT_BLOCKING_SYNC : 0);
    if (!WEFT_CUDA_OK(cuEventCreate, &event->handle, flags)) return nullptr;
    event->device = stream->device;
  } else if (event->device != stream->device) {
    return PyErr_Format(PyExc_RuntimeError, "Event device %d does not match recording stream's device %d.", event->device, stream->device);
  }
  return WEFT_CUDA_OK(cuEventRecord, event->handle, stream->handle) ? Py_NewRef(Py_None) : nullptr;
}

PyObject *event_wait(PyObject *self, PyObject *address) {
  Event *event = as_event(self);
  Stream *stream = known_stream(address);
  if (!stream) return nullptr;
  if (!event->handle) Py_RETURN_NONE;  // nothing was recorded: nothing to wait for
  if (!entered(stream->device)) return nullptr;
  return WEFT_CUDA_OK(cuStreamWaitEvent, stream->handle, event->handle, 0) ? Py_NewRef(Py_None) : nullptr;
}

PyObject *event_query(PyObject *self, PyObject *) {
  Event *event = as_event(self);
  if (!event->handle) Py_RETURN_TRUE;
  if (!entered(event->device)) return nullptr;
  CUresult code = driver.cuEventQuery(event->handle);
  if (code == CUDA_ERROR_NOT_READY) Py_RETURN_FALSE;
  return ok(code, "cuEventQuery") ? Py_NewRef(Py_True) : nullptr;
}

PyObject *event_synchronize(PyObject *self, PyObject *) {
  Event *event = as_event(self);
  if (!event->handle) Py_RETURN_NONE;
  if (!entered(event->device)) return nullptr;
  CUresult code;
  {
    WithoutGil waiting;
    code = driver.cuEventSynchronize(event->handle);
  }
  return ok(code, "cuEventSynchronize") ? Py_NewRef(Py_None) : nullptr;
}

PyObject *event_elapsed(PyObject *self, PyObject *other) {
  if (Py_TYPE(other) != Py_TYPE(self)) return PyErr_Format(PyExc_TypeError, "elapsed_time: expected an event, got %R", other);
  Event *from = as_event(self), *to = as_event(other);
  if (!from->handle || !to->handle) return PyErr_Format(PyExc_ValueError, "Both events must be recorded before calculating elapsed time.");
  if (!from->timing || !to->timing) return PyErr_Format(PyExc_ValueError, "Both events must be created with argument 'enable_timing=True'.");
  float milliseconds;
  if (!entered(from->device)) return nullptr;
  return WEFT_CUDA_OK(cuEventElapsedTime, &milliseconds, from->handle, to->handle) ? PyFloat_FromDouble(milliseconds) : nullptr;
}

PyObject *event_handle(PyObject *self, void *) { return PyLong_FromVoidPtr(as_event(self)->handle); }
PyObject *event_device(PyObject *self, void *) { return PyLong_FromLong(as_event(self)->device); }

PyMethodDef event_methods[] = {{"record", event_record, METH_O, "record(stream handle)"},
                               {"wait", event_wait, METH_O, "wait(stream handle): what is queued there next comes after the event"},
                               {"query", event_query, METH_NOARGS, "whether all that was recorded has run"},
                               {"synchronize", event_synchronize, METH_NOARGS, "until it has"},
                               {"elapsed_time", event_elapsed, METH_O, "elapsed_time(later event): milliseconds"},
                               {nullptr, nullptr, 0, nullptr}};
PyGetSetDef event_getset[] = {{"handle", event_handle, nullptr, "the driver's, 0 before it is recorded", nullptr},
                              {"device", event_device, nullptr, "index, -1 before it is recorded", nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot event_slots[] = {{Py_tp_new, (void *)event_new}, {Py_tp_dealloc, (void *)event_dealloc}, {Py_tp_methods, event_methods},
                             {Py_tp_getset, event_getset}, {Py_tp_doc, (void *)"Event(timing=False, blocking=False): a point in the order of a stream."},
                             {0, nullptr}};
PyType_Spec event_spec = {"aten._cuda.Event", sizeof(Event), 0, Py_TPFLAGS_DEFAULT, event_slots};

}  // namespace

bool init_events(PyObject *module) { return add_type(module, &event_spec) != nullptr; }

}  // namespace weft::cuda
