// fast_view.cpp: views of tensors with memory, and the composites made of them. The rules are those of aten/ops/view.py.
#include "op.h"

#include <algorithm>

namespace weft {

// An argument as `_view_of` keeps it.
static PyObject *kept(const Arg &arg) {
  if (arg.kind != Arg::INTS) return arg.build();
  PyObject *all = PyTuple_New(arg.n);
  for (int i = 0; all && i < arg.n; i++) {
    PyObject *one = PyLong_FromLongLong(arg.list[i]);
    if (!one) Py_CLEAR(all);
    else PyTuple_SET_ITEM(all, i, one);
  }
  if (arg.n && all) PyObject_GC_UnTrack(all);  // (numbers alone: nothing for the garbage collector, which sees thousands of them)
  return all;
}

// Whether `value`, which `kept` has made, is this argument.
static bool is_kept(PyObject *value, const Arg &arg) {
  int64_t one;
  switch (arg.kind) {
    case Arg::OBJECT: return value == arg.object;
    case Arg::BOOLEAN: return value == (arg.integer ? Py_True : Py_False);
    case Arg::INT: return exact_int(value, &one) && one == arg.integer;
    default: break;
  }
  if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != arg.n) return false;
  for (int i = 0; i < arg.n; i++)
    if (!exact_int(PyTuple_GET_ITEM(value, i), &one) || one != arg.list[i]) return false;
  return true;
}

// The arguments behind the base, as `_view_of` keeps them: a new reference to those of the last view of that op where they are the
// same, as in loops they are; else one of the same parts where those are the same.
static PyObject *further(CoreOp which, std::initializer_list<Arg> args) {
  static PyObject *last[CORE_COUNT];
  Ref known(Py_XNewRef(last[which]));  // (the garbage collector may run code that makes other views)
  const Py_ssize_t n = (Py_ssize_t)args.size();
  bool same = known && PyTuple_GET_SIZE(known.get()) == n;
  for (Py_ssize_t i = 0; same && i < n; i++) same = is_kept(PyTuple_GET_ITEM(known.get(), i), args.begin()[i]);
  if (same) return known.release();
  Ref rest(PyTuple_New(n));
  bool numbers = n > 0;
  for (Py_ssize_t i = 0; rest && i < n; i++) {
    const Arg &arg = args.begin()[i];
    PyObject *before = known && i < PyTuple_GET_SIZE(known.get()) ? PyTuple_GET_ITEM(known.get(), i) : nullptr;
    PyObject *value = before && is_kept(before, arg) ? Py_NewRef(before) : kept(arg);
    if (!value) return nullptr;
    PyTuple_SET_ITEM(rest.get(), i, value);
    numbers &= arg.kind != Arg::OBJECT;
  }
  if (rest && numbers) PyObject_GC_UnTrack(rest.get());
  if (rest) Py_XSETREF(last[which], Py_NewRef(rest.get()));
  return rest.release();
}

// (base, op, further arguments)
static bool set_view_of(WeftTensor *view, WeftTensor *base, CoreOp which, std::initializer_list<Arg> args) {
  Ref rest(further(which, args));
  view->view_of = rest ? PyTuple_New(3) : nullptr;
  if (!view->view_of) return false;
  PyTuple_SET_ITEM(view->view_of, 0, Py_NewRef(as_object(base)));
  PyTuple_SET_ITEM(view->view_of, 1, Py_NewRef(as_object(core_ops[which])));
  PyTuple_SET_ITEM(view->view_of, 2, rest.release());
  view->view_version = *weft_version(view);
  note_view(view, base);
  track(view);
  return true;
}

PyObject *make_view(CoreOp which, WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                    std::initializer_list<Arg> args, int dtype) {
  NativeOp *op = core_ops[which];
  if (!op) return UNHANDLED;
  Ref view(dtype < 0 ? alias(base, ndim, sizes, strides, offset) : alias_in(dtype, base, ndim, sizes, strides, offset));
  if (!view) return nullptr;
  if (!(base->word & WEFT_WORD_INFERENCE) && !set_view_of(as_tensor(view.get()), base, which, args)) return nullptr;
  if (records(base)) {
    std::vector<Arg> all = {Arg(base)};
    all.insert(all.end(), args.begin(), args.end());
    PyObject *out = view.get();
    if (!record_op(op, all.data(), (int)all.size(), &out, 1)) return nullptr;
  }
  return view.release();
}

