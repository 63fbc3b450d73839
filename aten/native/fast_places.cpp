// fast_places.cpp: ops on elements that index tensors name: index, index_put, index_select, index_add, gather, scatter, scatter_add,
// nonzero. The loops are those of places.cpp; an index out of range is worded by the general path.
#include <string.h>

#include <algorithm>

#include "native_kernel.h"
#include "places.h"
#include "reduce.h"

namespace weft {

namespace {

// ------------------------------------------------------------------------------------------------ several index tensors
// The index tensors of a call by dim of `x`, masks as the places of their true elements, and where their dims go in the result.
struct Indices {
  WeftTensor *by_dim[WEFT_MAX_NDIM] = {};
  Ref owned[WEFT_MAX_NDIM];
  int n = 0, first = 0, ndim = 0;          // dims that are given; the place of the indices' dims among the result's; their number
  int64_t sizes[WEFT_MAX_NDIM];            // of the indices, broadcast
  int result_ndim = 0;
  int64_t result_sizes[WEFT_MAX_NDIM];

  // False: not handled, or an exception is set.
  bool read(WeftTensor *x, PyObject *list) {
    if (!PyList_CheckExact(list)) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
      PyObject *item = PyList_GET_ITEM(list, i);
      if (n >= WEFT_NDIM(x)) return false;
      if (item == Py_None) {
        n++;
        continue;
      }
      WeftTensor *t = plain(item);
      if (!t) return false;
      if (WEFT_DTYPE(t) == WEFT_BOOL) {
        if (n + WEFT_NDIM(t) > WEFT_NDIM(x) || !std::equal(t->sizes, t->sizes + WEFT_NDIM(t), x->sizes + n)) return false;
        if (mask_places(t, owned + n) <= 0) return false;
        for (int d = 0; d < WEFT_NDIM(t); d++, n++) by_dim[n] = as_tensor(owned[n].get());
      } else if (WEFT_DTYPE(t) == WEFT_INT64) {
        owned[n].reset(Py_NewRef(item));
        by_dim[n++] = t;
      } else {
        return false;
      }
    }
    return lay_out(x);
  }

  // The list as core arguments have it.
  PyObject *as_list() const {
    PyObject *list = PyList_New(n);
    for (int d = 0; list && d < n; d++) PyList_SET_ITEM(list, d, Py_NewRef(by_dim[d] ? owned[d].get() : Py_None));
    return list;
  }

  // Describes far[indices] and near, whose indexed dims start at `first`.
  bool describe(const WeftTensor *x, const int64_t *near_steps, Places *places) const {
    places->ndim = ndim;
    std::copy(sizes, sizes + ndim, places->sizes);
    std::copy(near_steps + first, near_steps + first + ndim, places->near_steps);
    for (int d = 0, at = 0; d < WEFT_NDIM(x); d++) {
      if (d < n && by_dim[d]) {
        if (!places->add_index(by_dim[d], x->sizes[d], x->strides[d])) return false;
      } else {
        if (at == first) at += ndim;
        places->add_block(x->sizes[d], x->strides[d], near_steps[at++]);
      }
    }
    return true;
  }

