#include "common/fault_words/call_words.hpp"

#include <algorithm>
#include <regex>
#include <string>

namespace convlab {

// CONVLAB_CUDA_CHECK has thrown "…/conv_forward.cu:57: cudaMalloc(x, 4) failed: … (cudaError…)."
void explain_checked_call(const FaultRecord& fault, const SourceText& sources, FaultWords& words) {
  static const std::regex form(R"(^(?:.*/)?([^/:]+):(\d+): (cuda\w+)\((.*)\) failed: ([\s\S]*)$)");
  std::smatch part;
  if (!std::regex_match(fault.text, part, form)) return;
  const std::string file = part[1];
  words.id = "E-cuda-call";
  words.seen =
      part[3].str() + " failed: " + part[5].str() + sources.quote(file, line_number(part[2]));
  const std::string arguments = part[4];
  const std::string first = arguments.substr(0, arguments.find(','));
  if (part[3] != "cudaMalloc" || first.find('&') != std::string::npos) return;
  const auto guesses = words.seen.find(". Usually");
  const auto line = words.seen.find('\n');
  if (guesses < line)
    words.seen.erase(guesses + 1, std::min(line, words.seen.size()) - guesses - 1);
  words.cause =
      "cudaMalloc stores the address of the new memory in your pointer. So it needs the address of "
      "that pointer, with &.";
  words.next = "Write cudaMalloc(&" + first.substr(first.find_last_of(" )*") + 1) + ", bytes).";
}

void explain_copy(const FaultRecord& fault, const SourceText& sources, FaultWords& words) {
  const auto says = [&](const char* part) { return fault.text.find(part) != std::string::npos; };
  if (says("only cudaMemcpyToSymbol")) {
    words.cause =
        "The host cannot use a __constant__ array as a pointer. It is copied by its name.";
    words.next =
        "Write cudaMemcpyToSymbol(name, from, bytes). If `from` is device memory, add two "
        "arguments: 0 and cudaMemcpyDeviceToDevice.";
  } else if (says("freed")) {
    words.cause = "This memory was already freed with cudaFree.";
    words.next =
        "Free each pointer once, in epilog, after the last copy: convolve may run several times "
        "between prolog and epilog.";
  } else if (says("cudaFree of a pointer")) {
    words.cause =
        "cudaFree takes a pointer that cudaMalloc has set, but this one points to host memory.";
    words.next = "Free the device's array. Do not free the host's arrays.";
  } else if (sources.line(fault.file, fault.line).find("cudaMemcpy(&") != std::string::npos) {
    words.cause =
        "With & the copy gets the address of the pointer variable, which lies in host memory.";
    words.next = "Pass the pointer without &; only cudaMalloc needs its address.";
  } else if (says("to memory of the host") && says("from memory of the host")) {
    words.cause = "Both pointers point to host memory: cudaMalloc has set neither of them.";
    words.next = "Allocate the array of the device with cudaMalloc, not with new or malloc.";
  }
}

}  // namespace convlab