PyObject *known_view(WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset) {
  if (!core_ops[CORE_AS_STRIDED]) return PyErr_Format(PyExc_RuntimeError, "aten.ops.view is not loaded");
  Ref view(checked_alias(base, ndim, sizes, strides, offset));
  if (!view || (base->word & WEFT_WORD_INFERENCE)) return view.release();
  const bool known = set_view_of(as_tensor(view.get()), base, CORE_AS_STRIDED,
                                 {Arg::of_integers(sizes, ndim), Arg::of_integers(strides, ndim), Arg::of_integer(offset)});
  return known ? view.release() : nullptr;
}

// Strides that show `t` with other sizes; false if a copy is needed. See view_strides in aten/shapes.py.
static bool view_strides(const WeftTensor *t, int ndim, const int64_t *sizes, int64_t *strides) {
  if (t->word & WEFT_WORD_CONTIGUOUS) {
    contiguous_strides(ndim, sizes, strides);
    return true;
  }
  int64_t old[WEFT_MAX_NDIM], steps[WEFT_MAX_NDIM];
  int n = 0, i = 0, j = 0;
  for (int d = 0; d < WEFT_NDIM(t); d++) {
    if (t->sizes[d] == 1) continue;
    old[n] = t->sizes[d];
    steps[n++] = t->strides[d];
  }
  while (i < n || j < ndim) {  // a run of old dims and a run of new dims of the same product
    int first = i, start = j;
    int64_t a = i < n ? old[i++] : 1, b = j < ndim ? sizes[j++] : 1;
    while (a != b) {
      if (a < b && i < n) a *= old[i++];
      else if (b < a && j < ndim) b *= sizes[j++];
      else return false;
    }
    for (int d = first; d + 1 < i; d++)
      if (steps[d] != steps[d + 1] * old[d + 1]) return false;
    int64_t step = i > first ? steps[i - 1] : 1;
    for (int d = j - 1; d >= start; d--) {
      strides[d] = step;
      step *= sizes[d];
    }
  }
  return true;
}

PyObject *view_with_sizes(WeftTensor *t, int ndim, const int64_t *sizes) {
  int64_t strides[WEFT_MAX_NDIM];
  if (!view_strides(t, ndim, sizes, strides)) return nullptr;
  return make_view(CORE_VIEW, t, ndim, sizes, strides, t->offset, {Arg::of_integers(sizes, ndim)});
}

PyObject *permuted(WeftTensor *t, const int64_t *dims) {
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  int n = WEFT_NDIM(t);
  for (int i = 0; i < n; i++) {
    sizes[i] = t->sizes[dims[i]];
    strides[i] = t->strides[dims[i]];
  }
  return make_view(CORE_PERMUTE, t, n, sizes, strides, t->offset, {Arg::of_integers(dims, n)});
}

static PyObject *aliased(WeftTensor *t) { return make_view(CORE_ALIAS, t, WEFT_NDIM(t), t->sizes, t->strides, t->offset, {}); }

PyObject *reshaped(WeftTensor *t, int ndim, const int64_t *sizes) {
  bool same = ndim == WEFT_NDIM(t);
  for (int d = 0; same && d < ndim; d++) same = sizes[d] == t->sizes[d];
  if (same) return aliased(t);
  PyObject *view = view_with_sizes(t, ndim, sizes);
  if (view || PyErr_Occurred()) return view;
  Ref copy(contiguous_copy(t));
  if (!copy || copy.get() == UNHANDLED) return copy.release();
  view = view_with_sizes(as_tensor(copy.get()), ndim, sizes);
  if (view && as_tensor(view)->view_of) be_no_view(as_tensor(view));
  return view;
}

