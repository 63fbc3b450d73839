// binder.h: the arguments of a call, typed as the schema of its op says. A Binder is compiled from the schema at the op's first call
// (Op.native_form in aten/op.py); Call::bind puts a call into its slots in one pass. What it does not take is left to the general path in
// Python, which words what is wrong.
#ifndef WEFT_BINDER_H
#define WEFT_BINDER_H

#include <deque>
#include <initializer_list>
#include <vector>

#include "native.h"

namespace weft {

struct NativeOp;

constexpr int kMostParams = 16;

// A CPU tensor of the exact type (or Parameter), so with memory; NULL for anything else.
inline WeftTensor *plain(PyObject *p) {
  PyTypeObject *type = Py_TYPE(p);
  if (type != tensor_type && type != parameter_type()) return nullptr;
  WeftTensor *t = as_tensor(p);
  return (t->word & (WEFT_WORD_TRACER | WEFT_WORD_DEVICE)) == 0 && WEFT_DTYPE(t) < WEFT_FLOAT8_E4M3FN ? t : nullptr;
}

inline bool records(const WeftTensor *t) { return WEFT_REQUIRES_GRAD(t) && grad_enabled(); }

bool exact_long(PyObject *p, int64_t *out);
// Reads an exact int; false for anything else (no exception set). Most have one digit.
inline bool exact_int(PyObject *p, int64_t *out) {
  if (!PyLong_CheckExact(p)) return false;
#if PY_VERSION_HEX < 0x030C0000
  const Py_ssize_t sign = Py_SIZE(p);
  if (__builtin_expect(sign < -1 || sign > 1, 0)) return exact_long(p, out);
  *out = sign * (int64_t)((PyLongObject *)p)->ob_digit[0];
#else
  if (__builtin_expect(!PyUnstable_Long_IsCompact((PyLongObject *)p), 0)) return exact_long(p, out);
  *out = PyUnstable_Long_CompactValue((PyLongObject *)p);
#endif
  return true;
}
// Reads a list or tuple of exact ints, at most WEFT_MAX_NDIM; -1 for anything else (no exception set).
int exact_ints(PyObject *p, int64_t *out);
// Reads True or False; false for anything else.
inline bool exact_bool(PyObject *p, bool *out) {
  *out = p == Py_True;
  return p == Py_True || p == Py_False;
}
// Whether it names the CPU as a device.
bool is_main_memory(PyObject *p);
// A float, int or bool of Python's own.
inline bool is_number(PyObject *p) { return PyFloat_CheckExact(p) || PyLong_CheckExact(p) || PyBool_Check(p); }
// A dim in [0, ndim); a 0-d tensor counts as 1-d. False if out of range.
inline bool wrap_dim(int64_t dim, int ndim, int *out) {
  const int n = ndim ? ndim : 1;
  if (dim < -n || dim >= n) return false;
  *out = (int)(dim < 0 ? dim + n : dim);
  return true;
}

// An argument as rules read it, and as recording keeps it. Where the value is not `object` itself, `kind` says how it is built.
struct Arg {
  enum Kind : int { OBJECT, INT, INTS, BOOLEAN };
  PyObject *object;              // borrowed: what was given, or the default
  union {
    WeftTensor *tensor;          // of a tensor; NULL for None, and for a number in its place
    int64_t integer;             // of an int, a bool; of a dtype its code, -1 for None; of a device whether it is the CPU
    double real;                 // of a float or number
    const int64_t *list;         // of ints
  };
  Kind kind;
  int n;                         // of ints, how many

  Arg() = default;
  Arg(PyObject *o) : object(o), tensor(nullptr), kind(OBJECT), n(0) {}
  Arg(WeftTensor *t) : object(as_object(t)), tensor(t), kind(OBJECT), n(0) {}
  static Arg of_integer(int64_t v) { Arg a((PyObject *)nullptr); a.kind = INT; a.integer = v; return a; }
  static Arg of_bool(bool v) { Arg a((PyObject *)nullptr); a.kind = BOOLEAN; a.integer = v; return a; }
  static Arg of_integers(const int64_t *v, int n) { Arg a((PyObject *)nullptr); a.kind = INTS; a.list = v; a.n = n; return a; }
  bool none() const { return object == Py_None; }
  PyObject *build() const;       // new reference
};

enum Takes : int { TENSOR, TERM, ANYTHING, TENSORS, INTEGER, INTEGERS, REAL, TRUTH, DTYPE, DEVICE, TEXT, BOUND };

struct Param {
  Takes takes;
  bool optional, required;
  int spread;                    // of ints: how many one int stands for; 0: one int is not taken
  Arg otherwise;                 // where it is not given
};

struct Name {
  PyObject *text;                // interned
  int index;
};

struct Binder {
  Param params[kMostParams];
  int n, positional, core;       // core: how many of them are core arguments
  int variadic;                  // of ints that may be spread over the positional arguments; -1: none
  int plain;                     // so many positional arguments are one a parameter
  std::vector<Name> names;       // first the parameters' own, in order, then what else they are called
  std::deque<std::vector<int64_t>> lists;  // of defaults
  Ref form;                      // what it was compiled from, which holds the defaults
  int find(PyObject *name) const;
};

// The op's binder, compiled on first use; NULL with an exception set.
const Binder *binder_of(NativeOp *op);
void free_binder(Binder *binder);

struct Call {
  NativeOp *op;
  const Binder *binder;
  uint32_t needs;                // bit i: argument i is a tensor that requires grad
  WeftTensor *target;            // what the one result is for, where it was said: a rule may write it there at once. Or NULL
  Arg args[kMostParams];

