// Graphs of the runtime API.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/emulation/extended/runtime/graph.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/launch_plan.hpp"

using namespace convlab::emulation;

namespace {

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
            static_cast<std::int64_t>(copy.width * copy.height * copy.depth));
  return cudaSuccess;
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

bool owns(const CUgraph_st& graph, const CUgraphNode_st* node) {
  return std::ranges::any_of(graph.nodes, [&](const auto& other) { return other.get() == node; });
}

/// Adds a node with the action that `plan` sets; it waits for `count` others.
template <typename Plan>
cudaError_t add_node(const char* function, cudaGraphNode_t* node, cudaGraph_t graph,
                     const cudaGraphNode_t* before, std::size_t count, cudaGraphNodeType type,
                     Plan plan) {
  if (const cudaError_t lost = begin_call(function)) return lost;
  if (node == nullptr || !is_live(graph) || (count != 0 && before == nullptr))
    return record_error(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i)
    if (!owns(*graph, before[i])) return record_error(cudaErrorInvalidValue);
  Action action;
  const cudaError_t problem = plan(action);
  if (problem != cudaSuccess) return problem;
  *node = graph->add(type, std::move(action));
  (*node)->before.assign(before, before + count);
  return cudaSuccess;
}

/// Gives a step of an executable graph another action of the same type.
template <typename Plan>
cudaError_t change_step(const char* function, cudaGraphExec_t executable, cudaGraphNode_t node,
                        cudaGraphNodeType type, Plan plan) {
  if (const cudaError_t lost = begin_call(function)) return lost;
  if (!is_live(executable)) return record_error(cudaErrorInvalidValue);
  const auto step = std::ranges::find_if(executable->steps,
                                         [&](const auto& other) { return other.origin == node; });
  if (step == executable->steps.end() || step->type != type)
    return record_error(cudaErrorInvalidValue);
  Action action;
  const cudaError_t problem = plan(action);
  if (problem == cudaSuccess) step->action = std::move(action);
  return problem;
}