namespace {

// Replaces one -1; false if the sizes do not give `numel` elements.
bool infer_sizes(int ndim, int64_t *sizes, int64_t numel) {
  int hole = -1;
  int64_t known = 1;
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == -1 && hole < 0) hole = d;
    else if (sizes[d] < 0 || __builtin_mul_overflow(known, sizes[d], &known)) return false;
  }
  if (hole < 0) return known == numel;
  if (known == 0 || numel % known) return false;
  sizes[hole] = numel / known;
  return true;
}

// bitcast(input, dtype), as view() of a dtype is, which has no base in autograd: NULL or UNHANDLED as rules answer.
PyObject *read_as(WeftTensor *t, PyObject *dtype) {
  const int to = dtype_code(dtype), n = WEFT_NDIM(t), have = weft_itemsize(WEFT_DTYPE(t)), want = to < 0 ? 0 : weft_itemsize(to);
  if (to < 0) return nullptr;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  std::copy(t->sizes, t->sizes + n, sizes);
  std::copy(t->strides, t->strides + n, strides);
  if (have == want) return alias_in(to, t, n, sizes, strides, t->offset);
  if (!n || strides[n - 1] != 1 || sizes[n - 1] * have % want || t->offset * have % want) return UNHANDLED;
  for (int d = 0; d < n - 1; d++) {
    if (strides[d] * have % want) return UNHANDLED;
    strides[d] = strides[d] * have / want;
  }
  sizes[n - 1] = sizes[n - 1] * have / want;
  return alias_in(to, t, n, sizes, strides, t->offset * have / want);
}

PyObject *fast_view(Call &call) {
  WeftTensor *t = call.tensor(0);
  if (call[1].n < 0) return read_as(t, call[1].object);
  int64_t sizes[WEFT_MAX_NDIM];
  const int ndim = call[1].n;
  std::copy(call[1].list, call[1].list + ndim, sizes);
  if (!infer_sizes(ndim, sizes, t->numel)) return UNHANDLED;
  if (call.op->code == 1) return reshaped(t, ndim, sizes);
  PyObject *view = view_with_sizes(t, ndim, sizes);
  return view || PyErr_Occurred() ? view : UNHANDLED;
}

PyObject *fast_permute(Call &call) {
  uint64_t seen;
  return call[1].n == WEFT_NDIM(call.tensor(0)) && call.some_dims(1, call[1].n, &seen) ? permuted(call.tensor(0), call[1].list) : UNHANDLED;
}

PyObject *swapped(WeftTensor *t, int a, int b) {
  int64_t dims[WEFT_MAX_NDIM];
  for (int i = 0; i < WEFT_NDIM(t); i++) dims[i] = i;
  std::swap(dims[a], dims[b]);
  return permuted(t, dims);
}

PyObject *fast_transpose(Call &call) {
  WeftTensor *t = call.tensor(0);
  int a, b;
  if (!call.dim(1, WEFT_NDIM(t), &a) || !call.dim(2, WEFT_NDIM(t), &b)) return UNHANDLED;
  return WEFT_NDIM(t) ? swapped(t, a, b) : aliased(t);
}

PyObject *fast_t(Call &call) {
  WeftTensor *t = call.tensor(0);
  if (WEFT_NDIM(t) > 2) return UNHANDLED;
  return WEFT_NDIM(t) == 2 ? swapped(t, 0, 1) : aliased(t);
}

PyObject *fast_expand(Call &call) {
  WeftTensor *t = call.tensor(0);
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  const int ndim = call[1].n;
  if (ndim < WEFT_NDIM(t) || !call.usual(2)) return UNHANDLED;
  std::copy(call[1].list, call[1].list + ndim, sizes);
  int extra = ndim - WEFT_NDIM(t);
  for (int d = ndim - 1; d >= 0; d--) {
    if (d < extra) {  // a new dim: of size 1 it has the stride of one more, as a row-major one would
      if (sizes[d] < 0) return UNHANDLED;
      strides[d] = sizes[d] == 1 && WEFT_NDIM(t) ? sizes[d + 1] * strides[d + 1] : 0;
      continue;
    }
    int64_t have = t->sizes[d - extra];
    if (sizes[d] == -1) sizes[d] = have;
    if (sizes[d] < 0 || (sizes[d] != have && have != 1)) return UNHANDLED;
    strides[d] = sizes[d] == have ? t->strides[d - extra] : 0;
  }
  if (checked_numel(ndim, sizes, weft_itemsize(WEFT_DTYPE(t))) < 0) return nullptr;
  return make_view(CORE_EXPAND, t, ndim, sizes, strides, t->offset, {Arg::of_integers(sizes, ndim)});
}

