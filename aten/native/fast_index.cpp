// fast_index.cpp: input[key] and input[key] = value; embedding rows and their gradient.
#include <string.h>

#include "loops.h"
#include "op.h"
#include "places.h"

namespace weft {

namespace {

// A slice with plain bounds; false for anything else.
bool read_slice(PyObject *key, int64_t size, int64_t *start, int64_t *end, int64_t *step, bool *whole) {
  PySliceObject *s = reinterpret_cast<PySliceObject *>(key);
  *start = 0;
  *end = size;
  *step = 1;
  *whole = s->start == Py_None && s->stop == Py_None && s->step == Py_None;
  if (s->start != Py_None && !exact_int(s->start, start)) return false;
  if (s->stop != Py_None && !exact_int(s->stop, end)) return false;
  if (s->step != Py_None && !exact_int(s->step, step)) return false;
  return *step > 0;
}

// A key in parts: the view that ints, slices, None and ... take of a tensor, and the tensors among its items by dim of that view.
struct Key {
  Ref view;
  Ref tensors;  // a list of tensors and None; NULL where there are none

  // False: not of the usual kinds, or an exception is set.
  bool read(WeftTensor *t, PyObject *key) {
    PyObject *const *items = &key;
    Py_ssize_t n = 1;
    if (PyTuple_CheckExact(key)) {
      items = reinterpret_cast<PyTupleObject *>(key)->ob_item;
      n = PyTuple_GET_SIZE(key);
    }
    int ellipses, used = dims_used(items, n, &ellipses);
    if (used < 0 || ellipses > 1 || used > WEFT_NDIM(t)) return false;
    view.reset(Py_NewRef(as_object(t)));
    int dim = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
      WeftTensor *v = as_tensor(view.get());
      PyObject *next, *item = items[i];
      if (item == Py_None) {
        next = unsqueezed(v, dim++);
      } else if (item == Py_Ellipsis) {
        dim += WEFT_NDIM(t) - used;
        continue;
      } else if (PySlice_Check(item)) {
        int64_t start, end, step;
        bool whole;
        if (!read_slice(item, v->sizes[dim], &start, &end, &step, &whole)) return false;
        if (whole) {
          dim++;
          continue;
        }
        next = sliced(v, dim++, start, end, step);
      } else if (PyLong_CheckExact(item) || is_number(item)) {
        int64_t index;
        if (PyLong_CheckExact(item) ? !exact_int(item, &index) : (index = number(item), false)) return false;
        if (index < -v->sizes[dim] || index >= v->sizes[dim]) return false;
        next = selected(v, dim, index < 0 ? index + v->sizes[dim] : index);
      } else {
        if (!add_tensor(item, &dim)) return false;
        continue;
      }
      if (!next || next == UNHANDLED) return false;
      view.reset(next);
    }
    return true;
  }

 private:
  int listed = 0;  // dims of the view that `tensors` reaches to

  // A tensor of one int takes a view, as the int would.
  static bool is_number(PyObject *item) {
    const WeftTensor *t = plain(item);
    return t && WEFT_NDIM(t) == 0 && WEFT_DTYPE(t) == WEFT_INT64;
  }
  static int64_t number(PyObject *item) { return *reinterpret_cast<const int64_t *>(weft_data(as_tensor(item))); }

  // The number of dims that the items use; -1 when one of them is of no usual kind.
  static int dims_used(PyObject *const *items, Py_ssize_t n, int *ellipses) {
    int used = 0;
    *ellipses = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject *item = items[i];
      if (item == Py_None) continue;
      if (item == Py_Ellipsis) {
        ++*ellipses;
      } else if (PyLong_CheckExact(item) || PySlice_Check(item)) {
        used++;
      } else {
        const WeftTensor *t = plain(item);
        if (!t || !WEFT_NDIM(t) || (WEFT_DTYPE(t) != WEFT_BOOL && WEFT_DTYPE(t) != WEFT_INT64)) return -1;  // one number is an int: a view
        used += WEFT_DTYPE(t) == WEFT_BOOL ? WEFT_NDIM(t) : 1;
      }
    }
    return used;
  }

  bool add_tensor(PyObject *item, int *dim) {
    if (!tensors) tensors.reset(PyList_New(0));
    for (; tensors && listed < *dim; listed++)
      if (PyList_Append(tensors.get(), Py_None) < 0) return false;
    if (!tensors || PyList_Append(tensors.get(), item) < 0) return false;
    const int used = WEFT_DTYPE(as_tensor(item)) == WEFT_BOOL ? WEFT_NDIM(as_tensor(item)) : 1;
    *dim += used, listed += used;
    return true;
  }
};

