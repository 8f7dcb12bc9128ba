#include "common/emulation/runtime/own_system_calls.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/base/address_sanitizer.hpp"

// Defined by the linker: the beginning of the program and the end of its code.
extern "C" const char __executable_start;  // NOLINT: its name
extern "C" const char etext;               // NOLINT: its name

namespace convlab::emulation {
namespace {

constexpr unsigned kLower = offsetof(seccomp_data, instruction_pointer);
constexpr unsigned kUpper = kLower + sizeof(std::uint32_t);

sock_filter jump(unsigned test, std::uint64_t value, unsigned char if_true,
                 unsigned char if_false) {
  return BPF_JUMP(static_cast<unsigned short>(BPF_JMP | test | BPF_K),
                  static_cast<std::uint32_t>(value), if_true, if_false);
}

}  // namespace

void refuse_own_system_calls(int /*count*/, char** /*arguments*/, char** /*environment*/) {
  if (CONVLAB_ADDRESS_SANITIZER) return;  // its own code lies in the program
  // A sandbox has set this; elsewhere the author may do what he likes.
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(&__executable_start);
  const auto end = reinterpret_cast<std::uintptr_t>(&etext);
  if (begin >> 32U != end >> 32U) return;  // one start in a thousand
  std::array filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kUpper),
      jump(BPF_JEQ, begin >> 32U, 0, 4),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kLower),
      jump(BPF_JGE, begin, 0, 2),
      jump(BPF_JGE, end, 1, 0),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  // Also in threads that started before: code that chooses a function (ifunc) runs earlier.
  const long stray =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (stray > 0) std::abort();
}

}  // namespace convlab::emulation
