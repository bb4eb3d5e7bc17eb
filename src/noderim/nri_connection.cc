#include "noderim/nri_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace gs::noderim {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
constexpr Mono kNever = Mono::max();

Mono nriNow() { return std::chrono::steady_clock::now(); }

/// For poll(): -1, for ever. Rounded up, so that what wakes finds the time over.
int pollTime(Mono deadline) {
  if (deadline == kNever) { return -1; }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - nriNow()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

bool mayComeLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

tl::unexpected<Error> gone(std::string_view how) {
  return fail(Code::Unavailable, fmt::format("the container runtime closed the NRI connection{}", how));
}

}  // namespace

NriConnection::NriConnection(Options options, rpc::nri::Plugin& plugin, Say say)
    : options_{std::move(options)},
      plugin_{plugin},
      say_{std::move(say)},
      end_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  GS_CHECK(end_.valid(), "eventfd: {}", std::strerror(errno));
}

void NriConnection::start() {
  thread_ = std::make_unique<Worker>("nri", [this](const std::stop_token&) { run(); });
}

void NriConnection::stop() {
  stopping_ = true;
  ::eventfd_write(end_.get(), 1);
  if (thread_ != nullptr) { thread_->join(); }
}

void NriConnection::run() {
  for (int failures = 0; !stopping_;) {
    bool was_good = false;
    Error ended = converse(was_good);
    if (stopping_) { return; }
    say({.is_registered = false, .why = std::move(ended.message)});
    failures = was_good ? 0 : failures + 1;
    if (failures > 0 && !rest(kapi::retryWait(failures, {}, options_.retry))) { return; }
  }
}

void NriConnection::say(State state) {
  if (state == said_) { return; }
  said_ = std::move(state);
  say_(said_);
}

/// One connection; why it ended.
Error NriConnection::converse(bool& was_good) {
  const auto socket = dial();
  if (!socket) { return socket.error(); }
  rpc::nri::Session session{options_.session, plugin_};
  Mono deadline = nriNow() + options_.registration;  // of what comes next
  Mono good_from = kNever;
  std::string input;
  for (;;) {
    // What it is told comes before what it says next: so no more is kept than the answers to one read.
    Status done = sendAll(socket->get(), session.takeOutput());
    if (done && session.isRegistered() && deadline != kNever) {
      deadline = kNever;
      good_from = nriNow() + options_.settled;
      say({.is_registered = true});
    }
    if (done) { done = receive(socket->get(), input, deadline); }
    if (done) { done = session.received(input); }
    if (!done) {
      was_good = nriNow() >= good_from && done.error().code != Code::Invalid;
      return done.error();
    }
  }
}

Result<net::Fd> NriConnection::dial() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = options_.socket;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Code::Invalid, fmt::format("the path of the NRI socket {} has more than {} bytes", path,
                                           sizeof address.sun_path - 1));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  net::Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  // It is there at once or not at all: a queue of connections that is full is EAGAIN.
  if (fd.valid() && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return fd;
  }
  return fail(Code::Unavailable,
              fmt::format("no NRI at {}: {}; is it on in the container runtime's configuration, and is the "
                          "socket's folder mounted here?",
                          path, std::strerror(errno)));
}

Status NriConnection::sendAll(int fd, std::string_view bytes) const {
  const Mono deadline = nriNow() + options_.write;
  while (!bytes.empty()) {
    if (stopping_) { return fail(Code::Unavailable, "stopped"); }
    const auto put = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (!mayComeLater(errno)) {
      return gone(fmt::format(": {}", std::strerror(errno)));
    } else if (Status waited = waitFor(fd, true, deadline, "takes nothing of what it is sent"); !waited) {
      return waited;
    }
  }
  return {};
}

Status NriConnection::receive(int fd, std::string& into, Mono deadline) const {
  into.resize(kReadAtOnce);
  for (;;) {
    if (Status waited = waitFor(fd, false, deadline, "has not registered the plugin"); !waited) {
      return waited;
    }
    const auto got = ::recv(fd, into.data(), into.size(), 0);
    if (got > 0) {
      into.resize(static_cast<std::size_t>(got));
      return {};
    }
    if (got == 0) { return gone(""); }
    if (!mayComeLater(errno)) { return gone(fmt::format(": {}", std::strerror(errno))); }
  }
}

/// Until `fd` can be written or read. Errors: it is to stop; Deadline, the runtime did not do `what` in time.
Status NriConnection::waitFor(int fd, bool to_write, Mono deadline, std::string_view what) const {
  for (;;) {
    pollfd two[] = {{end_.get(), POLLIN, 0}, {fd, static_cast<short>(to_write ? POLLOUT : POLLIN), 0}};
    const int ready = ::poll(two, 2, pollTime(deadline));
    if (stopping_) { return fail(Code::Unavailable, "stopped"); }
    if (ready > 0 && two[1].revents != 0) { return {}; }
    if (ready < 0 && errno != EINTR) { return gone(fmt::format(": poll: {}", std::strerror(errno))); }
    if (nriNow() >= deadline) {
      return fail(
          Code::Deadline,
          fmt::format(
              "the container runtime {} for {:g} s", what,
              std::chrono::duration<double>{to_write ? options_.write : options_.registration}.count()));
    }
  }
}

/// False: it is to stop.
bool NriConnection::rest(Duration how_long) const {
  const Mono deadline = nriNow() + how_long;
  while (!stopping_ && nriNow() < deadline) {
    pollfd one{end_.get(), POLLIN, 0};
    (void)::poll(&one, 1, pollTime(deadline));
  }
  return !stopping_;
}

}  // namespace gs::noderim
