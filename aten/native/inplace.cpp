// inplace.cpp: when an in-place write is refused.
#include "native.h"

namespace weft {

static bool overlaps_itself(const WeftTensor *t) {
  if (t->numel <= 1) return false;
  for (int i = 0; i < WEFT_NDIM(t); i++)
    if (t->sizes[i] > 1 && t->strides[i] == 0) return true;
  return false;
}

WeftTensor *root_of(WeftTensor *t) {
  while (t->view_of) t = as_tensor(PyTuple_GET_ITEM(t->view_of, 0));
  return t;
}

static int refuse(const char *why) {
  PyErr_SetString(PyExc_RuntimeError, why);
  return -1;
}

void enlist_view(WeftTensor *view) {
  if (view->view_link || !view->storage) return;
  WeftStorage *storage = view->storage;
  view->next_view = storage->views;
  view->view_link = &storage->views;
  if (storage->views) storage->views->view_link = &view->next_view;
  storage->views = view;
}

void delist_view(WeftTensor *view) {
  if (!view->view_link) return;
  *view->view_link = view->next_view;
  if (view->next_view) view->next_view->view_link = view->view_link;
  view->view_link = nullptr;
  view->next_view = nullptr;
}

void be_no_view(WeftTensor *t) {
  delist_view(t);
  Py_CLEAR(t->view_of);
  t->flags &= ~WEFT_FLAGS_OF_VIEW;
}

void history_changed(WeftTensor *root, bool has) {
  if (root->view_of || !root->storage) return;
  for (WeftTensor *v = root->storage->views; v; v = v->next_view) {
    if (v->grad_fn || v->accumulator || dtype_kind(WEFT_DTYPE(v)) < KIND_FLOAT || root_of(v) != root) continue;
    v->word = (v->word & ~WEFT_WORD_REQUIRES_GRAD) | (has ? WEFT_WORD_REQUIRES_GRAD : 0);
  }
}

void note_view(WeftTensor *view, const WeftTensor *base) {
  enlist_view(view);
  view->flags |= base->flags & WEFT_FLAGS_OF_VIEW;
  if (grad_enabled()) return;
  if (!(view->flags & WEFT_FLAGS_OF_VIEW))
    view->flags |= *ambient() & WEFT_AMBIENT_INFERENCE ? WEFT_FLAG_OF_INFERENCE : WEFT_FLAG_OF_NO_GRAD;
  if (WEFT_REQUIRES_GRAD(base) && dtype_kind(WEFT_DTYPE(view)) >= KIND_FLOAT) view->word |= WEFT_WORD_REQUIRES_GRAD;
}

void note_result_of(WeftTensor *view, uint32_t flag) {
  view->flags = (view->flags & ~WEFT_FLAGS_OF_VIEW) | flag;
}

int refuse_view(WeftTensor *view, bool indirect) {
  const char *written = indirect ? "its base or another view of its base has been" : "is being";
  const char *clear = "That could mean two things, so it is forbidden: make the view and write to it both inside of that mode (then "
                      "the write is not recorded), or both outside.";
  if (view->flags & WEFT_FLAG_OF_INFERENCE)
    PyErr_Format(PyExc_RuntimeError, "A view was created in inference mode and %s modified inplace in normal mode. %s", written, clear);
  else if (view->flags & WEFT_FLAG_OF_NO_GRAD)
    PyErr_Format(PyExc_RuntimeError, "A view was created in no_grad mode and %s modified inplace with grad mode enabled. %s", written, clear);
  else
    PyErr_Format(PyExc_RuntimeError, "Output %u of %S is a view and %s modified inplace. %s", view->output_nr,
                 view->grad_fn ? view->grad_fn->name : Py_None, written,
                 view->flags & WEFT_FLAG_OF_SEVERAL
                     ? "This view is the output of a function that returns multiple views. Such functions do not allow the output "
                       "views to be modified inplace. Use an operation that is not in place."
                     : "This view was created inside a custom Function (or because an input was returned as-is), whose backward the "
                       "write would set aside. Clone the output of the Function first.");
  return -1;
}

// RuntimeError where history forbids an in-place op.
static int check_history(WeftTensor *t) {
  if ((t->word & WEFT_WORD_INFERENCE) && !(*ambient() & WEFT_AMBIENT_INFERENCE))
    return refuse("Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor "
                  "before doing inplace update.");
  if (!grad_enabled()) return 0;
  WeftTensor *root = root_of(t);
  if (root != t && t->flags & WEFT_FLAGS_OF_VIEW && (WEFT_REQUIRES_GRAD(root) || WEFT_REQUIRES_GRAD(t))) return refuse_view(t, false);
  // The base got a history by an in-place operation, of which a view without one knows nothing.
  bool unaware = root != t && !WEFT_REQUIRES_GRAD(t) && root->grad_fn && dtype_kind(WEFT_DTYPE(t)) >= KIND_FLOAT;
  if (unaware || (WEFT_REQUIRES_GRAD(t) && !t->grad_fn && (root == t || !WEFT_REQUIRES_GRAD(root))))
    return refuse("a leaf Variable that requires grad is being used in an in-place operation.");
  // The base need not be that leaf: a view of a tensor without gradients is one after requires_grad_().
  if (root != t && (WEFT_REQUIRES_GRAD(root) || WEFT_REQUIRES_GRAD(t)) && !root->grad_fn)
    return refuse("a view of a leaf Variable that requires grad is being used in an in-place operation.");
  return 0;
}

int check_relayout(WeftTensor *t) { return check_history(t); }

int check_fill(WeftTensor *t) {
  if (!WEFT_IS_TRACER(t) && t->storage->flags & WEFT_STORAGE_READONLY)
    return refuse("cannot write to this tensor: its memory is read-only (made from a read-only array or buffer); clone() it first");
  return check_history(t);
}

// Whether every element of the memory that `t` spans is shown, and once.
static bool is_dense(const WeftTensor *t) {
  if (t->word & WEFT_WORD_CONTIGUOUS) return true;
  bool seen[WEFT_MAX_NDIM] = {};
  int64_t expected = 1;
  for (int found = 0; found < WEFT_NDIM(t); found++) {
    int next = -1;
    for (int d = 0; d < WEFT_NDIM(t) && next < 0; d++)
      if (!seen[d] && (t->sizes[d] == 1 || t->strides[d] == expected)) next = d;
    if (next < 0) return false;
    seen[next] = true;
    expected *= t->sizes[next];
  }
  return true;
}

int check_overlap(const WeftTensor *target, const WeftTensor *t, bool apart) {
  if ((t == target && !apart) || WEFT_IS_TRACER(t) || WEFT_IS_TRACER(target) || t->storage != target->storage) return 0;
  if (!t->numel || !target->numel || !is_dense(t) || !is_dense(target)) return 0;  // (whether others meet is not asked)
  const int64_t item = weft_itemsize(WEFT_DTYPE(t)), width = weft_itemsize(WEFT_DTYPE(target));
  const int64_t begin = t->offset * item, end = begin + t->numel * item;
  const int64_t start = target->offset * width, stop = start + target->numel * width;
  bool same = begin == start && end == stop && WEFT_NDIM(t) == WEFT_NDIM(target);
  for (int d = 0; same && d < WEFT_NDIM(t); d++) same = t->strides[d] == target->strides[d];
  if ((same && !apart) || end <= start || stop <= begin) return 0;
  return refuse("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
                "Please clone() the tensor before performing the operation.");
}

// Whether `t` shares memory with the target without being exactly it.
bool overlaps(const WeftTensor *target, const WeftTensor *t) {
  if (!t || t->storage != target->storage || t == target) return false;
  if (weft_itemsize(WEFT_DTYPE(t)) == weft_itemsize(WEFT_DTYPE(target)) && t->offset == target->offset && has_sizes(t, WEFT_NDIM(target), target->sizes)) {
    bool same = true;
    for (int d = 0; d < WEFT_NDIM(t); d++) same &= t->sizes[d] == 1 || t->strides[d] == target->strides[d];
    if (same) return false;
  }
  return true;
}

int check_inplace(WeftTensor *t) {
  const int refused = check_fill(t);
  if (!refused && !WEFT_IS_TRACER(t) && !(t->word & WEFT_WORD_CONTIGUOUS) && overlaps_itself(t))
    return refuse("unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
                  "clone() the tensor before performing the operation.");
  return refused;
}

// ---------------------------------------------------------------------------------------------------------- for Python
static PyObject *bump_version(PyObject *, PyObject *arg) {
  if (!is_tensor(arg)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %R", Py_TYPE(arg));
  if (!need_memory(as_tensor(arg), "a version counter")) return nullptr;
  weft_bump_version(as_tensor(arg));
  Py_RETURN_NONE;
}

static PyObject *check_inplace_function(PyObject *, PyObject *arg) {
  if (!is_tensor(arg)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %R", Py_TYPE(arg));
  if (check_inplace(as_tensor(arg)) < 0) return nullptr;
  Py_RETURN_NONE;
}

// made_by_function(view, several): a user's autograd.Function has made the view, as one of several results or the only one
static PyObject *made_by_function(PyObject *, PyObject *args) {
  PyObject *view;
  int several;
  if (!PyArg_ParseTuple(args, "O!p:made_by_function", tensor_type, &view, &several)) return nullptr;
  if (as_tensor(view)->view_of) note_result_of(as_tensor(view), several ? WEFT_FLAG_OF_SEVERAL : WEFT_FLAG_OF_FUNCTION);
  Py_RETURN_NONE;
}

// check_view(tensor): a write with history into what was made as a view in a mode without one, whatever of
static PyObject *check_view(PyObject *, PyObject *arg) {
  if (!is_tensor(arg)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %R", Py_TYPE(arg));
  WeftTensor *t = as_tensor(arg);
  if (t->view_of && t->flags & (WEFT_FLAG_OF_NO_GRAD | WEFT_FLAG_OF_INFERENCE) && refuse_view(t, false) < 0) return nullptr;
  Py_RETURN_NONE;
}

static PyObject *check_fill_function(PyObject *, PyObject *arg) {
  if (!is_tensor(arg)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %R", Py_TYPE(arg));
  if (check_fill(as_tensor(arg)) < 0) return nullptr;
  Py_RETURN_NONE;
}

// check_overlap(target, value, apart=False): also of tensors in a list or tuple
static PyObject *check_overlap_function(PyObject *, PyObject *args) {
  PyObject *target, *value;
  int apart = 0;
  if (!PyArg_ParseTuple(args, "O!O|p:check_overlap", tensor_type, &target, &value, &apart)) return nullptr;
  const bool many = PyList_CheckExact(value) || PyTuple_CheckExact(value);
  for (Py_ssize_t i = 0, n = many ? PySequence_Fast_GET_SIZE(value) : 1; i < n; i++) {
    PyObject *item = many ? PySequence_Fast_GET_ITEM(value, i) : value;
    if (is_tensor(item) && check_overlap(as_tensor(target), as_tensor(item), apart) < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

static PyObject *check_relayout_function(PyObject *, PyObject *arg) {
  if (!is_tensor(arg)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %R", Py_TYPE(arg));
  if (check_relayout(as_tensor(arg)) < 0) return nullptr;
  Py_RETURN_NONE;
}

// relayout(tensor, view, before): the tensor takes the layout of a view of the same storage; `before` is an alias that
// stands for what it was. A Tracer takes the number of dims.
static PyObject *relayout(PyObject *, PyObject *args) {
  PyObject *target, *view, *before;
  if (!PyArg_ParseTuple(args, "O!O!O:relayout", tensor_type, &target, tensor_type, &view, &before)) return nullptr;
  WeftTensor *t = as_tensor(target), *v = as_tensor(view);
  if (WEFT_IS_TRACER(t) != WEFT_IS_TRACER(v) || (!WEFT_IS_TRACER(t) && (t->storage != v->storage || WEFT_DTYPE(t) != WEFT_DTYPE(v))))
    return PyErr_Format(PyExc_ValueError, "relayout: not a view of the tensor");
  if (WEFT_IS_TRACER(t)) {
    t->word = (t->word & ~WEFT_WORD_NDIM) | (v->word & WEFT_WORD_NDIM);
    Py_RETURN_NONE;
  }
  if (!is_tensor(before) || !need_memory(v, "relayout")) return PyErr_Format(PyExc_TypeError, "relayout: tensors with memory");
  if (!wait_for_calls() || !set_layout(t, WEFT_NDIM(v), v->sizes, v->strides, v->offset)) return nullptr;
  weft_bump_version(t);
  t->flags |= WEFT_FLAG_RELAID;
  as_tensor(before)->flags |= WEFT_FLAG_HIDDEN;
  Py_RETURN_NONE;
}

static PyObject *is_relaid(PyObject *, PyObject *arg) {
  return PyBool_FromLong(is_tensor(arg) && (as_tensor(arg)->flags & WEFT_FLAG_RELAID) != 0);
}

PyMethodDef inplace_functions[] = {
    {"check_view", check_view, METH_O, "RuntimeError where a write with history into the tensor is refused, as a view of modes without"},
    {"bump_version", bump_version, METH_O, "note an in-place write to the tensor's storage"},
    {"check_inplace", check_inplace_function, METH_O, "RuntimeError where an in-place write to the tensor is refused"},
    {"made_by_function", made_by_function, METH_VARARGS, "made_by_function(view, several): a write to the view is refused"},
    {"check_fill", check_fill_function, METH_O, "check_inplace for a write of one value, which elements may share"},
    {"check_overlap", check_overlap_function, METH_VARARGS, "RuntimeError where a value shares a part of the memory that is written"},
    {"check_relayout", check_relayout_function, METH_O, "RuntimeError where an in-place change of layout is refused"},
    {"relayout", relayout, METH_VARARGS, "relayout(tensor, view, before): take the layout of a view of the same storage"},
    {"is_relaid", is_relaid, METH_O, "whether the tensor's layout was changed in place"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
