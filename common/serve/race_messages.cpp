#include "common/serve/fault_messages.hpp"

namespace convlab {

namespace {

std::string who(const RaceSide& side, const std::string& of) {
  if (!side.call.empty()) return "the call of " + side.call;
  return (side.by_warp ? "the warp of thread " : "thread ") + index_text(side.thread) + " of " + of;
}

std::string who(const RaceSide& side) {
  return who(side, "block " + index_text(side.block));
}

std::string beginning(std::string text) {
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string does(const RaceSide& side, const std::string& what = "it") {
  return side.atomic ? " changes " + what + " atomically"
                     : (side.writes ? " writes " : " reads ") + what;
}

std::string quoted(const RaceSide& side, const SourceText& sources) {
  if (!side.call.empty()) {
    std::string lines;
    for (const auto& place : sources.lines_with({side.call}))
      lines += sources.quote(place.file, place.line);
    return lines;
  }
  if (side.line <= 0) return " in a function of a library that it calls";
  const std::string text = sources.quote(side.file, side.line);
  return text.empty() ? " " + side.file + ":" + std::to_string(side.line) : text;
}

bool is_one_line(const RaceFacts& race) {
  return race.first.line == race.second.line && race.first.file == race.second.file;
}

void explain_one_element(const RaceFacts& race, bool is_shared, const std::string& line,
                         FaultMessage& message) {
  if (race.updates) {
    message.cause =
        "Both threads read the element, change it and store it. If both have read before one "
        "stores, one of the two changes is lost.";
    message.next = "Write atomicAdd, or give each thread an element of its own" +
                   std::string(is_shared ? ": a sum that belongs to one thread is declared without "
                                           "__shared__."
                                         : ".");
    if (line.find("+=") == std::string::npos && race.scope != RaceScope::kGrid) {
      message.next =
          std::string(
              "If a later pass of a loop uses what other threads have made in "
              "the pass before: put ") +
          (race.scope == RaceScope::kWarp ? "__syncwarp() or " : "") +
          "__syncthreads() at the beginning of each pass. If both add to one sum: " + "atomicAdd.";
    }
    return;
  }
  message.cause =
      "The two threads store different values in one element, and nothing decides which comes "
      "last.";
  message.next =
      race.scope == RaceScope::kBlock
          ? "Give each thread, or each warp, an element of its own, or let one thread store."
          : "Make the index of the store different for every thread, or let one thread "
            "store.";
}

// @param holds_several  the kernel got several parts of the allocation as its arguments
void explain_order(const RaceFacts& race, bool holds_several, FaultMessage& message) {
  const bool reads_first = !race.first.writes;
  switch (race.scope) {
    case RaceScope::kWarp:
      message.id = "E-warp-sync";
      message.next = "Put __syncwarp() (or __syncthreads()) between the two lines.";
      if (reads_first && race.second.line <= race.first.line) {
        message.next = "Put __syncwarp() after the line that reads, at the end of the loop's body.";
      }
      break;
    case RaceScope::kBlock:
      message.cause = reads_first
                          ? "No barrier lies between: the second thread may overwrite the "
                            "element before the first has read it."
                          : "No barrier lies between: the second thread may come before the "
                            "first has written.";
      if (is_one_line(race)) {
        message.cause +=
            " Or the line reads another element than you mean: in one step of a reduction no "
            "thread reads what another one writes.";
      }
      message.next =
          "Put __syncthreads() between the two lines, where all threads of the block reach it.";
      if (reads_first && race.second.line <= race.first.line) {
        message.next =
            "Put __syncthreads() behind the last line that reads the array, before the loop fills "
            "it again.";
      }
      break;
    case RaceScope::kGrid:
      message.cause =
          "The two threads belong to different blocks, and nothing orders the blocks of a kernel.";
      message.next =
          race.first.atomic || race.second.atomic
              ? "Use only atomic operations on this element, or split the kernel in two."
              : "Split the kernel in two between these lines, or let each block use its own "
                "elements. To hand data to another block, call __threadfence() before the atomic "
                "operation that says it is there.";
      break;
    case RaceScope::kTeam:
      return;
    case RaceScope::kStreams:
      message.cause =
          "The two run in different streams, and neither an event nor the host makes one wait for "
          "the other.";
      message.next =
          "Put both into one stream, or record an event behind the first and let the second stream "
          "wait for it (cudaStreamWaitEvent). Or give each stream memory of its own.";
      return;
  }
  if (race.scope != RaceScope::kGrid && race.first.writes && race.second.writes) {
    message.id = "E-race";
    message.cause =
        "Both lines store in this element, and no barrier lies between. If it should belong to two "
        "arrays, these overlap.";
    message.next =
        "Does one array begin before the other ends? Compare the beginning of each, in elements. "
        "If both lines mean one array, put __syncthreads() between them.";
  } else if (race.scope == RaceScope::kGrid && holds_several) {
    message.cause +=
        " Several arrays lie in this allocation: if the two lines mean different ones, an index "
        "runs out of its own array.";
    message.next = "Which array does each line mean, and where does that one end?";
  }
}

// What the student took for a barrier.
void explain_call_between(const RaceFacts& race, FaultMessage& message) {
  if (race.between.empty()) return;
  message.cause += " " + race.between + "() in line " + std::to_string(race.between_line) +
                   " waits only for the threads of one warp, and these two belong to different "
                   "warps.";
  if (race.between == "__syncwarp") {
    message.next = "Write __syncthreads() in its place, or launch blocks of 32 threads.";
  }
}

FaultMessage team_message(const RaceFacts& race, bool is_element, const SourceText& sources) {
  FaultMessage message{.id = "E-race"};
  const auto is_task = [](const RaceSide& side) { return side.thread[0] >= RaceSide::kFirstTask; };
  const auto thread = [&](const RaceSide& side) {
    return is_task(side) ? "Task " + std::to_string(side.thread[0] - RaceSide::kFirstTask)
                         : "Thread " + std::to_string(side.thread[0]) + " of the parallel region";
  };
  message.seen = thread(race.first) +
                 does(race.first,
                      is_element ? "an element of an array" : "a variable that all threads share") +
                 " here:" + quoted(race.first, sources) + "\n" + thread(race.second) +
                 does(race.second, "it") + " here:" + quoted(race.second, sources);
  message.cause =
      "The variable is declared before the parallel region, or static, so all threads share it. No "
      "barrier and no critical part orders these two accesses.";
  message.next =
      "Declare it inside the loop, so that each thread has its own; for one sum of all threads "
      "write reduction(+ : name).";
  if (is_element) {
    message.seen += "\nThe regions:";
    for (const auto& place : sources.lines_with({"#pragma", "omp", "parallel"})) {
      message.seen += sources.quote(place.file, place.line);
    }
    message.cause =
        "Nothing orders these two accesses of one element. Whatever is declared before the "
        "parallel region is shared, and without `for` each thread runs the whole loop. Or the "
        "threads share out a loop that adds to the same outputs, or they do not wait for each "
        "other (nowait).";
    message.next =
        "Ask which thread may use this element. An array of one thread is declared inside the "
        "region; of the loops over images, maps, rows and columns, share out one.";
  }
  if (is_task(race.first) || is_task(race.second)) {
    message.cause =
        "A task runs at any time until its thread comes to a taskwait or to the end of the region, "
        "and beside all other tasks. Nothing orders these two accesses.";
    message.next =
        "Write #pragma omp taskwait before what needs the results, or let each task have sums and "
        "outputs of its own.";
  }
  return message;
}

}  // namespace

FaultMessage race_message(const FaultRecord& fault, const SourceText& sources) {
  const RaceFacts& race = *fault.race;
  if (race.scope == RaceScope::kTeam) {
    return team_message(race, !fault.array.empty(), sources);
  }
  FaultMessage message;
  message.id = "E-race";
  std::string element = place_text(fault.memory, fault.kernel, sources);
  constexpr long long kNumber = 4;
  if (fault.memory.bytes <= kNumber && !fault.memory.variable.empty()) {
    element = "`" + fault.memory.variable + "`";
  }
  const bool has_call = !race.first.call.empty() || !race.second.call.empty();
  const bool other_block = race.scope == RaceScope::kGrid || race.scope == RaceScope::kStreams;
  const std::string second =
      other_block
          ? who(race.second) + (race.scope == RaceScope::kStreams && race.second.call.empty()
                                    ? " of another launch"
                                    : "")
          : who(race.second, race.scope == RaceScope::kWarp ? "the same warp" : "the same block");
  const bool has_thread = race.first.call.empty() || race.second.call.empty();
  message.seen = (has_thread ? "kernel " + fault.kernel + ": " : std::string()) +
                 (!has_thread ? "two copies or fills"
                  : has_call  ? "a thread and a copy or a fill"
                              : "two threads") +
                 " use " + element + ". ";
  const bool one_line = !has_call && is_one_line(race);
  if (one_line && race.first.writes && race.second.writes) {
    message.seen += beginning(who(race.first)) + " and " + second + " both " +
                    (race.updates ? "change" : "write") +
                    " it here:" + quoted(race.second, sources);
  } else {
    message.seen += beginning(who(race.first)) + does(race.first) +
                    " here:" + quoted(race.first, sources) + "\n" + beginning(second) +
                    does(race.second) + " here:" + quoted(race.second, sources);
  }
  const bool both_write = race.first.writes && race.second.writes;
  if (race.scope != RaceScope::kStreams && (race.updates || (both_write && one_line))) {
    const std::string& name = fault.memory.variable;
    explain_one_element(race, !name.empty() && !sources.lines_with({"__shared__", name}).empty(),
                        sources.line(race.second.file, race.second.line), message);
  } else {
    explain_order(race, fault.memory.variable.empty() && fault.memory.argument == 0, message);
  }
  explain_call_between(race, message);
  return message;
}

}  // namespace convlab
