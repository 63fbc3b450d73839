// attributes.cpp: what a Tensor says of itself: sizes, dtype, device, place in memory, and its autograd fields.
// A Tracer overrides what depends on sizes; the rest reads the same C fields.
#include "native.h"

namespace weft {

static PyObject *get_shape(PyObject *self, void *) {
  if (!need_memory(as_tensor(self), "shape")) return nullptr;
  return size_object(WEFT_NDIM(self), as_tensor(self)->sizes);
}
static PyObject *get_dtype(PyObject *self, void *) { return Py_NewRef(dtype_object(WEFT_DTYPE(self))); }
static PyObject *get_device(PyObject *self, void *) {
  uint32_t word = as_tensor(self)->word;
  return device_object((int)(word >> 8 & 15), (int)(word >> 12 & 15));
}
static PyObject *get_ndim(PyObject *self, void *) { return PyLong_FromLong(WEFT_NDIM(self)); }
static PyObject *get_itemsize(PyObject *self, void *) { return PyLong_FromLong(weft_itemsize(WEFT_DTYPE(self))); }
static PyObject *get_nbytes(PyObject *self, void *) {
  if (!need_memory(as_tensor(self), "nbytes")) return nullptr;
  return PyLong_FromLongLong(as_tensor(self)->numel * weft_itemsize(WEFT_DTYPE(self)));
}
static PyObject *get_is_cpu(PyObject *self, void *) { return PyBool_FromLong(WEFT_DEVICE_TYPE(self) == WEFT_CPU); }
static PyObject *get_is_cuda(PyObject *self, void *) { return PyBool_FromLong(WEFT_DEVICE_TYPE(self) == WEFT_CUDA); }
static PyObject *get_is_meta(PyObject *self, void *) { return PyBool_FromLong(WEFT_DEVICE_TYPE(self) == WEFT_META); }
static PyObject *get_word(PyObject *self, void *) { return PyLong_FromUnsignedLong(as_tensor(self)->word); }

static PyObject *get_version(PyObject *self, void *) {
  if (!need_memory(as_tensor(self), "_version")) return nullptr;
  if (as_tensor(self)->word & WEFT_WORD_INFERENCE) {
    PyErr_SetString(PyExc_RuntimeError, "Inference tensors do not track version counter.");
    return nullptr;
  }
  return PyLong_FromUnsignedLong(*weft_version(as_tensor(self)));
}

static PyObject *bump_version(PyObject *self, PyObject *) {
  if (!need_memory(as_tensor(self), "a version counter")) return nullptr;
  weft_bump_version(as_tensor(self));
  Py_RETURN_NONE;
}

static PyObject *get_base(PyObject *self, void *) {
  PyObject *base = Py_None;
  for (WeftTensor *t = as_tensor(self); t->view_of;) {
    t = as_tensor(PyTuple_GET_ITEM(t->view_of, 0));
    if (!(t->flags & WEFT_FLAG_HIDDEN)) base = as_object(t);
  }
  return Py_NewRef(base);
}

static PyObject *get_view_of(PyObject *self, void *) {
  PyObject *view_of = as_tensor(self)->view_of;
  return Py_NewRef(view_of ? view_of : Py_None);
}

static int set_view_of(PyObject *self, PyObject *value, void *) {
  WeftTensor *t = as_tensor(self);
  if (value && value != Py_None) {
    bool view = PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 3 && is_tensor(PyTuple_GET_ITEM(value, 0)) &&
                PyTuple_CheckExact(PyTuple_GET_ITEM(value, 2));
    WeftTensor *base = view ? as_tensor(PyTuple_GET_ITEM(value, 0)) : nullptr;
    if (!view || base == t || WEFT_IS_TRACER(base) != WEFT_IS_TRACER(t) || base->storage != t->storage) {
      PyErr_SetString(PyExc_TypeError, "_view_of is (a tensor of the same memory, op, arguments) or None");
      return -1;
    }
    for (WeftTensor *next = base; next; next = next->view_of ? as_tensor(PyTuple_GET_ITEM(next->view_of, 0)) : nullptr) {
      if (next != t) continue;
      PyErr_SetString(PyExc_ValueError, "a tensor is no view of its own view");
      return -1;
    }
  }
  if (value && value != Py_None) {
    Py_XSETREF(t->view_of, Py_NewRef(value));
    enlist_view(t);
  } else {
    be_no_view(t);
  }
  track(t);
  return 0;
}

// Whether a call has at most one argument, `dim`, by place or by name: args[0], then. False with an exception set.
static bool takes_dim(const char *name, Py_ssize_t *nargs, PyObject *names) {
  if (names && PyTuple_GET_SIZE(names)) {
    PyObject *first = PyTuple_GET_ITEM(names, 0);
    if (PyUnicode_CompareWithASCIIString(first, "dim")) return PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", name, first), false;
    *nargs += PyTuple_GET_SIZE(names);
  }
  if (*nargs > 1) PyErr_Format(PyExc_TypeError, "%s() takes at most 1 argument (%zd given)", name, *nargs);
  return *nargs <= 1;
}

static PyObject *method_size(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (!need_memory(as_tensor(self), "size()") || !takes_dim("size", &nargs, names)) return nullptr;
  if (nargs == 0 || args[0] == Py_None) return get_shape(self, nullptr);
  int ndim = WEFT_NDIM(self);
  Py_ssize_t dim = PyNumber_AsSsize_t(args[0], PyExc_IndexError);
  if (dim == -1 && PyErr_Occurred()) return nullptr;
  if (dim < -ndim || dim >= ndim)
    return PyErr_Format(PyExc_IndexError, "Dimension out of range (expected to be in range of [%d, %d], but got %zd)",
                        ndim ? -ndim : -1, ndim ? ndim - 1 : 0, dim);
  return PyLong_FromLongLong(as_tensor(self)->sizes[dim < 0 ? dim + ndim : dim]);
}

static PyObject *method_stride(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (!need_memory(as_tensor(self), "stride()") || !takes_dim("stride", &nargs, names)) return nullptr;
  int ndim = WEFT_NDIM(self);
  if (nargs == 0 || args[0] == Py_None) return int_tuple(ndim, as_tensor(self)->strides);
  Py_ssize_t dim = PyNumber_AsSsize_t(args[0], PyExc_IndexError);
  if (dim == -1 && PyErr_Occurred()) return nullptr;
  if (dim < -ndim || dim >= ndim)
    return PyErr_Format(PyExc_IndexError, "Dimension out of range (expected to be in range of [%d, %d], but got %zd)",
                        ndim ? -ndim : -1, ndim ? ndim - 1 : 0, dim);
  return PyLong_FromLongLong(as_tensor(self)->strides[dim < 0 ? dim + ndim : dim]);
}

static PyObject *method_storage_offset(PyObject *self, PyObject *) {
  if (!need_memory(as_tensor(self), "storage_offset()")) return nullptr;
  return PyLong_FromLongLong(as_tensor(self)->offset);
}
static PyObject *method_numel(PyObject *self, PyObject *) {
  if (!need_memory(as_tensor(self), "numel()")) return nullptr;
  return PyLong_FromLongLong(as_tensor(self)->numel);
}
static PyObject *method_dim(PyObject *self, PyObject *) { return PyLong_FromLong(WEFT_NDIM(self)); }
// Whether the dim after the batch is the fastest of `ndim`, then the others row-major; steps of dims of one element do not count.
static bool is_channels_last(WeftTensor *t, int ndim) {
  if (WEFT_NDIM(t) != ndim) return false;
  int64_t expected = 1;
  for (int k = 0; k < ndim; k++) {
    int dim = k == 0 ? 1 : k == ndim - 1 ? 0 : ndim - k;
    if (t->sizes[dim] == 1) continue;
    if (t->numel && t->strides[dim] != expected) return false;
    expected *= t->sizes[dim];
  }
  return true;
}

static PyObject *method_is_contiguous(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (!need_memory(as_tensor(self), "is_contiguous()")) return nullptr;
  Py_ssize_t given = nargs + (names ? PyTuple_GET_SIZE(names) : 0);
  if (given > 1) return PyErr_Format(PyExc_TypeError, "is_contiguous() takes at most 1 argument (%zd given)", given);
  if (names && given && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "memory_format"))
    return PyErr_Format(PyExc_TypeError, "is_contiguous() got an unexpected keyword argument '%U'", PyTuple_GET_ITEM(names, 0));
  if (given) {
    Ref format(PyObject_GetAttrString(args[0], "name"));
    if (!format || !PyUnicode_Check(format.get()))
      return PyErr_Format(PyExc_TypeError, "is_contiguous(): argument 'memory_format' must be torch.memory_format, not %s", Py_TYPE(args[0])->tp_name);
    if (PyUnicode_CompareWithASCIIString(format.get(), "channels_last") == 0) return PyBool_FromLong(is_channels_last(as_tensor(self), 4));
    if (PyUnicode_CompareWithASCIIString(format.get(), "channels_last_3d") == 0) return PyBool_FromLong(is_channels_last(as_tensor(self), 5));
    if (PyUnicode_CompareWithASCIIString(format.get(), "preserve_format") == 0)
      return PyErr_Format(PyExc_RuntimeError, "preserve memory format is unsupported by the contiguous operator");
  }
  return PyBool_FromLong((as_tensor(self)->word & WEFT_WORD_CONTIGUOUS) != 0);
}
static PyObject *method_data_ptr(PyObject *self, PyObject *) {
  if (!need_memory(as_tensor(self), "data_ptr()")) return nullptr;
  WeftTensor *t = as_tensor(self);
  return PyLong_FromVoidPtr(t->storage->data && t->numel ? weft_data(t) : nullptr);
}
static PyObject *method_untyped_storage(PyObject *self, PyObject *) {
  if (!need_memory(as_tensor(self), "untyped_storage()")) return nullptr;
  return storage_object(as_tensor(self)->storage);
}
static PyObject *method_is_floating_point(PyObject *self, PyObject *) {
  return PyBool_FromLong(dtype_kind(WEFT_DTYPE(self)) == KIND_FLOAT);
}
static PyObject *method_is_complex(PyObject *self, PyObject *) {
  return PyBool_FromLong(dtype_kind(WEFT_DTYPE(self)) == KIND_COMPLEX);
}
static PyObject *method_is_signed(PyObject *self, PyObject *) { return PyBool_FromLong(dtype_is_signed(WEFT_DTYPE(self))); }
static PyObject *method_is_inference(PyObject *self, PyObject *) {
  return PyBool_FromLong((as_tensor(self)->word & WEFT_WORD_INFERENCE) != 0);
}
static PyObject *method_get_device(PyObject *self, PyObject *) {
  return PyLong_FromLong(WEFT_DEVICE_TYPE(self) == WEFT_CUDA ? (long)(as_tensor(self)->word >> 12 & 15) : -1);
}

