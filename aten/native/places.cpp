// places.cpp: the loops of places.h.
//
// Indices are read once, checked, and made offsets, a chunk at a time: what was found in range is what is used, whoever writes the
// index meanwhile. Equal places add up in the order of the indices, whatever the layout.
#include "places.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <complex>

#include "clones.h"
#include "by_dtype.h"
#include "native_kernel.h"
#include "released.h"

namespace weft {

bool Places::add_index(const WeftTensor *t, int64_t far_extent, int64_t far_stride) {
  const int k = n_indices, extra = ndim - WEFT_NDIM(t);
  if (k == kMaxIndices || extra < 0 || WEFT_DEVICE_TYPE(t) != WEFT_CPU || WEFT_DTYPE(t) != WEFT_INT64) return false;
  for (int d = 0; d < ndim; d++) {
    const int64_t size = d < extra ? 1 : t->sizes[d - extra];
    if (size != 1 && size != sizes[d]) return false;
    index_steps[k][d] = size == 1 ? 0 : t->strides[d - extra];
  }
  index[k] = reinterpret_cast<const int64_t *>(weft_data(const_cast<WeftTensor *>(t)));
  extent[k] = far_extent, stride[k] = far_stride;
  n_indices++;
  return true;
}

void Places::make_blocks(int dim) {
  for (int d = 0; d < ndim; d++) {
    if (d == dim || sizes[d] < 2 || index_steps[0][d]) continue;
    add_block(sizes[d], far_steps[d], near_steps[d]);
    sizes[d] = 1, far_steps[d] = near_steps[d] = 0;
  }
}

int64_t Places::count() const {
  int64_t n = 1;
  for (int d = 0; d < ndim; d++) n *= sizes[d];
  return n;
}

namespace {

constexpr int64_t kChunk = 256;  // of indices: 2 KB, which are copied by vectors; what is longer goes by slower instructions of the processor
constexpr int64_t kAway = 16384;  // elements from which on the GIL is given up

// Adjacent dims that step as one become one; dims of size 1 go.
template <class Mergeable, class Keep> int merged(int ndim, int64_t *sizes, Mergeable mergeable, Keep keep) {
  int n = 0;
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == 1) continue;
    if (n && mergeable(n - 1, d)) {
      const int64_t size = sizes[n - 1] * sizes[d];
      keep(n - 1, d), sizes[n - 1] = size;
    } else {
      const int64_t size = sizes[d];
      keep(n, d), sizes[n++] = size;
    }
  }
  return n;
}

void collapse(Places &p) {
  p.ndim = merged(
      p.ndim, p.sizes,
      [&](int a, int d) {
        bool fits = p.near_steps[a] == p.near_steps[d] * p.sizes[d] && p.far_steps[a] == p.far_steps[d] * p.sizes[d];
        for (int k = 0; k < p.n_indices; k++) fits = fits && p.index_steps[k][a] == p.index_steps[k][d] * p.sizes[d];
        return fits;
      },
      [&](int to, int from) {
        p.near_steps[to] = p.near_steps[from], p.far_steps[to] = p.far_steps[from];
        for (int k = 0; k < p.n_indices; k++) p.index_steps[k][to] = p.index_steps[k][from];
      });
  p.block_ndim = merged(
      p.block_ndim, p.block_sizes,
      [&](int a, int d) { return p.block_far[a] == p.block_far[d] * p.block_sizes[d] && p.block_near[a] == p.block_near[d] * p.block_sizes[d]; },
      [&](int to, int from) { p.block_far[to] = p.block_far[from], p.block_near[to] = p.block_near[from]; });
}

template <PlaceOp op, class T> inline void apply(T &far, T &near) {
  if constexpr (op == PlaceOp::TAKE) near = far;
  else if constexpr (op == PlaceOp::PUT) far = near;
  else if constexpr (op == PlaceOp::ADD) far += near;
  else if constexpr (op == PlaceOp::MULTIPLY) far *= near;
  else if constexpr (op == PlaceOp::MAXIMUM) far = (far > near) | (far != far) ? far : near;  // a NaN stays, and comes in
  else far = (far < near) | (far != far) ? far : near;
}

