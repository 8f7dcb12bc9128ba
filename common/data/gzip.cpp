#include "common/data/gzip.hpp"

#include <zlib.h>

#include "common/base/error.hpp"

namespace convlab {

namespace {

// zlib: 15 bits of window, plus 16 for the gzip wrapper and nothing else.
constexpr int kGzipWindowBits = 15 + 16;

void require_started(int status) {
  if (status == Z_OK) return;
  throw EnvironmentError("zlib could not start: free some memory and run this again.");
}

}  // namespace

std::vector<std::uint8_t> gunzip(std::vector<std::uint8_t> bytes, std::size_t max_size,
                                 const std::string& name) {
  if (bytes.size() < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b) return bytes;
  z_stream stream{};
  require_started(inflateInit2(&stream, kGzipWindowBits));
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
  const std::string why =
      output.size() > max_size ? "it unpacks to more than " + std::to_string(max_size) + " bytes"
      : status == Z_BUF_ERROR  ? "it ends in the middle of the data"
      : status != Z_STREAM_END ? "zlib says '" + detail + "'"
      : stream.avail_in != 0   ? std::to_string(stream.avail_in) + " bytes follow its end"
                               : "";
  if (why.empty()) return output;
  throw EnvironmentError(name + " is not a sound gzip file: " + why +
                         "; fetch or install it again.");
}

std::vector<std::uint8_t> gzip(const std::vector<std::uint8_t>& bytes) {
  z_stream state{};
  constexpr int kMemoryLevel = 8;  // zlib's default
  require_started(deflateInit2(&state, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindowBits,
                               kMemoryLevel, Z_DEFAULT_STRATEGY));
  std::vector<std::uint8_t> output(deflateBound(&state, static_cast<uLong>(bytes.size())));
  state.next_in = const_cast<Bytef*>(bytes.data());
  state.avail_in = static_cast<uInt>(bytes.size());
  state.next_out = output.data();
  state.avail_out = static_cast<uInt>(output.size());
  deflate(&state, Z_FINISH);  // the output has room, so this is the end
  output.resize(state.total_out);
  deflateEnd(&state);
  return output;
}

}  // namespace convlab
