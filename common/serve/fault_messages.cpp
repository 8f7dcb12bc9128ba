#include "common/serve/fault_messages.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <tuple>

#include "common/base/text.hpp"

namespace convlab {

namespace {

constexpr long long kFloat = sizeof(float);
constexpr const char* kArrays[] = {"input", "weights", "output"};

std::string array_name(const FaultMemory& memory, const std::string& kernel,
                       const SourceText& sources) {
  const bool is_dynamic = memory.variable == "dynamic";
  const std::string name = is_dynamic ? sources.dynamic_shared(kernel)
                           : memory.variable.empty()
                               ? sources.parameter(kernel, memory.argument).name
                               : memory.variable;
  const std::string quoted = name.empty() ? "" : "`" + name + "`";
  if (is_dynamic) return "the dynamic shared memory" + (quoted.empty() ? "" : " " + quoted);
  if (!quoted.empty()) return quoted;
  if (memory.argument > 0) return "argument " + std::to_string(memory.argument) + " of " + kernel;
  if (!memory.allocated_at.empty()) return "the memory allocated at " + memory.allocated_at;
  return "an array of " + count_of(memory.bytes, "byte");
}

long long element_bytes(const FaultMemory& memory, const std::string& kernel,
                        const SourceText& sources) {
  const auto bytes = static_cast<long long>(
      memory.variable.empty() ? sources.parameter(kernel, memory.argument).element_bytes
                              : sources.shared_element_bytes(memory.variable));
  // Arrays of unknown type that no float divides hold something smaller.
  return memory.bytes % bytes == 0 && memory.offset % bytes == 0 ? bytes : 1;
}

/// Elements of one of the three arrays.
long long size_of(const ConvShape& shape, const std::string& array) {
  return array == "input"     ? shape.input_size()
         : array == "weights" ? shape.weights_size()
                              : shape.output_size();
}

std::string thread_text(const FaultRecord& fault) {
  if (!fault.has_thread) return {};
  return "Thread " + index_text(fault.thread) + " of block " + index_text(fault.block) + ".";
}

Seen launch_lines(const FaultRecord& fault, const SourceText& sources) {
  if (fault.launch_line == 0) return {};
  const bool known = fault.grid[0] + fault.block_size[0] > 0;
  // Its sizes are wrong, or that of the memory which it gives.
  const bool of_memory = fault.memory.variable == "dynamic";
  const bool tells_sizes = fault.kind == FaultKind::kLaunch || of_memory;
  return "\nLaunched" + (known ? " with " + launch_text(fault.grid, fault.block_size) : "") + ":" +
         (tells_sizes ? lines_of_launch(sources, fault.file, fault.launch_line, of_memory)
                      : sources.quote(fault.file, fault.launch_line));
}

Seen place_lines(const FaultRecord& fault, const SourceText& sources) {
  if (fault.line == 0) return {};
  const Seen quoted = sources.quote(fault.file, fault.line);
  return quoted.empty() ? " At " + fault.file + ":" + std::to_string(fault.line) + "." : quoted;
}

std::string kernel_name(const FaultRecord& fault) {
  return fault.kernel.empty() ? "a kernel" : "kernel " + fault.kernel;
}

// What a student's name of an array means: "input" for device_input_, in, x.
std::string array_of_name(const std::string& name) {
  if (name == "x") return "input";
  if (name == "y") return "output";
  // The first word counts that is a part of it.
  for (const auto& [word, array] : {std::pair{"out", "output"},
                                    {"weight", "weights"},
                                    {"filter", "weights"},
                                    {"mask", "weights"},
                                    {"kernel", "weights"},
                                    {"in", "input"}}) {
    if (name.find(word) != std::string::npos) return array;
  }
  return "";
}

// The grid counts images in one dimension and maps in the other; the kernel reads them exchanged.
bool axes_exchanged(const FaultRecord& fault, const ConvShape& s, const std::string& name,
                    const SourceText& sources) {
  const auto images = static_cast<unsigned>(s.batch);
  const auto maps = static_cast<unsigned>(s.out_channels);
  const std::string array = array_of_size(s, fault.memory.bytes / kFloat, "");
  const std::string meant = array_of_name(name);
  if (images == maps || array.empty() || (!meant.empty() && meant != array)) return false;
  const bool of_weights = array == "weights";
  const long long count = of_weights ? s.out_channels : s.batch;
  const long long outer = fault.memory.offset / kFloat / (size_of(s, array) / count);
  const auto& g = fault.grid;
  for (const std::size_t i : {1U, 2U}) {
    // Who divides the index counts tiles with it; their number may be that of the maps by chance.
    const std::string index = i == 1 ? "blockIdx.y" : "blockIdx.z";
    const std::vector<std::string> divided = {index + " /", index + "/", index + " %", index + "%"};
    if (!sources.lines_of_kernel(fault.kernel, divided).empty()) continue;
    // Dimension i has as many blocks as maps and was taken for the image (or the reverse).
    const bool taken =
        g[i] == (of_weights ? images : maps) && g[3 - i] == (of_weights ? maps : images);
    if (taken && outer == fault.block[i] && outer >= count) return true;
  }
  return false;
}

// What keeps threads without an output from this line. Of loops, those over all blocks.
Seen guard_lines(const FaultRecord& fault, const SourceText& sources) {
  const std::string name = fault.kernel.substr(0, fault.kernel.find('<'));  // of a template
  if (sources.kernel_around(fault.file, fault.line) != name) return {};
  Seen lines;
  for (const auto& [file, line] : sources.lines_of_kernel(name, {"if", "for", "while"})) {
    const std::string text = sources.line(file, line);
    const bool is_guard =
        find_word(text, "if") != std::string::npos || text.find("blockIdx.") != std::string::npos;
    if (line <= fault.line && is_guard) lines += sources.quote(file, line);
  }
  const bool is_choice = sources.line(fault.file, fault.line).find('?') != std::string::npos;
  return lines.empty() && is_choice ? ""
         : lines.empty()            ? "\nNo `if` of the kernel stands before this line."
                                    : "\nThe conditions of the kernel up to this line:" + lines;
}

// The findings of the kinds that have another name there; others are E- and the kind's own.
constexpr std::pair<FaultKind, const char*> kNames[] = {
    {FaultKind::kOutOfMemory, "E-memory"},
    {FaultKind::kDeviceMemory, "E-outside"},
    {FaultKind::kKernelNull, "E-null/unset"},
    {FaultKind::kKernelTime, "E-timeout/loop"},
    {FaultKind::kSlowKernel, "E-slow"},
    {FaultKind::kLeading, "E-warp/leading-dimension"},
    {FaultKind::kAddressSpace, "E-outside/address-space"},
    {FaultKind::kCopySize, "E-misaligned/copy-size"},
    {FaultKind::kCopySymbol, "E-copy/symbol"},
    {FaultKind::kCopyFreed, "E-copy/freed"},
    {FaultKind::kCopyBeyond, "E-copy/small"},
    {FaultKind::kCopyBothHost, "E-copy/both-host"},
    {FaultKind::kFreeHost, "E-copy/free-of-host"},
    {FaultKind::kCaptured, "E-cuda-call/captured"},
    {FaultKind::kHostThread, "E-device-pointer/thread"},
    {FaultKind::kReadOnly, "E-writes-input"}};

std::string name_of(const FaultRecord& fault) {
  const auto& g = fault.grid;
  if (fault.kind == FaultKind::kException && !fault.call.empty()) return "E-cuda-call";
  if (fault.kind == FaultKind::kLaunch && fault.block_size[0] > 0 && g[0] * g[1] * g[2] == 0) {
    return "E-empty-grid";
  }
  for (const auto& [kind, name] : kNames) {
    if (fault.kind == kind) return name;
  }
  return std::string("E-") + to_string(fault.kind);
}

// Whether the launch says kernel<<<block, grid>>>.
bool has_sizes_exchanged(const FaultRecord& fault, const SourceText& sources) {
  const std::string text = sources.line(fault.file, fault.launch_line);
  const auto open = text.find("<<<");
  const auto comma = text.find(',', open == std::string::npos ? 0 : open);
  const auto close = text.find(">>>");
  if (open == std::string::npos || comma == std::string::npos || comma > close) return false;
  return text.substr(open, comma - open).find("block") != std::string::npos &&
         text.substr(comma, close - comma).find("grid") != std::string::npos;
}

// An access outside of shared memory. @param bytes  of one element
void explain_tile(const FaultRecord& fault, long long elements, long long bytes,
                  const SourceText& sources, Finding& message) {
  if (sources.line(fault.file, fault.line).find("_matrix_sync") != std::string::npos)
    return say(message, "E-outside/fragment");
  const auto& [x, y, z] = fault.block_size;
  const bool is_dynamic = fault.memory.variable == "dynamic";
  say(message, is_dynamic ? "E-outside/dynamic-tile" : "E-outside/tile", {std::to_string(bytes)});
  if (is_dynamic && elements == 0) say(message, "E-outside/no-dynamic-tile");
  const long long longest = std::max(x, y);
  // One element for each thread, as in a tile.
  if (fault.memory.row_bytes > 0 && longest * kFloat > fault.memory.row_bytes &&
      std::int64_t{x} * y * z * kFloat > fault.memory.bytes) {
    say(message, "E-outside/block-over-tile", {std::to_string(longest)});
  }
}

// An access outside of an allocation. @param array  the one with as many elements
void explain_allocation(const FaultRecord& fault, const ConvShape& shape, const std::string& array,
                        long long element, const SourceText& sources, Finding& message) {
  const FaultMemory& memory = fault.memory;
  const std::string parameter = sources.parameter(fault.kernel, memory.argument).name;
  const std::string meant = array_of_name(parameter);
  const auto bytes_are = [&](long long factor) {
    return std::ranges::find_if(
        kArrays, [&](const char* each) { return memory.bytes == factor * size_of(shape, each); });
  };
  const auto* const counted = bytes_are(1);
  if (counted != std::end(kArrays) && bytes_are(kFloat) == std::end(kArrays)) {
    say(message, "E-bytes/as-many-as-elements",
        {std::to_string(memory.bytes), *counted,
         *counted == std::string("weights") ? "have" : "has"});
    if (!memory.allocated_at.empty())
      message.seen += "\nAllocated at:" + sources.quote(memory.allocated_at);
  } else if (array.empty() && !meant.empty() && memory.bytes < size_of(shape, meant) * kFloat) {
    say(message, "E-outside/small-allocation", {parameter, meant});
  } else if (array.empty()) {
    return;
  } else if (!meant.empty() && meant != array) {
    say(message, "E-outside/size-of-another", {parameter, array});
  } else if (array != "output" && element < 0) {
    say(message, "E-outside/negative", {array});
  } else {
    say(message, array == "output" ? "E-outside/store" : "E-outside/load", {array});
    message.seen += guard_lines(fault, sources);
  }
}

void explain_outside(const FaultRecord& fault, const std::optional<ConvShape>& shape,
                     const SourceText& sources, Finding& message) {
  const FaultMemory& memory = fault.memory;
  const Seen where =
      thread_text(fault) + place_lines(fault, sources) + launch_lines(fault, sources);
  if (memory.bytes == 0 && memory.variable.empty()) {  // a wild pointer
    message.seen = kernel_name(fault) + ": " + fault.text + ". " + where;
    return;
  }
  const long long bytes = element_bytes(memory, fault.kernel, sources);
  const long long elements = memory.bytes / bytes;
  const long long element =
      memory.offset >= 0 ? memory.offset / bytes : -((-memory.offset + bytes - 1) / bytes);
  const std::string name = array_name(memory, fault.kernel, sources);
  const std::string parameter = sources.parameter(fault.kernel, memory.argument).name;
  const std::string array =
      shape && bytes == kFloat ? array_of_size(*shape, elements, parameter) : std::string();
  message.seen = kernel_name(fault) + (fault.writes ? " writes " : " reads ");
  if (memory.freed) {
    message.seen += name + " after it was freed. ";
    say(message, "E-outside/freed");
  } else if (element < 0) {
    message.seen += count_of(-element, "element") + " before the beginning of " + name + ". ";
  } else if (element < elements) {
    message.seen += place_text(memory, fault.kernel, sources) + ", which is not allowed. ";
  } else {
    message.seen += count_of(element - elements + 1, "element") + " past the end of " + name +
                    ", which has " + std::to_string(elements) + ". ";
  }
  message.seen += where;
  if (memory.freed) return;
  if (shape && axes_exchanged(fault, *shape, parameter, sources)) {
    message.id = "E-grid-axes";
  } else if (!memory.variable.empty()) {
    explain_tile(fault, elements, bytes, sources, message);
  } else if (shape) {
    explain_allocation(fault, *shape, array, element, sources, message);
  }
}

void explain_barrier(const FaultRecord& fault, const SourceText& sources, Finding& message) {
  message.seen = kernel_name(fault) + ": the threads of block " + index_text(fault.block) +
                 " do not all reach the same barrier.";
  for (const FaultWait& wait : fault.waiting) {
    message.seen += "\n" + count_of(wait.threads, "thread");
    if (wait.call.empty()) {
      say(message, "E-warp/ended");
      message.seen += " ended.";
    } else {
      message.seen += (wait.threads == 1 ? " waits" : " wait") + (" in " + wait.call) + ":" +
                      sources.quote(fault.file, wait.line);
    }
  }
  message.seen += launch_lines(fault, sources);
}

// Whether CONVLAB_CUDA_CHECK saw a cudaMalloc that got the pointer instead of its address.
void explain_malloc(const FaultRecord& fault, const Seen& place, Finding& message) {
  const std::string begin = "cudaMalloc(";
  if (!fault.call.starts_with(begin)) return;
  const std::string first = fault.call.substr(begin.size(), fault.call.find(',') - begin.size());
  if (first.find('&') != std::string::npos) return;
  message.seen = "cudaMalloc refuses the pointer " + first + "." + place;
  say(message, "E-cuda-call/address", {first.substr(first.find_last_of(" )*") + 1)});
}

// No line of the file touched the array itself: a function of the library did, for a copy.
void explain_long_copy(const FaultRecord& fault, const SourceText& sources, Finding& message) {
  const std::string direction =
      fault.array == "output" ? "cudaMemcpyDeviceToHost" : "cudaMemcpyHostToDevice";
  Seen copies = sources.quotes({"cudaMemcpy", fault.array});
  if (copies.empty()) copies = sources.quotes({"cudaMemcpyAsync", direction});
  if (copies.empty()) return;
  message.seen += copies;
  say(message, "E-outside/long-copy");
}

}  // namespace

Seen lines_of_launch(const SourceText& sources, const std::string& file, int line, bool of_memory) {
  constexpr int kNear = 40;
  constexpr std::size_t kMost = 5;
  const std::string launch = sources.line(file, line);
  const auto begin = std::min(launch.find("<<<"), launch.size());
  std::vector<std::string> texts = {launch.substr(begin, launch.find(">>>", begin) - begin)};
  if (of_memory) texts[0].erase(0, texts[0].find(','));
  std::set<int> lines = {line};
  for (std::size_t next = 0; next < texts.size() && lines.size() < kMost; ++next) {
    const std::string text = texts[next];
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::string name = word_at(text, i);
      const bool is_member = i > 0 && text[i - 1] == '.';
      i += name.size();
      if (name.empty() || is_member || text.substr(i, 1) == ".") continue;
      int last = 0;
      for (const auto& [where, number] : sources.lines_with({name})) {
        const std::string own = sources.line(where, number);
        const auto after = after_spaces(own, find_word(own, name) + name.size());
        const std::string sign = own.substr(std::min(after, own.size()), 2);
        // "grid(…" behind a type is a declaration, "long(…" behind an operator a cast.
        const std::string before = own.substr(0, find_word(own, name));
        const bool is_declared = before.ends_with(' ') && before.size() > 1 &&
                                 (is_word(before[before.size() - 2]) || before.ends_with("> "));
        const bool is_set = !sign.empty() && sign != "==" &&
                            (sign[0] == '=' || (is_declared && (sign[0] == '(' || sign[0] == '{')));
        if (is_set && where == file && number < line && number + kNear > line) last = number;
      }
      if (last > 0 && lines.insert(last).second) texts.push_back(sources.line(file, last));
    }
  }
  Seen quoted;
  for (const int each : lines) quoted += sources.quote(file, each);
  return quoted;
}

