// The bearer token of this process: a fixed text, or a file that somebody rotates (a service account's
// projected token).
//
// A file is read again when what is known is older than 10 s, and at once after a 401. A file that cannot be
// read or holds no token leaves the last good one in place. Thread-safe; one per process,
// shared by all clients.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/mutex.h"

namespace gs::k8s {

class TokenSource {
 public:
  /// `file` "": the token never changes. The clock must outlive it.
  TokenSource(std::string token, std::string file, const Clock& clock);

  /// "" : no token.
  [[nodiscard]] std::string current();
  /// After a 401 that was answered to `used`: is there another one now?
  [[nodiscard]] bool renewed(const std::string& used);

 private:
  void readFile(Mono now) GS_REQUIRES(mutex_);

  const std::string file_;
  const Clock& clock_;
  Mutex mutex_;
  std::string token_ GS_GUARDED_BY(mutex_);
  Mono read_at_ GS_GUARDED_BY(mutex_){};
  bool ever_read_ GS_GUARDED_BY(mutex_) = false;
};

}  // namespace gs::k8s
