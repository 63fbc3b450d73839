// structure_kernels.cpp: kernels of ops that move elements: padding, triangles, diagonals, windows.
#include <string.h>

#include <algorithm>
#include <vector>

#include "by_dtype.h"
#include "native_kernel.h"

namespace weft {

void fill_items(char *to, int64_t n, const char *value, int item) {
  bool same = true;
  for (int i = 1; i < item; i++) same = same && value[i] == value[0];
  if (same) {
    memset(to, (unsigned char)value[0], (size_t)(n * item));
    return;
  }
  for (int64_t i = 0; i < n; i++) memcpy(to + i * item, value, (size_t)item);
}

namespace {

// ------------------------------------------------------------------------------------------------------ padding
enum PadMode { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

// The place of [0, n) that shows at place i of the longer dim, i counted from the first element.
inline int64_t shown_at(PadMode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case PAD_REFLECT: {
      const int64_t back = n - 1 - (i < 0 ? -i : i);
      return n - 1 - (back < 0 ? -back : back);
    }
    case PAD_REPLICATE: return i < 0 ? 0 : n - 1;
    case PAD_CIRCULAR: return (i % n + n) % n;
    default: return -1;
  }
}

// Rows of the padded tensor (its last dim) and the rows of the plain one that they show.
struct Padding {
  PadMode mode;
  int ndim, item;
  int64_t wide[WEFT_MAX_NDIM], sizes[WEFT_MAX_NDIM], before[WEFT_MAX_NDIM];
  int64_t steps[WEFT_MAX_NDIM];  // of the plain tensor, in elements

  // `pad` lists (before, after) from the last dim on. False: not well-formed.
  bool read(PadMode how, const WeftTensor *padded, const WeftTensor *plain_one, PyObject *pad) {
    int64_t given[2 * WEFT_MAX_NDIM];
    mode = how, ndim = WEFT_NDIM(padded), item = (int)weft_itemsize(WEFT_DTYPE(padded));
    if (!PyList_Check(pad) || PyList_GET_SIZE(pad) > 2 * ndim || PyList_GET_SIZE(pad) % 2 || ndim != WEFT_NDIM(plain_one) || !ndim) return false;
    const int n = (int)PyList_GET_SIZE(pad);
    for (int i = 0; i < n; i++)
      if (!exact_int(PyList_GET_ITEM(pad, i), &given[i])) return false;
    for (int d = 0; d < ndim; d++) {
      const int k = ndim - 1 - d;
      before[d] = 2 * k < n ? given[2 * k] : 0;
      wide[d] = padded->sizes[d], sizes[d] = plain_one->sizes[d], steps[d] = plain_one->strides[d];
      if (wide[d] != sizes[d] + before[d] + (2 * k < n ? given[2 * k + 1] : 0)) return false;
      if (mode != PAD_CONSTANT && sizes[d] == 0 && wide[d]) return false;
      if (mode == PAD_REFLECT && std::max(before[d], wide[d] - sizes[d] - before[d]) >= std::max<int64_t>(sizes[d], 1)) return false;
    }
    return true;
  }
  int64_t rows() const {
    int64_t n = 1;
    for (int d = 0; d < ndim - 1; d++) n *= wide[d];
    return n;
  }
  // Where the plain row starts, in elements; -1: there is none.
  int64_t row_at(const int64_t *places) const {
    int64_t at = 0;
    for (int d = ndim - 2; d >= 0; d--) {
      const int64_t place = shown_at(mode, places[d] - before[d], sizes[d]);
      if (place < 0) return -1;
      at += place * steps[d];
    }
    return at;
  }
  // The same of the plane of a row's place.
  int64_t plane_at(const int64_t *places) const {
    int64_t at = 0;
    for (int d = ndim - 3; d >= 0; d--) {
      const int64_t place = shown_at(mode, places[d] - before[d], sizes[d]);
      if (place < 0) return -1;
      at += place * steps[d];
    }
    return at;
  }
  void find(int64_t row, int64_t *places) const {
    for (int d = ndim - 2; d >= 0; d--) places[d] = row % wide[d], row /= wide[d];
  }
  void next(int64_t *places) const {
    for (int d = ndim - 2; d >= 0 && ++places[d] == wide[d]; d--) places[d] = 0;
  }
  // The part of a padded row that is a part of the plain one, and where that begins.
  void middle(int64_t *first, int64_t *last, int64_t *from) const {
    const int d = ndim - 1;
    *first = std::min(std::max<int64_t>(before[d], 0), wide[d]);
    *from = std::max<int64_t>(-before[d], 0);
    *last = std::max(*first, std::min(wide[d], sizes[d] + before[d]));
  }
};

struct PadJob {
  Padding p;
  const char *in;
  char *out;
  char value[16];

