// WatchPool: one thread and one connection for each open watch. The thread is dumb: it decodes each line and
// gives it to the sink; what to do about an end is the reflector's business.
//
// Events of one stream come in the server's order, and WatchEnded is its last. After close() nothing more is
// taken from the stream and no WatchEnded is given, but what was given before may still lie in the mailbox:
// tokens tell. open() and close() from one thread (the owner's), neither waits for the network. Connections
// of watches that the server ended are used again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "base/worker.h"
#include "k8s/client.h"

namespace gs::k8s {

class WatchPool {
 public:
  /// Takes events, from any watch's thread; may wait. False: nobody listens any more.
  using Sink = std::function<bool(std::variant<kapi::WatchEvent, kapi::WatchEnded>)>;

  WatchPool(Connect connect, Sink sink);
  WatchPool(const WatchPool&) = delete;
  WatchPool& operator=(const WatchPool&) = delete;
  ~WatchPool();

  void open(kapi::OpenWatch watch);
  /// Unknown streams are ignored.
  void close(kapi::Token stream);
  /// Closes all; opens nothing any more. Waits only for the sink.
  void stop();

 private:
  struct Stream {
    kapi::OpenWatch watch;
    std::unique_ptr<Client> client;  // nullptr: free for another watch
    bool closed = false;
    bool done = false;
    std::unique_ptr<Worker> worker;
  };
  void follow(Stream& stream);
  [[nodiscard]] bool isClosed(const Stream& stream) const;
  void reap() GS_EXCLUDES(mutex_);

  const Connect connect_;
  const Sink sink_;
  mutable Mutex mutex_;
  std::map<kapi::Token, std::unique_ptr<Stream>> streams_ GS_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Client>> unused_ GS_GUARDED_BY(mutex_);
  bool stopped_ GS_GUARDED_BY(mutex_) = false;
};

}  // namespace gs::k8s
