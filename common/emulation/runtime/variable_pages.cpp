#include "common/emulation/runtime/variable_pages.hpp"

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <mutex>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/device_rights.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/signals.hpp"

// A page each behind all variables of a section: the linker places a library behind the objects of
// a program. The page also makes each section begin with a page.
namespace {
constexpr std::size_t kPageBytes = convlab::emulation::kPage;
alignas(kPageBytes) CONVLAB_DEVICE_VARIABLE [[gnu::used]] std::byte end_of_variables[kPageBytes];
alignas(kPageBytes) CONVLAB_DEVICE_ARRAY [[gnu::used]] std::byte end_of_arrays[kPageBytes];
}  // namespace

// Where the sections begin, from the linker. Without room for arrays these lie with the others.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern std::byte __start_convlab_variables;
[[gnu::weak]] extern std::byte __start_convlab_arrays;
}
// NOLINTEND(readability-identifier-naming)

namespace convlab::emulation {
namespace {

struct Pages {
  std::byte* begin;
  std::byte* end;
  [[nodiscard]] std::size_t bytes() const {
    return begin < end ? static_cast<std::size_t>(end - begin) : 0;
  }
};

std::array<Pages, 2> all_pages() {
  std::byte* const arrays = &__start_convlab_arrays;
  return {Pages{&__start_convlab_variables, end_of_variables},
          Pages{arrays == nullptr ? end_of_arrays : arrays, end_of_arrays}};
}

struct Users {
  std::mutex mutex;
  int count = 0;
};

void allow(int protection) {
  for (const Pages& pages : all_pages())
    if (pages.bytes() != 0) mprotect(pages.begin, pages.bytes(), protection);
}

// Behind the constructors of the program's static objects, which the linker places before it.
[[gnu::constructor]] void close_first() {
  bool any = false;
  for (const Pages& pages : all_pages()) {
    if (pages.bytes() == 0) continue;
    any = true;
    if (!threads_have_rights() || !leave_to_rights(pages.begin, pages.bytes()))
      mprotect(pages.begin, pages.bytes(), PROT_NONE);
  }
  if (any) install_signal_handlers();
}

}  // namespace

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

}  // namespace convlab::emulation