// The dims of squeeze: those given, or all, that have size 1.
PyObject *fast_squeeze(Call &call) {
  WeftTensor *t = call.tensor(0);
  const int n = WEFT_NDIM(t);
  const bool all = call[1].none();  // (also of more dims than a mask has bits)
  uint64_t chosen = 0;
  if (!all && !call.some_dims(1, n, &chosen)) return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM], dims[WEFT_MAX_NDIM];
  int kept = 0, dropped = 0;
  for (int d = 0; d < n; d++) {
    if (t->sizes[d] == 1 && (all || chosen >> d & 1)) {
      dims[dropped++] = d;
    } else {
      sizes[kept] = t->sizes[d];
      strides[kept++] = t->strides[d];
    }
  }
  return make_view(CORE_SQUEEZE, t, kept, sizes, strides, t->offset, {Arg::of_integers(dims, dropped)});
}

PyObject *fast_unsqueeze(Call &call) {
  WeftTensor *t = call.tensor(0);
  int dim;
  return WEFT_NDIM(t) < WEFT_MAX_NDIM && call.dim(1, WEFT_NDIM(t) + 1, &dim) ? unsqueezed(t, dim) : UNHANDLED;
}

PyObject *fast_flatten(Call &call) {
  WeftTensor *t = call.tensor(0);
  int a, b, n = 0;
  if (!WEFT_NDIM(t) || !call.dim(1, WEFT_NDIM(t), &a) || !call.dim(2, WEFT_NDIM(t), &b) || a > b) return UNHANDLED;
  if (a == b) return Py_NewRef(as_object(t));
  int64_t sizes[WEFT_MAX_NDIM], product = 1;
  for (int d = 0; d < WEFT_NDIM(t); d++) {
    if (d >= a && d <= b) product *= t->sizes[d];
    if (d < a || d > b) sizes[n++] = t->sizes[d];
    if (d == b) sizes[n++] = product;
  }
  return reshaped(t, n, sizes);
}

PyObject *fast_select(Call &call) {
  WeftTensor *t = call.tensor(0);
  const int64_t index = call[2].integer;
  int dim;
  if (!WEFT_NDIM(t) || !call.dim(1, WEFT_NDIM(t), &dim)) return UNHANDLED;
  int64_t size = t->sizes[dim];
  if (index < -size || index >= size) return UNHANDLED;
  return selected(t, dim, index < 0 ? index + size : index);
}

// slice(input, dim=0, start=None, end=None, step=1); narrow is the same by start and length
PyObject *fast_slice(Call &call) {
  WeftTensor *t = call.tensor(0);
  int dim;
  if (!WEFT_NDIM(t) || call[4].integer <= 0 || !call.dim(1, WEFT_NDIM(t), &dim)) return UNHANDLED;
  return sliced(t, dim, call[2].none() ? 0 : call[2].integer, call[3].none() ? t->sizes[dim] : call[3].integer, call[4].integer);
}

PyObject *fast_narrow(Call &call) {
  WeftTensor *t = call.tensor(0);
  int64_t start, length = call[3].integer;
  int dim;
  if (!WEFT_NDIM(t) || !exact_int(call[2].object, &start) || !call.dim(1, WEFT_NDIM(t), &dim)) return UNHANDLED;
  int64_t size = t->sizes[dim];
  if (start < 0) start += size;
  if (start < 0 || length < 0 || length > size - start) return UNHANDLED;
  return sliced(t, dim, start, start + length, 1);
}

// ---------------------------------------------------------------------------------------- several results

