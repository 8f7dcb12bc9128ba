#pragma once

// Ranges and marks for a profiler, of which the emulated device has none.
// Source: NVTX 3 API reference.

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are NVTX's
#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE (static_cast<std::uint16_t>(sizeof(nvtxEventAttributes_t)))

using nvtxRangeId_t = std::uint64_t;
enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 };
enum nvtxMessageType_t { NVTX_MESSAGE_UNKNOWN = 0, NVTX_MESSAGE_TYPE_ASCII = 1 };

struct nvtxEventAttributes_t {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t colorType;
  std::uint32_t color;
  std::int32_t payloadType;
  std::int32_t messageType;
  union {
    const char* ascii;
  } message;
};

#define CONVLAB_NVTX(Result, name) \
  template <class... Arguments>    \
  Result name(Arguments...) {      \
    return Result();               \
  }
CONVLAB_NVTX(int, nvtxRangePushA)
CONVLAB_NVTX(int, nvtxRangePushEx)
CONVLAB_NVTX(int, nvtxRangePop)
CONVLAB_NVTX(nvtxRangeId_t, nvtxRangeStartA)
CONVLAB_NVTX(nvtxRangeId_t, nvtxRangeStartEx)
CONVLAB_NVTX(void, nvtxRangeEnd)
CONVLAB_NVTX(void, nvtxMarkA)
CONVLAB_NVTX(void, nvtxMarkEx)
CONVLAB_NVTX(void, nvtxNameOsThreadA)
#undef CONVLAB_NVTX
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
#define nvtxNameOsThread nvtxNameOsThreadA
// NOLINTEND(readability-identifier-naming)
