#include "grader/submission/compiler_output.hpp"

namespace convlab::grader {

std::string fault_of_machine(const std::string& output) {
  for (const char* fault : {"No space left on device", "Disk quota exceeded",
                            "Read-only file system", "File too large"}) {
    if (output.find(fault) != std::string::npos) return fault;
  }
  return {};
}

bool misses_compiler(const std::string& output) {
  return output.find(": not found") != std::string::npos ||
         output.find("cannot execute '") != std::string::npos ||  // GCC of its parts
         output.find("No such file or directory\nninja") != std::string::npos;
}

}  // namespace convlab::grader
