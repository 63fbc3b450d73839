// philox.cpp: generators (seed and next counter), and the three fills that random ops are made of.
//
// Element i of a fill takes lane i % 4 of counter offset + i / 4; 64-bit results take two lanes each, so lanes
// 2 * (i % 2) and the next of counter offset + i / 2. Normals come in pairs (Box and Muller): lanes 2k and 2k + 1 give
// radius sqrt(-2 log(1 - u)) and angle 2 pi u', the even element the cosine and the odd one the sine.
#include "philox.h"

#include <math.h>
#include <string.h>

#include <algorithm>

#include "clones.h"
#include "by_dtype.h"
#include "draws.h"
#include "half.h"
#include "kernels.h"
#include "native_kernel.h"
#include "released.h"
#include "vecmath.h"
#include "vecrandom.h"

namespace weft {

struct Generator {
  PyObject_HEAD
  unsigned long long seed, offset;
  int device_type, device_index;  // which it was asked for; -1: no number. Its numbers are the same on all
};

PyTypeObject *generator_type;
static Generator *default_generator;
constexpr unsigned long long kDefaultSeed = 67280421310721ull;  // PyTorch's: runs are repeatable unless seeded

static Generator *of(PyObject *self) { return reinterpret_cast<Generator *>(self); }

static thread_local const WeftDraws *draws;  // who hands out this thread's counters, where generators do not
static void set_draws(const WeftDraws *by) { draws = by; }
static WeftSetDraws capsule_content = set_draws;

static PyObject *generator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"device", nullptr};
  PyObject *device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char **>(names), &device)) return nullptr;
  int kind, index;
  if (!parse_device(device, &kind, &index)) return nullptr;
  PyObject *self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  of(self)->seed = kDefaultSeed;
  of(self)->device_type = kind;
  of(self)->device_index = index;
  return self;
}

// The state of a generator, as this thread sees it; false with an exception set.
static bool get_state(Generator *g, uint64_t *seed, uint64_t *offset) {
  *seed = g->seed, *offset = g->offset;
  return !draws || draws->get_state(as_object(g), seed, offset) >= 0;
}

static bool set_state(Generator *g, uint64_t seed, uint64_t offset) {
  const int answered = draws ? draws->set_state(as_object(g), seed, offset) : 0;
  if (!answered) g->seed = seed, g->offset = offset;
  return answered >= 0;
}

static bool reserve(Generator *g, uint64_t count, uint64_t *seed, uint64_t *offset) {
  *seed = g->seed, *offset = g->offset;
  const int answered = draws ? draws->reserve(as_object(g), count, seed, offset) : 0;
  if (!answered) g->offset += count;
  return answered >= 0;
}

// Seeds may be negative or wider than 64 bits: they count modulo 2^64, as in PyTorch.
static PyObject *generator_manual_seed(PyObject *self, PyObject *arg) {
  Ref index(PyNumber_Index(arg));
  if (!index) return nullptr;
  unsigned long long seed = PyLong_AsUnsignedLongLongMask(index.get());
  if (seed == (unsigned long long)-1 && PyErr_Occurred()) return nullptr;
  uint64_t now = of(self)->seed, next = of(self)->offset;
  const int diverted = draws ? draws->get_state(self, &now, &next) : 0;
  if (diverted < 0) return nullptr;
  if (diverted && seed == of(self)->seed) return Py_NewRef(self);  // as in PyTorch: it goes on
  return set_state(of(self), seed, 0) ? Py_NewRef(self) : nullptr;
}

static PyObject *generator_reserve(PyObject *self, PyObject *arg) {
  unsigned long long count = PyLong_AsUnsignedLongLong(arg);
  if (count == (unsigned long long)-1 && PyErr_Occurred()) return nullptr;
  uint64_t seed, offset;
  return reserve(of(self), count, &seed, &offset) ? Py_BuildValue("KK", seed, offset) : nullptr;
}

static PyObject *generator_get_state(PyObject *self, PyObject *) {
  uint64_t seed, offset;
  return get_state(of(self), &seed, &offset) ? Py_BuildValue("KK", seed, offset) : nullptr;
}