// A function of its own, so that its loop is one of vectors wherever it is called from.
template <PlaceOp op, class T> __attribute__((noinline, optimize("O3"))) void combine_row(int64_t n, T *__restrict far, T *__restrict near) {
  for (int64_t i = 0; i < n; i++) apply<op>(far[i], near[i]);
}

template <class T> __attribute__((noinline, optimize("O3"))) void fill_row(int64_t n, T *far, T value) {
  for (int64_t i = 0; i < n; i++) far[i] = value;
}

template <PlaceOp op, class T> void apply_row(int64_t n, T *far, int64_t far_step, T *near, int64_t near_step) {
  if constexpr (op == PlaceOp::PUT)
    if (far_step == 1 && near_step == 0) return fill_row(n, far, *near);
  if (far_step == 1 && near_step == 1) {
    if constexpr (op == PlaceOp::TAKE) memcpy(near, far, (size_t)n * sizeof(T));
    else if constexpr (op == PlaceOp::PUT) memcpy(far, near, (size_t)n * sizeof(T));
    else combine_row<op>(n, far, near);
  } else {
    for (int64_t i = 0; i < n; i++) apply<op>(far[i * far_step], near[i * near_step]);
  }
}

template <PlaceOp op, class T> void apply_block(const Places &p, int d, T *far, T *near) {
  if (d + 1 == p.block_ndim) return apply_row<op>(p.block_sizes[d], far, p.block_far[d], near, p.block_near[d]);
  for (int64_t i = 0; i < p.block_sizes[d]; i++) apply_block<op>(p, d + 1, far + i * p.block_far[d], near + i * p.block_near[d]);
}

// Elements of a loop in one turn. (GCC 12 forgets at link time that a function has loops of unknown length to unroll.)
constexpr int kTogether = 8;

// A chunk of indices at every place of the block, one after the other: for blocks whose elements lie apart.
template <PlaceOp op, class T> void apply_across(const Places &p, int d, T *far, T *near, const int64_t *offsets, int64_t n, int64_t step) {
  if (d < p.block_ndim) {
    for (int64_t i = 0; i < p.block_sizes[d]; i++)
      apply_across<op>(p, d + 1, far + i * p.block_far[d], near + i * p.block_near[d], offsets, n, step);
  } else if (step == 1) {
    int64_t i = 0;
    for (; i + kTogether <= n; i += kTogether) {
#pragma GCC unroll 8
      for (int k = 0; k < kTogether; k++) apply<op>(far[offsets[i + k]], near[i + k]);
    }
    for (; i < n; i++) apply<op>(far[offsets[i]], near[i]);
  } else {
    for (int64_t i = 0; i < n; i++) apply<op>(far[offsets[i]], near[i * step]);
  }
}

struct Job {
  Places *places;
  std::atomic<bool> bad{false};
};

// at[i], an index into `extent` elements, becomes where that lies, and is added to offsets[i]. Whether all of them are in range: no branch,
// so that the loop is one of vectors.
WEFT_CLONES bool add_places(int64_t n, const int64_t *at, bool wraps, int64_t extent, int64_t stride, int64_t *offsets) {
  uint64_t outside = 0;
  const int64_t back = wraps ? extent : 0;
  if (stride == 1) {
    for (int64_t i = 0; i < n; i++) {
      const int64_t place = at[i] + (at[i] < 0 ? back : 0);
      outside |= (uint64_t)(place | (extent - 1 - place)) >> 63;
      offsets[i] += place;
    }
  } else {
    for (int64_t i = 0; i < n; i++) {
      const int64_t place = at[i] + (at[i] < 0 ? back : 0);
      outside |= (uint64_t)(place | (extent - 1 - place)) >> 63;
      offsets[i] += place * stride;
    }
  }
  return !outside;
}

// A copy of n indices; they are not read again, whatever the compiler could do.
void read_index(const int64_t *index, int64_t step, int64_t n, int64_t *at) {
  if (step == 1) memcpy(at, index, (size_t)n * sizeof(int64_t));
  else if (step == 0) std::fill(at, at + n, __atomic_load_n(index, __ATOMIC_RELAXED));
  else
    for (int64_t i = 0; i < n; i++) at[i] = __atomic_load_n(index + i * step, __ATOMIC_RELAXED);
  __asm__ volatile("" : : "r"(at) : "memory");
}

