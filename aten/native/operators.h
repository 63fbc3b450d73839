// operators.h: Python's operators on tensors. Each slot calls the op that Python set for it by set_operator(name, op).
#ifndef WEFT_OPERATORS_H
#define WEFT_OPERATORS_H

#include "native.h"

namespace weft {

extern PyMethodDef operator_functions[];

// row(slot, name): name is the Python method, without underscores
#define WEFT_BINARY_OPERATORS(row)                                                                            \
  row(nb_add, add) row(nb_subtract, sub) row(nb_multiply, mul) row(nb_true_divide, truediv)                   \
  row(nb_floor_divide, floordiv) row(nb_remainder, mod) row(nb_matrix_multiply, matmul) row(nb_and, and)      \
  row(nb_or, or) row(nb_xor, xor) row(nb_lshift, lshift) row(nb_rshift, rshift) row(nb_inplace_add, iadd)     \
  row(nb_inplace_subtract, isub) row(nb_inplace_multiply, imul) row(nb_inplace_true_divide, itruediv)         \
  row(nb_inplace_floor_divide, ifloordiv) row(nb_inplace_remainder, imod) row(nb_inplace_and, iand)           \
  row(nb_inplace_or, ior) row(nb_inplace_xor, ixor) row(nb_inplace_lshift, ilshift)                           \
  row(nb_inplace_rshift, irshift)
#define WEFT_UNARY_OPERATORS(row) row(nb_negative, neg) row(nb_positive, pos) row(nb_absolute, abs) row(nb_invert, invert)

#define WEFT_DECLARE_BINARY(slot, name) PyObject *operator_##slot(PyObject *, PyObject *);
#define WEFT_DECLARE_UNARY(slot, name) PyObject *operator_##slot(PyObject *);
WEFT_BINARY_OPERATORS(WEFT_DECLARE_BINARY)
WEFT_UNARY_OPERATORS(WEFT_DECLARE_UNARY)
PyObject *operator_power(PyObject *, PyObject *, PyObject *);
PyObject *operator_inplace_power(PyObject *, PyObject *, PyObject *);
PyObject *operator_compare(PyObject *, PyObject *, int);
PyObject *operator_getitem(PyObject *, PyObject *);
int operator_setitem(PyObject *, PyObject *, PyObject *);
Py_ssize_t operator_len(PyObject *);
PyObject *operator_iter(PyObject *);
int operator_contains(PyObject *, PyObject *);

#define WEFT_SLOT_ROW(slot, name) {Py_##slot, (void *)operator_##slot},
#define WEFT_OPERATOR_SLOTS                                                                               \
  WEFT_BINARY_OPERATORS(WEFT_SLOT_ROW)                                                                    \
  WEFT_UNARY_OPERATORS(WEFT_SLOT_ROW)                                                                     \
  {Py_nb_power, (void *)operator_power}, {Py_nb_inplace_power, (void *)operator_inplace_power},           \
      {Py_tp_richcompare, (void *)operator_compare}, {Py_mp_subscript, (void *)operator_getitem},         \
      {Py_mp_ass_subscript, (void *)operator_setitem}, {Py_mp_length, (void *)operator_len},              \
      {Py_tp_iter, (void *)operator_iter}, {Py_sq_contains, (void *)operator_contains},                   \
      {Py_nb_bool, (void *)tensor_bool}, {Py_nb_int, (void *)tensor_int}, {Py_nb_float, (void *)tensor_float}, \
      {Py_nb_index, (void *)tensor_index}

}  // namespace weft
#endif