// n pieces along a dim as a tuple, each as `piece(i)` makes it: several results of one node.
template <class Piece> PyObject *several(NativeOp *op, WholeOp backward, WeftTensor *t, int dim, int64_t n, Piece piece) {
  bool recording = records(t) && op->node_name;
  Ref result(PyTuple_New((Py_ssize_t)n));
  uint64_t before = *ambient() & WEFT_AMBIENT_GRAD;
  if (recording) *ambient() &= ~WEFT_AMBIENT_GRAD;
  for (int64_t i = 0; result && i < n; i++) {
    PyObject *one = piece(i);
    if (!one || one == UNHANDLED) {
      *ambient() |= before;
      return one;
    }
    PyTuple_SET_ITEM(result.get(), (Py_ssize_t)i, one);
  }
  *ambient() |= before;
  if (!result || !recording || !n) return result.release();
  Ref saved(Py_BuildValue("(i)", dim));
  PyObject *input = as_object(t), **outputs = reinterpret_cast<PyTupleObject *>(result.get())->ob_item;
  if (!saved || record(op->node_name, whole_backwards[backward], &input, 1, outputs, n, saved.get()) < 0) return nullptr;
  for (Py_ssize_t i = 0; i < n; i++) note_result_of(as_tensor(outputs[i]), WEFT_FLAG_OF_SEVERAL);
  return result.release();
}

// Slices of `sizes` (or of `each`) along a dim.
PyObject *pieces(NativeOp *op, WeftTensor *t, int dim, int64_t n, const int64_t *sizes, int64_t each) {
  int64_t start = 0;
  return several(op, WHOLE_SPLIT, t, dim, n, [&](int64_t i) {
    int64_t from = start;
    start += sizes ? sizes[i] : std::min(each, t->sizes[dim] - start);
    return sliced(t, dim, from, start, 1);
  });
}

// split(input, size or sizes, dim=0)
PyObject *fast_split(Call &call) {
  WeftTensor *t = call.tensor(0);
  int64_t each;
  int dim;
  if (!WEFT_NDIM(t) || !call.dim(2, WEFT_NDIM(t), &dim)) return UNHANDLED;
  const int64_t n = t->sizes[dim];
  if (exact_int(call[1].object, &each)) return each > 0 && n > 0 ? pieces(call.op, t, dim, (n - 1) / each + 1, nullptr, each) : UNHANDLED;
  if (!call.ints(1)) return UNHANDLED;
  int64_t total = 0;
  for (int i = 0; i < call[1].n; i++)
    if (call[1].list[i] < 0 || __builtin_add_overflow(total, call[1].list[i], &total)) return UNHANDLED;
  return call[1].n && total == n ? pieces(call.op, t, dim, call[1].n, call[1].list, 0) : UNHANDLED;
}

PyObject *fast_chunk(Call &call) {
  WeftTensor *t = call.tensor(0);
  const int64_t chunks = call[1].integer;
  int dim;
  if (!WEFT_NDIM(t) || chunks <= 0 || !call.dim(2, WEFT_NDIM(t), &dim) || t->sizes[dim] == 0) return UNHANDLED;
  const int64_t n = t->sizes[dim], each = (n - 1) / chunks + 1;
  return pieces(call.op, t, dim, (n - 1) / each + 1, nullptr, each);
}

PyObject *fast_unbind(Call &call) {
  WeftTensor *t = call.tensor(0);
  int dim;
  if (!WEFT_NDIM(t) || !call.dim(1, WEFT_NDIM(t), &dim)) return UNHANDLED;
  return several(call.op, WHOLE_UNBIND, t, dim, t->sizes[dim], [&](int64_t i) { return selected(t, dim, i); });
}

PyObject *fast_alias(Call &call) { return aliased(call.tensor(0)); }
PyObject *fast_watched(Call &call) {
  WeftTensor *t = call.tensor(0);
  return make_view(CORE_WATCHED, t, WEFT_NDIM(t), t->sizes, t->strides, t->offset, {});
}

}  // namespace

