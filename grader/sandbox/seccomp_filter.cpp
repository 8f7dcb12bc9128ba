#include "grader/sandbox/seccomp_filter.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace convlab::grader {

namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = 0;  // no filter
#endif

// Newer than the headers of some distributions.
constexpr unsigned kClone3 = 435;
constexpr unsigned kIoUringSetup = 425;
constexpr unsigned kPidfdSendSignal = 424;
constexpr unsigned kPidfdGetfd = 438;

struct NamedCall {
  unsigned number;
  const char* name;
};

// No program that computes a convolution makes one of these.
constexpr NamedCall kForbidden[] = {
    {SYS_ptrace, "ptrace"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_mount, "mount"},
    {SYS_umount2, "umount2"},
    {SYS_pivot_root, "pivot_root"},
    {SYS_chroot, "chroot"},
    {SYS_bpf, "bpf"},
    {SYS_perf_event_open, "perf_event_open"},
    {SYS_keyctl, "keyctl"},
    {SYS_add_key, "add_key"},
    {SYS_request_key, "request_key"},
    {SYS_userfaultfd, "userfaultfd"},
    {SYS_unshare, "unshare"},
    {SYS_setns, "setns"},
    {SYS_init_module, "init_module"},
    {SYS_finit_module, "finit_module"},
    {SYS_delete_module, "delete_module"},
    {SYS_kexec_load, "kexec_load"},
    {SYS_reboot, "reboot"},
    {SYS_swapon, "swapon"},
    {SYS_swapoff, "swapoff"},
    {SYS_acct, "acct"},
    {SYS_quotactl, "quotactl"},
    {SYS_settimeofday, "settimeofday"},
    {SYS_clock_settime, "clock_settime"},
    {SYS_sethostname, "sethostname"},
    {SYS_open_by_handle_at, "open_by_handle_at"},
    {SYS_syslog, "syslog"},
    {kPidfdSendSignal, "pidfd_send_signal"},
    {kPidfdGetfd, "pidfd_getfd"},
};

// Calls that are allowed with some arguments only.
constexpr NamedCall kRestricted[] = {
    {SYS_clone, "fork"}, {SYS_socket, "socket"}, {SYS_ioctl, "ioctl"},
    {SYS_kill, "kill"},  {SYS_tgkill, "tgkill"},
#if defined(SYS_fork)
    {SYS_fork, "fork"},
#endif
};

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}

sock_filter jump(unsigned test, unsigned value, unsigned char if_true, unsigned char if_false) {
  return BPF_JUMP(static_cast<unsigned short>(BPF_JMP | test | BPF_K), value, if_true, if_false);
}

sock_filter result(unsigned action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

}  // namespace

SeccompFilter::SeccompFilter(bool may_fork) {
  program_ = {load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0),
              result(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
#if defined(__x86_64__)
  constexpr unsigned kX32 = 0x40000000;  // the same calls under other numbers
  program_.push_back(jump(BPF_JGE, kX32, 0, 1));
  answer(SECCOMP_RET_ERRNO | ENOSYS);
#endif
  for (const NamedCall& call : kForbidden) trap(call.number);
  for (const unsigned call : {SYS_setsid, SYS_setpgid}) fail(call, EPERM);
  fail(kIoUringSetup, ENOSYS);
  fail(kClone3, ENOSYS);  // its flags lie in memory, out of reach; glibc falls back to clone
  restrict_clone();
  restrict_sockets();
  restrict_terminal();
  only_for_itself(SYS_prlimit64, EPERM);
  if (!may_fork) {
#if defined(SYS_fork)
    trap(SYS_fork);
#endif
    // posix_spawn shares its memory until exec; a copy of the program does not.
    program_.push_back(jump(BPF_JEQ, SYS_clone, 0, 4));
    load_argument(0);
    program_.push_back(jump(BPF_JSET, CLONE_THREAD | CLONE_VFORK, 1, 0));
    answer(SECCOMP_RET_TRAP);
    answer(SECCOMP_RET_ALLOW);
    only_for_itself(SYS_kill, 0);
    only_for_itself(SYS_tgkill, 0);
  }
  answer(SECCOMP_RET_ALLOW);
}

void SeccompFilter::answer(unsigned action) {
  program_.push_back(result(action));
}

// Arguments have 64 bits; those that matter here are 32 wide, the lower half of a little-endian
// machine.
void SeccompFilter::load_argument(unsigned index) {
  program_.push_back(load(offsetof(seccomp_data, args) + index * sizeof(__u64)));
}

void SeccompFilter::fail(unsigned call, int error) {
  program_.push_back(jump(BPF_JEQ, call, 0, 1));
  answer(SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
}

void SeccompFilter::trap(unsigned call) {
  program_.push_back(jump(BPF_JEQ, call, 0, 1));
  answer(SECCOMP_RET_TRAP);
}

// The first argument is a process: allows its own number, and 0 if that means itself.
void SeccompFilter::only_for_itself(unsigned call, int error) {
  const bool zero_is_self = error != 0;
  program_.push_back(jump(BPF_JEQ, call, 0, 5));
  load_argument(0);
  program_.push_back(jump(BPF_JEQ, 0, zero_is_self ? 2 : 1, 0));
  own_pid_.push_back(program_.size());
  program_.push_back(jump(BPF_JEQ, 0, 1, 0));
  answer(error == 0 ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
  answer(SECCOMP_RET_ALLOW);
}

void SeccompFilter::restrict_clone() {
  program_.push_back(jump(BPF_JEQ, SYS_clone, 0, 4));
  load_argument(0);
  program_.push_back(
      jump(BPF_JSET,
           CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS,
           0, 1));
  answer(SECCOMP_RET_TRAP);
  program_.push_back(load(offsetof(seccomp_data, nr)));
}

// NVIDIA's driver needs a local socket of its own to start (else cuInit returns error 304). It also
// looks for helper processes through such sockets, and goes on without them.
void SeccompFilter::restrict_sockets() {
  program_.push_back(jump(BPF_JEQ, SYS_socket, 0, 7));
  load_argument(0);
  program_.push_back(jump(BPF_JEQ, AF_UNIX, 4, 0));
  program_.push_back(jump(BPF_JEQ, AF_INET, 1, 0));
  program_.push_back(jump(BPF_JEQ, AF_INET6, 0, 1));
  answer(SECCOMP_RET_TRAP);
  answer(SECCOMP_RET_ERRNO | EACCES);
  answer(SECCOMP_RET_ALLOW);
  fail(SYS_connect, ENOENT);
}

void SeccompFilter::restrict_terminal() {
  program_.push_back(jump(BPF_JEQ, SYS_ioctl, 0, 4));
  load_argument(1);
  program_.push_back(jump(BPF_JEQ, TIOCSTI, 0, 1));
  answer(SECCOMP_RET_TRAP);
  program_.push_back(load(offsetof(seccomp_data, nr)));
}

int SeccompFilter::install() {
  if (kArchitecture == 0) return ENOSYS;
  const auto self = static_cast<unsigned>(::getpid());
  for (const std::size_t place : own_pid_) program_[place].k = self;
  const sock_fprog filter{static_cast<unsigned short>(program_.size()), program_.data()};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0 ? 0 : errno;
}

std::string system_call_name(int number) {
  for (const auto& calls : {std::span<const NamedCall>(kForbidden), {kRestricted}}) {
    for (const NamedCall& call : calls) {
      if (call.number == static_cast<unsigned>(number)) return call.name;
    }
  }
  return "number " + std::to_string(number);
}

}  // namespace convlab::grader
