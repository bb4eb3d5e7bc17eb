// FairShare: how many calls of which namespace are in flight,
// so that none takes the room of all others (R60).
//
// Of `most` a namespace uses no more than are left to others: alone it gets half, the next one half of the
// rest, and so on.
// However many are stuck, there is room for one more until all is used. Nobody has to know who will come.
// What is used is given back by the one who took it, as much as was taken. One thread.
#pragma once

#include <string>
#include <unordered_map>

#include "base/check.h"

namespace gs::controller {

class FairShare {
 public:
  explicit FairShare(int most) : most_{most} {}

  /// There is room for `n` at once somewhere.
  [[nodiscard]] bool any(int n = 1) const { return used_ + n <= most_; }
  /// So many more may this namespace use.
  [[nodiscard]] int free(const std::string& ns) const {
    const int room = most_ - used_ - usedBy(ns);
    return room < 0 ? 0 : room;
  }
  void take(const std::string& ns, int n = 1) {
    used_ += n;
    by_namespace_[ns] += n;
  }
  void giveBack(const std::string& ns, int n = 1) {
    const auto it = by_namespace_.find(ns);
    GS_CHECK(it != by_namespace_.end() && it->second >= n);
    used_ -= n;
    if ((it->second -= n) == 0) { by_namespace_.erase(it); }
  }
  [[nodiscard]] int used() const { return used_; }
  [[nodiscard]] int usedBy(const std::string& ns) const {
    const auto it = by_namespace_.find(ns);
    return it == by_namespace_.end() ? 0 : it->second;
  }
  void reset() {
    used_ = 0;
    by_namespace_.clear();
  }

 private:
  int most_;
  int used_ = 0;
  std::unordered_map<std::string, int> by_namespace_;  // none is 0
};

}  // namespace gs::controller
