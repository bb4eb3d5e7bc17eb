#include "net/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <exception>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/worker.h"
#include "net/socket.h"
#include "net/tls_acceptor.h"

namespace gs::net {
namespace {

constexpr std::size_t kScratch = std::size_t{256} << 10;
constexpr std::size_t kSmall = std::size_t{64}
                               << 10;  // an unfinished request up to this is never one too many
constexpr auto kAcceptPause = std::chrono::milliseconds{100};
constexpr Duration kLongestWait = std::chrono::seconds{1};

using Turn = HttpConnection::Turn;

Mono monoNow() { return std::chrono::steady_clock::now(); }

struct Peer;
using Due = std::multimap<Mono, Peer*>;

/// Always in exactly one place: parked (armed in epoll and in a Due), in the queue, or with a worker.
struct Peer {
  HttpConnection http;
  Due* parked_in = nullptr;
  Due::iterator parked_at{};
  std::size_t held = 0;  // as counted in Core::held_
  Mono since{};          // its request began, or the one before was answered
};

Response callHandler(const Handler& handler, Request request) {
  const std::string path{request.path()};
  try {
    return handler(std::move(request));
  } catch (const std::exception& problem) {
    log::error("an HTTP handler failed", {{"path", path}, {"what", problem.what()}});
    return textResponse(500, "internal error\n");
  }
}

}  // namespace

class HttpServer::Core {
 public:
  Core(Options options, Handler handler, Fd listener, std::unique_ptr<TlsAcceptor> tls)
      : options_{std::move(options)},
        handler_{std::move(handler)},
        tls_{std::move(tls)},
        listener_{std::move(listener)},
        port_{localPort(listener_.get())},
        epoll_{::epoll_create1(EPOLL_CLOEXEC)},
        wake_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {}

  Status begin();
  void stop();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::size_t connections() const {
    MutexLock lock{mutex_};
    return peers_.size();
  }
  [[nodiscard]] std::size_t workers() const {
    MutexLock lock{mutex_};
    return workers_.size();
  }

 private:
  enum class State : std::uint8_t { Serving, Stopping, Ended };  // Stopping: what was asked is answered

  // The waiting thread.
  void waitForPeers();
  [[nodiscard]] int waitMillis() GS_EXCLUDES(mutex_);
  void acceptAll() GS_EXCLUDES(mutex_);
  void takeIn(Fd socket) GS_EXCLUDES(mutex_);
  void pauseAccepting();
  void dispatch(Peer* peer) GS_EXCLUDES(mutex_);
  void cutOffLate() GS_EXCLUDES(mutex_);
  void closeUnasked() GS_EXCLUDES(mutex_);
  bool watch(int fd, void* tag, std::uint32_t events, int op) const;
  void wakeUp() const;

  // Workers.
  void work() GS_EXCLUDES(mutex_);
  [[nodiscard]] Peer* nextWaiting() GS_EXCLUDES(mutex_);
  void serve(Peer& peer, std::span<char> scratch) GS_EXCLUDES(mutex_);
  void respond(Peer& peer) GS_EXCLUDES(mutex_);
  void stream(Peer& peer, const Response& response, bool keep) GS_EXCLUDES(mutex_);
  [[nodiscard]] bool beginStream() GS_EXCLUDES(mutex_);
  void startWorkers() GS_REQUIRES(mutex_);
  [[nodiscard]] bool holdsTooMuch(Peer& peer) GS_EXCLUDES(mutex_);

  void park(Peer* peer, std::uint32_t events, int op) GS_REQUIRES(mutex_);
  void unpark(Peer* peer) GS_REQUIRES(mutex_);
  void close(Peer* peer) GS_REQUIRES(mutex_);
  [[nodiscard]] State state() const {
    MutexLock lock{mutex_};
    return state_;
  }

  const Options options_;
  const Handler handler_;
  const std::unique_ptr<TlsAcceptor> tls_;  // the waiting thread's; nullptr: none
  Fd listener_;
  const std::uint16_t port_;
  const Fd epoll_;
  const Fd wake_;
  Mono accept_again_{};  // the waiting thread's: not zero while accepting is paused

