#include "common/device/device_session.hpp"

#include <algorithm>
#include <string>

#include "common/base/error.hpp"

namespace convlab {

std::vector<std::byte*> DeviceSession::places_of(const MemoryRange& range,
                                                 const std::vector<std::uint32_t>& words) {
  constexpr std::int64_t kWord = sizeof(std::uint32_t);
  constexpr std::int64_t kChunk = std::int64_t{4} << 20;  // words
  const auto more = static_cast<std::int64_t>(words.size()) - 1;
  const std::int64_t size = range.bytes / kWord;
  std::vector<std::uint32_t> chunk;
  std::vector<std::byte*> places;
  for (std::int64_t begin = 0; begin < size; begin += kChunk) {
    chunk.resize(static_cast<std::size_t>(std::min(size - begin, kChunk + more)));
    const std::byte* from = range.begin + begin * kWord;
    const auto bytes = static_cast<std::int64_t>(chunk.size()) * kWord;
    if (!read_rows(from, bytes, bytes, 1, reinterpret_cast<std::byte*>(chunk.data()))) break;
    for (auto at = chunk.begin();; ++at) {
      at = std::search(at, chunk.end(), words.begin(), words.end());
      if (at == chunk.end()) break;
      places.push_back(range.begin + (begin + (at - chunk.begin())) * kWord);
    }
  }
  return places;
}

TrueNumbers::TrueNumbers(DeviceSession* device, const float* numbers, std::int64_t count)
    : numbers_(numbers) {
  if (device == nullptr || !device->withholds()) return;
  copy_.assign(numbers, numbers + count);
  device->reveal(copy_.data(), count);
}

TrueNumbers::~TrueNumbers() {
  volatile float* const kept = copy_.data();
  for (std::size_t i = 0; i < copy_.size(); ++i) kept[i] = 0.0F;
}

void require_capability(const DeviceInfo& info, ComputeCapability needed, const char* user) {
  if (!(info.capability < needed)) return;
  throw EnvironmentError(std::string(user) + " needs compute capability " + to_string(needed) +
                         "; this GPU (" + info.name + ") has " + to_string(info.capability) + ".");
}

}  // namespace convlab