  struct Middle {
    int64_t first, last, from;
  };

  // Rows [y, y_end) where the plain one's rows are copied together, and what lies between two of them is filled at once.
  template <class T> void framed_rows(const T *plane, int64_t y, int64_t y_end, T fill, const Middle &m, T *to) const {
    const int d = p.ndim - 1;
    const int64_t n = p.wide[d], gap = n - m.last + m.first, step = d ? p.steps[d - 1] : 0, above = d ? p.before[d - 1] : 0;
    T *end = to + (y_end - y) * n;
    const int64_t begin = std::clamp(above, y, y_end), inside_end = d ? std::clamp(above + p.sizes[d - 1], begin, y_end) : y_end;
    if (!plane || begin == inside_end) return std::fill(to, end, fill);
    T *inside = to + (begin - y) * n, *last_row = to + (inside_end - 1 - y) * n;
    std::fill(to, inside + m.first, fill);
    weft_kernels.copy_rows(reinterpret_cast<const char *>(plane + (begin - above) * step + m.from), step * (intptr_t)sizeof(T),
                           reinterpret_cast<char *>(inside + m.first), n * (intptr_t)sizeof(T), inside_end - begin, (m.last - m.first) * (int64_t)sizeof(T));
    for (T *row = inside; gap && row < last_row; row += n)
      for (int64_t i = 0; i < gap; i++) row[m.last + i] = fill;
    std::fill(last_row + m.last, end, fill);
  }

  // Rows [y, y_end) of a plane of the padded tensor that begins at `plane` in the plain one (NULL: outside of it).
  template <class T> void plane_rows(const T *plane, int64_t y, int64_t y_end, const int64_t *border, T *to) const {
    const int d = p.ndim - 1;
    const int64_t n = p.wide[d], step = p.steps[d];
    int64_t first, last, from;
    p.middle(&first, &last, &from);
    T fill;
    memcpy(&fill, value, sizeof fill);
    const int64_t bytes = (last - first) * (int64_t)sizeof(T);
    if (p.mode == PAD_CONSTANT && step == 1 && bytes >= 4 && bytes <= WEFT_LONGEST_COPY && weft_kernels.copy_rows)
      return framed_rows(plane, y, y_end, fill, {first, last, from}, to);
    for (; y < y_end; y++, to += n) {
      const int64_t place = !d ? 0 : shown_at(p.mode, y - p.before[d - 1], p.sizes[d - 1]);
      if (!plane || place < 0) {
        std::fill(to, to + n, fill);
        continue;
      }
      const T *row = plane + (d ? place * p.steps[d - 1] : 0);
      if (p.mode == PAD_CONSTANT) {
        std::fill(to, to + first, fill);
        std::fill(to + last, to + n, fill);
      } else {
        const int64_t *source = border;
        for (int64_t i = 0; i < first; i++) to[i] = row[*source++];
        for (int64_t i = last; i < n; i++) to[i] = row[*source++];
      }
      if (last <= first) continue;  // (of an empty tensor there may be no memory at all)
      if (step == 1) memcpy(to + first, row + from, (size_t)(last - first) * sizeof(T));
      else
        for (int64_t i = first; i < last; i++) to[i] = row[(from + i - first) * step];
    }
  }