  mutable Mutex mutex_;
  Signal arrived_;   // for workers: somebody waits, or the end
  Signal finished_;  // for stop(): a connection is gone
  State state_ GS_GUARDED_BY(mutex_) = State::Serving;
  std::unordered_map<Peer*, std::unique_ptr<Peer>> peers_ GS_GUARDED_BY(mutex_);
  Due resting_ GS_GUARDED_BY(mutex_);  // nothing was begun; longest idle first
  Due slow_ GS_GUARDED_BY(mutex_);     // in the midst of a request or an answer
  std::deque<Peer*> waiting_ GS_GUARDED_BY(mutex_);
  std::size_t held_ GS_GUARDED_BY(mutex_) = 0;  // bytes of requests and answers
  std::size_t idle_workers_ GS_GUARDED_BY(mutex_) = 0;
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
  std::vector<std::unique_ptr<Worker>> workers;
  {
    MutexLock lock{mutex_};
    if (state_ != State::Serving) { return; }
    state_ = State::Stopping;
    wakeUp();
    const Mono deadline = monoNow() + options_.stop_grace;
    while (!peers_.empty() && finished_.waitUntil(mutex_, deadline)) {}
    state_ = State::Ended;
    for (const auto& [peer, owned] : peers_) { ::shutdown(peer->http.transport().fd(), SHUT_RDWR); }
    workers.swap(workers_);
    arrived_.notifyAll();
    wakeUp();
  }
  if (waiter_) { waiter_->join(); }
  listener_.reset();  // the waiting thread does not when the end comes at once
  workers.clear();    // joins
  MutexLock lock{mutex_};
  while (!peers_.empty()) { close(peers_.begin()->first); }
}

// ---- The waiting thread

bool HttpServer::Core::watch(int fd, void* tag, std::uint32_t events, int op) const {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  return ::epoll_ctl(epoll_.get(), op, fd, &event) == 0;
}

void HttpServer::Core::wakeUp() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(wake_.get(), &one, sizeof one);
}

void HttpServer::Core::waitForPeers() {
  std::array<epoll_event, 256> events{};
  for (State state = State::Serving; state != State::Ended; state = this->state()) {
    if (state == State::Stopping && listener_.valid()) {
      listener_.reset();
      closeUnasked();
    }
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), waitMillis());
    bool somebody_new = false;
    for (int i = 0; i < count; ++i) {
      void* tag = events.at(static_cast<std::size_t>(i)).data.ptr;
      if (tag == &listener_) {
        somebody_new = true;
      } else if (tag != nullptr) {
        dispatch(static_cast<Peer*>(tag));
      } else {
        std::uint64_t woken = 0;
        [[maybe_unused]] const auto got = ::read(wake_.get(), &woken, sizeof woken);
      }
    }
    // After the events: no peer that one of them names may be closed before.
    if (somebody_new) { acceptAll(); }
    cutOffLate();
    if (accept_again_ != Mono{} && monoNow() >= accept_again_) {
      accept_again_ = Mono{};
      watch(listener_.get(), &listener_, EPOLLIN, EPOLL_CTL_MOD);
    }
  }
}

