#include <algorithm>
#include <string>
#include <tuple>

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
  say(message, "E-cuda-call/address", {first.substr(first.find_last_of(" )*") + 1)});
}

void explain_copy(const FaultRecord& fault, const SourceText& sources, FaultMessage& message) {
  const std::string line = sources.line(fault.file, fault.line);
  // The first words that stand there tell.
  for (const auto& [text, words, variant] :
       {std::tuple{&fault.text, "captured", "E-cuda-call/captured"},
        {&fault.text, "only cudaMemcpyToSymbol", "E-copy/symbol"},
        {&fault.text, "freed", "E-copy/freed"},
        {&fault.text, "cudaFree of a pointer", "E-copy/free-of-host"},
        {&line, "cudaMemcpy(&", "E-copy/address"},
        {&fault.text, "do not fit into", "E-copy/small"},
        {&fault.text, "touches", "E-copy/small"},
        {&fault.text, "and so is the", "E-copy/both-host"}}) {
    if (text->find(words) != std::string::npos) return say(message, variant);
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
    say(message, "E-exception/no-thread");
  } else if (fault.text == kNotJoined) {
    say(message, "E-exception/not-joined");
    message.seen += sources.quotes({"thread"}, {"include"});
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
  say(message, "E-outside/long-copy");
}

}  // namespace convlab
