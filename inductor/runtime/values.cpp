// The numbers of a call: sizes, strides, offsets and symbols, computed in int64 with every overflow noticed.
#include "runner.h"

#include <cmath>

namespace runner {

static bool floor_div(int64_t a, int64_t b, int64_t *out) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
  *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}

static bool floor_mod(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return false;
  int64_t r = b == -1 ? 0 : a % b;
  *out = r != 0 && (r < 0) != (b < 0) ? r + b : r;
  return true;
}

static bool power(int64_t base, int64_t exponent, int64_t *out) {
  if (exponent < 0) return false;
  int64_t result = 1;
  while (exponent) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return false;
    exponent >>= 1;
    if (exponent && __builtin_mul_overflow(base, base, &base)) return false;
  }
  *out = result;
  return true;
}

// Python's float % and //: the remainder has the sign of the divisor.
static bool float_divmod(double a, double b, double *quotient, double *remainder) {
  if (b == 0) return false;
  double r = std::fmod(a, b), q = (a - r) / b;
  if (r != 0) {
    if ((b < 0) != (r < 0)) r += b, q -= 1;
  } else {
    r = std::copysign(0.0, b);
  }
  if (q != 0) {
    double f = std::floor(q);
    q = q - f > 0.5 ? f + 1 : f;
  } else {
    q = std::copysign(0.0, a / b);
  }
  *quotient = q;
  *remainder = r;
  return true;
}

static bool to_int(double x, int64_t *out) {
  if (!(x >= -9223372036854775808.0 && x < 9223372036854775808.0)) return false;
  *out = (int64_t)x;
  return true;
}

static double half_to_double(uint16_t h) {
  int exponent = (h >> 10) & 31, mantissa = h & 1023;
  double x = exponent == 31 ? (mantissa ? NAN : INFINITY)
             : exponent     ? std::ldexp(1024 + mantissa, exponent - 25)
                            : std::ldexp(mantissa, -24);
  return h & 0x8000 ? -x : x;
}

// The one element of a buffer: an int64, or the bits of a double for a floating dtype.
static bool item(const char *p, int dtype, int64_t *out) {
  switch (dtype) {
  case WEFT_BOOL: *out = *(const uint8_t *)p != 0; return true;
  case WEFT_UINT8: *out = *(const uint8_t *)p; return true;
  case WEFT_INT8: *out = *(const int8_t *)p; return true;
  case WEFT_INT16: *out = *(const int16_t *)p; return true;
  case WEFT_INT32: *out = *(const int32_t *)p; return true;
  case WEFT_INT64: *out = *(const int64_t *)p; return true;
  case WEFT_UINT16: *out = *(const uint16_t *)p; return true;
  case WEFT_UINT32: *out = *(const uint32_t *)p; return true;
  case WEFT_UINT64: *out = (int64_t) * (const uint64_t *)p; return *out >= 0;
  case WEFT_FLOAT16: *out = as_bits(half_to_double(*(const uint16_t *)p)); return true;
  case WEFT_BFLOAT16: {
    uint32_t bits = (uint32_t) * (const uint16_t *)p << 16;
    float x;
    memcpy(&x, &bits, 4);
    *out = as_bits(x);
    return true;
  }
  case WEFT_FLOAT32: *out = as_bits(*(const float *)p); return true;
  case WEFT_FLOAT64: memcpy(out, p, 8); return true;
  }
  return false;
}

