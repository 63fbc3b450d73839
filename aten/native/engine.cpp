// engine.cpp: the backward walk. Iterative, in the order of creation (latest first), with counts of the gradients that each
// node still waits for; a graph may be millions of nodes deep. Gradients are added by Python's `+`, so through dispatch:
// the walk works on Tracers, and under create_graph it is itself recorded.
#include <algorithm>
#include <queue>
#include <vector>

#include "node.h"
#include "node_index.h"
#include "op.h"
#include "replay.h"

namespace weft {

static PyObject *fit_gradient;  // aten.autograd.engine: fit(grad, (sizes, dtype, device), message prefix) -> grad

namespace {

struct Task {
  WeftNode *node;
  uint32_t waiting;   // consumers that have not sent their gradient yet
  uint32_t first;     // of its gradients in `grads`
  bool needed;        // some input that was asked for lies behind it
  bool captured;      // its own gradients are asked for
};

struct Walk {
  std::vector<Task> tasks;
  std::vector<PyObject *> grads;  // owned, NULL where none has arrived
  NodeIndex index;
  bool subset = false, accumulate = true, keep = false, create = false;
  std::vector<std::pair<int64_t, uint32_t>> captures;  // (task or -1, output) of each input asked for
  std::vector<Ref> results;

  ~Walk() {
    for (PyObject *g : grads) Py_XDECREF(g);
  }

  uint32_t visit(WeftNode *node) {
    uint32_t fresh = (uint32_t)tasks.size(), i = index.find_or_insert(node, fresh);
    if (i == fresh) {
      tasks.push_back({node, 0, (uint32_t)grads.size(), true, false});
      grads.resize(grads.size() + std::max<uint32_t>(node->n_outputs, 1), nullptr);
    }
    return i;
  }

  void discover() {
    for (uint32_t i = 0; i < tasks.size(); i++) {  // visit() appends: breadth first
      WeftNode *node = tasks[i].node;
      for (uint32_t e = 0; e < node->n_edges; e++)
        if (node->edges[e].node) tasks[visit(node->edges[e].node)].waiting++;
    }
  }

  // Nodes are created after those they lead to, AccumulateGrad apart, which leads nowhere.
  void mark_needed() {
    std::vector<uint32_t> order(tasks.size());
    for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
    auto age = [&](uint32_t i) { return tasks[i].node->n_edges ? tasks[i].node->sequence : 0; };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return age(a) < age(b); });
    for (uint32_t i : order) {
      Task &task = tasks[i];
      task.needed = task.captured && accumulate && task.node->variable;
      for (uint32_t e = 0; e < task.node->n_edges && !task.needed; e++) {
        if (!task.node->edges[e].node) continue;
        Task &next = tasks[(size_t)index.find(task.node->edges[e].node)];
        task.needed = next.needed || next.captured;
      }
    }
  }
};

bool unshared(PyObject *grad) {
  return Py_REFCNT(grad) == 1 && !WEFT_IS_TRACER(grad) && as_tensor(grad)->storage->refs == 1 && !as_tensor(grad)->grad_fn &&
         !(as_tensor(grad)->storage->flags & WEFT_STORAGE_READONLY);
}

// Adds `grad` (stolen) to what has arrived in `slot`.
bool add_gradient(PyObject **slot, PyObject *grad) {
  if (!*slot) {
    *slot = grad;
    return true;
  }
  Ref owned(grad), before(std::exchange(*slot, nullptr));
  bool in_place = !grad_enabled() && Py_TYPE(before.get()) == Py_TYPE(grad) && unshared(before.get()) && (as_tensor(before.get())->word & WEFT_WORD_CONTIGUOUS) &&
                  !WEFT_IS_TRACER(grad);
  if (in_place) {
    *slot = PyNumber_InPlaceAdd(before.get(), grad);
  } else {
    *slot = PyNumber_Add(before.get(), grad);
  }
  return *slot != nullptr;
}