  template <class T> static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const PadJob &job = *static_cast<PadJob *>(context);
    const Padding &p = job.p;
    const int d = p.ndim - 1;
    const int64_t n = p.wide[d], height = d ? p.wide[d - 1] : 1;
    int64_t first, last, from, places[WEFT_MAX_NDIM];
    p.middle(&first, &last, &from);
    std::vector<int64_t> border;  // where the elements beside a row's middle come from, in elements
    for (int64_t i = 0; i < n && p.mode != PAD_CONSTANT; i++)
      if (i < first || i >= last) border.push_back(shown_at(p.mode, i - p.before[d], p.sizes[d]) * p.steps[d]);
    T *to = reinterpret_cast<T *>(job.out) + begin * n;
    for (int64_t r = begin; r < end;) {
      p.find(r, places);
      const int64_t y = d ? places[d - 1] : 0, rows = std::min(end - r, height - y), at = p.plane_at(places);
      job.plane_rows(at < 0 ? nullptr : reinterpret_cast<const T *>(job.in) + at, y, y + rows, border.data(), to);
      r += rows, to += rows * n;
    }
  }
};

PyObject *padded_into(PyObject *to, PyObject *from, PyObject *pad, PadMode mode, PyObject *value) {
  WeftTensor *out = dense(to), *x = plain(from);
  PadJob job = {{}, nullptr, nullptr, {}};
  if (!out || !x || WEFT_DTYPE(out) != WEFT_DTYPE(x)) return not_for_these();
  Ref rows(has_dense_rows(x) ? Py_NewRef(from) : row_major(x).release());
  if (!rows) return PyErr_Occurred() ? nullptr : not_for_these();
  x = as_tensor(rows.get());
  if (!job.p.read(mode, out, x, pad)) return not_for_these();
  if (value && (!(PyLong_Check(value) || PyFloat_CheckExact(value)) || !write_scalar(job.value, WEFT_DTYPE(out), value))) {
    PyErr_Clear();
    return not_for_these();
  }
  if (!out->numel) return written();
  job.in = weft_data(x), job.out = weft_data(out);
  typedef void (*Body)(void *, int64_t, int64_t, int64_t);
  const Body body = by_size<Body>(job.p.item, nullptr, [](auto type) -> Body { return PadJob::run<typename decltype(type)::type>; });
  Loop::parallel(out->numel, job.p.rows(), job.p.wide[job.p.ndim - 1], body, &job);
  return written();
}

// (out, x, pad, value)
PyObject *constant_pad_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  return nargs == 4 ? padded_into(args[0], args[1], args[2], PAD_CONSTANT, args[3]) : not_for_these();
}

bool pad_mode(PyObject *name, PadMode *mode) {
  const char *s = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!s) return false;
  *mode = !strcmp(s, "reflect") ? PAD_REFLECT : !strcmp(s, "replicate") ? PAD_REPLICATE : PAD_CIRCULAR;
  return true;
}

// (out, x, pad, mode)
PyObject *extended_pad_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  PadMode mode;
  return nargs == 4 && pad_mode(args[3], &mode) ? padded_into(args[0], args[1], args[2], mode, nullptr) : not_for_these();
}

// Gradients of a padded tensor added up where its elements come from; images are what the first dims, which are not padded, count.
template <class T> struct PadBackward {
  Padding p;
  const T *g;
  T *out;
  int64_t rows, area;  // of an image: rows of g, elements of the result

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const PadBackward &job = *static_cast<PadBackward *>(context);
    const Padding &p = job.p;
    const int d = p.ndim - 1;
    const int64_t n = p.wide[d];
    int64_t first, last, from;
    p.middle(&first, &last, &from);
    int64_t places[WEFT_MAX_NDIM];
    p.find(begin * job.rows, places);
    std::fill(job.out + begin * job.area, job.out + end * job.area, T(0));
    for (int64_t r = begin * job.rows; r < end * job.rows; r++, p.next(places)) {
      T *row = job.out + p.row_at(places);
      const T *g = job.g + r * n;
      for (int64_t i = 0; i < first; i++) row[shown_at(p.mode, i - p.before[d], p.sizes[d])] += g[i];
      for (int64_t i = first; i < last; i++) row[from + i - first] += g[i];
      for (int64_t i = last; i < n; i++) row[shown_at(p.mode, i - p.before[d], p.sizes[d])] += g[i];
    }
  }
};

