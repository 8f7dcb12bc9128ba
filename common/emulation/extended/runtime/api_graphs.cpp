// Graphs of the runtime API.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/stream.hpp"

using namespace convlab::emulation;

// The handles of the API point to these.
struct CUgraphNode_st {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Action action = [] {};
  std::vector<std::size_t> before;         ///< numbers of the nodes that it waits for
  const CUgraphNode_st* origin = nullptr;  ///< of a copy, only for comparison: it may be gone
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  ///< in the order of their creation
};

struct CUgraphExec_st : CUgraph_st {};

namespace {

// ---- graphs -------------------------------------------------------------------------------------

/// The work of all nodes, each after those it waits for. CONVLAB_EMU_ORDER chooses among the orders
/// that are left, so that a forgotten dependency shows.
std::vector<Action> in_order(const CUgraph_st& graph) {
  std::vector<bool> is_done(graph.nodes.size());
  std::vector<Action> order;
  while (order.size() < graph.nodes.size()) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (!is_done[i] && std::ranges::all_of(graph.nodes[i]->before,
                                             [&](std::size_t other) { return is_done[other]; }))
        ready.push_back(i);
    const std::size_t next = settings().reverses ? ready.back() : ready.front();
    is_done[next] = true;
    order.push_back(graph.nodes[next]->action);
  }
  return order;
}

template <typename Copied>
std::unique_ptr<Copied> copy_of(const CUgraph_st& graph) {
  auto copied = std::make_unique<Copied>();
  for (const auto& node : graph.nodes) {
    copied->nodes.push_back(std::make_unique<CUgraphNode_st>(*node));
    copied->nodes.back()->origin = node.get();
  }
  return copied;
}

/// The graph of captured work. Each node waits for the one before: captured work keeps the order in
/// which it was submitted.
std::unique_ptr<CUgraph_st> graph_of(Capture& capture) {
  auto graph = std::make_unique<CUgraph_st>();
  for (auto& [type, action] : capture.work) {
    auto& node = *graph->nodes.emplace_back(std::make_unique<CUgraphNode_st>());
    node.type = type;
    node.action = std::move(action);
    if (graph->nodes.size() > 1) node.before.push_back(graph->nodes.size() - 2);
  }
  return graph;
}

// ---- what nodes do ------------------------------------------------------------------------------
// Each sets the action, or records and returns an error.

cudaError_t plan(const cudaKernelNodeParams* p, CallSite site, Action& action) {
  if (p == nullptr) return record_error(cudaErrorInvalidValue);
  if (p->extra != nullptr)
    return refuse(cudaErrorNotSupported,
                  "a kernel node with `extra` cannot be emulated: give its arguments as "
                  "kernelParams");
  return plan_untyped(p->func, p->kernelParams,
                      {p->gridDim, p->blockDim, p->sharedMemBytes, nullptr, site}, action);
}

cudaError_t plan(const Copy& copy, cudaMemcpyKind kind, Action& action) {
  action = [copy] { copy.run("a copy of a graph"); };
  if (copy.is_empty()) return record_error(cudaErrorInvalidValue);
  const cudaError_t problem = check(copy, kind, "a copy of a graph");
  if (problem != cudaSuccess) return problem;
  note_copy(side_of(copy.from) == Side::kDevice, side_of(copy.to) == Side::kDevice,
            static_cast<std::int64_t>(copy.bytes()));
  return cudaSuccess;
}

cudaError_t plan(const cudaMemcpy3DParms* p, Action& action) {
  const cudaError_t problem = check(p, "a copy of a graph");
  return problem == cudaSuccess ? plan(Copy(*p), p->kind, action) : problem;
}