// Whether `grad` has the sizes and dtype that output `nr` of `node` has; -1 when only Python can tell.
int fits(WeftNode *node, uint32_t nr, WeftTensor *grad) {
  if (WEFT_IS_TRACER(grad)) return -1;
  uint32_t kept = WEFT_WORD_DTYPE | WEFT_WORD_DEVICE;
  const int64_t *sizes;
  uint32_t word, ndim;
  if (node->variable) {
    WeftTensor *v = as_tensor(node->variable);
    if (WEFT_IS_TRACER(v)) return -1;
    word = v->word, ndim = (uint32_t)WEFT_NDIM(v), sizes = v->sizes;
  } else if (node->layouts) {
    const int64_t *p = node->layouts;
    for (uint32_t i = 0; i < nr; i++) p += 2 + p[1];
    word = (uint32_t)p[0], ndim = (uint32_t)p[1], sizes = p + 2;
  } else {
    return -1;
  }
  if (((word ^ grad->word) & kept) || (int)ndim != WEFT_NDIM(grad)) return 0;
  for (uint32_t d = 0; d < ndim; d++)
    if (sizes[d] != grad->sizes[d]) return 0;
  return 1;
}

// (sizes, dtype, device) of output `nr`, new reference
PyObject *meta_of_output(WeftNode *node, uint32_t nr) {
  if (node->variable) {
    PyObject *v = node->variable;
    Ref shape(PyObject_GetAttrString(v, "shape")), dtype(PyObject_GetAttrString(v, "dtype")), device(PyObject_GetAttrString(v, "device"));
    return shape && dtype && device ? PyTuple_Pack(3, shape.get(), dtype.get(), device.get()) : nullptr;
  }
  Ref metas(PyObject_GetAttrString(as_object(node), "metas"));
  return metas ? PySequence_GetItem(metas.get(), nr) : nullptr;
}

// The gradient in the sizes and dtype of where it goes: summed over what was broadcast, cast back. Steals `grad`.
PyObject *fit(PyObject *grad, WeftNode *target, uint32_t nr, WeftNode *from, Py_ssize_t i) {
  Ref owned(grad);
  if (!is_tensor(grad) && PyCallable_Check(grad)) return PyObject_CallNoArgs(grad);  // aten/derivative.py: there is none, which it says
  if (!is_tensor(grad))
    return PyErr_Format(PyExc_RuntimeError, "expected Variable or None (got %s) for the gradient at index %zd of %U", Py_TYPE(grad)->tp_name, i,
                        from ? from->name : target->name);
  if (fits(target, nr, as_tensor(grad)) == 1) return owned.release();
  Ref meta(meta_of_output(target, nr));
  if (!meta || !fit_gradient) return nullptr;
  return PyObject_CallFunction(fit_gradient, "OOOn", grad, meta.get(), from ? from->name : Py_None, i);
}

// ------------------------------------------------------------------------------------------------- hooks
// What a hook returns has the dtype, device and sizes of what it was given.
bool may_replace(PyObject *hook, WeftTensor *before, WeftTensor *after) {
  if (WEFT_IS_TRACER(before) || WEFT_IS_TRACER(after)) return true;
  uint32_t differs = before->word ^ after->word;
  const char *what = differs & WEFT_WORD_DTYPE ? "dtype" : differs & WEFT_WORD_DEVICE ? "device" : nullptr;
  bool same = WEFT_NDIM(before) == WEFT_NDIM(after);
  for (int d = 0; same && d < WEFT_NDIM(before); d++) same = before->sizes[d] == after->sizes[d];
  if (what || !same) {
    Ref name(PyObject_GetAttrString(hook, "__name__"));
    if (!name) PyErr_Clear();
    Ref shown(name ? PyObject_Str(name.get()) : PyUnicode_FromString("<unnamed>"));
    if (shown) PyErr_Format(PyExc_RuntimeError, "hook '%U' has changed the %s of value", shown.get(), what ? what : "size");
  }
  return !what && same;
}

// hook(grad) may return another gradient.
bool call_tensor_hook(PyObject *hook, PyObject **slot) {
  if (!*slot) return true;
  Ref result(PyObject_CallOneArg(hook, *slot));
  if (!result) return false;
  if (result.get() == Py_None) return true;
  if (!is_tensor(result.get())) {
    PyErr_Format(PyExc_TypeError, "a tensor hook must return None or a Tensor, got %s", Py_TYPE(result.get())->tp_name);
    return false;
  }
  if (!may_replace(hook, as_tensor(*slot), as_tensor(result.get()))) return false;
  Py_SETREF(*slot, result.release());
  return true;
}

PyObject *as_tuple(PyObject *const *grads, uint32_t n) {
  PyObject *tuple = PyTuple_New(n);
  for (uint32_t i = 0; tuple && i < n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(grads[i] ? grads[i] : Py_None));
  return tuple;
}

