#include "common/data/gzip.hpp"

#include <zlib.h>

#include <limits>

#include "common/base/error.hpp"

namespace convlab {

namespace {

// zlib: 15 bits of window, plus 16 for the gzip wrapper and nothing else.
constexpr int kGzipWindowBits = 15 + 16;

[[noreturn]] void no_memory() {
  throw EnvironmentError("zlib could not start: free some memory and run this again.");
}

}  // namespace

std::vector<std::uint8_t> gunzip(std::vector<std::uint8_t> bytes, std::size_t max_size,
                                 const std::string& name) {
  if (bytes.size() < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b) return bytes;
  const auto refuse = [&name](const std::string& why) {
    throw EnvironmentError(name + " is not a sound gzip file: " + why +
                           "; fetch or install it again.");
  };
  if (bytes.size() > std::numeric_limits<uInt>::max()) refuse("it is longer than 4 GiB");

  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) no_memory();
  stream.next_in = bytes.data();
  stream.avail_in = static_cast<uInt>(bytes.size());
  // The output grows piece by piece, because the length stated in the file cannot be trusted.
  std::vector<std::uint8_t> output;
  std::vector<std::uint8_t> piece(std::size_t{1} << 20);
  int status = Z_OK;
  while (status == Z_OK && output.size() <= max_size) {
    stream.next_out = piece.data();
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    output.insert(output.end(), piece.data(), stream.next_out);
  }
  const std::string detail = stream.msg == nullptr ? "" : stream.msg;
  inflateEnd(&stream);
  if (output.size() > max_size) {
    refuse("it unpacks to more than " + std::to_string(max_size) + " bytes");
  }
  if (status == Z_BUF_ERROR) {
    refuse("it ends after " + std::to_string(bytes.size()) + " bytes, in the middle of the data");
  }
  if (status != Z_STREAM_END) refuse("zlib says '" + detail + "'");
  if (stream.avail_in != 0) refuse(std::to_string(stream.avail_in) + " bytes follow its end");
  return output;
}

std::vector<std::uint8_t> gzip(const std::vector<std::uint8_t>& bytes) {
  z_stream state{};
  constexpr int kMemoryLevel = 8;  // zlib's default
  if (deflateInit2(&state, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    no_memory();
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
