// runner.h: the loaded form of a Program (inductor/ir/program.py) and one call of it.
//
// load.cpp reads plain data into it, checking every reference; values.cpp computes sizes; run.cpp executes; call.cpp
// runs the steps that need Python objects; training.cpp joins a forward and a backward Program into one autograd node.
#ifndef WEFT_RUNNER_H
#define WEFT_RUNNER_H

#include "cuda/cuda.h"
#include "weft.h"

#include <memory>
#include <string>
#include <vector>

namespace runner {

extern const WeftAPI *api;
extern const WeftCudaApi *cuda; // NULL until a Program with a device is loaded

enum class Op : uint8_t {
  Const, Input, Size, Stride, ResultSize, ResultStride, Item, Seed, RngOffset,
  Add, Sub, Mul, FloorDiv, Mod, Pow, Min, Max, Eq, Le, Lt,
  FAdd, FSub, FMul, FDiv, FFloorDiv, FMod, FPow, FMin, FMax, FEq, FLe, FLt,
  And, Or, Not, Where, Float, Int, Sqrt, Floor
};

struct Value {
  Op op;
  int32_t a = 0, b = 0, c = 0;
  int64_t constant = 0;
};

// Sizes and strides that are values. `dims` holds 2 * ndim numbers once and for all when every one is a constant.
struct Layout {
  std::vector<int32_t> sizes, strides;
  std::vector<int64_t> dims;
  bool is_static = false, contiguous = false;
  int ndim() const { return (int)sizes.size(); }
};

enum class InputKind : uint8_t { Tensor, Int, Float, Bool };

struct Input {
  InputKind kind;
  uint32_t word = 0; // dtype, device and rank that the argument must have
  Layout layout;
  int32_t buffer = -1; // the buffer that stands for it
  bool aligned = false; // 16 must divide its address
};

// A tensor argument whose layout is static: what a call compares, side by side.
struct StaticInput {
  int32_t input, buffer;
  uint32_t word;
  int32_t ndim;
  const int64_t *dims; // of its Layout
  int64_t numel;       // row-major ones of one dim that have as many elements need no further look
  bool contiguous, aligned;
};

enum class BufferKind : uint8_t { Input, Constant, Fresh, Arena, View, Returned, Result };

struct Buffer {
  BufferKind kind;
  uint32_t word = 0; // dtype and device
  Layout layout;
  int32_t base = -1, offset = -1;
  uint32_t whole_word = 0;        // of a row-major static layout of few dims: what api->empty_row_major takes, else 0
  int64_t numel = 0, bytes = 0;
};

struct Arg {
  enum Kind : uint8_t { Tensor, Int, Float, Bool, Object, List } kind;
  int32_t index = -1;
  PyObject *object = nullptr; // owned
  std::vector<Arg> items;
};

enum class StepKind : uint8_t { Alloc, View, Evaluate, Kernel, Launch, Extern, Python, Copy, Loop, Cond, RngAdvance, Check };

struct ProgramObject;

// What a launch on a device passes and runs: see `Launch` in inductor/ir/steps.py.
struct Launch {
  struct Function {
    void *handle;
    uint32_t threads, shared;
  };
  struct Argument {
    enum Kind : uint8_t { Buffer, I32, I64, Failed } kind;
    int32_t index;
  };
  std::vector<Function> functions;
  std::vector<Argument> arguments;
  int32_t choice = -1, grid = -1;
};

struct Step {
  StepKind kind;
  int32_t a = -1, b = -1;              // buffer, value, range, check (of a kernel: its first, -1 if it cannot fail)
  bool values_static = false;
  WeftKernel kernel = nullptr;
  std::vector<int32_t> buffers, values, results;
  std::vector<int64_t> numbers;        // of `values`, when all are constants
  std::vector<int32_t> views;          // of an op: the buffers that are views of its results
  std::vector<int32_t> releases;       // of an op: results of earlier ones that nothing needs any more, and views of them
  PyObject *op = nullptr, *names = nullptr; // owned: the op, the names of its keyword arguments
  std::vector<Arg> args;               // positional, then keyword
  ProgramObject *first = nullptr, *second = nullptr; // owned sub-Programs
  int32_t n_carried = 0;
  Launch launch;
};

enum class OutputKind : uint8_t { Buffer, Part, Input, View, Int, Float, Bool, Constant };

struct Output {
  OutputKind kind;
  int32_t index = -1, offset = -1;
  Layout layout;
  PyObject *literal = nullptr; // owned
};

struct Plan {
  std::vector<Input> inputs;
  std::vector<StaticInput> static_inputs; // tensors of which nothing depends on the call
  std::vector<int32_t> symbolic_inputs; // tensors whose layout depends on the call
  std::vector<Value> values;
  std::vector<int64_t> constants;  // a call's table of values before anything is computed
  std::vector<int32_t> dynamic;    // the values of the prologue that are not constants
  std::vector<Buffer> buffers;
  std::vector<int32_t> prepared;   // constant and arena buffers: located before the first step
  std::vector<Step> steps;
  std::vector<Output> outputs;
  std::vector<int32_t> mutations;
  int32_t prologue = 0, arena = -1, cost = -1;
  bool all_static = false;         // no value depends on the call
  int32_t device = -1, device_arena = -1; // of the steps that run on a device
  int32_t n_words = 0;             // checks that may fail there
  bool graphs = false;             // launches are played as graphs
};

struct LaunchQueue;  // graphs.cpp: launches of a call that wait
struct LaunchGraphs; // and what they were played as
struct CheckWords;   // checks.cpp: what kernels on a device have found

struct ProgramObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Plan *plan;
  PyObject *constants; // owned tuple of tensors
  PyObject *checks;    // owned tuple of (op, argument, line)
  PyObject *data;      // owned: the plain data it was loaded from
  PyObject *functions; // owned: dict of the functions it launches, or None
  void *library;       // dlopen handle: never closed, its code may be on a stack
  PyObject *weakrefs;
  LaunchGraphs *graphs; // owned, or NULL
  CheckWords *words;   // owned, or NULL
};