// hook(grads) may return other gradients of the outputs.
bool call_node_pre_hook(PyObject *hook, PyObject **slots, uint32_t n) {
  Ref grads(as_tuple(slots, n));
  if (!grads) return false;
  Ref result(PyObject_CallOneArg(hook, grads.get()));
  if (!result) return false;
  if (result.get() == Py_None) return true;
  Ref tuple(PyTuple_Check(result.get()) ? Py_NewRef(result.get()) : PyTuple_Pack(1, result.get()));
  if (!tuple || PyTuple_GET_SIZE(tuple.get()) != (Py_ssize_t)n) {
    if (tuple) PyErr_Format(PyExc_RuntimeError, "a node's prehook must return %u gradients", n);
    return false;
  }
  for (uint32_t i = 0; i < n; i++) {
    PyObject *g = PyTuple_GET_ITEM(tuple.get(), i);
    Py_XSETREF(slots[i], g == Py_None ? nullptr : Py_NewRef(g));
  }
  return true;
}

// (which, hook)
bool is_entry(PyObject *entry) {
  if (PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) == 2) return true;
  PyErr_Format(PyExc_TypeError, "a hook is kept as (output, hook), not %R", entry);
  return false;
}

// The entries are (output, hook), of a tensor; (-1 - output, hook): retained gradients, after those; (None, hook), of the node, which
// are run by themselves (`of_node`).
bool run_pre_hooks(WeftNode *node, PyObject **slots, bool of_node) {
  if (!node->pre_hooks) return true;
  Ref entries(PyList_AsTuple(node->pre_hooks));
  if (!entries) return false;
  for (int last = 0; last < (of_node ? 1 : 2); last++) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entries.get()); i++) {
      PyObject *entry = PyTuple_GET_ITEM(entries.get(), i);
      if (!is_entry(entry)) return false;
      PyObject *which = PyTuple_GET_ITEM(entry, 0), *hook = PyTuple_GET_ITEM(entry, 1);
      if ((which == Py_None) != of_node) continue;
      if (of_node) {
        if (!call_node_pre_hook(hook, slots, node->n_outputs)) return false;
        continue;
      }
      long nr = PyLong_AsLong(which), output = nr < 0 ? -1 - nr : nr;
      if (PyErr_Occurred()) return false;
      if (output >= (long)node->n_outputs) {
        PyErr_Format(PyExc_RuntimeError, "a hook is of output %ld, but %U has %u", output, node->name, node->n_outputs);
        return false;
      }
      if ((nr < 0) == last && !call_tensor_hook(hook, &slots[output])) return false;
    }
  }
  return true;
}

// Hooks of a leaf are kept on the tensor as (0, hook), and (1, hook) for those that run after accumulation.
bool run_leaf_hooks(WeftTensor *leaf, long kind, PyObject **slot) {
  if (!leaf->hooks) return true;
  Ref entries(PyList_AsTuple(leaf->hooks));
  for (Py_ssize_t i = 0; entries && i < PyTuple_GET_SIZE(entries.get()); i++) {
    PyObject *entry = PyTuple_GET_ITEM(entries.get(), i);
    if (!is_entry(entry)) return false;
    PyObject *hook = PyTuple_GET_ITEM(entry, 1);
    if (PyLong_AsLong(PyTuple_GET_ITEM(entry, 0)) != kind) continue;
    if (kind == 0) {
      if (!call_tensor_hook(hook, slot)) return false;
    } else {
      Ref result(PyObject_CallOneArg(hook, as_object(leaf)));
      if (!result) return false;
      if (result.get() != Py_None) {
        PyErr_SetString(PyExc_RuntimeError, "Tensor post accumulate grad hooks should return None.");
        return false;
      }
    }
  }
  return entries || !PyErr_Occurred();
}

// -------------------------------------------------------------------------------------------------- steps
// A copy of the gradient, in the layout of its leaf if that is dense, else row-major.
PyObject *laid_out_as(WeftTensor *leaf, PyObject *grad) {
  bool plain = !grad_enabled() && !WEFT_IS_TRACER(leaf) && !WEFT_IS_TRACER(grad) && Py_TYPE(grad) == tensor_type;
  if (!plain) return PyObject_CallMethod(grad, "clone", nullptr);
  Ref copy(empty_like(leaf, WEFT_DTYPE(as_tensor(grad))));
  return copy ? PyObject_CallMethod(copy.get(), "copy_", "O", grad) : nullptr;
}

