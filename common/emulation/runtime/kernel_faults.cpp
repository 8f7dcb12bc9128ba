// The ways to end a kernel with a fault: fail_kernel (collective.hpp), traps, assert, exceptions.

#include "common/emulation/runtime/kernel_faults.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/include/convlab_emulation/warp_functions.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

void fail_block(EmulationFault kind, KernelFault error) {
  BlockRunner& block = BlockRunner::of_kernel();
  Fault& fault = block.new_fault();
  fault.kind = kind;
  fault.error = error;
  fault.has_thread = false;
  block.abandon();
}

void fail_thread(EmulationFault kind, KernelFault error, const char* message, CallSite site) {
  BlockRunner& block = BlockRunner::of_kernel();
  Fault& fault = block.new_fault();
  fault.kind = kind;
  fault.error = error;
  fault.message = message;
  fault.site = site;
  block.abandon();
}

void fail_kernel(KernelFault error, const char* message, CallSite site) {
  const EmulationFault kind = error == KernelFault::kMisalignedAddress
                                  ? EmulationFault::kMisaligned
                                  : EmulationFault::kDeviceFunction;
  fail_thread(kind, error, message, site);
}

void trap(CallSite site) {
  fail_thread(EmulationFault::kTrap, KernelFault::kLaunchFailure, "the kernel called __trap()",
              site);
}

void exceed_launch_bounds(long long most_threads, CallSite site) {
  const dim3& block = BlockRunner::of_kernel().call().block;
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(),
                "invalid launch: %u threads per block, but its __launch_bounds__ allow %lld",
                block.x * block.y * block.z, most_threads);
  fail_thread(EmulationFault::kLaunch, KernelFault::kInvalidValue, text.data(), site);
}

void note_kernel(const char* message, CallSite site) {
  static std::mutex mutex;
  // Never destroyed: static objects may launch kernels in their destructors.
  static auto& told = *new std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>>;
  const std::string file = site.file == nullptr ? "" : site.file;
  {
    const std::lock_guard lock(mutex);
    if (!told.emplace(file, site.line, site.column).second) return;
  }
  const BlockRunner& block = BlockRunner::of_kernel();
  send_report({.fault = EmulationFault::kWarpMask,
               .is_note = true,
               .what = std::string("note: ") + message,
               .kernel = block.call().name,
               .at = place_of(site)});
}

void note_absent_lane(int lane, int source, std::uint32_t mask, CallSite site) {
  std::array<char, 128> text;
  std::snprintf(
      text.data(), text.size(),
      "lane %d reads lane %d, which does not take part (mask 0x%08x): the value is undefined", lane,
      source, mask);
  note_kernel(text.data(), site);
}

void fail_with_exception(std::exception_ptr thrown) {
  std::array<char, 256> message;
  const auto say = [&](const char* what) {
    std::snprintf(message.data(), message.size(),
                  "an exception left the kernel%s%s (a GPU knows no exceptions)",
                  *what == '\0' ? "" : ": ", what);
  };
  try {
    std::rethrow_exception(std::exchange(thrown, nullptr));
  } catch (const std::bad_alloc&) {
    std::snprintf(message.data(), message.size(),
                  "the machine has no memory for the stacks of a block's threads, or for what the "
                  "kernel allocates (ulimit -v?)");
  } catch (const std::exception& error) {
    say(error.what());
  } catch (...) {
    say("");
  }
  // fail_thread never returns and runs no destructors: nothing on this stack may own memory now.
  fail_thread(EmulationFault::kException, KernelFault::kLaunchFailure, message.data(), {});
}

}  // namespace convlab::emulation

// assert() in a kernel ends the kernel, not the program: this is glibc's function.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" [[noreturn]] void __assert_fail(const char* assertion, const char* file,
                                           unsigned int line, const char* function) noexcept {
  using namespace convlab::emulation;
  if (in_kernel()) {
    std::array<char, 512> message;
    std::snprintf(message.data(), message.size(), "assertion `%s' failed in %s", assertion,
                  function);
    CallSite site;
    site.file = file;
    site.line = line;
    fail_thread(EmulationFault::kAssertion, KernelFault::kAssert, message.data(), site);
  }
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
  std::abort();
}