static PyObject *generator_set_state(PyObject *self, PyObject *state) {
  unsigned long long seed, offset;
  if (!PyTuple_Check(state)) return PyErr_Format(PyExc_TypeError, "set_state: expected (seed, next counter), got %R", Py_TYPE(state));
  if (!PyArg_ParseTuple(state, "KK:set_state", &seed, &offset)) return nullptr;
  return set_state(of(self), seed, offset) ? Py_NewRef(Py_None) : nullptr;
}

static PyObject *generator_device(PyObject *self, void *) {
  return Py_XNewRef(device_object(of(self)->device_type, of(self)->device_index));
}

static PyObject *generator_initial_seed(PyObject *self, PyObject *) { return PyLong_FromUnsignedLongLong(of(self)->seed); }

void philox_reserve(uint64_t count, uint64_t *seed, uint64_t *offset) { reserve(default_generator, count, seed, offset); }

static PyObject *reserve_default(PyObject *, PyObject *count) { return generator_reserve(as_object(default_generator), count); }
static PyObject *manual_seed(PyObject *, PyObject *seed) { return generator_manual_seed(as_object(default_generator), seed); }

// What a fill does with its lanes.
struct Fill {
  enum Kind { UNIFORM, NORMAL, INTEGERS } kind;
  uint64_t seed, offset;
  double mean, std;   // of normals; of uniform numbers the least, and the width
  int64_t low;        // of integers
  uint64_t range;     // high - low
};

constexpr int kRun = WEFT_PHILOX_RUN;

static void portable_run(uint64_t seed, uint64_t first, uint32_t *out) {
  for (int j = 0; j < kRun; j++) {
    const Philox p = philox(seed, first + (uint64_t)j);
    std::copy(p.lane, p.lane + 4, out + 4 * j);
  }
}

// some(lanes, i, count): elements [i, i + count), of which each takes `width` of the lanes.
template <int width, class Some>
static void by_runs(int64_t n, Fill f, Some some) {
  if (draws) draws->settle(&f.seed, &f.offset);
  uint32_t lanes[4 * kRun];
  const WeftPhiloxRun run = weft_kernels.philox_run ? weft_kernels.philox_run : portable_run;
  constexpr int64_t many = 4 * kRun / width;
  for (int64_t i = 0; i < n; i += many) {
    run(f.seed, f.offset + (uint64_t)(i / many) * kRun, lanes);
    some(lanes, i, std::min(many, n - i));
  }
}

template <bool normal> static void portable_floats(const uint32_t *lanes, float *out) {
  for (int k = 0; k < 4 * kRun; k += 4) {
    vm_bits<f32x4> bits;
    memcpy(&bits, lanes + k, sizeof bits);
    f32x4 v = vm_unit<f32x4>(bits);
    if (normal) v = vm_normal_pairs(v);
    memcpy(out + k, &v, sizeof v);
  }
}

template <class T>
void fill_float(T *out, int64_t n, const Fill &f) {
  const bool normal = f.kind == Fill::NORMAL;
  const WeftPhiloxFloats known = normal ? weft_kernels.philox_normal : weft_kernels.philox_uniform;
  const WeftPhiloxFloats numbers = known ? known : normal ? portable_floats<true> : portable_floats<false>;
  const float mean = (float)f.mean, std = (float)f.std;
  const bool moved = normal || mean != 0 || std != 1;
  by_runs<1>(n, f, [&](const uint32_t *lanes, int64_t i, int64_t count) {
    float v[4 * kRun];
    numbers(lanes, v);
    if (moved)
      for (int k = 0; k < 4 * kRun; k++) v[k] = mean + std * v[k];
    if constexpr (std::is_same<T, float>::value) memcpy(out + i, v, (size_t)count * sizeof(float));
    else
      for (int64_t k = 0; k < count; k++) out[i + k] = T(v[k]);
  });
}

static void fill_double(double *out, int64_t n, const Fill &f) {
  by_runs<2>(n, f, [&](const uint32_t *lanes, int64_t i, int64_t count) {
    double v[2 * kRun];
    for (int k = 0; k < 2 * kRun; k++) v[k] = philox_uniform64(lanes[2 * k], lanes[2 * k + 1]);
    if (f.kind == Fill::NORMAL) {
      for (int64_t k = 0; k < count; k += 2) {
        double radius = sqrt(-2.0 * log(1.0 - v[k])), angle = 6.283185307179586476925 * v[k + 1];
        v[k] = f.mean + f.std * (radius * cos(angle));
        v[k + 1] = f.mean + f.std * (radius * sin(angle));
      }
    } else if (f.mean != 0 || f.std != 1) {
      for (int64_t k = 0; k < count; k++) v[k] = f.mean + f.std * v[k];
    }
    std::copy(v, v + count, out + i);
  });
}

