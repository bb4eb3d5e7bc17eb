// Sends a request on to the replica that leads, and its answer back. One connection a thread; a request that
// was sent on once is not sent on again, so two replicas that each take the other for the leader do no harm.
// Any thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "net/http_types.h"
#include "net/tls.h"

namespace gs::serve {

class Forwarder {
 public:
  static constexpr Duration kFor = std::chrono::seconds{5};  // as long as kube-scheduler waits

  /// `tls` for leaders that are named by https; `longest`: of one request and its answer.
  explicit Forwarder(net::ClientTls tls, Duration longest = kFor) : tls_{std::move(tls)}, longest_{longest} {}

  /// `leader`: "http://10.0.0.7:3456". Answers 503 when it cannot be reached.
  [[nodiscard]] net::Response forward(const std::string& leader, net::Request request) const;
  [[nodiscard]] static bool wasForwarded(const net::Request& request);
  /// When its caller began to wait, here or where it was sent on from.
  [[nodiscard]] static Mono askedAt(const net::Request& request);

 private:
  net::ClientTls tls_;
  Duration longest_;
};

}  // namespace gs::serve