// One call in flight. All arrays live in one block, on the stack when they are small.
struct Call {
  ProgramObject *program;
  PyObject *const *args;
  int64_t *values;
  char **data;         // by buffer: address of the first element
  PyObject **tensors;  // by buffer: owned tensor over it, or NULL until someone needs one
  WeftStorage *arena;
  WeftStorage *device_arena;
  void *stream;        // of the device
  char *words;         // on the device: one int32 a check, not 0 where it has failed
  bool own_words;      // of this call alone
  LaunchQueue *queue;  // owned; NULL: launches are made at once
};

// values.cpp. Returns false with the error indicator clear when a value does not exist (overflow, division by zero),
// or with an exception set.
bool evaluate(Call &call, const Value &value, int64_t *out);
bool evaluate_range(Call &call, int32_t start, int32_t stop);

// run.cpp. `results` receives outputs.size() owned references. With `movable`, `args` may be replaced by owned copies of
// the expected strides (kept alive in `movable`).
bool run(ProgramObject *program, PyObject **args, PyObject **results, PyObject *movable);
bool run_profiled(ProgramObject *program, PyObject **args, PyObject **results, double *seconds); // adds to one a step
PyObject *tensor_of(Call &call, int32_t buffer); // borrowed; NULL with an exception set
bool alloc(Call &call, int32_t buffer);          // new memory for it, laid out as planned
void set_failed(ProgramObject *program, int64_t check, int64_t value, int64_t bound);
// The graph fails, with the exception that is set as its cause: an op raised what eager would raise, but not where; or an
// argument is not what the guards promised. Interrupts and lack of memory stay what they are.
void fail_because(ProgramObject *program);
bool strict(); // aten.settings.strict
void relocate_view(Call &call, int32_t buffer); // after its base has moved
const int64_t *resolve(const Call &call, const Layout &layout, int64_t *scratch); // 2 * ndim numbers

// device.cpp: steps on a device. `begin` makes it this thread's and takes its arena and words; `end` gives the words to whoever
// waits next, or looks at them at once where errors are to be met where they happen.
bool begin_device(Call &call);
bool launch(Call &call, const Step &step);
bool end_device(Call &call, bool ok);
// graphs.cpp: launches that are played together. `play_queued` is called before anything else is done on the device.
LaunchQueue *new_queue();
void free_queue(LaunchQueue *queue);
void free_graphs(LaunchGraphs *graphs);
void queue_launch(Call &call, const Launch::Function &function, uint32_t grid, const int64_t *slots, size_t n);
bool play_queued(Call &call);
// checks.cpp: the words of a call's checks.
bool begin_checks(Call &call);
bool end_checks(Call &call, bool ok);
void free_words(CheckWords *words);
PyObject *failed_checks(PyObject *module, PyObject *ignored); // raises for what has failed since it was last called
PyObject *moved_to_aligned(WeftTensor *t); // a copy of a tensor on a device in memory of its own
// The elements of a tensor into another of the same sizes, one of them or both on a device: through the op.
bool copy_by_op(WeftTensor *out, WeftTensor *in);
static inline bool on_device(uint32_t word) { return ((word >> 8) & 15) != WEFT_CPU; }

// call.cpp: steps that work on Python objects.
bool run_op(Call &call, const Step &step);
bool run_loop(Call &call, const Step &step);
bool run_cond(Call &call, const Step &step);
bool copy_strided(char *out, const int64_t *out_strides, const char *in, const int64_t *in_strides,
                  const int64_t *sizes, int ndim, int itemsize);
bool set_result(Call &call, int32_t buffer, PyObject *tensor); // steals; locates a `result` buffer

// load.cpp
Plan *load_plan(PyObject *data, PyObject *constants, void *library, PyObject *functions); // NULL with ValueError set
void free_plan(Plan *plan);
int traverse_plan(Plan *plan, visitproc visit, void *arg);

// module.cpp, training.cpp
extern PyTypeObject *program_type;
PyObject *new_program(PyObject *data, void *library, PyObject *constants, PyObject *functions);
bool add_training_type(PyObject *module);
PyObject *sha256(PyObject *module, PyObject *data);
PyObject *source_states(PyObject *module, PyObject *args);

// Recording of gradients is off while the steps of a Program run: the Program itself is one node, or none.
struct NoGrad {
  uint64_t *word = api->ambient();
  uint64_t before = *word;
  NoGrad() { *word = before & ~WEFT_AMBIENT_GRAD; }
  ~NoGrad() { *word = (*word & ~WEFT_AMBIENT_GRAD) | (before & WEFT_AMBIENT_GRAD); }
};

static inline bool is_tensor(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  return type == api->tensor_type || (PyObject *)type == api->parameter_type || PyType_IsSubtype(type, api->tensor_type);
}
static inline double as_double(int64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline int64_t as_bits(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

} // namespace runner
#endif