std::string index_text(const std::array<unsigned, 3>& index) {
  return "(" + std::to_string(index[0]) + ", " + std::to_string(index[1]) + ", " +
         std::to_string(index[2]) + ")";
}

std::string launch_text(const std::array<unsigned, 3>& grid, const std::array<unsigned, 3>& block) {
  return "grid " + index_text(grid) + ", blocks of " + index_text(block) + " threads";
}

std::string array_of_size(const ConvShape& shape, long long elements, const std::string& name) {
  std::vector<std::string> found;
  for (const char* array : kArrays) {
    if (elements == size_of(shape, array)) found.emplace_back(array);
  }
  if (found.size() == 1) return found.front();
  const std::string meant = array_of_name(name);
  return std::ranges::find(found, meant) != found.end() ? meant : "";
}

std::string place_text(const FaultMemory& memory, const std::string& kernel,
                       const SourceText& sources) {
  const std::string name = array_name(memory, kernel, sources);
  if (memory.row_bytes > 0) {
    return name + "[" + std::to_string(memory.offset / memory.row_bytes) + "][" +
           std::to_string(memory.offset % memory.row_bytes / kFloat) + "]";
  }
  return "element " + std::to_string(memory.offset / element_bytes(memory, kernel, sources)) +
         " of " + name;
}