PyObject *unsqueezed(WeftTensor *t, int dim) {
  int64_t sizes[WEFT_MAX_NDIM + 1], strides[WEFT_MAX_NDIM + 1];  // one too many is refused by the view
  int n = WEFT_NDIM(t);
  for (int d = 0, k = 0; k <= n; k++) {
    if (k == dim) {
      sizes[k] = 1;
      strides[k] = dim < n ? t->sizes[dim] * t->strides[dim] : 1;
    } else {
      sizes[k] = t->sizes[d];
      strides[k] = t->strides[d++];
    }
  }
  return make_view(CORE_UNSQUEEZE, t, n + 1, sizes, strides, t->offset, {Arg::of_integer(dim)});
}

PyObject *selected(WeftTensor *t, int dim, int64_t index) {
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  int k = 0;
  for (int d = 0; d < WEFT_NDIM(t); d++) {
    if (d == dim) continue;
    sizes[k] = t->sizes[d];
    strides[k++] = t->strides[d];
  }
  return make_view(CORE_SELECT, t, k, sizes, strides, t->offset + index * t->strides[dim], {Arg::of_integer(dim), Arg::of_integer(index)});
}

PyObject *sliced(WeftTensor *t, int dim, int64_t start, int64_t end, int64_t step) {
  int64_t size = t->sizes[dim], sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  auto clamp = [&](int64_t i) { return i < 0 ? std::max<int64_t>(i + size, 0) : std::min(i, size); };
  start = clamp(start);
  end = clamp(end);
  for (int d = 0; d < WEFT_NDIM(t); d++) {
    sizes[d] = t->sizes[d];
    strides[d] = t->strides[d];
  }
  int64_t length = std::max<int64_t>(end - start, 0);
  sizes[dim] = length ? (length - 1) / step + 1 : 0;
  // Steps beyond 64 bits, which only a dim of one element or none takes, are left out.
  int64_t stride, bytes;
  if (!__builtin_mul_overflow(strides[dim], step, &stride) && !__builtin_mul_overflow(stride, 16, &bytes)) strides[dim] = stride;
  return make_view(CORE_SLICE, t, WEFT_NDIM(t), sizes, strides, t->offset + start * t->strides[dim],
                   {Arg::of_integer(dim), Arg::of_integer(start), Arg::of_integer(end), Arg::of_integer(step)});
}

