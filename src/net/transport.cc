#include "net/transport.h"

#include <sys/socket.h>

#include <cerrno>

namespace gs::net {
namespace {

Went whyNot(Went would_block) {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? would_block : Went::Failed;
}

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Fd fd) : fd_{std::move(fd)} {}

  Went read(std::span<char> into, std::size_t& got) override {
    const auto n = ::recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (n < 0) { return whyNot(Went::NeedsInput); }
    got = static_cast<std::size_t>(n);
    return n == 0 ? Went::Ended : Went::Ok;
  }
  Went write(std::string_view data, bool more, std::size_t& took) override {
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
    const auto n = ::send(fd_.get(), data.data(), data.size(), flags);
    if (n < 0) { return whyNot(Went::NeedsRoom); }
    took = static_cast<std::size_t>(n);
    return Went::Ok;
  }
  void endWriting() override { ::shutdown(fd_.get(), SHUT_WR); }
  [[nodiscard]] int fd() const override { return fd_.get(); }

 private:
  Fd fd_;
};

}  // namespace

std::unique_ptr<Transport> plainTransport(Fd fd) { return std::make_unique<PlainTransport>(std::move(fd)); }

Io writeAll(Transport& transport, std::string_view data, Mono deadline) {
  while (!data.empty()) {
    std::size_t took = 0;
    const Went went = transport.write(data, false, took);
    if (went == Went::Ok) {
      data.remove_prefix(took);
    } else if (went == Went::Ended || went == Went::Failed) {
      return Io::Failed;
    } else if (const Io waited = waitFor(transport.fd(), went == Went::NeedsRoom, deadline);
               waited != Io::Ok) {
      return waited;
    }
  }
  return Io::Ok;
}

}  // namespace gs::net
