#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>

#include "common/base/descriptor.hpp"
#include "common/serve/serve.hpp"
#include "grader/submission/sandbox/sandbox.hpp"

namespace convlab::grader {

namespace {

struct NamedCall {
  unsigned number;
  const char* name;
};

// Calls that no kind of program may make.
#define CALL(name)    \
  NamedCall {         \
    SYS_##name, #name \
  }
constexpr NamedCall kForbidden[] = {
    CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(mount), CALL(umount2),
    CALL(pivot_root), CALL(chroot), CALL(bpf), CALL(perf_event_open), CALL(keyctl), CALL(add_key),
    CALL(request_key), CALL(userfaultfd), CALL(unshare), CALL(setns), CALL(syslog),
    CALL(pidfd_send_signal), CALL(pidfd_getfd),
    // New ways to mount.
    CALL(open_tree), CALL(move_mount), CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick),
    CALL(mount_setattr)};

// These are allowed only with some arguments.
constexpr NamedCall kRestricted[] = {
    CALL(clone), CALL(socket), CALL(kill), CALL(tkill), CALL(tgkill), CALL(rt_sigqueueinfo),
    CALL(rt_tgsigqueueinfo), CALL(execve), CALL(execveat),
#if defined(SYS_fork)
    CALL(fork), CALL(vfork),
#endif
    // Of device memory and the channel.
    CALL(mprotect), CALL(mremap), CALL(mmap), CALL(munmap), CALL(sendmsg), CALL(recvmsg)};
#undef CALL

// All calls that a convolution on the CPU, its threads and its libraries need; the most frequent
// first: each call is compared with one after the other.
constexpr unsigned kOfConvolution[] = {
    // Threads and time.
    SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_nanosleep, SYS_clock_nanosleep, SYS_clone,
    SYS_exit, SYS_exit_group, SYS_set_robust_list, SYS_get_robust_list, SYS_set_tid_address,
    SYS_rseq,
    449,  // futex_waitv
    SYS_membarrier, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getcpu,
    SYS_clock_getres, SYS_gettimeofday, SYS_times, SYS_timer_create, SYS_timer_settime,
    SYS_timer_gettime, SYS_timer_delete, SYS_timer_getoverrun, SYS_setitimer, SYS_getitimer,
    SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime, SYS_restart_syscall,
    // Memory.
    SYS_mmap, SYS_munmap, SYS_madvise, SYS_mprotect, SYS_mremap, SYS_brk, SYS_msync, SYS_mincore,
    SYS_mlock, SYS_munlock, SYS_mlockall, SYS_munlockall, SYS_mbind, SYS_set_mempolicy,
    SYS_get_mempolicy,
    // The channel and files.
    SYS_recvmsg, SYS_sendmsg, SYS_recvfrom, SYS_sendto, SYS_read, SYS_write, SYS_readv, SYS_writev,
    SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_openat, SYS_close, SYS_lseek, SYS_fstat,
    SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_readlinkat, SYS_getcwd, SYS_chdir, SYS_fchdir,
    SYS_getdents64, SYS_mkdirat, SYS_unlinkat, SYS_renameat2, SYS_ftruncate, SYS_truncate,
    SYS_fsync, SYS_fdatasync, SYS_fallocate, SYS_fadvise64, SYS_statfs, SYS_fstatfs, SYS_umask,
    SYS_fchmod, SYS_fchmodat, SYS_utimensat, SYS_flock, SYS_dup, SYS_dup3, SYS_pipe2, SYS_fcntl,
    SYS_ioctl, SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait,
    SYS_eventfd2, SYS_close_range, SYS_openat2, SYS_faccessat2,
    // The process itself, and the machine.
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
    SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_getpgid, SYS_getsid, SYS_getpriority,
    SYS_getrusage, SYS_sysinfo, SYS_uname, SYS_getrandom, SYS_prctl, SYS_getrlimit, SYS_setrlimit,
#if defined(__x86_64__)
    // Calls that newer architectures lack.
    SYS_arch_prctl, SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_mkdir,
    SYS_rmdir, SYS_unlink, SYS_rename, SYS_renameat, SYS_chmod, SYS_getdents, SYS_dup2, SYS_pipe,
    SYS_poll, SYS_select, SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_time, SYS_alarm,
    SYS_pause, SYS_getpgrp,
#endif
    // Its own signals.
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
    SYS_rt_sigpending, SYS_sigaltstack};

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = 0;  // no filter
#endif

// What is known when a filter is installed.
constexpr unsigned kOwnPid = 0xfeed'0001;
constexpr unsigned kProgram = 0xfeed'0002;

constexpr unsigned kAllow = SECCOMP_RET_ALLOW;
constexpr unsigned kTrap = SECCOMP_RET_TRAP;

constexpr unsigned fail(int error) {
  return SECCOMP_RET_ERRNO | static_cast<unsigned>(error);
}

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}

