#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace convlab::grader {

/// Which system calls a program may make: all that a convolution may need. It may start threads. It
/// may not copy itself, trace or end other processes, open network connections, mount, load code
/// into the kernel, or leave its process group. A call that no honest program makes ends in SIGSYS;
/// others only fail.
class SeccompFilter {
 public:
  /// @param may_fork  for a compiler, which works in several processes
  explicit SeccompFilter(bool may_fork);

  /// Applies the filter to the calling process, permanently and through exec. Allocates nothing, so
  /// it may run between fork and exec.
  /// @return 0 or an errno
  [[nodiscard]] int install();

 private:
  void fail(unsigned call, int error);
  void trap(unsigned call);
  void only_for_itself(unsigned call, int error);
  void restrict_clone();
  void restrict_sockets();
  void restrict_terminal();
  void load_argument(unsigned index);
  void answer(unsigned action);

  std::vector<sock_filter> program_;
  std::vector<std::size_t> own_pid_;  ///< instructions that compare with it
};

/// "ptrace", for a call that ends in SIGSYS; its number otherwise.
std::string system_call_name(int number);

}  // namespace convlab::grader
