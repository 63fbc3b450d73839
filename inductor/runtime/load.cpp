// Plain data -> Plan. `Program.from_data` has checked meaning; here every reference is checked again, since a wrong one
// would be a wild read.
#include "runner.h"

#include <algorithm>
#include <dlfcn.h>
#include <unordered_map>

namespace runner {

static const char *const OP_NAMES[] = {
    "const", "input", "size", "stride", "result_size", "result_stride", "item", "seed", "rng_offset",
    "add", "sub", "mul", "floordiv", "mod", "pow", "min", "max", "eq", "le", "lt",
    "fadd", "fsub", "fmul", "fdiv", "ffloordiv", "fmod", "fpow", "fmin", "fmax", "feq", "fle", "flt",
    "and", "or", "not", "where", "float", "int", "sqrt", "floor"};
#define NAME(code, size, kind, is_signed, name, ...) name,
static const char *const DTYPE_NAMES[WEFT_NUM_DTYPES] = {WEFT_DTYPES(NAME)};
#undef NAME
static const char *const STEP_NAMES[] = {"Alloc", "View", "Evaluate", "Kernel", "Launch", "Extern", "Python",
                                         "Copy", "Loop", "Cond", "RngAdvance", "Check"};

// Thrown when the data are malformed; `load_plan` turns it into a ValueError.
struct Malformed {
  std::string what;
};

// A borrowed Python value with checked access.
struct Item {
  PyObject *o;
  explicit Item(PyObject *o) : o(o) {
    if (!o) throw Malformed{"a field is missing"};
  }
  Py_ssize_t size() const {
    if (!PyList_Check(o) && !PyTuple_Check(o)) throw Malformed{"expected a list"};
    return PySequence_Fast_GET_SIZE(o);
  }
  Item operator[](Py_ssize_t i) const {
    if (i >= size()) throw Malformed{"a list is too short"};
    return Item(PySequence_Fast_GET_ITEM(o, i));
  }
  Item operator[](const char *key) const {
    if (!PyDict_Check(o)) throw Malformed{"expected a dict"};
    return Item(PyDict_GetItemString(o, key));
  }
  int64_t integer() const {
    int overflow = 0;
    if (!PyLong_Check(o)) throw Malformed{"expected an integer"};
    int64_t x = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) throw Malformed{"an integer does not fit 64 bits"};
    return x;
  }
  int32_t index(int64_t n, bool optional = false) const {
    int64_t i = integer();
    if (optional && i == -1) return -1;
    if (i < 0 || i >= n) throw Malformed{"index " + std::to_string(i) + " is not below " + std::to_string(n)};
    return (int32_t)i;
  }
  std::string text() const {
    const char *s = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
    if (!s) throw Malformed{"expected a string"};
    return s;
  }
};

template <size_t N> static int name_index(const std::string &name, const char *const (&names)[N]) {
  for (size_t i = 0; i < N; i++)
    if (name == names[i]) return (int)i;
  throw Malformed{"unknown name '" + name + "'"};
}

static std::vector<int32_t> indices(Item list, int64_t n) {
  std::vector<int32_t> out;
  for (Py_ssize_t i = 0; i < list.size(); i++) out.push_back(list[i].index(n));
  return out;
}

static Layout read_layout(const Plan &plan, Item sizes, Item strides) {
  Layout layout;
  layout.sizes = indices(sizes, (int64_t)plan.values.size());
  layout.strides = indices(strides, (int64_t)plan.values.size());
  size_t n = layout.sizes.size();
  if (n != layout.strides.size() || n > WEFT_MAX_NDIM) throw Malformed{"sizes and strides differ in number"};
  layout.is_static = true;
  for (const auto *part : {&layout.sizes, &layout.strides})
    for (int32_t v : *part) {
      layout.is_static &= plan.values[v].op == Op::Const;
      layout.dims.push_back(plan.values[v].constant);
    }
  layout.contiguous = layout.is_static;
  int64_t expected = 1;
  for (size_t i = n; layout.contiguous && i-- > 0;) {
    layout.contiguous = layout.dims[n + i] == expected || layout.dims[i] == 1;
    if (__builtin_mul_overflow(expected, layout.dims[i], &expected)) layout.contiguous = false;
  }
  return layout;
}

