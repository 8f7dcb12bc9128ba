#include "common/data/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/error.hpp"

namespace convlab {

namespace {

// zlib: 15 bits of window, plus 16 for the gzip wrapper and nothing else.
constexpr int kGzipWindowBits = 15 + 16;

class InflateStream {
 public:
  InflateStream() {
    if (inflateInit2(&state_, kGzipWindowBits) != Z_OK) {
      throw EnvironmentError("zlib could not start: free some memory and run this again.");
    }
  }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  ~InflateStream() { inflateEnd(&state_); }

  z_stream& operator*() { return state_; }

 private:
  z_stream state_{};
};

}  // namespace

std::vector<std::uint8_t> gunzip(std::vector<std::uint8_t> bytes, std::size_t max_size,
                                 const std::string& name) {
  if (bytes.size() < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b) return bytes;
  const auto refuse = [&name](const std::string& why) {
    throw EnvironmentError(name + " is not a sound gzip file: " + why +
                           "; fetch or install it again.");
  };
  if (bytes.size() > std::numeric_limits<uInt>::max()) refuse("it is longer than 4 GiB");

  InflateStream stream;
  (*stream).next_in = bytes.data();
  (*stream).avail_in = static_cast<uInt>(bytes.size());

  // The output grows while data arrives, because the length stated in the file cannot be trusted.
  // Room for one byte more than allowed is enough to notice that there is too much.
  std::vector<std::uint8_t> output;
  std::size_t filled = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (filled == output.size()) {
      output.resize(std::min(max_size + 1, std::max<std::size_t>(4 * bytes.size(), 2 * filled)));
    }
    (*stream).next_out = output.data() + filled;
    (*stream).avail_out = static_cast<uInt>(
        std::min<std::size_t>(output.size() - filled, std::numeric_limits<uInt>::max()));
    status = inflate(&*stream, Z_NO_FLUSH);
    filled = static_cast<std::size_t>((*stream).next_out - output.data());
    if (filled > max_size) {
      refuse("it unpacks to more than " + std::to_string(max_size) + " bytes");
    }
    if (status == Z_BUF_ERROR ||
        (status == Z_OK && (*stream).avail_in == 0 && (*stream).avail_out != 0)) {
      refuse("it ends after " + std::to_string(bytes.size()) + " bytes, in the middle of the data");
    }
    if (status != Z_OK && status != Z_STREAM_END) {
      const char* detail = (*stream).msg;
      refuse(detail != nullptr ? std::string("zlib says '") + detail + "'" : "its data is damaged");
    }
  }
  if ((*stream).avail_in != 0) {
    refuse(std::to_string((*stream).avail_in) + " bytes follow its end");
  }
  output.resize(filled);
  return output;
}

std::vector<std::uint8_t> gzip(const std::vector<std::uint8_t>& bytes) {
  z_stream state{};
  constexpr int kMemoryLevel = 8;  // zlib's default
  if (deflateInit2(&state, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw EnvironmentError("zlib could not start: free some memory and run this again.");
  }
  std::vector<std::uint8_t> output(deflateBound(&state, static_cast<uLong>(bytes.size())));
  state.next_in = const_cast<Bytef*>(bytes.data());
  state.avail_in = static_cast<uInt>(bytes.size());
  state.next_out = output.data();
  state.avail_out = static_cast<uInt>(output.size());
  const int status = deflate(&state, Z_FINISH);
  output.resize(state.total_out);
  deflateEnd(&state);
  if (status != Z_STREAM_END) throw EnvironmentError("zlib could not compress the file.");
  return output;
}

}  // namespace convlab
