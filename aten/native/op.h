// op.h: the native side of an Op. A call on plain tensors whose op has a native family is answered here: parsing, promotion,
// broadcasting, memory, kernel, recording. Whatever a family does not handle (an unusual argument, an error to be
// worded) it returns as UNHANDLED, and the general path in Python (aten/dispatch.py) takes the call.
#ifndef WEFT_OP_H
#define WEFT_OP_H

#include <vector>

#include "node.h"

namespace weft {

struct NativeOp;
typedef PyObject *(*FastCall)(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names);

// What a vjp asked for, for one pattern of needed gradients; made by aten.autograd.record.native_plan.
struct Plan {
  uint32_t mask;                 // bit i: core argument i wants a gradient
  PyObject *backward;            // owned
  struct Source {
    enum Kind { VALUE, META, OUT, RESULT } kind;
    int index;                   // of the core argument; of RESULT: which of several results
  };
  std::vector<Source> saved;
  std::vector<int> inputs;       // core arguments that the gradients belong to, in order
};

struct NativeOp {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  FastCall fast;                 // NULL: always the general path
  int code;                      // which kernel of its family
  int flags;
  int n_names, n_positional;     // parameter names of the fast form
  PyObject *names;               // owned tuple of interned str, or NULL
  PyObject *node_name;           // owned "AddBackward"; NULL: not differentiable here
  PyObject *display;             // owned str, for counting
  std::vector<Plan> *plans;
  int64_t python_calls;          // calls that entered Python
  char replays;                  // whether calls that no family takes may be replayed (replay.h)
  char autocast;                 // whether aten.autocast has a policy for it: where autocast is on, Python decides
};

enum OpFlags {
  OP_FLOAT = 1,  // integers are computed in the default dtype
  OP_ALPHA = 2   // takes `alpha`
};

extern PyTypeObject *op_type;
extern PyObject unhandled_object;
#define UNHANDLED (&unhandled_object)

inline NativeOp *as_op(PyObject *p) { return reinterpret_cast<NativeOp *>(p); }

// The ops that others are made of; set by set_family.
enum CoreOp {
  CORE_VIEW, CORE_PERMUTE, CORE_EXPAND, CORE_SQUEEZE, CORE_UNSQUEEZE, CORE_SLICE, CORE_SELECT, CORE_ALIAS, CORE_CLONE,
  CORE_CAST, CORE_MM, CORE_BMM, CORE_ADD, CORE_LINEAR, CORE_INDEX, CORE_COUNT
};
extern NativeOp *core_ops[CORE_COUNT];

// Ops recorded as a whole, whose backward(node, grads) is in aten/autograd/products.py.
enum WholeOp { WHOLE_MATMUL, WHOLE_LINEAR, WHOLE_CAT, WHOLE_SPLIT, WHOLE_MAX_POOL, WHOLE_AVG_POOL, WHOLE_COUNT };
extern PyObject *whole_backwards[WHOLE_COUNT];

// A CPU tensor of the exact type (or Parameter), so with memory; NULL for anything else.
inline WeftTensor *plain(PyObject *p) {
  PyTypeObject *type = Py_TYPE(p);
  if (type != tensor_type && type != parameter_type()) return nullptr;
  WeftTensor *t = as_tensor(p);
  return (t->word & (WEFT_WORD_TRACER | WEFT_WORD_DEVICE)) == 0 && WEFT_DTYPE(t) < WEFT_FLOAT8_E4M3FN ? t : nullptr;
}

inline bool records(const WeftTensor *t) { return WEFT_REQUIRES_GRAD(t) && grad_enabled(); }

// Puts arguments into `slots` (NULL where absent) by the op's parameter names; false: not of the fast form.
bool bind_arguments(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names, PyObject **slots);
// Reads an exact int; false for anything else (no exception set).
bool exact_int(PyObject *p, int64_t *out);
// Reads a list or tuple of exact ints, at most WEFT_MAX_NDIM; -1 for anything else (no exception set).
int exact_ints(PyObject *p, int64_t *out);
// Reads True or False; false for anything else.
bool exact_bool(PyObject *p, bool *out);
// A dim in [0, ndim); a 0-d tensor counts as 1-d. False if out of range.
bool wrap_dim(int64_t dim, int ndim, int *out);

// A core argument, as recording and view_of may need it.
struct CoreArg {
  enum Kind { OBJECT, INT, INTS, BOOLEAN } kind;
  PyObject *object;              // borrowed
  int64_t value;
  const int64_t *list;
  CoreArg(PyObject *o) : kind(OBJECT), object(o), value(0), list(nullptr) {}
  CoreArg(WeftTensor *t) : CoreArg(as_object(t)) {}
  static CoreArg integer(int64_t v) { CoreArg a((PyObject *)nullptr); a.kind = INT; a.value = v; return a; }
  static CoreArg boolean(bool v) { CoreArg a((PyObject *)nullptr); a.kind = BOOLEAN; a.value = v; return a; }
  static CoreArg integers(const int64_t *v, int n) { CoreArg a((PyObject *)nullptr); a.kind = INTS; a.value = n; a.list = v; return a; }
  PyObject *build() const;       // new reference
};

// Makes a Node for `outputs` of a core op on these arguments, where one of them requires grad. False with an exception set.
bool record_op(NativeOp *op, const CoreArg *args, int n_args, PyObject *const *outputs, int n_outputs);
inline bool record_op(NativeOp *op, std::initializer_list<CoreArg> args, PyObject *output) {
  return record_op(op, args.begin(), (int)args.size(), &output, 1);
}

// fast_view.cpp: a view of `base` by a core view op with its further arguments; recorded, and with view_of.
PyObject *make_view(CoreOp which, WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                    std::initializer_list<CoreArg> args);
PyObject *view_with_sizes(WeftTensor *t, int ndim, const int64_t *sizes);  // NULL without exception: needs a copy
PyObject *permuted(WeftTensor *t, const int64_t *dims);
PyObject *unsqueezed(WeftTensor *t, int dim);
PyObject *selected(WeftTensor *t, int dim, int64_t index);                  // 0 <= index < size
PyObject *sliced(WeftTensor *t, int dim, int64_t start, int64_t end, int64_t step);
PyObject *reshaped(WeftTensor *t, int ndim, const int64_t *sizes);         // view or copy; numel must agree

// fast_cast.cpp: `t` in another dtype, dense, without history; a copy with the layout of an elementwise result.
PyObject *cast_tensor(WeftTensor *t, int dtype);
PyObject *contiguous_copy(WeftTensor *t);                                  // recorded as clone
bool copy_into(WeftTensor *out, WeftTensor *source);                       // broadcast and cast; false: no such cast

// fast_places.cpp: `t` at index tensors, a list of them and None by dim, recorded as `index`; or UNHANDLED. And t[indices] = values,
// without history: `values` broadcasts, and is of the dtype of `t`. False without an exception: not handled.
PyObject *indexed(WeftTensor *t, PyObject *indices);
bool put_indexed(WeftTensor *t, PyObject *indices, WeftTensor *values, bool accumulate);
// The places of the true elements of a mask, an int64 tensor for each of its dims; -1 with an exception set, 0: not handled.
int mask_places(WeftTensor *mask, Ref *places);

// fast_statistics.cpp: the running sums of a row-major tensor of floats, recorded; or UNHANDLED.
PyObject *float_cumsum(NativeOp *op, WeftTensor *x, int dim);

// Several results as the op's schema names them: a new tuple.
PyObject *named_results(NativeOp *op, PyObject *const *results, int n);

// A new tensor for an elementwise result of this argument: its layout if dense, else row-major.
PyObject *empty_like(WeftTensor *t, int dtype);
void dense_strides(const WeftTensor *t, int64_t *strides);

// Families: fast_*.cpp. Each table ends with a NULL name.
struct Family {
  const char *name;
  FastCall fast;
  int codes = 2;  // its codes are below this
};
extern const Family pointwise_families[], cast_families[], reduce_families[], view_families[], index_families[],
    matmul_families[], row_families[], join_families[], structure_families[], pool_families[], place_families[], scan_families[],
    create_families[];

bool init_op(PyObject *module);
bool init_kernels();
PyObject *use_kernels(PyObject *, PyObject *level);
PyObject *pointwise_rows(PyObject *, PyObject *);

}  // namespace weft
#endif