// What is made of this layout needs no arithmetic in a call: its word whole, elements and bytes are known.
static void know_whole(Buffer &b) {
  const Layout &layout = b.layout;
  int n = layout.ndim();
  if (!layout.is_static || n > WEFT_INLINE_NDIM) return;
  int64_t step = 1, numel = 1;
  for (int i = n; i-- > 0;) {
    int64_t size = layout.dims[i];
    if (size < 0 || layout.dims[n + i] != step) return;
    if (__builtin_mul_overflow(step, size ? size : 1, &step)) return;
    numel *= size;
  }
  if (__builtin_mul_overflow(numel, (int64_t)weft_itemsize((int)(b.word & WEFT_WORD_DTYPE)), &b.bytes)) return;
  b.numel = numel;
  b.whole_word = b.word | (uint32_t)n << 16 | WEFT_WORD_CONTIGUOUS;
}

static Value read_value(Item item, size_t position, size_t n_inputs, size_t n_buffers) {
  Value v;
  v.op = (Op)name_index(item[(Py_ssize_t)0].text(), OP_NAMES);
  Py_ssize_t n = item.size() - 1;
  switch (v.op) {
  case Op::Const:
    v.constant = PyFloat_Check(item[1].o) ? as_bits(PyFloat_AS_DOUBLE(item[1].o)) : item[1].integer();
    return v;
  case Op::Input: v.a = item[1].index((int64_t)n_inputs); return v;
  case Op::Size:
  case Op::Stride:
  case Op::ResultSize:
  case Op::ResultStride:
    v.a = item[1].index((int64_t)(v.op <= Op::Stride ? n_inputs : n_buffers));
    v.b = item[2].index(WEFT_MAX_NDIM);
    return v;
  case Op::Item: v.a = item[1].index((int64_t)n_buffers); return v;
  case Op::Seed:
  case Op::RngOffset: return v;
  default: break;
  }
  Py_ssize_t arity = v.op == Op::Where ? 3 : v.op >= Op::Float || v.op == Op::Not ? 1 : 2;
  if (n != arity) throw Malformed{"a value has the wrong number of arguments"};
  int32_t *fields[] = {&v.a, &v.b, &v.c};
  for (Py_ssize_t i = 0; i < n; i++) *fields[i] = item[1 + i].index((int64_t)position);
  return v;
}

static PyObject *module_attribute(const char *module, const char *name) {
  PyObject *m = PyImport_ImportModule(module);
  PyObject *out = m ? PyObject_GetAttrString(m, name) : nullptr;
  Py_XDECREF(m);
  if (!out) throw Malformed{""}; // the exception is set
  return out;
}

static PyObject *find_op(const std::string &name) {
  PyObject *registry = module_attribute("aten.op", "registry");
  PyObject *op = PyMapping_GetItemString(registry, name.c_str());
  Py_DECREF(registry);
  if (!op) {
    PyErr_Clear();
    throw Malformed{"no op is named '" + name + "'"};
  }
  return op;
}

static Arg read_arg(const Plan &plan, Item item) {
  std::string kind = item[(Py_ssize_t)0].text();
  Item x = item[1];
  Arg arg{};
  int64_t n_values = (int64_t)plan.values.size();
  if (kind == "buffer") {
    arg.kind = Arg::Tensor, arg.index = x.index((int64_t)plan.buffers.size());
  } else if (kind == "value" || kind == "float_value" || kind == "bool_value") {
    arg.kind = kind[0] == 'v' ? Arg::Int : kind[0] == 'f' ? Arg::Float : Arg::Bool;
    arg.index = x.index(n_values);
  } else if (kind == "list") {
    arg.kind = Arg::List;
    for (Py_ssize_t i = 0; i < x.size(); i++) arg.items.push_back(read_arg(plan, x[i]));
  } else if (kind == "dtype") {
    arg.kind = Arg::Object;
    arg.object = Py_NewRef(api->dtype_object(name_index(x.text(), DTYPE_NAMES)));
  } else if (kind == "device") {
    arg.kind = Arg::Object;
    PyObject *make = module_attribute("aten._native", "Device");
    arg.object = PyObject_CallOneArg(make, x.o);
    Py_DECREF(make);
    if (!arg.object) throw Malformed{""};
  } else if (kind == "literal") {
    arg.kind = Arg::Object, arg.object = Py_NewRef(x.o);
  } else if (kind == "complex") {
    double re = PyFloat_AsDouble(x[(Py_ssize_t)0].o), im = PyFloat_AsDouble(x[(Py_ssize_t)1].o);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      throw Malformed{"expected two numbers"};
    }
    arg.kind = Arg::Object, arg.object = PyComplex_FromDoubles(re, im);
    if (!arg.object) throw Malformed{""};
  } else {
    throw Malformed{"unknown kind of argument '" + kind + "'"};
  }
  return arg;
}