void philox_keys(uint64_t seed, uint64_t offset, uint64_t *out, int64_t n) {
  by_runs<2>(n, Fill{Fill::UNIFORM, seed, offset, 0, 1, 0, 0}, [&](const uint32_t *lanes, int64_t i, int64_t count) {
    typedef uint64_t Words __attribute__((vector_size(16)));
    uint64_t keys[2 * kRun];
    for (int k = 0; k < 2 * kRun; k += 2) {
      Words v;
      memcpy(&v, lanes + 2 * k, sizeof v);
      v = (v << 32 | v >> 32) & ~(uint64_t)2047;
      memcpy(keys + k, &v, sizeof v);
    }
    memcpy(out + i, keys, (size_t)count * sizeof keys[0]);
  });
}

void philox_floats(uint64_t seed, uint64_t offset, float *out, int64_t n) { fill_float(out, n, Fill{Fill::UNIFORM, seed, offset, 0, 1, 0, 0}); }

// Ranges below 2^32 take the high half of lane * range, wider ones two lanes modulo the range.
template <class T>
void fill_integers(T *out, int64_t n, const Fill &f) {
  if (f.range <= 0x100000000ull) {
    by_runs<1>(n, f, [&](const uint32_t *lanes, int64_t i, int64_t count) {
      for (int64_t k = 0; k < count; k++) out[i + k] = (T)(f.low + (int64_t)(lanes[k] * f.range >> 32));
    });
    return;
  }
  by_runs<2>(n, f, [&](const uint32_t *lanes, int64_t i, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
      uint64_t bits = (uint64_t)lanes[2 * k] << 32 | lanes[2 * k + 1];
      out[i + k] = (T)(f.low + (int64_t)(bits % f.range));
    }
  });
}

static bool run_fill(WeftTensor *t, const Fill &f) {
  char *p = weft_data(t);
  const int dtype = WEFT_DTYPE(t);
  const bool floats = f.kind != Fill::INTEGERS;
  if (floats && dtype == WEFT_FLOAT16) return fill_float((Half *)p, t->numel, f), true;
  if (floats && dtype == WEFT_BFLOAT16) return fill_float((BFloat16 *)p, t->numel, f), true;
  const bool filled = by_dtype(dtype, false, [&](auto type) {
    typedef typename decltype(type)::type T;
    typedef typename std::conditional<std::is_same<T, bool>::value, uint8_t, T>::type S;  // that are 0 and 1 already
    if (!floats) fill_integers((S *)p, t->numel, f);
    else if constexpr (std::is_same<T, float>::value) fill_float((T *)p, t->numel, f);
    else if constexpr (std::is_same<T, double>::value) fill_double((T *)p, t->numel, f);
    else return false;
    return true;
  });
  if (!filled) PyErr_Format(PyExc_NotImplementedError, "random numbers of dtype %s", dtype_name(dtype));
  return filled;
}

static bool fillable(PyObject *out) {
  if (!is_tensor(out)) {
    PyErr_Format(PyExc_TypeError, "expected a Tensor to fill, got %R", Py_TYPE(out));
    return false;
  }
  WeftTensor *t = as_tensor(out);
  if (!need_memory(t, "a random fill")) return false;
  if (WEFT_DEVICE_TYPE(t) != WEFT_CPU || (t->storage->flags & WEFT_STORAGE_READONLY)) {
    PyErr_SetString(PyExc_ValueError, "random fills write memory of the CPU that is not read-only");
    return false;
  }
  if (t->word & WEFT_WORD_CONTIGUOUS) return true;
  PyErr_SetString(PyExc_ValueError, "random fills write contiguous tensors");
  return false;
}