template <class T> PyObject *pad_backward(WeftTensor *g, WeftTensor *out, const Padding &p) {
  int64_t images = 1, rows = p.rows(), area = out->numel;
  for (int d = 0; d < p.ndim - 1 && p.wide[d] == p.sizes[d] && p.before[d] == 0; d++) images *= p.wide[d];
  PadBackward<T> job = {p, reinterpret_cast<T *>(weft_data(g)), reinterpret_cast<T *>(weft_data(out)), rows / images, area / images};
  Loop::parallel(g->numel, images, g->numel / images, PadBackward<T>::run, &job);
  return written();
}

// (out, g, sizes, pad, mode)
PyObject *extended_pad_backward_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  PadMode mode;
  WeftTensor *out = nargs == 5 ? dense(args[0]) : nullptr, *g = out ? plain(args[1]) : nullptr;
  Padding p;
  if (!g || WEFT_DTYPE(g) != WEFT_DTYPE(out) || !pad_mode(args[4], &mode) || !p.read(mode, g, out, args[3])) return not_for_these();
  if (!g->numel || !out->numel) return not_for_these();
  Ref rows(row_major(g));
  if (!rows) return PyErr_Occurred() ? nullptr : not_for_these();
  g = as_tensor(rows.get());
  switch (WEFT_DTYPE(out)) {
    case WEFT_FLOAT32: return pad_backward<float>(g, out, p);
    case WEFT_FLOAT64: return pad_backward<double>(g, out, p);
    default: return not_for_these();
  }
}

// ------------------------------------------------------------------------------------------ triangles, diagonals
struct TriangleJob {
  const char *in;
  char *out;
  int64_t rows, columns, step, diagonal;  // step: of the input from row to row, in elements
  int item;
  bool upper;
  const int64_t *starts;  // of the planes of the input, in elements

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const TriangleJob &job = *static_cast<TriangleJob *>(context);
    const int64_t n = job.columns, item = job.item;
    for (int64_t r = begin; r < end; r++) {
      const int64_t plane = r / job.rows, i = r - plane * job.rows;
      const int64_t edge = std::min(std::max<int64_t>(i + job.diagonal + (job.upper ? 0 : 1), 0), n);  // first of what is upper
      char *to = job.out + r * n * item;
      const char *from = job.in + (job.starts[plane] + i * job.step) * item;
      const int64_t first = job.upper ? edge : 0, last = job.upper ? n : edge;
      memset(to, 0, (size_t)(first * item));
      memcpy(to + first * item, from + first * item, (size_t)((last - first) * item));
      memset(to + last * item, 0, (size_t)((n - last) * item));
    }
  }
};

