// graphs.cpp: captured work, and graphs of it.
#include "machine.h"

API cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode) {
  ENTER();
  s = stream_of(s);
  if (s->legacy || s->capture) return s->legacy ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_ILLEGAL_STATE;
  s->capture = new Capture{new CUgraph_st, s, mode, std::this_thread::get_id(), ++m.captures_made, false, {s}};
  s->ends.clear();
  return m.captures.insert(s->capture), CUDA_SUCCESS;
}
API cuStreamEndCapture(CUstream s, CUgraph *out) {
  ENTER();
  s = stream_of(s);
  Capture *c = s->capture;
  *out = nullptr;
  if (!c) return CUDA_ERROR_ILLEGAL_STATE;
  if (c->origin != s) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != std::this_thread::get_id()) return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  std::unordered_set<Node *> followed;
  for (auto &n : c->graph->nodes) followed.insert(n->after.begin(), n->after.end());
  bool joined = true;
  for (auto &n : c->graph->nodes)
    if (!followed.count(n.get()) && std::find(s->ends.begin(), s->ends.end(), n.get()) == s->ends.end()) joined = false;
  for (CUstream each : c->streams) each->capture = nullptr, each->ends.clear();
  m.captures.erase(c); // leaked: events may still name it
  if (c->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  return *out = c->graph, CUDA_SUCCESS;
}
API cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *v) {
  ENTER();
  s = stream_of(s);
  *v = !s->capture ? CU_STREAM_CAPTURE_STATUS_NONE : s->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
API cuStreamGetCaptureInfo_v2(CUstream s, CUstreamCaptureStatus *v, cuuint64_t *id, CUgraph *g, const CUgraphNode **deps, size_t *n) {
  ENTER();
  s = stream_of(s);
  Capture *c = s->capture;
  *v = !c ? CU_STREAM_CAPTURE_STATUS_NONE : c->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (id) *id = c ? c->id : 0;
  if (g) *g = c ? c->graph : nullptr;
  if (deps) *deps = (const CUgraphNode *)s->ends.data();
  if (n) *n = s->ends.size();
  return CUDA_SUCCESS;
}
API cuStreamGetCaptureInfo_v3(CUstream s, CUstreamCaptureStatus *v, cuuint64_t *id, CUgraph *g, const CUgraphNode **deps,
                              const CUgraphEdgeData **edges, size_t *n) {
  if (edges) *edges = nullptr;
  return cuStreamGetCaptureInfo_v2(s, v, id, g, deps, n);
}
API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) { ENTER(false); return std::swap(thread_mode, *mode), CUDA_SUCCESS; }
API cuGraphCreate(CUgraph *g, unsigned) { ENTER(false); return *g = new CUgraph_st, CUDA_SUCCESS; }
API cuGraphDestroy(CUgraph g) { ENTER(false); return delete g, CUDA_SUCCESS; }
API cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *n) {
  ENTER(false);
  if (nodes)
    for (size_t i = 0; i < std::min(*n, g->nodes.size()); i++) nodes[i] = (CUgraphNode)g->nodes[i].get();
  return *n = g->nodes.size(), CUDA_SUCCESS;
}
API cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *after, size_t n, const CUDA_KERNEL_NODE_PARAMS *p) {
  ENTER();
  shared_ptr<Kernel> k;
  uint32_t grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ}, block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
  if (CUresult e = prepare_kernel(k, p->func, grid, block, p->sharedMemBytes, p->kernelParams)) return e;
  auto node = std::make_unique<Node>();
  node->work = [k] { return run_kernel(k); }, node->what = k->launch.name, node->type = CU_GRAPH_NODE_TYPE_KERNEL, node->kernel = k;
  for (size_t i = 0; i < n; i++) node->after.push_back((Node *)after[i]);
  *out = (CUgraphNode)node.get();
  return g->nodes.push_back(std::move(node)), CUDA_SUCCESS;
}
API cuGraphNodeGetType(CUgraphNode n, CUgraphNodeType *t) { ENTER(false); return *t = ((Node *)n)->type, CUDA_SUCCESS; }
API cuGraphInstantiate(CUgraphExec *out, CUgraph g, unsigned long long) {
  ENTER();
  auto exec = std::make_unique<CUgraphExec_st>();
  std::unordered_map<Node *, size_t> at;
  for (auto &n : g->nodes) {
    CUgraphExec_st::Step step{n->work, n->what, n->type, {}, n->kernel, n.get()};
    for (Node *a : n->after) step.after.push_back(at.at(a));
    at[n.get()] = exec->steps.size();
    exec->steps.push_back(std::move(step));
  }
  m.execs.insert(*out = exec.release());
  return CUDA_SUCCESS;
}
API cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p) {
  p->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return cuGraphInstantiate(out, g, p->flags);
}
API cuGraphUpload(CUgraphExec, CUstream) { ENTER(); return CUDA_SUCCESS; }
API cuGraphLaunch(CUgraphExec g, CUstream s) {
  ENTER();
  NEED(m.execs.count(g));
  s = stream_of(s);
  if (s->capture) return CUDA_ERROR_NOT_SUPPORTED; // child graphs
  OpRef first, last;
  std::vector<OpRef> made, also;
  if (g->last && !g->last->done) also.push_back(g->last);
  auto schedule = m.schedule;
  if (schedule == m.EAGER) m.schedule = m.LAZY;
  if (CUresult e = submit(api, s, "graph begins", nullptr, CU_GRAPH_NODE_TYPE_EMPTY, nullptr, &first, also)) return m.schedule = schedule, e;
  std::vector<OpRef> all;
  for (auto &step : g->steps) {
    OpRef op = std::make_shared<Op>();
    op->work = step.work, op->what = step.what, op->device = s->device, op->after = {first};
    for (size_t a : step.after) op->after.push_back(made[a]);
    made.push_back(op), m.pending.push_back(op);
  }
  CUresult e = submit(api, s, "graph ends", nullptr, CU_GRAPH_NODE_TYPE_EMPTY, nullptr, &last, made);
  g->last = last;
  m.schedule = schedule;
  if (schedule == m.EAGER) complete(api.lock, last);
  return e;
}
API cuGraphExecDestroy(CUgraphExec g) { ENTER(false); NEED(m.execs.erase(g)); return delete g, CUDA_SUCCESS; }
API cuGraphExecKernelNodeSetParams(CUgraphExec g, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p) {
  ENTER();
  for (auto &step : g->steps)
    if (step.from == (Node *)node) {
      shared_ptr<Kernel> k;
      uint32_t grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ}, block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
      if (CUresult e = prepare_kernel(k, p->func, grid, block, p->sharedMemBytes, p->kernelParams)) return e;
      step.kernel = k, step.work = [k] { return run_kernel(k); };
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE;
}
API cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p) {
  ENTER();
  Kernel *k = ((Node *)node)->kernel.get();
  NEED(k);
  const CudasimLaunch &l = k->launch;
  *p = CUDA_KERNEL_NODE_PARAMS{k->function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2], l.shared, (void **)k->params.data(), nullptr, nullptr, nullptr};
  return CUDA_SUCCESS;
}
struct CUuserObject_st { CUhostFn destroy; void *what; unsigned refs; };
API cuUserObjectCreate(CUuserObject *o, void *what, CUhostFn destroy, unsigned refs, unsigned) {
  ENTER(false);
  return *o = new CUuserObject_st{destroy, what, refs}, CUDA_SUCCESS;
}
API cuUserObjectRetain(CUuserObject o, unsigned n) { ENTER(false); return o->refs += n, CUDA_SUCCESS; }
API cuUserObjectRelease(CUuserObject o, unsigned n) {
  ENTER(false);
  if (!(o->refs -= n)) api.lock.unlock(), o->destroy(o->what);
  return CUDA_SUCCESS;
}
API cuGraphRetainUserObject(CUgraph, CUuserObject o, unsigned n, unsigned flags) {
  ENTER(false);
  if (!(flags & CU_GRAPH_USER_OBJECT_MOVE)) o->refs += n; // released never
  return CUDA_SUCCESS;
}
API cuGraphReleaseUserObject(CUgraph, CUuserObject, unsigned) { ENTER(false); return CUDA_SUCCESS; }