// ---------------------------------------------------------------------------------- autograd fields

static PyObject *get_requires_grad(PyObject *self, void *) { return PyBool_FromLong(WEFT_REQUIRES_GRAD(self)); }

// Whether an operation has made the tensor, or its base has a history, which a view that nobody has asked does not know yet; -1: failed.
static int has_history(WeftTensor *t) {
  if (!WEFT_REQUIRES_GRAD(t) || t->grad_fn || !t->view_of || t->flags & WEFT_FLAGS_OF_VIEW) return WEFT_REQUIRES_GRAD(t) && t->grad_fn;
  const Ref node(as_object(gradient_node(t)));
  return node ? t->grad_fn != nullptr : -1;
}

int set_requires_grad(PyObject *self, PyObject *value, void *) {
  WeftTensor *t = as_tensor(self);
  if (!value || !PyBool_Check(value)) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
  bool on = value == Py_True;
  const int has = on ? 0 : has_history(t);
  if (has < 0) return -1;
  if (has) {
    PyErr_SetString(PyExc_RuntimeError,
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                    "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    return -1;
  }
  if (on && dtype_kind(WEFT_DTYPE(t)) < KIND_FLOAT) {
    PyErr_SetString(PyExc_RuntimeError, "only Tensors of floating point and complex dtype can require gradients");
    return -1;
  }
  if (on && (t->word & WEFT_WORD_INFERENCE) && !(*ambient() & WEFT_AMBIENT_INFERENCE)) {
    PyErr_SetString(PyExc_RuntimeError, "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    return -1;
  }
  t->word = (t->word & ~WEFT_WORD_REQUIRES_GRAD) | (on ? WEFT_WORD_REQUIRES_GRAD : 0);
  return 0;
}

static PyObject *method_requires_grad_(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *value = nargs > 0 ? args[0] : Py_True;
  if (names && PyTuple_GET_SIZE(names) == 1) value = args[nargs];
  if (!PyBool_Check(value))
    return PyErr_Format(PyExc_TypeError, "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not %s", Py_TYPE(value)->tp_name);
  return set_requires_grad(self, value, nullptr) < 0 ? nullptr : Py_NewRef(self);
}

static PyObject *get_is_leaf(PyObject *self, void *) {
  const int has = has_history(as_tensor(self));
  return has < 0 ? nullptr : PyBool_FromLong(!has);
}

static PyObject *get_output_nr(PyObject *self, void *) { return PyLong_FromUnsignedLong(as_tensor(self)->output_nr); }
static PyObject *get_retains_grad(PyObject *self, void *) {
  return PyBool_FromLong((as_tensor(self)->flags & WEFT_FLAG_RETAIN_GRAD) != 0);
}

// A leaf that nobody listens to: a gradient of it can be computed elsewhere and be set.
static PyObject *get_is_bare_leaf(PyObject *self, void *) {
  PyObject *hooks = as_tensor(self)->hooks;
  bool heard = hooks && PyObject_IsTrue(hooks) == 1;
  return PyBool_FromLong((!WEFT_REQUIRES_GRAD(self) || !as_tensor(self)->grad_fn) && !heard);
}

static PyObject *get_grad(PyObject *self, void *) {
  WeftTensor *t = as_tensor(self);
  PyObject *grad = t->grad;
  // The classic mistake: a result of ops, whose gradient backward() does not keep.
  if (!grad && t->grad_fn && WEFT_REQUIRES_GRAD(self) && !WEFT_IS_TRACER(t) && !(t->flags & WEFT_FLAG_RETAIN_GRAD) &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                   "populated during autograd.backward(): call .retain_grad() on it before, or look at the leaf it was made of.",
                   1) < 0)
    return nullptr;
  return Py_NewRef(grad ? grad : Py_None);
}

static PyObject *get_held_grad(PyObject *self, void *) {
  PyObject *grad = as_tensor(self)->grad;
  return Py_NewRef(grad ? grad : Py_None);
}

static bool same_sizes(WeftTensor *a, WeftTensor *b) {
  if (WEFT_IS_TRACER(a) || WEFT_IS_TRACER(b)) return true;  // checked by whoever traces
  if (WEFT_NDIM(a) != WEFT_NDIM(b)) return false;
  for (int i = 0; i < WEFT_NDIM(a); i++)
    if (a->sizes[i] != b->sizes[i]) return false;
  return true;
}

static int set_grad(PyObject *self, PyObject *value, void *) {
  WeftTensor *t = as_tensor(self);
  if (!value || value == Py_None) {
    Py_CLEAR(t->grad);
    return 0;
  }
  if (!is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type %s", Py_TYPE(value)->tp_name);
    return -1;
  }
  if (value == self) {
    PyErr_SetString(PyExc_RuntimeError, "can't assign Variable as its own grad");
    return -1;
  }
  if (!same_sizes(t, as_tensor(value))) {
    PyErr_SetString(PyExc_RuntimeError, "assigned grad has data of a different size");
    return -1;
  }
  if ((t->word ^ as_tensor(value)->word) & (WEFT_WORD_DTYPE | WEFT_WORD_DEVICE)) {
    PyErr_SetString(PyExc_RuntimeError, "assigned grad has data of a different type");
    return -1;
  }
  Py_XSETREF(t->grad, Py_NewRef(value));
  track(t);
  return 0;
}

// `.data`: the same memory without history, whose writes are counted apart, so that autograd does not see them.
static PyObject *get_data(PyObject *self, void *) {
  WeftTensor *t = as_tensor(self);
  Ref result(alias(t, WEFT_NDIM(t), t->sizes, t->strides, t->offset));
  return result && count_apart(as_tensor(result.get()), 0) ? result.release() : nullptr;
}

static int set_data(PyObject *self, PyObject *value, void *) {
  WeftTensor *t = as_tensor(self);
  if (!value) {
    PyErr_SetString(PyExc_RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!");
    return -1;
  }
  if (!is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s", Py_TYPE(value)->tp_name);
    return -1;
  }
  WeftTensor *v = as_tensor(value);
  if (WEFT_REQUIRES_GRAD(t) && dtype_kind(WEFT_DTYPE(v)) < KIND_FLOAT) {
    PyErr_SetString(PyExc_RuntimeError, "data set to a tensor that requires gradients must be floating point or complex dtype");
    return -1;
  }
  if (!need_memory(t, "setting .data") || !need_memory(v, "setting .data")) return -1;
  if (v == t) return 0;
  if (!wait_for_calls()) return -1;
  if (t->storage != v->storage && !count_apart(t, *weft_version(t))) return -1;  // (its version stays, and is not the other's)
  if (!set_layout(t, WEFT_NDIM(v), v->sizes, v->strides, v->offset)) return -1;
  v->storage->refs++;
  delist_view(t);
  storage_decref(std::exchange(t->storage, v->storage));
  uint32_t moved = WEFT_WORD_DTYPE | WEFT_WORD_DEVICE;
  t->word = (t->word & ~moved) | (v->word & moved);
  return 0;
}

PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, nullptr, "the sizes, a Size", nullptr},
    {"dtype", get_dtype, nullptr, nullptr, nullptr},
    {"device", get_device, nullptr, nullptr, nullptr},
    {"ndim", get_ndim, nullptr, nullptr, nullptr},
    {"itemsize", get_itemsize, nullptr, "bytes of one element", nullptr},
    {"nbytes", get_nbytes, nullptr, "bytes of all elements", nullptr},
    {"is_cpu", get_is_cpu, nullptr, nullptr, nullptr},
    {"is_cuda", get_is_cuda, nullptr, nullptr, nullptr},
    {"is_meta", get_is_meta, nullptr, nullptr, nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, nullptr, nullptr},
    {"is_leaf", get_is_leaf, nullptr, nullptr, nullptr},
    {"grad", get_grad, set_grad, nullptr, nullptr},
    {"_held_grad", get_held_grad, nullptr, "grad, of whatever tensor", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "the Node that made this, or None", nullptr},
    {"_grad_fn", get_noted_grad_fn, set_grad_fn, "for aten.autograd: as noted, settable as (node, output number) or None", nullptr},
    {"data", get_data, set_data, "the same memory, without history or version", nullptr},
    {"output_nr", get_output_nr, nullptr, "which result of grad_fn this is", nullptr},
    {"retains_grad", get_retains_grad, nullptr, nullptr, nullptr},
    {"_is_bare_leaf", get_is_bare_leaf, nullptr, nullptr, nullptr},
    {"_version", get_version, nullptr, "count of in-place writes to the storage", nullptr},
    {"_base", get_base, nullptr, "the tensor this is a view of, or None", nullptr},
    {"_view_of", get_view_of, set_view_of, "(base, op, arguments) of a view, or None", nullptr},
    {"_word", get_word, nullptr, "the word of weft.h", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

#define WEFT_KEYWORDS(f) (PyCFunction)(void *)f

PyMethodDef tensor_methods[] = {
    {"size", WEFT_KEYWORDS(method_size), METH_FASTCALL | METH_KEYWORDS, "size(dim=None): the sizes, or one of them"},
    {"stride", WEFT_KEYWORDS(method_stride), METH_FASTCALL | METH_KEYWORDS, "stride(dim=None): steps in elements"},
    {"storage_offset", method_storage_offset, METH_NOARGS, "index in the storage of the first element"},
    {"numel", method_numel, METH_NOARGS, "number of elements"},
    {"nelement", method_numel, METH_NOARGS, "number of elements"},
    {"dim", method_dim, METH_NOARGS, "number of dimensions"},
    {"ndimension", method_dim, METH_NOARGS, "number of dimensions"},
    {"element_size", [](PyObject *self, PyObject *) { return get_itemsize(self, nullptr); }, METH_NOARGS, "bytes of one element"},
    {"is_contiguous", WEFT_KEYWORDS(method_is_contiguous), METH_FASTCALL | METH_KEYWORDS, "is_contiguous(memory_format=contiguous_format): without gaps, row-major or as the format says"},
    {"data_ptr", method_data_ptr, METH_NOARGS, "address of the first element"},
    {"untyped_storage", method_untyped_storage, METH_NOARGS, nullptr},
    {"is_floating_point", method_is_floating_point, METH_NOARGS, nullptr},
    {"is_complex", method_is_complex, METH_NOARGS, nullptr},
    {"is_signed", method_is_signed, METH_NOARGS, nullptr},
    {"is_inference", method_is_inference, METH_NOARGS, nullptr},
    {"get_device", method_get_device, METH_NOARGS, "index of the CUDA device, -1 for the CPU"},
    {"requires_grad_", WEFT_KEYWORDS(method_requires_grad_), METH_FASTCALL | METH_KEYWORDS, "requires_grad_(requires_grad=True)"},
    {"_bump_version", bump_version, METH_NOARGS, "note an in-place write"},
    {"detach", tensor_detach, METH_NOARGS, "the same memory without history"},
    {"resize_", tensor_resize_, METH_VARARGS, "resize_(*sizes): new sizes, row-major; the storage grows when it must"},
    {"item", tensor_item, METH_NOARGS, "the only element, as a Python number"},
    {"tolist", tensor_tolist, METH_NOARGS, "nested lists of Python numbers; a number if 0-d"},
    {"numpy", WEFT_KEYWORDS(tensor_numpy), METH_VARARGS | METH_KEYWORDS, "numpy(*, force=False): an array on the same memory"},
    {"__array__", WEFT_KEYWORDS(tensor_array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack__", WEFT_KEYWORDS(tensor_dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