// (out, x, diagonal): with the elements of x within the triangle, zeros elsewhere
PyObject *triangle(PyObject *const *args, Py_ssize_t nargs, bool upper) {
  WeftTensor *out = nargs == 3 ? dense(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr;
  int64_t diagonal;
  if (!x || WEFT_NDIM(x) < 2 || WEFT_DTYPE(x) != WEFT_DTYPE(out) || x->numel != out->numel || !exact_int(args[2], &diagonal)) return not_for_these();
  if (!out->numel) return written();
  if (out->storage == x->storage) return not_for_these();
  Ref rows(has_dense_rows(x) ? Py_NewRef(args[1]) : row_major(x).release());
  if (!rows) return PyErr_Occurred() ? nullptr : not_for_these();
  x = as_tensor(rows.get());
  const int n = WEFT_NDIM(x);
  std::vector<int64_t> starts = {0};
  for (int d = 0; d < n - 2; d++) {
    std::vector<int64_t> all;
    for (int64_t start : starts)
      for (int64_t i = 0; i < x->sizes[d]; i++) all.push_back(start + i * x->strides[d]);
    starts.swap(all);
  }
  diagonal = std::min(std::max(diagonal, -x->sizes[n - 2] - 1), x->sizes[n - 1] + 1);
  TriangleJob job = {weft_data(x), weft_data(out), x->sizes[n - 2], x->sizes[n - 1], x->strides[n - 2], diagonal, (int)weft_itemsize(WEFT_DTYPE(x)), upper, starts.data()};
  Loop::parallel(out->numel, (int64_t)starts.size() * job.rows, job.columns, TriangleJob::run, &job);
  return written();
}

PyObject *tril_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) { return triangle(args, nargs, false); }
PyObject *triu_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) { return triangle(args, nargs, true); }

// (out, n, m, dtype, device)
PyObject *eye_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs ? dense(args[0]) : nullptr;
  if (!out || WEFT_NDIM(out) != 2) return not_for_these();
  const int64_t n = out->sizes[0], m = out->sizes[1], item = weft_itemsize(WEFT_DTYPE(out));
  char one[16] = {};
  Ref number(PyLong_FromLong(1));
  if (!number || !write_scalar(one, WEFT_DTYPE(out), number.get())) return nullptr;
  if (out->numel) memset(weft_data(out), 0, (size_t)(out->numel * item));
  for (int64_t i = 0; i < std::min(n, m); i++) memcpy(weft_data(out) + i * (m + 1) * item, one, (size_t)item);
  return written();
}

// Row and column numbers of the places of a triangle, row by row; there may be any number of rows without one before and behind.
template <class T> void write_places(T *out, int64_t count, int64_t rows, int64_t columns, int64_t offset, bool upper) {
  int64_t at = 0;
  for (int64_t i = upper ? 0 : std::max<int64_t>(-offset, 0); i < rows && at < count; i++) {
    const int64_t edge = std::min(std::max<int64_t>(i + offset + (upper ? 0 : 1), 0), columns);
    const int64_t first = upper ? edge : 0, last = upper ? columns : edge;
    for (int64_t j = first; j < last && at < count; j++, at++) out[at] = (T)i, out[count + at] = (T)j;
  }
}

// (out, rows, columns, offset, dtype, device)
PyObject *triangle_places(PyObject *const *args, Py_ssize_t nargs, bool upper) {
  WeftTensor *out = nargs >= 4 ? dense(args[0]) : nullptr;
  int64_t rows, columns, offset;
  if (!out || WEFT_NDIM(out) != 2 || !exact_int(args[1], &rows) || !exact_int(args[2], &columns) || !exact_int(args[3], &offset)) return not_for_these();
  offset = std::min(std::max(offset, -rows - 1), columns + 1);
  if (WEFT_DTYPE(out) == WEFT_INT64) write_places(reinterpret_cast<int64_t *>(weft_data(out)), out->sizes[1], rows, columns, offset, upper);
  else if (WEFT_DTYPE(out) == WEFT_INT32) write_places(reinterpret_cast<int32_t *>(weft_data(out)), out->sizes[1], rows, columns, offset, upper);
  else return not_for_these();
  return written();
}

PyObject *tril_indices_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) { return triangle_places(args, nargs, false); }
PyObject *triu_indices_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) { return triangle_places(args, nargs, true); }

