// What --inject-limits adds to pods, by claim, while it adds anything: the machine writes it, the threads
// that answer reviews read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/mutex.h"
#include "model/ids.h"

namespace gs::serve {

class ClaimLimits {
 public:
  /// nullopt: it is gone, or pods of it are not limited.
  void set(const model::ObjectKey& claim, std::optional<std::int64_t> gpus) {
    MutexLock lock{mutex_};
    if (gpus) {
      limits_.insert_or_assign(claim, *gpus);
    } else {
      limits_.erase(claim);
    }
  }
  void inject(bool injecting) {
    MutexLock lock{mutex_};
    injecting_ = injecting;
  }
  [[nodiscard]] std::optional<std::int64_t> of(std::string_view ns, std::string_view claim) const {
    MutexLock lock{mutex_};
    if (!injecting_) { return std::nullopt; }
    const auto it = limits_.find({std::string{ns}, std::string{claim}});
    return it == limits_.end() ? std::nullopt : std::optional{it->second};
  }

 private:
  mutable Mutex mutex_;
  bool injecting_ GS_GUARDED_BY(mutex_) = false;
  std::map<model::ObjectKey, std::int64_t> limits_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::serve
