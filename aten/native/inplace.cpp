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

int check_inplace(WeftTensor *t) {
  const char *why = nullptr;
  bool tracer = WEFT_IS_TRACER(t);
  if (!tracer && t->storage->flags & WEFT_STORAGE_READONLY) {
    why = "cannot write to this tensor: its memory is read-only (made from a read-only array or buffer); clone() it first";
  } else if (!tracer && !(t->word & WEFT_WORD_CONTIGUOUS) && overlaps_itself(t)) {
    why = "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
          "clone() the tensor before performing the operation.";
  } else if ((t->word & WEFT_WORD_INFERENCE) && !(*ambient() & WEFT_AMBIENT_INFERENCE)) {
    why = "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor "
          "before doing inplace update.";
  } else if (grad_enabled()) {
    WeftTensor *root = root_of(t);
    if (WEFT_REQUIRES_GRAD(t) && !t->grad_fn && (root == t || !WEFT_REQUIRES_GRAD(root)))
      why = "a leaf Variable that requires grad is being used in an in-place operation.";
    else if (root != t && WEFT_REQUIRES_GRAD(root) && !root->grad_fn)
      why = "a view of a leaf Variable that requires grad is being used in an in-place operation.";
  }
  if (!why) return 0;
  PyErr_SetString(PyExc_RuntimeError, why);
  return -1;
}

}  // namespace weft
