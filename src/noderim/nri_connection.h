// NriConnection keeps a session with the node's container runtime (rpc/nri/session.h) for a plugin: a thread
// that dials the runtime's NRI socket, and does it again when the connection ends.
//
// A connection that was good for a while (`settled`), and did not end in nonsense, is followed by the next
// one at once; a container that is made meanwhile is not asked about. Else there is a wait, longer each
// time. A connection is closed by us when the runtime refuses the plugin (it would leave it open), when it
// has not synchronized within `registration`, when it takes nothing of what we send for `write`, and when
// what it sends is nonsense.
//
// The plugin's methods, and `say`, are called from the thread of the connection, never after stop() has
// returned.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/worker.h"
#include "kapi/retry_wait.h"
#include "net/socket.h"
#include "rpc/nri/session.h"

namespace gs::noderim {

class NriConnection {
 public:
  struct Options {
    rpc::nri::SessionOptions session;
    std::string socket = "/var/run/nri/nri.sock";
    // What a runtime makes before we are there again is not asked about, and found only then: soon.
    kapi::RetryTerms retry{std::chrono::seconds{1}, std::chrono::seconds{5}};
    Duration settled = std::chrono::seconds{1};
    // The runtime takes plugins one after the other, and gives each 5 s to register and 2 s for each
    // answer.
    Duration registration = std::chrono::seconds{30};
    Duration write = std::chrono::seconds{5};
  };
  struct State {
    bool is_registered = false;
    std::string why{};  // not
    friend bool operator==(const State&, const State&) = default;
  };
  using Say = std::function<void(const State&)>;

  /// `plugin` must outlive it. `say`: at each change; what is still so is not said again.
  NriConnection(Options options, rpc::nri::Plugin& plugin, Say say);
  NriConnection(const NriConnection&) = delete;
  NriConnection& operator=(const NriConnection&) = delete;
  ~NriConnection() { stop(); }

  /// Call once.
  void start();
  /// Ends whatever waits. A second call does nothing.
  void stop();

 private:
  void run();
  Error converse(bool& was_good);
  Result<net::Fd> dial() const;
  Status sendAll(int fd, std::string_view bytes) const;
  Status receive(int fd, std::string& into, Mono deadline) const;
  Status waitFor(int fd, bool to_write, Mono deadline, std::string_view what) const;
  bool rest(Duration how_long) const;
  void say(State state);

  const Options options_;
  rpc::nri::Plugin& plugin_;
  const Say say_;
  const net::Fd end_;  // can be read once it is to stop
  std::atomic<bool> stopping_ = false;
  State said_;
  std::unique_ptr<Worker> thread_;
};

}  // namespace gs::noderim
