// Which accesses of a block's threads belong together.
//
// Idea     Between two barriers each thread has a list of what it did and where. Threads with equal
//          lists do everything together. Two different lists are aligned so that as much as
//          possible coincides (the longest common subsequence): lanes that leave a loop earlier, or
//          skip a branch, meet the others again behind it, as on a GPU.
// Cost     The product of the lengths of two different lists, without what they begin and end with
//          in common. Where that is too much, only beginning and end join the others.

#include <algorithm>
#include <map>
#include <utility>

#include "common/emulation/trace/step_recorder.hpp"

namespace convlab::emulation {
namespace {

using Tokens = std::vector<StepToken>;
using Indices = std::vector<std::size_t>;

/// A step of one phase and, for each list that takes part, the index of its event.
struct Merged {
  StepToken token{};
  std::vector<std::pair<std::size_t, std::size_t>> parts{};  // list, index
};

// For each token of `list` the index of the step that it joins, or kAlone.
constexpr std::size_t kAlone = ~std::size_t{0};

// @param budget  cells of tables that may still be computed
Indices join_points(const std::vector<Merged>& steps, const Tokens& list, std::size_t& budget) {
  Indices joins(list.size(), kAlone);
  std::size_t begin = 0;
  while (begin < std::min(steps.size(), list.size()) && steps[begin].token == list[begin]) {
    joins[begin] = begin;
    ++begin;
  }
  std::size_t rows = list.size() - begin;
  std::size_t columns = steps.size() - begin;
  while (rows > 0 && columns > 0 && steps[begin + columns - 1].token == list[begin + rows - 1]) {
    --rows;
    --columns;
    joins[begin + rows] = begin + columns;
  }
  constexpr std::size_t kMostCells = std::size_t{16} << 20;
  const std::size_t cells = rows * columns;
  if (cells == 0 || cells > std::min(kMostCells, budget)) return joins;
  budget -= cells;
  const auto same = [&](std::size_t row, std::size_t column) {
    return list[begin + row] == steps[begin + column].token;
  };
  // The longest common subsequence from (row, column) on.
  std::vector<std::uint16_t> lengths((rows + 1) * (columns + 1));
  const auto length = [&](std::size_t row, std::size_t column) -> std::uint16_t& {
    return lengths[row * (columns + 1) + column];
  };
  for (std::size_t row = rows; row-- > 0;) {
    for (std::size_t column = columns; column-- > 0;) {
      length(row, column) = same(row, column)
                                ? static_cast<std::uint16_t>(length(row + 1, column + 1) + 1)
                                : std::max(length(row + 1, column), length(row, column + 1));
    }
  }
  for (std::size_t row = 0, column = 0; row < rows && column < columns;) {
    if (same(row, column)) {
      joins[begin + row++] = begin + column++;
    } else if (length(row + 1, column) > length(row, column + 1)) {
      ++row;
    } else {
      ++column;
    }
  }
  return joins;
}

// Adds a list to the steps. What it does alone stands behind what the others do there.
void merge(std::vector<Merged>& steps, const Tokens& list, std::size_t number,
           std::size_t& budget) {
  const Indices joins = join_points(steps, list, budget);
  std::vector<Merged> result;
  result.reserve(steps.size() + list.size());
  std::size_t done = 0;
  const auto take_until = [&](std::size_t end) {
    while (done < end) result.push_back(std::move(steps[done++]));
  };
  std::size_t next = 0;
  while (next < list.size()) {
    std::size_t joint = next;
    while (joint < list.size() && joins[joint] == kAlone) ++joint;
    take_until(joint < list.size() ? joins[joint] : steps.size());
    for (; next < joint; ++next) result.push_back({list[next], {{number, next}}});
    if (joint == list.size()) break;
    steps[done].parts.emplace_back(number, joint);
    result.push_back(std::move(steps[done++]));
    next = joint + 1;
  }
  take_until(steps.size());
  steps = std::move(result);
}

/// What a thread does between two barriers.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

void pair_phase(const std::vector<std::vector<ThreadEvent>>& threads,
                const std::vector<Range>& ranges, std::size_t& budget,
                std::vector<PairedStep>& all) {
  std::map<Tokens, std::vector<std::size_t>> by_list;
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    Tokens list;
    for (std::size_t i = ranges[thread].begin; i < ranges[thread].end; ++i) {
      list.push_back(threads[thread][i].token);
    }
    if (!list.empty()) by_list[std::move(list)].push_back(thread);
  }
  using List = std::pair<const Tokens*, const std::vector<std::size_t>*>;
  std::vector<List> lists;
  for (const auto& [list, owners] : by_list) lists.emplace_back(&list, &owners);
  std::ranges::stable_sort(lists, [](const List& a, const List& b) {
    return std::pair(b.second->size(), a.second->front()) <
           std::pair(a.second->size(), b.second->front());
  });
  std::vector<Merged> steps;
  for (std::size_t i = 0; i < lists.size(); ++i) merge(steps, *lists[i].first, i, budget);
  for (const Merged& step : steps) {
    PairedStep paired{.token = step.token};
    for (const auto& [list, index] : step.parts) {
      for (const std::size_t thread : *lists[list].second) {
        paired.parts.push_back(
            {static_cast<int>(thread), threads[thread][ranges[thread].begin + index].offset});
      }
    }
    std::ranges::sort(paired.parts, {}, &PairedStep::Part::thread);
    all.push_back(std::move(paired));
  }
}

}  // namespace

std::vector<PairedStep> pair_steps(const std::vector<std::vector<ThreadEvent>>& threads,
                                   std::size_t most) {
  std::size_t budget = std::size_t{64} << 20;
  std::vector<PairedStep> steps;
  std::vector<Range> ranges(threads.size());
  const auto is_barrier = [](const ThreadEvent& event) {
    return event.token.kind == StepKind::kBarrier;
  };
  for (bool goes_on = true; goes_on && steps.size() < most;) {
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      const auto& events = threads[thread];
      Range& range = ranges[thread];
      range.begin = range.end;
      range.end = static_cast<std::size_t>(
          std::find_if(events.begin() + static_cast<std::ptrdiff_t>(range.begin), events.end(),
                       is_barrier) -
          events.begin());
    }
    pair_phase(threads, ranges, budget, steps);
    PairedStep barrier;
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      std::size_t& next = ranges[thread].end;
      if (next == threads[thread].size()) continue;
      barrier.token = threads[thread][next++].token;
      barrier.parts.push_back({static_cast<int>(thread), 0});
    }
    goes_on = !barrier.parts.empty();
    if (goes_on) steps.push_back(std::move(barrier));
  }
  if (steps.size() > most) steps.resize(most);
  return steps;
}

}  // namespace convlab::emulation