// Of an array of the convolution.
void explain_element(const FaultRecord& fault, const std::optional<ConvShape>& shape,
                     const SourceText& sources, const Seen& place, Finding& message) {
  const auto element = [&](long long index) {
    return fault.array + "[" + std::to_string(index) + "]";
  };
  message.seen = "at " + element(fault.element);
  if (fault.kind == FaultKind::kOutside && shape && !fault.array.empty()) {
    const long long last = size_of(*shape, fault.array) - 1;
    if (fault.element > last) message.seen += ", and the last element is " + element(last);
  }
  message.seen += "." + place;
  if (fault.kind == FaultKind::kOutside && fault.line == 0) {
    explain_long_copy(fault, sources, message);
  }
}

void explain_host_pointer(const FaultRecord& fault, const SourceText& sources, const Seen& launched,
                          Finding& message) {
  const auto [name, bytes, is_reference] = sources.parameter(fault.kernel, fault.memory.argument);
  message.seen = kernel_name(fault) + " gets a pointer to memory of the host as argument " +
                 std::to_string(fault.memory.argument) + (name.empty() ? "" : ", `" + name + "`") +
                 "." + launched;
  if (is_reference) say(message, "E-host-pointer/reference", {name});
}

void explain_device_pointer(const FaultRecord& fault, const SourceText& sources, const Seen& place,
                            Finding& message) {
  message.seen = fault.text + "." + place;
  if (fault.allocated_at.find(':') == std::string::npos) return;
  const Seen quoted = sources.quote(fault.allocated_at);
  message.seen += quoted.empty() ? " Allocated at " + fault.allocated_at + "."
                                 : "\nIt points to memory allocated at:" + quoted;
  const std::string kernel = sources.kernel_around(fault.file, fault.line);
  if (!kernel.empty()) say(message, "E-device-pointer/kernel", {kernel});
}

