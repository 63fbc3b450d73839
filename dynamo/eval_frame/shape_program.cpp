// shape_program.cpp: conditions on sizes, evaluated by a small stack machine over int64 and float64.
//
// The code is a flat list of int64: an operation, then its operands. Integer overflow makes the condition false: the call
// is then a miss, never a wrong hit.
#include "guard_program.h"

#include <math.h>
#include <string.h>

#define WEFT_SHAPE_OPS(X)                                                                                             \
  X(SIZE) X(STRIDE) X(OFFSET) X(INT) X(FLOAT) X(CONST) X(CONST_FLOAT)                                                 \
  X(ADD) X(SUB) X(MUL) X(FLOORDIV) X(MOD) X(POW) X(NEG) X(MIN) X(MAX)                                                 \
  X(EQ) X(NE) X(LT) X(LE) X(GT) X(GE) X(AND) X(OR) X(NOT) X(WHERE)                                                    \
  X(ADD_F) X(SUB_F) X(MUL_F) X(TRUEDIV_F) X(FLOORDIV_F) X(MOD_F) X(POW_F) X(NEG_F) X(MIN_F) X(MAX_F)                   \
  X(EQ_F) X(NE_F) X(LT_F) X(LE_F) X(GT_F) X(GE_F) X(SQRT_F) X(FLOOR_F) X(TO_FLOAT) X(TO_INT)    \
  X(SIGNBIT_F)

enum ShapeOp : int64_t {
#define X(name) S_##name,
  WEFT_SHAPE_OPS(X)
#undef X
      S_COUNT
};
static const char *const kNames[] = {
#define X(name) #name,
    WEFT_SHAPE_OPS(X)
#undef X
};

union Value {
  int64_t i;
  double f;
};

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

static bool int_pow(int64_t base, int64_t exponent, int64_t *result) {
  if (exponent < 0) return false;
  int64_t r = 1;
  for (; exponent > 0; exponent--) {
    if (__builtin_mul_overflow(r, base, &r)) return false;
    if (r == 0 || r == 1) { // 0 stays 0; 1 only from base 1
      if (r == 0 || base == 1) break;
    }
  }
  *result = r;
  return true;
}

static bool read_int(PyObject *o, int64_t *out) {
  if (!PyLong_Check(o)) return false;
  int overflow;
  *out = PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow;
}

// The operations that leave an integer or a truth value in `a`. False: overflow or division by zero.
static bool integer_op(int64_t op, Value *a, const Value *b) {
  switch (op) {
  case S_ADD: return !__builtin_add_overflow(a->i, b->i, &a->i);
  case S_SUB: return !__builtin_sub_overflow(a->i, b->i, &a->i);
  case S_MUL: return !__builtin_mul_overflow(a->i, b->i, &a->i);
  case S_FLOORDIV:
  case S_MOD: {
    if (b->i == 0 || (b->i == -1 && a->i == INT64_MIN)) return false;
    int64_t q = floor_div(a->i, b->i);
    a->i = op == S_FLOORDIV ? q : a->i - q * b->i;
    return true;
  }
  case S_POW: return int_pow(a->i, b->i, &a->i);
  case S_MIN: a->i = a->i < b->i ? a->i : b->i; return true;
  case S_MAX: a->i = a->i > b->i ? a->i : b->i; return true;
  case S_EQ: a->i = a->i == b->i; return true;
  case S_NE: a->i = a->i != b->i; return true;
  case S_LT: a->i = a->i < b->i; return true;
  case S_LE: a->i = a->i <= b->i; return true;
  case S_GT: a->i = a->i > b->i; return true;
  case S_GE: a->i = a->i >= b->i; return true;
  case S_AND: a->i = a->i && b->i; return true;
  case S_OR: a->i = a->i || b->i; return true;
  }
  return false;
}

// a // b and a % b as Python has them: the remainder has the sign of b, a zero too, and the quotient is made of it.
static double float_mod(double a, double b) {
  double r = fmod(a, b);
  if (!r) return copysign(0.0, b);
  return (b < 0) != (r < 0) ? r + b : r;
}

static double float_floor_div(double a, double b) {
  double r = fmod(a, b), q = (a - r) / b;
  if (r && (b < 0) != (r < 0)) q -= 1;
  if (!q) return copysign(0.0, a / b);
  double whole = floor(q);
  return q - whole > 0.5 ? whole + 1 : whole;
}

// a ** b; false where Python raises or gives a complex number.
static bool float_pow(double a, double b, double *result) {
  *result = pow(a, b);
  return isfinite(*result) || !isfinite(a) || !isfinite(b);
}

