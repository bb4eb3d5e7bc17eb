// Events go an hour after they were last written, as in a real server: which, and when.
//
// Knows keys and times only; who writes an event says so, and takes what is due when the next one is written.
// Of two writes of one event the later counts. An event that was deleted meanwhile is given all the same.
// One thread.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "apiserver/storage/store.h"
#include "base/clock.h"

namespace gs::apiserver {

class EventExpiry {
 public:
  /// `at` never goes back.
  void written(const StoreKey& event, Mono at);
  /// The next whose time is over, the longest ago first; it is forgotten.
  [[nodiscard]] std::optional<StoreKey> takeExpired(Mono now);
  void clear();

 private:
  std::deque<std::pair<Mono, StoreKey>> writes_;  // in order
  std::map<StoreKey, Mono> last_;
};

}  // namespace gs::apiserver