// (out, x, src, offset, dim1, dim2): x with a diagonal replaced by src
PyObject *diagonal_scatter_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? plain(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr, *src = x ? plain(args[2]) : nullptr;
  int64_t offset, a, b;
  if (!src || !exact_int(args[3], &offset) || !exact_int(args[4], &a) || !exact_int(args[5], &b)) return not_for_these();
  const int n = WEFT_NDIM(out);
  if (a < 0 || b < 0 || a >= n || b >= n || a == b || WEFT_NDIM(src) != n - 1 || WEFT_DTYPE(x) != WEFT_DTYPE(out) || WEFT_DTYPE(src) != WEFT_DTYPE(out)) return not_for_these();
  if (out->storage == x->storage || out->storage == src->storage || !copy_into(out, x)) return not_for_these();
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  int k = 0;
  for (int d = 0; d < n; d++)
    if (d != a && d != b) sizes[k] = out->sizes[d], strides[k++] = out->strides[d];
  const int64_t rows = out->sizes[a], columns = out->sizes[b];
  sizes[k] = std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  strides[k] = out->strides[a] + out->strides[b];
  if (!std::equal(sizes, sizes + n - 1, src->sizes)) return not_for_these();
  if (!src->numel) return written();
  Ref shown(alias(out, n - 1, sizes, strides, out->offset + (offset >= 0 ? offset * out->strides[b] : -offset * out->strides[a])));
  return shown && copy_into(as_tensor(shown.get()), src) ? written() : nullptr;
}

// ------------------------------------------------------------------------------------------------------- windows
// Windows whose elements stand `inner` apart in the result: [outer, count, inner, size] added to [outer, length, inner], the windows
// in their order. For few elements to a step, which loops over whole tensors would take one by one.
template <class T> struct ShortWindows {
  T *out;
  const T *g;
  int64_t count, length, inner, size, step;

  static void range(void *ctx, int64_t begin, int64_t end, int64_t) {
    const ShortWindows &s = *static_cast<ShortWindows *>(ctx);
    const T *g = s.g + begin * s.count * s.inner * s.size;
    for (int64_t n = begin; n < end; n++) {
      T *to = s.out + n * s.length * s.inner;
      for (int64_t w = 0; w < s.count; w++, to += s.step * s.inner)
        for (int64_t k = 0; k < s.inner; k++)
          for (int64_t i = 0; i < s.size; i++) to[i * s.inner + k] += *g++;
    }
  }
};

template <class T> void add_short_windows(WeftTensor *out, WeftTensor *g, int64_t dim, int64_t inner, int64_t size, int64_t step) {
  ShortWindows<T> s = {reinterpret_cast<T *>(weft_data(out)), reinterpret_cast<const T *>(weft_data(g)), g->sizes[dim], out->sizes[dim], inner, size, step};
  const int64_t outer = out->numel / (s.length * inner);
  Loop::parallel(g->numel, outer, s.count * inner * size, ShortWindows<T>::range, &s);
}

constexpr int64_t kShortSteps = 16;

// (out, g, sizes, dim, size, step): windows along a dim, which the last dim of g counts, added back; of an element the first one first
PyObject *unfold_backward_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr, *g = out ? plain(args[1]) : nullptr;
  int64_t dim, size, step;
  if (!g || !exact_int(args[3], &dim) || !exact_int(args[4], &size) || !exact_int(args[5], &step)) return not_for_these();
  const int n = WEFT_NDIM(out), dtype = WEFT_DTYPE(out);
  if (!n || dim < 0 || dim >= n || WEFT_NDIM(g) != n + 1 || (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || WEFT_DTYPE(g) != dtype) return not_for_these();
  if (g->sizes[n] != size || g->sizes[dim] < size || (g->sizes[dim] - 1) * step + size > out->sizes[dim]) return not_for_these();
  const WeftLoop add = weft_kernels.pointwise[WEFT_ADD][dtype];
  if (!add) return not_for_these();  // (a processor without vectors)
  if (out->numel) memset(weft_data(out), 0, (size_t)(out->numel * weft_itemsize(dtype)));
  if (!g->numel) return written();
  int64_t strides[WEFT_MAX_NDIM], inner = 1;
  bool alike = true;
  for (int d = 0; d < n; d++) {
    alike &= d == dim || g->sizes[d] == out->sizes[d];
    if (d > dim) inner *= out->sizes[d];
  }
  if (alike && dim + 1 < n && inner < kShortSteps && (g->word & WEFT_WORD_CONTIGUOUS)) {
    if (dtype == WEFT_FLOAT32) add_short_windows<float>(out, g, dim, inner, size, step);
    else add_short_windows<double>(out, g, dim, inner, size, step);
    return written();
  }
  std::copy(out->strides, out->strides + n, strides);
  strides[dim] *= step;
  for (int64_t i = size - 1; i >= 0; i--) {
    Ref to(alias(out, n, g->sizes, strides, out->offset + i * out->strides[dim]));
    Ref from(alias(g, n, g->sizes, g->strides, g->offset + i * g->strides[n]));
    if (!to || !from) return nullptr;
    Loop loop(n, g->sizes);
    loop.add(as_tensor(to.get()));
    loop.add(as_tensor(from.get()));
    loop.add(as_tensor(to.get()));
    loop.run(add, nullptr);
  }
  return written();
}

