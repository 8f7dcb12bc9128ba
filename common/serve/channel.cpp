#include "common/serve/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/base/keyed_call.hpp"

namespace convlab {

namespace {

constexpr std::size_t kMaxDescriptors = 4;

struct alignas(cmsghdr) ControlBuffer {
  std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes{};
};

}  // namespace

bool send_message(int socket, std::string_view text, const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  ControlBuffer control;
  if (!descriptors.empty()) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(item), descriptors.data(), descriptors.size() * sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = keyed_call(SYS_sendmsg, socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(text.size());
}

std::optional<Message> receive_message(int socket) {
  std::string bytes(kMaxMessage, '\0');
  iovec part{bytes.data(), bytes.size()};
  ControlBuffer control;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  ssize_t received = 0;
  do {
    // Of a thread that waits in a call, /proc tells the arguments: the key.
    pollfd arrival{socket, POLLIN, 0};
    ::poll(&arrival, 1, -1);
    received = keyed_call(SYS_recvmsg, socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (received < 0 && (errno == EINTR || errno == EAGAIN));

  Message message;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); received >= 0 && item != nullptr;
       item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(item) + i * sizeof(int), sizeof number);
      message.descriptors.emplace_back(number);
    }
  }
  if (received <= 0 || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(received));
  message.text = std::move(bytes);
  return message;
}

}  // namespace convlab
