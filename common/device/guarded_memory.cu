#include <cuda.h>
#include <dlfcn.h>

#include <map>
#include <mutex>

#include "common/device/guarded_memory.cuh"

namespace convlab {

namespace {

// CUDA's virtual memory, functions of the driver. Found at run time, because a program that links
// the driver does not start without one.
struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) unreserve = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;

  Driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return;
    find(library, granularity, "cuMemGetAllocationGranularity");
    find(library, reserve, "cuMemAddressReserve");
    find(library, unreserve, "cuMemAddressFree");
    find(library, create, "cuMemCreate");
    find(library, release, "cuMemRelease");
    find(library, map, "cuMemMap");
    find(library, unmap, "cuMemUnmap");
    find(library, set_access, "cuMemSetAccess");
    is_complete = granularity != nullptr && reserve != nullptr && unreserve != nullptr &&
                  create != nullptr && release != nullptr && map != nullptr && unmap != nullptr &&
                  set_access != nullptr;
  }

  template <typename Function>
  static void find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  }

  bool is_complete = false;
};

const Driver& driver() {
  static const Driver instance;
  return instance;
}

struct Mapping {
  CUdeviceptr reserved = 0;
  CUdeviceptr mapped = 0;
  std::size_t reserved_bytes = 0;
  std::size_t mapped_bytes = 0;
  CUmemGenericAllocationHandle handle = 0;
};

struct Mappings {
  std::mutex mutex;
  std::map<void*, Mapping> by_address;
};

Mappings& mappings() {
  static auto* const instance = new Mappings;  // a file's static objects may free at the very end
  return *instance;
}

void undo(const Mapping& mapping) {
  if (mapping.mapped != 0) driver().unmap(mapping.mapped, mapping.mapped_bytes);
  if (mapping.handle != 0) driver().release(mapping.handle);
  if (mapping.reserved != 0) driver().unreserve(mapping.reserved, mapping.reserved_bytes);
}

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

// An unmapped page, the memory, another unmapped page.
bool make(Mapping& mapping, std::size_t bytes, int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  std::size_t page = 0;
  if (driver().granularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
      page == 0) {
    return false;
  }
  mapping.mapped_bytes = round_up(bytes, page);
  mapping.reserved_bytes = mapping.mapped_bytes + 2 * page;
  if (driver().reserve(&mapping.reserved, mapping.reserved_bytes, 0, 0, 0) != CUDA_SUCCESS) {
    mapping.reserved = 0;
    return false;
  }
  if (driver().create(&mapping.handle, mapping.mapped_bytes, &properties, 0) != CUDA_SUCCESS) {
    mapping.handle = 0;
    return false;
  }
  if (driver().map(mapping.reserved + page, mapping.mapped_bytes, 0, mapping.handle, 0) !=
      CUDA_SUCCESS) {
    return false;
  }
  mapping.mapped = mapping.reserved + page;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return driver().set_access(mapping.mapped, mapping.mapped_bytes, &access, 1) == CUDA_SUCCESS;
}

}  // namespace

void* allocate_guarded(std::size_t bytes) {
  int device = 0;
  if (bytes == 0 || !driver().is_complete || cudaGetDevice(&device) != cudaSuccess) return nullptr;
  Mapping mapping;
  if (!make(mapping, bytes, device)) {
    undo(mapping);
    return nullptr;
  }
  constexpr std::size_t kAlignment = 16;  // of the widest load that a thread can do
  auto* const memory =
      reinterpret_cast<void*>(mapping.mapped + mapping.mapped_bytes - round_up(bytes, kAlignment));
  const std::lock_guard<std::mutex> lock(mappings().mutex);
  mappings().by_address[memory] = mapping;
  return memory;
}

bool is_guarded(void* memory) {
  const std::lock_guard<std::mutex> lock(mappings().mutex);
  return mappings().by_address.count(memory) != 0;
}

cudaError_t free_guarded(void* memory) {
  const cudaError_t error = cudaDeviceSynchronize();
  const std::lock_guard<std::mutex> lock(mappings().mutex);
  const auto found = mappings().by_address.find(memory);
  undo(found->second);
  mappings().by_address.erase(found);
  return error;
}

}  // namespace convlab
