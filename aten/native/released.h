// released.h: kernels that run without the GIL, and what must stay as it is while they do.
//
// Another thread may meanwhile rebind `x.data`, resize a tensor or drop the last reference to one. So a call whose kernel
// gives up the GIL is *away* from then until it returns (it may run several kernels, and read its arguments in between):
// memory that is freed waits for the calls that were away then (`park`), and a change of a tensor's layout waits until no
// call is (`wait_for_calls`). What a kernel reads from memory more than once, like an index, it copies first.
// A Program's call holds all storages of which it has addresses: what its own thread frees between two of its steps does not
// wait for it (each of its ops would leave what it needed on the way until the end of the call).
#ifndef WEFT_RELEASED_H
#define WEFT_RELEASED_H

#include <exception>

#include "native.h"

namespace weft {

struct KernelThread {
  int depth;             // calls of this thread that are open
  int64_t ticket;        // of the outermost, once it is away; else 0
  PyThreadState *state;  // while the thread is without the GIL
  uint64_t asked;        // when it last asked for signals, in ticks of the processor
  int programs;          // of the open calls, those of Programs
  bool resting;          // the outermost has the GIL again, between two steps of a Program
};
__attribute__((tls_model("initial-exec"))) extern __thread KernelThread kernel_thread;  // (__thread: no look whether it has been initialised)

// Thrown out of a kernel where a signal's handler has raised; that exception is set.
struct Interrupted : std::exception {};

// To be called in kernels now and then (a parallel loop does): about ten times a second a thread without the GIL takes it to run
// the handlers of signals, so that Ctrl-C ends a kernel that goes on for long.
constexpr uint64_t kAskTicks = 300000000;
void ask_for_signals();
inline void poll_signals() {
  if (kernel_thread.state && __builtin_ia32_rdtsc() - kernel_thread.asked > kAskTicks) ask_for_signals();
}

void op_of_program_ended();

// A call that may run kernels.
class CallScope {
 public:
  CallScope() { kernel_thread.depth++; }
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;
  ~CallScope() noexcept(false) {
    if (--kernel_thread.depth == 0) {
      if (kernel_thread.ticket) call_ended();
    } else if (kernel_thread.resting) {
      op_of_program_ended();
    }
  }
};

// Where `yes`, the GIL is given up for the extent of a kernel, unless a thread waits for all calls to return. Kernels may
// throw std::bad_alloc, and Interrupted. At the interpreter's end, taking the GIL again ends the thread, by unwinding.
class Released {
 public:
  explicit Released(bool yes = true) : state_(yes && call_goes_away() ? PyEval_SaveThread() : nullptr) {
    if (!state_) return;
    kernel_thread.state = state_;
    kernel_thread.asked = __builtin_ia32_rdtsc();
  }
  Released(const Released &) = delete;
  Released &operator=(const Released &) = delete;
  ~Released() noexcept(false) {
    if (!state_) return;
    kernel_thread.state = nullptr;
    PyEval_RestoreThread(state_);
  }

 private:
  CallScope scope_;
  PyThreadState *state_;
};

// Native functions that run kernels: what C++ throws becomes a Python exception.
PyObject *raise_caught() noexcept;
template <PyObject *(*f)(PyObject *, PyObject *)>
PyObject *guarded(PyObject *self, PyObject *args) {
  try {
    CallScope scope;
    return f(self, args);
  } catch (const std::exception &) {
    return raise_caught();
  }
}

template <PyObject *(*f)(PyObject *, PyObject *const *, Py_ssize_t)>
PyObject *guarded(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
  try {
    CallScope scope;
    return f(self, args, nargs);
  } catch (const std::exception &) {
    return raise_caught();
  }
}

}  // namespace weft
#endif
