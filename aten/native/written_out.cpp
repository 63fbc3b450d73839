// written_out.cpp: calls with `out=` and calls in place: what the rule of the op (of its functional form) answers is written into the
// tensors that are given; some rules write it there at once.
#include "written_out.h"

#include "replay.h"
#include "released.h"

namespace weft {

static PyObject *out_name() {
  static PyObject *name = PyUnicode_InternFromString("out");
  return name;
}

// The `out=` of a call: one tensor, or a tuple of them.
struct Targets {
  static constexpr int kMost = 4;
  PyObject *given = nullptr;
  WeftTensor *tensors[kMost];
  int n = 0;

  // False: none of the usual kind. (Results of other sizes, as for an empty tensor, are the general path's.)
  bool read(PyObject *out) {
    given = out;
    const bool many = PyTuple_CheckExact(out);
    const Py_ssize_t count = many ? PyTuple_GET_SIZE(out) : 1;
    if (count < 1 || count > kMost) return false;
    for (; n < count; n++) {
      WeftTensor *t = plain(many ? PyTuple_GET_ITEM(out, n) : out);
      if (!t || !t->numel || WEFT_REQUIRES_GRAD(t)) return false;
      for (int i = 0; i < n; i++)
        if (tensors[i]->storage == t->storage) return false;
      tensors[n] = t;
    }
    return true;
  }

  bool may_be_written() const {
    const uint64_t before = *ambient();
    *ambient() = before & ~(uint64_t)WEFT_AMBIENT_GRAD;  // (nothing is recorded)
    int refused = 0;
    for (int i = 0; i < n && !refused; i++) refused = check_inplace(tensors[i]);
    *ambient() = before;
    return !refused;
  }

  // Whether no argument shows a part of what is written.
  bool apart_from(PyObject *value) const {
    const bool many = PyList_CheckExact(value) || PyTuple_CheckExact(value);
    for (Py_ssize_t i = 0, count = many ? PySequence_Fast_GET_SIZE(value) : 1; i < count; i++) {
      PyObject *item = many ? PySequence_Fast_GET_ITEM(value, i) : value;
      for (int k = 0; k < n && is_tensor(item); k++) {
        if (check_overlap(tensors[k], as_tensor(item)) == 0) continue;
        PyErr_Clear();
        return false;
      }
    }
    return true;
  }

  // Whether a result goes into its target as it is: nothing is resized, cast or refused.
  bool takes(PyObject *result, int i, bool with_history = false) const {
    WeftTensor *target = tensors[i], *made = is_tensor(result) ? plain(result) : nullptr;
    if (!made || (WEFT_REQUIRES_GRAD(made) && !with_history) || WEFT_DTYPE(made) != WEFT_DTYPE(target) || WEFT_NDIM(made) != WEFT_NDIM(target)) return false;
    for (int d = 0; d < WEFT_NDIM(made); d++)
      if (made->sizes[d] != target->sizes[d]) return false;
    return made == target || made->storage != target->storage;
  }
};

// The call without its `out`, which is the name numbered `place`.
struct Rest {
  std::vector<PyObject *> args;
  Py_ssize_t n;
  Ref names;

