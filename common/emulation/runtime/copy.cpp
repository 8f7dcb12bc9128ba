#include "common/emulation/runtime/copy.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/runtime/device_access.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/host_pointers.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/poison.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/shared_memory.hpp"
#include "common/emulation/runtime/withheld.hpp"

// Bounds of the program's image, from the linker.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char __executable_start;
extern const char data_start;  // constants lie before it
extern const char end;
}
// NOLINTEND(readability-identifier-naming)

namespace convlab::emulation {
namespace {

/// Constructors of static objects fill it: it is made at its first use.
struct SymbolTable {
  std::mutex mutex;
  std::vector<Symbol> symbols;

  Symbol* find(const void* address) {
    const auto* byte = static_cast<const std::byte*>(address);
    const auto found = std::ranges::find_if(symbols, [&](const Symbol& symbol) {
      return byte >= symbol.address && byte < symbol.address + symbol.bytes;
    });
    return found == symbols.end() ? nullptr : &*found;
  }
};

}  // namespace

DeviceSymbol::DeviceSymbol(const char* name, const volatile void* address, std::size_t bytes,
                           SymbolKind kind, const char* module, const char* file,
                           std::uint32_t line) {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  only<SymbolTable>().symbols.push_back(
      {name, static_cast<const std::byte*>(const_cast<const void*>(address)), bytes, kind, module,
       kind == SymbolKind::kManaged, file, line, is_constant(const_cast<const void*>(address))});
}

std::optional<Symbol> find_symbol(const void* address) {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  const Symbol* const found = only<SymbolTable>().find(address);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<Symbol> all_symbols() {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  return only<SymbolTable>().symbols;
}

void note_symbol_address(const void* address) {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  if (Symbol* const found = only<SymbolTable>().find(address); found != nullptr)
    found->address_known = true;
}

std::size_t constant_bytes() {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  std::map<std::string, std::size_t> bytes_of_module;
  std::size_t most = 0;
  for (const Symbol& symbol : only<SymbolTable>().symbols)
    if (symbol.kind == SymbolKind::kConstant)
      most = std::max(most, bytes_of_module[symbol.module] += symbol.bytes);
  return most;
}

void poison_constants() {
  static const bool done = [] {
    const DeviceAccess access({});
    for (const Symbol& symbol : all_symbols()) {
      const auto* byte = reinterpret_cast<const char*>(symbol.address);
      // As one that was given zeros; who gives it these copies nothing there.
      const bool has_no_value =
          std::all_of(byte, byte + symbol.bytes, [](char c) { return c == 0; });
      if (symbol.kind == SymbolKind::kConstant && has_no_value && !symbol.is_read_only)
        fill_poison(const_cast<std::byte*>(symbol.address), symbol.bytes, kConstantObject, true);
    }
    return true;
  }();
  static_cast<void>(done);
}

bool is_static_storage(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  return byte >= &__executable_start && byte < &end;
}

bool is_constant(const void* address) {
  return is_static_storage(address) && static_cast<const char*>(address) < &data_start;
}

// ---- copies and fills ---------------------------------------------------------------------------

namespace {

/// A device variable, whose address on the device the program has not asked for.
bool is_unknown_symbol(const void* address) {
  const auto symbol = find_symbol(address);
  return symbol && !symbol->address_known;
}

/// Describes what a pointer points to.
std::string target_text(const void* address) {
  if (device_memory().contains(address)) return device_memory().describe(address);
  if (is_unknown_symbol(address))
    return "the device variable " + find_symbol(address)->name +
           ", which by its name only cudaMemcpyToSymbol and cudaMemcpyFromSymbol can copy";
  return address == nullptr ? "a null pointer" : "memory of the host";
}

/// What a copy or a fill may not touch.
struct Problem {
  std::string text{};
  FaultKind kind = FaultKind::kCopyBeyond;
};

std::optional<Problem> problem(const void* address, std::size_t bytes) {
  const std::string text = outside(address, bytes);
  if (text.empty()) return std::nullopt;
  const auto memory = device_memory().nearest(address);
  return Problem{text, memory && memory->freed ? FaultKind::kCopyFreed : FaultKind::kCopyBeyond};
}

std::optional<Problem> problem(const Copy& copy) {
  const auto found = problem(copy.to, copy.to_span());
  return found ? found : problem(copy.from, copy.from_span());
}

/// A lazy stream or a graph may run the copy after its memory was freed.
bool is_too_late(const std::optional<Problem>& problem, const char* function) {
  if (!problem) return false;
  raise_device_fault(
      {.fault = {.kind = problem->kind},
       .error = KernelFault::kIllegalAddress,
       .what = std::string(function) + ", when its turn came, touches " + problem->text});
  return true;
}

/// The memory that the poison names, if nobody has written there. A small negative integer and a
/// random one look like poison, too.
std::optional<ReportMemory> source_of(const PoisonedWord& word,
                                      const std::vector<Allocation>& live) {
  if (word.shared) return poisoned_variable(word.object, word.offset);
  for (const Allocation& each : live) {
    if (each.number % kPoisonObjects != word.object) continue;
    std::uint32_t bits = 0;
    const DeviceAccess access({each.begin});
    const auto last = static_cast<std::int64_t>(each.bytes) - std::int64_t{sizeof bits};
    for (std::int64_t at = word.offset; at <= last; at += kNumberedBytes) {
      std::memcpy(&bits, each.begin + at, sizeof bits);
      PoisonedWord there;
      if (read_poison(bits, there) && there == word)
        return device_memory().find_poisoned(word.object, at);
    }
  }
  return std::nullopt;
}

/// What the allocation's word at this address held when it was new.
std::uint32_t fresh_word(const Allocation& allocation, const std::byte* at) {
  const auto index = static_cast<std::size_t>(at - allocation.begin) / sizeof(std::uint32_t);
  return numbered_word(static_cast<unsigned>(allocation.number), false, index);
}

/// Says which memory nobody has written, if a result of the program was computed from it.
void tell_of_poison(const std::byte* copied, std::size_t bytes, const char* function) {
  const std::vector<Allocation> live = device_memory().live();
  const std::optional<Allocation> own = device_memory().find(copied);
  constexpr std::uint32_t kNear = 1U << 16U;
  std::size_t count = 0;
  std::size_t others = 0;  // words that are NaN of no memory: these data are no floats
  std::size_t beyond = 0;
  std::size_t sums = 0;  // a whole number was added to what was new: that is no NaN any more
  std::string from;
  for (std::size_t i = 0; i + sizeof(std::uint32_t) <= bytes; i += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, copied + i, sizeof bits);
    const std::uint32_t distance = own ? bits - fresh_word(*own, copied + i) + kNear : 0;
    sums += distance > 0 && distance < 2 * kNear ? 1 : 0;
    if (distance == kNear) {
      if (count++ == 0) from = device_memory().describe(copied + i);
      continue;
    }
    // Where the program asks before each access, none reads there: the number is its own.
    beyond += access_shadow == nullptr && Redzone::holds(bits) ? 1 : 0;
    PoisonedWord word;
    if (!read_poison(bits, word)) continue;
    const auto memory = source_of(word, live);
    (memory ? count : others) += 1;
    if (memory && count == 1)
      from = word.shared ? "the shared variable " + memory->variable : text_of(*memory);
  }
  const auto tell = [&](std::size_t numbers, const std::string& where) {
    refuse(cudaSuccess, std::string(function) + " brings " + std::to_string(numbers) +
                            (numbers == 1 ? " number" : " numbers") + " to the host from memory " +
                            where + " (docs/emulation.md)");
  };
  constexpr std::size_t kFewest = 4;  // one word is near by chance in one of 64
  if (beyond > others) tell(beyond, "beside an array: before its start, or beyond its end");
  if (count > others)
    tell(count, "that nobody has written: " + from);
  else if (sums >= kFewest && 2 * sums * sizeof(std::uint32_t) > bytes)
    tell(sums, "that nobody has written before something was added to it: " +
                   device_memory().describe(copied));
}

}  // namespace

Side side_of(const void* address) {
  if (const auto allocation = device_memory().find(address))
    return allocation->kind == MemoryKind::kDevice ? Side::kDevice : Side::kBoth;
  if (device_memory().contains(address)) return Side::kDevice;
  if (const auto symbol = find_symbol(address); symbol && symbol->address_known)
    return symbol->kind == SymbolKind::kManaged ? Side::kBoth : Side::kDevice;
  return only<PinnedMemory>().contains(address) ? Side::kBoth : Side::kHost;
}

std::string why_no_kernel_may_use(const void* address) {
  if (address == nullptr || side_of(address) != Side::kHost) return {};
  if (const auto symbol = find_symbol(address))
    return "is the host's name of the device variable " + symbol->name +
           "; a kernel needs no argument to use it, or what cudaGetSymbolAddress gives";
  return "points to host memory; copy the data to the device first";
}

std::string outside(const void* address, std::size_t bytes) {
  if (const auto symbol = find_symbol(address)) {
    const std::ptrdiff_t offset = static_cast<const std::byte*>(address) - symbol->address;
    if (bytes <= symbol->bytes - static_cast<std::size_t>(offset)) return {};
    return std::to_string(bytes) + " bytes that start " + std::to_string(offset) +
           " bytes into the variable " + symbol->name + " of " + std::to_string(symbol->bytes);
  }
  if (!device_memory().contains(address)) return {};
  const auto allocation = device_memory().find(address);
  const auto* byte = static_cast<const std::byte*>(address);
  if (allocation && bytes <= static_cast<std::size_t>(allocation->begin + allocation->bytes - byte))
    return {};
  return std::to_string(bytes) + " bytes that start " + device_memory().describe(address);
}

static std::byte* place(const cudaPitchedPtr& of, const cudaPos& at) {
  return static_cast<std::byte*>(of.ptr) + (at.z * of.ysize + at.y) * of.pitch + at.x;
}

Copy::Copy(const cudaMemcpy3DParms& box)
    : Copy(place(box.dstPtr, box.dstPos), box.dstPtr.pitch, place(box.srcPtr, box.srcPos),
           box.srcPtr.pitch, box.extent.width, box.extent.height) {
  layers = box.extent.depth;
  to_slice = box.dstPtr.ysize * box.dstPtr.pitch;
  from_slice = box.srcPtr.ysize * box.srcPtr.pitch;
}

// Where only samples of the work are done, what is as large as images.
static bool is_left_out(std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{1} << 20U;
  return settings().work == Work::kSamples && bytes > kLarge;
}

void Copy::run(const char* function) const {
  if (device_is_lost() || is_left_out(bytes())) return;
  if (find_symbol(to)) device_memory().note_change();
  if (is_too_late(problem(*this), function)) return;
  const Crossing crossing = withheld_crossing(*this);
  const DeviceAccess access({to, from});
  if (observer != nullptr) observer->begin_transfer(function, from, from_span(), to, to_span());
  const bool from_host = from_side() == Side::kHost && to_side() != Side::kHost;
  for (std::size_t row = 0; row < height * layers; ++row) {
    std::byte* const target = to + row / height * to_slice + row % height * to_pitch;
    const std::byte* const source = from + row / height * from_slice + row % height * from_pitch;
    if (settings().tell_poison && to_side() == Side::kHost) tell_of_poison(source, width, function);
    if (crossing == Crossing::kNone)
      std::memmove(target, source, width);
    else
      move_across(crossing, target, source, width);
    if (from_host) forbid_what_host_pointers_reach(target, width);
  }
}

void Fill::run(const char* function) const {
  if (is_left_out(width * height)) return;
  if (find_symbol(to)) device_memory().note_change();
  if (is_too_late(problem(to, span()), function)) return;
  const DeviceAccess access({to});
  if (observer != nullptr) observer->begin_transfer(function, nullptr, 0, to, span());
  for (std::size_t row = 0; row < height; ++row) {
    std::byte* const begin = to + row * pitch;
    if (element_bytes == 1) {
      std::memset(begin, static_cast<int>(value), width);
      continue;
    }
    for (std::size_t i = 0; i < width; i += element_bytes)
      std::memcpy(begin + i, &value, element_bytes);
  }
}

cudaError_t check(const cudaMemcpy3DParms* box, const char* function) {
  if (box == nullptr) return record_error(cudaErrorInvalidValue);
  if (box->srcArray != nullptr || box->dstArray != nullptr)
    return refuse(cudaErrorNotSupported,
                  std::string(function) +
                      " of a cudaArray_t cannot be emulated: copy between memory "
                      "from cudaMalloc or cudaMalloc3D and the host");
  const std::size_t least = std::min(box->srcPtr.ysize, box->dstPtr.ysize);
  return box->extent.depth > 1 && box->extent.height > least ? record_error(cudaErrorInvalidValue)
                                                             : cudaSuccess;
}

cudaError_t check(const Copy& copy, cudaMemcpyKind kind, const char* function) {
  if (copy.width > copy.to_pitch || copy.width > copy.from_pitch)
    return record_error(copy.height > 1 ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue);
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return record_error(cudaErrorInvalidMemcpyDirection);
  if (copy.to == nullptr || copy.from == nullptr)
    return refuse(cudaErrorInvalidValue, std::string(function) + " gets a null pointer as its " +
                                             (copy.to == nullptr ? "target" : "source"));
  // As CUDA does: a device pointer is accepted for either direction, a host pointer only where the
  // direction says host.
  const auto is_wrong = [kind](Side side, cudaMemcpyKind other) {
    return side == Side::kHost && (kind == other || kind == cudaMemcpyDeviceToDevice);
  };
  const bool is_target = is_wrong(copy.to_side(), cudaMemcpyHostToDevice);
  if (is_target || is_wrong(copy.from_side(), cudaMemcpyDeviceToHost)) {
    std::string text = std::string(function) + ": the direction says that the " +
                       (is_target ? "target" : "source") + " lies on the device, but it is " +
                       target_text(is_target ? copy.to : copy.from);
    const bool names_symbol = is_unknown_symbol(is_target ? copy.to : copy.from);
    const bool both = copy.to_side() == Side::kHost && copy.from_side() == Side::kHost &&
                      !find_symbol(copy.to) && !find_symbol(copy.from);
    if (both) text += is_target ? ", and so is the source" : ", and so is the target";
    return refuse(cudaErrorInvalidValue, text,
                  names_symbol ? FaultKind::kCopySymbol
                  : both       ? FaultKind::kCopyBothHost
                               : FaultKind::kCopy);
  }
  // A GPU copies from or to the host's variable of that name, in silence.
  const auto is_by_name = [](const void* end, bool names_symbol) {
    return !names_symbol && is_unknown_symbol(end) && !find_symbol(end)->is_read_only;
  };
  const bool is_to = is_by_name(copy.to, copy.to_symbol);
  if (is_to || is_by_name(copy.from, copy.from_symbol))
    return refuse(cudaErrorInvalidValue,
                  std::string(function) + ": the " + (is_to ? "target" : "source") + " is " +
                      target_text(is_to ? copy.to : copy.from),
                  FaultKind::kCopySymbol);
  if (const auto found = problem(copy))
    return refuse(cudaErrorInvalidValue, std::string(function) + " touches " + found->text,
                  found->kind);
  return cudaSuccess;
}

cudaError_t check(const Fill& fill, const char* function) {
  if (fill.width > fill.pitch) return record_error(cudaErrorInvalidValue);
  if (fill.to == nullptr || side_of(fill.to) == Side::kHost)
    return refuse(cudaErrorInvalidValue,
                  std::string(function) + " wants device memory, not " + target_text(fill.to),
                  is_unknown_symbol(fill.to) ? FaultKind::kCopySymbol : FaultKind::kCopy);
  if (const auto found = problem(fill.to, fill.span()))
    return refuse(cudaErrorInvalidValue, std::string(function) + " touches " + found->text,
                  found->kind);
  return cudaSuccess;
}

}  // namespace convlab::emulation
