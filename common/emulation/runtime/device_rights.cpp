// Who may use device memory.
//
// Idea     Pages of device memory bear a key, and a register of each thread says which keys it may
//          use. To run a kernel then costs two writes of that register (50 ns), whatever the
//          program has allocated, and other threads of the host still fault. With mprotect it costs
//          two system calls for each allocation (10 µs together).
// Needs    an x86-64 processor with protection keys (PKU) and Linux 4.9. Elsewhere, and in a
//          sandbox, where a file of which the workbook knows nothing could write the register,
//          there is no key.
// Source   pkeys(7)

#include "common/emulation/runtime/device_rights.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>

namespace convlab::emulation {
namespace {

#if defined(__x86_64__)
int make_key() {
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return -1;
  return pkey_alloc(0, PKEY_DISABLE_ACCESS);
}
#else
int make_key() {
  return -1;
}
int pkey_set(int /*key*/, unsigned /*rights*/) {
  return -1;
}
int pkey_mprotect(void* /*pages*/, std::size_t /*bytes*/, int /*protection*/, int /*key*/) {
  return -1;
}
constexpr unsigned PKEY_DISABLE_ACCESS = 1;
#endif

int key() {
  static const int the_key = make_key();
  return the_key;
}

thread_local int depth = 0;

}  // namespace

DeviceRights::DeviceRights() {
  if (depth++ == 0) renew();
}

DeviceRights::~DeviceRights() {
  if (--depth == 0 && key() > 0) pkey_set(key(), PKEY_DISABLE_ACCESS);
}

void DeviceRights::renew() const {
  if (key() > 0) pkey_set(key(), 0);
}

bool threads_have_rights() {
  return key() > 0;
}

bool leave_to_rights(void* pages, std::size_t bytes) {
  return pkey_mprotect(pages, bytes, PROT_READ | PROT_WRITE, key()) == 0;
}

void take_from_rights(void* pages, std::size_t bytes) {
  constexpr int kNoKey = 0;
  pkey_mprotect(pages, bytes, PROT_NONE, kNoKey);
}

}  // namespace convlab::emulation
