#include "grader/submission/sandbox/system_calls.hpp"

#include <string>

#include "grader/submission/sandbox/seccomp_filter.hpp"

namespace convlab::grader {

namespace {

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
    {424, "pidfd_send_signal"},
    {438, "pidfd_getfd"},
    // New ways to mount.
    {428, "open_tree"},
    {429, "move_mount"},
    {430, "fsopen"},
    {431, "fsconfig"},
    {432, "fsmount"},
    {433, "fspick"},
    {442, "mount_setattr"},
};

// These are allowed only with some arguments.
constexpr NamedCall kRestricted[] = {
    {SYS_clone, "clone"},
    {SYS_socket, "socket"},
    {SYS_ioctl, "ioctl"},
    {SYS_kill, "kill"},
    {SYS_tkill, "tkill"},
    {SYS_tgkill, "tgkill"},
    {SYS_rt_sigqueueinfo, "rt_sigqueueinfo"},
    {SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo"},
    {SYS_execve, "execve"},
    {SYS_execveat, "execveat"},
#if defined(SYS_fork)
    {SYS_fork, "fork"},
    {SYS_vfork, "vfork"},
#endif
};

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
    SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2,
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
