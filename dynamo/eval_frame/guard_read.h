// guard_read.h: one run of a guard program; reading what an expression names, without running Python where that can be helped.
#pragma once

#include "guard_program.h"

// What is known of a register's object while a walk is being noted.
enum Standing : uint8_t {
  kLoose,
  kAnchored, // held by a dictionary whose tag was noted: the same object, alive, as long as the words before hold
  kAgain     // from something that words cannot describe
};

// While `memo` is set, every word that a result depends on is noted in it; `forget` says that the instruction read
// something that words cannot describe.
struct Walk {
  GuardProgram *program;
  PyObject **regs;
  PyObject *const *args;
  PyFunctionObject *func;
  Owned &owned;
  Memo *memo = NULL;
  bool forget = false;
  bool found_in_dict = false; // of the value that was read last
  std::vector<uint8_t> standing = {}; // of registers, while a walk is noted
  size_t live_done = 0, fixed_done = 0;   // instructions whose results are in registers
  size_t live_owned = 0, fixed_owned = 0; // of them, those whose results `owned` holds

  void saw(const void *address, uint64_t value) {
    if (memo) memo->words.push_back({(const uint64_t *)address, value});
  }
  void saw_type_of(PyObject *o) { saw(&o->ob_type, (uint64_t)o->ob_type); }
  // Only modules and instances of Python's classes can change their type.
  void saw_type_of(PyObject *o, uint16_t reg) {
    if (memo && standing[reg] == kAnchored && !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyModule_Check(o)) return;
    saw_type_of(o);
  }
  // All of a dictionary: its order, its length.
  void saw_dict(PyObject *dict) { saw_key(dict, NULL, NULL); }
  // What it has under `key`, NULL for nothing. Other keys may change (memo_reads_hold).
  void saw_key(PyObject *dict, PyObject *key, PyObject *value) {
    if (!memo) return;
    const uint64_t *tag = dict_tag(dict);
    if (!tag) {
      forget = true;
      return;
    }
    memo->reads.push_back({dict, key, value, value ? Py_TYPE(value) : NULL, -1, (uint32_t)memo->words.size()});
    saw(tag, *tag);
  }
  // A value that was compared by more than words, an address and a type say, and that the program does not hold.
  void saw_parts_of(PyObject *o) {
    if (memo) memo->unlike.push_back(o);
  }
  // A version of 0 means that nobody watches the type.
  void saw_type(PyTypeObject *t) {
    if (!memo) return;
    if (t->tp_version_tag == 0) {
      forget = true;
      return;
    }
    memo->types.push_back({t, t->tp_version_tag, (uint32_t)memo->words.size()});
  }
  void saw_tensor(const WeftTensor *t) {
    if (!memo) return;
    memo->tensors.push_back({t, Py_TYPE(t), t->offset, t->numel, t->word});
    if (layout_is_decided(t->word, t->numel)) return;
    int ndim = WEFT_NDIM(t);
    memo->laid_out.push_back(t);
    memo->layouts.insert(memo->layouts.end(), t->sizes, t->sizes + ndim);
    memo->layouts.insert(memo->layouts.end(), t->strides, t->strides + ndim);
  }
  // Where the bytes of a tensor are: other tensors may move them.
  void saw_memory(const WeftTensor *t) {
    saw(&t->storage, (uint64_t)t->storage);
    saw(&t->storage->data, (uint64_t)t->storage->data);
  }
  // An immutable value compared by value: another one could come to its address.
  void keep_alive(PyObject *o) {
    if (memo) memo->keep.push_back(Py_NewRef(o));
  }
  void cannot_remember() { forget = true; }

  // Before Python runs, which may drop what registers borrow.
  void own_registers();
};

// The keys of a dictionary, in its order.
class Keys {
  PyObject *dict;
  Py_ssize_t position = 0;
  OrderedNode *node = NULL;
  bool ordered;

public:
  Keys(Walk &w, PyObject *dict) : dict(dict), ordered(PyODict_Check(dict)) {
    w.saw_dict(dict);
    if (!ordered) return;
    OrderedDict *od = (OrderedDict *)dict;
    w.saw(&od->state, (uint64_t)od->state);
    node = od->first;
  }
  // The next one, borrowed, or NULL.
  PyObject *next() {
    PyObject *key = NULL, *value;
    if (!ordered) {
      PyDict_Next(dict, &position, &key, &value);
    } else if (node) {
      key = node->key;
      node = node->next;
    }
    return key;
  }
};

// The value that the accessor `in` names: borrowed (or kept in w.owned), NULL when it does not exist. No exception is left.
PyObject *read(Walk &w, Instr &in);

// The dictionary of an instance (which is in register `reg`), NULL if it has none. What is read of it is the caller's to note.
PyObject *read_instance_dict(Walk &w, PyObject *o, uint16_t reg);

// Whether the check `in` passes. No exception is left.
bool check(Walk &w, const Instr &in);

// OP_AMBIENT. data: values and mask of the thread's ambient word.
inline bool ambient_is(const Instr &in) { return weft && (*weft->ambient() & (uint64_t)in.data[1]) == (uint64_t)in.data[0]; }

// OP_TENSOR, of which most live parts are made. data: word, mask, then ndim sizes and ndim strides, INT64_MIN where not compared.
inline bool tensor_is(Walk &w, PyObject *o, const Instr &in) {
  if ((PyObject *)Py_TYPE(o) != in.obj) return false;
  WeftTensor *t = (WeftTensor *)o;
  const int64_t *d = in.data.data();
  if ((t->word & (uint32_t)d[1]) != (uint32_t)d[0]) return false;
  int ndim = WEFT_NDIM(t);
  d += 2;
  for (int i = 0; i < ndim; i++)
    if (d[i] != t->sizes[i] && d[i] != INT64_MIN) return false;
  d += ndim;
  for (int i = 0; i < ndim; i++)
    if (d[i] != t->strides[i] && d[i] != INT64_MIN) return false;
  w.saw_tensor(t);
  return true;
}