Finding message_of(const FaultRecord& fault, const std::optional<ConvShape>& shape,
                   const SourceText& sources) {
  const std::string in_kernel = fault.kernel.empty() ? "" : " in " + kernel_name(fault);
  const Seen place = place_lines(fault, sources);
  const Seen launched = launch_lines(fault, sources);
  const Seen told = fault.text + in_kernel + ". " + thread_text(fault) + place + launched;
  const std::string named = name_of(fault);
  Finding message{.id = named.substr(0, named.find('/')), .seen = told};
  if (message.id != named) say(message, named);
  switch (fault.kind) {
    case FaultKind::kException:
      explain_malloc(fault, place, message);
      if (fault.text == kNoThread) say(message, "E-exception/no-thread");
      if (fault.text == kNotJoined) {
        say(message, "E-exception/not-joined");
        message.seen += sources.quotes({"thread"}, {"include"});
      }
      break;
    case FaultKind::kOutOfMemory:
    case FaultKind::kHostThread:
      message.seen = fault.text + "." + place;
      break;
    case FaultKind::kDeviceMemory:
      explain_outside(fault, shape, sources, message);
      if (has_sizes_exchanged(fault, sources)) say(message, "E-outside/sizes-exchanged");
      break;
    case FaultKind::kHostPointer:
      explain_host_pointer(fault, sources, launched, message);
      break;
    case FaultKind::kBarrier:
      explain_barrier(fault, sources, message);
      break;
    case FaultKind::kKernelTime:
      if (fault.kernel.empty()) {
        message.seen = "it was still computing when the time was up" +
                       (fault.line == 0 ? "." : ", here:" + place);
      }
      break;
    case FaultKind::kSlowKernel:
      message.seen = fault.text + in_kernel + "." + launched;
      break;
    case FaultKind::kKernelNull:
      message.seen =
          kernel_name(fault) + ": " + fault.text + ". " + thread_text(fault) + place + launched;
      break;
    case FaultKind::kCopy:
    case FaultKind::kCopyBeyond:
    case FaultKind::kCopyBothHost:
      if (sources.line(fault.file, fault.line).find("cudaMemcpy(&") != std::string::npos) {
        say(message, "E-copy/address");
      }
      break;
    case FaultKind::kArithmetic:
      if (fault.text.empty()) message.seen = "an integer is divided by zero." + place;
      break;
    case FaultKind::kOverflow:
      message.seen = fault.text + in_kernel + ". " + thread_text(fault) + place;
      if (!fault.follows.empty()) message.seen += "\nThen: " + fault.follows + "." + launched;
      break;
    case FaultKind::kDevicePointer:
      explain_device_pointer(fault, sources, place, message);
      break;
    case FaultKind::kOutside:
    case FaultKind::kReadOnly:
      explain_element(fault, shape, sources, place, message);
      break;
    case FaultKind::kNull:
      message.seen = "a null pointer is used." + place;
      break;
    case FaultKind::kStack:
      if (fault.text.empty()) message.seen = "the stack is full.";
      break;
    case FaultKind::kRace:
      return fault.race ? race_message(fault, sources) : Finding{};
    case FaultKind::kSystemCall:
    case FaultKind::kSignal:
      return {};
    default:  // the record tells all
      break;
  }
  return message;
}

}  // namespace convlab
