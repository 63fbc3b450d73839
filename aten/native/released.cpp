// released.cpp: see released.h. A call that goes away draws a ticket; what is freed notes the last ticket drawn, and goes
// once the calls of that and earlier tickets have returned. All under the GIL.
#include "released.h"

#include <time.h>

#include <algorithm>
#include <deque>
#include <new>
#include <utility>
#include <vector>

namespace weft {

__thread KernelThread kernel_thread;
int64_t calls_away;
static std::vector<int64_t> away;   // their tickets
static int64_t last_ticket;
static int waiting;                 // threads in wait_for_calls
static int waiting_away;            // of them, those in the middle of a call that is away: none of these waits for another
static std::deque<std::pair<int64_t, WeftStorage *>> parked;

bool call_goes_away() {
  if (kernel_thread.ticket) return true;
  if (waiting) return false;
  away.push_back(last_ticket + 1);
  kernel_thread.ticket = ++last_ticket;
  calls_away++;
  return true;
}

// Releasing may run Python code, which may free more and run kernels.
static void settle() {
  while (!parked.empty() && (away.empty() || *std::min_element(away.begin(), away.end()) > parked.front().first)) {
    WeftStorage *storage = parked.front().second;
    parked.pop_front();
    storage_release(storage);
  }
}

// Whether no call is away but this thread's, a Program's that is between two steps, with no other call open within it.
static bool only_resting() {
  return kernel_thread.resting && calls_away == 1 && kernel_thread.depth == kernel_thread.programs;
}

void op_of_program_ended() {
  while (!parked.empty() && only_resting()) {
    WeftStorage *storage = parked.front().second;
    parked.pop_front();
    storage_release(storage);
  }
}

void call_ended() {
  kernel_thread.resting = false;
  away.erase(std::find(away.begin(), away.end(), std::exchange(kernel_thread.ticket, 0)));
  calls_away--;
  if (!parked.empty()) settle();
}

void park(WeftStorage *storage) {
  if (only_resting()) storage_release(storage);
  else parked.push_back({last_ticket, storage});
}

bool wait_for_calls() {
  const int inside = kernel_thread.ticket != 0;
  waiting++, waiting_away += inside;
  while (calls_away > waiting_away && PyErr_CheckSignals() == 0) {
    Py_BEGIN_ALLOW_THREADS;
    const timespec pause = {0, 20000};
    nanosleep(&pause, nullptr);
    Py_END_ALLOW_THREADS;
  }
  waiting--, waiting_away -= inside;
  return !PyErr_Occurred();
}

void forget_calls() {
  away.clear();
  calls_away = waiting = waiting_away = 0;
  kernel_thread = {kernel_thread.depth, 0, nullptr, 0, kernel_thread.programs, false};
}

PyObject *raise_caught() noexcept {
  try {
    throw;
  } catch (const Interrupted &) {
    return nullptr;
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  } catch (const std::exception &error) {
    return PyErr_Format(PyExc_RuntimeError, "%s", error.what());
  }
}

}  // namespace weft