// Windows of planes [C, H, W] as columns [C, taps, places].
template <class T> struct Columns {
  T *image, *columns;
  int64_t size[2], kernel[2], out[2], dilation[2], padding[2], stride[2];

  template <class Row> void each_row(int64_t plane, Row row) const {
    int64_t at = plane * kernel[0] * kernel[1] * out[0] * out[1];
    for (int64_t i = 0; i < kernel[0]; i++)
      for (int64_t j = 0; j < kernel[1]; j++)
        for (int64_t y = 0; y < out[0]; y++, at += out[1]) {
          const int64_t down = y * stride[0] + i * dilation[0] - padding[0], start = j * dilation[1] - padding[1];
          // The places whose element lies inside: start + x * stride in [0, width).
          int64_t first = start < 0 ? (-start + stride[1] - 1) / stride[1] : 0;
          int64_t last = start < size[1] ? std::min(out[1], (size[1] - start + stride[1] - 1) / stride[1]) : 0;
          if (down < 0 || down >= size[0] || last <= first) first = last = 0;
          row(columns + at, image + (plane * size[0] + down) * size[1] + start, first, last);
        }
  }
  static void take(void *context, int64_t begin, int64_t end, int64_t) {
    const Columns &c = *static_cast<Columns *>(context);
    const int64_t step = c.stride[1], n = c.out[1];
    for (int64_t plane = begin; plane < end; plane++)
      c.each_row(plane, [&](T *to, const T *from, int64_t first, int64_t last) {
        std::fill(to, to + first, T{});
        if (step == 1) std::copy(from + first, from + last, to + first);
        else
          for (int64_t x = first; x < last; x++) to[x] = from[x * step];
        std::fill(to + last, to + n, T{});
      });
  }
  static void add(void *context, int64_t begin, int64_t end, int64_t) {
    const Columns &c = *static_cast<Columns *>(context);
    const int64_t step = c.stride[1], area = c.size[0] * c.size[1];
    std::fill(c.image + begin * area, c.image + end * area, T(0));
    for (int64_t plane = begin; plane < end; plane++)
      c.each_row(plane, [&](const T *from, T *to, int64_t first, int64_t last) {
        if (step == 1)
          for (int64_t x = first; x < last; x++) to[x] += from[x];
        else
          for (int64_t x = first; x < last; x++) to[x * step] += from[x];
      });
  }
};

bool two_ints(PyObject *list, int64_t *to) { return PyList_Check(list) && PyList_GET_SIZE(list) == 2 && exact_ints(list, to) == 2; }