 private:
  bool lay_out(const WeftTensor *x) {
    int low = -1, high = -1, given = 0;
    for (int d = 0; d < n; d++) {
      if (!by_dim[d]) continue;
      if (low < 0) low = d;
      high = d, given++;
      ndim = std::max(ndim, WEFT_NDIM(by_dim[d]));
    }
    if (!given || given > kMaxIndices || WEFT_NDIM(x) - given + ndim > WEFT_MAX_NDIM) return false;
    std::fill(sizes, sizes + ndim, 1);
    for (int d = low; d <= high; d++) {
      if (!by_dim[d]) continue;
      const int extra = ndim - WEFT_NDIM(by_dim[d]);
      for (int k = extra; k < ndim; k++) {
        const int64_t size = by_dim[d]->sizes[k - extra];
        if (size != 1 && sizes[k] != 1 && size != sizes[k]) return false;
        if (size != 1) sizes[k] = size;
      }
    }
    first = high - low + 1 == given ? low : 0;  // apart: in front
    for (int d = 0; d <= WEFT_NDIM(x); d++) {
      if (result_ndim == first)
        for (int k = 0; k < ndim; k++) result_sizes[result_ndim++] = sizes[k];
      if (d < WEFT_NDIM(x) && !(d < n && by_dim[d])) result_sizes[result_ndim++] = x->sizes[d];
    }
    return true;
  }
};

// Steps of `t` over larger sizes, 0 where it is broadcast; false where it is not.
bool broadcast_steps(const WeftTensor *t, int ndim, const int64_t *sizes, int64_t *steps) {
  const int extra = ndim - WEFT_NDIM(t);
  if (extra < 0) return false;
  for (int d = 0; d < ndim; d++) {
    const int64_t size = d < extra ? 1 : t->sizes[d - extra];
    if (size != 1 && size != sizes[d]) return false;
    steps[d] = size == 1 ? 0 : t->strides[d - extra];
  }
  return true;
}

bool put_at(WeftTensor *x, const Indices &indices, WeftTensor *values, bool accumulate) {
  const PlaceOp op = accumulate ? PlaceOp::ADD : PlaceOp::PUT;
  int64_t steps[WEFT_MAX_NDIM];
  Places places;
  if (WEFT_DTYPE(values) != WEFT_DTYPE(x) || values->storage == x->storage) return false;
  if (accumulate && is_half(WEFT_DTYPE(x))) {  // added up in float32, rounded once
    Ref sums(cast_tensor(x, WEFT_FLOAT32)), wide(sums ? cast_tensor(values, WEFT_FLOAT32) : nullptr);
    return wide && put_at(as_tensor(sums.get()), indices, as_tensor(wide.get()), true) && copy_into(x, as_tensor(sums.get()));
  }
  if (!has_place_op(op, WEFT_DTYPE(x))) return false;
  for (int d = 0; d < indices.n; d++)
    if (indices.by_dim[d] && indices.by_dim[d]->storage == x->storage) return false;
  if (!broadcast_steps(values, indices.result_ndim, indices.result_sizes, steps) || !indices.describe(x, steps, &places)) return false;
  places.far = weft_data(x), places.near = weft_data(values);
  return run_places(places, op, WEFT_DTYPE(x));
}

}  // namespace

PyObject *indexed(WeftTensor *t, PyObject *list) {
  Indices indices;
  Places places;
  if (!has_place_op(PlaceOp::TAKE, WEFT_DTYPE(t)) || !indices.read(t, list)) return PyErr_Occurred() ? nullptr : UNHANDLED;
  Ref out(empty(t->word, indices.result_ndim, indices.result_sizes, nullptr));
  if (!out) return nullptr;
  WeftTensor *o = as_tensor(out.get());
  if (!indices.describe(t, o->strides, &places)) return UNHANDLED;
  places.far = weft_data(t), places.near = weft_data(o);
  if (!run_places(places, PlaceOp::TAKE, WEFT_DTYPE(t))) return UNHANDLED;
  if (!records(t)) return out.release();
  Ref core(indices.as_list());
  return core && record_op(core_ops[CORE_INDEX], {Arg(t), Arg(core.get())}, out.get()) ? out.release() : nullptr;
}

bool put_indexed(WeftTensor *t, PyObject *list, WeftTensor *values, bool accumulate) {
  Indices indices;
  return indices.read(t, list) && put_at(t, indices, values, accumulate);
}

