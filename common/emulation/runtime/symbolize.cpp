#include "common/emulation/runtime/symbolize.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/base/run_process.hpp"

namespace convlab::emulation {
namespace {

std::string program_path() {
  std::array<char, 4096> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return {path.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// Whether the place belongs to the runtime, its headers or the standard library, not to the user.
bool is_common(const std::string& place) {
  return place.starts_with("/usr/") ||
         place.find("common/emulation/include/") != std::string::npos ||
         place.find("common/emulation/runtime/") != std::string::npos ||
         (place.find("common/emulation/extended/") != std::string::npos &&
          place.find("/tests/") == std::string::npos) ||
         place.find("common/device/") != std::string::npos ||
         place.find("common/stage/") != std::string::npos ||
         place.find("common/custom_submission/") != std::string::npos;
}

}  // namespace

ReportPlace source_place(void* const* frames, int count) {
  const std::string program = program_path();
  std::string object;
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    link_map* map = nullptr;
    if (dladdr1(frames[i], &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) continue;
    // A return address names the statement after the call; one byte back is the call itself.
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]) - (i == 0 ? 0 : 1);
    // The program has no name in the loader's list (and perhaps several in the file system).
    const std::string path = *map->l_name == '\0' ? program : map->l_name;
    if (object.empty()) object = path;
    if (path == object) {
      std::ostringstream word;
      word << "0x" << std::hex << address - map->l_addr;
      words.push_back(word.str());
    }
    // If the fault lies in a library (memcpy), the next frames are the program's.
    if (i == 0 && path != program) {
      object = program;
      words.clear();
    }
  }
  if (words.empty()) return {};
  words.insert(words.begin(), {"addr2line", "-f", "-C", "-i", "-e", object});
  std::istringstream lines(run_process({.words = words}).output);
  std::string function;
  std::string place;
  while (std::getline(lines, function) && std::getline(lines, place)) {
    if (place.starts_with("??") || place.ends_with(":?") || place.ends_with(":0") ||
        is_common(place))
      continue;
    const std::size_t colon = place.rfind(':', place.find(" ("));
    return {.file = place.substr(0, colon),
            .line = static_cast<std::uint32_t>(std::atoi(place.c_str() + colon + 1)),
            .function = function};
  }
  return {};
}

}  // namespace convlab::emulation
