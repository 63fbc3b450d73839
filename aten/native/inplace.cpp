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
  if (!why) return 0;
  PyErr_SetString(PyExc_RuntimeError, why);
  return -1;
}

// Why history forbids an in-place op, or NULL.
static const char *forbidden(WeftTensor *t) {
  if ((t->word & WEFT_WORD_INFERENCE) && !(*ambient() & WEFT_AMBIENT_INFERENCE))
    return "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor "
           "before doing inplace update.";
  if (!grad_enabled()) return nullptr;
  WeftTensor *root = root_of(t);
  if (root != t && !WEFT_REQUIRES_GRAD(t) && WEFT_REQUIRES_GRAD(root) && WEFT_DTYPE(t) >= WEFT_FLOAT16) {
    if (t->flags & WEFT_FLAG_NO_GRAD_VIEW)
      return "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case is "
             "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either both "
             "inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
             "tracked).";
    if (root->grad_fn)  // its base got a history by an in-place operation, of which it knows nothing
      return "a leaf Variable that requires grad is being used in an in-place operation.";
  }
  if (WEFT_REQUIRES_GRAD(t) && !t->grad_fn && (root == t || !WEFT_REQUIRES_GRAD(root)))
    return "a leaf Variable that requires grad is being used in an in-place operation.";
  if (root != t && WEFT_REQUIRES_GRAD(root) && !root->grad_fn)
    return "a view of a leaf Variable that requires grad is being used in an in-place operation.";
  return nullptr;
}

int check_relayout(WeftTensor *t) { return refuse(forbidden(t)); }

int check_fill(WeftTensor *t) {
  if (!WEFT_IS_TRACER(t) && t->storage->flags & WEFT_STORAGE_READONLY)
    return refuse("cannot write to this tensor: its memory is read-only (made from a read-only array or buffer); clone() it first");
  return refuse(forbidden(t));
}

int check_inplace(WeftTensor *t) {
  bool writes_twice = !WEFT_IS_TRACER(t) && !(t->word & WEFT_WORD_CONTIGUOUS) && overlaps_itself(t);
  if (writes_twice && !(t->storage->flags & WEFT_STORAGE_READONLY))
    return refuse("unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
                  "clone() the tensor before performing the operation.");
  return check_fill(t);
}

}  // namespace weft
