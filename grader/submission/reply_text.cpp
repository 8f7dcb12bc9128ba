#include "grader/submission/reply_text.hpp"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

#include "common/base/printable.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

void make_printable(FaultRecord& fault) {
  for (std::string* text :
       {&fault.text, &fault.kernel, &fault.file, &fault.allocated_at, &fault.array, &fault.call,
        &fault.memory.variable, &fault.memory.allocated_at}) {
    *text = printable_line(*text);
  }
  for (FaultWait& wait : fault.waiting) wait.call = printable_line(wait.call);
  if (!fault.race) return;
  RaceFacts& race = *fault.race;
  for (std::string* text :
       {&race.first.file, &race.second.file, &race.between, &race.meeting_places}) {
    *text = printable_line(*text);
  }
}

}  // namespace

void make_printable(ServeReply& reply) {
  reply.message = printable_line(reply.message);
  reply.no_gpu = printable_line(reply.no_gpu);
  for (StageInfo& stage : reply.stages) {
    stage.id = printable_line(stage.id);
    stage.title = printable_line(stage.title);
    stage.baseline = printable_line(stage.baseline);
    stage.only_for = printable_line(stage.only_for);
  }
  if (reply.fault) make_printable(*reply.fault);
  if (reply.race) make_printable(*reply.race);
  for (DeviceLaunch& launch : reply.notes.launches) {
    launch.kernel = printable_line(launch.kernel);
    launch.file = printable_line(launch.file);
  }
  if (reply.notes.poisoned) {
    PoisonedOutput& poisoned = *reply.notes.poisoned;
    for (std::string* text :
         {&poisoned.kernel, &poisoned.memory.variable, &poisoned.memory.allocated_at}) {
      *text = printable_line(*text);
    }
  }
  for (std::string* text : {&reply.steps.kernel, &reply.steps.file}) *text = printable_line(*text);
  for (StepPlace& place : reply.steps.places) {
    for (std::string* text : {&place.file, &place.call}) *text = printable_line(*text);
  }
  for (StepArray& array : reply.steps.arrays) {
    for (std::string* text : {&array.space, &array.memory.variable, &array.memory.allocated_at}) {
      *text = printable_line(*text);
    }
  }
  if (!reply.measured) return;
  DeviceInfo& info = reply.measured->info;
  for (std::string* text : {&info.name, &info.driver, &info.runtime}) *text = printable_line(*text);
}

bool receive_steps(ChildProcess& process, std::chrono::milliseconds limit, ServeReply& reply) {
  if (reply.steps_bytes == 0) return true;
  if (reply.steps_bytes < 0 || reply.steps_bytes > kMostStepBytes) return false;
  std::string text;
  while (text.size() < static_cast<std::size_t>(reply.steps_bytes)) {
    const auto part = process.receive(limit);
    const auto* message = std::get_if<Message>(&part);
    if (message == nullptr || message->text.empty()) return false;
    text += message->text;
  }
  auto steps = decode_steps(text);
  if (steps) reply.steps = std::move(*steps);
  return steps.has_value();
}

namespace {

void find_line(unsigned long long code, const std::filesystem::path& program,
               const std::filesystem::path& secret, std::string& file, int& number) {
  std::ostringstream address;
  address << "0x" << std::hex << code;
  // The program and its debug information are untrusted. The debug information may mislead its
  // reader or fill its memory, so it is read in a box, too.
  const ChildProcess::Options options{.policy = {.box = Box::kCompiler,
                                                 .readable = {program},
                                                 .secret = secret,
                                                 .cpu_seconds = 5,
                                                 .data_bytes = std::uint64_t{1} << 30}};
  ChildProcess process("/usr/bin/env", {"addr2line", "-i", "-e", program.string(), address.str()},
                       options);
  constexpr std::chrono::milliseconds kPatience{10'000};
  process.wait(kPatience);
  std::istringstream lines(process.output_head());
  for (std::string line; std::getline(lines, line);) {
    // "/home/…/conv_forward.cpp:31 (discriminator 3)"; inlined lines of the standard library come
    // first.
    const auto colon = line.rfind(':');
    if (colon == std::string::npos || line.starts_with("/usr/") || line.starts_with('?')) continue;
    const std::string path = line.substr(0, colon);
    file = printable_line(path.substr(path.find_last_of('/') + 1));
    number = std::atoi(line.c_str() + colon + 1);
    return;
  }
}

}  // namespace

void find_line(FaultRecord& fault, const std::filesystem::path& program,
               const std::filesystem::path& secret) {
  if (fault.code != 0 && fault.line == 0) {
    find_line(fault.code, program, secret, fault.file, fault.line);
  }
  if (!fault.race) return;
  for (RaceSide* side : {&fault.race->first, &fault.race->second}) {
    if (side->code != 0) find_line(side->code, program, secret, side->file, side->line);
  }
}

}  // namespace convlab::grader
