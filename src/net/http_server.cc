#include "net/http_server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <exception>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/worker.h"
#include "net/socket.h"

namespace gs::net {
namespace {

constexpr std::size_t kReadSize = std::size_t{64} << 10;
constexpr auto kAcceptPause = std::chrono::milliseconds{100};
constexpr auto kLinger = std::chrono::seconds{2};

Mono monoNow() { return std::chrono::steady_clock::now(); }

/// Always in exactly one place: armed in epoll and in the list of idle ones, in the queue, or with a worker.
struct Connection {
  Fd fd;
  RequestParser parser;
  Mono idle_since{};
  std::list<Connection*>::iterator idle_at{};  // while idle
};

/// Closing with unread bytes resets the connection, and the peer may lose the answer: say that no more is coming, and
/// read what it is still sending until it has seen the answer. Bounded in time only: kLinger of a worker.
void lingerAfterRefusal(int fd) {
  ::shutdown(fd, SHUT_WR);
  const Mono deadline = monoNow() + kLinger;
  std::string bytes;
  while (readSome(fd, bytes, kReadSize, deadline) == Io::Ok) { bytes.clear(); }
}

Response callHandler(const Handler& handler, const Request& request) {
  try {
    return handler(request);
  } catch (const std::exception& problem) {
    log::error("an HTTP handler failed", {{"path", request.path()}, {"what", problem.what()}});
    return textResponse(500, "internal error\n");
  }
}

}  // namespace

class HttpServer::Core {
 public:
  Core(Options options, Handler handler, Fd listener)
      : options_{std::move(options)},
        handler_{std::move(handler)},
        listener_{std::move(listener)},
        port_{localPort(listener_.get())},
        epoll_{::epoll_create1(EPOLL_CLOEXEC)},
        wake_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {}

  Status begin();
  void stop();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::size_t connections() const {
    MutexLock lock{mutex_};
    return connections_.size();
  }
  [[nodiscard]] std::size_t workers() const {
    MutexLock lock{mutex_};
    return workers_.size();
  }

 private:
  // The waiting thread.
  void waitForPeers();
  [[nodiscard]] int waitMillis() GS_EXCLUDES(mutex_);
  void acceptAll() GS_EXCLUDES(mutex_);
  void pauseAccepting();
  void dispatch(Connection* connection) GS_EXCLUDES(mutex_);
  void reapIdle() GS_EXCLUDES(mutex_);
  bool watch(int fd, void* tag, std::uint32_t events, int op) const;

  // Workers.
  void work() GS_EXCLUDES(mutex_);
  [[nodiscard]] Connection* nextWaiting() GS_EXCLUDES(mutex_);
  bool serve(Connection& connection);
  bool stream(int fd, const Response& response, bool keep, bool head) GS_EXCLUDES(mutex_);
  [[nodiscard]] bool beginStream() GS_EXCLUDES(mutex_);
  void startWorkers() GS_REQUIRES(mutex_);
  bool readRequest(Connection& connection, Mono deadline);
  void giveBack(Connection* connection, bool keep) GS_EXCLUDES(mutex_);
  [[nodiscard]] bool stopping() const {
    MutexLock lock{mutex_};
    return stopping_;
  }

  const Options options_;
  const Handler handler_;
  Fd listener_;
  const std::uint16_t port_;
  const Fd epoll_;
  const Fd wake_;
  Mono accept_again_{};  // the waiting thread's: not zero while accepting is paused

