#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

class Parcel;

/// The shared memory of the block that a worker runs.
///
/// Picture  | guard | redzone variable | guard | redzone variable | … | guard | dynamic | guard |
///
/// Each variable, and the dynamic part, ends at a guard page, so that running over its end faults
/// at once. A variable keeps its pages for good: a kernel that comes again costs no system call.
/// The rest of the first page is a redzone: what is read there is NaN, and what is written there is
/// found when the block ends.
class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Makes the launch's dynamic memory accessible.
  /// @throws std::bad_alloc when the operating system refuses
  void begin_grid(const KernelCall& call);
  /// Forgets all variables and poisons the dynamic part, because a GPU clears nothing.
  void begin_block();

  /// Gives a variable its place. @return false when the limit does not allow it
  bool place(SharedSlot& slot, std::size_t bytes, std::size_t alignment);

  /// A byte of a redzone that was written; none if all are intact.
  [[nodiscard]] std::optional<ReportMemory> damage() const;
  /// Whether nobody has written these bytes; only where poison is numbered.
  [[nodiscard]] bool is_unwritten(const std::byte* at, std::size_t bytes) const;
  /// What lies at the address or next to it; none when the address is not near this memory.
  [[nodiscard]] std::optional<ReportMemory> find(const void* address) const;
  [[nodiscard]] std::size_t static_bytes() const { return static_bytes_; }
  [[nodiscard]] std::size_t dynamic_bytes() const { return dynamic_bytes_; }
  [[nodiscard]] std::size_t limit() const { return limit_; }

 private:
  struct Variable {
    const char* name;
    const char* file;
    std::uint32_t line;
    std::byte* address;
    std::size_t bytes;
    std::size_t row_bytes;
  };
  [[nodiscard]] std::byte* dynamic_end() const;
  static void note_shared(unsigned number, const Variable& variable);
  void open_dynamic(std::byte* begin);
  std::byte* open_static(std::size_t bytes, std::size_t alignment);
  void forget_static();

  std::byte* region_ = nullptr;
  std::byte* static_begin_ = nullptr;
  std::byte* static_end_ = nullptr;  ///< end of the pages of all variables so far
  std::uint64_t layout_ = 0;         ///< counts how often all pages were given back
  std::byte* dynamic_begin_ = nullptr;
  std::byte* dynamic_open_ = nullptr;  ///< start of the pages that are accessible
  std::size_t dynamic_bytes_ = 0;
  std::size_t static_bytes_ = 0;
  std::size_t limit_ = 0;
  std::vector<Variable> variables_;
};

/// What poisoned_variable() knows (kernel_process.hpp).
void pass_poisoned_variables(Parcel& parcel);

/// What lies at a place of shared memory that numbered poison names (poison.hpp).
std::optional<ReportMemory> poisoned_variable(unsigned object, std::int64_t offset);

}  // namespace convlab::emulation
