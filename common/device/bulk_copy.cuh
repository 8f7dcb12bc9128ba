#pragma once

// Copies between global and shared memory in one piece.
//
// On a GPU with bulk copies (compute capability 9.0) one thread names source, destination and size,
// and the copy engine does the rest: no registers, no addresses per element. An mbarrier, a counter
// in shared memory, counts the bytes that are still missing and so announces the data. On other
// GPUs, and emulated, all threads of the block copy; the calls are the same.
//
// Sizes are multiples of 16 bytes, addresses are aligned to 16 bytes.
// Source: PTX ISA, "cp.async.bulk" and "mbarrier".

#include <cuda_runtime.h>

#include <cstdint>

// CONVLAB_BULK_COPY: this pass of the compiler makes code for a GPU that has bulk copies.
#if !CONVLAB_EMULATED && defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 900
#define CONVLAB_BULK_COPY 1
#endif
#endif
#ifndef CONVLAB_BULK_COPY
#define CONVLAB_BULK_COPY 0
#endif

namespace convlab {

/// How long the L2 cache should keep stored data: a hint, used only on GPUs with bulk copies.
enum class Keep {
  kAsUsual,
  kShort,  ///< it is not read soon, so it should not evict other data
  kLong,   ///< keep it rather than data that was only read: the next kernel may find it
};

#if CONVLAB_BULK_COPY
/// The address of shared memory in the form that PTX takes.
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
#endif

/// A counter in shared memory. A phase ends when `arrivals` threads have arrived and all announced
/// bytes are there; then the next phase begins.
struct Barrier {
  std::uint64_t state;

#if CONVLAB_BULK_COPY
  /// One thread calls it; a block barrier must follow.
  __device__ void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&state)),
                 "r"(arrivals));
    // The copy engine must see the initialised counter, too.
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }

  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&state))
                 : "memory");
  }

  /// Arrives, and announces bytes that the copy engine will bring.
  __device__ void arrive_expecting(std::uint32_t bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&state)),
        "r"(bytes)
        : "memory");
  }

  /// Waits until the phase of this parity (0 for the first, 1 for the second, 0, …) has ended.
  __device__ void wait(int parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(shared_address(&state)),
        "r"(parity)
        : "memory");
  }
#endif
};

#if CONVLAB_BULK_COPY

/// One thread starts a copy into shared memory; `arrived` counts its bytes.
__device__ inline void bulk_load(void* shared, const void* global, std::uint32_t bytes,
                                 Barrier& arrived) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(&arrived.state))
      : "memory");
}

/// What PTX calls a cache policy.
template <Keep Time>
__device__ std::uint64_t cache_policy() {
  std::uint64_t policy = 0;
  if constexpr (Time == Keep::kShort) {
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else if constexpr (Time == Keep::kLong) {
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}

/// One thread starts a copy out of shared memory.
template <Keep Time = Keep::kAsUsual>
__device__ void bulk_store(void* global, const void* shared, std::uint32_t bytes) {
  if constexpr (Time == Keep::kAsUsual) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(global)),
                 "r"(shared_address(shared)), "r"(bytes)
                 : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(
            __cvta_generic_to_global(global)),
        "r"(shared_address(shared)), "r"(bytes), "l"(cache_policy<Time>())
        : "memory");
  }
}

/// Ends a group of this thread's bulk stores.
__device__ inline void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until at most Pending groups of this thread's stores still read shared memory.
template <int Pending>
__device__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

/// Makes this thread's writes to shared memory visible to the copy engine and to wgmma.
__device__ inline void fence_shared_for_engines() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif  // CONVLAB_BULK_COPY

/// A load of the whole block, in one phase after the other. All threads call every member.
struct BlockLoad {
  Barrier arrived;

  /// Before the first start.
  __device__ void init() {
#if CONVLAB_BULK_COPY
    if (threadIdx.x == 0) arrived.init(1);
    __syncthreads();
#endif
  }

  /// `shared` is free in all threads: a __syncthreads lies between its last use and this call.
  __device__ void start(void* shared, const void* global, std::uint32_t bytes) {
#if CONVLAB_BULK_COPY
    if (threadIdx.x == 0) {
      fence_shared_for_engines();  // earlier reads and writes of this memory are complete
      arrived.arrive_expecting(bytes);
      bulk_load(shared, global, bytes, arrived);
    }
#else
    for (std::uint32_t i = threadIdx.x; i < bytes / 16; i += blockDim.x) {
      static_cast<float4*>(shared)[i] = static_cast<const float4*>(global)[i];
    }
#endif
  }

  /// @param parity  0 for the first start, 1 for the second, 0, …
  __device__ void wait([[maybe_unused]] int parity) {
#if CONVLAB_BULK_COPY
    arrived.wait(parity);
#else
    __syncthreads();
#endif
  }
};

/// A store of the whole block: `pieces` pieces of `bytes` each, one after the other in shared
/// memory and `stride` bytes apart in global memory. All threads call it after they wrote to
/// `shared`. They must not touch `shared` until block_store_wait.
template <Keep Time = Keep::kAsUsual>
__device__ void block_store(void* global, const void* shared, std::uint32_t bytes, int pieces = 1,
                            std::int64_t stride = 0) {
#if CONVLAB_BULK_COPY
  fence_shared_for_engines();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < pieces; ++i) {
      bulk_store<Time>(static_cast<char*>(global) + i * stride,
                       static_cast<const char*>(shared) + i * std::int64_t{bytes}, bytes);
    }
    bulk_commit();
  }
#else
  __syncthreads();
  for (int i = 0; i < pieces; ++i) {
    float4* to = reinterpret_cast<float4*>(static_cast<char*>(global) + i * stride);
    const float4* from = static_cast<const float4*>(shared) + i * (bytes / 16);
    for (std::uint32_t j = threadIdx.x; j < bytes / 16; j += blockDim.x) to[j] = from[j];
  }
#endif
}

/// Waits until the stores have read `shared`.
__device__ inline void block_store_wait() {
#if CONVLAB_BULK_COPY
  if (threadIdx.x == 0) bulk_wait_read<0>();
#endif
  __syncthreads();
}

}  // namespace convlab