// Offsets of n places along the last dim, from `position` of each index on. False: one is out of range.
bool find_offsets(Job &job, const int64_t *position, int64_t far, int64_t n, int64_t *offsets) {
  Places &p = *job.places;
  const int last = p.ndim - 1;
  const int64_t along = last < 0 ? 0 : p.far_steps[last];
  for (int64_t i = 0; i < n; i++) offsets[i] = far + i * along;
  int64_t at[kChunk];
  for (int k = 0; k < p.n_indices; k++) {
    const int64_t *index = p.index[k] + position[k], step = last < 0 ? 0 : p.index_steps[k][last], extent = p.extent[k];
    read_index(index, step, n, at);
    if (add_places(n, at, p.wraps, extent, p.stride[k], offsets)) continue;
    const int64_t *bad = std::find_if(at, at + n, [&](int64_t i) { return i < (p.wraps ? -extent : 0) || i >= extent; });
    if (!job.bad.exchange(true)) p.bad_index = k, p.bad_value = *bad;
    return false;
  }
  return true;
}

// Steps through the dims before the last, in elements: of the first index, of `far` and of `near`.
struct Walk {
  const Places &p;
  int64_t at[WEFT_MAX_NDIM], index = 0, far = 0, near = 0;

  Walk(const Places &places, int64_t row) : p(places) {
    for (int d = p.ndim - 2; d >= 0; d--) at[d] = row % p.sizes[d], row /= p.sizes[d], move(d, at[d]);
  }
  void move(int d, int64_t n) { index += n * p.index_steps[0][d], far += n * p.far_steps[d], near += n * p.near_steps[d]; }
  void next() {
    for (int d = p.ndim - 2; d >= 0; d--) {
      move(d, 1);
      if (++at[d] < p.sizes[d]) return;
      move(d, -at[d]), at[d] = 0;
    }
  }
};

// How a run of one index lies. DENSE: indices and elements of `near` are adjacent. LINE: also, indices are places in one adjacent line,
// and not negative. RING: the same, but negative ones count from its end.
enum class Run { APART, DENSE, LINE, RING };

// A run of one index whose elements move one by one: each is read once, checked and used. The number of those in range that came first.
template <PlaceOp op, class T, Run run> int64_t apply_run(const Places &p, int64_t n, const int64_t *index, T *far, T *near) {
  const int last = p.ndim - 1;
  const int64_t extent = p.extent[0];
  if constexpr (run == Run::LINE || run == Run::RING) {
    int64_t i = 0;
    const auto take = [&](int64_t at) {
      const int64_t given = __atomic_load_n(index + at, __ATOMIC_RELAXED), place = run == Run::RING ? given + (given >> 63 & extent) : given;
      const bool inside = __builtin_expect((uint64_t)place < (uint64_t)extent, 1);
      if (inside) apply<op>(far[place], near[at]);
      return inside;
    };
    for (; i + kTogether <= n; i += kTogether) {
#pragma GCC unroll 8
      for (int k = 0; k < kTogether; k++)
        if (!take(i + k)) return i + k;
    }
    for (; i < n; i++)
      if (!take(i)) return i;
    return n;
  }
  constexpr bool dense = run == Run::DENSE;
  const int64_t index_step = dense ? 1 : p.index_steps[0][last], near_step = dense ? 1 : p.near_steps[last], along = p.far_steps[last];
  const int64_t stride = p.stride[0], back = p.wraps ? extent : 0;
  for (int64_t i = 0; i < n; i++, far += along) {
    const int64_t given = __atomic_load_n(index + i * index_step, __ATOMIC_RELAXED), place = given + (given >> 63 & back);
    if ((uint64_t)place >= (uint64_t)extent) return i;
    apply<op>(far[place * stride], near[i * near_step]);
  }
  return n;
}

