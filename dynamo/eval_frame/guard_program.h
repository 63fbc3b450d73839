// guard_program.h: guards as a flat program over registers of borrowed pointers.
//
// Three parts. `live` reads arguments and checks them on every call. `fixed` reads what hangs on objects (attributes,
// globals, cells): its walk is remembered as a list of machine words that were read, so that the next call compares words
// only (a Memo). `last` checks what needs several values (sizes, aliasing).
#pragma once

#include "pyversion.h"
#include "weft.h"

#include <vector>

#define WEFT_GUARD_OPS(X)                                                                                             \
  /* accessors: regs[dst] = ... */                                                                                    \
  X(LOCAL) X(CLOSURE) X(CELL) X(GLOBAL) X(BUILTIN) X(OBJECT) X(ATTR) X(CLASS_ATTR) X(ITEM) X(DICT_KEY)                 \
  X(INSTANCE_DICT) X(CONVERT)                                                                                         \
  /* checks of regs[a] */                                                                                             \
  X(TYPE_IS) X(ID_IS) X(EQUALS) X(LENGTH) X(DICT_KEYS) X(LACKS_KEY) X(LACKS_ATTR) X(SET) X(CLASS_LOOKUP) X(INHERITS) X(MRO) X(MAKES)  \
  X(LACKS_INSTANCE_ATTR) X(LACKS_GLOBAL) X(FUNCTION_CODE) X(LACKS_DEFAULTS) X(GLOBALS) X(TENSOR) X(VALUE)                       \
  /* checks of several registers, or of none */                                                                       \
  X(SAME_OBJECT) X(DISTINCT) X(APART) X(DISJOINT) X(OVERLAP) X(AMBIENT) X(NUM_THREADS) X(SHAPE)

enum GuardOp : uint16_t {
#define X(name) OP_##name,
  WEFT_GUARD_OPS(X)
#undef X
      OP_COUNT
};
extern const char *const kGuardOpNames[OP_COUNT];

// How an instruction holds the object that it compares with.
enum Held : uint8_t {
  kStrong,
  kWeak,   // `obj` is borrowed; the program dies with it (watch)
  kAbsent, // there is none: nothing must be found
  kParts   // something that cannot be referred to weakly (a property): `obj` is its type, then names of attributes; `data`
           // the addresses of what they are, which are watched
};

struct Instr {
  uint16_t op, dst, a, b;
  uint32_t guard;        // index of the guard this belongs to, to explain a failure
  uint8_t mode;          // how the attribute is found on objects of `type` (inline cache)
  Held held;
  PyObject *obj;         // constant, held so
  PyObject *name;        // owned or NULL: a str
  std::vector<int64_t> data;
  PyTypeObject *type;    // inline cache: borrowed, compared only
  uint32_t type_tag;
  PyObject *found;       // inline cache: borrowed from the type while type_tag holds
  Py_ssize_t offset;
};

// *address == value. The address lies in an object that earlier words of the list prove alive.
struct Word {
  const uint64_t *address;
  uint64_t value;
};

// What stands on a type, which the words before `before` prove alive, is as it was.
struct SeenType {
  const PyTypeObject *type;
  unsigned int version;
  uint32_t before;
};

// What a tensor said of itself. Where that does not decide its layout, its sizes and strides stand in Memo::layouts.
struct SeenTensor {
  const WeftTensor *tensor;
  PyTypeObject *type;
  int64_t offset, numel;
  uint32_t word;
};
// Whether `word` and the number of elements are all there is to sizes and strides.
inline bool layout_is_decided(uint32_t word, int64_t numel) {
  int ndim = (int)((word & WEFT_WORD_NDIM) >> 16);
  return ndim == 0 || (ndim == 1 && numel > 1 && (word & WEFT_WORD_CONTIGUOUS));
}

// What a dictionary had under a name, or (value NULL) that it had nothing; key NULL: all of it was read.
struct SeenKey {
  PyObject *dict, *key;  // the key is the program's
  PyObject *value;       // compared only, and so is its type
  PyTypeObject *type;
  Py_ssize_t at;         // where the entry was found last, -1: not looked for
  uint32_t word;         // the dictionary's tag, in Memo::words
};

