#include "k8s/watch_pool.h"

#include <utility>

#include "base/check.h"

namespace gs::k8s {
namespace {

constexpr std::size_t kMaxUnused = 16;

}  // namespace

WatchPool::WatchPool(Connect connect, Sink sink) : connect_{std::move(connect)}, sink_{std::move(sink)} {}

WatchPool::~WatchPool() { stop(); }

void WatchPool::open(kapi::OpenWatch watch) {
  reap();
  auto stream = std::make_unique<Stream>();
  stream->watch = std::move(watch);
  const kapi::Token token = stream->watch.stream;
  MutexLock lock{mutex_};
  if (stopped_) { return; }
  if (unused_.empty()) {
    stream->client = connect_();
  } else {
    stream->client = std::move(unused_.back());
    unused_.pop_back();
  }
  Stream& placed = *stream;
  const bool is_new = streams_.emplace(token, std::move(stream)).second;
  GS_CHECK(is_new, "watch {} opened twice", token);
  placed.worker =
      std::make_unique<Worker>("watch", [this, &placed](const std::stop_token&) { follow(placed); });
}

void WatchPool::close(kapi::Token stream) {
  {
    MutexLock lock{mutex_};
    const auto found = streams_.find(stream);
    if (found != streams_.end() && !found->second->closed) {
      found->second->closed = true;
      if (found->second->client) { found->second->client->cancel(); }
    }
  }
  reap();
}

void WatchPool::stop() {
  std::map<kapi::Token, std::unique_ptr<Stream>> ending;
  {
    MutexLock lock{mutex_};
    stopped_ = true;
    for (auto& [token, stream] : streams_) {
      stream->closed = true;
      if (stream->client) { stream->client->cancel(); }
    }
    ending.swap(streams_);
  }
  ending.clear();  // joins
}

/// The stream's thread. The connection is free for the next watch before the machine hears of the end.
void WatchPool::follow(Stream& stream) {
  auto ended = stream.client->watch(
      stream.watch, [&](kapi::WatchEvent event) { return !isClosed(stream) && sink_(std::move(event)); });
  bool closed = false;
  {
    MutexLock lock{mutex_};
    closed = stream.closed;
    if (!closed && unused_.size() < kMaxUnused) { unused_.push_back(std::move(stream.client)); }
  }
  if (!closed) { sink_(std::move(ended)); }
  MutexLock lock{mutex_};
  stream.done = true;
}

bool WatchPool::isClosed(const Stream& stream) const {
  MutexLock lock{mutex_};
  return stream.closed;
}

void WatchPool::reap() {
  std::vector<std::unique_ptr<Stream>> finished;
  MutexLock lock{mutex_};
  for (auto it = streams_.begin(); it != streams_.end();) {
    if (it->second->done) {
      finished.push_back(std::move(it->second));
      it = streams_.erase(it);
    } else {
      ++it;
    }
  }
  // Joined when `finished` goes, after the lock: their threads have nothing left to do but return.
}

}  // namespace gs::k8s
