#include "common/emulation/runtime/host_view.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/handles.hpp"

namespace convlab::emulation {
namespace {

/// One piece of device memory of which the host sees other bytes.
struct View {
  std::byte* begin = nullptr;
  std::vector<std::byte> other{};  ///< what the side sees that does not use the memory now
  bool both = false;               ///< the host reads it without a copy
};

void exchange_sides() {
  for (View& view : only<std::vector<View>>()) {
    if (view.both) std::swap_ranges(view.other.begin(), view.other.end(), view.begin);
  }
}

}  // namespace

void show_host(const std::vector<std::byte*>& places, const std::byte* shown, std::size_t bytes) {
  exchange_sides();
  only<std::vector<View>>().clear();
  for (std::byte* place : places) {
    only<std::vector<View>>().push_back(
        {place, {shown, shown + bytes}, side_of(place) == Side::kBoth});
  }
  exchange_sides();
}

void show_copied(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (const View& view : only<std::vector<View>>()) {
    if (view.both) continue;  // the copy has seen what the host sees
    const std::byte* const begin = std::max<const std::byte*>(from, view.begin);
    const std::byte* const end =
        std::min<const std::byte*>(from + bytes, view.begin + view.other.size());
    if (begin >= end) continue;
    std::memcpy(to + (begin - from), view.other.data() + (begin - view.begin),
                static_cast<std::size_t>(end - begin));
  }
}

DeviceView::DeviceView() {
  exchange_sides();
}

DeviceView::~DeviceView() {
  exchange_sides();
}

}  // namespace convlab::emulation
