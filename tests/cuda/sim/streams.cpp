// streams.cpp: work in the order of streams and events.
#include "machine.h"

namespace cudasim {
CUresult submit(Api &api, CUstream s, const char *what, Work work, CUgraphNodeType type, shared_ptr<Kernel> kernel, OpRef *made,
                std::vector<OpRef> also, bool always) {
  s = stream_of(s);
  if (s->capture) {
    if (s->capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    auto node = std::make_unique<Node>();
    node->type = type, node->work = std::move(work), node->what = what, node->after = s->ends, node->kernel = kernel;
    s->ends = {node.get()};
    s->capture->graph->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
  }
  if (s->legacy)
    for (Capture *c : m.captures)
      for (CUstream other : c->streams)
        if (other->blocking) {
          c->broken = true;
          return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
  OpRef op = std::make_shared<Op>();
  op->what = what;
  op->device = s->device;
  op->work = std::move(work);
  op->always = always;
  op->after = std::move(also);
  if (s->tail) op->after.push_back(s->tail);
  if (s->legacy) {
    for (CUstream other : m.streams)
      if (other->blocking && other->device == s->device && other->tail) op->after.push_back(other->tail);
  } else if (s->blocking && m.legacy[s->device].tail)
    op->after.push_back(m.legacy[s->device].tail);
  op->after.erase(std::remove_if(op->after.begin(), op->after.end(), [](const OpRef &o) { return o->done; }), op->after.end());
  s->tail = op;
  m.pending.push_back(op);
  m.changed.notify_all();
  if (made) *made = op;
  if (m.schedule == m.EAGER) complete(api.lock, op);
  return CUDA_SUCCESS;
}

CUresult wait(Api &api, CUstream s) {
  s = stream_of(s);
  if (s->capture) {
    s->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  OpRef tail = s->tail;
  complete(api.lock, tail);
  return m.sticky;
}

} // namespace cudasim

API cuStreamCreateWithPriority(CUstream *s, unsigned flags, int priority) {
  ENTER();
  *s = new CUstream_st{here(), !(flags & CU_STREAM_NON_BLOCKING), false, nullptr, nullptr, {}, priority};
  return m.streams.insert(*s), CUDA_SUCCESS;
}
API cuStreamCreate(CUstream *s, unsigned flags) { return cuStreamCreateWithPriority(s, flags, 0); }
API cuStreamDestroy(CUstream s) { ENTER(); NEED(m.streams.erase(s)); return CUDA_SUCCESS; } // its work still runs; leaked
API cuStreamSynchronize(CUstream s) { ENTER(); return wait(api, s); }
API cuStreamQuery(CUstream s) {
  ENTER();
  s = stream_of(s);
  if (s->capture) return s->capture->broken = true, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!s->tail || s->tail->done) return CUDA_SUCCESS;
  if (m.schedule == m.LAZY && m.random() % 4 == 0) complete(api.lock, OpRef(s->tail)); // who polls gets there
  return CUDA_ERROR_NOT_READY;
}
API cuStreamGetFlags(CUstream s, unsigned *f) { ENTER(); return *f = stream_of(s)->blocking ? 0 : CU_STREAM_NON_BLOCKING, CUDA_SUCCESS; }
API cuStreamGetPriority(CUstream s, int *p) { ENTER(); return *p = stream_of(s)->priority, CUDA_SUCCESS; }
API cuStreamGetCtx(CUstream s, CUcontext *c) { ENTER(); return *c = &m.context[stream_of(s)->device], CUDA_SUCCESS; }
API cuStreamGetDevice(CUstream s, CUdevice *d) { ENTER(); return *d = stream_of(s)->device, CUDA_SUCCESS; }
API cuStreamGetId(CUstream s, unsigned long long *i) { ENTER(); return *i = (unsigned long long)s, CUDA_SUCCESS; }
API cuLaunchHostFunc(CUstream s, CUhostFn f, void *data) {
  ENTER();
  return submit(api, s, "host function", [=] { return f(data), CUDA_SUCCESS; }, CU_GRAPH_NODE_TYPE_HOST);
}
API cuEventCreate(CUevent *e, unsigned flags) {
  ENTER();
  *e = new CUevent_st{here(), !(flags & CU_EVENT_DISABLE_TIMING), nullptr, nullptr, {}};
  return m.events.insert(*e), CUDA_SUCCESS;
}
API cuEventDestroy(CUevent e) { ENTER(); NEED(m.events.erase(e)); return delete e, CUDA_SUCCESS; }
API cuEventRecord(CUevent e, CUstream s) {
  ENTER();
  NEED(m.events.count(e));
  s = stream_of(s);
  if (e->device != s->device) return CUDA_ERROR_INVALID_HANDLE;
  if (s->capture) return e->capture = s->capture, e->ends = s->ends, CUDA_SUCCESS;
  e->capture = nullptr;
  return submit(api, s, "event", nullptr, CU_GRAPH_NODE_TYPE_EVENT_RECORD, nullptr, &e->op);
}
API cuEventRecordWithFlags(CUevent e, CUstream s, unsigned) { return cuEventRecord(e, s); }
API cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
  ENTER();
  NEED(m.events.count(e));
  s = stream_of(s);
  if (e->capture && m.captures.count(e->capture)) {
    if (s->capture && s->capture != e->capture) return s->capture->broken = e->capture->broken = true, CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (!s->capture) s->capture = e->capture, s->capture->streams.push_back(s), s->ends.clear();
    for (Node *n : e->ends)
      if (std::find(s->ends.begin(), s->ends.end(), n) == s->ends.end()) s->ends.push_back(n);
    return CUDA_SUCCESS;
  }
  if (s->capture) return s->capture->broken = true, CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  if (!e->op || e->op->done) return CUDA_SUCCESS;
  return submit(api, s, "wait", nullptr, CU_GRAPH_NODE_TYPE_WAIT_EVENT, nullptr, nullptr, {e->op});
}
API cuEventSynchronize(CUevent e) {
  ENTER();
  if (e->capture && m.captures.count(e->capture)) return CUDA_ERROR_CAPTURED_EVENT;
  complete(api.lock, OpRef(e->op));
  return m.sticky;
}
API cuEventQuery(CUevent e) {
  ENTER();
  if (e->capture && m.captures.count(e->capture)) return CUDA_ERROR_CAPTURED_EVENT;
  if (!e->op || e->op->done) return CUDA_SUCCESS;
  if (m.schedule == m.LAZY && m.random() % 4 == 0) complete(api.lock, OpRef(e->op));
  return CUDA_ERROR_NOT_READY;
}
API cuEventElapsedTime_v2(float *ms, CUevent a, CUevent b) {
  ENTER();
  if (!a->op || !b->op || !a->timing || !b->timing) return CUDA_ERROR_INVALID_HANDLE;
  if (!a->op->done || !b->op->done) return CUDA_ERROR_NOT_READY;
  return *ms = std::chrono::duration<float, std::milli>(b->op->end - a->op->end).count(), CUDA_SUCCESS;
}
#undef cuEventElapsedTime
API cuEventElapsedTime(float *ms, CUevent a, CUevent b) { return cuEventElapsedTime_v2(ms, a, b); }