namespace {

PyObject *fast_diagonal(Call &call) {
  WeftTensor *t = call.tensor(0);
  const int n = WEFT_NDIM(t);
  const int64_t offset = call[1].integer;
  int a, b, k = 0;
  if (n < 2 || !call.dim(2, n, &a) || !call.dim(3, n, &b) || a == b) return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  if (offset < -t->sizes[a] || offset > t->sizes[b]) return UNHANDLED;
  for (int d = 0; d < n; d++)
    if (d != a && d != b) sizes[k] = t->sizes[d], strides[k++] = t->strides[d];
  sizes[k] = offset >= 0 ? std::min(t->sizes[a], t->sizes[b] - offset) : std::min(t->sizes[a] + offset, t->sizes[b]);
  if (sizes[k] <= 0) return UNHANDLED;
  strides[k] = t->strides[a] + t->strides[b];
  const int64_t start = t->offset + (offset >= 0 ? offset * t->strides[b] : -offset * t->strides[a]);
  return make_view(CORE_DIAGONAL, t, n - 1, sizes, strides, start, {Arg::of_integer(offset), Arg::of_integer(a), Arg::of_integer(b)});
}

PyObject *fast_unfold(Call &call) {
  WeftTensor *t = call.tensor(0);
  const int n = WEFT_NDIM(t);
  const int64_t size = call[2].integer, step = call[3].integer;
  int dim;
  if (!n || n == WEFT_MAX_NDIM || !call.dim(1, n, &dim) || size < 1 || size > t->sizes[dim] || step < 1) return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  std::copy(t->sizes, t->sizes + n, sizes);
  std::copy(t->strides, t->strides + n, strides);
  sizes[n] = size, strides[n] = t->strides[dim];
  sizes[dim] = (t->sizes[dim] - size) / step + 1;
  if (__builtin_mul_overflow(strides[dim], step, &strides[dim])) return UNHANDLED;
  return make_view(CORE_UNFOLD, t, n + 1, sizes, strides, t->offset, {Arg::of_integer(dim), Arg::of_integer(size), Arg::of_integer(step)});
}

PyObject *fast_view_as_real(Call &call) {
  WeftTensor *t = call.tensor(0);
  const int n = WEFT_NDIM(t), dtype = WEFT_DTYPE(t) == WEFT_COMPLEX64 ? WEFT_FLOAT32 : WEFT_DTYPE(t) == WEFT_COMPLEX128 ? WEFT_FLOAT64 : -1;
  if (dtype < 0 || n == WEFT_MAX_NDIM) return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  for (int d = 0; d < n; d++) sizes[d] = t->sizes[d], strides[d] = 2 * t->strides[d];
  sizes[n] = 2, strides[n] = 1;
  return make_view(CORE_VIEW_AS_REAL, t, n + 1, sizes, strides, 2 * t->offset, {}, dtype);
}

PyObject *fast_view_as_complex(Call &call) {
  WeftTensor *t = call.tensor(0);
  const int n = WEFT_NDIM(t) - 1, dtype = WEFT_DTYPE(t) == WEFT_FLOAT32 ? WEFT_COMPLEX64 : WEFT_DTYPE(t) == WEFT_FLOAT64 ? WEFT_COMPLEX128 : -1;
  if (dtype < 0 || n < 0 || t->sizes[n] != 2 || t->strides[n] != 1 || t->offset % 2) return UNHANDLED;
  int64_t strides[WEFT_MAX_NDIM];
  for (int d = 0; d < n; d++) {
    if (t->strides[d] % 2) return UNHANDLED;
    strides[d] = t->strides[d] / 2;
  }
  return make_view(CORE_VIEW_AS_COMPLEX, t, n, t->sizes, strides, t->offset / 2, {}, dtype);
}

PyObject *fast_bitcast(Call &call) { return read_as(call.tensor(0), call[1].object); }

PyObject *fast_as_strided(Call &call) {
  WeftTensor *t = call.tensor(0);
  const Arg &size = call[1], &stride = call[2], &at = call[3];
  if (size.kind != Arg::INTS || stride.kind != Arg::INTS || size.n != stride.n) return UNHANDLED;
  int64_t offset = at.kind == Arg::INT ? at.integer : t->offset;
  if (at.kind != Arg::INT && !at.none() && !(at.kind == Arg::OBJECT && exact_int(at.object, &offset))) return UNHANDLED;
  for (int d = 0; d < size.n; d++)
    if (size.list[d] < 0 || stride.list[d] < 0) return UNHANDLED;
  if (offset < 0 || !window_inside(size.n, size.list, stride.list, offset, weft_itemsize(WEFT_DTYPE(t)), t->storage->nbytes)) return UNHANDLED;
  return make_view(CORE_AS_STRIDED, t, size.n, size.list, stride.list, offset,
                   {Arg::of_integers(size.list, size.n), Arg::of_integers(stride.list, stride.n), Arg::of_integer(offset)}, WEFT_DTYPE(t));
}

}  // namespace

const RuleRow view_rules[] = {{"bitcast", fast_bitcast}, {"view_as_real", fast_view_as_real}, {"view_as_complex", fast_view_as_complex}, {"as_strided", fast_as_strided}, {"diagonal", fast_diagonal}, {"unfold", fast_unfold}, {"view", fast_view, 0}, {"reshape", fast_view, 1}, {"permute", fast_permute}, {"transpose", fast_transpose}, {"t", fast_t},
                              {"expand", fast_expand}, {"squeeze", fast_squeeze}, {"unsqueeze", fast_unsqueeze}, {"flatten", fast_flatten},
                              {"select", fast_select}, {"slice", fast_slice}, {"narrow", fast_narrow}, {"split", fast_split},
                              {"chunk", fast_chunk}, {"unbind", fast_unbind}, {"alias", fast_alias}, {"watched", fast_watched}, {nullptr, nullptr}};

}  // namespace weft