// leaf.grad += grad; the first gradient is kept itself where nobody else holds it.
bool accumulate_into(WeftTensor *leaf, PyObject **slot) {
  if (!leaf->grad && !grad_enabled() && unshared(*slot) && as_tensor(*slot)->word & leaf->word & WEFT_WORD_CONTIGUOUS) {
    leaf->grad = std::exchange(*slot, nullptr);
    track(leaf);
    return true;
  }
  if (!leaf->grad) {
    Ref kept(laid_out_as(leaf, *slot));
    if (!kept) return false;
    if (!leaf->grad) {  // no other thread's walk has come here meanwhile
      leaf->grad = kept.release();
      track(leaf);
      return true;
    }
  }
  Ref before(Py_NewRef(leaf->grad));
  bool in_place = !grad_enabled() && Py_TYPE(before.get()) == Py_TYPE(*slot);  // else a class decides what the sum is
  Ref sum(!in_place ? PyNumber_Add(before.get(), *slot) : PyNumber_InPlaceAdd(before.get(), *slot));
  if (!sum) return false;
  Py_XSETREF(leaf->grad, sum.release());
  return true;
}

// Whether the walk runs the node: it may only come to it for the gradient that arrives there.
bool executes(const Walk &walk, const Task &task) {
  if (task.node->variable) return walk.accumulate && (!walk.subset || task.captured);
  return !walk.subset || task.needed;
}

bool step_leaf(Walk &walk, Task &task, PyObject **slot) {
  Ref keep(Py_NewRef(task.node->variable));
  WeftTensor *leaf = as_tensor(keep.get());
  if (!*slot || !executes(walk, task) || !WEFT_REQUIRES_GRAD(leaf)) return true;  // (it may have been detached since)
  if (leaf->grad_fn) return PyErr_SetString(PyExc_RuntimeError, "leaf variable has been moved into the graph interior"), false;
  Ref node(Py_NewRef(as_object(task.node)));
  if (!accumulate_into(leaf, slot)) return false;
  // What came, for hooks of the node: it may have become the leaf's own gradient, which hooks of the leaf write.
  Ref given(task.node->post_hooks ? PyTuple_Pack(1, *slot ? *slot : leaf->grad) : nullptr);
  if (task.node->post_hooks && !given) return false;
  if (!run_leaf_hooks(leaf, 1, slot)) return false;
  Py_CLEAR(*slot);  // another leaf may have been given the same, and keep it itself if nobody else holds it
  if (!given) return true;
  Ref hooks(PyList_AsTuple(as_node(node.get())->post_hooks)), nothing(PyTuple_New(0));
  for (Py_ssize_t i = 0; hooks && nothing && i < PyTuple_GET_SIZE(hooks.get()); i++) {
    Ref result(PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(hooks.get(), i), nothing.get(), given.get(), nullptr));
    if (!result) return false;
  }
  return hooks && nothing;
}

// Tells the watcher of detect_anomaly what the node gave, or what it raised. False with an exception set.
bool watch(WeftNode *node, PyObject *result) {
  Ref watcher(Py_NewRef(anomaly_watcher));
  if (result) return Ref(PyObject_CallFunctionObjArgs(watcher.get(), as_object(node), result, nullptr)).get() != nullptr;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref told(PyObject_CallFunctionObjArgs(watcher.get(), as_object(node), value, nullptr));
  if (!told) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return false;
}

