#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace convlab::testing {

/// Damages texts and archives in ways that readers often fail to handle. The same seed gives the
/// same bytes on every machine, because it uses only the engine's own numbers.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  /// A number from 0 to `count` - 1.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : engine_() % count; }

  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

  /// A sample with up to eight changes; at times no change, or two samples joined.
  std::string mutated(const std::vector<std::string>& samples) {
    std::string bytes = one_of(samples);
    for (std::size_t changes = below(9); changes > 0; --changes) change(bytes, samples);
    return bytes;
  }

 private:
  void change(std::string& bytes, const std::vector<std::string>& samples) {
    static const std::vector<std::string> kWords = [] {
      std::istringstream words(
          "null true -1 0 1e999 18446744073709551616 -9223372036854775808 [] {} \"\" [[[[[[[[ "
          "\\u0000 \xff\xfe \033[2J nan 2147483648 \xe2\x80\xae /../../ 4294967297 {\"a\":");
      return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
    }();
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t length = below(bytes.size() - at + 1);
    switch (bytes.empty() ? 3 : below(7)) {
      case 0:
        bytes[below(bytes.size())] = static_cast<char>(below(256));
        break;
      case 1:
        bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
        bytes.erase(at, below(2) == 0 ? length : below(9));
        break;
      case 3:
        bytes.insert(at, one_of(kWords));
        break;
      case 4:
        replace_number(bytes, at, one_of(kWords));
        break;
      case 5:
        bytes.insert(at, below(2) == 0 ? bytes.substr(at, std::min<std::size_t>(length, 200))
                                       : std::string(below(300), static_cast<char>(below(256))));
        break;
      default: {
        const std::string& other = one_of(samples);
        bytes = bytes.substr(0, at) + other.substr(below(other.size() + 1));
      }
    }
  }

  // The next number from here on becomes another word.
  static void replace_number(std::string& bytes, std::size_t at, const std::string& word) {
    const auto begin = bytes.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const auto end = bytes.find_first_not_of("0123456789.", begin);
    bytes.replace(begin, (end == std::string::npos ? bytes.size() : end) - begin, word);
  }

  std::mt19937_64 engine_;
};

/// The main of a fuzzer: calls `one` repeatedly, each time with a mutator of the next seed.
/// @param one  throws if the tested reader misbehaves
int fuzz_main(int argc, char** argv, const std::string& name,
              const std::function<void(Mutator&)>& one);

}  // namespace convlab::testing