  bool read(PyObject *const *given, Py_ssize_t count, PyObject *all, Py_ssize_t place) {
    n = count;
    const Py_ssize_t named = PyTuple_GET_SIZE(all);
    if (named > 1) names.reset(PyTuple_New(named - 1));
    if (named > 1 && !names) return false;
    args.assign(given, given + count);
    for (Py_ssize_t i = 0; i < named; i++) {
      if (i == place) continue;
      PyTuple_SET_ITEM(names.get(), (Py_ssize_t)args.size() - count, Py_NewRef(PyTuple_GET_ITEM(all, i)));
      args.push_back(given[count + i]);
    }
    return true;
  }
};

// Which of the names is `name`, interned; their number if none is.
static Py_ssize_t place_of(PyObject *names, PyObject *name) {
  Py_ssize_t place = 0;
  while (place < PyTuple_GET_SIZE(names) && PyTuple_GET_ITEM(names, place) != name) place++;
  return place;
}

// Whether a tensor surely shows an element of its memory more than once: it has more than there is memory for.
static bool shows_elements_twice(const WeftTensor *t) {
  if (t->word & WEFT_WORD_CONTIGUOUS) return false;
  int64_t span = 1;
  for (int d = 0; d < WEFT_NDIM(t); d++) span += (t->sizes[d] - 1) * t->strides[d];
  return t->numel > span;
}

static PyObject *computed(NativeOp *op, PyObject *const *args, Py_ssize_t n, PyObject *names, WeftTensor *target) {
  PyObject *result = UNHANDLED;
  if (op->rule) {
    CallScope scope;
    Call call;
    const Binder *binder = binder_of(op);
    if (!binder) return nullptr;
    if (binder->find(out_name()) >= 0) return UNHANDLED;  // a parameter like others
    if (call.bind(op, binder, args, n, names)) {
      call.target = target;
      result = op->rule(call);
    }
  }
  // (Of elements that are shown twice those that are written decide, not those that are copied last.)
  return result == UNHANDLED && op->replays && !(target && shows_elements_twice(target)) ? replayed(op, args, n, names) : result;
}

static bool write(WeftTensor *target, PyObject *result) {
  if (as_tensor(result) != target && !copy_into(target, as_tensor(result))) return false;
  weft_bump_version(target);
  return true;
}

// Of a write: an exception is set, or there are no loops for it.
static PyObject *failed() { return PyErr_Occurred() ? nullptr : UNHANDLED; }

PyObject *written_out(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  const Py_ssize_t place = place_of(names, out_name());
  Targets targets;
  if (place == PyTuple_GET_SIZE(names) || op->out_in_python || !targets.read(args[nargs + place])) return UNHANDLED;
  try {
    Rest rest;
    if (!rest.read(args, nargs, names, place) || !targets.may_be_written()) return nullptr;
    for (PyObject *value : rest.args)
      if (!targets.apart_from(value)) return UNHANDLED;
    Ref result(computed(op, rest.args.data(), rest.n, rest.names.get(), is_tensor(targets.given) ? targets.tensors[0] : nullptr));
    if (!result) return nullptr;
    if (result.get() == UNHANDLED) return result.release();
    const bool many = PyTuple_Check(result.get());
    if (many != (bool)PyTuple_CheckExact(targets.given) || (many && PyTuple_GET_SIZE(result.get()) != targets.n)) return UNHANDLED;
    for (int i = 0; i < targets.n; i++)
      if (!targets.takes(many ? PyTuple_GET_ITEM(result.get(), i) : result.get(), i)) return UNHANDLED;
    for (int i = 0; i < targets.n; i++)
      if (!write(targets.tensors[i], many ? PyTuple_GET_ITEM(result.get(), i) : result.get())) return failed();
    if (!many || PyTuple_CheckExact(result.get())) return Py_NewRef(targets.given);
    PyObject *type = as_object(Py_TYPE(result.get()));  // the results have names
    const bool collects = PyObject_HasAttrString(type, "_make");
    return collects ? PyObject_CallMethod(type, "_make", "(O)", targets.given) : PyObject_CallOneArg(type, targets.given);
  } catch (const std::exception &) {
    return raise_caught();
  }
}

PyObject *made_leaf(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  static PyObject *const name = PyUnicode_InternFromString("requires_grad");
  const Py_ssize_t place = place_of(names, name);
  if (place == PyTuple_GET_SIZE(names) || args[nargs + place] != Py_True || op->promised) return UNHANDLED;
  const Binder *binder = binder_of(op);
  if (!binder) return nullptr;
  if (binder->find(name) < 0) return UNHANDLED;
  Rest rest;
  if (!rest.read(args, nargs, names, place)) return nullptr;
  Ref made(PyObject_Vectorcall(as_object(op), rest.args.data(), (size_t)rest.n, rest.names.get()));
  if (!made || !is_tensor(made.get())) return made.release();
  return set_requires_grad(made.get(), Py_True, nullptr) < 0 ? nullptr : made.release();
}

// Of the tensors that an argument is or lists: whether none of them shares memory with the target (or is of another kind, so that
// it may), and whether one records what is done with it.
static bool apart(PyObject *value, WeftTensor *target, bool *recorded) {
  const bool many = PyList_CheckExact(value) || PyTuple_CheckExact(value);
  for (Py_ssize_t i = 0, count = many ? PySequence_Fast_GET_SIZE(value) : 1; i < count; i++) {
    PyObject *item = many ? PySequence_Fast_GET_ITEM(value, i) : value;
    if (!is_tensor(item)) continue;
    WeftTensor *t = plain(item);
    if (!t || t->storage == target->storage) return false;
    *recorded |= records(t);
  }
  return true;
}

// While it lives it is noted whether a Node keeps a tensor of this memory.
class Watch {
 public:
  explicit Watch(WeftStorage *storage) : before_(watched) { watched = {storage, false}; }
  ~Watch() { watched = before_; }
  bool kept() const { return watched.kept; }

