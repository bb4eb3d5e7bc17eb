// The certificate that the HTTPS server shows: the machine gives it, the server's thread asks for it.
#pragma once

#include <memory>

#include "admission/certificates.h"
#include "base/mutex.h"
#include "net/tls.h"

namespace gs::serve {

class ShownPair {
 public:
  void set(const admission::PairPtr& pair) {
    auto now = std::make_shared<const net::ServerPair>(net::ServerPair{pair->certificate, pair->key});
    MutexLock lock{mutex_};
    pair_ = std::move(now);
  }
  [[nodiscard]] std::shared_ptr<const net::ServerPair> get() const {
    MutexLock lock{mutex_};
    return pair_;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const net::ServerPair> pair_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::serve