template <PlaceOp op, class T> void run_elements(Job &job, int64_t begin, int64_t end) {
  Places &p = *job.places;
  const int last = p.ndim - 1;
  const int64_t length = p.sizes[last], index_step = p.index_steps[0][last], near_step = p.near_steps[last];
  const bool dense = index_step == 1 && near_step == 1, line = dense && p.stride[0] == 1 && p.far_steps[last] == 0;
  const auto apply_some = line && p.wraps ? apply_run<op, T, Run::RING>
                          : line          ? apply_run<op, T, Run::LINE>
                          : dense         ? apply_run<op, T, Run::DENSE>
                                          : apply_run<op, T, Run::APART>;
  Walk walk(p, begin / length);
  int64_t column = begin % length, polled = begin;
  for (int64_t i = begin; i < end && !job.bad;) {
    const int64_t n = std::min({end - i, length - column, kAway});
    const int64_t *index = p.index[0] + walk.index + column * index_step;
    T *far = reinterpret_cast<T *>(p.far) + walk.far + column * p.far_steps[last], *near = reinterpret_cast<T *>(p.near) + walk.near + column * near_step;
    const int64_t done = apply_some(p, n, index, far, near);
    if (done < n) {
      if (!job.bad.exchange(true)) p.bad_index = 0, p.bad_value = index[done * index_step];
      return;
    }
    i += n, column += n;
    if (column == length) column = 0, walk.next();
    if (i - polled > kAway) poll_signals(), polled = i;
  }
}

template <PlaceOp op, class T> void run_range(void *context, int64_t begin, int64_t end, int64_t) {
  Job &job = *static_cast<Job *>(context);
  const Places &p = *job.places;
  const int last = p.ndim - 1;
  if (p.n_indices == 1 && p.block_ndim == 0 && last >= 0) return run_elements<op, T>(job, begin, end);
  const int64_t length = last < 0 ? 1 : p.sizes[last], near_step = last < 0 ? 0 : p.near_steps[last];
  const bool across = p.block_ndim == 0 || p.block_far[p.block_ndim - 1] != 1;
  int64_t offsets[kChunk], polled = begin;
  for (int64_t i = begin; i < end && !job.bad;) {
    int64_t rest = i / length, column = i % length, position[kMaxIndices], far = 0, near = column * near_step;
    const int64_t n = std::min({end - i, length - column, kChunk});
    for (int k = 0; k < p.n_indices; k++) position[k] = last < 0 ? 0 : column * p.index_steps[k][last];
    if (last >= 0) far = column * p.far_steps[last];
    for (int d = last - 1; d >= 0; d--) {
      const int64_t at = rest % p.sizes[d];
      rest /= p.sizes[d];
      far += at * p.far_steps[d], near += at * p.near_steps[d];
      for (int k = 0; k < p.n_indices; k++) position[k] += at * p.index_steps[k][d];
    }
    if (!find_offsets(job, position, far, n, offsets)) return;
    T *a = reinterpret_cast<T *>(p.far), *b = reinterpret_cast<T *>(p.near) + near;
    if (across) apply_across<op>(p, 0, a, b, offsets, n, near_step);
    else
      for (int64_t j = 0; j < n; j++) apply_block<op>(p, 0, a + offsets[j], b + j * near_step);
    i += n;
    if (i - polled > kAway) poll_signals(), polled = i;
  }
}

typedef void (*Body)(void *, int64_t, int64_t, int64_t);

template <PlaceOp op> Body mover(int item) {
  return by_size<Body>(item, nullptr, [](auto type) -> Body { return run_range<op, typename decltype(type)::type>; });
}

template <PlaceOp op> Body combiner(int dtype) {
  constexpr bool ordered = op == PlaceOp::MAXIMUM || op == PlaceOp::MINIMUM;
  if constexpr (op == PlaceOp::ADD) {
    if (dtype == WEFT_COMPLEX64) return run_range<op, std::complex<float>>;
    if (dtype == WEFT_COMPLEX128) return run_range<op, std::complex<double>>;
  }
  return by_dtype<Body>(dtype, nullptr, [](auto type) -> Body {
    typedef typename decltype(type)::type T;
    if constexpr (!std::is_same<T, bool>::value) return run_range<op, T>;
    else if constexpr (ordered) return run_range<op, uint8_t>;
    else return nullptr;
  });
}

