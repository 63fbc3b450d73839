// fast_rows.cpp: functions of contiguous rows: softmax and log_softmax along the last dim, layer_norm and rms_norm.
#include <algorithm>

#include "loops.h"
#include "reduce.h"
#include "released.h"
#include "statistics.h"

namespace weft {

namespace {

// The tensor itself if it is row-major, else a copy; new reference.
PyObject *row_major(WeftTensor *t) {
  if (t->word & WEFT_WORD_CONTIGUOUS) return Py_NewRef(as_object(t));
  Ref out(empty(t->word, WEFT_NDIM(t), t->sizes, nullptr));
  if (out && !copy_into(as_tensor(out.get()), t)) return nullptr;
  return out.release();
}

// Runs `body` over ranges of rows, without the GIL when there is much to do.
void for_rows(int64_t rows, int64_t n, void (*body)(void *, int64_t, int64_t, int64_t), void *job) {
  const WeftKernelRuntime *runtime = kernel_runtime();
  Released released(rows * n >= 65536);
  runtime->parallel_for(rows, std::max<int64_t>(1, kGrain / n), body, job);
}

struct SoftmaxJob {
  WeftSoftmax kernel;
  const char *in;
  char *out;
  int64_t n, bytes;
  static void run(void *ctx, int64_t begin, int64_t end, int64_t) {
    SoftmaxJob *j = static_cast<SoftmaxJob *>(ctx);
    j->kernel(end - begin, j->n, j->in + begin * j->bytes, j->bytes, j->out + begin * j->bytes, j->bytes);
  }
};

// A dim before the last: strips of columns at every position of the dims before it.
struct ColumnsJob {
  WeftSoftmaxColumns kernel;
  const char *in;
  char *out;
  int64_t n, m, item;
  static constexpr int64_t kStrip = 128;
  int64_t strips() const { return (m + kStrip - 1) / kStrip; }
  static void run(void *ctx, int64_t begin, int64_t end, int64_t) {
    const ColumnsJob *j = static_cast<ColumnsJob *>(ctx);
    const int64_t per = j->strips(), step = j->m * j->item;
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = i % per * kStrip, at = i / per * j->n * step + first * j->item;
      j->kernel(j->n, std::min(kStrip, j->m - first), j->in + at, step, j->out + at);
    }
  }
};

// softmax(input, dim, dtype=None); log_softmax: `code` 1
PyObject *fast_softmax(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[3] = {};
  int64_t given;
  int dim;
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0] || !slots[1] || (slots[2] && slots[2] != Py_None)) return UNHANDLED;
  WeftTensor *x = plain(slots[0]);
  if (!x || !WEFT_NDIM(x) || !x->numel || !exact_int(slots[1], &given) || !wrap_dim(given, WEFT_NDIM(x), &dim)) return UNHANDLED;
  WeftSoftmax kernel = (op->code ? weft_kernels.log_softmax : weft_kernels.softmax)[WEFT_DTYPE(x)];
  if (!kernel) return UNHANDLED;
  Ref in(row_major(x)), out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!in || !out) return PyErr_Occurred() ? nullptr : UNHANDLED;
  const int64_t n = x->sizes[dim], item = weft_itemsize(WEFT_DTYPE(x));
  const char *from = weft_data(as_tensor(in.get()));
  char *to = weft_data(as_tensor(out.get()));
  int64_t m = 1;
  for (int d = dim + 1; d < WEFT_NDIM(x); d++) m *= x->sizes[d];
  if (m == 1) {
    SoftmaxJob job = {kernel, from, to, n, n * item};
    for_rows(x->numel / n, n, SoftmaxJob::run, &job);
  } else {
    ColumnsJob job = {weft_statistics.softmax_columns[op->code][WEFT_DTYPE(x)], from, to, n, m, item};
    for_rows(x->numel / (n * m) * job.strips(), n * std::min(m, ColumnsJob::kStrip), ColumnsJob::run, &job);
  }
  if (records(x) && !record_op(op, {CoreArg(x), CoreArg::integer(dim)}, out.get())) return nullptr;
  return out.release();
}

struct NormJob {
  WeftLayerNorm kernel;
  const char *x, *weight, *bias;
  char *out;
  int64_t n, bytes;
  double eps;
  int rms;
  static void run(void *ctx, int64_t begin, int64_t end, int64_t) {
    NormJob *j = static_cast<NormJob *>(ctx);
    j->kernel(end - begin, j->n, j->x + begin * j->bytes, j->weight, j->bias, j->eps, j->rms, j->out + begin * j->bytes, nullptr, nullptr);
  }
};

// A weight or bias: NULL for None; false where it is not a contiguous tensor of `n` items of the dtype.
bool read_factor(PyObject *arg, int dtype, int64_t n, WeftTensor **out) {
  *out = nullptr;
  if (!arg || arg == Py_None) return true;
  *out = plain(arg);
  return *out && WEFT_DTYPE(*out) == dtype && (*out)->numel == n && ((*out)->word & WEFT_WORD_CONTIGUOUS);
}