static PyObject *philox_uniform_(PyObject *, PyObject *args) {
  PyObject *out;
  unsigned long long seed, offset;
  if (!PyArg_ParseTuple(args, "OKK:philox_uniform", &out, &seed, &offset) || !fillable(out)) return nullptr;
  Fill f = {Fill::UNIFORM, seed, offset, 0, 1, 0, 0};
  return run_fill(as_tensor(out), f) ? Py_NewRef(out) : nullptr;
}

static PyObject *philox_normal(PyObject *, PyObject *args) {
  PyObject *out;
  unsigned long long seed, offset;
  double mean = 0, std = 1;
  if (!PyArg_ParseTuple(args, "OKK|dd:philox_normal", &out, &seed, &offset, &mean, &std) || !fillable(out)) return nullptr;
  Fill f = {Fill::NORMAL, seed, offset, mean, std, 0, 0};
  return run_fill(as_tensor(out), f) ? Py_NewRef(out) : nullptr;
}

static PyObject *philox_integers(PyObject *, PyObject *args) {
  PyObject *out;
  unsigned long long seed, offset;
  long long low, high;
  if (!PyArg_ParseTuple(args, "OKKLL:philox_integers", &out, &seed, &offset, &low, &high) || !fillable(out)) return nullptr;
  if (high <= low)
    return PyErr_Format(PyExc_RuntimeError, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld", low, high);
  Fill f = {Fill::INTEGERS, seed, offset, 0, 0, low, (uint64_t)high - (uint64_t)low};
  return run_fill(as_tensor(out), f) ? Py_NewRef(out) : nullptr;
}

// (out, size, seed, offset, dtype, device); of integers (out, low, high, size, seed, …)
template <Fill::Kind kind> static PyObject *draw_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  const int first = kind == Fill::INTEGERS ? 4 : 2;
  WeftTensor *out = nargs == first + 4 ? dense(args[0]) : nullptr;
  int64_t low = 0, high = 1;
  if (!out || dtype_kind(WEFT_DTYPE(out)) == KIND_COMPLEX || !PyLong_CheckExact(args[first]) || !PyLong_CheckExact(args[first + 1])) return not_for_these();
  if (kind == Fill::INTEGERS ? is_half(WEFT_DTYPE(out)) || !exact_int(args[1], &low) || !exact_int(args[2], &high) || high <= low : dtype_kind(WEFT_DTYPE(out)) != KIND_FLOAT)
    return not_for_these();
  const uint64_t seed = PyLong_AsUnsignedLongLong(args[first]), offset = PyLong_AsUnsignedLongLong(args[first + 1]);
  if (PyErr_Occurred()) return nullptr;
  const Fill f = {kind, seed, offset, 0, 1, low, (uint64_t)high - (uint64_t)low};
  return run_fill(out, f) ? written() : nullptr;
}

const NativeKernel draw_kernels[] = {{"rand_philox", WEFT_KERNEL(draw_kernel<Fill::UNIFORM>)},
                                     {"randn_philox", WEFT_KERNEL(draw_kernel<Fill::NORMAL>)},
                                     {"randint_philox", WEFT_KERNEL(draw_kernel<Fill::INTEGERS>)},
                                     {nullptr, nullptr}};

// 1 where a uniform number is below the element's probability, else 0. False: one is no probability.
template <class T, int width, class Uniform> static bool fill_chances(const T *chance, T *out, int64_t n, const Fill &f, Uniform uniform) {
  bool good = true;
  by_runs<width>(n, f, [&](const uint32_t *lanes, int64_t i, int64_t count) {
    T v[4 * kRun / width];
    if constexpr (width == 1) (weft_kernels.philox_uniform ? weft_kernels.philox_uniform : portable_floats<false>)(lanes, v);
    else
      for (int k = 0; k < 4 * kRun / width; k++) v[k] = uniform(lanes + k * width);
    for (int64_t k = 0; k < count; k++) {
      good &= chance[i + k] >= 0 && chance[i + k] <= 1;
      out[i + k] = v[k] < chance[i + k] ? T(1) : T(0);
    }
  });
  return good;
}