Body body_of(PlaceOp op, int dtype) {
  switch (op) {
    case PlaceOp::TAKE: return mover<PlaceOp::TAKE>((int)weft_itemsize(dtype));
    case PlaceOp::PUT: return mover<PlaceOp::PUT>((int)weft_itemsize(dtype));
    case PlaceOp::ADD: return combiner<PlaceOp::ADD>(dtype);
    case PlaceOp::MULTIPLY: return combiner<PlaceOp::MULTIPLY>(dtype);
    case PlaceOp::MAXIMUM: return combiner<PlaceOp::MAXIMUM>(dtype);
    default: return combiner<PlaceOp::MINIMUM>(dtype);
  }
}

}  // namespace

bool has_place_op(PlaceOp op, int dtype) { return body_of(op, dtype) != nullptr; }

bool run_places(Places &places, PlaceOp op, int dtype) {
  const int64_t count = places.count();
  int64_t block = 1;
  for (int d = 0; d < places.block_ndim; d++) block *= places.block_sizes[d];
  if (count == 0) return true;
  if (block == 0) places.block_ndim = 0, places.far = places.near = nullptr;
  collapse(places);
  Job job{&places};
  if (block == 0) {  // no element moves, but the indices are checked
    int64_t offsets[kChunk];
    Places &p = places;
    const int last = p.ndim - 1;
    const int64_t length = last < 0 ? 1 : p.sizes[last];
    for (int64_t i = 0; i < count;) {
      int64_t rest = i / length, column = i % length, position[kMaxIndices];
      const int64_t n = std::min(length - column, kChunk);
      for (int k = 0; k < p.n_indices; k++) position[k] = last < 0 ? 0 : column * p.index_steps[k][last];
      for (int d = last - 1; d >= 0; d--) {
        for (int k = 0; k < p.n_indices; k++) position[k] += rest % p.sizes[d] * p.index_steps[k][d];
        rest /= p.sizes[d];
      }
      if (!find_offsets(job, position, 0, n, offsets)) return false;
      i += n;
    }
    return true;
  }
  const Body body = body_of(op, dtype);
  Released released(count * block >= kAway);
  if (op == PlaceOp::TAKE && count * block >= 2 * kAway) kernel_runtime()->parallel_for(count, std::max<int64_t>(1, kAway / block), body, &job);
  else body(&job, 0, count, 0);
  return !job.bad;
}

namespace {

const char *const op_names[] = {"take", "put", "add", "multiply", "maximum", "minimum"};

PyObject *refuse() {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "at_places: expected CPU tensors, indices of int64, and values of their sizes and of the dtype of `out`");
  return nullptr;
}

