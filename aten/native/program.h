// program.h: what a call comes to, as steps: calls, kernels, and what is recorded of them (aten/replay.py writes them).
#ifndef WEFT_PROGRAM_H
#define WEFT_PROGRAM_H

#include "op.h"

namespace weft {

// An argument of a step: a value of the program, a constant, or a sequence of those.
struct Operand {
  enum Kind { SLOT, CONSTANT, LIST, TUPLE } kind = CONSTANT;
  int slot = 0;
  Ref constant;
  std::vector<Operand> items;
};

// The layout of a result that a kernel writes.
struct Layout {
  int dtype, ndim;
  std::vector<int64_t> sizes, strides;
};

struct Step {
  enum Kind { CALL, KERNEL, ITEM, NATIVE, RECORD } kind = CALL;
  Ref function;                // CALL: what is called; KERNEL: the op's kernel, which is given arrays; NATIVE: that on tensors; RECORD: the op
  Ref names;                   // CALL: of the last arguments
  std::vector<Operand> args;
  std::vector<Layout> made;    // KERNEL, NATIVE: its results
  bool several = false;        // KERNEL, NATIVE: they are a tuple
  int item = 0;                // ITEM: of a sequence, which; RECORD: bit i: core argument i wants a gradient
  bool apart = false;          // nothing is recorded in it
  std::vector<int> done;       // values that nobody reads any more
};

struct Program {
  int n_inputs = 0, n_values = 0;
  std::vector<Step> steps;
  Operand result;
  Ref wrapper;                 // makes what is returned of the result; or NULL
};

extern PyObject *quietly;  // aten.replay.quietly(kernel, *arrays): runs a kernel without warnings of NumPy
Program *program_of(PyObject *capsule);  // NULL with an exception set
// What the program gives for its inputs; NULL with an exception set.
PyObject *run_program(const Program &program, const std::vector<PyObject *> &inputs);
// make_program(inputs, steps, result, wrapper): a program of `inputs` tensors, in a capsule; each step makes one more value.
PyObject *make_program(PyObject *, PyObject *args);

}  // namespace weft
#endif