namespace {

// index(input, indices)
PyObject *fast_index(Call &call) { return indexed(call.tensor(0), call[1].object); }

// index_put(input, indices, values, accumulate=False); `code` 1: in place, without history
PyObject *fast_index_put(Call &call) {
  WeftTensor *x = call.tensor(0), *values = call.tensor(2);
  const bool accumulate = call.truth(3);
  Ref list(PySequence_List(call[1].object));
  if (!list) return nullptr;
  Indices indices;
  if (!indices.read(x, list.get())) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (call.op->code == 1) {
    if (records(x) || records(values)) return UNHANDLED;
    for (int d = 0; d < WEFT_NDIM(x); d++)
      if (!x->strides[d] && x->sizes[d] > 1) return UNHANDLED;  // expanded: a warning
    if (check_inplace(x) < 0 || check_overlap(x, values, true) < 0) return nullptr;
    for (int d = 0; d < indices.n; d++)
      if (indices.owned[d] && check_overlap(x, as_tensor(indices.owned[d].get()), true) < 0) return nullptr;
    if (!put_at(x, indices, values, accumulate)) return PyErr_Occurred() ? nullptr : UNHANDLED;
    weft_bump_version(x);
    return Py_NewRef(call[0].object);
  }
  Ref out(empty_like(x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  WeftTensor *o = as_tensor(out.get());
  if (!copy_into(o, x) || !put_at(o, indices, values, accumulate)) return PyErr_Occurred() ? nullptr : UNHANDLED;
  Ref core(indices.as_list());
  if (!core) return nullptr;
  call.args[1] = Arg(core.get());
  return call.made(std::move(out));
}

// ---------------------------------------------------------------------------------------------- slices of one dim
// A 1-d (or 0-d) int64 index (argument 2), and a wrapped dim (argument 1) of a tensor that has one.
bool read_slices(Call &call, int *wrapped) {
  const WeftTensor *x = call.tensor(0), *index = call.tensor(2);
  return WEFT_NDIM(x) && WEFT_NDIM(index) <= 1 && WEFT_DTYPE(index) == WEFT_INT64 && call.dim(1, WEFT_NDIM(x), wrapped);
}

void describe_slices(WeftTensor *x, WeftTensor *index, WeftTensor *near, int dim, Places *places) {
  places->ndim = 1, places->sizes[0] = index->numel, places->near_steps[0] = near->strides[dim], places->wraps = false;
  places->add_index(index, x->sizes[dim], x->strides[dim]);
  for (int d = 0; d < WEFT_NDIM(x); d++)
    if (d != dim) places->add_block(x->sizes[d], x->strides[d], near->strides[d]);
  places->far = weft_data(x), places->near = weft_data(near);
}

// index_select(input, dim, index)
PyObject *fast_index_select(Call &call) {
  WeftTensor *x = call.tensor(0), *index = call.tensor(2);
  int dim;
  if (!read_slices(call, &dim)) return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM];
  std::copy(x->sizes, x->sizes + WEFT_NDIM(x), sizes);
  sizes[dim] = index->numel;
  Ref out(empty(x->word, WEFT_NDIM(x), sizes, nullptr));
  if (!out) return nullptr;
  Places places;
  describe_slices(x, index, as_tensor(out.get()), dim, &places);
  if (!run_places(places, PlaceOp::TAKE, WEFT_DTYPE(x))) return UNHANDLED;
  return call.made(std::move(out));
}

// Sums of halves are float32: a copy of `x` of the type of sums. NULL without exception: there are no sums for its dtype.
PyObject *copy_for_sums(WeftTensor *x) {
  const int dtype = is_half(WEFT_DTYPE(x)) ? WEFT_FLOAT32 : WEFT_DTYPE(x);
  if (!has_place_op(PlaceOp::ADD, dtype)) return nullptr;
  Ref out(empty((x->word & ~(uint32_t)WEFT_WORD_DTYPE) | (uint32_t)dtype, WEFT_NDIM(x), x->sizes, nullptr));
  return out && copy_into(as_tensor(out.get()), x) ? out.release() : nullptr;
}

// out[places] += source for `out` made by copy_for_sums of `x`, or `x` itself: the sum in the dtype of `x`; UNHANDLED for a bad index.
template <class Describe> PyObject *added(const Call &call, WeftTensor *source, Describe describe) {
  WeftTensor *x = call.tensor(0);
  const bool at_once = call.writes_into(0) && !is_half(WEFT_DTYPE(x)) && has_place_op(PlaceOp::ADD, WEFT_DTYPE(x));
  Ref sums(at_once ? Py_NewRef(as_object(x)) : copy_for_sums(x));
  if (!sums) return PyErr_Occurred() ? nullptr : UNHANDLED;
  WeftTensor *out = as_tensor(sums.get());
  const int dtype = WEFT_DTYPE(out);
  Ref wide(dtype == WEFT_DTYPE(x) ? Py_NewRef(as_object(source)) : cast_tensor(source, dtype));
  if (!wide) return PyErr_Occurred() ? nullptr : UNHANDLED;
  Places places;
  describe(out, as_tensor(wide.get()), &places);
  if (!run_places(places, PlaceOp::ADD, dtype)) return UNHANDLED;
  if (dtype == WEFT_DTYPE(x)) return sums.release();
  PyObject *narrow = cast_tensor(out, WEFT_DTYPE(x));
  return narrow || PyErr_Occurred() ? narrow : UNHANDLED;
}

// index_add(input, dim, index, source)
PyObject *fast_index_add(Call &call) {
  WeftTensor *x = call.tensor(0), *index = call.tensor(2), *source = call.tensor(3);
  int dim;
  if (!call.usual(4) || !read_slices(call, &dim) || WEFT_DTYPE(source) != WEFT_DTYPE(x) || WEFT_NDIM(source) != WEFT_NDIM(x)) return UNHANDLED;
  for (int d = 0; d < WEFT_NDIM(x); d++)
    if (source->sizes[d] != (d == dim ? index->numel : x->sizes[d])) return UNHANDLED;
  Ref out(added(call, source, [&](WeftTensor *to, WeftTensor *from, Places *places) { describe_slices(to, index, from, dim, places); }));
  return out.get() == UNHANDLED ? out.release() : call.made(std::move(out));
}

// ------------------------------------------------------------------------------------------- an index of every element
// Whether `t` has an element for each of the index.
bool covers(const WeftTensor *t, const WeftTensor *index) {
  if (WEFT_NDIM(t) != WEFT_NDIM(index)) return false;
  for (int d = 0; d < WEFT_NDIM(t); d++)
    if (index->sizes[d] > t->sizes[d]) return false;
  return true;
}

// A wrapped dim (argument 1), and an int64 index (argument 2) of the tensor's rank that is no larger than it but along dim.
bool read_index(Call &call, int *wrapped) {
  const WeftTensor *x = call.tensor(0), *index = call.tensor(2);
  if (!WEFT_NDIM(x) || WEFT_NDIM(index) != WEFT_NDIM(x) || WEFT_DTYPE(index) != WEFT_INT64 || !call.dim(1, WEFT_NDIM(x), wrapped)) return false;
  for (int d = 0; d < WEFT_NDIM(x); d++)
    if (d != *wrapped && index->sizes[d] > x->sizes[d]) return false;
  return true;
}

// The same, and (argument 3) elements of the tensor's dtype for all that the index names.
bool read_written(Call &call, int *wrapped) {
  const WeftTensor *x = call.tensor(0), *index = call.tensor(2), *src = call.tensor(3);
  return x && src && call.usual(4) && WEFT_DTYPE(src) == WEFT_DTYPE(x) && read_index(call, wrapped) && covers(src, index);
}

void describe_elements(WeftTensor *x, WeftTensor *index, WeftTensor *near, int dim, Places *places) {
  places->ndim = WEFT_NDIM(x), places->wraps = false;
  for (int d = 0; d < WEFT_NDIM(x); d++) {
    places->sizes[d] = index->sizes[d], places->near_steps[d] = near->strides[d];
    places->far_steps[d] = d == dim ? 0 : x->strides[d];
  }
  places->add_index(index, x->sizes[dim], x->strides[dim]);
  places->make_blocks(dim);
  places->far = weft_data(x), places->near = weft_data(near);
}

// gather(input, dim, index)
PyObject *fast_gather(Call &call) {
  WeftTensor *x = call.tensor(0), *index = call.tensor(2);
  int dim;
  if (!call.usual(3) || !read_index(call, &dim)) return UNHANDLED;
  Ref out(empty(x->word, WEFT_NDIM(x), index->sizes, nullptr));
  if (!out) return nullptr;
  Places places;
  describe_elements(x, index, as_tensor(out.get()), dim, &places);
  if (!run_places(places, PlaceOp::TAKE, WEFT_DTYPE(x))) return UNHANDLED;
  return call.made(std::move(out));
}

// scatter(input, dim, index, src)
PyObject *fast_scatter(Call &call) {
  WeftTensor *x = call.tensor(0), *index = call.tensor(2), *src = call.tensor(3);
  int dim;
  if (!read_written(call, &dim)) return UNHANDLED;
  const bool at_once = call.writes_into(0);
  Ref out(at_once ? Py_NewRef(as_object(x)) : empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  WeftTensor *o = as_tensor(out.get());
  if (!at_once && !copy_into(o, x)) return UNHANDLED;
  Places places;
  describe_elements(o, index, src, dim, &places);
  if (!run_places(places, PlaceOp::PUT, WEFT_DTYPE(x))) return UNHANDLED;
  return call.made(std::move(out));
}

// scatter_add(input, dim, index, src)
PyObject *fast_scatter_add(Call &call) {
  WeftTensor *index = call.tensor(2), *src = call.tensor(3);
  int dim;
  if (!read_written(call, &dim)) return UNHANDLED;
  Ref out(added(call, src, [&](WeftTensor *to, WeftTensor *from, Places *places) { describe_elements(to, index, from, dim, places); }));
  return out.get() == UNHANDLED ? out.release() : call.made(std::move(out));
}

// ------------------------------------------------------------------------------------------------------- nonzero
// Calls found(position) for every true element, in order.
template <class Found> void each_true(const WeftTensor *mask, Found found) {
  const uint8_t *p = reinterpret_cast<const uint8_t *>(weft_data(const_cast<WeftTensor *>(mask)));
  int64_t i = 0;
  for (; i + 8 <= mask->numel; i += 8) {
    uint64_t eight;
    memcpy(&eight, p + i, 8);
    for (; eight; eight &= ~((uint64_t)255 << (__builtin_ctzll(eight) & ~7))) found(i + (__builtin_ctzll(eight) >> 3));
  }
  for (; i < mask->numel; i++)
    if (p[i]) found(i);
}

int64_t count_true(const WeftTensor *mask) {
  const uint8_t *p = reinterpret_cast<const uint8_t *>(weft_data(const_cast<WeftTensor *>(mask)));
  int64_t count = 0;
  for (int64_t i = 0; i < mask->numel; i++) count += p[i] != 0;
  return count;
}

// Writes the places of true elements, dim d of place number n at to[d][n]; at most `room` of them: another thread may
// have written the mask since they were counted.
void write_places(const WeftTensor *mask, int64_t room, int64_t *const *to) {
  const int ndim = WEFT_NDIM(mask);
  int64_t n = 0;
  each_true(mask, [&](int64_t at) {
    if (n == room) return;
    for (int d = ndim - 1; d > 0; d--) {
      const int64_t rest = at / mask->sizes[d];
      to[d][n] = at - rest * mask->sizes[d];
      at = rest;
    }
    if (ndim) to[0][n] = at;
    n++;
  });
  for (; n < room; n++)
    for (int d = 0; d < ndim; d++) to[d][n] = 0;
}

uint32_t word_of(int dtype) { return (uint32_t)dtype; }

}  // namespace

int mask_places(WeftTensor *mask, Ref *places) {
  if (WEFT_DTYPE(mask) != WEFT_BOOL || !(mask->word & WEFT_WORD_CONTIGUOUS) || !WEFT_NDIM(mask)) return 0;
  const int64_t count = count_true(mask);
  int64_t *to[WEFT_MAX_NDIM];
  for (int d = 0; d < WEFT_NDIM(mask); d++) {
    places[d].reset(empty(word_of(WEFT_INT64), 1, &count, nullptr));
    if (!places[d]) return -1;
    to[d] = reinterpret_cast<int64_t *>(weft_data(as_tensor(places[d].get())));
  }
  write_places(mask, count, to);
  return 1;
}

namespace {

// nonzero(input)
PyObject *fast_nonzero(Call &call) {
  WeftTensor *x = call.tensor(0);
  if (!call.usual(1)) return UNHANDLED;
  Ref truth(WEFT_DTYPE(x) == WEFT_BOOL ? Py_NewRef(as_object(x)) : cast_tensor(x, WEFT_BOOL));
  if (truth) truth = row_major(as_tensor(truth.get()));
  if (!truth) return PyErr_Occurred() ? nullptr : UNHANDLED;
  WeftTensor *mask = as_tensor(truth.get());
  const int ndim = WEFT_NDIM(mask);
  const int64_t sizes[2] = {count_true(mask), ndim};
  const int64_t strides[2] = {1, sizes[0]};
  Ref out(empty(word_of(WEFT_INT64), 2, sizes, strides));
  if (!out) return nullptr;
  int64_t *to[WEFT_MAX_NDIM];
  for (int d = 0; d < ndim; d++) to[d] = reinterpret_cast<int64_t *>(weft_data(as_tensor(out.get()))) + d * sizes[0];
  write_places(mask, sizes[0], to);
  return out.release();
}

}  // namespace

const RuleRow place_rules[] = {{"index", fast_index}, {"index_put", fast_index_put, 0}, {"index_put_", fast_index_put, 1}, {"index_select", fast_index_select},
                               {"index_add", fast_index_add}, {"gather", fast_gather}, {"scatter", fast_scatter}, {"scatter_add", fast_scatter_add},
                               {"nonzero", fast_nonzero}, {"masked_scatter", fast_masked_scatter},
                               {"masked_select", fast_masked_select}, {nullptr, nullptr}};

}  // namespace weft
