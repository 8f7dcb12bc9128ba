#include "grader/submission/crash_line.hpp"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

#include "common/base/printable.hpp"
#include "common/data/dataset.hpp"
#include "grader/submission/build_submission.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

void find_line(FaultRecord& fault, const std::filesystem::path& program) {
  const auto find = [&](unsigned long long code, std::string& file, int& number) {
    std::ostringstream address;
    address << "0x" << std::hex << code;
    // The program and its debug information are untrusted. The debug information may mislead its
    // reader or fill its memory, so it is read in a sandbox, too.
    ChildProcess process("/usr/bin/env", {"addr2line", "-i", "-e", program.string(), address.str()},
                         {.policy = {.kind = SandboxKind::kCompiler,
                                     .readable = {program},
                                     .secret = workbook_folder(),
                                     .cpu_seconds = 5,
                                     .data_bytes = std::uint64_t{1} << 30}});
    process.wait(std::chrono::milliseconds(10'000));
    std::istringstream lines(process.output_head());
    for (std::string line; std::getline(lines, line);) {
      // "/home/…/conv_forward.cpp:31 (discriminator 3)", behind lines of the standard library.
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