static void read_call(const Plan &plan, Item item, Step &step) {
  step.op = find_op(item[1].text());
  for (Py_ssize_t i = 0; i < item[2].size(); i++) step.args.push_back(read_arg(plan, item[2][i]));
  step.results = indices(item[3], (int64_t)plan.buffers.size());
  Py_ssize_t n = item[4].size();
  step.names = PyTuple_New(n);
  if (!step.names) throw Malformed{""};
  for (Py_ssize_t i = 0; i < n; i++) {
    step.args.push_back(read_arg(plan, item[4][i][1]));
    PyTuple_SET_ITEM(step.names, i, PyUnicode_InternFromString(item[4][i][(Py_ssize_t)0].text().c_str()));
  }
  if (step.kind == StepKind::Extern)
    for (size_t i = 0; i < plan.buffers.size(); i++)
      if (plan.buffers[i].kind == BufferKind::View) {
        int32_t root = plan.buffers[i].base;
        while (plan.buffers[root].kind == BufferKind::View) root = plan.buffers[root].base;
        if (std::count(step.results.begin(), step.results.end(), root)) step.views.push_back((int32_t)i);
      }
}

static void buffers_of(const Arg &arg, std::vector<int32_t> &out) {
  if (arg.kind == Arg::Tensor) out.push_back(arg.index);
  for (const Arg &item : arg.items) buffers_of(item, out);
}

// Results of ops are tensors of their own: each is let go by the first op behind the last step that needs it.
static void plan_releases(Plan &plan) {
  std::vector<size_t> last(plan.buffers.size(), 0);
  auto touch = [&](int32_t i, size_t when) {
    for (; i >= 0; i = plan.buffers[i].kind == BufferKind::View ? plan.buffers[i].base : -1)
      last[i] = std::max(last[i], when);
  };
  for (size_t n = 0; n < plan.steps.size(); n++) {
    const Step &step = plan.steps[n];
    std::vector<int32_t> used = step.buffers;
    used.insert(used.end(), step.results.begin(), step.results.end());
    for (const Arg &arg : step.args) buffers_of(arg, used);
    if (step.kind == StepKind::Copy || step.kind == StepKind::Cond) used.push_back(step.a);
    if (step.kind == StepKind::Copy) used.push_back(step.b);
    for (int32_t i : used) touch(i, n);
  }
  for (const Output &out : plan.outputs)
    if (out.kind == OutputKind::Buffer || out.kind == OutputKind::Part) touch(out.index, plan.steps.size());
  for (const Value &v : plan.values)
    if (v.op == Op::ResultSize || v.op == Op::ResultStride) touch(v.a, plan.steps.size());
  for (const Step &step : plan.steps)
    if (step.kind == StepKind::Extern)
      for (int32_t r : step.results)
        if (plan.buffers[r].kind == BufferKind::Arena || plan.buffers[r].kind == BufferKind::Returned)
          for (size_t n = last[r] + 1; n < plan.steps.size(); n++)
            if (plan.steps[n].kind == StepKind::Extern) {
              plan.steps[n].releases.push_back(r);
              plan.steps[n].releases.insert(plan.steps[n].releases.end(), step.views.begin(), step.views.end());
              break;
            }
}

static void read_kernel(const Plan &plan, Item item, Step &step, void *library) {
  std::string name = item[1].text();
  step.kernel = library ? (WeftKernel)dlsym(library, name.c_str()) : nullptr;
  if (!step.kernel) throw Malformed{"the library has no kernel '" + name + "'"};
  step.buffers = indices(item[2], (int64_t)plan.buffers.size());
  step.values = indices(item[3], (int64_t)plan.values.size());
  step.b = (int32_t)item[5].integer();
  step.values_static = true;
  for (int32_t v : step.values) {
    step.values_static &= plan.values[v].op == Op::Const;
    step.numbers.push_back(plan.values[v].constant);
  }
}

// "cpu" or "cuda:0" as the device bits of a tensor's word.
static uint32_t device_word(const std::string &name) {
  if (name.empty() || name == "cpu") return weft_word(0, WEFT_CPU, 0, 0);
  if (name.compare(0, 5, "cuda:") != 0 || name.size() > 7) throw Malformed{"device '" + name + "'"};
  int index = atoi(name.c_str() + 5);
  if (index < 0 || index > 15) throw Malformed{"device '" + name + "'"};
  return weft_word(0, WEFT_CUDA, index, 0);
}

