#include "common/emulation/runtime/symbolize.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>

namespace convlab::emulation {
namespace {

struct CloseProcess {
  void operator()(std::FILE* stream) const { pclose(stream); }
};

std::string output_of(const std::string& command) {
  // NOLINTNEXTLINE(cert-env33-c): addresses and the program's own path, quoted
  const std::unique_ptr<std::FILE, CloseProcess> stream(popen(command.c_str(), "r"));
  std::string text;
  std::array<char, 512> buffer;
  while (stream && std::fgets(buffer.data(), buffer.size(), stream.get()) != nullptr)
    text += buffer.data();
  return text;
}

std::string program_path() {
  std::array<char, 4096> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return {path.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// Whether the place is not the user's: the runtime, its wrappers of CUDA's functions, the standard
/// library.
bool is_common(const std::string& place) {
  return place.starts_with("/usr/") ||
         place.find("common/emulation/include/") != std::string::npos ||
         place.find("common/emulation/runtime/") != std::string::npos ||
         place.find("common/device/") != std::string::npos;
}

}  // namespace

std::string source_place(void* const* frames, int count) {
  const std::string program = program_path();
  std::string object;
  std::ostringstream addresses;
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    link_map* map = nullptr;
    if (dladdr1(frames[i], &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) continue;
    // A return address names the statement after the call; one byte back is the call itself.
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]) - (i == 0 ? 0 : 1);
    // The program has no name in the loader's list (and perhaps several in the file system).
    const std::string path = *map->l_name == '\0' ? program : map->l_name;
    if (object.empty()) object = path;
    if (path == object) addresses << " 0x" << std::hex << address - map->l_addr;
    // The fault may lie in a library (memcpy): what follows is then the user's.
    if (i == 0 && path != program) {
      object = program;
      addresses.str("");
    }
  }
  if (object.find('\'') != std::string::npos || addresses.str().empty()) return {};
  std::istringstream lines(
      output_of("addr2line -f -C -i -e '" + object + "'" + addresses.str() + " 2>/dev/null"));
  std::string function;
  std::string place;
  while (std::getline(lines, function) && std::getline(lines, place)) {
    if (place.starts_with("??") || place.ends_with(":?") || place.ends_with(":0") ||
        is_common(place))
      continue;
    return place.substr(0, place.find(" (")) + " (in " + function + ")";
  }
  return {};
}

}  // namespace convlab::emulation
