#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/serve/fault_messages.hpp"

namespace convlab {

namespace {

// @param of  whose thread it is; empty: of its block, with the number
std::string who(const RaceSide& side, const std::string& of) {
  if (!side.call.empty()) return "a call of " + side.call;
  return (side.by_warp ? "the warp of thread " : "thread ") + index_text(side.thread) + " of " +
         (of.empty() ? "block " + index_text(side.block) : of);
}

Seen quoted(const RaceSide& side, const SourceText& sources) {
  // The memory is the device's, so copies in the other direction do something else.
  if (!side.call.empty())
    return sources.quotes({side.call},
                          {side.writes ? "cudaMemcpyDeviceToHost" : "cudaMemcpyHostToDevice"});
  if (side.line <= 0) return " in a function of a library that it calls";
  const Seen text = sources.quote(side.file, side.line);
  return text.empty() ? " " + side.file + ":" + std::to_string(side.line) : text;
}

std::string beginning(std::string text) {
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// "Thread (6, 0, 0) of the same block writes it here:" and the line.
Seen sentence(std::string who, const RaceSide& side, const std::string& what,
              const SourceText& sources) {
  const Seen lines = quoted(side, sources);
  return beginning(std::move(who)) +
         (side.atomic   ? " changes " + what + " atomically"
          : side.writes ? " writes " + what
                        : " reads " + what) +
         (lines.empty()               ? "."
          : lines.places().size() > 1 ? " in one of these lines:"
                                      : " here:") +
         lines;
}

bool is_one_line(const RaceFacts& race) {
  return race.first.line == race.second.line && race.first.file == race.second.file;
}

void explain_one_element(const RaceFacts& race, bool is_shared, const std::string& line,
                         Finding& message) {
  if (!race.updates) return say(message, "E-race/stores");
  say(message, "E-race/update");
  if (is_shared) say(message, "E-race/update-of-shared");
  if (line.find("+=") == std::string::npos && race.scope != RaceScope::kGrid) {
    say(message, "E-race/update-in-passes",
        {race.scope == RaceScope::kWarp ? "__syncwarp() or " : ""});
  }
}

// How a thread comes from the first line to the second.
enum class Order { kDown, kThroughNextPass, kUnknown };

// The order in which a device happened to run two threads tells nothing of the one that is meant.
// In one function the line that stands first comes first, unless there is a barrier behind it: then
// what lacks one is the way from the other line to it, through the next pass of a loop.
Order put_in_order(RaceFacts& race, const std::string& kernel, const SourceText& sources) {
  const bool in_block = race.scope == RaceScope::kBlock || race.scope == RaceScope::kWarp;
  if (!in_block || is_one_line(race)) return Order::kDown;
  const std::string around = sources.kernel_around(race.first.file, race.first.line);
  if (around.empty() || race.first.file != race.second.file ||
      around != sources.kernel_around(race.second.file, race.second.line))
    return Order::kUnknown;
  if (race.second.line < race.first.line) std::swap(race.first, race.second);
  std::vector<std::string> names = {"__syncthreads", "sync"};
  if (race.scope == RaceScope::kWarp) names.emplace_back("__syncwarp");
  const auto barriers = sources.lines_of_kernel(kernel, names);
  const bool is_next = std::ranges::any_of(barriers, [&](const SourceText::Place& each) {
    return each.file == race.first.file && each.line > race.first.line &&
           each.line < race.second.line;
  });
  if (is_next) std::swap(race.first, race.second);
  return is_next ? Order::kThroughNextPass : Order::kDown;
}

// @param holds_several  the kernel got several parts of the allocation as its arguments
void explain_order(const RaceFacts& race, Order order, bool holds_several, Finding& message) {
  if (race.scope == RaceScope::kStreams) return say(message, "E-race/streams");
  const bool reads_first = !race.first.writes;
  if (race.scope == RaceScope::kGrid) {
    say(message, "E-race/blocks");
    if (race.first.atomic || race.second.atomic) say(message, "E-race/blocks-atomic");
    if (holds_several) say(message, "E-race/several-arrays");
    return;
  }
  if (race.scope == RaceScope::kWarp) {
    say(message, is_one_line(race)                  ? "E-warp-sync/one-line"
                 : order == Order::kThroughNextPass ? "E-warp-sync/next-pass"
                                                    : "E-warp-sync/between");
  } else {
    say(message, is_one_line(race)          ? "E-race/one-line"
                 : order == Order::kUnknown ? "E-race/either-order"
                 : reads_first              ? "E-race/overwritten"
                                            : "E-race/read-early");
    if (order == Order::kThroughNextPass) say(message, "E-race/next-pass");
  }
  if (race.first.writes && race.second.writes) say(message, "E-race/arrays-overlap");
}

// What the student took for a barrier.
void explain_between(const RaceFacts& race, Finding& message) {
  if (race.between.empty()) return;
  const std::string id = message.id;
  say(message, "E-race/warp-only", {race.between, std::to_string(race.between_line)});
  if (race.between == "__syncwarp") say(message, "E-race/syncwarp");
  message.id = id;
}

Finding team_message(const RaceFacts& race, bool is_element, const SourceText& sources) {
  Finding message;
  const auto is_task = [](const RaceSide& side) { return side.thread[0] >= RaceSide::kFirstTask; };
  const auto thread = [&](const RaceSide& side) {
    return is_task(side) ? "task " + std::to_string(side.thread[0] - RaceSide::kFirstTask)
                         : "thread " + std::to_string(side.thread[0]) + " of the parallel region";
  };
  const char* const what =
      is_element ? "an element of an array" : "a variable that all threads share";
  message.seen = sentence(thread(race.first), race.first, what, sources) + "\n" +
                 sentence(thread(race.second), race.second, "it", sources);
  say(message, is_element ? "E-race/team-element" : "E-race/team");
  if (is_element) {
    message.seen += "\nThe regions:" + sources.quotes({"#pragma", "omp", "parallel"});
  }
  if (is_task(race.first) || is_task(race.second)) say(message, "E-race/tasks");
  return message;
}

}  // namespace

Finding race_message(const FaultRecord& fault, const SourceText& sources) {
  RaceFacts race = *fault.race;
  const Order order = put_in_order(race, fault.kernel, sources);
  if (race.scope == RaceScope::kTeam) {
    return team_message(race, !fault.array.empty(), sources);
  }
  Finding message{.id = "E-race"};
  const std::string& name = fault.memory.variable;
  constexpr long long kNumber = 4;
  const std::string element = fault.memory.bytes <= kNumber && !name.empty()
                                  ? "`" + name + "`"
                                  : place_text(fault.memory, fault.kernel, sources);
  const bool in_streams = race.scope == RaceScope::kStreams;
  const int calls = (race.first.call.empty() ? 0 : 1) + (race.second.call.empty() ? 0 : 1);
  message.seen = (calls == 2   ? "two copies or fills"
                  : calls == 1 ? "kernel " + fault.kernel + ": a thread and a copy or a fill"
                  : in_streams ? "two threads"
                               : "kernel " + fault.kernel + ": two threads") +
                 " use " + element + ". ";
  std::string second = who(race.second, race.scope == RaceScope::kWarp    ? "the same warp"
                                        : race.scope == RaceScope::kBlock ? "the same block"
                                                                          : "");
  std::string first = who(race.first, "");
  // Each belongs to a launch of its own.
  const auto of_launch = [&](const RaceSide& side) {
    const std::string kernel = sources.kernel_around(side.file, side.line);
    return side.call.empty() && !kernel.empty() ? " of kernel " + kernel : "";
  };
  if (in_streams) first += of_launch(race.first), second += of_launch(race.second);
  if (in_streams && race.second.call.empty()) second += ", of another launch,";
  const bool both_write = race.first.writes && race.second.writes;
  const bool one_line = calls == 0 && is_one_line(race);
  if (one_line && both_write) {
    message.seen += beginning(first) + " and " + second + " both " +
                    (race.updates ? "change" : "write") +
                    " it here:" + quoted(race.second, sources);
  } else {
    message.seen += sentence(first, race.first, "it", sources) + "\n" +
                    sentence(second, race.second, "it", sources);
  }
  if (!in_streams && (race.updates || (both_write && one_line))) {
    explain_one_element(race, !name.empty() && !sources.lines_with({"__shared__", name}).empty(),
                        sources.line(race.second.file, race.second.line), message);
  } else {
    explain_order(race, order, name.empty() && fault.memory.argument == 0, message);
  }
  explain_between(race, message);
  return message;
}

}  // namespace convlab