/// Returns a list as CUDA does: on entry `count` is the room in `nodes`, afterwards the length.
template <typename Wanted>
cudaError_t list_nodes(const char* function, cudaGraph_t graph, cudaGraphNode_t* nodes,
                       std::size_t* count, Wanted wanted) {
  note_call(function);
  if (!is_live(graph) || count == nullptr) return record_error(cudaErrorInvalidValue);
  std::size_t found = 0;
  for (const auto& node : graph->nodes) {
    if (!wanted(*node)) continue;
    if (nodes != nullptr && found < *count) nodes[found] = node.get();
    ++found;
  }
  if (nodes != nullptr)
    for (std::size_t i = found; i < *count; ++i) nodes[i] = nullptr;
  if (nodes == nullptr || found < *count) *count = found;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (graph == nullptr || flags != 0) return record_error(cudaErrorInvalidValue);
  *graph = handles<CUgraph_st>().add(std::make_unique<CUgraph_st>());
  return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* before, std::size_t count,
                                   const cudaKernelNodeParams* parameters, CallSite site) {
  return add_node(__func__, node, graph, before, count, cudaGraphNodeTypeKernel,
                  [&](Action& action) { return plan(parameters, site, action); });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* before, std::size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  return add_node(
      __func__, node, graph, before, count, cudaGraphNodeTypeMemcpy, [&](Action& action) {
        if (parameters == nullptr) return record_error(cudaErrorInvalidValue);
        const cudaError_t problem = refuse_arrays(*parameters, "a copy of a graph");
        return problem != cudaSuccess ? problem : plan(box(*parameters), parameters->kind, action);
      });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* before, std::size_t count, void* to,
                                     const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return add_node(__func__, node, graph, before, count, cudaGraphNodeTypeMemcpy,
                  [&](Action& action) { return plan(line(to, from, bytes), kind, action); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* before, std::size_t count,
                                   const cudaMemsetParams* parameters) {
  return add_node(__func__, node, graph, before, count, cudaGraphNodeTypeMemset,
                  [&](Action& action) { return plan(parameters, action); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* before, std::size_t count,
                                 const cudaHostNodeParams* parameters) {
  return add_node(__func__, node, graph, before, count, cudaGraphNodeTypeHost,
                  [&](Action& action) { return plan(parameters, action); });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* before, std::size_t count) {
  return add_node(__func__, node, graph, before, count, cudaGraphNodeTypeEmpty, [](Action& action) {
    action = [] {};
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* before, std::size_t count,
                                     cudaMemAllocNodeParams* parameters) {
  return add_node(__func__, node, graph, before, count, cudaGraphNodeTypeMemAlloc,
                  [&](Action& action) {
                    if (parameters == nullptr) return record_error(cudaErrorInvalidValue);
                    action = [] {};
                    return cudaMalloc(&parameters->dptr, parameters->bytesize);
                  });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* before, std::size_t count,
                                    void* pointer) {
  return add_node(__func__, node, graph, before, count, cudaGraphNodeTypeMemFree,
                  [&](Action& action) {
                    if (pointer == nullptr) return record_error(cudaErrorInvalidValue);
                    action = [] {};
                    return cudaSuccess;
                  });
}

// The memory of a graph is allocated with its node, like any other.
cudaError_t cudaDeviceGetGraphMemAttribute(int /*device*/, cudaGraphMemAttributeType /*attribute*/,
                                           void* /*value*/) {
  return refuse(cudaErrorNotSupported,
                "cudaDeviceGetGraphMemAttribute: graphs have no memory of their own here; "
                "cudaMemGetInfo counts theirs, too");
}
cudaError_t cudaDeviceSetGraphMemAttribute(int /*device*/, cudaGraphMemAttributeType /*attribute*/,
                                           void* /*value*/) {
  return accept(__func__);
}
cudaError_t cudaDeviceGraphMemTrim(int /*device*/) {
  return accept(__func__);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* before, std::size_t count,
                                       cudaGraph_t child) {
  return add_node(__func__, node, graph, before, count, cudaGraphNodeTypeGraph,
                  [&](Action& action) {
                    const std::shared_ptr<CUgraphExec_st> inner =
                        is_live(child) ? instantiate(*child) : nullptr;
                    if (inner == nullptr) return record_error(cudaErrorInvalidValue);
                    action = [inner] {
                      for (const Action& step : in_order(*inner)) step();
                    };
                    return cudaSuccess;
                  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count) {
  note_call(__func__);
  if (count == 0) return cudaSuccess;
  if (!is_live(graph) || from == nullptr || to == nullptr)
    return record_error(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i)
    if (!owns(*graph, from[i]) || !owns(*graph, to[i])) return record_error(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i) to[i]->before.push_back(from[i]);
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* /*data*/,
                                     std::size_t count) {
  return cudaGraphAddDependencies(graph, from, to, count);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return list_nodes(__func__, graph, nodes, count, [](const CUgraphNode_st&) { return true; });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return list_nodes(__func__, graph, nodes, count,
                    [](const CUgraphNode_st& node) { return node.before.empty(); });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  note_call(__func__);
  if (node == nullptr || type == nullptr) return record_error(cudaErrorInvalidValue);
  *type = node->type;
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
  note_call(__func__);
  if (copy == nullptr || !is_live(graph)) return record_error(cudaErrorInvalidValue);
  *copy = handles<CUgraph_st>().add(clone(*graph));
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  note_call(__func__);
  const bool removed = handles<CUgraph_st>().remove(graph) != nullptr;
  return record_error(removed ? cudaSuccess : cudaErrorInvalidValue);
}

// ---- running ------------------------------------------------------------------------------------

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  note_call(__func__);
  if (executable == nullptr || !is_live(graph)) return record_error(cudaErrorInvalidValue);
  *executable = nullptr;
  auto made = instantiate(*graph);
  if (made == nullptr)
    return refuse(cudaErrorInvalidValue, "the nodes of a graph wait for each other in a circle");
  *executable = handles<CUgraphExec_st>().add(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  note_call(__func__);
  return cudaGraphInstantiate(executable, graph, flags);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, std::size_t log_bytes) {
  note_call(__func__);
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return cudaGraphInstantiate(executable, graph, 0ULL);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters,
                                             CallSite site) {
  return change_step(__func__, executable, node, cudaGraphNodeTypeKernel,
                     [&](Action& action) { return plan(parameters, site, action); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void* to, const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind) {
  return change_step(__func__, executable, node, cudaGraphNodeTypeMemcpy,
                     [&](Action& action) { return plan(line(to, from, bytes), kind, action); });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  note_call(__func__);
  if (!is_live(executable) || !is_live(graph)) return record_error(cudaErrorInvalidValue);
  const std::unique_ptr<CUgraphExec_st> update = instantiate(*graph);
  auto outcome = cudaGraphExecUpdateSuccess;
  if (!update || update->steps.size() != executable->steps.size())
    outcome = cudaGraphExecUpdateErrorTopologyChanged;
  for (std::size_t i = 0; outcome == cudaGraphExecUpdateSuccess && i < update->steps.size(); ++i) {
    if (update->steps[i].before != executable->steps[i].before)
      outcome = cudaGraphExecUpdateErrorTopologyChanged;
    else if (update->steps[i].type != executable->steps[i].type)
      outcome = cudaGraphExecUpdateErrorNodeTypeChanged;
  }
  if (result != nullptr) *result = {outcome, nullptr, nullptr};
  if (outcome != cudaGraphExecUpdateSuccess) return record_error(cudaErrorGraphExecUpdateFailure);
  for (std::size_t i = 0; i < update->steps.size(); ++i)
    executable->steps[i].action = std::move(update->steps[i].action);
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphNode_t* error_node, cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t error = cudaGraphExecUpdate(executable, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return error;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  note_call(__func__);
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
          for (const Action& action : actions) action();
        },
        cudaGraphNodeTypeGraph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  note_call(__func__);
  const bool removed = handles<CUgraphExec_st>().remove(executable) != nullptr;
  return record_error(removed ? cudaSuccess : cudaErrorInvalidValue);
}

// ---- capture ------------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode /*mode*/) {
  return with_stream(__func__, handle, [](CUstream_st& stream) {
    return streams().begin_capture(stream, std::make_shared<GraphCapture>());
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return with_stream(__func__, handle, [&](CUstream_st& stream) {
    if (graph == nullptr) return cudaErrorInvalidValue;
    std::shared_ptr<Capture> ended;
    const cudaError_t error = streams().end_capture(stream, ended);
    *graph = nullptr;
    if (auto* const capture = dynamic_cast<GraphCapture*>(ended.get()))
      *graph = handles<CUgraph_st>().add(capture->take_graph());
    return error;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return with_stream(__func__, handle, [&](CUstream_st& stream) {
    if (status == nullptr) return cudaErrorInvalidValue;
    *status = stream.capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}