// `every_edge`: no gradient can be left out.
PyObject *call_backward(WeftNode *node, PyObject *grads, bool every_edge) {
  Ref result(every_edge ? replayed_backward(node, grads) : UNHANDLED);
  if (result.get() == UNHANDLED) {
    result.release();
    PyObject *args[3] = {nullptr, as_object(node), grads};
    result.reset(PyObject_Vectorcall(node->backward, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  }
  if (__builtin_expect(anomaly_watcher != nullptr, 0) && !watch(node, result.get())) return nullptr;
  if (!result) return nullptr;
  if (!PyTuple_Check(result.get()) || PyTuple_GET_SIZE(result.get()) != (Py_ssize_t)node->n_edges)
    return PyErr_Format(PyExc_RuntimeError, "%U returned an incorrect number of gradients (expected %u, got %zd)", node->name, node->n_edges,
                        PyTuple_Check(result.get()) ? PyTuple_GET_SIZE(result.get()) : (Py_ssize_t)1);
  if (!node->post_hooks) return result.release();
  Ref hooks(PyList_AsTuple(node->post_hooks));
  for (Py_ssize_t i = 0; hooks && i < PyTuple_GET_SIZE(hooks.get()); i++) {
    Ref changed(PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(hooks.get(), i), result.get(), grads, nullptr));
    if (!changed) return nullptr;
    if (changed.get() == Py_None) continue;
    if (!PyTuple_Check(changed.get()) || PyTuple_GET_SIZE(changed.get()) != (Py_ssize_t)node->n_edges)
      return PyErr_Format(PyExc_RuntimeError, "a hook of %U must return %u gradients", node->name, node->n_edges);
    result = std::move(changed);
  }
  return hooks ? result.release() : nullptr;
}

// What may run, the latest node first. Leaves are all as late as can be: they run as PyTorch's heap has them, which compares no more.
struct Earlier {
  bool operator()(const std::pair<uint64_t, uint32_t> &a, const std::pair<uint64_t, uint32_t> &b) const { return a.first < b.first; }
};
typedef std::priority_queue<std::pair<uint64_t, uint32_t>, std::vector<std::pair<uint64_t, uint32_t>>, Earlier> Ready;

void settle(Walk &walk, Ready &ready, uint32_t i) {
  if (--walk.tasks[i].waiting == 0) ready.push({walk.tasks[i].node->sequence, i});
}

thread_local WeftNode *running;  // the node whose backward this thread runs
thread_local uint64_t asked = ~uint64_t(0);  // of its edges, those whose gradients go on; all ones where nothing can be left out

struct Running {
  WeftNode *before;
  uint64_t asked_before;
  Running(WeftNode *node, uint64_t edges) : before(std::exchange(running, node)), asked_before(std::exchange(asked, edges)) {}
  ~Running() { running = before, asked = asked_before; }
};

bool wants(Walk &walk, WeftNode *node) {
  const Task &next = walk.tasks[(size_t)walk.index.find(node)];
  return !walk.subset || next.needed || next.captured;
}

uint64_t asked_edges(Walk &walk, WeftNode *node) {
  if (!walk.subset || node->n_edges < 2 || node->n_edges >= 64) return ~uint64_t(0);
  uint64_t found = 0;
  bool all = true;
  for (uint32_t e = 0; e < node->n_edges; e++) {
    if (!node->edges[e].node) continue;
    const bool one = wants(walk, node->edges[e].node);
    found |= uint64_t(one) << e, all = all && one;
  }
  return all ? ~uint64_t(0) : found;
}

// Runs the node's backward and sends its gradients on.
bool step_node(Walk &walk, uint32_t at, Ready &ready) {
  Task task = walk.tasks[at];
  WeftNode *node = task.node;
  bool any = false;
  for (uint32_t k = 0; k < node->n_outputs; k++) any |= walk.grads[task.first + k] != nullptr;
  Ref result;
  if (any && executes(walk, task)) {
    Ref grads(as_tuple(&walk.grads[task.first], node->n_outputs));
    if (!grads) return false;
    for (uint32_t k = 0; k < node->n_outputs; k++) Py_CLEAR(walk.grads[task.first + k]);
    {
      const uint64_t edges = asked_edges(walk, node);
      Running now(node, edges);
      result.reset(call_backward(node, grads.get(), edges == ~uint64_t(0)));
    }
    if (!result) return false;
    if (!walk.keep && node->saved && holds_tensors(node->saved)) Py_CLEAR(node->saved);
  }
  for (uint32_t e = 0; e < node->n_edges; e++) {
    WeftEdge &edge = node->edges[e];
    if (!edge.node) continue;
    uint32_t next = (uint32_t)walk.index.find(edge.node);
    PyObject *grad = result ? PyTuple_GET_ITEM(result.get(), e) : Py_None;
    if (grad != Py_None && wants(walk, edge.node)) {
      // Taken out of the tuple when it is ours alone, so that sums may be formed in place.
      if (Py_REFCNT(result.get()) == 1) PyTuple_SET_ITEM(result.get(), e, Py_NewRef(Py_None));
      else Py_INCREF(grad);
      PyObject *fitted = fit(grad, edge.node, edge.nr, node, (Py_ssize_t)e);
      if (!fitted || !add_gradient(&walk.grads[walk.tasks[next].first + edge.nr], fitted)) return false;
    }
    settle(walk, ready, next);
  }
  return true;
}

bool run(Walk &walk) {
  Ready ready;
  for (uint32_t i = 0; i < walk.tasks.size(); i++)
    if (walk.tasks[i].waiting == 0) ready.push({walk.tasks[i].node->sequence, i});
  while (!ready.empty()) {
    uint32_t at = ready.top().second;
    ready.pop();
    Task &task = walk.tasks[at];
    PyObject **slots = &walk.grads[task.first];
    if (!run_pre_hooks(task.node, slots, false)) return false;
    if (task.node->variable && !run_leaf_hooks(as_tensor(task.node->variable), 0, slots)) return false;
    if (task.captured) {
      for (size_t c = 0; c < walk.captures.size(); c++)
        if (walk.captures[c].first == (int64_t)at) walk.results[c] = Ref::borrow(slots[walk.captures[c].second]);
    }
    if (executes(walk, task) && !run_pre_hooks(task.node, slots, true)) return false;
    if (task.node->variable ? !step_leaf(walk, task, slots) : !step_node(walk, at, ready)) return false;
  }
  return true;
}

// Gradients on or off for the extent of a walk.
struct GradMode {
  uint64_t before;
  explicit GradMode(bool on) : before(*ambient() & WEFT_AMBIENT_GRAD) {
    *ambient() = (*ambient() & ~WEFT_AMBIENT_GRAD) | (on ? WEFT_AMBIENT_GRAD : 0);
  }
  ~GradMode() { *ambient() = (*ambient() & ~WEFT_AMBIENT_GRAD) | before; }
};

// The node and which of its outputs: of a tensor, or of a (node, output number) itself. New reference.
WeftNode *edge_of(PyObject *object, uint32_t *nr) {
  if (PyTuple_Check(object)) {
    *nr = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(object, 1));
    return as_node(Py_NewRef(PyTuple_GET_ITEM(object, 0)));
  }
  WeftTensor *t = as_tensor(object);
  WeftNode *node = gradient_node(t);
  *nr = t->grad_fn ? t->output_nr : 0;
  return node;
}

