#include "common/device/profile.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

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

std::string table(const char* title, std::vector<ProfileEntry> entries) {
  std::string text = std::string(title) + "\n";
  if (entries.empty()) return text + "  none\n";
  std::stable_sort(
      entries.begin(), entries.end(),
      [](const ProfileEntry& a, const ProfileEntry& b) { return a.nanoseconds > b.nanoseconds; });
  std::int64_t total = 0;
  for (const ProfileEntry& entry : entries) total += entry.nanoseconds;
  text += "   share     sum     calls       total ms  name\n";
  std::int64_t sum = 0;
  bool past = false;
  for (const ProfileEntry& entry : entries) {
    sum += entry.nanoseconds;
    const double whole = static_cast<double>(std::max<std::int64_t>(total, 1));
    const double share = static_cast<double>(entry.nanoseconds) / whole;
    const double cumulative = static_cast<double>(sum) / whole;
    text += line("  %5.1f %%  %5.1f %%  %8d  %12.4f  ", 100.0 * share, 100.0 * cumulative,
                 entry.calls, milliseconds(entry.nanoseconds)) +
            entry.name + "\n";
    if (!past && cumulative >= kMost && &entry != &entries.back()) {
      text += "  ------------------------------------------- 90 % of the time is above this line\n";
    }
    past = past || cumulative >= kMost;
  }
  return text;
}

// The data of an emulated device, which has no times.
std::string counts(const Profile& profile) {
  std::string text = "Kernels (emulated: launches, no times)\n";
  if (profile.kernels.empty()) text += "  none\n";
  for (const ProfileEntry& entry : profile.kernels)
    text += line("%8d  ", entry.calls) + entry.name + "\n";
  text += "\nMemory copies\n";
  if (profile.copies.empty()) text += "  none\n";
  for (const CopyEntry& copy : profile.copies) {
    text += line("%8d  %12.3f MB  ", copy.calls, static_cast<double>(copy.bytes) * 1e-6) +
            copy.direction + "\n";
  }
  return text;
}

}  // namespace

std::string profile_text(const Profile& profile) {
  if (!profile.timed) return counts(profile);
  std::string text = table("Kernels, by GPU time", profile.kernels) + "\n" +
                     table("CUDA API calls, by host time", profile.api_calls) + "\nMemory copies\n";
  if (profile.copies.empty()) return text + "  none\n";
  text += "   calls            MB       total ms      GB/s  direction\n";
  for (const CopyEntry& copy : profile.copies) {
    const auto bytes = static_cast<double>(copy.bytes);
    const double rate = copy.nanoseconds > 0 ? bytes / static_cast<double>(copy.nanoseconds) : 0.0;
    text += line("%8d  %12.3f   %12.4f  %8.2f  ", copy.calls, bytes * 1e-6,
                 milliseconds(copy.nanoseconds), rate) +
            copy.direction + "\n";
  }
  return text;
}

}  // namespace convlab