static bool float_op(int64_t op, Value *a, const Value *b) {
  double x = a->f, y = b->f;
  switch (op) {
  case S_ADD_F: a->f = x + y; return true;
  case S_SUB_F: a->f = x - y; return true;
  case S_MUL_F: a->f = x * y; return true;
  case S_TRUEDIV_F: a->f = x / y; return y != 0;
  case S_FLOORDIV_F: if (!y) return false; a->f = float_floor_div(x, y); return true;
  case S_MOD_F: if (!y) return false; a->f = float_mod(x, y); return true;
  case S_POW_F: return float_pow(x, y, &a->f);
  case S_MIN_F: a->f = y < x ? y : x; return true; // the first of equal ones, and the first beside nan
  case S_MAX_F: a->f = y > x ? y : x; return true;
  case S_EQ_F: a->i = x == y; return true;
  case S_NE_F: a->i = x != y; return true;
  case S_LT_F: a->i = x < y; return true;
  case S_LE_F: a->i = x <= y; return true;
  case S_GT_F: a->i = x > y; return true;
  case S_GE_F: a->i = x >= y; return true;
  }
  return false;
}

static bool unary_op(int64_t op, Value *a) {
  switch (op) {
  case S_NEG: return !__builtin_sub_overflow((int64_t)0, a->i, &a->i);
  case S_NOT: a->i = !a->i; return true;
  case S_NEG_F: a->f = -a->f; return true;
  case S_SQRT_F: if (a->f < 0) return false; a->f = sqrt(a->f); return true;
  case S_FLOOR_F: a->f = floor(a->f); return true;
  case S_SIGNBIT_F: a->i = signbit(a->f) != 0; return true;
  case S_TO_FLOAT: a->f = (double)a->i; return true;
  case S_TO_INT:
    if (!(a->f > -9.2e18 && a->f < 9.2e18)) return false;
    a->i = (int64_t)a->f;
    return true;
  }
  return false;
}

// Sizes and strides of tensors, Python ints and floats. False when the register does not hold what was promised.
static bool load(int64_t op, const int64_t *operand, PyObject *const *regs, Value *out) {
  PyObject *o = regs[operand[0]];
  if (op == S_INT) return read_int(o, &out->i);
  if (op == S_FLOAT) {
    if (!PyFloat_Check(o)) return false;
    out->f = PyFloat_AS_DOUBLE(o);
    return true;
  }
  if (!weft || !PyObject_TypeCheck(o, weft->tensor_type) || WEFT_IS_TRACER(o)) return false;
  WeftTensor *t = (WeftTensor *)o;
  if (op == S_OFFSET) {
    out->i = t->offset;
    return true;
  }
  if (operand[1] >= WEFT_NDIM(t)) return false;
  out->i = op == S_SIZE ? t->sizes[operand[1]] : t->strides[operand[1]];
  return true;
}

bool shape_is_valid(const std::vector<int64_t> &code, int n_regs) {
  int n = 0;
  for (size_t i = 0; i < code.size(); i++) {
    int64_t op = code[i];
    if (op < 0 || op >= S_COUNT) return false;
    size_t operands = op == S_SIZE || op == S_STRIDE ? 2 : op <= S_CONST_FLOAT ? 1 : 0;
    if (i + operands >= code.size()) return false;
    if (op <= S_FLOAT && (code[i + 1] < 0 || code[i + 1] >= n_regs)) return false;
    if (operands == 2 && code[i + 2] < 0) return false;
    i += operands;
    bool unary = op == S_NEG || op == S_NOT || op == S_NEG_F || op >= S_SQRT_F;
    int takes = operands ? 0 : unary ? 1 : op == S_WHERE ? 3 : 2;
    if (n < takes || n - takes + 1 > 64) return false;
    n += 1 - takes;
  }
  return n == 1;
}

bool shape_holds(const std::vector<int64_t> &code, PyObject *const *regs) {
  Value stack[64];
  int n = 0;
  for (size_t i = 0; i < code.size(); i++) {
    int64_t op = code[i];
    if (op <= S_FLOAT) {
      if (n == 64 || !load(op, &code[i + 1], regs, &stack[n++])) return false;
      i += op == S_SIZE || op == S_STRIDE ? 2 : 1;
    } else if (op == S_CONST || op == S_CONST_FLOAT) {
      if (n == 64) return false;
      memcpy(&stack[n++], &code[++i], 8);
    } else if (op == S_NEG || op == S_NOT || op == S_NEG_F || op >= S_SQRT_F) {
      if (!unary_op(op, &stack[n - 1])) return false;
    } else if (op == S_WHERE) {
      n -= 2;
      stack[n - 1] = stack[n - 1].i ? stack[n] : stack[n + 1];
    } else {
      n--;
      if (!(op < S_ADD_F ? integer_op(op, &stack[n - 1], &stack[n]) : float_op(op, &stack[n - 1], &stack[n]))) return false;
    }
  }
  return n == 1 && stack[0].i != 0;
}

bool shape_program_ready(PyObject *module) {
  PyObject *ops = PyDict_New();
  if (!ops) return false;
  for (int64_t i = 0; i < S_COUNT; i++) {
    PyObject *v = PyLong_FromLongLong(i);
    if (!v || PyDict_SetItemString(ops, kNames[i], v) < 0) return false;
    Py_DECREF(v);
  }
  return PyModule_AddObject(module, "SHAPE_OPS", ops) == 0;
}
