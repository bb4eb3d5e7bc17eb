// Api: one API server as one user. Owns what its clients share (token, health) and makes the clients, which
// it must outlive. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "k8s/access.h"
#include "k8s/api_health.h"
#include "k8s/client.h"
#include "k8s/token_source.h"

namespace gs::k8s {

class Api {
 public:
  /// `user_agent` e.g. "gpu-scheduler/0.1". The clock must outlive it.
  Api(Access access, std::string user_agent, const Clock& clock);

  [[nodiscard]] std::unique_ptr<Client> connect();
  [[nodiscard]] const Access& access() const { return access_; }
  [[nodiscard]] const ApiHealth& health() const { return health_; }

 private:
  class HttpApiClient;
  const Access access_;
  const std::string user_agent_;
  TokenSource token_;
  ApiHealth health_;
};

}  // namespace gs::k8s