 private:
  Watched before_;
};

static PyObject *rewriter;  // aten.autograd.inplace.rewrite(view, result): what a write into a view means for the history of both

// What the rule of the functional op answers, which may write the target itself and record it as its result; UNHANDLED where backward
// needs what the target held or holds. (What it holds could be kept as it is, as PyTorch does, but then a later write would be an error
// of the plain program alone: in a compiled one it is none.)
static PyObject *recorded_by_rule(NativeOp *functional, WeftTensor *target, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  const Binder *binder = functional->rule ? binder_of(functional) : nullptr;
  if (!binder) return functional->rule ? nullptr : UNHANDLED;
  CallScope scope;
  Call call;
  bool keeps;
  if (!call.bind(functional, binder, args, nargs, names) || !call.recording()) return UNHANDLED;
  if (!node_keeps(functional, call.needs, binder->core, 0, &keeps)) return nullptr;
  if (keeps) return UNHANDLED;
  call.target = target;
  PyObject *result = functional->rule(call);
  if (result == as_object(target)) weft_bump_version(target);
  return result;
}

// The functional op's result. What backward needs of the elements that the target holds is copied, and the op asked again with the
// copy; which calls do that is not known before they ran. UNHANDLED where it is refused, whose words are the general path's.
static PyObject *recorded_apart(PyObject *functional, WeftTensor *target, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  std::vector<PyObject *> given(args, args + nargs + (names ? PyTuple_GET_SIZE(names) : 0));
  Ref copy;
  for (int turn = 0; turn < 2; turn++) {
    const Watch watch(target->storage);
    Ref result(PyObject_Vectorcall(functional, given.data(), (size_t)nargs, names));
    if (!result && PyErr_ExceptionMatches(PyExc_Exception)) {
      PyErr_Clear();
      return UNHANDLED;
    }
    if (!result || !watch.kept()) return result.release();
    result.reset();
    copy.reset(PyObject_CallOneArg(as_object(core_ops[CORE_CLONE]), as_object(target)));
    if (!copy) return nullptr;
    given[0] = copy.get();
  }
  return UNHANDLED;
}

// The target gets the result of the functional op, and its history.
static PyObject *recorded_in_place(NativeOp *op, WeftTensor *target, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (target->flags & (WEFT_FLAG_RETAIN_GRAD | WEFT_FLAGS_OF_VIEW) || (target->view_of && !rewriter)) return UNHANDLED;
  NativeOp *functional = as_op(op->functional);
  PyObject *made = op->writes_core && !target->view_of ? recorded_by_rule(functional, target, args, nargs, names) : UNHANDLED;
  if (made == as_object(target)) return made;
  if (made == UNHANDLED) made = recorded_apart(op->functional, target, args, nargs, names);
  if (!made || made == UNHANDLED) return made;
  const Ref result(made);
  Targets targets;
  targets.tensors[targets.n++] = target;
  if (!targets.takes(result.get(), 0, true)) return UNHANDLED;
  if (!write(target, result.get())) return failed();
  if (target->view_of) {
    const Ref done(PyObject_CallFunctionObjArgs(rewriter, as_object(target), result.get(), nullptr));
    if (!done) return nullptr;
  } else {
    take_history(target, as_tensor(result.get())->grad_fn, as_tensor(result.get())->output_nr);
  }
  return Py_NewRef(as_object(target));
}

static PyObject *set_rewriter(PyObject *, PyObject *callable) {
  Py_XSETREF(rewriter, Py_NewRef(callable));
  Py_RETURN_NONE;
}

PyMethodDef written_functions[] = {{"set_rewriter", set_rewriter, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyObject *written_in_place(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  WeftTensor *target = nargs ? plain(args[0]) : nullptr;
  NativeOp *functional = as_op(op->functional);
  if (!target || !target->numel || functional->promised || functional->out_in_python) return UNHANDLED;
  bool recorded = records(target);
  const Py_ssize_t all = nargs + (names ? PyTuple_GET_SIZE(names) : 0);
  for (Py_ssize_t i = 1; i < all; i++)
    if (!apart(args[i], target, &recorded)) return UNHANDLED;
  try {
    if (check_inplace(target) < 0) {
      PyErr_Clear();  // (elements that are shown twice may be allowed: it is said there)
      return UNHANDLED;
    }
    if (recorded) return recorded_in_place(op, target, args, nargs, names);
    Targets targets;
    targets.tensors[targets.n++] = target;
    Ref result(computed(functional, args, nargs, names, target));
    if (!result) return nullptr;
    if (result.get() == UNHANDLED) return result.release();
    if (!targets.takes(result.get(), 0)) return UNHANDLED;
    return write(target, result.get()) ? Py_NewRef(args[0]) : failed();
  } catch (const std::exception &) {
    return raise_caught();
  }
}

}  // namespace weft