bool is_edge(PyObject *object) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2 || !PyObject_TypeCheck(PyTuple_GET_ITEM(object, 0), node_type)) return false;
  int64_t nr = PyLong_Check(PyTuple_GET_ITEM(object, 1)) ? PyLong_AsLongLong(PyTuple_GET_ITEM(object, 1)) : -1;
  if (PyErr_Occurred()) PyErr_Clear();
  return nr >= 0 && nr < (int64_t)std::max<uint32_t>(as_node(PyTuple_GET_ITEM(object, 0))->n_outputs, 1);
}

bool add_roots(Walk &walk, PyObject *tensors, PyObject *grads, std::vector<Ref> &held) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); i++) {
    uint32_t nr;
    WeftNode *node = edge_of(PyTuple_GET_ITEM(tensors, i), &nr);
    if (!node) return false;
    held.emplace_back(as_object(node));
    uint32_t task = walk.visit(node);
    PyObject *fitted = fit(Py_NewRef(PyTuple_GET_ITEM(grads, i)), node, nr, nullptr, i);
    if (!fitted || !add_gradient(&walk.grads[walk.tasks[task].first + nr], fitted)) return false;
  }
  return true;
}

bool add_inputs(Walk &walk, PyObject *inputs) {
  walk.subset = true;
  walk.results.resize((size_t)PyTuple_GET_SIZE(inputs));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
    uint32_t nr;
    Ref node(as_object(edge_of(PyTuple_GET_ITEM(inputs, i), &nr)));
    if (!node) return false;
    int64_t task = walk.index.find(as_node(node.get()));
    walk.captures.push_back({task, nr});
    if (task >= 0) walk.tasks[(size_t)task].captured = true;
  }
  walk.mark_needed();
  return true;
}

}  // namespace