struct Memo {
  std::vector<void *> key;        // the objects it starts from
  std::vector<Word> words;
  std::vector<SeenType> types;    // by `before`
  std::vector<SeenKey> reads;     // by word: what is asked where a tag is another one
  std::vector<PyObject *> unlike; // while it is noted: values that an address and a type do not say
  std::vector<SeenTensor> tensors; // compared after the words, which prove them alive
  std::vector<const WeftTensor *> laid_out; // those that `layouts` is about, compared last
  std::vector<int64_t> layouts;
  std::vector<uint32_t> again;    // instructions of `fixed` that words cannot describe: run on every call
  std::vector<PyObject *> regs;   // borrowed: what the fixed part read; NULL where `again` reads
  std::vector<PyObject *> keep;   // owned: immutable values that were compared by value
};

// A tensor argument: what LOCAL and TENSOR say of it, side by side.
struct TensorArgument {
  PyObject *type;        // borrowed from the instruction
  uint32_t word, mask;
  uint16_t arg, dst;
  int32_t ndim;
  const int64_t *dims;   // of the instruction: sizes, then strides, INT64_MIN where not compared
};

struct GuardProgram {
  PyObject_HEAD
  int n_args;                           // argument slots that it reads
  int n_regs, fixed_first, fixed_count; // registers written by `fixed` are fixed_first .. + fixed_count
  std::vector<Instr> *live, *fixed, *last;
  // The first of `live`, which most calls have no more of: pairs of LOCAL and TENSOR, then AMBIENT.
  std::vector<TensorArgument> *tensors;
  bool has_ambient;
  uint64_t ambient, ambient_mask;
  std::vector<uint16_t> *key_regs;      // live registers that `fixed` starts from
  bool key_function;                    // `fixed` reads cells or globals
  std::vector<Memo *> *memos;           // kMemoSlots, direct mapped; empty until first used
  PyTypeObject *sole_class;             // where `fixed` does no more than look names up on one class: that, and its version
  unsigned int sole_version;            // when they were as they should be. (Whatever has a tensor asks so of Tensor.)
  int credit, unremembered;             // see worth_remembering
  int walks, hits;
  int64_t failed;                       // guard that failed last, -1: none
  // What the program refers to weakly. When one of these objects dies no call can pass any more: the program is dead, and
  // `died(owner)` is called once (entry.cpp takes the entry out of its code object).
  std::vector<PyObject *> *watched;     // owned weak references
  PyObject *life, *callback;            // owned or NULL: what the weak references call
  bool dead;
  void *owner;
  void (*died)(void *owner);
};

constexpr int kMemoSlots = 64;
constexpr int kMaxRegs = 60000;

// References taken while reading attributes that are computed; dropped at the end of the call.
struct Owned {
  std::vector<PyObject *> items;
  ~Owned() {
    for (PyObject *o : items) Py_DECREF(o);
  }
};

extern const WeftAPI *weft; // NULL until aten._native was imported
extern PyTypeObject GuardProgram_Type;

// Whether all guards hold for a call of `func` with arguments `args` (the slots of the argument prefix). Fills `regs`.
// Sets no exception. May run Python code only for attributes that are computed.
bool guard_check(GuardProgram *p, PyObject *const *args, PyFunctionObject *func, PyObject **regs, Owned &owned);

void memo_clear(Memo *m);

// After a walk: each read once. (Words have their places.)
void memo_settle_reads(Memo *m);
// Whether the dictionary whose tag is `words[index]`, and has changed, still holds what was read of it. Then its new tag is noted.
bool memo_reads_hold(Memo *m, size_t index);
bool guard_program_ready(PyObject *module);

// A condition on sizes: see shape_program.cpp.
bool shape_is_valid(const std::vector<int64_t> &code, int n_regs);
bool shape_holds(const std::vector<int64_t> &code, PyObject *const *regs);
bool shape_program_ready(PyObject *module);