bool trailing_sizes(const WeftTensor *x, PyObject *arg, int64_t *sizes, int *count, int64_t *n) {
  *count = exact_ints(arg, sizes);
  *n = 1;
  if (*count < 1 || *count > WEFT_NDIM(x)) return false;
  for (int i = 0; i < *count; i++) {
    if (sizes[i] != x->sizes[WEFT_NDIM(x) - *count + i]) return false;
    *n *= sizes[i];
  }
  return *n > 0;
}

// layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)
PyObject *fast_layer_norm(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[5] = {};
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0] || !slots[1]) return UNHANDLED;
  WeftTensor *x = plain(slots[0]), *weight, *bias;
  int64_t sizes[WEFT_MAX_NDIM], n;
  int count;
  if (!x || !x->numel || !weft_kernels.layer_norm[WEFT_DTYPE(x)] || !trailing_sizes(x, slots[1], sizes, &count, &n)) return UNHANDLED;
  if (!read_factor(slots[2], WEFT_DTYPE(x), n, &weight) || !read_factor(slots[3], WEFT_DTYPE(x), n, &bias)) return UNHANDLED;
  if (slots[4] && !PyFloat_CheckExact(slots[4])) return UNHANDLED;
  double eps = slots[4] ? PyFloat_AS_DOUBLE(slots[4]) : 1e-5;
  Ref in(row_major(x)), out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!in || !out) return PyErr_Occurred() ? nullptr : UNHANDLED;
  NormJob job = {weft_kernels.layer_norm[WEFT_DTYPE(x)], weft_data(as_tensor(in.get())), weight ? weft_data(weight) : nullptr,
                 bias ? weft_data(bias) : nullptr, weft_data(as_tensor(out.get())), n, n * weft_itemsize(WEFT_DTYPE(x)), eps, 0};
  for_rows(x->numel / n, n, NormJob::run, &job);
  if (records(x) || (weight && records(weight)) || (bias && records(bias))) {
    Ref eps_object(PyFloat_FromDouble(eps));
    PyObject *result = out.get();
    CoreArg core[5] = {CoreArg(x), CoreArg::integers(sizes, count), CoreArg(weight ? slots[2] : Py_None), CoreArg(bias ? slots[3] : Py_None),
                       CoreArg(eps_object.get())};
    if (!eps_object || !record_op(op, core, 5, &result, 1)) return nullptr;
  }
  return out.release();
}

// The eps of rms_norm where none is given: that of the dtype in which it is computed, float32 for half types as well.
double epsilon(int dtype) { return dtype == WEFT_FLOAT64 ? 2.220446049250313e-16 : 1.1920928955078125e-07; }

// rms_norm(input, normalized_shape, weight=None, eps=None)
PyObject *fast_rms_norm(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[4] = {};
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0] || !slots[1]) return UNHANDLED;
  const bool given = slots[3] && slots[3] != Py_None;
  if (given && !PyFloat_CheckExact(slots[3])) return UNHANDLED;
  WeftTensor *x = plain(slots[0]), *weight;
  int64_t sizes[WEFT_MAX_NDIM], n;
  int count;
  if (!x || !x->numel || !weft_kernels.layer_norm[WEFT_DTYPE(x)] || !trailing_sizes(x, slots[1], sizes, &count, &n)) return UNHANDLED;
  if (!read_factor(slots[2], WEFT_DTYPE(x), n, &weight)) return UNHANDLED;
  const double eps = given ? PyFloat_AS_DOUBLE(slots[3]) : epsilon(WEFT_DTYPE(x));
  Ref in(row_major(x)), out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!in || !out) return PyErr_Occurred() ? nullptr : UNHANDLED;
  NormJob job = {weft_kernels.layer_norm[WEFT_DTYPE(x)], weft_data(as_tensor(in.get())), weight ? weft_data(weight) : nullptr, nullptr,
                 weft_data(as_tensor(out.get())), n, n * weft_itemsize(WEFT_DTYPE(x)), eps, 1};
  for_rows(x->numel / n, n, NormJob::run, &job);
  if (records(x) || (weight && records(weight))) {
    Ref eps_object(PyFloat_FromDouble(eps));
    PyObject *result = out.get();
    CoreArg core[4] = {CoreArg(x), CoreArg::integers(sizes, count), CoreArg(weight ? slots[2] : Py_None), CoreArg(eps_object.get())};
    if (!eps_object || !record_op(op, core, 4, &result, 1)) return nullptr;
  }
  return out.release();
}

}  // namespace

const Family row_families[] = {{"softmax", fast_softmax}, {"layer_norm", fast_layer_norm}, {"rms_norm", fast_rms_norm},
                                {"batch_norm", fast_batch_norm}, {"group_norm", fast_group_norm}, {nullptr, nullptr}};

}  // namespace weft