// at_places(name, out, indices, values): out[indices] += values, or another of the ops; the leading dims of `out` are indexed.
PyObject *at_places(PyObject *, PyObject *args) {
  PyObject *to, *indices, *from;
  const char *name;
  if (!PyArg_ParseTuple(args, "sOO!O:at_places", &name, &to, &PyTuple_Type, &indices, &from)) return nullptr;
  int code = 1;  // what writes
  while (code < 6 && strcmp(op_names[code], name)) code++;
  if (code == 6) return PyErr_Format(PyExc_ValueError, "at_places: there is no %s", name);
  const PlaceOp op = (PlaceOp)code;
  if (!is_tensor(to) || !is_tensor(from)) return refuse();
  WeftTensor *out = as_tensor(to), *values = as_tensor(from);
  const int dtype = WEFT_DTYPE(out), n = (int)PyTuple_GET_SIZE(indices);
  if (!need_memory(out, "at_places") || !need_memory(values, "at_places")) return nullptr;
  if (WEFT_DEVICE_TYPE(out) != WEFT_CPU || WEFT_DEVICE_TYPE(values) != WEFT_CPU || dtype != WEFT_DTYPE(values) || !has_place_op(op, dtype)) return refuse();
  Places places;
  if (n < 1 || n > WEFT_NDIM(out)) return refuse();
  for (int k = 0; k < n; k++) {
    PyObject *item = PyTuple_GET_ITEM(indices, k);
    if (!is_tensor(item) || !need_memory(as_tensor(item), "at_places")) return refuse();
    WeftTensor *index = as_tensor(item);
    if (k == 0) std::copy(index->sizes, index->sizes + WEFT_NDIM(index), places.sizes), places.ndim = WEFT_NDIM(index);
    if (!places.add_index(index, out->sizes[k], out->strides[k])) return refuse();
  }
  const int rest = WEFT_NDIM(out) - n;
  if (WEFT_NDIM(values) != places.ndim + rest) return refuse();
  for (int d = 0; d < places.ndim; d++) {
    if (values->sizes[d] != places.sizes[d]) return refuse();
    places.near_steps[d] = values->strides[d];
  }
  for (int d = 0; d < rest; d++) {
    if (values->sizes[places.ndim + d] != out->sizes[n + d]) return refuse();
    places.add_block(out->sizes[n + d], out->strides[n + d], values->strides[places.ndim + d]);
  }
  places.far = weft_data(out), places.near = weft_data(values);
  if (!run_places(places, op, dtype)) {
    if (places.extent[places.bad_index] == 0)
      return PyErr_Format(PyExc_IndexError, "index is out of bounds for dimension with size 0: %lld in dimension %d",
                          (long long)places.bad_value, places.bad_index);
    return PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %d with size %lld", (long long)places.bad_value,
                        places.bad_index, (long long)places.extent[places.bad_index]);
  }
  Py_RETURN_NONE;
}

// one_hot(index, n): 1 at each index, 0 elsewhere, in a new last dim of n (-1: one more than the largest). None: `index` is no int64 tensor of
// the CPU, or one of it is out of range.
PyObject *one_hot(PyObject *, PyObject *args) {
  PyObject *object;
  long long given;
  if (!PyArg_ParseTuple(args, "OL:one_hot", &object, &given)) return nullptr;
  WeftTensor *index = is_tensor(object) ? as_tensor(object) : nullptr;
  if (!index || WEFT_DEVICE_TYPE(index) != WEFT_CPU || WEFT_DTYPE(index) != WEFT_INT64 || !index->numel || WEFT_NDIM(index) == WEFT_MAX_NDIM) Py_RETURN_NONE;
  if (!need_memory(index, "one_hot")) return nullptr;
  const Ref kept(row_major(index));
  if (!kept) return nullptr;
  const int64_t *at = reinterpret_cast<const int64_t *>(weft_data(as_tensor(kept.get()))), count = index->numel;
  int64_t least = 0, most = 0;
  for (int64_t i = 0; i < count; i++) least = std::min(least, at[i]), most = std::max(most, at[i]);
  int64_t n = given, sizes[WEFT_MAX_NDIM], total;
  if (n == -1 && __builtin_add_overflow(most, 1, &n)) Py_RETURN_NONE;
  if (least < 0 || most >= n || __builtin_mul_overflow(count, n, &total) || total > INT64_MAX / 8) Py_RETURN_NONE;
  std::copy(index->sizes, index->sizes + WEFT_NDIM(index), sizes);
  sizes[WEFT_NDIM(index)] = n;
  Ref out(empty((uint32_t)WEFT_INT64, WEFT_NDIM(index) + 1, sizes, nullptr));
  if (!out) return nullptr;
  int64_t *to = reinterpret_cast<int64_t *>(weft_data(as_tensor(out.get())));
  Released released(total >= kAway);
  memset(to, 0, (size_t)total * sizeof(int64_t));
  for (int64_t i = 0; i < count; i++) {
    const int64_t place = __atomic_load_n(at + i, __ATOMIC_RELAXED);
    if ((uint64_t)place < (uint64_t)n) to[i * n + place] = 1;  // (another thread may have written it)
  }
  return out.release();
}

}  // namespace

PyMethodDef places_functions[] = {
    {"at_places", guarded<at_places>, METH_VARARGS, "at_places(name, out, indices, values): out[indices] op= values, repeated places in order"},
    {"one_hot", guarded<one_hot>, METH_VARARGS, "one_hot(index, n): 1 at the index, 0 elsewhere, in a new last dim; None where one is out of range"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
