#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

#include "common/base/printable.hpp"
#include "grader/submission/sandbox/child_process.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

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
  auto steps = decode<StepNotes>(text);
  if (steps) reply.steps = std::move(*steps);
  return steps.has_value();
}

void find_line(FaultRecord& fault, const std::filesystem::path& program,
               const std::filesystem::path& secret) {
  const auto find = [&](unsigned long long code, std::string& file, int& number) {
    std::ostringstream address;
    address << "0x" << std::hex << code;
    // The program and its debug information are untrusted. The debug information may mislead its
    // reader or fill its memory, so it is read in a sandbox, too.
    ChildProcess process("/usr/bin/env", {"addr2line", "-i", "-e", program.string(), address.str()},
                         {.policy = {.kind = SandboxKind::kCompiler,
                                     .readable = {program},
                                     .secret = secret,
                                     .cpu_seconds = 5,
                                     .data_bytes = std::uint64_t{1} << 30}});
    process.wait(std::chrono::seconds(10));
    std::istringstream lines(process.output_head());
    for (std::string line; std::getline(lines, line);) {
      // "/home/…/conv_forward.cpp:31 (discriminator 3)"; inlined lines of the standard library come
      // first.
      const auto colon = line.rfind(':');
      if (colon == std::string::npos || line.starts_with("/usr/") || line[0] == '?') continue;
      file = printable_line(std::filesystem::path(line.substr(0, colon)).filename().string());
      number = std::atoi(line.c_str() + colon + 1);
      return;
    }
  };
  if (fault.code != 0 && fault.line == 0) find(fault.code, fault.file, fault.line);
  if (!fault.race) return;
  for (RaceSide* side : {&fault.race->first, &fault.race->second}) {
    if (side->code != 0) find(side->code, side->file, side->line);
  }
}

}  // namespace convlab::grader