PyObject *fast_getitem(Call &call) {
  WeftTensor *t = call.tensor(0);
  Key key;
  if (!key.read(t, call[1].object)) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (key.tensors) return indexed(as_tensor(key.view.get()), key.tensors.get());
  if (key.view.get() != call[0].object) return key.view.release();
  return make_view(CORE_ALIAS, t, WEFT_NDIM(t), t->sizes, t->strides, t->offset, {});
}

// A Python number as a tensor of one element; NULL, without an exception where `dtype` cannot take it.
PyObject *number_as(PyObject *number, int dtype) {
  alignas(16) char value[16];
  if (!PyFloat_CheckExact(number) && !PyLong_Check(number)) return nullptr;
  int overflow = 0;
  if (PyLong_Check(number) && (PyLong_AsLongLongAndOverflow(number, &overflow), overflow)) return nullptr;  // what reads it raises
  if (!write_element(value, dtype, number, true)) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject *made = empty((uint32_t)dtype, 0, nullptr, nullptr);
  if (made) memcpy(weft_data(as_tensor(made)), value, (size_t)weft_itemsize(dtype));
  return made;
}

// With history: what the key shows is written by copy_ or index_put_.
PyObject *recorded_setitem(WeftTensor *t, const Key &key, WeftTensor *value) {
  const bool whole = key.view.get() == as_object(t);
  if (key.tensors) {
    if (!core_ops[CORE_INDEX_PUT_]) return UNHANDLED;
    PyObject *args[] = {nullptr, key.view.get(), key.tensors.get(), as_object(value)};
    const Ref done(PyObject_Vectorcall(as_object(core_ops[CORE_INDEX_PUT_]), args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    return done ? Py_NewRef(Py_None) : nullptr;
  }
  if (!core_ops[CORE_ALIAS] || !core_ops[CORE_COPY_]) return UNHANDLED;
  const Ref view(whole ? make_view(CORE_ALIAS, t, WEFT_NDIM(t), t->sizes, t->strides, t->offset, {}) : Py_NewRef(key.view.get()));
  if (!view) return nullptr;
  const WeftTensor *shown = as_tensor(view.get());
  bool twice = WEFT_NDIM(value) > WEFT_NDIM(shown);
  for (int d = 0; !twice && d < WEFT_NDIM(shown); d++) twice = shown->strides[d] == 0;
  if (twice) return UNHANDLED;
  PyObject *args[] = {nullptr, view.get(), as_object(value)};
  const Ref done(PyObject_Vectorcall(as_object(core_ops[CORE_COPY_]), args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  return done ? Py_NewRef(Py_None) : nullptr;
}

// input[key] = value of numbers and of tensors of the same dtype
PyObject *fast_setitem(Call &call) {
  WeftTensor *t = call.tensor(0);
  PyObject *source = call[2].object;
  bool recorded = records(t);
  Ref value;
  if (WeftTensor *given = plain(source)) {
    if (WEFT_DTYPE(given) != WEFT_DTYPE(t) || given->storage == t->storage) return UNHANDLED;
    recorded |= records(given);
    value.reset(Py_NewRef(source));
  } else {
    value.reset(number_as(source, WEFT_DTYPE(t)));
  }
  if (!value) return PyErr_Occurred() ? nullptr : UNHANDLED;
  WeftTensor *v = as_tensor(value.get());
  Key key;
  if (!key.read(t, call[1].object)) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (recorded) return recorded_setitem(t, key, v);
  WeftTensor *view = as_tensor(key.view.get());
  if (check_inplace(view) < 0) {
    if (!key.tensors) return nullptr;
    PyErr_Clear();  // into expanded tensors index_put_ writes, and warns; what else is refused it refuses
    return UNHANDLED;
  }
  if (key.tensors) {
    if (!put_indexed(view, key.tensors.get(), v, false)) return PyErr_Occurred() ? nullptr : UNHANDLED;
  } else {
    const int extra = WEFT_NDIM(view) - WEFT_NDIM(v);
    if (extra < 0) return UNHANDLED;
    for (int d = 0; d < WEFT_NDIM(v); d++)
      if (v->sizes[d] != 1 && v->sizes[d] != view->sizes[extra + d]) return UNHANDLED;
    if (!copy_into(view, v)) return UNHANDLED;
  }
  weft_bump_version(t);
  Py_RETURN_NONE;
}

// Index i, read once: a kernel of another thread may write it meanwhile.
int64_t read_index(const char *p, int dtype, int64_t i) {
  if (dtype == WEFT_INT64) return __atomic_load_n(reinterpret_cast<const int64_t *>(p) + i, __ATOMIC_RELAXED);
  return __atomic_load_n(reinterpret_cast<const int32_t *>(p) + i, __ATOMIC_RELAXED);
}

bool are_indices(const WeftTensor *t) {
  return (WEFT_DTYPE(t) == WEFT_INT64 || WEFT_DTYPE(t) == WEFT_INT32) && (t->word & WEFT_WORD_CONTIGUOUS);
}

constexpr int64_t kManyBytes = 1 << 20;

// embedding(weight, indices): rows of a matrix
PyObject *fast_embedding(Call &call) {
  WeftTensor *weight = call.tensor(0), *indices = call.tensor(1);
  if (!call.usual(2) || !are_indices(indices) || WEFT_NDIM(weight) != 2 || !(weight->word & WEFT_WORD_CONTIGUOUS)) return UNHANDLED;
  if (WEFT_NDIM(indices) == WEFT_MAX_NDIM) return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM];
  int n = WEFT_NDIM(indices);
  for (int d = 0; d < n; d++) sizes[d] = indices->sizes[d];
  sizes[n] = weight->sizes[1];
  Ref out(empty(weight->word, n + 1, sizes, nullptr));
  if (!out) return nullptr;
  size_t bytes = (size_t)(weight->sizes[1] * weft_itemsize(WEFT_DTYPE(weight)));
  if (indices->numel * (int64_t)bytes >= kManyBytes && WEFT_DTYPE(indices) == WEFT_INT64 && has_place_op(PlaceOp::TAKE, WEFT_DTYPE(weight))) {
    Places places;  // on several threads, without the GIL
    places.ndim = 1, places.sizes[0] = indices->numel, places.near_steps[0] = weight->sizes[1], places.wraps = false;
    const int64_t step = 1;
    Ref flat(alias(indices, 1, places.sizes, &step, indices->offset));
    if (!flat || !places.add_index(as_tensor(flat.get()), weight->sizes[0], weight->sizes[1])) return PyErr_Occurred() ? nullptr : UNHANDLED;
    places.add_block(weight->sizes[1], 1, 1);
    places.far = weft_data(weight), places.near = weft_data(as_tensor(out.get()));
    return run_places(places, PlaceOp::TAKE, WEFT_DTYPE(weight)) ? call.made(std::move(out)) : UNHANDLED;
  }
  char *to = weft_data(as_tensor(out.get()));
  for (int64_t i = 0; i < indices->numel; i++) {
    const int64_t at = read_index(weft_data(indices), WEFT_DTYPE(indices), i);
    if (at < 0 || at >= weight->sizes[0]) return UNHANDLED;
    if (bytes) memcpy(to + (size_t)i * bytes, weft_data(weight) + (size_t)at * bytes, bytes);
  }
  return call.made(std::move(out));
}

// A function of its own, so that its loop is one of vectors wherever it is called from.
template <class T> __attribute__((noinline, optimize("O3"))) void add_row(T *__restrict to, const T *__restrict from, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

// False: an index is out of range.
template <class T> bool add_rows(WeftTensor *out, WeftTensor *grad, WeftTensor *indices, int64_t rows, int64_t width) {
  T *to = reinterpret_cast<T *>(weft_data(out));
  const T *from = reinterpret_cast<const T *>(weft_data(grad));
  if (rows > 0 && width > 0) memset(to, 0, (size_t)(rows * width) * sizeof(T));
  for (int64_t i = 0; i < indices->numel; i++) {
    const int64_t at = read_index(weft_data(indices), WEFT_DTYPE(indices), i);
    if (at < 0 || at >= rows) return false;
    add_row(to + at * width, from + i * width, width);
  }
  return true;
}

// embedding_backward(grad, indices, num_weights): zeros with rows added at their indices, in the order of the indices
PyObject *fast_embedding_backward(Call &call) {
  WeftTensor *grad = call.tensor(0), *indices = call.tensor(1);
  const int64_t rows = call[2].integer;
  if (!are_indices(indices) || !(grad->word & WEFT_WORD_CONTIGUOUS) || !WEFT_NDIM(grad) || rows < 0) return UNHANDLED;
  int64_t width = grad->sizes[WEFT_NDIM(grad) - 1], sizes[2] = {rows, width};
  const bool wide = WEFT_DTYPE(grad) == WEFT_FLOAT64;
  if ((!wide && WEFT_DTYPE(grad) != WEFT_FLOAT32) || grad->numel != indices->numel * width) return UNHANDLED;
  Ref out(empty(grad->word, 2, sizes, nullptr));
  if (!out) return nullptr;
  WeftTensor *t = as_tensor(out.get());
  if (!(wide ? add_rows<double>(t, grad, indices, rows, width) : add_rows<float>(t, grad, indices, rows, width))) return UNHANDLED;
  return call.made(std::move(out));
}

}  // namespace

const RuleRow index_rules[] = {{"getitem", fast_getitem}, {"setitem", fast_setitem}, {"embedding", fast_embedding},
                               {"embedding_backward", fast_embedding_backward}, {nullptr, nullptr}};

}  // namespace weft