static void read_launch(const Plan &plan, Item item, Step &step, PyObject *functions) {
  Launch &launch = step.launch;
  Item list = item[1];
  for (Py_ssize_t i = 0; i < list.size(); i++) {
    PyObject *key = PyTuple_Pack(2, list[i][(Py_ssize_t)0].o, list[i][1].o);
    PyObject *found = key && PyDict_Check(functions) ? PyDict_GetItem(functions, key) : nullptr;
    Py_XDECREF(key);
    if (!found) throw Malformed{"a function that it launches is not there"};
    void *handle = cuda->function(found);
    if (!handle) throw Malformed{""};
    launch.functions.push_back({handle, (uint32_t)list[i][2].index(1025), (uint32_t)list[i][3].index(1 << 20)});
  }
  int64_t n_values = (int64_t)plan.values.size(), n_buffers = (int64_t)plan.buffers.size();
  launch.choice = item[2].index(n_values, true);
  launch.grid = item[3].index(n_values);
  if (launch.functions.empty() || (launch.choice < 0 && launch.functions.size() > 1)) throw Malformed{"which function is not said"};
  for (Py_ssize_t i = 0; i < item[4].size(); i++) {
    std::string kind = item[4][i][(Py_ssize_t)0].text();
    Item x = item[4][i][1];
    if (kind == "buffer") {
      launch.arguments.push_back({Launch::Argument::Buffer, x.index(n_buffers)});
      step.buffers.push_back(launch.arguments.back().index);
    } else if (kind == "failed") {
      launch.arguments.push_back({Launch::Argument::Failed, x.index(plan.n_words)});
    } else if (kind == "i32") {
      launch.arguments.push_back({Launch::Argument::I32, x.index(n_values)});
    } else if (kind == "i64" || kind == "fp64") { // both are 64 bits as they are in the table
      launch.arguments.push_back({Launch::Argument::I64, x.index(n_values)});
    } else {
      throw Malformed{"unknown kind of argument '" + kind + "'"};
    }
  }
  for (int32_t i : step.buffers)
    if (!on_device(plan.buffers[i].word)) throw Malformed{"a launch is given a buffer of the CPU"};
}

static ProgramObject *read_subprogram(Item item, void *library, PyObject *functions) {
  PyObject *constants = PyTuple_New(0);
  // Kernels of sub-Programs live in their parent's library.
  PyObject *p = constants ? new_program(item.o, library, constants, functions) : nullptr;
  Py_XDECREF(constants);
  if (!p) throw Malformed{""};
  return (ProgramObject *)p;
}

static void read_step(const Plan &plan, Item item, Step &step, void *library, PyObject *functions) {
  int64_t n_buffers = (int64_t)plan.buffers.size(), n_values = (int64_t)plan.values.size();
  switch (step.kind) {
  case StepKind::Alloc:
  case StepKind::View: step.a = item[1].index(n_buffers); break;
  case StepKind::Evaluate:
    step.a = item[1].index(n_values + 1), step.b = item[2].index(n_values + 1);
    break;
  case StepKind::Kernel: read_kernel(plan, item, step, library); break;
  case StepKind::Launch: read_launch(plan, item, step, functions); break;
  case StepKind::Extern:
  case StepKind::Python: read_call(plan, item, step); break;
  case StepKind::Copy: step.a = item[1].index(n_buffers), step.b = item[2].index(n_buffers); break;
  case StepKind::RngAdvance: step.a = item[1].index(n_values); break;
  case StepKind::Check: step.a = item[1].index(n_values), step.b = (int32_t)item[2].integer(); break;
  case StepKind::Loop:
    step.first = read_subprogram(item[1], library, functions);
    step.second = read_subprogram(item[2], library, functions);
    step.buffers = indices(item[3], n_buffers);
    step.n_carried = (int32_t)step.buffers.size();
    for (int32_t i : indices(item[4], n_buffers)) step.buffers.push_back(i);
    step.results = indices(item[5], n_buffers);
    if ((int32_t)step.results.size() != step.n_carried) throw Malformed{"a loop's results are not its carried buffers"};
    break;
  case StepKind::Cond:
    step.a = item[1].index(n_buffers);
    step.first = read_subprogram(item[2], library, functions);
    step.second = read_subprogram(item[3], library, functions);
    step.buffers = indices(item[4], n_buffers);
    step.results = indices(item[5], n_buffers);
    break;
  }
  for (ProgramObject *q : {step.first, step.second})
    if (q && q->plan->inputs.size() != step.buffers.size()) throw Malformed{"a sub-Program takes other arguments"};
}

