// op.h: the native side of an Op. A call on plain tensors whose op has a native rule is answered here: the binder puts the
// arguments into slots, the rule does promotion, broadcasting, memory and kernel, and records. Whatever a rule does not handle (an unusual argument, an error to be
// worded) it returns as UNHANDLED, and the general path in Python (aten/dispatch.py) takes the call.
#ifndef WEFT_OP_H
#define WEFT_OP_H

#include <vector>

#include "binder.h"
#include "node.h"

namespace weft {

// What answers calls of an op natively: a result, NULL with an exception set, or UNHANDLED.
typedef PyObject *(*Rule)(Call &call);

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
  Rule rule;                     // NULL: always the general path
  int code;                      // which kernel of its rule
  char floats;                   // whether integers are computed in the default dtype
  Binder *binder;                // owned; NULL: not compiled yet
  PyObject *node_name;           // owned "AddBackward"; NULL: not differentiable here
  PyObject *display;             // owned str, for counting
  PyObject *functional;          // owned; of an op in place, the op whose result it writes, where that is all it does; or NULL
  std::vector<Plan> *plans;
  int64_t python_calls;          // calls that entered Python
  char replays;                  // whether calls that no rule takes may be replayed (replay.h)
  char promised;                 // whether it is not loaded yet: asking it for anything loads it (aten/ops/on_demand.py)
  char out_in_python;            // whether calls with `out=` are left to the general path (random numbers would be drawn twice)
  char writes_core;              // of an op in place: the functional op is a core op, so its rule may write the target and record it at once
  char autocast;                 // for which types of device aten.autocast has a policy, 1 CPU, 2 CUDA: where it is on, Python decides
};

extern PyTypeObject *op_type;
extern PyObject unhandled_object;
#define UNHANDLED (&unhandled_object)

inline NativeOp *as_op(PyObject *p) { return reinterpret_cast<NativeOp *>(p); }

// The ops that others are made of; set by set_rule.
enum CoreOp {
  CORE_VIEW, CORE_PERMUTE, CORE_EXPAND, CORE_SQUEEZE, CORE_UNSQUEEZE, CORE_SLICE, CORE_SELECT, CORE_DIAGONAL, CORE_UNFOLD, CORE_ALIAS, CORE_CLONE,
  CORE_VIEW_AS_REAL, CORE_VIEW_AS_COMPLEX, CORE_AS_STRIDED, CORE_CAST, CORE_MM, CORE_INDEX, CORE_DROPOUT_KEPT,
  CORE_WATCHED, CORE_CHANNEL_NORM, CORE_COPY_, CORE_INDEX_PUT_,
  CORE_COUNT
};
extern NativeOp *core_ops[CORE_COUNT];

// Ops recorded as a whole, whose backward(node, grads) is in aten/autograd/whole.py.
enum WholeOp {
  WHOLE_MATMUL, WHOLE_LINEAR, WHOLE_CAT, WHOLE_SPLIT, WHOLE_UNBIND, WHOLE_MAX_POOL, WHOLE_AVG_POOL, WHOLE_MASKED_SCATTER, WHOLE_FLAT, WHOLE_NANSUM,
  WHOLE_COUNT
};
extern PyObject *whole_backwards[WHOLE_COUNT];

// Makes a Node for `outputs` of a core op on these arguments, where one of them requires grad. False with an exception set.
bool record_op(NativeOp *op, const Arg *args, int n_args, PyObject *const *outputs, int n_outputs);
// The same, where bit i of `mask` says whether argument i wants a gradient.
bool record_needs(NativeOp *op, uint32_t mask, const Arg *args, int n_args, PyObject *const *outputs, int n_outputs);
// Whether such a Node keeps argument i itself, or a result; false with an exception set: not known.
bool node_keeps(NativeOp *op, uint32_t mask, int n_args, int i, bool *keeps);
inline bool record_op(NativeOp *op, std::initializer_list<Arg> args, PyObject *output) {
  return record_op(op, args.begin(), (int)args.size(), &output, 1);
}

// fast_view.cpp: a view of `base` by a core view op with its further arguments; recorded, and with view_of. `dtype`: of the items, -1 for
// those of the base.
PyObject *make_view(CoreOp which, WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                    std::initializer_list<Arg> args, int dtype = -1);
// A view at any places of the storage of `base`, which must hold them; without history.
PyObject *known_view(WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
PyObject *view_with_sizes(WeftTensor *t, int ndim, const int64_t *sizes);  // NULL without exception: needs a copy
PyObject *permuted(WeftTensor *t, const int64_t *dims);
PyObject *unsqueezed(WeftTensor *t, int dim);
PyObject *selected(WeftTensor *t, int dim, int64_t index);                  // 0 <= index < size
PyObject *sliced(WeftTensor *t, int dim, int64_t start, int64_t end, int64_t step);
PyObject *reshaped(WeftTensor *t, int ndim, const int64_t *sizes);         // view or copy; numel must agree

// fast_cast.cpp: `t` in another dtype, dense, without history; a copy with the layout of an elementwise result.
PyObject *cast_tensor(WeftTensor *t, int dtype);
PyObject *converted(WeftTensor *t, int dtype);                              // recorded; the tensor itself if it has the dtype; or UNHANDLED
PyObject *contiguous_copy(WeftTensor *t);                                  // recorded as clone
bool copy_into(WeftTensor *out, WeftTensor *source);                       // broadcast and cast; false: no such cast

// fast_places.cpp: `t` at index tensors, a list of them and None by dim, recorded as `index`; or UNHANDLED. And t[indices] = values,
// without history: `values` broadcasts, and is of the dtype of `t`. False without an exception: not handled.
PyObject *indexed(WeftTensor *t, PyObject *indices);
bool put_indexed(WeftTensor *t, PyObject *indices, WeftTensor *values, bool accumulate);
// The places of the true elements of a mask, an int64 tensor for each of its dims; -1 with an exception set, 0: not handled.
int mask_places(WeftTensor *mask, Ref *places);

// fast_statistics.cpp: the running sums of a tensor; or UNHANDLED.
PyObject *vector_cumsum(WeftTensor *x, int dim);

// Several results as the op's schema names them: a new tuple.
PyObject *named_results(NativeOp *op, PyObject *const *results, int n);

// result_layout.cpp: a new tensor for an elementwise result of this argument: its layout if dense, else in the order of its dims.
PyObject *empty_like(WeftTensor *t, int dtype);
void dense_strides(WeftTensor *t, int64_t *strides);
// Whether the dims of an image or volume lie in the order (0, 2, …, 1): channels innermost.
bool channels_innermost(const WeftTensor *t);
// The strides of a result of these sizes of n tensors (NULL for numbers); false: row-major.
bool pointwise_strides(int ndim, const int64_t *sizes, WeftTensor *const *tensors, int n, int64_t *strides);

// The rules of a kind, in fast_*.cpp: an op whose declaration says native="kind" has that of its name. Each table ends with a NULL name.
struct RuleRow {
  const char *name;
  Rule rule;
  int code = 0;
};
extern const RuleRow pointwise_rules[], copy_rules[], reduction_rules[], view_rules[], index_rules[], product_rules[], row_rules[],
    masked_rules[], join_rules[], structure_rules[], pool_rules[], place_rules[], scan_rules[], create_rules[];
// The rule of a row of the scalar vocabulary, also in place ("exp_"); a NULL rule: there is none.
RuleRow pointwise_rule(const char *name);

bool init_op(PyObject *module);
bool init_kernels();
PyObject *use_kernels(PyObject *, PyObject *level);
PyObject *pointwise_rows(PyObject *, PyObject *);

}  // namespace weft
#endif
