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
  if (!side.call.empty()) return sources.quotes({side.call});
  if (side.line <= 0) return " in a function of a library that it calls";
  const std::string text = sources.quote(side.file, side.line);
  return text.empty() ? " " + side.file + ":" + std::to_string(side.line) : text;
}

bool is_one_line(const RaceFacts& race) {
  return race.first.line == race.second.line && race.first.file == race.second.file;
}

void explain_one_element(const RaceFacts& race, bool is_shared, const std::string& line,
                         FaultMessage& message) {
  if (!race.updates) {
    say(message, "E-race/stores");
    if (race.scope == RaceScope::kBlock) say(message, "E-race/stores-in-block");
    return;
  }
  say(message, "E-race/update");
  if (is_shared) say(message, "E-race/update-of-shared");
  if (line.find("+=") == std::string::npos && race.scope != RaceScope::kGrid) {
    say(message, "E-race/update-in-passes",
        {race.scope == RaceScope::kWarp ? "__syncwarp() or " : ""});
  }
}

// @param holds_several  the kernel got several parts of the allocation as its arguments
void explain_order(const RaceFacts& race, bool holds_several, FaultMessage& message) {
  const bool reads_first = !race.first.writes;
  const bool in_next_pass = reads_first && race.second.line <= race.first.line;
  switch (race.scope) {
    case RaceScope::kWarp:
      say(message, in_next_pass ? "E-warp-sync/next-pass" : "E-warp-sync/between");
      break;
    case RaceScope::kBlock:
      say(message, reads_first ? "E-race/overwritten" : "E-race/read-early");
      if (is_one_line(race)) say(message, "E-race/one-line");
      if (in_next_pass) say(message, "E-race/next-pass");
      break;
    case RaceScope::kGrid:
      say(message, "E-race/blocks");
      if (race.first.atomic || race.second.atomic) say(message, "E-race/blocks-atomic");
      break;
    case RaceScope::kTeam:
      return;
    case RaceScope::kStreams:
      return say(message, "E-race/streams");
  }
  if (race.scope != RaceScope::kGrid && race.first.writes && race.second.writes) {
    say(message, "E-race/arrays-overlap");
  } else if (race.scope == RaceScope::kGrid && holds_several) {
    say(message, "E-race/several-arrays");
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
  say(message, is_element ? "E-race/team-element" : "E-race/team");
  if (is_element) {
    message.seen += "\nThe regions:";
    message.seen += sources.quotes({"#pragma", "omp", "parallel"});
  }
  if (is_task(race.first) || is_task(race.second)) say(message, "E-race/tasks");
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
  // What the student took for a barrier.
  if (!race.between.empty()) {
    const std::string id = message.id;
    say(message, "E-race/warp-only", {race.between, std::to_string(race.between_line)});
    if (race.between == "__syncwarp") say(message, "E-race/syncwarp");
    message.id = id;
  }
  return message;
}

}  // namespace convlab