cudaError_t plan(const cudaMemsetParams* p, Action& action) {
  if (p == nullptr || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
    return record_error(cudaErrorInvalidValue);
  const std::size_t width = p->width * p->elementSize;
  // CUDA ignores the pitch of a single row.
  const Fill fill{static_cast<std::byte*>(p->dst),
                  p->height == 1 ? width : p->pitch,
                  p->value,
                  p->elementSize,
                  width,
                  p->height};
  action = [fill] { fill.run("a memset of a graph"); };
  return fill.is_empty() ? record_error(cudaErrorInvalidValue) : check(fill, "a memset of a graph");
}

cudaError_t plan(const cudaHostNodeParams* p, Action& action) {
  if (p == nullptr || p->fn == nullptr) return record_error(cudaErrorInvalidValue);
  action = [function = p->fn, data = p->userData] { function(data); };
  return cudaSuccess;
}

// ---- nodes --------------------------------------------------------------------------------------

/// Adds a node with the action that `plan` sets; it waits for `count` others.
template <typename Plan>
cudaError_t add_node(const char* function, CONVLAB_NEW_NODE, cudaGraphNodeType type, Plan plan) {
  if (const cudaError_t lost = begin_call(function)) return lost;
  if (node == nullptr || !is_live(graph) || (count != 0 && before == nullptr))
    return record_error(cudaErrorInvalidValue);
  auto made = std::make_unique<CUgraphNode_st>();
  made->type = type;
  for (std::size_t i = 0; i < count; ++i) {
    const auto other =
        std::ranges::find(graph->nodes, before[i], &std::unique_ptr<CUgraphNode_st>::get);
    if (other == graph->nodes.end()) return record_error(cudaErrorInvalidValue);
    made->before.push_back(static_cast<std::size_t>(other - graph->nodes.begin()));
  }
  const cudaError_t problem = plan(made->action);
  if (problem != cudaSuccess) return problem;
  *node = graph->nodes.emplace_back(std::move(made)).get();
  return cudaSuccess;
}

/// Gives a node of an executable graph another action of the same type.
template <typename Plan>
cudaError_t change_node(const char* function, cudaGraphExec_t executable, cudaGraphNode_t node,
                        cudaGraphNodeType type, Plan plan) {
  if (const cudaError_t lost = begin_call(function)) return lost;
  if (!is_live(executable)) return record_error(cudaErrorInvalidValue);
  for (const auto& each : executable->nodes) {
    if (each->origin != node || each->type != type) continue;
    Action action;
    const cudaError_t problem = plan(action);
    if (problem == cudaSuccess) each->action = std::move(action);
    return problem;
  }
  return record_error(cudaErrorInvalidValue);
}

/// Returns a list as CUDA does: on entry `count` is the room in `nodes`, afterwards the length.
cudaError_t list_nodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count,
                       bool only_roots) {
  if (!is_live(graph) || count == nullptr) return record_error(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> found;
  for (const auto& node : graph->nodes)
    if (!only_roots || node->before.empty()) found.push_back(node.get());
  for (std::size_t i = 0; nodes != nullptr && i < *count; ++i)
    nodes[i] = i < found.size() ? found[i] : nullptr;
  if (nodes == nullptr || found.size() < *count) *count = found.size();
  return cudaSuccess;
}

template <typename Object>
cudaError_t removed(Object* handle) {
  const bool was_live = handles<Object>().remove(handle) != nullptr;
  return record_error(was_live ? cudaSuccess : cudaErrorInvalidValue);
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (graph == nullptr || flags != 0) return record_error(cudaErrorInvalidValue);
  *graph = handles<CUgraph_st>().add(std::make_unique<CUgraph_st>());
  return cudaSuccess;
}

static cudaError_t allocate_for_graph(cudaMemAllocNodeParams& parameters) {
  const cudaError_t error = cudaMalloc(&parameters.dptr, parameters.bytesize);
  if (error == cudaSuccess) device_memory().keep(parameters.dptr);
  return error;
}

#define CONVLAB_NODE(name, kind, parameters, set_action)                                         \
  cudaError_t name parameters {                                                                  \
    return add_node(__func__, node, graph, before, count, cudaGraphNodeType##kind,               \
                    [&]([[maybe_unused]] Action& action) -> cudaError_t { return set_action; }); \
  }
CONVLAB_NODE(cudaGraphAddKernelNode, Kernel,
             (CONVLAB_NEW_NODE, const cudaKernelNodeParams* parameters, CallSite site),
             plan(parameters, site, action))
CONVLAB_NODE(cudaGraphAddMemcpyNode, Memcpy,
             (CONVLAB_NEW_NODE, const cudaMemcpy3DParms* parameters), plan(parameters, action))
CONVLAB_NODE(cudaGraphAddMemcpyNode1D, Memcpy,
             (CONVLAB_NEW_NODE, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind),
             plan(Copy(to, from, bytes), kind, action))
CONVLAB_NODE(cudaGraphAddMemsetNode, Memset, (CONVLAB_NEW_NODE, const cudaMemsetParams* parameters),
             plan(parameters, action))
CONVLAB_NODE(cudaGraphAddHostNode, Host, (CONVLAB_NEW_NODE, const cudaHostNodeParams* parameters),
             plan(parameters, action))
CONVLAB_NODE(cudaGraphAddEmptyNode, Empty, (CONVLAB_NEW_NODE), cudaSuccess)
CONVLAB_NODE(cudaGraphAddMemAllocNode, MemAlloc,
             (CONVLAB_NEW_NODE, cudaMemAllocNodeParams* parameters),
             parameters == nullptr ? record_error(cudaErrorInvalidValue)
                                   : allocate_for_graph(*parameters))
CONVLAB_NODE(cudaGraphAddMemFreeNode, MemFree, (CONVLAB_NEW_NODE, void* pointer),
             record_error(pointer == nullptr ? cudaErrorInvalidValue : cudaSuccess))
#undef CONVLAB_NODE

CONVLAB_API(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count),
            list_nodes(graph, nodes, count, false))
