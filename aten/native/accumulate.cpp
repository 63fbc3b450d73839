// accumulate.cpp: values added to the places that index tensors name, one after the other, so that equal places add up in order.
#include "accumulate.h"

#include "native.h"
#include "released.h"

namespace weft {
namespace {

constexpr int kMaxIndices = 16;

struct Accumulation {
  char *out;
  const char *values;
  int n_indices, ndim;                                   // index tensors; their dims
  int64_t sizes[WEFT_MAX_NDIM];                          // of the indices, and the leading ones of the values
  const int64_t *index[kMaxIndices];
  int64_t index_steps[kMaxIndices][WEFT_MAX_NDIM];       // in elements
  int64_t extent[kMaxIndices], out_step[kMaxIndices];    // of the indexed dims of `out`
  int64_t value_steps[WEFT_MAX_NDIM];
  int block_ndim;                                        // trailing dims that move as a whole
  int64_t block_sizes[WEFT_MAX_NDIM], block_out[WEFT_MAX_NDIM], block_values[WEFT_MAX_NDIM];
  int bad_index;                                         // which index was out of range, and its value
  int64_t bad_value;
};

template <class T> void add_block(const Accumulation &a, int d, T *out, const T *values) {
  if (d == a.block_ndim) {
    *out += *values;
    return;
  }
  const int64_t n = a.block_sizes[d], to = a.block_out[d], from = a.block_values[d];
  if (d + 1 < a.block_ndim) {
    for (int64_t i = 0; i < n; i++) add_block(a, d + 1, out + i * to, values + i * from);
  } else if (to == 1 && from == 1) {
    for (int64_t i = 0; i < n; i++) out[i] += values[i];
  } else {
    for (int64_t i = 0; i < n; i++) out[i * to] += values[i * from];
  }
}

// One run along the last dim of the index tensors, from `position` of each on. False: an index is out of range.
template <class T, bool single> bool add_run(Accumulation &a, const int64_t *position, int64_t value, int64_t count, int last) {
  T *out = reinterpret_cast<T *>(a.out);
  const T *values = reinterpret_cast<const T *>(a.values) + value;
  const int64_t value_step = last < 0 ? 0 : a.value_steps[last];
  for (int64_t n = 0; n < count; n++) {
    int64_t place = 0;
    for (int k = 0; k < a.n_indices; k++) {
      const int64_t i = a.index[k][position[k] + (last < 0 ? 0 : n * a.index_steps[k][last])];  // read once: it may change
      if (__builtin_expect(i < -a.extent[k] || i >= a.extent[k], 0)) {
        a.bad_index = k, a.bad_value = i;
        return false;
      }
      place += (i < 0 ? i + a.extent[k] : i) * a.out_step[k];
    }
    if (single) out[place] += values[n * value_step];
    else add_block(a, 0, out + place, values + n * value_step);
  }
  return true;
}

// The elements of the index tensors in row-major order. False: an index is out of range (all before it have been added).
template <class T> bool add_all(Accumulation &a) {
  int64_t at[WEFT_MAX_NDIM] = {}, position[kMaxIndices] = {}, value = 0;
  const int last = a.ndim - 1;
  const int64_t count = last < 0 ? 1 : a.sizes[last];
  for (;;) {
    if (!(a.block_ndim ? add_run<T, false>(a, position, value, count, last) : add_run<T, true>(a, position, value, count, last))) return false;
    int d = last - 1;
    for (; d >= 0; d--) {
      for (int k = 0; k < a.n_indices; k++) position[k] += a.index_steps[k][d];
      value += a.value_steps[d];
      if (++at[d] < a.sizes[d]) break;
      for (int k = 0; k < a.n_indices; k++) position[k] -= a.sizes[d] * a.index_steps[k][d];
      value -= a.sizes[d] * a.value_steps[d];
      at[d] = 0;
    }
    if (d < 0) return true;
  }
}

bool run(Accumulation &a, int dtype) {
  switch (dtype) {
    case WEFT_FLOAT32: return add_all<float>(a);
    case WEFT_FLOAT64: return add_all<double>(a);
    case WEFT_INT64: case WEFT_UINT64: return add_all<uint64_t>(a);
    case WEFT_INT32: case WEFT_UINT32: return add_all<uint32_t>(a);
    case WEFT_INT16: case WEFT_UINT16: return add_all<uint16_t>(a);
    default: return add_all<uint8_t>(a);
  }
}

bool has_sums(int dtype) { return dtype_kind(dtype) == KIND_INTEGER || dtype == WEFT_FLOAT32 || dtype == WEFT_FLOAT64; }

PyObject *refuse() {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "add_at: expected CPU tensors, indices of int64, and values of their sizes and of the dtype of `out`");
  return nullptr;
}

// The index tensors, of one size, into `a`; false if they are not such.
bool read_indices(PyObject *indices, WeftTensor *out, Accumulation *a) {
  a->n_indices = (int)PyTuple_GET_SIZE(indices);
  if (a->n_indices < 1 || a->n_indices > kMaxIndices || a->n_indices > WEFT_NDIM(out)) return false;
  for (int k = 0; k < a->n_indices; k++) {
    PyObject *item = PyTuple_GET_ITEM(indices, k);
    if (!is_tensor(item)) return false;
    WeftTensor *t = as_tensor(item);
    if (!need_memory(t, "add_at") || WEFT_DEVICE_TYPE(t) != WEFT_CPU || WEFT_DTYPE(t) != WEFT_INT64) return false;
    if (k == 0) a->ndim = WEFT_NDIM(t);
    if (WEFT_NDIM(t) != a->ndim) return false;
    for (int d = 0; d < a->ndim; d++) {
      if (k == 0) a->sizes[d] = t->sizes[d];
      if (t->sizes[d] != a->sizes[d]) return false;
      a->index_steps[k][d] = t->strides[d];
    }
    a->index[k] = reinterpret_cast<const int64_t *>(weft_data(t));
    a->extent[k] = out->sizes[k], a->out_step[k] = out->strides[k];
  }
  return true;
}

// add_at(out, indices, values): out[indices] += values, with repeated places added up in order.
PyObject *add_at(PyObject *, PyObject *args) {
  PyObject *to, *indices, *from;
  if (!PyArg_ParseTuple(args, "OO!O:add_at", &to, &PyTuple_Type, &indices, &from)) return nullptr;
  if (!is_tensor(to) || !is_tensor(from)) return refuse();
  WeftTensor *out = as_tensor(to), *values = as_tensor(from);
  const int dtype = WEFT_DTYPE(out);
  if (!need_memory(out, "add_at") || !need_memory(values, "add_at")) return nullptr;
  if (WEFT_DEVICE_TYPE(out) != WEFT_CPU || WEFT_DEVICE_TYPE(values) != WEFT_CPU || dtype != WEFT_DTYPE(values) || !has_sums(dtype)) return refuse();
  Accumulation a = {};
  if (!read_indices(indices, out, &a)) return refuse();
  a.block_ndim = WEFT_NDIM(out) - a.n_indices;
  if (WEFT_NDIM(values) != a.ndim + a.block_ndim) return refuse();
  for (int d = 0; d < a.ndim; d++) {
    if (values->sizes[d] != a.sizes[d]) return refuse();
    a.value_steps[d] = values->strides[d];
  }
  for (int d = 0; d < a.block_ndim; d++) {
    a.block_sizes[d] = out->sizes[a.n_indices + d];
    if (values->sizes[a.ndim + d] != a.block_sizes[d]) return refuse();
    a.block_out[d] = out->strides[a.n_indices + d], a.block_values[d] = values->strides[a.ndim + d];
  }
  a.out = weft_data(out), a.values = weft_data(values);
  bool fine = true;
  if (values->numel > 0) {
    Released released(values->numel >= 16384);
    fine = run(a, dtype);
  }
  if (!fine) {
    return PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %d with size %lld", (long long)a.bad_value, a.bad_index,
                        (long long)a.extent[a.bad_index]);
  }
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef accumulate_functions[] = {
    {"add_at", guarded<add_at>, METH_VARARGS, "add_at(out, indices, values): out[indices] += values, repeated places added up in order"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
