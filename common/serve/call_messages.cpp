#include <algorithm>
#include <string>

#include "common/base/text.hpp"
#include "common/serve/fault_messages.hpp"

namespace convlab {

// CONVLAB_CUDA_CHECK has thrown "…/conv_forward.cu:57: cudaMalloc(x, 4) failed: … (cudaError…)."
void explain_checked_call(const FaultRecord& fault, const SourceText& sources,
                          FaultMessage& message) {
  const std::string& text = fault.text;
  const std::string failed = ") failed: ";
  const auto call = text.find(": cuda");
  const auto end = text.rfind(failed, text.find('\n'));
  if (call == std::string::npos || end == std::string::npos) return;
  const std::string name = word_at(text, call + 2);
  const auto begin = call + 2 + name.size() + 1;  // of the arguments
  std::string place = text.substr(0, call);
  place.erase(0, place.rfind('/') + 1);
  const auto colon = place.find(':');
  if (colon == std::string::npos || begin > end || text[begin - 1] != '(') return;
  if (digits_at(place, colon + 1).size() + colon + 1 != place.size()) return;
  message.id = "E-cuda-call";
  message.seen = name + " failed: " + text.substr(end + failed.size()) + sources.quote(place);
  const std::string arguments = text.substr(begin, end - begin);
  const std::string first = arguments.substr(0, arguments.find(','));
  if (name != "cudaMalloc" || first.find('&') != std::string::npos) return;
  const auto guesses = message.seen.find(". Usually");
  const auto line = message.seen.find('\n');
  if (guesses < line)
    message.seen.erase(guesses + 1, std::min(line, message.seen.size()) - guesses - 1);
  message.cause =
      "cudaMalloc stores the address of the new memory in your pointer. So it needs the address of "
      "that pointer, with &.";
  message.next = "Write cudaMalloc(&" + first.substr(first.find_last_of(" )*") + 1) + ", bytes).";
}

void explain_copy(const FaultRecord& fault, const SourceText& sources, FaultMessage& message) {
  if (fault.text.find("captured") != std::string::npos) {
    message.id = "E-cuda-call";
    message.cause =
        "Between cudaStreamBeginCapture and cudaStreamEndCapture work is written down for the "
        "graph, not done. Nothing can wait for it, and no memory can be allocated or freed.";
    message.next =
        "Give a kernel, copy or fill the captured stream as its last argument. Move everything "
        "else before the capture or behind it.";
    return;
  }
  const bool of_pointer =
      sources.line(fault.file, fault.line).find("cudaMemcpy(&") != std::string::npos;
  constexpr const char* kSmaller = "The array on the device is smaller than what is copied.";
  constexpr const char* kCompare =
      "Compare the number of bytes that were allocated or declared with the size of the copy, for "
      "the largest shape too.";
  // A text of the fault, its cause and what to do; nullptr: the line says it.
  const char* const rows[][3] = {
      {"only cudaMemcpyToSymbol",
       "The host cannot use a __constant__ array as a pointer. It is copied by its name.",
       "Write cudaMemcpyToSymbol(name, from, bytes). If `from` is device memory, add two "
       "arguments: 0 and cudaMemcpyDeviceToDevice."},
      {"captured",
       "Between cudaStreamBeginCapture and cudaStreamEndCapture work is written down for the "
       "graph, "
       "not done. Nothing can wait for it, and no memory can be allocated or freed.",
       "Give a kernel, copy or fill the captured stream as its last argument. Move everything else "
       "before the capture or behind it."},
      {"freed", "This memory was already freed with cudaFree.",
       "Free each pointer once, in epilog, after the last copy: convolve may run several times "
       "between prolog and epilog."},
      {"cudaFree of a pointer",
       "cudaFree takes a pointer that cudaMalloc has set, but this one points to host memory.",
       "Free the device's array. Do not free the host's arrays."},
      {nullptr,
       "With & the copy gets the address of the pointer variable, which lies in host memory.",
       "Pass the pointer without &; only cudaMalloc needs its address."},
      {"do not fit into", kSmaller, kCompare},
      {"touches", kSmaller, kCompare},
      {"and so is the", "Both pointers point to host memory: cudaMalloc has set neither of them.",
       "Allocate the array of the device with cudaMalloc, not with new or malloc."}};
  for (const auto& [said, cause, next] : rows) {
    if (said == nullptr ? !of_pointer : fault.text.find(said) == std::string::npos) continue;
    message.cause = cause;
    message.next = next;
    return;
  }
}

bool has_sizes_exchanged(const FaultRecord& fault, const SourceText& sources) {
  const std::string text = sources.line(fault.file, fault.launch_line);
  const auto open = text.find("<<<");
  const auto comma = text.find(',', open == std::string::npos ? 0 : open);
  const auto close = text.find(">>>");
  if (open == std::string::npos || comma == std::string::npos || comma > close) return false;
  return text.substr(open, comma - open).find("block") != std::string::npos &&
         text.substr(comma, close - comma).find("grid") != std::string::npos;
}

void explain_threads(const FaultRecord& fault, const SourceText& sources, FaultMessage& message) {
  if (fault.text == kNoThread) {
    message.cause =
        "Too many threads run at the same time: 1024, or as many as stacks fit into the memory.";
    message.next = "Start as many threads as there are processors; let each compute many images.";
  } else if (fault.text == kNotJoined) {
    message.cause =
        "The C++ library ends a program whose std::thread object is destroyed while its thread may "
        "still run.";
    message.next = "Call join() for each thread before the vector that holds it ends.";
    for (const auto& place : sources.lines_with({"thread"}, {"include"})) {
      message.seen += sources.quote(place.file, place.line);
    }
  }
}

// No line of the file touched the array itself: a function of the library did, for a copy.
void explain_long_copy(const FaultRecord& fault, const SourceText& sources, FaultMessage& message) {
  const std::string direction =
      fault.array == "output" ? "cudaMemcpyDeviceToHost" : "cudaMemcpyHostToDevice";
  auto copies = sources.lines_with({"cudaMemcpy", fault.array});
  if (copies.empty()) copies = sources.lines_with({"cudaMemcpyAsync", direction});
  if (copies.empty()) return;
  for (const auto& place : copies) message.seen += sources.quote(place.file, place.line);
  message.cause = "A copy takes more bytes than the host's array has.";
  message.next =
      "Compute the size in that line: elements times sizeof(float). sizeof of a pointer is always "
      "8. Of several parts of a batch the last one may be shorter.";
}

}  // namespace convlab