// bernoulli(input) of row-major floats
PyObject *fast_bernoulli(Call &call) {
  WeftTensor *x = call.tensor(0);
  const bool narrow = WEFT_DTYPE(x) == WEFT_FLOAT32;
  if (!call.usual(1) || !(x->word & WEFT_WORD_CONTIGUOUS) || (!narrow && WEFT_DTYPE(x) != WEFT_FLOAT64)) return UNHANDLED;
  Ref out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  char *to = weft_data(as_tensor(out.get()));
  const uint64_t counters = (uint64_t)(x->numel * (narrow ? 1 : 2) + 3) / 4;
  Fill f = {Fill::UNIFORM, 0, 0, 0, 1, 0, 0};
  philox_reserve(counters, &f.seed, &f.offset);
  const bool good = narrow ? fill_chances<float, 1>((const float *)weft_data(x), (float *)to, x->numel, f, [](const uint32_t *lane) { return philox_uniform(*lane); })
                           : fill_chances<double, 2>((const double *)weft_data(x), (double *)to, x->numel, f, [](const uint32_t *lane) { return philox_uniform64(lane[0], lane[1]); });
  if (good) {
    PyObject *result = out.get(), *input = as_object(x);
    if (records(x) && record(call.op->node_name, whole_backwards[WHOLE_FLAT], &input, 1, &result, 1, nullptr) < 0) return nullptr;
    return out.release();
  }
  return set_state(default_generator, f.seed, f.offset) ? UNHANDLED : nullptr;
}

// uniform_(input, from, to), normal_(input, mean, std) of row-major floats: the target is filled.
static bool fill_target(const Call &call, Fill::Kind kind, WeftTensor *t) {
  const double a = call[1].real, b = call[2].real, width = kind == Fill::UNIFORM ? b - a : b;
  const bool narrow = WEFT_DTYPE(t) == WEFT_FLOAT32;
  if (!(t->word & WEFT_WORD_CONTIGUOUS) || (!narrow && WEFT_DTYPE(t) != WEFT_FLOAT64)) return false;
  if (!(width >= 0) || !isfinite(narrow ? (float)a : a) || !isfinite(narrow ? (float)width : width)) return false;
  Fill f = {kind, 0, 0, a, width, 0, 0};
  philox_reserve((uint64_t)(t->numel * (narrow ? 1 : 2) + 3) / 4, &f.seed, &f.offset);
  if (narrow) fill_float((float *)weft_data(t), t->numel, f);
  else fill_double((double *)weft_data(t), t->numel, f);
  return true;
}

// name_(input, numbers, generator=None): what the op `name` gives for the same arguments is written into the target.
PyObject *fast_fill(Call &call) {
  constexpr int kMost = 4;
  const int n = call.binder->n - 1;
  WeftTensor *t = call.tensor(0);
  if (n > kMost || !call[n].none() || !t->numel || records(t)) return UNHANDLED;
  for (int i = 1; i < n; i++)
    if (is_tensor(call[i].object)) return UNHANDLED;
  for (int d = 0; d < WEFT_NDIM(t); d++)
    if (!t->strides[d] && t->sizes[d] > 1) return UNHANDLED;  // expanded: a warning
  if (check_inplace(t) < 0) return nullptr;
  const int code = call.op->code;
  if (code == DRAW_OTHER || !fill_target(call, code == DRAW_UNIFORM ? Fill::UNIFORM : Fill::NORMAL, t)) {
    const Ref base(PyObject_GetAttrString(as_object(call.op), "base"));
    PyObject *given[kMost];
    for (int i = 0; i < n; i++) given[i] = call[i].object;
    const Ref made(base ? PyObject_Vectorcall(base.get(), given, (size_t)n, nullptr) : nullptr);
    if (!made) return nullptr;
    WeftTensor *from = plain(made.get());
    if (!from || !copy_into(t, from)) return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_RuntimeError, "%R made numbers that its tensor does not take", base.get());
  }
  weft_bump_version(t);
  return Py_NewRef(call[0].object);
}

// Dropout of a run of numbers: what stays, times `scale`, where the uniform number is at least p.
WEFT_CLONES static void drop(int64_t n, const float *uniform, float p, const float *x, float scale, float *out) {
  for (int64_t i = 0; i < n; i++) {
    const float scaled = x[i] * scale;
    out[i] = uniform[i] >= p ? scaled : 0.0f;
  }
}
WEFT_CLONES static void note_kept(int64_t n, const float *uniform, float p, uint8_t *kept) {
  for (int64_t i = 0; i < n; i++) kept[i] = uniform[i] >= p;
}

