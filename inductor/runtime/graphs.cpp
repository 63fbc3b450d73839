// Launches of a call, played as graphs of the driver: what `cudagraphs` (mode="reduce-overhead") asks for.
//
// Launches wait until something else than a launch happens on the device, or the call ends; those that have waited are a section of the
// Program. A section is made a graph once for each sequence of functions that it runs (sizes choose among functions, and an empty grid
// is not launched), and of a later call only the kernel nodes whose arguments or grids differ are patched: inputs are read where they
// lie, and results are new tensors as without graphs. In the steady state the allocator gives the same addresses again, and nothing
// is patched but what the caller has changed.
#include "runner.h"

namespace runner {

static const size_t MOST_GRAPHS = 16; // that a Program keeps

// A launch with its arguments; the two scratch pointers of Triton's are 0.
struct Queued {
  const Launch::Function *function;
  uint32_t grid;
  std::vector<int64_t> slots;
};

struct LaunchQueue {
  std::vector<Queued> launches;
  int section = 0;
};

// A section as a graph: the launches that its executable was last given.
struct LaunchGraph {
  int section;
  std::vector<Queued> launches;
  std::vector<void *> nodes;
  void *graph = nullptr, *executable = nullptr;

  LaunchGraph(int section, std::vector<Queued> &&launches) : section(section), launches(std::move(launches)) {}
  LaunchGraph(const LaunchGraph &) = delete;
  LaunchGraph &operator=(const LaunchGraph &) = delete;
  ~LaunchGraph() {
    if (executable) cuda->executable_destroy(executable);
    if (graph) cuda->graph_destroy(graph);
  }
  bool is_of(const LaunchQueue &queue) const {
    if (section != queue.section || launches.size() != queue.launches.size()) return false;
    for (size_t i = 0; i < launches.size(); i++)
      if (launches[i].function != queue.launches[i].function) return false;
    return true;
  }
};

struct LaunchGraphs {
  std::vector<std::unique_ptr<LaunchGraph>> list;
};

// What the driver is given of a launch: the addresses of its arguments.
struct Parameters {
  std::vector<void *> addresses;
  uint32_t grid[3];

  explicit Parameters(Queued &launch) : grid{launch.grid, 1, 1} {
    for (int64_t &slot : launch.slots) addresses.push_back(&slot);
  }
};

static int build(LaunchGraph &g) {
  int code = cuda->graph_new(&g.graph);
  for (Queued &launch : g.launches) {
    if (code) return code;
    Parameters given(launch);
    void *before = g.nodes.empty() ? nullptr : g.nodes.back();
    g.nodes.push_back(nullptr);
    code = cuda->add_node(g.graph, before, &g.nodes.back(), launch.function->handle, given.grid, launch.function->threads,
                          launch.function->shared, given.addresses.data());
  }
  return code ? code : cuda->instantiate(g.graph, &g.executable);
}

static int patch(LaunchGraph &g, std::vector<Queued> &launches) {
  for (size_t i = 0; i < launches.size(); i++) {
    Queued &was = g.launches[i], &now = launches[i];
    if (was.grid == now.grid && was.slots == now.slots) continue;
    Parameters given(now);
    int code = cuda->update_node(g.executable, g.nodes[i], now.function->handle, given.grid, now.function->threads, now.function->shared,
                                 given.addresses.data());
    if (code) return code;
    std::swap(was, now);
  }
  return 0;
}

// Graphs that could not be built or patched are forgotten: what an executable holds is known then, or it is not kept.
static int play(std::vector<std::unique_ptr<LaunchGraph>> &graphs, LaunchQueue &queue, void *stream) {
  size_t found = 0;
  while (found < graphs.size() && !graphs[found]->is_of(queue)) found++;
  int code;
  if (found < graphs.size()) {
    code = patch(*graphs[found], queue.launches);
  } else {
    if (found == MOST_GRAPHS) graphs.erase(graphs.begin()), found--;
    graphs.push_back(std::make_unique<LaunchGraph>(queue.section, std::move(queue.launches)));
    code = build(*graphs[found]);
  }
  if (code) graphs.erase(graphs.begin() + (ptrdiff_t)found);
  return code ? code : cuda->graph_launch(graphs[found]->executable, stream);
}

LaunchQueue *new_queue() { return new LaunchQueue; }
void free_queue(LaunchQueue *queue) { delete queue; }
void free_graphs(LaunchGraphs *graphs) { delete graphs; }

void queue_launch(Call &call, const Launch::Function &function, uint32_t grid, const int64_t *slots, size_t n) {
  call.queue->launches.push_back({&function, grid, std::vector<int64_t>(slots, slots + n)});
}

bool play_queued(Call &call) {
  LaunchQueue &queue = *call.queue;
  int code = 0;
  const char *called = "cuGraphLaunch";
  if (queue.launches.size() == 1) { // a graph would save nothing
    Queued &launch = queue.launches[0];
    Parameters given(launch);
    code = cuda->launch(launch.function->handle, given.grid, launch.function->threads, launch.function->shared, given.addresses.data(),
                        given.addresses.size(), call.stream);
    called = "cuLaunchKernelEx";
  } else if (!queue.launches.empty()) {
    if (!call.program->graphs) call.program->graphs = new LaunchGraphs;
    code = play(call.program->graphs->list, queue, call.stream);
  }
  queue.launches.clear();
  queue.section++;
  if (code) cuda->raise(code, called, "a compiled graph");
  return code == 0;
}

} // namespace runner
