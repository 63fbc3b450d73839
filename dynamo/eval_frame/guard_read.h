// guard_read.h: reading what an expression names, without running Python where that can be helped.
#pragma once

#include "guard_program.h"

// One run of a guard program. While `memo` is set, every word that a result depends on is noted in it; `forget` says that
// something was read that words cannot describe.
struct Walk {
  PyObject **regs;
  PyObject *const *args;
  PyFunctionObject *func;
  Memo *memo;
  bool forget;
  Owned &owned;
  // While `memo` is set: registers whose object is held by a dictionary whose tag was noted, so that it is the same object,
  // alive, as long as the words before hold.
  std::vector<uint8_t> anchored;
  bool found_in_dict = false; // of the value that was read last

  void saw(const void *address, uint64_t value, uint64_t mask = ~0ull) {
    if (memo) memo->words.push_back({(const uint64_t *)address, mask, value & mask});
  }
  void saw_type_of(PyObject *o) { saw(&o->ob_type, (uint64_t)o->ob_type); }
  // Only instances of Python's classes can change their type.
  void saw_type_of(PyObject *o, uint16_t reg) {
    if (memo && anchored[reg] && !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return;
    saw_type_of(o);
  }
  void saw_dict(PyObject *dict) { saw(dict_tag(dict), *dict_tag(dict), kDictTagMask); }
  // The version tag is 32 bits of a 64-bit word; 0 means that nobody watches the type.
  void saw_type(PyTypeObject *t) {
    if (!memo) return;
    if (t->tp_version_tag == 0) {
      forget = true;
      return;
    }
    uintptr_t at = (uintptr_t)&t->tp_version_tag & ~(uintptr_t)7;
    int shift = (int)((uintptr_t)&t->tp_version_tag - at) * 8;
    saw((void *)at, (uint64_t)t->tp_version_tag << shift, 0xffffffffull << shift);
  }
  // The metadata of a tensor is covered by the epoch, which moves when a flagged tensor's metadata changes.
  void saw_tensor(WeftTensor *t, uint16_t reg) {
    if (!memo) return;
    saw_type_of((PyObject *)t, reg);
    t->flags |= WEFT_FLAG_GUARDED;
    if (anchored[reg]) return; // the same tensor, flagged for good; another one at its address would not be
    uintptr_t at = (uintptr_t)&t->flags & ~(uintptr_t)7;
    int shift = (int)((uintptr_t)&t->flags - at) * 8;
    saw((void *)at, (uint64_t)WEFT_FLAG_GUARDED << shift, (uint64_t)WEFT_FLAG_GUARDED << shift);
  }
  // An immutable value compared by value: another one could come to its address.
  void keep_alive(PyObject *o) {
    if (memo) memo->keep.push_back(Py_NewRef(o));
  }
  void cannot_remember() { forget = true; }
};

// The value that the accessor `in` names: borrowed (or kept in w.owned), NULL when it does not exist. No exception is left.
PyObject *read(Walk &w, Instr &in);

// The dictionary of an instance (which is in register `reg`), NULL if it has none.
PyObject *read_instance_dict(Walk &w, PyObject *o, uint16_t reg);
