#pragma once

// Graphs of the CUDA runtime API: by stream capture and by nodes.
// Source: CUDA Runtime API reference, graph management.

#include <cstddef>

#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/include/convlab_emulation/runtime_types.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;

enum cudaStreamCaptureMode : unsigned int {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};
enum cudaStreamCaptureStatus : unsigned int {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};

struct cudaKernelNodeParams {
  void* func;
  dim3 gridDim;
  dim3 blockDim;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};
struct cudaMemsetParams {
  void* dst;
  std::size_t pitch;
  unsigned int value;
  unsigned int elementSize;  ///< 1, 2 or 4
  std::size_t width;         ///< in elements
  std::size_t height;
};
struct cudaHostNodeParams {
  cudaHostFn_t fn;
  void* userData;
};
enum cudaGraphExecUpdateResult : unsigned int {
  cudaGraphExecUpdateSuccess = 0,
  cudaGraphExecUpdateError = 1,
  cudaGraphExecUpdateErrorTopologyChanged = 2,
  cudaGraphExecUpdateErrorNodeTypeChanged = 3,
};
struct cudaGraphExecUpdateResultInfo {
  cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode;
  cudaGraphNode_t errorFromNode;
};

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
// What every new node gets: its graph, and `count` nodes that it waits for.
#define CONVLAB_NEW_NODE \
  cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, std::size_t count
cudaError_t cudaGraphAddKernelNode(CONVLAB_NEW_NODE, const cudaKernelNodeParams* parameters,
                                   CONVLAB_CALL_SITE);
cudaError_t cudaGraphAddMemcpyNode(CONVLAB_NEW_NODE, const cudaMemcpy3DParms* parameters);
cudaError_t cudaGraphAddMemcpyNode1D(CONVLAB_NEW_NODE, void* to, const void* from,
                                     std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(CONVLAB_NEW_NODE, const cudaMemsetParams* parameters);
cudaError_t cudaGraphAddHostNode(CONVLAB_NEW_NODE, const cudaHostNodeParams* parameters);
cudaError_t cudaGraphAddEmptyNode(CONVLAB_NEW_NODE);
cudaError_t cudaGraphAddMemAllocNode(CONVLAB_NEW_NODE, cudaMemAllocNodeParams* parameters);
/// The memory stays until the end of the program, so that the graph can be launched again.
cudaError_t cudaGraphAddMemFreeNode(CONVLAB_NEW_NODE, void* pointer);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void* to, const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags = 0);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, std::size_t log_bytes);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters,
                                             CONVLAB_CALL_SITE);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result);
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

// NOLINTEND(readability-identifier-naming)
