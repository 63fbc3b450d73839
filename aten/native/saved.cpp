// saved.cpp: SavedTensor: a tensor that a Node keeps for backward, with the version it had.
//
// An input is kept itself. A result is kept as an alias without history, since node → result → grad_fn → node would be a
// cycle; unpacking gives the alias its history back. A Tracer has no memory to alias: the cycle is left to the collector.
#include "replay.h"

namespace weft {

struct SavedTensor {
  PyObject_HEAD
  PyObject *tensor;
  uint32_t version;
  uint32_t output_nr;
  bool is_output;
  PyObject *unpack;  // owned; of a user's hooks: `tensor` is what they packed, and this gives the tensor again. Else NULL
  PyObject *source;  // owned; then, of an input that requires grad: the leaf, or the edge, that its gradient goes to
};

static PyTypeObject *saved_type;
constexpr int kFreeLimit = 256;
static SavedTensor *free_saved[kFreeLimit];
static int n_free;

static PyTypeObject *saved_meta_type;
static PyObject *unpack_meta(PyObject *object);

bool is_saved(PyObject *object) { return Py_TYPE(object) == saved_type || Py_TYPE(object) == saved_meta_type; }

static PyObject *packer;    // aten.autograd.graph: packer(tensor) -> (packed, unpack), or None without hooks
static PyObject *unpacked;  // aten.autograd.graph: unpacked(tensor, source): the tensor whose gradient goes to `source`

// Whether the memory of the tensor has no meaning, as its class has a `__torch_dispatch__`: what it holds, only the class knows.
static bool is_wrapper(WeftTensor *t) {
  PyTypeObject *type = Py_TYPE(t);
  if (type == tensor_type || WEFT_IS_TRACER(t)) return false;
  static PyObject *name = PyUnicode_InternFromString("__torch_dispatch__");
  Ref found(PyObject_GetAttr(reinterpret_cast<PyObject *>(type), name));
  if (!found) PyErr_Clear();
  return found && found.get() != Py_None;
}

// The tensor without its history.
static PyObject *bare(WeftTensor *t) {
  if (!is_wrapper(t)) return alias(t, WEFT_NDIM(t), t->sizes, t->strides, t->offset);
  uint64_t before = *ambient();
  *ambient() &= ~(WEFT_AMBIENT_GRAD | WEFT_AMBIENT_SAVED_HOOKS);
  PyObject *result = PyObject_CallMethod(as_object(t), "detach", nullptr);
  *ambient() = before;
  if (result && (!is_tensor(result) || as_tensor(result) == t || as_tensor(result)->grad_fn)) {
    PyErr_Format(PyExc_TypeError, "detach() of a %s, which is saved for backward, gave no other tensor", Py_TYPE(t)->tp_name);
    Py_CLEAR(result);
  }
  return result;
}

// Hands the saved tensor to hooks, `pack` where given, else the open ones. False with an exception set.
static bool pack_by_hooks(SavedTensor *saved, PyObject *pack, PyObject *unpack) {
  WeftTensor *t = as_tensor(saved->tensor);
  Ref bare_tensor(bare(t));
  if (!bare_tensor) return false;
  uint32_t version = *weft_version(t);
  Ref packed, back;
  uint64_t before = *ambient();
  *ambient() &= ~(WEFT_AMBIENT_GRAD | WEFT_AMBIENT_SAVED_HOOKS);
  if (pack) {
    packed.reset(PyObject_CallOneArg(pack, bare_tensor.get()));
    back.reset(Py_NewRef(unpack));
  } else {
    Ref both(PyObject_CallOneArg(packer, bare_tensor.get()));
    if (both && both.get() != Py_None && PyTuple_Check(both.get()) && PyTuple_GET_SIZE(both.get()) == 2) {
      packed.reset(Py_NewRef(PyTuple_GET_ITEM(both.get(), 0)));
      back.reset(Py_NewRef(PyTuple_GET_ITEM(both.get(), 1)));
    } else if (both) {
      *ambient() = before;
      return true;
    }
  }
  *ambient() = before;
  if (!packed || !back) return false;
  if (*weft_version(t) != version) {
    PyErr_SetString(PyExc_RuntimeError, "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can "
                    "not be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
                    "perform in-place operations on the input to a pack hook.");
    return false;
  }
  if (!saved->is_output && WEFT_REQUIRES_GRAD(t)) {  // of what is no leaf the edge: the tensor itself may go
    saved->source = t->grad_fn ? Py_BuildValue("(OI)", as_object(t->grad_fn), (unsigned)t->output_nr) : Py_NewRef(as_object(t));
    if (!saved->source) return false;
  }
  Py_SETREF(saved->tensor, packed.release());
  saved->unpack = back.release();
  return true;
}

static PyObject *with_history(SavedTensor *saved, WeftTensor *t, WeftNode *node);

static PyObject *unpack_by_hooks(SavedTensor *saved, WeftNode *node) {
  Ref tensor(PyObject_CallOneArg(saved->unpack, saved->tensor));
  if (!tensor) return nullptr;
  if (!is_tensor(tensor.get()))
    return PyErr_Format(PyExc_TypeError, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s", Py_TYPE(tensor.get())->tp_name);
  if (WEFT_IS_TRACER(tensor.get())) return tensor.release();
  if (saved->is_output) return with_history(saved, as_tensor(tensor.get()), node);
  if (!saved->source) return tensor_detach(tensor.get(), nullptr);
  return PyObject_CallFunctionObjArgs(unpacked, tensor.get(), saved->source, nullptr);
}

thread_local Watched watched;

PyObject *save_tensor(WeftTensor *t, WeftNode *producer) {
  if (__builtin_expect(t->storage == watched.storage, 0)) watched.kept = true;
  if (__builtin_expect((t->word & WEFT_WORD_INFERENCE) != 0, 0))
    return PyErr_Format(PyExc_RuntimeError, "Inference tensors cannot be saved for backward. To work around you can make a clone to get a "
                        "normal tensor and use it in autograd.");
  SavedTensor *saved;
  if (n_free) {
    saved = free_saved[--n_free];
    PyObject_Init(as_object(saved), saved_type);
  } else {
    saved = PyObject_GC_New(SavedTensor, saved_type);
    if (!saved) return nullptr;
  }
  saved->is_output = producer && !WEFT_IS_TRACER(t);
  saved->output_nr = t->output_nr;
  saved->unpack = saved->source = nullptr;
  saved->tensor = saved->is_output ? bare(t) : Py_NewRef(as_object(t));
  if (!saved->tensor) {
    Py_DECREF(saved);
    return nullptr;
  }
  saved->version = WEFT_IS_TRACER(saved->tensor) ? 0 : *weft_version(as_tensor(saved->tensor));
  PyObject_GC_Track(as_object(saved));
  if ((*ambient() & WEFT_AMBIENT_SAVED_HOOKS) && !WEFT_IS_TRACER(t) && packer && !pack_by_hooks(saved, nullptr, nullptr)) {
    Py_DECREF(saved);
    return nullptr;
  }
  return as_object(saved);
}

// A result again as it was: the memory of `t` with the node's history.
static PyObject *with_history(SavedTensor *saved, WeftTensor *t, WeftNode *node) {
  PyObject *result = bare(t);
  if (!result) return nullptr;
  WeftTensor *r = as_tensor(result);
  if (dtype_kind(WEFT_DTYPE(r)) < KIND_FLOAT) return result;  // places and masks have none
  Py_INCREF(node);
  r->grad_fn = node;
  r->output_nr = saved->output_nr;
  r->word |= WEFT_WORD_REQUIRES_GRAD;
  track(r);
  return result;
}

PyObject *unpack_saved(PyObject *object, WeftNode *node) {
  if (Py_TYPE(object) == saved_meta_type) return unpack_meta(object);
  SavedTensor *saved = reinterpret_cast<SavedTensor *>(object);
  if (saved->unpack) return unpack_by_hooks(saved, node);
  WeftTensor *t = as_tensor(saved->tensor);
  if (WEFT_IS_TRACER(t)) return Py_NewRef(as_object(t));
  if (*weft_version(t) != saved->version) {
    Ref sizes(size_object(WEFT_NDIM(t), t->sizes));
    Ref list(sizes ? PySequence_List(sizes.get()) : nullptr);
    return PyErr_Format(PyExc_RuntimeError,
                        "one of the variables needed for gradient computation has been modified by an inplace operation: "
                        "[%s.%s %S], which is a saved value of %U, is at version %u; expected version %u instead. Hint: "
                        "find the in-place operation between this op's forward and the backward, and use its out-of-place form.",
                        shown_name(), dtype_name(WEFT_DTYPE(t)), list.get(), node->name, *weft_version(t), saved->version);
  }
  if (!saved->is_output) return Py_NewRef(as_object(t));
  return with_history(saved, t, node);
}

// register_hooks(pack, unpack): replaces what is kept by what `pack` makes of it
static PyObject *register_hooks(PyObject *self, PyObject *args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO:register_hooks", &pack, &unpack)) return nullptr;
  SavedTensor *saved = reinterpret_cast<SavedTensor *>(self);
  if (!PyCallable_Check(pack) || !PyCallable_Check(unpack)) return PyErr_Format(PyExc_TypeError, "incompatible function arguments: hooks are callables");
  if (saved->unpack) return PyErr_Format(PyExc_RuntimeError, "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a time.");
  if (!saved->tensor || WEFT_IS_TRACER(saved->tensor)) return PyErr_Format(PyExc_RuntimeError, "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved variables after calling backward.");
  if (!pack_by_hooks(saved, pack, unpack)) return nullptr;
  Py_RETURN_NONE;
}

static PyObject *set_saved_hooks(PyObject *, PyObject *args) {
  PyObject *pack, *history;
  if (!PyArg_ParseTuple(args, "OO:set_saved_hooks", &pack, &history)) return nullptr;
  Py_XSETREF(packer, Py_NewRef(pack));
  Py_XSETREF(unpacked, Py_NewRef(history));
  Py_RETURN_NONE;
}

static PyMethodDef tensor_saved_methods[] = {
    {"register_hooks", register_hooks, METH_VARARGS, "register_hooks(pack, unpack): keep what `pack` makes of the tensor instead"},
    {nullptr, nullptr, 0, nullptr}};

// ------------------------------------------------------------------------------------------- saved metadata
// What a vjp asked for as `<name>_meta`: sizes, strides and offset are kept as numbers; the Meta is built for backward.

struct SavedMeta {
  PyObject_VAR_HEAD
  uint32_t word;
  int64_t offset;
  int64_t layout[1];  // sizes, strides
};

PyObject *meta_factory;  // aten.meta.Meta

PyObject *save_meta(WeftTensor *t) {
  if (WEFT_IS_TRACER(t)) return PyErr_Format(PyExc_SystemError, "a Tracer reached a native path");
  int n = WEFT_NDIM(t);
  SavedMeta *saved = PyObject_NewVar(SavedMeta, saved_meta_type, 2 * n);
  if (!saved) return nullptr;
  saved->word = t->word;
  saved->offset = t->offset;
  for (int d = 0; d < n; d++) {
    saved->layout[d] = t->sizes[d];
    saved->layout[n + d] = t->strides[d];
  }
  return as_object(saved);
}

static PyObject *unpack_meta(PyObject *object) {
  SavedMeta *saved = reinterpret_cast<SavedMeta *>(object);
  int n = (int)Py_SIZE(saved) / 2;
  if (!meta_factory) return PyErr_Format(PyExc_RuntimeError, "aten.meta is not loaded");
  return PyObject_CallFunction(meta_factory, "ONNNLO", dtype_object((int)(saved->word & WEFT_WORD_DTYPE)),
                               device_object((int)(saved->word >> 8 & 15), (int)(saved->word >> 12 & 15)), int_tuple(n, saved->layout),
                               int_tuple(n, saved->layout + n), (long long)saved->offset,
                               saved->word & WEFT_WORD_REQUIRES_GRAD ? Py_True : Py_False);
}

static void saved_meta_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject *set_meta_factory(PyObject *, PyObject *callable) {
  Py_XSETREF(meta_factory, Py_NewRef(callable));
  Py_RETURN_NONE;
}

static PyType_Slot meta_slots[] = {{Py_tp_dealloc, (void *)saved_meta_dealloc}, {0, nullptr}};
static PyType_Spec meta_spec = {"aten._native.SavedMeta", offsetof(SavedMeta, layout), sizeof(int64_t),
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, meta_slots};
static PyMethodDef saved_functions[] = {{"set_meta_factory", set_meta_factory, METH_O, nullptr},
                                        {"set_saved_hooks", set_saved_hooks, METH_VARARGS, nullptr},
                                        {nullptr, nullptr, 0, nullptr}};

// ------------------------------------------------------------------------------------------- the types

bool holds_tensors(PyObject *item) {
  if (PyTuple_CheckExact(item) || PyList_CheckExact(item)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(item); i++)
      if (holds_tensors(PySequence_Fast_GET_ITEM(item, i))) return true;
    return false;
  }
  bool plain = item == Py_None || PyLong_Check(item) || PyFloat_Check(item) || PyUnicode_Check(item) ||
               Py_TYPE(item) == saved_meta_type || (PyObject *)Py_TYPE(item) == meta_factory || Py_TYPE(item) == dtype_type;
  return !plain;
}

static int saved_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<SavedTensor *>(self)->tensor);
  Py_VISIT(reinterpret_cast<SavedTensor *>(self)->unpack);
  Py_VISIT(reinterpret_cast<SavedTensor *>(self)->source);
  return 0;
}

static int saved_clear(PyObject *self) {
  Py_CLEAR(reinterpret_cast<SavedTensor *>(self)->tensor);
  Py_CLEAR(reinterpret_cast<SavedTensor *>(self)->unpack);
  Py_CLEAR(reinterpret_cast<SavedTensor *>(self)->source);
  return 0;
}

static void saved_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  saved_clear(self);
  if (n_free < kFreeLimit) free_saved[n_free++] = reinterpret_cast<SavedTensor *>(self);
  else PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)saved_dealloc},
                              {Py_tp_traverse, (void *)saved_traverse},
                              {Py_tp_clear, (void *)saved_clear},
                              {Py_tp_methods, tensor_saved_methods},
                              {Py_tp_doc, (void *)"A tensor kept for backward, with the version it had."},
                              {0, nullptr}};
static PyType_Spec spec = {"aten._native.SavedTensor", sizeof(SavedTensor), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool init_saved(PyObject *module) {
  saved_type = add_type(module, &spec);
  saved_meta_type = add_type(module, &meta_spec);
  return saved_type && saved_meta_type && PyModule_AddFunctions(module, saved_functions) == 0;
}

}  // namespace weft
