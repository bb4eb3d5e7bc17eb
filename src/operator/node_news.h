// NodeNews: how far the node objects of one kind are known, and which caches wait for more.
//
// Whether a node has a cache is known as of the revision up to which the node objects were applied. A cache
// may go only when that is no older than the cache itself: revisions of all kinds are one count. Who waits is
// told when it is so. What is wanted is asked for in one go, and not again before it came.
// One thread.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/ids.h"

namespace gs::gkm {

class NodeNews {
 public:
  [[nodiscard]] bool covers(model::Revision revision) const { return known_ >= revision; }
  void await(const model::ObjectKey& place, model::Revision revision) { waiting_.emplace(revision, place); }
  /// Everything up to there was applied. Who need not wait any more.
  std::vector<model::ObjectKey> reached(model::Revision revision) {
    known_ = std::max(known_, revision);
    std::vector<model::ObjectKey> out;
    while (!waiting_.empty() && waiting_.begin()->first <= known_) {
      out.push_back(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
    return out;
  }
  /// Up to where they have to be known; nullopt: nobody waits, or what was asked for has not come yet.
  std::optional<model::Revision> takeWanted() {
    if (waiting_.empty() || asked_ > known_) { return std::nullopt; }
    asked_ = waiting_.rbegin()->first;
    return asked_;
  }
  /// Nobody waits.
  void reset() {
    waiting_.clear();
    asked_ = 0;
  }

 private:
  model::Revision known_ = 0;
  model::Revision asked_ = 0;
  std::set<std::pair<model::Revision, model::ObjectKey>> waiting_;
};

}  // namespace gs::gkm