static void read_inputs(Plan &plan, Item items) {
  static const char *const KINDS[] = {"tensor", "int", "float", "bool"};
  for (Py_ssize_t i = 0; i < items.size(); i++) {
    Item item = items[i];
    Input input{};
    input.kind = (InputKind)name_index(item[(Py_ssize_t)0].text(), KINDS);
    if (input.kind == InputKind::Tensor) {
      input.layout = read_layout(plan, item[2], item[3]);
      input.word = weft_word(name_index(item[1].text(), DTYPE_NAMES), WEFT_CPU, 0, input.layout.ndim()) | device_word(item[4].text());
      input.aligned = PyObject_IsTrue(item[5].o) == 1;
    }
    if (input.kind == InputKind::Tensor && !input.layout.is_static) plan.symbolic_inputs.push_back((int32_t)i);
    plan.inputs.push_back(std::move(input));
  }
  for (const Value &v : plan.values) {
    if ((v.op == Op::Size || v.op == Op::Stride) &&
        (plan.inputs[v.a].kind != InputKind::Tensor || v.b >= plan.inputs[v.a].layout.ndim()))
      throw Malformed{"a value reads a size that its input has not"};
    if (v.op == Op::Input && plan.inputs[v.a].kind == InputKind::Tensor)
      throw Malformed{"a value reads a tensor as a number"};
  }
}

static void read_buffers(Plan &plan, Item items, int64_t n_constants) {
  static const char *const KINDS[] = {"input", "constant", "fresh", "arena", "view", "returned", "result"};
  for (Py_ssize_t i = 0; i < items.size(); i++) {
    Item item = items[i];
    Buffer b{};
    b.kind = (BufferKind)name_index(item[(Py_ssize_t)0].text(), KINDS);
    b.layout = read_layout(plan, item[2], item[3]);
    b.word = weft_word(name_index(item[1].text(), DTYPE_NAMES), WEFT_CPU, 0, 0) | device_word(item[6].text());
    switch (b.kind) {
    case BufferKind::Input:
      b.base = item[4].index((int64_t)plan.inputs.size());
      if (plan.inputs[b.base].kind != InputKind::Tensor) throw Malformed{"a buffer is a number"};
      plan.inputs[b.base].buffer = (int32_t)i;
      break;
    case BufferKind::Constant: b.base = item[4].index(n_constants); break;
    case BufferKind::Arena: b.offset = item[5].index((int64_t)plan.values.size()); break;
    case BufferKind::View:
      b.base = item[4].index((int64_t)items.size());
      b.offset = item[5].index((int64_t)plan.values.size());
      break;
    default: break;
    }
    know_whole(b);
    if (b.kind == BufferKind::Arena || b.kind == BufferKind::Constant) plan.prepared.push_back((int32_t)i);
    plan.buffers.push_back(std::move(b));
  }
  for (const Buffer &first : plan.buffers) {  // a view shows what is no view, however many views are in between
    size_t views = 0;
    for (const Buffer *b = &first; b->kind == BufferKind::View; b = &plan.buffers[b->base])
      if (++views > plan.buffers.size()) throw Malformed{"a view of itself"};
  }
}

static void read_outputs(Plan &plan, Item items) {
  static const char *const KINDS[] = {"buffer", "part", "input", "view", "int", "float", "bool", "constant"};
  for (Py_ssize_t i = 0; i < items.size(); i++) {
    Item item = items[i];
    Output out{};
    out.kind = (OutputKind)name_index(item[(Py_ssize_t)0].text(), KINDS);
    size_t n = out.kind == OutputKind::Buffer || out.kind == OutputKind::Part ? plan.buffers.size()
               : out.kind == OutputKind::Input || out.kind == OutputKind::View ? plan.inputs.size()
                                                                               : plan.values.size();
    if (out.kind != OutputKind::Constant) out.index = item[1].index((int64_t)n);
    if (out.kind == OutputKind::View || out.kind == OutputKind::Part) {
      if (out.kind == OutputKind::View && plan.inputs[out.index].kind != InputKind::Tensor) throw Malformed{"a view of a number"};
      out.layout = read_layout(plan, item[2], item[3]);
      out.offset = item[4].index((int64_t)plan.values.size());
    }
    if (out.kind == OutputKind::Constant || (out.kind == OutputKind::View && item[5].o != Py_None)) out.literal = Py_NewRef(item[5].o);
    plan.outputs.push_back(std::move(out));
  }
}

