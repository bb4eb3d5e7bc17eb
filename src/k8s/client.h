// Client: one connection to an API server that carries out one call or one watch at a time, blocking.
// The real one is made by Api::connect() (api.h); tests make their own.
// Threads: run() and watch() from one thread at a time, cancel() from any.
#pragma once

#include <functional>
#include <memory>

#include "kapi/call.h"

namespace gs::k8s {

class Client {
 public:
  virtual ~Client() = default;

  /// Never repeats a write. `may_send` (may be empty) is asked directly before the first byte;
  /// false: NotSent.
  [[nodiscard]] virtual kapi::Outcome run(const kapi::Call& call, const std::function<bool()>& may_send) = 0;

  /// Gives each event to `on_event` until the stream ends or on_event answers false.
  [[nodiscard]] virtual kapi::WatchEnded watch(const kapi::OpenWatch& watch,
                                               const std::function<bool(kapi::WatchEvent)>& on_event) = 0;

  /// Ends what is in progress within 100 ms, and all later calls at once: NotSent. For good.
  virtual void cancel() = 0;
  [[nodiscard]] virtual bool cancelled() const = 0;
};

/// Makes a new, not yet connected client. Called by several threads.
using Connect = std::function<std::unique_ptr<Client>()>;

}  // namespace gs::k8s