CONVLAB_API(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count),
            list_nodes(graph, nodes, count, true))

CONVLAB_API(cudaGraphNodeGetType, (cudaGraphNode_t node, cudaGraphNodeType* type),
            node == nullptr ? record_error(cudaErrorInvalidValue) : answer(type, node->type))

cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
  if (copy == nullptr || !is_live(graph)) return record_error(cudaErrorInvalidValue);
  *copy = handles<CUgraph_st>().add(copy_of<CUgraph_st>(*graph));
  return cudaSuccess;
}

CONVLAB_API(cudaGraphDestroy, (cudaGraph_t graph), removed(graph))

// ---- running ------------------------------------------------------------------------------------

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  if (executable == nullptr || !is_live(graph)) return record_error(cudaErrorInvalidValue);
  *executable = handles<CUgraphExec_st>().add(copy_of<CUgraphExec_st>(*graph));
  return cudaSuccess;
}

CONVLAB_API(cudaGraphInstantiateWithFlags,
            (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
            cudaGraphInstantiate(executable, graph, flags))

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, std::size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return cudaGraphInstantiate(executable, graph, 0ULL);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters,
                                             CallSite site) {
  return change_node(__func__, executable, node, cudaGraphNodeTypeKernel,
                     [&](Action& action) { return plan(parameters, site, action); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void* to, const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind) {
  return change_node(__func__, executable, node, cudaGraphNodeTypeMemcpy,
                     [&](Action& action) { return plan(Copy(to, from, bytes), kind, action); });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  if (!is_live(executable) || !is_live(graph)) return record_error(cudaErrorInvalidValue);
  auto outcome = cudaGraphExecUpdateSuccess;
  if (graph->nodes.size() != executable->nodes.size())
    outcome = cudaGraphExecUpdateErrorTopologyChanged;
  for (std::size_t i = 0; outcome == cudaGraphExecUpdateSuccess && i < graph->nodes.size(); ++i)
    if (graph->nodes[i]->before != executable->nodes[i]->before)
      outcome = cudaGraphExecUpdateErrorTopologyChanged;
    else if (graph->nodes[i]->type != executable->nodes[i]->type)
      outcome = cudaGraphExecUpdateErrorNodeTypeChanged;
  if (result != nullptr) *result = {outcome, nullptr, nullptr};
  if (outcome != cudaGraphExecUpdateSuccess) return record_error(cudaErrorGraphExecUpdateFailure);
  for (std::size_t i = 0; i < graph->nodes.size(); ++i)
    executable->nodes[i]->action = graph->nodes[i]->action;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  if (!is_live(executable)) return record_error(cudaErrorInvalidValue);
  return record_error(streams().resolve(stream) == nullptr ? cudaErrorInvalidResourceHandle
                                                           : cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  return with_stream(__func__, handle, [&](CUstream_st& stream) {
    if (!is_live(executable)) return cudaErrorInvalidValue;
    streams().submit(
        stream,
        [actions = in_order(*executable)] {
          const GraphLaunch launch;
          for (const Action& action : actions) action();
        },
        cudaGraphNodeTypeGraph);
    return cudaSuccess;
  });
}

CONVLAB_API(cudaGraphExecDestroy, (cudaGraphExec_t executable), removed(executable))

// ---- capture ------------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return with_stream(__func__, handle, [mode](CUstream_st& stream) {
    return streams().begin_capture(stream, mode == cudaStreamCaptureModeRelaxed);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return with_any_stream(__func__, handle, [&](CUstream_st& stream) {
    if (graph == nullptr) return cudaErrorInvalidValue;
    std::shared_ptr<Capture> ended;
    const cudaError_t error = streams().end_capture(stream, ended);
    *graph = error == cudaSuccess ? handles<CUgraph_st>().add(graph_of(*ended)) : nullptr;
    return error;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return with_any_stream(__func__, handle, [&](CUstream_st& stream) {
    if (streams().meets_capture(stream)) return cudaErrorStreamCaptureImplicit;
    return answer(status, !stream.capture          ? cudaStreamCaptureStatusNone
                          : stream.capture->broken ? cudaStreamCaptureStatusInvalidated
                                                   : cudaStreamCaptureStatusActive);
  });
}