static void cast_run(int from, int to, int64_t n, const void *in, void *out) {
  char *args[2] = {static_cast<char *>(const_cast<void *>(in)), static_cast<char *>(out)};
  const intptr_t count = n, steps[2] = {(intptr_t)weft_itemsize(from), (intptr_t)weft_itemsize(to)};
  weft_kernels.cast[from][to](args, &count, steps, nullptr);
}

// Of floats that are not float64; `kept` may be NULL.
static void drop_floats(int dtype, const char *x, char *out, uint8_t *kept, int64_t n, double p, const Fill &f) {
  const WeftPhiloxFloats uniform = weft_kernels.philox_uniform ? weft_kernels.philox_uniform : portable_floats<false>;
  const float least = (float)p, scale = (float)(1 / (1 - p));
  const int item = (int)weft_itemsize(dtype);
  by_runs<1>(n, f, [&](const uint32_t *lanes, int64_t i, int64_t count) {
    float v[4 * kRun], wide[4 * kRun];
    uniform(lanes, v);
    if (dtype == WEFT_FLOAT32) {
      drop(count, v, least, reinterpret_cast<const float *>(x) + i, scale, reinterpret_cast<float *>(out) + i);
    } else {
      cast_run(dtype, WEFT_FLOAT32, count, x + i * item, wide);
      drop(count, v, least, wide, scale, wide);
      cast_run(WEFT_FLOAT32, dtype, count, wide, out + i * item);
    }
    if (kept) note_kept(count, v, least, kept + i);
  });
}

static void drop_doubles(const double *x, double *out, uint8_t *kept, int64_t n, double p, const Fill &f) {
  const double scale = 1 / (1 - p);
  by_runs<2>(n, f, [&](const uint32_t *lanes, int64_t i, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
      const bool stays = philox_uniform64(lanes[2 * k], lanes[2 * k + 1]) >= p;
      out[i + k] = stays ? x[i + k] * scale : 0;
      if (kept) kept[i + k] = stays;
    }
  });
}

// Dropout of a row-major tensor with these numbers; also which elements stay, if `kept` is given. Both are empty where it is not handled.
static Ref dropped(WeftTensor *x, double p, uint64_t seed, uint64_t offset, Ref *kept) {
  const int dtype = WEFT_DTYPE(x);
  Ref out(empty((uint32_t)dtype, WEFT_NDIM(x), x->sizes, nullptr));
  if (kept) kept->reset(empty(WEFT_BOOL, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out || (kept && !*kept)) return Ref();
  const Fill f = {Fill::UNIFORM, seed, offset, 0, 1, 0, 0};
  char *to = weft_data(as_tensor(out.get()));
  uint8_t *stays = kept ? reinterpret_cast<uint8_t *>(weft_data(as_tensor(kept->get()))) : nullptr;
  const Released released(x->numel >= 65536);
  if (dtype == WEFT_FLOAT64) drop_doubles(reinterpret_cast<double *>(weft_data(x)), reinterpret_cast<double *>(to), stays, x->numel, p, f);
  else drop_floats(dtype, weft_data(x), to, stays, x->numel, p, f);
  return out;
}

static bool droppable(const WeftTensor *x, double p) {
  const int dtype = WEFT_DTYPE(x);
  const bool known = dtype == WEFT_FLOAT64 || dtype == WEFT_FLOAT32 || (is_half(dtype) && weft_kernels.cast[dtype][WEFT_FLOAT32] && weft_kernels.cast[WEFT_FLOAT32][dtype]);
  return known && x->word & WEFT_WORD_CONTIGUOUS && p > 0 && p < 1;
}

// dropout_kept(input, p, seed, offset) -> (result, kept)
PyObject *fast_dropout_kept(Call &call) {
  WeftTensor *x = call.tensor(0);
  const double p = call[1].real;
  if (!droppable(x, p)) return UNHANDLED;
  Ref kept;
  const Ref out(dropped(x, p, (uint64_t)call[2].integer, (uint64_t)call[3].integer, &kept));
  PyObject *results[] = {out.get(), kept.get()};
  return out && call.record(results, 2) ? named_results(call.op, results, 2) : nullptr;
}

// dropout(input, p, training, inplace), recorded as dropout_kept
PyObject *fast_dropout(Call &call) {
  WeftTensor *x = call.tensor(0);
  const double p = call[1].real;
  if (!call.truth(2) || call.truth(3) || !droppable(x, p)) return UNHANDLED;
  const bool recorded = records(x);
  NativeOp *op = core_ops[CORE_DROPOUT_KEPT];
  if (recorded && !op) return UNHANDLED;
  uint64_t seed, offset;
  philox_reserve((uint64_t)(x->numel * (WEFT_DTYPE(x) == WEFT_FLOAT64 ? 2 : 1) + 3) / 4, &seed, &offset);
  Ref kept;
  Ref out(dropped(x, p, seed, offset, recorded ? &kept : nullptr));
  PyObject *results[] = {out.get(), kept.get()};
  const Arg args[] = {Arg(x), call[1], Arg::of_integer((int64_t)seed), Arg::of_integer((int64_t)offset)};
  return out && (!recorded || record_op(op, args, 4, results, 2)) ? out.release() : nullptr;
}

static PyObject *philox_bits(PyObject *, PyObject *args) {
  unsigned long long seed, counter;
  if (!PyArg_ParseTuple(args, "KK:philox_bits", &seed, &counter)) return nullptr;
  Philox p = philox(seed, counter);
  return Py_BuildValue("IIII", p.lane[0], p.lane[1], p.lane[2], p.lane[3]);
}

static PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, "start again at (seed, 0); returns the generator"},
    {"initial_seed", generator_initial_seed, METH_NOARGS, "the seed in use"},
    {"reserve", generator_reserve, METH_O, "reserve(counters) -> (seed, first counter)"},
    {"get_state", generator_get_state, METH_NOARGS, "(seed, next counter)"},
    {"set_state", generator_set_state, METH_O, "set_state((seed, next counter))"},
    {nullptr, nullptr, 0, nullptr}};
