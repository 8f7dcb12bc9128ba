#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace convlab::grader {

/// The kind of a program; each kind gets only what it needs.
enum class SandboxKind {
  kCpu,       ///< a convolution on the CPU: threads, no other process or program
  kEmulated,  ///< kernels without a GPU: starts addr2line, which names the line of a stray access
  kGpu,       ///< kernels on a GPU: its driver opens devices, local sockets and shared memory
  kCompiler,  ///< starts other programs and leaves files
};

/// What a program may do in addition to the basic rights of all programs.
struct SandboxPolicy {
  SandboxKind kind = SandboxKind::kCpu;
  std::vector<std::filesystem::path> readable{};  ///< may be read and executed
  std::filesystem::path secret{};                 ///< the course: nothing in it may be read
  std::uint64_t cpu_seconds = std::uint64_t{4} * 3600;
  std::uint64_t file_bytes = std::uint64_t{64} << 20;
  std::uint64_t open_files = 1024;
  std::uint64_t data_bytes = 0;  ///< of one process; 0: what the machine has, on the CPU
};

}  // namespace convlab::grader