// run_backward(tensors, grads, retain_graph, create_graph, inputs or None, accumulate) -> tuple of the inputs' gradients, None
// where there is none; or None without inputs
static PyObject *run_backward(PyObject *, PyObject *args) {
  PyObject *tensors, *grads, *inputs;
  int keep, create, accumulate;
  if (!PyArg_ParseTuple(args, "O!O!ppOp:run_backward", &PyTuple_Type, &tensors, &PyTuple_Type, &grads, &keep, &create, &inputs, &accumulate))
    return nullptr;
  if (inputs != Py_None && !PyTuple_Check(inputs)) return PyErr_Format(PyExc_TypeError, "run_backward: inputs are a tuple or None");
  for (PyObject *list : {tensors, inputs}) {
    for (Py_ssize_t i = 0; list != Py_None && i < PyTuple_GET_SIZE(list); i++) {
      PyObject *t = PyTuple_GET_ITEM(list, i);
      if (!is_edge(t) && (!is_tensor(t) || !WEFT_REQUIRES_GRAD(t)))
        return PyErr_Format(PyExc_RuntimeError, list == tensors ? "element %zd of tensors does not require grad and does not have a grad_fn"
                                                                : "One of the differentiated Tensors does not require grad (input %zd)", i);
    }
  }
  if (PyTuple_GET_SIZE(tensors) != PyTuple_GET_SIZE(grads)) return PyErr_Format(PyExc_RuntimeError, "got %zd tensors and %zd gradients",
                                                                               PyTuple_GET_SIZE(tensors), PyTuple_GET_SIZE(grads));
  GradMode mode(create);
  std::vector<Ref> held;
  Walk walk;
  walk.keep = keep;
  walk.create = create;
  walk.accumulate = accumulate;
  if (!add_roots(walk, tensors, grads, held)) return nullptr;
  walk.discover();
  if (inputs != Py_None && !add_inputs(walk, inputs)) return nullptr;
  if (!run(walk)) return nullptr;
  if (inputs == Py_None) Py_RETURN_NONE;
  Ref result(PyTuple_New((Py_ssize_t)walk.results.size()));
  for (size_t i = 0; result && i < walk.results.size(); i++) {
    PyObject *grad = walk.results[i].release();
    PyTuple_SET_ITEM(result.get(), (Py_ssize_t)i, grad ? grad : Py_NewRef(Py_None));
  }
  return result.release();
}

static PyObject *set_anomaly_watcher(PyObject *, PyObject *callable) {
  Py_XSETREF(anomaly_watcher, callable == Py_None ? nullptr : Py_NewRef(callable));
  Py_RETURN_NONE;
}

static PyObject *set_fit_gradient(PyObject *, PyObject *callable) {
  Py_XSETREF(fit_gradient, Py_NewRef(callable));
  Py_RETURN_NONE;
}

// add_tensor_hook(leaf, kind, hook): kind 0 before, 1 after accumulation; returns the list entry
static PyObject *add_leaf_hook(PyObject *, PyObject *args) {
  PyObject *tensor, *hook;
  int kind;
  if (!PyArg_ParseTuple(args, "O!iO:add_leaf_hook", tensor_type, &tensor, &kind, &hook)) return nullptr;
  WeftTensor *t = as_tensor(tensor);
  if (!t->hooks && !(t->hooks = PyList_New(0))) return nullptr;
  track(t);
  Ref entry(Py_BuildValue("(iO)", kind, hook));
  if (!entry || PyList_Append(t->hooks, entry.get()) < 0) return nullptr;
  return Py_BuildValue("OO", t->hooks, entry.get());
}

static PyObject *set_retains_grad(PyObject *, PyObject *tensor) {
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor");
  as_tensor(tensor)->flags |= WEFT_FLAG_RETAIN_GRAD;
  Py_RETURN_NONE;
}

static PyObject *current_node(PyObject *, PyObject *) { return Py_NewRef(running ? as_object(running) : Py_None); }

static PyObject *edges_asked(PyObject *, PyObject *) { return asked == ~uint64_t(0) ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(asked); }

PyMethodDef engine_functions[] = {
    {"edges_asked", edges_asked, METH_NOARGS, "bits of the edges of that node whose gradients the walk goes on with, or None: all"},
    {"current_node", current_node, METH_NOARGS, "the node whose backward this thread runs, or None"},
    {"run_backward", run_backward, METH_VARARGS, "run_backward(tensors, grads, retain_graph, create_graph, inputs, accumulate)"},
    {"set_anomaly_watcher", set_anomaly_watcher, METH_O, nullptr},
    {"set_fit_gradient", set_fit_gradient, METH_O, nullptr},
    {"add_leaf_hook", add_leaf_hook, METH_VARARGS, "add_leaf_hook(leaf, kind, hook) -> (list, entry)"},
    {"set_retains_grad", set_retains_grad, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft
