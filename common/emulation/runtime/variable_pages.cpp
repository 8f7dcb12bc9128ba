#include "common/emulation/runtime/variable_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/base/address_sanitizer.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_rights.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/poison.hpp"
#include "common/emulation/runtime/signals.hpp"

// A page each behind all variables of a section: the linker places a library behind the objects of
// a program. The page also makes each section begin with a page.
namespace {
constexpr std::size_t kPageBytes = convlab::emulation::kPage;
[[gnu::used]] alignas(kPageBytes) CONVLAB_DEVICE_VARIABLE std::byte end_of_variables[kPageBytes];
[[gnu::used]] alignas(kPageBytes) CONVLAB_DEVICE_ARRAY std::byte end_of_arrays[kPageBytes];
[[gnu::used]] alignas(kPageBytes) CONVLAB_MANAGED_VARIABLE std::byte end_of_managed[kPageBytes];
}  // namespace

// Where the sections begin, from the linker. Without room for arrays these lie with the others.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern std::byte __start_convlab_variables[];
extern std::byte __start_convlab_managed[];
[[gnu::weak]] extern std::byte __start_convlab_arrays[];
}
// NOLINTEND(readability-identifier-naming)

namespace convlab::emulation {
namespace {

struct Pages {
  std::byte* begin;
  std::byte* end;
  bool is_closed = true;  ///< to the host
  [[nodiscard]] std::size_t bytes() const {
    return begin < end ? static_cast<std::size_t>(end - begin) : 0;
  }
};

/// Of the sections, and of variables of templates.
std::vector<Pages> all_pages() {
  std::byte* const arrays = __start_convlab_arrays;
  std::vector<Pages> all{{__start_convlab_variables, end_of_variables},
                         {arrays == nullptr ? end_of_arrays : arrays, end_of_arrays},
                         {__start_convlab_managed, end_of_managed, false}};
  const std::vector<Pages>& alone = only<std::vector<Pages>>();
  all.insert(all.end(), alone.begin(), alone.end());
  return all;
}

/// What lies between variables is as beside every array: NaN, and no access to it is right.
void fill_gaps(const Pages& pages) {
  std::vector<Symbol> symbols = all_symbols();
  std::erase_if(symbols, [&](const Symbol& each) {
    return each.address < pages.begin || each.address >= pages.end;
  });
  std::ranges::sort(symbols, {}, &Symbol::address);
  const std::byte* end = pages.begin;
  const auto close_until = [&](const std::byte* next) {
    if (end >= next) return;
    Redzone{}.fill(const_cast<std::byte*>(end), next);
    forbid_access(end, static_cast<std::size_t>(next - end));
  };
  for (const Symbol& each : symbols) {
    close_until(each.address);
    end = each.address + each.bytes;
  }
  close_until(pages.end);
}

/// What the variables of the first section held when the program was loaded.
std::vector<std::byte>* loaded = nullptr;

void keep_loaded(int /*count*/, char** /*arguments*/, char** /*environment*/) {
  const Pages pages = all_pages().front();
  if (pages.bytes() != 0) loaded = new std::vector(pages.begin, pages.end);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const keep_first)(int, char**,
                                                                       char**) = keep_loaded;

/// A constructor has given some of them their first values; nvcc knows no such variable.
void tell_of_constructors() {
  if (loaded == nullptr) return;
  for (const Symbol& each : all_symbols()) {
    const std::ptrdiff_t offset = each.address - all_pages().front().begin;
    const auto size = static_cast<std::ptrdiff_t>(loaded->size());
    if (offset >= 0 && offset < size &&
        std::memcmp(each.address, loaded->data() + offset, each.bytes) != 0)
      note_refused_by_nvcc({.file = each.file, .line = each.line},
                           "the value of the variable " + each.name +
                               " is computed when the program begins (give it a constant, or copy "
                               "a value there with cudaMemcpyToSymbol)");
  }
  delete std::exchange(loaded, nullptr);
}

struct Users {
  std::mutex mutex;
  int count = 0;
};

void allow(int protection) {
  for (const Pages& pages : all_pages())
    if (pages.is_closed && pages.bytes() != 0) mprotect(pages.begin, pages.bytes(), protection);
}

#if CONVLAB_ADDRESS_SANITIZER
// LeakSanitizer reads all variables of a program when it ends.
void open_for_good() {
  for (const Pages& pages : all_pages())
    if (pages.bytes() != 0 &&
        pkey_mprotect(pages.begin, pages.bytes(), PROT_READ | PROT_WRITE, 0) != 0)
      mprotect(pages.begin, pages.bytes(), PROT_READ | PROT_WRITE);
}
#endif

// Behind the constructors of the program's static objects, which the linker places before it.
[[gnu::constructor]] void close_first() {
  tell_of_constructors();
  bool any = false;
  for (const Pages& pages : all_pages()) {
    if (pages.bytes() == 0) continue;
    any = true;
    fill_gaps(pages);
    if (!pages.is_closed) continue;
    if (!threads_have_rights() || !leave_to_rights(pages.begin, pages.bytes()))
      mprotect(pages.begin, pages.bytes(), PROT_NONE);
  }
  if (any) install_signal_handlers();
#if CONVLAB_ADDRESS_SANITIZER
  std::atexit(open_for_good);
#endif
}

}  // namespace

void note_own_pages(void* variable, std::size_t bytes) {
  auto* const begin = static_cast<std::byte*>(variable);
  only<std::vector<Pages>>().push_back({begin, begin + round_up(bytes, kPage)});
}

VariableAccess::VariableAccess() {
  if (threads_have_rights()) return;
  const std::lock_guard lock(only<Users>().mutex);
  if (only<Users>().count++ == 0) allow(PROT_READ | PROT_WRITE);
}

VariableAccess::~VariableAccess() {
  if (threads_have_rights()) return;
  const std::lock_guard lock(only<Users>().mutex);
  if (--only<Users>().count == 0) allow(PROT_NONE);
}

std::optional<ReportMemory> memory_of_variable(const void* address) {
  const auto* const byte = static_cast<const std::byte*>(address);
  const std::vector<Symbol> symbols = all_symbols();
  const auto distance = [&](const Symbol& each) {
    return byte < each.address
               ? each.address - byte
               : std::max<std::ptrdiff_t>(
                     0, byte - each.address - static_cast<std::ptrdiff_t>(each.bytes));
  };
  const auto nearest = std::ranges::min_element(symbols, {}, distance);
  if (nearest == symbols.end()) return std::nullopt;
  // A constant lies anywhere; behind it the compiler leaves a gap (common/emulation/bounds).
  constexpr std::ptrdiff_t kBehindConstant = 64;
  if (distance(*nearest) >= kBehindConstant &&
      std::ranges::none_of(
          all_pages(), [&](const Pages& each) { return byte >= each.begin && byte < each.end; }))
    return std::nullopt;
  const auto bytes = static_cast<std::int64_t>(nearest->bytes);
  return ReportMemory{
      {.variable = nearest->name, .bytes = bytes, .offset = byte - nearest->address},
      "the device variable " + nearest->name + " of " + std::to_string(bytes) + " bytes"};
}

}  // namespace convlab::emulation