template <class T, bool adds> PyObject *windows(WeftTensor *image, WeftTensor *columns, PyObject *const *numbers) {
  Columns<T> c = {reinterpret_cast<T *>(weft_data(image)), reinterpret_cast<T *>(weft_data(columns)), {image->sizes[2], image->sizes[3]}, {}, {}, {}, {}, {}};
  if (!two_ints(numbers[0], c.kernel) || !two_ints(numbers[1], c.dilation) || !two_ints(numbers[2], c.padding) || !two_ints(numbers[3], c.stride)) return not_for_these();
  for (int d = 0; d < 2; d++) {
    if (c.kernel[d] < 1 || c.stride[d] < 1 || c.dilation[d] < 1 || c.kernel[d] > 1 << 20 || c.dilation[d] > 1 << 20 || c.padding[d] < 0 || c.padding[d] > 1 << 30) return not_for_these();
    c.out[d] = (c.size[d] + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1) / c.stride[d] + 1;
    if (c.out[d] < 1) return not_for_these();
  }
  const int64_t planes = image->sizes[0] * image->sizes[1], taps = c.kernel[0] * c.kernel[1];
  if (columns->numel != planes * taps * c.out[0] * c.out[1]) return not_for_these();
  void (*body)(void *, int64_t, int64_t, int64_t);
  if constexpr (adds) body = Columns<T>::add;
  else body = Columns<T>::take;
  Loop::parallel(columns->numel, planes, taps * c.out[0] * c.out[1], body, &c);
  return written();
}

PyObject *windows_of(WeftTensor *image, WeftTensor *columns, PyObject *const *numbers, bool adds) {
  if (WEFT_NDIM(image) != 4 || WEFT_NDIM(columns) != 3 || WEFT_DTYPE(image) != WEFT_DTYPE(columns) || !image->numel || !columns->numel) return not_for_these();
  const int dtype = WEFT_DTYPE(image);
  if (adds && dtype == WEFT_FLOAT32) return windows<float, true>(image, columns, numbers);
  if (adds && dtype == WEFT_FLOAT64) return windows<double, true>(image, columns, numbers);
  if (adds) return not_for_these();
  return by_size<PyObject *>((int)weft_itemsize(dtype), nullptr, [&](auto type) { return windows<typename decltype(type)::type, false>(image, columns, numbers); });
}

// (columns, image, kernel, dilation, padding, stride)
PyObject *columns_of_image_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr;
  Ref rows(x ? row_major(x) : Ref());
  if (!rows) return PyErr_Occurred() ? nullptr : not_for_these();
  return windows_of(as_tensor(rows.get()), out, args + 2, false);
}

// (image, columns, sizes, kernel, dilation, padding, stride)
PyObject *image_of_columns_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 7 ? dense(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr;
  Ref rows(x ? row_major(x) : Ref());
  if (!rows) return PyErr_Occurred() ? nullptr : not_for_these();
  return windows_of(out, as_tensor(rows.get()), args + 3, true);
}

// (out, input, src): src broadcast and cast
PyObject *copy_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? plain(args[0]) : nullptr, *src = out ? plain(args[2]) : nullptr;
  if (!src) return not_for_these();
  return copy_into(out, src) ? written() : PyErr_Occurred() ? nullptr : not_for_these();
}

}  // namespace

const NativeKernel structure_kernels[] = {
    {"copy", WEFT_KERNEL(copy_kernel)},
    {"constant_pad_nd", WEFT_KERNEL(constant_pad_kernel)},
    {"extended_pad", WEFT_KERNEL(extended_pad_kernel)},
    {"extended_pad_backward", WEFT_KERNEL(extended_pad_backward_kernel)},
    {"tril", WEFT_KERNEL(tril_kernel)},
    {"triu", WEFT_KERNEL(triu_kernel)},
    {"eye", WEFT_KERNEL(eye_kernel)},
    {"tril_indices", WEFT_KERNEL(tril_indices_kernel)},
    {"triu_indices", WEFT_KERNEL(triu_indices_kernel)},
    {"diagonal_scatter", WEFT_KERNEL(diagonal_scatter_kernel)},
    {"unfold_backward", WEFT_KERNEL(unfold_backward_kernel)},
    {"columns_of_image", WEFT_KERNEL(columns_of_image_kernel)},
    {"image_of_columns", WEFT_KERNEL(image_of_columns_kernel)},
    {nullptr, nullptr}};

}  // namespace weft
