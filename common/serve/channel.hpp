#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/descriptor.hpp"

namespace convlab {

/// A message between the grader and a submission: text, and descriptors of shared memory.
struct Message {
  std::string text;
  std::vector<Descriptor> descriptors;
};

/// The longest text of a message, in bytes. A longer one is refused.
inline constexpr std::size_t kMaxMessage = 65536;

/// Sends one whole message over a SOCK_SEQPACKET socket. Allocates nothing.
/// @return false if the other side is gone
bool send_message(int socket, std::string_view text, const std::vector<int>& descriptors = {});

/// Receives one whole message; waits for it.
/// @return nothing if the other side is gone, or sent something longer than kMaxMessage
std::optional<Message> receive_message(int socket);

}  // namespace convlab