static bool from_number(PyObject *x, InputKind kind, int64_t *out) {
  if (kind == InputKind::Float) {
    double d = PyFloat_AsDouble(x);
    if (d == -1.0 && PyErr_Occurred()) return false;
    *out = as_bits(d);
  } else {
    *out = PyLong_AsLongLong(x);
    if (*out == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

static bool result_dim(Call &call, const Value &v, int64_t *out) {
  WeftTensor *t = (WeftTensor *)call.tensors[v.a];
  if (!t || v.b >= WEFT_NDIM(t)) return false;
  *out = v.op == Op::ResultSize ? t->sizes[v.b] : t->strides[v.b];
  return true;
}

// The one element of a buffer on a device: waits for it.
static bool item_on_device(Call &call, int32_t buffer, int64_t *out) {
  PyObject *tensor = tensor_of(call, buffer);
  PyObject *value = tensor ? PyObject_CallMethod(tensor, "item", nullptr) : nullptr;
  if (!value) return false;
  *out = PyFloat_Check(value) ? as_bits(PyFloat_AS_DOUBLE(value)) : PyLong_AsLongLong(value);
  Py_DECREF(value);
  return !PyErr_Occurred();
}

bool evaluate(Call &call, const Value &v, int64_t *out) {
  const int64_t *x = call.values;
  switch (v.op) {
  case Op::Const: *out = v.constant; return true;
  case Op::Input: return from_number(call.args[v.a], call.program->plan->inputs[v.a].kind, out);
  case Op::Size: *out = ((WeftTensor *)call.args[v.a])->sizes[v.b]; return true;
  case Op::Stride: *out = ((WeftTensor *)call.args[v.a])->strides[v.b]; return true;
  case Op::ResultSize:
  case Op::ResultStride: return result_dim(call, v, out);
  case Op::Item:
    if (on_device(call.program->plan->buffers[v.a].word)) return item_on_device(call, v.a, out);
    return item(call.data[v.a], call.program->plan->buffers[v.a].word & WEFT_WORD_DTYPE, out);
  case Op::Seed:
  case Op::RngOffset: {
    uint64_t seed, offset;
    api->philox_reserve(0, &seed, &offset);
    *out = (int64_t)(v.op == Op::Seed ? seed : offset);
    return true;
  }
  default: break;
  }
  int64_t a = x[v.a], b = x[v.b];
  double fa = as_double(a), fb = as_double(b), q, r;
  switch (v.op) {
  case Op::Add: return !__builtin_add_overflow(a, b, out);
  case Op::Sub: return !__builtin_sub_overflow(a, b, out);
  case Op::Mul: return !__builtin_mul_overflow(a, b, out);
  case Op::FloorDiv: return floor_div(a, b, out);
  case Op::Mod: return floor_mod(a, b, out);
  case Op::Pow: return power(a, b, out);
  case Op::Min: *out = a < b ? a : b; return true;
  case Op::Max: *out = a > b ? a : b; return true;
  case Op::Eq: *out = a == b; return true;
  case Op::Le: *out = a <= b; return true;
  case Op::Lt: *out = a < b; return true;
  case Op::FAdd: *out = as_bits(fa + fb); return true;
  case Op::FSub: *out = as_bits(fa - fb); return true;
  case Op::FMul: *out = as_bits(fa * fb); return true;
  case Op::FDiv: *out = as_bits(fa / fb); return fb != 0;
  case Op::FFloorDiv:
    if (!float_divmod(fa, fb, &q, &r)) return false;
    *out = as_bits(q);
    return true;
  case Op::FMod:
    if (!float_divmod(fa, fb, &q, &r)) return false;
    *out = as_bits(r);
    return true;
  case Op::FPow:
    q = std::pow(fa, fb);
    *out = as_bits(q);
    return std::isfinite(q) || !std::isfinite(fa) || !std::isfinite(fb);
  case Op::FMin: *out = fb < fa ? b : a; return true; // Python's min and max keep the first of equals
  case Op::FMax: *out = fb > fa ? b : a; return true;
  case Op::FEq: *out = fa == fb; return true;
  case Op::FLe: *out = fa <= fb; return true;
  case Op::FLt: *out = fa < fb; return true;
  case Op::And: *out = a ? b : a; return true;
  case Op::Or: *out = a ? a : b; return true;
  case Op::Not: *out = !a; return true;
  case Op::Where: *out = a ? b : x[v.c]; return true;
  case Op::Float: *out = as_bits((double)a); return true;
  case Op::Int: return to_int(fa, out);
  case Op::Sqrt: *out = as_bits(std::sqrt(fa)); return fa >= 0;
  case Op::Floor: return to_int(std::floor(fa), out);
  default: return false;
  }
}

bool evaluate_range(Call &call, int32_t start, int32_t stop) {
  const Plan &plan = *call.program->plan;
  for (int32_t i = start; i < stop; i++)
    if (!evaluate(call, plan.values[i], &call.values[i])) return false;
  return true;
}

} // namespace runner
