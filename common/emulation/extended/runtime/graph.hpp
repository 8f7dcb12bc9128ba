#pragma once

// Graphs of work: what stream capture and cudaGraphAdd…Node make, and what runs.

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "common/emulation/extended/graph_api.hpp"
#include "common/emulation/runtime/stream.hpp"

// The handles of the API point to these.
struct CUgraphNode_st {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  convlab::emulation::Action action;
  std::vector<const CUgraphNode_st*> before;  ///< what it waits for
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  ///< in the order of their creation

  /// Adds a node that waits for nothing yet.
  CUgraphNode_st* add(cudaGraphNodeType type, convlab::emulation::Action action);
};

struct CUgraphExec_st {
  struct Step {
    const CUgraphNode_st* origin;  ///< only for comparison: the graph may be gone
    cudaGraphNodeType type;
    convlab::emulation::Action action;
    std::vector<std::size_t> before;  ///< numbers of steps
  };
  std::vector<Step> steps;
};

namespace convlab::emulation {

/// A graph of the same nodes.
std::unique_ptr<CUgraph_st> clone(const CUgraph_st& graph);

/// Gathers the work of captured streams in a graph.
class GraphCapture : public Capture {
 public:
  /// Each node waits for the one before: captured work keeps the order in which it was submitted.
  void add(cudaGraphNodeType type, Action action) override;
  [[nodiscard]] std::unique_ptr<CUgraph_st> take_graph() {
    return std::exchange(graph_, std::make_unique<CUgraph_st>());
  }

 private:
  std::unique_ptr<CUgraph_st> graph_ = std::make_unique<CUgraph_st>();
};

/// A copy of the graph that can run. @return null if its nodes wait for each other in a circle
std::unique_ptr<CUgraphExec_st> instantiate(const CUgraph_st& graph);

/// The work of all steps, in an order that their dependencies allow. CONVLAB_EMU_ORDER chooses the
/// order, so that a forgotten dependency shows.
std::vector<Action> in_order(const CUgraphExec_st& executable);

}  // namespace convlab::emulation
