#include "common/serve/fault_messages.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/serve/finding_texts.hpp"

namespace convlab {

namespace {

constexpr long long kFloat = sizeof(float);

std::string count_text(long long count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string array_name(const FaultMemory& memory, const std::string& kernel,
                       const SourceText& sources) {
  if (memory.variable == "dynamic") {
    const std::string name = sources.dynamic_shared(kernel);
    return name.empty() ? "the dynamic shared memory" : "the dynamic shared memory `" + name + "`";
  }
  if (!memory.variable.empty()) return "`" + memory.variable + "`";
  const std::string name = sources.parameter(kernel, memory.argument).name;
  if (!name.empty()) return "`" + name + "`";
  if (memory.argument > 0) return "argument " + std::to_string(memory.argument) + " of " + kernel;
  if (!memory.allocated_at.empty()) return "the memory allocated at " + memory.allocated_at;
  return "an array of " + std::to_string(memory.bytes) + " bytes";
}

long long element_bytes(const FaultMemory& memory, const std::string& kernel,
                        const SourceText& sources) {
  const auto bytes =
      static_cast<long long>(sources.parameter(kernel, memory.argument).element_bytes);
  // Arrays of unknown type that no float divides hold something smaller.
  return memory.bytes % bytes == 0 && memory.offset % bytes == 0 ? bytes : 1;
}

/// Images, channels, rows and columns of one of the three arrays.
struct Extents {
  const char* outer = "";
  const char* inner = "";
  long long count_outer = 0;
  long long count_inner = 0;
  long long rows = 0;
  long long columns = 0;
};

Extents extents_of(const ConvShape& s, const std::string& array) {
  if (array == "input") return {"image", "channel", s.batch, s.in_channels, s.height, s.width};
  if (array == "weights") {
    return {"filter", "channel", s.out_channels, s.in_channels, s.kernel, s.kernel};
  }
  return {"image", "map", s.batch, s.out_channels, s.out_height(), s.out_width()};
}

// "row 86, and the last row is 85": where in the student's array the element would lie.
std::string position_text(const ConvShape& shape, const std::string& array, long long element) {
  const Extents e = extents_of(shape, array);
  const long long plane = e.rows * e.columns;
  const long long size = e.count_outer * e.count_inner * plane;
  if (element < 0) return "before row 0 of " + std::string(e.outer) + " 0";
  if (size == e.columns) return {};  // a single row of numbers
  if (element < size + plane) {
    const long long row = (element - (size - plane)) / e.columns;
    return "row " + std::to_string(row) + " of the last " + e.inner + ", whose last row is " +
           std::to_string(e.rows - 1);
  }
  const long long outer = element / (e.count_inner * plane);
  if (outer < e.count_outer) return {};
  return std::string(e.outer) + " " + std::to_string(outer) + ", and the last " + e.outer + " is " +
         std::to_string(e.count_outer - 1);
}

std::string thread_text(const FaultRecord& fault) {
  if (!fault.has_thread) return {};
  return "Thread " + index_text(fault.thread) + " of block " + index_text(fault.block) + ".";
}

std::string launch_lines(const FaultRecord& fault, const SourceText& sources) {
  if (fault.launch_line == 0) return {};
  const bool known = fault.grid[0] + fault.block_size[0] > 0;
  return "\nLaunched" + (known ? " with " + launch_text(fault.grid, fault.block_size) : "") + ":" +
         sources.quote(fault.file, fault.launch_line);
}

std::string place_lines(const FaultRecord& fault, const SourceText& sources) {
  if (fault.line == 0) return {};
  const std::string quoted = sources.quote(fault.file, fault.line);
  return quoted.empty() ? " At " + fault.file + ":" + std::to_string(fault.line) + "." : quoted;
}

std::string kernel_name(const FaultRecord& fault) {
  return fault.kernel.empty() ? "a kernel" : "kernel " + fault.kernel;
}

// What a student's name of an array means: "input" for device_input_, in, x.
std::string array_of_name(const std::string& name) {
  if (name == "x") return "input";
  if (name == "y") return "output";
  if (name.find("out") != std::string::npos) return "output";
  for (const char* word : {"weight", "filter", "mask", "kernel"}) {
    if (name.find(word) != std::string::npos) return "weights";
  }
  return name.find("in") != std::string::npos ? "input" : "";
}

// The grid counts images in one dimension and maps in the other; the kernel reads them exchanged.
bool axes_exchanged(const FaultRecord& fault, const ConvShape& s, const std::string& name,
                    const SourceText& sources) {
  const auto images = static_cast<unsigned>(s.batch);
  const auto maps = static_cast<unsigned>(s.out_channels);
  if (images == maps) return false;
  const auto& g = fault.grid;
  const std::string array = array_of_size(s, fault.memory.bytes / kFloat, "");
  if (array.empty()) return false;
  const Extents e = extents_of(s, array);
  const long long outer = fault.memory.offset / kFloat / (e.count_inner * e.rows * e.columns);
  if (array_of_name(name) != array && !array_of_name(name).empty()) return false;
  for (const auto& [first, second] : {std::pair{1, 2}, std::pair{2, 1}}) {
    const auto i = static_cast<std::size_t>(first);
    const auto k = static_cast<std::size_t>(second);
    // Who divides the index counts tiles with it; their number may be that of the maps by chance.
    const std::string index = first == 1 ? "blockIdx.y" : "blockIdx.z";
    if (!sources
             .lines_of_kernel(fault.kernel, {index + " /", index + "/", index + " %", index + "%"})
             .empty()) {
      continue;
    }
    // Dimension i has as many blocks as maps and was taken for the image (or the reverse).
    const bool taken =
        array == "weights" ? g[i] == images && g[k] == maps : g[i] == maps && g[k] == images;
    if (taken && outer == fault.block[i] && outer >= e.count_outer) return true;
  }
  return false;
}

// Whether the line lies in the part of a kernel that fills shared memory, before its first barrier.
bool loads_tile(const FaultRecord& fault, const SourceText& sources) {
  if (fault.writes || fault.block_size[1] < 2 ||
      sources.lines_of_kernel(fault.kernel, {"__shared__"}).empty())
    return false;
  const auto barriers = sources.lines_of_kernel(fault.kernel, {"__syncthreads"});
  return !barriers.empty() && barriers.front().file == fault.file && fault.line > 0 &&
         fault.line < barriers.front().line;
}

// What keeps threads without an output from this line.
std::string guard_lines(const FaultRecord& fault, const SourceText& sources) {
  if (sources.kernel_around(fault.file, fault.line) != fault.kernel) return {};
  std::string lines;
  for (const auto& [file, line] : sources.lines_of_kernel(fault.kernel, {"if"})) {
    if (line <= fault.line) lines += sources.quote(file, line);
  }
  return lines.empty() ? "\nNo `if` of the kernel stands before this line."
                       : "\nThe conditions of the kernel up to this line:" + lines;
}

std::string id_of(const FaultRecord& fault) {
  const auto& g = fault.grid;
  switch (fault.kind) {
    case FaultKind::kOutOfMemory:
      return "E-memory";
    case FaultKind::kDeviceMemory:
      return "E-outside";
    case FaultKind::kKernelTime:
      return "E-timeout";
    case FaultKind::kSlowKernel:
      return "E-slow";
    case FaultKind::kReadOnly:
      return "E-writes-input";
    case FaultKind::kException:
      return fault.call.empty() ? "E-exception" : "E-cuda-call";
    case FaultKind::kLaunch:
      return fault.block_size[0] > 0 && g[0] * g[1] * g[2] == 0 ? "E-empty-grid" : "E-launch";
    default:
      return std::string("E-") + to_string(fault.kind);
  }
}

void explain_outside(const FaultRecord& fault, const std::optional<ConvShape>& shape,
                     const SourceText& sources, FaultMessage& message) {
  const FaultMemory& memory = fault.memory;
  if (memory.bytes == 0 &&
      memory.variable.empty()) {  // no memory of the device: a wild or a null pointer
    message.seen = kernel_name(fault) + ": " + fault.text + ". " + thread_text(fault) +
                   place_lines(fault, sources) + launch_lines(fault, sources);
    if (fault.text.find("null pointer") != std::string::npos) {
      say(message, "E-null/unset");
    }
    return;
  }
  const long long bytes = element_bytes(memory, fault.kernel, sources);
  const long long elements = memory.bytes / bytes;
  const long long element =
      memory.offset >= 0 ? memory.offset / bytes : -((-memory.offset + bytes - 1) / bytes);
  const std::string name = array_name(memory, fault.kernel, sources);
  const std::string verb = fault.writes ? "writes" : "reads";
  const std::string parameter = sources.parameter(fault.kernel, memory.argument).name;
  const std::string array =
      shape && bytes == kFloat ? array_of_size(*shape, elements, parameter) : std::string();
  message.seen = kernel_name(fault) + " " + verb + " ";
  if (memory.freed) {
    message.seen += name + " after it was freed. ";
    say(message, "E-outside/freed");
  } else if (element < 0) {
    message.seen += count_text(-element, "element") + " before the beginning of " + name + ". ";
  } else if (element < elements) {
    message.seen += place_text(memory, fault.kernel, sources) + ", which is not allowed. ";
  } else {
    message.seen += count_text(element - elements + 1, "element") + " past the end of " + name +
                    ", which has " + std::to_string(elements);
    const std::string position = array.empty() ? "" : position_text(*shape, array, element);
    message.seen += position.empty() ? ". " : ": " + position + ". ";
  }
  message.seen += thread_text(fault) + place_lines(fault, sources) + launch_lines(fault, sources);
  if (memory.freed) return;

  if (shape && axes_exchanged(fault, *shape, parameter, sources)) {
    message.id = "E-grid-axes";
    return;
  }
  const bool is_allocation = memory.variable.empty();
  if (shape && is_allocation) {
    for (const auto& [size, what] :
         {std::pair{shape->input_size(), "input"}, std::pair{shape->weights_size(), "weights"},
          std::pair{shape->output_size(), "output"}}) {
      const auto whole = [&](std::int64_t count) { return memory.bytes == count * kFloat; };
      if (memory.bytes != size || whole(shape->input_size()) || whole(shape->weights_size()) ||
          whole(shape->output_size())) {
        continue;
      }
      say(message, "E-bytes/as-many-as-elements",
          {std::to_string(size), what, what == std::string("weights") ? "have" : "has"});
      if (!memory.allocated_at.empty())
        message.seen += "\nAllocated at:" + sources.quote(memory.allocated_at);
      return;
    }
  }
  const std::string meant = array_of_name(parameter);
  if (shape && is_allocation && array.empty() && !meant.empty()) {
    const Extents e = extents_of(*shape, meant);
    if (memory.bytes < e.count_outer * e.count_inner * e.rows * e.columns * kFloat) {
      say(message, "E-outside/small-allocation", {parameter, meant});
      return;
    }
  }
  if (is_allocation && !array.empty() && !meant.empty() && meant != array) {
    say(message, "E-outside/size-of-another", {parameter, array});
    return;
  }
  if (!is_allocation) {
    const auto longest = std::max(fault.block_size[0], fault.block_size[1]);
    // One element for each thread, as in a tile.
    const std::int64_t threads =
        std::int64_t{fault.block_size[0]} * fault.block_size[1] * fault.block_size[2];
    const bool too_large = memory.row_bytes > 0 && longest * kFloat > memory.row_bytes &&
                           threads * kFloat > memory.bytes;
    const bool is_dynamic = memory.variable == "dynamic";
    say(message, is_dynamic ? "E-outside/dynamic-tile" : "E-outside/tile");
    if (is_dynamic && elements == 0) say(message, "E-outside/no-dynamic-tile");
    if (too_large) say(message, "E-outside/block-over-tile", {std::to_string(longest)});
    return;
  }
  // Of one row: the right matrix of a product, whose tile is no part of an image.
  const bool is_matrix = shape->height == 1 && shape->in_channels > 1;
  if (array == "input" && !is_matrix && loads_tile(fault, sources)) {
    const auto edge = [&](unsigned threads) {
      return (static_cast<int>(threads) - 1) * shape->stride + shape->kernel;
    };
    const int width = edge(fault.block_size[0]);
    const int height = edge(fault.block_size[1]);
    const bool larger = height > shape->height || width > shape->width;
    say(message, "E-outside/halo",
        {std::to_string(fault.block_size[0]), std::to_string(fault.block_size[1]),
         count_text(width, "column"), count_text(height, "row"),
         larger ? "It is larger than this image of"
                : "At the last block it reaches beyond the image of",
         count_text(shape->width, "column"), count_text(shape->height, "row")});
  } else if (array == "output") {
    say(message, "E-outside/store");
    message.seen += guard_lines(fault, sources);
  } else if (!array.empty() && element < 0) {
    say(message, "E-outside/negative", {array});
  } else if (!array.empty()) {
    say(message, "E-outside/load", {array});
    message.seen += guard_lines(fault, sources);
  }
}

void explain_barrier(const FaultRecord& fault, const SourceText& sources, FaultMessage& message) {
  message.seen = kernel_name(fault) + ": the threads of block " + index_text(fault.block) +
                 " do not all reach the same barrier.";
  for (const FaultWait& wait : fault.waiting) {
    if (wait.call.empty()) {
      say(message, "E-warp/ended");
      message.seen += "\n" + count_text(wait.threads, "thread") + " ended.";
      continue;
    }
    message.seen += "\n" + count_text(wait.threads, "thread") +
                    (wait.threads == 1 ? " waits" : " wait") + " in " + wait.call + ":" +
                    sources.quote(fault.file, wait.line);
  }
  message.seen += launch_lines(fault, sources);
}

}  // namespace

void say(FaultMessage& message, const std::string& name, const std::vector<std::string>& values) {
  const Diagnosis says = variant(name, values);
  message.id = name.substr(0, name.find('/'));
  if (says.cause.starts_with(' ')) {
    message.cause += says.cause;
  } else if (!says.cause.empty()) {
    message.cause = says.cause;
  }
  if (!says.next.empty()) message.next = says.next;
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
  if (elements == shape.input_size()) found.emplace_back("input");
  if (elements == shape.weights_size()) found.emplace_back("weights");
  if (elements == shape.output_size()) found.emplace_back("output");
  if (found.size() == 1) return found.front();
  const std::string meant = array_of_name(name);
  return std::find(found.begin(), found.end(), meant) != found.end() ? meant : "";
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

FaultMessage message_of(const FaultRecord& fault, const std::optional<ConvShape>& shape,
                        const SourceText& sources) {
  const std::string in_kernel = fault.kernel.empty() ? "" : " in " + kernel_name(fault);
  const std::string place = place_lines(fault, sources);
  const std::string launched = launch_lines(fault, sources);
  const std::string told = fault.text + in_kernel + ". " + thread_text(fault) + place + launched;
  const std::string element =
      "at " + fault.array + "[" + std::to_string(fault.element) + "]." + place;
  FaultMessage message{.id = id_of(fault), .seen = told};
  switch (fault.kind) {
    case FaultKind::kException:
      explain_checked_call(fault, sources, message);
      explain_threads(fault, sources, message);
      break;
    case FaultKind::kOutOfMemory:
      message.seen = fault.text + "." + place;
      break;
    case FaultKind::kDeviceMemory:
      message.seen = {};
      explain_outside(fault, shape, sources, message);
      if (has_sizes_exchanged(fault, sources)) say(message, "E-outside/sizes-exchanged");
      break;
    case FaultKind::kHostPointer: {
      const auto [name, bytes, is_reference] =
          sources.parameter(fault.kernel, fault.memory.argument);
      message.seen = kernel_name(fault) + " gets a pointer to memory of the host as argument " +
                     std::to_string(fault.memory.argument) +
                     (name.empty() ? "" : ", `" + name + "`") + "." + launched;
      if (is_reference) say(message, "E-host-pointer/reference", {name});
      break;
    }
    case FaultKind::kBarrier:
      explain_barrier(fault, sources, message);
      break;
    case FaultKind::kKernelTime:
      if (fault.kernel.empty()) {
        message.seen = "it was still computing when the time was up" +
                       (fault.line == 0 ? "." : ", here:" + place);
      }
      say(message, "E-timeout/loop");
      break;
    case FaultKind::kSlowKernel:
      message.seen = fault.text + in_kernel + "." + launched;
      break;
    case FaultKind::kWarp:
      if (fault.text.find("leading dimension") != std::string::npos) {
        say(message, "E-warp/leading-dimension");
      }
      break;
    case FaultKind::kCopy:
      explain_copy(fault, sources, message);
      break;
    case FaultKind::kArithmetic:
      if (fault.text.empty()) message.seen = "an integer is divided by zero." + place;
      break;
    case FaultKind::kDevicePointer: {
      message.seen = fault.text + "." + place;
      if (fault.text.starts_with("a thread of the host ran")) {
        say(message, "E-device-pointer/thread");
      }
      if (fault.allocated_at.find(':') == std::string::npos) break;
      const std::string quoted = sources.quote(fault.allocated_at);
      message.seen += quoted.empty() ? " Allocated at " + fault.allocated_at + "."
                                     : "\nIt points to memory allocated at:" + quoted;
      if (const std::string kernel = sources.kernel_around(fault.file, fault.line);
          !kernel.empty()) {
        say(message, "E-device-pointer/kernel", {kernel});
      }
      break;
    }
    case FaultKind::kOutside:
      message.seen = element;
      if (shape && !fault.array.empty()) {
        const std::string position = position_text(*shape, fault.array, fault.element);
        if (!position.empty()) message.seen.insert(message.seen.find(']') + 1, ", " + position);
      }
      if (fault.line == 0) explain_long_copy(fault, sources, message);
      break;
    case FaultKind::kReadOnly:
      message.seen = element;
      break;
    case FaultKind::kNull:
      message.seen = "a null pointer is used." + place;
      break;
    case FaultKind::kStack:
      if (fault.text.empty()) message.seen = "the stack is full.";
      break;
    case FaultKind::kRace:
      return fault.race ? race_message(fault, sources) : FaultMessage{};
    case FaultKind::kSystemCall:
    case FaultKind::kSignal:
      return {};
    default:  // the record tells all
      break;
  }
  return message;
}

}  // namespace convlab
