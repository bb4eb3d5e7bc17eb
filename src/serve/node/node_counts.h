// NodeCounts: what gkm-agent tells of itself at /metrics (docs/use/gkm-agent.md has the table).
//
// What happened is counted when it happens, from any thread; how things are is asked for when the page is.
// Of images that are under way there is one row each: as many as workers at most.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/metrics.h"
#include "base/mutex.h"
#include "cacherim/keeper/keeper.h"
#include "kcache/kinds/state.h"
#include "kcache/node/node.h"

namespace gs::serve {

class NodeCounts {
 public:
  /// `quota`: what the store may have; 0 of one: no limit of that.
  explicit NodeCounts(const cacherim::Room& quota) : quota_{quota} {}

  void ended(const cacherim::FetchEnd& end);
  void told(const kcache::NodeHas& has);
  /// Prometheus text. `states`: images of caches, as the node's objects say it. One thread.
  [[nodiscard]] std::string text(const cacherim::KeeperFigures& figures,
                                 const std::map<kcache::State, std::size_t>& states) GS_EXCLUDES(mutex_);

 private:
  void showStates(const std::map<kcache::State, std::size_t>& states);
  void showStore(const cacherim::KeeperFigures& figures);
  void showUnderWay(const cacherim::KeeperFigures& figures);
  void grow(const char* name, const char* help, double to);

  const cacherim::Room quota_;
  Metrics metrics_;
  std::set<std::string> shown_;          // caches that have a row
  std::map<std::string, double> grown_;  // counters by name: what they have
  Mutex mutex_;
  std::size_t uses_ GS_GUARDED_BY(mutex_) = 0;
  std::int64_t bytes_per_second_ GS_GUARDED_BY(mutex_) = 0;
};

}  // namespace gs::serve