  mutable Mutex mutex_;
  Signal arrived_;   // for workers: something waits, or stop
  Signal finished_;  // for stop(): a connection is gone
  bool stopping_ GS_GUARDED_BY(mutex_) = false;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_ GS_GUARDED_BY(mutex_);
  std::list<Connection*> idle_ GS_GUARDED_BY(mutex_);  // longest idle first
  std::deque<Connection*> waiting_ GS_GUARDED_BY(mutex_);
  std::size_t resting_ GS_GUARDED_BY(mutex_) = 0;    // workers that wait for work
  std::size_t streaming_ GS_GUARDED_BY(mutex_) = 0;  // workers that send a streamed answer
  std::vector<std::unique_ptr<Worker>> workers_ GS_GUARDED_BY(mutex_);
  std::unique_ptr<Worker> waiter_;
};

// ---- Start and stop

Status HttpServer::Core::begin() {
  if (!epoll_.valid() || !wake_.valid() || !watch(listener_.get(), &listener_, EPOLLIN, EPOLL_CTL_ADD) ||
      !watch(wake_.get(), nullptr, EPOLLIN, EPOLL_CTL_ADD)) {
    return fail(Code::Unavailable, "cannot serve HTTP: the system gives no more file descriptors");
  }
  waiter_ = std::make_unique<Worker>("http-wait", [this](const std::stop_token&) { waitForPeers(); });
  return {};
}

void HttpServer::Core::stop() {
  {
    MutexLock lock{mutex_};
    if (stopping_) { return; }
    stopping_ = true;
    arrived_.notifyAll();
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(wake_.get(), &one, sizeof one);
  if (waiter_) { waiter_->join(); }
  listener_.reset();
  std::vector<std::unique_ptr<Worker>> workers;
  {
    MutexLock lock{mutex_};
    while (!idle_.empty()) {
      connections_.erase(idle_.front());
      idle_.pop_front();
    }
    const Mono deadline = monoNow() + options_.stop_grace;
    while (!connections_.empty() && finished_.waitUntil(mutex_, deadline)) {}
    for (const auto& [connection, owned] : connections_) { ::shutdown(connection->fd.get(), SHUT_RDWR); }
    workers.swap(workers_);
  }
  workers.clear();  // joins
}

// ---- The waiting thread

bool HttpServer::Core::watch(int fd, void* tag, std::uint32_t events, int op) const {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  return ::epoll_ctl(epoll_.get(), op, fd, &event) == 0;
}

void HttpServer::Core::waitForPeers() {
  std::array<epoll_event, 256> events{};
  while (!stopping()) {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), waitMillis());
    for (int i = 0; i < count; ++i) {
      void* tag = events.at(static_cast<std::size_t>(i)).data.ptr;
      if (tag == &listener_) {
        acceptAll();
      } else if (tag != nullptr) {
        dispatch(static_cast<Connection*>(tag));
      }
    }
    reapIdle();
    if (accept_again_ != Mono{} && monoNow() >= accept_again_) {
      accept_again_ = Mono{};
      watch(listener_.get(), &listener_, EPOLLIN, EPOLL_CTL_MOD);
    }
  }
}

