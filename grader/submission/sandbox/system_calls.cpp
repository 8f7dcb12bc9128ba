#include "grader/submission/sandbox/system_calls.hpp"

#include <string>

#include "grader/submission/sandbox/seccomp_filter.hpp"

namespace convlab::grader {

namespace {

constexpr NamedCall named(unsigned number, const char* name) {
  return {number, name};
}

#define CALL(name) named(SYS_##name, #name)
constexpr NamedCall kForbidden[] = {
    CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(mount), CALL(umount2),
    CALL(pivot_root), CALL(chroot), CALL(bpf), CALL(perf_event_open), CALL(keyctl), CALL(add_key),
    CALL(request_key), CALL(userfaultfd), CALL(unshare), CALL(setns), CALL(syslog),
    named(424, "pidfd_send_signal"), named(438, "pidfd_getfd"),
    // New ways to mount.
    named(428, "open_tree"), named(429, "move_mount"), named(430, "fsopen"), named(431, "fsconfig"),
    named(432, "fsmount"), named(433, "fspick"), named(442, "mount_setattr")};

// These are allowed only with some arguments.
constexpr NamedCall kRestricted[] = {CALL(clone), CALL(socket), CALL(kill), CALL(tkill),
                                     CALL(tgkill), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo),
                                     CALL(execve), CALL(execveat),
#if defined(SYS_fork)
                                     CALL(fork), CALL(vfork),
#endif
                                     // Of device memory and the channel.
                                     CALL(mprotect), CALL(mremap), CALL(sendmsg), CALL(recvmsg)};
#undef CALL

// The most frequent first: each call is compared with one after the other.
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
    SYS_eventfd2,
    436,  // close_range
    437,  // openat2
    439,  // faccessat2
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

}  // namespace

std::span<const NamedCall> forbidden_calls() {
  return kForbidden;
}

std::span<const unsigned> calls_of_a_convolution() {
  return kOfConvolution;
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
