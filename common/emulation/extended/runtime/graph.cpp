#include "common/emulation/extended/runtime/graph.hpp"

#include <algorithm>
#include <map>

#include "common/emulation/runtime/random.hpp"
#include "common/emulation/runtime/settings.hpp"

using convlab::emulation::Action;

CUgraphNode_st* CUgraph_st::add(cudaGraphNodeType type, Action action) {
  nodes.push_back(std::make_unique<CUgraphNode_st>());
  CUgraphNode_st& node = *nodes.back();
  node.type = type;
  node.action = std::move(action);
  return &node;
}

namespace convlab::emulation {
namespace {

/// The numbers of the steps, each after those it waits for. Steps in a circle are left out.
std::vector<std::size_t> order_of(const CUgraphExec_st& executable) {
  Random random(settings().seed, executable.steps.size());
  std::vector<std::size_t> waits_for;
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < executable.steps.size(); ++i) {
    waits_for.push_back(executable.steps[i].before.size());
    if (waits_for[i] == 0) ready.push_back(i);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    auto next = std::ranges::min_element(ready);
    if (settings().order == Order::kReverse) next = std::ranges::max_element(ready);
    if (settings().order == Order::kShuffle)
      next = ready.begin() + static_cast<std::ptrdiff_t>(random.below(ready.size()));
    const std::size_t step = *next;
    ready.erase(next);
    order.push_back(step);
    for (std::size_t i = 0; i < executable.steps.size(); ++i) {
      const auto& before = executable.steps[i].before;
      const auto times = static_cast<std::size_t>(std::ranges::count(before, step));
      if (times == 0) continue;
      waits_for[i] -= times;
      if (waits_for[i] == 0) ready.push_back(i);
    }
  }
  return order;
}

std::map<const CUgraphNode_st*, std::size_t> number_nodes(const CUgraph_st& graph) {
  std::map<const CUgraphNode_st*, std::size_t> numbers;
  for (const auto& node : graph.nodes) numbers.emplace(node.get(), numbers.size());
  return numbers;
}

}  // namespace

std::unique_ptr<CUgraph_st> clone(const CUgraph_st& graph) {
  auto copy = std::make_unique<CUgraph_st>();
  const auto numbers = number_nodes(graph);
  for (const auto& node : graph.nodes) copy->add(node->type, node->action);
  for (const auto& node : graph.nodes)
    for (const CUgraphNode_st* before : node->before)
      copy->nodes[numbers.at(node.get())]->before.push_back(copy->nodes[numbers.at(before)].get());
  return copy;
}

void GraphCapture::add(cudaGraphNodeType type, Action action) {
  const CUgraphNode_st* const last = graph_->nodes.empty() ? nullptr : graph_->nodes.back().get();
  CUgraphNode_st* const node = graph_->add(type, std::move(action));
  if (last != nullptr) node->before.push_back(last);
}

std::unique_ptr<CUgraphExec_st> instantiate(const CUgraph_st& graph) {
  auto executable = std::make_unique<CUgraphExec_st>();
  const auto numbers = number_nodes(graph);
  for (const auto& node : graph.nodes) {
    executable->steps.push_back({node.get(), node->type, node->action, {}});
    for (const CUgraphNode_st* before : node->before)
      executable->steps.back().before.push_back(numbers.at(before));
  }
  if (order_of(*executable).size() < executable->steps.size()) return nullptr;
  return executable;
}

std::vector<Action> in_order(const CUgraphExec_st& executable) {
  std::vector<Action> actions;
  for (const std::size_t step : order_of(executable))
    actions.push_back(executable.steps[step].action);
  return actions;
}

}  // namespace convlab::emulation