static PyMemberDef generator_members[] = {
    {"offset", T_ULONGLONG, offsetof(Generator, offset), READONLY, "the next counter"},
    {nullptr, 0, 0, 0, nullptr}};
static PyGetSetDef generator_getset[] = {{"device", generator_device, nullptr, "the device it was made for", nullptr}, {}};
static PyType_Slot generator_slots[] = {
    {Py_tp_new, (void *)generator_new},
    {Py_tp_methods, generator_methods},
    {Py_tp_members, generator_members},
    {Py_tp_getset, generator_getset},
    {Py_tp_doc, (void *)"Generator(device='cpu'): a Philox4x32-10 stream: a seed and the next counter."},
    {0, nullptr}};
static PyType_Spec generator_spec = {"weft.Generator", sizeof(Generator), 0, Py_TPFLAGS_DEFAULT, generator_slots};

PyMethodDef philox_functions[] = {
    {"philox_reserve", reserve_default, METH_O, "philox_reserve(counters) -> (seed, offset) of the default generator"},
    {"manual_seed", manual_seed, METH_O, "seed the default generator, and return it"},
    {"philox_bits", philox_bits, METH_VARARGS, "philox_bits(seed, counter) -> four 32-bit lanes"},
    {"philox_uniform", philox_uniform_, METH_VARARGS, "philox_uniform(out, seed, offset): fill with [0, 1)"},
    {"philox_normal", philox_normal, METH_VARARGS, "philox_normal(out, seed, offset, mean=0, std=1)"},
    {"philox_integers", philox_integers, METH_VARARGS, "philox_integers(out, seed, offset, low, high): fill with [low, high)"},
    {nullptr, nullptr, 0, nullptr}};

bool init_philox(PyObject *module) {
  generator_type = add_type(module, &generator_spec);
  if (!generator_type) return false;
  default_generator = of(generator_type->tp_alloc(generator_type, 0));
  if (!default_generator) return false;
  default_generator->seed = kDefaultSeed;
  Ref draws_capsule(PyCapsule_New((void *)&capsule_content, "aten._native._DRAWS", nullptr));
  if (!draws_capsule || PyModule_AddObjectRef(module, "_DRAWS", draws_capsule.get()) < 0) return false;
  return PyModule_AddObjectRef(module, "default_generator", as_object(default_generator)) == 0;
}

}  // namespace weft