  // False: not of the usual kinds.
  bool bind(NativeOp *made, const Binder *b, PyObject *const *given, Py_ssize_t n, PyObject *names) {
    op = made;
    binder = b;
    target = nullptr;
    needs = 0;
    used_ = 0;
    if (__builtin_expect(names || n > b->plain, 0)) return bind_other(given, n, names);
    for (int i = 0; i < n; i++)
      if (!take(b->params[i], given[i], i)) return false;
    return fill((int)n);
  }

  const Arg &operator[](int i) const { return args[i]; }
  WeftTensor *tensor(int i) const { return args[i].tensor; }
  // Whether the arguments from the i-th on are the defaults.
  bool usual(int i) const {
    for (; i < binder->n; i++)
      if (args[i].object != binder->params[i].otherwise.object) return false;
    return true;
  }
  bool truth(int i) const { return args[i].integer != 0; }

  // Argument i as a dim, kept wrapped; false if it is none of ndim dims.
  bool dim(int i, int ndim, int *out) {
    if (!wrap_dim(args[i].integer, ndim, out)) return false;
    args[i].kind = Arg::INT;
    args[i].integer = *out;
    return true;
  }
  // Argument i as dims, kept wrapped, and as a mask; none of them means all. False if they are none of ndim dims, or repeat one.
  bool dims(int i, int ndim, uint64_t *mask);
  // Argument i as the dtype to compute in, `own` where none is given: a float's or int64; -1: not handled. A cast that has history is
  // the general path's.
  int dtype(int i, int own) const;
  // The same where no dims means none.
  bool some_dims(int i, int ndim, uint64_t *mask);
  // Argument i, of any kind, as ints; one int is a list of one. False for anything else.
  bool ints(int i);

  // What is to be written into, where a result of this dtype and these sizes can be written there element by element: no argument
  // shares memory with it in another order. Else NULL.
  PyObject *room(int dtype, int ndim, const int64_t *sizes) const {
    return __builtin_expect(target != nullptr, 0) ? room_there(dtype, ndim, sizes) : nullptr;
  }
  // Whether argument i is what is written into, and no other shares memory with it.
  bool writes_into(int i) const;

  // Whether the results have history.
  bool recording() const { return __builtin_expect(needs != 0, 0) && has_history(); }
  // The result, with history where an argument requires grad; NULL with an exception set.
  PyObject *made(Ref out) {
    PyObject *result = out.get();
    return result && record(&result, 1) ? out.release() : nullptr;
  }
  bool record(PyObject *const *outputs, int n) { return !recording() || record_all(outputs, n); }

  static bool bind_default(Binder *binder, int i, PyObject *value);

 private:
  static constexpr int kRoom = 4 * WEFT_MAX_NDIM;
  int used_;
  int64_t room_[kRoom];
  PyObject *room_there(int dtype, int ndim, const int64_t *sizes) const;
  bool has_history() const;
  bool record_all(PyObject *const *outputs, int n);
  bool bind_other(PyObject *const *given, Py_ssize_t n, PyObject *names);
  bool take(const Param &param, PyObject *given, int i) {
    if (param.takes > TERM) return take_other(param, given, i);
    Arg &arg = args[i];
    arg.object = given;
    arg.kind = Arg::OBJECT;
    if (__builtin_expect((arg.tensor = weft::plain(given)) != nullptr, 1)) {
      needs |= (uint32_t)(WEFT_REQUIRES_GRAD(given) != 0) << i;
      return true;
    }
    return given == Py_None ? param.optional : param.takes == TERM && is_number(given);
  }
  bool fill(int first) {
    for (int i = first; i < binder->n; i++) {
      if (binder->params[i].required) return false;
      args[i] = binder->params[i].otherwise;
    }
    return true;
  }
  bool take_other(const Param &param, PyObject *given, int i);
  bool take_integers(const Param &param, PyObject *given, Arg *arg);
  bool gather(PyObject *const *given, Py_ssize_t n, int i);
  int64_t *list_room() { return used_ + WEFT_MAX_NDIM <= kRoom ? room_ + used_ : nullptr; }
};

// A call that Python spells as (op, args, kwargs), as vectorcall has it.
struct Spelled {
  NativeOp *op;
  Py_ssize_t n;
  std::vector<PyObject *> all;
  Ref names;
  bool read(PyObject *given);    // false with an exception set
};

PyObject *bound(PyObject *, PyObject *given);

}  // namespace weft
#endif
