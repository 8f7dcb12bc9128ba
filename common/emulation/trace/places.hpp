#pragma once

// Places of a program: instructions that access memory, and calls that name their site. A number
// stands for each. And the memory that they access.

#include <cstddef>
#include <cstdint>

#include "common/base/device_notes.hpp"
#include "common/base/fault_record.hpp"
#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

/// 0 is no place.
using Place = std::uint32_t;

/// @param caller  the return address of the call that the compiler put before an access
Place place_of_access(const void* caller);
Place place_of_call(const CallSite& site);

/// All of them, for a process that has none of its own or the first of these (kernel_process.hpp).
void pass_places(Parcel& parcel);

/// How many there are.
Place count_of_places();

/// The line of the source. The first question about an access takes milliseconds.
const ReportPlace& source_of(Place place);

/// What names an access from one run of the program to the next: its address from the program's
/// start. 0 for a call.
std::uintptr_t address_in_program(Place place);
/// The same of a return address; for any thread.
std::uintptr_t address_in_program(const void* caller);

// ---- memory -------------------------------------------------------------------------------------

enum class Space : std::uint8_t { kOther, kGlobal, kShared, kConstant, kLocal };

/// kOther: parameters and local variables; of these kLocal is only told by touch_own().
Space space_of(const void* address);

/// What lies at an address that is not kOther, for the running kernel.
/// @param kernel  whose argument it is; null: of the running kernel
FaultMemory memory_at(const void* address, const char* kernel = nullptr);

/// Whether threads can meet at this address: in shared memory of the running block, in memory of
/// the device or in a `__device__` or `__constant__` variable.
bool is_traced_memory(std::uintptr_t address);

constexpr std::size_t kWidestLoad = 16;  ///< bytes of a load or store of a GPU

/// Sees accesses as a GPU makes them: an atomic operation is one, a larger object takes several,
/// and so does one whose address or size allows no wider ones.
class AccessObserver : public Observer {
 public:
  /// An access of the running thread.
  void access(const void* address, std::size_t bytes, bool writes, const void* caller,
              const void* frame);
  void begin_copy(void* to, const void* from, std::size_t bytes, const CallSite& site) override;
  void begin_atomic(const void* address, std::size_t bytes, unsigned kind, const void* place) final;
  void end_atomic() final;
  /// The running thread has come to a block of the program.
  virtual void come_to_block(const void* caller, const void* frame) = 0;
  /// It multiplies so many numbers in one instruction.
  /// @param kind  as ProductNote has it
  virtual void multiply(const char* /*kind*/, int /*numbers*/, const void* /*caller*/,
                        const void* /*frame*/) {}
  /// It touches an element of its own array, whose index no compiler knows.
  virtual void touch_own(const void* /*element*/, std::size_t /*bytes*/, bool /*writes*/,
                         const void* /*caller*/, const void* /*frame*/) {}

 protected:
  ~AccessObserver() = default;
  /// The running thread has come to an instruction. @return whether anybody wants its accesses
  virtual bool move(const void* caller, const void* frame) = 0;
  virtual void touch(const void* address, std::size_t bytes, StepKind kind, Place place) = 0;

 private:
  void touch_all(const void* address, std::size_t bytes, bool writes, Place place);
};

/// Tells it everything from now on (hooks.cpp).
void observe_accesses(AccessObserver& by);

/// Local variables of the running thread.
bool is_own_stack(const void* address);

}  // namespace convlab::emulation
