#include "common/device/profile.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <utility>

namespace convlab {

namespace {

constexpr double kMost = 0.9;  // what reports must account for

double milliseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-6;
}

template <class... Values>
std::string line(const char* format, Values... values) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

// An emulated device has counts, but no times.
std::string table(const std::string& title, std::vector<ProfileEntry> entries, bool timed) {
  std::string text = title + "\n";
  if (entries.empty()) return text + "  none\n";
  std::ranges::stable_sort(entries, std::greater(), [](const ProfileEntry& entry) {
    return std::pair(entry.nanoseconds, entry.calls);
  });
  std::int64_t total = 0;
  for (const ProfileEntry& entry : entries) total += entry.nanoseconds;
  const auto whole = static_cast<double>(std::max<std::int64_t>(total, 1));
  if (timed) text += "   share     sum     calls       total ms  name\n";
  double sum = 0.0;
  for (const ProfileEntry& entry : entries) {
    const bool was_below = sum < kMost;
    const double share = static_cast<double>(entry.nanoseconds) / whole;
    sum += share;
    if (timed) text += line("  %5.1f %%  %5.1f %%  ", 100.0 * share, 100.0 * sum);
    text += line("%8d  ", entry.calls);
    if (timed) text += line("%12.4f  ", milliseconds(entry.nanoseconds));
    text += entry.name + "\n";
    if (timed && was_below && sum >= kMost && &entry != &entries.back()) {
      text += "  ------------------------------------------- 90 % of the time is above this line\n";
    }
  }
  return text;
}

}  // namespace

std::string profile_text(const Profile& profile) {
  const bool timed = profile.timed;
  std::string text =
      table(timed ? "Kernels, by GPU time" : "Kernels (emulated: launches, no times)",
            profile.kernels, timed) +
      "\n";
  if (timed) text += table("CUDA API calls, by host time", profile.api_calls, timed) + "\n";
  text += "Memory copies\n";
  if (profile.copies.empty()) return text + "  none\n";
  if (timed) text += "   calls            MB       total ms      GB/s  direction\n";
  for (const ProfileEntry& copy : profile.copies) {
    const auto bytes = static_cast<double>(copy.bytes);
    text += line("%8d  %12.3f", copy.calls, bytes * 1e-6);
    text += timed ? line("   %12.4f  %8.2f  ", milliseconds(copy.nanoseconds),
                         bytes / static_cast<double>(std::max<std::int64_t>(copy.nanoseconds, 1)))
                  : " MB  ";
    text += copy.name + "\n";
  }
  return text;
}

}  // namespace convlab