static void read_plan(Plan &plan, Item data, PyObject *constants, void *library, PyObject *functions) {
  Item values = data["values"], buffers = data["buffers"];
  size_t n_inputs = (size_t)data["inputs"].size();
  for (Py_ssize_t i = 0; i < values.size(); i++) {
    plan.values.push_back(read_value(values[i], (size_t)i, n_inputs, (size_t)buffers.size()));
    plan.constants.push_back(plan.values.back().constant);
  }
  int64_t n_values = (int64_t)plan.values.size();
  plan.prologue = data["prologue"].index(n_values + 1);
  for (int32_t i = 0; i < plan.prologue; i++)
    if (plan.values[i].op != Op::Const) plan.dynamic.push_back(i);
  plan.all_static = true;
  for (const Value &v : plan.values) plan.all_static &= v.op == Op::Const;
  plan.arena = data["arena"].index(n_values, true);
  plan.cost = data["cost"].index(n_values, true);
  plan.device_arena = data["device_arena"].index(n_values, true);
  std::string device = data["device"].text();
  if (!device.empty()) {
    plan.device = (int32_t)(device_word(device) >> 12 & 15);
    plan.n_words = (int32_t)data["checks"].size();
    plan.graphs = data["graphs"].integer() != 0;
    if (!cuda && !(cuda = weft_import_cuda())) throw Malformed{""};
  }
  read_inputs(plan, data["inputs"]);
  int64_t n_constants = data["n_constants"].integer();
  if (n_constants != PyTuple_GET_SIZE(constants)) throw Malformed{"the number of constants differs"};
  read_buffers(plan, buffers, n_constants);
  Item steps = data["steps"];
  for (Py_ssize_t i = 0; i < steps.size(); i++) {
    plan.steps.emplace_back();
    plan.steps.back().kind = (StepKind)name_index(steps[i][(Py_ssize_t)0].text(), STEP_NAMES);
    read_step(plan, steps[i], plan.steps.back(), library, functions);
  }
  read_outputs(plan, data["outputs"]);
  for (size_t i = 0; i < plan.inputs.size(); i++) {
    const Input &in = plan.inputs[i];
    const int64_t *dims = in.layout.dims.data();
    int n = in.layout.ndim();
    if (in.kind == InputKind::Tensor && in.layout.is_static)
      plan.static_inputs.push_back({(int32_t)i, in.buffer, in.word, n, dims, n == 1 ? dims[0] : -1, in.layout.contiguous, in.aligned});
  }
  plan_releases(plan);
  for (int32_t i : indices(data["mutations"], (int64_t)n_inputs)) {
    if (plan.inputs[i].kind != InputKind::Tensor) throw Malformed{"a mutation of a number"};
    plan.mutations.push_back(i);
  }
}

Plan *load_plan(PyObject *data, PyObject *constants, void *library, PyObject *functions) {
  Plan *plan = new Plan();
  try {
    read_plan(*plan, Item(data), constants, library, functions);
    return plan;
  } catch (const Malformed &e) {
    if (!e.what.empty() || !PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "not a Program: %s", e.what.c_str());
  }
  free_plan(plan);
  return nullptr;
}

template <class F> static int visit_arg(Arg &arg, F &&f) {
  if (arg.object)
    if (int rc = f(arg.object)) return rc;
  for (Arg &item : arg.items)
    if (int rc = visit_arg(item, f)) return rc;
  return 0;
}

template <class F> static int visit_plan(Plan &plan, F &&f) {
  for (Step &step : plan.steps) {
    for (PyObject *o : {step.op, step.names, (PyObject *)step.first, (PyObject *)step.second})
      if (o)
        if (int rc = f(o)) return rc;
    for (Arg &arg : step.args)
      if (int rc = visit_arg(arg, f)) return rc;
  }
  for (Output &out : plan.outputs)
    if (out.literal)
      if (int rc = f(out.literal)) return rc;
  return 0;
}

int traverse_plan(Plan *plan, visitproc visit, void *arg) {
  return visit_plan(*plan, [&](PyObject *o) { return visit(o, arg); });
}

void free_plan(Plan *plan) {
  visit_plan(*plan, [](PyObject *o) {
    Py_DECREF(o);
    return 0;
  });
  delete plan;
}

} // namespace runner