/// Until the first deadline, or until accepting goes on. Who is parked meanwhile does not wake this thread,
/// and is cut off at most the longest wait late.
int HttpServer::Core::waitMillis() {
  const ConnectionRules& rules = options_.connection;
  const Mono now = monoNow();
  Mono next = now + std::min({rules.idle_timeout, rules.request_timeout, kLongestWait});
  if (accept_again_ != Mono{}) { next = std::min(next, accept_again_); }
  {
    MutexLock lock{mutex_};
    for (const Due* due : {&resting_, &slow_}) {
      if (!due->empty()) { next = std::min(next, due->begin()->first); }
    }
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void HttpServer::Core::acceptAll() {
  for (;;) {
    Fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!socket.valid()) {
      if (errno == ECONNABORTED || errno == EINTR) { continue; }
      if (errno != EAGAIN && errno != EWOULDBLOCK) { pauseAccepting(); }
      return;
    }
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    takeIn(std::move(socket));
  }
}

void HttpServer::Core::takeIn(Fd socket) {
  MutexLock lock{mutex_};
  if (state_ != State::Serving) { return; }
  if (peers_.size() >= options_.max_connections) {
    if (resting_.empty()) { return; }
    Peer* longest_idle = resting_.begin()->second;
    unpark(longest_idle);
    close(longest_idle);
  }
  const Mono now = monoNow();
  auto transport = tls_ ? tls_->accept(std::move(socket), now) : plainTransport(std::move(socket));
  if (transport == nullptr) { return; }
  auto owned = std::make_unique<Peer>(Peer{HttpConnection{std::move(transport), options_.connection, now}});
  Peer* peer = owned.get();
  peers_.emplace(peer, std::move(owned));
  park(peer, EPOLLIN, EPOLL_CTL_ADD);
}

/// Out of descriptors: the peers wait in the kernel meanwhile. Without a pause this thread would spin.
void HttpServer::Core::pauseAccepting() {
  log::warn("cannot accept HTTP connections; trying again", {{"errno", errno}});
  watch(listener_.get(), &listener_, 0, EPOLL_CTL_MOD);
  accept_again_ = monoNow() + kAcceptPause;
}

void HttpServer::Core::dispatch(Peer* peer) {
  MutexLock lock{mutex_};
  if (peer->http.resting()) { peer->since = monoNow(); }
  unpark(peer);
  if (peer->http.deadline() <= monoNow()) {  // a peer that sends a little now and then
    close(peer);
    return;
  }
  if (waiting_.size() >= options_.max_waiting) {
    static const std::string busy = renderResponse(textResponse(503, "too many requests\n"), false, false);
    std::size_t took = 0;
    const bool may_say = !tls_ && !peer->http.writing();  // TLS could have a handshake to make first
    if (may_say) { static_cast<void>(peer->http.transport().write(busy, false, took)); }
    close(peer);
    return;
  }
  waiting_.push_back(peer);
  startWorkers();
  arrived_.notifyOne();
}

void HttpServer::Core::startWorkers() {
  if (idle_workers_ < waiting_.size() && workers_.size() < options_.max_workers + streaming_ &&
      state_ != State::Ended) {
    workers_.push_back(std::make_unique<Worker>("http-work", [this](const std::stop_token&) { work(); }));
  }
}

void HttpServer::Core::cutOffLate() {
  const Mono now = monoNow();
  MutexLock lock{mutex_};
  for (Due* due : {&resting_, &slow_}) {
    while (!due->empty() && due->begin()->first <= now) {
      Peer* late = due->begin()->second;
      unpark(late);
      close(late);
    }
  }
}

/// Everybody who was not promised an answer.
void HttpServer::Core::closeUnasked() {
  MutexLock lock{mutex_};
  std::vector<Peer*> unasked;
  for (const auto& [peer, owned] : peers_) {
    if (peer->parked_in != nullptr && !peer->http.writing()) { unasked.push_back(peer); }
  }
  for (Peer* peer : unasked) {
    unpark(peer);
    close(peer);
  }
}

// ---- Peers

void HttpServer::Core::park(Peer* peer, std::uint32_t events, int op) {
  peer->parked_in = peer->http.resting() ? &resting_ : &slow_;
  peer->parked_at = peer->parked_in->emplace(peer->http.deadline(), peer);
  const bool goes_on = state_ == State::Serving || peer->http.writing();
  if (goes_on && watch(peer->http.transport().fd(), peer, events | EPOLLONESHOT, op)) { return; }
  unpark(peer);
  close(peer);
}

void HttpServer::Core::unpark(Peer* peer) {
  peer->parked_in->erase(peer->parked_at);
  peer->parked_in = nullptr;
}

void HttpServer::Core::close(Peer* peer) {
  held_ -= peer->held;
  peers_.erase(peer);
  finished_.notifyAll();
}

// ---- Workers

void HttpServer::Core::work() {
  std::vector<char> scratch(kScratch);
  while (Peer* peer = nextWaiting()) { serve(*peer, scratch); }
}

/// nullptr: the end.
Peer* HttpServer::Core::nextWaiting() {
  MutexLock lock{mutex_};
  ++idle_workers_;
  while (waiting_.empty() && state_ != State::Ended) { arrived_.wait(mutex_); }
  --idle_workers_;
  if (state_ == State::Ended) { return nullptr; }
  Peer* peer = waiting_.front();
  waiting_.pop_front();
  return peer;
}

/// Until it has to wait for its peer, or is closed.
void HttpServer::Core::serve(Peer& peer, std::span<char> scratch) {
  for (;;) {
    Turn turn = peer.http.advance(monoNow(), scratch);
    const bool left = turn == Turn::Answer && options_.only_who_waits && peerLeft(peer.http.transport().fd());
    if (left) { turn = Turn::Over; }
    if (turn != Turn::Over && holdsTooMuch(peer)) {
      if (!peer.http.writing()) {
        peer.http.refuse(503, monoNow());
        continue;
      }
      turn = Turn::Over;
    }
    if (turn == Turn::Answer) {
      respond(peer);
      continue;
    }
    MutexLock lock{mutex_};
    const bool late = peer.http.deadline() <= monoNow();
    if (turn == Turn::Over || late) {
      close(&peer);
    } else if (turn == Turn::Again && state_ != State::Ended) {
      waiting_.push_back(&peer);
      arrived_.notifyOne();
    } else {
      park(&peer, turn == Turn::Room ? EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
    }
    return;
  }
}

bool HttpServer::Core::holdsTooMuch(Peer& peer) {
  const std::size_t held = peer.http.held();
  MutexLock lock{mutex_};
  held_ = held_ - peer.held + held;
  peer.held = held;
  return held_ > options_.max_held && held > kSmall;
}

void HttpServer::Core::respond(Peer& peer) {
  Request request = peer.http.take();
  request.asked = peer.since;
  Response response = callHandler(handler_, std::move(request));
  peer.since = monoNow();
  const bool keep = peer.http.peerKeeps() && state() == State::Serving;
  if (response.stream) {
    stream(peer, response, keep);
  } else {
    peer.http.answer(std::move(response), keep, monoNow());
  }
}

void HttpServer::Core::stream(Peer& peer, const Response& response, bool keep) {
  if (!beginStream()) {
    Response busy = textResponse(429, "too many streams\n");
    busy.headers.emplace_back("Retry-After", "1");
    peer.http.answer(std::move(busy), keep, monoNow());
    return;
  }
  Transport& transport = peer.http.transport();
  const auto put = [&](std::string_view bytes) {
    return writeAll(transport, bytes, monoNow() + options_.connection.request_timeout) == Io::Ok;
  };
  const Duration turn = std::min<Duration>(options_.stop_grace / 2, std::chrono::seconds{1});
  bool ended = peer.http.isHead();
  bool alive = put(renderHead(response, keep));
  while (alive && !ended && state() == State::Serving) {
    const auto more = response.stream(turn);
    if (!more) {
      ended = true;
      alive = put(renderChunk({}));
    } else {
      alive = more->empty() ? !peerLeft(transport.fd()) : put(renderChunk(*more));
    }
  }
  peer.http.answered(alive && ended && keep, monoNow());
  MutexLock lock{mutex_};
  --streaming_;
}

bool HttpServer::Core::beginStream() {
  MutexLock lock{mutex_};
  if (streaming_ >= options_.max_streams) { return false; }
  ++streaming_;
  startWorkers();  // this one is taken
  return true;
}

// ---- The door

HttpServer::HttpServer(std::unique_ptr<Core> core) : core_{std::move(core)} {}

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(Options options, Handler handler) {
  auto listener = listenTcp(options.address);
  if (!listener) { return tl::unexpected(listener.error()); }
  std::unique_ptr<TlsAcceptor> tls;
  if (options.tls) {
    auto loaded = TlsAcceptor::load(*options.tls, monoNow());
    if (!loaded) { return tl::unexpected(loaded.error()); }
    tls = *std::move(loaded);
  }
  auto core =
      std::make_unique<Core>(std::move(options), std::move(handler), std::move(*listener), std::move(tls));
  if (auto begun = core->begin(); !begun) { return tl::unexpected(begun.error()); }
  return std::unique_ptr<HttpServer>{new HttpServer{std::move(core)}};
}

std::uint16_t HttpServer::port() const { return core_->port(); }
std::size_t HttpServer::connections() const { return core_->connections(); }
std::size_t HttpServer::workers() const { return core_->workers(); }
void HttpServer::stop() { core_->stop(); }

}  // namespace gs::net