sock_filter jump(unsigned test, unsigned value, std::size_t if_true, std::size_t if_false) {
  return BPF_JUMP(static_cast<unsigned short>(BPF_JMP | test | BPF_K), value,
                  static_cast<unsigned char>(if_true), static_cast<unsigned char>(if_false));
}

sock_filter result(unsigned action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

/// A condition on the lower half of a call's argument, or on whether the upper one holds a bit.
struct Condition {
  enum Test { kEqual, kAnyBit, kNoBit, kUpperHalf };
  unsigned argument;
  Test test;
  unsigned value = ~0U;
  unsigned mask = ~0U;  ///< of kEqual
};

struct Rules {
  std::vector<sock_filter> program{};

  explicit Rules(SandboxKind kind) {
    program = {load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0),
               result(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
#if defined(__x86_64__)
    constexpr unsigned kX32 = 0x40000000;  // the same calls under other numbers
    program.push_back(jump(BPF_JGE, kX32, 0, 1));
    program.push_back(result(fail(ENOSYS)));
#endif
    for (const NamedCall& call : kForbidden) rule({call.number}, kTrap);
    rule({SYS_setsid, SYS_setpgid}, fail(EPERM));
    // What they ask lies in memory, where no filter looks; glibc then uses clone for clone3.
    rule({SYS_io_uring_setup, SYS_io_setup, SYS_clone3, SYS_memfd_secret}, fail(ENOSYS));
    restrict_processes(kind);
    restrict_sockets(kind);
    if (kind != SandboxKind::kCompiler) restrict_channel();
    restrict_memory(kind);
    rule({SYS_prlimit64}, kAllow, {{0, Condition::kEqual, 0}});
    rule({SYS_prlimit64}, kAllow, {{0, Condition::kEqual, kOwnPid}});
    rule({SYS_prlimit64}, fail(EPERM));
    const bool on_cpu = kind == SandboxKind::kCpu;
    for (const unsigned call : kOfConvolution) {
      if (on_cpu) rule({call}, kAllow);
    }
    program.push_back(result(on_cpu ? fail(ENOSYS) : kAllow));
  }

  /// The first rule whose call and conditions match says what happens.
  void rule(std::initializer_list<unsigned> calls, unsigned action,
            std::initializer_list<Condition> conditions = {}) {
    std::vector<sock_filter> body;
    std::vector<std::pair<std::size_t, bool>> exits;  // failing tests, and on which side they fail
    for (const Condition& condition : conditions) {
      // Arguments have 64 bits; the lower half comes first on a little-endian machine.
      body.push_back(load(offsetof(seccomp_data, args) + condition.argument * sizeof(__u64) +
                          (condition.test == Condition::kUpperHalf ? sizeof(__u32) : 0)));
      if (condition.mask != ~0U)
        body.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, condition.mask));
      exits.emplace_back(body.size(), condition.test == Condition::kNoBit);
      body.push_back(
          jump(condition.test == Condition::kEqual ? BPF_JEQ : BPF_JSET, condition.value, 0, 0));
    }
    body.push_back(result(action));
    // Where a test fails, the filter goes on behind the result and loads the number again.
    for (const auto& [place, on_true] : exits) {
      (on_true ? body[place].jt : body[place].jf) =
          static_cast<unsigned char>(body.size() - place - 1);
    }
    if (conditions.size() > 0) body.push_back(load(offsetof(seccomp_data, nr)));
    for (const unsigned call : calls) {
      program.push_back(jump(BPF_JEQ, call, 0, body.size()));
      program.insert(program.end(), body.begin(), body.end());
    }
  }

  // posix_spawn shares its memory until exec; a copy of the program does not. A compiler's programs
  // have many process numbers, so none of them may send signals; they do not need to.
  void restrict_processes(SandboxKind kind) {
    using enum Condition::Test;
    rule({SYS_clone}, kTrap,
         {{0, kAnyBit,
           CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
               CLONE_NEWCGROUP | CLONE_PARENT}});
    const std::initializer_list<unsigned> kSignals = {SYS_kill, SYS_tkill, SYS_tgkill,
                                                      SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo};
    rule(kSignals, kAllow, {{0, kEqual, kOwnPid}});
    rule(kSignals, kind == SandboxKind::kCompiler ? fail(EPERM) : kTrap);
    if (kind == SandboxKind::kCompiler) return;
    // Otherwise the grader could not read what the kernel tells of the process.
    rule({SYS_prctl}, fail(EPERM), {{0, kEqual, PR_SET_DUMPABLE}});
    const bool on_cpu = kind == SandboxKind::kCpu;
    // A kernel runs in a copy of the program, as which fork makes it.
    if (kind == SandboxKind::kEmulated)
      rule({SYS_clone}, kAllow,
           {{0, kEqual, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | unsigned{SIGCHLD}}});
    rule({SYS_clone}, kTrap, {{0, kNoBit, CLONE_THREAD | (on_cpu ? 0U : CLONE_VFORK)}});
#if defined(SYS_fork)
    rule({SYS_fork}, kTrap);
    if (on_cpu) rule({SYS_vfork}, kTrap);
#endif
    if (!on_cpu) return;
    // Only once: the descriptor closes itself, and a process can create none with its number.
    rule({SYS_execveat}, kAllow, {{0, kEqual, kProgram}});
    rule({SYS_execveat, SYS_execve}, kTrap);
  }

  // NVIDIA's driver does not start without its own local socket (cuInit gives error 304). It also
  // looks for helpers behind such sockets, and goes on if there is none. A datagram reaches any
  // socket with a known name, without a connection.
  void restrict_sockets(SandboxKind kind) {
    using enum Condition::Test;
    rule({SYS_connect}, fail(ENOENT));
    for (const unsigned family : {AF_INET, AF_INET6}) {
      rule({SYS_socket}, kTrap, {{0, kEqual, family}});
    }
    constexpr unsigned kType = 0xf;  // without SOCK_CLOEXEC and SOCK_NONBLOCK
    for (const unsigned type : {SOCK_STREAM, SOCK_SEQPACKET}) {
      if (kind != SandboxKind::kGpu) break;
      rule({SYS_socket, SYS_socketpair}, kAllow, {{0, kEqual, AF_UNIX}, {1, kEqual, type, kType}});
    }
    rule({SYS_socket, SYS_socketpair}, fail(EACCES));
  }

  // The workbook's part of the program talks to the grader by sendmsg and recvmsg, which a file may
  // not call by name (symbol_rules.cpp) or, on a device, at all (keyed_call.hpp). No other call may
  // read or write there: the channel has a number that no file gets by chance, and of the calls
  // whose first argument it is only those pass that take something else than a descriptor.
  void restrict_channel() {
    using enum Condition::Test;
    constexpr auto kChannel = static_cast<unsigned>(kServeDescriptor);
    constexpr unsigned kPassing[] = {SYS_sendmsg, SYS_recvmsg, SYS_exit, SYS_exit_group,
                                     // Processes and signals, by their number.
                                     SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
                                     SYS_rt_tgsigqueueinfo, SYS_prlimit64, SYS_wait4,
                                     SYS_sched_getaffinity, SYS_sched_setaffinity,
                                     SYS_sched_getparam, SYS_sched_getscheduler};
    std::size_t left = std::size(kPassing);
    program.push_back(load(offsetof(seccomp_data, args)));
    program.push_back(jump(BPF_JEQ, kChannel, 0, left + 2));
    program.push_back(load(offsetof(seccomp_data, nr)));
    for (const unsigned call : kPassing) program.push_back(jump(BPF_JEQ, call, left--, 0));
    program.push_back(result(kTrap));
    program.push_back(load(offsetof(seccomp_data, nr)));
    rule({SYS_sendfile, SYS_tee, SYS_dup3}, kTrap, {{1, kEqual, kChannel}});
    rule({SYS_splice, SYS_copy_file_range}, kTrap, {{2, kEqual, kChannel}});
  }

  void restrict_memory(SandboxKind kind) {
    using enum Condition::Test;
    if (kind == SandboxKind::kGpu) return;
    // No limit of a process counts these.
    rule({SYS_memfd_create, SYS_shmget}, fail(EPERM));
    if (kind == SandboxKind::kCompiler) return;
    constexpr unsigned kUnnamed = MAP_SHARED | MAP_ANONYMOUS;
    // The emulated device shares its memory with its kernels, and then refuses this itself.
    if (kind != SandboxKind::kEmulated)
      rule({SYS_mmap}, fail(EPERM), {{3, kEqual, kUnnamed, kUnnamed}});
    // Populating cannot be interrupted, so a stopped process would go on.
    for (const unsigned advice : {22U, 23U}) {  // MADV_POPULATE_READ, MADV_POPULATE_WRITE
      rule({SYS_madvise}, fail(EINVAL), {{2, kEqual, advice}});
    }
    // A program runs only the code that was compiled: no other that its author wrote at run time.
    // personality: memory that may be read could then be executed, too.
    rule({SYS_mmap}, fail(EPERM), {{2, kAnyBit, PROT_EXEC}, {3, kAnyBit, MAP_ANONYMOUS}});
    rule({SYS_pkey_mprotect, SYS_personality}, fail(EPERM));
#if defined(__x86_64__)  // elsewhere the loader itself does this, to protect branches
    rule({SYS_mprotect}, fail(EPERM), {{2, kAnyBit, PROT_EXEC}});
#endif
    if (kind != SandboxKind::kEmulated) return;
    // The file /proc/self/mem gives all memory, whatever protects it. An address is a place in it
    // beyond 4 GiB, where no file of a sandbox ends, and which many small steps would reach, too.
    for (const unsigned whence : {SEEK_SET, SEEK_CUR}) {
      rule({SYS_lseek}, fail(EINVAL), {{2, kEqual, whence}, {1, kUpperHalf}});
    }
    rule({SYS_lseek}, kAllow, {{2, kEqual, SEEK_CUR}, {1, kEqual, 0}});
    rule({SYS_lseek}, fail(EINVAL), {{2, kEqual, SEEK_CUR}});
    rule({SYS_pread64, SYS_preadv, SYS_preadv2}, fail(EINVAL), {{3, kUpperHalf}});
    // Which pages kernels have touched tells numbers; a pipe would keep pages of their stacks.
    rule({SYS_mincore, SYS_vmsplice}, fail(EPERM));
  }
};

}  // namespace

std::vector<sock_filter> filter_for(SandboxKind kind) {
  return Rules(kind).program;
}

int install(std::vector<sock_filter>& filter, int program_descriptor) {
  if (kArchitecture == 0) return ENOSYS;
  for (sock_filter& each : filter) {
    if (each.k == kOwnPid) each.k = static_cast<unsigned>(::getpid());
    if (each.k == kProgram) each.k = static_cast<unsigned>(program_descriptor);
  }
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
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