/// Until the longest idle connection is to be cut off, or accepting goes on. Never longer than the idle timeout: a
/// connection that a worker gives back meanwhile does not wake this thread, and is cut off at most that much late.
int HttpServer::Core::waitMillis() {
  const Mono now = monoNow();
  Mono next = now + options_.idle_timeout;
  if (accept_again_ != Mono{}) { next = std::min(next, accept_again_); }
  {
    MutexLock lock{mutex_};
    if (!idle_.empty()) { next = std::min(next, idle_.front()->idle_since + options_.idle_timeout); }
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void HttpServer::Core::acceptAll() {
  for (;;) {
    Fd peer{::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!peer.valid()) {
      if (errno == ECONNABORTED || errno == EINTR) { continue; }
      if (errno != EAGAIN && errno != EWOULDBLOCK) { pauseAccepting(); }
      return;
    }
    MutexLock lock{mutex_};
    if (stopping_ || connections_.size() >= options_.max_connections) { continue; }
    auto owned = std::make_unique<Connection>(
        Connection{std::move(peer), RequestParser{options_.limits}, monoNow(), idle_.end()});
    Connection* connection = owned.get();
    connection->idle_at = idle_.insert(idle_.end(), connection);
    if (!watch(connection->fd.get(), connection, EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, EPOLL_CTL_ADD)) {
      idle_.pop_back();
      continue;
    }
    connections_.emplace(connection, std::move(owned));
  }
}

/// Out of descriptors: the peers wait in the kernel meanwhile. Without a pause this thread would spin.
void HttpServer::Core::pauseAccepting() {
  log::warn("cannot accept HTTP connections; trying again", {{"errno", errno}});
  watch(listener_.get(), &listener_, 0, EPOLL_CTL_MOD);
  accept_again_ = monoNow() + kAcceptPause;
}

void HttpServer::Core::dispatch(Connection* connection) {
  MutexLock lock{mutex_};
  idle_.erase(connection->idle_at);
  if (waiting_.size() >= options_.max_waiting) {
    static const std::string busy = renderResponse(textResponse(503, "too many requests\n"), false, false);
    [[maybe_unused]] const auto put =
        ::send(connection->fd.get(), busy.data(), busy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    connections_.erase(connection);
    return;
  }
  waiting_.push_back(connection);
  startWorkers();
  arrived_.notifyOne();
}

void HttpServer::Core::startWorkers() {
  if (resting_ < waiting_.size() && workers_.size() < options_.max_workers + streaming_ && !stopping_) {
    workers_.push_back(std::make_unique<Worker>("http-work", [this](const std::stop_token&) { work(); }));
  }
}

void HttpServer::Core::reapIdle() {
  const Mono oldest = monoNow() - options_.idle_timeout;
  MutexLock lock{mutex_};
  while (!idle_.empty() && idle_.front()->idle_since <= oldest) {
    connections_.erase(idle_.front());
    idle_.pop_front();
  }
}

// ---- Workers

void HttpServer::Core::work() {
  while (Connection* connection = nextWaiting()) { giveBack(connection, serve(*connection)); }
}

/// nullptr: stopping, and nothing waits any more.
Connection* HttpServer::Core::nextWaiting() {
  MutexLock lock{mutex_};
  ++resting_;
  while (waiting_.empty() && !stopping_) { arrived_.wait(mutex_); }
  --resting_;
  if (waiting_.empty()) { return nullptr; }
  Connection* connection = waiting_.front();
  waiting_.pop_front();
  return connection;
}

/// Answers all requests that have come. True: keep the connection.
bool HttpServer::Core::serve(Connection& connection) {
  RequestParser& parser = connection.parser;
  do {
    const Mono deadline = monoNow() + options_.request_timeout;
    if (!readRequest(connection, deadline)) { return false; }
    if (parser.bad() != 0) {
      const Response refused = options_.refusal ? options_.refusal(parser.bad())
                                                : textResponse(parser.bad(), "the request was refused\n");
      const auto refusal = renderResponse(refused, false, false);
      if (writeAll(connection.fd.get(), refusal, deadline) == Io::Ok) {
        lingerAfterRefusal(connection.fd.get());
      }
      return false;
    }
    const bool peer_keeps = parser.keepAlive();
    const Request request = parser.take();
    const Response response = callHandler(handler_, request);
    const bool keep = peer_keeps && !stopping();
    if (response.stream) {
      if (!stream(connection.fd.get(), response, keep, request.method == "HEAD") || !keep) { return false; }
      continue;
    }
    const auto bytes = renderResponse(response, keep, request.method == "HEAD");
    if (writeAll(connection.fd.get(), bytes, monoNow() + options_.request_timeout) != Io::Ok || !keep) {
      return false;
    }
  } while (parser.ready() || parser.begun() || parser.bad() != 0);
  return true;
}

/// True: the stream came to its own end.
bool HttpServer::Core::stream(int fd, const Response& response, bool keep, bool head) {
  const auto put = [&](std::string_view bytes) {
    return writeAll(fd, bytes, monoNow() + options_.request_timeout) == Io::Ok;
  };
  if (!beginStream()) {
    Response busy = textResponse(429, "too many streams\n");
    busy.headers.emplace_back("Retry-After", "1");
    return put(renderResponse(busy, keep, head));
  }
  const Duration turn = std::min<Duration>(options_.stop_grace / 2, std::chrono::seconds{1});
  bool ended = head;
  bool alive = put(renderResponse(response, keep, head));
  while (alive && !ended && !stopping()) {
    const auto more = response.stream(turn);
    if (!more) {
      ended = true;
    } else {
      alive = more->empty() ? !peerLeft(fd) : put(renderChunk(*more));
    }
  }
  if (ended && !head) { alive = alive && put(renderChunk({})); }
  MutexLock lock{mutex_};
  --streaming_;
  return alive && ended;
}

bool HttpServer::Core::beginStream() {
  MutexLock lock{mutex_};
  if (streaming_ >= options_.max_streams) { return false; }
  ++streaming_;
  startWorkers();  // this one is taken
  return true;
}

/// Until the parser is ready or has refused. False: the peer left, or was too slow.
bool HttpServer::Core::readRequest(Connection& connection, Mono deadline) {
  RequestParser& parser = connection.parser;
  std::string bytes;
  while (!parser.ready() && parser.bad() == 0) {
    bytes.clear();
    if (readSome(connection.fd.get(), bytes, kReadSize, deadline) != Io::Ok) { return false; }
    parser.feed(bytes);
    if (parser.wantsContinue() &&
        writeAll(connection.fd.get(), "HTTP/1.1 100 Continue\r\n\r\n", deadline) != Io::Ok) {
      return false;
    }
  }
  return true;
}

void HttpServer::Core::giveBack(Connection* connection, bool keep) {
  MutexLock lock{mutex_};
  if (keep && !stopping_) {
    connection->idle_since = monoNow();
    connection->idle_at = idle_.insert(idle_.end(), connection);
    if (watch(connection->fd.get(), connection, EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, EPOLL_CTL_MOD)) {
      return;
    }
    idle_.pop_back();
  }
  connections_.erase(connection);
  finished_.notifyAll();
}

// ---- The door

HttpServer::HttpServer(std::unique_ptr<Core> core) : core_{std::move(core)} {}

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(Options options, Handler handler) {
  auto listener = listenTcp(options.address);
  if (!listener) { return tl::unexpected(listener.error()); }
  auto core = std::make_unique<Core>(std::move(options), std::move(handler), std::move(*listener));
  if (auto begun = core->begin(); !begun) { return tl::unexpected(begun.error()); }
  return std::unique_ptr<HttpServer>{new HttpServer{std::move(core)}};
}

std::uint16_t HttpServer::port() const { return core_->port(); }
std::size_t HttpServer::connections() const { return core_->connections(); }
std::size_t HttpServer::workers() const { return core_->workers(); }
void HttpServer::stop() { core_->stop(); }

}  // namespace gs::net
